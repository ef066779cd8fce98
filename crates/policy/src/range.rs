//! Ranges: which bytes of a whole stored body a request is given.
//!
//! In: the request's `Range` and `If-Range`, the stored fields, the body's length.
//! Out: a [`Selection`]. Law: RFC 9110 §14, §13.1.5, §15.3.7, §15.5.17.
//! Invariants: 1. what can't be read is ignored, and the whole body sent. 2. the parts of
//! an answer never overlap, so that it is never longer than the body, heads aside.
//! 3. at most [`RANGES_MAX`] parts: beyond that somebody wants work, not bytes.

use std::ops::RangeInclusive;

use wire::fields::split_list;
use wire::{Fields, Name};

use crate::date;
use crate::digits;
use crate::entity_tag::EntityTag;

/// A request for more ranges than this gets the whole body.
pub const RANGES_MAX: usize = 16;
/// Ranges that lie nearer to each other than a part's head is long become one.
const GAP_BYTES: u64 = 80;

/// The bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All, with 200.
    Full,
    /// One range, with 206: first and last byte.
    Partial(RangeInclusive<u64>),
    /// Several, with 206 as `multipart/byteranges`.
    Several(Vec<RangeInclusive<u64>>),
    /// None of those that were asked for are there: 416.
    Unsatisfiable,
}

/// Whether a request asks for a part; costs a mask.
#[must_use]
pub fn wants_part(request: &Fields) -> bool {
    request.has(Name::Range)
}

/// Takes the wish for a part away, so that the answer is whole.
pub fn strip_range(request: &mut Fields) {
    request.remove(Name::Range);
    request.remove(Name::IfRange);
}

/// Selects bytes of a 200 that is stored whole, for a GET.
#[must_use]
pub fn select(request: &Fields, stored: &Fields, length: u64) -> Selection {
    let mut lines = request.all(Name::Range);
    let (Some(line), None) = (lines.next(), lines.next()) else { return Selection::Full };
    if request.has(Name::IfRange) && !is_same_representation(request, stored) {
        return Selection::Full;
    }
    read(line, length).unwrap_or(Selection::Full)
}

/// The bytes that the first of a request's ranges asks for, as far as that can be told without
/// knowing how many there are: the last so many bytes may be any. None if the wish is ignored.
#[must_use]
pub fn foremost(request: &Fields) -> Option<RangeInclusive<u64>> {
    let mut lines = request.all(Name::Range);
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let first = match read(line, u64::MAX)? {
        Selection::Partial(range) => range,
        Selection::Several(ranges) => ranges.first()?.clone(),
        Selection::Full | Selection::Unsatisfiable => return None,
    };
    let is_suffix = line.windows(2).any(|pair| matches!(pair, b"=-" | b",-" | b" -"));
    Some(if is_suffix { 0..=0 } else { first })
}

/// Reads one `Range` line against a length; `None` if it is to be ignored.
fn read(line: &[u8], length: u64) -> Option<Selection> {
    let equals = line.iter().position(|&b| b == b'=')?;
    if !line[..equals].eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    let mut count = 0;
    for spec in split_list(&line[equals + 1..]) {
        count += 1;
        if count > RANGES_MAX {
            return None;
        }
        match read_spec(spec, length)? {
            Spec::Bytes(range) => ranges.push(range),
            Spec::Beyond => {}
            Spec::WholeOfNothing => return None,
        }
    }
    if count == 0 {
        return None;
    }
    coalesce(&mut ranges);
    Some(match ranges.len() {
        0 => Selection::Unsatisfiable,
        1 => Selection::Partial(ranges.remove(0)),
        _ => Selection::Several(ranges),
    })
}

enum Spec {
    Bytes(RangeInclusive<u64>),
    /// Behind the end, or the last no bytes.
    Beyond,
    /// The last bytes of an empty body: all of it, which a 206 can't say.
    WholeOfNothing,
}

/// `first-last`, `first-` or `-suffix`; `None` if it is neither.
fn read_spec(spec: &[u8], length: u64) -> Option<Spec> {
    let dash = spec.iter().position(|&b| b == b'-')?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        let suffix = digits::read(last)?;
        return Some(match (suffix, length) {
            (0, _) => Spec::Beyond,
            (_, 0) => Spec::WholeOfNothing,
            _ => Spec::Bytes(length.saturating_sub(suffix)..=length - 1),
        });
    }
    let first = digits::read(first)?;
    let last = if last.is_empty() { u64::MAX } else { digits::read(last)? };
    if last < first {
        return None;
    }
    Some(if first < length { Spec::Bytes(first..=last.min(length - 1)) } else { Spec::Beyond })
}

/// Joins ranges that overlap or nearly touch. Ranges that don't are left in the order in
/// which they were asked for (RFC 9110 §15.3.7.2).
fn coalesce(ranges: &mut Vec<RangeInclusive<u64>>) {
    let mut sorted = ranges.clone();
    sorted.sort_unstable_by_key(|range| *range.start());
    let before = sorted.len();
    sorted.dedup_by(|next, earlier| {
        let joins = *next.start() <= earlier.end().saturating_add(GAP_BYTES);
        if joins {
            *earlier = *earlier.start()..=*earlier.end().max(next.end());
        }
        joins
    });
    if sorted.len() != before {
        *ranges = sorted;
    }
}

/// Whether `If-Range` names, beyond doubt, what is stored. A date is beyond doubt only if
/// the response was made at least a second after it (RFC 9110 §8.8.2.2).
fn is_same_representation(request: &Fields, stored: &Fields) -> bool {
    let mut lines = request.all(Name::IfRange);
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    if let Some(since) = date::parse(line) {
        let date = |name| stored.first(name).and_then(date::parse);
        return date(Name::LastModified) == Some(since)
            && date(Name::Date).is_some_and(|made| made > since);
    }
    let ours = stored.first(Name::Etag).and_then(EntityTag::of);
    match (EntityTag::of(line), ours) {
        (Some(theirs), Some(ours)) => theirs.is_surely(ours),
        _ => false,
    }
}

/// Appends the value of `Content-Range` for a part.
pub fn write_content_range(out: &mut Vec<u8>, range: &RangeInclusive<u64>, length: u64) {
    out.extend_from_slice(b"bytes ");
    digits::push(out, *range.start());
    out.push(b'-');
    digits::push(out, *range.end());
    out.push(b'/');
    digits::push(out, length);
}

/// Appends the value of `Content-Range` for a 416.
pub fn write_unsatisfied_range(out: &mut Vec<u8>, length: u64) {
    out.extend_from_slice(b"bytes */");
    digits::push(out, length);
}

/// Appends what stands before a part of `multipart/byteranges`.
pub fn write_part_head(
    out: &mut Vec<u8>,
    boundary: &[u8],
    content_type: Option<&[u8]>,
    range: &RangeInclusive<u64>,
    length: u64,
) {
    out.extend_from_slice(b"\r\n--");
    out.extend_from_slice(boundary);
    if let Some(content_type) = content_type {
        out.extend_from_slice(b"\r\ncontent-type: ");
        out.extend_from_slice(content_type);
    }
    out.extend_from_slice(b"\r\ncontent-range: ");
    write_content_range(out, range, length);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Appends what stands behind the last part.
pub fn write_parts_end(out: &mut Vec<u8>, boundary: &[u8]) {
    out.extend_from_slice(b"\r\n--");
    out.extend_from_slice(boundary);
    out.extend_from_slice(b"--\r\n");
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
