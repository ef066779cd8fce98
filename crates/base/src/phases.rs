//! Phases: what the time went into that a request took.
//!
//! One value goes with a request, is added to by whoever carries it, and is read when the
//! answer is out. What a request did twice (a second server, a second fetch) adds up, and
//! counts as begun when it was done first.
//! Invariant: a phase that a request did not go through is not there, rather than zero.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

/// A part of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// From the request's head to the word that it can't be answered from memory.
    LookUp,
    /// Waiting for somebody else's fetch of the same page.
    Flight,
    /// Waiting for a place at the origin.
    Queue,
    /// Getting a connection to it.
    Connect,
    /// From the request's first byte to the head of its answer.
    FirstByte,
    /// From there to the end of the origin's body; a slow visitor holds it up.
    Body,
    /// From when the answer's head was ready to the last byte of it that was handed on;
    /// where a body is sent as it comes it runs beside `Body`.
    Write,
}

impl Phase {
    /// How many there are.
    pub const COUNT: usize = 7;

    /// All of them, in the order in which a request goes through them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::LookUp,
        Self::Flight,
        Self::Queue,
        Self::Connect,
        Self::FirstByte,
        Self::Body,
        Self::Write,
    ];

    /// One word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::LookUp => "lookup",
            Self::Flight => "flight",
            Self::Queue => "queue",
            Self::Connect => "connect",
            Self::FirstByte => "origin",
            Self::Body => "body",
            Self::Write => "write",
        }
    }
}

/// The phases of one request, in microseconds.
#[derive(Debug)]
pub struct Phases {
    /// When the request's head was whole.
    start: Instant,
    spent: [AtomicU64; Phase::COUNT],
    began: [AtomicU64; Phase::COUNT],
}

impl Default for Phases {
    fn default() -> Self {
        Self::since(Instant::now())
    }
}

impl Phases {
    /// Of a request whose head was whole then.
    #[must_use]
    pub fn since(start: Instant) -> Self {
        Self { start, spent: Default::default(), began: Default::default() }
    }

    /// Adds to a phase, which began so long after the request; one that was gone through takes
    /// a microsecond at least.
    pub fn add(&self, phase: Phase, began_us: u64, microseconds: u64) {
        let before = self.spent[phase as usize].fetch_add(microseconds.max(1), Ordering::Relaxed);
        if before == 0 {
            self.began[phase as usize].store(began_us, Ordering::Relaxed);
        }
    }

    /// Adds to a phase what has gone by since it began.
    pub fn add_since(&self, phase: Phase, began: Instant) {
        let began_us = began.saturating_duration_since(self.start).as_micros() as u64;
        self.add(phase, began_us, began.elapsed().as_micros() as u64);
    }

    /// A phase's time; none if the request did not go through it, or not yet to its end.
    #[must_use]
    pub fn read(&self, phase: Phase) -> Option<u64> {
        Some(self.spent[phase as usize].load(Ordering::Relaxed)).filter(|time| *time > 0)
    }

    /// Each phase's time, and zero for one that the request did not go through.
    #[must_use]
    pub fn all(&self) -> [u64; Phase::COUNT] {
        Phase::ALL.map(|phase| self.read(phase).unwrap_or_default())
    }

    /// How long after the request each phase began; zero too for one that it did not go through.
    #[must_use]
    pub fn begins(&self) -> [u64; Phase::COUNT] {
        self.began.each_ref().map(|time| time.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_and_one_that_was_not_gone_through_is_not_there() {
        let phases = Phases::default();
        for (phase, time) in [(Phase::Queue, 0), (Phase::FirstByte, 70), (Phase::FirstByte, 5)] {
            phases.add(phase, 1000 + time, time);
        }
        assert_eq!(phases.read(Phase::Queue), Some(1), "no time, but it was there");
        assert_eq!(phases.read(Phase::FirstByte), Some(75));
        assert_eq!(phases.read(Phase::Connect), None);
        assert_eq!(phases.all().iter().sum::<u64>(), 76);
        let begins = phases.begins();
        assert_eq!(begins[Phase::FirstByte as usize], 1070, "when it was done first");
        assert_eq!(begins[Phase::Queue as usize], 1000);
    }

    #[test]
    fn each_phase_stands_at_its_place_and_has_a_word_of_its_own() {
        for (at, phase) in Phase::ALL.iter().enumerate() {
            assert_eq!(*phase as usize, at);
            let same = Phase::ALL.iter().filter(|other| other.word() == phase.word());
            assert_eq!(same.count(), 1, "{phase:?}");
        }
    }
}
