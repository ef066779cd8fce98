//! Proofs: of which shape only those pages change after a batch of one kind whose address
//! names a changed row.
//!
//! A page that was made anew after a batch is held against what it was. The first that
//! changed shows which columns of the batch hold a value of its address; each later one that
//! changed has to be explained by one of them as well, and none may change that isn't. There
//! is nothing that a proof could be made of where pages change all over: a list of the newest
//! posts on each of them, a counter of all posts.
//! Invariants: 1. a claim that was refuted is never made again, whatever comes. 2. while
//! several columns explain all that was seen, a page is swept that any of them names.
//! Bounds: [`CLAIMS_MAX`] claims, [`CANDIDATES_MAX`] candidates each. With more, what has
//! been seen least lately is forgotten, and later shapes sweep as before.

use std::collections::HashMap;

use super::batch::Batch;
use super::claim::{CANDIDATES_MAX, Candidate, Claim, State, candidates};
use super::ledger::Past;
use super::route::{Route, Spelled};

/// Claims that are kept at one time.
const CLAIMS_MAX: usize = 1024;

/// How much has to be seen before a proof counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demands {
    /// Batches after which pages that they don't name were compared, and were the same.
    pub batches: u32,
    /// Such comparisons.
    pub same: u32,
    /// Different pages among them, as far as 64 places tell.
    pub pages: u32,
    /// Batches after which a page that they name had changed.
    pub changed: u32,
    /// Batches after which it has to hold once more when batches may have been missed.
    pub again: u32,
}

impl Default for Demands {
    fn default() -> Self {
        Self { batches: 20, same: 50, pages: 8, changed: 8, again: 5 }
    }
}

/// What became of a page that was made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It reads as before.
    Same,
    /// It doesn't.
    Changed,
}

/// What followed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that anybody has to know.
    Nothing,
    /// A claim about batches of this kind and pages of this shape has become a proof.
    Proved {
        /// The kind.
        kind: String,
        /// The shape.
        shape: String,
    },
    /// What was proved is not so: pages that were kept may be old. All have to be swept.
    Refuted {
        /// The kind.
        kind: String,
        /// The shape.
        shape: String,
    },
}

/// A claim as it is noted for the next start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptClaim {
    /// The kind of batch.
    pub kind: String,
    /// The shape of pages.
    pub shape: String,
    /// The column, the name of the value's place in the address, and its index.
    pub candidates: Vec<(String, String, usize)>,
    /// It held once, and was refuted.
    pub is_refuted: bool,
}

/// All that was seen of one site.
#[derive(Debug, Default)]
pub struct Proofs {
    demands: Demands,
    claims: HashMap<String, HashMap<String, Claim>>,
    count: usize,
    turn: u64,
}

impl Proofs {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(demands: Demands) -> Self {
        Self { demands, ..Self::default() }
    }

    /// What a batch that is over keeps.
    #[must_use]
    pub fn decide(&mut self, begin: u64, end: u64, batch: Batch) -> Option<Past> {
        let kind = batch.kind()?;
        self.turn += 1;
        let turn = self.turn;
        let claims = self.claims.get_mut(&kind).into_iter().flat_map(HashMap::values_mut);
        let keeps = claims.filter_map(|claim| {
            claim.used = turn;
            claim.keeps(&batch)
        });
        let keeps = keeps.collect();
        Some(Past { begin, end, batch, kind, keeps })
    }

    /// Whether anything can be learned of such a page after these batches.
    #[must_use]
    pub fn wants(&self, past: &[&Past], spelled: &Spelled) -> bool {
        let is_over = |past: &&Past| {
            let claim = self.claims.get(&past.kind).and_then(|of| of.get(&spelled.shape));
            claim.is_some_and(Claim::is_over)
        };
        !past.iter().all(is_over)
    }

    /// A page was made anew that had lived through these batches.
    pub fn observe(
        &mut self,
        past: &[&Past],
        spelled: &Spelled,
        route: &Route,
        seen: Seen,
    ) -> Outcome {
        match (past, seen) {
            ([], _) => Outcome::Nothing,
            (all, Seen::Same) => {
                let outcomes: Vec<Outcome> =
                    all.iter().map(|past| self.note_same(past, spelled, route)).collect();
                let news = outcomes.into_iter().find(|outcome| *outcome != Outcome::Nothing);
                news.unwrap_or(Outcome::Nothing)
            }
            ([one], Seen::Changed) => self.note_changed(one, spelled, route),
            (all, Seen::Changed) => self.note_changed_by_any(all, spelled, route),
        }
    }

    fn claim(&mut self, kind: &str, spelled: &Spelled, route: &Route) -> Option<&mut Claim> {
        self.turn += 1;
        let is_known = self.claims.get(kind).is_some_and(|of| of.contains_key(&spelled.shape));
        if !is_known {
            if self.count >= CLAIMS_MAX && !self.forget_one() {
                return None;
            }
            self.count += 1;
        }
        let of_kind = self.claims.entry(kind.to_owned()).or_default();
        let claim = of_kind.entry(spelled.shape.clone()).or_default();
        (claim.shape, claim.used) = (route.shape, self.turn);
        Some(claim)
    }

    /// Makes room: of what was never proved, what was seen least lately.
    fn forget_one(&mut self) -> bool {
        let claims = self
            .claims
            .iter()
            .flat_map(|(kind, of)| of.iter().map(move |(shape, claim)| (claim, kind, shape)));
        let is_kept = |claim: &Claim| matches!(claim.state, State::Proved | State::Refuted);
        let least =
            claims.filter(|(claim, ..)| !is_kept(claim)).min_by_key(|(claim, ..)| claim.used);
        let Some((kind, shape)) = least.map(|(_, kind, shape)| (kind.clone(), shape.clone()))
        else {
            return false;
        };
        if let Some(of_kind) = self.claims.get_mut(&kind) {
            of_kind.remove(&shape);
            if of_kind.is_empty() {
                self.claims.remove(&kind);
            }
        }
        self.count -= 1;
        true
    }

    fn note_same(&mut self, past: &Past, spelled: &Spelled, route: &Route) -> Outcome {
        let demands = self.demands;
        let Some(claim) = self.claim(&past.kind, spelled, route) else { return Outcome::Nothing };
        if claim.is_over() {
            return Outcome::Nothing;
        }
        if past.keeps.iter().any(|keeps| keeps.shape == route.shape) {
            claim.checks += 1;
        }
        let mut is_one_more = false;
        for candidate in &mut claim.candidates {
            let value = route.values.get(candidate.place).copied().unwrap_or(0);
            if value == 0 || past.batch.holds(&candidate.column, value) != Some(false) {
                continue;
            }
            candidate.same += 1;
            candidate.pages |= 1 << (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
            if past.end > candidate.last_same {
                candidate.last_same = past.end;
                candidate.batches += 1;
                is_one_more = true;
            }
        }
        if is_one_more {
            claim.again = claim.again.saturating_sub(1);
        }
        let is_proved = claim.candidates.iter().any(|candidate| candidate.meets(&demands));
        if claim.state != State::Open || !is_proved {
            return Outcome::Nothing;
        }
        claim.state = State::Proved;
        Outcome::Proved { kind: past.kind.clone(), shape: spelled.shape.clone() }
    }

    fn note_changed(&mut self, past: &Past, spelled: &Spelled, route: &Route) -> Outcome {
        let Some(claim) = self.claim(&past.kind, spelled, route) else { return Outcome::Nothing };
        if claim.is_over() {
            return Outcome::Nothing;
        }
        if claim.state == State::Open && claim.candidates.is_empty() {
            claim.candidates = candidates(&past.batch, spelled, route);
        } else {
            claim.candidates.retain(|candidate| candidate.may_explain(&past.batch, route));
        }
        for candidate in &mut claim.candidates {
            if past.end > candidate.last_changed && candidate.explains(&past.batch, route) {
                candidate.last_changed = past.end;
                candidate.changed += 1;
            }
        }
        match claim.candidates.is_empty() {
            true => claim.refute(&past.kind, spelled),
            false => Outcome::Nothing,
        }
    }

    /// One of several batches changed the page, and nobody knows which. If all of them are of
    /// one kind, that has to explain it; if all of them kept it, none of them was right.
    fn note_changed_by_any(&mut self, all: &[&Past], spelled: &Spelled, route: &Route) -> Outcome {
        let keeps = |past: &&Past| past.keeps.iter().any(|keeps| keeps.shape == route.shape);
        let is_one_kind = all.iter().all(|past| past.kind == all[0].kind);
        if !is_one_kind && !all.iter().all(keeps) {
            return Outcome::Nothing;
        }
        let mut is_explained = false;
        for past in all {
            let claim = self.claims.get(&past.kind).and_then(|of| of.get(&spelled.shape));
            // What has no candidate yet can't be held against anything.
            is_explained |= claim.is_none_or(|claim| {
                claim.candidates.is_empty()
                    || claim.candidates.iter().any(|one| one.may_explain(&past.batch, route))
            });
        }
        if is_explained {
            return Outcome::Nothing;
        }
        let mut outcome = Outcome::Nothing;
        for past in all {
            let Some(claim) = self.claim(&past.kind, spelled, route) else { continue };
            if let refuted @ Outcome::Refuted { .. } = claim.refute(&past.kind, spelled) {
                outcome = refuted;
            }
        }
        outcome
    }

    /// Batches may have been missed, or an app may be another than it was: what was proved has
    /// to hold some more times before it counts again.
    pub fn doubt(&mut self) {
        let again = self.demands.again;
        self.each_mut().for_each(|claim| claim.again = again);
    }

    /// Forgets everything but what was refuted: the app, or its tables, are others now.
    pub fn forget(&mut self) {
        self.each_mut().for_each(|claim| {
            if claim.state != State::Refuted {
                *claim = Claim { shape: claim.shape, ..Claim::default() };
            }
        });
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Claim> {
        self.claims.values_mut().flat_map(HashMap::values_mut)
    }

    /// What is known about pages of this shape, in words.
    pub fn tell(&self, shape: &str) -> impl Iterator<Item = String> {
        let of_shape = |(kind, of): (&String, &HashMap<String, Claim>)| {
            Some(of.get(shape)?.told(kind, &self.demands))
        };
        let mut told: Vec<String> = self.claims.iter().filter_map(of_shape).collect();
        told.sort_unstable();
        told.into_iter()
    }

    /// How many claims are proved.
    #[must_use]
    pub fn proved(&self) -> usize {
        let claims = self.claims.values().flat_map(HashMap::values);
        claims.filter(|claim| claim.state == State::Proved).count()
    }

    /// What is worth knowing after a restart, in a fixed order.
    #[must_use]
    pub fn kept(&self) -> Vec<KeptClaim> {
        let mut kept = Vec::new();
        for (kind, of) in &self.claims {
            for (shape, claim) in of {
                let is_refuted = claim.state == State::Refuted;
                if is_refuted || claim.state == State::Proved {
                    let named =
                        |one: &Candidate| (one.column.clone(), one.place_name.clone(), one.place);
                    let candidates = claim.candidates.iter().map(named).collect();
                    let (kind, shape) = (kind.clone(), shape.clone());
                    kept.push(KeptClaim { kind, shape, candidates, is_refuted });
                }
            }
        }
        kept.sort_unstable_by(|one, other| {
            (&one.kind, &one.shape).cmp(&(&other.kind, &other.shape))
        });
        kept
    }

    /// Takes over what was proved before the last stop; it has to hold some more times.
    pub fn restore(&mut self, kept: Vec<KeptClaim>, shape_hash: impl Fn(&str) -> u64) {
        let demands = self.demands;
        for one in kept.into_iter().take(CLAIMS_MAX) {
            let candidates = one.candidates.into_iter().take(CANDIDATES_MAX);
            let candidates = candidates.map(|(column, place_name, place)| Candidate {
                column,
                place,
                place_name,
                batches: demands.batches,
                same: demands.same,
                pages: u64::MAX,
                changed: demands.changed,
                ..Candidate::default()
            });
            let claim = Claim {
                shape: shape_hash(&one.shape),
                candidates: candidates.collect(),
                state: if one.is_refuted { State::Refuted } else { State::Proved },
                again: demands.again,
                ..Claim::default()
            };
            if !claim.candidates.is_empty() || claim.is_over() {
                let of_kind = self.claims.entry(one.kind).or_default();
                self.count += usize::from(of_kind.insert(one.shape, claim).is_none());
            }
        }
    }
}

#[cfg(test)]
#[path = "proofs_tests.rs"]
mod tests;
