//! Phases: what the time went into that a request took.
//!
//! One value goes with a request, is added to by whoever carries it, and is read when the
//! answer is out. What a request did twice (a second server, a second fetch) adds up.
//! Invariant: a phase that a request did not go through is not there, rather than zero.

use std::sync::atomic::{AtomicU64, Ordering};

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
#[derive(Debug, Default)]
pub struct Phases([AtomicU64; Phase::COUNT]);

impl Phases {
    /// Adds to a phase; one that was gone through takes a microsecond at least.
    pub fn add(&self, phase: Phase, microseconds: u64) {
        self.0[phase as usize].fetch_add(microseconds.max(1), Ordering::Relaxed);
    }

    /// A phase's time; none if the request did not go through it, or not yet to its end.
    #[must_use]
    pub fn read(&self, phase: Phase) -> Option<u64> {
        Some(self.0[phase as usize].load(Ordering::Relaxed)).filter(|time| *time > 0)
    }

    /// Each phase's time, and zero for one that the request did not go through.
    #[must_use]
    pub fn all(&self) -> [u64; Phase::COUNT] {
        Phase::ALL.map(|phase| self.read(phase).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_and_one_that_was_not_gone_through_is_not_there() {
        let phases = Phases::default();
        for (phase, time) in [(Phase::Queue, 0), (Phase::FirstByte, 70), (Phase::FirstByte, 5)] {
            phases.add(phase, time);
        }
        assert_eq!(phases.read(Phase::Queue), Some(1), "no time, but it was there");
        assert_eq!(phases.read(Phase::FirstByte), Some(75));
        assert_eq!(phases.read(Phase::Connect), None);
        assert_eq!(phases.all().iter().sum::<u64>(), 76);
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
