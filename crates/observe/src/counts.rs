//! What is counted of each route, by threads that don't wait for each other.
//!
//! A thread adds to the cells of its own shard, without a lock; who reads adds the shards up.
//! Counts only ever move from cell to cell, so that their sum is that of all answers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use policy::{NoStore, Verdict};

use crate::answer::{Answer, is_hit};
use crate::histogram::{Histogram, LiveHistogram};
use crate::routes::{ROUTES_MAX, RouteName};

/// How many threads count without touching each other's cells.
const SHARDS: usize = 4;
/// One hit in so many is timed; the others of its thread count as long as it did.
const TIMED: u64 = 16;
/// The reasons of answers that weren't stored.
const UNSTORED: usize = NoStore::ALL.len();

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: usize = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

/// The number of this thread's shard.
pub(crate) fn shard() -> usize {
    SHARD.with(|&shard| shard)
}

/// Requests, and what they cost the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub requests: u64,
    /// How long the origin worked for them, in microseconds.
    pub origin_us: u64,
}

#[derive(Debug, Default)]
struct LiveTally {
    requests: AtomicU64,
    origin_us: AtomicU64,
}

impl LiveTally {
    fn add(&self, origin_us: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if origin_us > 0 {
            self.origin_us.fetch_add(origin_us, Ordering::Relaxed);
        }
    }

    fn add_to(&self, tally: &mut Tally) {
        tally.requests += self.requests.load(Ordering::Relaxed);
        tally.origin_us += self.origin_us.load(Ordering::Relaxed);
    }

    fn pour(&self, into: &Self) {
        pour(&self.requests, &into.requests);
        pour(&self.origin_us, &into.origin_us);
    }
}

fn pour(from: &AtomicU64, into: &AtomicU64) {
    into.fetch_add(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
}

/// One route's counts in one shard.
#[derive(Debug)]
struct Cell {
    verdicts: [LiveTally; Verdict::COUNT],
    unstored: [LiveTally; UNSTORED],
    bytes: AtomicU64,
    hit_bytes: AtomicU64,
    errors: AtomicU64,
    times: LiveHistogram,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            verdicts: std::array::from_fn(|_| LiveTally::default()),
            unstored: std::array::from_fn(|_| LiveTally::default()),
            bytes: AtomicU64::new(0),
            hit_bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            times: LiveHistogram::default(),
        }
    }
}

#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    /// One a route, made when this shard first meets it.
    cells: Box<[OnceLock<Box<Cell>>]>,
    classes: [Class; CLASSES],
}

/// What one shard knows of the times of HTML, or of all else; for all routes together.
#[derive(Debug, Default)]
struct Class {
    times: LiveHistogram,
    hits: AtomicU64,
    /// How long the last hit took that was timed.
    hit_us: AtomicU64,
}

/// HTML and all else.
const CLASSES: usize = 2;

/// How long answers took, HTML apart: that is what somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTimes {
    /// Of HTML.
    pub html: Histogram,
    /// Of all else: images, scripts, what they ask for.
    pub other: Histogram,
}

impl ClassTimes {
    /// What was counted since an earlier look at the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { html: self.html.since(&earlier.html), other: self.other.since(&earlier.other) }
    }
}

/// The counts of all routes.
#[derive(Debug)]
pub(crate) struct Counts {
    shards: Box<[Shard]>,
}

impl Default for Counts {
    fn default() -> Self {
        let shard = || Shard {
            cells: (0..=ROUTES_MAX).map(|_| OnceLock::new()).collect(),
            classes: Default::default(),
        };
        Self { shards: (0..SHARDS).map(|_| shard()).collect() }
    }
}

impl Counts {
    /// Counts an answer; gives how long it took.
    pub(crate) fn add(&self, route: u16, answer: &Answer<'_>) -> u64 {
        let shard = &self.shards[shard()];
        let class = &shard.classes[usize::from(answer.is_html)];
        let took_us = class.took_us(answer);
        class.times.add(took_us);
        let Some(cell) = shard.cells.get(usize::from(route)) else { return took_us };
        let cell = cell.get_or_init(Box::default);
        let origin_us = answer.origin_us();
        cell.verdicts[answer.verdict.index()].add(origin_us);
        cell.bytes.fetch_add(answer.bytes, Ordering::Relaxed);
        if answer.is_hit() {
            cell.hit_bytes.fetch_add(answer.bytes, Ordering::Relaxed);
        }
        cell.times.add(took_us);
        if let Some(reason) = answer.unstored {
            cell.unstored[reason as usize].add(origin_us);
        }
        if answer.status >= 500 {
            cell.errors.fetch_add(1, Ordering::Relaxed);
        }
        took_us
    }

    /// How long answers took, by class.
    pub(crate) fn times(&self) -> ClassTimes {
        let mut times = ClassTimes::default();
        for Shard { classes: [other, html], .. } in &self.shards {
            html.times.add_to(&mut times.html);
            other.times.add_to(&mut times.other);
        }
        times
    }

    /// How many answers a route had.
    pub(crate) fn weight(&self, route: u16) -> u64 {
        let requests = |cell: &Cell| -> u64 {
            cell.verdicts.iter().map(|tally| tally.requests.load(Ordering::Relaxed)).sum()
        };
        self.cells(route).map(requests).sum()
    }

    /// Gives all counts of a route to another one.
    pub(crate) fn pour(&self, from: u16, into: u16) {
        for shard in &self.shards {
            let Some(from) = shard.cells.get(usize::from(from)).and_then(OnceLock::get) else {
                continue;
            };
            let Some(into) = shard.cells.get(usize::from(into)) else { continue };
            from.pour(into.get_or_init(Box::default));
        }
    }

    /// What a route's counts are at about this moment.
    pub(crate) fn read(&self, route: u16, name: RouteName) -> RouteCounts {
        let mut counts = RouteCounts::of(name);
        for cell in self.cells(route) {
            cell.add_to(&mut counts);
        }
        counts
    }

    fn cells(&self, route: u16) -> impl Iterator<Item = &Cell> {
        self.shards.iter().filter_map(move |shard| {
            shard.cells.get(usize::from(route)).and_then(OnceLock::get).map(|cell| &**cell)
        })
    }
}

impl Class {
    /// Reading the clock costs as much as all the rest, so hits are timed by samples.
    fn took_us(&self, answer: &Answer<'_>) -> u64 {
        if !answer.is_hit() {
            return (answer.took_us)();
        }
        // Only a sample follows from it, so two threads may take the same number.
        let hits = self.hits.load(Ordering::Relaxed);
        self.hits.store(hits.wrapping_add(1), Ordering::Relaxed);
        if hits.is_multiple_of(TIMED) {
            let took_us = (answer.took_us)();
            self.hit_us.store(took_us, Ordering::Relaxed);
            return took_us;
        }
        self.hit_us.load(Ordering::Relaxed)
    }
}

impl Cell {
    fn add_to(&self, counts: &mut RouteCounts) {
        let both = |live: &[LiveTally], into: &mut [Tally]| {
            live.iter().zip(into).for_each(|(live, into)| live.add_to(into));
        };
        both(&self.verdicts, &mut counts.verdicts[..]);
        both(&self.unstored, &mut counts.unstored[..]);
        counts.bytes += self.bytes.load(Ordering::Relaxed);
        counts.hit_bytes += self.hit_bytes.load(Ordering::Relaxed);
        counts.errors += self.errors.load(Ordering::Relaxed);
        self.times.add_to(&mut counts.times);
    }

    fn pour(&self, into: &Self) {
        self.verdicts.iter().zip(&into.verdicts).for_each(|(from, into)| from.pour(into));
        self.unstored.iter().zip(&into.unstored).for_each(|(from, into)| from.pour(into));
        pour(&self.bytes, &into.bytes);
        pour(&self.hit_bytes, &into.hit_bytes);
        pour(&self.errors, &into.errors);
        self.times.pour(&into.times);
    }
}

/// What was counted of one route, or of several together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteCounts {
    /// Which route.
    pub name: RouteName,
    /// By verdict, in the order of [`Verdict::ALL`].
    pub verdicts: Box<[Tally; Verdict::COUNT]>,
    /// By the reason for which what the origin said was not stored, in the order of
    /// [`NoStore::ALL`].
    pub unstored: Box<[Tally; UNSTORED]>,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Those of them that came from memory.
    pub hit_bytes: u64,
    /// Answers with a status of 500 or more.
    pub errors: u64,
    /// How long they took.
    pub times: Histogram,
}

impl RouteCounts {
    /// Nothing yet.
    #[must_use]
    pub fn of(name: RouteName) -> Self {
        Self {
            name,
            verdicts: Box::new([Tally::default(); Verdict::COUNT]),
            unstored: Box::new([Tally::default(); UNSTORED]),
            bytes: 0,
            hit_bytes: 0,
            errors: 0,
            times: Histogram::default(),
        }
    }

    /// Adds another route's.
    pub fn merge(&mut self, other: &Self) {
        let both = |into: &mut [Tally], from: &[Tally]| {
            for (into, from) in into.iter_mut().zip(from) {
                into.requests += from.requests;
                into.origin_us += from.origin_us;
            }
        };
        both(&mut self.verdicts[..], &other.verdicts[..]);
        both(&mut self.unstored[..], &other.unstored[..]);
        self.bytes += other.bytes;
        self.hit_bytes += other.hit_bytes;
        self.errors += other.errors;
        self.times.merge(&other.times);
    }

    /// All answers.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.verdicts.iter().map(|tally| tally.requests).sum()
    }

    /// Those that came from memory.
    #[must_use]
    pub fn hits(&self) -> u64 {
        let hits = self.each_verdict().filter(|(verdict, _)| is_hit(*verdict));
        hits.map(|(_, tally)| tally.requests).sum()
    }

    /// How long the origin worked for all of them, in microseconds.
    #[must_use]
    pub fn origin_us(&self) -> u64 {
        self.verdicts.iter().map(|tally| tally.origin_us).sum()
    }

    /// Each verdict that was given, with its tally.
    pub fn each_verdict(&self) -> impl Iterator<Item = (Verdict, Tally)> + '_ {
        let each = Verdict::ALL.iter().copied().zip(self.verdicts.iter().copied());
        each.filter(|(_, tally)| tally.requests > 0)
    }
}
