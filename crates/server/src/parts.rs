//! Partial answers: one range, several as multipart, or none that exists.
//!
//! Law: RFC 9110 §14, §15.3.7, §15.5.17. Parts are cut only from what is complete.

use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use bytes::Bytes;
use policy::{Selection, range};
use wire::{Fields, Name};

use crate::reply::Payload;

/// Between the parts of a multipart answer. It must not occur in a page, so nobody who
/// writes pages may know it: it is drawn anew by each process.
static BOUNDARY: LazyLock<String> =
    LazyLock::new(|| format!("wick-{:016x}", RandomState::new().hash_one("boundary")));

/// What several parts are made of, one behind the other: the text before each part and the part,
/// and what ends them all. Adapts `fields`.
pub(crate) fn several<'a>(
    fields: &mut Fields,
    ranges: &'a [RangeInclusive<u64>],
    length: u64,
) -> Vec<(Bytes, Option<&'a RangeInclusive<u64>>)> {
    let kind = fields.first(Name::ContentType).map(<[u8]>::to_vec);
    let boundary = BOUNDARY.as_bytes();
    let mut all = Vec::with_capacity(ranges.len() + 1);
    let mut total = 0;
    for range in ranges {
        let mut head = Vec::new();
        range::write_part_head(&mut head, boundary, kind.as_deref(), range, length);
        total += head.len() as u64 + (range.end() - range.start() + 1);
        all.push((Bytes::from(head), Some(range)));
    }
    let mut end = Vec::new();
    range::write_parts_end(&mut end, boundary);
    total += end.len() as u64;
    all.push((Bytes::from(end), None));
    fields.set(Name::ContentType, format!("multipart/byteranges; boundary={}", *BOUNDARY));
    fields.set(Name::ContentLength, total.to_string());
    all
}

/// Cuts `selection` out of a body in memory; returns status and payload and adapts `fields`.
pub(crate) fn of_memory(selection: Selection, fields: &mut Fields, body: &Bytes) -> (u16, Payload) {
    let length = body.len() as u64;
    match selection {
        Selection::Full => (200, Payload::Whole(body.clone())),
        Selection::Unsatisfiable => (416, unsatisfiable(fields, length)),
        Selection::Partial(range) => {
            one_part(fields, &range, length);
            (206, Payload::Whole(cut(body, &range)))
        }
        Selection::Several(ranges) => {
            let mut parts = Vec::with_capacity(ranges.len() * 2 + 1);
            for (text, range) in several(fields, &ranges, length) {
                parts.push(text);
                parts.extend(range.map(|range| cut(body, range)));
            }
            (206, Payload::Parts(parts))
        }
    }
}

/// The bytes of a range that was selected from this very body.
fn cut(body: &Bytes, range: &RangeInclusive<u64>) -> Bytes {
    body.slice(*range.start() as usize..=*range.end() as usize)
}

/// Adapts `fields` to one part of `length` bytes.
pub(crate) fn one_part(fields: &mut Fields, range: &RangeInclusive<u64>, length: u64) {
    let mut text = Vec::new();
    range::write_content_range(&mut text, range, length);
    fields.set(Name::ContentRange, text);
    fields.set(Name::ContentLength, (range.end() + 1 - range.start()).to_string());
}

/// Adapts `fields` to a range that lies outside `length` bytes.
pub(crate) fn unsatisfiable(fields: &mut Fields, length: u64) -> Payload {
    fields.retain(|name, _, _| !matches!(name, Some(Name::ContentType | Name::ContentEncoding)));
    let mut text = Vec::new();
    range::write_unsatisfied_range(&mut text, length);
    fields.set(Name::ContentRange, text);
    fields.set(Name::ContentLength, "0");
    Payload::None
}
