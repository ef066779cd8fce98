//! A vouch: that a page which was read is still what it was, without its being in the store.
//!
//! It bears what the page itself is held against: the moment at which its fetch began, its tags,
//! host and key, and its terms. Most of a page is its body, so that many pages can be vouched for
//! of which few are in memory.

use std::sync::{Arc, Weak};

use base::Now;
use policy::scope::Route;
use policy::{Judgement, Terms};
use store::Key;
use wire::Fields;

use crate::page::Page;
use crate::purge::generations::{Generations, Standing};
use crate::purge::marks::Marks;
use crate::site::Site;

/// That a page is still what it was.
pub struct Vouch {
    site: Weak<Site>,
    key: Box<[u8]>,
    hash: u64,
    marks: Marks,
    terms: Terms,
    /// For a page that strangers share: up to which count of content it is known to be good, and
    /// what of its address may name a changed row.
    shared: Option<(u64, Option<Route>)>,
    /// The number of changes that come with any reading, when this was made.
    usual: u64,
}

impl Vouch {
    pub(super) fn of(site: &Arc<Site>, page: &Page, key: &[u8], hash: u64) -> Option<Self> {
        let terms = page.as_stored()?.terms;
        // Only who hands a page on tells what its tags are called.
        let marks = page.marks.copied().nameless();
        let shared = page.kept_until().map(|kept| (kept, page.route().cloned()));
        let marks = if shared.is_some() { marks.by_content() } else { marks };
        let usual = site.generations.usual();
        Some(Self {
            site: Arc::downgrade(site),
            key: key.into(),
            hash,
            marks,
            terms,
            shared,
            usual,
        })
    }

    /// Scheme, host and target of the page.
    #[must_use]
    pub fn place(&self) -> Option<(&str, &str, &str)> {
        super::parts(&self.key)
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let route = self.shared.as_ref().and_then(|(_, route)| route.as_ref());
        let route = route.map_or(0, |route| size_of_val(&*route.values));
        size_of::<Self>() + self.key.len() + self.marks.weight() + route
    }

    /// Whether Wick would serve the page to a stranger without asking.
    pub(crate) fn stands(&self, now: Now) -> bool {
        let Some(site) = self.site.upgrade() else { return false };
        let judgement = match self.shared {
            Some(_) => policy::judge_shared(&self.terms, now.ticks_ms),
            None => policy::judge(&self.terms, &Fields::new(), now.ticks_ms, &site.rules()),
        };
        let is_served =
            matches!(judgement, Judgement::Fresh { .. } | Judgement::StaleButServable { .. });
        is_served && self.is_untouched(now)
    }

    /// Whether nothing was purged, written or changed that it may show.
    pub(crate) fn is_untouched(&self, now: Now) -> bool {
        let Some(site) = self.site.upgrade() else { return false };
        let generations = &site.generations;
        if generations.is_settling() || !self.is_unpurged(generations, now) {
            return false;
        }
        let Some((kept, route)) = &self.shared else { return true };
        let content = generations.content();
        *kept >= content
            || route.as_ref().zip(site.following.as_ref()).is_some_and(|(route, following)| {
                following.scope.kept(route, self.hash, *kept, content).is_some()
            })
    }

    /// Whether it is touched by nothing but what changes with any reading, as far as is known: whoever
    /// reads a page again for that would have to for ever.
    pub(crate) fn is_touched_by_reading(&self, now: Now) -> bool {
        let (Some(site), Some((kept, _))) = (self.site.upgrade(), &self.shared) else {
            return false;
        };
        let generations = &site.generations;
        let changes = generations.content().saturating_sub(*kept);
        let usual = generations.usual().saturating_sub(self.usual);
        changes > 0 && changes <= usual && self.is_unpurged(generations, now)
    }

    fn is_unpurged(&self, generations: &Generations, now: Now) -> bool {
        let key = Key { hash: self.hash, text: &self.key };
        generations.standing(&self.marks, &key, now.ticks_ms) == Standing::Good
    }
}
