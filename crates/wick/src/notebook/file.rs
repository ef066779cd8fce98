//! The notebook's file: one SQLite table, bounded, and replaced when it is damaged.
//!
//! In: notes to write in one transaction, sites to read. Out: what is kept; lines on
//! standard error when something is wrong with the file.
//! Invariants: 1. Row numbers grow with each writing, so their order is that of age,
//! whatever the wall clock does. 2. After a transaction each kind of a site is within its
//! [`Bounds`]. 3. One process at a time has the file. 4. A damaged file is set aside, never
//! written to; one of a newer version is left as it is.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::complaint::complain;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};
use server::{Note, StoredNote};

/// The version of the table below.
const VERSION: i64 = 1;
const TABLE: &str = "CREATE TABLE notes (
    site TEXT NOT NULL, kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
    written INTEGER NOT NULL, PRIMARY KEY (site, kind, key))";
/// Only one process has the file; no other file is mapped into memory; what was in
/// flight when the power went may be lost, the rest may not.
const PRAGMAS: &[(&str, &str)] = &[
    ("locking_mode", "EXCLUSIVE"),
    ("synchronous", "NORMAL"),
    ("cell_size_check", "ON"),
    ("trusted_schema", "OFF"),
    ("temp_store", "MEMORY"),
    ("cache_size", "-1024"),
    ("journal_size_limit", "4194304"),
];
/// Damaged files that are left for somebody to look at; the oldest go.
const DAMAGED_MAX: usize = 3;

/// The most that is kept of each kind of a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) rows: i64,
    /// Keys and values together.
    pub(super) bytes: i64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rows: 20_000, bytes: 64 << 20 }
    }
}

/// Why nothing is kept; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotebookError {
    /// Somebody else has it.
    #[error(
        "another Wick keeps what it learns in {0}: this one forgets it at its end; \
         give it a folder of its own with --state"
    )]
    Taken(PathBuf),
    /// It was written by a newer Wick.
    #[error(
        "{0} was written by a newer Wick: what this one learns is forgotten at its end; \
         run the newer one, or move that file away"
    )]
    Newer(PathBuf),
    /// The folder can't be made or written to.
    #[error(
        "can't keep what is learned in {0}: {1}; name a folder that this user may write to with --state"
    )]
    Folder(PathBuf, #[source] io::Error),
    /// SQLite can't use it.
    #[error(
        "can't keep what is learned in {0}: {1}; make room, or name another folder with --state"
    )]
    Sqlite(PathBuf, #[source] rusqlite::Error),
}

/// What is wrong with a file.
enum Fault {
    Damaged(String),
    Newer,
    Io(io::Error),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            // What SQLite has nothing against, and we can't read, was not written by us.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Sqlite(error),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Fault {
    fn told_of(self, path: &Path) -> NotebookError {
        let path = path.to_owned();
        match self {
            Self::Newer => NotebookError::Newer(path),
            Self::Io(error) => NotebookError::Folder(path, error),
            Self::Damaged(why) => NotebookError::Folder(path, io::Error::other(why)),
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    NotebookError::Taken(path)
                }
                _ => NotebookError::Sqlite(path, error),
            },
        }
    }
}

/// How much is kept of one kind of a site.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    rows: i64,
    bytes: i64,
}

/// Site and kind, and how much is kept of them.
type Tallies = HashMap<(String, String), Tally>;

/// An open file; none after a damage that could not be put right.
pub(super) struct File {
    path: PathBuf,
    bounds: Bounds,
    open: Option<Open>,
    /// Whether the last writing failed; a disk that stays full is told of once.
    is_failing: bool,
}

struct Open {
    connection: Connection,
    tallies: Tallies,
}

impl File {
    /// Opens the file or begins it; a damaged one is set aside first.
    pub(super) fn open(path: &Path, bounds: Bounds) -> Result<Self, NotebookError> {
        let opened = match Open::at(path) {
            Err(Fault::Damaged(why)) => {
                set_aside(path, &why).map_err(Fault::Io).and_then(|()| Open::at(path))
            }
            opened => opened,
        };
        let open = opened.map_err(|fault| fault.told_of(path))?;
        Ok(Self { path: path.to_owned(), bounds, open: Some(open), is_failing: false })
    }

    /// All that is kept about a site, oldest first.
    pub(super) fn load(&mut self, site: &str) -> Vec<StoredNote> {
        let Some(open) = &self.open else { return Vec::new() };
        match read(&open.connection, site) {
            Ok(notes) => notes,
            Err(Fault::Damaged(why)) => {
                self.begin_afresh(&why);
                Vec::new()
            }
            Err(fault) => {
                complain(format_args!("{}", fault.told_of(&self.path)));
                Vec::new()
            }
        }
    }

    /// Writes notes, all or none; says whether they were written.
    pub(super) fn write(&mut self, notes: &[Note]) -> bool {
        let mut result = self.try_to_write(notes);
        if let Err(Fault::Damaged(why)) = &result {
            self.begin_afresh(why);
            result = self.try_to_write(notes);
        }
        let was_failing = std::mem::replace(&mut self.is_failing, result.is_err());
        if let (Err(fault), false) = (result, was_failing) {
            complain(format_args!("{}", fault.told_of(&self.path)));
        }
        !self.is_failing
    }

    fn try_to_write(&mut self, notes: &[Note]) -> Result<(), Fault> {
        let Some(open) = &mut self.open else {
            return Err(Fault::Io(io::Error::other("it is damaged")));
        };
        // A transaction that fails leaves the old sums.
        let mut tallies = open.tallies.clone();
        let transaction = open.connection.transaction()?;
        write(&transaction, notes, &mut tallies)?;
        for ((site, kind), tally) in &mut tallies {
            if tally.rows > self.bounds.rows || tally.bytes > self.bounds.bytes {
                drop_oldest(&transaction, site, kind, tally, self.bounds)?;
            }
        }
        transaction.commit()?;
        open.tallies = tallies;
        Ok(())
    }

    /// Sets a file aside that turned out damaged while it was used.
    fn begin_afresh(&mut self, why: &str) {
        self.open = None;
        let fresh = set_aside(&self.path, why).map_err(Fault::Io);
        match fresh.and_then(|()| Open::at(&self.path)) {
            Ok(open) => self.open = Some(open),
            Err(fault) => complain(format_args!("{}", fault.told_of(&self.path))),
        }
    }
}

impl Open {
    fn at(path: &Path) -> Result<Self, Fault> {
        // SQLite gives the files that it makes beside this one the same mode.
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => fs::set_permissions(path, fs::Permissions::from_mode(0o600))?,
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        for (name, value) in PRAGMAS {
            connection.pragma_update(None, name, value)?;
        }
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let tallies = match version {
            0 => begin(&connection)?,
            VERSION => tallies(&connection)?,
            newer if newer > VERSION => return Err(Fault::Newer),
            odd => return Err(Fault::Damaged(format!("it says that its version is {odd}"))),
        };
        // Whatever is no notebook of ours has been left as it was up to here.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        Ok(Self { connection, tallies })
    }
}

/// Makes the table in a file that has nothing yet.
fn begin(connection: &Connection) -> Result<Tallies, Fault> {
    let things: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if things > 0 {
        return Err(Fault::Damaged("it is not Wick's".into()));
    }
    connection.execute_batch(&format!("BEGIN; {TABLE}; PRAGMA user_version={VERSION}; COMMIT"))?;
    Ok(Tallies::new())
}

fn tallies(connection: &Connection) -> Result<Tallies, Fault> {
    let sums = "SELECT site, kind, count(*), sum(length(key) + length(value))
                FROM notes GROUP BY site, kind";
    let mut sums = connection.prepare(sums).map_err(|error| match error.sqlite_error_code() {
        // Our version without our table is no file of ours.
        Some(ErrorCode::Unknown) => Fault::Damaged(error.to_string()),
        _ => error.into(),
    })?;
    let rows = sums.query_map([], |row| {
        Ok(((row.get(0)?, row.get(1)?), Tally { rows: row.get(2)?, bytes: row.get(3)? }))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(connection: &Connection, site: &str) -> Result<Vec<StoredNote>, Fault> {
    let all = "SELECT kind, key, value, written FROM notes WHERE site = ?1 ORDER BY rowid";
    let mut all = connection.prepare(all)?;
    let rows = all.query_map([site], |row| {
        let written = row.get::<_, i64>(3)?;
        Ok(StoredNote {
            kind: row.get(0)?,
            key: row.get(1)?,
            value: row.get(2)?,
            written_unix_ms: u64::try_from(written).unwrap_or(0),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn write(
    transaction: &Transaction<'_>,
    notes: &[Note],
    tallies: &mut Tallies,
) -> Result<(), rusqlite::Error> {
    let here = "FROM notes WHERE site = ?1 AND kind = ?2 AND key = ?3";
    let mut length = transaction.prepare(&format!("SELECT length(key) + length(value) {here}"))?;
    let mut delete = transaction.prepare(&format!("DELETE {here}"))?;
    // A row that takes the place of another gets a new number, the highest.
    let mut insert = transaction.prepare("INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let written = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let written = i64::try_from(written).unwrap_or(i64::MAX);
    for note in notes {
        let tally = tallies.entry((note.site.clone(), note.kind.to_owned())).or_default();
        let place = params![note.site, note.kind, note.key];
        if let Some(bytes) = length.query_row(place, |row| row.get::<_, i64>(0)).optional()? {
            delete.execute(place)?;
            tally.rows -= 1;
            tally.bytes -= bytes;
        }
        if let Some(value) = &note.value {
            insert.execute(params![note.site, note.kind, note.key, value, written])?;
            tally.rows += 1;
            tally.bytes += (note.key.len() + value.len()) as i64;
        }
    }
    Ok(())
}

/// Drops the oldest rows of a kind until a sixteenth of its room is free, so that the
/// search for them is paid for once in many notes.
fn drop_oldest(
    transaction: &Transaction<'_>,
    site: &str,
    kind: &str,
    tally: &mut Tally,
    bounds: Bounds,
) -> Result<(), rusqlite::Error> {
    let oldest = "SELECT rowid, length(key) + length(value) FROM notes
                  WHERE site = ?1 AND kind = ?2 ORDER BY rowid";
    let mut oldest = transaction.prepare(oldest)?;
    let mut rows = oldest.query([site, kind])?;
    let mut last = None::<i64>;
    while tally.rows > bounds.rows - bounds.rows / 16
        || tally.bytes > bounds.bytes - bounds.bytes / 16
    {
        let Some(row) = rows.next()? else { break };
        last = Some(row.get(0)?);
        tally.rows -= 1;
        tally.bytes -= row.get::<_, i64>(1)?;
    }
    drop(rows);
    let gone = "DELETE FROM notes WHERE site = ?1 AND kind = ?2 AND rowid <= ?3";
    transaction.execute(gone, params![site, kind, last])?;
    Ok(())
}

/// Moves a damaged file, with what SQLite has beside it, out of the way and says so.
fn set_aside(path: &Path, why: &str) -> io::Result<()> {
    let mut time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut aside = with_end(path, &format!(".damaged-{time}"));
    while aside.exists() {
        time += 1;
        aside = with_end(path, &format!(".damaged-{time}"));
    }
    fs::rename(path, &aside)?;
    let (log, log_aside) = (with_end(path, "-wal"), with_end(&aside, "-wal"));
    if log.exists() {
        fs::rename(log, log_aside)?;
    }
    complain(format_args!(
        "what was learned before can't be read ({why}): it is set aside as {}, \
         and learning begins afresh",
        aside.display()
    ));
    remove_old_damage(path)
}

/// Leaves the newest damaged files only.
fn remove_old_damage(path: &Path) -> io::Result<()> {
    let start = with_end(path, ".damaged-");
    let mut damaged = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap_or(Path::new(".")))? {
        let name = entry?.path();
        let time =
            name.to_string_lossy().strip_prefix(&*start.to_string_lossy()).map(str::to_owned);
        if let Some(time) = time.and_then(|time| time.parse::<u64>().ok()) {
            damaged.push((time, name));
        }
    }
    damaged.sort_unstable();
    let old = damaged.len().saturating_sub(DAMAGED_MAX);
    for (_, name) in &damaged[..old] {
        fs::remove_file(name)?;
        // It may have none.
        let _ = fs::remove_file(with_end(name, "-wal"));
    }
    Ok(())
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut text = path.as_os_str().to_owned();
    text.push(end);
    text.into()
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
