//! HTML entities: the five that escape markup, the hard space, and numbers.
//!
//! Tokens are made of letters, digits and a few marks, so the two thousand names for
//! accented letters and arrows are left alone. A name without its semicolon is left alone
//! too: `?a=1&copy=2` is an address, not a copyright sign.

use std::borrow::Cow;

use super::{hexadecimal, push_character};

const NAMED: &[(&[u8], u32)] = &[
    (b"amp", '&' as u32),
    (b"lt", '<' as u32),
    (b"gt", '>' as u32),
    (b"quot", '"' as u32),
    (b"apos", '\'' as u32),
    (b"nbsp", 0xa0),
];
/// `&#x10FFFF;` without its ends, and zeros in front of it.
const NAME_BYTES_MAX: usize = 10;

/// The text that markup stands for.
pub(crate) fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'&', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], entity(&text[at + 1..])) {
            (b'&', Some((character, length))) => {
                push_character(&mut out, character);
                at += 1 + length;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(out)
}

/// The character that the bytes behind an ampersand name, and how many they are.
fn entity(rest: &[u8]) -> Option<(u32, usize)> {
    let window = &rest[..rest.len().min(NAME_BYTES_MAX)];
    let semicolon = memchr::memchr(b';', window)?;
    let name = &window[..semicolon];
    let number = match name {
        [b'#', b'x' | b'X', digits @ ..] => hexadecimal(digits)?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => NAMED.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((number, semicolon + 1))
}

/// Writes text so that it can stand in markup.
pub(crate) fn encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#x27;"),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markup: &str, text: &str) {
        assert_eq!(String::from_utf8_lossy(&decode(markup.as_bytes())), text, "{markup}");
    }

    #[test]
    fn entities_are_read_by_name_and_by_number() {
        check("a&amp;b &lt;i&gt; &quot;x&quot; &apos;&nbsp;", "a&b <i> \"x\" '\u{a0}");
        check("&#39;&#x2F;&#X2f;&#8364;", "'//€");
    }

    #[test]
    fn what_is_no_entity_stays() {
        check("?a=1&copy=2&sid=3", "?a=1&copy=2&sid=3");
        check("&amp &; &#; &#x; &#xzz; &#999999999999;", "&amp &; &#; &#x; &#xzz; &#999999999999;");
        check("&#xD800;&", "\u{fffd}&");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let text = b"a&b<c>\"d'e&amp;";
        assert_eq!(&*decode(&encode(text)), text);
    }
}
