//! Refilling: an index that was found to be damaged while it served begins anew, and everything
//! that it had is read again.
//!
//! Pages that are vouched for are asked for one after the other, which costs the origin nothing of
//! those that are stored; sources give all their rows again (`rows.rs`), and the crawl goes over the
//! site once more (`crawl.rs`).
//! Bound: one page at a time, with a rest as long as it took.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::moving::Making;
use super::taking::{READ_PATIENCE, opened};
use super::{Place, SiteSearch};

/// How often it is looked whether the index was begun anew.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const REST_MIN: Duration = Duration::from_millis(1);
const REST_MAX: Duration = Duration::from_secs(5);

/// Refills for as long as there is a search.
pub(super) async fn refill(search: Weak<SiteSearch>) {
    loop {
        let Some(owned) = opened(&search).await else { return };
        let is_anew = owned.index().is_some_and(|index| index.takes_wish_for_sources());
        let known = if is_anew { owned.begin_refill() } else { Vec::new() };
        drop(owned);
        for id in known {
            let Some(search) = search.upgrade() else { return };
            let Some(place) = search.standings.place(id) else { continue };
            let began = Instant::now();
            // What can't be had now is asked for before it is shown, or crawled.
            let _ = search.read(&place, READ_PATIENCE).await;
            drop(search);
            sleep(began.elapsed().clamp(REST_MIN, REST_MAX)).await;
        }
        sleep(LOOK_EVERY).await;
    }
}

impl SiteSearch {
    /// Has sources and the crawl begin again; the ids of the pages that are vouched for.
    fn begin_refill(self: &Arc<Self>) -> Vec<u64> {
        self.counters.refills.bump();
        self.made_anew.set(Making::Filling(std::time::Instant::now()));
        self.rows.forget();
        self.anew.send_modify(|times| *times += 1);
        self.standings.ids()
    }
}

/// What a vouch says of where its page is.
pub(super) fn place_of((scheme, host, target): (&str, &str, &str)) -> Place {
    let scheme = if scheme == "https" { "https" } else { "http" };
    Place { scheme, host: host.to_owned(), target: target.to_owned() }
}
