//! A file of SQLite. It is asked on threads that may wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::ffi::ErrorCode;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, OpenFlags, params_from_iter};
use tokio::task::spawn_blocking;

use super::{Row, Trouble, put_value, words};

const BUSY_MAX: Duration = Duration::from_secs(5);

/// What a full commit costs is paid once a minute, and is what a power cut leaves. Rows are read
/// and written in the order of their keys, so few pages are needed again, and those the system has:
/// 512 KiB of them are enough, where SQLite's own measure is 2 MB for each connection.
const MANNERS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
    PRAGMA foreign_keys = ON; PRAGMA cache_size = -512;";

pub(crate) struct Link(Arc<Mutex<Connection>>);

impl Link {
    pub(super) async fn open(path: PathBuf, makes_file: bool) -> Result<Self, Trouble> {
        blocking(move || {
            let mut flags = OpenFlags::default();
            flags.set(OpenFlags::SQLITE_OPEN_CREATE, makes_file);
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY_MAX)?;
            connection.execute_batch(MANNERS)?;
            Ok(Self(Arc::new(Mutex::new(connection))))
        })
        .await
    }

    pub(super) async fn run(&mut self, statement: String) -> Result<u64, Trouble> {
        let connection = self.0.clone();
        blocking(move || {
            let connection = connection.lock();
            connection.execute_batch(&statement)?;
            Ok(connection.changes())
        })
        .await
    }

    /// A row that is refused leaves the others and the transaction as they are.
    pub(super) async fn run_each(
        &mut self,
        statement: String,
        values: Vec<Value>,
        width: usize,
    ) -> Result<Vec<(usize, String)>, Trouble> {
        let connection = self.0.clone();
        blocking(move || {
            let connection = connection.lock();
            let mut asked = connection.prepare(&statement)?;
            let mut refused = Vec::new();
            for (at, row) in values.chunks_exact(width.max(1)).enumerate() {
                match asked.execute(params_from_iter(row)).map_err(|error| trouble(&error)) {
                    Ok(_) => {}
                    Err(Trouble::Row(why)) => refused.push((at, why)),
                    Err(trouble) => return Ok(Err(trouble)),
                }
            }
            Ok(Ok(refused))
        })
        .await?
    }

    pub(super) async fn ask(&mut self, question: String) -> Result<Vec<Row>, Trouble> {
        let connection = self.0.clone();
        blocking(move || {
            let connection = connection.lock();
            let mut asked = connection.prepare(&question)?;
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
        })
        .await
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

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Trouble> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| trouble(&error)),
        Err(_) => Err(Trouble::Away("its thread ended".to_owned())),
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
