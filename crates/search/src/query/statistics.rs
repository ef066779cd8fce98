//! How frequent terms are, found out once for each search: what scores a word, and what scores it
//! beside others, both ask, and each answer is a look into every part of the index.

use std::cell::RefCell;
use std::collections::HashMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// What is known so far.
pub(super) struct Statistics<'a> {
    searcher: &'a Searcher,
    documents: RefCell<HashMap<Term, u64>>,
    tokens: RefCell<HashMap<Field, u64>>,
}

impl<'a> Statistics<'a> {
    pub(super) fn of(searcher: &'a Searcher) -> Self {
        Self { searcher, documents: RefCell::default(), tokens: RefCell::default() }
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        if let Some(known) = self.tokens.borrow().get(&field) {
            return Ok(*known);
        }
        let count = Bm25StatisticsProvider::total_num_tokens(self.searcher, field)?;
        self.tokens.borrow_mut().insert(field, count);
        Ok(count)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_docs(self.searcher)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(known) = self.documents.borrow().get(term) {
            return Ok(*known);
        }
        let count = Bm25StatisticsProvider::doc_freq(self.searcher, term)?;
        self.documents.borrow_mut().insert(term.clone(), count);
        Ok(count)
    }
}
