//! PostgreSQL is told by `ALTER SYSTEM`, which it keeps in a file of its own, and reads its files
//! again. That takes a login that may: whoever isn't allowed is told so, and nothing has happened.
//!
//! Invariant: what was told to it before is what it is told when a change is taken back; what wasn't is
//! reset.

use changes::Address;
use tokio::time::{Duration, timeout};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::ApplyError;
use crate::finding::{Change, Place};
use crate::read::Options;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(10);

fn wanted(changes: &[Change]) -> impl Iterator<Item = &Change> {
    changes.iter().filter(|change| change.place == Place::Postgres)
}

/// Writes into each change what the server was told before, if anything.
pub(super) async fn recall(changes: &mut [Change], options: &Options) -> Result<(), ApplyError> {
    if wanted(changes).next().is_none() {
        return Ok(());
    }
    let server = Server::connect(options).await?;
    for change in changes.iter_mut().filter(|change| change.place == Place::Postgres) {
        // The last of a file's lines counts.
        let question = format!(
            "SELECT setting FROM pg_file_settings WHERE name = {} AND sourcefile LIKE \
             '%postgresql.auto.conf' ORDER BY seqno DESC LIMIT 1",
            literal(&change.name)
        );
        change.old = server.ask(&question).await?.into_iter().next();
    }
    Ok(())
}

/// Tells the server; what counts from its next start only.
pub(super) async fn alter(
    changes: &[Change],
    options: &Options,
) -> Result<Vec<String>, ApplyError> {
    if wanted(changes).next().is_none() {
        return Ok(Vec::new());
    }
    let server = Server::connect(options).await?;
    let mut notes = Vec::new();
    for Change { name, new, .. } in wanted(changes) {
        let name = identifier(name);
        server
            .ask(&match new.is_empty() {
                true => format!("ALTER SYSTEM RESET {name}"),
                false => format!("ALTER SYSTEM SET {name} = {}", literal(new)),
            })
            .await?;
    }
    server.ask("SELECT pg_reload_conf()").await?;
    for Change { name, .. } in wanted(changes) {
        let question = format!("SELECT context FROM pg_settings WHERE name = {}", literal(name));
        let kind = server.ask(&question).await?;
        if kind.first().is_some_and(|context| context == "postmaster") {
            notes.push(format!(
                "{name} counts from PostgreSQL's next start: systemctl restart postgresql"
            ));
        }
    }
    Ok(notes)
}

struct Server {
    client: Client,
    driven: tokio::task::JoinHandle<Result<(), tokio_postgres::Error>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.driven.abort();
    }
}

impl Server {
    async fn connect(options: &Options) -> Result<Self, ApplyError> {
        let missing = || ApplyError::Refused("PostgreSQL isn't named: see --postgres".into());
        let address: &Address = options.postgres.as_ref().ok_or_else(missing)?;
        let config = changes::connect::postgres_options(address, "wick doctor");
        let connected = timeout(PATIENCE, config.connect(NoTls)).await.map_err(|_| silent())?;
        let (client, connection) = connected.map_err(|error| refused(&error))?;
        Ok(Self { client, driven: tokio::spawn(connection) })
    }

    /// The first column of the answer.
    async fn ask(&self, statement: &str) -> Result<Vec<String>, ApplyError> {
        let asked = timeout(PATIENCE, self.client.simple_query(statement));
        let rows = asked.await.map_err(|_| silent())?.map_err(|error| refused(&error))?;
        let rows = rows.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(rows.collect())
    }
}

fn silent() -> ApplyError {
    ApplyError::Refused("PostgreSQL doesn't answer".into())
}

fn refused(error: &tokio_postgres::Error) -> ApplyError {
    let said = error.as_db_error().map_or("it can't be reached", |error| error.message());
    ApplyError::Refused(format!("PostgreSQL says: {said}"))
}

/// A name that nothing can leave.
fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', ""))
}

/// A text that nothing can leave: with `standard_conforming_strings` off, as it isn't by default, a
/// backslash could.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace(['\'', '\\'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_quotes() {
        assert_eq!(literal("64MB"), "'64MB'");
        assert_eq!(literal("a'; DROP --\\"), "'a; DROP --'");
        assert_eq!(identifier("a\" = 1"), "\"a = 1\"");
    }
}
