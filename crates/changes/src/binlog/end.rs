//! Where a server's log ends, in the words of MariaDB and of MySQL.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use crate::connect::lost;
use crate::{Gtid, Lost, Place};

/// The first MySQL that knows the question by its new name; 8.4 no longer knows the old.
const RENAMED: (u16, u16, u16) = (8, 2, 0);

/// Whether the server is a MariaDB.
pub(crate) async fn is_mariadb(connection: &mut Conn) -> Result<bool, Lost> {
    let version: Result<Option<String>, _> = connection.query_first("SELECT VERSION()").await;
    let version = version.map_err(|error| lost(&error))?.ok_or(Lost::Unreadable)?;
    Ok(version.contains("MariaDB"))
}

/// Where the log ends now; on MariaDB in each of its domains.
pub(crate) async fn places(connection: &mut Conn, is_mariadb: bool) -> Result<Vec<Place>, Lost> {
    if is_mariadb {
        let places = Gtid::list(&mariadb(connection).await?).ok_or(Lost::Unreadable)?;
        return Ok(places.into_iter().map(Place::Gtid).collect());
    }
    let (file, position) = mysql(connection).await?;
    Ok(vec![Place::in_file(&file, position).ok_or(Lost::Unreadable)?])
}

/// The end of MariaDB's, as it writes it.
pub(crate) async fn mariadb(connection: &mut Conn) -> Result<String, Lost> {
    let place: Option<String> = connection
        .query_first("SELECT @@global.gtid_binlog_pos")
        .await
        .map_err(|error| lost(&error))?;
    Ok(place.unwrap_or_default())
}

/// The end of MySQL's: the name of its file, and the bytes in there.
pub(crate) async fn mysql(connection: &mut Conn) -> Result<(String, u64), Lost> {
    let question = match connection.server_version() >= RENAMED {
        true => "SHOW BINARY LOG STATUS",
        false => "SHOW MASTER STATUS",
    };
    let row: Option<Row> = connection.query_first(question).await.map_err(|error| lost(&error))?;
    let row = row.ok_or(Lost::Unreadable)?;
    match row.get_opt(0).zip(row.get_opt(1)) {
        Some((Ok(file), Ok(position))) => Ok((file, position)),
        _ => Err(Lost::Unreadable),
    }
}
