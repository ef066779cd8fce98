//! `Accept-Encoding` as a set: what a client takes, in no order.
//!
//! Two clients that take the same codings can be given the same page, whatever
//! weights and white space they write. A coding that Wick has no name for stays in
//! the set under its own, because the origin may know it.
//! Law: RFC 9110 §12.5.3, RFC 9111 §4.1.

use wire::fields::trim;
use wire::{Fields, Name};

const KNOWN: [(&[u8], u8); 8] = [
    (b"gzip", 1),
    (b"x-gzip", 1),
    (b"br", 2),
    (b"zstd", 4),
    (b"deflate", 8),
    (b"identity", 16),
    (b"compress", 32),
    (b"*", 64),
];
/// The field is there, be it empty.
const PRESENT: u8 = 128;

/// The codings that one request takes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CodingSet<'a> {
    /// Bits of [`KNOWN`] with a weight above zero, and [`PRESENT`].
    accepted: u8,
    /// Bits of [`KNOWN`] with weight zero.
    refused: u8,
    /// What Wick has no name for, sorted; empty, and so without an allocation, for nearly all.
    others: Vec<(&'a [u8], bool)>,
}

impl<'a> CodingSet<'a> {
    pub(crate) fn of(request: &'a Fields) -> Self {
        let mut set = Self::default();
        if !request.has(Name::AcceptEncoding) {
            return set;
        }
        set.accepted = PRESENT;
        for member in request.members(Name::AcceptEncoding) {
            let (coding, refused) = weigh(member);
            match KNOWN.iter().find(|(name, _)| coding.eq_ignore_ascii_case(name)) {
                Some((_, bit)) if refused => set.refused |= bit,
                Some((_, bit)) => set.accepted |= bit,
                None => set.others.push((coding, refused)),
            }
        }
        set.others.sort_unstable();
        set.others.dedup();
        set
    }

    /// Appends bytes that are equal exactly if the sets are.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.accepted, self.refused]);
        for (coding, refused) in &self.others {
            out.push(if *refused { b'!' } else { b',' });
            out.extend_from_slice(coding);
        }
    }

    /// Whether [`CodingSet::write`] would append these bytes; writes nothing.
    pub(crate) fn is_written_as(&self, mut text: &[u8]) -> bool {
        let Some(rest) = text.strip_prefix(&[self.accepted, self.refused]) else { return false };
        text = rest;
        for (coding, refused) in &self.others {
            let mark: &[u8] = if *refused { b"!" } else { b"," };
            let Some(rest) = text.strip_prefix(mark).and_then(|rest| rest.strip_prefix(*coding))
            else {
                return false;
            };
            text = rest;
        }
        text.is_empty()
    }
}

/// A member's coding, and whether its weight is zero.
fn weigh(member: &[u8]) -> (&[u8], bool) {
    let Some(semicolon) = member.iter().position(|&b| b == b';') else { return (member, false) };
    let refused = member[semicolon + 1..].split(|&b| b == b';').map(trim).any(|parameter| {
        let weight = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="));
        weight.is_some_and(|weight| {
            weight.starts_with(b"0") && weight.iter().all(|&b| b == b'0' || b == b'.')
        })
    });
    (trim(&member[..semicolon]), refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(left: &str, right: &str) -> bool {
        let fields = |line: &str| {
            Fields::parse(format!("accept-encoding: {line}").as_bytes()).expect("valid fields")
        };
        let (left, right) = (fields(left), fields(right));
        let mut written = Vec::new();
        CodingSet::of(&left).write(&mut written);
        let read = CodingSet::of(&right).is_written_as(&written);
        assert_eq!(read, CodingSet::of(&left) == CodingSet::of(&right));
        read
    }

    #[test]
    fn clients_that_take_the_same_codings_are_alike() {
        for (left, right) in [
            ("gzip, br", "br,gzip"),
            ("gzip;q=1.0, br;q=0.5", "br, gzip"),
            ("GZIP", "x-gzip"),
            ("gzip, gzip", "gzip"),
            ("foo, gzip", "gzip, foo"),
            ("br;q=0", "br; q=0.000"),
            ("", ","),
        ] {
            assert!(same(left, right), "{left:?} and {right:?}");
        }
    }

    #[test]
    fn clients_that_take_different_codings_are_not() {
        for (left, right) in [
            ("gzip", "br"),
            ("gzip", "gzip, br"),
            ("gzip", "gzip;q=0"),
            ("gzip", "gzip, foo"),
            ("foo", "foo;q=0"),
            ("foo", "bar"),
            ("gzip", "*"),
            ("identity;q=0, gzip", "gzip"),
            ("gzip", ""),
        ] {
            assert!(!same(left, right), "{left:?} and {right:?}");
        }
        let mut absent = Vec::new();
        CodingSet::of(&Fields::new()).write(&mut absent);
        let empty = Fields::parse(b"accept-encoding:").expect("valid fields");
        assert!(!CodingSet::of(&empty).is_written_as(&absent));
    }
}
