//! Renewing: pages on which a purge, a writing or a change may show are read again, so that it is
//! found before somebody visits its page. Pages whose time is over are not: that is no news.
//!
//! What somebody with a session looks at who may have written to it is read at once, and behind it
//! the site's first page: there it shows what is new, and new pages are linked from there. Of what
//! nobody looks at, pages whose text changed lately come first. Of a large site, what had the same
//! text each time has its turn ever more seldom. Whatever a visit has renewed meanwhile isn't asked
//! for.
//! Bounds: one page at a time of what is looked at, each followed by a rest as long as it took, and
//! one of what isn't, followed by a rest [`REST_FIRST`] or [`REST_OTHERS`] times as long: a site
//! that is written to all the time is left alone for most of it, and nobody who has written waits
//! for that.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::search::Document;
use server::Unread;
use tokio::time::{Instant, sleep};

use super::finding::{URL, text_of};
use super::taking::{Doubt, READ_PATIENCE, opened};
use super::{Place, SiteSearch, unpoisoned};

/// How often it is looked for what has fallen.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const REST_FIRST: u32 = 4;
const REST_OTHERS: u32 = 9;
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(20);
/// What changes while it is read, as it does for a moment behind each change, is read again so often
/// before it is left to others; so many pages are counted.
const CHANGES_MAX: u32 = 4;
const CHANGING_MAX: usize = 256;

/// How often in a row pages changed while they were read.
#[derive(Default)]
struct Changing(HashMap<u64, u32>);

impl Changing {
    /// Reads a page again.
    async fn renew(&mut self, search: &Arc<SiteSearch>, id: u64) {
        let again = self.0.get(&id).is_none_or(|times| *times < CHANGES_MAX);
        match search.renew(id, again).await {
            true if self.0.len() < CHANGING_MAX => *self.0.entry(id).or_default() += 1,
            _ => drop(self.0.remove(&id)),
        }
    }

    fn is_changing(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }
}

/// Reads again what somebody looks at, for as long as there is a search.
pub(super) async fn renew_looked_at(search: Weak<SiteSearch>) {
    let Some(looked) = search.upgrade().map(|owned| owned.looked.clone()) else { return };
    let mut changing = Changing::default();
    loop {
        looked.notified().await;
        loop {
            let Some(owned) = opened(&search).await else { return };
            let Some(id) = owned.standings.looked_at() else { break };
            let began = Instant::now();
            changing.renew(&owned, id).await;
            if changing.is_changing(id) {
                sleep(REST_MIN).await;
                continue;
            }
            owned.standings.note_renewed(id);
            if let Some(root) = owned.root().filter(|root| *root != id) {
                owned.renew(root, false).await;
            }
            drop(owned);
            sleep(began.elapsed().clamp(REST_MIN, REST_MAX)).await;
        }
    }
}

/// Renews what nobody looks at, for as long as there is a search.
pub(super) async fn renew(search: Weak<SiteSearch>) {
    let begun = Instant::now();
    let mut rests_until = [begun; 2];
    let mut changing = Changing::default();
    let mut pause = LOOK_EVERY;
    loop {
        sleep(pause.clamp(REST_MIN, LOOK_EVERY)).await;
        pause = LOOK_EVERY;
        let Some(owned) = opened(&search).await else { return };
        let Some(server) = owned.server() else { continue };
        let minute = begun.elapsed().as_secs() / 60;
        let (first, others) = owned.standings.fallen(&server, 1, Some(minute));
        if first.is_empty() && others.is_empty() {
            changing.0.clear();
        }
        let lanes = [(first, REST_FIRST), (others, REST_OTHERS)];
        for ((page, times), until) in lanes.into_iter().zip(&mut rests_until) {
            let Some(&id) = page.first().filter(|id| !owned.standings.is_looked_at(**id)) else {
                continue;
            };
            let began = Instant::now();
            if began < *until {
                continue;
            }
            changing.renew(&owned, id).await;
            let rest = (began.elapsed() * times).min(REST_MAX);
            *until = Instant::now() + rest;
            pause = pause.min(rest);
        }
    }
}

impl SiteSearch {
    /// The site's first page, by the host that visitors came by.
    fn root(&self) -> Option<u64> {
        let (_, host) = unpoisoned(&self.base).clone()?;
        Some(Document::id_of(&self.url_of(&host, "/")))
    }

    /// Reads a page that was vouched for again, unless a visit has renewed it meanwhile. True if it
    /// was changed while it was read and whoever asks reads it `again`.
    pub(super) async fn renew(self: &Arc<Self>, id: u64, again: bool) -> bool {
        let (Some(index), Some(server)) = (self.index(), self.server()) else { return false };
        let Some(host) = self.standings.fallen_host(&server, id) else { return false };
        let Some((scheme, _)) = unpoisoned(&self.base).clone() else { return false };
        let found = tokio::task::spawn_blocking(move || index.get(id)).await.ok().flatten();
        let Some(document) = found else {
            self.standings.remove(id);
            return false;
        };
        let target = self.target_of(text_of(&document.attributes, URL)).to_owned();
        let place = Place { scheme, host, target };
        self.counters.pages_renewed.bump();
        match self.read(&place, READ_PATIENCE).await {
            // What is gone is asked for before it is shown.
            Ok(_) | Err(Unread::Status(..)) => {}
            Err(Unread::Changing(_)) if again => return true,
            // Where it can't be read, nothing is known of it that is new.
            Err(_) => {
                self.standings.leave(id);
                self.put(&self.doubts, Doubt { place, tries: 1 });
            }
        }
        false
    }
}
