//! What one segment of a path is: a word that an app has chosen, or one of many values.
//!
//! In: a segment as it was asked for. Out: the segment, or the name of what it is, such as
//! `{id}`. Nothing is remembered: a value that looks like a word is found out by how many of
//! its kind there are ([`super::Routes`]).

use std::borrow::Cow;

/// Longer ones are values, whatever they look like.
const WORD_BYTES_MAX: usize = 48;
/// So many hexadecimal digits with a decimal one among them are no word.
const HEX_BYTES_MIN: usize = 8;
/// A text of letters and digits as long as this is no word.
const TOKEN_BYTES_MIN: usize = 20;
const TOKEN_DIGITS_MIN: usize = 2;
/// The longest ending, as in `.woff2`.
const ENDING_BYTES_MAX: usize = 5;

/// Any value at all.
pub(super) const ANY: &str = "{}";
/// A day, or a part of one.
const DATE: &str = "{date}";

/// Reads a segment; `before` is what the one before it was.
pub(super) fn read<'a>(segment: &'a str, before: &str) -> Cow<'a, str> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() || !byte.is_ascii();
    if segment.len() > WORD_BYTES_MAX
        || segment.contains(['{', '}'])
        || !segment.bytes().all(is_plain)
    {
        return ANY.into();
    }
    if let Some(kind) = value(segment, before) {
        return kind.into();
    }
    if let Some((stem, ending)) = segment.rsplit_once('.')
        && (1..=ENDING_BYTES_MAX).contains(&ending.len())
        && ending.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        let kind = value(stem, before).or_else(|| slug(stem));
        return kind.map_or(segment.into(), |kind| format!("{kind}.{ending}").into());
    }
    slug(segment).map_or(segment.into(), Cow::from)
}

/// What a segment is that has no words in it.
fn value(segment: &str, before: &str) -> Option<&'static str> {
    let bytes = segment.as_bytes();
    if is_digits(bytes) {
        let is_year = bytes.len() == 4 && matches!(bytes[..2], [b'1', b'9'] | [b'2', b'0']);
        let is_in_year = before == DATE && bytes.len() <= 2;
        return Some(if is_year || is_in_year { DATE } else { "{id}" });
    }
    if is_date(bytes) {
        return Some(DATE);
    }
    if is_uuid(bytes) {
        return Some("{uuid}");
    }
    is_hex(bytes).then_some("{hex}")
}

/// What a segment is that may have words in it, if it has a number, too.
fn slug(segment: &str) -> Option<&'static str> {
    let mut parts = segment.split(['-', '_', '.', ',', '~', ':', '=']).map(str::as_bytes);
    if parts.any(|part| is_digits(part) || is_hex(part)) {
        return Some("{slug}");
    }
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    (segment.len() >= TOKEN_BYTES_MIN && digits >= TOKEN_DIGITS_MIN).then_some("{token}")
}

fn is_digits(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit)
}

fn is_hex(bytes: &[u8]) -> bool {
    bytes.len() >= HEX_BYTES_MIN
        && bytes.iter().all(u8::is_ascii_hexdigit)
        && bytes.iter().any(u8::is_ascii_digit)
}

/// `2026-11` or `2026-11-22`.
fn is_date(bytes: &[u8]) -> bool {
    let parts: Vec<usize> = bytes
        .split(|byte| *byte == b'-')
        .map(|part| if is_digits(part) { part.len() } else { 0 })
        .collect();
    parts == [4, 2] || parts == [4, 2, 2]
}

fn is_uuid(bytes: &[u8]) -> bool {
    let parts: Vec<usize> = bytes
        .split(|byte| *byte == b'-')
        .map(|part| if part.iter().all(u8::is_ascii_hexdigit) { part.len() } else { 0 })
        .collect();
    parts == [8, 4, 4, 4, 12]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_and_values_are_named() {
        for (segment, is) in [
            ("thread", "thread"),
            ("wp-content", "wp-content"),
            ("viewtopic.php", "viewtopic.php"),
            ("v2", "v2"),
            ("style2.css", "style2.css"),
            ("Überblick", "Überblick"),
            ("123", "{id}"),
            ("7", "{id}"),
            ("123.html", "{id}.html"),
            ("2026", "{date}"),
            ("2026-11-22", "{date}"),
            ("2026-11", "{date}"),
            ("1066", "{id}"),
            ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "{uuid}"),
            ("3f2504e04f89", "{hex}"),
            ("deadbeef", "deadbeef"),
            ("hello-world-42", "{slug}"),
            ("42-hello-world", "{slug}"),
            ("how-to-knit.512", "{slug}"),
            ("thread-5-page-2.html", "{slug}.html"),
            ("app.3f9a2b1c.js", "{slug}.js"),
            ("jquery-3.7.1.min.js", "{slug}.js"),
            ("eyJhbGciOiJIUzI1NiJ9", "{token}"),
            ("a{id}", "{}"),
            ("a b", "{}"),
            ("a\u{1b}[2J", "{}"),
        ] {
            assert_eq!(read(segment, ""), is, "{segment}");
        }
        assert_eq!(read(&"a".repeat(49), ""), ANY);
    }

    #[test]
    fn a_month_or_day_is_one_only_behind_its_year() {
        assert_eq!(read("05", "{date}"), "{date}");
        assert_eq!(read("05", "thread"), "{id}");
        assert_eq!(read("512", "{date}"), "{id}");
    }
}
