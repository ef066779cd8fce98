//! One response in several content codings: which may be coded, and what its fields say then.
//!
//! In: a response's status and fields. Out: whether Wick may code it, and the fields of the
//! coded one.
//!
//! A strong entity tag names bytes, and a coded page's bytes are others, which change once
//! more when it is coded better. So its tag becomes a weak one that bears a mark, and in
//! what a client asks by such a tag the origin is shown its own again: an app that compares
//! strongly (`If-Match` of an editor) sees what it sent.
//! Law: RFC 9110 §8.4 (`Content-Encoding`), §8.8.3 (entity tags), §12.5.5 (`Vary`), §7.7
//! (transformations); RFC 9530 (digests).
//! Invariants: 1. what is coded already, or must not be transformed, is left as it is. 2. no
//! strong tag is sent with coded bytes. 3. no tag of ours reaches the origin.

use wire::{Coding, Fields, Name};

use crate::media_type::essence;

/// Smaller content hardly gets smaller, and fits one packet as it is.
const BYTES_MIN: u64 = 500;

/// What stands behind an origin's tag, within its quotes, where the bytes are coded.
pub(crate) const CODED_MARK: &[u8] = b"-wick";

/// Media types that get smaller, beside `text/*`, `*+json`, `*+xml` and `*+text`.
const COMPRESSIBLE: [&str; 24] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/postscript",
    "application/rtf",
    "application/vnd.ms-fontobject",
    "application/vnd.ms-opentype",
    "application/wasm",
    "application/x-font-opentype",
    "application/x-font-truetype",
    "application/x-font-ttf",
    "application/x-javascript",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
    "font/collection",
    "font/eot",
    "font/opentype",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/x-icon",
];

/// Whether a response may be coded for those who want that: it gets smaller by it, nothing
/// forbids it, and it is whole. Where its length isn't known it is taken for long enough.
#[must_use]
pub fn may_be_coded(status: u16, response: &Fields, length: Option<u64>) -> bool {
    !matches!(status, 100..200 | 204..=206 | 304 | 416)
        && !response.has(Name::ContentEncoding)
        && !response.has(Name::ContentRange)
        && response.first(Name::ContentType).is_some_and(is_compressible)
        && length.is_none_or(|bytes| bytes >= BYTES_MIN)
        && !forbids_transforming(response)
        && DIGESTS.iter().all(|name| response.all_named(name).next().is_none())
}

/// Fields that say something of the very bytes.
const DIGESTS: [&str; 5] = ["content-digest", "content-md5", "digest", "repr-digest", "signature"];

/// Whether a message says that nobody on its way may change its content.
#[must_use]
pub fn forbids_transforming(message: &Fields) -> bool {
    message.has(Name::CacheControl) && message.has_member(Name::CacheControl, "no-transform")
}

/// Whether content of this type gets smaller. A stream of events doesn't: its reader waits for
/// each of them, and some proxies and scripts don't expect it to be coded.
fn is_compressible(content_type: &[u8]) -> bool {
    let essence = essence(content_type);
    let begins = |start: &[u8]| {
        essence.get(..start.len()).is_some_and(|front| front.eq_ignore_ascii_case(start))
    };
    let ends = |end: &[u8]| {
        essence.len() > end.len() && essence[essence.len() - end.len()..].eq_ignore_ascii_case(end)
    };
    if begins(b"text/") {
        return !essence.eq_ignore_ascii_case(b"text/event-stream");
    }
    ends(b"+json")
        || ends(b"+xml")
        || ends(b"+text")
        || COMPRESSIBLE.iter().any(|known| essence.eq_ignore_ascii_case(known.as_bytes()))
}

/// Says in `Vary` that the response differs by `Accept-Encoding`; what is there stays.
pub fn vary_by_coding(response: &mut Fields) {
    let is_said = |member: &[u8]| member == b"*" || Name::of(member) == Some(Name::AcceptEncoding);
    if response.members(Name::Vary).any(is_said) {
        return;
    }
    let mut names = Vec::new();
    for member in response.members(Name::Vary) {
        names.extend_from_slice(member);
        names.extend_from_slice(b", ");
    }
    names.extend_from_slice(b"Accept-Encoding");
    response.set(Name::Vary, names);
}

/// Turns the fields of a response into those of the same one in this coding. Its length is
/// left to who knows it.
pub fn encode_fields(response: &mut Fields, coding: Coding) {
    response.remove(Name::ContentLength);
    // Parts are cut from what isn't coded.
    response.remove(Name::AcceptRanges);
    response.set(Name::ContentEncoding, coding.as_str());
    mark_tag(response);
}

/// Makes a strong tag the weak one of the coded response. A weak one names those bytes as well,
/// and one without quotes, which can't be made weak, goes.
pub fn mark_tag(response: &mut Fields) {
    match response.first(Name::Etag) {
        None => {}
        Some(tag) if tag.starts_with(b"W/") => {}
        Some(tag) => match opaque(tag) {
            Some(tag) => {
                let marked = [&b"W/\""[..], tag, CODED_MARK, b"\""].concat();
                response.set(Name::Etag, marked);
            }
            None => response.remove(Name::Etag),
        },
    }
}

/// What stands within the quotes of a strong tag.
fn opaque(tag: &[u8]) -> Option<&[u8]> {
    let inner = tag.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (!inner.contains(&b'"')).then_some(inner)
}

/// The tag of a 304 is that which its 200 would bear (RFC 9110 §15.4.5): the marked one for
/// who asked by that.
pub fn mark_as_asked(request: &Fields, not_modified: &mut Fields) {
    let Some(tag) = not_modified.first(Name::Etag).and_then(opaque) else { return };
    let marked = [&b"\""[..], tag, CODED_MARK, b"\""].concat();
    let is_asked = |line: &[u8]| line.windows(marked.len()).any(|text| text == marked);
    if request.all(Name::IfNoneMatch).any(is_asked) {
        mark_tag(not_modified);
    }
}

/// Shows the origin its own tags where a client names those of coded responses. `If-Range`
/// stays: parts are not cut from what is coded, and by a weak tag the whole is sent.
/// Costs two masks where there is neither field, and nothing else where no tag is marked. Whether
/// one was is told.
pub fn restore_tags(request: &mut Fields) -> bool {
    let mut was_marked = false;
    for name in [Name::IfNoneMatch, Name::IfMatch] {
        let is_marked = |line: &[u8]| line.windows(CODED_MARK.len()).any(|text| text == CODED_MARK);
        if !request.has(name) || !request.all(name).any(is_marked) {
            continue;
        }
        let mut restored = Vec::new();
        for line in request.all(name) {
            if !restored.is_empty() {
                restored.extend_from_slice(b", ");
            }
            restore_line(line, &mut restored);
        }
        request.set(name, restored);
        was_marked = true;
    }
    was_marked
}

/// Appends a line with each `W/"tag-wick"` as `"tag"`. Quotes can't stand within tags, so what
/// lies between an opening quote and the next is one.
fn restore_line(mut rest: &[u8], out: &mut Vec<u8>) {
    while let Some(open) = rest.iter().position(|&byte| byte == b'"') {
        let Some(length) = rest[open + 1..].iter().position(|&byte| byte == b'"') else { break };
        let (before, inner) = (&rest[..open], &rest[open + 1..open + 1 + length]);
        let inner = match inner.strip_suffix(CODED_MARK) {
            Some(tag) => {
                out.extend_from_slice(before.strip_suffix(b"W/").unwrap_or(before));
                tag
            }
            None => {
                out.extend_from_slice(before);
                inner
            }
        };
        out.push(b'"');
        out.extend_from_slice(inner);
        out.push(b'"');
        rest = &rest[open + length + 2..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
#[path = "representation_tests.rs"]
mod tests;
