//! Answers a question from the indexes.
//!
//! In: an [`Ask`]. Out: an [`Outcome`], or searchd's words for what can't be.
//! One index sorts and groups by itself; what concerns several of them, or what an index
//! doesn't know, is `gathered`: all matches are fetched and ordered here.
//! Invariants, as in Sphinx: 1. a document that several indexes have is the last one's. 2. one that
//! an index's kill-list names isn't shown by those before it.

mod columns;
mod condition;
mod gathered;
mod order;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::api::{GroupFunction, Mode};
use super::ask::Ask;
use super::catalogue::{Catalogue, Held};
use super::table::{Meta, Row, Table};
use crate::{
    AttributeKind, Filter, FilterKind, Found, Group, GroupBy, Hit, Query, Ranking, Search,
    SphinxMode, Value, read_sphinx,
};
use columns::Plan;
pub(super) use columns::reckon;
pub(super) use condition::{filters, float, text, whole};

/// searchd's own.
const MATCHES_MAX: usize = 1000;
/// What a client may ask for: phpBB wants 20,000.
const MATCHES_MOST: usize = 1_000_000;
/// What is fetched of each index where it is gathered.
const GATHERED_MAX: usize = 100_000;
const RANKERS: &[&str] = &[
    "proximity_bm25",
    "bm25",
    "none",
    "wordcount",
    "proximity",
    "matchany",
    "fieldmask",
    "sph04",
    "expr",
    "export",
];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The fields of the first index.
    pub fields: Vec<String>,
    /// The rows.
    pub table: Table,
    /// What else there is to say.
    pub meta: Meta,
}

/// One match, its attributes in the first index's order.
struct Match {
    /// Which of the indexes.
    held: usize,
    hit: Hit,
    distinct: u64,
}

/// Answers `ask`; `now` is in seconds since 1970.
///
/// # Errors
/// What is asked for isn't there, or isn't to be had.
pub fn run(ask: &Ask, catalogue: &Catalogue, now: i64) -> Result<Outcome, String> {
    let begun = Instant::now();
    let select = &ask.select;
    let held = resolve(&select.indexes, catalogue)?;
    let Some(first) = held.first().cloned() else {
        return Err("no enabled local indexes to search".to_owned());
    };
    let max_matches = select.options.max_matches.unwrap_or(MATCHES_MAX).clamp(1, MATCHES_MOST);
    if select.offset > 0 && select.offset >= max_matches {
        let offset = select.offset;
        return Err(format!("offset out of bounds (offset={offset}, max_matches={max_matches})"));
    }
    let ranker = select.options.ranker.as_deref().unwrap_or("proximity_bm25");
    if !RANKERS.contains(&ranker) {
        return Err(format!("unknown ranker '{ranker}'"));
    }
    let told = |why: String| format!("index {}: {why}", first.name);
    let plan = Plan::new(ask, &first).map_err(told)?;
    let mut searches = held
        .iter()
        .map(|held| search_of(ask, held, max_matches).map_err(|why| of(held, &why)))
        .collect::<Result<Vec<_>, _>>()?;
    hide_killed(&held, &mut searches);
    let (matches, mut meta) = if plan.is_gathered(ask, held.len()) {
        gathered::gather(ask, &plan, &held, searches, now)?
    } else {
        one(ask, &plan, &first, searches).map_err(|why| of(&first, &why))?
    };
    let rows = matches.into_iter().map(|one| row(ask, &plan, &held, one)).collect();
    meta.microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok(Outcome {
        fields: first.index.shape().fields.iter().map(|field| field.name.clone()).collect(),
        table: Table { columns: plan.titles(), rows },
        meta,
    })
}

/// What an index says is gone isn't shown by those before it.
fn hide_killed(held: &[Arc<Held>], searches: &mut [Search]) {
    for (at, search) in searches.iter_mut().enumerate() {
        let later = held.iter().skip(at + 1).filter(|later| !later.killed.is_empty());
        search.filters.extend(later.map(|later| Filter {
            attribute: None,
            kind: FilterKind::In(later.killed.to_vec()),
            is_excluded: true,
        }));
    }
}

fn of(held: &Held, why: &str) -> String {
    format!("index {}: {why}", held.name)
}

fn resolve(names: &[String], catalogue: &Catalogue) -> Result<Vec<Arc<Held>>, String> {
    let mut found: Vec<Arc<Held>> = Vec::new();
    for name in names {
        for held in catalogue.resolve(name).ok_or_else(|| catalogue.unknown(name))? {
            if found.iter().all(|other| other.name != held.name) {
                found.push(held);
            }
        }
    }
    Ok(found)
}

/// What one index is asked, without an order.
fn search_of(ask: &Ask, held: &Held, max_matches: usize) -> Result<Search, String> {
    let select = &ask.select;
    let shape = held.index.shape();
    let weight_of = |at: usize, name: &str| {
        let named = select.options.field_weights.iter().find(|(own, _)| own == name);
        named.map(|(_, weight)| *weight).or_else(|| ask.weights.get(at).copied())
    };
    #[expect(clippy::cast_precision_loss, reason = "weights are small")]
    let weights = shape
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| weight_of(at, &field.name).map_or(1.0, |weight| weight as f32));
    let ranker = select.options.ranker.as_deref();
    let has_proximity = !matches!(ranker, Some("bm25" | "none" | "wordcount" | "fieldmask"));
    let deadline = select
        .options
        .max_query_milliseconds
        .map(|most| Instant::now() + Duration::from_millis(most.into()));
    Ok(Search {
        query: query(ask, held)?,
        filters: filters(&select.filter.conditions, &select.columns, held)?,
        max_matches,
        field_weights: Some(weights.collect()),
        ranking: Ranking { has_proximity, ..Ranking::default() },
        has_words: ask.has_words,
        deadline,
        ..Search::default()
    })
}

/// The text as this index reads it.
fn query(ask: &Ask, held: &Held) -> Result<Query, String> {
    let mode = match ask.mode {
        Mode::FullScan => SphinxMode::Fullscan,
        Mode::All => SphinxMode::All,
        Mode::Any => SphinxMode::Any,
        Mode::Phrase => SphinxMode::Phrase,
        Mode::Boolean => SphinxMode::Boolean,
        Mode::Extended => SphinxMode::Extended,
    };
    let Some(text) = &ask.select.filter.matching else { return Ok(Query::All) };
    let text = held.cleaned(text);
    if text.trim().is_empty() {
        return Ok(Query::All);
    }
    read_sphinx(&text, held.index.shape(), mode).map_err(|error| error.reason)
}

/// One index sorts and groups by itself.
fn one(
    ask: &Ask,
    plan: &Plan,
    held: &Held,
    mut searches: Vec<Search>,
) -> Result<(Vec<Match>, Meta), String> {
    let mut search = searches.pop().unwrap_or_default();
    search.sort = plan.order.iter().filter_map(order::sort_of).collect();
    search.group = plan.group.map(|place| Group {
        by: match ask.group_function {
            GroupFunction::Day => GroupBy::Day(place),
            GroupFunction::Week => GroupBy::Week(place),
            GroupFunction::Month => GroupBy::Month(place),
            GroupFunction::Year => GroupBy::Year(place),
            GroupFunction::Value | GroupFunction::Pair => GroupBy::Attribute(place),
        },
        within: plan.within.iter().filter_map(order::sort_of).collect(),
    });
    search.offset = ask.select.offset;
    search.limit = ask.select.limit;
    search.has_fields = plan.has_fields;
    let found = held.index.search(&search).map_err(|error| error.to_string())?;
    let meta = meta_of(&found);
    let matches = found.hits.into_iter().map(|hit| Match { held: 0, hit, distinct: 1 }).collect();
    Ok((matches, meta))
}

fn meta_of(found: &Found) -> Meta {
    let words = found.words.iter().map(|one| (one.word.clone(), one.documents, one.hits));
    let mut meta = Meta {
        total: found.total as u64,
        total_found: found.total_found as u64,
        words: Vec::new(),
        ..Meta::default()
    };
    add_words(&mut meta, words);
    meta.warning = found.is_partial.then(|| "query time exceeded max_query_time".to_owned());
    meta
}

/// Adds words' counts; a word that is there already is counted together.
fn add_words(meta: &mut Meta, words: impl Iterator<Item = (String, u64, u64)>) {
    for (word, documents, hits) in words {
        match meta.words.iter_mut().find(|(own, ..)| *own == word) {
            Some(known) => {
                known.1 += documents;
                known.2 += hits;
            }
            None => meta.words.push((word, documents, hits)),
        }
    }
}

fn row(ask: &Ask, plan: &Plan, held: &[Arc<Held>], mut one: Match) -> Row {
    let weight = weight(ask, &held[one.held].name, one.hit.score);
    if plan.has_fields && one.hit.fields.is_empty() {
        let document = held[one.held].index.get(one.hit.id);
        one.hit.fields = document.map(|document| document.fields).unwrap_or_default();
    }
    let cells = plan.cells(&one, weight);
    Row { id: one.hit.id, weight, cells }
}

/// How well it matches, in whole numbers as searchd has them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn weight(ask: &Ask, name: &str, score: f32) -> u32 {
    let options = &ask.select.options;
    let is_weighed = ask.mode != Mode::FullScan
        && ask.select.filter.matching.as_ref().is_some_and(|text| !text.trim().is_empty())
        && options.ranker.as_deref() != Some("none");
    let weight = if is_weighed { ((score * 1000.0).round() as u32).max(1) } else { 1 };
    let factor = options.index_weights.iter().find(|(own, _)| own == name);
    weight.saturating_mul(factor.map_or(1, |(_, factor)| *factor))
}

/// What an attribute has that an index doesn't.
pub(super) fn nothing(kind: AttributeKind) -> Value {
    match kind {
        AttributeKind::Float => Value::Float(0.0),
        AttributeKind::Text => Value::Text(String::new()),
        AttributeKind::Multi => Value::Multi(Vec::new()),
        _ => Value::Int(0),
    }
}
