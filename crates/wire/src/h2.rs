//! HTTP/2 request heads: what a library has decoded, checked as strictly as a head of
//! HTTP/1.1, and made the same [`RequestHead`].
//!
//! In: a request's pseudo-fields and fields, as the `h2` crate hands them over; it has refused
//! upper case, unknown and repeated pseudo-fields, and those of responses. Out: a head and its
//! framing, or why the stream must end.
//! Law: RFC 9113 §8.2, §8.3; RFC 9110 §7.2.
//! Invariants: 1. what is refused of an HTTP/1.1 head is refused here, by the same code:
//! see [`crate::h1`]. 2. `host` and the `Host` field agree.

use http::header::{COOKIE, HOST};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method};

use crate::h1::{FIELDS_MAX, Framing, HeadError, HeadLimits, Length};
use crate::h1::{known_length, push_ascii, push_host};
use crate::{Name, RequestHead, Version};

/// Reads a decoded head into `head`, whose memory is reused. `has_body`: the stream goes on
/// behind it.
///
/// # Errors
/// The request is malformed, or asks for what is not served.
pub fn read_head(
    parts: &Parts,
    has_body: bool,
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Framing, HeadError> {
    head.version = Version::Http2;
    if parts.method == Method::CONNECT {
        return Err(HeadError::Malformed("CONNECT is for proxies"));
    }
    if head.method != parts.method {
        head.method = parts.method.clone();
    }
    read_host(parts.uri.authority(), &parts.headers, &mut head.host)?;
    read_fields(&parts.headers, head)?;
    let scheme = parts.uri.scheme_str();
    if scheme.is_some_and(|scheme| !matches!(scheme, "http" | "https")) {
        return Err(HeadError::Malformed("the scheme is neither http nor https"));
    }
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    if path.len() > limits.target_bytes_max {
        return Err(HeadError::TargetTooLong);
    }
    if !(path.starts_with('/') || (path == "*" && head.method == Method::OPTIONS)) {
        return Err(HeadError::Malformed("the :path does not begin with a slash"));
    }
    head.target.clear();
    push_ascii(&mut head.target, path);
    read_framing(head, has_body)
}

/// `:authority`, which a `Host` field may repeat and must not contradict; or that field alone,
/// as who translates from HTTP/1.1 sends it.
fn read_host(
    authority: Option<&Authority>,
    fields: &HeaderMap,
    out: &mut String,
) -> Result<(), HeadError> {
    out.clear();
    let mut hosts = fields.get_all(HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    if another.is_some() {
        return Err(HeadError::Malformed("there is more than one Host field"));
    }
    match (authority, host) {
        (None, None) => Err(HeadError::Malformed("the :authority is missing")),
        (None, Some(host)) => push_host(out, host.as_bytes()),
        (Some(authority), None) => push_host(out, authority.as_str().as_bytes()),
        (Some(authority), Some(host)) => {
            push_host(out, authority.as_str().as_bytes())?;
            let mut other = String::new();
            push_host(&mut other, host.as_bytes())?;
            match other == *out {
                true => Ok(()),
                false => Err(HeadError::Malformed("Host and :authority differ")),
            }
        }
    }
}

/// Takes the fields over; `Host` is what was read already, and crumbs of cookies are joined.
fn read_fields(fields: &HeaderMap, head: &mut RequestHead) -> Result<(), HeadError> {
    head.fields.clear();
    head.fields.put(Name::Host, &head.host);
    let mut left = FIELDS_MAX;
    for name in fields.keys() {
        if name == COOKIE {
            let crumbs = fields.get_all(name).iter().map(|crumb| crumb.as_bytes());
            push_cookies(crumbs, head)?;
            continue;
        }
        for value in fields.get_all(name) {
            left = left.checked_sub(1).ok_or(HeadError::TooLarge)?;
            push(name.as_str().as_bytes(), value.as_bytes(), head)?;
        }
    }
    Ok(())
}

/// Cookies come one by one, so that those that stay the same need not be sent again
/// (RFC 9113 §8.2.3).
fn push_cookies<'a>(
    mut crumbs: impl Iterator<Item = &'a [u8]>,
    head: &mut RequestHead,
) -> Result<(), HeadError> {
    let Some(first) = crumbs.next() else { return Ok(()) };
    let Some(second) = crumbs.next() else { return push(b"cookie", first, head) };
    check_value(first)?;
    let mut joined = Vec::with_capacity(512);
    joined.extend_from_slice(first);
    for crumb in std::iter::once(second).chain(crumbs) {
        check_value(crumb)?;
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(crumb);
    }
    push(b"cookie", &joined, head)
}

fn push(name: &[u8], value: &[u8], head: &mut RequestHead) -> Result<(), HeadError> {
    check_value(value)?;
    match Name::of(name) {
        Some(Name::Host) => return Ok(()),
        Some(
            Name::Connection
            | Name::KeepAlive
            | Name::ProxyConnection
            | Name::TransferEncoding
            | Name::Upgrade,
        ) => return Err(HeadError::Malformed("a field is about a connection of HTTP/1.1")),
        Some(Name::Te) if !value.eq_ignore_ascii_case(b"trailers") => {
            return Err(HeadError::Malformed("te says something other than trailers"));
        }
        _ => {}
    }
    head.fields
        .try_push(name, value)
        .map_err(|_| HeadError::Malformed("a field holds a forbidden character"))
}

/// Unlike in HTTP/1.1 nothing takes white space from a value's ends, so that who passes it on
/// and who reads it might see two (RFC 9113 §8.2.1).
fn check_value(value: &[u8]) -> Result<(), HeadError> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_space(value.first()) || is_space(value.last()) {
        return Err(HeadError::Malformed("a field begins or ends with white space"));
    }
    Ok(())
}

/// A body is what frames bring; a length that is told must be theirs. That it is in the end is
/// for who counts them.
fn read_framing(head: &RequestHead, has_body: bool) -> Result<Framing, HeadError> {
    let fields = &head.fields;
    let length = match (fields.has(Name::ContentLength), has_body) {
        (true, _) => known_length(fields.all(Name::ContentLength))?,
        (false, true) => Length::Chunked,
        (false, false) => Length::None,
    };
    if length != Length::None && !has_body {
        return Err(HeadError::Malformed("the Content-Length promises a body that is not sent"));
    }
    let expects_continue = match fields.first(Name::Expect) {
        None => false,
        Some(expected) if expected.eq_ignore_ascii_case(b"100-continue") => true,
        Some(_) => return Err(HeadError::Expectation),
    };
    Ok(Framing { length, persistent: true, expects_continue })
}
