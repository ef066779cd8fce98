//! Connecting to a PostgreSQL server, and what its errors mean.
//!
//! Invariants: 1. An error that leaves this crate holds the server's words or ours,
//! never the driver's, which may repeat what was sent. 2. No question of ours waits long
//! for a lock, so that nobody waits behind it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage, SimpleQueryRow};

use crate::{Address, Door, Lost};

/// How long a server may take to let us in.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// After so long without an answer the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// By what the server's administrator knows our connections, and we know each other's.
pub(super) const NAME: &str = "wick";
const PORT: u16 = 5432;

/// Half a second for a lock is less than `deadlock_timeout`, after which a vacuum that is
/// in the way would be cancelled.
const MANNERS: &str = "SET lock_timeout = '500ms'; SET statement_timeout = '9s'; \
    SET search_path = pg_catalog";

/// A connection to the database of an address. Dropping it closes it.
pub(crate) struct Connection {
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(crate) async fn open(address: &Address) -> Result<Self, Lost> {
        let mut config = postgres_options(address, NAME);
        config.connect_timeout(CONNECT_MAX);
        let (client, connection) = match timeout(CONNECT_MAX, config.connect(NoTls)).await {
            Ok(connected) => connected.map_err(|error| lost(&error))?,
            Err(_) => return Err(Lost::Disconnected),
        };
        // Its end is known to whoever asks next.
        let driver = tokio::spawn(async move { drop(connection.await) });
        let opened = Self { client, driver };
        opened.run(MANNERS).await?;
        Ok(opened)
    }

    /// The lines of an answer.
    pub(super) async fn ask(&self, question: &str) -> Result<Vec<Line>, Lost> {
        let answer = match timeout(SILENCE_MAX, self.client.simple_query(question)).await {
            Ok(answer) => answer.map_err(|error| lost(&error))?,
            Err(_) => return Err(Lost::Silent),
        };
        let line = |message| match message {
            SimpleQueryMessage::Row(row) => Some(Line(row)),
            _ => None,
        };
        Ok(answer.into_iter().filter_map(line).collect())
    }

    /// The only line of an answer.
    pub(super) async fn ask_one(&self, question: &str) -> Result<Line, Lost> {
        self.ask(question).await?.pop().ok_or(Lost::Unreadable)
    }

    /// Runs statements that answer nothing.
    pub(super) async fn run(&self, statements: &str) -> Result<(), Lost> {
        self.ask(statements).await.map(drop)
    }

    /// Where the log ends, as far as it is on the disk: whoever was told that a commit is
    /// done finds it before there, unless that one does without the disk
    /// (`synchronous_commit = off`), of which nobody can hear sooner either.
    pub(crate) async fn log_end(&self) -> Result<u64, Lost> {
        self.ask_one("SELECT pg_current_wal_flush_lsn() - '0/0'").await?.number(0)
    }
}

/// One line of an answer.
pub(super) struct Line(SimpleQueryRow);

impl Line {
    /// A value; nothing where there is none.
    pub(super) fn text(&self, index: usize) -> &str {
        self.0.try_get(index).ok().flatten().unwrap_or_default()
    }

    pub(super) fn is_true(&self, index: usize) -> bool {
        self.text(index) == "t"
    }

    pub(super) fn number<N: FromStr>(&self, index: usize) -> Result<N, Lost> {
        self.text(index).parse().map_err(|_| Lost::Unreadable)
    }

    /// Names, written one a line.
    pub(super) fn list(&self, index: usize) -> Vec<String> {
        self.text(index).lines().map(str::to_owned).collect()
    }
}

/// How the server at `address` is reached, and its database used, by connections of this name.
pub fn postgres_options(address: &Address, name: &str) -> Config {
    let mut config = Config::new();
    config.user(&address.user).dbname(database(address)).application_name(name);
    config.ssl_mode(SslMode::Disable);
    if !address.password.reveal().is_empty() {
        config.password(address.password.reveal());
    }
    match &address.door {
        Door::Socket(path) => {
            let (folder, port) = socket(path);
            config.host_path(folder).port(port)
        }
        Door::Tcp(host, port) => config.host(host).port(*port),
    };
    config
}

/// The database of an address, which is the user's own unless it is named.
pub(super) fn database(address: &Address) -> &str {
    if address.database.is_empty() { &address.user } else { &address.database }
}

/// A name as a statement writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The folder and the port that a socket's path stands for; a folder alone is one, too.
pub(super) fn socket(path: &Path) -> (PathBuf, u16) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let port = name.strip_prefix(".s.PGSQL.").and_then(|port| port.parse().ok());
    match (port, path.parent()) {
        (Some(port), Some(folder)) => (folder.to_owned(), port),
        _ => (path.to_owned(), PORT),
    }
}

/// What an error means for who listens.
fn lost(error: &tokio_postgres::Error) -> Lost {
    if let Some(refusal) = error.as_db_error() {
        return refused(refusal.code().code(), refusal.message());
    }
    let source = std::error::Error::source(error);
    if source.is_some_and(|source| source.to_string() == "password missing") {
        return Lost::Impossible("the database asks for a password and there is none".to_owned());
    }
    if error.is_closed() || source.is_some_and(<dyn std::error::Error>::is::<std::io::Error>) {
        return Lost::Disconnected;
    }
    Lost::Unreadable
}

/// What a refusal with an SQLSTATE means: one of the class 57P tells that the server goes
/// or comes.
pub(super) fn refused(code: &str, message: &str) -> Lost {
    if code.starts_with("57P") {
        return Lost::Disconnected;
    }
    Lost::Refused { code: code.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_a_folder_and_a_port() {
        for (path, folder, port) in [
            ("/run/postgresql/.s.PGSQL.5433", "/run/postgresql", 5433),
            ("/run/postgresql", "/run/postgresql", 5432),
            ("/srv/.s.PGSQL.x", "/srv/.s.PGSQL.x", 5432),
        ] {
            assert_eq!(socket(Path::new(path)), (folder.into(), port), "{path}");
        }
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
