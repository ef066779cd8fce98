//! Holes: where two copies of one page differ, as places that could be filled apart from it.
//!
//! In: two copies and their comparison. Out: [`Hole`]s in the order of the page, neighbours
//! joined. A hole is named by the elements around it, and by nothing of what it holds.
//! Invariant: every name that is told stands in both copies and, where there is a third, in
//! that one as well; so nothing that only one visitor was shown is told.

use std::collections::HashSet;

use crate::chunk::{Chunk, ChunkKind};
use crate::class::Class;
use crate::compare::Comparison;
use crate::document::Document;
use crate::tag;

/// Differences that lie nearer to each other are one hole: a part of its own costs more.
const NEAR_BYTES: usize = 200;
/// Elements that a place names, the innermost ones.
const NAMES_MAX: usize = 3;
/// Of more holes none is named: nobody fills so many.
const NAMED_MAX: usize = 64;
/// New chunks in the place of an old one that are held against it.
const BESIDE_MAX: usize = 4;
/// Elements within elements that are followed; what lies deeper counts to the last of them.
const DEPTH_MAX: usize = 256;
/// A longer name or id is of no use to a reader.
const WORD_BYTES_MAX: usize = 40;
/// Elements without content (HTML §13.1.2).
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// What a hole holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HoleKind {
    /// Numbers or times that people read, and nothing else.
    Numbers,
    /// Values of forms, addresses and scripts, such as a token.
    Tokens,
    /// What people read, or markup that only one copy has.
    Content,
}

/// A place in which two copies differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The elements around it, as in `["nav#user", "span.name"]`, the outermost first; empty
    /// where none of them is known to all copies.
    pub path: Vec<String>,
    /// What it holds.
    pub kind: HoleKind,
    /// Where it begins in the first copy.
    pub at: usize,
    /// Bytes of the larger of both contents.
    pub bytes: usize,
}

/// A stretch of the first copy, and how much stands there in the second.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    new_bytes: usize,
    kind: HoleKind,
}

/// The places in which two copies differ. Names are told that `third` has as well.
#[must_use]
pub fn holes(
    old: &Document,
    new: &Document,
    comparison: &Comparison,
    third: Option<&Document>,
) -> Vec<Hole> {
    let stretches = joined(stretches(old, new, comparison));
    if stretches.is_empty() {
        return Vec::new();
    }
    let (in_new, in_third) = (names(new), third.map(names));
    let is_known = |name: &String| {
        in_new.contains(name) && in_third.as_ref().is_none_or(|third| third.contains(name))
    };
    let mut paths = match stretches.len() {
        ..=NAMED_MAX => paths(old, &stretches),
        _ => Vec::new(),
    }
    .into_iter();
    stretches
        .iter()
        .map(|stretch| {
            let path = paths.next().unwrap_or_default();
            let mut path: Vec<String> = path.into_iter().filter(is_known).collect();
            path.drain(..path.len().saturating_sub(NAMES_MAX));
            let bytes = (stretch.end - stretch.start).max(stretch.new_bytes);
            Hole { path, kind: stretch.kind, at: stretch.start, bytes }
        })
        .collect()
}

/// All that differs, by where it stands in the old copy.
fn stretches(old: &Document, new: &Document, comparison: &Comparison) -> Vec<Stretch> {
    let spans = comparison.spans.iter().map(|span| Stretch {
        start: span.old_place.start as usize,
        end: span.old_place.end as usize,
        new_bytes: span.new_place.len(),
        kind: match span.class {
            Class::Counter => HoleKind::Numbers,
            Class::Visible | Class::Content => HoleKind::Content,
            Class::Strong | Class::Weak | Class::Clock | Class::FieldName => HoleKind::Tokens,
        },
    });
    let left = comparison.left_old.iter().filter_map(|&at| {
        let chunk = old.chunks().get(at as usize)?;
        let common = common_tag(old, new, comparison, at, *chunk);
        let (start, end) = (chunk.start as usize + common.unwrap_or(0), chunk.end as usize);
        Some(Stretch { start, end, new_bytes: 0, kind: HoleKind::Content })
    });
    let come = comparison.left_new.iter().filter_map(|&(at, before)| {
        let chunk = new.chunks().get(at as usize)?;
        let place = old.chunks().get(before as usize).map(|chunk| chunk.start as usize);
        let place = place.unwrap_or(old.text().len());
        let new_bytes = (chunk.end - chunk.start) as usize;
        Some((before, Stretch { start: place, end: place, new_bytes, kind: HoleKind::Content }))
    });
    // What stands instead of an old chunk counts with that one.
    let come = come.map(|(before, stretch)| {
        let beside = [before, before.wrapping_sub(1)].into_iter().find_map(|at| {
            let chunk = *old.chunks().get(at as usize)?;
            comparison.left_old.binary_search(&at).ok()?;
            let common = common_tag(old, new, comparison, at, chunk)?;
            Some((chunk.start as usize + common, common))
        });
        match beside {
            Some((start, common)) => Stretch {
                start,
                end: start,
                new_bytes: stretch.new_bytes.saturating_sub(common),
                ..stretch
            },
            None => stretch,
        }
    });
    let mut all: Vec<Stretch> = spans.chain(left).chain(come).collect();
    all.sort_unstable_by_key(|stretch| (stretch.start, stretch.end));
    all
}

/// The length of the tag that an old chunk begins with, where what stands in its place begins
/// with the very same: then only what is behind it differs.
fn common_tag(
    old: &Document,
    new: &Document,
    comparison: &Comparison,
    at: u32,
    chunk: Chunk,
) -> Option<usize> {
    if chunk.kind != ChunkKind::Tag {
        return None;
    }
    let bytes = old.bytes(chunk);
    let own = &bytes[..tag::length(bytes)];
    let first = comparison.left_new.partition_point(|&(_, before)| before < at);
    let near = comparison.left_new[first..].iter().take_while(|(_, before)| *before <= at + 1);
    let is_same = |&&(number, _): &&(u32, u32)| {
        let other = new.chunks().get(number as usize).map(|chunk| new.bytes(*chunk));
        other.is_some_and(|other| other.starts_with(own))
    };
    near.take(BESIDE_MAX).find(is_same).map(|_| own.len())
}

/// Neighbours in one, with what lies between them.
fn joined(sorted: Vec<Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    for next in sorted {
        match joined.last_mut().filter(|last| next.start < last.end + NEAR_BYTES) {
            Some(last) => {
                last.new_bytes += next.new_bytes + next.start.saturating_sub(last.end);
                last.end = last.end.max(next.end);
                last.kind = last.kind.max(next.kind);
            }
            None => joined.push(next),
        }
    }
    joined
}

/// For each stretch the names of the elements that hold all of it, the outermost first.
fn paths(old: &Document, stretches: &[Stretch]) -> Vec<Vec<String>> {
    let mut open: Vec<(usize, Chunk)> = Vec::new();
    // By the numbers of chunks, so that elements of one name aren't taken for each other.
    let mut around: Vec<Option<Vec<(usize, Chunk)>>> = vec![None; stretches.len()];
    let mut first = 0;
    for (number, &chunk) in old.chunks().iter().enumerate() {
        let start = chunk.start as usize;
        while stretches.get(first).is_some_and(|stretch| stretch.end < start) {
            around[first].get_or_insert_with(|| open.clone());
            first += 1;
        }
        for at in first..stretches.len() {
            if stretches[at].start > start {
                break;
            }
            around[at].get_or_insert_with(|| open.clone());
        }
        step(old, &mut open, number, chunk);
        for at in first..stretches.len() {
            let Stretch { start: begin, end, .. } = stretches[at];
            if begin >= chunk.end as usize {
                break;
            }
            match &mut around[at] {
                // It begins at this chunk or before: what is open around it is what was and is.
                Some(path) if end > start => keep_common(path, &open),
                Some(_) => {}
                None => around[at] = Some(with_own(old, &open, number, chunk)),
            }
        }
    }
    let name_of = |(_, chunk): &(usize, Chunk)| name(old.bytes(*chunk));
    around
        .into_iter()
        .map(|path| path.unwrap_or_default().iter().filter_map(name_of).collect())
        .collect()
}

fn keep_common(path: &mut Vec<(usize, Chunk)>, open: &[(usize, Chunk)]) {
    let common = path.iter().zip(open).take_while(|(one, other)| one.0 == other.0).count();
    path.truncate(common);
}

/// What is open within a chunk: an element without content is around its own attributes.
fn with_own(
    old: &Document,
    open: &[(usize, Chunk)],
    number: usize,
    chunk: Chunk,
) -> Vec<(usize, Chunk)> {
    let mut path = open.to_vec();
    if chunk.kind == ChunkKind::Tag && is_void(tag::name(old.bytes(chunk))) {
        path.push((number, chunk));
    }
    path
}

/// What a chunk opens or closes.
fn step(old: &Document, open: &mut Vec<(usize, Chunk)>, number: usize, chunk: Chunk) {
    if chunk.kind != ChunkKind::Tag {
        return;
    }
    let bytes = old.bytes(chunk);
    let name = tag::name(bytes);
    if bytes.get(1) == Some(&b'/') {
        let is_it =
            |(_, other): &(usize, Chunk)| tag::name(old.bytes(*other)).eq_ignore_ascii_case(name);
        if let Some(at) = open.iter().rposition(is_it) {
            open.truncate(at);
        }
    } else if !name.is_empty() && !is_void(name) && open.len() < DEPTH_MAX {
        open.push((number, chunk));
    }
}

fn is_void(name: &[u8]) -> bool {
    VOID.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// The names of all elements of a copy.
fn names(document: &Document) -> HashSet<String> {
    let tags = document.chunks().iter().filter(|chunk| chunk.kind == ChunkKind::Tag);
    tags.filter_map(|chunk| name(document.bytes(*chunk))).collect()
}

/// An element as a selector names it: `nav#user`, `div.box`, `input[name=key]`; none if that
/// would be no plain word.
fn name(bytes: &[u8]) -> Option<String> {
    let element = word(tag::name(bytes)).filter(|_| bytes.get(1) != Some(&b'/'))?;
    let of = |wanted: &str| {
        let mut attributes = tag::attributes(bytes);
        attributes.find(|attribute| attribute.is(wanted)).map(|attribute| attribute.value)
    };
    let element = element.to_ascii_lowercase();
    if let Some(id) = of("id").and_then(word) {
        return Some(format!("{element}#{id}"));
    }
    let class = of("class").and_then(|value| value.split(u8::is_ascii_whitespace).next());
    if let Some(class) = class.and_then(word) {
        return Some(format!("{element}.{class}"));
    }
    match of("name").and_then(word) {
        Some(own) => Some(format!("{element}[name={own}]")),
        None => Some(element),
    }
}

fn word(value: &[u8]) -> Option<&str> {
    let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':');
    let is_word = !value.is_empty() && value.len() <= WORD_BYTES_MAX && value.iter().all(is_plain);
    std::str::from_utf8(value).ok().filter(|_| is_word)
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::compare;
    use crate::document::Kind;

    fn document(body: &str) -> Document {
        Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
    }

    fn found(old: &str, new: &str, third: Option<&str>) -> Vec<String> {
        let (old, new, third) = (document(old), document(new), third.map(document));
        let comparison = compare(&old, &new).expect("hardly any work");
        let holes = holes(&old, &new, &comparison, third.as_ref());
        let line = |hole: &Hole| {
            format!("{:?} {} at {}, {}", hole.kind, hole.path.join(" > "), hole.at, hole.bytes)
        };
        holes.iter().map(line).collect()
    }

    /// A page between whose parts there is enough that they are holes of their own.
    fn page(greeting: &str, form: &str) -> String {
        let text = "Some words that are the same for everybody. ".repeat(8);
        format!(
            "<body><nav id=user class=top>{greeting}</nav><p>{text}</p>\
             <form id=reply>{form}<textarea name=text></textarea></form></body>"
        )
    }

    #[test]
    fn a_hole_is_named_by_the_elements_that_hold_all_of_it() {
        let old = page("<b>Ann</b> <a href=/out>Log out</a>", "");
        let new = page("<b>Bob</b> <a href=/out>Log out</a>", "");
        assert_eq!(found(&old, &new, None), ["Content body > nav#user > b at 32, 3"]);
        let new = page("<b>Bob</b> <i>2 letters</i> <a href=/out>Log out</a>", "");
        assert_eq!(found(&old, &new, None), ["Content body > nav#user at 32, 24"]);
        let new = page("", "");
        assert_eq!(found(&old, &new, None), ["Content body > nav#user at 29, 35"]);
    }

    #[test]
    fn a_token_is_told_from_what_people_read_and_from_numbers() {
        let key = |key: &str| format!("<input type=hidden name=key value={key}>");
        let old = page("12 online", &key("9f86d081884c7d65"));
        let new = page("15 online", &key("60303ae22b998861"));
        assert_eq!(
            found(&old, &new, None),
            [
                "Numbers body > nav#user at 29, 9",
                "Tokens body > form#reply > input[name=key] at 452, 16"
            ]
        );
    }

    #[test]
    fn only_what_all_copies_have_is_named() {
        let own = |name: &str| page(&format!("<b id={name}>{name}!</b>"), "");
        assert_eq!(found(&own("ann"), &own("bob"), None), ["Content body > nav#user at 29, 14"]);
        let staff = |name: &str| page(&format!("<b class=staff><i>{name}</i></b>"), "");
        let (old, new) = (staff("Ann"), staff("Bob"));
        assert_eq!(found(&old, &new, None), ["Content nav#user > b.staff > i at 47, 3"]);
        let stranger = page("<a href=/in>Log in</a>", "");
        assert_eq!(found(&old, &new, Some(&stranger)), ["Content body > nav#user at 47, 3"]);
        let other = "<main>x</main>";
        assert_eq!(found(&old, &new, Some(other)), ["Content  at 47, 3"]);
    }

    #[test]
    fn words_that_are_not_plain_are_not_named() {
        let page = |text: &str| format!("<p id='a b'><b id='\u{1b}[1m'>{text}</b></p>");
        assert_eq!(found(&page("Ann"), &page("Bob"), None), ["Content p > b at 25, 3"]);
    }

    #[test]
    fn copies_that_agree_have_none() {
        assert!(found(&page("x", ""), &page("x", ""), None).is_empty());
    }

    #[test]
    fn deep_and_broken_markup_costs_no_more_than_its_length() {
        let deep = |text: &str| format!("{}{text}{}", "<b>".repeat(5_000), "</i>".repeat(5_000));
        let found = found(&deep("Ann"), &deep("Bob"), None);
        assert_eq!(found, ["Content b > b > b at 15000, 3"]);
    }
}
