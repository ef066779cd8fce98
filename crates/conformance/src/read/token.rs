//! Tokens: a page's text cut into tags, text, comments and doctypes.
//!
//! In: the text, and from the tree which elements hold raw text. Out: one token at a time,
//! which borrows from the text, and the tokenizer's parse errors with their places.
//! Law: HTML §13.2.5. The states of the specification are functions here: one per
//! construct, which reads it to its end.
//! Invariants: 1. each token takes at least one byte, so any text comes to its end.
//! 2. The work is linear in the text.

use std::borrow::Cow;
use std::collections::HashSet;

use super::name::Name;
use super::reference::decode;
use crate::findings::Findings;

/// From so many attributes on, duplicates are looked for in a set.
const ATTRIBUTES_IN_A_ROW: usize = 24;

/// An attribute as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Attribute<'a> {
    /// In lower case.
    pub(crate) name: Cow<'a, str>,
    /// With its references replaced.
    pub(crate) value: Cow<'a, str>,
    /// Where its name begins.
    pub(crate) at: u32,
}

/// A start or end tag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tag<'a> {
    pub(crate) name: Name,
    /// The name in lower case.
    pub(crate) label: Cow<'a, str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    pub(crate) is_self_closing: bool,
    pub(crate) at: usize,
}

/// What a doctype says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doctype {
    pub(crate) name: Option<String>,
    pub(crate) public: Option<String>,
    pub(crate) system: Option<String>,
    pub(crate) is_broken: bool,
    pub(crate) at: usize,
}

/// A piece of a page.
#[derive(Clone, Debug)]
pub(crate) enum Token<'a> {
    Doctype(Doctype),
    Start(Tag<'a>),
    End(Tag<'a>),
    Text { text: Cow<'a, str>, at: usize },
    Comment { at: usize },
    Eof,
}

/// What text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Tags and references.
    Data,
    /// References, and the end tag of the element that is open.
    Rcdata,
    /// Only that end tag.
    Raw,
    /// The same in `script`, with its comments.
    Script,
    /// Text to the end.
    Plain,
}

/// Where the reading is.
pub(crate) struct Tokenizer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub(crate) at: usize,
    pub(crate) mode: Mode,
    /// The element whose end tag ends raw text.
    pub(crate) raw_name: Cow<'a, str>,
    /// `<![CDATA[` is one: the current node is of SVG or MathML.
    pub(crate) allows_cdata: bool,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(text: &'a str) -> Tokenizer<'a> {
        Tokenizer {
            text,
            bytes: text.as_bytes(),
            at: 0,
            mode: Mode::Data,
            raw_name: Cow::Borrowed(""),
            allows_cdata: false,
        }
    }

    /// The next token.
    pub(crate) fn next(&mut self, findings: &mut Findings) -> Token<'a> {
        loop {
            if self.at >= self.bytes.len() {
                return Token::Eof;
            }
            let token = match self.mode {
                Mode::Data => self.data(findings),
                Mode::Plain => Some(self.text_to(self.bytes.len(), false, findings)),
                Mode::Rcdata | Mode::Raw | Mode::Script => self.raw(findings),
            };
            if let Some(token) = token {
                return token;
            }
        }
    }

    fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(self.at + offset).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    fn starts_with_ignoring_case(&self, offset: usize, word: &str) -> bool {
        let start = self.at + offset;
        self.bytes
            .get(start..start + word.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The text from here to `end` as a token.
    fn text_to(&mut self, end: usize, has_references: bool, findings: &mut Findings) -> Token<'a> {
        let (at, text) = (self.at, &self.text[self.at..end]);
        self.at = end;
        for offset in memchr::memchr_iter(0, text.as_bytes()) {
            findings.error(at + offset, "null-character", "A NUL character stands here.");
        }
        let text =
            if has_references { decode(text, at, false, findings) } else { Cow::Borrowed(text) };
        Token::Text { text, at }
    }

    fn data(&mut self, findings: &mut Findings) -> Option<Token<'a>> {
        let mut from = self.at;
        if self.byte(0) == b'<' {
            match self.markup(findings) {
                Markup::Token(token) => return Some(*token),
                Markup::Skipped => return None,
                Markup::Text(bytes) => from += bytes,
            }
        }
        let end = memchr::memchr(b'<', &self.bytes[from..])
            .map_or(self.bytes.len(), |offset| from + offset);
        Some(self.text_to(end, true, findings))
    }

    fn markup(&mut self, findings: &mut Findings) -> Markup<'a> {
        let at = self.at;
        match self.byte(1) {
            byte if byte.is_ascii_alphabetic() => {
                self.at += 1;
                Markup::from(self.tag(at, findings).map(Token::Start))
            }
            b'/' => self.end_tag(at, findings),
            b'!' => self.declaration(at, findings),
            b'?' => {
                findings.error(
                    at,
                    "processing-instruction",
                    "Saw “<?”. Probable cause: Attempt to use an XML processing instruction in HTML. (XML processing instructions are not supported in HTML.)",
                );
                self.at += 1;
                Markup::from(Some(self.bogus_comment(at)))
            }
            _ if at + 1 >= self.bytes.len() => {
                findings.error(at, "eof-in-tag", "End of file after “<”.");
                Markup::Text(1)
            }
            _ => {
                findings.error(
                    at,
                    "bad-tag-start",
                    "Bad character after “<”. Probable cause: Unescaped “<”. Try escaping it as “&lt;”.",
                );
                Markup::Text(1)
            }
        }
    }

    fn end_tag(&mut self, at: usize, findings: &mut Findings) -> Markup<'a> {
        match self.byte(2) {
            byte if byte.is_ascii_alphabetic() => {
                self.at += 2;
                let Some(tag) = self.tag(at, findings) else { return Markup::Skipped };
                if let Some(attribute) = tag.attributes.first() {
                    let place = attribute.at as usize;
                    findings.error(place, "end-tag-with-attributes", "End tag had attributes.");
                }
                if tag.is_self_closing {
                    findings.error(
                        at,
                        "end-tag-self-closing",
                        "Stray “/” at the end of an end tag.",
                    );
                }
                Markup::from(Some(Token::End(tag)))
            }
            b'>' => {
                findings.error(at, "bad-tag-start", "Saw “</>”. Probable causes: Unescaped “<” (escape as “&lt;”) or mistyped end tag.");
                self.at += 3;
                Markup::Skipped
            }
            _ if at + 2 >= self.bytes.len() => {
                findings.error(at, "eof-in-tag", "End of file after “</”.");
                Markup::Text(2)
            }
            _ => {
                findings.error(at, "bad-tag-start", "Garbage after “</”.");
                self.at += 2;
                Markup::from(Some(self.bogus_comment(at)))
            }
        }
    }

    fn declaration(&mut self, at: usize, findings: &mut Findings) -> Markup<'a> {
        if self.rest().starts_with(b"<!--") {
            self.at += 4;
            return Markup::from(Some(self.comment(at, findings)));
        }
        if self.starts_with_ignoring_case(2, "doctype") {
            self.at += 9;
            return Markup::from(Some(Token::Doctype(self.doctype(at, findings))));
        }
        if self.allows_cdata && self.rest().starts_with(b"<![CDATA[") {
            self.at += 9;
            let end = memchr::memmem::find(self.rest(), b"]]>");
            if end.is_none() {
                findings.error(at, "eof-in-cdata", "End of file inside CDATA.");
            }
            let stop = end.map_or(self.bytes.len(), |offset| self.at + offset);
            let token = self.text_to(stop, false, findings);
            self.at = (self.at + 3).min(self.bytes.len());
            return Markup::from(Some(token));
        }
        findings.error(at, "bogus-comment", "Bogus comment.");
        self.at += 2;
        Markup::from(Some(self.bogus_comment(at)))
    }

    fn bogus_comment(&mut self, at: usize) -> Token<'a> {
        let end = memchr::memchr(b'>', self.rest());
        self.at = end.map_or(self.bytes.len(), |offset| self.at + offset + 1);
        Token::Comment { at }
    }

    /// Reads a comment from behind its `<!--`.
    fn comment(&mut self, at: usize, findings: &mut Findings) -> Token<'a> {
        for empty in [&b">"[..], b"->"] {
            if self.rest().starts_with(empty) {
                findings.error(
                    at,
                    "comment-closed-early",
                    "Premature end of comment. Use “-->” to end a comment properly.",
                );
                self.at += empty.len();
                return Token::Comment { at };
            }
        }
        let start = self.at;
        loop {
            let Some(offset) = memchr::memmem::find(self.rest(), b"--") else {
                findings.error(at, "eof-in-comment", "End of file inside comment.");
                self.at = self.bytes.len();
                return Token::Comment { at };
            };
            let dashes = self.at + offset;
            if dashes >= start + 2
                && &self.bytes[dashes - 2..dashes] == b"<!"
                && self.bytes.get(dashes + 2) != Some(&b'>')
            {
                findings.error(
                    dashes,
                    "nested-comment",
                    "Saw “<!--” within a comment. Probable cause: Nested comment (not allowed).",
                );
            }
            let after = &self.bytes[dashes + 2..];
            if after.starts_with(b">") {
                self.at = dashes + 3;
                return Token::Comment { at };
            }
            if after.starts_with(b"!>") {
                findings.error(dashes, "comment-closed-wrongly", "“--!” found in comment.");
                self.at = dashes + 4;
                return Token::Comment { at };
            }
            self.at = dashes + 1;
        }
    }
}

/// What began with `<`.
enum Markup<'a> {
    Token(Box<Token<'a>>),
    /// Nothing that the tree has to know of.
    Skipped,
    /// Text; so many bytes of it are known.
    Text(usize),
}

impl<'a> From<Option<Token<'a>>> for Markup<'a> {
    fn from(token: Option<Token<'a>>) -> Markup<'a> {
        token.map_or(Markup::Skipped, |token| Markup::Token(Box::new(token)))
    }
}

/// Tags.
impl<'a> Tokenizer<'a> {
    /// Reads a tag from its name on. Nothing where the page ends within it.
    fn tag(&mut self, at: usize, findings: &mut Findings) -> Option<Tag<'a>> {
        let start = self.at;
        let length = self
            .rest()
            .iter()
            .position(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'/' | b'>'));
        let Some(length) = length else { return self.cut_tag(at, findings) };
        self.at += length;
        let label = lower(&self.text[start..self.at]);
        let mut tag = Tag {
            name: Name::of(&label),
            label,
            attributes: Vec::new(),
            is_self_closing: false,
            at,
        };
        let mut seen = HashSet::new();
        loop {
            let had_space = self.skip_space();
            match self.byte(0) {
                _ if self.at >= self.bytes.len() => return self.cut_tag(at, findings),
                b'>' => {
                    self.at += 1;
                    return Some(tag);
                }
                b'/' if self.byte(1) == b'>' => {
                    self.at += 2;
                    tag.is_self_closing = true;
                    return Some(tag);
                }
                b'/' => {
                    findings.error(
                        self.at,
                        "slash-in-tag",
                        "A slash was not immediately followed by “>”.",
                    );
                    self.at += 1;
                }
                _ => {
                    if !had_space && self.bytes.get(self.at - 1) != Some(&b'/') {
                        findings.error(
                            self.at,
                            "no-space-between-attributes",
                            "No space between attributes.",
                        );
                    }
                    let attribute = self.attribute(findings)?;
                    keep(attribute, &mut tag, &mut seen, findings);
                }
            }
        }
    }

    fn cut_tag(&mut self, at: usize, findings: &mut Findings) -> Option<Tag<'a>> {
        findings.error(at, "eof-in-tag", "End of file within a tag. Ignoring tag.");
        self.at = self.bytes.len();
        None
    }

    fn skip_space(&mut self) -> bool {
        let start = self.at;
        while matches!(self.byte(0), b'\t' | b'\n' | b'\r' | 0x0C | b' ') {
            self.at += 1;
        }
        self.at > start
    }

    /// Reads an attribute. Nothing where the page ends within it.
    fn attribute(&mut self, findings: &mut Findings) -> Option<Attribute<'a>> {
        let start = self.at;
        let end_of_name =
            |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'/' | b'>' | b'=');
        // A name may begin with `=`.
        let length = self.rest().iter().skip(1).position(end_of_name).map(|length| length + 1);
        let length = length.unwrap_or(self.bytes.len() - start);
        self.at += length;
        let written = &self.text[start..self.at];
        if let Some(offset) = memchr::memchr3(b'"', b'\'', b'<', written.as_bytes()) {
            findings.error(start + offset, "quote-in-attribute-name", "A quote or “<” in an attribute name. Probable cause: a matching quote or “>” is missing before.");
        }
        if written.starts_with('=') {
            findings.error(
                start,
                "attribute-without-name",
                "Saw “=” when expecting an attribute name.",
            );
        }
        let mut attribute = Attribute {
            name: lower(written),
            value: Cow::Borrowed(""),
            at: u32::try_from(start).unwrap_or(u32::MAX),
        };
        let end = self.at;
        self.skip_space();
        if self.byte(0) != b'=' {
            self.at = end;
            return Some(attribute);
        }
        self.at += 1;
        self.skip_space();
        attribute.value = match self.byte(0) {
            quote @ (b'"' | b'\'') => self.quoted(quote, start, findings)?,
            b'>' => {
                findings.error(self.at, "attribute-value-missing", "Attribute value missing.");
                Cow::Borrowed("")
            }
            _ => self.unquoted(findings),
        };
        self.attribute_or_cut(start, attribute, findings)
    }

    fn attribute_or_cut(
        &mut self,
        at: usize,
        attribute: Attribute<'a>,
        findings: &mut Findings,
    ) -> Option<Attribute<'a>> {
        if self.at < self.bytes.len() {
            return Some(attribute);
        }
        self.cut_tag(at, findings);
        None
    }

    fn quoted(&mut self, quote: u8, at: usize, findings: &mut Findings) -> Option<Cow<'a, str>> {
        self.at += 1;
        let Some(length) = memchr::memchr(quote, self.rest()) else {
            self.cut_tag(at, findings);
            return None;
        };
        let (start, end) = (self.at, self.at + length);
        self.at = end + 1;
        Some(decode(&self.text[start..end], start, true, findings))
    }

    fn unquoted(&mut self, findings: &mut Findings) -> Cow<'a, str> {
        let start = self.at;
        let end = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'>');
        let length = self.rest().iter().position(end).unwrap_or(self.bytes.len() - start);
        self.at += length;
        let written = &self.text[start..self.at];
        let is_odd = |byte: u8| matches!(byte, b'"' | b'\'' | b'<' | b'=' | b'`');
        if let Some(offset) = written.bytes().position(is_odd) {
            let message = format!(
                "“{}” in an unquoted attribute value.",
                char::from(written.as_bytes()[offset])
            );
            findings.error(start + offset, "unquoted-value", message);
        }
        decode(written, start, true, findings)
    }
}

fn keep<'a>(
    attribute: Attribute<'a>,
    tag: &mut Tag<'a>,
    seen: &mut HashSet<Cow<'a, str>>,
    findings: &mut Findings,
) {
    let row = &mut tag.attributes;
    if row.len() == ATTRIBUTES_IN_A_ROW {
        seen.extend(row.iter().map(|other| other.name.clone()));
    }
    let is_again = if row.len() < ATTRIBUTES_IN_A_ROW {
        row.iter().any(|other| other.name == attribute.name)
    } else {
        !seen.insert(attribute.name.clone())
    };
    if is_again {
        let message = format!("Duplicate attribute “{}”.", attribute.name);
        findings.error(attribute.at as usize, "duplicate-attribute", message);
    } else {
        row.push(attribute);
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

/// Raw text.
impl<'a> Tokenizer<'a> {
    fn raw(&mut self, findings: &mut Findings) -> Option<Token<'a>> {
        let end = match self.mode {
            Mode::Script => self.script_end(findings),
            _ => self.raw_end(self.at),
        };
        if end > self.at {
            return Some(self.text_to(end, self.mode == Mode::Rcdata, findings));
        }
        self.mode = Mode::Data;
        let at = self.at;
        self.at += 2;
        let tag = self.tag(at, findings)?;
        if let Some(attribute) = tag.attributes.first() {
            findings.error(
                attribute.at as usize,
                "end-tag-with-attributes",
                "End tag had attributes.",
            );
        }
        Some(Token::End(tag))
    }

    /// Where the end tag of the raw element begins, or the page's end.
    fn raw_end(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(offset) = memchr::memchr(b'<', &self.bytes[at..]) {
            at += offset;
            if self.is_end_of_raw(at) {
                return at;
            }
            at += 1;
        }
        self.bytes.len()
    }

    fn is_end_of_raw(&self, at: usize) -> bool {
        let name = self.raw_name.as_bytes();
        let start = at + 2;
        self.bytes.get(at + 1) == Some(&b'/')
            && self
                .bytes
                .get(start..start + name.len())
                .is_some_and(|bytes| bytes.eq_ignore_ascii_case(name))
            && matches!(
                self.bytes.get(start + name.len()),
                Some(b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'/' | b'>')
            )
    }

    /// The same in a script, where `<!--` and `<script` hide an end tag (§13.2.5.15 to 31).
    fn script_end(&self, findings: &mut Findings) -> usize {
        let bytes = self.bytes;
        let word = |at: usize, word: &[u8]| {
            bytes.get(at..at + word.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(word))
                && matches!(
                    bytes.get(at + word.len()),
                    Some(b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'/' | b'>')
                )
        };
        let (mut at, mut is_escaped, mut is_doubly) = (self.at, false, false);
        let mut comment_at = 0;
        while at < bytes.len() {
            let Some(offset) = memchr::memchr2(b'<', b'-', &bytes[at..]) else { break };
            at += offset;
            if bytes[at] == b'-' {
                if is_escaped && bytes[at..].starts_with(b"-->") {
                    (is_escaped, is_doubly) = (false, false);
                    at += 3;
                    continue;
                }
            } else if !is_escaped && bytes[at..].starts_with(b"<!--") {
                is_escaped = true;
                comment_at = at;
                // The dashes may also be those of `-->`.
                at += 2;
                continue;
            } else if !is_doubly && self.is_end_of_raw(at) {
                return at;
            } else if is_escaped && !is_doubly && word(at + 1, b"script") {
                is_doubly = true;
            } else if is_doubly && word(at + 1, b"/script") {
                is_doubly = false;
            }
            at += 1;
        }
        if is_escaped {
            findings.error(
                comment_at,
                "eof-in-script-comment",
                "End of file in a script’s “<!--”.",
            );
        }
        bytes.len()
    }
}

/// Doctypes.
impl Tokenizer<'_> {
    /// Reads a doctype from behind its word.
    fn doctype(&mut self, at: usize, findings: &mut Findings) -> Doctype {
        let mut doctype = Doctype { at, ..Doctype::default() };
        if !self.skip_space() && self.byte(0) != b'>' && self.at < self.bytes.len() {
            findings.error(self.at, "bad-doctype", "Missing space before doctype name.");
        }
        let start = self.at;
        while self.at < self.bytes.len()
            && !matches!(self.byte(0), b'\t' | b'\n' | b'\r' | 0x0C | b' ' | b'>')
        {
            self.at += 1;
        }
        if self.at == start {
            findings.error(self.at, "bad-doctype", "Nameless doctype.");
            doctype.is_broken = true;
        } else {
            doctype.name = Some(self.text[start..self.at].to_ascii_lowercase());
        }
        self.skip_space();
        if self.starts_with_ignoring_case(0, "public") {
            self.at += 6;
            doctype.public = self.identifier(&mut doctype.is_broken, findings);
            self.skip_space();
            if matches!(self.byte(0), b'"' | b'\'') {
                doctype.system = self.identifier(&mut doctype.is_broken, findings);
            }
        } else if self.starts_with_ignoring_case(0, "system") {
            self.at += 6;
            doctype.system = self.identifier(&mut doctype.is_broken, findings);
        }
        self.skip_space();
        if self.byte(0) != b'>' || self.at >= self.bytes.len() {
            // Anything after a system identifier is an error that spoils nothing.
            if doctype.system.is_none() || self.at >= self.bytes.len() {
                doctype.is_broken = true;
            }
            findings.error(self.at, "bad-doctype", "Bogus doctype.");
            let end = memchr::memchr(b'>', self.rest());
            self.at = end.map_or(self.bytes.len(), |offset| self.at + offset);
        }
        self.at = (self.at + 1).min(self.bytes.len());
        doctype
    }

    /// Reads a quoted identifier; `None` where none is.
    fn identifier(&mut self, is_broken: &mut bool, findings: &mut Findings) -> Option<String> {
        self.skip_space();
        let quote = self.byte(0);
        if !matches!(quote, b'"' | b'\'') {
            findings.error(self.at, "bad-doctype", "Expected a quoted identifier in the doctype.");
            *is_broken = true;
            return None;
        }
        self.at += 1;
        let start = self.at;
        let end = memchr::memchr2(quote, b'>', self.rest()).map(|offset| start + offset);
        let end_at = end.unwrap_or(self.bytes.len());
        self.at = end_at;
        if end.is_none_or(|end| self.bytes[end] == b'>') {
            findings.error(self.at, "bad-doctype", "“>” or end of file in a doctype’s identifier.");
            *is_broken = true;
        } else {
            self.at += 1;
        }
        Some(self.text[start..end_at].to_owned())
    }
}
