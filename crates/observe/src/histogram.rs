//! Times, counted in buckets that are an eighth of their own size wide.
//!
//! The buckets are the same everywhere, so counts of several threads, routes or minutes are
//! added bucket by bucket, and a percentile of the sum is that of all the answers together.
//! What is told of a time is the middle of its bucket: at most a sixteenth off.
//! Start at [`Histogram::percentile`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets of one doubling.
const STEPS: usize = 8;
const STEPS_BITS: u32 = STEPS.trailing_zeros();
/// The last doubling ends at 2^28 µs, which is more than four minutes.
const DOUBLINGS: usize = 26;
/// How many buckets there are.
pub const BUCKETS: usize = DOUBLINGS * STEPS;

/// The bucket of a time; what is longer than all of them is in the last.
#[must_use]
pub fn bucket(microseconds: u64) -> usize {
    if microseconds < STEPS as u64 {
        return microseconds as usize;
    }
    let exponent = microseconds.ilog2();
    let step = (microseconds >> (exponent - STEPS_BITS)) as usize % STEPS;
    ((exponent - STEPS_BITS + 1) as usize * STEPS + step).min(BUCKETS - 1)
}

/// Where a bucket begins, in microseconds; it ends where the next one begins.
#[must_use]
pub fn begins(bucket: usize) -> u64 {
    let (doubling, step) = (bucket / STEPS, bucket % STEPS);
    match doubling {
        0 => step as u64,
        _ => ((STEPS + step) as u64) << (doubling - 1),
    }
}

/// How many bounds there are by which times are told to others, who want few.
pub const BOUNDS: usize = 17;
/// The first of them, in microseconds; each is twice the one before it.
const BOUND_MIN_US: u64 = 256;

/// Those bounds, in microseconds. Each is where a bucket begins, so no count is divided.
pub fn bounds() -> impl Iterator<Item = u64> {
    (0..BOUNDS).map(|at| BOUND_MIN_US << at)
}

/// Below which of the bounds a time is; beyond the last one: how many there are.
#[must_use]
pub fn class(microseconds: u64) -> usize {
    bounds().position(|bound| microseconds < bound).unwrap_or(BOUNDS)
}

/// Counts that many threads add to.
#[derive(Debug)]
pub(crate) struct LiveHistogram([AtomicU64; BUCKETS]);

impl Default for LiveHistogram {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; BUCKETS])
    }
}

impl LiveHistogram {
    pub(crate) fn add(&self, microseconds: u64) {
        self.0[bucket(microseconds)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_to(&self, histogram: &mut Histogram) {
        for (sum, count) in histogram.counts.iter_mut().zip(&self.0) {
            *sum += count.load(Ordering::Relaxed);
        }
    }

    /// Gives all that was counted to another.
    pub(crate) fn pour(&self, into: &Self) {
        for (from, to) in self.0.iter().zip(&into.0) {
            if from.load(Ordering::Relaxed) > 0 {
                to.fetch_add(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}

/// Counts of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// Counts a time.
    pub fn add(&mut self, microseconds: u64) {
        self.add_many(microseconds, 1);
    }

    /// Counts a time so often.
    pub fn add_many(&mut self, microseconds: u64, times: u64) {
        self.counts[bucket(microseconds)] += times;
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts.iter()) {
            *sum += count;
        }
    }

    /// What was counted since an earlier look at the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        for (count, before) in since.counts.iter_mut().zip(earlier.counts.iter()) {
            *count = count.saturating_sub(*before);
        }
        since
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Each bucket that has any: where it begins, where it ends, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let each = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        each.map(|(at, count)| (begins(at), begins(at + 1), *count))
    }

    /// For each of the [`bounds`] how many times were below it.
    #[must_use]
    pub fn below(&self) -> [u64; BOUNDS] {
        let mut below = [0; BOUNDS];
        for (told, bound) in below.iter_mut().zip(bounds()) {
            *told = self.counts[..bucket(bound)].iter().sum();
        }
        below
    }

    /// All times together, in microseconds, each as the middle of its bucket: at most a
    /// sixteenth off, and never less than before.
    #[must_use]
    pub fn sum_us(&self) -> u64 {
        self.buckets().map(|(begin, end, count)| (begin + end - 1) / 2 * count).sum()
    }

    /// The time that this share of all (0.99 for 99 %) did not exceed, in microseconds; none
    /// where nothing was counted.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let rank = (self.count() as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0) as u64;
        let mut passed = 0;
        self.buckets().find_map(|(begin, end, count)| {
            passed += count;
            (passed >= rank).then_some((begin + end - 1) / 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for at in 0..BUCKETS {
            assert_eq!(bucket(begins(at)), at);
            assert_eq!(bucket(begins(at + 1) - 1), at);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_percentile_of_a_sum_is_that_of_all_its_parts_together() {
        let mut exact = Vec::new();
        let mut parts = [Histogram::default(), Histogram::default(), Histogram::default()];
        let mut number = 0x5eed_u64;
        for turn in 0..9000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let time = (number >> 40) % [90, 5_000, 3_000_000][turn % 3];
            parts[turn % 3].add(time);
            exact.push(time);
        }
        exact.sort_unstable();
        let mut sum = Histogram::default();
        parts.iter().for_each(|part| sum.merge(part));
        assert_eq!(sum.count(), 9000);
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = (9000.0 * share) as usize - 1;
            let (told, right) = (sum.percentile(share).expect("some"), exact[rank]);
            assert!(told.abs_diff(right) <= right / 16 + 1, "{share}: {told} for {right}");
        }
        assert_eq!(Histogram::default().percentile(0.5), None);
    }

    #[test]
    fn what_is_below_a_bound_is_exact_and_a_sum_nearly() {
        let mut times = Histogram::default();
        for (time, class_of_it) in
            [(0, 0), (255, 0), (256, 1), (511, 1), (512, 2), (16_777_215, 16), (16_777_216, 17)]
        {
            times.add(time);
            assert_eq!(class(time), class_of_it, "{time}");
        }
        let below = times.below();
        assert_eq!((below[0], below[1], below[2], below[16]), (2, 4, 5, 6));
        let exact = 255 + 256 + 511 + 512 + 16_777_215 + 16_777_216;
        assert!(times.sum_us().abs_diff(exact) < exact / 16, "{}", times.sum_us());
    }

    #[test]
    fn what_was_counted_since_a_look_is_the_difference() {
        let live = LiveHistogram::default();
        let look = |live: &LiveHistogram| {
            let mut seen = Histogram::default();
            live.add_to(&mut seen);
            seen
        };
        live.add(5);
        let before = look(&live);
        live.add(1000);
        live.add(1000);
        let since = look(&live).since(&before);
        assert_eq!((since.count(), since.percentile(0.5)), (2, Some(991)));
        let other = LiveHistogram::default();
        live.pour(&other);
        assert_eq!((look(&live).count(), look(&other).count()), (0, 3));
    }
}
