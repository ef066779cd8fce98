//! The readers of texts that others write, as the fuzz targets need them.
//!
//! Nothing else calls these: statements are read by the feed that hears them, settings by
//! [`find_settings`](crate::find_settings).

use std::collections::BTreeMap;

use crate::keys::{Key, KeyColumn};
use crate::statement::Statement;
use crate::{Change, Operation, settings, statement};

/// What a statement of a log changes in tables that have `keys`; None where it may be
/// anything. No `keys` means that nobody knows them.
#[must_use]
pub fn changes_of(text: &str, database: &str, keys: Option<&[&str]>) -> Option<Vec<Change>> {
    let columns: Vec<KeyColumn> = keys
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(|(ordinal, name)| KeyColumn { ordinal, name: (*name).into() })
        .collect();
    let key = match keys {
        None => Key::Unknown,
        Some([]) => Key::Plain,
        Some(_) => Key::Columns(&columns),
    };
    match statement::read(text) {
        Statement::Nothing | Statement::Commit => Some(Vec::new()),
        Statement::Rows(rows) => Some(rows.changes(database, key)),
        Statement::Truncate(name) => {
            let database = name.database.as_deref().unwrap_or(database);
            Some(vec![Change::anything(database, &name.table)])
        }
        Statement::Schema => Some(vec![Change::of(database, "", Operation::Schema)]),
        Statement::Unread => None,
    }
}

/// What a file of PHP says in literals.
#[must_use]
pub fn php(text: &str) -> BTreeMap<String, String> {
    settings::php::values(text)
}

/// What a `.env` file says.
#[must_use]
pub fn dotenv(text: &str) -> BTreeMap<String, String> {
    settings::dotenv::values(text)
}
