//! Table maps: which table the rows that follow belong to, and how they lie.
//!
//! In: the body of a table map event. Out: [`Table`] and its number.
//! Law: the event's description in MariaDB's and MySQL's manuals of the protocol.

use super::bytes::{Bits, Bytes};
use crate::Column;

/// More columns than any table can have; a larger number is no table map.
const COLUMNS_MAX: usize = 4096;
/// The kind of optional metadata that holds the names of the columns.
const COLUMN_NAMES: u8 = 4;

/// How a table's rows lie in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) database: Box<str>,
    pub(super) name: Box<str>,
    pub(super) kinds: Vec<Kind>,
    /// Only with `binlog_row_metadata=FULL`.
    names: Vec<Box<str>>,
}

impl Table {
    /// How many columns hold a JSON.
    pub(super) fn json_columns(&self) -> usize {
        self.kinds.iter().filter(|kind| matches!(kind, Kind::Json(_))).count()
    }

    /// The column at `index` by the best name that there is.
    pub(super) fn column(&self, index: usize) -> Column {
        match self.names.get(index) {
            Some(name) => Column::named(name),
            None => Column::Ordinal(u32::try_from(index).unwrap_or(u32::MAX)),
        }
    }
}

/// How the values of one column lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// So many bytes each.
    Fixed(usize),
    /// A whole number of so many bytes, the smallest first.
    Number(usize),
    /// Seconds since 1970 in the first four of so many bytes, the largest first.
    Timestamp(usize),
    /// Date and time in the first five of so many bytes, packed, the largest first.
    DateTime(usize),
    /// A length of so many bytes, then text or bytes.
    Text(usize),
    /// A length of so many bytes, then what is no key: a blob, or something compressed.
    Blob(usize),
    /// A JSON, which lies as a blob does.
    Json(usize),
}

/// Reads a table map; `None` when it is of a kind that isn't known.
pub(super) fn read(body: &[u8]) -> Option<(u64, Table)> {
    let mut bytes = Bytes(body);
    let number = bytes.number(6)?;
    bytes.take(2)?;
    let database = name(&mut bytes)?;
    let table = name(&mut bytes)?;
    let count = bytes.packed().filter(|count| *count <= COLUMNS_MAX)?;
    let types = bytes.take(count)?;
    let length = bytes.packed()?;
    let mut details = Bytes(bytes.take(length)?);
    let kinds: Option<Vec<Kind>> = types.iter().map(|kind| of(*kind, &mut details)).collect();
    let _nullable: Bits<'_> = bytes.bits(count)?;
    let names = column_names(bytes).filter(|names| names.len() == count).unwrap_or_default();
    Some((number, Table { database, name: table, kinds: kinds?, names }))
}

/// The database and table of a table map whose columns can't be read.
pub(super) fn names_of(body: &[u8]) -> Option<(u64, Box<str>, Box<str>)> {
    let mut bytes = Bytes(body);
    let number = bytes.number(6)?;
    bytes.take(2)?;
    Some((number, name(&mut bytes)?, name(&mut bytes)?))
}

/// A counted name with a zero after it.
fn name(bytes: &mut Bytes<'_>) -> Option<Box<str>> {
    let name = bytes.counted(1)?;
    bytes.take(1)?;
    Some(String::from_utf8_lossy(name).into())
}

fn column_names(mut bytes: Bytes<'_>) -> Option<Vec<Box<str>>> {
    while !bytes.is_empty() {
        let kind = bytes.byte()?;
        let length = bytes.packed()?;
        let mut field = Bytes(bytes.take(length)?);
        if kind != COLUMN_NAMES {
            continue;
        }
        let mut names = Vec::new();
        while !field.is_empty() {
            let length = field.packed()?;
            names.push(String::from_utf8_lossy(field.take(length)?).into());
        }
        return Some(names);
    }
    None
}

/// How a column of the type `number` lies, by its share of the details.
fn of(number: u8, details: &mut Bytes<'_>) -> Option<Kind> {
    let kind = match number {
        // Tiny, short, int24, long, longlong.
        1 => Kind::Number(1),
        2 => Kind::Number(2),
        9 => Kind::Number(3),
        3 => Kind::Number(4),
        8 => Kind::Number(8),
        // Year.
        13 => Kind::Fixed(1),
        // Date, time of old.
        10 | 11 | 14 => Kind::Fixed(3),
        // Timestamp of old.
        7 => Kind::Fixed(4),
        // Datetime of old.
        12 => Kind::Fixed(8),
        // Null.
        6 => Kind::Fixed(0),
        // Float, double.
        4 | 5 => Kind::Fixed(details.length(1)?),
        // Timestamp, datetime and time with a fraction.
        17 => Kind::Timestamp(4 + details.length(1)?.div_ceil(2)),
        18 => Kind::DateTime(5 + details.length(1)?.div_ceil(2)),
        19 => Kind::Fixed(3 + details.length(1)?.div_ceil(2)),
        // Varchar and its kin.
        15 | 253 => Kind::Text(if details.length(2)? > 255 { 2 } else { 1 }),
        // Varchar compressed by MariaDB.
        141 => Kind::Blob(if details.length(2)? > 255 { 2 } else { 1 }),
        // Bit: single bits and whole bytes.
        16 => {
            let bits = details.length(1)?;
            Kind::Fixed(details.length(1)? + usize::from(bits > 0))
        }
        // Decimal.
        246 => Kind::Fixed(decimal(details.length(1)?, details.length(1)?)?),
        245 => Kind::Json(width(details)?),
        // Blobs, geometry, vector, and a blob compressed by MariaDB.
        249..=252 | 255 | 242 | 140 => Kind::Blob(width(details)?),
        // Enum and set, where they stand for themselves.
        247 | 248 => {
            details.take(1)?;
            Kind::Fixed(details.length(1)?)
        }
        254 => char_or_set(details.byte()?, details.byte()?),
        _ => return None,
    };
    Some(kind)
}

/// How many bytes a length has.
fn width(details: &mut Bytes<'_>) -> Option<usize> {
    details.length(1).filter(|width| (1..=4).contains(width))
}

/// A CHAR, an enum or a set: two bits of the length hide, inverted, in the true type.
fn char_or_set(first: u8, second: u8) -> Kind {
    let second = usize::from(second);
    match first {
        247 | 248 => Kind::Fixed(second),
        _ => {
            let length = second | usize::from(first & 0x30 ^ 0x30) << 4;
            Kind::Text(if length > 255 { 2 } else { 1 })
        }
    }
}

/// The bytes of a decimal: nine digits are four bytes, fewer are as few as hold them.
fn decimal(precision: usize, scale: usize) -> Option<usize> {
    const REST: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    let whole = precision.checked_sub(scale)?;
    let bytes = |digits: usize| digits / 9 * 4 + REST[digits % 9];
    Some(bytes(whole) + bytes(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lie_as_their_details_say() {
        for (number, details, expected) in [
            (3, &[][..], Some(Kind::Number(4))),
            (7, &[], Some(Kind::Fixed(4))),
            (15, &[255, 0], Some(Kind::Text(1))),
            (15, &[0, 1], Some(Kind::Text(2))),
            (254, &[254, 32], Some(Kind::Text(1))),
            // CHAR(100) of four bytes a letter: 400 = 0x190.
            (254, &[0xee, 0x90], Some(Kind::Text(2))),
            (254, &[247, 1], Some(Kind::Fixed(1))),
            (246, &[10, 2], Some(Kind::Fixed(5))),
            (246, &[2, 10], None),
            (17, &[0], Some(Kind::Timestamp(4))),
            (18, &[6], Some(Kind::DateTime(8))),
            (16, &[1, 1], Some(Kind::Fixed(2))),
            (252, &[2], Some(Kind::Blob(2))),
            (245, &[4], Some(Kind::Json(4))),
            (252, &[9], None),
            (252, &[], None),
            (200, &[], None),
        ] {
            assert_eq!(of(number, &mut Bytes(details)), expected, "{number} {details:?}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let body: Vec<u8> = (0..=255).cycle().take(600).collect();
        for start in 0..300 {
            for end in start..start + 64 {
                let _ = read(&body[start..end]);
                let _ = names_of(&body[start..end]);
            }
        }
    }
}
