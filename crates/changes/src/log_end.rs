//! Where the log ends, for those who want to read what they wrote.

use std::time::Duration;

use mysql_async::Conn;
use tokio::time::timeout;

use crate::binlog::end;
use crate::connect::connect;
use crate::{Address, Lost, Place, Source, postgres};

/// The most that an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Asks a server where its log ends, on a connection that is kept.
///
/// When the answer to an unsafe request has ended, what it wrote is in the log. Whoever
/// reads the end then, and waits until a [`Progress`](crate::Progress) has reached it (a
/// millisecond, as a rule), has swept what that request changed.
pub struct LogEnd {
    server: Server,
}

enum Server {
    /// Its connection, and whether it is a MariaDB.
    MySql(Address, Option<(Conn, bool)>),
    PostgreSql(Address, Option<postgres::Connection>),
}

impl LogEnd {
    /// For the MariaDB or MySQL server at `address`; connects when it is first asked.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self { server: Server::MySql(address, None) }
    }

    /// For the PostgreSQL server at `address`.
    #[must_use]
    pub fn postgres(address: Address) -> Self {
        Self { server: Server::PostgreSql(address, None) }
    }

    /// For a source that has a log.
    #[must_use]
    pub fn of(source: &Source) -> Option<Self> {
        match source {
            Source::MySql(address) => Some(Self::new(address.clone())),
            Source::PostgreSql(address) => Some(Self::postgres(address.clone())),
            _ => None,
        }
    }

    /// Where the log ends now.
    pub async fn read(&mut self) -> Result<Vec<Place>, Lost> {
        let asked = async {
            match &mut self.server {
                Server::MySql(address, kept) => mysql(address, kept).await,
                Server::PostgreSql(address, kept) => postgres(address, kept).await,
            }
        };
        timeout(ANSWER_MAX, asked).await.unwrap_or(Err(Lost::Silent))
    }
}

// A connection that somebody gave up waiting for isn't used again: each is taken, and
// put back when it has answered.

async fn mysql(address: &Address, kept: &mut Option<(Conn, bool)>) -> Result<Vec<Place>, Lost> {
    let (mut connection, is_mariadb) = match kept.take() {
        Some(kept) => kept,
        None => {
            let mut connection = connect(address).await?;
            let is_mariadb = end::is_mariadb(&mut connection).await?;
            (connection, is_mariadb)
        }
    };
    let places = end::places(&mut connection, is_mariadb).await?;
    *kept = Some((connection, is_mariadb));
    Ok(places)
}

async fn postgres(
    address: &Address,
    kept: &mut Option<postgres::Connection>,
) -> Result<Vec<Place>, Lost> {
    let connection = match kept.take() {
        Some(kept) => kept,
        None => postgres::Connection::open(address).await?,
    };
    let place = connection.log_end().await?;
    *kept = Some(connection);
    Ok(vec![Place::Lsn(place)])
}
