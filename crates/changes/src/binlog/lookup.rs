//! Looking up the keys of tables, and the end of the log, on a connection beside the feed's.
//!
//! Invariant: the feed never waits long for it. A table whose key isn't known in time
//! is one whose rows can't be told apart, and that sweeps more, never less.

use std::collections::HashMap;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::{FromRow, Queryable};
use tokio::time::{Instant, timeout};

use super::end;
use crate::connect::connect;
use crate::keys::{IndexLine, TableKeys};
use crate::{Address, Place};

/// The most that the feed waits for an answer.
const WAIT: Duration = Duration::from_secs(2);
/// A table about which nothing could be learned is asked about again after this…
const AGAIN: Duration = Duration::from_secs(1);
/// …and a server that doesn't let us in, after this.
const DOOR_AGAIN: Duration = Duration::from_secs(10);
/// The most tables that are remembered; with more all are asked about again.
const TABLES_MAX: usize = 4096;

const LINES: &str = "\
    SELECT c.COLUMN_NAME, c.ORDINAL_POSITION, c.DATA_TYPE, s.INDEX_NAME, \
           COALESCE(s.NON_UNIQUE, 1), COALESCE(s.SEQ_IN_INDEX, 0) \
    FROM information_schema.COLUMNS c LEFT JOIN information_schema.STATISTICS s \
      ON s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME \
     AND s.COLUMN_NAME = c.COLUMN_NAME \
    WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?";

/// What is known of the tables of a server.
pub(crate) struct Lookup {
    address: Address,
    connection: Option<Conn>,
    closed_until: Option<Instant>,
    tables: HashMap<(Box<str>, Box<str>), (TableKeys, Instant)>,
}

type Line = (String, u32, String, Option<String>, u8, u32);

impl Lookup {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, connection: None, closed_until: None, tables: HashMap::new() }
    }

    /// Forgets everything: a definition changed.
    pub(crate) fn forget(&mut self) {
        self.tables.clear();
    }

    /// The keys of one table, or that they aren't known.
    pub(crate) async fn keys(&mut self, database: &str, table: &str) -> TableKeys {
        let name = (database.into(), table.into());
        if let Some(keys) = self.remembered(&name) {
            return keys.clone();
        }
        let keys = self.ask(database, table).await.unwrap_or_default();
        if self.tables.len() >= TABLES_MAX {
            self.tables.clear();
        }
        self.tables.insert(name, (keys.clone(), Instant::now()));
        keys
    }

    /// What needn't be asked (again) yet.
    pub(crate) fn remembered(&self, name: &(Box<str>, Box<str>)) -> Option<&TableKeys> {
        let (keys, asked) = self.tables.get(name)?;
        (keys.is_known() || asked.elapsed() < AGAIN).then_some(keys)
    }

    /// Where the log ends, of a server that is a MariaDB or isn't.
    pub(crate) async fn end(&mut self, is_mariadb: bool) -> Option<Vec<Place>> {
        let mut connection = self.connection().await?;
        let places = timeout(WAIT, end::places(&mut connection, is_mariadb)).await.ok()?.ok()?;
        self.connection = Some(connection);
        Some(places)
    }

    /// What the server says to a question about one table.
    pub(crate) async fn about<T: FromRow + Send + 'static>(
        &mut self,
        question: &str,
        database: &str,
        table: &str,
    ) -> Option<Vec<T>> {
        let mut connection = self.connection().await?;
        let asked = timeout(WAIT, connection.exec(question, (database, table)));
        let lines: Vec<T> = asked.await.ok()?.ok()?;
        self.connection = Some(connection);
        Some(lines)
    }

    async fn ask(&mut self, database: &str, table: &str) -> Option<TableKeys> {
        let lines: Vec<Line> = self.about(LINES, database, table).await?;
        let lines: Vec<IndexLine> = lines.into_iter().map(line).collect();
        TableKeys::from_lines(&lines)
    }

    /// The connection that is kept, or a new one. Whoever took it puts it back when it
    /// has answered; one that hasn't is closed.
    async fn connection(&mut self) -> Option<Conn> {
        if let Some(kept) = self.connection.take() {
            return Some(kept);
        }
        if self.closed_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let made = timeout(WAIT, connect(&self.address)).await.ok().and_then(Result::ok);
        self.closed_until = made.is_none().then(|| Instant::now() + DOOR_AGAIN);
        made
    }
}

fn line((column, ordinal, data_type, index, not_unique, place): Line) -> IndexLine {
    IndexLine { column, ordinal, data_type, index, is_unique: not_unique == 0, place }
}
