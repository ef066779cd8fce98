//! What is looked for instead where nothing was found: less and less, and it is said.

use super::compile::Compiler;
use super::suggest::look_up;
use super::tree::{Form, Query, Word};

/// A step of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// All words, wherever they stand and in any form.
    Apart,
    /// Most of the words.
    Most,
    /// One of the words.
    Any,
    /// Words that are written alike.
    Alike,
}

impl Step {
    pub(super) const LADDER: [Self; 4] = [Self::Apart, Self::Most, Self::Any, Self::Alike];

    /// What is said of it.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Apart => "all of the words, wherever they stand",
            Self::Most => "most of the words",
            Self::Any => "any of the words",
            Self::Alike => "words that are written alike",
        }
    }

    /// The query with less asked of it; none where this step changes nothing.
    pub(super) fn relax(self, query: &Query) -> Option<Query> {
        let mut words: Vec<Word> = Vec::new();
        query.each_word(&mut |word| words.push(word.clone()));
        let form = |word: &Word| match (self, word.form) {
            // What is short is like too much.
            (Self::Alike, Form::Any | Form::Exact) if word.text.chars().count() > 3 => {
                Form::Fuzzy(2)
            }
            (_, Form::Exact) => Form::Any,
            (_, other) => other,
        };
        let parts: Vec<Query> =
            words.iter().map(|word| Query::Word(Word::of(&word.text, form(word)))).collect();
        let count = parts.len();
        let relaxed = match self {
            Self::Apart if count > 0 && !is_plain(query) => Query::all_of(parts),
            // Two of three, three of four, four of six.
            Self::Most if count > 2 => Query::Quorum { parts, at_least: (count * 2).div_ceil(3) },
            Self::Any if count > 1 => Query::one_of(parts),
            Self::Alike if count > 0 => Query::one_of(parts),
            _ => return None,
        };
        let mut all = vec![relaxed];
        left_out(query, &mut all);
        Some(Query::all_of(all))
    }
}

/// Whether it is words and nothing else.
fn is_plain(query: &Query) -> bool {
    match query {
        Query::Word(word) => word.form != Form::Exact,
        Query::And(parts) => {
            parts.iter().all(|part| matches!(part, Query::Not(_)) || is_plain(part))
        }
        _ => false,
    }
}

/// What is left out stays left out.
fn left_out(query: &Query, out: &mut Vec<Query>) {
    match query {
        Query::Not(_) => out.push(query.clone()),
        Query::And(parts) => parts.iter().for_each(|part| left_out(part, out)),
        Query::Field { query, .. } => left_out(query, out),
        _ => {}
    }
}

/// The words again, those that the index doesn't have replaced by what is written alike
/// and most frequent there.
pub(super) fn did_you_mean(compiler: &Compiler<'_>, query: &Query) -> Option<String> {
    let mut words: Vec<Word> = Vec::new();
    query.each_word(&mut |word| words.push(word.clone()));
    let mut is_other = false;
    let meant: Vec<String> = (words.iter())
        .map(|word| match better(compiler, word) {
            Some(other) => {
                is_other = true;
                other
            }
            None => word.text.clone(),
        })
        .collect();
    is_other.then(|| meant.join(" "))
}

fn better(compiler: &Compiler<'_>, word: &Word) -> Option<String> {
    if !matches!(word.form, Form::Any | Form::Exact) {
        return None;
    }
    let tokens = compiler.index.analyzer.tokens(&word.text);
    let [token] = tokens.as_slice() else { return None };
    let known = |form| look_up(compiler.searcher, compiler.parts, form, &token.text);
    if token.text.chars().count() < 3 || !known(Form::Exact).is_empty() {
        return None;
    }
    // One letter wrong is likelier than two, however frequent.
    let most = |found: std::collections::HashMap<String, u64>| {
        let first = |text: &str| text.chars().next() == token.text.chars().next();
        found.into_iter().max_by_key(|(text, count)| (first(text), *count, text.clone()))
    };
    let found = most(known(Form::Fuzzy(1))).or_else(|| most(known(Form::Fuzzy(2))))?;
    Some(found.0)
}
