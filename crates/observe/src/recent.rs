//! The last answers, each with what is known about it.
//!
//! Two rings of fixed size: hits would otherwise drive out at once what one looks for. An
//! entry has room for so much of each text and no more, so writing one makes nothing. Of hits
//! each thread writes at most [`HITS_MAX`] in [`WINDOW_MS`]; what is left out is counted.
//! Entries are made by blocks when the first of a block is written: who serves no site needs none.
//! Invariant: a writer never waits but for a block that is being made; it leaves out what it can't
//! write at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Counter, Phase};
use parking_lot::Mutex;
use policy::{NoStore, Verdict};

use crate::answer::Answer;
use crate::routes::Moves;

/// Answers that are remembered: hits, and others.
const HITS: usize = 1024;
const OTHERS: usize = 3072;
/// Entries that are made together; a divisor of both.
const BLOCK: usize = 64;
/// Hits that one thread writes in a while.
const HITS_MAX: u64 = 64;
const WINDOW_MS: u64 = 64;
/// Bytes of each text.
const METHOD_BYTES: usize = 12;
const HOST_BYTES: usize = 64;
const PATH_BYTES: usize = 160;

/// A text of bounded length, whose place never changes.
#[derive(Clone, Copy, Debug)]
struct Text<const BYTES: usize> {
    length: u8,
    bytes: [u8; BYTES],
}

impl<const BYTES: usize> Default for Text<BYTES> {
    fn default() -> Self {
        Self { length: 0, bytes: [0; BYTES] }
    }
}

impl<const BYTES: usize> Text<BYTES> {
    /// As much of the text as there is room for.
    fn set(&mut self, text: &str) {
        let end = text.floor_char_boundary(BYTES);
        self.bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        self.length = end as u8;
    }

    fn read(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..usize::from(self.length)]).into_owned()
    }
}

/// One answer, as it lies in its ring.
#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    unix_ms: u64,
    took_us: u64,
    bytes: u64,
    phases: [u64; Phase::COUNT],
    verdict: Verdict,
    unstored: Option<NoStore>,
    status: u16,
    route: u16,
    method: Text<METHOD_BYTES>,
    host: Text<HOST_BYTES>,
    path: Text<PATH_BYTES>,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            number: 0,
            unix_ms: 0,
            took_us: 0,
            bytes: 0,
            phases: [0; Phase::COUNT],
            verdict: Verdict::Hit,
            unstored: None,
            status: 0,
            route: 0,
            method: Text::default(),
            host: Text::default(),
            path: Text::default(),
        }
    }
}

type Block = Box<[Mutex<Entry>]>;

#[derive(Debug)]
struct Ring {
    next: AtomicU64,
    blocks: Box<[OnceLock<Block>]>,
}

impl Ring {
    fn new(entries: usize) -> Self {
        let blocks = (0..entries / BLOCK).map(|_| OnceLock::new()).collect();
        Self { next: AtomicU64::new(0), blocks }
    }

    /// The place of the next answer.
    fn next(&self) -> &Mutex<Entry> {
        let at = self.next.fetch_add(1, Ordering::Relaxed) as usize % (self.blocks.len() * BLOCK);
        let make = || (0..BLOCK).map(|_| Mutex::default()).collect();
        &self.blocks[at / BLOCK].get_or_init(make)[at % BLOCK]
    }

    fn entries(&self) -> impl Iterator<Item = &Mutex<Entry>> {
        self.blocks.iter().filter_map(OnceLock::get).flatten()
    }
}

/// How many hits a thread wrote in the window that it is in.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Allowance(AtomicU64);

impl Allowance {
    fn takes(&self, unix_ms: u64) -> bool {
        // The window in the upper bits, what was written in it in the lower ones.
        let window = (unix_ms / WINDOW_MS) << 8;
        let seen = self.0.load(Ordering::Relaxed);
        let written = if seen & !0xff == window { seen & 0xff } else { 0 };
        if written >= HITS_MAX {
            return false;
        }
        // Two threads of one shard may write one more than that.
        self.0.store(window | (written + 1), Ordering::Relaxed);
        true
    }
}

/// The last answers.
#[derive(Debug)]
pub(crate) struct Recent {
    /// Counts all that were written, from one.
    number: AtomicU64,
    hits: Ring,
    others: Ring,
    allowances: [Allowance; 4],
    left_out: Counter,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            number: AtomicU64::new(1),
            hits: Ring::new(HITS),
            others: Ring::new(OTHERS),
            allowances: Default::default(),
            left_out: Counter::default(),
        }
    }
}

/// One of the last answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Counts up from one.
    pub number: u64,
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The method, or its beginning; likewise the other texts.
    pub method: String,
    /// The host as asked for.
    pub host: String,
    /// The path without its query.
    pub path: String,
    /// The number of its route.
    pub route: u16,
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: Verdict,
    /// Why what the origin said was not stored.
    pub unstored: Option<NoStore>,
    /// Bytes of the body that went out.
    pub bytes: u64,
    /// How long it took; most hits are given the time of the last one that was timed.
    pub took_us: u64,
    /// Where the time went, in the order of [`Phase::ALL`]; zero: it was not there.
    pub phases: [u64; Phase::COUNT],
}

impl Recent {
    /// Remembers an answer; `shard` is the number of this thread's.
    pub(crate) fn add(&self, shard: usize, route: u16, took_us: u64, answer: &Answer<'_>) {
        let is_hit = answer.is_hit();
        if is_hit && !self.allowances[shard % self.allowances.len()].takes(answer.unix_ms) {
            self.left_out.bump();
            return;
        }
        let ring = if is_hit { &self.hits } else { &self.others };
        let Some(mut entry) = ring.next().try_lock() else {
            self.left_out.bump();
            return;
        };
        entry.number = self.number.fetch_add(1, Ordering::Relaxed);
        entry.unix_ms = answer.unix_ms;
        entry.took_us = took_us;
        entry.bytes = answer.bytes;
        entry.phases = answer.phases;
        entry.verdict = answer.verdict;
        entry.unstored = answer.unstored;
        entry.status = answer.status;
        entry.route = route;
        entry.method.set(answer.method);
        entry.host.set(answer.host);
        entry.path.set(answer.path);
    }

    fn entries(&self) -> impl Iterator<Item = &Mutex<Entry>> {
        self.hits.entries().chain(self.others.entries())
    }

    /// Answers that were counted and are not remembered.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.read()
    }

    /// Routes have become others.
    pub(crate) fn follow(&self, moves: &Moves) {
        for entry in self.entries() {
            let mut entry = entry.lock();
            for (from, into) in moves {
                if entry.route == *from {
                    entry.route = *into;
                }
            }
        }
    }

    /// The slowest `count` of those whose requests came since then, the slowest first. Texts are
    /// made only of them.
    pub(crate) fn slowest(&self, since_unix_ms: u64, count: usize) -> Vec<Seen> {
        let mut all: Vec<(u64, &Mutex<Entry>)> = Vec::new();
        for place in self.entries() {
            let entry = place.lock();
            if entry.number > 0 && entry.unix_ms >= since_unix_ms {
                all.push((entry.took_us, place));
            }
        }
        all.sort_by_key(|(took_us, _)| std::cmp::Reverse(*took_us));
        let mut slowest: Vec<Seen> =
            all.iter().take(count).map(|(_, place)| place.lock().seen()).collect();
        // Another answer may have come to a place meanwhile.
        slowest.sort_by_key(|seen| std::cmp::Reverse(seen.took_us));
        slowest
    }

    /// All that are remembered and came after one, oldest first.
    pub(crate) fn after(&self, number: u64) -> Vec<Seen> {
        let mut all: Vec<Seen> = Vec::new();
        for entry in self.entries() {
            let entry = entry.lock();
            if entry.number > number {
                all.push(entry.seen());
            }
        }
        all.sort_unstable_by_key(|seen| seen.number);
        all
    }
}

impl Entry {
    fn seen(&self) -> Seen {
        Seen {
            number: self.number,
            unix_ms: self.unix_ms,
            method: self.method.read(),
            host: self.host.read(),
            path: self.path.read(),
            route: self.route,
            status: self.status,
            verdict: self.verdict,
            unstored: self.unstored,
            bytes: self.bytes,
            took_us: self.took_us,
            phases: self.phases,
        }
    }
}
