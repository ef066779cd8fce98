//! A reply's status and fields as HTTP/2 and HTTP/3 send them.
//!
//! What lies in the store is rendered for HTTP/1.1; its fields are written from there, one after
//! the other, in the coding of the protocol. Law: RFC 9113 §8.2.2, §8.3.2; RFC 9114 §4.2,
//! §4.3.2; RFC 7838 §3.
//! Invariant: no field is about a connection of HTTP/1.1.

use base::Now;
use bytes::Bytes;
use http::HeaderMap;
use policy::{cache_status, digits};
use wire::{Fields, Name, ResponseHead};

use crate::reply::{Head, Reply};
use crate::streams::Coding;

/// Room for a usual head.
pub(crate) const HEAD_BYTES: usize = 512;
/// Room for a value that is written here.
const VALUE_BYTES: usize = 256;

/// Appends the head of a reply.
pub(crate) fn push<C: Coding>(out: &mut Vec<u8>, reply: &Reply, now: Now) {
    C::begin(out);
    C::status(out, reply.status());
    match &reply.head {
        Head::Stored { page, coded, age_seconds, ttl_seconds, origin_status, is_new } => {
            let Some(stored) = page.as_stored() else { return };
            push_rendered::<C>(out, coded.as_ref().map_or(stored.head(), |it| &it.head));
            let mut value = Vec::with_capacity(VALUE_BYTES);
            match age_seconds {
                Some(age_seconds) => {
                    digits::push(&mut value, *age_seconds);
                    C::field(out, b"age", &value);
                }
                None => {
                    policy::date::write(&mut value, now.unix_seconds());
                    C::field(out, b"date", &value);
                }
            }
            value.clear();
            cache_status::write(&mut value, reply.verdict, *ttl_seconds, *origin_status);
            if *is_new {
                cache_status::write_stored(&mut value);
            }
            value.extend_from_slice(stored.key_parameter());
            C::field(out, b"cache-status", &value);
        }
        Head::Ready(head) => {
            push_fields::<C>(out, &head.fields);
            if !head.fields.has(Name::Date) {
                let mut value = Vec::with_capacity(VALUE_BYTES);
                policy::date::write(&mut value, now.unix_seconds());
                C::field(out, b"date", &value);
            }
        }
    }
}

/// Where HTTP/3 is spoken to who comes by another protocol: on this port, if it isn't 0.
pub(crate) fn alternative(http3_port: u16) -> Option<Bytes> {
    if http3_port == 0 {
        return None;
    }
    let mut text = Vec::with_capacity(32);
    push_alternative(&mut text, http3_port);
    Some(text.into())
}

/// The same as it is written; a browser may rely on it for a day.
pub(crate) fn push_alternative(out: &mut Vec<u8>, http3_port: u16) {
    out.extend_from_slice(b"h3=\":");
    digits::push(out, u64::from(http3_port));
    out.extend_from_slice(b"\"; ma=86400");
}

/// An interim answer.
pub(crate) fn interim<C: Coding>(hints: &ResponseHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_BYTES);
    C::begin(&mut out);
    C::status(&mut out, hints.status);
    push_fields::<C>(&mut out, &hints.fields);
    out
}

/// Trailers without those that would change the answer's framing or meaning after the fact
/// (RFC 9110 §6.5.1).
pub(crate) fn trailers<C: Coding>(trailers: &HeaderMap) -> Vec<u8> {
    let mut out = Vec::new();
    C::begin(&mut out);
    for (name, value) in trailers {
        if Name::of(name.as_str().as_bytes()).is_none() {
            C::field(&mut out, name.as_str().as_bytes(), value.as_bytes());
        }
    }
    out
}

/// Appends the fields of a rendered head: lines behind the status line, each ended by CRLF.
fn push_rendered<C: Coding>(out: &mut Vec<u8>, rendered: &[u8]) {
    let mut rest = memchr::memchr(b'\n', rendered).map_or(&[][..], |at| &rendered[at + 1..]);
    while let Some(colon) = memchr::memchr(b':', rest) {
        let (name, behind) = rest.split_at(colon);
        let Some(end) = memchr::memchr(b'\r', behind) else { return };
        // The head was rendered with one space behind each colon.
        C::field(out, name, behind.get(2..end).unwrap_or_default());
        rest = behind.get(end + 2..).unwrap_or_default();
    }
}

fn push_fields<C: Coding>(out: &mut Vec<u8>, fields: &Fields) {
    for (known, name, value) in fields.iter_known() {
        if !known.is_some_and(is_of_http1) {
            C::field(out, name, value);
        }
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
