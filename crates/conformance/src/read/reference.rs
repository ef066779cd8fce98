//! Character references: `&amp;`, `&#38;` and `&#x26;` as the characters they stand for.
//!
//! Law: HTML §13.2.5.72 to 80. The names are html5ever's table.
//! Invariant: text without `&` is never copied.

use std::borrow::Cow;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

use crate::findings::Findings;

/// A name is at most so long.
const NAME_BYTES_MAX: usize = 32;

/// The text with its references replaced; `at` is where it begins in the page.
pub(crate) fn decode<'a>(
    text: &'a str,
    at: usize,
    in_attribute: bool,
    findings: &mut Findings,
) -> Cow<'a, str> {
    let Some(first) = memchr::memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut from = first;
    loop {
        let place = at + from;
        let taken = match text.as_bytes().get(from + 1) {
            Some(b'#') => numeric(&text[from..], place, &mut decoded, findings),
            Some(byte) if byte.is_ascii_alphanumeric() => {
                named(&text[from..], place, in_attribute, &mut decoded, findings)
            }
            _ => {
                decoded.push('&');
                1
            }
        };
        from += taken;
        let Some(next) = memchr::memchr(b'&', &text.as_bytes()[from..]) else { break };
        decoded.push_str(&text[from..from + next]);
        from += next;
    }
    decoded.push_str(&text[from..]);
    Cow::Owned(decoded)
}

/// Reads `&name`; how many bytes it took.
fn named(
    text: &str,
    at: usize,
    in_attribute: bool,
    decoded: &mut String,
    findings: &mut Findings,
) -> usize {
    let bytes = text.as_bytes();
    let mut best = None;
    let mut end = 1;
    while end < bytes.len() && end <= NAME_BYTES_MAX && text.is_char_boundary(end + 1) {
        end += 1;
        match NAMED_ENTITIES.get(&text[1..end]) {
            None => break,
            Some((0, _)) => {}
            Some(characters) => best = Some((end, *characters)),
        }
    }
    let Some((end, (first, second))) = best else {
        decoded.push('&');
        let name_bytes = bytes[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if bytes.get(1 + name_bytes) == Some(&b';') {
            let message = format!(
                "Named character reference “&{};” is unknown. (“&” should probably be “&amp;”.)",
                &text[1..=name_bytes]
            );
            findings.error(at, "unknown-character-reference", message);
        }
        return 1;
    };
    let is_closed = bytes[end - 1] == b';';
    let after = bytes.get(end).copied().unwrap_or(0);
    if in_attribute && !is_closed && (after == b'=' || after.is_ascii_alphanumeric()) {
        decoded.push('&');
        return 1;
    }
    if !is_closed {
        findings.error(
            at,
            "character-reference-without-semicolon",
            "Named character reference was not terminated by a semicolon. (Or “&” should have been escaped as “&amp;”.)",
        );
    }
    decoded
        .extend([first, second].into_iter().filter(|&code| code != 0).filter_map(char::from_u32));
    end
}

/// Reads `&#38;` or `&#x26;`; how many bytes it took.
fn numeric(text: &str, at: usize, decoded: &mut String, findings: &mut Findings) -> usize {
    let bytes = text.as_bytes();
    let is_hex = matches!(bytes.get(2), Some(b'x' | b'X'));
    let start = if is_hex { 3 } else { 2 };
    let radix = if is_hex { 16 } else { 10 };
    let digits = bytes[start.min(bytes.len())..]
        .iter()
        .take_while(|&&byte| char::from(byte).is_digit(radix));
    let count = digits.clone().count();
    if count == 0 {
        findings.error(at, "no-digits-in-reference", "No digits in numeric character reference.");
        decoded.push('&');
        return 1;
    }
    let code = digits.fold(0_u32, |code, &byte| {
        let digit = char::from(byte).to_digit(radix).unwrap_or(0);
        code.saturating_mul(radix).saturating_add(digit)
    });
    let mut end = start + count;
    if bytes.get(end) == Some(&b';') {
        end += 1;
    } else {
        findings.error(
            at,
            "character-reference-without-semicolon",
            "Character reference was not terminated by a semicolon.",
        );
    }
    decoded.push(character(code, at, findings));
    end
}

fn character(code: u32, at: usize, findings: &mut Findings) -> char {
    let is_no_character = (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE;
    let is_control =
        (code < 0x20 && !matches!(code, 0x09 | 0x0A | 0x0C)) || (0x7F..0xA0).contains(&code);
    match char::from_u32(code) {
        Some(character) if code != 0 => {
            if is_no_character || is_control {
                let message = format!("Character reference expands to the forbidden U+{code:04X}.");
                findings.error(at, "forbidden-character-reference", message);
            }
            let index = usize::try_from(code).unwrap_or(0).wrapping_sub(0x80);
            C1_REPLACEMENTS.get(index).copied().flatten().unwrap_or(character)
        }
        _ => {
            findings.error(
                at,
                "forbidden-character-reference",
                "Character reference expands to no character.",
            );
            char::REPLACEMENT_CHARACTER
        }
    }
}
