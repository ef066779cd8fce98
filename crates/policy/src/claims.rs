//! What a trusted proxy tells of the visitor: address and scheme.
//!
//! In: the request's fields, which of the two kinds of them the proxy writes, and whom the
//! owner trusts. Out: whom the nearest trusted proxies say that they speak for.
//! Law: RFC 7239; `X-Forwarded-For` by custom.
//! Invariants: 1. only what a trusted proxy wrote is believed: the walk goes from the right,
//! over trusted addresses, and ends with the first other one. 2. the other kind of fields,
//! which the proxy may have let through from anybody, is not looked at. 3. what can't be read
//! ends the walk where it stands.

use core::net::{IpAddr, SocketAddr};

use wire::fields::is_token;
use wire::{Fields, Name};

/// Which fields the trusted proxies write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustedField {
    /// `X-Forwarded-For` and `X-Forwarded-Proto`.
    #[default]
    XForwarded,
    /// `Forwarded`.
    Forwarded,
}

/// What proxies told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whom they speak for, with port 0 if none was told; none: it can't be said.
    pub visitor: Option<SocketAddr>,
    /// What the visitor speaks; none: it was not said.
    pub scheme: Option<&'static str>,
    /// Whether anything was said at all.
    pub is_told: bool,
}

/// What the proxies before us tell, who are all trusted as far as `is_trusted` goes.
pub fn told(fields: &Fields, field: TrustedField, is_trusted: impl Fn(IpAddr) -> bool) -> Told {
    match field {
        TrustedField::XForwarded => by_custom(fields, is_trusted),
        TrustedField::Forwarded => by_standard(fields, is_trusted),
    }
}

fn by_custom(fields: &Fields, is_trusted: impl Fn(IpAddr) -> bool) -> Told {
    let mut told = Told { is_told: fields.has(Name::XForwardedFor), ..Told::default() };
    let last = fields.all(Name::XForwardedProto).last();
    told.scheme = last.and_then(|value| scheme(value.rsplit(|&b| b == b',').next()?.trim_ascii()));
    let lines: Vec<&[u8]> = fields.all(Name::XForwardedFor).collect();
    for hop in lines.iter().rev().flat_map(|line| line.rsplit(|&byte| byte == b',')) {
        let Some(address) = node(hop.trim_ascii()) else {
            told.visitor = None;
            break;
        };
        told.visitor = Some(address);
        if !is_trusted(address.ip()) {
            break;
        }
    }
    told
}

fn by_standard(fields: &Fields, is_trusted: impl Fn(IpAddr) -> bool) -> Told {
    let mut told = Told { is_told: fields.has(Name::Forwarded), ..Told::default() };
    let lines: Vec<&[u8]> = fields.all(Name::Forwarded).collect();
    for line in lines.iter().rev() {
        // Quotes that a stranger opened could hide what a proxy wrote behind them: a line is
        // read as a whole, or not at all.
        let Some(hops) = elements(line) else {
            told.visitor = None;
            return told;
        };
        for hop in hops.iter().rev() {
            told.scheme = hop.scheme;
            told.visitor = hop.node;
            match hop.node {
                Some(address) if is_trusted(address.ip()) => {}
                _ => return told,
            }
        }
    }
    told
}

/// One element of `Forwarded`.
#[derive(Default)]
struct Hop {
    node: Option<SocketAddr>,
    scheme: Option<&'static str>,
}

/// The elements of one line; none if it is malformed (RFC 7239 §4).
fn elements(line: &[u8]) -> Option<Vec<Hop>> {
    let mut hops = vec![Hop::default()];
    let mut rest = line.trim_ascii();
    loop {
        let name_end = rest.iter().position(|&byte| !is_token(byte)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(name_end);
        let (value, behind) = value(behind.strip_prefix(b"=")?)?;
        let hop = hops.last_mut()?;
        match name.to_ascii_lowercase().as_slice() {
            b"" => return None,
            b"for" => hop.node = node(&value),
            b"proto" => hop.scheme = scheme(&value),
            _ => {}
        }
        rest = behind.trim_ascii_start();
        match rest.split_first() {
            None => return Some(hops),
            Some((b';', behind)) => rest = behind.trim_ascii_start(),
            Some((b',', behind)) => {
                hops.push(Hop::default());
                rest = behind.trim_ascii_start();
            }
            Some(_) => return None,
        }
    }
}

/// A token or a quoted string, and what stands behind it.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(|&byte| !is_token(byte)).unwrap_or(text.len());
        let (token, behind) = text.split_at(end);
        return (!token.is_empty()).then(|| (token.to_vec(), behind));
    };
    let mut value = Vec::new();
    loop {
        match rest {
            [b'"', behind @ ..] => return Some((value, behind)),
            [b'\\', byte, behind @ ..] | [byte, behind @ ..] => {
                value.push(*byte);
                rest = behind;
            }
            [] => return None,
        }
    }
}

/// An address, with or without a port; IPv6 with a port stands in brackets.
fn node(text: &[u8]) -> Option<SocketAddr> {
    let text = core::str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bare {
        let address: core::net::Ipv6Addr = address.parse().ok()?;
        return Some(SocketAddr::new(address.into(), 0));
    }
    match text.parse::<IpAddr>() {
        Ok(address) => Some(SocketAddr::new(address, 0)),
        Err(_) => text.parse().ok(),
    }
}

fn scheme(text: &[u8]) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|known| text.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whom the proxies of 10.0.0.0/8 speak for.
    fn check(field: TrustedField, fields: &str, expected: &str) {
        let parsed = Fields::parse(fields.as_bytes()).expect("valid fields");
        let is_trusted =
            |address: IpAddr| matches!(address, IpAddr::V4(four) if four.octets()[0] == 10);
        let Told { visitor, scheme, is_told } = told(&parsed, field, is_trusted);
        let visitor = visitor.map(|visitor| match visitor.port() {
            0 => visitor.ip().to_string(),
            _ => visitor.to_string(),
        });
        let visitor = visitor.as_deref().unwrap_or(if is_told { "unknown" } else { "-" });
        assert_eq!(format!("{visitor} {}", scheme.unwrap_or("-")), expected, "{fields:?}");
    }

    #[test]
    fn the_rightmost_address_that_is_not_trusted_is_the_visitor() {
        for (fields, expected) in [
            ("X-Forwarded-For: 192.0.2.1", "192.0.2.1 -"),
            ("X-Forwarded-For: 6.6.6.6, 192.0.2.1", "192.0.2.1 -"),
            ("X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.7", "192.0.2.1 -"),
            ("X-Forwarded-For: 6.6.6.6\nX-Forwarded-For: 192.0.2.1,10.0.0.7", "192.0.2.1 -"),
            ("X-Forwarded-For: 192.0.2.1\nX-Forwarded-For: 10.0.0.7", "192.0.2.1 -"),
            ("X-Forwarded-For: 10.0.0.9, 10.0.0.7", "10.0.0.9 -"),
            ("X-Forwarded-For: garbage, 192.0.2.1", "192.0.2.1 -"),
            ("X-Forwarded-For: 2001:db8::1", "2001:db8::1 -"),
            ("X-Forwarded-For: [2001:db8::1]", "2001:db8::1 -"),
            ("X-Forwarded-For: [2001:db8::1]:80", "[2001:db8::1]:80 -"),
            ("X-Forwarded-For: 192.0.2.1:5000", "192.0.2.1:5000 -"),
            ("X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: https", "192.0.2.1 https"),
            ("X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: https, http", "192.0.2.1 http"),
            ("X-Forwarded-Proto: HTTPS", "- https"),
            ("X-Forwarded-Proto: javascript", "- -"),
            ("", "- -"),
        ] {
            check(TrustedField::XForwarded, fields, expected);
        }
    }

    #[test]
    fn what_can_not_be_read_ends_the_walk_and_nothing_behind_it_is_believed() {
        for fields in [
            "X-Forwarded-For:",
            "X-Forwarded-For: unknown",
            "X-Forwarded-For: 192.0.2.1, unknown",
            "X-Forwarded-For: 192.0.2.1,",
            "X-Forwarded-For: 192.0.2.1, , 10.0.0.7",
            "X-Forwarded-For: 192.0.2.1 10.0.0.7",
            "X-Forwarded-For: 192.0.2.01",
            "X-Forwarded-For: 6.6.6.6, 1.2.3, 10.0.0.7",
        ] {
            check(TrustedField::XForwarded, fields, "unknown -");
        }
        for fields in [
            "Forwarded: for=unknown",
            "Forwarded: for=_hidden, for=10.0.0.7",
            "Forwarded: proto=http",
            "Forwarded: for=\"[::1\", for=10.0.0.7",
            "Forwarded: for=\"6.6.6.6, for=192.0.2.1",
            "Forwarded: for=6.6.6.6;;",
            "Forwarded: for =6.6.6.6",
            "Forwarded: for=192.0.2.1 for=6.6.6.6",
            "Forwarded: x",
        ] {
            let scheme = if fields.contains("proto") { "http" } else { "-" };
            check(TrustedField::Forwarded, fields, &format!("unknown {scheme}"));
        }
    }

    #[test]
    fn the_standard_field_tells_address_and_scheme_of_one_hop() {
        for (fields, expected) in [
            ("Forwarded: for=192.0.2.1;proto=https", "192.0.2.1 https"),
            ("Forwarded: For=\"[2001:db8::1]:80\" ; Proto=HTTPS", "[2001:db8::1]:80 https"),
            ("Forwarded: for=6.6.6.6;proto=http, for=192.0.2.1;proto=https", "192.0.2.1 https"),
            ("Forwarded: for=192.0.2.1;proto=https, for=10.0.0.7;proto=http", "192.0.2.1 https"),
            ("Forwarded: for=6.6.6.6\nForwarded: by=x;for=192.0.2.1", "192.0.2.1 -"),
            ("Forwarded: for=\"\\1.2.3.4\";host=\"a, b;for=6.6.6.6\"", "1.2.3.4 -"),
        ] {
            check(TrustedField::Forwarded, fields, expected);
        }
    }

    #[test]
    fn the_fields_that_the_proxy_does_not_write_are_not_looked_at() {
        let custom = "X-Forwarded-For: 6.6.6.6\nX-Forwarded-Proto: https";
        check(TrustedField::Forwarded, custom, "- -");
        check(TrustedField::XForwarded, "Forwarded: for=6.6.6.6;proto=https", "- -");
    }
}
