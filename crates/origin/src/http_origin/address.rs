//! The address of an HTTP origin as an owner writes it.

use crate::Dial;

/// A text that is not the address of an HTTP origin; its message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Some other scheme, or none.
    #[error("\"{0}\" is not an origin: write http://HOST:PORT, as in http://127.0.0.1:3000")]
    NotHttp(String),
    /// TLS towards the origin.
    #[error(
        "\"{0}\": https origins are not supported yet: name the plain http port of the origin, \
         as in http://127.0.0.1:3000"
    )]
    Https(String),
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

/// Reads `http://HOST[:PORT][/]`; gives the dial address and the authority for `Host`.
pub(crate) fn parse(text: &str) -> Result<(Dial, String), AddressError> {
    let given = || text.to_owned();
    let (scheme, rest) = text.split_once("://").ok_or_else(|| AddressError::NotHttp(given()))?;
    if scheme.eq_ignore_ascii_case("https") {
        return Err(AddressError::Https(given()));
    }
    if !scheme.eq_ignore_ascii_case("http") {
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
    let port = match port {
        None => 80,
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => return Err(AddressError::Port(given())),
        },
    };
    Ok((Dial::Tcp(format!("{host}:{port}")), authority.to_ascii_lowercase()))
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
            ("https://a", "https origins are not supported yet"),
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
            let shown = match parse(text) {
                Ok((dial, authority)) => format!("{dial} {authority}"),
                Err(error) => error.to_string(),
            };
            assert!(shown.contains(seen), "{text}: {shown}");
        }
    }
}
