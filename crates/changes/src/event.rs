//! Events: what a feed tells, whichever database it listens to.
//!
//! Invariant: a feed that just began follows nothing. Only [`Event::Recovered`] says
//! that from now on every change is told, and [`Event::Lost`] takes it back.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{FENCE, FENCE_OF_CODE, KeyClass, Place, Values};

/// What a feed has to say next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Rows of one table changed in one way.
    Change(Change),
    /// What was told since the last one belongs together and is durable. With a place:
    /// everything that the log holds up to there has been told.
    Commit(Option<Place>),
    /// Changes may go unseen from now on: sweep, and trust nothing for long.
    Lost(Lost),
    /// Every change is told again from now on. Some may have happened before: sweep.
    Recovered,
    /// The feed is alive and has nothing to tell.
    Idle,
}

/// Rows of one table that changed in one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// The database of the table; empty where that isn't known.
    pub database: Box<str>,
    /// The table; empty where it isn't known, which may be any.
    pub table: Box<str>,
    /// What was done.
    pub operation: Operation,
    /// Which columns an update changed. For a statement, and for a minimal row image,
    /// those that were assigned. Empty for anything but an update.
    pub columns: BTreeSet<Column>,
    /// Which kind of row it was.
    pub key: KeyClass,
    /// What the rows hold in columns that may point at rows, where the feed has it.
    pub values: Values,
    /// Whether it may be nothing new: where only times are known, a table that changed is told again
    /// for as long as it may have changed once more.
    pub is_again: bool,
}

impl Change {
    /// Something happened to a table, and nobody knows what.
    #[must_use]
    pub fn anything(database: &str, table: &str) -> Self {
        Self::of(database, table, Operation::Other)
    }

    /// How long after it was heard an answer may still be made of what was before it.
    #[must_use]
    pub fn fence(&self) -> Duration {
        match &self.key {
            // Only files have no database.
            KeyClass::Of(name) if self.database.is_empty() && name.ends_with(".php") => {
                FENCE_OF_CODE
            }
            _ => FENCE,
        }
    }

    pub(crate) fn of(database: &str, table: &str, operation: Operation) -> Self {
        Self {
            database: database.into(),
            table: table.into(),
            operation,
            columns: BTreeSet::new(),
            key: KeyClass::Unknown,
            values: Values::default(),
            is_again: false,
        }
    }
}

/// Operation, table, columns and class of its key: `Update options option_value blogname`.
/// Numbers stand for columns without a name, `-` for a key without a name and `?` for none
/// that is known.
impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |column: &Column| match column {
            Column::Name(name) => name.to_string(),
            Column::Ordinal(ordinal) => ordinal.to_string(),
            Column::Moment(_) => column.to_string(),
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let key = match &self.key {
            KeyClass::Of(class) => class,
            KeyClass::Plain => "-",
            KeyClass::Unknown => "?",
        };
        let columns = columns.join("+");
        write!(formatter, "{:?} {} {columns} {key}", self.operation, self.table)
    }
}

/// What was done to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Rows were added, or replaced as a whole.
    Insert,
    /// Values of rows were changed.
    Update,
    /// Rows were removed.
    Delete,
    /// The definition of a table or of something else was changed.
    Schema,
    /// Something that this feed can't tell more of. It may have changed everything.
    Other,
}

/// A column, by its name where the feed has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Column {
    /// Its name, in small letters.
    Name(Box<str>),
    /// Its place in the table, from 0.
    Ordinal(u32),
    /// One that was given the present time, as were all others that changed.
    Moment(Box<Column>),
}

impl Column {
    /// A column by its name; databases don't tell case apart there.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::Name(name.to_lowercase().into())
    }

    /// Its name, if that is known.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Ordinal(_) => None,
            Self::Moment(column) => column.name(),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Ordinal(ordinal) => write!(formatter, "column {}", u64::from(*ordinal) + 1),
            Self::Moment(column) => write!(formatter, "{column} = now"),
        }
    }
}

/// Why a feed doesn't follow. Its words never bear an address or a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The database can't be reached, or the connection broke.
    Disconnected,
    /// Not even a heartbeat came for too long.
    Silent,
    /// The database said no, in its own words.
    Refused {
        /// Its own code of the error. On MariaDB and MySQL 1045 and 1227 are missing
        /// rights, 1236 a log that is gone; on PostgreSQL 28P01 is a wrong password, 42501 a
        /// missing right.
        code: String,
        /// Its words.
        message: String,
    },
    /// The settings or the rights don't allow it; what would, in words for the owner.
    Impossible(String),
    /// It will follow by itself, and nobody need do anything; what it waits for.
    Waiting(String),
    /// The listener was too slow, and what it had not yet heard was thrown away.
    Overrun,
    /// The log itself says that something is missing in it.
    Incident,
    /// What was sent can't be read.
    Unreadable,
}

impl fmt::Display for Lost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => formatter.write_str("the database can't be reached"),
            Self::Silent => formatter.write_str("the database has gone silent"),
            Self::Refused { code, message } => {
                write!(formatter, "the database refuses: {message} ({code})")
            }
            Self::Impossible(why) | Self::Waiting(why) => formatter.write_str(why),
            Self::Overrun => formatter.write_str("changes came faster than they were heard"),
            Self::Incident => formatter.write_str("the database's log has a gap"),
            Self::Unreadable => formatter.write_str("the database sent what can't be read"),
        }
    }
}
