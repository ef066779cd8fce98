//! A reply's status and fields as HTTP/2 and HTTP/3 send them.
//!
//! What lies in the store is rendered for HTTP/1.1; its fields are cut out of one copy of that,
//! without a copy of each. Law: RFC 9113 §8.2.2, §8.3.2; RFC 9114 §4.2, §4.3.2;
//! RFC 7838 §3.
//! Invariant: no field is about a connection of HTTP/1.1.

use base::Now;
use bytes::Bytes;
use http::header::{AGE, CACHE_STATUS, DATE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use policy::{cache_status, digits};
use wire::{Name, ResponseHead};

use crate::reply::{Head, Reply};

/// The head of a reply.
pub(crate) fn of(reply: &Reply, now: Now) -> Response<()> {
    let mut response = Response::new(());
    // A status from 100 to 999 is all that an origin may send.
    *response.status_mut() =
        StatusCode::from_u16(reply.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = response.headers_mut();
    match &reply.head {
        Head::Stored { page, coded, age_seconds, ttl_seconds, origin_status, is_new } => {
            if let Some(stored) = page.as_stored() {
                cut_out(coded.as_ref().map_or(stored.head(), |it| &it.head), fields);
                fields.insert(AGE, HeaderValue::from(*age_seconds));
                let mut text = Vec::with_capacity(128);
                cache_status::write(&mut text, reply.verdict, *ttl_seconds, *origin_status);
                if *is_new {
                    cache_status::write_stored(&mut text);
                }
                text.extend_from_slice(stored.key_parameter());
                push(fields, CACHE_STATUS, Bytes::from(text));
            }
        }
        Head::Ready(head) => {
            copy(head, fields);
            if !head.fields.has(Name::Date) {
                let mut text = Vec::with_capacity(32);
                policy::date::write(&mut text, now.unix_seconds());
                push(fields, DATE, Bytes::from(text));
            }
        }
    }
    response
}

/// Adds a field of ours.
pub(crate) fn add(name: &'static str, value: &[u8], fields: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_bytes(value) {
        fields.append(HeaderName::from_static(name), value);
    }
}

/// Where HTTP/3 is spoken to who comes by another protocol: on this port, if it isn't 0.
pub(crate) fn alternative(http3_port: u16) -> Option<HeaderValue> {
    if http3_port == 0 {
        return None;
    }
    let mut text = Vec::with_capacity(32);
    push_alternative(&mut text, http3_port);
    HeaderValue::from_maybe_shared(Bytes::from(text)).ok()
}

/// The same as it is written; a browser may rely on it for a day.
pub(crate) fn push_alternative(out: &mut Vec<u8>, http3_port: u16) {
    out.extend_from_slice(b"h3=\":");
    digits::push(out, u64::from(http3_port));
    out.extend_from_slice(b"\"; ma=86400");
}

/// An interim answer.
pub(crate) fn interim(hints: &ResponseHead) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(hints.status).unwrap_or(StatusCode::EARLY_HINTS);
    copy(hints, response.headers_mut());
    response
}

/// Trailers without those that would change the answer's framing or meaning after the fact
/// (RFC 9110 §6.5.1).
pub(crate) fn trailers(mut trailers: HeaderMap) -> HeaderMap {
    let known = |name: &HeaderName| Name::of(name.as_str().as_bytes()).is_some();
    let goes: Vec<_> = trailers.keys().filter(|name| known(name)).cloned().collect();
    for name in goes {
        trailers.remove(name);
    }
    trailers
}

/// Takes the fields of a rendered head: lines behind the status line, each ended by CRLF.
fn cut_out(rendered: &[u8], into: &mut HeaderMap) {
    let text = Bytes::copy_from_slice(rendered);
    // A few more than pages usually have, so that nothing is moved.
    into.reserve(16);
    let mut start = memchr::memchr(b'\n', &text).map_or(text.len(), |at| at + 1);
    while let Some(length) = memchr::memchr(b'\n', &text[start..]) {
        let line = start..(start + length).saturating_sub(1);
        start += length + 1;
        let Some(colon) = memchr::memchr(b':', &text[line.clone()]) else { continue };
        let name = &text[line.start..line.start + colon];
        // The head was rendered with one space behind each colon.
        let value = text.slice((line.start + colon + 2).min(line.end)..line.end);
        if let Ok(name) = HeaderName::from_bytes(name) {
            push(into, name, value);
        }
    }
}

fn copy(head: &ResponseHead, into: &mut HeaderMap) {
    into.reserve(head.fields.len() + 2);
    for (known, name, value) in head.fields.iter_known() {
        if known.is_some_and(is_of_http1) {
            continue;
        }
        if let Ok(name) = HeaderName::from_bytes(name) {
            push(into, name, Bytes::copy_from_slice(value));
        }
    }
}

/// Adds a field that was valid when it was read, so it is now.
fn push(into: &mut HeaderMap, name: HeaderName, value: Bytes) {
    if let Ok(value) = HeaderValue::from_maybe_shared(value) {
        into.append(name, value);
    }
}

fn is_of_http1(name: Name) -> bool {
    matches!(
        name,
        Name::Connection
            | Name::KeepAlive
            | Name::ProxyConnection
            | Name::TransferEncoding
            | Name::Upgrade
    )
}
