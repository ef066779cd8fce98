//! Slices: what is too large to be kept whole is kept in pieces of one size.
//!
//! In: heads of answers. Out: whether one may be kept so, and whether another brings more of
//! the same. Law: RFC 9110 §8.8.2.2 and §8.8.3 (strong validators), §13.1.5 (`If-Range`),
//! §14.4 (`Content-Range`), §15.3.7 (206); RFC 9111 §3.3 and §3.4 (what is incomplete).
//! Invariants: 1. pieces are put together only by a validator that differs whenever a byte
//! does. 2. only what its origin declares to be for everybody, and fresh, is kept in slices.
//! Start at [`may_be_cut`] and [`check`].

use std::ops::{Range, RangeInclusive};

use wire::{Fields, Name, ResponseHead};

use crate::date;
use crate::digits;
use crate::entity_tag::EntityTag;
use crate::range::write_content_range;
use crate::terms::Terms;

/// How long a slice is; the last of a body may be shorter.
pub const SLICE_BYTES: u64 = 1 << 20;
/// Slices that are asked for by one request to the origin, at most: who seeks in a film leaves
/// soon, and what was fetched ahead for them was fetched in vain.
pub const RUN_SLICES: u64 = 4;

/// The validator that tells one representation from all others, as `If-Range` takes it.
///
/// A weak tag says that two are as good as each other, which is not enough for putting pieces
/// of them together; and a date may not stand for a page that has a tag (RFC 9110 §13.1.5).
#[must_use]
pub fn strong_validator(fields: &Fields) -> Option<&[u8]> {
    if fields.has(Name::Etag) {
        let tag = only(fields, Name::Etag)?;
        let is_strong = EntityTag::of(tag).is_some_and(|it| it.is_surely(it));
        return (is_strong && tag.starts_with(b"\"")).then_some(tag);
    }
    let modified = only(fields, Name::LastModified)?;
    let since = date::parse(modified)?;
    let made = date::parse(only(fields, Name::Date)?)?;
    (made > since).then_some(modified)
}

/// The one line of this field.
fn only(fields: &Fields, name: Name) -> Option<&[u8]> {
    let mut lines = fields.all(name);
    let first = lines.next()?;
    lines.next().is_none().then_some(first)
}

/// Whether a complete answer that may be stored on these terms may be kept in slices. Where
/// requests select among several, only a tag tells these apart as well.
#[must_use]
pub fn may_be_cut(head: &ResponseHead, terms: &Terms) -> bool {
    let fields = &head.fields;
    head.status == 200
        && terms.explicit
        && terms.answers_waiters()
        && !fields.has(Name::ContentEncoding)
        && strong_validator(fields).is_some()
        && (fields.has(Name::Etag) || !fields.has(Name::Vary))
}

/// What an answer to a request for a part is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// These bytes of the same representation.
    Part(RangeInclusive<u64>),
    /// All of the same representation: the origin doesn't send parts of it.
    Whole,
    /// Another representation.
    Changed,
    /// Neither; the origin's status tells what it thinks.
    Nothing,
}

/// Holds the answer to a request for `asked` against what is kept: its fields and its length.
#[must_use]
pub fn check(
    stored: &Fields,
    length: u64,
    answer: &ResponseHead,
    asked: &RangeInclusive<u64>,
) -> Brought {
    let fields = &answer.fields;
    match answer.status {
        200 if !is_same(stored, fields) => Brought::Changed,
        200 => Brought::Whole,
        206 if !is_same(stored, fields) => Brought::Changed,
        206 => match part(fields) {
            Some((_, total)) if total != length => Brought::Changed,
            Some((range, _)) if range.start() == asked.start() && range.end() <= asked.end() => {
                Brought::Part(range)
            }
            _ => Brought::Nothing,
        },
        // It is shorter now, or not there any more.
        404 | 410 | 416 => Brought::Changed,
        _ => Brought::Nothing,
    }
}

/// Whether two answers are of one representation, beyond doubt.
fn is_same(stored: &Fields, answer: &Fields) -> bool {
    let name = if stored.has(Name::Etag) { Name::Etag } else { Name::LastModified };
    !answer.has(Name::ContentEncoding)
        && only(answer, name).is_some_and(|theirs| Some(theirs) == only(stored, name))
        && (name == Name::Etag || !answer.has(Name::Etag))
}

/// Whether a 304 confirms what is kept: it names no other validator.
#[must_use]
pub fn is_confirmed(stored: &Fields, not_modified: &Fields) -> bool {
    [Name::Etag, Name::LastModified]
        .iter()
        .all(|&name| !not_modified.has(name) || only(not_modified, name) == only(stored, name))
}

/// Which bytes of how many a 206 holds: one range, and not several as `multipart/byteranges`.
#[must_use]
pub fn part(fields: &Fields) -> Option<(RangeInclusive<u64>, u64)> {
    let text = only(fields, Name::ContentRange)?;
    let (unit, rest) = text.split_at_checked(6)?;
    let (range, total) = rest.split_at(rest.iter().position(|&byte| byte == b'/')?);
    let (first, last) = range.split_at(range.iter().position(|&byte| byte == b'-')?);
    let (first, last) = (digits::read(first)?, digits::read(&last[1..])?);
    let total = digits::read(&total[1..])?;
    let is_sound = unit.eq_ignore_ascii_case(b"bytes ") && first <= last && last < total;
    is_sound.then_some((first..=last, total))
}

/// The head that the whole would have had of which a 206 is a part.
#[must_use]
pub fn whole_head(part: &ResponseHead, length: u64) -> ResponseHead {
    let mut fields = part.fields.clone();
    fields.remove(Name::ContentRange);
    fields.set(Name::ContentLength, length.to_string());
    ResponseHead { status: 200, fields }
}

/// Makes a request ask for these bytes of what has this validator, or else for all.
pub fn ask_for(request: &mut Fields, bytes: &RangeInclusive<u64>, validator: Option<&[u8]>) {
    let mut text = Vec::new();
    write_content_range(&mut text, bytes, 0);
    // "bytes 1-2/0" is "bytes=1-2" but for the unit's sign and the length.
    text[5] = b'=';
    let end = text.iter().position(|&byte| byte == b'/').unwrap_or(text.len());
    text.truncate(end);
    request.set(Name::Range, text);
    match validator {
        Some(validator) => request.set(Name::IfRange, validator),
        None => request.remove(Name::IfRange),
    }
}

/// The slices that these bytes touch.
#[must_use]
pub const fn slices_of(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / SLICE_BYTES..bytes.end.div_ceil(SLICE_BYTES)
}

/// The bytes of these slices of a body of this length.
#[must_use]
pub fn bytes_of(slices: &Range<u64>, length: u64) -> Range<u64> {
    let at = |slice: u64| slice.saturating_mul(SLICE_BYTES).min(length);
    at(slices.start)..at(slices.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::fields;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn written(text: &str) -> Fields {
        fields(&text.replace("OLD", OLD).replace("NEW", NEW))
    }

    #[test]
    fn a_validator_is_strong_if_no_two_representations_can_have_it() {
        for (text, expected) in [
            ("etag: \"a\"", Some("\"a\"")),
            ("etag: \"a\"\nlast-modified: OLD", Some("\"a\"")),
            ("etag: W/\"a\"", None),
            ("etag: W/\"a\"\nlast-modified: OLD\ndate: NEW", None),
            ("etag: a", None),
            ("etag: \"a\"\netag: \"b\"", None),
            ("last-modified: OLD\ndate: NEW", Some(OLD)),
            ("last-modified: OLD\ndate: OLD", None),
            ("last-modified: NEW\ndate: OLD", None),
            ("last-modified: OLD", None),
            ("date: NEW", None),
        ] {
            let fields = written(text);
            assert_eq!(strong_validator(&fields), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn only_what_is_declared_for_everybody_and_can_be_told_apart_is_cut() {
        let fresh =
            Terms { lifetime_ms: 1000, no_cache: false, explicit: true, ..Terms::expired(0) };
        let head = |status, text: &str| ResponseHead { status, fields: written(text) };
        for (status, text, expected) in [
            (200, "etag: \"a\"", true),
            (200, "etag: \"a\"\nvary: accept", true),
            (200, "last-modified: OLD\ndate: NEW", true),
            (200, "last-modified: OLD\ndate: NEW\nvary: accept", false),
            (200, "etag: W/\"a\"", false),
            (200, "etag: \"a\"\ncontent-encoding: gzip", false),
            (404, "etag: \"a\"", false),
        ] {
            assert_eq!(may_be_cut(&head(status, text), &fresh), expected, "{status} {text}");
        }
        for terms in [
            Terms { explicit: false, ..fresh },
            Terms { no_cache: true, ..fresh },
            Terms { lifetime_ms: 0, ..fresh },
        ] {
            assert!(!may_be_cut(&head(200, "etag: \"a\""), &terms), "{terms:?}");
        }
    }

    #[test]
    fn an_answer_brings_more_of_the_same_or_nothing() {
        use Brought::{Changed, Nothing, Part, Whole};
        let tagged = "etag: \"a\"";
        for (stored, status, answer, expected) in [
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 10-19/100", Part(10..=19)),
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 10-14/100", Part(10..=14)),
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 10-20/100", Nothing),
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 0-19/100", Nothing),
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 10-19/101", Changed),
            (tagged, 206, "etag: \"a\"\ncontent-range: bytes 10-19/*", Nothing),
            (tagged, 206, "etag: \"a\"", Nothing),
            (tagged, 206, "etag: \"b\"\ncontent-range: bytes 10-19/100", Changed),
            (tagged, 206, "content-range: bytes 10-19/100", Changed),
            (tagged, 200, "etag: \"a\"", Whole),
            (tagged, 200, "etag: \"a\"\ncontent-encoding: gzip", Changed),
            (tagged, 200, "etag: \"b\"", Changed),
            (tagged, 416, "", Changed),
            (tagged, 404, "", Changed),
            (tagged, 503, "", Nothing),
            (tagged, 302, "", Nothing),
            ("last-modified: OLD", 200, "last-modified: OLD", Whole),
            ("last-modified: OLD", 200, "last-modified: OLD\netag: \"a\"", Changed),
            ("last-modified: OLD", 200, "last-modified: NEW", Changed),
        ] {
            let head = ResponseHead { status, fields: written(answer) };
            let brought = check(&written(stored), 100, &head, &(10..=19));
            assert_eq!(brought, expected, "{stored} {status} {answer}");
        }
    }

    #[test]
    fn a_304_that_names_another_validator_confirms_nothing() {
        let stored = written("etag: \"a\"\nlast-modified: OLD");
        for (text, expected) in [
            ("", true),
            ("etag: \"a\"", true),
            ("etag: \"b\"", false),
            ("last-modified: NEW", false),
        ] {
            assert_eq!(is_confirmed(&stored, &written(text)), expected, "{text}");
        }
    }

    #[test]
    fn parts_are_read_and_asked_for() {
        for (text, expected) in [
            ("bytes 0-0/1", Some((0..=0, 1))),
            ("Bytes 5-9/10", Some((5..=9, 10))),
            ("bytes 5-4/10", None),
            ("bytes 5-10/10", None),
            ("bytes */10", None),
            ("bytes 5-/10", None),
            ("items 0-0/1", None),
            ("bytes", None),
            ("", None),
        ] {
            let fields = fields(&format!("content-range: {text}"));
            assert_eq!(part(&fields), expected, "{text}");
        }
        let mut request = fields("range: bytes=7-\nif-range: \"x\"");
        ask_for(&mut request, &(10..=19), Some(b"\"a\""));
        assert_eq!(request, fields("range: bytes=10-19\nif-range: \"a\""));
        ask_for(&mut request, &(0..=5), None);
        assert_eq!(request, fields("range: bytes=0-5"));
    }

    #[test]
    fn slices_cover_their_bytes() {
        const SLICE: u64 = SLICE_BYTES;
        for (bytes, slices) in [
            (0..1, 0..1),
            (SLICE - 1..SLICE + 1, 0..2),
            (SLICE..2 * SLICE, 1..2),
            (5 * SLICE + 1..5 * SLICE + 2, 5..6),
        ] {
            assert_eq!(slices_of(&bytes), slices, "{bytes:?}");
        }
        assert_eq!(bytes_of(&(1..3), 2 * SLICE + 5), SLICE..2 * SLICE + 5);
        assert_eq!(bytes_of(&(0..1), 7), 0..7);
        assert_eq!(bytes_of(&(u64::MAX - 1..u64::MAX), 7), 7..7);
    }
}
