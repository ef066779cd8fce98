//! Images: what the tables of a file hold, so that the next look tells which rows differ.
//!
//! In: a connection that reads, and the image from before. Out: the image of now and what changed
//! between both, as a log would tell it.
//! A leaf that is as it was is known by its sum; the rows of others are compared one by one. What
//! is kept of leaves is compressed.
//! Invariants: 1. Nobody who writes finds the file held by this: with a write-ahead log readers
//! hold up no writer, and without one pages are read without a lock. 2. An image is of one
//! moment: if the file was written while it was made it is none. 3. Whatever can't be read has
//! its table, or all of them, told as changed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, OpenFlags, Statement};
use xxhash_rust::xxh3::xxh3_64;

use super::pages::{self, Astray, FILE_BYTES_MAX, Layout, Leaf, Pages};
use super::record::{self, Value};
use super::schema::{self, Table};
use crate::keys::Key;
use crate::moment::{self, Moment};
use crate::{Change, Column, KeyClass, Operation, Values};

/// The most kinds of change of one table; with more it is swept whole.
const KINDS_MAX: usize = 64;
/// What SQLite calls the file that was opened.
const DATABASE: &str = "main";

/// What a file held at one moment.
#[derive(Debug)]
pub(super) struct Image {
    schema_version: i64,
    tables: Vec<Held>,
}

/// What a table held.
#[derive(Debug)]
struct Held {
    table: Table,
    layout: Layout,
    is_table: bool,
    leaves: HashMap<u32, Arc<Kept>>,
}

/// A leaf as it was.
#[derive(Debug)]
struct Kept {
    sum: u64,
    packed: Box<[u8]>,
}

/// Why there is no image.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file is larger than [`FILE_BYTES_MAX`].
    TooLarge,
    /// Somebody committed meanwhile, or holds the file; or what stands in it can't be read.
    NotNow,
}

impl From<Astray> for Trouble {
    fn from(_: Astray) -> Self {
        Self::NotNow
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(_: rusqlite::Error) -> Self {
        Self::NotNow
    }
}

impl Image {
    /// The image of now, and what changed since the one before; nothing if there is none.
    pub(super) fn of(
        path: &Path,
        connection: &Connection,
        before: Option<&Self>,
    ) -> Result<(Self, Vec<Change>), Trouble> {
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get(0));
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        let (snapshot, other) = match &*mode {
            "wal" => (Some(connection.unchecked_transaction()?), None),
            _ => (None, Some(unlocked(path)?)),
        };
        let mut pages = Reader::of(other.as_ref().unwrap_or(connection))?;
        let stamp = written(path)?;
        let version: i64 = number("data_version")?;
        let bytes = number("page_count")?.saturating_mul(number("page_size")?);
        if bytes > FILE_BYTES_MAX as i64 {
            return Err(Trouble::TooLarge);
        }
        let schema_version = number("schema_version")?;
        let known = before.filter(|before| before.schema_version == schema_version);
        let mut changes = Vec::new();
        if before.is_some() && known.is_none() {
            changes.push(Change::of("", "", Operation::Schema));
        }
        let tables = match known {
            Some(known) => known.tables.iter().map(|held| held.table.clone()).collect(),
            None => schema::tables(connection)?,
        };
        let mut all = Vec::with_capacity(tables.len());
        let mut keep = |found: Found| {
            let before = known.map(|known| &known.tables[all.len()]);
            let (held, differing) = Held::of(found, before);
            if let Some(before) = before {
                changes.extend(held.changes_since(before, differing));
            }
            all.push(held);
        };
        if snapshot.is_some() {
            find(&mut pages, tables, known, &mut keep)?;
        } else {
            let mut found = Vec::new();
            find(&mut pages, tables, known, &mut |table| found.push(table))?;
            // Who writes just now holds the file, so that asking fails.
            if written(path)? != stamp || number("data_version")? != version {
                return Err(Trouble::NotNow);
            }
            found.into_iter().for_each(keep);
        }
        Ok((Self { schema_version, tables: all }, changes))
    }
}

/// What is found of a table: those of its leaves that are as they were, and all others.
struct Found {
    table: Table,
    layout: Layout,
    is_table: bool,
    same: HashMap<u32, Arc<Kept>>,
    others: Vec<(Leaf, u64)>,
}

/// Walks through tables, and gives each to `take` when it is done.
fn find(
    pages: &mut Reader<'_>,
    tables: Vec<Table>,
    known: Option<&Image>,
    take: &mut dyn FnMut(Found),
) -> Result<(), Trouble> {
    let layout = Layout::of(&pages.page(1)?)?;
    for (at, table) in tables.into_iter().enumerate() {
        let before = known.map(|known| &known.tables[at].leaves);
        let (mut same, mut others) = (HashMap::new(), Vec::new());
        let is_table = pages::leaves(pages, layout, table.root, &mut |leaf| {
            let sum = xxh3_64(&leaf.bytes);
            let before = before.and_then(|before| before.get(&leaf.number));
            match before.filter(|before| before.sum == sum) {
                Some(before) => drop(same.insert(leaf.number, before.clone())),
                None => others.push((leaf, sum)),
            }
        })?;
        take(Found { table, layout, is_table, same, others });
    }
    Ok(())
}

impl Held {
    /// What a table holds, and those of its leaves that differ from before.
    fn of(found: Found, before: Option<&Self>) -> (Self, Vec<Leaf>) {
        let Found { table, layout, is_table, same: mut leaves, others } = found;
        let mut differing = Vec::new();
        for (leaf, sum) in others {
            leaves.insert(leaf.number, Arc::new(Kept::of(&leaf, sum)));
            if before.is_some() {
                differing.push(leaf);
            }
        }
        (Self { table, layout, is_table, leaves }, differing)
    }

    /// What changed since before; the whole table where a row can't be read.
    fn changes_since(&self, before: &Self, differing: Vec<Leaf>) -> Vec<Change> {
        let is_gone = |number, kept: &Kept| {
            self.leaves.get(number).is_none_or(|now: &Arc<Kept>| now.sum != kept.sum)
        };
        let gone: Vec<_> =
            before.leaves.iter().filter(|(number, kept)| is_gone(number, kept)).collect();
        if differing.is_empty() && gone.is_empty() {
            return Vec::new();
        }
        let unpacked = gone.into_iter().map(|(number, kept)| kept.leaf(*number)).collect();
        let is_read = self.is_table && before.is_table && !self.table.columns.is_empty();
        let changes = |old: Option<Vec<Leaf>>| {
            let old = rows(&old.filter(|_| is_read)?, before.layout)?;
            differences(&self.table, &old, &rows(&differing, self.layout)?)
        };
        changes(unpacked).unwrap_or_else(|| vec![Change::anything(DATABASE, &self.table.name)])
    }
}

impl Kept {
    fn of(leaf: &Leaf, sum: u64) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory doesn't fail; what can't be read back is told as changed.
        let packed = encoder.write_all(&leaf.bytes).and_then(|()| encoder.finish());
        Self { sum, packed: packed.unwrap_or_default().into() }
    }

    fn leaf(&self, number: u32) -> Option<Leaf> {
        let mut bytes = Vec::new();
        DeflateDecoder::new(&self.packed[..]).read_to_end(&mut bytes).ok()?;
        Some(Leaf { number, bytes })
    }
}

/// The rows in some leaves, by their numbers.
fn rows(leaves: &[Leaf], layout: Layout) -> Option<BTreeMap<i64, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for leaf in leaves {
        all.extend(pages::rows(leaf, layout).ok()?);
    }
    Some(all)
}

/// Each kind of change once, however many rows it was.
fn differences(
    table: &Table,
    old: &BTreeMap<i64, Vec<u8>>,
    new: &BTreeMap<i64, Vec<u8>>,
) -> Option<Vec<Change>> {
    let mut kinds = BTreeMap::new();
    let numbers: BTreeSet<&i64> = old.keys().chain(new.keys()).collect();
    for number in numbers {
        let (before, after) = (old.get(number), new.get(number));
        if before == after {
            continue;
        }
        let before = before.map(|record| Row::of(table, *number, record)).transpose().ok()?;
        let after = after.map(|record| Row::of(table, *number, record)).transpose().ok()?;
        let (change, values) = change(table, before.as_ref(), after.as_ref())?;
        match kinds.entry(change) {
            Entry::Vacant(place) => drop(place.insert(values)),
            Entry::Occupied(mut known) => Values::join(known.get_mut(), values),
        }
        if kinds.len() > KINDS_MAX {
            return None;
        }
    }
    Some(kinds.into_iter().map(|(change, values)| Change { values, ..change }).collect())
}

/// What became of one row, and what it holds in columns that may point at others.
fn change(
    table: &Table,
    before: Option<&Row<'_>>,
    after: Option<&Row<'_>>,
) -> Option<(Change, Values)> {
    let (operation, columns, key) = match (before, after) {
        (None, Some(after)) => (Operation::Insert, BTreeSet::new(), after.class(table)),
        (Some(before), None) => (Operation::Delete, BTreeSet::new(), before.class(table)),
        (Some(before), Some(after)) => {
            let changed = before.changed(after, table);
            (Operation::Update, changed, before.class(table).until(after.class(table)))
        }
        (None, None) => return None,
    };
    let mut values = Values::named(table.keys.is_name());
    for row in [before, after].into_iter().flatten() {
        row.note(table, &mut values);
    }
    Some((Change { columns, key, ..Change::of(DATABASE, &table.name, operation) }, values))
}

/// The values of a row.
struct Row<'a>(Vec<Value<'a>>);

impl<'a> Row<'a> {
    fn of(table: &Table, number: i64, record: &'a [u8]) -> Result<Self, Astray> {
        let mut values = record::values(record)?;
        if values.len() > table.columns.len() {
            return Err(Astray);
        }
        let own = table.row_column.and_then(|at| values.get_mut(at));
        if let Some(own) = own.filter(|own| **own == Value::Null) {
            *own = Value::Integer(number);
        }
        Ok(Self(values))
    }

    /// The columns that hold something else afterwards. One that wasn't there when the row was
    /// written held what its table says, which isn't known here.
    fn changed(&self, after: &Self, table: &Table) -> BTreeSet<Column> {
        let now = Moment::now();
        let names = table.columns.iter().enumerate();
        let pairs = names.map(|(at, name)| (name, self.0.get(at), after.0.get(at)));
        let changed = pairs.filter(|(_, before, after)| before != after);
        moment::telling(changed.map(|(name, before, after)| {
            let was_there = !matches!(before, Some(Value::Null) | None);
            (Column::named(name), was_there && after.is_some_and(|after| tells(after, now)))
        }))
    }

    fn class(&self, table: &Table) -> KeyClass {
        let columns = match table.keys.of(table.columns.len()) {
            Key::Unknown => return KeyClass::Unknown,
            Key::Plain => return KeyClass::Plain,
            Key::Columns(columns) => columns,
        };
        let text = |at: usize| match self.0.get(at)? {
            Value::Text(text) => Some(String::from_utf8_lossy(text)),
            Value::Integer(_) | Value::Real(_) | Value::Blob(_) => Some("0".into()),
            Value::Null => Some("".into()),
        };
        let texts: Option<Vec<_>> = columns.iter().map(|column| text(column.ordinal)).collect();
        texts.map_or(KeyClass::Unknown, |texts| KeyClass::of(texts.iter().map(AsRef::as_ref)))
    }

    fn note(&self, table: &Table, values: &mut Values) {
        for &at in table.keys.indexed(table.columns.len()) {
            let column = Column::named(&table.columns[at]);
            match self.0.get(at) {
                Some(Value::Integer(number)) => values.note(column, &number.to_string()),
                Some(Value::Text(text)) => values.note(column, &String::from_utf8_lossy(text)),
                // It points at no row.
                Some(Value::Null) => {}
                Some(Value::Real(_) | Value::Blob(_)) | None => values.note_unknown(column),
            }
        }
    }
}

/// Whether a value is the present time.
fn tells(value: &Value<'_>, now: Moment) -> bool {
    match value {
        Value::Integer(number) => now.is_number(*number),
        Value::Text(text) => now.is_text(text),
        Value::Real(bytes) => <[u8; 8]>::try_from(*bytes)
            .is_ok_and(|bytes| now.is_number(f64::from_be_bytes(bytes) as i64)),
        Value::Null | Value::Blob(_) => false,
    }
}

/// Reads pages as a connection has them.
struct Reader<'a>(Statement<'a>);

impl<'a> Reader<'a> {
    /// One that has read no page yet.
    fn of(connection: &'a Connection) -> Result<Self, Trouble> {
        let pages = connection.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
        // To understand this some pages were read.
        connection.execute_batch("PRAGMA shrink_memory")?;
        Ok(Self(pages))
    }
}

impl Pages for Reader<'_> {
    type Error = Trouble;

    fn page(&mut self, number: u32) -> Result<Vec<u8>, Trouble> {
        Ok(self.0.query_row([number], |row| row.get(0))?)
    }
}

/// A connection that takes no lock, and so is good for one look at a file that is as it was
/// afterwards.
fn unlocked(path: &Path) -> Result<Connection, Trouble> {
    // Names that are no text are not worth the trouble.
    let path = path.to_str().ok_or(Trouble::NotNow)?;
    let spelled = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Ok(super::reading(format!("file:{spelled}?immutable=1"), OpenFlags::SQLITE_OPEN_URI)?)
}

/// When a file was written last, and how long it is. Its counter doesn't tell of what was taken
/// back.
fn written(path: &Path) -> Result<(SystemTime, u64), Trouble> {
    let about = std::fs::metadata(path).map_err(|_| Trouble::NotNow)?;
    Ok((about.modified().map_err(|_| Trouble::NotNow)?, about.len()))
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
