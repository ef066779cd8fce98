//! Scope: a change sweeps the pages that it touched, where that was proved.
//!
//! ```text
//! change, write → batch ── settled → what is proved? ─┬─ nothing: all is swept
//!                                                     └─ a ledger of what is kept
//! ```
//!
//! While a batch lasts everything is swept, as its kind is known only at its end. What it
//! keeps is found good again then: a look-up walks the ledger once for each page, and from
//! then on compares one number. What is asked about purely stands in [`policy::scope`]; how
//! pages are compared, in `strangers/proving.rs`.
//! Invariants: 1. whatever moves the count of content and isn't told here is a gap in the
//! ledger, which sweeps everything. 2. `inner` is locked before `ledger`, never after it.

use base::Counter;
use changes::{Change, KeyClass, Operation, Signature, value_hash};
use parking_lot::{Mutex, RwLock};
use policy::scope::{Batch, Demands, KeptClaim, Ledger, Outcome, Proofs, Route, Seen, Spelled};

use super::status::show;
use crate::pipeline;
use crate::purge::generations::Generations;

/// What was proved of one site, and what its last batches kept.
#[derive(Default)]
pub(crate) struct Scope {
    is_on: bool,
    inner: Mutex<Inner>,
    ledger: RwLock<Ledger>,
    pub(crate) counts: ScopeCounts,
}

/// What became of batches and pages since the start.
#[derive(Debug, Default)]
pub(crate) struct ScopeCounts {
    /// Batches that kept pages.
    pub(crate) narrow: Counter,
    /// Pages that were found good after such batches.
    pub(crate) kept: Counter,
    /// Pages that were compared.
    pub(crate) compared: Counter,
    /// Proofs that were refuted; each sweeps the whole site.
    pub(crate) refuted: Counter,
}

#[derive(Default)]
struct Inner {
    proofs: Proofs,
    open: Option<Open>,
    /// What was last noted for the next start.
    noted: Vec<KeptClaim>,
}

/// A batch that is not settled yet.
struct Open {
    begin: u64,
    end: u64,
    /// How often it moved the count of content itself.
    moves: u64,
    batch: Batch,
}

impl Inner {
    /// The count of content was moved to `after` by something that belongs to the batch.
    fn moved(&mut self, after: u64) -> &mut Batch {
        let begin = after.saturating_sub(1);
        let open = self.open.get_or_insert_with(|| Open {
            begin,
            end: begin,
            moves: 0,
            batch: Batch::default(),
        });
        (open.end, open.moves) = (after, open.moves + 1);
        &mut open.batch
    }
}

impl Scope {
    pub(super) fn new(demands: Option<Demands>, kept: Vec<KeptClaim>) -> Self {
        let Some(demands) = demands else { return Self::default() };
        let mut proofs = Proofs::new(demands);
        proofs.restore(kept, shape_hash);
        let noted = proofs.kept();
        let inner = Mutex::new(Inner { proofs, open: None, noted });
        Self { is_on: true, inner, ..Self::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Sweeps for a change that was heard; for none, where nobody told what changed.
    pub(super) fn change(&self, generations: &Generations, change: Option<(usize, &Change)>) {
        let mut inner = self.inner.lock();
        let batch = inner.moved(generations.note_change());
        let Some((source, change)) = change else { return batch.note_unknown() };
        let signature = Signature::from(change);
        if signature.is_telling() {
            let columns = change.values.iter();
            let columns = columns.map(|(column, values)| (column.to_string(), values));
            batch.note(&line(source, signature, change.values.is_named()), columns);
        } else {
            batch.note_unknown();
        }
        let is_other_app = change.operation == Operation::Schema || change.fence() > changes::FENCE;
        if is_other_app {
            inner.proofs.forget();
        }
    }

    /// Sweeps for a write that came through Wick; it belongs to what was heard of it.
    pub(crate) fn write(&self, generations: &Generations, method: &str, target: &str) {
        let mut inner = self.inner.lock();
        let after = generations.note_write();
        if self.is_on && inner.open.is_some() {
            let line = format!("{method} {}", policy::strangers::shape(target));
            inner.moved(after).note(&line, []);
        }
    }

    /// The batch is settled: sweeps once more, and enters what is kept all the same.
    pub(super) fn settle(&self, generations: &Generations, sweeps: bool, is_heard: bool) {
        let mut inner = self.inner.lock();
        if sweeps {
            let after = generations.note_change();
            if inner.open.is_some() {
                inner.moved(after);
            }
        }
        let Some(Open { begin, end, moves, batch }) = inner.open.take() else { return };
        // Something else moved it as well.
        let is_alone = end.saturating_sub(begin) == moves;
        if !self.is_on || !is_alone || !is_heard {
            return;
        }
        if let Some(past) = inner.proofs.decide(begin, end, batch) {
            if past.is_narrow() {
                self.counts.narrow.bump();
            }
            self.ledger.write().enter(past);
        }
    }

    /// Changes may have gone unheard: what was proved has to hold again before it counts.
    pub(super) fn doubt(&self) {
        self.inner.lock().proofs.doubt();
    }

    /// Up to which count of content a page is good that was good at the count `from`.
    #[cold]
    pub(crate) fn kept(&self, route: &Route, page: u64, from: u64, to: u64) -> Option<u64> {
        let kept = self.ledger.read().kept(route, page, from, to);
        if kept.is_some() {
            self.counts.kept.bump();
        }
        kept
    }

    /// Whether it would teach anything to compare such a page over this time.
    pub(crate) fn wants(&self, spelled: &Spelled, from: u64, to: u64) -> bool {
        let inner = self.inner.lock();
        let ledger = self.ledger.read();
        ledger.between(from, to).is_some_and(|past| inner.proofs.wants(&past, spelled))
    }

    /// A page was made anew and compared. True: pages that were kept may be old.
    pub(crate) fn observe(
        &self,
        (spelled, route): (&Spelled, &Route),
        (from, to): (u64, u64),
        seen: Seen,
    ) -> Option<String> {
        let mut inner = self.inner.lock();
        let ledger = self.ledger.read();
        let past = ledger.between(from, to)?;
        self.counts.compared.bump();
        match inner.proofs.observe(&past, spelled, route, seen) {
            Outcome::Nothing | Outcome::Proved { .. } => None,
            Outcome::Refuted { kind, shape } => {
                self.counts.refuted.bump();
                Some(format!("{kind} changed a page of {shape} that it doesn't name"))
            }
        }
    }

    /// What is worth noting for the next start, if that is new.
    pub(super) fn news(&self) -> Option<Vec<KeptClaim>> {
        let mut inner = self.inner.lock();
        let kept = self.is_on.then(|| inner.proofs.kept())?;
        let is_new = kept != inner.noted;
        inner.noted.clone_from(&kept);
        is_new.then_some(kept)
    }

    /// Says what is known about pages like this one.
    pub(crate) fn tell(&self, host: &str, target: &str, say: &mut dyn FnMut(&'static str, String)) {
        if !self.is_on {
            return say("scope", "every change sweeps the whole site".to_owned());
        }
        let counts = &self.counts;
        let inner = self.inner.lock();
        say(
            "scope",
            format!(
                "proofs {}, refuted {}; pages compared {}; sweeps that kept pages {}, kept {}",
                inner.proofs.proved(),
                counts.refuted.read(),
                counts.compared.read(),
                counts.narrow.read(),
                counts.kept.read(),
            ),
        );
        let Some(spelled) = Spelled::of(host, target) else { return };
        inner.proofs.tell(&spelled.shape).take(TOLD_MAX).for_each(|line| say("scope", line));
    }
}

/// Kinds of change that are told about one page.
const TOLD_MAX: usize = 12;

/// A page's address, as it is spelled and as hashes.
pub(crate) fn route_of(host: &str, target: &str) -> Option<(Spelled, Route)> {
    let spelled = Spelled::of(host, target)?;
    let route = spelled.route(shape_hash, value_hash);
    Some((spelled, route))
}

fn shape_hash(shape: &str) -> u64 {
    pipeline::hash(shape.as_bytes())
}

/// A kind of change, by its source and database.
fn line(source: usize, mut signature: Signature, is_named: bool) -> String {
    if is_named {
        signature.rows.key = KeyClass::Plain;
    }
    let database = &signature.rows.database;
    let of = if source == 0 { String::new() } else { format!(" (source {})", source + 1) };
    match database.is_empty() {
        true => format!("{}{of}", show(&signature)),
        false => format!("{} in {database}{of}", show(&signature)),
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
