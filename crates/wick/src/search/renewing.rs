//! Renewing: pages on which a purge, a writing or a change may show are read again, so that it is
//! found before somebody visits its page. Pages whose time is over are not: that is no news.
//!
//! The first page, pages whose text changed lately, and those that somebody with a session looks
//! at come first: there it shows what is new, and new pages are linked from there. Of a large
//! site, what had the same text each time has its turn ever more seldom. Whatever a visit has renewed meanwhile isn't asked for.
//! Bounds: one page at a time, each followed by a rest [`REST_FIRST`] or [`REST_OTHERS`] times
//! as long as it took, so that a site that is written to all the time is left alone for most of
//! it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::search::Document;
use server::Unread;
use tokio::time::{Instant, sleep};

use super::finding::{URL, text_of};
use super::taking::{Doubt, READ_PATIENCE};
use super::{Place, SiteSearch, unpoisoned};

/// How often it is looked for what has fallen.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pages that are renewed before it is looked again.
const AT_ONCE: usize = 16;
const REST_FIRST: u32 = 4;
const REST_OTHERS: u32 = 9;
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(20);

/// Renews for as long as there is a search.
pub(super) async fn renew(search: Weak<SiteSearch>) {
    let begun = Instant::now();
    loop {
        sleep(LOOK_EVERY).await;
        let Some(owned) = search.upgrade() else { return };
        let Some(server) = owned.server() else { continue };
        if owned.index().is_none() {
            continue;
        }
        let (mut first, others) =
            owned.standings.fallen(&server, AT_ONCE, Some(begun.elapsed().as_secs() / 60));
        if first.is_empty() && others.is_empty() {
            continue;
        }
        // What links to what is new.
        let base = unpoisoned(&owned.base).clone();
        if let Some((_, host)) = base {
            first.insert(0, Document::id_of(&owned.url_of(&host, "/")));
        }
        drop(owned);
        let first = first.into_iter().map(|id| (id, REST_FIRST));
        for (id, rest) in first.chain(others.into_iter().map(|id| (id, REST_OTHERS))) {
            let Some(search) = search.upgrade() else { return };
            let began = Instant::now();
            search.renew(id).await;
            drop(search);
            sleep((began.elapsed() * rest).clamp(REST_MIN, REST_MAX)).await;
        }
    }
}

impl SiteSearch {
    /// Reads a page that was vouched for again, unless a visit has renewed it meanwhile.
    pub(super) async fn renew(self: &Arc<Self>, id: u64) {
        let (Some(index), Some(server)) = (self.index(), self.server()) else { return };
        let Some(host) = self.standings.fallen_host(&server, id) else { return };
        let Some((scheme, _)) = unpoisoned(&self.base).clone() else { return };
        let found = tokio::task::spawn_blocking(move || index.get(id)).await.ok().flatten();
        let Some(document) = found else { return self.standings.remove(id) };
        let target = self.target_of(text_of(&document.attributes, URL)).to_owned();
        let place = Place { scheme, host, target };
        self.counters.pages_renewed.bump();
        match self.read(&place, READ_PATIENCE).await {
            Ok(_) => {}
            // It is asked for before it is shown.
            Err(Unread::Status(..)) => {}
            // Where it can't be read, nothing is known of it that is new.
            Err(_) => {
                self.standings.leave(id);
                self.put(&self.doubts, Doubt { place, tries: 1 });
            }
        }
    }
}
