//! Puzzles: a sum that a form asks for, with other numbers in each copy.
//!
//! Numbers that people read may differ between two strangers; those of a sum may not, since its
//! answer lies in the session of whoever was asked. Told by its look alone: two short numbers
//! with a sign between them, in a form, near a field that somebody types into.

use std::ops::Range;

use crate::chunk::ChunkKind;
use crate::class::Class;
use crate::compare::Comparison;
use crate::document::Document;
use crate::escape::entity;
use crate::tag;

/// So many chunks before or after a number belong to the question…
const QUESTION_CHUNKS: usize = 4;
/// …and in so many is the field for the answer.
const ANSWER_CHUNKS: usize = 8;
/// Sums are of small numbers.
const DIGITS_MAX: usize = 3;
/// Signs as markup names them.
const SIGNS: [(&str, &str); 5] =
    [("&plus;", "+"), ("&minus;", "−"), ("&times;", "×"), ("&divide;", "÷"), ("&middot;", "·")];

/// Whether one of the differences is a number of such a sum.
pub(crate) fn is_asked(first: &Document, comparison: &Comparison) -> bool {
    let counters = comparison.spans.iter().filter(|span| span.class == Class::Counter);
    let mut numbers = counters.map(|span| span.chunks.0 as usize).peekable();
    // Most pages have none, and aren't searched for forms.
    if numbers.peek().is_none() {
        return false;
    }
    let forms = forms(first);
    numbers.any(|at| {
        let form = forms.iter().find(|(start, end)| (*start..*end).contains(&at));
        form.is_some_and(|&(start, end)| {
            let around =
                |chunks: usize| at.saturating_sub(chunks).max(start)..(at + chunks + 1).min(end);
            around(ANSWER_CHUNKS).any(|at| is_typed_into(first, at))
                && holds_sum(&text(first, around(QUESTION_CHUNKS)))
        })
    })
}

/// Where forms begin and end, by chunks.
fn forms(document: &Document) -> Vec<(usize, usize)> {
    let mut forms = Vec::new();
    let mut open = None;
    for (at, chunk) in document.chunks().iter().enumerate() {
        let bytes = document.bytes(*chunk);
        if chunk.kind != ChunkKind::Tag || !tag::name(bytes).eq_ignore_ascii_case(b"form") {
            continue;
        }
        match bytes.get(1) == Some(&b'/') {
            true => forms.extend(open.take().map(|start| (start, at))),
            // A form in a form is none to a browser.
            false => open = open.or(Some(at)),
        }
    }
    forms.extend(open.map(|start| (start, document.chunk_count())));
    forms
}

/// Whether a chunk is a field for a short text or a number.
fn is_typed_into(document: &Document, at: usize) -> bool {
    let chunk = document.chunks()[at];
    let bytes = document.bytes(chunk);
    let kind = || tag::attributes(bytes).find(|attribute| attribute.is("type"));
    chunk.kind == ChunkKind::Tag
        && tag::name(bytes).eq_ignore_ascii_case(b"input")
        && kind().is_none_or(|kind| {
            [&b""[..], b"text", b"number", b"tel"]
                .iter()
                .any(|typed| kind.value.eq_ignore_ascii_case(typed))
        })
}

/// What a person reads in these chunks.
fn text(document: &Document, chunks: Range<usize>) -> String {
    let mut text = String::new();
    for at in chunks {
        let chunk = document.chunks()[at];
        let bytes = document.bytes(chunk);
        let read = match chunk.kind {
            ChunkKind::Tag => &bytes[tag::length(bytes).min(bytes.len())..],
            ChunkKind::Text => bytes,
            ChunkKind::Script | ChunkKind::Comment => continue,
        };
        text.push_str(&String::from_utf8_lossy(&entity::decode(read)));
        text.push(' ');
    }
    for (name, sign) in SIGNS {
        if text.contains(name) {
            text = text.replace(name, sign);
        }
    }
    text
}

/// Whether two short numbers stand there with a sign between them.
fn holds_sum(text: &str) -> bool {
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest
            .find(|letter: char| {
                letter.is_ascii_digit() != is_digit
                    || letter.is_alphabetic() != first.is_alphabetic()
                    || letter.is_whitespace() != first.is_whitespace()
            })
            .unwrap_or(rest.len());
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
    let is_number =
        |word: &&&str| word.len() <= DIGITS_MAX && word.bytes().all(|b| b.is_ascii_digit());
    let is_space = |word: &&str| word.chars().all(char::is_whitespace);
    (0..words.len()).filter(|at| is_number(&&words[*at])).any(|at| {
        let spaced_before = words.get(at + 1).is_some_and(is_space);
        let sign_at = at + 1 + usize::from(spaced_before);
        let spaced_after = words.get(sign_at + 1).is_some_and(is_space);
        let other = words.get(sign_at + 1 + usize::from(spaced_after));
        let is_apart = spaced_before && spaced_after;
        let Some(sign) = words.get(sign_at) else { return false };
        let is_sign = match *sign {
            "+" | "*" | "×" | "÷" | "·" => true,
            // Dates and ranges have them without spaces, and words hold an x.
            "-" | "−" | "–" | "x" | "X" => is_apart,
            word => ["plus", "minus"].iter().any(|sign| word.eq_ignore_ascii_case(sign)),
        };
        is_sign && other.as_ref().is_some_and(is_number)
    })
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::compare::compare;
    use crate::document::Kind;

    fn check(old: &str, new: &str, expected: bool) {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let (old, new) = (read(old), read(new));
        let comparison = compare(&old, &new).expect("short pages");
        assert_eq!(is_asked(&old, &comparison), expected, "{comparison:?}");
    }

    #[test]
    fn a_sum_that_differs_is_asked_by_a_form() {
        let form = |sum: &str| {
            format!(
                "<form><textarea name=t></textarea><label>What is {sum}?</label><input name=sum></form>"
            )
        };
        for (one, other) in [
            ("3 + 4", "7 + 1"),
            ("3+4", "7+1"),
            ("<b>3</b> + <b>4</b>", "<b>7</b> + <b>1</b>"),
            ("3 &times; 4", "7 &times; 1"),
            ("12 &minus; 4", "17 &minus; 1"),
            ("3 plus 4", "7 plus 1"),
            ("9 - 4", "7 - 1"),
        ] {
            check(&form(one), &form(other), true);
            check(&form(one), &form(one), false);
            let outside = |sum: &str| format!("<p>{sum}</p><form><input name=q></form>");
            check(&outside(one), &outside(other), false);
            let unanswered =
                |sum: &str| format!("<form><p>{sum}</p><input type=hidden name=q></form>");
            check(&unanswered(one), &unanswered(other), false);
        }
        for (one, other) in [
            ("12 views", "13 views"),
            ("1-10 of 17", "1-10 of 18"),
            ("2026-11-28 12:30", "2026-11-28 12:31"),
            ("1200 + 1300", "1200 + 1301"),
            ("3, 4", "7, 1"),
        ] {
            check(&form(one), &form(other), false);
        }
    }
}
