//! Generations: how a purge reaches every page at once without visiting any.
//!
//! A site counts its invalidations. A page bears the count at the start of its fetch, and a
//! purge is one number kept under what it names: a page, a tag, a host, or the whole site. A
//! page that is older than the number of anything that it is found under isn't there any
//! more, and leaves the store when it is next looked up. That is looked into only when
//! something was purged since the page was last held against it: a hit costs one load and
//! one comparison.
//!
//! Invariants: 1. numbers are given out and published under one lock, so that who sees one
//! sees all before it. 2. once a purge has returned, no thread finds what it made unusable,
//! nor stores what was being fetched meanwhile.
//! Bounds: [`MARKED_MAX`] names, [`BANS_MAX`] beginnings and patterns. Past either more is
//! purged than was asked for, and that is counted.
//! Start at [`Generations::standing`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Counter;
use parking_lot::RwLock;
use policy::purge::{Mode, UrlPattern};
use store::Key;

use super::marks::{Marks, host_of, without_port};

/// Pages, tags and hosts that were purged by name.
const MARKED_MAX: usize = 1_000_000;
/// Beginnings and patterns: each is tried on every page that is looked up after it.
const BANS_MAX: usize = 64;

/// The invalidations of one site.
pub(crate) struct Generations {
    /// How many there were of any kind.
    fence: AtomicU64,
    /// How many of them were writes or changes: what strangers share is made anew after each.
    content: AtomicU64,
    /// Set while what was changed may not be visible to all yet: nothing is stored then.
    settling: AtomicBool,
    /// Twice the number of the last one that pages must be held against.
    alarm: AtomicU64,
    book: RwLock<Book>,
    marked_max: usize,
    /// Purges that took more than was asked for, for want of room.
    pub(crate) widened: Counter,
}

/// A moment in the life of a site; taken before a fetch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) fence: u64,
    pub(crate) content: u64,
}

/// How a page stands after all that was purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Good,
    /// A soft purge made it stale; it was noticed then.
    Softened {
        since_ticks_ms: u64,
    },
    /// Something that it may show has changed since it was made.
    Swept,
    /// It isn't there any more.
    Gone,
}

/// A beginning or a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ban {
    Exactly(String),
    Beginning(String),
    Pattern(UrlPattern),
}

#[derive(Default)]
struct Book {
    whole: Purged,
    /// The number of the last change that was heard of.
    changed: u64,
    marked: HashMap<u64, Purged, BuildHasherDefault<AsItIs>>,
    bans: Vec<Banned>,
}

/// The numbers of the last purges of something.
#[derive(Clone, Copy, Default)]
struct Purged {
    hard: u64,
    soft: u64,
}

struct Banned {
    generation: u64,
    mode: Mode,
    /// None: any.
    host: Option<String>,
    ban: Ban,
}

impl Default for Generations {
    fn default() -> Self {
        Self::with_room(MARKED_MAX)
    }
}

impl Generations {
    /// Of a site before which others may have stored pages: whatever was counted below
    /// `first` is gone.
    pub(crate) fn from(first: u64) -> Self {
        let generations = Self {
            fence: AtomicU64::new(first),
            content: AtomicU64::new(first),
            ..Self::default()
        };
        if first > 0 {
            generations.purge_all(Mode::Hard);
        }
        generations
    }

    fn with_room(marked_max: usize) -> Self {
        Self {
            fence: AtomicU64::new(0),
            content: AtomicU64::new(0),
            settling: AtomicBool::new(false),
            alarm: AtomicU64::new(0),
            book: RwLock::default(),
            marked_max,
            widened: Counter::default(),
        }
    }

    /// The number of invalidations so far.
    pub(crate) fn fence(&self) -> u64 {
        self.fence.load(Ordering::SeqCst)
    }

    /// The number of writes so far.
    pub(crate) fn content(&self) -> u64 {
        self.content.load(Ordering::SeqCst)
    }

    /// Both; take it before a fetch begins.
    pub(crate) fn moment(&self) -> Moment {
        // A write moves the content first: who sees it unmoved began before it.
        let fence = self.fence();
        Moment { fence, content: self.content() }
    }

    /// Counts a write; call it before what it made stale is removed from the store. The count
    /// of content after it.
    pub(crate) fn note_write(&self) -> u64 {
        let content = self.content.fetch_add(1, Ordering::SeqCst) + 1;
        self.fence.fetch_add(1, Ordering::SeqCst);
        content
    }

    /// Counts a change that was heard of behind our back: nothing that was made before it is
    /// fresh any more. The count of content after it.
    pub(crate) fn note_change(&self) -> u64 {
        let content = self.content.fetch_add(1, Ordering::SeqCst) + 1;
        self.purge(|book, generation| book.changed = generation);
        content
    }

    /// From now on until [`Self::settle`] nothing is to be stored; call it before the change
    /// is noted.
    pub(crate) fn unsettle(&self) {
        self.settling.store(true, Ordering::SeqCst);
    }

    /// What was changed is visible to all; call it after the change was noted once more.
    pub(crate) fn settle(&self) {
        self.settling.store(false, Ordering::SeqCst);
    }

    /// Whether what was changed may not be visible to all yet.
    pub(crate) fn is_settling(&self) -> bool {
        self.settling.load(Ordering::SeqCst)
    }

    /// Whether a page whose fetch began then may be stored now.
    pub(crate) fn may_store(&self, began: Moment) -> bool {
        // A fetch from before the end of the settling is told by the count, whichever is read
        // first: the mark is for those whose count is the newest.
        !self.is_settling() && self.content() == began.content
    }

    /// Purges what bears any of these marks.
    pub(crate) fn purge_marked(&self, marks: impl Iterator<Item = u64>, mode: Mode) {
        self.purge(|book, generation| {
            for mark in marks {
                if book.marked.len() >= self.marked_max && !book.marked.contains_key(&mark) {
                    self.widened.bump();
                    book.purge_all(generation, Mode::Hard);
                    return;
                }
                book.marked.entry(mark).or_default().note(generation, mode);
            }
        });
    }

    /// Purges what a beginning or a pattern is found in.
    pub(crate) fn purge_banned(&self, host: Option<&str>, ban: Ban, mode: Mode) {
        self.purge(|book, generation| {
            let host = host.map(|host| without_port(host).to_owned());
            book.bans.retain(|old| old.ban != ban || old.host != host || old.mode != mode);
            if book.bans.len() >= BANS_MAX {
                self.widened.bump();
                let oldest = book.bans.remove(0);
                book.whole.note(oldest.generation, oldest.mode);
            }
            book.bans.push(Banned { generation, mode, host, ban });
        });
    }

    /// Purges all that is stored for the site.
    pub(crate) fn purge_all(&self, mode: Mode) {
        self.purge(|book, generation| book.purge_all(generation, mode));
    }

    fn purge(&self, enter: impl FnOnce(&mut Book, u64)) {
        let mut book = self.book.write();
        let generation = self.fence.fetch_add(1, Ordering::SeqCst) + 1;
        enter(&mut book, generation);
        self.alarm.store(generation * 2, Ordering::SeqCst);
    }

    /// How a page stands that was found under this key.
    pub(crate) fn standing(&self, marks: &Marks, key: &Key<'_>, ticks_ms: u64) -> Standing {
        let alarm = self.alarm.load(Ordering::SeqCst);
        match marks.is_good_since(alarm) {
            true => Standing::Good,
            false => self.hold_against(marks, key, ticks_ms, alarm),
        }
    }

    /// The longer way: `alarm` was read before the book, so that what comes meanwhile is
    /// looked into the next time.
    #[cold]
    fn hold_against(&self, marks: &Marks, key: &Key<'_>, ticks_ms: u64, alarm: u64) -> Standing {
        if marks.was_checked_since(alarm) {
            return marks.standing();
        }
        let born = marks.born;
        let book = self.book.read();
        let mut is_softened = book.whole.soft > born;
        let is_swept = book.changed > born && !marks.is_by_content;
        if book.whole.hard > born {
            return Standing::Gone;
        }
        if !book.marked.is_empty() {
            for mark in marks.all().chain([key.hash]) {
                let Some(purged) = book.marked.get(&mark) else { continue };
                if purged.hard > born {
                    return Standing::Gone;
                }
                is_softened |= purged.soft > born;
            }
        }
        let since = born.max(marks.checked_generation());
        for banned in book.bans.iter().filter(|banned| banned.generation > since) {
            if banned.is_found_in(key.text) {
                match banned.mode {
                    Mode::Hard => return Standing::Gone,
                    Mode::Soft => is_softened = true,
                }
            }
        }
        drop(book);
        if is_swept {
            marks.sweep();
        }
        if is_softened {
            marks.soften(ticks_ms);
        }
        marks.note_checked(alarm);
        marks.standing()
    }
}

impl Book {
    fn purge_all(&mut self, generation: u64, mode: Mode) {
        self.whole.note(generation, mode);
        if mode == Mode::Hard {
            // All of these are older.
            self.marked = HashMap::default();
            self.bans.clear();
        }
    }
}

impl Purged {
    fn note(&mut self, generation: u64, mode: Mode) {
        let last = match mode {
            Mode::Hard => &mut self.hard,
            Mode::Soft => &mut self.soft,
        };
        *last = generation.max(*last);
    }
}

impl Banned {
    /// The key is `scheme|host|target`.
    fn is_found_in(&self, key: &[u8]) -> bool {
        let Some((host, target)) = host_of(key) else { return true };
        self.host.as_ref().is_none_or(|own| own.as_bytes() == host)
            && match &self.ban {
                Ban::Exactly(whole) => whole.as_bytes() == target,
                Ban::Beginning(beginning) => target.starts_with(beginning.as_bytes()),
                Ban::Pattern(pattern) => pattern.is_found_in(target),
            }
    }
}

/// Marks are hashes already, of a seed that nobody knows.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Never called: the keys are whole numbers. It must be right all the same.
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod orders_tests;
#[cfg(test)]
#[path = "generations_tests.rs"]
mod tests;
