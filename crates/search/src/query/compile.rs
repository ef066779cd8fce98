//! A query's tree turned into what looks into the index.
//!
//! Each word becomes one or more slots, places in a row, each with the terms that will do:
//! the word itself, its stems in the languages that the index has, its synonyms, or what
//! of the dictionary fits a pattern.

use std::cell::Cell;
use std::sync::Arc;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, EmptyQuery, Occur, Query as Looking, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use super::expand::{EXPANSIONS_OF_QUERY_MAX, SCANS_OF_QUERY_MAX, expand};
use super::spans::{Order, Spans};
use super::tree::{Form, Query, Word};
use crate::index::{Inner, Parts};
use crate::text::{Kind, Language, STEM_MARK, Words, fold_into};

/// What a stem counts, where the word itself counts 1.
const STEM_BOOST: f32 = 0.8;
/// What a synonym counts.
const SYNONYM_BOOST: f32 = 0.6;

/// A place of a query's words in a row.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    /// How far it is from the first.
    pub(crate) offset: u32,
    /// What will do.
    pub(crate) terms: Vec<Weighed>,
}

/// A term and how much it counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) text: String,
    pub(crate) boost: f32,
}

/// What queries are turned into looking with.
pub(crate) struct Compiler<'a> {
    pub(crate) index: &'a Inner,
    pub(crate) searcher: &'a Searcher,
    pub(crate) parts: &'a Parts,
    pub(crate) weights: Vec<f32>,
    pub(crate) languages: Arc<[Language]>,
    pub(super) expansions_left: Cell<usize>,
    pub(super) scans_left: Cell<usize>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        index: &'a Inner,
        searcher: &'a Searcher,
        parts: &'a Parts,
        weights: Option<&[f32]>,
    ) -> Self {
        let mut all: Vec<f32> = index.shape.fields.iter().map(|field| field.weight).collect();
        for (own, told) in all.iter_mut().zip(weights.unwrap_or_default()) {
            *own = *told;
        }
        Self {
            index,
            searcher,
            parts,
            weights: all,
            languages: index.languages_of(searcher, parts),
            expansions_left: Cell::new(EXPANSIONS_OF_QUERY_MAX),
            scans_left: Cell::new(SCANS_OF_QUERY_MAX),
        }
    }

    /// What looks for a query in all fields; where nothing of it can be looked for, none.
    pub(crate) fn compile(&self, query: &Query) -> Option<Box<dyn Looking>> {
        self.refill();
        let fields: Vec<usize> = (0..self.parts.fields.len()).collect();
        self.part(query, &Scope { fields: &fields, within: None })
    }

    /// Each time that a query is gone through it may open as many words.
    pub(super) fn refill(&self) {
        self.expansions_left.set(EXPANSIONS_OF_QUERY_MAX);
        self.scans_left.set(SCANS_OF_QUERY_MAX);
    }

    fn part(&self, query: &Query, scope: &Scope<'_>) -> Option<Box<dyn Looking>> {
        match query {
            Query::All => Some(Box::new(AllQuery)),
            Query::Word(word) => self.row(std::slice::from_ref(word), scope),
            Query::Phrase(words) => self.row(words, scope),
            Query::Near { parts, distance } => self.near(parts, *distance, scope),
            Query::Before(parts) => self.before(parts, scope),
            Query::And(parts) => self.all_of(parts, scope),
            Query::Or(parts) => {
                let parts: Vec<_> = parts.iter().filter_map(|one| self.part(one, scope)).collect();
                (!parts.is_empty()).then(|| union(parts))
            }
            Query::Not(_) => self.all_of(std::slice::from_ref(query), scope),
            Query::Maybe(first, second) => {
                let must = self.part(first, scope)?;
                Some(match self.part(second, scope) {
                    Some(should) => Box::new(BooleanQuery::new(vec![
                        (Occur::Must, must),
                        (Occur::Should, should),
                    ])),
                    None => must,
                })
            }
            Query::Field { fields, within, query } => {
                let fields: Vec<usize> =
                    fields.iter().copied().filter(|one| scope.fields.contains(one)).collect();
                if fields.is_empty() {
                    return Some(Box::new(EmptyQuery));
                }
                self.part(query, &Scope { fields: &fields, within: within.or(scope.within) })
            }
            Query::Quorum { parts, at_least } => {
                let parts: Vec<_> = parts.iter().filter_map(|one| self.part(one, scope)).collect();
                let at_least = (*at_least).clamp(1, parts.len().max(1));
                (!parts.is_empty()).then(|| {
                    let query = BooleanQuery::union_with_minimum_required_clauses(parts, at_least);
                    Box::new(query) as Box<dyn Looking>
                })
            }
        }
    }

    fn all_of(&self, parts: &[Query], scope: &Scope<'_>) -> Option<Box<dyn Looking>> {
        let mut clauses: Vec<(Occur, Box<dyn Looking>)> = Vec::new();
        let mut has_must = false;
        for part in parts {
            match part {
                Query::Not(inner) => {
                    clauses.extend(self.part(inner, scope).map(|one| (Occur::MustNot, one)));
                }
                other => {
                    let one = self.part(other, scope).map(|one| (Occur::Must, one));
                    has_must |= one.is_some();
                    clauses.extend(one);
                }
            }
        }
        if clauses.is_empty() {
            return None;
        }
        if !has_must {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        if clauses.len() == 1 {
            return clauses.pop().map(|(_, one)| one);
        }
        Some(Box::new(BooleanQuery::new(clauses)))
    }

    /// Words in a row, in one field.
    fn row(&self, words: &[Word], scope: &Scope<'_>) -> Option<Box<dyn Looking>> {
        let is_bound =
            scope.within.is_some() || words.iter().any(|word| word.is_first || word.is_last);
        let boost = words.first().map_or(1.0, |word| word.boost);
        let mut in_fields = Vec::new();
        let mut has_slots = false;
        for at in scope.fields {
            let slots = self.slots(words, *at);
            has_slots |= !slots.is_empty();
            let weight = self.weights.get(*at).copied().unwrap_or(1.0) * boost;
            let field = self.parts.fields[*at];
            let looking = match slots.as_slice() {
                [] => continue,
                [one] if !is_bound => terms(field, &one.terms),
                _ => {
                    let mut spans = Spans::new(field, vec![slots], Order::Row);
                    spans.within = scope.within;
                    spans.is_first = words.first().is_some_and(|word| word.is_first);
                    spans.is_last = words.last().is_some_and(|word| word.is_last);
                    Some(Box::new(spans) as Box<dyn Looking>)
                }
            };
            in_fields.extend(looking.map(|one| boosted(one, weight)));
        }
        if in_fields.is_empty() {
            return has_slots.then(|| Box::new(EmptyQuery) as Box<dyn Looking>);
        }
        Some(union(in_fields))
    }

    fn near(&self, parts: &[Query], distance: u32, scope: &Scope<'_>) -> Option<Box<dyn Looking>> {
        self.together(parts, Order::Near(distance), scope)
    }

    fn before(&self, parts: &[Query], scope: &Scope<'_>) -> Option<Box<dyn Looking>> {
        self.together(parts, Order::Before, scope)
    }

    /// Words with a condition on where they stand. Parts that are no words are wanted too,
    /// wherever they stand.
    fn together(
        &self,
        parts: &[Query],
        order: Order,
        scope: &Scope<'_>,
    ) -> Option<Box<dyn Looking>> {
        let rows: Vec<&[Word]> = parts.iter().filter_map(words_of).collect();
        let mut in_fields = Vec::new();
        for at in scope.fields {
            let groups: Vec<Vec<Slot>> = rows.iter().map(|words| self.slots(words, *at)).collect();
            let groups: Vec<_> = groups.into_iter().filter(|group| !group.is_empty()).collect();
            let weight = self.weights.get(*at).copied().unwrap_or(1.0);
            let field = self.parts.fields[*at];
            let looking = match groups.as_slice() {
                [] => continue,
                [group] if group.len() == 1 => terms(field, &group[0].terms),
                _ => {
                    let mut spans = Spans::new(field, groups, order);
                    spans.within = scope.within;
                    Some(Box::new(spans) as Box<dyn Looking>)
                }
            };
            in_fields.extend(looking.map(|one| boosted(one, weight)));
        }
        let others = parts.iter().filter(|one| words_of(one).is_none());
        let mut all: Vec<_> = others.filter_map(|one| self.part(one, scope)).collect();
        if !in_fields.is_empty() {
            all.push(union(in_fields));
        }
        match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(Box::new(BooleanQuery::intersection(all))),
        }
    }

    /// The slots of words in a row, in one field.
    pub(crate) fn slots(&self, words: &[Word], field: usize) -> Vec<Slot> {
        let mut all = Vec::new();
        let mut begin = 0;
        for word in words {
            let (slots, length) = self.slots_of(word, field);
            all.extend(slots.into_iter().map(|mut slot| {
                slot.offset += begin;
                slot
            }));
            begin += length;
        }
        all
    }

    /// The slots of one word and how many places it takes.
    fn slots_of(&self, word: &Word, field: usize) -> (Vec<Slot>, u32) {
        if word.form == Form::Pattern {
            let terms = expand(self, field, word.form, &word.text);
            return (vec![Slot { offset: 0, terms }], 1);
        }
        let mut words = Words::new(&self.index.analyzer, &word.text);
        let mut slots: Vec<(Slot, Kind, String)> = Vec::new();
        while words.advance() {
            let terms = self.forms(word.form, &words);
            let offset = u32::try_from(words.token.position).unwrap_or(u32::MAX);
            let text = words.token.text.clone();
            slots.push((Slot { offset, terms }, words.token.kind, text));
        }
        // The last character of a run stands for itself only where it is all there is.
        if slots.len() > 1 && slots.last().is_some_and(|(_, kind, _)| *kind == Kind::Tail) {
            let before = slots.len() - 2;
            if slots[before].1 == Kind::Pair {
                slots.pop();
            }
        }
        let count = slots.len();
        for (place, (slot, kind, text)) in slots.iter_mut().enumerate() {
            let form = match word.form {
                _ if *kind == Kind::Tail => Form::Prefix,
                Form::Prefix | Form::Infix if place + 1 == count && count > 1 => Form::Prefix,
                Form::Suffix | Form::Infix if place == 0 && count > 1 => Form::Suffix,
                Form::Any | Form::Exact => continue,
                other if count == 1 => other,
                _ => continue,
            };
            if form == Form::Prefix && *kind == Kind::Word && !self.may_begin(field, text) {
                continue;
            }
            slot.terms = expand(self, field, form, text);
        }
        if word.form == Form::Any {
            self.add_synonyms(word, &mut slots);
        }
        let length = slots.last().map_or(0, |(slot, ..)| slot.offset + 1);
        (slots.into_iter().map(|(slot, ..)| slot).collect(), length)
    }

    /// Whether a word may be only the beginning of one in this field.
    fn may_begin(&self, field: usize, text: &str) -> bool {
        let least = self.index.shape.fields.get(field).and_then(|field| field.min_prefix);
        least.is_none_or(|least| text.chars().count() >= usize::from(least))
    }

    /// The word itself and, where any form will do, its stems.
    fn forms(&self, form: Form, words: &Words<'_>) -> Vec<Weighed> {
        let token = &words.token;
        let mut terms = vec![Weighed { text: token.text.clone(), boost: 1.0 }];
        if form != Form::Any || token.kind != Kind::Word {
            return terms;
        }
        let mut stem = String::new();
        for stemmer in self.languages.iter().filter_map(|language| language.stemmer()) {
            fold_into(&stemmer.stem(&words.lower), &mut stem);
            if stem.is_empty() {
                continue;
            }
            let marked = format!("{STEM_MARK}{stem}");
            for text in [marked, stem.clone()] {
                if terms.iter().all(|term| term.text != text) {
                    terms.push(Weighed { text, boost: STEM_BOOST });
                }
            }
        }
        terms
    }

    /// One word's synonyms that are one word too.
    fn add_synonyms(&self, word: &Word, slots: &mut [(Slot, Kind, String)]) {
        let [(slot, _, own)] = slots else { return };
        let lists = &self.index.shape.synonyms;
        for list in lists.iter().filter(|list| list.iter().any(|one| is_same(one, own, word))) {
            for other in list {
                let mut words = Words::new(&self.index.analyzer, other);
                if !words.advance() || words.token.text == *own {
                    continue;
                }
                let terms = self.forms(Form::Any, &words);
                if words.advance() {
                    continue;
                }
                slot.terms.extend(terms.into_iter().map(|mut term| {
                    term.boost *= SYNONYM_BOOST;
                    term
                }));
            }
        }
    }
}

struct Scope<'a> {
    fields: &'a [usize],
    within: Option<u32>,
}

fn is_same(one: &str, own: &str, word: &Word) -> bool {
    one.eq_ignore_ascii_case(own) || one.to_lowercase() == word.text.to_lowercase()
}

fn words_of(query: &Query) -> Option<&[Word]> {
    match query {
        Query::Word(word) => Some(std::slice::from_ref(word)),
        Query::Phrase(words) => Some(words),
        _ => None,
    }
}

/// Any of the terms, in one field.
fn terms(field: Field, terms: &[Weighed]) -> Option<Box<dyn Looking>> {
    let parts: Vec<Box<dyn Looking>> = terms
        .iter()
        .map(|term| {
            let query = TermQuery::new(
                Term::from_field_text(field, &term.text),
                IndexRecordOption::WithFreqs,
            );
            boosted(Box::new(query), term.boost)
        })
        .collect();
    (!parts.is_empty()).then(|| union(parts))
}

fn boosted(query: Box<dyn Looking>, weight: f32) -> Box<dyn Looking> {
    if (weight - 1.0).abs() < f32::EPSILON {
        query
    } else {
        Box::new(BoostQuery::new(query, weight))
    }
}

fn union(mut parts: Vec<Box<dyn Looking>>) -> Box<dyn Looking> {
    match (parts.len(), parts.pop()) {
        (1, Some(one)) => one,
        (_, last) => {
            parts.extend(last);
            Box::new(BooleanQuery::union(parts))
        }
    }
}
