//! Comparison: all that two copies of one page differ in.
//!
//! In: two documents. Out: spans in the order of the page, and how many chunks have no
//! counterpart; or [`TooDifferent`] when the answer would cost more than it is worth.
//! Invariants: 1. a copy compared with itself has no spans and nothing left. 2. what the
//! copies differ in is a span, is left, or stands in a comment.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::binding::STRONG_VALUES_MAX;
use crate::chunk::ChunkKind;
use crate::class::Class;
use crate::difference::{Build, Differences};
use crate::document::Document;
use crate::escape::entity;
use crate::pairing;
use crate::span::Span;
use crate::tag;
use crate::unit;

/// The copies were given up: pairing them takes over four million steps, or they differ in
/// over twenty thousand places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the copies are too different to be compared")]
pub struct TooDifferent;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// No difference that a browser would see.
    Same,
    /// Every difference is a number that a person reads, or a value to be translated.
    Translatable,
    /// A person would read something else, in so many places.
    ReadsDifferently(usize),
    /// So many chunks have no counterpart.
    BuiltDifferently(usize),
}

/// All that two copies differ in.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The differences, in the order of the page.
    pub spans: Vec<Span>,
    /// Chunks without a counterpart in the other copy, on both sides, and pairs of chunks
    /// that are built differently.
    pub left: usize,
    /// Chunks of the old copy.
    pub chunks: usize,
    /// Old chunks without a counterpart or with one of another build.
    pub(crate) left_old: Vec<u32>,
    /// The same of the new copy, each with the old chunk before which, or as which, it
    /// stands.
    pub(crate) left_new: Vec<(u32, u32)>,
}

/// Compares two copies of one page.
///
/// # Errors
/// [`TooDifferent`], see there.
pub fn compare(old: &Document, new: &Document) -> Result<Comparison, TooDifferent> {
    let pairing = pairing::pair(old, new)?;
    let is_comment = |of: &Document, at: u32| of.chunks()[at as usize].kind == ChunkKind::Comment;
    let mut left_old = pairing.only_old;
    let mut left_new = pairing.only_new;
    left_old.retain(|&at| !is_comment(old, at));
    left_new.retain(|&(at, _)| !is_comment(new, at));
    let mut left = left_old.len() + left_new.len();
    let mut differences = Differences::new(old, new);
    for (a, b) in pairing.pairs {
        if differences.add(a, b)? == Build::Torn {
            left += 1;
            left_old.push(a);
            left_new.push((b, a));
        }
    }
    left_old.sort_unstable();
    left_new.sort_unstable();
    let chunks = old.chunk_count();
    let mut spans = differences.spans;
    part_names(old, new, &mut spans);
    Ok(Comparison { spans, left, chunks, left_old, left_new })
}

/// Two fields that were paired though one copy has the name of either are two fields, and not
/// one that is called by another name in each session: a name that both copies have is
/// nobody's own.
fn part_names(old: &Document, new: &Document, spans: &mut [Span]) {
    let is_name = |span: &Span| span.class == Class::FieldName;
    if !spans.iter().any(is_name) {
        return;
    }
    let (old_names, new_names) = (names(old), names(new));
    for span in spans.iter_mut().filter(|span| is_name(span)) {
        if new_names.contains(&span.old[..]) || old_names.contains(&span.new[..]) {
            span.class = Class::Content;
        }
    }
}

/// All names that fields have in a copy, or refer to one by.
fn names(document: &Document) -> HashSet<Cow<'_, [u8]>> {
    let tags = document.chunks().iter().filter(|chunk| chunk.kind == ChunkKind::Tag);
    tags.flat_map(|chunk| tag::attributes(document.bytes(*chunk)))
        .filter(|attribute| ["name", "id", "for"].iter().any(|name| attribute.is(name)))
        .map(|attribute| entity::decode(attribute.value))
        .collect()
}

impl Comparison {
    /// The worst that was found.
    #[must_use]
    pub fn likeness(&self) -> Likeness {
        let visible = self.spans.iter().filter(|span| span.class == Class::Visible).count();
        match (self.left, visible) {
            (0, 0) if self.spans.is_empty() => Likeness::Same,
            (0, 0) => Likeness::Translatable,
            (0, _) => Likeness::ReadsDifferently(visible),
            (left, _) => Likeness::BuiltDifferently(left),
        }
    }

    /// The old copy's values by which that copy is recognised in a request: strong values
    /// that are no part of another's word, then names of fields; each once. Of a copy with over
    /// 1,024 different tokens, which is not bound anyway, the parts are told as well.
    pub fn strong_values(&self) -> impl Iterator<Item = &[u8]> {
        let of = |class| {
            let spans = self.spans.iter().filter(move |span| span.class == class);
            spans.map(|span| &span.old[..]).filter(|old| !old.is_empty())
        };
        let strong: HashSet<&[u8]> = of(Class::Strong).collect();
        let longest_bytes = strong.iter().map(|value| value.len()).max().unwrap_or(0);
        let is_part = move |value: &[u8]| {
            // Nothing can hold one that is as long as the longest.
            value.len() < longest_bytes
                && strong.len() <= STRONG_VALUES_MAX
                && strong.iter().any(|other| other.len() > value.len() && is_cut_out(other, value))
        };
        let mut seen = HashSet::new();
        of(Class::Strong)
            .filter(move |value| !is_part(value))
            .chain(of(Class::FieldName))
            .filter(move |value| seen.insert(*value))
    }
}

/// Whether a value stands in a longer one with letters or digits of that one beside it. Between
/// marks it is a value by itself: a page's data come as one text that a script reads.
fn is_cut_out(longer: &[u8], value: &[u8]) -> bool {
    let is_in_word = |byte: Option<&u8>| byte.is_some_and(|byte| unit::is_word(*byte));
    memchr::memmem::find_iter(longer, value)
        .any(|at| is_in_word(longer[..at].last()) || is_in_word(longer.get(at + value.len())))
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::document::Kind;

    fn compared(old: &str, new: &str) -> Comparison {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let (old, new) = (read(old), read(new));
        let found = compare(&old, &new).expect("hardly any work");
        for span in &found.spans {
            assert!(span.old_place.end as usize <= old.text().len());
            assert!(span.new_place.end as usize <= new.text().len());
        }
        found
    }

    /// Each span as `class key: old -> new`; what is left as a number at the end.
    fn check(old: &str, new: &str, expected: &[&str]) {
        let comparison = compared(old, new);
        let text = String::from_utf8_lossy;
        let mut found: Vec<_> = comparison
            .spans
            .iter()
            .map(|s| {
                format!("{:?} {}: {} -> {}", s.class, text(&s.key), text(&s.old), text(&s.new))
            })
            .collect();
        if comparison.left > 0 {
            found.push(comparison.left.to_string());
        }
        assert_eq!(found, expected, "{old} / {new}");
    }

    #[test]
    fn fields_of_forms() {
        check(
            "<input type=hidden name=csrf id=x value=\"9f86d081884c7d65\">",
            "<input type=hidden name=csrf id=x value=\"60303ae22b998861\">",
            &["Strong csrf: 9f86d081884c7d65 -> 60303ae22b998861"],
        );
        check(
            "<input name=a value=1>",
            "<input name=a value=2>",
            &["Counter value: 1 -> 2", "Weak a: 1 -> 2"],
        );
        check("<input name=f1a value=1>", "<input name=f2b value=1>", &["FieldName : f1a -> f2b"]);
        check("<label for=f1a>X", "<label for=f2b>X", &["FieldName : f1a -> f2b"]);
        check(
            "<input type=hidden name=t value=1700000000>",
            "<input type=hidden name=t value=1700000009>",
            &["Clock t: 1700000000 -> 1700000009"],
        );
        check(
            "<input name=a value='x y'>",
            "<input name=a value='x z'>",
            &["Visible value: x y -> x z", "Weak a: x y -> x z", "Weak a: y -> z"],
        );
    }

    #[test]
    fn names_that_both_copies_have_are_nobodys_own() {
        check(
            "<label for=lang><select id=lang>",
            "<label for=token><select id=lang>",
            &["Content : lang -> token"],
        );
        check(
            "<label for=lang><b id=token><i>",
            "<label for=f1a><b id=lang><i>",
            &["Content : lang -> f1a", "Content : token -> lang"],
        );
        check("<b id=f1a><i>", "<b id=f2b><i>", &["FieldName : f1a -> f2b"]);
    }

    #[test]
    fn fields_are_told_apart_by_names_that_both_copies_have() {
        check(
            "<input type=hidden name=lang value=en><select name=lang>",
            "<input type=hidden name=token value=en><select name=lang>",
            &["2"],
        );
        check(
            "<input type=hidden name=visit value=a1><input type=hidden name=tok value=b2>",
            "<input type=hidden name=tok value=c3>",
            &["Weak tok: b2 -> c3", "1"],
        );
        check(
            "<input type=hidden name=f1a value=a1><input type=hidden name=tok value=b2>",
            "<input type=hidden name=f2b value=d4><input type=hidden name=tok value=c3>",
            &["FieldName : f1a -> f2b", "Weak f1a: a1 -> d4", "Weak tok: b2 -> c3"],
        );
        check(
            "<meta name=X-Id content=a1><meta name=csrf content=b2>",
            "<meta name=csrf content=c3>",
            &["Weak csrf: b2 -> c3", "1"],
        );
    }

    #[test]
    fn addresses() {
        check(
            "<a href=\"/x?sid=9f86d081&amp;t=1\">X</a>",
            "<a href=\"/x?sid=60303ae2&amp;t=1\">X</a>",
            &["Strong sid: 9f86d081 -> 60303ae2"],
        );
        check(
            "<img src='/c?1700000000'>",
            "<img src='/c?1700000002'>",
            &["Clock src: 1700000000 -> 1700000002"],
        );
    }

    #[test]
    fn what_people_read() {
        check("<p>12 views", "<p>13 views", &["Counter : 12 views -> 13 views"]);
        check("<p>Ann1", "<p>Bob2", &["Visible : Ann1 -> Bob2"]);
        check("<img alt='by Ann1'>", "<img alt='by Bob2'>", &["Visible alt: by Ann1 -> by Bob2"]);
        check(
            "<input type=submit value='A1'>",
            "<input type=submit value='B2'>",
            &["Visible value: A1 -> B2"],
        );
        check("<a style='a b'>", "<a style='c'>", &["Visible style: a b -> c"]);
    }

    #[test]
    fn attributes_of_other_content_are_no_tokens() {
        check(
            "<a href='/t/9f86d081' id=a1>Topic1x",
            "<a href='/t/60303ae2' id=a2>Topic2y",
            &[
                "Visible : Topic1x -> Topic2y",
                "Content href: 9f86d081 -> 60303ae2",
                "Content id: a1 -> a2",
            ],
        );
        check(
            "<a href='/t/9f86d081'>12",
            "<a href='/t/60303ae2'>13",
            &["Counter : 12 -> 13", "Strong href: 9f86d081 -> 60303ae2"],
        );
    }

    #[test]
    fn scripts() {
        check(
            "<script>var k = 'a1b2', n = 5;</script>",
            "<script>var k = 'c3d4', n = 6;</script>",
            &["Weak k: a1b2 -> c3d4", "Weak n: 5 -> 6"],
        );
        check(
            r#"{"t":"9f\/86d0","u":"\/?s=x1"}"#,
            r#"{"t":"60\/3a2b","u":"\/?s=x2"}"#,
            &[
                "Weak t: 9f -> 60",
                "Weak t: 86d0 -> 3a2b",
                "Weak t: 9f/86d0 -> 60/3a2b",
                "Weak s: x1 -> x2",
            ],
        );
        check("{\"a\":1}", "{\"a\":\"1\"}", &["2"]);
        check(
            "<a onclick=\"f('ab/c1','x y')\">",
            "<a onclick=\"f('abd2','x y')\">",
            &["Weak f: ab/c1 -> abd2"],
        );
    }

    #[test]
    fn comments_spelling_and_white_space_are_no_differences() {
        check("<!-- a --><p>x", "<!-- b -->  \n<p >x", &[]);
        check("<a x=\"a&amp;b\">", "<a x='a&#38;b'>", &[]);
        check("x<!-- only here -->", "x", &[]);
    }

    #[test]
    fn what_one_copy_lacks_is_left() {
        check("<p>a<b>b<i>c", "<p>a<i>c", &["1"]);
        check("<p a=1>x", "<p b=1>x", &["2"]);
        check("<script>f('x');</script>", "<script>f('x', 2);</script>", &["2"]);
    }

    #[test]
    fn the_likeness_is_the_worst() {
        let check = |old: &str, new: &str, expected: Likeness| {
            assert_eq!(compared(old, new).likeness(), expected, "{old} / {new}");
        };
        check("<p>a", "<p>a", Likeness::Same);
        check("<p>1", "<p>2", Likeness::Translatable);
        check("<p>a1x2", "<p>b3y4", Likeness::ReadsDifferently(1));
        check("<p>1<i>", "<p>2", Likeness::BuiltDifferently(1));
    }

    #[test]
    fn strong_values_are_the_longest_and_come_once() {
        let old = "<input name=f1a2 value=ab12cd34><a href='/?h=ab12cd34'><a href='/ab12cd34ef56'>";
        let new = "<input name=g1a2 value=xb12cd34><a href='/?h=xb12cd34'><a href='/xb12cd34ef56'>";
        let comparison = compared(old, new);
        let found: Vec<_> =
            comparison.strong_values().map(|v| String::from_utf8_lossy(v).into_owned()).collect();
        assert_eq!(found, ["ab12cd34ef56", "f1a2"]);
    }

    #[test]
    fn a_token_in_a_text_that_a_script_reads_is_told_beside_it() {
        let page = |token: &str| {
            format!(
                "<input name=csrf value={token}>\n<script>push('[{{\\\"csrf\\\":\\\"{token}\\\"}}]')</script>"
            )
        };
        let (token, other) = ("BbuHEj81kQzWyA", "AObwQ7x2LmN4cd");
        let comparison = compared(&page(token), &page(other));
        let found: Vec<_> = comparison.strong_values().collect();
        assert!(found.contains(&token.as_bytes()), "{found:?}");
    }
}
