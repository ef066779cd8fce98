//! The escapes of JSON and JavaScript string literals.
//!
//! Law: RFC 8259 §7; `\xHH` and the escapes of marks are JavaScript's (ECMA-262).

use std::borrow::Cow;

use super::{hexadecimal, push_character};

/// The text of a literal, given without its quotes.
pub(crate) fn decode(literal: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', literal).is_none() {
        return Cow::Borrowed(literal);
    }
    let mut out = Vec::with_capacity(literal.len());
    let mut at = 0;
    while at < literal.len() {
        if literal[at] != b'\\' {
            out.push(literal[at]);
            at += 1;
            continue;
        }
        at += 1;
        let Some(&mark) = literal.get(at) else {
            out.push(b'\\');
            break;
        };
        at += 1;
        match mark {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' | b'x' => at += unicode(mark, &literal[at..], &mut out),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Appends the character of `\uHHHH` or `\xHH`, two halves of a pair included; gives the
/// number of bytes behind the mark that were used.
fn unicode(mark: u8, rest: &[u8], out: &mut Vec<u8>) -> usize {
    let length = if mark == b'u' { 4 } else { 2 };
    let Some(first) = rest.get(..length).and_then(hexadecimal) else {
        out.extend_from_slice(&[b'\\', mark]);
        return 0;
    };
    let second = rest
        .get(4..10)
        .filter(|_| (0xd800..0xdc00).contains(&first))
        .and_then(|rest| rest.strip_prefix(b"\\u"))
        .and_then(hexadecimal)
        .filter(|second| (0xdc00..0xe000).contains(second));
    match second {
        Some(second) => {
            push_character(out, 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            10
        }
        None => {
            push_character(out, first);
            length
        }
    }
}

/// Writes text so that it can stand between double quotes.
pub(crate) fn encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literal: &str, expected: &str) {
        let found = decode(literal.as_bytes());
        assert_eq!(String::from_utf8_lossy(&found), expected, "{literal}");
    }

    #[test]
    fn escapes_are_read() {
        check(r"\/a\\b\x26\u0026\n", "/a\\b&&\n");
        check(r"\u00e9 \ud83d\ude00", "é 😀");
        check(r"it\'s", "it's");
    }

    #[test]
    fn broken_escapes_stay_or_become_the_mark_of_the_unreadable() {
        check(r"\u12", r"\u12");
        check(r"\xzz", r"\xzz");
        check(r"\ud83dx", "\u{fffd}x");
        check("end\\", "end\\");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(&*decode(&encode(&all)), &all[..]);
    }
}
