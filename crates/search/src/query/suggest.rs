//! How a query might go on, and what it may have been meant to be.

use std::collections::HashMap;

use tantivy::Searcher;

use super::expand::gather;
use super::tree::Form;
use crate::Suggestion;
use crate::index::{Inner, Parts};
use crate::text::Words;

/// The last word of a text completed, the most frequent first.
pub(crate) fn suggest(
    index: &Inner,
    searcher: &Searcher,
    parts: &Parts,
    text: &str,
    limit: usize,
) -> Vec<Suggestion> {
    let mut words = Words::new(&index.analyzer, text);
    let mut last = None;
    while words.advance() {
        last = Some(words.token.clone());
    }
    let Some(last) = last.filter(|last| last.to == text.len()) else { return Vec::new() };
    let found = look_up(searcher, parts, Form::Prefix, &last.text);
    let mut all: Vec<(String, u64)> =
        found.into_iter().filter(|(term, _)| *term != last.text).collect();
    all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    all.truncate(limit);
    let begin = &text[..last.from];
    all.into_iter()
        .map(|(term, documents)| Suggestion { text: format!("{begin}{term}"), documents })
        .collect()
}

/// The terms of all fields that fit, and how many documents have them.
pub(super) fn look_up(
    searcher: &Searcher,
    parts: &Parts,
    form: Form,
    text: &str,
) -> HashMap<String, u64> {
    let mut found = HashMap::new();
    for segment in searcher.segment_readers() {
        for field in &parts.fields {
            if let Ok(terms) = segment.inverted_index(*field) {
                let _ = gather(&terms, form, text, &mut found);
            }
        }
    }
    found
}
