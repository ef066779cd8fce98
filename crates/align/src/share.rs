//! Sharing: whether a page that was made for one stranger may be shown to others.
//!
//! In: that stranger's copy, further fetches by the same stranger, another stranger's copy,
//! and what is the first one's own (cookie values, address). Out: yes, or the reason why
//! not. A page that changes by itself (a random block, rows that sort equally) differs from
//! its own later fetches in the same places; a page that is personal does not.
//! Invariants: 1. nothing of the first stranger's own stands in the page but in values
//! that are translated. 2. a difference between two strangers is a number, is translated,
//! has only moved, or stands where the page changes by itself.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use crate::binding::Binding;
use crate::class::{self, Class};
use crate::compare::{Comparison, TooDifferent, compare};
use crate::document::Document;
use crate::escape::{entity, percent};
use crate::{chunk::ChunkKind, puzzle, tag};

/// Of a small page so many chunks may change from fetch to fetch, of a large one an eighth.
const CHANGED_MIN: usize = 4;
const CHANGED_PART: usize = 8;
/// Shorter values say nothing about where they come from; an address has at least seven.
const PERSONAL_BYTES_MIN: usize = 7;

/// Why a page is not shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The copies were given up.
    #[error(transparent)]
    TooDifferent(#[from] TooDifferent),
    /// Two fetches by one stranger differ too much: reading the page changes it.
    #[error("parts that change from fetch to fetch: {changed}, where {most} may")]
    Unsteady {
        /// Chunks that changed.
        changed: usize,
        /// Chunks that may.
        most: usize,
    },
    /// Two strangers read something different, where one stranger does not.
    #[error("two strangers read different texts")]
    Personal {
        /// What the first reads.
        old: Vec<u8>,
        /// What the other reads.
        new: Vec<u8>,
    },
    /// Two strangers' copies are built differently, where one stranger's are not.
    #[error("parts that only one of two strangers has: {left}")]
    BuiltDifferently {
        /// Chunks without a counterpart.
        left: usize,
    },
    /// A form asks each stranger for another sum, and its answer lies in the session.
    #[error("a form asks each visitor for another sum, and its answer lies in the session")]
    Puzzle,
    /// Something of the first stranger's own would be shown to others.
    #[error("a stranger's own value stands in the page, at byte {at}")]
    Exposed {
        /// Where in the copy's text.
        at: usize,
    },
}

/// Says whether `first` may be shown to others.
///
/// `again` are later fetches by the same stranger: one shows what reading changes, and each
/// more shows more of what is random. `personal` are the first stranger's cookie values
/// and address, without those that every stranger has in common.
///
/// # Errors
/// The reason why not.
pub fn may_share(
    first: &Document,
    again: &[&Document],
    other: &Document,
    personal: &[&[u8]],
) -> Result<(), Refusal> {
    let mut changing = HashSet::new();
    for later in again {
        let comparison = compare(first, later)?;
        let rest = Rest::of(first, later, &comparison);
        let most = CHANGED_MIN.max(comparison.chunks / CHANGED_PART);
        if rest.count() > most {
            return Err(Refusal::Unsteady { changed: rest.count(), most });
        }
        note_changes(first, &comparison, &mut changing);
    }
    let comparison = compare(first, other)?;
    let rest = Rest::of(first, other, &comparison);
    let is_personal = |at: &usize| !changing.contains(&comparison.spans[*at].chunks.0);
    if let Some(at) = rest.visible.into_iter().find(is_personal) {
        let span = &comparison.spans[at];
        return Err(Refusal::Personal { old: span.old.clone(), new: span.new.clone() });
    }
    let is_steady = |span: &&crate::Span| !changing.contains(&span.chunks.0);
    if let Some(span) = script_texts(first, &comparison).find(is_steady) {
        return Err(Refusal::Personal { old: span.old.clone(), new: span.new.clone() });
    }
    let left = rest.left_at.iter().filter(|at| !changing.contains(at)).count();
    if left > 0 {
        return Err(Refusal::BuiltDifferently { left });
    }
    if puzzle::is_asked(first, &comparison) {
        return Err(Refusal::Puzzle);
    }
    match exposes(first, &comparison, personal) {
        Some(at) => Err(Refusal::Exposed { at }),
        None => Ok(()),
    }
}

/// How unlike two copies of a page are, tokens, numbers and rows that only stand elsewhere
/// left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlikeness {
    /// Places in which a person would read something else, and parts that only one has.
    pub parts: usize,
    /// Attributes and values that are others where the text is the same: another style.
    pub marks: usize,
}

/// Says how unlike two copies are.
///
/// # Errors
/// [`TooDifferent`], see there.
pub fn unlikeness(first: &Document, other: &Document) -> Result<Unlikeness, TooDifferent> {
    let comparison = compare(first, other)?;
    let parts = Rest::of(first, other, &comparison).count();
    let read: HashSet<u32> = comparison
        .spans
        .iter()
        .filter(|span| span.class == Class::Visible)
        .map(|span| span.chunks.0)
        .collect();
    let is_mark = |span: &&crate::Span| {
        matches!(span.class, Class::Weak | Class::Content) && !read.contains(&span.chunks.0)
    };
    Ok(Unlikeness { parts, marks: comparison.spans.iter().filter(is_mark).count() })
}

/// The chunks of the first copy that a later fetch changes, each with its neighbours:
/// something that is random may have another length every time.
fn note_changes(first: &Document, comparison: &Comparison, changing: &mut HashSet<u32>) {
    let visible = comparison.spans.iter().filter(|span| span.class == Class::Visible);
    changing.extend(script_texts(first, comparison).map(|span| span.chunks.0));
    let places = visible
        .map(|span| span.chunks.0)
        .chain(comparison.left_old.iter().copied())
        .chain(comparison.left_new.iter().map(|(_, before)| *before));
    for at in places {
        changing.extend(at.saturating_sub(1)..=at + 1);
    }
}

/// Short values in scripts that differ and are no numbers: in a form such a value goes back
/// and is translated then, in a script it may as well be what is shown: a name, a town.
fn script_texts<'a>(
    first: &'a Document,
    comparison: &'a Comparison,
) -> impl Iterator<Item = &'a crate::Span> {
    let is_number = |value: &[u8]| {
        let points = value.iter().filter(|&&byte| byte == b'.').count();
        points <= 1 && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    };
    comparison.spans.iter().filter(move |span| {
        span.class == Class::Weak
            && first.chunks()[span.chunks.0 as usize].kind == ChunkKind::Script
            && !(is_number(&span.old) && is_number(&span.new))
    })
}

/// What two copies differ in, when what only stands elsewhere is taken away.
struct Rest {
    /// Spans, by their number.
    visible: Vec<usize>,
    /// Chunks without a counterpart, by their place in the first copy.
    left_at: Vec<u32>,
}

impl Rest {
    fn of(first: &Document, other: &Document, comparison: &Comparison) -> Self {
        let spans = comparison.spans.iter().enumerate();
        let visible: Vec<usize> =
            spans.filter(|(_, span)| span.class == Class::Visible).map(|(at, _)| at).collect();
        let pairs = || visible.iter().map(|&at| comparison.spans[at].chunks);
        let old_chunks = pairs().map(|(a, _)| a).chain(comparison.left_old.iter().copied());
        let new_chunks = pairs().map(|(_, b)| b).chain(comparison.left_new.iter().map(|l| l.0));
        let (old_chunks, new_chunks) = (distinct(old_chunks), distinct(new_chunks));
        if old_chunks.is_empty() && new_chunks.is_empty() {
            return Self { visible, left_at: Vec::new() };
        }
        // A row that moved bears its tokens along.
        let binding = Binding::learned(comparison);
        let old_forms = old_chunks.iter().map(|&at| (at, form(first, at, Some(&binding))));
        let new_forms = new_chunks.iter().map(|&at| (at, form(other, at, None)));
        let (old_moved, new_moved) =
            moved(&old_forms.collect::<Vec<_>>(), &new_forms.collect::<Vec<_>>());
        let in_fields: HashSet<&[u8]> = visible
            .iter()
            .map(|&at| &comparison.spans[at])
            .filter(|span| is_in_field(first, span))
            .map(|span| &span.new[..])
            .collect();
        let stays = |at: &usize| {
            let span = &comparison.spans[*at];
            let (a, b) = span.chunks;
            let has_moved = old_moved.contains(&a) && new_moved.contains(&b);
            // A token is exchanged wherever it stands, and nobody's own where it is read.
            !has_moved || is_in_field(first, span) && !in_fields.contains(&span.old[..])
        };
        let left_old = comparison.left_old.iter().filter(|at| !old_moved.contains(at)).copied();
        let left_new = comparison.left_new.iter().filter(|(at, _)| !new_moved.contains(at));
        let left_at = left_old.chain(left_new.map(|(_, before)| *before)).collect();
        Self { visible: visible.into_iter().filter(stays).collect(), left_at }
    }

    fn count(&self) -> usize {
        self.visible.len() + self.left_at.len()
    }
}

/// Whether a difference in what a person reads stands in a field or on a button.
fn is_in_field(first: &Document, span: &crate::Span) -> bool {
    span.class == Class::Visible
        && span.key.eq_ignore_ascii_case(b"value")
        && first.chunks()[span.chunks.0 as usize].kind == ChunkKind::Tag
}

fn distinct(chunks: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut chunks: Vec<u32> = chunks.collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}

/// The chunks on either side that the other side has as well, as often as it has them.
fn moved(old: &[(u32, Vec<u8>)], new: &[(u32, Vec<u8>)]) -> (HashSet<u32>, HashSet<u32>) {
    let found_in = |rows: &[(u32, Vec<u8>)], others: &[(u32, Vec<u8>)]| {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for (_, form) in others {
            *counts.entry(form.clone()).or_default() += 1;
        }
        let is_found = |(_, form): &&(u32, Vec<u8>)| match counts.get_mut(form) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        rows.iter().filter(is_found).map(|(at, _)| *at).collect()
    };
    (found_in(old, new), found_in(new, old))
}

/// A chunk with the other copy's tokens, and its text without numbers.
fn form(document: &Document, at: u32, binding: Option<&Binding>) -> Vec<u8> {
    let chunk = document.chunks()[at as usize];
    let bytes = document.bytes(chunk);
    let text_at = if chunk.kind == ChunkKind::Tag { tag::length(bytes) } else { 0 };
    let (machine, text) = match chunk.kind {
        ChunkKind::Script => (bytes, &b""[..]),
        _ => bytes.split_at(text_at),
    };
    let mut form = match binding {
        Some(binding) => binding.exchange_strong(machine).unwrap_or_else(|| machine.to_vec()),
        None => machine.to_vec(),
    };
    form.extend(class::without_numbers(text.trim_ascii()));
    form
}

/// Where a value of the stranger's own (`personal`: cookie values, address) stands in
/// `first` outside what `comparison`, of it with another copy, says is translated and
/// nobody reads.
#[must_use]
pub fn exposes(first: &Document, comparison: &Comparison, personal: &[&[u8]]) -> Option<usize> {
    let place = |span: &crate::Span| (span.old_place.start as usize, span.old_place.end as usize);
    let is_read = |span: &&crate::Span| matches!(span.class, Class::Counter | Class::Visible);
    let read: HashSet<(usize, usize)> =
        comparison.spans.iter().filter(is_read).map(place).collect();
    let mut places: Vec<(usize, usize)> = comparison
        .spans
        .iter()
        .filter(|span| span.class.is_translated())
        .map(place)
        .filter(|place| !read.contains(place))
        .collect();
    places.sort_unstable();
    places.dedup();
    let is_translated = |start: usize, end: usize| {
        let behind = places.partition_point(|place| place.0 <= start);
        behind.checked_sub(1).is_some_and(|at| places[at].1 >= end)
    };
    let values = personal.iter().filter(|value| value.len() >= PERSONAL_BYTES_MIN);
    let mut spellings: Vec<Vec<u8>> = values.flat_map(|value| spellings(value)).collect();
    spellings.sort_unstable();
    spellings.dedup();
    spellings.iter().find_map(|spelling| {
        let end = |start| start + spelling.len();
        memmem::find_iter(first.text(), spelling).find(|&start| !is_translated(start, end(start)))
    })
}

/// A value as cookies, markup, addresses and scripts spell it.
fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let plain = percent::decode(value, percent::Place::Path).into_owned();
    let slashes = plain.split(|&byte| byte == b'/').collect::<Vec<_>>().join(&b"\\/"[..]);
    let coded = percent::encode(&plain, percent::Place::Form);
    let all = vec![value.to_vec(), entity::encode(&plain), coded, slashes, plain];
    all.into_iter().filter(|spelling| spelling.len() >= PERSONAL_BYTES_MIN).collect()
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::document::Kind;

    /// Copies: first, its later fetches, and the other stranger's.
    fn check(first: &str, again: &[&str], other: &str, expected: &str) {
        check_personal(first, again, other, &[], expected);
    }

    fn check_personal(first: &str, again: &[&str], other: &str, personal: &[&str], expected: &str) {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let again: Vec<_> = again.iter().map(|body| read(body)).collect();
        let again: Vec<_> = again.iter().collect();
        let personal: Vec<_> = personal.iter().map(|value| value.as_bytes()).collect();
        let found = match may_share(&read(first), &again, &read(other), &personal) {
            Ok(()) => "shared".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        assert_eq!(found, expected, "{first} / {other}");
    }

    const TEXTS: &str = "two strangers read different texts";

    #[test]
    fn tokens_counters_and_times_do_not_matter() {
        let page = |token: &str, views: &str| {
            format!("<p>{views} views at 10:{views}<input type=hidden name=t value={token}>")
        };
        check(&page("9f86d081", "1"), &[&page("9f86d081", "2")], &page("60303ae2", "3"), "shared");
        check("<p>same", &["<p>same"], "<p>same", "shared");
    }

    #[test]
    fn what_differs_by_person_is_refused() {
        check("<p>Guest17", &["<p>Guest17"], "<p>Guest18", TEXTS);
        check("<p>a<b>Hi Ann1", &["<p>a<b>Hi Ann1"], "<p>a<b>Hi Bob2", TEXTS);
        check("<p>a<b>x", &["<p>a<b>x"], "<p>a", "parts that only one of two strangers has: 1");
        check("<p>a", &["<p>a"], "<p>a<b>x", "parts that only one of two strangers has: 1");
    }

    #[test]
    fn what_stands_in_a_field_is_read_and_what_stands_in_a_hidden_one_is_not() {
        let page = |tag: &str, value: &str| format!("<p>x<input {tag} name=a value=\"{value}\">");
        for tag in ["type=text", "", "type=email readonly", "type=colour", "TYPE='Search'"] {
            check(&page(tag, "Ann"), &[&page(tag, "Ann")], &page(tag, "Bob"), TEXTS);
            check(&page(tag, "b1946ac92492d234"), &[], &page(tag, "7c6235b52b3ad1f1"), TEXTS);
            check(&page(tag, "12"), &[&page(tag, "12")], &page(tag, "13"), "shared");
            check(&page(tag, "Ann"), &[&page(tag, "Bob")], &page(tag, "Cay"), "shared");
        }
        let rows = |one: &str, two: &str| page("", one) + &page("", two);
        check(&rows("Ann", "Bob"), &[&rows("Ann", "Bob")], &rows("Bob", "Ann"), "shared");
        for tag in ["type=hidden", "type=checkbox", "type=text hidden", "style='display: none'"] {
            check(&page(tag, "b1946ac92492d234"), &[], &page(tag, "7c6235b52b3ad1f1"), "shared");
        }
        let address = page("type=text", "192.0.2.44");
        let other = page("type=text", "203.0.113.8");
        let exposed = "a stranger's own value stands in the page, at byte 35";
        check_personal(&address, &[&address], &other, &["192.0.2.44"], exposed);
    }

    #[test]
    fn what_a_script_may_show_is_refused_and_tokens_and_numbers_in_it_are_not() {
        let page = |value: &str| format!("<p>x<script>var me = \"{value}\";</script>");
        check(&page("Ann"), &[&page("Ann")], &page("Bob"), TEXTS);
        check(&page("192.0.2.1"), &[&page("192.0.2.1")], &page("192.0.2.7"), TEXTS);
        check(&page("12"), &[&page("12")], &page("13"), "shared");
        check(&page("9f86d081884c7d65"), &[], &page("60303ae22b998861"), "shared");
        check(&page("tip1"), &[&page("tip2")], &page("tip3"), "shared");
    }

    #[test]
    fn what_differs_by_itself_is_shared_and_only_there() {
        check("<i>tip1a<p>x", &["<i>tip2b<p>x"], "<i>tip3c<p>x", "shared");
        check("<i>a<b>c<p>x", &["<i>a<p>x"], "<i>a<b>c<b>d<p>x", "shared");
        let page = |tip: &str, name: &str| format!("<i>{tip}<p>x<p>y<p>z<b>{name}");
        check(&page("t1x1", "Ann1"), &[&page("t2x2", "Ann1")], &page("t3x3", "Bob2"), TEXTS);
    }

    #[test]
    fn more_samples_show_more_of_what_is_random() {
        let page = |tip: &str| format!("<i>{tip}<p>x");
        check(&page("t1x1"), &[&page("t1x1")], &page("t2x2"), TEXTS);
        check(&page("t1x1"), &[&page("t1x1"), &page("t3x3")], &page("t2x2"), "shared");
    }

    #[test]
    fn rows_in_another_order_are_shared() {
        let row =
            |id: u32, views: u32| format!("<li><a href='/p/{id}'>Post x{id}y<i>{views}</i>\n");
        let page = |ids: &[u32], views: u32| -> String {
            ids.iter().map(|&id| row(id, id * 7 + views)).collect()
        };
        let first = page(&[1, 2, 3, 4], 0);
        check(&first, &[&first], &page(&[3, 1, 4, 2], 1), "shared");
        let told = "parts that only one of two strangers has: 2";
        check(&first, &[&first], &page(&[3, 1, 5, 2], 1), told);
    }

    #[test]
    fn rows_bear_their_tokens_along() {
        let page = |ids: &[&str], token: &str| -> String {
            let rows: String =
                ids.iter().map(|id| format!("<a href='/{id}?k={token}'>Post {id}\n")).collect();
            format!("<input type=hidden name=k value={token}>{rows}")
        };
        let first = page(&["x1y1", "x2y2", "x3y3"], "9f86d081");
        check(&first, &[&first], &page(&["x3y3", "x1y1", "x2y2"], "60303ae2"), "shared");
    }

    #[test]
    fn unlikeness_leaves_out_rows_that_moved_and_counts_styles_apart() {
        let check = |first: &str, other: &str, parts: usize, marks: usize| {
            let read = |body: &str| {
                Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
            };
            let found = unlikeness(&read(first), &read(other)).expect("hardly any work");
            assert_eq!(found, Unlikeness { parts, marks }, "{first} / {other}");
        };
        check("<p>a<p>b<p>c", "<p>c<p>a<p>b", 0, 0);
        check("<p>a<p>b<p>c", "<p>c<p>a<p>x", 2, 0);
        check("<body class=light><p>a", "<body class=dark><p>a", 0, 1);
        check("<a href=/1>One x<a href=/2>Two y", "<a href=/2>Two y<a href=/1>One x", 0, 0);
        check(
            "<input type=hidden value=9f86d081884c7d65>",
            "<input type=hidden value=60303ae22b998861>",
            0,
            0,
        );
        check("<p>12 views", "<p>13 views", 0, 0);
    }

    #[test]
    fn a_page_that_reading_changes_is_refused() {
        let page = |word: &str| -> String { (0..9).map(|n| format!("<p>{word}{n}x")).collect() };
        check(
            &page("word"),
            &[&page("other")],
            &page("word"),
            "parts that change from fetch to fetch: 9, where 4 may",
        );
    }

    #[test]
    fn a_strangers_own_values_may_only_stand_where_they_are_translated() {
        let page = |sid: &str, more: &str| format!("<a href='/?sid={sid}'>x</a>{more}");
        let own = ["9f86d081", "10.0.0.17"];
        let check = |more: &str, expected: &str| {
            let first = page("9f86d081", more);
            let other =
                page("60303ae2", &more.replace("9f86d081", "60303ae2").replace(".17", ".18"));
            check_personal(&first, &[&first], &other, &own, expected);
        };
        check("", "shared");
        check("<i>x", "shared");
        check("<i>you: 10.0.0.17", "a stranger's own value stands in the page, at byte 38");
        check("<!-- 9f86d081 -->", "a stranger's own value stands in the page, at byte 35");
        check("<input type=hidden name=ip value=10.0.0.17>", "shared");
    }

    #[test]
    fn a_value_is_found_however_it_is_spelled() {
        let check = |page: &str, value: &str, expected: &str| {
            check_personal(page, &[page], page, &[value], expected);
        };
        let told = "a stranger's own value stands in the page, at byte 0";
        check("a&amp;b&amp;c/d=", "a%26b%26c%2Fd%3D", told);
        check("a%26b%26c%2Fd%3D", "a&b&c/d=", told);
        check("a&b&c\\/d=", "a&b&c/d=", told);
        check("short", "short", "shared");
    }
}
