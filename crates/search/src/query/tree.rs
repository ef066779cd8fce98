//! The tree of a query, for both languages.
//!
//! Invariant: no reader builds a tree deeper than [`DEPTH_MAX`] or with more than
//! [`WORDS_MAX`] words, so whatever walks one may do so by recursion.

use std::fmt;

/// How deep a query may be.
pub(crate) const DEPTH_MAX: usize = 32;
/// What a word that means the same counts.
const SYNONYM_BOOST: f32 = 0.6;
/// So many words that mean the same are looked for beside one.
const SYNONYMS_MAX: usize = 16;
/// How many words a query may have; a person's are cut there.
pub(crate) const WORDS_MAX: usize = 128;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    /// Every document.
    All,
    /// One word, or several in a row where the analysis makes several of it.
    Word(Word),
    /// Words in a row.
    Phrase(Vec<Word>),
    /// Words with fewer than so many others in between, in any order.
    Near {
        /// The words, or phrases.
        parts: Vec<Query>,
        /// Fewer words than this are between them in all.
        distance: u32,
    },
    /// Parts of one field, in this order.
    Before(Vec<Query>),
    /// All of them; what is a [`Query::Not`] in it is left out.
    And(Vec<Query>),
    /// One of them at least.
    Or(Vec<Query>),
    /// What doesn't fit.
    Not(Box<Query>),
    /// The first; what fits the second too is better.
    Maybe(Box<Query>, Box<Query>),
    /// In some fields only.
    Field {
        /// Their places.
        fields: Vec<usize>,
        /// Among the first so many words of the field, where that is limited.
        within: Option<u32>,
        /// What is looked for there.
        query: Box<Query>,
    },
    /// So many of them at least.
    Quorum {
        /// The parts.
        parts: Vec<Query>,
        /// How many.
        at_least: usize,
    },
}

/// A word as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// Its text, before any analysis.
    pub text: String,
    /// What of a document's word it must be.
    pub form: Form,
    /// The first word of its field.
    pub is_first: bool,
    /// The last word of its field.
    pub is_last: bool,
    /// How much it counts; 1 unless told.
    pub boost: f32,
}

/// What of a document's word a query's word must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The word, in any of its forms.
    Any,
    /// The word as it is written.
    Exact,
    /// The beginning of it.
    Prefix,
    /// The end of it.
    Suffix,
    /// Something in it.
    Infix,
    /// A pattern, with `*` for anything and `?` for one character.
    Pattern,
    /// The word with so many letters wrong at most.
    Fuzzy(u8),
}

impl Word {
    /// A word in any of its forms.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self::of(text, Form::Any)
    }

    /// A word in one form.
    #[must_use]
    pub fn of(text: &str, form: Form) -> Self {
        Self { text: text.to_owned(), form, is_first: false, is_last: false, boost: 1.0 }
    }
}

impl Query {
    /// All of them, or the one.
    pub(crate) fn all_of(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => Self::All,
            1 => parts.remove(0),
            _ => Self::And(parts),
        }
    }

    /// One of them, or the one.
    pub(crate) fn one_of(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => Self::All,
            1 => parts.remove(0),
            _ => Self::Or(parts),
        }
    }

    /// With words that mean the same as well, where a word stands alone and in any form.
    #[must_use]
    pub fn widened(self, synonyms: &[Vec<String>]) -> Self {
        if synonyms.is_empty() {
            return self;
        }
        let one = |query: Box<Self>| Box::new(query.widened(synonyms));
        let all = |parts: Vec<Self>| parts.into_iter().map(|it| it.widened(synonyms)).collect();
        match self {
            Self::Word(word) if word.form == Form::Any => {
                let others = others(&word, synonyms);
                match others.is_empty() {
                    true => Self::Word(word),
                    false => Self::Or([vec![Self::Word(word)], others].concat()),
                }
            }
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
            Self::Not(query) => Self::Not(one(query)),
            Self::Maybe(first, second) => Self::Maybe(one(first), one(second)),
            Self::Field { fields, within, query } => {
                Self::Field { fields, within, query: one(query) }
            }
            Self::Quorum { parts, at_least } => Self::Quorum { parts: all(parts), at_least },
            // There the words themselves are meant.
            Self::All | Self::Word(_) | Self::Phrase(_) | Self::Near { .. } | Self::Before(_) => {
                self
            }
        }
    }

    /// Calls for each word that is looked for, not for those that are left out.
    pub fn each_word(&self, visit: &mut dyn FnMut(&Word)) {
        match self {
            Self::All | Self::Not(_) => {}
            Self::Word(word) => visit(word),
            Self::Phrase(words) => words.iter().for_each(visit),
            Self::Near { parts, .. }
            | Self::Before(parts)
            | Self::And(parts)
            | Self::Or(parts)
            | Self::Quorum { parts, .. } => parts.iter().for_each(|part| part.each_word(visit)),
            Self::Maybe(first, second) => {
                first.each_word(visit);
                second.each_word(visit);
            }
            Self::Field { query, .. } => query.each_word(visit),
        }
    }
}

/// What means the same as a word.
fn others(word: &Word, synonyms: &[Vec<String>]) -> Vec<Query> {
    let own = word.text.to_lowercase();
    let is_own = |other: &&String| other.to_lowercase() == own;
    let lists = synonyms.iter().filter(|list| list.iter().any(|other| is_own(&other)));
    let others = lists.flatten().filter(|other| !is_own(other)).take(SYNONYMS_MAX);
    others
        .filter_map(|other| {
            let word = |text| Word { boost: word.boost * SYNONYM_BOOST, ..Word::new(text) };
            let mut words: Vec<Word> = other.split_whitespace().map(word).collect();
            match words.len() {
                0 => None,
                1 => words.pop().map(Query::Word),
                _ => Some(Query::Phrase(words)),
            }
        })
        .collect()
}

/// A query of Sphinx's language that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct QueryError {
    /// What is wrong.
    pub reason: String,
    /// At which byte.
    pub at: usize,
}

impl fmt::Display for QueryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} near byte {}", self.reason, self.at)
    }
}
