//! What stands in brackets: `[name]`, `[name=value]`, `[name key=value …]`, `[/name]`.
//!
//! In: the text from a `[` on. Out: a [`Head`], or nothing if it is text after all.
//! Invariants: 1. the look ahead ends at the next bracket, newline or quote of its kind, so
//! that no byte is looked at more than a few times. 2. nothing is judged here but the form.

use crate::written::Form;

/// The most bytes between the brackets.
pub(crate) const HEAD_BYTES_MAX: usize = 2048;
/// The longest name of a tag.
pub(crate) const NAME_BYTES_MAX: usize = 16;

/// The most suffixes behind a name.
const SUFFIXES_MAX: usize = 3;

/// How a forum may write a quote, and how it is stored.
const QUOTES: [&[u8]; 5] = [b"\"", b"'", b"&quot;", b"&#39;", b"&#039;"];

/// The bytes of names, in small letters; the others are 0.
const SMALL: [u8; 256] = {
    let mut small = [0; 256];
    let mut byte = 0;
    while byte < small.len() {
        small[byte] = match byte as u8 {
            letter @ (b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-') => letter,
            letter @ b'A'..=b'Z' => letter | 0x20,
            _ => 0,
        };
        byte += 1;
    }
    small
};

/// A tag as it is written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head<'t> {
    pub(crate) name: Name,
    pub(crate) is_closing: bool,
    /// Behind `=`, without quotes.
    pub(crate) value: Option<&'t [u8]>,
    /// What else is written: `key=value` separated by spaces.
    pub(crate) extras: &'t [u8],
    pub(crate) has_uid: bool,
    /// From bracket to bracket.
    pub(crate) length: usize,
}

/// A name in small letters, as a number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) u128);

impl Name {
    /// Reads a name from the beginning of `text`; tells its length.
    fn read(text: &[u8]) -> Option<(Self, usize)> {
        if text.first() == Some(&b'*') {
            return Some((Self(u128::from(b'*')), 1));
        }
        let mut name = 0_u128;
        let mut length = 0;
        for byte in text.iter().take(NAME_BYTES_MAX + 1) {
            let small = SMALL[usize::from(*byte)];
            if small == 0 {
                break;
            }
            name = name << 8 | u128::from(small);
            length += 1;
        }
        (1..=NAME_BYTES_MAX).contains(&length).then_some((Self(name), length))
    }

    /// The name of a tag in a dialect's file, which was checked.
    pub(crate) fn of(name: &str) -> Self {
        Self(name.bytes().fold(0, |sum, byte| sum << 8 | u128::from(byte)))
    }
}

impl<'t> Head<'t> {
    /// Reads a tag that begins with the bracket at the beginning of `text`, and adds how
    /// many bytes were looked at.
    pub(crate) fn read(text: &'t [u8], form: Form, looked: &mut u64) -> Option<Self> {
        *looked += 2;
        let is_closing = text.get(1) == Some(&b'/');
        let start = 1 + usize::from(is_closing);
        let (name, length) = Name::read(text.get(start..)?)?;
        let mut at = start + length;
        *looked += at as u64;
        let mut head = Self { name, is_closing, ..Self::default() };
        if form == Form::Stored {
            let (length, has_uid) = suffix(&text[at..]);
            at += length;
            head.has_uid = has_uid;
        }
        match text.get(at)? {
            b']' => {}
            b'=' if !is_closing => at += 1 + head.read_value(&text[at + 1..], form, looked)?,
            b' ' if !is_closing => at += head.read_extras(&text[at..], looked)?,
            _ => return None,
        }
        head.length = at + 1;
        (text.get(at) == Some(&b']')).then_some(head)
    }

    /// Tells how many bytes lie before the closing bracket.
    fn read_value(&mut self, text: &'t [u8], form: Form, looked: &mut u64) -> Option<usize> {
        let quote = QUOTES.into_iter().find(|quote| text.starts_with(quote));
        let Some(quote) = quote else {
            let end = end_of(text, looked)?;
            let mut value = &text[..end];
            if form == Form::Stored
                && let Some(colon) = memchr::memrchr(b':', value)
                && is_uid(&value[colon + 1..])
            {
                value = &value[..colon];
                self.has_uid = true;
            }
            self.value = Some(value);
            return Some(end);
        };
        let body = &text[quote.len()..];
        let body = &body[..body.len().min(HEAD_BYTES_MAX)];
        let length = memchr::memmem::find(body, quote);
        *looked += length.unwrap_or(body.len()) as u64;
        let length = length?;
        self.value = Some(&body[..length]);
        let mut at = quote.len() * 2 + length;
        if form == Form::Stored {
            let (length, has_uid) = suffix(&text[at..]);
            at += length;
            self.has_uid |= has_uid;
        }
        if text.get(at) == Some(&b' ') {
            at += self.read_extras(&text[at..], looked)?;
        }
        Some(at)
    }

    fn read_extras(&mut self, text: &'t [u8], looked: &mut u64) -> Option<usize> {
        let end = end_of(text, looked)?;
        self.extras = &text[..end];
        Some(end)
    }

    /// The value of one of the extras.
    pub(crate) fn extra(&self, wanted: &[u8]) -> Option<&'t [u8]> {
        let mut rest = self.extras;
        loop {
            rest = rest.trim_ascii_start();
            let equals = memchr::memchr(b'=', rest)?;
            let key = &rest[..equals];
            rest = &rest[equals + 1..];
            let quote = QUOTES.into_iter().find(|quote| rest.starts_with(quote));
            let end = match quote {
                Some(quote) => {
                    rest = &rest[quote.len()..];
                    memchr::memmem::find(rest, quote)?
                }
                // A name may have spaces in it; the next key ends it.
                None => end_of_plain(rest),
            };
            if key.eq_ignore_ascii_case(wanted) {
                return Some(&rest[..end]);
            }
            rest = &rest[end + quote.map_or(0, <[u8]>::len)..];
        }
    }
}

/// Where the closing bracket is, if nothing else ends the head first.
fn end_of(text: &[u8], looked: &mut u64) -> Option<usize> {
    let text = &text[..text.len().min(HEAD_BYTES_MAX)];
    let end = text.iter().position(|b| matches!(b, b'[' | b']' | b'\n' | b'\r'));
    *looked += end.unwrap_or(text.len()) as u64;
    let end = end?;
    (text[end] == b']').then_some(end)
}

/// Where a value without quotes ends: before the last word in front of the next `=`.
fn end_of_plain(text: &[u8]) -> usize {
    match memchr::memchr(b'=', text) {
        Some(equals) => memchr::memrchr(b' ', &text[..equals]).unwrap_or(equals),
        None => text.len(),
    }
}

/// The length of `:1:2a3b4c5d`, as phpBB puts behind a name, and whether a uid is in it.
fn suffix(text: &[u8]) -> (usize, bool) {
    let mut at = 0;
    let mut has_uid = false;
    for _ in 0..SUFFIXES_MAX {
        if text.get(at) != Some(&b':') {
            break;
        }
        let letters = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let length = text[at + 1..].iter().take(11).take_while(|b| letters(b)).count();
        has_uid |= is_uid(&text[at + 1..at + 1 + length]);
        at += 1 + length;
    }
    (at, has_uid)
}

/// phpBB 3 has eight characters at most, phpBB 2 ten.
fn is_uid(text: &[u8]) -> bool {
    (5..=10).contains(&text.len())
        && text.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows a head as `name|value|extras|length`, with a `/` or a `#` for what it has.
    fn check(text: &str, form: Form, expected: &str) {
        let shown = Head::read(text.as_bytes(), form, &mut 0).map_or("text".to_owned(), |head| {
            let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let name = head.name.0.to_be_bytes();
            format!(
                "{}{}{}|{}|{}|{}",
                if head.is_closing { "/" } else { "" },
                words(&name).trim_start_matches('\0'),
                if head.has_uid { "#" } else { "" },
                head.value.map_or("-".to_owned(), words),
                words(head.extras),
                head.length
            )
        });
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn tags_as_they_are_typed() {
        let check = |text, expected| check(text, Form::Typed, expected);
        check("[b]", "b|-||3");
        check("[/B] more", "/b|-||4");
        check("[*]", "*|-||3");
        check("[color=red]x", "color|red||11");
        check("[quote=\"a ] b\"]", "quote|a ] b||15");
        check("[quote='me' pid='1']", "quote|me| pid='1'|20");
        check("[img width=3]", "img|-| width=3|13");
        check("[a.b]", "text");
        check("[]", "text");
        check("[b", "text");
        check("[b\n]", "text");
        check("[url=a[b]c]", "text");
        check("[/b=1]", "text");
        check("[quote=\"a]", "text");
        check("[abcdefghijklmnopq]", "text");
    }

    #[test]
    fn tags_as_phpbb_stores_them() {
        let check = |text, expected| check(text, Form::Stored, expected);
        check("[b:1a2b3c]", "b#|-||10");
        check("[b]", "b|-||3");
        check("[/list:u:1a2b3c]", "/list#|-||16");
        check("[/*:m:1a2b3c]", "/*#|-||13");
        check("[code:1:1a2b3c4d5e]", "code#|-||19");
        check("[color=red:1a2b3c]", "color#|red||18");
        check("[url=http://a/:1a2b3c]", "url#|http://a/||22");
        check("[quote:1a2b3c=\"me\"]", "quote#|me||19");
        check("[quote=&quot;me&quot;:1a2b3c]", "quote#|me||29");
        check("[b:TOOBIG]", "text");
    }

    #[test]
    fn extras_are_found_by_their_keys() {
        let text = b"[quote author=A B link=topic=1.msg2#msg2 date='9']";
        let head = Head::read(text, Form::Typed, &mut 0).unwrap();
        assert_eq!(head.extra(b"author"), Some(&b"A B"[..]));
        assert_eq!(head.extra(b"date"), Some(&b"9"[..]));
        assert_eq!(head.extra(b"id"), None);
    }
}
