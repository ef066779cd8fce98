//! Looks: whether pages are what they were before something was changed.
//!
//! Some noise is too rare for bursts of probes, or comes with members' reading only. Kinds of
//! change after which the most wanted pages were what they had been, several times, are noise as
//! well; after which one wasn't, never.

use std::sync::Arc;

use changes::Signature;

use super::Following;
use crate::page::Page;
use crate::site::Site;
use crate::strangers::again::{Seen, see_against};
use crate::strangers::fill::Order;
use crate::strangers::proving::{is_as_before, is_left_alone};

/// Pages that are looked at to see whether a kind of change shows in any.
const LOOKED_AT: usize = 3;

/// One look, at what is there after a sweep has settled.
pub(super) struct Look {
    pub(super) following: Arc<Following>,
    /// The kinds of change that swept.
    pub(super) signatures: Vec<Signature>,
    pub(super) before: Before,
    /// What a visitor read meanwhile, if that is whose doing it may be.
    pub(super) overheard: Option<String>,
    /// The site's count of content once it had settled.
    pub(super) content: u64,
}

/// Wanted pages as they were before something swept.
#[derive(Default)]
pub(super) struct Before {
    pages: Vec<(Order, Arc<Page>)>,
    /// Whether all of them were what strangers were given then.
    is_current: bool,
}

impl Before {
    /// As it is now; first of all what is `read`.
    pub(super) fn of(site: &Site, following: &Following, read: Option<&str>) -> Self {
        let pages = following.wanted.top(LOOKED_AT, read);
        let content = site.generations.content();
        let is_current =
            |(order, page): &(Order, Arc<Page>)| page.is_current(site, order.hash, content);
        Self { is_current: pages.iter().all(is_current), pages }
    }
}

impl Look {
    /// Whether it may be found out by looking at pages that these kinds of change show in none.
    pub(super) fn is_worth_it(&self) -> bool {
        if self.signatures.is_empty() || self.before.pages.is_empty() {
            return false;
        }
        if let Some(read) = &self.overheard {
            return self.before.pages.iter().any(|(order, _)| order.brief.target == *read);
        }
        let learner = self.following.learner.lock();
        let suspects = self.following.suspects.lock();
        let is_worth = |one: &Signature| learner.is_noise(one) || suspects.was_probed(one);
        self.signatures.iter().all(is_worth)
    }

    pub(super) async fn look(self) {
        let seen = self.see().await;
        let is_by_reading = self.overheard.is_some();
        // What was changed since then, or is told of in a moment, is not a reading's doing. Of what
        // a persona alone may have done no such excuse is made: it would be noise by chance.
        let is_content = match self.before.pages.first() {
            Some((order, _)) if seen == Seen::Another && is_by_reading => {
                self.before.is_current && is_left_alone(order, self.content).await
            }
            _ => seen == Seen::Another,
        };
        let mut learner = self.following.learner.lock();
        for signature in &self.signatures {
            match seen {
                _ if is_content => learner.demote(signature),
                _ if is_by_reading => {
                    learner.looked_behind_reading(signature, seen == Seen::Same);
                }
                Seen::Same => learner.found_unchanged(signature),
                _ => {}
            }
        }
    }

    /// What became of those pages: of the first that isn't the same.
    async fn see(&self) -> Seen {
        for (order, page) in &self.before.pages {
            let seen = match see_against(order, page).await {
                // Where numbers differ one of them may be what changed: a price, a result.
                Seen::Restless if self.overheard.is_some() => match is_as_before(order, page).await
                {
                    Some(true) => Seen::Same,
                    _ => Seen::Restless,
                },
                seen => seen,
            };
            if seen != Seen::Same {
                return seen;
            }
        }
        Seen::Same
    }
}
