//! What happened to each site, in numbers, for whoever shows them.

use base::Count;
use origin::Load;

use crate::Server;
use crate::site::Site;

/// One site at a moment.
#[derive(Clone, Debug)]
pub struct SiteCounts {
    /// What its facts are kept under: where its pages come from, and its hosts.
    pub name: String,
    /// What its origin has been through.
    pub origin: Vec<Count>,
    /// How busy its origin is; none for files.
    pub load: Option<Load>,
    /// What happened around strangers; empty where nothing is shared with them.
    pub strangers: Vec<Count>,
    /// What was heard of changes; empty where none are followed.
    pub changes: Vec<Count>,
    /// Whether changes are heard at this moment; none where nobody listens.
    pub is_followed: Option<bool>,
    /// Purges that took more than was asked for.
    pub purges_widened: u64,
    /// Addresses that were being counted for a rate when others took their place.
    pub rates_forgotten: u64,
}

impl Server {
    /// Every site, by name.
    #[must_use]
    pub fn site_counts(&self) -> Vec<SiteCounts> {
        self.sites().each().into_iter().map(|site| counts(site)).collect()
    }

    /// Whether answers of any site are sent in content codings.
    #[must_use]
    pub fn codes(&self) -> bool {
        self.sites().each().iter().any(|site| !site.rules().codings.is_empty())
    }

    /// How often each limit of the memory tier was felt.
    #[must_use]
    pub fn memory_counts(&self) -> store::Counts {
        self.store.counts()
    }
}

fn counts(site: &Site) -> SiteCounts {
    let strangers = site.strangers.as_ref();
    let following = site.following.as_ref();
    SiteCounts {
        name: site.name.clone(),
        origin: site.origin.counters().each().collect(),
        load: site.origin.load(),
        strangers: strangers.map_or_else(Vec::new, |strangers| strangers.counts.each().collect()),
        changes: following.map_or_else(Vec::new, |following| following.counts.each().collect()),
        is_followed: following.map(|following| following.is_heard()),
        purges_widened: site.generations.widened.read(),
        rates_forgotten: site.defence.forgotten(),
    }
}
