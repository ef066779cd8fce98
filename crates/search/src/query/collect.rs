//! What fits is gone through once: filtered, counted, grouped, and the best of it kept.
//!
//! Where the best are wanted and enough are known, the others are only counted: neither their ids
//! nor, above all, the places of their words are read.
//! Invariants: 1. at most twice as many candidates as are shown, [`GROUPS_MAX`] groups and
//! [`FACETS_MAX`] values are held for each part of the index. 2. The order doesn't depend
//! on which part a document lies in.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::time::Instant;

use tantivy::query::{EnableScoring, Query as Looking, Weight};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED};
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{Test, Values, fraction_key, group_number, whole_key};
use super::spans::{Spans, SpansScorer, SpansWeight};
use super::statistics::Statistics;
use crate::{Group, GroupBy, Ranking, Search, Shape, Sort, SortKey, Value};

/// So many keys an order may have.
pub(super) const KEYS_MAX: usize = 5;
const GROUPS_MAX: usize = 200_000;
const FACETS_MAX: usize = 50_000;
/// How often the clock is read.
const DOCUMENTS_BETWEEN_LOOKS: u32 = 4096;
/// What is asked for more often than this is no better for it.
const POPULAR_MAX: i64 = 9_999;
/// The best first, where no order is told.
const BY_RELEVANCE: &[Sort] = &[Sort { key: SortKey::Relevance, is_descending: true }];

/// A document that may be shown. The smaller its keys, the earlier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    keys: [u64; KEYS_MAX],
    pub(super) segment: u32,
    pub(super) doc: DocId,
    pub(super) id: u64,
    pub(super) score: f32,
    pub(super) group_count: u64,
    group_key: u64,
}

impl Candidate {
    /// What its group has in common, where that is a number.
    pub(super) fn group_number(&self) -> i64 {
        (self.group_key ^ (1 << 63)).cast_signed()
    }
}

/// All that was found.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) best: Vec<Candidate>,
    pub(super) total_found: usize,
    pub(super) facets: Vec<Vec<(Value, u64)>>,
    pub(super) is_partial: bool,
}

/// Goes through all that fits.
pub(super) fn collect(
    searcher: &Searcher,
    shape: &Shape,
    search: &Search,
    query: &dyn Looking,
    near: &[(Spans, f32)],
) -> tantivy::Result<Collected> {
    let order = order_of(&search.sort);
    let within = search.group.as_ref().map_or(order, |group| order_of(&group.within));
    let needs_score = order.iter().chain(within).any(|sort| sort.key == SortKey::Relevance);
    let statistics = Statistics::of(searcher);
    let scoring = if needs_score {
        EnableScoring::enabled_from_statistics_provider(&statistics, searcher)
    } else {
        EnableScoring::disabled_from_searcher(searcher)
    };
    let weight = query.weight(scoring)?;
    let near = if needs_score { near } else { &[] };
    let near = (near.iter())
        .map(|(spans, boost)| Ok((spans.weigh(scoring)?, *boost)))
        .collect::<tantivy::Result<Vec<_>>>()?;
    let mut parts: Vec<Part> = Vec::new();
    for (ord, segment) in (0..).zip(searcher.segment_readers()) {
        let mut part = Part::open(ord, segment, shape, search)?;
        part.least = parts.last().map_or(f32::NEG_INFINITY, |before| before.least);
        let mut bonus = Bonus::open(segment, &near)?;
        part.go_through(segment, weight.as_ref(), &mut bonus, search)?;
        parts.push(part);
    }
    Ok(merge(parts, search))
}

/// What is added to the score of a document whose words stand together.
struct Bonus {
    scorers: Vec<SpansScorer>,
    most: f32,
}

impl Bonus {
    fn open(segment: &SegmentReader, near: &[(SpansWeight, f32)]) -> tantivy::Result<Self> {
        let mut bonus = Self { scorers: Vec::new(), most: 0.0 };
        for (weight, boost) in near {
            if let Some(scorer) = weight.open(segment, *boost)? {
                bonus.scorers.push(scorer);
                bonus.most += (weight.score_max() * boost).max(0.0);
            }
        }
        Ok(bonus)
    }

    fn of(&mut self, doc: DocId) -> f32 {
        self.scorers.iter_mut().map(|scorer| scorer.score_at(doc)).sum()
    }
}

/// How many of the best are wanted, of each part.
fn kept(search: &Search) -> usize {
    search.offset.saturating_add(search.limit).min(search.max_matches)
}

/// Whether the best are those of the highest score, so that it tells who isn't among them.
fn is_by_score(search: &Search) -> bool {
    let first = order_of(&search.sort).first();
    search.group.is_none()
        && first.is_some_and(|sort| sort.key == SortKey::Relevance && sort.is_descending)
}

fn order_of(sort: &[Sort]) -> &[Sort] {
    if sort.is_empty() { BY_RELEVANCE } else { sort }
}

/// One part of the index, while it is gone through.
struct Part {
    ord: u32,
    ids: Values,
    tests: Vec<Test>,
    order: Keys,
    within: Option<Keys>,
    grouping: Option<(GroupBy, Values)>,
    groups: HashMap<u64, Candidate>,
    best: Vec<Candidate>,
    /// What scores less is not among the best, where scores decide.
    least: f32,
    found: usize,
    facets: Vec<(Values, HashMap<i64, u64>)>,
    boosts: Boosts,
    /// The hashes of group texts, by their keys.
    hashes: HashMap<i64, u64>,
    is_partial: bool,
}

impl Part {
    fn open(
        ord: u32,
        segment: &SegmentReader,
        shape: &Shape,
        search: &Search,
    ) -> tantivy::Result<Self> {
        let of = |place: usize| Values::of(segment, shape, Some(place));
        let tests = (search.filters.iter())
            .map(|filter| Test::of(segment, shape, filter))
            .collect::<tantivy::Result<_>>()?;
        let grouping = match &search.group {
            Some(group) => Some((group.by, of(place_of(group.by))?)),
            None => None,
        };
        let within = match &search.group {
            Some(Group { within, .. }) => Some(Keys::of(segment, shape, order_of(within))?),
            None => None,
        };
        let facets = (search.facets.iter())
            .map(|facet| Ok((of(facet.attribute)?, HashMap::new())))
            .collect::<tantivy::Result<_>>()?;
        Ok(Self {
            ord,
            ids: Values::of(segment, shape, None)?,
            tests,
            order: Keys::of(segment, shape, order_of(&search.sort))?,
            within,
            grouping,
            groups: HashMap::new(),
            best: Vec::new(),
            least: f32::NEG_INFINITY,
            found: 0,
            facets,
            boosts: Boosts::of(segment, shape, &search.ranking)?,
            hashes: HashMap::new(),
            is_partial: false,
        })
    }

    fn go_through(
        &mut self,
        segment: &SegmentReader,
        weight: &dyn Weight,
        bonus: &mut Bonus,
        search: &Search,
    ) -> tantivy::Result<()> {
        let mut scorer = weight.scorer(segment, 1.0)?;
        let alive = segment.alive_bitset();
        let (kept, is_by_score) = (kept(search), is_by_score(search));
        let room = kept.saturating_mul(2).max(64);
        let mut seen = 0_u32;
        let mut doc = scorer.doc();
        while doc != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(doc))
                && self.tests.iter().all(|test| test.passes(doc))
            {
                let score = self.score(doc, scorer.score(), bonus);
                self.take(doc, score);
                if self.best.len() >= room {
                    self.cut(kept, is_by_score);
                }
            }
            seen += 1;
            if seen.is_multiple_of(DOCUMENTS_BETWEEN_LOOKS)
                && search.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            {
                self.is_partial = true;
                break;
            }
            doc = scorer.advance();
        }
        self.cut(kept, is_by_score);
        Ok(())
    }

    fn score(&self, doc: DocId, plain: f32, bonus: &mut Bonus) -> f32 {
        if bonus.scorers.is_empty() {
            return self.boosts.apply(doc, plain);
        }
        let most = self.boosts.apply(doc, plain + bonus.most);
        if most < self.least { most } else { self.boosts.apply(doc, plain + bonus.of(doc)) }
    }

    fn take(&mut self, doc: DocId, score: f32) {
        for (values, counts) in &mut self.facets {
            values.each_raw(doc, &mut |raw| {
                if counts.len() < FACETS_MAX || counts.contains_key(&raw) {
                    *counts.entry(raw).or_default() += 1;
                }
            });
        }
        if score < self.least {
            self.found += 1;
            return;
        }
        let keys = self.within.as_ref().unwrap_or(&self.order).keys(doc, score);
        let candidate = Candidate {
            keys,
            segment: self.ord,
            doc,
            id: self.ids.key(doc),
            score,
            group_count: 1,
            group_key: 0,
        };
        let Some((by, values)) = &self.grouping else {
            self.found += 1;
            self.best.push(candidate);
            return;
        };
        let (groups, hashes) = (&mut self.groups, &mut self.hashes);
        let mut is_full = false;
        values.each_raw(doc, &mut |raw| {
            let key = match values {
                // Keys of texts differ from part to part, their hashes don't.
                Values::Text(_) | Values::None(crate::AttributeKind::Text) => {
                    let text = || xxh3_64(values.text_of_key(raw.cast_unsigned()).as_bytes());
                    *hashes.entry(raw).or_insert_with(text)
                }
                _ => whole_key(group_number(*by, raw)),
            };
            if groups.len() >= GROUPS_MAX && !groups.contains_key(&key) {
                is_full = true;
                return;
            }
            let mut candidate: Candidate = candidate;
            candidate.group_key = key;
            groups
                .entry(key)
                .and_modify(|best| {
                    let count = best.group_count + 1;
                    if earlier(&candidate, best).is_lt() {
                        *best = candidate;
                    }
                    best.group_count = count;
                })
                .or_insert(candidate);
        });
        self.is_partial |= is_full;
    }

    fn cut(&mut self, length: usize, is_by_score: bool) {
        if self.best.len() <= length {
            return;
        }
        let Some(last) = length.checked_sub(1) else { return self.best.clear() };
        let (_, worst, _) = self.best.select_nth_unstable_by(last, earlier);
        if is_by_score {
            self.least = self.least.max(worst.score);
        }
        self.best.truncate(length);
    }
}

fn place_of(by: GroupBy) -> usize {
    match by {
        GroupBy::Attribute(at)
        | GroupBy::Day(at)
        | GroupBy::Week(at)
        | GroupBy::Month(at)
        | GroupBy::Year(at) => at,
    }
}

fn earlier(one: &Candidate, other: &Candidate) -> Ordering {
    one.keys.cmp(&other.keys).then(one.id.cmp(&other.id))
}

/// An order, ready for one part of the index.
struct Keys(Vec<(Sort, Option<Values>)>);

impl Keys {
    fn of(segment: &SegmentReader, shape: &Shape, order: &[Sort]) -> tantivy::Result<Self> {
        let with_values = |sort: &Sort| {
            let values = match sort.key {
                SortKey::Id => Some(Values::of(segment, shape, None)?),
                SortKey::Attribute(at) => Some(Values::of(segment, shape, Some(at))?),
                _ => None,
            };
            Ok((*sort, values))
        };
        Ok(Self(order.iter().take(KEYS_MAX).map(with_values).collect::<tantivy::Result<_>>()?))
    }

    fn keys(&self, doc: DocId, score: f32) -> [u64; KEYS_MAX] {
        let mut keys = [0; KEYS_MAX];
        for (key, (sort, values)) in keys.iter_mut().zip(&self.0) {
            let plain = match values {
                Some(values) => values.key(doc),
                None if sort.key == SortKey::Relevance => fraction_key(f64::from(score)),
                // What depends on the whole group comes when that is known.
                None => 0,
            };
            *key = turned(plain, sort);
        }
        keys
    }

    fn is_text(&self, at: usize) -> bool {
        use crate::AttributeKind::Text;
        matches!(self.0.get(at), Some((_, Some(Values::Text(_) | Values::None(Text)))))
    }
}

fn turned(key: u64, sort: &Sort) -> u64 {
    if sort.is_descending { !key } else { key }
}

/// What is told of freshness and popularity, for one part of the index.
struct Boosts {
    freshness: Option<(crate::Freshness, Values)>,
    popularity: Option<(crate::Popularity, Values)>,
}

impl Boosts {
    fn of(segment: &SegmentReader, shape: &Shape, ranking: &Ranking) -> tantivy::Result<Self> {
        let of = |place: usize| Values::of(segment, shape, Some(place));
        Ok(Self {
            freshness: match ranking.freshness {
                Some(fresh) => Some((fresh, of(fresh.attribute)?)),
                None => None,
            },
            popularity: match ranking.popularity {
                Some(popular) => Some((popular, of(popular.attribute)?)),
                None => None,
            },
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "a factor needs no more digits")]
    fn apply(&self, doc: DocId, score: f32) -> f32 {
        let mut factor = 1.0;
        if let Some((fresh, Values::Whole(column, _))) = &self.freshness {
            let age = (fresh.now - column.first(doc).unwrap_or(0)).max(0) as f32;
            let half_lives = age / fresh.half_life_seconds.max(1) as f32;
            factor *= 1.0 + fresh.weight * (-half_lives).exp2();
        }
        if let Some((popular, Values::Whole(column, _))) = &self.popularity {
            let count = column.first(doc).unwrap_or(0).clamp(0, POPULAR_MAX) as f32;
            factor *= 1.0 + popular.weight * (1.0 + count).log10();
        }
        score * factor
    }
}

fn merge(mut parts: Vec<Part>, search: &Search) -> Collected {
    let mut collected = Collected {
        is_partial: parts.iter().any(|part| part.is_partial),
        facets: facets(&parts, search),
        ..Collected::default()
    };
    let mut best: Vec<Candidate> = if search.group.is_some() {
        let groups = merge_groups(&mut parts);
        collected.total_found = groups.len();
        groups.into_iter().map(|one| in_final_order(&parts, one, search)).collect()
    } else {
        collected.total_found = parts.iter().map(|part| part.found).sum();
        parts.iter_mut().flat_map(|part| std::mem::take(&mut part.best)).collect()
    };
    rank_texts(&parts, &mut best, |part| &part.order);
    best.sort_unstable_by(earlier);
    best.truncate(search.max_matches);
    collected.best = best;
    collected
}

/// The best of each group, over all parts.
fn merge_groups(parts: &mut [Part]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> =
        parts.iter_mut().flat_map(|part| std::mem::take(&mut part.groups).into_values()).collect();
    rank_texts(parts, &mut all, |part| part.within.as_ref().unwrap_or(&part.order));
    let mut groups: HashMap<u64, Candidate> = HashMap::with_capacity(all.len());
    for candidate in all {
        groups
            .entry(candidate.group_key)
            .and_modify(|best| {
                let count = best.group_count + candidate.group_count;
                if earlier(&candidate, best).is_lt() {
                    *best = candidate;
                }
                best.group_count = count;
            })
            .or_insert(candidate);
    }
    groups.into_values().collect()
}

fn in_final_order(parts: &[Part], mut one: Candidate, search: &Search) -> Candidate {
    let Some(part) = parts.get(one.segment as usize) else { return one };
    one.keys = part.order.keys(one.doc, one.score);
    for (key, sort) in one.keys.iter_mut().zip(order_of(&search.sort)) {
        match sort.key {
            SortKey::GroupCount => *key = turned(one.group_count, sort),
            SortKey::GroupKey => *key = turned(one.group_key, sort),
            _ => {}
        }
    }
    one
}

/// Gives texts of several parts keys that can be compared: their ranks among all.
fn rank_texts(parts: &[Part], all: &mut [Candidate], keys: fn(&Part) -> &Keys) {
    if parts.len() < 2 {
        return;
    }
    for at in 0..KEYS_MAX {
        if !parts.iter().any(|part| keys(part).is_text(at)) {
            continue;
        }
        let mut texts: HashMap<(u32, u64), String> = HashMap::new();
        for one in all.iter() {
            if let Some((sort, Some(values))) =
                parts.get(one.segment as usize).and_then(|part| keys(part).0.get(at))
            {
                texts
                    .entry((one.segment, one.keys[at]))
                    .or_insert_with(|| values.text_of_key(turned(one.keys[at], sort)));
            }
        }
        let mut ranked: Vec<&String> = texts.values().collect();
        ranked.sort_unstable();
        ranked.dedup();
        for one in all.iter_mut() {
            let Some(text) = texts.get(&(one.segment, one.keys[at])) else { continue };
            let rank = ranked.binary_search(&text).unwrap_or(0) as u64;
            let sort = &keys(&parts[one.segment as usize]).0[at].0;
            one.keys[at] = turned(rank, sort);
        }
    }
}

fn facets(parts: &[Part], search: &Search) -> Vec<Vec<(Value, u64)>> {
    (search.facets.iter().enumerate())
        .map(|(at, wish)| {
            let mut counts: HashMap<Vec<u8>, (Value, u64)> = HashMap::new();
            for (values, found) in parts.iter().filter_map(|part| part.facets.get(at)) {
                for (raw, count) in found {
                    let value = values.value_of_raw(*raw);
                    let name = match &value {
                        Value::Text(text) => text.clone().into_bytes(),
                        _ => raw.to_le_bytes().to_vec(),
                    };
                    counts.entry(name).or_insert((value, 0)).1 += count;
                }
            }
            let mut all: Vec<(Vec<u8>, (Value, u64))> = counts.into_iter().collect();
            all.sort_unstable_by(|(name, one), (other_name, other)| {
                other.1.cmp(&one.1).then_with(|| name.cmp(other_name))
            });
            all.into_iter().take(wish.limit).map(|(_, pair)| pair).collect()
        })
        .collect()
}
