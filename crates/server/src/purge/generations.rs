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
//! 3. where there is a disk, both also hold for the process after this one.
//! Bounds: those of the [`Book`]; past them more is purged than was asked for, and that is
//! counted.
//! Start at [`Generations::standing`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Counter;
use parking_lot::RwLock;
use policy::purge::Mode;
use store::Key;

pub(crate) use super::book::Ban;
use super::book::{Banned, Book, MARKED_MAX};
use super::marks::{Marks, without_port};
use crate::disk::past::{Event, Ledger, Past};

/// The invalidations of one site.
pub(crate) struct Generations {
    /// How many there were of any kind.
    fence: AtomicU64,
    /// How many of them were writes or changes: what strangers share is made anew after each.
    content: AtomicU64,
    /// How many of these were changes that come with any reading, as far as is known.
    usual: AtomicU64,
    /// Set while what was changed may not be visible to all yet: nothing is stored then.
    settling: AtomicBool,
    /// Twice the number of the last one that pages must be held against.
    alarm: AtomicU64,
    book: RwLock<Book>,
    marked_max: usize,
    /// What this run counts from: all that earlier ones counted is less.
    base: u64,
    /// Of pages from earlier runs those are current that bear at least this content.
    content_before: AtomicU64,
    /// Where what is counted is kept for the next run.
    ledger: Option<Ledger>,
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

impl Default for Generations {
    fn default() -> Self {
        Self::with_room(MARKED_MAX)
    }
}

impl Generations {
    /// Of a site that is there from the start: it counts from `base`.
    pub(crate) fn beginning_at(base: u64, ledger: Option<Ledger>) -> Self {
        Self {
            fence: AtomicU64::new(base),
            content: AtomicU64::new(base),
            base,
            content_before: AtomicU64::new(u64::MAX),
            ledger,
            ..Self::default()
        }
    }

    /// Of a site before which others may have stored pages: whatever was counted below
    /// `first` is gone.
    pub(crate) fn from(first: u64, ledger: Option<Ledger>) -> Self {
        let generations = Self::beginning_at(first, ledger);
        if first > 0 {
            generations.purge_all(Mode::Hard);
        }
        generations
    }

    fn with_room(marked_max: usize) -> Self {
        Self {
            fence: AtomicU64::new(0),
            content: AtomicU64::new(0),
            usual: AtomicU64::new(0),
            settling: AtomicBool::new(false),
            alarm: AtomicU64::new(0),
            book: RwLock::default(),
            marked_max,
            base: 0,
            content_before: AtomicU64::new(u64::MAX),
            ledger: None,
            widened: Counter::default(),
        }
    }

    /// Takes over what earlier runs told; pages of theirs may be found from then on. Of a site
    /// that is `followed`, or was, nothing of theirs is fresh.
    pub(crate) fn adopt(&self, mut past: Past, followed: bool) {
        let mut book = self.book.write();
        if followed || past.was_followed {
            past.book.changed = self.base;
        } else {
            self.content_before.store(past.content, Ordering::SeqCst);
        }
        book.take_in(past.book, self.marked_max);
        // What comes from there has to be held against the book once.
        self.alarm.fetch_max(self.base * 2, Ordering::SeqCst);
    }

    /// What a page of an earlier run that bears this content bears in this one.
    pub(crate) fn content_since(&self, content: u64) -> u64 {
        match content {
            own if own >= self.base => own,
            current if current >= self.content_before.load(Ordering::SeqCst) => self.base,
            _ => 0,
        }
    }

    /// Keeps something else for the next run.
    pub(crate) fn tell(&self, event: &Event) {
        if let Some(ledger) = &self.ledger {
            ledger.tell(event);
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

    /// So many of the changes that were counted come with any reading.
    pub(crate) fn note_usual(&self, changes: u64) {
        self.usual.fetch_add(changes, Ordering::SeqCst);
    }

    /// The number of changes that come with any reading.
    pub(crate) fn usual(&self) -> u64 {
        self.usual.load(Ordering::SeqCst)
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
        self.tell(&Event::Wrote(content));
        content
    }

    /// Counts a change that was heard of behind our back: nothing that was made before it is
    /// fresh any more. The count of content after it.
    pub(crate) fn note_change(&self) -> u64 {
        let content = self.content.fetch_add(1, Ordering::SeqCst) + 1;
        // Not told: the next run takes it that something has changed.
        self.purge(|book, generation| {
            book.changed = generation;
            None
        });
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
        let marks: Vec<u64> = marks.collect();
        self.purge(|book, generation| {
            if !book.purge_marked(generation, &marks, mode, self.marked_max) {
                self.widened.bump();
                return Some(Event::whole(generation, Mode::Hard));
            }
            Some(Event::Marked { generation, soft: mode == Mode::Soft, marks })
        });
    }

    /// Purges what a beginning or a pattern is found in.
    pub(crate) fn purge_banned(&self, host: Option<&str>, ban: Ban, mode: Mode) {
        self.purge(|book, generation| {
            let host = host.map(|host| without_port(host).to_owned());
            let banned = Banned { generation, mode, host, ban };
            let event = Event::banned(&banned);
            if !book.ban(banned) {
                self.widened.bump();
            }
            Some(event)
        });
    }

    /// Purges all that is stored for the site.
    pub(crate) fn purge_all(&self, mode: Mode) {
        self.purge(|book, generation| {
            book.purge_all(generation, mode);
            Some(Event::whole(generation, mode))
        });
    }

    /// Enters a purge, and tells it before it is answered.
    fn purge(&self, enter: impl FnOnce(&mut Book, u64) -> Option<Event>) {
        let mut book = self.book.write();
        let generation = self.fence.fetch_add(1, Ordering::SeqCst) + 1;
        let event = enter(&mut book, generation);
        self.alarm.store(generation * 2, Ordering::SeqCst);
        drop(book);
        if let Some(event) = event {
            self.tell(&event);
        }
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
        let held = self.book.read().hold(marks, key.hash, key.text);
        if held.is_gone {
            return Standing::Gone;
        }
        if held.is_swept {
            marks.sweep();
        }
        if held.is_softened {
            marks.soften(ticks_ms);
        }
        marks.note_checked(alarm);
        marks.standing()
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod orders_tests;
#[cfg(test)]
#[path = "generations_tests.rs"]
mod tests;
