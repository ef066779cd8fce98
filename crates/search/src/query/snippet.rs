//! Pieces of a text around what was looked for, with the words marked.
//!
//! The text goes through the analysis once more, so that what is marked is what was found:
//! also other forms of a word and the parts of Korean, Japanese and Chinese ones.

use std::collections::HashMap;
use std::ops::Range;

use super::compile::Compiler;
use super::expand::Like;
use super::plan::{Planner, Slot};
use super::tree::{Form, Query, Word};
use crate::text::{Analyzer, Kind, LIST_MARK, Language, STEM_MARK, Words, fold_into};
use crate::{Document, Fragment, Snippet, Snippets};

/// Where words were found before this place of a text, the rest isn't looked at.
const ENOUGH_BYTES: usize = 64 << 10;
/// So many marks of a text are enough to choose from.
const MARKS_MAX: usize = 2000;

/// Marks a query's words in texts.
pub(crate) struct Marker<'a> {
    analyzer: &'a Analyzer,
    /// For each field, the terms and which of the query's words they stand for.
    wanted: Vec<Wanted>,
    wish: &'a Snippets,
}

/// What is marked in a field.
#[derive(Default)]
struct Wanted {
    terms: HashMap<String, usize>,
    /// What a word leaves open, where no index says how it goes on.
    open: Vec<(Form, String, usize)>,
}

/// A word that was found, and which one it is.
struct Mark {
    range: Range<usize>,
    word: usize,
}

impl<'a> Marker<'a> {
    pub(crate) fn new(compiler: &'a Compiler<'a>, query: &Query, wish: &'a Snippets) -> Self {
        compiler.refill();
        let slots = |word: &Word, field| compiler.slots(std::slice::from_ref(word), field);
        let fields = compiler.parts.fields.len();
        Self::of(&compiler.index.analyzer, fields, (query, wish), &slots)
    }

    /// The same where there is no index: words that are left open go on as the text does.
    pub(crate) fn alone(planner: &Planner<'a>, query: &Query, wish: &'a Snippets) -> Self {
        let slots = |word: &Word, field| planner.slots(std::slice::from_ref(word), field);
        Self::of(planner.analyzer, planner.shape.fields.len(), (query, wish), &slots)
    }

    fn of(
        analyzer: &'a Analyzer,
        fields: usize,
        (query, wish): (&Query, &'a Snippets),
        slots: &dyn Fn(&Word, usize) -> Vec<Slot>,
    ) -> Self {
        let mut words: Vec<Word> = Vec::new();
        query.each_word(&mut |word| words.push(word.clone()));
        let wanted = (0..fields)
            .map(|field| {
                let mut wanted = Wanted::default();
                for (number, word) in words.iter().enumerate() {
                    for slot in slots(word, field) {
                        wanted.terms.extend(slot.terms.into_iter().map(|term| (term.text, number)));
                        wanted.open.extend(slot.open.map(|(form, text)| (form, text, number)));
                    }
                    if word.form == Form::Any {
                        let parts = analyzer.readings(&word.text);
                        let listed = parts.into_iter().flatten().filter_map(|part| part.term);
                        let listed = listed.map(|term| (format!("{LIST_MARK}{term}"), number));
                        wanted.terms.extend(listed);
                    }
                }
                wanted
            })
            .collect();
        Self { analyzer, wanted, wish }
    }

    /// The excerpts of a document: of fields in which something is marked; where that is
    /// none, the beginning of the longest.
    pub(crate) fn snippets(&self, document: &Document, language: Option<Language>) -> Vec<Snippet> {
        let is_wanted =
            |field: usize| self.wish.fields.is_empty() || self.wish.fields.contains(&field);
        let mut all = Vec::new();
        for (field, text) in document.fields.iter().enumerate().filter(|(at, _)| is_wanted(*at)) {
            let fragments = self.excerpt(text, field, language);
            if fragments.iter().any(|fragment| !fragment.marks.is_empty()) {
                all.push(Snippet { field, fragments });
            }
        }
        if all.is_empty() {
            let longest = (document.fields.iter().enumerate())
                .filter(|(at, text)| is_wanted(*at) && !text.is_empty())
                .max_by_key(|(_, text)| text.len());
            all.extend(longest.map(|(field, text)| Snippet {
                field,
                fragments: vec![cut(text, 0..text.len(), &[], self.wish.characters)],
            }));
        }
        all
    }

    /// The pieces of one text; its beginning where nothing is marked.
    pub(crate) fn excerpt(
        &self,
        text: &str,
        field: usize,
        language: Option<Language>,
    ) -> Vec<Fragment> {
        let marks = self.marks(text, field, language);
        if text.chars().take(self.wish.characters + 1).count() <= self.wish.characters {
            return vec![cut(text, 0..text.len(), &marks, self.wish.characters)];
        }
        let pieces = self.wish.fragments.max(1);
        let length = (self.wish.characters / pieces).max(20);
        let mut chosen = choose(text, &marks, pieces, length);
        if chosen.is_empty() {
            chosen.push(0..text.len());
            return vec![cut(text, 0..text.len(), &marks, self.wish.characters)];
        }
        // Few pieces may be longer.
        let length = self.wish.characters / chosen.len();
        chosen.into_iter().map(|range| cut(text, range, &marks, length)).collect()
    }

    fn marks(&self, text: &str, field: usize, language: Option<Language>) -> Vec<Mark> {
        let Some(Wanted { terms, open }) = self.wanted.get(field) else { return Vec::new() };
        if terms.is_empty() && open.is_empty() {
            return Vec::new();
        }
        let open: Vec<(Like<'_>, &usize)> =
            open.iter().map(|(form, text, word)| (Like::of(*form, text), word)).collect();
        let stemmer = language.and_then(Language::stemmer);
        let mut stem = String::new();
        let mut marked = String::new();
        let mut words = Words::of_document(self.analyzer, text, language);
        let mut marks: Vec<Mark> = Vec::new();
        while words.advance() {
            let token = &words.token;
            if marks.len() >= MARKS_MAX || (token.from > ENOUGH_BYTES && !marks.is_empty()) {
                break;
            }
            let mut word = terms.get(&token.text);
            if let (None, Kind::Word, Some(stemmer)) = (word, token.kind, &stemmer) {
                fold_into(&stemmer.stem(&words.lower), &mut stem);
                marked.clear();
                marked.push(STEM_MARK);
                marked.push_str(&stem);
                word = terms.get(&marked);
            }
            let is_open = |(like, _): &&(Like<'_>, &usize)| like.fits(&token.text);
            let word = word.or_else(|| open.iter().find(is_open).map(|(_, word)| *word));
            if let Some(word) = word {
                marks.push(Mark { range: token.from..token.to, word: *word });
            }
        }
        marks
    }
}

/// The best windows of about so many characters, in the order of the text.
fn choose(text: &str, marks: &[Mark], pieces: usize, length: usize) -> Vec<Range<usize>> {
    let mut windows: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, first) in marks.iter().enumerate() {
        let begin = first.range.start;
        let end = text[begin..].char_indices().nth(length).map_or(text.len(), |(at, _)| begin + at);
        let inside = marks[at..].iter().take_while(|mark| mark.range.end <= end).take(64);
        let mut words: Vec<usize> = inside.map(|mark| mark.word).collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        let last = marks[at..].iter().take_while(|mark| mark.range.end <= end).last();
        let end = last.map_or(first.range.end, |mark| mark.range.end);
        windows.push((words.len() * 16 + count.min(15), begin..end));
    }
    // The earlier of two that are equal.
    windows.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.start.cmp(&other.1.start)));
    let mut chosen: Vec<Range<usize>> = Vec::new();
    for (_, window) in windows {
        if chosen.len() >= pieces {
            break;
        }
        // Windows grow when they are cut; those beside each other would overlap.
        let is_apart = |other: &Range<usize>| {
            window.start > other.end + 2 * length || other.start > window.end + 2 * length
        };
        if chosen.iter().all(is_apart) {
            chosen.push(window);
        }
    }
    chosen.sort_by_key(|window| window.start);
    chosen
}

/// A piece of about so many characters around a window, cut between words.
fn cut(text: &str, window: Range<usize>, marks: &[Mark], characters: usize) -> Fragment {
    let inside = text[window.clone()].chars().count();
    let spare = characters.saturating_sub(inside);
    // What there is no text for behind it is shown before it.
    let behind = text[window.end..].chars().take(spare).count();
    let before = (spare / 3).max(spare - behind);
    let mut from = text[..window.start]
        .char_indices()
        .rev()
        .take(before)
        .last()
        .map_or(window.start, |(at, _)| at);
    if from > 0
        && let Some(space) = text[from..window.start].find(char::is_whitespace)
    {
        from += space;
    }
    let mut to = text[from..]
        .char_indices()
        .nth(characters.max(inside.min(characters.max(1))))
        .map_or(text.len(), |(at, _)| from + at);
    let kept = window.end.min(to).max(from);
    if to < text.len()
        && let Some(space) = text[kept..to].rfind(char::is_whitespace)
    {
        to = kept + space;
    }
    let piece = &text[from..to];
    let begin = from + (piece.len() - piece.trim_start().len());
    let piece = piece.trim();
    let mut found: Vec<(usize, usize)> = Vec::new();
    let end = begin + piece.len();
    for mark in marks.iter().filter(|mark| mark.range.start >= begin && mark.range.end <= end) {
        let (from, to) = (mark.range.start - begin, mark.range.end - begin);
        match found.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => found.push((from, to)),
        }
    }
    Fragment {
        text: piece.to_owned(),
        marks: found,
        is_cut_before: !text[..begin].trim().is_empty(),
        is_cut_after: !text[end..].trim().is_empty(),
    }
}
