//! Bursts: probes of one address, one after the other, while nobody else asks.

use std::collections::BTreeSet;

use super::{Persona, TAIL};
use crate::Signature;

/// How long a burst may last.
const BURST_MAX: u64 = 10_000;
/// The fewest probes that prove something, and the most that are counted.
const PROBES_MIN: usize = 3;
const PROBES_MAX: usize = 8;

/// A burst that is going on.
#[derive(Debug)]
pub(super) struct Burst {
    url: String,
    pub(super) class: String,
    began_at: u64,
    /// Whether nobody else asked for anything.
    is_alone: bool,
    is_running: bool,
    ended_at: u64,
    /// When something was last seen.
    seen_at: u64,
    pub(super) probes: Vec<Probe>,
}

/// One probe, and the kinds of change that were seen during it.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) persona: Persona,
    pub(super) seen: BTreeSet<Signature>,
}

impl Probe {
    fn new(persona: Persona) -> Self {
        Self { persona, seen: BTreeSet::new() }
    }
}

impl Burst {
    pub(super) fn new(url: &str, class: &str, persona: Persona, at: u64, is_alone: bool) -> Self {
        Self {
            url: url.to_owned(),
            class: class.to_owned(),
            began_at: at,
            is_alone,
            is_running: true,
            ended_at: at,
            seen_at: at,
            probes: vec![Probe::new(persona)],
        }
    }

    /// Takes one more probe, if it belongs to this burst.
    pub(super) fn goes_on(&mut self, url: &str, persona: Persona, at: u64) -> bool {
        let is_next = !self.is_running
            && self.url == url
            && at <= self.began_at.saturating_add(BURST_MAX)
            && self.probes.len() < PROBES_MAX
            && self.probes.last().is_some_and(|last| last.persona != persona);
        if is_next {
            self.is_running = true;
            self.probes.push(Probe::new(persona));
        }
        is_next
    }

    pub(super) fn probe_ended(&mut self, at: u64) {
        self.is_running = false;
        self.ended_at = at;
    }

    pub(super) fn saw(&mut self, signature: &Signature, at: u64) {
        self.seen_at = at;
        if let Some(probe) = self.probes.last_mut() {
            probe.seen.insert(signature.clone());
        }
    }

    /// Whether nothing that is seen from now on can be its doing.
    pub(super) fn is_over(&self, at: u64) -> bool {
        !self.is_running && at > self.ended_at.saturating_add(TAIL)
    }

    /// Whether no probe is under way.
    pub(super) fn is_resting(&self) -> bool {
        !self.is_running
    }

    /// From when on it was made, and until when something was seen of it.
    pub(super) fn span(&self) -> (u64, u64) {
        (self.began_at, self.ended_at.max(self.seen_at))
    }

    /// Whether it proves something.
    pub(super) fn counts(&self) -> bool {
        self.is_alone && !self.is_running && self.probes.len() >= PROBES_MIN
    }
}
