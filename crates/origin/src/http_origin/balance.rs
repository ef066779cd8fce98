//! Which of several servers gets a request: two are drawn by weight, and of these the one
//! with less to do for its weight is taken.
//!
//! Drawing two needs no view of all of them that many threads would have to agree on, and
//! never sends everybody to the one that was least loaded a moment ago.
//! Pure but for the dice, which are the same for each seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// One server as the choice sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its share of the requests; 0: none.
    pub(crate) weight: u32,
    /// Requests that are with it.
    pub(crate) load: usize,
}

/// The server to ask; none if there is none to be asked.
pub(crate) fn pick(candidates: &[Candidate], dice: &Dice) -> Option<usize> {
    let first = draw(candidates, None, dice)?;
    let Some(second) = draw(candidates, Some(first), dice) else { return Some(first) };
    let (one, other) = (candidates[first], candidates[second]);
    // Loads for their weights, without dividing.
    let is_busier =
        one.load as u64 * u64::from(other.weight) > other.load as u64 * u64::from(one.weight);
    Some(if is_busier { second } else { first })
}

/// One of them at random, by weight, but not `except`.
fn draw(candidates: &[Candidate], except: Option<usize>, dice: &Dice) -> Option<usize> {
    let weights = || {
        let all = candidates.iter().enumerate();
        all.map(|(at, one)| if Some(at) == except { 0 } else { u64::from(one.weight) })
    };
    let mut rest = dice.roll(weights().sum())?;
    weights().position(|weight| {
        let is_it = rest < weight;
        rest = rest.wrapping_sub(weight);
        is_it
    })
}

/// Numbers that look random: splitmix64, whose state is one counter for all threads.
#[derive(Debug)]
pub(crate) struct Dice(AtomicU64);

impl Dice {
    /// The same numbers for the same seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Others in each process.
    pub(crate) fn new() -> Self {
        Self::seeded(RandomState::new().hash_one("dice"))
    }

    /// A number below `below`; none where that is 0.
    pub(crate) fn roll(&self, below: u64) -> Option<u64> {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 10,000 requests each gets, where loads stay as they are.
    fn shares(candidates: &[(u32, usize)]) -> Vec<usize> {
        let candidates: Vec<_> =
            candidates.iter().map(|&(weight, load)| Candidate { weight, load }).collect();
        let (dice, mut counts) = (Dice::seeded(7), vec![0; candidates.len()]);
        for _ in 0..10_000 {
            if let Some(at) = pick(&candidates, &dice) {
                counts[at] += 1;
            }
        }
        counts
    }

    #[test]
    fn requests_go_by_weight_and_away_from_who_is_busy() {
        for (candidates, expected) in [
            (&[(1, 0), (1, 0)][..], &[5_000, 5_000][..]),
            (&[(3, 0), (1, 0)], &[7_500, 2_500]),
            (&[(1, 9), (1, 3)], &[0, 10_000]),
            // Six requests are as much for three as two for one.
            (&[(3, 6), (1, 2)], &[7_500, 2_500]),
            (&[(3, 7), (1, 2)], &[0, 10_000]),
            // The busiest of three is never the better one of two.
            (&[(1, 5), (1, 1), (1, 1)], &[0, 5_000, 5_000]),
            (&[(0, 0), (1, 99)], &[0, 10_000]),
            (&[(1, 0), (0, 0), (0, 0)], &[10_000, 0, 0]),
            (&[(0, 0), (0, 0)], &[0, 0]),
            (&[], &[]),
        ] {
            for (seen, expected) in shares(candidates).into_iter().zip(expected) {
                assert!(seen.abs_diff(*expected) < 300, "{candidates:?}: {seen} for {expected}");
            }
        }
    }

    #[test]
    fn loads_of_requests_that_take_equally_long_stay_together() {
        let dice = Dice::seeded(3);
        let mut candidates = [4, 2, 1, 1].map(|weight| Candidate { weight, load: 0 });
        let mut under_way = std::collections::VecDeque::new();
        for _ in 0..20_000 {
            let at = pick(&candidates, &dice).expect("there are some");
            candidates[at].load += 1;
            under_way.push_back(at);
            if under_way.len() > 80 {
                candidates[under_way.pop_front().expect("some are")].load -= 1;
            }
            for one in candidates {
                assert!(one.load <= 10 * one.weight as usize + 8, "{candidates:?}");
            }
        }
        for one in candidates {
            assert!(one.load + 5 >= 10 * one.weight as usize, "{candidates:?}");
        }
    }
}
