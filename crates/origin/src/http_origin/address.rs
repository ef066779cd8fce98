//! The address of an HTTP origin as an owner writes it.

use crate::Dial;

/// A text that is not the address of an HTTP origin; its message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Some other scheme, or none.
    #[error(
        "\"{0}\" is not an origin: write http://HOST:PORT or https://HOST, as in \
         http://127.0.0.1:3000; or h2c://HOST:PORT for one that speaks HTTP/2 without TLS"
    )]
    NotHttp(String),
    /// More than host and port.
    #[error(
        "\"{0}\" has a path, a query or a user name: an origin is named by host and port alone, \
         and gets the paths that visitors ask for"
    )]
    Path(String),
    /// The port is not a number from 1 to 65535.
    #[error("\"{0}\" names no usable port: write a number from 1 to 65535 after the colon")]
    Port(String),
}

/// An address, taken apart.
pub(crate) struct Address {
    pub(crate) dial: Dial,
    /// For `Host` where a request names none.
    pub(crate) authority: String,
    /// The name that a certificate has to be for.
    pub(crate) host: String,
    pub(crate) is_tls: bool,
    /// It is said to speak HTTP/2 in the clear.
    pub(crate) is_h2c: bool,
}

impl Address {
    /// Reads `http://HOST[:PORT][/]`, or the same with `https` or `h2c`.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let given = || text.to_owned();
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| AddressError::NotHttp(given()))?;
        let is_tls = scheme.eq_ignore_ascii_case("https");
        let is_h2c = scheme.eq_ignore_ascii_case("h2c");
        if !is_tls && !is_h2c && !scheme.eq_ignore_ascii_case("http") {
            return Err(AddressError::NotHttp(given()));
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err(AddressError::Path(given()));
        }
        let (host, port) = split_port(authority);
        let is_host = !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~[]:%".contains(&b));
        if !is_host {
            return Err(AddressError::NotHttp(given()));
        }
        let port = match port.map(str::parse::<u16>) {
            None if is_tls => 443,
            None => 80,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return Err(AddressError::Port(given())),
        };
        let dial = Dial::Tcp(format!("{host}:{port}"));
        let authority = authority.to_ascii_lowercase();
        Ok(Self { dial, authority, host: host.to_ascii_lowercase(), is_tls, is_h2c })
    }
}

/// Cuts the port off; the colons within the brackets of an IPv6 address are none.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused_with_the_cure() {
        for (text, seen) in [
            ("http://127.0.0.1:3000", "tcp:127.0.0.1:3000 127.0.0.1:3000"),
            ("http://127.0.0.1:3000/", "tcp:127.0.0.1:3000 127.0.0.1:3000"),
            ("HTTP://App.Local", "tcp:App.Local:80 app.local"),
            ("http://[::1]:81", "tcp:[::1]:81 [::1]:81"),
            ("http://[::1]", "tcp:[::1]:80 [::1]"),
            ("https://a", "tcp:a:443 a tls a"),
            ("HTTPS://A.Local:8443/", "tcp:A.Local:8443 a.local:8443 tls a.local"),
            ("h2c://127.0.0.1:81", "tcp:127.0.0.1:81 127.0.0.1:81 h2c"),
            ("H2C://a/", "tcp:a:80 a h2c"),
            ("h2://a", "or h2c://HOST:PORT for one that speaks"),
            ("http://a/base", "has a path"),
            ("http://a?b", "has a path"),
            ("http://u:p@a", "has a path"),
            ("http://a:0", "no usable port"),
            ("http://a:99999", "no usable port"),
            ("http://a:", "no usable port"),
            ("http://", "is not an origin"),
            ("ftp://a", "is not an origin"),
            ("localhost:3000", "is not an origin"),
            ("http://a b", "is not an origin"),
        ] {
            let shown = match Address::parse(text) {
                Ok(Address { dial, authority, host, is_tls: true, .. }) => {
                    format!("{dial} {authority} tls {host}")
                }
                Ok(Address { dial, authority, is_h2c: true, .. }) => {
                    format!("{dial} {authority} h2c")
                }
                Ok(Address { dial, authority, .. }) => format!("{dial} {authority}"),
                Err(error) => error.to_string(),
            };
            assert!(shown.contains(seen), "{text}: {shown}");
        }
    }
}
