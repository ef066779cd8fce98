//! What was written to just now, through Wick: it is read before everything else, and committed at
//! once, since who wrote it looks for it.
//!
//! An address that a writing itself names (its own, or where its answer leads) is known as soon as
//! that answer is; of other writings it is what somebody with a session looks at afterwards who may
//! have written to it. Behind them the site's first page is read: there it shows what is new, and
//! new pages are linked from there.
//! Bounds: one page at a time, each followed by a rest as long as it took, which waits for none of
//! the rests that others owe; [`WRITTEN_MAX`] wait, and of more the oldest are left to those who
//! look into doubts.
//! Start at [`renew_looked_at`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ::search::Document;
use server::Unread;
use tokio::time::{Instant, sleep};

use super::renewing::{CHANGES_MAX, Changing, REST_MAX, REST_MIN};
use super::taking::{Doubt, READ_PATIENCE, opened};
use super::{Place, SiteSearch, keep_latest, unpoisoned};

const WRITTEN_MAX: usize = 16;

/// The pages that were written to and not read since; the latest at the end.
#[derive(Default)]
pub(super) struct Written {
    places: Mutex<VecDeque<Place>>,
    /// Whether one of them is being read, or what somebody looks at.
    is_read: AtomicBool,
}

impl Written {
    /// Puts it at the end; gives back what there is no room for.
    pub(super) fn put(&self, place: Place) -> Option<Place> {
        keep_latest(&mut unpoisoned(&self.places), place, WRITTEN_MAX)
    }

    fn take(&self) -> Option<Place> {
        unpoisoned(&self.places).pop_back()
    }

    /// Whether somebody waits for what is being read.
    pub(super) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }
}

/// Reads again what somebody wrote to or looks at, for as long as there is a search.
pub(super) async fn renew_looked_at(search: Weak<SiteSearch>) {
    let Some(looked) = search.upgrade().map(|owned| owned.looked.clone()) else { return };
    let (mut changing, mut shows_news) = (Changing::default(), None);
    loop {
        looked.notified().await;
        loop {
            let Some(owned) = opened(&search).await else { return };
            let began = Instant::now();
            owned.written.is_read.store(true, Ordering::Relaxed);
            let is_done = owned.renew_next(&mut changing, &mut shows_news).await;
            owned.written.is_read.store(false, Ordering::Relaxed);
            drop(owned);
            match is_done {
                Some(true) => sleep(began.elapsed().clamp(REST_MIN, REST_MAX)).await,
                Some(false) => sleep(REST_MIN).await,
                None => break,
            }
        }
    }
}

impl SiteSearch {
    /// Reads what comes first: false if that is to be read again; none if nothing waits.
    async fn renew_next(
        self: &Arc<Self>,
        changing: &mut Changing,
        shows_news: &mut Option<u64>,
    ) -> Option<bool> {
        let id = loop {
            let Some(place) = self.written.take() else { break self.standings.looked_at() };
            if self.has(&place).await {
                let id = self.read_written(place).await;
                *shows_news = self.root().filter(|root| *root != id);
                return Some(true);
            }
            // Of others nobody knows whether they are everybody's to find, until a page says so.
            self.hastened.put(place.host, place.target);
            *shows_news = self.root();
        };
        let Some(id) = id else {
            self.renew(shows_news.take()?, false).await;
            return Some(true);
        };
        changing.renew(self, id).await;
        if changing.is_changing(id) {
            return Some(false);
        }
        self.commit_behind();
        self.standings.note_renewed(id);
        *shows_news = self.root().filter(|root| *root != id);
        Some(true)
    }

    /// Reads what was written to, and again while it changes.
    async fn read_written(self: &Arc<Self>, place: Place) -> u64 {
        let id = Document::id_of(&self.url_of(&place.host, &place.target));
        for times in 0..=CHANGES_MAX {
            self.counters.pages_renewed.bump();
            match self.read(&place, READ_PATIENCE).await {
                Ok(_) => {
                    self.commit_behind();
                    return id;
                }
                Err(Unread::Status(..)) => return id,
                // What is written to while it is compared isn't everybody's yet.
                Err(Unread::Changing(_) | Unread::NotPublic(_)) if times < CHANGES_MAX => {
                    sleep(REST_MIN).await;
                }
                Err(_) => break,
            }
        }
        self.put(&self.doubts, Doubt { place, tries: 1 });
        id
    }

    /// Has what was put be found at once: whoever waits for it isn't to wait for others.
    pub(super) fn commit_behind(&self) {
        if let Some(index) = self.index() {
            tokio::task::spawn_blocking(move || index.commit());
        }
    }

    /// The site's first page, by the host that visitors came by.
    fn root(&self) -> Option<u64> {
        let (_, host) = unpoisoned(&self.base).clone()?;
        Some(Document::id_of(&self.url_of(&host, "/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_last_is_read_first_and_once_and_so_many_wait() {
        let place = |number: usize| Place {
            scheme: "https",
            host: "a.test".to_owned(),
            target: format!("/{number}"),
        };
        let written = Written::default();
        assert!((0..WRITTEN_MAX).all(|number| written.put(place(number)).is_none()));
        assert_eq!(written.put(place(3)), None, "it waits already");
        assert_eq!(written.put(place(99)), Some(place(0)), "the oldest is given back");
        let all: Vec<_> = std::iter::from_fn(|| written.take()).collect();
        assert_eq!((all.len(), &all[..2]), (WRITTEN_MAX, &[place(99), place(3)][..]));
    }
}
