//! Popularity: what visitors ask for is a little better than what nobody does.
//!
//! In: how often the cache was asked for each page that is vouched for. Out: the attribute `hits` of
//! its document, which is written again when it has grown by half, and halved once a day.
//! Bounds: [`AT_ONCE`] documents are written each [`LOOK_EVERY`].

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::search::site::SHAPE_HITS;
use ::search::{Filter, FilterKind, Index, Search, Sort, SortKey, Value};
use tokio::time::sleep;

use super::finding::number_of;
use super::{SiteSearch, unix, unpoisoned};

/// How often it is looked what was asked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Documents that are written at one time.
const AT_ONCE: usize = 64;
/// Documents whose counts are halved.
const HALVED_MAX: usize = 10_000;
const DAY_SECONDS: i64 = 86_400;

/// Counts for as long as there is a search.
pub(super) async fn count(search: Weak<SiteSearch>) {
    let (mut day, mut old) = (unix() / DAY_SECONDS, Vec::new());
    loop {
        sleep(LOOK_EVERY).await;
        let Some(search) = search.upgrade() else { return };
        let Some(index) = search.own_index() else { continue };
        let today = unix() / DAY_SECONDS;
        let is_new = std::mem::replace(&mut day, today) != today;
        let before = std::mem::take(&mut old);
        let made = tokio::task::spawn_blocking(move || {
            let mut old = if is_new { asked_for(&index) } else { before };
            let rest = old.split_off(old.len().min(AT_ONCE));
            old.iter().for_each(|id| search.rewrite_hits(&index, *id, |hits| hits / 2));
            for (id, gained) in search.standings.take_visits(AT_ONCE) {
                search.rewrite_hits(&index, id, |hits| hits.saturating_add(gained));
            }
            rest
        });
        // What was not done is of no weight.
        old = made.await.unwrap_or_default();
    }
}

/// The documents that were asked for at all.
fn asked_for(index: &Index) -> Vec<u64> {
    let kind = FilterKind::Range(1, i64::MAX);
    let search = Search {
        filters: vec![Filter { attribute: Some(SHAPE_HITS), kind, is_excluded: false }],
        sort: vec![Sort { key: SortKey::Attribute(SHAPE_HITS), is_descending: true }],
        limit: HALVED_MAX,
        max_matches: HALVED_MAX,
        attributes: Some(Vec::new()),
        ..Search::default()
    };
    let found = index.search(&search).map(|found| found.hits).unwrap_or_default();
    found.into_iter().map(|hit| hit.id).collect()
}

impl SiteSearch {
    fn rewrite_hits(self: &Arc<Self>, index: &Index, id: u64, change: impl Fn(i64) -> i64) {
        // As all that is put: or what is older could be put behind what is newer. What is taken out
        // at this very moment is asked for before it is shown, and taken out again.
        let _blocks = unpoisoned(&self.blocks);
        if self.rows.has(id) {
            return;
        }
        if let Some(document) = index.get(id) {
            let hits = change(number_of(&document.attributes, SHAPE_HITS));
            index.update_attributes(id, &[(SHAPE_HITS, Value::Int(hits))]);
            self.standings.note_hits(id, hits);
        }
    }
}
