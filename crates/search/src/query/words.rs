//! How often a query's words occur, for who asks.

use std::collections::HashSet;

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED, Term};

use super::compile::Compiler;
use super::tree::Query;
use crate::WordCount;

/// Each word once, in the order of the query.
pub(super) fn count_words(
    compiler: &Compiler<'_>,
    query: &Query,
) -> tantivy::Result<Vec<WordCount>> {
    let mut words = Vec::new();
    query.each_word(&mut |word| words.push(word.clone()));
    let mut counts: Vec<WordCount> = Vec::new();
    for word in words {
        let fields = 0..compiler.parts.fields.len();
        let in_fields: Vec<_> =
            fields.map(|at| compiler.slots(std::slice::from_ref(&word), at)).collect();
        for place in 0..in_fields.first().map_or(0, Vec::len) {
            let terms_of = |at: usize| {
                let slot = in_fields.get(at).and_then(|slots| slots.get(place));
                slot.map_or(&[][..], |slot| &slot.terms)
            };
            let name = match terms_of(0) {
                [first, ..] => first.text.clone(),
                [] => word.text.clone(),
            };
            if counts.iter().any(|count| count.word == name) {
                continue;
            }
            let mut count = WordCount { word: name, documents: 0, hits: 0 };
            for segment in compiler.searcher.segment_readers() {
                let mut documents: HashSet<DocId> = HashSet::new();
                for (at, field) in compiler.parts.fields.iter().enumerate() {
                    let terms = segment.inverted_index(*field)?;
                    for term in terms_of(at) {
                        let term = Term::from_field_text(*field, &term.text);
                        let found = terms.read_postings(&term, IndexRecordOption::WithFreqs)?;
                        let Some(mut postings) = found else { continue };
                        while postings.doc() != TERMINATED {
                            if !segment.is_deleted(postings.doc()) {
                                documents.insert(postings.doc());
                                count.hits += u64::from(postings.term_freq());
                            }
                            postings.advance();
                        }
                    }
                }
                count.documents += documents.len() as u64;
            }
            counts.push(count);
        }
    }
    Ok(counts)
}
