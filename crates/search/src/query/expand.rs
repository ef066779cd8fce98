//! What of the index's dictionary fits a word that leaves something open.

use std::collections::HashMap;
use std::sync::LazyLock;

use levenshtein_automata::{DFA, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::index::InvertedIndexReader;
use tantivy_fst::Automaton;

use super::compile::Compiler;
use super::plan::Weighed;
use super::tree::Form;
use crate::text::{fold_into, lower_into};

/// So many terms stand for one word at most, the most frequent.
const EXPANSIONS_MAX: usize = 500;
/// So many for all words of a query.
pub(super) const EXPANSIONS_OF_QUERY_MAX: usize = 8000;
/// So many times a query may have a whole dictionary gone through.
pub(super) const SCANS_OF_QUERY_MAX: usize = 64;
/// What begins below this byte is a mark of ours, not a word.
const FIRST_BYTE_MIN: u8 = 0x20;
/// What an expansion counts, where the word itself counts 1.
const EXPANSION_BOOST: f32 = 0.7;

/// The terms of a field that fit.
pub(crate) fn expand(
    compiler: &Compiler<'_>,
    field: usize,
    form: Form,
    text: &str,
) -> Vec<Weighed> {
    let Some(field) = compiler.parts.fields.get(field) else { return Vec::new() };
    if matches!(form, Form::Suffix | Form::Infix | Form::Pattern) {
        let Some(left) = compiler.scans_left.get().checked_sub(1) else { return Vec::new() };
        compiler.scans_left.set(left);
    }
    let mut found = HashMap::new();
    for segment in compiler.searcher.segment_readers() {
        if let Ok(terms) = segment.inverted_index(*field) {
            // What can't be read isn't found; damage shows where postings are read.
            let _ = gather(&terms, form, text, &mut found);
        }
    }
    let mut all: Vec<(String, u64)> = found.into_iter().collect();
    all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let left = compiler.expansions_left.get();
    all.truncate(EXPANSIONS_MAX.min(left));
    compiler.expansions_left.set(left - all.len());
    all.into_iter()
        .map(|(term, _)| {
            let boost = if term == text { 1.0 } else { EXPANSION_BOOST };
            Weighed { text: term, boost }
        })
        .collect()
}

/// Adds the terms that fit and how many documents have them.
pub(super) fn gather(
    terms: &InvertedIndexReader,
    form: Form,
    text: &str,
    found: &mut HashMap<String, u64>,
) -> std::io::Result<()> {
    match form {
        Form::Any | Form::Exact => {
            if let Some(info) = terms.terms().get(text)? {
                add(text.as_bytes(), info.doc_freq, found);
            }
            Ok(())
        }
        Form::Prefix => {
            let mut stream = terms.terms().range().ge(text).into_stream()?;
            while stream.advance() && stream.key().starts_with(text.as_bytes()) {
                add(stream.key(), stream.value().doc_freq, found);
            }
            Ok(())
        }
        Form::Suffix => scan(terms, found, |term| term.ends_with(text)),
        Form::Infix => scan(terms, found, |term| term.contains(text)),
        Form::Pattern => {
            let pattern = pattern_of(text);
            scan(terms, found, |term| fits(term, &pattern))
        }
        Form::Fuzzy(letters) => {
            let automaton = automaton(text, letters);
            let mut stream = terms.terms().search(Alike(automaton)).into_stream()?;
            while stream.advance() {
                add(stream.key(), stream.value().doc_freq, found);
            }
            Ok(())
        }
    }
}

/// What a dictionary is asked for, asked of single terms.
pub(super) enum Like<'a> {
    Plain(Form, &'a str),
    Pattern(Vec<char>),
    Alike(DFA),
}

impl<'a> Like<'a> {
    pub(super) fn of(form: Form, text: &'a str) -> Self {
        match form {
            Form::Pattern => Self::Pattern(pattern_of(text)),
            Form::Fuzzy(letters) => Self::Alike(automaton(text, letters)),
            _ => Self::Plain(form, text),
        }
    }

    pub(super) fn fits(&self, term: &str) -> bool {
        if term.as_bytes().first().is_none_or(|first| *first < FIRST_BYTE_MIN) {
            return false;
        }
        match self {
            Self::Plain(Form::Prefix, text) => term.starts_with(text),
            Self::Plain(Form::Suffix, text) => term.ends_with(text),
            Self::Plain(Form::Infix, text) => term.contains(text),
            Self::Plain(_, text) => term == *text,
            Self::Pattern(pattern) => fits(term, pattern),
            Self::Alike(automaton) => {
                matches!(automaton.eval(term), levenshtein_automata::Distance::Exact(_))
            }
        }
    }
}

fn pattern_of(text: &str) -> Vec<char> {
    let (mut lower, mut folded) = (String::new(), String::new());
    lower_into(text, &mut lower);
    fold_into(&lower, &mut folded);
    folded.chars().collect()
}

fn automaton(text: &str, letters: u8) -> DFA {
    // Of a short word every other one is a misspelling.
    let letters = if text.chars().count() < 4 { 1 } else { letters.clamp(1, 2) };
    automata(letters).build_dfa(text)
}

/// What automata are built by takes long to make, and is the same for all words.
fn automata(letters: u8) -> &'static LevenshteinAutomatonBuilder {
    static ONE: LazyLock<LevenshteinAutomatonBuilder> =
        LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
    static TWO: LazyLock<LevenshteinAutomatonBuilder> =
        LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));
    if letters < 2 { &ONE } else { &TWO }
}

/// Words that are written alike, as the dictionary is searched.
struct Alike(DFA);

impl Automaton for Alike {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), levenshtein_automata::Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

fn scan(
    terms: &InvertedIndexReader,
    found: &mut HashMap<String, u64>,
    is_fit: impl Fn(&str) -> bool,
) -> std::io::Result<()> {
    let mut stream = terms.terms().range().ge([FIRST_BYTE_MIN]).into_stream()?;
    while stream.advance() {
        if std::str::from_utf8(stream.key()).is_ok_and(&is_fit) {
            add(stream.key(), stream.value().doc_freq, found);
        }
    }
    Ok(())
}

fn add(term: &[u8], documents: u32, found: &mut HashMap<String, u64>) {
    if term.first().is_none_or(|first| *first < FIRST_BYTE_MIN) {
        return;
    }
    if let Ok(term) = std::str::from_utf8(term) {
        *found.entry(term.to_owned()).or_default() += u64::from(documents);
    }
}

/// Whether a term fits a pattern with `*` and `?`.
pub(super) fn fits(term: &str, pattern: &[char]) -> bool {
    let mut rest = term.chars();
    let (mut at, mut star) = (0, None);
    loop {
        let before = rest.clone();
        match (rest.next(), pattern.get(at)) {
            (_, Some('*')) => {
                rest = before;
                star = Some((at, rest.clone()));
                at += 1;
            }
            (None, None) => return true,
            (Some(own), Some(wanted)) if *wanted == '?' || own == *wanted => at += 1,
            (None, Some(_)) => return false,
            _ => {
                // The last star takes one character more.
                let Some((place, tail)) = &mut star else { return false };
                if tail.next().is_none() {
                    return false;
                }
                at = *place + 1;
                rest = tail.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_words() {
        let cases = [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*b*d", "abcbcd", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("?*", "", false),
            ("**a", "a", true),
            ("*ab*ab", "ababab", true),
        ];
        for (pattern, term, expected) in cases {
            let characters: Vec<char> = pattern.chars().collect();
            assert_eq!(fits(term, &characters), expected, "{pattern} {term}");
        }
    }
}
