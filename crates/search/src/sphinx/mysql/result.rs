//! Replies: done, refused, or a table as text.

use super::{LETTERS, Packets};
use crate::sphinx::table::{Cell, Kind, Table};

const OK: u8 = 0;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// More results follow.
const MORE: u16 = 8;

/// What a statement is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// So many rows were touched, with so many warnings.
    Done {
        /// How many rows were touched.
        rows: u64,
        /// How many warnings there are.
        warnings: u16,
    },
    /// MySQL's number, its state of five letters, and why not.
    Refused {
        /// MySQL's number of it.
        code: u16,
        /// Its state.
        state: &'static str,
        /// In words.
        why: String,
    },
    /// Rows.
    Table(Table),
}

impl Reply {
    /// Done, and there is nothing to say of it.
    pub const NOTHING: Self = Self::Done { rows: 0, warnings: 0 };

    /// A statement that isn't obeyed.
    #[must_use]
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused { code: 1064, state: "42000", why: why.into() }
    }

    /// A command that isn't one of SphinxQL's.
    #[must_use]
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Refused { code: 1047, state: "08S01", why: why.into() }
    }
}

/// The packets of the replies to one command, whose first has `number`.
#[must_use]
pub fn write(replies: &[Reply], number: u8) -> Vec<u8> {
    let mut packets = Packets::new(number);
    for (at, reply) in replies.iter().enumerate() {
        let more = if at + 1 < replies.len() { MORE } else { 0 };
        match reply {
            Reply::Done { rows, warnings } => {
                let mut body = vec![OK];
                packed(&mut body, *rows);
                body.push(0);
                body.extend_from_slice(&more.to_le_bytes());
                body.extend_from_slice(&warnings.to_le_bytes());
                packets.add(&body);
            }
            Reply::Refused { code, state, why } => {
                let mut body = vec![ERROR];
                body.extend_from_slice(&code.to_le_bytes());
                body.push(b'#');
                body.extend_from_slice(state.as_bytes());
                body.extend_from_slice(why.as_bytes());
                packets.add(&body);
            }
            Reply::Table(table) => write_table(&mut packets, table, more),
        }
    }
    packets.out
}

fn write_table(packets: &mut Packets, table: &Table, more: u16) {
    let mut body = Vec::new();
    packed(&mut body, table.columns.len() as u64);
    packets.add(&body);
    for (name, kind) in &table.columns {
        body.clear();
        text(&mut body, "def");
        // No database, no table.
        body.extend_from_slice(&[0, 0, 0]);
        text(&mut body, name);
        text(&mut body, name);
        let (length, number) = form(*kind);
        body.extend_from_slice(&[12, LETTERS, 0]);
        body.extend_from_slice(&length.to_le_bytes());
        body.push(number);
        body.extend_from_slice(&[0; 5]);
        packets.add(&body);
    }
    packets.add(&end(0));
    for row in &table.rows {
        body.clear();
        row.cells.iter().for_each(|cell| write_cell(&mut body, cell));
        packets.add(&body);
    }
    packets.add(&end(more));
}

fn end(status: u16) -> [u8; 5] {
    let [low, high] = status.to_le_bytes();
    [END, 0, 0, low, high]
}

/// A column's length in letters, and its type's number.
fn form(kind: Kind) -> (u32, u8) {
    match kind {
        Kind::Uint | Kind::Timestamp | Kind::Bool => (11, 3),
        Kind::Bigint => (20, 8),
        Kind::Float => (20, 4),
        Kind::Text | Kind::Multi | Kind::MultiBigint => (255, 254),
    }
}

fn write_cell(body: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Text(value) => text(body, value),
        other => text(body, &other.written()),
    }
}

fn text(body: &mut Vec<u8>, value: &str) {
    packed(body, value.len() as u64);
    body.extend_from_slice(value.as_bytes());
}

/// A number in as few bytes as it needs, by its first byte.
fn packed(body: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..251 => body.push(bytes[0]),
        251..0x1_0000 => {
            body.push(0xfc);
            body.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..0x100_0000 => {
            body.push(0xfd);
            body.extend_from_slice(&bytes[..3]);
        }
        _ => {
            body.push(0xfe);
            body.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sphinx::table::Row;

    fn check(reply: Reply, expected: &[u8]) {
        let written = write(&[reply], 1);
        assert_eq!(written.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    /// Against what searchd 2.2.11 sent.
    #[test]
    fn replies_are_in_searchds_form() {
        check(Reply::NOTHING, b"\x07\0\0\x01\0\0\0\0\0\0\0");
        check(
            Reply::refused("unknown local index 'nope' in search request"),
            b"\x35\0\0\x01\xff(\x04#42000unknown local index 'nope' in search request",
        );
        let table = Table {
            columns: vec![("id".to_owned(), Kind::Bigint), ("rating".to_owned(), Kind::Float)],
            rows: vec![Row { id: 1, weight: 1, cells: vec![Cell::Int(1), Cell::Float(1.5)] }],
        };
        check(
            Reply::Table(table),
            b"\x01\0\0\x01\x02\x1a\0\0\x02\x03def\0\0\0\x02id\x02id\x0c!\0\x14\0\0\0\x08\0\0\0\0\0\
              \"\0\0\x03\x03def\0\0\0\x06rating\x06rating\x0c!\0\x14\0\0\0\x04\0\0\0\0\0\
              \x05\0\0\x04\xfe\0\0\0\0\x0b\0\0\x05\x011\x081.500000\x05\0\0\x06\xfe\0\0\0\0",
        );
    }

    #[test]
    fn all_but_the_last_reply_say_that_more_follows() {
        let both = write(&[Reply::NOTHING, Reply::NOTHING], 1);
        assert_eq!(both, b"\x07\0\0\x01\0\0\0\x08\0\0\0\x07\0\0\x02\0\0\0\0\0\0\0");
    }

    #[test]
    fn long_texts_are_counted_in_more_bytes() {
        let mut body = Vec::new();
        text(&mut body, &"x".repeat(300));
        assert_eq!(&body[..3], b"\xfc\x2c\x01");
    }
}
