//! Renewing: pages on which a purge, a writing or a change may show are read again, so that it is
//! found before somebody visits its page. Pages whose time is over are not: that is no news.
//!
//! Of what nobody writes to or looks at (that is read by `written.rs`), pages whose text changed
//! lately come first. Of a large site, what had the same text each time has its turn ever more
//! seldom. Whatever a visit has renewed meanwhile isn't asked for.
//! Bounds: one page at a time, which owes a rest [`REST_FIRST`] or [`REST_OTHERS`] times as long as
//! it took: a site that is written to all the time is left alone for most of it. Of those that come
//! first, [`OWED_MAX`] may be owed, so that after a time without changes some are read in a row.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use server::{Server, Unread};
use tokio::time::{Instant, timeout};

use super::finding::{URL, text_of};
use super::taking::{Doubt, READ_PATIENCE, opened};
use super::{Place, SiteSearch, unpoisoned};

/// How often it is looked for what has fallen.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const REST_FIRST: u32 = 4;
const REST_OTHERS: u32 = 9;
/// How much of the rest behind pages that come first may be owed.
const OWED_MAX: Duration = Duration::from_secs(1);
pub(super) const REST_MIN: Duration = Duration::from_millis(20);
pub(super) const REST_MAX: Duration = Duration::from_secs(20);
/// What changes while it is read, as it does for a moment behind each change, is read again so often
/// before it is left to others; so many pages are counted.
pub(super) const CHANGES_MAX: u32 = 4;
const CHANGING_MAX: usize = 256;

/// How often in a row pages changed while they were read.
#[derive(Default)]
pub(super) struct Changing(HashMap<u64, u32>);

impl Changing {
    /// Reads a page again.
    pub(super) async fn renew(&mut self, search: &Arc<SiteSearch>, id: u64) {
        let again = self.0.get(&id).is_none_or(|times| *times < CHANGES_MAX);
        match search.renew(id, again).await {
            true if self.0.len() < CHANGING_MAX => *self.0.entry(id).or_default() += 1,
            _ => drop(self.0.remove(&id)),
        }
    }

    pub(super) fn is_changing(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }
}

/// Renews what nobody looks at, for as long as there is a search.
pub(super) async fn renew(search: Weak<SiteSearch>) {
    let Some(settled) = search.upgrade().map(|owned| owned.settled.clone()) else { return };
    let begun = Instant::now();
    let mut rests_until = [begun; 2];
    let mut changing = Changing::default();
    let mut pause = LOOK_EVERY;
    loop {
        // Nobody waits for the next look where something was changed just now.
        let _ = timeout(pause.clamp(REST_MIN, LOOK_EVERY), settled.notified()).await;
        pause = LOOK_EVERY;
        let Some(owned) = opened(&search).await else { return };
        let Some(server) = owned.server() else { continue };
        // What somebody waits for isn't to share the origin with this. And what was changed and
        // can't be read yet is waited for here: it is no time that the origin took, so that no
        // rest is owed for it, and which page comes first is decided behind it.
        if owned.written.is_read() || owned.is_settling(&server) {
            continue;
        }
        let minute = begun.elapsed().as_secs() / 60;
        let (first, others) = owned.standings.fallen(&server, 1, Some(minute));
        if first.is_empty() && others.is_empty() {
            changing.0.clear();
        }
        let lanes = [(first, REST_FIRST, OWED_MAX), (others, REST_OTHERS, Duration::ZERO)];
        for ((page, times, owed_max), until) in lanes.into_iter().zip(&mut rests_until) {
            let Some(&id) = page.first().filter(|id| !owned.standings.is_looked_at(**id)) else {
                continue;
            };
            let began = Instant::now();
            if until.saturating_duration_since(began) > owed_max {
                continue;
            }
            changing.renew(&owned, id).await;
            if times == REST_FIRST {
                owned.commit_behind();
            }
            let rest = (began.elapsed() * times).min(REST_MAX);
            *until = (*until).max(began) + rest;
            pause = pause.min(rest.saturating_sub(owed_max));
        }
    }
}

impl SiteSearch {
    fn is_settling(&self, server: &Server) -> bool {
        let host = unpoisoned(&self.base).as_ref().map(|(_, host)| host.clone());
        host.is_some_and(|host| server.is_settling(&host))
    }

    /// Reads a page that was vouched for again, unless a visit has renewed it meanwhile. True if it
    /// was changed while it was read and whoever asks reads it `again`.
    pub(super) async fn renew(self: &Arc<Self>, id: u64, again: bool) -> bool {
        let (Some(index), Some(server)) = (self.index(), self.server()) else { return false };
        let Some(host) = self.standings.fallen_host(&server, id) else { return false };
        let Some((scheme, _)) = unpoisoned(&self.base).clone() else { return false };
        // Where nobody can tell, it waits.
        let Ok(Ok(found)) = tokio::task::spawn_blocking(move || index.get(id)).await else {
            return false;
        };
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
