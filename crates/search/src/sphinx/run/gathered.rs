//! Matches of several indexes, or of one that can't group them so, put together here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::columns::Plan;
use super::order::{Key, What, compare, sort_of};
use super::{GATHERED_MAX, Match, add_words, meta_of, nothing, of};
use crate::query::group_number;
use crate::sphinx::api::GroupFunction;
use crate::sphinx::ask::Ask;
use crate::sphinx::catalogue::Held;
use crate::sphinx::table::Meta;
use crate::{GroupBy, Hit, Search, Sort, SortKey, Value};

/// Fetches all matches, groups and orders them, and takes those that were asked for.
pub(super) fn gather(
    ask: &Ask,
    plan: &Plan,
    held: &[Arc<Held>],
    searches: Vec<Search>,
    now: i64,
) -> Result<(Vec<Match>, Meta), String> {
    let select = &ask.select;
    let max_matches = searches.first().map_or(0, |search| search.max_matches);
    let is_grouped = select.group_by.is_some() || plan.is_one_group(ask);
    let is_whole = is_grouped || ask.segments.is_some();
    let mut meta = Meta::default();
    let mut matches = Vec::new();
    for (at, (one, search)) in held.iter().zip(searches).enumerate() {
        let search = widened(search, plan, is_whole);
        let found = one.index.search(&search).map_err(|error| of(one, &error.to_string()))?;
        let own = meta_of(&found);
        meta.total_found += own.total_found;
        let cut = is_whole.then(|| left_out(&one.name, found.total_found, found.hits.len()));
        meta.warning = meta.warning.or(own.warning).or(cut.flatten());
        add_words(&mut meta, own.words.into_iter());
        let map = mapping(&held[0], one);
        matches.extend(found.hits.into_iter().map(|hit| Match {
            held: at,
            hit: Hit { attributes: mapped(hit.attributes, &map), ..hit },
            distinct: 1,
        }));
    }
    if held.len() > 1 {
        let before = matches.len();
        matches = last_ones(matches);
        meta.total_found -= (before - matches.len()) as u64;
    }
    let best = Key { what: What::Weight, is_descending: true };
    if is_grouped {
        matches = grouped(ask, plan, matches, &[&plan.within[..], &[best]].concat(), now);
        meta.total_found = matches.len() as u64;
    }
    let order = if plan.order.is_empty() { vec![best] } else { plan.order.clone() };
    matches.sort_by(|one, other| compare(&order, now, one, other));
    meta.total = matches.len().min(max_matches).min(meta.total_found as usize) as u64;
    matches.truncate(max_matches);
    let shown = matches.into_iter().skip(select.offset).take(select.limit);
    Ok((shown.collect(), meta))
}

/// All matches by id where they are ordered here, else as many of the first as can be shown.
fn widened(mut search: Search, plan: &Plan, is_whole: bool) -> Search {
    if is_whole {
        search.max_matches = GATHERED_MAX;
        // Scores are wanted only where something is ordered by them.
        search.sort = vec![Sort { key: SortKey::Relevance, is_descending: true }];
    } else {
        search.sort = plan.order.iter().filter_map(sort_of).collect();
    }
    search.limit = search.max_matches;
    search.offset = 0;
    search
}

/// What is said where not all matches were fetched: counts and groups are of those that were.
fn left_out(name: &str, found: usize, fetched: usize) -> Option<String> {
    (found > fetched).then(|| {
        format!(
            "index {name}: {found} documents match, and only the best {fetched} are counted and \
             grouped; ask for less"
        )
    })
}

/// Where each attribute of the first index is in another, with what stands in for it.
fn mapping(first: &Held, other: &Held) -> Option<Vec<(Option<usize>, Value)>> {
    let (shape, others) = (first.index.shape(), other.index.shape());
    if shape.attributes == others.attributes {
        return None;
    }
    let place = |name: &str, kind| {
        others.attribute_at(name).filter(|at| others.attributes[*at].kind == kind)
    };
    let attributes = shape.attributes.iter();
    Some(attributes.map(|own| (place(&own.name, own.kind), nothing(own.kind))).collect())
}

fn mapped(values: Vec<Value>, map: &Option<Vec<(Option<usize>, Value)>>) -> Vec<Value> {
    let Some(map) = map else { return values };
    let value = |(at, other): &(Option<usize>, Value)| {
        at.and_then(|at| values.get(at)).unwrap_or(other).clone()
    };
    map.iter().map(value).collect()
}

/// Of several with one id that of the last index.
fn last_ones(matches: Vec<Match>) -> Vec<Match> {
    let mut seen = HashSet::new();
    let mut kept: Vec<_> =
        matches.into_iter().rev().filter(|one| seen.insert(one.hit.id)).collect();
    kept.reverse();
    kept
}

/// The best of each group by `within`, with counts.
fn grouped(ask: &Ask, plan: &Plan, mut all: Vec<Match>, within: &[Key], now: i64) -> Vec<Match> {
    all.sort_by(|one, other| compare(within, now, one, other));
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(Match, HashSet<String>)> = Vec::new();
    for one in all {
        let distinct = plan.distinct.and_then(|at| one.hit.attributes.get(at)).map(written);
        for key in keys(ask, plan, &one) {
            let at = *places.entry(written(&key)).or_insert_with(|| {
                let hit = Hit { group_key: Some(key.clone()), group_count: 0, ..one.hit.clone() };
                groups.push((Match { hit, ..one }, HashSet::new()));
                groups.len() - 1
            });
            groups[at].0.hit.group_count += 1;
            groups[at].1.extend(distinct.clone());
        }
    }
    let counted =
        |(one, values): (Match, HashSet<String>)| Match { distinct: values.len() as u64, ..one };
    groups.into_iter().map(counted).collect()
}

/// The groups that a match belongs to.
fn keys(ask: &Ask, plan: &Plan, one: &Match) -> Vec<Value> {
    if plan.is_by_id {
        return vec![Value::Int(one.hit.id.cast_signed())];
    }
    let Some(place) = plan.group else { return vec![Value::Int(1)] };
    match (one.hit.attributes.get(place), ask.group_function) {
        (Some(Value::Multi(values)), _) => values.iter().copied().map(Value::Int).collect(),
        (Some(Value::Int(time)), function) if function != GroupFunction::Value => {
            let by = match function {
                GroupFunction::Day => GroupBy::Day(place),
                GroupFunction::Week => GroupBy::Week(place),
                GroupFunction::Month => GroupBy::Month(place),
                _ => GroupBy::Year(place),
            };
            vec![Value::Int(group_number(by, *time))]
        }
        (Some(value), _) => vec![value.clone()],
        (None, _) => Vec::new(),
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Multi(numbers) => format!("{numbers:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(left_out("a", 7, 7), None);
        let told = left_out("a", 100_001, 100_000).expect("a warning");
        assert!(told.starts_with("index a: 100001 documents match, and only"), "{told}");
    }
}
