//! Percent codes: addresses and urlencoded forms.
//!
//! Law: RFC 3986 §2.1; the WHATWG URL standard for forms, where `+` is a space.

use std::borrow::Cow;

use super::hexadecimal;

/// Where a value stands, which decides how a space is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A path: `+` is itself.
    Path,
    /// A query or a form: `+` is a space.
    Form,
}

/// The bytes that percent codes stand for.
pub(crate) fn decode(text: &[u8], place: Place) -> Cow<'_, [u8]> {
    let has_plus = place == Place::Form && memchr::memchr(b'+', text).is_some();
    if !has_plus && memchr::memchr(b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let code = text.get(at + 1..at + 3).filter(|_| text[at] == b'%').and_then(hexadecimal);
        match (text[at], code) {
            (_, Some(byte)) => out.push(byte as u8),
            (b'+', _) if place == Place::Form => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += if code.is_some() { 3 } else { 1 };
    }
    Cow::Owned(out)
}

/// Spells bytes so that they are one value and nothing else.
pub(crate) fn encode(value: &[u8], place: Place) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            b' ' if place == Place::Form => out.push(b'+'),
            // Characters that may stand in a segment of a path, and often do.
            b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b':' | b'=' | b'@' | b'&'
                if place == Place::Path =>
            {
                out.push(byte);
            }
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(coded: &str, place: Place, expected: &str) {
        let found = decode(coded.as_bytes(), place);
        assert_eq!(String::from_utf8_lossy(&found), expected, "{coded} in {place:?}");
    }

    #[test]
    fn codes_are_read_and_a_plus_is_a_space_only_in_a_form() {
        check("a%2Fb%3d+c", Place::Form, "a/b= c");
        check("a%2Fb+c", Place::Path, "a/b+c");
        check("100%", Place::Form, "100%");
        check("%zz%4", Place::Form, "%zz%4");
        check("%E2%82%AC", Place::Path, "€");
    }

    #[test]
    fn every_byte_comes_back_from_either_place() {
        let all: Vec<u8> = (0..=255).collect();
        for place in [Place::Path, Place::Form] {
            let coded = encode(&all, place);
            assert!(coded.iter().all(|byte| byte.is_ascii_graphic()), "{place:?}");
            assert_eq!(&*decode(&coded, place), &all[..], "{place:?}");
        }
    }
}
