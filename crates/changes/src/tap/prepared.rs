//! Prepared statements: their texts, and what they say with the values that they run with.
//!
//! Invariant: what is kept for one connection is bounded; a statement that doesn't fit in is
//! one that can't be read.

use std::collections::{BTreeSet, HashMap};

use super::act::{self, Act, Doubt};
use crate::binlog::bytes::Bytes;

/// A text is kept up to this length…
const TEXT_BYTES_MAX: usize = 64 << 10;
/// …as long as all of a connection's are no longer than this, …
const TEXTS_BYTES_MAX: usize = 1 << 20;
/// …that of one that only reads up to this length and half of that, …
const READ_BYTES_MAX: usize = 2 << 10;
/// …and no more than so many statements.
const STATEMENTS_MAX: usize = 1024;
/// A statement's values are looked at up to so many.
const VALUES_MAX: usize = 4096;
/// Values in pieces, of one statement.
const PIECED_MAX: usize = 64;
/// How long a value may be to be put into its statement.
const VALUE_BYTES_MAX: usize = 1024;

/// The statements that one connection has prepared.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    statements: HashMap<u32, Kept>,
    texts_bytes: usize,
}

#[derive(Debug)]
struct Kept {
    /// None: it can't be read.
    does: Option<Does>,
    values: usize,
    /// Their types, as they came with the last run that named them.
    types: Vec<u8>,
    /// Those that come in pieces, apart from the run.
    in_pieces: BTreeSet<u16>,
}

#[derive(Debug)]
enum Does {
    /// It reads; its text is kept only for who watches, where there is room.
    Read(Option<Box<str>>),
    Text(Box<str>),
}

impl Does {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Read(text) => text.as_deref(),
            Self::Text(text) => Some(text),
        }
    }
}

impl Prepared {
    /// A statement's text, if it is kept.
    pub(super) fn text(&self, number: u32) -> Option<&str> {
        self.statements.get(&number)?.does.as_ref()?.text()
    }

    pub(super) fn keep(&mut self, number: u32, values: u16, text: Option<&str>, doubt: Doubt) {
        self.close(number);
        if self.statements.len() >= STATEMENTS_MAX {
            return;
        }
        let room = TEXT_BYTES_MAX.min(TEXTS_BYTES_MAX.saturating_sub(self.texts_bytes));
        let does = text.and_then(|text| match act::read(text, false, doubt)[..] {
            [Act::Read] => {
                let has_room = text.len() <= READ_BYTES_MAX
                    && self.texts_bytes + text.len() <= TEXTS_BYTES_MAX / 2;
                Some(Does::Read(has_room.then(|| text.into())))
            }
            _ => (text.len() <= room).then(|| Does::Text(text.into())),
        });
        self.texts_bytes += does.as_ref().and_then(Does::text).map_or(0, str::len);
        let kept = Kept {
            does,
            values: usize::from(values),
            types: Vec::new(),
            in_pieces: BTreeSet::new(),
        };
        self.statements.insert(number, kept);
    }

    pub(super) fn close(&mut self, number: u32) {
        let gone = self.statements.remove(&number).and_then(|kept| kept.does);
        let bytes = gone.as_ref().and_then(Does::text).map_or(0, str::len);
        self.texts_bytes = self.texts_bytes.saturating_sub(bytes);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A value of a statement comes in pieces.
    pub(super) fn piece(&mut self, number: u32, value: u16) {
        let Some(kept) = self.statements.get_mut(&number) else { return };
        kept.in_pieces.insert(value);
        if kept.in_pieces.len() > PIECED_MAX {
            kept.in_pieces.clear();
            kept.does = None;
        }
    }

    pub(super) fn forget_pieces(&mut self, number: u32) {
        if let Some(kept) = self.statements.get_mut(&number) {
            kept.in_pieces.clear();
        }
    }

    /// What a statement does when it runs, with the rest of the packet where that is all
    /// there, and whether letters of it are lost.
    pub(super) fn run(&mut self, number: u32, rest: Option<&[u8]>, doubt: Doubt) -> (Act, bool) {
        let Some(kept) = self.statements.get_mut(&number) else { return (Act::Unread, false) };
        let in_pieces = std::mem::take(&mut kept.in_pieces);
        let text = match &kept.does {
            None => return (Act::Unread, false),
            Some(Does::Read(_)) => return (Act::Read, false),
            Some(Does::Text(text)) => text,
        };
        let values = rest.and_then(|rest| read(rest, kept.values, &mut kept.types, &in_pieces));
        let text = with_values(text, &values.unwrap_or_default());
        let is_lossy = text.contains(char::REPLACEMENT_CHARACTER);
        let act = act::read(&text, false, doubt).pop().unwrap_or(Act::Unread);
        (act, is_lossy)
    }
}

/// A value as a statement writes it; none for one that can't be told.
type Value = Option<String>;

fn read(
    body: &[u8],
    count: usize,
    types: &mut Vec<u8>,
    in_pieces: &BTreeSet<u16>,
) -> Option<Vec<Value>> {
    const FLAGS_AND_ROUNDS: usize = 5;
    let mut bytes = Bytes(body);
    bytes.take(FLAGS_AND_ROUNDS)?;
    if count == 0 || count > VALUES_MAX {
        return None;
    }
    let nulls = bytes.bits(count)?;
    if bytes.byte()? == 1 {
        types.clear();
        types.extend(bytes.take(count * 2)?.chunks(2).map(|kind| kind[0]));
    }
    if types.len() != count {
        return None;
    }
    let mut values = Vec::with_capacity(count);
    for (place, kind) in types.iter().enumerate() {
        values.push(if nulls.has(place) {
            Some("NULL".to_owned())
        } else if u16::try_from(place).is_ok_and(|place| in_pieces.contains(&place)) {
            None
        } else {
            value(*kind, &mut bytes)?
        });
    }
    Some(values)
}

/// One value; none at all if its type isn't known, so that what follows can't be found.
fn value(kind: u8, bytes: &mut Bytes<'_>) -> Option<Value> {
    let whole = |width: u32, number: u64| {
        let shift = 64 - width * 8;
        // Whether it has a sign is no matter: digits become one letter in a key's class.
        Some(((number << shift).cast_signed() >> shift).unsigned_abs().to_string())
    };
    Some(match kind {
        1 => whole(1, bytes.number(1)?),
        2 | 13 => whole(2, bytes.number(2)?),
        3 | 9 => whole(4, bytes.number(4)?),
        8 => whole(8, bytes.number(8)?),
        4 => bytes.take(4).map(|_| None)?,
        5 => bytes.take(8).map(|_| None)?,
        6 => Some("NULL".to_owned()),
        7 | 10..=12 => bytes.counted(1).map(|_| None)?,
        0 | 15 | 16 | 245..=254 => {
            let length = bytes.packed()?;
            let text = bytes.take(length)?;
            (text.len() <= VALUE_BYTES_MAX).then(|| quoted(&String::from_utf8_lossy(text)))
        }
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The text with values in the places of its question marks.
fn with_values(text: &str, values: &[Value]) -> String {
    // A question mark or a quote in a comment is none.
    if ["/*", "--", "#"].iter().any(|comment| text.contains(comment)) {
        return text.to_owned();
    }
    let mut filled = String::with_capacity(text.len());
    let mut values = values.iter();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '?') => match values.next().and_then(Option::as_ref) {
                Some(value) => filled.push_str(value),
                None => filled.push('?'),
            },
            (None, '\'' | '"' | '`') => {
                quote = Some(letter);
                filled.push(letter);
            }
            (Some('\'' | '"'), '\\') => {
                filled.push(letter);
                filled.extend(letters.next());
            }
            (open, letter) => {
                if open == Some(letter) {
                    quote = None;
                }
                filled.push(letter);
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Key, KeyColumn};

    /// A run's packet after its number, with values of these types.
    fn run(types: &[u8], values: &[u8]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|kind| [*kind, 0]).collect();
        [&[0, 1, 0, 0, 0, 0, 1], &types[..], values].concat()
    }

    fn told(prepared: &mut Prepared, rest: &[u8]) -> String {
        let (act, _) = prepared.run(7, Some(rest), Doubt::default());
        let Act::Rows(rows) = act else { return format!("{act:?}") };
        let key = [KeyColumn { ordinal: 0, name: "name".into() }];
        format!("{:?}", rows.changes("site", Key::Columns(&key))[0].key)
    }

    #[test]
    fn values_stand_where_they_are_asked_for() {
        let mut prepared = Prepared::default();
        let text = "UPDATE o SET v = '?', w = ? WHERE name = ?";
        prepared.keep(7, 2, Some(text), Doubt::default());
        let known = run(&[3, 253], b"\x05\0\0\0\x05it's\\");
        assert_eq!(told(&mut prepared, &known), r#"Of("it's\\")"#);
        // The types are those of the run before.
        assert_eq!(told(&mut prepared, b"\0\x01\0\0\0\0\0\x05\0\0\0\x01b"), r#"Of("b")"#);
        prepared.piece(7, 1);
        assert_eq!(told(&mut prepared, &run(&[3, 252], b"\x05\0\0\0")), "Unknown");
        prepared.keep(7, 1, Some("DELETE FROM o /* ? */ WHERE name = ?"), Doubt::default());
        assert_eq!(told(&mut prepared, &run(&[253], b"\0\x01b")), "Unknown");
        prepared.keep(7, 2, Some(text), Doubt::default());
        // A value of a kind that isn't known, and one that is cut off.
        assert_eq!(told(&mut prepared, &run(&[99, 253], b"\x05\0\0\0\x01b")), "Unknown");
        assert_eq!(told(&mut prepared, &run(&[3, 253], b"\x05\0\0\0\x09b")), "Unknown");
    }

    #[test]
    fn what_does_not_fit_in_can_not_be_read() {
        let mut prepared = Prepared::default();
        let long = format!("UPDATE t SET a = '{}'", "x".repeat(TEXT_BYTES_MAX));
        prepared.keep(7, 0, Some(&long), Doubt::default());
        assert_eq!(told(&mut prepared, b""), "Unread");
        let long = format!("SELECT '{}'", "x".repeat(TEXT_BYTES_MAX));
        prepared.keep(7, 0, Some(&long), Doubt::default());
        assert_eq!((told(&mut prepared, b""), prepared.texts_bytes), ("Read".to_owned(), 0));
        prepared.keep(7, 0, Some("DELETE FROM t"), Doubt::default());
        assert_eq!(prepared.texts_bytes, 13);
        prepared.close(7);
        assert_eq!((told(&mut prepared, b""), prepared.texts_bytes), ("Unread".to_owned(), 0));
        for number in 0..2000 {
            prepared.keep(number, 0, Some("DELETE FROM t"), Doubt::default());
        }
        assert_eq!(prepared.statements.len(), STATEMENTS_MAX);
    }
}
