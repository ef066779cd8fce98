//! Source: a page's bytes as text, and what of them is no text.
//!
//! In: bytes and the charset that the HTTP head named. Out: UTF-8, and places for offsets.
//! Law: HTML §13.2.3. Only UTF-8 conforms (§4.2.5.4), so a page in another encoding has an
//! error already; its bytes above ASCII are read as Latin-1, which keeps every tag where it
//! is in all encodings but those of UTF-16.
//! Invariants: 1. any bytes make a text. 2. A place is a line and a column of this text.

use std::borrow::Cow;

use crate::findings::Findings;

/// A page as text.
pub(crate) struct Source<'a> {
    pub(crate) text: Cow<'a, str>,
}

/// So far into a page its encoding has to be declared (§4.2.5.4).
const PRESCAN_BYTES: usize = 1024;

impl<'a> Source<'a> {
    pub(crate) fn new(
        html: &'a [u8],
        http_charset: Option<&str>,
        findings: &mut Findings,
    ) -> Source<'a> {
        let (html, has_mark) = match html.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) => (rest, true),
            None => (html, false),
        };
        let declared = match http_charset.filter(|_| !has_mark) {
            Some(charset) => Some(charset.trim().to_ascii_lowercase()),
            None if has_mark => Some("utf-8".to_owned()),
            None => prescan(html),
        };
        let is_utf8 = declared
            .as_deref()
            .is_none_or(|charset| matches!(charset, "utf-8" | "utf8" | "unicode-1-1-utf-8"));
        if declared.is_none() && !html.is_ascii() {
            findings.error(
                0,
                "charset-undeclared",
                "The character encoding was not declared. Add <meta charset=\"utf-8\">.",
            );
        }
        if !is_utf8 {
            let charset = declared.unwrap_or_default();
            let message = format!("Legacy encoding “{charset}” used. Documents must use UTF-8.");
            findings.error(0, "legacy-encoding", message);
            return Source { text: latin1(html) };
        }
        Source { text: utf8(html, findings) }
    }

    pub(crate) fn places(&self) -> Places<'_> {
        Places { text: self.text.as_bytes(), at: 0, line: 1, line_start: 0 }
    }
}

/// What a declaration in the page's first bytes says, roughly as §13.2.3.2 looks for it.
fn prescan(html: &[u8]) -> Option<String> {
    let head = &html[..html.len().min(PRESCAN_BYTES)];
    let lower = head.to_ascii_lowercase();
    let mut from = 0;
    while let Some(found) = memchr::memmem::find(&lower[from..], b"<meta") {
        let start = from + found;
        let end = memchr::memchr(b'>', &lower[start..]).map_or(lower.len(), |end| start + end);
        from = end.max(start + 1);
        let tag = &lower[start..end];
        if let Some(charset) = charset_in(tag) {
            return Some(charset);
        }
    }
    None
}

/// The value after `charset=` in a tag or in a `content` attribute.
pub(crate) fn charset_in(tag: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(tag, b"charset")? + 7;
    let rest = tag[at..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let value: Vec<u8> = rest
        .iter()
        .skip_while(|byte| matches!(byte, b'"' | b'\''))
        .take_while(|byte| {
            !matches!(byte, b'"' | b'\'' | b';' | b'/') && !byte.is_ascii_whitespace()
        })
        .copied()
        .collect();
    if value.is_empty() {
        return None;
    }
    String::from_utf8(value).ok()
}

fn latin1(html: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(html) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(html.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// The text, and an error for each run of bytes that isn't UTF-8.
fn utf8<'a>(html: &'a [u8], findings: &mut Findings) -> Cow<'a, str> {
    if let Ok(text) = std::str::from_utf8(html) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(html.len() + 16);
    for chunk in html.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            findings.error(text.len(), "malformed-bytes", "These bytes are not UTF-8.");
            text.push('\u{FFFD}');
        }
    }
    Cow::Owned(text)
}

/// Errors for characters that no page may have (§13.2.3.5).
pub(crate) fn forbidden(text: &str, findings: &mut Findings) {
    let is_suspect = |&byte: &u8| {
        (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | 0x0C | b'\r'))
            || byte == 0x7F
            || matches!(byte, 0xC2 | 0xEF)
            || byte >= 0xF0
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(is_suspect) {
        at += found;
        let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else { return };
        let code = u32::from(character);
        let is_control = character.is_control() && code != 0;
        let is_no_character = (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE;
        if is_control || is_no_character {
            findings.error(
                at,
                "forbidden-character",
                format!("Forbidden code point U+{code:04X}."),
            );
        }
        at += character.len_utf8();
    }
}

/// Places in a text, asked for in ascending order.
pub(crate) struct Places<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
}

impl Places<'_> {
    /// Line and column of an offset; one past the end is the end.
    pub(crate) fn place(&mut self, at: usize) -> (u32, u32) {
        let at = at.min(self.text.len()).max(self.at);
        while let Some(found) = memchr::memchr2(b'\n', b'\r', &self.text[self.at..at]) {
            let end = self.at + found;
            let is_pair = self.text[end] == b'\r' && self.text.get(end + 1) == Some(&b'\n');
            if is_pair && end + 1 >= at {
                break;
            }
            self.at = end + 1 + usize::from(is_pair);
            self.line = self.line.saturating_add(1);
            self.line_start = self.at;
        }
        let line = &self.text[self.line_start.min(at)..at];
        let characters = line.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        (self.line, u32::try_from(characters + 1).unwrap_or(u32::MAX))
    }
}
