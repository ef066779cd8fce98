//! Watching a file of SQLite by its counter of changes.
//!
//! Invariants: 1. Nothing is written, and nobody who writes is made to wait. 2. A file
//! that was replaced by another is lost and found again.

use std::convert::Infallible;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::binlog::repeat;
use crate::queue::Inlet;
use crate::{Change, Event, Lost};

/// How often the counter is read, which takes some 20 microseconds.
const EVERY: Duration = Duration::from_millis(100);
/// After so many readings without news the listener hears that nothing happens.
const QUIET: u32 = 10;

/// Watches the file at `path` for ever.
pub(crate) async fn follow(path: PathBuf, inlet: Inlet) {
    repeat(&inlet, || session(path.clone(), inlet.clone())).await;
}

async fn session(path: PathBuf, inlet: Inlet) -> Lost {
    match watch(&path, &inlet).await {
        Ok(never) => match never {},
        Err(lost) => lost,
    }
}

async fn watch(path: &Path, inlet: &Inlet) -> Result<Infallible, Lost> {
    let identity = identity(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|_| Lost::Disconnected)?;
    let mut known = counter(&connection)?;
    inlet.tell(Event::Recovered);
    let mut quiet = 0;
    loop {
        tokio::time::sleep(EVERY).await;
        if self::identity(path)? != identity {
            return Err(Lost::Disconnected);
        }
        // One who writes may hold the file alone; the next reading sees what came of it.
        let now = counter(&connection).unwrap_or(known);
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
