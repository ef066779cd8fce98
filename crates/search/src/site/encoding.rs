//! In which encoding a page is: by its first bytes, its `Content-Type`, or what it says itself.
//!
//! Law: the encoding sniffing of HTML (WHATWG) as far as pages need it, the encodings of
//! `encoding_rs`. What says nothing is UTF-8, or isn't read: to guess wrong is to find nonsense.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// A page says its encoding within so many bytes.
const PRESCAN_BYTES: usize = 4096;

/// A page's text; none where it isn't text, or in no encoding that is known. It may be cut anywhere.
#[must_use]
pub fn decoded<'a>(html: &'a [u8], content_type: &str) -> Option<Cow<'a, str>> {
    let told = match Encoding::for_bom(html) {
        Some((encoding, _)) => Some(encoding),
        None => in_type(content_type).or_else(|| in_page(html)),
    };
    let encoding = told.unwrap_or(UTF_8);
    if encoding != UTF_8 {
        let (text, _, _) = encoding.decode(html);
        // What bears such a name and isn't text.
        return (!text.contains('\0')).then_some(text);
    }
    let is_whole = match std::str::from_utf8(html) {
        Ok(_) => true,
        // A letter that the cut went through.
        Err(error) => error.error_len().is_none(),
    };
    is_whole.then(|| UTF_8.decode(html).0)
}

/// As in `text/html; charset="euc-kr"`.
fn in_type(content_type: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label(content_type.as_bytes())?)
}

/// As in `<meta charset=euc-kr>` and in `<meta http-equiv=Content-Type content="…">`.
fn in_page(html: &[u8]) -> Option<&'static Encoding> {
    let head = &html[..html.len().min(PRESCAN_BYTES)];
    let mut rest = head;
    while let Some(at) = find(rest, b"<meta") {
        rest = &rest[at + 5..];
        let end = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
        if let Some(encoding) = label(&rest[..end]).and_then(Encoding::for_label) {
            // It was read as if it were ASCII, so it can't be this.
            let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
            return Some(if is_wide { UTF_8 } else { encoding });
        }
    }
    None
}

/// What stands behind `charset=`.
fn label(text: &[u8]) -> Option<&[u8]> {
    let rest = &text[find(text, b"charset")? + 7..];
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"';/>".contains(byte);
    Some(&rest[..rest.iter().position(is_end).unwrap_or(rest.len())])
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|some| some.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &[u8], content_type: &str, expected: Option<&str>) {
        assert_eq!(decoded(html, content_type).as_deref(), expected, "{content_type} {html:?}");
    }

    #[test]
    fn the_encoding_is_what_the_page_or_its_type_says() {
        let korean = b"\xc7\xd1\xb1\xdb";
        check(korean, "text/html; charset=EUC-KR", Some("한글"));
        check(korean, "text/html;charset=\"ks_c_5601-1987\"", Some("한글"));
        check(b"caf\xe9 \x80", "text/html; charset=iso-8859-1", Some("café €"));
        check(b"\x83\x65\x83\x58\x83\x67", "text/html; charset=Shift_JIS", Some("テスト"));
        check(
            b"<meta CHARSET='windows-1251'>\xcf\xf0",
            "text/html",
            Some("<meta CHARSET='windows-1251'>Пр"),
        );
        let old = b"<meta http-equiv=Content-Type content=\"text/html; charset=euc-kr\">\xc7\xd1";
        assert!(decoded(old, "text/html").is_some_and(|text| text.ends_with('한')));
        // The type comes before the page, and a mark of byte order before both.
        check(
            b"<meta charset=euc-kr>\xc3\xa9",
            "text/html; charset=utf-8",
            Some("<meta charset=euc-kr>é"),
        );
        check(b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=euc-kr", Some("é"));
        check(b"\xff\xfea\0b\0", "text/html", Some("ab"));
        check(b"<meta charset=utf-16>\xc3\xa9", "", Some("<meta charset=utf-16>é"));
    }

    #[test]
    fn what_says_nothing_is_utf8_or_is_not_read() {
        check("é".as_bytes(), "text/html", Some("é"));
        check(b"caf\xe9 noir", "text/html", None);
        check(b"caf\xe9 noir", "text/html; charset=none-such", None);
        check(b"a\0b", "text/html; charset=euc-kr", None);
        check(b"", "", Some(""));
        // A cut goes through letters.
        assert!(decoded(&"é".as_bytes()[..1], "").is_some());
        assert!(decoded(b"\xc7\xd1\xb1", "text/html; charset=euc-kr").is_some());
        for bytes in [&b"<meta charset="[..], b"charset", b"<meta", b"<meta charset=\"\">"] {
            assert!(decoded(bytes, "text/html; charset=").is_some());
        }
    }
}
