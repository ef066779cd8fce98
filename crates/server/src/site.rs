//! The sites of a server, found by host.
//!
//! Settings may change while it runs: sites then succeed those before them ([`Sites::after`]).
//! Invariants: 1. a site of which only what is decided at each request changes stays the same
//! site. 2. one that changes in anything else and keeps its name keeps its generations and what
//! it learned. 3. what is stored under the hosts of a site that came new is never found again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use changes::{Source, Tap};
use markup::Renderer;
use origin::Origin;
use policy::Rules;
use policy::purge::Mode;
use store::disk::Disk;

use crate::alike::Alike;
use crate::app::AppKey;
use crate::companion::Beside;
use crate::config::SiteConfig;
use crate::defence::Defence;
use crate::disk::past::{Event, Ledger, Pasts};
use crate::esi::elsewhere::{Elsewhere, PartHost};
use crate::following::{FollowRules, Following};
use crate::mark_new::{MarkNew, MarkNewRules};
use crate::notes::Notes;
use crate::overrule::Rulings;
use crate::pipeline;
use crate::purge::generations::Generations;
use crate::purge::purgers::Purgers;
use crate::strangers::{Keeping, StrangerRules, Strangers};
use crate::views::Views;

/// One site at work.
pub(crate) struct Site {
    /// What learned facts are kept under.
    pub(crate) name: String,
    pub(crate) origin: Arc<Origin>,
    pub(crate) caches: bool,
    /// What was learned about strangers; none where nothing is shared with them.
    pub(crate) strangers: Option<Arc<Strangers>>,
    /// What was written and purged.
    pub(crate) generations: Arc<Generations>,
    /// How its changes are heard of; none where they aren't.
    pub(crate) following: Option<Arc<Following>>,
    /// What stands before its MariaDB or MySQL, if anything does.
    pub(crate) tap: Option<Weak<Tap>>,
    /// What is known of pages for those who have a session.
    pub(crate) alike: Alike,
    /// Hosts that parts of its pages may come from as well.
    pub(crate) elsewhere: Vec<Elsewhere>,
    /// Whether it is such a host.
    pub(crate) is_elsewhere: bool,
    /// How often its pages were viewed.
    pub(crate) views: Arc<Views>,
    /// What one visitor may take.
    pub(crate) defence: Defence,
    /// What is put into its pages, so that new items are marked.
    pub(crate) mark_new: MarkNew,
    /// What its own code shows.
    app_key: Option<AppKey>,
    /// The dialect of its own markup, if it has one.
    pub(crate) markup: Option<Arc<Renderer>>,
    /// What stands beside its origin.
    companion: ArcSwapOption<Beside>,
    rules: ArcSwap<Rules>,
    purgers: ArcSwap<Purgers>,
    /// What it was made of, besides.
    made_of: MadeOf,
}

/// The settings of which a change makes another site.
#[derive(PartialEq)]
struct MadeOf {
    strangers: Option<StrangerRules>,
    sources: Vec<Source>,
    changes_rules: FollowRules,
    mark_new: MarkNewRules,
}

impl MadeOf {
    /// The rules about who is given what pages, for comparison with those of another run.
    fn rules_in_a_number(&self) -> u64 {
        // What copies may take says nothing about who is given what.
        let rules = self.strangers.clone().map(|rules| StrangerRules { copies_bytes: 0, ..rules });
        pipeline::hash(format!("{rules:?}{:?}", self.mark_new).as_bytes())
    }
}

impl Site {
    /// The owner's decisions about caching, as they are now.
    pub(crate) fn rules(&self) -> Guard<Arc<Rules>> {
        self.rules.load()
    }

    /// What stands beside its origin, as it is now.
    pub(crate) fn companion(&self) -> Option<Beside> {
        self.companion.load().as_deref().cloned()
    }

    /// Whether its own code shows this key.
    pub(crate) fn is_app(&self, key: &[u8]) -> bool {
        self.app_key.as_ref().is_some_and(|own| own.is(key))
    }

    /// Who may purge, as it is now.
    pub(crate) fn purgers(&self) -> Guard<Arc<Purgers>> {
        self.purgers.load()
    }
}

/// Which site answers for which host.
pub(crate) struct Sites {
    named: HashMap<String, Arc<Site>>,
    any: Option<Arc<Site>>,
    /// How often there were others before.
    number: u64,
    /// Where they are kept over a restart.
    disk: Option<Disk>,
    /// What was decided about them at run time.
    rulings: Arc<Rulings>,
}

/// Between the generations of sites that came new by one change of the settings and those by
/// the next: no site counts so far in between.
const GENERATIONS_APART: u64 = 1 << 32;

impl Sites {
    /// The first sites of a server; of two that claim one host the first has it.
    pub(crate) fn new(
        configs: Vec<SiteConfig>,
        notes: &Arc<dyn Notes>,
        rulings: &Arc<Rulings>,
        disk: Option<Disk>,
    ) -> Self {
        Self::made(configs, notes, None, (rulings.clone(), disk))
    }

    /// The sites after these.
    pub(crate) fn after(&self, configs: Vec<SiteConfig>, notes: &Arc<dyn Notes>) -> Self {
        Self::made(configs, notes, Some(self), (self.rulings.clone(), self.disk.clone()))
    }

    fn made(
        configs: Vec<SiteConfig>,
        notes: &Arc<dyn Notes>,
        before: Option<&Self>,
        (rulings, disk): (Arc<Rulings>, Option<Disk>),
    ) -> Self {
        let number = before.map_or(0, |before| before.number + 1);
        let mut sites = Self { named: HashMap::new(), any: None, number, disk, rulings };
        for config in configs {
            let hosts = config.hosts.clone();
            let old = before.and_then(|before| before.called(&config.name));
            let site = match old {
                Some(old) if old.is_made_of(&config) => {
                    old.rules.store(Arc::new(config.rules));
                    old.defence.follow(config.defence);
                    old.views.follow(config.views.filter(|_| config.caches));
                    old.companion.store(config.companion.map(Arc::new));
                    if !old.purgers().is_of(config.purge_token.as_ref()) {
                        old.purgers.store(Arc::new(Purgers::new(config.purge_token)));
                    }
                    old.clone()
                }
                old => {
                    let keeping = Keeping::new(notes.clone(), &sites.rulings, &config.name);
                    Arc::new(Site::new(config, keeping, old, number, sites.disk.as_ref()))
                }
            };
            if hosts.is_empty() {
                sites.any.get_or_insert_with(|| site.clone());
            }
            for host in hosts {
                sites.named.entry(host.to_ascii_lowercase()).or_insert_with(|| site.clone());
            }
        }
        sites
    }

    /// How often there were others before.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn called(&self, name: &str) -> Option<&Arc<Site>> {
        self.all().find(|site| site.name == name)
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

    /// The hosts that a site alone answers for, in order; none of the one that answers for any.
    pub(crate) fn hosts_of(&self, site: &Site) -> Vec<String> {
        let own = self.named.iter().filter(|(_, named)| std::ptr::eq(&raw const ***named, site));
        let mut hosts: Vec<String> = own.map(|(host, _)| host.clone()).collect();
        hosts.sort_unstable();
        hosts
    }

    /// Every site that answers for one of these hosts, or for any of none.
    pub(crate) fn serving(&self, hosts: &[String]) -> Vec<Arc<Site>> {
        if hosts.is_empty() {
            return self.each().into_iter().cloned().collect();
        }
        let mut sites: Vec<_> =
            hosts.iter().filter_map(|host| self.named.get(host).or(self.any.as_ref())).collect();
        sites.sort_unstable_by_key(|site| Arc::as_ptr(site));
        sites.dedup_by_key(|site| Arc::as_ptr(site));
        sites.into_iter().cloned().collect()
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

impl Site {
    fn new(
        config: SiteConfig,
        keeping: Keeping,
        before: Option<&Arc<Self>>,
        number: u64,
        disk: Option<&Disk>,
    ) -> Self {
        let caches = config.caches;
        let elsewhere = Self::elsewhere(&config, &keeping, number);
        let made_of = MadeOf {
            strangers: config.strangers.filter(|_| caches),
            sources: if caches { config.changes } else { Vec::new() },
            changes_rules: config.changes_rules,
            mark_new: config.mark_new,
        };
        if let Some(before) = before {
            before.note_all();
            if before.made_of.rules_in_a_number() != made_of.rules_in_a_number() {
                // Who is given what was decided by other rules, or pages bear what is old.
                before.generations.purge_all(Mode::Hard);
            }
        }
        let views = before.map_or_else(Arc::default, |before| before.views.clone());
        views.follow(config.views.clone().filter(|_| caches));
        let learned = if caches { keeping.load() } else { Vec::new() };
        let kept = before.filter(|before| before.made_of.strangers == made_of.strangers);
        let strangers = match (kept, &made_of.strangers) {
            (Some(before), _) => before.strangers.clone(),
            (None, Some(rules)) => {
                Some(Arc::new(Strangers::new(rules.clone(), keeping.clone(), &learned)))
            }
            (None, None) => None,
        };
        let (sources, rules) = (made_of.sources.clone(), made_of.changes_rules.clone());
        let generations = match before {
            Some(before) => before.generations.clone(),
            None => Arc::new(Self::generations(&config.name, number, disk)),
        };
        generations.tell(&Event::Rules(made_of.rules_in_a_number()));
        if !sources.is_empty() {
            generations.tell(&Event::Followed);
        }
        Self {
            name: config.name,
            origin: config.origin,
            caches,
            strangers,
            generations,
            following: Following::new(sources, rules, keeping, &learned),
            tap: config.tap,
            alike: Alike::default(),
            elsewhere,
            is_elsewhere: config.is_elsewhere,
            views,
            defence: Defence::new(config.defence),
            mark_new: MarkNew::new(&made_of.mark_new),
            app_key: config.app_key,
            markup: config.markup,
            companion: ArcSwapOption::from_pointee(config.companion),
            rules: ArcSwap::from_pointee(config.rules),
            purgers: ArcSwap::from_pointee(Purgers::new(config.purge_token)),
            made_of,
        }
    }

    /// The hosts that parts of its pages may come from.
    fn elsewhere(config: &SiteConfig, keeping: &Keeping, number: u64) -> Vec<Elsewhere> {
        let site = |host: &PartHost| {
            Arc::new(Self::new(host.as_site(&config.name), keeping.clone(), None, number, None))
        };
        let hosts = config.part_hosts.iter();
        hosts
            .map(|host| Elsewhere {
                is_tls: host.is_tls,
                authority: host.authority.clone(),
                site: site(host),
            })
            .collect()
    }

    /// What a site that comes new counts by.
    fn generations(name: &str, number: u64, disk: Option<&Disk>) -> Generations {
        let base = disk.map_or(0, Disk::run);
        let ledger = disk.map(|disk| Ledger::new(disk.clone(), name.to_owned()));
        match number {
            0 => Generations::beginning_at(base, ledger),
            later => Generations::from(base + later * GENERATIONS_APART, ledger),
        }
    }

    /// Takes over what earlier runs told of this site. What was shared by other rules is gone.
    pub(crate) fn adopt_past(&self, pasts: &mut Pasts) {
        let mut past = pasts.take(&self.name);
        past.end_of_other_rules(self.made_of.rules_in_a_number());
        self.generations.adopt(past, self.following.is_some());
    }

    fn is_made_of(&self, config: &SiteConfig) -> bool {
        let same_tap = match (&self.tap, &config.tap) {
            (Some(own), Some(other)) => Weak::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let dialect = |markup: &Option<Arc<Renderer>>| markup.as_ref().map(|it| it.key(b""));
        let (strangers, sources) = match config.caches {
            true => (config.strangers.as_ref(), config.changes.as_slice()),
            false => (None, &[][..]),
        };
        Arc::ptr_eq(&self.origin, &config.origin)
            && self.caches == config.caches
            && same_tap
            && self.app_key == config.app_key
            && dialect(&self.markup) == dialect(&config.markup)
            && self.made_of.strangers.as_ref() == strangers
            && self.made_of.sources == sources
            && self.made_of.changes_rules == config.changes_rules
            && self.made_of.mark_new == config.mark_new
    }

    /// Hands what is worth knowing to whoever keeps notes.
    pub(crate) fn note_all(&self) {
        if let Some(strangers) = &self.strangers {
            strangers.note_copies();
        }
        if let Some(following) = &self.following {
            following.note_learned();
        }
    }
}

#[cfg(test)]
mod tests {
    use origin::FilesOrigin;

    use super::*;
    use crate::{NoNotes, PurgeToken};

    fn config(name: &str, host: &str) -> SiteConfig {
        let mut config = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        (config.name, config.hosts) = (name.into(), vec![host.into()]);
        config.strangers = Some(StrangerRules::default());
        config
    }

    fn notes() -> Arc<dyn Notes> {
        Arc::new(NoNotes)
    }

    /// The site before and the one after, where the settings of the second are changed.
    fn succeed(change: impl FnOnce(&mut SiteConfig)) -> (Arc<Site>, Arc<Site>) {
        let first = config("one", "a.test");
        let mut second = first.clone();
        change(&mut second);
        let sites = Sites::new(vec![first], &notes(), &Arc::default(), None);
        let before = sites.find("a.test").expect("a site").clone();
        before.generations.note_write();
        let after = sites.after(vec![second], &notes());
        let after = after.each()[0].clone();
        (before, after)
    }

    #[test]
    fn what_is_decided_at_each_request_changes_within_the_same_site() {
        let (before, after) = succeed(|config| {
            config.rules.negative_seconds_max = 7;
            config.purge_token = PurgeToken::new("a long token");
            config.hosts.push("b.test".into());
        });
        assert!(Arc::ptr_eq(&before, &after));
        assert_eq!(before.rules().negative_seconds_max, 7);
        assert!(before.purgers().is_of(PurgeToken::new("a long token").as_ref()));
    }

    #[test]
    fn a_site_that_changes_and_keeps_its_name_keeps_what_it_counted_and_learned() {
        let (before, after) = succeed(|config| {
            config.origin = Arc::new(Origin::Files(FilesOrigin::new("/elsewhere")));
        });
        assert!(!Arc::ptr_eq(&before, &after));
        assert!(Arc::ptr_eq(&before.generations, &after.generations));
        let learned = |site: &Site| site.strangers.as_ref().map(Arc::as_ptr);
        assert_eq!(learned(&before), learned(&after));
        assert_eq!((after.generations.fence(), after.generations.content()), (1, 1));
    }

    #[test]
    fn other_rules_about_strangers_leave_nothing_that_was_shared_by_the_old_ones() {
        let (before, after) = succeed(|config| {
            config.strangers =
                Some(StrangerRules { never: vec!["/x".into()], ..StrangerRules::default() });
        });
        assert!(Arc::ptr_eq(&before.generations, &after.generations));
        assert_eq!(after.generations.fence(), 2, "all of it was purged");
        assert_eq!(after.strangers.as_ref().expect("its strangers").rules.never, ["/x"]);
    }

    #[test]
    fn a_site_that_comes_new_begins_after_all_that_others_counted() {
        let (before, after) = succeed(|config| config.name = "another".into());
        assert!(after.generations.fence() > before.generations.fence() + GENERATIONS_APART / 2);
    }
}
