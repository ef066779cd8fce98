//! Messages of pgoutput: what a transaction did, row by row.
//!
//! In: the body of one message. Out: a [`Message`], or nothing if it can't be read.
//! Law: PostgreSQL's manual, "Logical Replication Message Formats", version 1.
//! Invariants: 1. No bytes make it panic, and none make it take more memory than a few
//! times their own. 2. What has bytes left over is not what it seems, and isn't read.

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// A table, before the first of its rows and when its shape may have changed.
    Relation(Relation),
    Insert {
        relation: u32,
        new: Row<'a>,
    },
    Update {
        relation: u32,
        old: Old<'a>,
        new: Row<'a>,
    },
    Delete {
        relation: u32,
        old: Old<'a>,
    },
    Truncate(Vec<u32>),
    /// A type, the origin of a transaction, an app's own message.
    Nothing,
}

/// A table as the log knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) number: u32,
    pub(super) schema: Box<str>,
    pub(super) name: Box<str>,
    pub(super) columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: Box<str>,
    /// Whether rows are known by it.
    pub(super) is_identity: bool,
    kind: u32,
    modifier: u32,
}

/// What is said of a row as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Old<'a> {
    /// Nothing: what it is known by is what it was.
    Nothing,
    /// What it was known by; its other columns were not sent.
    Identity(Row<'a>),
    /// All of it.
    Whole(Row<'a>),
}

/// The values of a row, one a column.
pub(super) type Row<'a> = Vec<Value<'a>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value<'a> {
    Null,
    /// A large value that the row kept.
    Unchanged,
    Text(&'a [u8]),
}

/// What one message says.
pub(super) fn read(body: &[u8]) -> Option<Message<'_>> {
    let mut bytes = Bytes(body);
    let message = match bytes.byte()? {
        b'R' => Message::Relation(relation(&mut bytes)?),
        b'I' => {
            let relation = bytes.number()?;
            (bytes.byte()? == b'N').then_some(())?;
            Message::Insert { relation, new: row(&mut bytes)? }
        }
        b'U' => update(&mut bytes)?,
        b'D' => {
            let relation = bytes.number()?;
            let kind = bytes.byte()?;
            Message::Delete { relation, old: old(kind, &mut bytes)? }
        }
        b'T' => {
            let count = bytes.number()?;
            let _cascade_and_identity = bytes.byte()?;
            let relations: Option<Vec<u32>> = (0..count).map(|_| bytes.number()).collect();
            Message::Truncate(relations?)
        }
        b'B' | b'C' | b'Y' | b'O' | b'M' => return Some(Message::Nothing),
        _ => return None,
    };
    bytes.0.is_empty().then_some(message)
}

fn relation(bytes: &mut Bytes<'_>) -> Option<Relation> {
    let number = bytes.number()?;
    let schema = bytes.name()?;
    let name = bytes.name()?;
    let _identity_setting = bytes.byte()?;
    let count = bytes.short()?;
    let column = |_| {
        let is_identity = bytes.byte()? & 1 == 1;
        let name = bytes.name()?;
        Some(Column { name, is_identity, kind: bytes.number()?, modifier: bytes.number()? })
    };
    let columns: Option<Vec<Column>> = (0..count).map(column).collect();
    Some(Relation { number, schema, name, columns: columns? })
}

fn update<'a>(bytes: &mut Bytes<'a>) -> Option<Message<'a>> {
    let relation = bytes.number()?;
    let old = match bytes.byte()? {
        b'N' => Old::Nothing,
        kind => {
            let old = old(kind, bytes)?;
            (bytes.byte()? == b'N').then_some(())?;
            old
        }
    };
    Some(Message::Update { relation, old, new: row(bytes)? })
}

fn old<'a>(kind: u8, bytes: &mut Bytes<'a>) -> Option<Old<'a>> {
    match kind {
        b'K' => row(bytes).map(Old::Identity),
        b'O' => row(bytes).map(Old::Whole),
        _ => None,
    }
}

fn row<'a>(bytes: &mut Bytes<'a>) -> Option<Row<'a>> {
    let count = bytes.short()?;
    let value = |_| match bytes.byte()? {
        b'n' => Some(Value::Null),
        b'u' => Some(Value::Unchanged),
        b't' => {
            let length = bytes.number()?;
            bytes.take(usize::try_from(length).ok()?).map(Value::Text)
        }
        _ => None,
    };
    (0..count).map(value).collect()
}

/// What is left to read; numbers come with their largest byte first.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Text with a zero after it.
    fn name(&mut self) -> Option<Box<str>> {
        let length = self.0.iter().position(|byte| *byte == 0)?;
        let name = self.take(length)?;
        self.take(1)?;
        Some(String::from_utf8_lossy(name).into())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The message that says that `number` is `schema.name` with `columns`; those that
    /// rows are known by end in `*`.
    pub(in crate::postgres) fn relation(number: u32, name: &str, columns: &[&str]) -> Vec<u8> {
        let mut body = [b"R", &number.to_be_bytes()[..]].concat();
        let (schema, name) = name.split_once('.').expect("a schema");
        body.extend([schema.as_bytes(), b"\0", name.as_bytes(), b"\0d"].concat());
        body.extend(u16::try_from(columns.len()).expect("few columns").to_be_bytes());
        for column in columns {
            let name = column.trim_end_matches('*');
            body.push(u8::from(name != *column));
            body.extend([name.as_bytes(), b"\0", &25_u32.to_be_bytes(), &[255; 4]].concat());
        }
        body
    }

    /// A row: `-` is no value, `~` a large one that was kept.
    pub(in crate::postgres) fn row(values: &[&str]) -> Vec<u8> {
        let mut body = u16::try_from(values.len()).expect("few values").to_be_bytes().to_vec();
        for value in values {
            match *value {
                "-" => body.push(b'n'),
                "~" => body.push(b'u'),
                text => {
                    let length = u32::try_from(text.len()).expect("a short value");
                    body.extend([b"t", &length.to_be_bytes()[..], text.as_bytes()].concat());
                }
            }
        }
        body
    }

    /// A message about the table 7: its kind, and rows after the letters before them.
    pub(in crate::postgres) fn change(kind: u8, rows: &[(u8, &[&str])]) -> Vec<u8> {
        let mut body = vec![kind, 0, 0, 0, 7];
        for (letter, values) in rows {
            body.push(*letter);
            body.extend(row(values));
        }
        body
    }

    #[test]
    fn messages_are_read() {
        let text = |text: &'static str| Value::Text(text.as_bytes());
        for (body, expected) in [
            (
                change(b'I', &[(b'N', &["1", "-"])]),
                Message::Insert { relation: 7, new: vec![text("1"), Value::Null] },
            ),
            (
                change(b'U', &[(b'N', &["1", "~"])]),
                Message::Update {
                    relation: 7,
                    old: Old::Nothing,
                    new: vec![text("1"), Value::Unchanged],
                },
            ),
            (
                change(b'U', &[(b'K', &["1"]), (b'N', &["2"])]),
                Message::Update {
                    relation: 7,
                    old: Old::Identity(vec![text("1")]),
                    new: vec![text("2")],
                },
            ),
            (
                change(b'D', &[(b'O', &["1"])]),
                Message::Delete { relation: 7, old: Old::Whole(vec![text("1")]) },
            ),
            (vec![b'T', 0, 0, 0, 1, 0, 0, 0, 0, 7], Message::Truncate(vec![7])),
            (vec![b'O', 9], Message::Nothing),
            (vec![b'Y'], Message::Nothing),
            (vec![b'M', 1], Message::Nothing),
        ] {
            assert_eq!(read(&body), Some(expected), "{body:?}");
        }
        let Some(Message::Relation(read)) = read(&relation(7, "s.t", &["id*", "a"])) else {
            panic!("a table");
        };
        let column = |column: &Column| (column.name.to_string(), column.is_identity);
        let columns: Vec<(String, bool)> = read.columns.iter().map(column).collect();
        assert_eq!((read.number, &*read.schema, &*read.name), (7, "s", "t"));
        assert_eq!(columns, [("id".to_owned(), true), ("a".to_owned(), false)]);
    }

    #[test]
    fn what_is_cut_or_has_more_or_is_not_known_is_not_read() {
        for whole in [
            relation(7, "s.t", &["id*"]),
            change(b'I', &[(b'N', &["1", "-"])]),
            change(b'U', &[(b'K', &["1"]), (b'N', &["2"])]),
            change(b'D', &[(b'O', &["1"])]),
            vec![b'T', 0, 0, 0, 1, 0, 0, 0, 0, 7],
        ] {
            for length in 0..whole.len() {
                assert_eq!(read(&whole[..length]), None, "{whole:?} to {length}");
            }
            assert_eq!(read(&[&whole[..], &[0]].concat()), None, "{whole:?}");
        }
        for body in [
            &b"S"[..],
            &change(b'I', &[(b'K', &["1"])]),
            &change(b'D', &[(b'N', &["1"])]),
            // As many tables, and as long a value, as a number can say.
            &[b'T', 255, 255, 255, 255, 0],
            &[b'I', 0, 0, 0, 7, b'N', 0, 1, b't', 255, 255, 255, 255],
        ] {
            assert_eq!(read(body), None, "{body:?}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let kinds = b"RIUDTBCYOMS";
        let body: Vec<u8> =
            (0..=255_u8).cycle().map(|byte| byte.wrapping_mul(29)).take(900).collect();
        for start in 0..600 {
            for kind in kinds {
                let body = [&[*kind][..], &body[start..start + 1 + start % 200]].concat();
                let _ = read(&body);
            }
        }
    }
}
