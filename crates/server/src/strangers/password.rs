//! Passwords: whether one is sent with a request, which may make a member of its sender.
//!
//! Fields may be called anything, so what counts is what the page's form calls its password.
//! Invariant: in doubt one is sent.

use std::sync::Arc;

use memchr::memmem;
use policy::strangers::own_referer;
use wire::RequestHead;

use super::Strangers;
use super::copies::Copy;

/// Words in names of fields that scripts send.
const WORDS: [&[u8]; 2] = [b"pass", b"pwd"];
/// Ways to write that a field is for one.
const TYPES: [&[u8]; 3] = [b"type=\"password\"", b"type='password'", b"type=password"];

/// Whether a body that comes from these pages, as they were given to strangers, bears a password.
pub(super) fn is_sent(body: &[u8], pages: &[Arc<Copy>]) -> bool {
    bears_word(body)
        || pages.iter().any(|copy| match copy.body() {
            Some(text) => names(&text).iter().any(|name| is_borne(body, name)),
            None => true,
        })
}

/// Whether a holder's body from a page of their own may bear one: names may be others there, and
/// there may be a form that no stranger was given.
pub(super) fn may_be_sent(strangers: &Strangers, head: &RequestHead, body: &[u8]) -> bool {
    let from = own_referer(&head.fields, &head.host);
    let copy = from.and_then(|from| strangers.copies.of_page(&head.host, from));
    let text = copy.and_then(|copy| copy.body());
    bears_word(body) || text.is_none_or(|text| !names(&text).is_empty())
}

/// Whether a page asks for one.
pub(super) fn is_asked_for(text: &[u8]) -> bool {
    !names(text).is_empty()
}

fn bears_word(body: &[u8]) -> bool {
    let body = body.to_ascii_lowercase();
    WORDS.iter().any(|word| memmem::find(&body, word).is_some())
}

/// A name may be written in several ways; its longest part of letters and digits is in all.
fn is_borne(body: &[u8], name: &[u8]) -> bool {
    let parts = name.split(|byte| !byte.is_ascii_alphanumeric());
    let telling = parts.max_by_key(|part| part.len()).unwrap_or_default();
    memmem::find(body, telling).is_some()
}

/// What a page's fields for passwords are called; empty for one whose name isn't found.
fn names(text: &[u8]) -> Vec<Vec<u8>> {
    let small = text.to_ascii_lowercase();
    let mut names = Vec::new();
    for at in memmem::find_iter(&small, b"<input") {
        let length = memchr::memchr(b'>', &small[at..]).unwrap_or(small.len() - at);
        let tag = &small[at..at + length];
        if TYPES.iter().any(|wanted| memmem::find(tag, wanted).is_some()) {
            names.push(value_of(&text[at..at + length], tag));
        }
    }
    names
}

/// The value of a tag's `name`; `small` is the tag in small letters.
fn value_of(tag: &[u8], small: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b" name=";
    let plain: Vec<u8> =
        small.iter().map(|b| if b.is_ascii_whitespace() { b' ' } else { *b }).collect();
    let Some(at) = memmem::find(&plain, NAME) else { return Vec::new() };
    let value = &tag[at + NAME.len()..];
    let is_end: &dyn Fn(&u8) -> bool = match value.first() {
        Some(b'"') => &|byte| *byte == b'"',
        Some(b'\'') => &|byte| *byte == b'\'',
        _ => &|byte| byte.is_ascii_whitespace() || *byte == b'/',
    };
    let is_quoted = matches!(value.first(), Some(b'"' | b'\''));
    value[usize::from(is_quoted)..].iter().copied().take_while(|byte| !is_end(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_for_passwords_are_found_however_they_are_written() {
        for (text, expected) in [
            ("<input type=password name=word>", vec!["word"]),
            ("<INPUT\n name='f12ab' TYPE='password'>", vec!["f12ab"]),
            ("<input name=\"user[secret]\" type=\"password\"/>", vec!["user[secret]"]),
            ("<input type=password>", vec![""]),
            ("<input type=text name=a><input type=hidden name=b>", vec![]),
        ] {
            let found: Vec<_> = names(text.as_bytes());
            let found: Vec<_> = found.iter().map(|name| String::from_utf8_lossy(name)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_name_is_borne_in_any_writing_and_none_is_borne_by_all() {
        assert!(is_borne(b"user%5Bsecret%5D=x", b"user[secret]"));
        assert!(is_borne(b"f12ab=x", b"f12ab") && !is_borne(b"body=x", b"f12ab"));
        assert!(is_borne(b"anything", b""), "in doubt it is");
        assert!(is_sent(b"userPassword=x", &[]) && !is_sent(b"body=words", &[]));
    }
}
