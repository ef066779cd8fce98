//! Tables: what is known of those that an app writes, asked of the server itself.
//!
//! Invariant: an app never waits long for it. What isn't known in time is told as a row of
//! unknown kind, of a table without transactions: that sweeps more, never less. The question goes
//! on meanwhile, one at a time, so that the next write finds the answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;

use super::act::Act;
use super::conversation::Ended;
use crate::binlog::lookup::Lookup;
use crate::keys::TableKeys;
use crate::statement::{Name, RowsStatement};
use crate::{Address, Change, Column, KeyClass, Operation};

/// The most that an app's answer is held for it.
const WAIT: Duration = Duration::from_millis(50);
/// Tables whose engines are remembered; with more all are asked about again.
const TABLES_MAX: usize = 4096;

const ENGINE: &str = "\
    SELECT COALESCE(ENGINE, '') FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";

/// Those of one server, as one user sees them.
pub(super) struct Tables {
    address: Address,
    /// Another one after each change of a definition: nobody waits for what is being asked then.
    known: parking_lot::Mutex<Arc<Mutex<Known>>>,
}

struct Known {
    lookup: Lookup,
    takes_back: HashMap<(Box<str>, Box<str>), bool>,
}

impl Tables {
    pub(super) fn new(address: Address) -> Self {
        let known = parking_lot::Mutex::new(Known::nothing(&address));
        Self { address, known }
    }

    /// What a statement changes, and whether that can't be taken back.
    pub(super) async fn changes(&self, ended: &Ended) -> (Vec<Change>, bool) {
        let changes = match &ended.act {
            Act::Rows(rows) => return self.rows(rows, ended).await,
            Act::Truncate(Name { database, table }) => {
                let database = database.as_deref().unwrap_or(&ended.database);
                vec![Change::anything(database, table)]
            }
            Act::Schema => {
                self.forget();
                vec![Change::of("", "", Operation::Schema)]
            }
            Act::Unread => vec![Change::anything("", "")],
            _ => Vec::new(),
        };
        (changes.into_iter().map(|change| sure(change, ended.is_lossy)).collect(), true)
    }

    async fn rows(&self, rows: &RowsStatement, ended: &Ended) -> (Vec<Change>, bool) {
        let database = rows.name.database.as_deref().unwrap_or(&ended.database);
        let asked = timeout(WAIT, self.ask(database, &rows.name.table)).await;
        let (keys, takes_back) = asked.ok().flatten().unwrap_or_default();
        let changes = rows.changes(&ended.database, keys.key()).into_iter();
        (changes.map(|change| sure(change, ended.is_lossy)).collect(), !takes_back)
    }

    /// The keys of a table, and whether it takes back what is rolled back. Whoever stops waiting
    /// doesn't stop the question.
    async fn ask(&self, database: &str, table: &str) -> Option<(TableKeys, bool)> {
        if database.is_empty() {
            return None;
        }
        let known = self.known.lock().clone();
        let mut known = known.lock_owned().await;
        if let Some(remembered) = known.remembered(database, table) {
            return Some(remembered);
        }
        let (database, table) = (database.to_owned(), table.to_owned());
        tokio::spawn(async move { known.ask(&database, &table).await }).await.ok()
    }

    pub(super) fn forget(&self) {
        *self.known.lock() = Known::nothing(&self.address);
    }
}

impl Known {
    fn nothing(address: &Address) -> Arc<Mutex<Self>> {
        let lookup = Lookup::new(address.clone());
        Arc::new(Mutex::new(Self { lookup, takes_back: HashMap::new() }))
    }

    fn remembered(&self, database: &str, table: &str) -> Option<(TableKeys, bool)> {
        let name = (database.into(), table.into());
        Some((self.lookup.remembered(&name)?.clone(), *self.takes_back.get(&name)?))
    }

    async fn ask(&mut self, database: &str, table: &str) -> (TableKeys, bool) {
        let keys = self.lookup.keys(database, table).await;
        let name = (database.into(), table.into());
        if let Some(takes_back) = self.takes_back.get(&name) {
            return (keys, *takes_back);
        }
        let engine: Option<Vec<String>> = self.lookup.about(ENGINE, database, table).await;
        let Some(engine) = engine.and_then(|lines| lines.into_iter().next()) else {
            return (keys, false);
        };
        let takes_back = ["InnoDB", "ROCKSDB"].iter().any(|one| one.eq_ignore_ascii_case(&engine));
        if self.takes_back.len() >= TABLES_MAX {
            self.takes_back.clear();
        }
        self.takes_back.insert(name, takes_back);
        (keys, takes_back)
    }
}

/// The change, or a less certain one where letters of its names were lost.
fn sure(change: Change, is_lossy: bool) -> Change {
    let is_lost = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
    let is_column_lost = |column: &Column| column.name().is_some_and(is_lost);
    match &change {
        _ if !is_lossy => change,
        Change { database, table, .. } if is_lost(database) || is_lost(table) => {
            Change::anything("", "")
        }
        Change { database, table, columns, .. } if columns.iter().any(is_column_lost) => {
            Change::anything(database, table)
        }
        Change { key: KeyClass::Of(key), .. } if is_lost(key) => {
            Change { key: KeyClass::Unknown, ..change }
        }
        _ => change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_letters_make_a_change_less_certain() {
        let change = |table: &str, column: &str, key: &str| Change {
            columns: [Column::named(column)].into(),
            key: KeyClass::of([key]),
            ..Change::of("site", table, Operation::Update)
        };
        let good = change("t", "c", "k");
        assert_eq!(sure(good.clone(), true), good);
        let unknown = Change { key: KeyClass::Unknown, ..good };
        assert_eq!(sure(change("t", "c", "k\u{fffd}"), true), unknown);
        assert_eq!(sure(change("t", "c\u{fffd}", "k"), true), Change::anything("site", "t"));
        assert_eq!(sure(change("t\u{fffd}", "c", "k"), true), Change::anything("", ""));
        let own = change("t", "c", "k\u{fffd}");
        assert_eq!(sure(own.clone(), false), own);
    }
}
