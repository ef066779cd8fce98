//! Context: a value that pairing missed is found by what stands to the left of it.
//!
//! In: both copies and a value of the old one. Out: the value that stands in the new copy
//! behind the same bytes, if every place agrees on one.
//! Limits: [`OCCURRENCES_MAX`] places of the value in the old copy, as many of its context
//! in the new one.

use memchr::memmem;

use crate::escape::percent::{self, Place};
use crate::escape::{entity, json};

/// How many bytes of context are compared, the most telling first.
const CONTEXT_BYTES: [usize; 4] = [60, 40, 24, 14];
/// Less than this is no context.
const CONTEXT_BYTES_MIN: usize = 10;
const OCCURRENCES_MAX: usize = 32;
const VALUE_BYTES_MIN: usize = 4;

/// The new copy's value for one of the old copy's.
pub(crate) fn find(old: &[u8], new: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    if value.len() < VALUE_BYTES_MIN {
        return None;
    }
    let mut tried: Vec<Vec<u8>> = Vec::new();
    for spelling in spellings(value) {
        if tried.contains(&spelling) {
            continue;
        }
        for at in memmem::find_iter(old, &spelling).take(OCCURRENCES_MAX) {
            if let Some(found) = at_one_place(old, new, at, spelling.len()) {
                return Some(found).filter(|found| found != value);
            }
        }
        tried.push(spelling);
    }
    None
}

/// A value as text, markup, address and script may write it.
fn spellings(value: &[u8]) -> [Vec<u8>; 4] {
    let slashes = value.split(|&byte| byte == b'/').collect::<Vec<_>>().join(&b"\\/"[..]);
    [value.to_vec(), entity::encode(value), percent::encode(value, Place::Form), slashes]
}

fn at_one_place(old: &[u8], new: &[u8], at: usize, length: usize) -> Option<Vec<u8>> {
    let behind = *old.get(at + length)?;
    for bytes in CONTEXT_BYTES {
        let context = &old[at.saturating_sub(bytes)..at];
        if context.len() < CONTEXT_BYTES_MIN {
            return None;
        }
        let mut found: Vec<&[u8]> = memmem::find_iter(new, context)
            .take(OCCURRENCES_MAX)
            .filter_map(|start| value_at(&new[start + context.len()..], behind, length))
            .collect();
        found.sort_unstable();
        found.dedup();
        if let [one] = found[..] {
            return Some(plain(one));
        }
    }
    None
}

/// The longest run of a value's bytes that ends in front of the byte that stood behind the
/// old value, and is about as long.
fn value_at(rest: &[u8], behind: u8, length: usize) -> Option<&[u8]> {
    let is_value = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'<>&".contains(&byte);
    let (least, most) = (VALUE_BYTES_MIN.max(length / 2), length * 2 + 4);
    let run = rest.iter().take(most).position(|&byte| !is_value(byte));
    let run = run.unwrap_or(rest.len().min(most));
    (least..=run).rev().find(|&end| rest.get(end) == Some(&behind)).map(|end| &rest[..end])
}

fn plain(spelling: &[u8]) -> Vec<u8> {
    let text = entity::decode(spelling);
    let text = json::decode(&text);
    percent::decode(&text, Place::Path).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, value: &str, expected: Option<&str>) {
        let found = find(old.as_bytes(), new.as_bytes(), value.as_bytes());
        let found = found.map(|found| String::from_utf8_lossy(&found).into_owned());
        assert_eq!(found.as_deref(), expected, "{value} in {old} / {new}");
    }

    #[test]
    fn the_bytes_to_the_left_lead_to_the_value() {
        let old = "<p><form action=\"/post?key=abcd1\">";
        check(old, "<b>other</b><form action=\"/post?key=wxyz22\">", "abcd1", Some("wxyz22"));
        check(old, "<form action=\"/post\">", "abcd1", None);
        check(old, "<form action=\"/post?key=wxyz2&t=1\">", "abcd1", None);
    }

    #[test]
    fn two_answers_are_none() {
        let old = "my token is 'abcd1'";
        check(old, "my token is 'efgh2' my token is 'ijkl3'", "abcd1", None);
        check(old, "my token is 'efgh2' my token is 'efgh2'", "abcd1", Some("efgh2"));
    }

    #[test]
    fn every_spelling_is_tried_and_read() {
        check("{\"the_token\":\"ab\\/cd\"}", "{\"the_token\":\"ef\\/gh\"}", "ab/cd", Some("ef/gh"));
        check("href=\"/?token=a%2Fbc\"", "href=\"/?token=d%2Fef\"", "a/bc", Some("d/ef"));
    }

    #[test]
    fn without_context_nothing_is_guessed() {
        check("x='abcd1'", "x='efgh2'", "abcd1", None);
        check("a long context: 'abcd1", "a long context: 'efgh2'", "abcd1", None);
        check("a long context: 'abc'", "a long context: 'def'", "abc", None);
    }
}
