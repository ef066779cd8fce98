//! The ledger: each answer is told here once, counted by its route and reason, and remembered
//! for a while.
//!
//! On a hit nothing is looked up but one word: the route of a path that was asked for lately
//! stands in a table under the path's hash. All other paths take the one lock of the routes,
//! for as long as it takes to walk a few segments.
//! Bounds: with all routes in use, 16 MiB.
//! Start at [`Ledger::note`].

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::answer::Answer;
use crate::counts::{self, ClassTimes, Counts, RouteCounts};
use crate::recent::{Recent, Seen};
use crate::routes::{OTHER, ROUTES_MAX, RouteName, Routes};

/// Paths whose routes are at hand, in groups of which each path has one.
const GROUPS: usize = 4096;
const GROUP: usize = 4;
/// A known path's word is its hash with the route's number in these bits.
const ROUTE_BITS: u64 = 0xffff;

/// What happened, by route and reason.
pub struct Ledger {
    /// Drawn by each process, so that nobody can prepare paths with one hash.
    seed: u64,
    /// Made with the first answer.
    known: OnceLock<Box<[Group]>>,
    routes: Mutex<Routes>,
    counts: Counts,
    recent: Recent,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            seed: RandomState::new().hash_one("paths"),
            known: OnceLock::new(),
            routes: Mutex::default(),
            counts: Counts::default(),
            recent: Recent::default(),
        }
    }
}

impl Ledger {
    /// Counts an answer and remembers it; gives the number of its route.
    pub fn note(&self, answer: &Answer<'_>) -> u16 {
        let route = self.route(answer);
        let took_us = self.counts.add(route, answer);
        self.recent.add(counts::shard(), route, took_us, answer);
        route
    }

    /// The name of a route.
    #[must_use]
    pub fn route_name(&self, route: u16) -> RouteName {
        self.routes.lock().name(route).cloned().unwrap_or_default()
    }

    /// The route of a path as far as it is known; nothing is learned or counted.
    #[must_use]
    pub fn route_of(&self, site: &str, path: &str) -> RouteName {
        let mut routes = self.routes.lock();
        let number = routes.find(site, path, false, &|route| self.counts.weight(route));
        routes.name(number).cloned().unwrap_or_default()
    }

    fn route(&self, answer: &Answer<'_>) -> u16 {
        let teaches = answer.teaches();
        let seed = xxh3_64_with_seed(answer.host.as_bytes(), self.seed ^ u64::from(teaches));
        let hash = xxh3_64_with_seed(answer.path.as_bytes(), seed);
        let make = || (0..GROUPS).map(|_| Group::default()).collect();
        let all = self.known.get_or_init(make);
        let known = &all[hash as usize % GROUPS];
        if let Some(route) = known.find(hash) {
            return route;
        }
        let site = (answer.site)();
        let mut routes = self.routes.lock();
        let weigh = |route: u16| self.counts.weight(route);
        let route = match site.is_empty() {
            true => OTHER,
            false => routes.find(&site, answer.path, teaches, &weigh),
        };
        let moves = routes.take_moves();
        if !moves.is_empty() {
            moves.iter().for_each(|(from, into)| self.counts.pour(*from, *into));
            self.recent.follow(&moves);
            // Under the lock, so that nobody puts back what a word meant before.
            all.iter().for_each(Group::clear);
        }
        known.put(hash, route);
        route
    }

    /// What was counted of each route that had any answer.
    #[must_use]
    pub fn counts(&self) -> Vec<RouteCounts> {
        // While it is held no counts move.
        let routes = self.routes.lock();
        let all = (OTHER..=ROUTES_MAX as u16).map(|number| {
            let name = routes.name(number).cloned().unwrap_or_default();
            self.counts.read(number, name)
        });
        all.filter(|counts| counts.requests() > 0).collect()
    }

    /// What was counted of all routes together.
    #[must_use]
    pub fn totals(&self) -> RouteCounts {
        let _still = self.routes.lock();
        let mut totals = RouteCounts::of(RouteName::default());
        for number in OTHER..=ROUTES_MAX as u16 {
            if self.counts.weight(number) > 0 {
                totals.merge(&self.counts.read(number, RouteName::default()));
            }
        }
        totals
    }

    /// How long all answers took, HTML apart.
    #[must_use]
    pub fn times(&self) -> ClassTimes {
        self.counts.times()
    }

    /// The last answers after this number that `wanted` fits, oldest first; and the number of
    /// the last that there is.
    #[must_use]
    pub fn recent(&self, after: u64, wanted: &Wanted) -> (Vec<(Seen, RouteName)>, u64) {
        let all = self.recent.after(after);
        let newest = all.last().map_or(after, |seen| seen.number);
        let routes = self.routes.lock();
        let named = all.into_iter().map(|seen| {
            let name = routes.name(seen.route).cloned().unwrap_or_default();
            (seen, name)
        });
        (named.filter(|(seen, name)| wanted.fits(seen, name)).collect(), newest)
    }

    /// The slowest `count` of the last answers whose requests came since then, the slowest
    /// first.
    #[must_use]
    pub fn slowest(&self, since_unix_ms: u64, count: usize) -> Vec<(Seen, RouteName)> {
        let slowest = self.recent.slowest(since_unix_ms, count);
        let routes = self.routes.lock();
        let named = slowest.into_iter().map(|seen| {
            let name = routes.name(seen.route).cloned().unwrap_or_default();
            (seen, name)
        });
        named.collect()
    }

    /// Answers that were counted, but came too fast to be remembered one by one.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.recent.left_out()
    }
}

/// Paths that share the lowest bits of their hashes: words on one cache line.
#[derive(Debug, Default)]
#[repr(align(32))]
struct Group([AtomicU64; GROUP]);

impl Group {
    fn find(&self, hash: u64) -> Option<u16> {
        let is_of = |word: &u64| word & !ROUTE_BITS == hash & !ROUTE_BITS && *word != 0;
        let word = self.0.iter().map(|word| word.load(Ordering::Relaxed)).find(is_of)?;
        Some((word & ROUTE_BITS) as u16)
    }

    /// Puts a path first; the one that was put longest ago goes. Only who holds the routes'
    /// lock may, so nothing is doubled or lost.
    fn put(&self, hash: u64, route: u16) {
        let mut word = hash & !ROUTE_BITS | u64::from(route);
        for place in &self.0 {
            word = place.swap(word, Ordering::Relaxed);
        }
    }

    fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// Which of the last answers are wanted; what is empty fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The verdict (`pass`), its reason (`cookie`), both (`pass(cookie)`), or why an answer was
    /// not stored (`no-store`).
    pub why: String,
    /// The route as it is shown, or the beginning of a path with a `*` behind it.
    pub route: String,
    /// The status, or its class as in `5xx`.
    pub status: String,
}

impl Wanted {
    fn fits(&self, seen: &Seen, name: &RouteName) -> bool {
        let (verdict, unstored) = (seen.verdict, seen.unstored.map_or("", |it| it.reason()));
        self.fits_why([verdict.word(), verdict.reason(), unstored, &verdict.to_string()])
            && self.fits_route(&seen.path, &name.route)
            && self.fits_status(seen.status)
    }

    pub(crate) fn fits_why(&self, names: [&str; 4]) -> bool {
        self.why.is_empty() || names.contains(&self.why.as_str())
    }

    pub(crate) fn fits_route(&self, path: &str, route: &str) -> bool {
        match self.route.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => self.route.is_empty() || self.route == route || self.route == path,
        }
    }

    pub(crate) fn fits_status(&self, status: u16) -> bool {
        let status = status.to_string();
        match self.status.strip_suffix("xx") {
            Some(class) => status.starts_with(class),
            None => self.status.is_empty() || self.status == status,
        }
    }
}

#[cfg(test)]
mod tests;
