//! Watching a file of SQLite by its counter of changes.
//!
//! Invariants: 1. Nothing is written, and nobody who writes is made to wait. 2. A file
//! that was replaced by another is lost and found again.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Change, Event, Lost};

/// How often the counter is read, which takes some 20 microseconds.
const EVERY: Duration = Duration::from_millis(100);
/// After so many readings without news the listener hears that nothing happens.
const QUIET: u32 = 10;
/// So many readings may fail in a row: one who writes may hold the file alone.
const FAILURES_MAX: u32 = 50;

/// Watches the file at `path` for ever.
pub(crate) async fn follow(path: PathBuf, inlet: Inlet) {
    repeat(&inlet, || watch(path.clone(), inlet.clone())).await;
}

async fn watch(path: PathBuf, inlet: Inlet) -> Result<Infallible, Lost> {
    let identity = identity(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(|_| Lost::Disconnected)?;
    let mut known = counter(&connection)?;
    inlet.tell(Event::Recovered);
    let (mut quiet, mut failures) = (0, 0);
    loop {
        tokio::time::sleep(EVERY).await;
        if self::identity(&path)? != identity {
            return Err(Lost::Disconnected);
        }
        let now = match counter(&connection) {
            Ok(now) => now,
            Err(_) if failures < FAILURES_MAX => {
                failures += 1;
                continue;
            }
            Err(lost) => return Err(lost),
        };
        failures = 0;
        if now == known {
            quiet += 1;
            if quiet % QUIET == 0 {
                inlet.tell(Event::Idle);
            }
            continue;
        }
        (known, quiet) = (now, 0);
        inlet.tell(Event::Change(Change::anything("", "")));
        inlet.tell(Event::Commit(None));
    }
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
    use crate::{Change, Event, Feed};
    use std::time::Duration;

    async fn until(feed: &mut Feed, expected: &Event) {
        let heard = async { while feed.next().await != *expected {} };
        tokio::time::timeout(Duration::from_secs(60), heard).await.expect("it is told");
    }

    #[tokio::test]
    async fn what_others_commit_is_told_and_a_file_that_was_replaced_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let change = Event::Change(Change::anything("", ""));
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
