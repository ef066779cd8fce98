//! Records of PostgreSQL's `csvlog`.
//!
//! Invariant: a record ends at a line's end outside quotes; one that doesn't look like a
//! record at its first line is no record, so that a damaged one spoils itself only.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Fields that every version since 9.0 has.
const FIELDS_MIN: usize = 14;
const FIELDS_MAX: usize = 32;

/// The fields of a record that are of use.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) time: Cow<'a, [u8]>,
    pub(super) user: Cow<'a, [u8]>,
    pub(super) database: Cow<'a, [u8]>,
    pub(super) process: Cow<'a, [u8]>,
    pub(super) host: Cow<'a, [u8]>,
    pub(super) message: Cow<'a, [u8]>,
}

/// Whether a line begins like a record: a date, and later a severity.
pub(super) fn is_record(line: &[u8]) -> bool {
    let is_dated = line.get(4) == Some(&b'-') && line.first().is_some_and(u8::is_ascii_digit);
    let comma = memchr(b',', line).is_some_and(|at| (19..48).contains(&at));
    is_dated && comma && line.iter().filter(|byte| **byte == b',').count() >= 10
}

/// The record that `bytes` begin with and its length; nothing unless all of it is there.
pub(super) fn record(bytes: &[u8], is_end: bool) -> Option<(usize, Option<Record<'_>>)> {
    let mut fields: [&[u8]; FIELDS_MAX] = [b""; FIELDS_MAX];
    let (mut at, mut count) = (0, 0);
    loop {
        let start = at;
        if bytes.get(at) == Some(&b'"') {
            at = quoted(bytes, at, is_end)?;
        }
        at += match memchr2(b',', b'\n', &bytes[at..]) {
            Some(end) => end,
            None if is_end => bytes.len() - at,
            None => return None,
        };
        if let Some(field) = fields.get_mut(count) {
            *field = &bytes[start..at];
        }
        count += 1;
        if bytes.get(at) != Some(&b',') {
            break;
        }
        at += 1;
    }
    let length = (at + 1).min(bytes.len());
    if count < FIELDS_MIN {
        // Its first line only: the next may be sound.
        let line = memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
        return Some((line.min(length), None));
    }
    let field = |index: usize| unquote(fields[index]);
    let record = Record {
        time: field(0),
        user: field(1),
        database: field(2),
        process: field(3),
        host: field(4),
        message: field(13),
    };
    Some((length, Some(record)))
}

/// Behind the quote that closes the one at `at`.
fn quoted(bytes: &[u8], at: usize, is_end: bool) -> Option<usize> {
    let mut at = at + 1;
    loop {
        let Some(found) = memchr(b'"', &bytes[at..]) else {
            return is_end.then_some(bytes.len());
        };
        at += found + 1;
        match bytes.get(at) {
            Some(b'"') => at += 1,
            None if !is_end => return None,
            _ => return Some(at),
        }
    }
}

fn unquote(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(text) = field.strip_prefix(b"\"") else { return Cow::Borrowed(field) };
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    if memchr(b'"', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut told = Vec::with_capacity(text.len());
    let mut was_quote = false;
    for &byte in text {
        was_quote = byte == b'"' && !was_quote;
        if !was_quote {
            told.push(byte);
        }
    }
    Cow::Owned(told)
}
