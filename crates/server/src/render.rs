//! Replies as bytes: status line, fields, the empty line.
//!
//! A stored head is copied as it lies; only `Age`, `Cache-Status` and
//! `Connection` are written anew.

use base::Now;
use policy::media_type::essence;
use policy::{cache_status, digits};
use wire::{Name, ResponseHead, Version};

use crate::reply::{Head, Payload, Reply};
use crate::request_id::{self, RequestId};
use crate::streams;

/// What the client's version and wishes mean for the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Persistence {
    /// Whether another request may follow.
    pub(crate) wanted: bool,
    pub(crate) version: Version,
    /// Whether the client said that it wants to see trailers.
    pub(crate) takes_trailers: bool,
    /// Where HTTP/3 is spoken to the same client; 0: nowhere.
    pub(crate) http3_port: u16,
}

/// Appends everything up to the body.
pub(crate) fn head(out: &mut Vec<u8>, reply: &Reply, persistence: Persistence, now: Now) {
    match &reply.head {
        Head::Stored { page, coded, age_seconds, ttl_seconds, origin_status, is_new } => {
            if let Some(stored) = page.as_stored() {
                out.extend_from_slice(coded.as_ref().map_or(stored.head(), |it| &it.head));
                match age_seconds {
                    Some(age_seconds) => {
                        out.extend_from_slice(b"age: ");
                        digits::push(out, *age_seconds);
                    }
                    None => {
                        out.extend_from_slice(b"date: ");
                        policy::date::write(out, now.unix_seconds());
                    }
                }
                out.extend_from_slice(b"\r\ncache-status: ");
                cache_status::write(out, reply.verdict, *ttl_seconds, *origin_status);
                if *is_new {
                    cache_status::write_stored(out);
                }
                out.extend_from_slice(stored.key_parameter());
                out.extend_from_slice(b"\r\n");
            }
        }
        Head::Ready(ready) => {
            status_line(out, ready.status);
            ready.fields.render(out);
            if !ready.fields.has(Name::Date) {
                out.extend_from_slice(b"date: ");
                policy::date::write(out, now.unix_seconds());
                out.extend_from_slice(b"\r\n");
            }
        }
    }
    let open_ended = matches!(reply.payload, Payload::Stream { length: None, .. });
    if open_ended && persistence.version == Version::Http11 {
        out.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    let is_tunnel = matches!(reply.payload, Payload::Tunnel(_));
    match (persistence.wanted || is_tunnel, persistence.version) {
        (false, Version::Http11) => out.extend_from_slice(b"connection: close\r\n"),
        (true, Version::Http10) if !open_ended => {
            out.extend_from_slice(b"connection: keep-alive\r\n");
        }
        _ => {}
    }
    if persistence.http3_port != 0 {
        out.extend_from_slice(b"alt-svc: ");
        streams::head::push_alternative(out, persistence.http3_port);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Adds the request's id to a head that is whole.
pub(crate) fn request_id(out: &mut Vec<u8>, id: &RequestId) {
    add_field(out, request_id::FIELD, id.as_bytes());
}

/// Adds a field to a head that is whole.
pub(crate) fn add_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.truncate(out.len() - b"\r\n".len());
    for part in [name.as_bytes(), b": ", value, b"\r\n\r\n"] {
        out.extend_from_slice(part);
    }
}

/// A head as it is stored: without the empty line, with the length of its body.
pub(crate) fn stored_head(head: &ResponseHead, body_bytes: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.fields.bytes() + 256);
    status_line(&mut out, head.status);
    head.fields.render(&mut out);
    if bears_length(head.status) {
        out.extend_from_slice(b"content-length: ");
        digits::push(&mut out, body_bytes);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Whether a head as it is stored is one of HTML.
pub(crate) fn is_html(head: &[u8]) -> bool {
    const NAME: &[u8] = b"content-type:";
    let lines = head.split(|&byte| byte == b'\n');
    let value = |line: &[u8]| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME).then(|| is_html_type(value))
    };
    lines.filter_map(value).next().unwrap_or(false)
}

/// Whether a `Content-Type` is that of HTML.
pub(crate) fn is_html_type(value: &[u8]) -> bool {
    let essence = essence(value);
    let is = |known: &[u8]| essence.eq_ignore_ascii_case(known);
    is(b"text/html") || is(b"application/xhtml+xml")
}

/// Whether an answer with this status tells how long its body is (RFC 9110 §8.6).
pub(crate) fn bears_length(status: u16) -> bool {
    !matches!(status, 100..200 | 204 | 304)
}

/// An interim answer, whole.
pub(crate) fn interim(out: &mut Vec<u8>, head: &ResponseHead) {
    status_line(out, head.status);
    head.fields.render(out);
    out.extend_from_slice(b"\r\n");
}

/// The line before a chunk's data.
pub(crate) fn chunk_size(out: &mut Vec<u8>, bytes: usize) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = (usize::BITS - bytes.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        out.push(DIGITS[(bytes >> (4 * place)) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

/// What ends a body in chunks: its trailers without those that would change its framing
/// or meaning after the fact (RFC 9110 §6.5.1).
pub(crate) fn last_chunk(out: &mut Vec<u8>, trailers: Option<&http::HeaderMap>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers.into_iter().flatten() {
        if Name::of(name.as_str().as_bytes()).is_none() {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"\r\n");
}

fn status_line(out: &mut Vec<u8>, status: u16) {
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    digits::push(out, u64::from(status));
    out.push(b' ');
    let phrase = http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
    out.extend_from_slice(phrase.unwrap_or("Status").as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_chunk_sizes_are_written_without_leading_zeros() {
        for (value, decimal, hex) in [
            (0usize, "0", "0"),
            (9, "9", "9"),
            (16, "16", "10"),
            (255, "255", "ff"),
            (4096, "4096", "1000"),
        ] {
            let (mut out, mut chunk) = (Vec::new(), Vec::new());
            digits::push(&mut out, value as u64);
            chunk_size(&mut chunk, value);
            assert_eq!(out, decimal.as_bytes());
            assert_eq!(chunk, format!("{hex}\r\n").into_bytes());
        }
    }

    #[test]
    fn html_is_told_by_its_type_alone() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n", true),
            ("HTTP/1.1 200 OK\r\nx: 1\r\nContent-Type:TEXT/HTML\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-type: application/xhtml+xml\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-type: text/htmlx\r\n", false),
            ("HTTP/1.1 200 OK\r\nx-content-type: text/html\r\n", false),
            ("HTTP/1.1 200 OK\r\n", false),
        ] {
            assert_eq!(is_html(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn an_unknown_status_still_has_a_phrase() {
        let mut out = Vec::new();
        status_line(&mut out, 599);
        status_line(&mut out, 404);
        assert_eq!(out, b"HTTP/1.1 599 Status\r\nHTTP/1.1 404 Not Found\r\n");
    }
}
