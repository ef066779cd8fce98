//! The reader of a log: events by their numbers, MariaDB's own among them.
//!
//! In: an event's kind, flags and body. Out: its [`Meaning`].
//! Law: MariaDB's and MySQL's manuals of the replication protocol.
//! Invariant: an event of a kind that isn't known, unless it says itself that it may be
//! ignored, means that everything may have changed.

use std::collections::{BTreeMap, HashMap};

use super::bytes::Bytes;
use super::inflate::inflate;
use super::query;
use super::rows::Rows;
use super::table::{self, Table};
use crate::statement::{self, Statement};
use crate::{Gtid, Operation, Place};

/// What doesn't know such an event may pass over it.
const IGNORABLE: u16 = 0x80;
/// The most tables whose maps are kept: those of one transaction.
const TABLES_MAX: usize = 4096;

/// What an event means.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Nothing for us.
    Nothing,
    /// The server is there.
    Heartbeat,
    /// The transaction is whole.
    Commit(Option<Place>),
    /// Rows changed.
    Rows(Rows),
    /// A statement, with the database that was in use. The last of its transaction bears its place.
    Statement(Statement, String, Option<Place>),
    /// Something happened to a table that can't be read.
    Unread(Box<str>, Box<str>),
    /// Something happened.
    Unknown,
    /// The log has a gap.
    Incident,
}

/// The database and the name of a table whose columns can't be read.
type Unreadable = (Box<str>, Box<str>);

/// What of the log so far matters for what comes.
#[derive(Default)]
pub(super) struct Reader {
    is_mariadb: bool,
    tables: HashMap<u64, Result<Table, Unreadable>>,
    place: Option<Place>,
    /// The last place of each of MariaDB's domains.
    places: BTreeMap<u32, Gtid>,
    /// One statement alone, without a commit after it.
    is_standalone: bool,
    /// What comes stood in MySQL's envelope, and no commit ended it yet.
    is_packed: bool,
}

impl Reader {
    /// One for what comes after `places`.
    pub(super) fn after(places: &[Gtid]) -> Self {
        Self { is_mariadb: true, places: by_domain(places), ..Self::default() }
    }

    /// One for what comes after `place` in one of MySQL's files.
    pub(super) fn in_file(place: Option<Place>) -> Self {
        Self { place, ..Self::default() }
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// Takes note of where an event ends in MySQL's file. What stands in an envelope has
    /// no place of its own there.
    pub(super) fn pass(&mut self, end: u32) {
        if let Some(Place::File(_, position)) = &mut self.place
            && end > 0
            && !self.is_packed
        {
            *position = end.into();
        }
    }

    /// Whether an event of this kind shows that an envelope's content never came whole.
    pub(super) fn misses_content(&mut self, kind: u8) -> bool {
        matches!(kind, 4 | 27 | 33 | 34 | 40 | 41 | 42) && std::mem::take(&mut self.is_packed)
    }

    /// Whether a log that ends at `end` has been read whole, and is still the same log.
    pub(super) fn is_at(&self, end: &[Place]) -> bool {
        if !self.is_mariadb {
            return self.place.is_none_or(|place| end == [place]);
        }
        let gtid = |place: &Place| match place {
            Place::Gtid(gtid) => Some(*gtid),
            _ => None,
        };
        let end: Vec<Gtid> = end.iter().filter_map(gtid).collect();
        self.places == by_domain(&end)
    }

    /// What an event means; `server` wrote it first.
    pub(super) fn read(&mut self, kind: u8, flags: u16, server: u32, body: &[u8]) -> Meaning {
        match kind {
            // Stop, numbers and random seeds for the statement after them, format, blocks of
            // a file, ignorable, rows' text, MySQL's lists of places and contexts, and
            // MariaDB's rows' text, checkpoints, lists of places and encryption.
            3 | 5 | 9 | 13 | 14 | 15 | 17 | 28 | 29 | 35..=37 | 160 | 161 | 163 | 164 => {
                Meaning::Nothing
            }
            4 => self.rotate(body),
            // MySQL's places: a transaction follows, or one statement.
            33 | 34 | 42 => {
                self.is_standalone = true;
                Meaning::Nothing
            }
            27 | 41 => Meaning::Heartbeat,
            26 => Meaning::Incident,
            // A commit, and MySQL's and MariaDB's preparation of a distributed one.
            16 | 38 => self.commit(),
            2 => self.query(body, false),
            165 => self.query(body, true),
            19 => self.table(body),
            162 => self.begin(server, body),
            // MySQL's envelope of a compressed transaction; what is in it comes next.
            40 => {
                self.is_packed = true;
                Meaning::Nothing
            }
            _ => match layout(kind) {
                Some(layout) => self.rows(layout, body),
                None if flags & IGNORABLE != 0 => Meaning::Nothing,
                None => Meaning::Unknown,
            },
        }
    }

    fn begin(&mut self, server: u32, body: &[u8]) -> Meaning {
        let mut bytes = Bytes(body);
        let mut place = || {
            let sequence = bytes.number(8)?;
            let domain = u32::try_from(bytes.number(4)?).ok()?;
            let is_standalone = bytes.byte()? & 1 == 1;
            Some((Gtid { domain, server, sequence }, is_standalone))
        };
        let Some((place, is_standalone)) = place() else { return Meaning::Unknown };
        self.place = Some(Place::Gtid(place));
        self.places.insert(place.domain, place);
        self.is_standalone = is_standalone;
        Meaning::Nothing
    }

    /// The next of MySQL's files; where it begins, and what it is called.
    fn rotate(&mut self, body: &[u8]) -> Meaning {
        let mut bytes = Bytes(body);
        if let Some(Place::File(..)) = self.place {
            self.place = bytes
                .number(8)
                .zip(std::str::from_utf8(bytes.0).ok())
                .and_then(|(position, name)| Place::in_file(name, position));
        }
        Meaning::Nothing
    }

    fn commit(&mut self) -> Meaning {
        self.tables.clear();
        (self.is_standalone, self.is_packed) = (false, false);
        Meaning::Commit(self.place)
    }

    fn query(&mut self, body: &[u8], is_compressed: bool) -> Meaning {
        let Some(query) = query::read(body, is_compressed) else { return Meaning::Unknown };
        let begins = |text: &String| text == "BEGIN" || text.starts_with("XA START");
        if query.text.as_ref().is_some_and(begins) {
            self.is_standalone = false;
        }
        let statement = query.text.map_or(Statement::Unread, |text| statement::read(&text));
        if statement == Statement::Commit {
            return self.commit();
        }
        let place = self.place.filter(|_| self.is_standalone);
        Meaning::Statement(statement, query.database, place)
    }

    fn table(&mut self, body: &[u8]) -> Meaning {
        if self.tables.len() >= TABLES_MAX {
            self.tables.clear();
        }
        let table = table::read(body).map(|(number, table)| (number, Ok(table)));
        let named = || {
            let (number, database, table) = table::names_of(body)?;
            Some((number, Err((database, table))))
        };
        let Some((number, table)) = table.or_else(named) else { return Meaning::Unknown };
        self.tables.insert(number, table);
        Meaning::Nothing
    }

    fn rows(&self, layout: Layout, body: &[u8]) -> Meaning {
        let mut bytes = Bytes(body);
        let number = bytes.number(6);
        let table = number.and_then(|number| self.tables.get(&number));
        let table = match table {
            Some(Ok(table)) => table,
            Some(Err((database, table))) => {
                return Meaning::Unread(database.clone(), table.clone());
            }
            None => return Meaning::Unknown,
        };
        match rows_body(layout, bytes) {
            Some(body) => {
                let Layout { operation, has_parts, .. } = layout;
                Meaning::Rows(Rows { table: table.clone(), operation, has_parts, body })
            }
            None => Meaning::Unread(table.database.clone(), table.name.clone()),
        }
    }
}

fn by_domain(places: &[Gtid]) -> BTreeMap<u32, Gtid> {
    places.iter().map(|place| (place.domain, *place)).collect()
}

/// How an event of rows lies.
#[derive(Clone, Copy)]
struct Layout {
    operation: Operation,
    has_more: bool,
    is_compressed: bool,
    /// Whether a JSON may come as what differs in it: MySQL's `PARTIAL_JSON`.
    has_parts: bool,
}

fn layout(kind: u8) -> Option<Layout> {
    const PARTS: u8 = 39;
    let (first, has_more, is_compressed) = match kind {
        23..=25 => (23, false, false),
        30..=32 => (30, true, false),
        166..=168 => (166, false, true),
        169..=171 => (169, true, true),
        // An update, the second of three.
        PARTS => (PARTS - 1, true, false),
        _ => return None,
    };
    let operation = match kind - first {
        0 => Operation::Insert,
        1 => Operation::Update,
        _ => Operation::Delete,
    };
    Some(Layout { operation, has_more, is_compressed, has_parts: kind == PARTS })
}

/// Columns, images and rows of an event, after the number of its table.
fn rows_body(layout: Layout, mut bytes: Bytes<'_>) -> Option<Vec<u8>> {
    bytes.take(2)?;
    if layout.has_more {
        // The length counts itself.
        let length = bytes.length(2)?.checked_sub(2)?;
        bytes.take(length)?;
    }
    if !layout.is_compressed {
        return Some(bytes.0.to_vec());
    }
    let mut head = bytes;
    let count = head.packed()?;
    let bitmaps = if layout.operation == Operation::Update { 2 } else { 1 };
    head.take(count.div_ceil(8).checked_mul(bitmaps)?)?;
    let head_length = bytes.0.len() - head.0.len();
    let rows = inflate(head.0)?;
    Some([&bytes.0[..head_length], &rows].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_may_be_anything() {
        let mut reader = Reader::default();
        assert!(matches!(reader.read(99, 0, 1, &[]), Meaning::Unknown));
        assert!(matches!(reader.read(99, IGNORABLE, 1, &[]), Meaning::Nothing));
        // A JSON in parts, of a table that was never told.
        assert!(matches!(reader.read(39, 0, 1, &[0; 20]), Meaning::Unknown));
        assert!(matches!(reader.read(24, 0, 1, &[0; 20]), Meaning::Unknown));
        assert!(matches!(reader.read(26, 0, 1, &[]), Meaning::Incident));
    }

    #[test]
    fn a_statement_alone_bears_its_place_and_one_in_a_transaction_does_not() {
        let begin = |flags| [&5_u64.to_le_bytes()[..], &7_u32.to_le_bytes(), &[flags]].concat();
        let query = |text: &[u8]| [&[0; 13][..], b"\0", text].concat();
        let mut reader = Reader::after(&[]);
        reader.read(162, 0, 3, &begin(1));
        let gtid = Gtid { domain: 7, server: 3, sequence: 5 };
        let place = Place::Gtid(gtid);
        let read = reader.read(2, 0, 3, &query(b"DROP TABLE t"));
        assert!(matches!(read, Meaning::Statement(Statement::Schema, _, Some(at)) if at == place));
        reader.read(162, 0, 3, &begin(0));
        let read = reader.read(2, 0, 3, &query(b"TRUNCATE t"));
        assert!(matches!(read, Meaning::Statement(Statement::Truncate(_), _, None)));
        let read = reader.read(16, 0, 3, &[0; 8]);
        assert!(matches!(read, Meaning::Commit(Some(at)) if at == place));
        assert!(reader.is_at(&[place]) && !reader.is_at(&[]));
        assert!(!reader.is_at(&[Place::Gtid(Gtid { sequence: 1, ..gtid })]));
    }

    #[test]
    fn a_place_in_mysqls_files_goes_on_with_each_event_but_not_within_an_envelope() {
        let mut reader = Reader::in_file(Place::in_file("binlog.000007", 4));
        let mut hear = |kind, end, body: &[u8]| {
            let is_torn = reader.misses_content(kind);
            reader.pass(end);
            let told = match reader.read(kind, 0, 1, body) {
                Meaning::Commit(place) | Meaning::Statement(_, _, place) => place,
                _ => None,
            };
            (is_torn, told)
        };
        let query = |text: &[u8]| [&[0; 13][..], b"\0", text].concat();
        let next = [&4_u64.to_le_bytes()[..], b"binlog.000008"].concat();
        for (kind, end, body, expected) in [
            (33, 80, vec![], (false, None)),
            (2, 150, query(b"BEGIN"), (false, None)),
            (16, 200, vec![], (false, Some(Place::File(7, 200)))),
            (33, 280, vec![], (false, None)),
            (2, 350, query(b"DROP TABLE t"), (false, Some(Place::File(7, 350)))),
            // An envelope, and what is in it.
            (33, 400, vec![], (false, None)),
            (40, 600, vec![], (false, None)),
            (2, 77, query(b"BEGIN"), (false, None)),
            (16, 99, vec![], (false, Some(Place::File(7, 600)))),
            (4, 650, next, (false, None)),
            // One that nothing came out of.
            (40, 90, vec![], (false, None)),
            (27, 90, vec![], (true, None)),
        ] {
            assert_eq!(hear(kind, end, &body), expected, "{kind} {end}");
        }
        assert!(reader.is_at(&[Place::File(8, 90)]) && !reader.is_at(&[Place::File(7, 90)]));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let body: Vec<u8> = (0..=255).rev().cycle().take(700).collect();
        let mut reader = Reader::default();
        for kind in 0..=255 {
            for start in 0..64 {
                let _ = reader.read(kind, 0, 1, &body[start * 3..start * 7]);
            }
        }
    }
}
