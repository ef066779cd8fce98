//! Encoding: which one a page's bytes are in.
//!
//! In: bytes and the charset that the HTTP head named. Out: an [`Encoding`], and where its
//! text begins. A mark at the beginning decides; else the head, else what the page's first
//! bytes declare. A declaration that stands later is an error of its own and is not followed.
//! Law: HTML §13.2.3.1 and 2; labels are those of the Encoding Standard.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// So far into a page its encoding has to be declared (§4.2.5.4).
const PRESCAN_BYTES: usize = 1024;

/// What a page's bytes are, and by whose word.
pub(crate) struct Determined {
    pub(crate) encoding: &'static Encoding,
    /// Where the text begins, after its mark.
    pub(crate) from: usize,
    /// Whether one of the three ways to declare it was used.
    pub(crate) is_declared: bool,
}

/// The encoding of a page; UTF-8 where nothing says another.
pub(crate) fn determine(html: &[u8], http: Option<&'static Encoding>) -> Determined {
    if let Some((encoding, from)) = Encoding::for_bom(html) {
        return Determined { encoding, from, is_declared: true };
    }
    let head = html[..html.len().min(PRESCAN_BYTES)].to_ascii_lowercase();
    match http.or_else(|| prescan(&head)) {
        Some(encoding) => Determined { encoding, from: 0, is_declared: true },
        None => {
            let encoding = xml_declared(&head).unwrap_or(UTF_8);
            Determined { encoding, from: 0, is_declared: false }
        }
    }
}

/// A page's text, by the encoding that browsers take it for.
///
/// `charset` is what the HTTP head's `Content-Type` names. What has no meaning in the encoding
/// is a U+FFFD, as browsers show it.
#[must_use]
pub fn page_text<'a>(html: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let http = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let determined = determine(html, http);
    determined.encoding.decode_without_bom_handling(&html[determined.from..]).0
}

/// The text of a style sheet or script, by its mark, the HTTP head, or its `@charset`.
#[must_use]
pub fn file_text<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let http = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    // CSS Syntax §3.2: exactly these bytes; it is as dead a letter in a script as it was.
    let own = || {
        let rest = bytes.strip_prefix(b"@charset \"")?;
        let label = &rest[..rest.iter().take(PRESCAN_BYTES).position(|&byte| byte == b'"')?];
        Encoding::for_label(label).map(readable)
    };
    http.or_else(own).unwrap_or(UTF_8).decode(bytes).0
}

/// What the first `meta` element that declares an encoding says (§13.2.3.2).
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'<', &head[at..])?;
        let rest = &head[at..];
        if rest.starts_with(b"<!--") {
            // The dashes that open a comment may be those that end it.
            at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
            continue;
        }
        let name = rest.strip_prefix(b"</").unwrap_or(&rest[1..]);
        match name.first()? {
            b'a'..=b'z' => {
                let is_meta = rest
                    .strip_prefix(b"<meta")
                    .and_then(<[u8]>::first)
                    .is_some_and(|&byte| is_space(byte) || byte == b'/');
                let begin = head.len() - name.len();
                let space = name.iter().position(|&byte| is_space(byte) || byte == b'>')?;
                let begin = if is_meta { at + b"<meta".len() } else { begin + space };
                let mut attributes = Attributes { head, at: begin };
                if is_meta && let Some(encoding) = declared(&mut attributes)? {
                    return Some(encoding);
                }
                // Of other tags the attributes are passed over.
                while attributes.next()?.is_some() {}
                at = attributes.at;
            }
            b'!' | b'/' | b'?' => at += memchr::memchr(b'>', rest)?,
            _ => at += 1,
        }
    }
}

/// What a `meta` element declares, if it does; nothing at all where the bytes end.
fn declared(attributes: &mut Attributes<'_>) -> Option<Option<&'static Encoding>> {
    let mut seen = Vec::new();
    let mut is_pragma = false;
    let mut by_content = None;
    let mut by_charset = None;
    while let Some((name, value)) = attributes.next()? {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        match name {
            b"http-equiv" => is_pragma = value == b"content-type",
            b"content" => by_content = charset_in(value).and_then(Encoding::for_label),
            b"charset" => by_charset = Some(Encoding::for_label(value)),
            _ => {}
        }
    }
    let found = by_charset.unwrap_or(if is_pragma { by_content } else { None });
    Some(found.map(readable))
}

/// A declaration that could be read was in ASCII's own bytes.
fn readable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// What an XML declaration at the beginning says: browsers follow it, though it declares
/// nothing in HTML.
fn xml_declared(head: &[u8]) -> Option<&'static Encoding> {
    let rest = head.strip_prefix(b"<?xml")?;
    let rest = &rest[..memchr::memchr(b'>', rest)?];
    let rest = &rest[memchr::memmem::find(rest, b"encoding")? + b"encoding".len()..];
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *rest.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let value = &rest[1..][..memchr::memchr(quote, &rest[1..])?];
    Encoding::for_label(value).map(readable)
}

/// The value after `charset=` in a `content` attribute (§2.5.8), in lower case.
pub(crate) fn charset_in(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        rest =
            rest[memchr::memmem::find(rest, b"charset")? + b"charset".len()..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            rest = value.trim_ascii_start();
            break;
        }
    }
    match *rest.first()? {
        quote @ (b'"' | b'\'') => rest[1..]
            .split(|&byte| byte == quote)
            .next()
            .filter(|value| value.len() + 1 < rest.len()),
        _ => rest.split(|&byte| is_space(byte) || byte == b';').next(),
    }
}

/// Reads attributes of a tag, roughly, as §13.2.3.2 does: `None` where the bytes end.
struct Attributes<'a> {
    head: &'a [u8],
    at: usize,
}

impl<'a> Attributes<'a> {
    /// Name and value of the next one, or that the tag ends.
    fn next(&mut self) -> Option<Option<(&'a [u8], &'a [u8])>> {
        self.skip(|byte| is_space(byte) || byte == b'/')?;
        if self.head[self.at] == b'>' {
            return Some(None);
        }
        let begin = self.at;
        // An equals sign that comes first is part of the name.
        self.at += 1;
        self.skip(|byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'='))?;
        let name = &self.head[begin..self.at];
        self.skip(is_space)?;
        if self.head[self.at] != b'=' {
            return Some(Some((name, b"")));
        }
        self.at += 1;
        self.skip(is_space)?;
        let first = self.head[self.at];
        if matches!(first, b'"' | b'\'') {
            let begin = self.at + 1;
            self.at = begin;
            self.skip(|byte| byte != first)?;
            self.at += 1;
            return Some(Some((name, &self.head[begin..self.at - 1])));
        }
        let begin = self.at;
        self.skip(|byte| !is_space(byte) && byte != b'>')?;
        Some(Some((name, &self.head[begin..self.at])))
    }

    /// Goes on to the first byte that isn't so.
    fn skip(&mut self, is_so: impl Fn(u8) -> bool) -> Option<()> {
        self.at += self.head[self.at..].iter().position(|&byte| !is_so(byte))?;
        Some(())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_as_browsers_find_them() {
        for (head, expected) in [
            ("<meta charset=windows-1251>", "windows-1251"),
            ("<META CHARSET = 'Shift_JIS' >", "Shift_JIS"),
            ("<meta/charset=\"gb2312\"/>", "GBK"),
            ("<meta http-equiv=content-type content='text/html; charset=latin1'>", "windows-1252"),
            ("<meta content='text/html; charset=\"big5\"' http-equiv=Content-Type>", "Big5"),
            ("<meta name=x content='charset=big5'><meta charset=euc-kr>", "EUC-KR"),
            ("<meta content='charset charset = koi8-r;x' http-equiv=content-type>", "KOI8-R"),
            ("<meta charset=klingon><meta charset=euc-jp>", "EUC-JP"),
            ("<meta charset=euc-jp charset=big5>", "EUC-JP"),
            ("<meta charset=utf-16>", "UTF-8"),
            ("<meta charset=x-user-defined>", "windows-1252"),
            ("<!-- <meta charset=big5> --><meta charset=euc-kr>", "EUC-KR"),
            ("<!--><meta charset=big5>-->", "Big5"),
            ("<p title='<meta charset=big5>'><meta charset=euc-kr>", "EUC-KR"),
            ("<?php > <meta charset=big5>", "Big5"),
            ("</p title='<meta charset=big5>'>", "none"),
            ("<metacharset charset=big5>", "none"),
            ("<meta charset=big5", "none"),
            ("<meta charset='big5>", "none"),
            ("<meta", "none"),
            ("<", "none"),
            ("", "none"),
        ] {
            let found = prescan(&head.as_bytes().to_ascii_lowercase());
            assert_eq!(found.map_or("none", Encoding::name), expected, "{head}");
        }
    }

    #[test]
    fn the_mark_the_head_and_the_page_decide_in_this_order() {
        let big5 = Encoding::for_label(b"big5");
        for (html, http, expected) in [
            (&b"\xEF\xBB\xBF<meta charset=euc-kr>"[..], big5, ("UTF-8", 3, true)),
            (b"\xFF\xFE<\0", big5, ("UTF-16LE", 2, true)),
            (b"\xFE\xFF\0<", None, ("UTF-16BE", 2, true)),
            (b"<meta charset=euc-kr>", big5, ("Big5", 0, true)),
            (b"<meta charset=euc-kr>", None, ("EUC-KR", 0, true)),
            (b"<?xml version='1.0' encoding='ISO-8859-2'?><p>", None, ("ISO-8859-2", 0, false)),
            (b"<p>", None, ("UTF-8", 0, false)),
        ] {
            let found = determine(html, http);
            assert_eq!((found.encoding.name(), found.from, found.is_declared), expected);
        }
    }
}
