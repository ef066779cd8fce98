//! The sites of a server, found by host.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use changes::Tap;
use origin::Origin;
use policy::Rules;

use crate::config::SiteConfig;
use crate::following::Following;
use crate::notes::Notes;
use crate::purge::generations::Generations;
use crate::purge::purgers::Purgers;
use crate::strangers::{Keeping, Strangers};

/// One site at work.
pub(crate) struct Site {
    /// What learned facts are kept under.
    pub(crate) name: String,
    pub(crate) origin: Arc<Origin>,
    pub(crate) rules: Rules,
    pub(crate) caches: bool,
    /// What was learned about strangers; none where nothing is shared with them.
    pub(crate) strangers: Option<Arc<Strangers>>,
    /// What was written and purged.
    pub(crate) generations: Generations,
    /// Who may purge.
    pub(crate) purgers: Purgers,
    /// How its changes are heard of; none where they aren't.
    pub(crate) following: Option<Arc<Following>>,
    /// What stands before its MariaDB or MySQL, if anything does.
    pub(crate) tap: Option<Weak<Tap>>,
}

/// Which site answers for which host.
pub(crate) struct Sites {
    named: HashMap<String, Arc<Site>>,
    any: Option<Arc<Site>>,
}

impl Sites {
    /// Makes sites of their settings; of two that claim one host the first has it.
    pub(crate) fn new(configs: Vec<SiteConfig>, notes: &Arc<dyn Notes>) -> Self {
        let mut sites = Self { named: HashMap::new(), any: None };
        for config in configs {
            let keeping = Keeping::new(notes.clone(), config.name.clone());
            let learned = if config.caches { keeping.load() } else { Vec::new() };
            let sources = if config.caches { config.changes } else { Vec::new() };
            let strangers = config.strangers.filter(|_| config.caches);
            let site = Arc::new(Site {
                name: config.name,
                origin: config.origin,
                rules: config.rules,
                caches: config.caches,
                strangers: strangers
                    .map(|rules| Arc::new(Strangers::new(rules, keeping.clone(), &learned))),
                generations: Generations::default(),
                purgers: Purgers::new(config.purge_token),
                following: Following::new(sources, config.changes_rules, keeping, &learned),
                tap: config.tap,
            });
            if config.hosts.is_empty() {
                sites.any.get_or_insert_with(|| site.clone());
            }
            for host in config.hosts {
                sites.named.entry(host.to_ascii_lowercase()).or_insert_with(|| site.clone());
            }
        }
        sites
    }

    /// Every site, some of them more than once.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Site>> {
        self.named.values().chain(&self.any)
    }

    /// Every site once, by name.
    pub(crate) fn each(&self) -> Vec<&Arc<Site>> {
        let mut sites: Vec<_> = self.all().collect();
        sites.sort_unstable_by_key(|site| (&site.name, Arc::as_ptr(site)));
        sites.dedup_by_key(|site| Arc::as_ptr(site));
        sites
    }

    /// The hosts that have a site of their own, in order.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &str> {
        let mut hosts: Vec<&str> = self.named.keys().map(String::as_str).collect();
        hosts.sort_unstable();
        hosts.into_iter()
    }

    /// The site that there is, if there is just one.
    pub(crate) fn only(&self) -> Option<&Arc<Site>> {
        let mut all = self.all();
        let first = all.next()?;
        all.all(|site| Arc::ptr_eq(site, first)).then_some(first)
    }

    /// The site for a Host, with its port or, failing that, without.
    pub(crate) fn find(&self, host: &str) -> Option<&Arc<Site>> {
        if self.named.is_empty() {
            return self.any.as_ref();
        }
        let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        self.named
            .get(host)
            .or_else(|| name.and_then(|(name, _)| self.named.get(name)))
            .or(self.any.as_ref())
    }
}
