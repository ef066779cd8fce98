//! MariaDB and MySQL.

use changes::{Address, Lost, connect};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value};

use super::{Row, Trouble, put_value, words};

/// Seconds that a row's or a table's lock is waited for: the site shall not wait for us while
/// we wait for others.
const LOCK_WAIT_SECONDS: u32 = 5;

pub(crate) struct Link(Conn);

impl Link {
    pub(super) async fn connect(address: &Address) -> Result<Self, Trouble> {
        let options = connect::options(address).db_name(Some(&address.database));
        let mut link = Self(Conn::new(options).await.map_err(|error| trouble(&error))?);
        // Strict: what doesn't fit is refused, and not cut. A deadlock, or a lock that isn't
        // given, shall not be the site's trouble.
        let manners = format!(
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
             time_zone = '+00:00', autocommit = 1, innodb_lock_wait_timeout = \
             {LOCK_WAIT_SECONDS}, lock_wait_timeout = {LOCK_WAIT_SECONDS}, \
             tx_isolation = 'READ-COMMITTED'"
        );
        // MySQL 8 knows only the other name.
        if let Err(Trouble::Refused(_)) = link.run(&manners).await {
            let renamed = manners.replace("tx_isolation", "transaction_isolation");
            link.run(&renamed).await?;
        }
        Ok(link)
    }

    pub(super) async fn run(&mut self, statement: &str) -> Result<u64, Trouble> {
        self.0.query_drop(statement).await.map_err(|error| trouble(&error))?;
        Ok(self.0.affected_rows())
    }

    pub(super) async fn ask(&mut self, question: &str) -> Result<Vec<Row>, Trouble> {
        let rows: Vec<mysql_async::Row> =
            self.0.query(question).await.map_err(|error| trouble(&error))?;
        let mut values = Vec::new();
        let row = |row: mysql_async::Row| {
            for value in row.unwrap() {
                match value {
                    Value::Bytes(bytes) => put_value(&mut values, Some(&bytes)),
                    Value::Int(number) => {
                        put_value(&mut values, Some(number.to_string().as_bytes()))
                    }
                    Value::UInt(number) => {
                        put_value(&mut values, Some(number.to_string().as_bytes()))
                    }
                    _ => put_value(&mut values, None),
                }
            }
            Row::take(&mut values)
        };
        Ok(rows.into_iter().map(row).collect())
    }
}

fn trouble(error: &mysql_async::Error) -> Trouble {
    let mysql_async::Error::Server(server) = error else {
        return match connect::lost(error) {
            Lost::Impossible(why) => Trouble::Login(why),
            Lost::Disconnected => Trouble::Away("it can't be reached".to_owned()),
            lost => Trouble::Away(lost.to_string()),
        };
    };
    let words = words(&server.code.to_string(), &server.message);
    match server.code {
        // Too many connections; it shuts down; the connection was ended; a statement was.
        1040 | 1053 | 1317 | 1927 | 4031 => Trouble::Away(words),
        1205 | 1213 => Trouble::Busy(words),
        // A row that it points at is missing; a number or a text that doesn't fit; a sum
        // that doesn't; a check that it fails, by MySQL and by MariaDB.
        1216 | 1452 | 1264 | 1406 | 1690 | 3819 | 4025 => Trouble::Row(words),
        // A wrong password; a user who may not; a database that isn't there.
        1045 | 1698 | 1049 => Trouble::Login(words),
        // Of a database, a statement, a table, a column.
        1044 | 1142 | 1143 | 1227 => Trouble::Right(words),
        _ => Trouble::Refused(words),
    }
}
