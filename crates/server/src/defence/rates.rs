//! Rates: how often each visitor asks, in memory that never grows.
//!
//! The generic cell rate algorithm: of each visitor only the moment is kept at which it will
//! have used up nothing. That moment moves on by the rate's interval with each request, and
//! a request that would move it further ahead than the burst allows is refused and moves
//! nothing. A moment that has passed says as much as none at all.
//! Bound: [`ENTRIES`] visitors. In a set of [`WAYS`] the one whose moment is the earliest
//! gives way, which forgets something only if all of them are in debt; that is counted.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use base::Counter;
use base::network::Block;
use parking_lot::Mutex;

/// Visitors that can be counted at one time.
const ENTRIES: usize = 1 << 16;
/// Places that one visitor may be found in.
const WAYS: usize = 8;
/// Each under a lock of its own.
const SHARDS: usize = 64;
const SECOND_US: u64 = 1_000_000;
const DAY_US: u64 = 86_400 * SECOND_US;
const YEAR_US: u64 = 365 * DAY_US;
const SETS: usize = ENTRIES / WAYS / SHARDS;

/// How often somebody may ask: once in a while, and so many times at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    interval_us: u64,
    burst: u32,
}

impl Rate {
    /// Once every `interval`, and up to `burst` times before that counts.
    #[must_use]
    pub fn new(interval: Duration, burst: u32) -> Self {
        let interval_us = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        Self { interval_us: interval_us.clamp(1, DAY_US), burst: burst.max(1) }
    }

    /// One of so many parts of the rate, and of half of the burst.
    pub(super) fn parted(self, parts: u32) -> Self {
        let parts = parts.max(1);
        let interval_us = self.interval_us.saturating_mul(u64::from(parts)).min(DAY_US);
        Self { interval_us, burst: 1 + (self.burst - 1) / parts.saturating_mul(2) }
    }

    /// The same rate after another burst.
    #[must_use]
    pub fn with_burst(self, burst: u32) -> Self {
        Self { burst: burst.max(1), ..self }
    }

    /// How far ahead of now a moment may be before a request.
    fn ahead_us(&self) -> u64 {
        // A year is more than anybody means, and far from where sums overflow.
        self.interval_us.saturating_mul(u64::from(self.burst - 1)).min(YEAR_US)
    }
}

/// One visitor; an entry of zeros is nobody's.
#[derive(Clone, Copy, Default)]
struct Entry {
    visitor: u64,
    moment_us: u64,
}

/// How much each visitor of a site has asked.
pub(crate) struct Rates {
    shards: Vec<Mutex<Vec<[Entry; WAYS]>>>,
    hasher: RandomState,
    /// Visitors in debt who gave way to others.
    pub(crate) forgotten: Counter,
}

impl Default for Rates {
    fn default() -> Self {
        let shard = || Mutex::new(vec![[Entry::default(); WAYS]; SETS]);
        let shards = (0..SHARDS).map(|_| shard()).collect();
        Self { shards, hasher: RandomState::new(), forgotten: Counter::default() }
    }
}

impl Rates {
    /// Counts a request.
    ///
    /// # Errors
    /// It is one too many: the seconds until one will not be.
    pub(crate) fn count(&self, visitor: Block, rate: Rate, ticks_ms: u64) -> Result<(), u32> {
        let now_us = ticks_ms.saturating_mul(1000);
        self.with(visitor, now_us, |entry| {
            let debt_us = entry.moment_us.saturating_sub(now_us);
            if debt_us > rate.ahead_us() {
                let wait_us = debt_us - rate.ahead_us();
                let seconds = u32::try_from(wait_us.div_ceil(SECOND_US)).unwrap_or(u32::MAX);
                return Err(seconds.max(1));
            }
            entry.moment_us = now_us + debt_us + rate.interval_us;
            Ok(())
        })
    }

    /// Counts requests that other nodes of so many have let through. What is told late would keep
    /// a visitor out for long, so it counts up to what all nodes may let through in a second.
    pub(crate) fn add(&self, visitor: Block, rate: Rate, count: u32, nodes: u32, ticks_ms: u64) {
        let now_us = ticks_ms.saturating_mul(1000);
        self.with(visitor, now_us, |entry| {
            let at_once_us = rate.interval_us.max(SECOND_US).saturating_mul(u64::from(nodes));
            let latest_us = now_us + rate.ahead_us().saturating_add(at_once_us).min(YEAR_US);
            let asked_us = rate.interval_us.saturating_mul(u64::from(count));
            let moment_us = entry.moment_us.max(now_us).saturating_add(asked_us);
            entry.moment_us = moment_us.min(latest_us).max(entry.moment_us);
        });
    }

    fn with<T>(&self, visitor: Block, now_us: u64, act: impl FnOnce(&mut Entry) -> T) -> T {
        // With a seed of this process, so that nobody can choose whom to push out.
        let hash = self.hasher.hash_one(visitor);
        let mut shard = self.shards[hash as usize % SHARDS].lock();
        let set = &mut shard[hash as usize / SHARDS % SETS];
        let at = match set.iter().position(|entry| entry.visitor == hash) {
            Some(at) => at,
            None => self.replace(set, hash, now_us),
        };
        act(&mut set[at])
    }

    /// A place for a visitor who has none.
    fn replace(&self, set: &mut [Entry; WAYS], visitor: u64, now_us: u64) -> usize {
        let oldest = (0..WAYS).min_by_key(|&at| set[at].moment_us).unwrap_or(0);
        if set[oldest].moment_us > now_us {
            self.forgotten.bump();
        }
        set[oldest] = Entry { visitor, moment_us: now_us };
        oldest
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn visitor(number: u32) -> Block {
        Block::of(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn rate(text: &str, burst: u32) -> Rate {
        Rate::new(base::amount::parse_rate(text).expect("a rate"), burst)
    }

    #[test]
    fn a_burst_is_let_through_and_then_the_rate() {
        // Each line: milliseconds, and what becomes of a request then.
        let story = [
            (0, Ok(())),
            (0, Ok(())),
            (0, Ok(())),
            (0, Err(1)),
            (499, Err(1)),
            (500, Ok(())),
            (500, Err(1)),
            (1000, Ok(())),
            (60_000, Ok(())),
            (60_000, Ok(())),
            (60_000, Ok(())),
            (60_000, Err(1)),
        ];
        let (rates, rate) = (Rates::default(), rate("2/s", 3));
        for (line, (ticks_ms, expected)) in story.into_iter().enumerate() {
            assert_eq!(rates.count(visitor(1), rate, ticks_ms), expected, "line {line}");
        }
    }

    #[test]
    fn who_is_refused_is_told_when_to_come_again_and_is_then_let_in() {
        let (rates, rate) = (Rates::default(), rate("6/m", 1));
        assert_eq!(rates.count(visitor(1), rate, 0), Ok(()));
        for ticks_ms in [0, 1, 3000, 9999] {
            let seconds = rates.count(visitor(1), rate, ticks_ms).expect_err("too soon");
            assert!(u64::from(seconds) * 1000 + ticks_ms >= 10_000, "{seconds}");
            assert!(u64::from(seconds - 1) * 1000 + ticks_ms < 10_000, "{seconds}");
        }
        assert_eq!(rates.count(visitor(1), rate, 10_000), Ok(()));
    }

    #[test]
    fn over_a_long_time_nobody_gets_more_than_the_rate_and_the_burst() {
        let (rates, rate) = (Rates::default(), rate("10/s", 20));
        let taken = (0..60_000u64).filter(|&ms| rates.count(visitor(1), rate, ms).is_ok()).count();
        assert_eq!(taken, 600 + 19);
    }

    #[test]
    fn visitors_are_counted_apart_and_those_who_owe_nothing_give_way_first() {
        let (rates, rate) = (Rates::default(), rate("1/s", 1));
        for number in 0..1000 {
            assert_eq!(rates.count(visitor(number), rate, 0), Ok(()), "{number}");
        }
        let refused = (0..1000).filter(|&number| rates.count(visitor(number), rate, 0).is_err());
        assert_eq!(refused.count(), 1000);
        // Long after, others find nobody in debt.
        for number in 1000..4000 {
            assert_eq!(rates.count(visitor(number), rate, 9_000_000), Ok(()));
        }
        assert_eq!(rates.forgotten.read(), 0);
    }

    #[test]
    fn more_visitors_than_there_is_room_for_are_let_in_and_counted_as_forgotten() {
        let (rates, rate) = (Rates::default(), rate("1/h", 1));
        for number in 0..ENTRIES as u32 * 2 {
            assert_eq!(rates.count(visitor(number), rate, 0), Ok(()));
        }
        assert!(rates.forgotten.read() >= ENTRIES as u64);
        let shards: usize = rates.shards.iter().map(|shard| shard.lock().len() * WAYS).sum();
        assert_eq!(shards, ENTRIES);
    }

    #[test]
    fn the_strangest_rates_overflow_nothing() {
        let rates = Rates::default();
        for interval in [Duration::ZERO, Duration::MAX] {
            let rate = Rate::new(interval, u32::MAX);
            for ticks_ms in [0, u64::MAX / 4000] {
                let _ = rates.count(visitor(1), rate, ticks_ms);
            }
        }
    }
}
