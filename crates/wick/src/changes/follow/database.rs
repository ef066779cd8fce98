//! A server of databases, asked as its root or as the app's user.
//!
//! Each question has a connection of its own, so that a restart in between breaks none.
//! Invariant: an error holds the server's words or ours, never a password.

use std::path::PathBuf;
use std::time::Duration;

use changes::{Address, Lost, connect};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use tokio::time::timeout;

/// How long a server may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server, and as whom it is asked.
#[derive(Clone, Debug)]
pub(super) struct Database(pub(super) Address);

/// What tells a server from any other, and where its root logs in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Its host, port, data and process, as it names them.
    pub(super) name: String,
    /// Its socket.
    pub(super) socket: PathBuf,
    /// MariaDB rather than MySQL.
    pub(super) is_mariadb: bool,
}

impl Database {
    /// A connection.
    pub(super) async fn connect(&self) -> Result<Conn, Lost> {
        bounded(Conn::new(connect::options(&self.0))).await
    }

    /// Who the server is.
    pub(super) async fn identity(&self) -> Result<Identity, Lost> {
        const WHO: &str = "SELECT VERSION(), @@socket, \
            CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@pid_file)";
        let mut connection = self.connect().await?;
        let row: Option<(String, String, String)> = bounded(connection.query_first(WHO)).await?;
        let (version, socket, name) = row.ok_or(Lost::Unreadable)?;
        Ok(Identity { name, socket: socket.into(), is_mariadb: version.contains("MariaDB") })
    }

    /// Runs statements in turn, up to the first that fails.
    pub(super) async fn run(&self, statements: &[String]) -> Result<(), Lost> {
        let mut connection = self.connect().await?;
        for statement in statements {
            bounded(connection.query_drop(statement)).await?;
        }
        Ok(())
    }

    /// Whether there is a user of this name on the server's own machine.
    pub(super) async fn has_user(&self, name: &str) -> Result<bool, Lost> {
        const COUNT: &str = "SELECT COUNT(*) FROM mysql.user WHERE User = ? AND Host = 'localhost'";
        let mut connection = self.connect().await?;
        let count: Option<u64> = bounded(connection.exec_first(COUNT, (name,))).await?;
        Ok(count.is_some_and(|count| count > 0))
    }

    /// What a setting of the server is now; none if it has no such setting.
    pub(super) async fn value(&self, name: &str) -> Option<String> {
        let mut connection = self.connect().await.ok()?;
        let question = format!("SELECT CAST(@@global.{name} AS CHAR)");
        bounded(connection.query_first(question)).await.ok()?
    }
}

/// The answer, if it comes in time.
async fn bounded<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Lost> {
    match timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| connect::lost(&error)),
        Err(_) => Err(Lost::Silent),
    }
}
