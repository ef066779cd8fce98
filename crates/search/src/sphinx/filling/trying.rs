//! Sources tried out: whether each database answers, and how much there is.
//!
//! Invariant: nothing is changed. Of the queries that go before, only those are run that set
//! something for the connection; the others may count.

use super::layout::Layout;
use crate::database::{Database, Go, Stop, Told, Trouble, bounds, ranged};
use crate::sphinx::conf::{Conf, Source};

/// Rows that are counted.
const ROWS_MAX: u64 = 10_000;

/// A source that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Its name.
    pub source: String,
    /// What came of it; else why nothing did.
    pub told: Result<Found, String>,
}

/// What a source has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The least and the largest id, where there is a range.
    pub range: Option<(u64, u64)>,
    /// In how many steps it is read.
    pub steps: u64,
    /// Rows of the first of them.
    pub rows: u64,
    /// There are so many or more.
    pub is_at_least: bool,
    /// Of those, rows without an id.
    pub skipped: u64,
    /// Columns that words are looked for in.
    pub fields: Vec<String>,
    /// Columns that are filtered and sorted by.
    pub attributes: Vec<String>,
    /// Attributes that the settings name and the query doesn't have.
    pub missing: Vec<String>,
}

/// Tries all sources that indexes are made of. Waits.
#[must_use]
pub fn try_out(conf: &Conf) -> Vec<Tried> {
    let used =
        |source: &&Source| conf.indexes.iter().any(|index| index.sources.contains(&source.name));
    let tried = conf.sources.iter().filter(used).map(|source| Tried {
        source: source.name.clone(),
        told: try_one(source).map_err(|trouble| trouble.to_string()),
    });
    tried.collect()
}

fn try_one(source: &Source) -> Result<Found, Trouble> {
    let mut database = Database::connect(&super::place::place_of(source), &Stop::default())?;
    for query in source.queries_before.iter().filter(|query| only_sets(query)) {
        database.run(query)?;
    }
    let mut found = Found { steps: 1, ..Found::default() };
    let (mut start, mut end) = (0, 0);
    if let Some(query) = &source.range {
        let (least, most) = bounds(&mut database, query)?;
        found.range = Some((least, most));
        found.steps = ((most - least) / source.range_step).saturating_add(1);
        (start, end) = (least, least.saturating_add(source.range_step - 1).min(most));
    }
    database.each(&ranged(&source.query, start, end), &mut |told| {
        match told {
            Told::Columns(columns) => {
                let layout = Layout::of(source, &columns);
                let named = source.attributes.iter().map(|(name, _)| name.to_lowercase());
                found.missing = named.filter(|name| layout.attribute_at(name).is_none()).collect();
                found.attributes = layout.attributes.into_iter().map(|(name, _)| name).collect();
                found.fields = layout.fields;
            }
            Told::Row(row) => {
                found.rows += 1;
                let id = row.first().and_then(|id| super::layout::id_of(id.as_deref()?));
                found.skipped += u64::from(id.is_none());
            }
        }
        found.is_at_least = found.rows >= ROWS_MAX;
        Ok(if found.is_at_least { Go::NoFurther } else { Go::On })
    })?;
    Ok(found)
}

/// Whether a query changes nothing but how the connection is spoken on.
fn only_sets(query: &str) -> bool {
    let lower = query.to_lowercase();
    let mut words = lower.split_whitespace();
    words.next() == Some("set")
        && words.next().is_some_and(|word| {
            !["global", "persist", "@@global", "@@persist"]
                .iter()
                .any(|wide| word.starts_with(wide))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_concerns_the_connection_is_run_beforehand() {
        for (query, expected) in [
            ("SET NAMES 'utf8'", true),
            ("set session query_cache_type=OFF", true),
            ("SET GLOBAL max_connections = 1", false),
            ("SET @@global.x = 1", false),
            ("REPLACE INTO counter SELECT 1, MAX(id) FROM posts", false),
            ("UPDATE sphinx SET max_doc_id = 1", false),
            ("", false),
        ] {
            assert_eq!(only_sets(query), expected, "{query}");
        }
    }
}
