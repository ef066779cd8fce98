//! Source: a page's bytes as text, and what of them is no text.
//!
//! In: bytes and the charset that the HTTP head named. Out: UTF-8, and places for offsets.
//! Law: HTML §13.2.3; the Encoding Standard. Only UTF-8 conforms (§4.2.5.4), so a page in
//! another encoding has an error already; it is decoded all the same, for the sake of the rest.
//! Invariants: 1. any bytes make a text. 2. A place is a line and a column of this text.

use std::borrow::Cow;

use encoding_rs::{DecoderResult, Encoding, UTF_8};

use crate::encoding::determine;
use crate::findings::Findings;

/// A page as text.
pub(crate) struct Source<'a> {
    pub(crate) text: Cow<'a, str>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(
        html: &'a [u8],
        http_charset: Option<&str>,
        findings: &mut Findings,
    ) -> Source<'a> {
        let http = http_charset.and_then(|label| {
            let encoding = Encoding::for_label(label.as_bytes());
            if encoding.is_none() {
                let message = format!("The HTTP head names an encoding that browsers don't know, “{label}”. Send “text/html; charset=utf-8”.");
                findings.error(0, "unknown-encoding", message);
            }
            encoding
        });
        let determined = determine(html, http);
        let encoding = determined.encoding;
        if !determined.is_declared && !html.is_ascii() {
            findings.error(
                0,
                "charset-undeclared",
                "The character encoding was not declared. Add <meta charset=\"utf-8\">.",
            );
        }
        let html = &html[determined.from..];
        if encoding == UTF_8 {
            return Source { text: utf8(html, findings) };
        }
        let name = encoding.name();
        let message = format!("Legacy encoding “{name}” used. Documents must use UTF-8.");
        findings.error(0, "legacy-encoding", message);
        Source { text: Cow::Owned(legacy(html, encoding, findings)) }
    }

    pub(crate) fn places(&self) -> Places<'_> {
        Places { text: self.text.as_bytes(), at: 0, line: 1, line_start: 0 }
    }
}

/// The text in another encoding, and an error for each sequence that has no meaning in it.
fn legacy(html: &[u8], encoding: &'static Encoding, findings: &mut Findings) -> String {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(html.len() + 16);
    let mut rest = html;
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        rest = &rest[read..];
        match result {
            DecoderResult::InputEmpty => return text,
            DecoderResult::OutputFull => text.reserve(rest.len() + 16),
            DecoderResult::Malformed(..) => {
                let message = match encoding.name() {
                    "replacement" => "Browsers show nothing of a page in this encoding.".to_owned(),
                    name => format!("These bytes are not {name}."),
                };
                findings.error(text.len(), "malformed-bytes", message);
                text.push('\u{FFFD}');
            }
        }
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
