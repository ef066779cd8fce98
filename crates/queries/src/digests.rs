//! What a running server knows of its queries: two looks, and what lies between them.
//!
//! In: an address and a window. Out: [`Classes`] of sums; servers keep neither single
//! executions nor literals.
//! Needed: `performance_schema` with digests in MySQL and MariaDB, the extension
//! `pg_stat_statements` in PostgreSQL. Where they are off, the error says what to do.
//! Invariants: 1. nothing is changed on the server. 2. no more than [`DIGESTS_MAX`]
//! digests are held, and their texts only of those that ran in the window.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, Instant};

use changes::connect::{lost, options, postgres_options};
use changes::{Address, Lost};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::classes::{Class, Classes, Sums};
use crate::fingerprint::Fingerprinter;
use crate::tokens::Dialect;

/// Digests that are looked at.
pub const DIGESTS_MAX: usize = 100_000;
/// How long a server may take to let us in.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// What our own questions are known by.
const OURS: [&str; 2] = ["events_statements_summary_by_digest", "FROM pg_stat_statements s"];
/// Picoseconds in a nanosecond.
const PICOSECONDS: u64 = 1000;

/// Why a server can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// It refused, or went.
    #[error("the database: {0}")]
    Lost(Lost),
    /// What PostgreSQL says.
    #[error("the database: {0}")]
    Postgres(String),
    /// It doesn't answer.
    #[error("the database doesn't let us in within 10 s: see whether it runs, and the address")]
    Silent,
    /// MySQL keeps no digests.
    #[error(
        "performance_schema is off, so the server keeps no digests: write performance_schema = ON \
         under [mysqld] in its settings and restart it, or read its slow log"
    )]
    NoSchema,
    /// …since nobody takes them.
    #[error(
        "the server takes no digests: UPDATE performance_schema.setup_consumers SET ENABLED = \
         'YES' WHERE NAME IN ('global_instrumentation', 'thread_instrumentation', \
         'statements_digest')"
    )]
    NoConsumer,
    /// The user may not read them.
    #[error("this user may not read the digests: GRANT SELECT ON performance_schema.* TO it")]
    Denied,
    /// PostgreSQL lacks the extension.
    #[error(
        "pg_stat_statements isn't there: write shared_preload_libraries = 'pg_stat_statements' in \
         postgresql.conf, restart it, and run CREATE EXTENSION pg_stat_statements in this database"
    )]
    NoExtension,
}

/// What a digest is known by, and its sums so far.
struct Digest {
    key: String,
    text: Option<String>,
    database: String,
    sums: Sums,
}

/// What ran between two looks.
#[derive(Debug)]
pub struct Watched {
    /// It.
    pub classes: Classes,
    /// How long that was.
    pub window: Duration,
    /// Whether somebody emptied the server's counts meanwhile, so that some is missing.
    pub was_reset: bool,
}

/// Looks at the server at `address`, waits, and looks again. `is_mysql` says which it is;
/// `wait` ends with the window, or earlier when somebody is impatient.
///
/// # Errors
/// The server can't be reached, or keeps no digests.
pub async fn watch(
    address: &Address,
    is_mysql: bool,
    wait: impl Future<Output = ()>,
) -> Result<Watched, DigestError> {
    let mut server = match is_mysql {
        true => Server::mysql(address).await?,
        false => Server::postgres(address).await?,
    };
    let before: HashMap<String, Sums> =
        server.look().await?.into_iter().map(|digest| (digest.key, digest.sums)).collect();
    let start = Instant::now();
    wait.await;
    let after = server.look().await?;
    let window = start.elapsed();
    server.close().await;
    let (mut classes, mut maker) = (Classes::default(), Fingerprinter::default());
    let mut was_reset = false;
    let dialect = if is_mysql { Dialect::MySql } else { Dialect::Postgres };
    for digest in after {
        let before = before.get(&digest.key).copied().unwrap_or_default();
        was_reset |= digest.sums.count < before.count;
        let sums = difference(&digest.sums, &before);
        if sums.count == 0 {
            continue;
        }
        // What we asked ourselves is no news.
        if digest.text.as_ref().is_some_and(|text| OURS.iter().any(|own| text.contains(own))) {
            continue;
        }
        let Some(text) = digest.text else {
            // The server's own table was full.
            classes.all.add(&sums);
            classes.others.add(&sums);
            continue;
        };
        let mut class = Class::summed(maker.of(text.as_bytes(), dialect), dialect, sums);
        if !digest.database.is_empty() {
            class.databases.names.push(digest.database);
        }
        classes.take_summed(class);
    }
    Ok(Watched { classes, window, was_reset })
}

/// What was counted since; all of it where counting began anew.
fn difference(now: &Sums, before: &Sums) -> Sums {
    if now.count < before.count {
        return *now;
    }
    Sums {
        count: now.count - before.count,
        nanoseconds: now.nanoseconds.saturating_sub(before.nanoseconds),
        lock_nanoseconds: now.lock_nanoseconds.saturating_sub(before.lock_nanoseconds),
        rows_sent: now.rows_sent.saturating_sub(before.rows_sent),
        rows_examined: now.rows_examined.saturating_sub(before.rows_examined),
        seen: None,
    }
}

enum Server {
    MySql(Conn),
    Postgres(tokio_postgres::Client),
}

const MYSQL_DIGESTS: &str = "SELECT CONCAT(IFNULL(SCHEMA_NAME, ''), '/', IFNULL(DIGEST, '')), \
    DIGEST_TEXT, IFNULL(SCHEMA_NAME, ''), CAST(COUNT_STAR AS CHAR), CAST(SUM_TIMER_WAIT AS CHAR), \
    CAST(SUM_LOCK_TIME AS CHAR), CAST(SUM_ROWS_SENT AS CHAR), CAST(SUM_ROWS_EXAMINED AS CHAR) \
    FROM performance_schema.events_statements_summary_by_digest \
    ORDER BY SUM_TIMER_WAIT DESC LIMIT 100000";

impl Server {
    async fn mysql(address: &Address) -> Result<Self, DigestError> {
        let connecting = tokio::time::timeout(CONNECT_MAX, Conn::new(options(address)));
        let connection = connecting.await.map_err(|_| DigestError::Silent)?;
        let mut connection = connection.map_err(|error| refused(&error))?;
        let ask = "SELECT @@performance_schema";
        let is_on: Option<u8> = connection.query_first(ask).await.map_err(|e| refused(&e))?;
        if is_on != Some(1) {
            return Err(DigestError::NoSchema);
        }
        let ask = "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' \
            AND NAME IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest')";
        let count: Option<u64> = connection.query_first(ask).await.map_err(|e| refused(&e))?;
        if count != Some(3) {
            return Err(DigestError::NoConsumer);
        }
        Ok(Self::MySql(connection))
    }

    async fn postgres(address: &Address) -> Result<Self, DigestError> {
        let config = postgres_options(address, "wick queries");
        let connecting = tokio::time::timeout(CONNECT_MAX, config.connect(NoTls));
        let connected = connecting.await.map_err(|_| DigestError::Silent)?;
        let (client, connection) = connected.map_err(|error| refused_postgres(&error))?;
        // It ends with the client; what goes wrong is told to who asks next.
        drop(tokio::spawn(connection));
        let ask = "SELECT 1 FROM pg_extension WHERE extname = 'pg_stat_statements'";
        let rows = client.simple_query(ask).await.map_err(|error| refused_postgres(&error))?;
        match rows.iter().any(|row| matches!(row, SimpleQueryMessage::Row(_))) {
            true => Ok(Self::Postgres(client)),
            false => Err(DigestError::NoExtension),
        }
    }

    async fn look(&mut self) -> Result<Vec<Digest>, DigestError> {
        match self {
            Self::MySql(connection) => {
                let rows = connection.query::<Row, _>(MYSQL_DIGESTS).await;
                Ok(rows.map_err(|error| refused(&error))?.into_iter().map(digest).collect())
            }
            Self::Postgres(client) => look_postgres(client).await,
        }
    }

    /// Says good-bye; a server that has gone needs none.
    async fn close(self) {
        if let Self::MySql(connection) = self {
            let _ = connection.disconnect().await;
        }
    }
}

fn digest(mut row: Row) -> Digest {
    let mut text = |index| row.take_opt::<Option<String>, _>(index).and_then(Result::ok).flatten();
    let (key, digest_text, database) = (text(0), text(1), text(2));
    let mut number = |index| text(index).and_then(|text| text.parse().ok()).unwrap_or(0);
    let sums = Sums {
        count: number(3),
        nanoseconds: number(4) / PICOSECONDS,
        lock_nanoseconds: number(5) / PICOSECONDS,
        rows_sent: number(6),
        rows_examined: number(7),
        seen: None,
    };
    Digest {
        key: key.unwrap_or_default(),
        text: digest_text,
        database: database.unwrap_or_default(),
        sums,
    }
}

async fn look_postgres(client: &tokio_postgres::Client) -> Result<Vec<Digest>, DigestError> {
    let ask = "SELECT current_setting('server_version_num')::int >= 130000 AS is_new";
    let rows = client.simple_query(ask).await.map_err(|error| refused_postgres(&error))?;
    let is_new = rows.iter().any(|row| match row {
        SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
        _ => false,
    });
    let time = if is_new { "total_exec_time" } else { "total_time" };
    let ask = format!(
        "SELECT s.userid || '/' || s.dbid || '/' || s.queryid || '/' || coalesce({level}, ''), \
         s.query, coalesce(d.datname, ''), s.calls, (s.{time} * 1000000)::numeric(30, 0), s.rows \
         FROM pg_stat_statements s LEFT JOIN pg_database d ON d.oid = s.dbid \
         ORDER BY s.{time} DESC LIMIT {DIGESTS_MAX}",
        level = "to_jsonb(s) ->> 'toplevel'",
    );
    let rows = client.simple_query(&ask).await.map_err(|error| refused_postgres(&error))?;
    let digests = rows.iter().filter_map(|row| {
        let SimpleQueryMessage::Row(row) = row else { return None };
        let text = |index| row.get(index).unwrap_or_default();
        let number = |index| text(index).parse().unwrap_or(0);
        let sums = Sums {
            count: number(3),
            nanoseconds: number(4),
            rows_sent: number(5),
            ..Sums::default()
        };
        let (key, database) = (text(0).to_owned(), text(2).to_owned());
        Some(Digest { key, text: row.get(1).map(str::to_owned), database, sums })
    });
    Ok(digests.collect())
}

pub(crate) fn refused(error: &mysql_async::Error) -> DigestError {
    match error {
        // SELECT denied on the table, or access denied to the schema.
        mysql_async::Error::Server(error) if matches!(error.code, 1142 | 1143) => {
            DigestError::Denied
        }
        error => DigestError::Lost(lost(error)),
    }
}

pub(crate) fn refused_postgres(error: &tokio_postgres::Error) -> DigestError {
    match error.as_db_error() {
        // It was created, and isn't loaded.
        Some(refusal) if refusal.message().contains("shared_preload_libraries") => {
            DigestError::NoExtension
        }
        Some(refusal) => DigestError::Postgres(refusal.message().to_owned()),
        None => DigestError::Postgres("the connection was lost or can't be had".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_anew_is_all_there_is() {
        let sums = |count, nanoseconds| Sums { count, nanoseconds, ..Sums::default() };
        assert_eq!(difference(&sums(7, 70), &sums(3, 30)), sums(4, 40));
        assert_eq!(difference(&sums(2, 20), &sums(3, 30)), sums(2, 20));
    }
}
