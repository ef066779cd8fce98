//! Hearers: the feeds that a tap tells, and what they can be told.
//!
//! Invariant: a feed is told "recovered" only while every conversation can be read, unless it
//! can do without.

use std::sync::Arc;

use parking_lot::Mutex;

use super::conversation::Counts;
use super::judge::Judge;
use crate::queue::Inlet;
use crate::{Change, Event, Lost};

/// All feeds of one tap.
#[derive(Default)]
pub(super) struct Hearers(Mutex<State>);

#[derive(Default)]
struct State {
    hearers: Vec<Hearer>,
    next: u64,
    /// Conversations that can't be read.
    unread: usize,
    is_closed: bool,
    counts: Counts,
}

struct Hearer {
    number: u64,
    inlet: Inlet,
    database: Box<str>,
    /// One that also asks the server which tables changed.
    judge: Option<Arc<Mutex<Judge>>>,
}

/// A feed's place among them; dropping it leaves.
pub(super) struct Place<'a> {
    hearers: &'a Hearers,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.hearers.0.lock().hearers.retain(|hearer| hearer.number != self.number);
    }
}

impl Hearers {
    /// Joins, and tells whether all is heard from now on. None: the tap is gone.
    pub(super) fn join(
        &self,
        inlet: &Inlet,
        database: &str,
        judge: Option<Arc<Mutex<Judge>>>,
    ) -> Option<Place<'_>> {
        let mut state = self.0.lock();
        if state.is_closed {
            return None;
        }
        let number = state.next;
        state.next += 1;
        let hearer = Hearer { number, inlet: inlet.clone(), database: database.into(), judge };
        hearer.inlet.tell(match hearer.judge.is_none() && state.unread > 0 {
            true => Event::Lost(Lost::Unreadable),
            false => Event::Recovered,
        });
        state.hearers.push(hearer);
        Some(Place { hearers: self, number })
    }

    /// Tells what changed, as one that belongs together.
    pub(super) fn tell(&self, changes: &[Change]) {
        for hearer in &self.0.lock().hearers {
            let mine = changes.iter().filter(|change| hearer.concerns(change));
            let mut has_told = false;
            for change in mine {
                if let Some(judge) = &hearer.judge {
                    judge.lock().told(change);
                }
                hearer.inlet.tell(Event::Change(change.clone()));
                has_told = true;
            }
            if has_told {
                hearer.inlet.tell(Event::Commit(None));
            }
        }
    }

    /// A conversation can't be read from now on.
    pub(super) fn lose(&self) {
        let mut state = self.0.lock();
        state.unread += 1;
        if state.unread == 1 {
            state.tell_lone(&Event::Lost(Lost::Unreadable));
        }
    }

    /// One that couldn't be read is over.
    pub(super) fn regain(&self) {
        let mut state = self.0.lock();
        state.unread = state.unread.saturating_sub(1);
        if state.unread == 0 {
            state.tell_lone(&Event::Recovered);
        }
    }

    /// Something may have gone unheard.
    pub(super) fn slip(&self) {
        self.lose();
        self.0.lock().counts.unsure += 1;
        self.tell(&[Change::anything("", "")]);
        self.regain();
    }

    /// The tap is gone.
    pub(super) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        for hearer in &state.hearers {
            hearer.inlet.tell(Event::Lost(Lost::Disconnected));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }

    /// A conversation's count went on from `before` to `now`.
    pub(super) fn count(&self, before: Counts, now: Counts) {
        let mut state = self.0.lock();
        let counts = &mut state.counts;
        let step = |sum: u64, before, now: u64| sum.wrapping_add(now.wrapping_sub(before));
        counts.begun = step(counts.begun, before.begun, now.begun);
        counts.ended = step(counts.ended, before.ended, now.ended);
        counts.unsure = step(counts.unsure, before.unsure, now.unsure);
    }

    /// The count of all conversations, and how many of them can't be read.
    pub(super) fn counts(&self) -> (Counts, usize) {
        let state = self.0.lock();
        (state.counts, state.unread)
    }
}

impl State {
    fn tell_lone(&self, event: &Event) {
        let lone = self.hearers.iter().filter(|hearer| hearer.judge.is_none());
        lone.for_each(|hearer| hearer.inlet.tell(event.clone()));
    }
}

impl Hearer {
    /// What has no database may be of any.
    fn concerns(&self, change: &Change) -> bool {
        let of = &change.database;
        of.is_empty() || self.database.is_empty() || of.eq_ignore_ascii_case(&self.database)
    }
}
