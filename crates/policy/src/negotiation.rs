//! Which content coding a client wants, of those that can be made.
//!
//! In: a request's `Accept-Encoding`. Out: [`Wishes`], and of a set of codings those that
//! it wants most.
//! Law: RFC 9110 §12.5.3, §12.4.2 (weights).
//! Invariants: 1. a coding that the field doesn't allow is never chosen. 2. where there is no
//! field nothing is coded: the law would allow it, and such clients can't read it.
//! 3. a weight that can't be read allows nothing.

use wire::fields::trim;
use wire::{Coding, Codings, Fields, Name};

/// The largest weight, in thousandths.
const WHOLE: u16 = 1000;

/// How much a client wants each coding, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    weights: [u16; Coding::COUNT],
    /// What it said of content that is not coded; 0 where it said nothing.
    identity: u16,
}

impl Wishes {
    /// Reads a request's field. Allocates nothing, and costs a mask where there is none.
    #[must_use]
    pub fn of(request: &Fields) -> Self {
        if !request.has(Name::AcceptEncoding) {
            return Self::default();
        }
        let (mut named, mut identity, mut others) = ([None; Coding::COUNT], None, None);
        for member in request.members(Name::AcceptEncoding) {
            let (name, weight) = weigh(member);
            let place = match Coding::of(name) {
                Some(coding) => &mut named[coding.index()],
                None if name == b"*" => &mut others,
                None if name.eq_ignore_ascii_case(b"identity") => &mut identity,
                None => continue,
            };
            // Of two that contradict each other the one that allows less is safe.
            *place = Some(place.map_or(weight, |said: u16| said.min(weight)));
        }
        Self {
            weights: named.map(|said| said.or(others).unwrap_or(0)),
            identity: identity.or(others).unwrap_or(0),
        }
    }

    /// Of those on offer, the codings that are wanted most; several where they are wanted
    /// alike, none where content that is not coded is wanted more.
    #[must_use]
    pub fn best(self, offered: Codings) -> Codings {
        let weight = |coding: Coding| self.weights[coding.index()];
        let most = offered.iter().map(weight).max().unwrap_or(0);
        if most == 0 || most < self.identity {
            return Codings::NONE;
        }
        offered.iter().filter(|&coding| weight(coding) == most).collect()
    }
}

/// A member's coding and its weight.
fn weigh(member: &[u8]) -> (&[u8], u16) {
    let mut parts = member.split(|&byte| byte == b';').map(trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|parameter| match parameter {
        [b'q' | b'Q', b'=', value @ ..] => Some(thousandths(value).unwrap_or(0)),
        _ => None,
    });
    (name, weight.unwrap_or(WHOLE))
}

/// A weight by its grammar: `0` or `1`, and up to three digits behind a point.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, digits) = match text {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', digits @ ..] if digits.len() <= 3 => (whole, digits),
        _ => return None,
    };
    let mut value = u16::from(whole - b'0') * WHOLE;
    for (&digit, unit) in digits.iter().zip([100, 10, 1]) {
        value += u16::from(digit.is_ascii_digit().then(|| digit - b'0')?) * unit;
    }
    (value <= WHOLE).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, offered: &str, expected: &str) {
        let request = Fields::parse(field.as_bytes()).expect("valid fields");
        let offered: Codings =
            offered.split(' ').filter_map(|name| Coding::of(name.as_bytes())).collect();
        let best: Vec<_> = Wishes::of(&request).best(offered).iter().map(Coding::as_str).collect();
        assert_eq!(best.join(" "), expected, "{field:?}");
    }

    #[test]
    fn what_is_wanted_most_of_what_is_on_offer_is_chosen() {
        for (field, expected) in [
            ("", ""),
            ("accept-encoding:", ""),
            ("accept-encoding: identity", ""),
            ("accept-encoding: gzip", "gzip"),
            ("accept-encoding: X-GZIP", "gzip"),
            ("accept-encoding: gzip, deflate, br, zstd", "zstd br gzip"),
            ("accept-encoding: gzip\naccept-encoding: br", "br gzip"),
            ("accept-encoding: gzip;q=0.8, br;q=0.9", "br"),
            ("accept-encoding: gzip;q=1.000, br ; q=0.999", "gzip"),
            ("accept-encoding: br;Q=0.5, zstd;q=0.50", "zstd br"),
            ("accept-encoding: gzip;x=1;q=0", ""),
            ("accept-encoding: *", "zstd br gzip"),
            ("accept-encoding: *;q=0.5, gzip", "gzip"),
            ("accept-encoding: *, zstd;q=0", "br gzip"),
            ("accept-encoding: *;q=0", ""),
            ("accept-encoding: *;q=0, br;q=0.1", "br"),
            ("accept-encoding: deflate, compress, sdch", ""),
        ] {
            check(field, "gzip br zstd", expected);
        }
        check("accept-encoding: gzip, br, zstd;q=0.5", "gzip zstd", "gzip");
        check("accept-encoding: br", "gzip", "");
    }

    #[test]
    fn content_that_is_not_coded_may_be_wanted_more_or_not_at_all() {
        for (field, expected) in [
            ("accept-encoding: identity, gzip;q=0.5", ""),
            ("accept-encoding: identity;q=0.5, gzip", "gzip"),
            ("accept-encoding: identity, gzip", "gzip"),
            ("accept-encoding: identity;q=0, gzip;q=0.1", "gzip"),
            ("accept-encoding: identity;q=0", ""),
        ] {
            check(field, "gzip br zstd", expected);
        }
    }

    #[test]
    fn a_weight_that_can_not_be_read_allows_nothing() {
        for weight in ["", "2", "1.001", "0.1234", "-1", ".5", "1.", "0.x", "q", "\"1\"", "1;q=x"] {
            let expected = if matches!(weight, "1." | "1;q=x") { "gzip" } else { "" };
            check(&format!("accept-encoding: gzip;q={weight}"), "gzip", expected);
        }
        check("accept-encoding: gzip, gzip;q=0", "gzip", "");
    }
}
