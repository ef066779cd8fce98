//! A connection to the site's database, whichever it is, and what its troubles mean.
//!
//! In: statements. Out: rows, or a [`Trouble`] that says what can be done.
//! Invariants: 1. an answer of a server that doesn't come within [`SILENCE_MAX`] ends the
//! connection; a file is waited for, see [`sqlite`].
//! 2. a trouble holds the server's words or ours, never an address or a password.

mod mysql;
mod postgres;
mod sqlite;

use std::path::PathBuf;
use std::time::Duration;

use changes::{Address, Door};
use rusqlite::types::Value;

use super::contract::Dialect;

/// So long an answer is waited for.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A server's words are cut here.
const WORDS_MAX: usize = 300;

/// Where a site's database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// MariaDB or MySQL.
    MySql(Address),
    /// PostgreSQL.
    Postgres(Address),
    /// A file; for our own tables it is made if it isn't there.
    Sqlite(PathBuf),
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The database is away, or went. What was asked last may have been done.
    #[error("the database is away: {0}")]
    Away(String),
    /// Others were in the way: a deadlock, or a lock that was waited for too long.
    #[error("others are in the way: {0}")]
    Busy(String),
    /// A row can't be written, for what stands in it or in other tables.
    #[error("a row is refused: {0}")]
    Row(String),
    /// Nobody is let in by this name and password, or there is no such database.
    #[error("the database lets nobody in like this: {0}; correct `database` of [tracker]")]
    Login(String),
    /// The user may not do what a contract asks for.
    #[error("the database's user lacks a right: {0}")]
    Right(String),
    /// A table isn't there, or may not be seen.
    #[error("the database has no table `{0}`, or its user may not see it")]
    Table(String),
    /// The owner must do something else.
    #[error("{0}")]
    Refused(String),
}

impl Trouble {
    /// Whether the owner must do something, and not only wait.
    pub(crate) fn is_owners(&self) -> bool {
        !matches!(self, Self::Away(_) | Self::Busy(_))
    }
}

/// A row's values, as bytes, behind each other: thousands of rows come at once. Before each stands
/// its length and one more, or 0 if there is nothing.
#[derive(Hash)]
pub(crate) struct Row(Box<[u8]>);

/// Bytes of a length.
const LENGTH: usize = size_of::<u32>();

impl Row {
    /// One of values that are put into a buffer for it, which has room for the next one again.
    fn take(values: &mut Vec<u8>) -> Self {
        let row = Self(values.as_slice().into());
        values.clear();
        row
    }

    pub(crate) fn bytes(&self, at: usize) -> Option<&[u8]> {
        let mut rest = &*self.0;
        for place in 0..=at {
            let (length, behind) = rest.split_first_chunk::<LENGTH>()?;
            let length = u32::from_le_bytes(*length) as usize;
            let (value, behind) = behind.split_at_checked(length.saturating_sub(1))?;
            if place == at {
                return (length > 0).then_some(value);
            }
            rest = behind;
        }
        None
    }

    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes(at)?).ok()
    }

    /// A number, also of a column that says true and false; no number is nothing.
    pub(crate) fn number(&self, at: usize) -> Option<u64> {
        match self.text(at)? {
            "t" => Some(1),
            "f" => Some(0),
            // Some expressions answer with decimals or below zero.
            text => text
                .split('.')
                .next()?
                .parse::<i128>()
                .ok()
                .map(|number| u64::try_from(number.max(0)).unwrap_or(u64::MAX)),
        }
    }
}

/// Puts a value behind the others of its row; none that is longer than a row may be.
fn put_value(values: &mut Vec<u8>, value: Option<&[u8]>) {
    let length = value.and_then(|value| u32::try_from(value.len() + 1).ok());
    values.extend_from_slice(&length.unwrap_or(0).to_le_bytes());
    if let (Some(value), Some(_)) = (value, length) {
        values.extend_from_slice(value);
    }
}

/// What became of rows that were bound to a statement one after the other.
#[derive(Default)]
pub(crate) struct Bound {
    pub(crate) done: u64,
    /// Which were refused for what stands in them, and why.
    pub(crate) refused: Vec<(usize, String)>,
}

/// A connection. Dropping it ends it, and what it had begun.
pub(crate) enum Link {
    MySql(mysql::Link),
    Postgres(postgres::Link),
    Sqlite(sqlite::Link),
}

impl Place {
    /// What is spoken there.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::MySql(_) => Dialect::MySql,
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// The database's name, where it has one.
    pub(crate) fn database(&self) -> &str {
        match self {
            Self::MySql(address) | Self::Postgres(address) => &address.database,
            Self::Sqlite(_) => "",
        }
    }

    /// Connects; `makes_file` where a file that isn't there is to be made.
    pub(crate) async fn connect(&self, makes_file: bool) -> Result<Link, Trouble> {
        let connected = async {
            Ok(match self {
                Self::MySql(address) => Link::MySql(mysql::Link::connect(address).await?),
                Self::Postgres(address) => Link::Postgres(postgres::Link::connect(address).await?),
                Self::Sqlite(path) => Link::Sqlite(sqlite::Link::open(path, makes_file)?),
            })
        };
        within(connected).await.map_err(|trouble| match trouble {
            Trouble::Away(why) => Trouble::Away(format!("{why}, at {}", self.door())),
            Trouble::Refused(why) => Trouble::Refused(format!("{}: {why}", self.door())),
            other => other,
        })
    }

    /// Where one knocks, for people.
    pub(crate) fn door(&self) -> String {
        match self {
            Self::MySql(address) | Self::Postgres(address) => match &address.door {
                Door::Socket(path) => path.display().to_string(),
                Door::Tcp(host, port) => format!("{host}:{port}"),
            },
            Self::Sqlite(path) => path.display().to_string(),
        }
    }
}

impl Link {
    /// Runs a statement; how many rows it changed.
    pub(crate) async fn run(&mut self, statement: &str) -> Result<u64, Trouble> {
        match self {
            Self::MySql(link) => within(link.run(statement)).await,
            Self::Postgres(link) => within(link.run(statement)).await,
            Self::Sqlite(link) => in_turn(link.run(statement)).await,
        }
    }

    /// Runs a statement of SQLite once for each of so many rows, whose values are put into a buffer
    /// when it is their turn; a row for which that says no is left out.
    pub(crate) async fn run_each(
        &mut self,
        statement: &str,
        rows: usize,
        values: impl FnMut(usize, &mut Vec<Value>) -> bool,
    ) -> Result<Bound, Trouble> {
        match self {
            Self::Sqlite(link) => in_turn(link.run_each(statement, rows, values)).await,
            Self::MySql(_) | Self::Postgres(_) => {
                Err(Trouble::Refused("only a file is written row by row".to_owned()))
            }
        }
    }

    /// A number that stays the same as long as nobody else changes what is there; none from who
    /// doesn't tell. Of two connections they are no two of one kind.
    pub(crate) fn changes(&mut self) -> Result<Option<i64>, Trouble> {
        match self {
            Self::Sqlite(link) => link.changes().map(Some),
            Self::MySql(_) | Self::Postgres(_) => Ok(None),
        }
    }

    /// The rows of an answer.
    pub(crate) async fn ask(&mut self, question: &str) -> Result<Vec<Row>, Trouble> {
        match self {
            Self::MySql(link) => within(link.ask(question)).await,
            Self::Postgres(link) => within(link.ask(question)).await,
            Self::Sqlite(link) => in_turn(link.ask(question)).await,
        }
    }
}

async fn within<T>(asked: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let late = || Trouble::Away(format!("it didn't answer in {} s", SILENCE_MAX.as_secs()));
    tokio::time::timeout(SILENCE_MAX, asked).await.unwrap_or_else(|_| Err(late()))
}

/// Nobody waits for a file, so whoever has asked it gives others of their thread a turn.
async fn in_turn<T>(asked: T) -> T {
    tokio::task::yield_now().await;
    asked
}

/// A server's words, with its number, at a bearable length.
fn words(code: &str, message: &str) -> String {
    let end = (0..=WORDS_MAX.min(message.len())).rev().find(|&end| message.is_char_boundary(end));
    format!("{} ({code})", &message[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_its_values_back() {
        let mut values = Vec::new();
        for value in [Some(&b"12"[..]), None, Some(b""), Some(b"t"), Some(b"-3.5")] {
            put_value(&mut values, value);
        }
        let row = Row::take(&mut values);
        assert!(values.is_empty());
        let told: Vec<_> = (0..6).map(|at| row.text(at)).collect();
        assert_eq!(told, [Some("12"), None, Some(""), Some("t"), Some("-3.5"), None]);
        let numbers: Vec<_> = (0..6).map(|at| row.number(at)).collect();
        assert_eq!(numbers, [Some(12), None, None, Some(1), Some(0), None]);
    }
}
