//! Query events: a statement with the circumstances that it ran in.

use super::bytes::Bytes;
use super::inflate::inflate;

/// Strings in double quotes are names.
const ANSI_QUOTES: u64 = 1 << 2;
/// A backslash is a letter like any other.
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;

/// A statement as it stands in the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// The database that was in use.
    pub(super) database: String,
    /// Its text; `None` where its letters or its quotes are of another kind than ours.
    pub(super) text: Option<String>,
}

/// Reads a query event's body; `None` when it is no query event.
pub(super) fn read(body: &[u8], is_compressed: bool) -> Option<Query> {
    let mut bytes = Bytes(body);
    bytes.take(8)?;
    let database_length = bytes.length(1)?;
    bytes.take(2)?;
    let circumstances = bytes.counted(2)?;
    let database = String::from_utf8_lossy(bytes.take(database_length)?).into_owned();
    bytes.take(1)?;
    let text = if is_compressed { inflate(bytes.0) } else { Some(bytes.0.to_vec()) };
    let is_plain = sql_mode(circumstances) & (ANSI_QUOTES | NO_BACKSLASH_ESCAPES) == 0;
    let text = text.filter(|_| is_plain).and_then(|text| String::from_utf8(text).ok());
    Some(Query { database, text })
}

/// The mode that the statement ran in; it comes first, or right after the flags.
fn sql_mode(circumstances: &[u8]) -> u64 {
    let mut bytes = Bytes(circumstances);
    let mut code = bytes.byte();
    if code == Some(0) {
        bytes.take(4);
        code = bytes.byte();
    }
    if code == Some(1) { bytes.number(8).unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(mode: u64, text: &[u8]) -> Vec<u8> {
        let circumstances = [&[0, 0, 0, 0, 0, 1][..], &mode.to_le_bytes()].concat();
        let length = u16::try_from(circumstances.len()).expect("short").to_le_bytes();
        [&[0; 8][..], &[4, 0, 0], &length, &circumstances, b"site\0", text].concat()
    }

    #[test]
    fn a_statement_is_read_where_its_quotes_are_ours() {
        let read = |mode, text: &[u8]| read(&event(mode, text), false).and_then(|read| read.text);
        assert_eq!(read(0, b"BEGIN").as_deref(), Some("BEGIN"));
        assert_eq!(read(1 << 22, b"BEGIN").as_deref(), Some("BEGIN"));
        assert_eq!(read(ANSI_QUOTES, b"BEGIN"), None);
        assert_eq!(read(NO_BACKSLASH_ESCAPES, b"BEGIN"), None);
        assert_eq!(read(0, b"\xff"), None);
        assert_eq!(super::read(&event(0, b"")[..12], false), None);
    }
}
