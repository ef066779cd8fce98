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
use tokio::time::{sleep, timeout};

use image::{Image, Trouble};
pub use pages::FILE_BYTES_MAX;

use crate::nudge::Nudge;
use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Change, Event, Lost};

/// How often the counter is read, which takes some 20 microseconds.
const EVERY: Duration = Duration::from_millis(100);
/// After so many readings without news the listener hears that nothing happens.
const QUIET: u32 = 10;
/// So many readings may fail in a row: one who writes may hold the file alone.
const FAILURES_MAX: u32 = 50;
/// After the first that failed it is read again so soon, and ever later after each further one.
const SOON: Duration = Duration::from_millis(2);
/// After looking for changed rows it rests so many times as long as that took…
const PART: u32 = 8;
/// …but no longer than this.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// An image during which somebody committed is begun again for so long…
const TRYING_MAX: Duration = Duration::from_millis(250);
/// …after a rest of so many times as long as the one in vain took, and of this at least.
const TRYING_PART: u32 = 4;
const TRYING_REST: Duration = Duration::from_millis(1);
/// Pages that SQLite keeps for this connection.
const CACHE_PAGES: i64 = 64;

/// Watches the file at `path` for ever.
pub(crate) async fn follow(path: PathBuf, inlet: Inlet, nudge: Nudge) {
    repeat(&inlet, || watch(path.clone(), inlet.clone(), nudge.clone())).await;
}

async fn watch(path: PathBuf, inlet: Inlet, nudge: Nudge) -> Result<Infallible, Lost> {
    let identity = identity(&path)?;
    let mut look = open(&path).await?;
    inlet.tell(Event::Recovered);
    let (mut quiet, mut failures, mut pause) = (0, 0, EVERY);
    let mut answered = nudge.asked();
    loop {
        // Who asks is answered at once, however long the last look took.
        let _ = timeout(std::mem::replace(&mut pause, EVERY), nudge.woken()).await;
        let asked = nudge.asked();
        if self::identity(&path)? != identity {
            return Err(Lost::Disconnected);
        }
        match look.has_changed() {
            Ok(false) => quiet += 1,
            Ok(true) => {
                quiet = 0;
                let began = Instant::now();
                let looking = spawn_blocking(move || (look.changes(), look));
                let (changes, same) = looking.await.map_err(|_| Lost::Unreadable)?;
                look = same;
                pause = (began.elapsed() * PART).clamp(EVERY, PAUSE_MAX);
                if !changes.is_empty() {
                    changes.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
                    inlet.tell(Event::Commit(None));
                }
            }
            Err(_) if failures < FAILURES_MAX => {
                pause = later(failures);
                failures += 1;
                continue;
            }
            Err(lost) => return Err(lost),
        }
        failures = 0;
        if asked != answered {
            inlet.tell(Event::Commit(Some(nudge.place(asked))));
            answered = asked;
        } else if quiet > 0 && quiet % QUIET == 0 {
            inlet.tell(Event::Idle);
        }
    }
}

/// Opens the file once nobody holds it.
async fn open(path: &Path) -> Result<Look, Lost> {
    let mut failures = 0;
    loop {
        let path = path.to_owned();
        let opened = spawn_blocking(move || Look::open(&path)).await;
        match opened.map_err(|_| Lost::Unreadable)? {
            Err(_) if failures < FAILURES_MAX => sleep(later(failures)).await,
            opened => return opened,
        }
        failures += 1;
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
        let connection = reading(path, OpenFlags::empty()).map_err(|_| Lost::Disconnected)?;
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
        let until = Instant::now() + TRYING_MAX;
        let now = loop {
            let began = Instant::now();
            let now = Image::of(&self.path, &self.connection, before.as_ref());
            if !matches!(now, Err(Trouble::NotNow)) || Instant::now() > until {
                break now;
            }
            std::thread::sleep((began.elapsed() * TRYING_PART).max(TRYING_REST));
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

/// The pause after so many failures.
fn later(failures: u32) -> Duration {
    (SOON * 2_u32.pow(failures.min(8))).min(EVERY)
}

/// A connection that writes nothing, waits for nobody, and keeps few pages: the system keeps them
/// as well.
fn reading(name: impl AsRef<Path>, more: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
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

    #[test]
    fn a_look_waits_for_nobody_who_holds_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let writer = rusqlite::Connection::open(&path).expect("a file");
        writer.execute_batch("CREATE TABLE t (a); BEGIN EXCLUSIVE").expect("it is held");
        let opened = super::reading(&path, rusqlite::OpenFlags::empty());
        opened.expect_err("somebody holds it");
        writer.execute_batch("COMMIT").expect("it is free");
        let look = super::reading(&path, rusqlite::OpenFlags::empty()).expect("a connection");
        let waits = look.pragma_query_value(None, "busy_timeout", |row| row.get::<_, i64>(0));
        assert_eq!(waits.expect("a time"), 0);
        writer.execute_batch("BEGIN EXCLUSIVE").expect("it is held again");
        super::counter(&look).expect_err("somebody holds it");
    }

    #[tokio::test]
    async fn who_asks_for_a_look_hears_first_what_was_written_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let writer = rusqlite::Connection::open(&path).expect("a file");
        writer.execute_batch("CREATE TABLE t (a)").expect("a table");
        let mut feed = Feed::sqlite(path.clone());
        let nudge = feed.nudge().expect("it can be asked");
        until(&mut feed, &Event::Recovered).await;
        for _ in 0..20 {
            writer.execute_batch("INSERT INTO t VALUES (1)").expect("a row");
            let place = nudge.look();
            let mut heard = Vec::new();
            while heard.last() != Some(&Event::Commit(Some(place))) {
                heard.push(feed.next().await);
            }
            assert!(matches!(heard[0], Event::Change(_)), "{heard:?}");
        }
    }

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
