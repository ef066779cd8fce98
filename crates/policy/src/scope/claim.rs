//! Claims: that batches of one kind leave pages of one shape as they are, but for those that
//! they name; with what speaks for each.

use std::collections::BTreeSet;

use super::batch::Batch;
use super::ledger::Keeps;
use super::proofs::{Demands, Outcome};
use super::route::{Route, Spelled};

/// Columns and values of an address that may belong together.
pub(super) const CANDIDATES_MAX: usize = 16;
/// Of what is kept one page in so many is swept all the same at first, and later.
const ONE_IN_FIRST: u64 = 16;
const ONE_IN_LAST: u64 = 64;
/// After so many pages that were found the same, half as many are looked at.
const CHECKS_EACH: u64 = 64;

/// That batches of one kind leave pages of one shape as they are, but for those they name.
#[derive(Debug, Default)]
pub(super) struct Claim {
    pub(super) shape: u64,
    pub(super) candidates: Vec<Candidate>,
    pub(super) state: State,
    /// Batches after which it has to hold before it counts again.
    pub(super) again: u32,
    /// Pages that were kept, swept all the same, and found the same.
    pub(super) checks: u64,
    pub(super) used: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Open,
    Proved,
    /// Refuted before it was proved.
    Failed,
    /// Refuted after it was.
    Refuted,
}

/// A column whose values stand at one place of an address.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    pub(super) column: String,
    pub(super) place: usize,
    pub(super) place_name: String,
    pub(super) batches: u32,
    pub(super) same: u32,
    /// A bit for each of 64 kinds of page that were compared.
    pub(super) pages: u64,
    pub(super) changed: u32,
    /// The last batches that were counted.
    pub(super) last_same: u64,
    pub(super) last_changed: u64,
}

impl Claim {
    /// Whether nothing will ever come of it.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Failed | State::Refuted)
    }

    /// Which pages a batch keeps, if it is proved for all that it changed.
    pub(super) fn keeps(&self, batch: &Batch) -> Option<Keeps> {
        if self.state != State::Proved || self.again > 0 {
            return None;
        }
        let swept = |one: &Candidate| Some((one.place, batch.values(&one.column)?.clone()));
        let swept: Vec<(usize, BTreeSet<u64>)> =
            self.candidates.iter().map(swept).collect::<Option<_>>()?;
        let is_some = swept.iter().any(|(_, values)| !values.is_empty());
        let doublings = u32::try_from(self.checks / CHECKS_EACH).unwrap_or(u32::MAX);
        let one_in = ONE_IN_FIRST << doublings.min(8);
        is_some.then_some(Keeps { shape: self.shape, swept, one_in: one_in.min(ONE_IN_LAST) })
    }

    pub(super) fn refute(&mut self, kind: &str, spelled: &Spelled) -> Outcome {
        let was_proved = self.state == State::Proved;
        self.candidates = Vec::new();
        if self.is_over() {
            return Outcome::Nothing;
        }
        self.state = if was_proved { State::Refuted } else { State::Failed };
        match was_proved {
            true => Outcome::Refuted { kind: kind.to_owned(), shape: spelled.shape.clone() },
            false => Outcome::Nothing,
        }
    }

    pub(super) fn told(&self, kind: &str, demands: &Demands) -> String {
        let named = |one: &Candidate| format!("{} is {}", one.place_name, one.column);
        let columns: Vec<String> = self.candidates.iter().map(named).collect();
        let columns = columns.join(", or ");
        match self.state {
            State::Proved if self.again > 0 => format!(
                "{kind}: was proved ({columns}), and has to hold {} more times before it counts",
                self.again
            ),
            State::Proved => format!("{kind}: sweeps only those of which {columns}; proved"),
            State::Refuted => format!("{kind}: sweeps all of them; the opposite was refuted"),
            State::Failed => format!("{kind}: sweeps all of them; others changed as well"),
            State::Open if columns.is_empty() => format!("{kind}: sweeps all of them so far"),
            State::Open => {
                let most = self.candidates.iter().max_by_key(|one| one.batches);
                let (batches, changed) = most.map_or((0, 0), |one| (one.batches, one.changed));
                format!(
                    "{kind}: sweeps all of them so far; it may be that {columns}, seen \
                     {batches} times of {}, with a change {changed} of {}",
                    demands.batches, demands.changed
                )
            }
        }
    }
}

impl Candidate {
    pub(super) fn meets(&self, demands: &Demands) -> bool {
        self.batches >= demands.batches
            && self.same >= demands.same
            && self.pages.count_ones() >= demands.pages
            && self.changed >= demands.changed
    }

    pub(super) fn value(&self, route: &Route) -> u64 {
        route.values.get(self.place).copied().unwrap_or(0)
    }

    /// Whether the batch names the page.
    pub(super) fn explains(&self, batch: &Batch, route: &Route) -> bool {
        batch.holds(&self.column, self.value(route)) == Some(true)
    }

    /// Whether it names it, or what it names isn't known.
    pub(super) fn may_explain(&self, batch: &Batch, route: &Route) -> bool {
        self.value(route) == 0 || batch.holds(&self.column, self.value(route)) != Some(false)
    }
}

/// All columns of a batch that hold a value of an address.
pub(super) fn candidates(batch: &Batch, spelled: &Spelled, route: &Route) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (place, (value, (name, _))) in route.values.iter().zip(&spelled.values).enumerate() {
        if *value == 0 {
            continue;
        }
        for column in batch.holding(*value) {
            let (column, place_name) = (column.to_owned(), name.clone());
            found.push(Candidate { column, place, place_name, ..Candidate::default() });
        }
    }
    found.truncate(CANDIDATES_MAX);
    found
}
