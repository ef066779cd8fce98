//! What is looked for: how often each query was asked, and how often nothing fitted it, so that the
//! owner learns what people miss.
//!
//! Queries are what visitors wrote: they are in memory only, and told to the owner alone.
//! Bounds: [`QUERIES_MAX`] queries, of [`CHARACTERS_MAX`] characters each; where there are more, all
//! counts are halved and those that were asked once go.

use std::collections::HashMap;
use std::sync::Mutex;

use serde::Serialize;

use super::unpoisoned;

const QUERIES_MAX: usize = 2000;
const CHARACTERS_MAX: usize = 100;
/// So many are told of each kind.
const TOLD_MAX: usize = 50;

/// The queries that were asked lately.
#[derive(Default)]
pub(super) struct Queries {
    counts: Mutex<HashMap<String, Tally>>,
}

/// How often a query was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    asked: u64,
    /// How often nothing fitted all of it.
    missed: u64,
}

/// One query, as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct QueryCount {
    pub(crate) query: String,
    pub(crate) asked: u64,
    pub(crate) missed: u64,
}

/// The queries that are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct QueriesTold {
    /// Those that were asked most.
    pub(crate) top: Vec<QueryCount>,
    /// Those that nothing fitted most often.
    pub(crate) missed: Vec<QueryCount>,
}

impl Queries {
    /// A query was asked.
    pub(super) fn note(&self, query: &str, is_missed: bool) {
        let words: Vec<&str> = query.split_whitespace().collect();
        let query: String = words.join(" ").to_lowercase().chars().take(CHARACTERS_MAX).collect();
        if query.is_empty() {
            return;
        }
        let mut counts = unpoisoned(&self.counts);
        if counts.len() >= QUERIES_MAX && !counts.contains_key(&query) {
            counts.retain(|_, tally| {
                tally.asked /= 2;
                tally.missed /= 2;
                tally.asked > 0
            });
            if counts.len() >= QUERIES_MAX {
                return;
            }
        }
        let tally = counts.entry(query).or_default();
        tally.asked += 1;
        tally.missed += u64::from(is_missed);
    }

    /// What is told of them.
    pub(super) fn told(&self) -> QueriesTold {
        let counts = unpoisoned(&self.counts);
        let told = |(query, tally): (&String, &Tally)| QueryCount {
            query: query.clone(),
            asked: tally.asked,
            missed: tally.missed,
        };
        let mut all: Vec<QueryCount> = counts.iter().map(told).collect();
        drop(counts);
        let by = |of: fn(&QueryCount) -> u64, all: &mut Vec<QueryCount>| {
            all.sort_unstable_by(|one, other| {
                of(other).cmp(&of(one)).then_with(|| one.query.cmp(&other.query))
            });
            all.iter().filter(|one| of(one) > 0).take(TOLD_MAX).cloned().collect()
        };
        QueriesTold { top: by(|one| one.asked, &mut all), missed: by(|one| one.missed, &mut all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_most_and_what_is_missed_most_come_first() {
        let queries = Queries::default();
        for (query, is_missed) in
            [("hats", false), (" Hats ", false), ("big  hat", true), ("shoes", false), ("", true)]
        {
            queries.note(query, is_missed);
        }
        let count = |query: &str, asked, missed| QueryCount { query: query.into(), asked, missed };
        let told = queries.told();
        assert_eq!(told.top, [count("hats", 2, 0), count("big hat", 1, 1), count("shoes", 1, 0)]);
        assert_eq!(told.missed, [count("big hat", 1, 1)]);
    }

    #[test]
    fn what_was_asked_once_gives_way() {
        let queries = Queries::default();
        (0..9).for_each(|_| queries.note("often", false));
        (0..3 * QUERIES_MAX).for_each(|number| queries.note(&format!("once {number}"), false));
        assert!(unpoisoned(&queries.counts).len() <= QUERIES_MAX);
        assert_eq!(queries.told().top[0].query, "often");
        queries.note(&"é".repeat(500), true);
        assert_eq!(queries.told().missed[0].query.chars().count(), CHARACTERS_MAX);
    }
}
