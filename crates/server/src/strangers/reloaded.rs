//! Reloaded: which pages were loaded here by visitors of whose session this node knows nothing.
//!
//! A node that learns of a session later has to know whether a page that was open when it began
//! was loaded again here meanwhile: that page is closed. It is noted in a field of bits, so who
//! asks may be told yes for no reason, and never no: a page more has to be loaded again.
//! Bound: two fields of [`BITS`], each for as long as a session lasts, made when first needed.

use parking_lot::Mutex;

use super::holders::{HOLDER_MS, Mark};
use crate::pipeline;

/// With 10,000 loads an hour four of a hundred pages are taken for loaded.
const BITS: usize = 1 << 19;

#[derive(Default)]
pub(crate) struct Reloaded(Mutex<Fields>);

#[derive(Default)]
struct Fields {
    /// What was loaded since `turned_ticks_ms`, and in the stretch before.
    now: Box<[u64]>,
    before: Box<[u64]>,
    turned_ticks_ms: u64,
}

impl Reloaded {
    /// A visitor with cookies of these marks loads a page.
    pub(crate) fn note(&self, marks: &[Mark], page: &[u8], ticks_ms: u64) {
        let mut fields = self.0.lock();
        fields.turn(ticks_ms);
        if fields.now.is_empty() {
            fields.now = vec![0; BITS / 64].into();
        }
        for (word, bit) in marks.iter().map(|mark| place(mark, page)) {
            fields.now[word] |= bit;
        }
    }

    /// Whether one with a cookie of one of these marks may have loaded it while a session lasts.
    pub(crate) fn has(&self, marks: &[Mark], page: &[u8]) -> bool {
        let fields = self.0.lock();
        let is_in = |field: &[u64], (word, bit): (usize, u64)| {
            field.get(word).is_some_and(|known| known & bit != 0)
        };
        marks.iter().map(|mark| place(mark, page)).any(|place| {
            // Before the first turn that was due nothing is forgotten, which errs to the safe side.
            is_in(&fields.now, place) || is_in(&fields.before, place)
        })
    }
}

impl Fields {
    fn turn(&mut self, ticks_ms: u64) {
        if ticks_ms.saturating_sub(self.turned_ticks_ms) >= HOLDER_MS {
            self.before = std::mem::take(&mut self.now);
            self.turned_ticks_ms = ticks_ms;
        }
    }
}

fn place(mark: &Mark, page: &[u8]) -> (usize, u64) {
    let hash = pipeline::hash(&[mark, page].concat());
    let bit = hash as usize % BITS;
    (bit / 64, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_loaded_is_known_for_as_long_as_a_session_lasts() {
        let reloaded = Reloaded::default();
        let (one, other) = ([1; 16], [2; 16]);
        assert!(!reloaded.has(&[one], b"a|/"));
        reloaded.note(&[one], b"a|/", HOLDER_MS - 1);
        assert!(reloaded.has(&[other, one], b"a|/"));
        assert!(!reloaded.has(&[other], b"a|/") && !reloaded.has(&[one], b"a|/x"));
        reloaded.note(&[other], b"a|/", HOLDER_MS);
        reloaded.note(&[other], b"a|/", 2 * HOLDER_MS - 2);
        assert!(reloaded.has(&[one], b"a|/"), "it was less than an hour ago");
        reloaded.note(&[other], b"a|/", 3 * HOLDER_MS);
        assert!(!reloaded.has(&[one], b"a|/"), "no session is as old");
    }
}
