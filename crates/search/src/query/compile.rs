//! A plan turned into what looks into the index: what it leaves open becomes the terms of the
//! index's dictionary that fit.

use std::cell::Cell;
use std::sync::Arc;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, EmptyQuery, Occur, Query as Looking, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use super::expand::{EXPANSIONS_OF_QUERY_MAX, SCANS_OF_QUERY_MAX, expand};
use super::plan::{InField, Plan, Planner, Slot, Weighed};
use super::spans::Spans;
use super::tree::{Query, Word};
use crate::index::{Inner, Parts};
use crate::text::Language;

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

    pub(crate) fn planner(&self) -> Planner<'_> {
        Planner {
            shape: &self.index.shape,
            analyzer: &self.index.analyzer,
            languages: &self.languages,
        }
    }

    /// What looks for a query in all fields.
    pub(crate) fn compile(&self, query: &Query) -> Box<dyn Looking> {
        self.refill();
        self.looking(self.planner().plan(query))
    }

    /// What looks for words near each other, in each field with its weight.
    pub(super) fn near(&self, query: &Query) -> Vec<(Spans, f32)> {
        let Plan::Words(in_fields) = self.planner().plan(query) else { return Vec::new() };
        (in_fields.into_iter())
            .filter_map(|wanted| {
                let (weight, field, groups) = self.place(&wanted)?;
                Some((Spans::new(field, groups, wanted.manner?), weight))
            })
            .collect()
    }

    /// Each time that a query is gone through it may open as many words.
    pub(super) fn refill(&self) {
        self.expansions_left.set(EXPANSIONS_OF_QUERY_MAX);
        self.scans_left.set(SCANS_OF_QUERY_MAX);
    }

    fn looking(&self, plan: Plan) -> Box<dyn Looking> {
        let each = |parts: Vec<Plan>| parts.into_iter().map(|one| self.looking(one)).collect();
        match plan {
            Plan::All => Box::new(AllQuery),
            Plan::Nothing => Box::new(EmptyQuery),
            Plan::Any(parts) => union(each(parts)),
            Plan::Every { must, not } => {
                let occur = |how: Occur| move |one| (how, one);
                let mut clauses: Vec<(Occur, Box<dyn Looking>)> =
                    each(must).into_iter().map(occur(Occur::Must)).collect();
                if clauses.is_empty() {
                    clauses.push((Occur::Must, Box::new(AllQuery)));
                }
                clauses.extend(each(not).into_iter().map(occur(Occur::MustNot)));
                Box::new(BooleanQuery::new(clauses))
            }
            Plan::Maybe(must, should) => Box::new(BooleanQuery::new(vec![
                (Occur::Must, self.looking(*must)),
                (Occur::Should, self.looking(*should)),
            ])),
            Plan::AtLeast(count, parts) => {
                Box::new(BooleanQuery::union_with_minimum_required_clauses(each(parts), count))
            }
            Plan::Words(in_fields) => {
                let parts: Vec<_> = in_fields.iter().filter_map(|one| self.in_field(one)).collect();
                if parts.is_empty() { Box::new(EmptyQuery) } else { union(parts) }
            }
        }
    }

    /// The weight of what is wanted of a field, the field, and its slots.
    fn place(&self, wanted: &InField) -> Option<(f32, Field, Vec<Vec<Slot>>)> {
        let at = wanted.field;
        let weight = self.weights.get(at).copied().unwrap_or(1.0) * wanted.boost;
        let field = *self.parts.fields.get(at)?;
        let groups = (wanted.groups.iter())
            .map(|group| group.iter().map(|slot| self.opened(slot.clone(), at)).collect())
            .collect();
        Some((weight, field, groups))
    }

    fn in_field(&self, wanted: &InField) -> Option<Box<dyn Looking>> {
        let (weight, field, groups) = self.place(wanted)?;
        let looking = match wanted.manner {
            None => terms(field, &groups.first()?.first()?.terms)?,
            Some(manner) => Box::new(Spans::new(field, groups, manner)) as Box<dyn Looking>,
        };
        Some(boosted(looking, weight))
    }

    /// The slot, what it leaves open replaced by the terms that the index has.
    fn opened(&self, mut slot: Slot, field: usize) -> Slot {
        if let Some((form, text)) = slot.open.take() {
            let mut terms = expand(self, field, form, &text);
            terms.append(&mut slot.terms);
            slot.terms = terms;
        }
        slot
    }

    /// The slots of words in a row, in one field.
    pub(crate) fn slots(&self, words: &[Word], field: usize) -> Vec<Slot> {
        let slots = self.planner().slots(words, field);
        slots.into_iter().map(|slot| self.opened(slot, field)).collect()
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
