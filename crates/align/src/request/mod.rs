//! Requests: every name and value in one, read from its spelling and written back in it.
//!
//! In: a target, fields and a body. An [`Exchange`] sees each name and value plain and may
//! put another in its place; only what it exchanges is spelled anew, all other bytes stay
//! as they came.

mod form;
mod json;
mod multipart;

use wire::{Fields, Name};

use crate::escape::percent::{self, Place};

/// A longer body is not read.
pub const BODY_BYTES_MAX: usize = 8 << 20;

/// What of a request may bear values of a page.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The target as it came: path and query.
    pub target: &'a [u8],
    /// All fields. Only those of which the law says nothing (`X-CSRF-Token`) and `Referer`
    /// are looked at.
    pub fields: &'a Fields,
    /// The whole body, or nothing.
    pub body: &'a [u8],
}

/// The body is longer than [`BODY_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request's body is too long to be translated")]
pub struct BodyTooLong;

/// Sees names and values; answers with what shall stand there instead, if anything.
pub(crate) trait Exchange {
    fn name(&mut self, name: &[u8]) -> Option<Vec<u8>>;
    fn value(&mut self, name: &[u8], value: &[u8]) -> Option<Vec<u8>>;
}

/// A target with what was exchanged; none if nothing was.
pub(crate) fn target(target: &[u8], exchange: &mut dyn Exchange) -> Option<Vec<u8>> {
    let query_at = memchr::memchr(b'?', target).map_or(target.len(), |at| at + 1);
    let (path, query) = target.split_at(query_at);
    let mut is_changed = false;
    let mut out = Vec::with_capacity(target.len());
    for piece in pieces(path, |byte| matches!(byte, b'/' | b';' | b'?')) {
        match exchange.value(b"", &percent::decode(piece, Place::Path)) {
            Some(new) => {
                is_changed = true;
                out.extend_from_slice(&percent::encode(&new, Place::Path));
            }
            None => out.extend_from_slice(piece),
        }
    }
    match form::rewrite(query, exchange) {
        Some(query) => {
            is_changed = true;
            out.extend_from_slice(&query);
        }
        None => out.extend_from_slice(query),
    }
    is_changed.then_some(out)
}

/// The fields with what was exchanged; none if nothing was.
pub(crate) fn fields(fields: &Fields, exchange: &mut dyn Exchange) -> Option<Fields> {
    let mut is_changed = false;
    let mut out = Fields::new();
    for (known, name, value) in fields.iter_known() {
        let new = match known {
            None => exchange.value(&name.to_ascii_lowercase(), value),
            Some(Name::Referer) => target(value, exchange),
            Some(_) => None,
        };
        // What may not stand in a field stays out of it; the old value goes on.
        let is_exchanged = new.is_some_and(|new| out.try_push(name, &new).is_ok());
        is_changed |= is_exchanged;
        if !is_exchanged && out.try_push(name, value).is_err() {
            // The fields came from outside, so that this one was let through by a reader.
            debug_assert!(false, "a field that was read can be written");
        }
    }
    is_changed.then_some(out)
}

/// The body with what was exchanged; none if nothing was, or it can't be read.
pub(crate) fn body(request: &Request<'_>, exchange: &mut dyn Exchange) -> Option<Vec<u8>> {
    let body = request.body;
    if body.is_empty() || request.fields.has(Name::ContentEncoding) {
        return None;
    }
    let content_type = request.fields.first(Name::ContentType).unwrap_or_default();
    let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
    let kind = content_type[..end].trim_ascii().to_ascii_lowercase();
    if kind == b"application/x-www-form-urlencoded" {
        form::rewrite(body, exchange)
    } else if kind == b"multipart/form-data" {
        multipart::rewrite(&content_type[end..], body, exchange)
    } else if kind.ends_with(b"json") {
        json::rewrite(body, exchange)
    } else if kind.is_empty() || kind.starts_with(b"text/") || kind.ends_with(b"xml") {
        exchange.value(b"", body)
    } else {
        None
    }
}

/// Runs of bytes between separators, and the separators, all in order.
fn pieces(text: &[u8], is_separator: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(move |a, b| !is_separator(*a) && !is_separator(*b))
}

#[cfg(test)]
pub(crate) mod samples {
    use super::Exchange;

    /// Turns `old` into `new`, names and values alike, and notes what it sees.
    #[derive(Default)]
    pub(crate) struct Recorder(pub(crate) Vec<String>);

    impl Exchange for Recorder {
        fn name(&mut self, name: &[u8]) -> Option<Vec<u8>> {
            self.0.push(String::from_utf8_lossy(name).into_owned());
            (name == b"old").then(|| b"n\"e w".to_vec())
        }

        fn value(&mut self, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
            let text = String::from_utf8_lossy;
            self.0.push(format!("{}={}", text(name), text(value)));
            (value == b"old").then(|| b"n\"e w&/".to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::Recorder;
    use super::*;

    #[test]
    fn a_target_is_read_by_segments_and_parameters() {
        let check = |line: &str, expected: &str| {
            let found = target(line.as_bytes(), &mut Recorder::default());
            let found = found.map_or(line.to_owned(), |f| String::from_utf8_lossy(&f).into_owned());
            assert_eq!(found, expected, "{line}");
        };
        check("/a/old/b;old?x=old", "/a/n%22e%20w&%2F/b;n%22e%20w&%2F?x=n%22e+w%26%2F");
        check("/%6fld?%6F%6Cd=1&a=%20", "/n%22e%20w&%2F?n%22e+w=1&a=%20");
        check("/a?b=c%20+d", "/a?b=c%20+d");
        check("/?", "/?");
        check("", "");
    }

    #[test]
    fn fields_that_the_law_does_not_know_are_exchanged() {
        let check = |lines: &str, expected: &str| {
            let read = Fields::parse(lines.as_bytes()).expect("well formed");
            let found = fields(&read, &mut Recorder::default()).unwrap_or(read);
            let mut out = Vec::new();
            found.render(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{lines}");
        };
        check("X-Token: old\nHost: old\n", "X-Token: n\"e w&/\r\nHost: old\r\n");
        check("referer: http://h/old?a=1\n", "referer: http://h/n%22e%20w&%2F?a=1\r\n");
        check("cookie: old\n", "cookie: old\r\n");
    }

    #[test]
    fn the_content_type_says_how_a_body_is_read() {
        let check = |lines: &str, text: &str, expected: &str| {
            let read = Fields::parse(lines.as_bytes()).expect("well formed");
            let request = Request { target: b"/", fields: &read, body: text.as_bytes() };
            let found = body(&request, &mut Recorder::default());
            let found = found.map_or(text.to_owned(), |f| String::from_utf8_lossy(&f).into_owned());
            assert_eq!(found, expected, "{lines}");
        };
        check(
            "content-type: application/x-www-form-urlencoded; charset=x\n",
            "a=old",
            "a=n%22e+w%26%2F",
        );
        check(
            "content-type: application/VND.a+JSON\n",
            "{\"a\":\"old\"}",
            "{\"a\":\"n\\\"e w&/\"}",
        );
        check("content-type: text/plain\n", "old", "n\"e w&/");
        check("", "old", "n\"e w&/");
        check("content-type: image/png\n", "old", "old");
        check("content-type: text/plain\ncontent-encoding: gzip\n", "old", "old");
    }
}
