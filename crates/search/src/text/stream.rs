//! The terms of a field, as the index takes them.
//!
//! The language goes with the text, as its first two characters: the index passes on a
//! text and nothing else. A stem is a term of its own, marked, at the place of its word,
//! and only where it is unlike the word.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use frostem::Stemmer;
use tantivy::tokenizer::{Token as Term, TokenStream, Tokenizer};

use super::fold::fold_into;
use super::{Analyzer, Kind, Language, Words};

/// Before a stem: no word begins so.
pub(crate) const STEM_MARK: char = '\u{1}';
/// Before a word of a dictionary, where words stand beside pairs of characters.
pub(crate) const LIST_MARK: char = '\u{2}';
/// Behind the last word of a field, so that a query can ask for it.
pub(crate) const END_MARK: &str = "\u{3}";
/// Where no language is known.
const NO_LANGUAGE: char = '~';

/// A text with its language before it.
pub(crate) fn marked(text: &str, language: Option<Language>) -> String {
    let mut all = String::with_capacity(text.len() + 1);
    all.push(language.map_or(NO_LANGUAGE, |one| char::from(b'0' + one.number())));
    all.push_str(text);
    all
}

/// The analysis as the index calls it, which counts what it has come by: whoever puts
/// texts knows by it how many of them still wait.
#[derive(Clone)]
pub(crate) struct Stream {
    pub(crate) analyzer: Analyzer,
    pub(crate) done_bytes: Arc<AtomicUsize>,
}

impl Tokenizer for Stream {
    type TokenStream<'a> = Terms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms<'a> {
        self.done_bytes.fetch_add(text.len(), Ordering::Relaxed);
        let mut rest = text.chars();
        let number = rest.next().and_then(|one| u8::try_from(one).ok()?.checked_sub(b'0'));
        let language = number.and_then(Language::numbered).filter(|_| self.analyzer.has_stems);
        Terms {
            words: Words::of_document(&self.analyzer, rest.as_str(), language),
            stemmer: language.and_then(Language::stemmer),
            stem: String::new(),
            has_stem: false,
            has_words: false,
            term: Term::default(),
        }
    }
}

pub(crate) struct Terms<'a> {
    words: Words<'a>,
    stemmer: Option<Stemmer>,
    stem: String,
    has_stem: bool,
    has_words: bool,
    term: Term,
}

impl Terms<'_> {
    fn end(&mut self) -> bool {
        let has_words = std::mem::take(&mut self.has_words);
        self.term.text.clear();
        self.term.text.push_str(END_MARK);
        self.term.position = self.words.token.position + 1;
        has_words
    }
}

impl TokenStream for Terms<'_> {
    fn advance(&mut self) -> bool {
        if std::mem::take(&mut self.has_stem) {
            self.term.text.clear();
            self.term.text.push(STEM_MARK);
            self.term.text.push_str(&self.stem);
            return true;
        }
        if !self.words.advance() {
            return self.end();
        }
        self.has_words = true;
        let token = &self.words.token;
        self.term.text.clone_from(&token.text);
        self.term.position = token.position;
        self.term.offset_from = token.from;
        self.term.offset_to = token.to;
        if let Some(stemmer) = &self.stemmer
            && token.kind == Kind::Word
        {
            fold_into(&stemmer.stem(&self.words.lower), &mut self.stem);
            self.has_stem = self.stem != token.text && !self.stem.is_empty();
        }
        true
    }

    fn token(&self) -> &Term {
        &self.term
    }

    fn token_mut(&mut self) -> &mut Term {
        &mut self.term
    }
}
