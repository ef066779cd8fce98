//! A file of SQLite.

use std::path::Path;
use std::time::Duration;

use rusqlite::ffi::ErrorCode;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, InterruptHandle, OpenFlags};

use super::{Go, Stop, Take, Told, Trouble, words};

const BUSY_MAX: Duration = Duration::from_secs(5);

pub(super) struct Link(Connection);

impl Link {
    /// A file that is there; whoever counts in it (`sql_query_post_index`) writes there.
    pub(super) fn open(path: &Path) -> Result<(Self, InterruptHandle), Trouble> {
        let mut flags = OpenFlags::default();
        flags.remove(OpenFlags::SQLITE_OPEN_CREATE);
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            connection.busy_timeout(BUSY_MAX)?;
            Ok(connection)
        });
        let connection = opened.map_err(|error| trouble(&error))?;
        let handle = connection.get_interrupt_handle();
        Ok((Self(connection), handle))
    }

    pub(super) fn each(&mut self, query: &str, stop: &Stop, take: Take<'_>) -> Result<(), Trouble> {
        let mut asked = self.0.prepare(query).map_err(|error| trouble(&error))?;
        let names: Vec<String> = asked.column_names().map(str::to_owned).collect();
        let columns = names.len();
        if columns > 0 && take(Told::Columns(names))? == Go::NoFurther {
            return Ok(());
        }
        let mut answer = asked.query([]).map_err(|error| trouble(&error))?;
        while let Some(row) = answer.next().map_err(|error| trouble(&error))? {
            if stop.has_begun() {
                return Err(Trouble::Stopped);
            }
            let value = |at| Ok(bytes(row.get_ref(at)?));
            let values = (0..columns).map(value).collect::<Result<_, Error>>();
            if take(Told::Row(values.map_err(|error| trouble(&error))?))? == Go::NoFurther {
                break;
            }
        }
        Ok(())
    }
}

fn bytes(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

fn trouble(error: &Error) -> Trouble {
    let words = words("SQLite", &error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen) => {
            Trouble::Away(words)
        }
        _ => Trouble::Refused(format!("its database refuses a query: {words}")),
    }
}
