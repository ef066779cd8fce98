//! Request heads of HTTP/2 and HTTP/3: what a library has decoded, checked as strictly as a
//! head of HTTP/1.1, and made the same [`RequestHead`].
//!
//! In: a request's pseudo-fields and fields, as the crates `h2` and `h3` hand them over.
//! Upper case, unknown and repeated pseudo-fields, and those of responses were refused: by `h2`
//! itself, and before `h3` by [`crate::qpack`]. Out: a head and its framing, or why the stream
//! must end.
//! Law: RFC 9113 §8.2, §8.3; RFC 9114 §4.2, §4.3; RFC 9110 §7.2.
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
/// behind it. Its version is what the connection speaks.
///
/// # Errors
/// The request is malformed, or asks for what is not served.
pub fn read_head(
    parts: &Parts,
    has_body: bool,
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Framing, HeadError> {
    head.version = match parts.version {
        http::Version::HTTP_3 => Version::Http3,
        _ => Version::Http2,
    };
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
    if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(HeadError::Malformed("the :path holds a forbidden character"));
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
    for name in fields.keys() {
        if name == COOKIE {
            let crumbs = fields.get_all(name).iter().map(|crumb| crumb.as_bytes());
            push_cookies(crumbs, head)?;
            continue;
        }
        for value in fields.get_all(name) {
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
        .map_err(|_| HeadError::Malformed("a field holds a forbidden character"))?;
    if head.fields.len() > FIELDS_MAX { Err(HeadError::TooLarge) } else { Ok(()) }
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

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// Reads a head written as `METHOD URI`, then fields, a line each.
    fn read(text: &str, has_body: bool) -> Result<(RequestHead, Framing), HeadError> {
        let mut lines = text.split('\n');
        let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("a line");
        let mut request = Request::builder().method(method).uri(uri);
        for line in lines {
            let (name, value) = line.split_once(':').expect("a field");
            request = request.header(name, value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let mut head = RequestHead::default();
        let limits = HeadLimits { target_bytes_max: 50, ..HeadLimits::default() };
        let framing = read_head(&parts, has_body, &mut head, &limits)?;
        Ok((head, framing))
    }

    #[test]
    fn heads_are_those_of_http11() {
        for (text, host, target, fields) in [
            ("GET http://A.test:80/x?y", "a.test:80", "/x?y", "host: a.test:80|"),
            ("GET http://a.test", "a.test", "/", "host: a.test|"),
            ("GET /x\nhost:A.test", "a.test", "/x", "host: a.test|"),
            ("GET http://a.test/\nhost:A.TEST", "a.test", "/", "host: a.test|"),
            ("GET http://[::1]:8/", "[::1]:8", "/", "host: [::1]:8|"),
            ("OPTIONS *\nhost:a", "a", "*", "host: a|"),
            ("GET http://a/\nte:Trailers\nx:y z", "a", "/", "host: a|te: Trailers|x: y z|"),
            ("GET http://a/\ncookie:b=1", "a", "/", "host: a|cookie: b=1|"),
            (
                "GET http://a/\ncookie:b=1\nx:1\ncookie:c=2\ncookie:d=\"3\"",
                "a",
                "/",
                "host: a|cookie: b=1; c=2; d=\"3\"|x: 1|",
            ),
            ("GET http://a/é", "a", "/%C3%A9", "host: a|"),
        ] {
            let (head, framing) = read(text, false).expect(text);
            let mut out = Vec::new();
            head.fields.render(&mut out);
            let shown = String::from_utf8(out).expect("text").replace("\r\n", "|");
            assert_eq!((&*head.host, &*head.target, &*shown), (host, target, fields), "{text}");
            assert_eq!((head.version, framing.length), (Version::Http2, Length::None));
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let long = format!("GET http://a/{}", "x".repeat(50));
        for (text, status) in [
            ("CONNECT a:80", 400),
            ("GET /", 400),
            ("GET /\nhost:", 400),
            ("GET /\nhost:a b", 400),
            ("GET /\nhost:a\nhost:a", 400),
            ("GET http://a/\nhost:b", 400),
            ("GET http://u@a/", 400),
            ("GET ftp://a/", 400),
            ("GET *\nhost:a", 400),
            (&long, 414),
            ("GET http://a/\nconnection:close", 400),
            ("GET http://a/\nkeep-alive:1", 400),
            ("GET http://a/\nproxy-connection:1", 400),
            ("GET http://a/\ntransfer-encoding:chunked", 400),
            ("GET http://a/\nupgrade:x", 400),
            ("GET http://a/\nte:trailers, gzip", 400),
            ("GET http://a/\nx: y", 400),
            ("GET http://a/\nx:y\t", 400),
            ("GET http://a/\ncookie:a=1\ncookie: b=1", 400),
            ("GET http://a/\ncontent-length:1", 400),
            ("GET http://a/\ncontent-length:1, 1", 400),
            ("GET http://a/\nexpect:miracles", 417),
        ] {
            let refused = read(text, false).map(|(head, _)| head.target);
            assert_eq!(refused.map_err(HeadError::status), Err(status), "{text}");
        }
    }

    #[test]
    fn a_body_is_what_frames_bring() {
        for (text, has_body, length) in [
            ("POST http://a/", true, Length::Chunked),
            ("POST http://a/\ncontent-length:3", true, Length::Known(3)),
            ("POST http://a/\ncontent-length:0", true, Length::None),
            ("POST http://a/\ncontent-length:0", false, Length::None),
        ] {
            assert_eq!(read(text, has_body).expect(text).1.length, length, "{text}");
        }
        let (_, framing) = read("POST http://a/\nexpect:100-Continue", true).expect("a head");
        assert!(framing.expects_continue);
    }

    #[test]
    fn there_is_a_bound_on_fields_but_not_on_crumbs_of_a_cookie() {
        let with = |name: &str, count: usize| {
            (0..count).fold("GET http://a/".to_owned(), |text, _| text + "\n" + name + ":a=1")
        };
        assert!(read(&with("x", 99), false).is_ok());
        assert_eq!(read(&with("x", 100), false).err(), Some(HeadError::TooLarge));
        assert!(read(&with("cookie", 500), false).is_ok());
    }
}
