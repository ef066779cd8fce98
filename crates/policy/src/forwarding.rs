//! What the origin is told about a request, and the client about an answer.
//!
//! Law: RFC 9110 §7.6 (forwarding), RFC 7239 (`Forwarded`).
//! Invariants: 1. nothing that a stranger says about where they come from, or about which
//! host, scheme or path they want, reaches the origin but by the request line and `Host`.
//! 2. a name that the origin could take for another one (`X_Forwarded_For` is
//! `X-Forwarded-For` in a CGI environment) doesn't pass either.

use core::net::IpAddr;

use http::Method;
use wire::fields::is_token;
use wire::{Fields, Name, RequestHead, Version, push_address};

use crate::hops;
use crate::purge::is_for_caches;

/// No name that is asked for by its bit.
const X_FORWARDED_PORT: &str = "x-forwarded-port";

/// The fields to ask the origin with: the request's, cleaned, with ours set.
#[must_use]
pub fn to_origin(head: &RequestHead, peer: IpAddr, scheme: &str) -> Fields {
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    let mut fields = head.fields.filtered(|known, name, _| {
        let stays_here = hops::is_of_one_hop(known, name)
            || matches!(known, Some(Name::ContentLength | Name::Expect | Name::Host))
            || hops::is_named(&head.fields, name)
            || is_claim(name)
            || is_ambiguous(name)
            || (reads && is_method_override(name));
        !stays_here
    });
    fields.put(Name::Host, &head.host);
    if head.fields.has(Name::Te) && head.fields.has_member(Name::Te, "trailers") {
        fields.put(Name::Te, "trailers");
        fields.put(Name::Connection, "te");
    }
    let peer = peer.to_canonical();
    let mut address = Vec::with_capacity(48);
    push_address(&mut address, peer);
    fields.put(Name::XForwardedFor, &address);
    fields.put(Name::XForwardedProto, scheme);
    fields.put(Name::XForwardedHost, &head.host);
    // Without it a proxy's port is taken for the standard one of the scheme.
    fields.push(X_FORWARDED_PORT, port(&head.host, scheme));
    fields.put(Name::Forwarded, forwarded(&address, peer.is_ipv6(), &head.host, scheme));
    let version = match head.version {
        Version::Http10 => "1.0 wick",
        Version::Http11 => "1.1 wick",
        Version::Http2 => "2.0 wick",
        Version::Http3 => "3.0 wick",
    };
    fields.put(Name::Via, version);
    fields
}

/// The fields to answer the client with: without those of the connection to the origin
/// and those by which an origin talks to its server.
#[must_use]
pub fn to_client(response: &Fields) -> Fields {
    response.filtered(|known, name, _| {
        let to_the_server = matches!(known, Some(Name::XSendfile | Name::Status))
            || starts_with(name, b"x-accel-")
            || (known.is_none() && is_for_caches(name));
        !to_the_server && !hops::is_of_one_hop(known, name) && !hops::is_named(response, name)
    })
}

/// Fields by which a proxy tells where a request came from and what was asked for. What a
/// stranger sends under these names is a claim, and apps believe it.
fn is_claim(name: &[u8]) -> bool {
    const CLAIMS: [&[u8]; 18] = [
        b"client-ip",
        b"cf-connecting-ip",
        b"fastly-client-ip",
        b"forwarded",
        b"front-end-https",
        b"proxy",
        // What follows of it is for whoever says it, and would be kept for everybody.
        b"surrogate-capability",
        b"true-client-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-host",
        b"x-http-host-override",
        // So does of this: LiteSpeed's plugins take it for their cache.
        b"x-lscache",
        b"x-original-host",
        b"x-original-url",
        b"x-proxyuser-ip",
        b"x-real-ip",
        b"x-rewrite-url",
    ];
    const START: &[u8] = b"x-forwarded";
    name.get(..START.len()).is_some_and(|start| is_read_as(start, START))
        || CLAIMS.iter().any(|claim| is_read_as(name, claim))
}

/// Fields that make a request another than its key says. A write may bear them.
fn is_method_override(name: &[u8]) -> bool {
    [&b"x-http-method-override"[..], b"x-http-method", b"x-method-override"]
        .iter()
        .any(|known| is_read_as(name, known))
}

/// Whether a name is only in a CGI environment one that Wick has an opinion about.
fn is_ambiguous(name: &[u8]) -> bool {
    name.contains(&b'_') && {
        let dashed: Vec<u8> = name.iter().map(|&b| if b == b'_' { b'-' } else { b }).collect();
        Name::of(&dashed).is_some()
    }
}

/// Whether a CGI environment shows both names as one.
fn is_read_as(name: &[u8], known: &[u8]) -> bool {
    let fold = |byte: &u8| if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    name.len() == known.len() && name.iter().map(fold).eq(known.iter().map(fold))
}

fn starts_with(name: &[u8], start: &[u8]) -> bool {
    name.get(..start.len()).is_some_and(|front| front.eq_ignore_ascii_case(start))
}

/// The port that the client asked at: the host's, else the scheme's own.
fn port<'a>(host: &'a str, scheme: &str) -> &'a str {
    let named = host.rsplit_once(':').map(|(_, port)| port);
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    named.filter(is_port).unwrap_or(if scheme == "https" { "443" } else { "80" })
}

/// One element of `Forwarded`; what is no token is quoted, and IPv6 stands in brackets.
fn forwarded(peer: &[u8], is_ipv6: bool, host: &str, scheme: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(peer.len() + host.len() + 48);
    let (open, close) = if is_ipv6 { ("\"[", "]\"") } else { ("", "") };
    let mut push = |part: &[u8]| text.extend_from_slice(part);
    [b"for=", open.as_bytes(), peer, close.as_bytes()].into_iter().for_each(&mut push);
    if !host.is_empty() {
        // A host holds neither quote nor backslash: `wire` saw to that.
        let quote: &[u8] = if host.bytes().all(is_token) { b"" } else { b"\"" };
        [b";host=", quote, host.as_bytes(), quote].into_iter().for_each(&mut push);
    }
    [b";proto=", scheme.as_bytes()].into_iter().for_each(push);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(method: Method, fields: &str) -> RequestHead {
        RequestHead {
            method,
            target: "/".to_owned(),
            host: "a.test:8080".to_owned(),
            version: Version::Http11,
            fields: Fields::parse(fields.as_bytes()).expect("valid fields"),
        }
    }

    fn peer(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Which of the request's own fields reach the origin.
    fn check(method: Method, fields: &str, expected: &str) {
        let sent = to_origin(&head(method, fields), peer("192.0.2.1"), "http");
        let ours = "host: a.test:8080\nx-forwarded-for: 192.0.2.1\nx-forwarded-proto: http\n\
                    x-forwarded-host: a.test:8080\nx-forwarded-port: 8080\n\
                    forwarded: for=192.0.2.1;host=\"a.test:8080\";proto=http\nvia: 1.1 wick";
        let all = Fields::parse(format!("{expected}\n{ours}").as_bytes()).expect("valid fields");
        assert_eq!(sent, all, "{fields:?}");
    }

    #[test]
    fn the_origin_is_sent_what_the_client_says_to_it() {
        check(Method::GET, "Accept: x\nCookie: a=b\nX-Own: 1", "Accept: x\nCookie: a=b\nX-Own: 1");
        check(
            Method::GET,
            "via: 1.1 cdn\nauthorization: Basic x",
            "via: 1.1 cdn\nauthorization: Basic x",
        );
        check(Method::GET, "host: other\nx_own: 1", "x_own: 1");
    }

    #[test]
    fn what_belongs_to_the_clients_connection_stays_here() {
        check(Method::POST, "connection: close, X-Hop\nx-hop: 1\nkeep-alive: 5\nx: y", "x: y");
        check(Method::POST, "transfer-encoding: chunked\ncontent-length: 5\ntrailer: x", "");
        check(Method::GET, "upgrade: h2c\nhttp2-settings: x\nproxy-authorization: x", "");
        check(Method::GET, "expect: 100-continue\nte: gzip", "");
    }

    #[test]
    fn claims_of_strangers_are_not_passed_on() {
        for name in [
            "X-Forwarded-For",
            "x-forwarded-host",
            "X-Forwarded-Proto",
            "X-Forwarded-Scheme",
            "X-Forwarded-Prefix",
            "X-Forwarded",
            "Forwarded",
            "X-Original-URL",
            "X-Rewrite-URL",
            "Proxy",
            "X-Real-IP",
            "True-Client-IP",
            "X-Host",
            "X_Forwarded_For",
            "x_forwarded-host",
            "X_Real_Ip",
            "Accept_Encoding",
            "Content_Length",
            "If_None_Match",
        ] {
            check(Method::POST, &format!("{name}: evil"), "");
        }
    }

    #[test]
    fn a_reading_request_cannot_ask_for_another_method() {
        let line = "X-HTTP-Method-Override: DELETE";
        check(Method::GET, line, "");
        check(Method::POST, line, line);
        check(Method::GET, "x_http_method: PUT", "");
    }

    #[test]
    fn trailers_are_asked_for_only_by_who_takes_them() {
        let sent = to_origin(&head(Method::GET, "te: gzip, trailers"), peer("192.0.2.1"), "http");
        assert_eq!(sent.text(Name::Te), Some("trailers"));
        assert_eq!(sent.text(Name::Connection), Some("te"));
    }

    #[test]
    fn addresses_are_written_as_the_fields_want_them() {
        for (address, host, by_x, by_forwarded) in [
            ("192.0.2.1", "a", "192.0.2.1", "for=192.0.2.1;host=a;proto=https"),
            ("2001:db8::1", "a", "2001:db8::1", "for=\"[2001:db8::1]\";host=a;proto=https"),
            ("::ffff:192.0.2.1", "", "192.0.2.1", "for=192.0.2.1;proto=https"),
            ("::1", "[::1]:80", "::1", "for=\"[::1]\";host=\"[::1]:80\";proto=https"),
        ] {
            let head = RequestHead { host: host.to_owned(), ..head(Method::GET, "") };
            let sent = to_origin(&head, peer(address), "https");
            assert_eq!(sent.text(Name::XForwardedFor), Some(by_x));
            assert_eq!(sent.text(Name::Forwarded), Some(by_forwarded));
        }
        let old = RequestHead { version: Version::Http10, ..head(Method::GET, "") };
        assert_eq!(to_origin(&old, peer("::1"), "http").text(Name::Via), Some("1.0 wick"));
    }

    #[test]
    fn the_port_is_the_one_that_was_asked_at() {
        for (host, scheme, expected) in [
            ("a.test:8080", "http", "8080"),
            ("a.test", "http", "80"),
            ("a.test", "https", "443"),
            ("[::1]", "https", "443"),
            ("[2001:db8::80]", "http", "80"),
            ("[::1]:8443", "https", "8443"),
            ("", "http", "80"),
        ] {
            let head = RequestHead { host: host.to_owned(), ..head(Method::GET, "") };
            let sent = to_origin(&head, peer("192.0.2.1"), scheme);
            let ports: Vec<_> = sent.all_named(X_FORWARDED_PORT).collect();
            assert_eq!(ports, [expected.as_bytes()], "{scheme}://{host}");
        }
    }

    #[test]
    fn the_client_is_sent_what_the_origin_says_to_it() {
        let received = "connection: x-hop\nx-hop: 1\nkeep-alive: 1\ntransfer-encoding: chunked\n\
                        x-accel-redirect: /a\nX-Accel-Buffering: no\nx-sendfile: /b\n\
                        Surrogate-Key: a b\nX-LiteSpeed-Purge: c\n\
                        set-cookie: a=b\nvia: 1.1 cdn\ncontent-length: 3";
        let received = Fields::parse(received.as_bytes()).expect("valid fields");
        let sent = Fields::parse(b"set-cookie: a=b\nvia: 1.1 cdn\ncontent-length: 3");
        assert_eq!(to_client(&received), sent.expect("valid fields"));
    }
}
