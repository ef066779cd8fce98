//! Whether one document fits a query, without an index: for queries that are kept, and many.
//!
//! In: a document's terms ([`Terms`]), a query's plan as [`Reading`], small enough to keep.
//! Invariant: whatever a search would find fits; more may where a search stops opening a word
//! at its bounds. [`Keys`] are terms of which every document that fits has one.

use std::collections::HashMap;

use tantivy::tokenizer::{TokenStream, Tokenizer};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::expand::Like;
use super::plan::{InField, Plan, Slot, Weighed};
use super::spans::{Manner, occurrences};
use super::tree::Form;
use crate::Document;
use crate::shape::PARTS_MAX;
use crate::text::{Analyzer, Language, Stream, marked};

/// So many characters of a word's beginning are a key.
const BEGIN_CHARACTERS: usize = 3;

/// What documents and queries meet by: the hash of a term, or of the beginning of one.
pub(crate) type Key = u64;

fn key_of(term: &str) -> Key {
    xxh3_64(term.as_bytes())
}

fn key_of_begin(begin: &str) -> Key {
    xxh3_64_with_seed(begin.as_bytes(), 1)
}

/// Some of an index's fields, of which it has [`PARTS_MAX`] at most.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Fields([u64; PARTS_MAX / 64]);

impl Fields {
    fn add(&mut self, field: usize) {
        if let Some(some) = self.0.get_mut(field / 64) {
            *some |= 1 << (field % 64);
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    fn each(&self) -> impl Iterator<Item = usize> {
        (0..PARTS_MAX).filter(|field| self.0[field / 64] >> (field % 64) & 1 == 1)
    }
}

/// The terms of a document, and where they stand.
pub(crate) struct Terms {
    all: HashMap<Key, Term>,
    fields: Fields,
}

struct Term {
    text: String,
    fields: Fields,
    /// Field and position, in order.
    places: Vec<(usize, u32)>,
}

impl Terms {
    /// As the index would take them.
    pub(crate) fn of(document: &Document, language: Option<Language>, analyzer: &Analyzer) -> Self {
        let done_bytes = std::sync::Arc::default();
        let mut stream = Stream { analyzer: analyzer.clone(), done_bytes };
        let mut terms = Self { all: HashMap::new(), fields: Fields::default() };
        for (field, text) in document.fields.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            terms.fields.add(field);
            let text = marked(text, language);
            let mut tokens = stream.token_stream(&text);
            while tokens.advance() {
                let token = tokens.token();
                let position = u32::try_from(token.position).unwrap_or(u32::MAX);
                let term = terms.all.entry(key_of(&token.text)).or_insert_with(|| Term {
                    text: token.text.clone(),
                    fields: Fields::default(),
                    places: Vec::new(),
                });
                term.fields.add(field);
                term.places.push((field, position));
            }
        }
        terms
    }

    /// Whether one of them stands in one of the fields.
    fn has_any(&self, keys: &[Key], fields: &Fields) -> bool {
        keys.iter().filter_map(|key| self.all.get(key)).any(|term| term.fields.meets(fields))
    }

    /// The keys of everything that it may fit; some come more than once.
    pub(crate) fn each_key(&self, has_begins: bool, mut visit: impl FnMut(Key)) {
        for (key, term) in &self.all {
            visit(*key);
            if has_begins {
                begins(&term.text).for_each(|begin| visit(key_of_begin(begin)));
            }
        }
    }
}

/// The first characters of a term: one, two, three.
fn begins(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.char_indices().skip(1).map(|(at, _)| at).chain([text.len()]);
    ends.take(BEGIN_CHARACTERS).map(|end| &text[..end])
}

/// A plan, small enough to be kept: terms are known by their keys.
#[derive(Debug)]
pub(crate) enum Reading {
    All,
    Nothing,
    Any(Box<[Reading]>),
    Every {
        must: Box<[Reading]>,
        not: Box<[Reading]>,
    },
    AtLeast(usize, Box<[Reading]>),
    /// Fields, and what is wanted of one of them.
    Words(Box<[Wanted]>),
    /// Words that may stand anywhere in these fields, as most queries are: of each word one of
    /// its keys, and [`GAP`] behind them. In one piece, since there are many to look at.
    Plain {
        fields: Fields,
        keys: Box<[Key]>,
    },
}

/// Between the keys of two words. A term of this hash is found by whoever looks for nothing.
const GAP: Key = 0;

#[derive(Debug, PartialEq)]
pub(crate) struct Wanted {
    fields: Fields,
    groups: Box<[Box<[Place]>]>,
    manner: Option<Manner>,
}

#[derive(Debug, PartialEq)]
struct Place {
    offset: u32,
    terms: Box<[Key]>,
    open: Option<Box<(Form, String)>>,
}

impl Reading {
    pub(crate) fn of(plan: &Plan) -> Self {
        let each = |parts: &[Plan]| parts.iter().map(Self::of).collect();
        match plan {
            Plan::All => Self::All,
            Plan::Nothing => Self::Nothing,
            Plan::Any(parts) => Self::Any(each(parts)),
            Plan::Every { must, not } if not.is_empty() => Self::every(each(must)),
            Plan::Every { must, not } => Self::Every { must: each(must), not: each(not) },
            Plan::Maybe(must, _) => Self::of(must),
            Plan::AtLeast(count, parts) => Self::AtLeast(*count, each(parts)),
            Plan::Words(in_fields) => {
                let mut all: Vec<Wanted> = Vec::new();
                for one in in_fields {
                    let wanted = Wanted::of(one);
                    // Most often the same is wanted of all fields.
                    let same = all.iter_mut().find(|other| {
                        other.groups == wanted.groups && other.manner == wanted.manner
                    });
                    match same {
                        Some(other) => other.fields.add(one.field),
                        None => all.push(wanted),
                    }
                }
                match all.as_slice() {
                    [one] => one.plain().unwrap_or_else(|| Self::Words(all.into())),
                    _ => Self::Words(all.into()),
                }
            }
        }
    }

    /// All of them.
    fn every(must: Box<[Self]>) -> Self {
        let mut all = Vec::new();
        let mut same = None;
        for one in &must {
            match one {
                Self::Plain { fields, keys } if *same.get_or_insert(*fields) == *fields => {
                    all.extend_from_slice(keys);
                }
                _ => return Self::Every { must, not: Box::default() },
            }
        }
        match same {
            Some(fields) => Self::Plain { fields, keys: all.into() },
            None => Self::Every { must, not: Box::default() },
        }
    }

    /// Whether a document may be found by it.
    pub(crate) fn fits(&self, terms: &Terms) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Any(parts) => parts.iter().any(|one| one.fits(terms)),
            Self::Every { must, not } => {
                // What may be more than a search finds leaves nothing out.
                let is_out = |one: &Self| !one.is_open() && one.fits(terms);
                must.iter().all(|one| one.fits(terms)) && !not.iter().any(is_out)
            }
            Self::AtLeast(count, parts) => {
                parts.iter().filter(|one| one.fits(terms)).take(*count).count() == *count
            }
            Self::Words(all) => all.iter().any(|wanted| wanted.fits(terms)),
            Self::Plain { fields, keys } => keys
                .split(|key| *key == GAP)
                .all(|word| word.is_empty() || terms.has_any(word, fields)),
        }
    }

    /// Whether it leaves a word open.
    fn is_open(&self) -> bool {
        match self {
            Self::All | Self::Nothing | Self::Plain { .. } => false,
            Self::Any(parts) | Self::AtLeast(_, parts) => parts.iter().any(Self::is_open),
            Self::Every { must, not } => must.iter().chain(not).any(Self::is_open),
            Self::Words(all) => {
                let places = all.iter().flat_map(|wanted| wanted.groups.iter().flatten());
                places.into_iter().any(|place| place.open.is_some())
            }
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let each = |parts: &[Self]| parts.iter().map(Self::bytes).sum::<usize>();
        size_of::<Self>()
            + match self {
                Self::All | Self::Nothing => 0,
                Self::Any(parts) | Self::AtLeast(_, parts) => each(parts),
                Self::Every { must, not } => each(must) + each(not),
                Self::Words(all) => all.iter().map(Wanted::bytes).sum(),
                Self::Plain { keys, .. } => size_of_val(&**keys),
            }
    }
}

impl Wanted {
    fn of(one: &InField) -> Self {
        let place = |slot: &Slot| Place {
            offset: slot.offset,
            terms: slot.terms.iter().map(|term| key_of(&term.text)).collect(),
            open: slot.open.clone().map(Box::new),
        };
        let groups = one.groups.iter().map(|group| group.iter().map(place).collect()).collect();
        let mut fields = Fields::default();
        fields.add(one.field);
        Self { fields, groups, manner: one.manner }
    }

    /// One word, which may stand anywhere.
    fn plain(&self) -> Option<Reading> {
        let [group] = &*self.groups else { return None };
        let [Place { terms, open: None, .. }] = &**group else { return None };
        let keys = [terms, [GAP].as_slice()].concat();
        self.manner.is_none().then(|| Reading::Plain { fields: self.fields, keys: keys.into() })
    }

    fn fits(&self, terms: &Terms) -> bool {
        if !self.fields.meets(&terms.fields) {
            return false;
        }
        match self.manner {
            None => {
                let place = self.groups.first().and_then(|group| group.first());
                place.is_some_and(|place| place.is_anywhere(terms, &self.fields))
            }
            Some(manner) => {
                let is_there = |place: &Place| place.is_anywhere(terms, &self.fields);
                // Most often a word isn't there at all.
                self.groups.iter().all(|group| group.iter().all(is_there))
                    && self.fields.each().any(|field| self.stands(terms, field, manner))
            }
        }
    }

    /// Whether it stands so in a field.
    fn stands(&self, terms: &Terms, field: usize, manner: Manner) -> bool {
        let mut all = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let positions: Vec<Vec<u32>> =
                group.iter().map(|place| place.positions(terms, field)).collect();
            if positions.iter().any(Vec::is_empty) {
                return false;
            }
            let places = group.iter().zip(&positions);
            let places: Vec<(u32, &[u32])> =
                places.map(|(place, positions)| (place.offset, positions.as_slice())).collect();
            all.push(occurrences(&places));
        }
        manner.count(&all) > 0
    }

    fn bytes(&self) -> usize {
        let places = self.groups.iter().flatten();
        let size = |place: &Place| {
            let open = place.open.as_deref().map_or(0, |(_, text)| text.len() + 40);
            size_of::<Place>() + size_of_val(&*place.terms) + open
        };
        64 + 16 * self.groups.len() + places.map(size).sum::<usize>()
    }
}

impl Place {
    fn is_anywhere(&self, terms: &Terms, fields: &Fields) -> bool {
        let is_there = |term: &Term| term.fields.meets(fields);
        terms.has_any(&self.terms, fields)
            || self.open.as_deref().is_some_and(|(form, text)| {
                let like = Like::of(*form, text);
                terms.all.values().any(|term| is_there(term) && like.fits(&term.text))
            })
    }

    /// Where it stands in a field, in order.
    fn positions(&self, terms: &Terms, field: usize) -> Vec<u32> {
        let mut all = Vec::new();
        let mut add = |term: &Term| {
            let here = term.places.iter().filter(|(at, _)| *at == field);
            all.extend(here.map(|(_, position)| *position));
        };
        self.terms.iter().filter_map(|key| terms.all.get(key)).for_each(&mut add);
        if let Some((form, text)) = self.open.as_deref() {
            let like = Like::of(*form, text);
            terms.all.values().filter(|term| like.fits(&term.text)).for_each(&mut add);
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Keys of which every document that fits has one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Keys {
    pub(crate) all: Vec<Key>,
    /// Each such document has one of these as well; none: that isn't known.
    pub(crate) also: Option<Vec<Key>>,
    /// Whether one is of a word's beginning.
    pub(crate) has_begins: bool,
    /// In about how many documents they are.
    cost: u64,
}

impl Keys {
    /// The rarest; none where nothing in particular is wanted. `count` says in how many
    /// documents a term is.
    pub(crate) fn of(plan: &Plan, count: &dyn Fn(&str) -> u64) -> Option<Self> {
        match plan {
            Plan::All => None,
            Plan::Nothing => Some(Self::default()),
            Plan::Any(parts) => Self::all_of(parts.iter().map(|one| Self::of(one, count))),
            Plan::Every { must, .. } => Self::rarest(must.iter().map(|one| Self::of(one, count))),
            Plan::Maybe(must, _) => Self::of(must, count),
            Plan::AtLeast(at_least, parts) => {
                // Of so many parts that no more than these can be missing.
                let mut known: Vec<_> =
                    parts.iter().filter_map(|one| Self::of(one, count)).collect();
                known.sort_by_key(|keys| keys.cost);
                let enough = parts.len() - (*at_least).min(parts.len()) + 1;
                (known.len() >= enough)
                    .then(|| Self::all_of(known.into_iter().take(enough).map(Some)))?
            }
            Plan::Words(in_fields) => Self::all_of(in_fields.iter().map(|one| {
                Self::rarest(one.groups.iter().flatten().map(|slot| Self::of_slot(slot, count)))
            })),
        }
    }

    fn of_slot(slot: &Slot, count: &dyn Fn(&str) -> u64) -> Option<Self> {
        let mut keys = Self::default();
        for Weighed { text, .. } in &slot.terms {
            keys.all.push(key_of(text));
            keys.cost = keys.cost.saturating_add(count(text));
        }
        if let Some((form, text)) = &slot.open {
            let begin = begins(text).last().filter(|_| *form == Form::Prefix)?;
            keys.all.push(key_of_begin(begin));
            keys.has_begins = true;
            // Nobody counts them.
            keys.cost = keys.cost.saturating_add(u64::from(u32::MAX));
        }
        Some(keys)
    }

    fn all_of(parts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let mut all = Self { also: Some(Vec::new()), ..Self::default() };
        for part in parts {
            let part = part?;
            all.all.extend(part.all);
            all.also = all.also.zip(part.also).map(|(all, more)| [all, more].concat());
            all.has_begins |= part.has_begins;
            all.cost = all.cost.saturating_add(part.cost);
        }
        for keys in std::iter::once(&mut all.all).chain(&mut all.also) {
            keys.sort_unstable();
            keys.dedup();
        }
        Some(all)
    }

    fn rarest(parts: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let mut parts: Vec<Self> = parts.flatten().collect();
        parts.sort_by_key(|keys| keys.cost);
        let mut parts = parts.into_iter();
        let mut rarest = parts.next()?;
        if let Some(second) = parts.next() {
            rarest.also = Some(second.all);
            rarest.has_begins |= second.has_begins;
        }
        Some(rarest)
    }
}
