//! The ledger: the last batches, each from the site's count of content before it to the count
//! after it.
//!
//! Whatever else moved the count (a write without a change that was heard, a source that was
//! lost, a batch of unknown kind) has no entry. Such a gap is never bridged, so all that was
//! made before it is swept.
//! Bound: [`BATCHES_MAX`]. What is older than all of them is swept.

use std::collections::{BTreeSet, VecDeque};

use super::batch::Batch;
use super::route::Route;

/// The most batches that a page can have lived through since it was last looked at.
const BATCHES_MAX: usize = 256;

/// A batch that is over.
#[derive(Clone, Debug)]
pub struct Past {
    /// The count of content before its first change.
    pub begin: u64,
    /// The count after its last.
    pub end: u64,
    pub(super) batch: Batch,
    pub(super) kind: String,
    /// The shapes of which it keeps pages.
    pub(super) keeps: Vec<Keeps>,
}

/// Which pages of one shape are kept.
#[derive(Clone, Debug)]
pub(super) struct Keeps {
    pub(super) shape: u64,
    /// A page is swept that has one of these values at that place of its address.
    pub(super) swept: Vec<(usize, BTreeSet<u64>)>,
    /// One of so many is swept all the same.
    pub(super) one_in: u64,
}

/// The last batches.
#[derive(Debug, Default)]
pub struct Ledger {
    past: VecDeque<Past>,
}

impl Past {
    /// Whether it keeps any page at all.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        !self.keeps.is_empty()
    }

    /// Whether a page with this address, and with this hash, is what it was.
    fn keeps(&self, route: &Route, page: u64) -> bool {
        let Some(keeps) = self.keeps.iter().find(|keeps| keeps.shape == route.shape) else {
            return false;
        };
        let is_swept = keeps.swept.iter().any(|(place, values)| {
            let value = route.values.get(*place).copied().unwrap_or(0);
            value == 0 || values.contains(&value)
        });
        // Each page has its own lot in each batch, however often it is looked up.
        let lot = (page ^ self.end.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8);
        !is_swept && !(lot >> 32).is_multiple_of(keeps.one_in.max(1))
    }
}

impl Ledger {
    /// Enters a batch that is over.
    pub fn enter(&mut self, past: Past) {
        if self.past.len() >= BATCHES_MAX {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }

    /// Forgets everything: all that was made before is swept.
    pub fn clear(&mut self) {
        self.past.clear();
    }

    /// Up to which count a page is what it was at the count `from`, if that reaches `to`.
    #[must_use]
    pub fn kept(&self, route: &Route, page: u64, from: u64, to: u64) -> Option<u64> {
        let mut end = from;
        for past in self.since(from) {
            if past.begin != end || !past.keeps(route, page) {
                return None;
            }
            end = past.end;
            if end >= to {
                return Some(end);
            }
        }
        None
    }

    /// The batches that fill all the way between two counts; none where there is a gap.
    #[must_use]
    pub fn between(&self, from: u64, to: u64) -> Option<Vec<&Past>> {
        let past: Vec<&Past> = self.since(from).take_while(|past| past.end <= to).collect();
        let mut end = from;
        for one in &past {
            if one.begin != end {
                return None;
            }
            end = one.end;
        }
        (end == to && !past.is_empty()).then_some(past)
    }

    fn since(&self, from: u64) -> impl Iterator<Item = &Past> {
        let first = self.past.partition_point(|past| past.begin < from);
        self.past.range(first..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(begin: u64, end: u64, swept: Option<&[u64]>) -> Past {
        let keeps = swept.map(|values| Keeps {
            shape: 7,
            swept: vec![(0, values.iter().copied().collect())],
            one_in: u64::MAX,
        });
        let (batch, kind) = (Batch::default(), String::new());
        Past { begin, end, batch, kind, keeps: keeps.into_iter().collect() }
    }

    fn route(shape: u64, value: u64) -> Route {
        Route { shape, values: [value].into() }
    }

    #[test]
    fn a_page_is_kept_over_batches_without_a_gap_that_name_other_rows() {
        let mut ledger = Ledger::default();
        ledger.enter(past(0, 3, Some(&[11])));
        ledger.enter(past(3, 5, Some(&[12])));
        // The count moved from 5 to 6 by something else.
        ledger.enter(past(6, 8, Some(&[13])));
        ledger.enter(past(8, 9, None));
        for (route, from, to, expected) in [
            (route(7, 1), 0, 3, Some(3)),
            (route(7, 1), 0, 2, Some(3)),
            (route(7, 1), 0, 5, Some(5)),
            (route(7, 11), 0, 5, None),
            (route(7, 12), 0, 3, Some(3)),
            (route(7, 12), 0, 4, None),
            // Another shape, and a value that may stand for another.
            (route(8, 1), 0, 3, None),
            (route(7, 0), 0, 3, None),
            // Over the gap, from within a batch, past a batch that sweeps all.
            (route(7, 1), 0, 6, None),
            (route(7, 1), 1, 5, None),
            (route(7, 1), 6, 8, Some(8)),
            (route(7, 1), 6, 9, None),
            (route(7, 1), 9, 10, None),
        ] {
            assert_eq!(ledger.kept(&route, 1, from, to), expected, "{route:?} {from} {to}");
        }
        assert_eq!(ledger.between(0, 5).map(|past| past.len()), Some(2));
        assert_eq!(ledger.between(3, 5).map(|past| past.len()), Some(1));
        for (from, to) in [(0, 4), (0, 6), (5, 6), (2, 5), (0, 0), (9, 12)] {
            assert!(ledger.between(from, to).is_none(), "{from} {to}");
        }
    }

    #[test]
    fn a_share_is_swept_all_the_same_and_by_each_batch_another() {
        let one = |end| {
            let mut past = past(0, end, Some(&[11]));
            past.keeps[0].one_in = 16;
            let swept = |page: &u64| !past.keeps(&route(7, 1), page.wrapping_mul(0x9e37_79b9_97f4));
            (0..16_000).filter(swept).collect::<BTreeSet<u64>>()
        };
        let (first, second) = (one(3), one(4));
        assert!((700..1300).contains(&first.len()), "{}", first.len());
        assert!(first.intersection(&second).count() < 200, "another share");
    }

    #[test]
    fn what_is_older_than_all_that_is_known_is_swept() {
        let mut ledger = Ledger::default();
        (0..=BATCHES_MAX as u64).for_each(|at| ledger.enter(past(at, at + 1, Some(&[11]))));
        assert_eq!(ledger.kept(&route(7, 1), 1, 0, 5), None);
        assert_eq!(ledger.kept(&route(7, 1), 1, 1, 5), Some(5));
        ledger.clear();
        assert_eq!(ledger.kept(&route(7, 1), 1, 1, 5), None);
    }
}
