//! The reader of a log: from messages to changes.
//!
//! In: messages, and by what the rows of each table are told apart. Out: each kind of
//! change once a transaction, however many rows it was. Nothing here asks anybody.
//!
//! Invariants: 1. Columns are told only where the old row is known, by the log or by
//! [`Memory`]; an update of a row that nobody knows may have changed anything in its
//! table. They are those that differ from what was told last, so a value that came to be
//! otherwise is told with the next update. 2. A transaction of more kinds of change than
//! [`KINDS_MAX`] in one table is told as a change of the whole table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::memory::{self, Known, Memory};
use super::message::{self, Message, Old, Relation, Row, Value};
use crate::keys::{Key, TableKeys};
use crate::moment::{self, Moment};
use crate::{Change, Column, KeyClass, Lost, Operation};

/// The most kinds of change that are told apart in one table and transaction.
const KINDS_MAX: usize = 64;
/// The most tables of a log; with more it isn't followed.
const TABLES_MAX: usize = 16 << 10;

/// The keys of tables by the server's numbers for them.
pub(super) type Keys = HashMap<u32, TableKeys>;

/// What of the log so far matters for what comes.
pub(super) struct Reader {
    database: Box<str>,
    tables: HashMap<u32, Table>,
    memory: Memory,
    lives: u64,
    told: BTreeMap<u32, BTreeSet<Change>>,
}

struct Table {
    relation: Relation,
    /// With its schema, if that isn't `public`.
    name: Box<str>,
    /// Another one after each change of its shape and each time that it was emptied.
    life: u64,
}

impl Reader {
    pub(super) fn new(database: &str) -> Self {
        Self {
            database: database.into(),
            tables: HashMap::new(),
            memory: Memory::default(),
            lives: 0,
            told: BTreeMap::new(),
        }
    }

    /// A transaction is over.
    pub(super) fn end(&mut self) {
        self.told.clear();
    }

    /// What a message says that this transaction has not said before.
    pub(super) fn read(&mut self, body: &[u8], keys: &Keys) -> Result<Vec<Change>, Lost> {
        match message::read(body).ok_or(Lost::Unreadable)? {
            Message::Nothing => Ok(Vec::new()),
            Message::Relation(relation) => self.relation(relation),
            Message::Truncate(relations) => self.truncate(&relations),
            Message::Insert { relation, new } => {
                self.row(relation, |table, memory| table.insert(memory, key(keys, relation), &new))
            }
            Message::Update { relation, old, new } => self.row(relation, |table, memory| {
                table.update(memory, key(keys, relation), &old, &new)
            }),
            Message::Delete { relation, old } => {
                self.row(relation, |table, memory| table.delete(memory, key(keys, relation), &old))
            }
        }
    }

    fn relation(&mut self, relation: Relation) -> Result<Vec<Change>, Lost> {
        let number = relation.number;
        // It comes again whenever the server looks at the table anew.
        if self.tables.get(&number).is_some_and(|known| known.relation == relation) {
            return Ok(Vec::new());
        }
        if self.tables.len() >= TABLES_MAX && !self.tables.contains_key(&number) {
            return Err(Lost::Impossible(format!("the log tells of over {TABLES_MAX} tables")));
        }
        self.lives += 1;
        let name = named(&relation.schema, &relation.name);
        self.tables.insert(number, Table { relation, name, life: self.lives });
        Ok(Vec::new())
    }

    fn truncate(&mut self, relations: &[u32]) -> Result<Vec<Change>, Lost> {
        let mut changes = Vec::new();
        for number in relations {
            self.lives += 1;
            let table = self.tables.get_mut(number).ok_or(Lost::Unreadable)?;
            table.life = self.lives;
            let change = Change::anything(&self.database, &table.name);
            changes.extend(self.news(*number, change));
        }
        Ok(changes)
    }

    fn row(
        &mut self,
        number: u32,
        read: impl FnOnce(&Table, &mut Memory) -> Option<(Operation, BTreeSet<Column>, KeyClass)>,
    ) -> Result<Vec<Change>, Lost> {
        let table = self.tables.get(&number).ok_or(Lost::Unreadable)?;
        let Some((operation, columns, key)) = read(table, &mut self.memory) else {
            return Ok(Vec::new());
        };
        let change = Change::of(&self.database, &table.name, operation);
        Ok(self.news(number, Change { columns, key, ..change }).into_iter().collect())
    }

    /// The change, if this transaction has not told it.
    fn news(&mut self, number: u32, change: Change) -> Option<Change> {
        let told = self.told.entry(number).or_default();
        if told.len() < KINDS_MAX {
            return told.insert(change.clone()).then_some(change);
        }
        let whole = Change::anything(&change.database, &change.table);
        told.insert(whole.clone()).then_some(whole)
    }
}

/// Whether a value is the present time.
fn tells(value: &Value<'_>, now: Moment) -> bool {
    matches!(value, Value::Text(text) if now.is_text(text))
}

/// What happened to a row; nothing if it became what it was.
type Told = Option<(Operation, BTreeSet<Column>, KeyClass)>;

impl Table {
    fn insert(&self, memory: &mut Memory, key: Key<'_>, new: &Row<'_>) -> Told {
        let class = self.class(key, new, |_| true);
        self.remember(memory, None, new, class.clone());
        Some((Operation::Insert, BTreeSet::new(), class))
    }

    fn update(&self, memory: &mut Memory, key: Key<'_>, old: &Old<'_>, new: &Row<'_>) -> Told {
        if let Old::Whole(old) = old {
            let is_other =
                |(old, new): (&Value<'_>, &Value<'_>)| *new != Value::Unchanged && old != new;
            let was_there = |old: &Value<'_>| *old != Value::Null;
            let now = Moment::now();
            let columns =
                self.columns(old.iter().zip(new).map(|(old, new)| {
                    is_other((old, new)).then(|| was_there(old) && tells(new, now))
                }));
            let after: Row<'_> = old
                .iter()
                .zip(new)
                .map(|(old, new)| if *new == Value::Unchanged { *old } else { *new })
                .collect();
            let class = self.class(key, old, |_| true).until(self.class(key, &after, |_| true));
            return (!columns.is_empty()).then_some((Operation::Update, columns, class));
        }
        let before = match old {
            Old::Identity(old) => old,
            _ => new,
        };
        let known = self.name(memory, before).and_then(|name| memory.take(name));
        let mut class = self.class(key, new, |_| true);
        let Some(known) = known else {
            self.remember(memory, None, new, class);
            // Nobody knows what it was, nor of which class.
            return Some((Operation::Other, BTreeSet::new(), KeyClass::Unknown));
        };
        if class == KeyClass::Unknown && key != Key::Unknown {
            // A key that is a large value, which it kept.
            class = known.key.clone();
        }
        let sums = self.remember(memory, Some(&known.sums), new, class.clone());
        let now = Moment::now();
        let pairs = known.sums.iter().zip(&sums).zip(new);
        let columns = self.columns(pairs.map(|((old, sum), new)| {
            (old != sum).then(|| memory::was_there(*old) && tells(new, now))
        }));
        (!columns.is_empty()).then(|| (Operation::Update, columns, known.key.until(class)))
    }

    fn delete(&self, memory: &mut Memory, key: Key<'_>, old: &Old<'_>) -> Told {
        let class = match old {
            Old::Nothing => KeyClass::Unknown,
            Old::Whole(old) => self.class(key, old, |_| true),
            Old::Identity(old) => match self.name(memory, old).and_then(|name| memory.take(name)) {
                Some(known) => known.key,
                None => self.class(key, old, |index| self.is_identity(index)),
            },
        };
        Some((Operation::Delete, BTreeSet::new(), class))
    }

    /// Remembers a row as it is now; gives the sums of its values.
    fn remember(
        &self,
        memory: &mut Memory,
        before: Option<&[u64]>,
        row: &Row<'_>,
        key: KeyClass,
    ) -> Box<[u64]> {
        let before = |index: usize| before.and_then(|sums| sums.get(index).copied());
        let sum = |(index, value)| memory.sum(value, before(index));
        let sums: Box<[u64]> = row.iter().enumerate().map(sum).collect();
        if let Some(name) = self.name(memory, row) {
            memory.put(name, Known { sums: sums.clone(), key });
        }
        sums
    }

    /// What a row is remembered by; nothing where rows are not known by anything, or by
    /// all that they are, which the log then tells.
    fn name(&self, memory: &Memory, row: &Row<'_>) -> Option<u64> {
        let columns = &self.relation.columns;
        let identity = columns.iter().filter(|column| column.is_identity).count();
        let values = || row.iter().enumerate().filter(|(index, _)| self.is_identity(*index));
        let is_known = identity > 0
            && row.len() == columns.len()
            && values().all(|(_, value)| matches!(value, Value::Text(_)));
        is_known.then(|| memory.name(self.life, values().map(|(_, value)| *value)))
    }

    fn is_identity(&self, index: usize) -> bool {
        self.relation.columns.get(index).is_some_and(|column| column.is_identity)
    }

    /// The columns that changed: for each that did, whether it tells the moment.
    fn columns(&self, changed: impl Iterator<Item = Option<bool>>) -> BTreeSet<Column> {
        let columns = self.relation.columns.iter().zip(changed);
        moment::telling(columns.filter_map(|(column, is_moment)| {
            is_moment.map(|is_moment| (Column::named(&column.name), is_moment))
        }))
    }

    /// The class of a row whose columns were sent where `is_sent`.
    fn class(&self, key: Key<'_>, row: &Row<'_>, is_sent: impl Fn(usize) -> bool) -> KeyClass {
        let columns = match key {
            Key::Unknown => return KeyClass::Unknown,
            Key::Plain => return KeyClass::Plain,
            Key::Columns(columns) => columns,
        };
        let mut values = Vec::with_capacity(columns.len());
        for key in columns {
            let is_it = |column: &message::Column| column.name.to_lowercase() == *key.name;
            let index = self.relation.columns.iter().position(is_it);
            let value = index.filter(|index| is_sent(*index)).and_then(|index| row.get(index));
            values.push(match value {
                Some(Value::Text(text)) => String::from_utf8_lossy(text),
                Some(Value::Null) => "".into(),
                Some(Value::Unchanged) | None => return KeyClass::Unknown,
            });
        }
        KeyClass::of(values.iter().map(AsRef::as_ref))
    }
}

fn key(keys: &Keys, relation: u32) -> Key<'_> {
    keys.get(&relation).map_or(Key::Unknown, TableKeys::key)
}

/// A table's name as changes bear it.
pub(super) fn named(schema: &str, name: &str) -> Box<str> {
    if schema == "public" { name.into() } else { format!("{schema}.{name}").into() }
}

#[cfg(test)]
mod tests {
    use super::message::tests::{change, relation};
    use super::*;
    use crate::keys::KeyColumn;

    /// The table 7, `site.options (id*, name, value, note)`, keyed by its name.
    fn reader(identity: &[&str]) -> (Reader, Keys) {
        let mut reader = Reader::new("db");
        let name = KeyColumn { ordinal: 1, name: "name".into() };
        let keys = Keys::from([(7, TableKeys::known(4, Some(vec![name])))]);
        assert_eq!(reader.read(&relation(7, "public.options", identity), &keys), Ok(vec![]));
        (reader, keys)
    }

    const BY_ID: &[&str] = &["id*", "name", "value", "note"];
    const BY_ALL: &[&str] = &["id*", "name*", "value*", "note*"];

    /// Messages, each a transaction of its own, and what they tell.
    fn check(identity: &[&str], scenes: &[(Vec<u8>, &str)]) {
        let (mut reader, keys) = reader(identity);
        for (body, expected) in scenes {
            let changes = reader.read(body, &keys).expect("a message");
            reader.end();
            let shown: Vec<String> = changes.iter().map(Change::to_string).collect();
            assert_eq!(shown.join(", "), *expected, "{body:?}");
        }
    }

    #[test]
    fn an_update_of_a_known_row_tells_what_differs() {
        check(
            BY_ID,
            &[
                (change(b'I', &[(b'N', &["1", "theme", "a", "x"])]), "Insert options  theme"),
                (change(b'U', &[(b'N', &["1", "theme", "b", "~"])]), "Update options value theme"),
                (change(b'U', &[(b'N', &["1", "theme", "b", "x"])]), ""),
                (
                    change(b'U', &[(b'N', &["1", "skin", "b", "-"])]),
                    "Update options name+note theme→skin",
                ),
                (
                    change(
                        b'U',
                        &[(b'K', &["1", "-", "-", "-"]), (b'N', &["2", "skin", "b", "-"])],
                    ),
                    "Update options id skin",
                ),
                (change(b'U', &[(b'N', &["2", "skin", "c", "-"])]), "Update options value skin"),
                (change(b'D', &[(b'K', &["2", "-", "-", "-"])]), "Delete options  skin"),
                (change(b'D', &[(b'K', &["2", "-", "-", "-"])]), "Delete options  ?"),
            ],
        );
    }

    #[test]
    fn an_update_of_a_row_that_nobody_knows_may_be_of_anything_once() {
        let update = |value| change(b'U', &[(b'N', &["1", "theme", value, "~"])]);
        check(
            BY_ID,
            &[
                (update("a"), "Other options  ?"),
                (update("b"), "Update options value theme"),
                // A large value that comes for the first time is one that was written.
                (
                    change(b'U', &[(b'N', &["1", "theme", "b", "large"])]),
                    "Update options note theme",
                ),
                (vec![b'T', 0, 0, 0, 1, 0, 0, 0, 0, 7], "Other options  ?"),
                (update("c"), "Other options  ?"),
                (relation(7, "public.options", BY_ID), ""),
                (update("d"), "Update options value theme"),
                (relation(7, "public.options", &["id*", "name", "value", "other"]), ""),
                (update("e"), "Other options  ?"),
            ],
        );
    }

    #[test]
    fn a_whole_old_row_needs_no_memory() {
        check(
            BY_ALL,
            &[
                (
                    change(
                        b'U',
                        &[(b'O', &["1", "theme", "a", "x"]), (b'N', &["1", "theme", "b", "~"])],
                    ),
                    "Update options value theme",
                ),
                (
                    change(
                        b'U',
                        &[(b'O', &["1", "theme", "a", "x"]), (b'N', &["1", "theme", "a", "x"])],
                    ),
                    "",
                ),
                (change(b'D', &[(b'O', &["1", "theme", "a", "x"])]), "Delete options  theme"),
            ],
        );
    }

    #[test]
    fn one_kind_of_change_is_told_once_a_transaction_and_too_many_as_the_table() {
        let (mut reader, keys) = reader(BY_ID);
        let mut told = Vec::new();
        for row in 0..200_u8 {
            let letter = |at: u8| char::from(b'a' + at);
            let name = format!("{}{}", letter(row / 26), letter(row % 26));
            for id in ["1", "2"] {
                let id = format!("{id}{row}");
                let body = change(b'I', &[(b'N', &[&id, &name, "v", "-"])]);
                told.extend(reader.read(&body, &keys).expect("a message"));
            }
        }
        assert_eq!(told.len(), KINDS_MAX + 1);
        assert_eq!(told.last(), Some(&Change::anything("db", "options")));
        reader.end();
        let body = change(b'I', &[(b'N', &["1", "aa", "v", "-"])]);
        assert_eq!(reader.read(&body, &keys).map(|told| told.len()), Ok(1));
    }

    #[test]
    fn rows_of_a_table_that_was_not_shown_can_not_be_read() {
        let mut reader = Reader::new("db");
        let keys = Keys::new();
        for body in
            [change(b'I', &[(b'N', &["1"])]), vec![b'T', 0, 0, 0, 1, 0, 0, 0, 0, 7], vec![b'Z']]
        {
            assert_eq!(reader.read(&body, &keys), Err(Lost::Unreadable), "{body:?}");
        }
    }

    #[test]
    fn a_table_bears_its_schema_unless_it_is_the_usual_one() {
        assert_eq!((&*named("public", "a"), &*named("b", "a")), ("a", "b.a"));
    }
}
