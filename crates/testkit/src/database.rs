//! The origin's database, as far as it tells what changes in it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use changes::{Change, Column, Event, Feed, KeyClass, Lost, Operation, Teller, Values};

/// What tells of changes, and the feed that hears it.
pub(crate) struct Database {
    teller: Teller,
    feed: Mutex<Option<Feed>>,
}

impl Default for Database {
    fn default() -> Self {
        let (teller, feed) = Feed::told();
        Self { teller, feed: Mutex::new(Some(feed)) }
    }
}

impl Database {
    /// The feed, for the one who listens.
    pub(crate) fn take_feed(&self) -> Option<Feed> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A row of this table is another from now on, and that is told.
    pub(crate) fn change(&self, table: &str) {
        self.teller.tell(Event::Change(Change {
            database: "site".into(),
            table: table.into(),
            operation: Operation::Update,
            columns: [Column::named("value")].into(),
            key: KeyClass::Plain,
            values: Values::default(),
            is_again: false,
        }));
        self.teller.tell(Event::Commit(None));
    }

    /// Changes go unheard from now on, or are told again.
    pub(crate) fn set_heard(&self, is_heard: bool) {
        self.teller.tell(match is_heard {
            true => Event::Recovered,
            false => Event::Lost(Lost::Disconnected),
        });
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Database")
    }
}
