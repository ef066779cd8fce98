//! HTTP/1 as far as a tracker needs it: heads in, answers out.
//!
//! In: what a connection has received. Out: how much of it was a request, and whose. Nothing is
//! kept of a request but its target, who speaks for whom, and a wish for WebSocket.
//! Law: RFC 9112; a request has no body here, and one that has closes its connection.

use std::net::IpAddr;

use base::network::Network;

use super::web::{Upgrade, wish};

/// Fields of one request.
const FIELDS_MAX: usize = 48;
/// Bytes of a request's head: a scrape may name many torrents, of which each takes 70 bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 8 << 10;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    /// Its target.
    pub(crate) target: &'a [u8],
    /// Bytes of its head.
    pub(crate) head_bytes: usize,
    /// Whether another may follow.
    pub(crate) stays: bool,
    /// Whom it is made for, if a proxy that is believed says so.
    pub(crate) speaks_for: Option<IpAddr>,
    /// Whether it wants to go on in WebSocket.
    pub(crate) upgrade: Option<Upgrade<'a>>,
}

/// What is to be made of what was received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read<'a> {
    /// A request.
    Whole(Request<'a>),
    /// The beginning of one.
    More,
    /// What nobody can answer but with this status.
    Wrong(&'static str),
}

/// Reads the first request of what was received by a connection from `peer`.
pub(crate) fn read<'a>(received: &'a [u8], peer: IpAddr, proxies: &[Network]) -> Read<'a> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let head_bytes = match request.parse(received) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if received.len() < HEAD_BYTES_MAX => return Read::More,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Read::Wrong("431 Request Header Fields Too Large");
        }
        Err(_) => return Read::Wrong("400 Bad Request"),
    };
    if head_bytes > HEAD_BYTES_MAX {
        return Read::Wrong("431 Request Header Fields Too Large");
    }
    if request.method != Some("GET") {
        return Read::Wrong("405 Method Not Allowed");
    }
    let mut stays = request.version == Some(1);
    let mut upgrade = None;
    for field in request.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        match field.name.len() {
            7 if is("upgrade") && request.version == Some(1) => upgrade = wish(request.headers),
            10 if is("connection") => stays = stays_by(field.value, stays),
            14 if is("content-length") && field.value != b"0" => {
                return Read::Wrong("413 Content Too Large");
            }
            17 if is("transfer-encoding") => return Read::Wrong("413 Content Too Large"),
            _ => {}
        }
    }
    let speaks_for = match proxies.iter().any(|network| network.holds(peer)) {
        true => spoken_for(request.headers, proxies),
        false => None,
    };
    let target = origin_form(request.path.unwrap_or_default().as_bytes());
    Read::Whole(Request { target, head_bytes, stays, speaks_for, upgrade })
}

/// Whether a connection stays by what its field says.
fn stays_by(value: &[u8], by_version: bool) -> bool {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).fold(by_version, |stays, word| {
        if word.eq_ignore_ascii_case(b"close") {
            false
        } else {
            stays || word.eq_ignore_ascii_case(b"keep-alive")
        }
    })
}

/// The rightmost address of `X-Forwarded-For` that is no proxy's; none if it can't be said.
fn spoken_for(fields: &[httparse::Header<'_>], proxies: &[Network]) -> Option<IpAddr> {
    let lines = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("x-forwarded-for"));
    let mut last = None;
    for hop in lines.rev().flat_map(|line| line.value.rsplit(|&byte| byte == b',')) {
        let address = address_of(hop.trim_ascii())?.to_canonical();
        last = Some(address);
        if !proxies.iter().any(|network| network.holds(address)) {
            break;
        }
    }
    last
}

fn address_of(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?;
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let alone = text.parse::<IpAddr>();
    alone.or_else(|_| text.parse::<std::net::SocketAddr>().map(|it| it.ip())).ok()
}

/// A target without the scheme and host that some clients put before it (RFC 9112 §3.2.2).
fn origin_form(target: &[u8]) -> &[u8] {
    let Some(rest) = target.strip_prefix(b"http://") else { return target };
    rest.iter().position(|&byte| byte == b'/').map_or(b"/", |at| &rest[at..])
}

/// Appends an answer: `200 OK` with what was bencoded, or a sentence with another status.
pub(crate) fn put_answer(out: &mut Vec<u8>, status: &str, stays: bool, body: &[u8]) {
    out.reserve(128 + body.len());
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_bytes());
    out.extend_from_slice(b"\r\nContent-Type: text/plain\r\nContent-Length: ");
    let mut digits = [0; 20];
    let mut rest = &mut digits[..];
    // A length has at most twenty digits.
    let _ = std::io::Write::write_fmt(&mut rest, format_args!("{}", body.len()));
    let count = 20 - rest.len();
    out.extend_from_slice(&digits[..count]);
    out.extend_from_slice(match stays {
        true => b"\r\nConnection: keep-alive\r\n\r\n".as_slice(),
        false => b"\r\nConnection: close\r\n\r\n",
    });
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(received: &str, peer: &str) -> String {
        let proxies = ["10.0.0.0/8".parse().expect("a network")];
        match read(received.as_bytes(), peer.parse().expect("an address"), &proxies) {
            Read::Whole(Request { target, head_bytes, stays, speaks_for, .. }) => {
                let target = String::from_utf8_lossy(target);
                let rest = received.len() - head_bytes;
                let whom = speaks_for.map(|whom| format!(" {whom}")).unwrap_or_default();
                format!("{target} {} {rest}{whom}", if stays { "stays" } else { "goes" })
            }
            Read::More => "more".to_owned(),
            Read::Wrong(status) => status[..3].to_owned(),
        }
    }

    #[test]
    fn a_request_is_its_target_and_whether_another_follows() {
        for (received, expected) in [
            ("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", "/a?b stays 0"),
            ("GET /a HTTP/1.1\r\n\r\nGET /b", "/a stays 6"),
            ("GET /a HTTP/1.0\r\n\r\n", "/a goes 0"),
            ("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "/a stays 0"),
            ("GET /a HTTP/1.1\r\nConnection: TE, close\r\n\r\n", "/a goes 0"),
            ("GET http://t.test:2710/a HTTP/1.1\r\n\r\n", "/a stays 0"),
            ("GET http://t.test HTTP/1.1\r\n\r\n", "/ stays 0"),
            ("GET /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "/a stays 0"),
            ("GET /a HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "413"),
            ("GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "413"),
            ("POST /a HTTP/1.1\r\n\r\n", "405"),
            ("GET /a b HTTP/1.1\r\n\r\n", "400"),
            ("\u{16}\u{3}\u{1}\0", "400"),
            ("GET /a HTT", "more"),
            ("", "more"),
        ] {
            assert_eq!(told(received, "192.0.2.1"), expected, "{received:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(told(&long, "192.0.2.1"), "431");
        let whole = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(told(&whole, "192.0.2.1"), "431");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(told(&many, "192.0.2.1"), "431");
    }

    #[test]
    fn only_a_proxy_that_is_named_speaks_for_others() {
        for (peer, fields, expected) in [
            ("10.0.0.1", "X-Forwarded-For: 192.0.2.7", " 192.0.2.7"),
            ("10.0.0.1", "x-forwarded-for: 1.2.3.4, 192.0.2.7, 10.0.0.2", " 192.0.2.7"),
            (
                "10.0.0.1",
                "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: ::ffff:192.0.2.7",
                " 192.0.2.7",
            ),
            ("10.0.0.1", "X-Forwarded-For: 10.0.0.3, 10.0.0.2", " 10.0.0.3"),
            ("10.0.0.1", "X-Forwarded-For: [2001:db8::1]:80", " 2001:db8::1"),
            ("10.0.0.1", "X-Forwarded-For: 192.0.2.7, unknown", ""),
            ("10.0.0.1", "A: b", ""),
            ("192.0.2.1", "X-Forwarded-For: 192.0.2.7", ""),
        ] {
            let received = format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
            assert_eq!(told(&received, peer), format!("/ stays 0{expected}"), "{peer} {fields}");
        }
    }

    #[test]
    fn an_answer_says_its_length() {
        let mut out = Vec::new();
        put_answer(&mut out, "200 OK", true, b"d5:peers0:e");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.contains("Content-Length: 11\r\nConnection: keep-alive\r\n\r\nd5:"), "{text}");
    }
}
