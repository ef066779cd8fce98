//! Watching a file of SQLite: its counter tells that somebody committed, and what its pages hold
//! tells which rows became other.
//!
//! Of a file that is too large, or written all the time, only the counter is known: each change
//! is one of unknown tables then.
//! Invariants: 1. Nothing is written, and nobody who writes is made to wait. 2. A file that was
//! replaced by another is lost and found again. 3. Whatever isn't known to be as it was is told.

mod image;
pub(crate) mod pages;
pub(crate) mod record;
mod schema;

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tokio::task::spawn_blocking;

use image::{Image, Trouble};
pub use pages::FILE_BYTES_MAX;

use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Change, Event, Lost};

/// How often the counter is read, which takes some 20 microseconds.
const EVERY: Duration = Duration::from_millis(100);
/// After so many readings without news the listener hears that nothing happens.
const QUIET: u32 = 10;
/// So many readings may fail in a row: one who writes may hold the file alone.
const FAILURES_MAX: u32 = 50;
/// After looking for changed rows it rests so many times as long as that took…
const PART: u32 = 8;
/// …but no longer than this.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// How often an image is begun again because somebody committed meanwhile.
const TRIES: u32 = 3;
/// Pages that SQLite keeps for this connection.
const CACHE_PAGES: i64 = 64;

/// Watches the file at `path` for ever.
pub(crate) async fn follow(path: PathBuf, inlet: Inlet) {
    repeat(&inlet, || watch(path.clone(), inlet.clone())).await;
}

async fn watch(path: PathBuf, inlet: Inlet) -> Result<Infallible, Lost> {
    let identity = identity(&path)?;
    let mut look = Look::open(&path)?;
    inlet.tell(Event::Recovered);
    let (mut quiet, mut failures, mut pause) = (0, 0, EVERY);
    loop {
        tokio::time::sleep(std::mem::replace(&mut pause, EVERY)).await;
        if self::identity(&path)? != identity {
            return Err(Lost::Disconnected);
        }
        match look.has_changed() {
            Ok(true) => (quiet, failures) = (0, 0),
            Ok(false) => {
                (quiet, failures) = (quiet + 1, 0);
                if quiet % QUIET == 0 {
                    inlet.tell(Event::Idle);
                }
                continue;
            }
            Err(_) if failures < FAILURES_MAX => {
                failures += 1;
                continue;
            }
            Err(lost) => return Err(lost),
        }
        let began = Instant::now();
        let looking = spawn_blocking(move || (look.changes(), look));
        let (changes, same) = looking.await.map_err(|_| Lost::Unreadable)?;
        look = same;
        if !changes.is_empty() {
            changes.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
            inlet.tell(Event::Commit(None));
        }
        pause = (began.elapsed() * PART).clamp(EVERY, PAUSE_MAX);
    }
}

/// A connection that looks at a file.
struct Look {
    path: PathBuf,
    connection: Connection,
    /// The counter, as it was told of last.
    known: i64,
    image: Option<Image>,
}

impl Look {
    fn open(path: &Path) -> Result<Self, Lost> {
        let open = reading(path, OpenFlags::empty());
        let connection = open.map_err(|_| Lost::Disconnected)?;
        let known = counter(&connection)?;
        let image = Image::of(path, &connection, None).ok().map(|(image, _)| image);
        Ok(Self { path: path.to_owned(), connection, known, image })
    }

    /// Whether somebody committed since this was asked last.
    fn has_changed(&mut self) -> Result<bool, Lost> {
        let now = counter(&self.connection)?;
        Ok(std::mem::replace(&mut self.known, now) != now)
    }

    /// What became other since this was asked last; that may be nothing.
    fn changes(&mut self) -> Vec<Change> {
        let before = self.image.take();
        let mut tries = TRIES;
        let now = loop {
            match Image::of(&self.path, &self.connection, before.as_ref()) {
                Err(Trouble::NotNow) if tries > 0 => tries -= 1,
                now => break now,
            }
        };
        let is_compared = before.is_some();
        match now {
            Ok((image, changes)) => {
                self.image = Some(image);
                // Without one from before nothing is told apart.
                if is_compared { changes } else { vec![Change::anything("", "")] }
            }
            Err(trouble) => {
                // By what it was then the next look tells all that differs.
                self.image = before.filter(|_| matches!(trouble, Trouble::NotNow));
                vec![Change::anything("", "")]
            }
        }
    }
}

/// A connection that writes nothing, and keeps few pages: the system keeps them as well.
fn reading(name: impl AsRef<Path>, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.pragma_update(None, "cache_size", CACHE_PAGES)?;
    Ok(connection)
}

/// It changes when another connection has committed.
fn counter(connection: &Connection) -> Result<i64, Lost> {
    let read = connection.query_row("PRAGMA data_version", [], |row| row.get(0));
    read.map_err(|_| Lost::Unreadable)
}

/// Which file it is, whatever its name.
fn identity(path: &Path) -> Result<(u64, u64), Lost> {
    let about = std::fs::metadata(path).map_err(|_| Lost::Disconnected)?;
    Ok((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use crate::{Change, Event, Feed, KeyClass, Operation};
    use std::time::Duration;

    async fn until(feed: &mut Feed, expected: &Event) {
        let heard = async { while feed.next().await != *expected {} };
        tokio::time::timeout(Duration::from_secs(60), heard).await.expect("it is told");
    }

    #[tokio::test]
    async fn what_others_commit_is_told_and_a_file_that_was_replaced_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let change = Event::Change(Change {
            key: KeyClass::Plain,
            ..Change::of("main", "t", Operation::Insert)
        });
        for mode in ["WAL", "DELETE"] {
            let open = |name: &str| {
                let writer = rusqlite::Connection::open(folder.path().join(name)).expect("a file");
                writer.pragma_update(None, "journal_mode", mode).expect("a mode");
                writer.execute_batch("CREATE TABLE t (a)").expect("a table");
                writer
            };
            let writer = open("site.sqlite");
            let mut feed = Feed::sqlite(path.clone());
            until(&mut feed, &Event::Recovered).await;
            for _ in 0..3 {
                writer.execute_batch("INSERT INTO t VALUES (1)").expect("a row");
                until(&mut feed, &change).await;
            }
            writer.execute_batch("BEGIN; INSERT INTO t VALUES (2); ROLLBACK").expect("nothing");
            until(&mut feed, &Event::Idle).await;
            drop(writer);

            let other = open("other.sqlite");
            std::fs::rename(folder.path().join("other.sqlite"), &path).expect("another file");
            until(&mut feed, &Event::Lost(crate::Lost::Disconnected)).await;
            until(&mut feed, &Event::Recovered).await;
            drop((other, feed));
            std::fs::remove_file(&path).expect("the file goes");
        }
    }
}
