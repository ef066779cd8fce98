//! A query's tree turned into what must stand where: the same for looking into the index
//! (`compile.rs`) and for holding one document against a query (`fitting.rs`).
//!
//! Each word becomes one or more slots, places in a row, each with the terms that will do:
//! the word itself, its stems in the languages that the index has; or with what
//! the terms must be like, where the word leaves something open.

use super::spans::{Manner, Order};
use super::tree::{Form, Query, Word};
use crate::Shape;
use crate::text::{
    Analyzer, END_MARK, Kind, LIST_MARK, Language, Listed, STEM_MARK, Words, fold_into,
};

/// What a stem counts, where the word itself counts 1.
const STEM_BOOST: f32 = 0.8;

/// What must stand where.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    /// Every document fits.
    All,
    /// None does.
    Nothing,
    /// One of them at least.
    Any(Vec<Plan>),
    /// All of the first, and none of the second.
    Every { must: Vec<Plan>, not: Vec<Plan> },
    /// The first; what fits the second too is better.
    Maybe(Box<Plan>, Box<Plan>),
    /// So many of them at least.
    AtLeast(usize, Vec<Plan>),
    /// Words, in one of these fields at least.
    Words(Vec<InField>),
}

/// Words in one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InField {
    pub(crate) field: usize,
    pub(crate) boost: f32,
    /// The slots of a group stand in a row.
    pub(crate) groups: Vec<Vec<Slot>>,
    /// How they must stand; none: there is one slot, and it may be anywhere.
    pub(crate) manner: Option<Manner>,
}

/// A place of a query's words in a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    /// How far it is from the first.
    pub(crate) offset: u32,
    /// What will do.
    pub(crate) terms: Vec<Weighed>,
    /// What is like this will do as well.
    pub(crate) open: Option<(Form, String)>,
}

/// A term and how much it counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) text: String,
    pub(crate) boost: f32,
}

/// What queries are planned with.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) analyzer: &'a Analyzer,
    pub(crate) languages: &'a [Language],
}

#[derive(Clone, Copy)]
struct Scope<'a> {
    fields: &'a [usize],
    within: Option<u32>,
    /// It is said of what isn't wanted: no more than what is written.
    is_left_out: bool,
}

impl Planner<'_> {
    /// What a query wants of all fields.
    pub(crate) fn plan(&self, query: &Query) -> Plan {
        let fields: Vec<usize> = (0..self.shape.fields.len()).collect();
        let scope = Scope { fields: &fields, within: None, is_left_out: false };
        self.part(query, &scope).unwrap_or(Plan::Nothing)
    }

    /// Where nothing of it can be looked for, none.
    fn part(&self, query: &Query, scope: &Scope<'_>) -> Option<Plan> {
        match query {
            Query::All => Some(Plan::All),
            Query::Word(word) => self.word(word, scope),
            Query::Phrase(words) => self.row(words, scope),
            Query::Near { parts, distance } => self.together(parts, Order::Near(*distance), scope),
            Query::Before(parts) => self.together(parts, Order::Before, scope),
            Query::And(parts) => self.all_of(parts, scope),
            Query::Or(parts) => {
                let parts = self.parts(parts, scope);
                (!parts.is_empty()).then_some(Plan::Any(parts))
            }
            Query::Not(_) => self.all_of(std::slice::from_ref(query), scope),
            Query::Maybe(first, second) => {
                let must = self.part(first, scope)?;
                Some(match self.part(second, scope) {
                    Some(should) => Plan::Maybe(Box::new(must), Box::new(should)),
                    None => must,
                })
            }
            Query::Field { fields, within, query } => {
                let fields: Vec<usize> =
                    fields.iter().copied().filter(|one| scope.fields.contains(one)).collect();
                if fields.is_empty() {
                    return Some(Plan::Nothing);
                }
                let within = within.or(scope.within);
                self.part(query, &Scope { fields: &fields, within, ..*scope })
            }
            Query::Quorum { parts, at_least } => {
                let parts = self.parts(parts, scope);
                let at_least = (*at_least).clamp(1, parts.len().max(1));
                (!parts.is_empty()).then_some(Plan::AtLeast(at_least, parts))
            }
        }
    }

    fn parts(&self, parts: &[Query], scope: &Scope<'_>) -> Vec<Plan> {
        parts.iter().filter_map(|one| self.part(one, scope)).collect()
    }

    fn all_of(&self, parts: &[Query], scope: &Scope<'_>) -> Option<Plan> {
        let (mut must, mut not) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Query::Not(inner) => {
                    not.extend(self.part(inner, &Scope { is_left_out: true, ..*scope }));
                }
                other => must.extend(self.part(other, scope)),
            }
        }
        match (must.len(), not.is_empty()) {
            (0, true) => None,
            (1, true) => must.pop(),
            _ => Some(Plan::Every { must, not }),
        }
    }

    /// A word; where dictionaries find words in it, those will do as well, wherever they stand.
    fn word(&self, word: &Word, scope: &Scope<'_>) -> Option<Plan> {
        let mut ways: Vec<Plan> = self.row(std::slice::from_ref(word), scope).into_iter().collect();
        let is_bound = word.is_first || word.is_last;
        if word.form == Form::Any && !is_bound && !scope.is_left_out {
            for parts in self.analyzer.readings(&word.text) {
                let mut must: Vec<Plan> =
                    parts.iter().filter_map(|part| self.listed(part, word, scope)).collect();
                ways.extend(match must.len() {
                    0 | 1 => must.pop(),
                    _ => Some(Plan::Every { must, not: Vec::new() }),
                });
            }
        }
        match ways.len() {
            0 | 1 => ways.pop(),
            _ => Some(Plan::Any(ways)),
        }
    }

    /// A part of a word as a dictionary has it, or as it is written.
    fn listed(&self, part: &Listed, word: &Word, scope: &Scope<'_>) -> Option<Plan> {
        let text = word.text.get(part.from..part.to)?;
        let written = || self.row(&[Word { text: text.to_owned(), ..word.clone() }], scope);
        let Some(term) = &part.term else { return written() };
        let terms = vec![Weighed { text: format!("{LIST_MARK}{term}"), boost: 1.0 }];
        let groups = vec![vec![Slot { offset: 0, terms, open: None }]];
        let manner = scope.within.map(|_| Manner {
            order: Order::Row,
            within: scope.within,
            is_first: false,
            is_last: false,
        });
        let in_field = |field| InField { field, boost: word.boost, groups: groups.clone(), manner };
        let as_word = Plan::Words(scope.fields.iter().copied().map(in_field).collect());
        // One character as it is written would be all words with it.
        let written = text.chars().nth(1).and_then(|_| written());
        Some(match written {
            Some(written) => Plan::Any(vec![written, as_word]),
            None => as_word,
        })
    }

    /// Words in a row, in one field.
    fn row(&self, words: &[Word], scope: &Scope<'_>) -> Option<Plan> {
        let manner = Manner {
            order: Order::Row,
            within: scope.within,
            is_first: words.first().is_some_and(|word| word.is_first),
            is_last: words.last().is_some_and(|word| word.is_last),
        };
        let is_bound =
            scope.within.is_some() || words.iter().any(|word| word.is_first || word.is_last);
        let boost = words.first().map_or(1.0, |word| word.boost);
        let mut in_fields = Vec::new();
        for field in scope.fields.iter().copied() {
            let mut slots = self.slots(words, field);
            let is_anywhere = slots.len() == 1 && !is_bound;
            let Some(last) = slots.last() else { continue };
            if manner.is_last {
                let terms = vec![Weighed { text: END_MARK.to_owned(), boost: 0.0 }];
                slots.push(Slot { offset: last.offset + 1, terms, open: None });
            }
            let manner = (!is_anywhere).then_some(manner);
            in_fields.push(InField { field, boost, groups: vec![slots], manner });
        }
        (!in_fields.is_empty()).then_some(Plan::Words(in_fields))
    }

    /// Words with a condition on where they stand. Parts that are no words are wanted too,
    /// wherever they stand.
    fn together(&self, parts: &[Query], order: Order, scope: &Scope<'_>) -> Option<Plan> {
        let rows: Vec<&[Word]> = parts.iter().filter_map(words_of).collect();
        let mut in_fields = Vec::new();
        for field in scope.fields.iter().copied() {
            let groups: Vec<Vec<Slot>> =
                rows.iter().map(|words| self.slots(words, field)).collect();
            let groups: Vec<_> = groups.into_iter().filter(|group| !group.is_empty()).collect();
            let manner = Manner { order, within: scope.within, is_first: false, is_last: false };
            let manner = match groups.as_slice() {
                [] => continue,
                [group] if group.len() == 1 => None,
                _ => Some(manner),
            };
            in_fields.push(InField { field, boost: 1.0, groups, manner });
        }
        let others = parts.iter().filter(|one| words_of(one).is_none());
        let mut must: Vec<_> = others.filter_map(|one| self.part(one, scope)).collect();
        if !in_fields.is_empty() {
            must.push(Plan::Words(in_fields));
        }
        match must.len() {
            0 => None,
            1 => must.pop(),
            _ => Some(Plan::Every { must, not: Vec::new() }),
        }
    }

    /// The slots of words in a row, in one field.
    pub(super) fn slots(&self, words: &[Word], field: usize) -> Vec<Slot> {
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
            let open = Some((word.form, word.text.clone()));
            return (vec![Slot { offset: 0, terms: Vec::new(), open }], 1);
        }
        let mut words = Words::new(self.analyzer, &word.text);
        let mut slots: Vec<(Slot, Kind, String)> = Vec::new();
        while words.advance() {
            let terms = self.forms(word.form, &words);
            let offset = u32::try_from(words.token.position).unwrap_or(u32::MAX);
            let text = words.token.text.clone();
            slots.push((Slot { offset, terms, open: None }, words.token.kind, text));
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
            slot.terms.clear();
            slot.open = Some((form, text.clone()));
        }
        let length = slots.last().map_or(0, |(slot, ..)| slot.offset + 1);
        (slots.into_iter().map(|(slot, ..)| slot).collect(), length)
    }

    /// Whether a word may be only the beginning of one in this field.
    fn may_begin(&self, field: usize, text: &str) -> bool {
        let least = self.shape.fields.get(field).and_then(|field| field.min_prefix);
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
}

fn words_of(query: &Query) -> Option<&[Word]> {
    match query {
        Query::Word(word) => Some(std::slice::from_ref(word)),
        Query::Phrase(words) => Some(words),
        _ => None,
    }
}
