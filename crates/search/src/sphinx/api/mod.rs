//! The binary API: what a client of `sphinxapi.php` sends, and what it is answered.
//!
//! In: a command's head and body. Out: a [`Command`], or an error in searchd's words.
//! Law: the client libraries of Sphinx 0.9.9 to 2.2, and what searchd 2.2.11 answers them.
//! Invariants: 1. an answer bears the version that searchd 2.2.11 has, whatever the client's;
//! the client's decides the form. 2. nothing a client sends is a panic.

mod answer;
mod obey;
mod search;

pub use answer::{Answer, Status, failed, whole};
pub use obey::{Obeyed, obey};
pub use search::{Filter, GroupFunction, Matching, Mode, Query, Sorting};

use super::bytes::{Bytes, Cut};

/// searchd's own limit by default, `max_packet_size`.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// The protocol's version, which both sides say first.
pub const PROTOCOL: u32 = 1;
pub(crate) const HEAD_BYTES: usize = 8;
/// Of one request, `max_batch_queries`.
const QUERIES_MAX: usize = 32;
const DOCUMENTS_MAX: usize = 10_000;
const ATTRIBUTES_MAX: usize = 256;

/// What a client wants, by the command's number.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Several queries at once.
    Search(Vec<Query>),
    /// Texts with a query's words marked in them.
    Excerpt(Excerpt),
    /// New values of attributes.
    Update(Update),
    /// A text's words as they are indexed.
    Keywords {
        /// The text.
        query: String,
        /// The index.
        index: String,
        /// Whether words are counted.
        has_hits: bool,
    },
    /// Whether further commands follow on this connection. It isn't answered.
    Persist(bool),
    /// Counters.
    Status,
    /// Attributes are to be written to the disk.
    FlushAttributes,
    /// Answered by the same number.
    Ping(u32),
}

/// A command's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub command: u16,
    /// Its form.
    pub version: u16,
    /// Of its body.
    pub body_bytes: usize,
}

/// What EXCERPT asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Whose words.
    pub index: String,
    /// What is to be marked.
    pub words: String,
    /// Put before each match.
    pub before: String,
    /// Put after each match.
    pub after: String,
    /// Put between passages.
    pub separator: String,
    /// Of characters, in all.
    pub limit: usize,
    /// Words on each side of a match.
    pub around: usize,
    /// `exact_phrase`, `allow_empty` and their like.
    pub flags: u32,
    /// The texts.
    pub documents: Vec<String>,
}

/// What UPDATE asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// One index, or several with commas.
    pub indexes: String,
    /// Which attributes.
    pub attributes: Vec<String>,
    /// An id and a list of values for each attribute; one value each, unless it is multiple.
    pub rows: Vec<(u64, Vec<Vec<i64>>)>,
    /// Whether the values replace those of attributes with several values.
    pub is_multiple: bool,
}

/// Why a command can't be obeyed, in searchd's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A form that was never defined.
    #[error("major command version mismatch (expected v.1.x, got v.{}.{})", .0 >> 8, .0 & 255)]
    Version(u16),
    /// Not one of searchd's numbers, or one that isn't for clients.
    #[error("invalid command (code={0}, len={1})")]
    Unknown(u16, usize),
    /// Larger than [`BODY_BYTES_MAX`].
    #[error("invalid request length {0} (at most {BODY_BYTES_MAX})")]
    Length(usize),
    /// It ends too early.
    #[error(transparent)]
    Cut(#[from] Cut),
    /// Nothing was asked.
    #[error("invalid or truncated request: 1 to {QUERIES_MAX} queries, got {0}")]
    Batch(usize),
}

/// Reads a head, of [`HEAD_BYTES`] bytes.
#[must_use]
pub fn read_head(head: [u8; HEAD_BYTES]) -> Head {
    let [c0, c1, v0, v1, rest @ ..] = head;
    Head {
        command: u16::from_be_bytes([c0, c1]),
        version: u16::from_be_bytes([v0, v1]),
        body_bytes: usize::try_from(u32::from_be_bytes(rest)).unwrap_or(usize::MAX),
    }
}

/// Reads a command's body.
///
/// # Errors
/// It is none that searchd knows, of another form, or not whole.
pub fn read(head: Head, body: &[u8]) -> Result<Command, Refusal> {
    let (mut bytes, version) = (Bytes(body), head.version);
    // Those without a form of their own come with version 0.
    if matches!(head.command, 0..=3) && version >> 8 != 1 {
        return Err(Refusal::Version(version));
    }
    Ok(match head.command {
        0 => Command::Search(read_search(&mut bytes, version)?),
        1 => Command::Excerpt(read_excerpt(&mut bytes, version)?),
        2 => Command::Update(read_update(&mut bytes, version)?),
        3 => Command::Keywords {
            query: bytes.text()?,
            index: bytes.text()?,
            has_hits: bytes.number()? != 0,
        },
        4 => Command::Persist(bytes.number()? != 0),
        5 => Command::Status,
        7 => Command::FlushAttributes,
        9 => Command::Ping(bytes.number()?),
        other => return Err(Refusal::Unknown(other, head.body_bytes)),
    })
}

fn read_search(bytes: &mut Bytes<'_>, version: u16) -> Result<Vec<Query>, Refusal> {
    if version >= 0x118 {
        // Whether a master asks an agent; clients send none.
        bytes.number()?;
    }
    let count = bytes.count(usize::MAX)?;
    if !(1..=QUERIES_MAX).contains(&count) {
        return Err(Refusal::Batch(count));
    }
    let queries: Result<Vec<_>, _> = (0..count).map(|_| search::read(bytes, version)).collect();
    Ok(queries?)
}

fn read_excerpt(bytes: &mut Bytes<'_>, version: u16) -> Result<Excerpt, Cut> {
    bytes.number()?;
    let mut excerpt = Excerpt {
        flags: bytes.number()?,
        index: bytes.text()?,
        words: bytes.text()?,
        before: bytes.text()?,
        after: bytes.text()?,
        separator: bytes.text()?,
        limit: bytes.count(usize::MAX)?,
        around: bytes.count(usize::MAX)?,
        documents: Vec::new(),
    };
    if version >= 0x102 {
        // Of passages, of words, and the first passage's number.
        bytes.take(3 * 4)?;
        // How HTML is treated: the texts are taken as they are.
        bytes.text()?;
    }
    if version >= 0x103 {
        // What no passage may cross.
        bytes.text()?;
    }
    excerpt.documents = bytes.many(DOCUMENTS_MAX, Bytes::text)?;
    Ok(excerpt)
}

fn read_update(bytes: &mut Bytes<'_>, version: u16) -> Result<Update, Cut> {
    let indexes = bytes.text()?;
    let count = bytes.count(ATTRIBUTES_MAX)?;
    if version >= 0x103 {
        // Whether documents that aren't there are passed over: they always are.
        bytes.number()?;
    }
    let mut attributes = Vec::new();
    let mut kinds = Vec::new();
    for _ in 0..count {
        attributes.push(bytes.text()?);
        kinds.push(if version >= 0x102 { bytes.number()? } else { 0 });
    }
    let value = |bytes: &mut Bytes<'_>| bytes.number().map(i64::from);
    let rows = bytes.many(usize::MAX, |bytes| {
        let id = bytes.large()?;
        let mut values = Vec::new();
        for kind in &kinds {
            values.push(match kind {
                0 => vec![value(bytes)?],
                _ => bytes.many(usize::MAX, value)?,
            });
        }
        Ok((id, values))
    })?;
    Ok(Update { indexes, attributes, rows, is_multiple: kinds.iter().any(|kind| *kind != 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
    }

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    fn command(command: u16, version: u16, body: &[u8]) -> Result<Command, Refusal> {
        read(Head { command, version, body_bytes: body.len() }, body)
    }

    #[test]
    fn updates_are_read_in_each_form() {
        let ends = [text("main"), numbers(&[1]), text("deleted")];
        let expected = Update {
            indexes: "main".to_owned(),
            attributes: vec!["deleted".to_owned()],
            rows: vec![(7, vec![vec![1]])],
            is_multiple: false,
        };
        let row = numbers(&[1, 0, 7, 1]);
        let old = [ends.concat(), row.clone()].concat();
        assert_eq!(command(2, 0x101, &old), Ok(Command::Update(expected.clone())));
        let new = [ends.concat(), numbers(&[0]), row].concat();
        assert_eq!(command(2, 0x102, &new), Ok(Command::Update(expected)));
        for end in 0..new.len() {
            assert_eq!(command(2, 0x102, &new[..end]), Err(Refusal::Cut(Cut)), "{end}");
        }
    }

    #[test]
    fn what_searchd_refuses_is_refused_in_its_words() {
        let words = |result: Result<Command, Refusal>| result.unwrap_err().to_string();
        assert_eq!(words(command(33, 0x100, b"abcd")), "invalid command (code=33, len=4)");
        assert_eq!(
            words(command(0, 0x219, b"")),
            "major command version mismatch (expected v.1.x, got v.2.25)"
        );
        assert_eq!(
            words(command(0, 0x119, &numbers(&[0, 33]))),
            "invalid or truncated request: 1 to 32 queries, got 33"
        );
    }
}
