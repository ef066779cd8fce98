//! A file of SQLite. Whoever asks it waits: books are kept on a thread that serves nobody, and
//! threads of the file's own would each keep a stack, and memory that the allocator gave them.

use std::path::Path;
use std::time::Duration;

use rusqlite::ffi::ErrorCode;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, OpenFlags, params_from_iter};

use super::{Bound, Row, Trouble, put_value, words};

const BUSY_MAX: Duration = Duration::from_secs(5);

/// What a full commit costs is paid once a minute, and is what a power cut leaves. Rows are read
/// and written in the order of their keys, so few pages are needed again, and those the system has:
/// 512 KiB of them are enough, where SQLite's own measure is 2 MB for each connection.
const MANNERS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
    PRAGMA foreign_keys = ON; PRAGMA cache_size = -512;";

pub(crate) struct Link(Connection);

impl Link {
    pub(super) fn open(path: &Path, makes_file: bool) -> Result<Self, Trouble> {
        let mut flags = OpenFlags::default();
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, makes_file);
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_MAX)?;
        connection.execute_batch(MANNERS)?;
        Ok(Self(connection))
    }

    pub(super) fn run(&mut self, statement: &str) -> Result<u64, Trouble> {
        self.0.execute_batch(statement)?;
        Ok(self.0.changes())
    }

    /// A row that is refused leaves the others and the transaction as they are.
    pub(super) fn run_each(
        &mut self,
        statement: &str,
        rows: usize,
        mut values: impl FnMut(usize, &mut Vec<Value>) -> bool,
    ) -> Result<Bound, Trouble> {
        let mut asked = self.0.prepare(statement)?;
        let (mut bound, mut row) = (Bound::default(), Vec::new());
        for at in 0..rows {
            if !values(at, &mut row) {
                continue;
            }
            match asked.execute(params_from_iter(&row)).map_err(Trouble::from) {
                Ok(_) => bound.done += 1,
                Err(Trouble::Row(why)) => bound.refused.push((at, why)),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(bound)
    }

    pub(super) fn ask(&mut self, question: &str) -> Result<Vec<Row>, Trouble> {
        let mut asked = self.0.prepare(question)?;
        let columns = asked.column_count();
        let mut answer = asked.query([])?;
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        while let Some(row) = answer.next()? {
            for at in 0..columns {
                put(&mut values, row.get_ref(at)?);
            }
            rows.push(Row::take(&mut values));
        }
        Ok(rows)
    }

    /// What every other connection's commit changes.
    pub(super) fn changes(&mut self) -> Result<i64, Trouble> {
        Ok(self.0.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }
}

fn put(values: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => put_value(values, None),
        ValueRef::Integer(number) => put_value(values, Some(number.to_string().as_bytes())),
        ValueRef::Real(number) => put_value(values, Some(number.to_string().as_bytes())),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => put_value(values, Some(bytes)),
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        trouble(&error)
    }
}

fn trouble(error: &Error) -> Trouble {
    let code = error.sqlite_error_code();
    let words = words("SQLite", &error.to_string());
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Trouble::Busy(words),
        Some(ErrorCode::ConstraintViolation) => Trouble::Row(words),
        Some(ErrorCode::CannotOpen) => Trouble::Away(words),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Trouble::Refused(format!(
            "{words}; the user that serves must be able to write the file and its folder"
        )),
        _ => Trouble::Refused(words),
    }
}
