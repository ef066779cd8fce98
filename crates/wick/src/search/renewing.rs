//! Renewing: pages on which a purge, a writing or a change may show are read again, so that it is
//! found before somebody visits its page. Pages whose time is over are not: that is no news.
//!
//! Pages that somebody with a session looks at who may have changed them and those whose text
//! changed lately come first, and the site's first page behind the first of them: there it shows
//! what is new, and new pages are linked from there. Of a large site, what had the same text each
//! time has its turn ever more seldom. Whatever a visit has renewed meanwhile isn't asked for.
//! Whoever looks at what they have written wakes us: it is found before the next look.
//! Bounds: one page at a time, and for each a rest [`REST_FIRST`] or [`REST_OTHERS`] times as long as
//! it took, so that a site that is written to all the time is left alone for most of it; of that
//! rest no more than [`OWED_MAX`] is put off for what was just written.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::search::Document;
use server::Unread;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::finding::{URL, text_of};
use super::taking::{Doubt, READ_PATIENCE};
use super::{Place, SiteSearch, unpoisoned};

/// How often it is looked for what has fallen, if nobody wakes us before.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pages that are renewed before it is looked again.
const AT_ONCE: usize = 16;
/// Pages that are read before there is a rest for all of them: what was just written is on one.
const HEAD: usize = 3;
const REST_FIRST: u32 = 4;
const REST_OTHERS: u32 = 9;
const REST_MIN: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(20);
const OWED_MAX: Duration = Duration::from_secs(5);
/// What changes while it is read, as it does for a moment behind each change, is read again so often
/// before it is left to others; so many pages are counted.
const CHANGES_MAX: u32 = 4;
const CHANGING_MAX: usize = 256;

/// Renews for as long as there is a search.
pub(super) async fn renew(search: Weak<SiteSearch>) {
    let begun = Instant::now();
    let Some(woken) = search.upgrade().map(|owned| owned.woken.clone()) else { return };
    let mut pace = Pace { woken, owed: Duration::ZERO, is_woken: false };
    let mut changing: HashMap<u64, u32> = HashMap::new();
    loop {
        pace.wait().await;
        let Some(owned) = search.upgrade() else { return };
        let Some(server) = owned.server() else { continue };
        if owned.index().is_none() {
            continue;
        }
        let (mut first, others) =
            owned.standings.fallen(&server, AT_ONCE, Some(begun.elapsed().as_secs() / 60));
        if first.is_empty() && others.is_empty() {
            changing.clear();
            continue;
        }
        // What links to what is new.
        let base = unpoisoned(&owned.base).clone();
        if let Some((_, host)) = base {
            let root = Document::id_of(&owned.url_of(&host, "/"));
            first.retain(|id| *id != root);
            first.insert(first.len().min(1), root);
        }
        drop(owned);
        let first = first.into_iter().map(|id| (id, REST_FIRST));
        let all = first.chain(others.into_iter().map(|id| (id, REST_OTHERS)));
        for (at, (id, rest)) in all.enumerate() {
            let Some(search) = search.upgrade() else { return };
            let began = Instant::now();
            let again = changing.get(&id).is_none_or(|times| *times < CHANGES_MAX);
            match search.renew(id, again).await {
                true if changing.len() < CHANGING_MAX => *changing.entry(id).or_default() += 1,
                _ => drop(changing.remove(&id)),
            }
            drop(search);
            pace.owed += (began.elapsed() * rest).clamp(REST_MIN, REST_MAX);
            if at + 1 >= HEAD && !pace.rest().await {
                break;
            }
        }
    }
}

/// How quickly pages follow one another.
struct Pace {
    woken: Arc<Notify>,
    /// Rest that is still to be had.
    owed: Duration,
    /// Whether somebody was heard in the middle of a rest.
    is_woken: bool,
}

impl Pace {
    /// Until it is time to look.
    async fn wait(&mut self) {
        if !std::mem::take(&mut self.is_woken) && self.rest().await {
            // Elapsed or woken, it is time.
            let _ = timeout(LOOK_EVERY, self.woken.notified()).await;
        }
        self.is_woken = false;
    }

    /// Rests for as long as is owed; false if somebody has written meanwhile, and the rest of it is
    /// owed further on.
    async fn rest(&mut self) -> bool {
        if let Some(overdue) = self.owed.checked_sub(OWED_MAX) {
            sleep(overdue).await;
            self.owed = OWED_MAX;
        }
        let began = Instant::now();
        self.is_woken = timeout(self.owed, self.woken.notified()).await.is_ok();
        self.owed = match self.is_woken {
            true => self.owed.saturating_sub(began.elapsed()),
            false => Duration::ZERO,
        };
        !self.is_woken
    }
}

impl SiteSearch {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_written_waits_for_no_rest_that_is_short_and_the_rest_is_had_later() {
        let woken = Arc::new(Notify::new());
        let mut pace = Pace { woken: woken.clone(), owed: Duration::from_secs(2), is_woken: false };
        let began = Instant::now();
        woken.notify_one();
        assert!(!pace.rest().await);
        assert_eq!((began.elapsed(), pace.owed), (Duration::ZERO, Duration::from_secs(2)));
        pace.wait().await;
        assert_eq!(began.elapsed(), Duration::ZERO, "it is looked at once");
        pace.owed += Duration::from_secs(8);
        woken.notify_one();
        assert!(!pace.rest().await);
        assert_eq!(began.elapsed(), Duration::from_secs(5), "too much was put off");
        assert!(pace.rest().await);
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        pace.wait().await;
        assert_eq!(began.elapsed(), Duration::from_secs(10) + LOOK_EVERY);
    }
}
