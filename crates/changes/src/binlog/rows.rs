//! Rows: what an event of changed rows says about its table.
//!
//! In: the body of the event and the table that its number stands for. Out: each kind
//! of change once, however many rows it was, with the hashes of what they hold in columns
//! that have an index. Values are compared as they lie in the log; only what stands in such
//! columns is ever read.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::bytes::{Bits, Bytes};
use super::table::{Kind, Table};
use crate::keys::{Key, TableKeys};
use crate::moment::{self, Moment};
use crate::{Change, Column, KeyClass, Operation, Values};

/// The most kinds of change that one event may make; with more its table is swept whole.
const KINDS_MAX: usize = 64;

/// An event of changed rows, not yet taken apart.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) table: Table,
    pub(super) operation: Operation,
    /// Whether what a row became may hold parts of a JSON.
    pub(super) has_parts: bool,
    /// The event's body after the table's number and flags.
    pub(super) body: Vec<u8>,
}

impl Rows {
    /// What changed; the whole table where a row can't be read.
    pub(super) fn changes(&self, keys: &TableKeys, now: Moment) -> Vec<Change> {
        let mut kinds = BTreeMap::new();
        match self.read(keys, now, &mut kinds) {
            Some(()) if kinds.len() <= KINDS_MAX => {
                kinds.into_iter().map(|(change, values)| Change { values, ..change }).collect()
            }
            _ => vec![Change::anything(&self.table.database, &self.table.name)],
        }
    }

    fn read(
        &self,
        keys: &TableKeys,
        now: Moment,
        kinds: &mut BTreeMap<Change, Values>,
    ) -> Option<()> {
        let mut bytes = Bytes(&self.body);
        let count = bytes.packed().filter(|count| *count == self.table.kinds.len())?;
        let key = keys.of(count);
        let is_update = self.operation == Operation::Update;
        let before_has = bytes.bits(count)?;
        let after_has = if is_update { bytes.bits(count)? } else { before_has };
        while !bytes.is_empty() && kinds.len() <= KINDS_MAX {
            let before = self.image(&mut bytes, before_has, None)?;
            let mut row = Values::named(keys.is_name());
            self.note_values(keys.indexed(count), &before, &mut row);
            let (columns, key) = if is_update {
                let parts = if self.has_parts { self.parts(&mut bytes)? } else { None };
                let after = self.image(&mut bytes, after_has, parts)?;
                if before == after && !before.contains(&Value::Absent) {
                    // Set to what it was: nothing changed.
                    continue;
                }
                self.note_values(keys.indexed(count), &after, &mut row);
                let columns = self.changed(&before, &after, now);
                (columns, self.class(key, &before).until(self.class(key, &after)))
            } else {
                (BTreeSet::new(), self.class(key, &before))
            };
            let change = Change::of(&self.table.database, &self.table.name, self.operation);
            let change = Change { columns, key, ..change };
            match kinds.entry(change) {
                Entry::Vacant(place) => drop(place.insert(row)),
                Entry::Occupied(mut known) => known.get_mut().join(row),
            }
        }
        Some(())
    }

    /// Notes what a row holds in these columns, as far as it was sent.
    fn note_values(&self, indexed: &[usize], row: &[Value<'_>], values: &mut Values) {
        for &index in indexed {
            let column = || self.table.column(index);
            match row.get(index) {
                Some(Value::Number(bytes)) => {
                    let number = Bytes(bytes).number(bytes.len()).unwrap_or_default();
                    values.note(column(), &number.to_string());
                }
                Some(Value::Text(text)) => values.note(column(), &String::from_utf8_lossy(text)),
                // It points at no row.
                Some(Value::Null | Value::Absent) | None => {}
                Some(Value::Opaque(_) | Value::Part(_)) => values.note_unknown(column()),
            }
        }
    }

    /// Which JSON of a row comes in parts, of all that its table has.
    fn parts<'a>(&self, bytes: &mut Bytes<'a>) -> Option<Option<Bits<'a>>> {
        match bytes.packed()? {
            0 => Some(None),
            1 => bytes.bits(self.table.json_columns()).map(Some),
            _ => None,
        }
    }

    /// One row: for each column its value, if it was sent.
    fn image<'a>(
        &self,
        bytes: &mut Bytes<'a>,
        has: Bits<'_>,
        parts: Option<Bits<'_>>,
    ) -> Option<Vec<Value<'a>>> {
        let count = self.table.kinds.len();
        let nulls = bytes.bits(has.count(count))?;
        let mut values = Vec::with_capacity(count);
        let (mut sent, mut jsons) = (0, 0..);
        for (index, kind) in self.table.kinds.iter().enumerate() {
            let json = matches!(kind, Kind::Json(_)).then(|| jsons.next()).flatten();
            let is_part = json.zip(parts).is_some_and(|(json, parts)| parts.has(json));
            if !has.has(index) {
                values.push(Value::Absent);
                continue;
            }
            values.push(if nulls.has(sent) {
                Value::Null
            } else {
                match kind {
                    Kind::Fixed(width) | Kind::Timestamp(width) | Kind::DateTime(width) => {
                        Value::Opaque(bytes.take(*width)?)
                    }
                    Kind::Number(width) => Value::Number(bytes.take(*width)?),
                    Kind::Json(width) if is_part => match bytes.counted(*width)? {
                        // Nothing differs.
                        [] => Value::Absent,
                        part => Value::Part(part),
                    },
                    Kind::Blob(width) | Kind::Json(width) => Value::Opaque(bytes.counted(*width)?),
                    Kind::Text(width) => Value::Text(bytes.counted(*width)?),
                }
            });
            sent += 1;
        }
        Some(values)
    }

    /// What differs, or was assigned where the old value was not sent.
    fn changed(&self, before: &[Value<'_>], after: &[Value<'_>], now: Moment) -> BTreeSet<Column> {
        let pairs = before.iter().zip(after).enumerate();
        let changed = pairs.filter(|(_, (old, new))| **new != Value::Absent && old != new);
        moment::telling(changed.map(|(index, (old, new))| {
            let was_there = !matches!(old, Value::Null | Value::Absent);
            (self.table.column(index), was_there && self.tells(index, new, now))
        }))
    }

    /// Whether a column was given the present time.
    fn tells(&self, index: usize, value: &Value<'_>, now: Moment) -> bool {
        match (value, self.table.kinds.get(index)) {
            (Value::Text(text), _) => now.is_text(text),
            (Value::Number(bytes), _) => {
                let number = Bytes(bytes).number(bytes.len()).and_then(|it| i64::try_from(it).ok());
                number.is_some_and(|number| now.is_number(number))
            }
            (Value::Opaque(bytes), Some(Kind::Timestamp(_))) => {
                now.is_number(largest_first(bytes, 4))
            }
            (Value::Opaque(bytes), Some(Kind::DateTime(_))) => {
                now.is_date_time(unpacked(largest_first(bytes, 5)))
            }
            _ => false,
        }
    }

    fn class(&self, key: Key<'_>, row: &[Value<'_>]) -> KeyClass {
        let columns = match key {
            Key::Unknown => return KeyClass::Unknown,
            Key::Plain => return KeyClass::Plain,
            Key::Columns(columns) => columns,
        };
        let mut values = Vec::with_capacity(columns.len());
        for column in columns {
            values.push(match row.get(column.ordinal) {
                Some(Value::Text(text)) if is_legible(text) => String::from_utf8_lossy(text),
                // An identifier in bytes.
                Some(Value::Text(_)) => "0".into(),
                Some(Value::Opaque(_) | Value::Part(_) | Value::Number(_)) => "0".into(),
                Some(Value::Null) => "".into(),
                Some(Value::Absent) | None => return KeyClass::Unknown,
            });
        }
        KeyClass::of(values.iter().map(AsRef::as_ref))
    }
}

/// Whether bytes are text: nothing that nobody writes, and in whichever charset mostly ASCII if it
/// isn't UTF-8.
fn is_legible(text: &[u8]) -> bool {
    const ODD_PART: usize = 3;
    let odd = text.iter().filter(|byte| !byte.is_ascii()).count();
    !text.iter().any(u8::is_ascii_control)
        && (odd * ODD_PART < text.len() || std::str::from_utf8(text).is_ok())
}

fn largest_first(bytes: &[u8], count: usize) -> i64 {
    bytes.iter().take(count).fold(0, |number, byte| number << 8 | i64::from(*byte))
}

/// Year, month, day, hour, minute and second of forty bits: a sign, years in thirteens of
/// months, and what is left by its width.
fn unpacked(packed: i64) -> [u32; 6] {
    let bits = |from: u32, count: u32| (packed >> from & ((1 << count) - 1)) as u32;
    let months = bits(22, 17);
    [months / 13, months % 13, bits(17, 5), bits(12, 5), bits(6, 6), bits(0, 6)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    /// Not sent: a minimal row image.
    Absent,
    Null,
    Text(&'a [u8]),
    Number(&'a [u8]),
    Opaque(&'a [u8]),
    /// What differs in a JSON; it is like no value.
    Part(&'a [u8]),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyColumn;
    use crate::value_hash;

    /// `id INT, name VARCHAR(20), note BLOB`, keyed by the name.
    fn rows(operation: Operation, body: &[u8]) -> Rows {
        let kinds = [1, 1, b'd', 0, 1, b't', 0, 3, 3, 15, 252, 3, 20, 0, 2, 0];
        let map: Vec<u8> = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &kinds[1..]].concat();
        let (_, table) = crate::binlog::table::read(&map).expect("a table map");
        Rows { table, operation, has_parts: false, body: body.to_vec() }
    }

    fn keys() -> TableKeys {
        let name = KeyColumn { ordinal: 1, name: "name".into() };
        TableKeys::known(3, Some(vec![name])).with_indexed(&[0, 1])
    }

    fn check(operation: Operation, body: &[u8], expected: &[&str]) {
        let changes = rows(operation, body).changes(&keys(), Moment::now());
        let shown: Vec<String> = changes
            .iter()
            .map(|change| format!("{:?} {:?} {:?}", change.operation, change.columns, change.key))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn full_images_show_what_differs() {
        let row = |id: u8, name: &str, note: u8| {
            let length = u8::try_from(name.len()).expect("a short name");
            [&[0, id, 0, 0, 0, length], name.as_bytes(), &[1, 0, note]].concat()
        };
        let insert = [&[3, 7][..], &row(1, "abc", 1), &row(2, "abc", 2)].concat();
        check(Operation::Insert, &insert, &["Insert {} Of(\"abc\")"]);
        let update = [&[3, 7, 7][..], &row(1, "abc", 1), &row(1, "abc", 9)].concat();
        check(Operation::Update, &update, &["Update {Ordinal(2)} Of(\"abc\")"]);
        let same = [&[3, 7, 7][..], &row(1, "abc", 1), &row(1, "abc", 1)].concat();
        check(Operation::Update, &same, &[]);
        let renamed = [&[3, 7, 7][..], &row(1, "abc", 1), &row(1, "xyz", 1)].concat();
        check(Operation::Update, &renamed, &["Update {Ordinal(1)} Of(\"abc→xyz\")"]);
    }

    #[test]
    fn what_rows_hold_in_indexed_columns_is_told_as_hashes() {
        let row = |id: u8, name: &str| {
            let length = u8::try_from(name.len()).expect("a short name");
            [&[0, id, 0, 0, 0, length], name.as_bytes(), &[1, 0, 7]].concat()
        };
        let insert = [&[3, 7][..], &row(1, "abc"), &row(2, "abc")].concat();
        let changes = rows(Operation::Insert, &insert).changes(&keys(), Moment::now());
        let told = |change: &Change, column| change.values.of(&Column::Ordinal(column)).cloned();
        let hashes = |texts: &[&str]| texts.iter().filter_map(|text| value_hash(text)).collect();
        assert_eq!(told(&changes[0], 0), Some(hashes(&["1", "2"])));
        assert_eq!(told(&changes[0], 1), Some(hashes(&["abc"])));
        assert_eq!(told(&changes[0], 2), None, "it has no index");
        let update = [&[3, 7, 7][..], &row(1, "abc"), &row(9, "abc")].concat();
        let changes = rows(Operation::Update, &update).changes(&keys(), Moment::now());
        assert_eq!(told(&changes[0], 0), Some(hashes(&["1", "9"])), "before and after");
        let odd = [&[3, 7][..], &row(1, "\u{e9}")].concat();
        let changes = rows(Operation::Insert, &odd).changes(&keys(), Moment::now());
        assert_eq!(told(&changes[0], 1), None, "a database may take it for an e");
    }

    #[test]
    fn bytes_that_are_no_text_are_an_identifier() {
        for (name, expected) in [
            (&b"cron:last"[..], "cron:last"),
            ("größe".as_bytes(), "größe"),
            // In Latin 1 it is a name as well.
            (b"gr\xf6sse", "gr\u{fffd}sse"),
            (b"\x9f\x86\xd0\x81", "#"),
            (b"ab\0cd", "#"),
        ] {
            let length = u8::try_from(name.len()).expect("a short name");
            let insert = [&[3, 7, 0, 1, 0, 0, 0, length][..], name, &[1, 0, 7]].concat();
            check(Operation::Insert, &insert, &[&format!("Insert {{}} Of({expected:?})")]);
        }
    }

    #[test]
    fn a_minimal_image_shows_what_was_assigned_and_no_key() {
        // The id before, the note after.
        let update = [3, 1, 4, 0, 1, 0, 0, 0, 0, 1, 0, 9];
        check(Operation::Update, &update, &["Update {Ordinal(2)} Unknown"]);
    }

    #[test]
    fn a_column_that_tells_when_the_row_was_written_is_left_out_beside_others() {
        // `views INT, seen INT, at TIMESTAMP, on DATETIME`.
        let map = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &[1, b'd', 0, 1, b't', 0], &[4, 3, 3, 17, 18]];
        let map = [&map.concat()[..], &[2, 0, 0, 15]].concat();
        let (_, table) = crate::binlog::table::read(&map).expect("a table map");
        // 2026-11-28 23:40:07.
        let now = Moment::at(1_795_909_207);
        let row = |views: u8, seen: u32, at: u32, day: u64| {
            let packed = 1 << 39 | (2026 * 13 + 11) << 22 | day << 17 | 23 << 12 | 40 << 6 | 7;
            let packed = &u64::to_be_bytes(packed)[3..];
            [&[0, views, 0, 0, 0], &seen.to_le_bytes()[..], &at.to_be_bytes(), packed].concat()
        };
        let before = row(1, 1_700_000_000, 1_700_000_000, 3);
        let now_seconds = 1_795_909_206;
        for (after, expected) in [
            (row(2, now_seconds, now_seconds, 28), "{Ordinal(0)}"),
            (row(2, now_seconds, now_seconds, 3), "{Ordinal(0)}"),
            (row(1, now_seconds, 1_700_000_000, 28), "{Moment(Ordinal(1)), Moment(Ordinal(3))}"),
            (
                row(2, 1_700_000_001, 1_700_000_001, 4),
                "{Ordinal(0), Ordinal(1), Ordinal(2), Ordinal(3)}",
            ),
        ] {
            let body = [&[4, 15, 15][..], &before, &after].concat();
            let rows =
                Rows { table: table.clone(), operation: Operation::Update, has_parts: false, body };
            let changes = rows.changes(&TableKeys::known(4, None), now);
            assert_eq!(format!("{:?}", changes[0].columns), expected);
        }
        // It had never been seen: that is news.
        let body = [
            &[4, 15, 15][..],
            &[2, 1, 0, 0, 0],
            &before[9..],
            &row(2, now_seconds, 1_700_000_000, 3),
        ]
        .concat();
        let rows = Rows { table, operation: Operation::Update, has_parts: false, body };
        let changes = rows.changes(&TableKeys::known(4, None), now);
        assert_eq!(format!("{:?}", changes[0].columns), "{Ordinal(0), Ordinal(1)}");
    }

    #[test]
    fn a_json_that_comes_in_parts_has_changed_where_there_is_a_part() {
        // `id INT, one JSON, other JSON`.
        let map = [&[7, 0, 0, 0, 0, 0, 0, 0][..], &[1, b'd', 0, 1, b't', 0], &[3, 3, 245, 245]];
        let map = [&map.concat()[..], &[2, 1, 1, 0]].concat();
        let (_, table) = crate::binlog::table::read(&map).expect("a table map");
        let before = [0, 1, 0, 0, 0, 2, b'a', b'b', 1, b'c'];
        for (after, expected) in [
            // Whole, then the second as a part, the first as nothing.
            (&[0, 0, 1, 0, 0, 0, 2, b'a', b'b', 1, b'd'][..], Some("{Ordinal(2)}")),
            (&[1, 3, 0, 1, 0, 0, 0, 0, 2, b'a', b'b'], Some("{Ordinal(2)}")),
            (&[1, 2, 0, 1, 0, 0, 0, 2, b'x', b'b', 1, b'c'], Some("{Ordinal(1), Ordinal(2)}")),
            // An option that isn't known.
            (&[2, 0, 0, 1, 0, 0, 0, 2, b'a', b'b', 1, b'c'], None),
        ] {
            let body = [&[3, 7, 7][..], &before, after].concat();
            let table = table.clone();
            let rows = Rows { table, operation: Operation::Update, has_parts: true, body };
            let changes = rows.changes(&TableKeys::known(3, None), Moment::now());
            let columns = (changes[0].operation == Operation::Update)
                .then(|| format!("{:?}", changes[0].columns));
            assert_eq!((changes.len(), columns.as_deref()), (1, expected), "{after:?}");
        }
    }

    #[test]
    fn what_ends_early_or_has_other_columns_sweeps_the_table() {
        for body in [&[3, 7, 0, 1][..], &[2, 3, 0], &[], &[3, 7, 0, 1, 0, 0, 0, 200, b'a']] {
            check(Operation::Insert, body, &["Other {} Unknown"]);
        }
    }
}
