//! A connection to the database of a source, for whoever reads all its rows.
//!
//! In: a [`Source`] and its queries. Out: columns and rows, one by one as they come.
//! Invariants: 1. rows are never gathered: memory is one row's. 2. an answer that pauses for
//! [`SILENCE_MAX`] ends the connection; [`Stop`] ends it at once. 3. a trouble holds the server's
//! words or ours, never an address or a password.

mod mysql;
mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use changes::{Address, Door};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::sphinx::conf::{Source, SourceKind};

/// So long a row is waited for: a server may sort a whole table before the first.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// So long for being let in.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A server's words are cut here.
const WORDS_MAX: usize = 300;
/// Where MariaDB and MySQL listen for `localhost`, by distribution, as their own clients do.
const SOCKETS: [&str; 3] =
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// Why a source isn't read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
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
pub(crate) struct Stop {
    shutdown: Shutdown,
    /// What a file's queries are interrupted by.
    interrupt: Arc<Mutex<Option<rusqlite::InterruptHandle>>>,
}

impl Stop {
    pub(crate) fn begin(&self) {
        self.shutdown.begin();
        if let Some(handle) = &*self.interrupt.lock() {
            handle.interrupt();
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
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
    pub(crate) fn connect(source: &Source, stop: &Stop) -> Result<Self, Trouble> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Refused(format!("the system gives no runtime: {error}")))?;
        let connecting = async {
            Ok(match source.kind {
                SourceKind::MySql => {
                    Link::MySql(mysql::Link::connect(&mysql_address(source)).await?)
                }
                SourceKind::Postgres => {
                    Link::Postgres(postgres::Link::connect(&postgres_address(source)).await?)
                }
                SourceKind::Sqlite => {
                    let (link, handle) = sqlite::Link::open(Path::new(&source.database))?;
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

fn mysql_address(source: &Source) -> Address {
    let named = source.socket.as_ref().map(PathBuf::from);
    // `localhost` is the socket unless a port is written, as for MySQL's own clients.
    let usual = || {
        let is_local = source.host == "localhost" && source.port.is_none_or(|port| port == 3306);
        let there = SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
        there.filter(|_| is_local)
    };
    let tcp = || Door::Tcp(host(source), source.port.unwrap_or(3306));
    address(source, named.or_else(usual).map_or_else(tcp, Door::Socket))
}

fn postgres_address(source: &Source) -> Address {
    let port = source.port.unwrap_or(5432);
    let folder = source.socket.clone().or_else(|| {
        // As in libpq, a host that is a path is the socket's folder.
        Some(source.host.clone()).filter(|host| host.starts_with('/'))
    });
    let door = match folder {
        Some(folder) => Door::Socket(Path::new(&folder).join(format!(".s.PGSQL.{port}"))),
        None => Door::Tcp(host(source), port),
    };
    address(source, door)
}

/// An address that isn't looked up: `localhost` may be one that nobody listens on.
fn host(source: &Source) -> String {
    if source.host == "localhost" { "127.0.0.1".to_owned() } else { source.host.clone() }
}

fn address(source: &Source, door: Door) -> Address {
    Address {
        door,
        user: source.user.clone(),
        password: source.password.clone(),
        database: source.database.clone(),
    }
}

/// A server's words, with its number, at a bearable length.
fn words(code: &str, message: &str) -> String {
    format!("{} ({code})", &message[..message.floor_char_boundary(WORDS_MAX)])
}
