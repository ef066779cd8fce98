//! Pace: how often clients are asked to come, and after which silence they are gone.
//!
//! Invariant: who was told to come in `n` seconds is waited for longer than `n` seconds, also
//! when the interval has shrunk since.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use base::Now;

use crate::dice::Dice;
use crate::rules::Rules;

/// What a client may be late.
const GRACE_SECONDS: u32 = 300;

/// Half a day: records tell no more than 18 hours back.
const TIMEOUT_SECONDS_MAX: u32 = 12 * 3600;

/// The pace, as load makes it.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: AtomicU32,
    /// The longest interval told that somebody may still go by.
    longest: AtomicU32,
    longest_until: AtomicU32,
    /// Nobody is gone before this moment: after a restart all have time to come back.
    nobody_before: AtomicU32,
    ticked_ms: AtomicU64,
    announces: AtomicU64,
    /// Announces in 256 seconds, as of the last ticks.
    rate: AtomicU64,
}

impl Pace {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            interval: AtomicU32::new(rules.interval_seconds),
            longest: AtomicU32::new(rules.interval_seconds + rules.jitter_seconds),
            longest_until: AtomicU32::new(0),
            nobody_before: AtomicU32::new(0),
            ticked_ms: AtomicU64::new(0),
            announces: AtomicU64::new(0),
            rate: AtomicU64::new(0),
        }
    }

    pub(crate) fn set(&self, rules: &Rules) {
        self.interval.store(rules.interval_seconds, Relaxed);
        self.longest.fetch_max(rules.interval_seconds + rules.jitter_seconds, Relaxed);
    }

    /// After a restart nobody is gone before everybody had time to come.
    pub(crate) fn wait_for_all(&self, at: u32) {
        self.nobody_before.store(at.saturating_add(self.timeout_seconds()), Relaxed);
    }

    /// What a client is told.
    pub(crate) fn interval(&self, rules: &Rules, salt: u64) -> u32 {
        let jitter = Dice::seeded(salt).below(rules.jitter_seconds.saturating_add(1));
        self.interval.load(Relaxed).saturating_add(jitter)
    }

    /// After how many seconds of silence a session is gone.
    pub(crate) fn timeout_seconds(&self) -> u32 {
        let longest = self.longest.load(Relaxed);
        longest.saturating_add(longest / 4).saturating_add(GRACE_SECONDS).min(TIMEOUT_SECONDS_MAX)
    }

    /// Who said nothing since then is gone; none while nobody is.
    pub(crate) fn silent_since(&self, at: u32) -> Option<u32> {
        (at >= self.nobody_before.load(Relaxed)).then(|| at.saturating_sub(self.timeout_seconds()))
    }

    pub(crate) fn rate(&self) -> u32 {
        u32::try_from(self.rate.load(Relaxed) / 256).unwrap_or(u32::MAX)
    }

    pub(crate) fn interval_now(&self) -> u32 {
        self.interval.load(Relaxed)
    }

    /// Milliseconds since the tick before; the interval follows what came meanwhile.
    pub(crate) fn tick(&self, rules: &Rules, now: Now, announces: u64) -> u64 {
        let before = self.ticked_ms.swap(now.ticks_ms, Relaxed);
        let came = announces.saturating_sub(self.announces.swap(announces, Relaxed));
        let elapsed_ms = now.ticks_ms.saturating_sub(before);
        if before == 0 || elapsed_ms == 0 {
            return 0;
        }
        let rate = came.saturating_mul(256_000) / elapsed_ms;
        // One burst changes little.
        let rate = (self.rate.load(Relaxed).saturating_mul(15).saturating_add(rate)) / 16;
        self.rate.store(rate, Relaxed);
        let interval = stretched(rules, rate / 256);
        self.interval.store(interval, Relaxed);
        self.remember(interval.saturating_add(rules.jitter_seconds), now);
        elapsed_ms
    }

    fn remember(&self, told: u32, now: Now) {
        let at = u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX);
        let longest = self.longest.load(Relaxed);
        if told >= longest || at >= self.longest_until.load(Relaxed) {
            self.longest.store(told, Relaxed);
            self.longest_until.store(at.saturating_add(told.saturating_mul(2)), Relaxed);
        }
    }
}

/// The interval at so many announces a second.
fn stretched(rules: &Rules, rate: u64) -> u32 {
    let calm = u64::from(rules.announces_per_second_calm);
    let plain = rules.interval_seconds;
    if calm == 0 || rate <= calm {
        return plain;
    }
    let wanted = u64::from(plain).saturating_mul(rate) / calm;
    u32::try_from(wanted).unwrap_or(u32::MAX).min(rules.interval_seconds_max.max(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now { ticks_ms: seconds * 1000, ticks_us: seconds * 1_000_000, unix_ms: seconds * 1000 }
    }

    #[test]
    fn the_interval_stretches_under_load_and_comes_back() {
        let rules = Rules { announces_per_second_calm: 100, ..Rules::default() };
        let pace = Pace::new(&rules);
        let (mut announces, mut second) = (0, 1);
        let mut run = |seconds: u64, rate: u64| {
            for _ in 0..seconds {
                announces += rate;
                second += 1;
                pace.tick(&rules, at(second), announces);
            }
            (pace.interval_now(), pace.timeout_seconds())
        };
        let calm = run(200, 50);
        assert_eq!(calm.0, 1800);
        let busy = run(200, 150);
        assert!(busy.0 > 2500 && busy.0 <= 2700, "{busy:?}");
        assert_eq!(run(200, 100_000).0, 3600, "there is an end to it");
        let after = run(600, 10);
        assert_eq!(after.0, 1800);
        assert!(after.1 > 3600, "who was told an hour is waited for");
        assert_eq!(run(10_000, 10), calm);
    }

    #[test]
    fn the_dice_spread_who_was_told_at_one_moment() {
        let rules = Rules { jitter_seconds: 120, ..Rules::default() };
        let pace = Pace::new(&rules);
        let mut told: Vec<u32> = (0..5000).map(|salt| pace.interval(&rules, salt)).collect();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, (1800..=1920).collect::<Vec<_>>(), "each second is told to somebody");
        let plain = Rules { jitter_seconds: 0, ..rules };
        assert_eq!(pace.interval(&plain, 7), 1800);
    }
}
