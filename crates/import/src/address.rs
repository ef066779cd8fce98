//! Addresses, hosts and ports as other servers write them.
//!
//! Invariant: what comes out is accepted by Wick's own readers of addresses.

use base::network::{Network, NetworkError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What an address to listen on turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    /// One or two addresses: a port alone may stand for both families.
    At(Vec<SocketAddr>),
    /// A Unix socket.
    Socket,
    /// A name, a range of ports or something else.
    Unclear,
}

/// nginx: `80`, `*:80`, `127.0.0.1`, `[::]:80`, `localhost:80`, `unix:/path`.
pub(crate) fn listen(text: &str, port: u16) -> Listen {
    if text.starts_with("unix:") || text.starts_with("unix/") {
        return Listen::Socket;
    }
    let at = |ip: IpAddr, port| Listen::At(vec![SocketAddr::new(ip, port)]);
    if let Some(port) = read_port(text) {
        return at(Ipv4Addr::UNSPECIFIED.into(), port);
    }
    let (host, port) = match split(text) {
        (host, None) => (host, Some(port)),
        (host, Some(port)) => (host, read_port(port)),
    };
    match (read_ip(host), port) {
        (Some(ip), Some(port)) => at(ip, port),
        _ => Listen::Unclear,
    }
}

/// All addresses of this machine.
pub(crate) fn everywhere(port: u16) -> Vec<SocketAddr> {
    vec![(Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into()]
}

/// `http://HOST[:PORT]`, or the like with TLS or HTTP/2, as Wick's `origin`; a path of `/` alone falls away.
pub(crate) fn http_origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let is_http = matches!(&*scheme, "http" | "https" | "h2c");
    let authority = authority.to_ascii_lowercase();
    (is_http && is_dial(&authority)).then(|| format!("{scheme}://{authority}"))
}

/// `unix:/path` or `tcp:HOST:PORT` as Wick's `php`; `prefixes` are those of a Unix socket.
pub(crate) fn php(text: &str, prefixes: &[&str]) -> Option<String> {
    for prefix in prefixes {
        if let Some(path) = text.strip_prefix(prefix) {
            // nginx allows a colon behind the path.
            let path = path.trim_end_matches(':');
            return is_plain_path(path).then(|| format!("unix:{path}"));
        }
    }
    let is_whole = matches!(split(text), (host, Some(_)) if !host.is_empty());
    (is_whole && is_dial(text)).then(|| format!("tcp:{text}"))
}

/// A whole path without variables or anything that no path has.
pub(crate) fn is_plain_path(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['$', '{', '}']) && !path.chars().any(char::is_control)
}

/// A network as `trusted_proxies` takes it; bits of an address within it fall away.
pub(crate) fn network(text: &str) -> Option<String> {
    match text.parse::<Network>() {
        Ok(network) | Err(NetworkError::HostBits(_, network)) => Some(network.to_string()),
        Err(NetworkError::Unreadable(_)) => None,
    }
}

/// A path that an origin can be asked for, to see whether it is well.
pub(crate) fn is_health_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && b != b'#')
}

/// A name that a visitor's `Host` can be compared with, in lower case; a port falls away.
pub(crate) fn host(text: &str) -> Option<String> {
    let (host, port) = split(text);
    if port.is_some_and(|port| read_port(port).is_none()) {
        return None;
    }
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        && host.split('.').all(|label| (1..=63).contains(&label.len()));
    let is_ip = host.starts_with('[') && read_ip(host).is_some();
    (is_name || is_ip).then(|| host.to_ascii_lowercase())
}

/// `HOST[:PORT]`.
fn is_dial(text: &str) -> bool {
    let (name, port) = split(text);
    let is_port = port.is_none_or(|port| read_port(port).is_some());
    is_port && (host(name).is_some() || read_ip(name).is_some() && name.starts_with('['))
}

/// Cuts the port off; the colons within the brackets of an IPv6 address are none.
pub(crate) fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}

pub(crate) fn read_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&port: &u16| is_number && port > 0)
}

fn read_ip(text: &str) -> Option<IpAddr> {
    match text {
        "*" => Some(Ipv4Addr::UNSPECIFIED.into()),
        "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        _ => match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::from),
            None => text.parse::<Ipv4Addr>().ok().map(IpAddr::from),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_are_read() {
        for (text, expected) in [
            ("80", "0.0.0.0:80"),
            ("*:8080", "0.0.0.0:8080"),
            ("127.0.0.1", "127.0.0.1:80"),
            ("[::]:80", "[::]:80"),
            ("[::1]", "[::1]:80"),
            ("localhost:81", "127.0.0.1:81"),
        ] {
            let expected = Listen::At(vec![expected.parse().expect("an address")]);
            assert_eq!(listen(text, 80), expected, "{text}");
        }
        assert_eq!(listen("unix:/run/a.sock", 80), Listen::Socket);
        for text in ["", "0", "example.org:80", "80-90", "1.2.3.4:99999", "[::", ":", "+80", "::1"]
        {
            assert_eq!(listen(text, 80), Listen::Unclear, "{text}");
        }
    }

    #[test]
    fn origins_and_php_are_read() {
        for (text, expected) in [
            ("http://127.0.0.1:3000/", Some("http://127.0.0.1:3000")),
            ("HTTP://app", Some("http://app")),
            ("h2c://app:81", Some("h2c://app:81")),
            ("http://[::1]:81", Some("http://[::1]:81")),
            ("http://a/b", None),
            ("http://$host", None),
            ("http://unix:/run/a.sock", None),
            ("http://", None),
            ("ftp://a", None),
            ("http://a:0", None),
        ] {
            assert_eq!(http_origin(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("unix:/run/php/php8.4-fpm.sock", Some("unix:/run/php/php8.4-fpm.sock")),
            ("127.0.0.1:9000", Some("tcp:127.0.0.1:9000")),
            ("php:9000", Some("tcp:php:9000")),
            ("php", None),
            ("unix:run", None),
            ("$upstream", None),
        ] {
            assert_eq!(php(text, &["unix:"]).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("Example.org", Some("example.org")),
            ("a.test:8080", Some("a.test")),
            ("[::1]", Some("[::1]")),
            ("*.a.test", None),
            ("a..b", None),
            ("bücher.de", None),
            ("", None),
        ] {
            assert_eq!(host(text).as_deref(), expected, "{text}");
        }
    }
}
