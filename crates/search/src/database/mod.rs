//! A connection to the database of a source, for whoever reads all its rows.
//!
//! In: a [`Place`] and queries. Out: columns and rows, one by one as they come.
//! Invariants: 1. rows are never gathered: memory is one row's. 2. an answer that pauses for
//! [`SILENCE_MAX`] ends the connection; [`Stop`] ends it at once. 3. a trouble holds the server's
//! words or ours, never an address or a password.

mod mysql;
mod postgres;
mod ranges;
mod sqlite;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use changes::Address;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

pub(crate) use ranges::{bounds, ranged, steps};

/// So long a row is waited for: a server may sort a whole table before the first.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// So long for being let in.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A server's words are cut here.
const WORDS_MAX: usize = 300;
/// Why a source isn't read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It is away, or went.
    #[error("its database is away: {0}")]
    Away(String),
    /// The owner must do something.
    #[error("{0}")]
    Refused(String),
    /// Wick ends.
    #[error("it was told to stop")]
    Stopped,
}

/// The end of all reading, given once.
#[derive(Clone, Default)]
pub struct Stop {
    shutdown: Shutdown,
    /// What a file's queries are interrupted by.
    interrupt: Arc<Mutex<Option<rusqlite::InterruptHandle>>>,
}

impl Stop {
    /// Begins it.
    pub fn begin(&self) {
        self.shutdown.begin();
        if let Some(handle) = &*self.interrupt.lock() {
            handle.interrupt();
        }
    }

    /// Whether it has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.shutdown.has_begun()
    }
}

/// What comes of a query: its columns, once and first, then rows.
pub(crate) enum Told {
    Columns(Vec<String>),
    Row(Vec<Option<Vec<u8>>>),
}

/// Whether more is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    NoFurther,
}

/// What takes it.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Told) -> Result<Go, Trouble>;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// MariaDB or MySQL.
    MySql(Address),
    /// PostgreSQL.
    Postgres(Address),
    /// A file of SQLite.
    Sqlite(PathBuf),
}

enum Link {
    MySql(mysql::Link),
    Postgres(postgres::Link),
    Sqlite(sqlite::Link),
}

/// A connection. It is used by a thread that may wait.
pub(crate) struct Database {
    // Before its runtime, in which it ends.
    link: Option<Link>,
    runtime: Runtime,
    stop: Stop,
}

impl Database {
    /// Connects.
    pub(crate) fn connect(place: &Place, stop: &Stop) -> Result<Self, Trouble> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Refused(format!("the system gives no runtime: {error}")))?;
        let connecting = async {
            Ok(match place {
                Place::MySql(address) => Link::MySql(mysql::Link::connect(address).await?),
                Place::Postgres(address) => Link::Postgres(postgres::Link::connect(address).await?),
                Place::Sqlite(path) => {
                    let (link, handle) = sqlite::Link::open(path)?;
                    *stop.interrupt.lock() = Some(handle);
                    Link::Sqlite(link)
                }
            })
        };
        let link = runtime.block_on(within(CONNECT_MAX, stop, connecting))?;
        Ok(Self { link: Some(link), runtime, stop: stop.clone() })
    }

    /// Runs a statement of which no rows are wanted.
    pub(crate) fn run(&mut self, statement: &str) -> Result<(), Trouble> {
        self.each(statement, &mut |_| Ok(Go::On))
    }

    /// Gives `take` the columns of an answer and each of its rows.
    pub(crate) fn each(&mut self, query: &str, take: Take<'_>) -> Result<(), Trouble> {
        let stop = &self.stop;
        if stop.has_begun() {
            return Err(Trouble::Stopped);
        }
        let read = match &mut self.link {
            None => return Err(Trouble::Away("the connection ended".to_owned())),
            Some(Link::MySql(link)) => self.runtime.block_on(link.each(query, stop, take)),
            Some(Link::Postgres(link)) => self.runtime.block_on(link.each(query, stop, take)),
            Some(Link::Sqlite(link)) => link.each(query, stop, take),
        };
        if stop.has_begun() { Err(Trouble::Stopped) } else { read }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        match self.link.take() {
            // It says goodbye.
            Some(Link::MySql(link)) => self.runtime.block_on(link.end()),
            Some(Link::Postgres(link)) => {
                let _within = self.runtime.enter();
                drop(link);
            }
            Some(Link::Sqlite(_)) => *self.stop.interrupt.lock() = None,
            None => {}
        }
    }
}

/// What is asked, or the end of waiting for it.
async fn within<T>(
    most: Duration,
    stop: &Stop,
    asked: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    tokio::select! {
        answered = tokio::time::timeout(most, asked) => answered.unwrap_or_else(|_| {
            Err(Trouble::Away(format!("it didn't answer in {} s", most.as_secs())))
        }),
        () = stop.shutdown.begun() => Err(Trouble::Stopped),
    }
}

/// A server's words, with its number, at a bearable length.
fn words(code: &str, message: &str) -> String {
    format!("{} ({code})", &message[..message.floor_char_boundary(WORDS_MAX)])
}
