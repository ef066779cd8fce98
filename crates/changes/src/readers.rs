//! The readers of texts that others write, as the fuzz targets need them.
//!
//! Nothing else calls these: statements are read by the feed that hears them, settings by
//! [`find_settings`](crate::find_settings).

use std::collections::BTreeMap;

use crate::keys::{Key, KeyColumn};
use crate::sqlite::pages::{self, Astray, Layout, Pages};
use crate::sqlite::record;
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

/// The numbers of the rows in a table of a file of SQLite that begins at page `root`, each with
/// how many values it has. None where a page isn't what SQLite writes, or holds no table.
#[must_use]
pub fn sqlite_rows(file: &[u8], root: u32) -> Option<Vec<(i64, usize)>> {
    let page_bytes = match u16::from_be_bytes(*file.get(16..)?.first_chunk()?) {
        1 => 65_536,
        bytes => usize::from(bytes),
    };
    let mut file = File { file, page_bytes };
    let layout = Layout::of(&file.page(1).ok()?).ok()?;
    let mut leaves = Vec::new();
    pages::leaves(&mut file, layout, root, &mut |leaf| leaves.push(leaf)).ok()?;
    let mut all = Vec::new();
    for leaf in &leaves {
        for (number, content) in pages::rows(leaf, layout).ok()? {
            all.push((number, record::values(&content).ok()?.len()));
        }
    }
    Some(all)
}

/// A file of SQLite in memory.
struct File<'a> {
    file: &'a [u8],
    page_bytes: usize,
}

impl Pages for File<'_> {
    type Error = Astray;

    fn page(&mut self, number: u32) -> Result<Vec<u8>, Astray> {
        let start = (number as usize).checked_sub(1).ok_or(Astray)? * self.page_bytes;
        let page = self.file.get(start..).and_then(|rest| rest.get(..self.page_bytes));
        page.map(<[u8]>::to_vec).ok_or(Astray)
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
