//! The clock: one reading a request, and time that a test can turn by hand.
//!
//! Two scales that must not be mixed up: *ticks* never go back and measure how
//! long something has lain here; *unix* time is what a `Date` field speaks of.
//! Invariant: ticks never decrease, also when the wall clock is set.
//! Start at [`Clock::now`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One reading of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds on a scale that never goes back; only differences mean anything.
    pub ticks_ms: u64,
    /// The same moment in microseconds, for what is measured and not decided by.
    pub ticks_us: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z, as the machine believes.
    pub unix_ms: u64,
}

impl Now {
    /// Whole seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_seconds(self) -> u64 {
        self.unix_ms / 1000
    }
}

/// The wall clock as of a moment ago: reading it costs as much as reading the ticks, and
/// it differs from them by something that hardly ever changes.
#[derive(Debug, Default)]
struct Wall {
    /// Unix time less ticks, in milliseconds.
    offset_ms: AtomicU64,
    /// When to look again.
    due_ticks_ms: AtomicU64,
}

/// How long a setting of the wall clock may go unnoticed.
const WALL_INTERVAL_MS: u64 = 1000;

impl Wall {
    fn unix_ms(&self, ticks_ms: u64) -> u64 {
        // Who sees the new date of the next look also sees the offset that was stored before it.
        if ticks_ms >= self.due_ticks_ms.load(Ordering::Acquire) {
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let offset_ms = (unix.as_millis() as u64).wrapping_sub(ticks_ms);
            self.offset_ms.store(offset_ms, Ordering::Relaxed);
            self.due_ticks_ms.store(ticks_ms + WALL_INTERVAL_MS, Ordering::Release);
        }
        ticks_ms.wrapping_add(self.offset_ms.load(Ordering::Relaxed))
    }
}

/// Where the time comes from: the machine, or a test's hand. Clones share it.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Machine { start: Instant, wall: Arc<Wall> },
    Manual { elapsed_ms: Arc<AtomicU64>, unix_start_ms: u64 },
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn machine() -> Self {
        Self(Source::Machine { start: Instant::now(), wall: Arc::default() })
    }

    /// A clock that moves only when [`Clock::advance_ms`] is called.
    #[must_use]
    pub fn manual(unix_start_ms: u64) -> Self {
        Self(Source::Manual { elapsed_ms: Arc::new(AtomicU64::new(0)), unix_start_ms })
    }

    /// Reads the clock. Ticks start above zero, so that 0 can mean "never".
    #[must_use]
    pub fn now(&self) -> Now {
        match &self.0 {
            Source::Machine { start, wall } => {
                let ticks_us = start.elapsed().as_micros() as u64 + 1000;
                let ticks_ms = ticks_us / 1000;
                Now { ticks_ms, ticks_us, unix_ms: wall.unix_ms(ticks_ms) }
            }
            Source::Manual { elapsed_ms, unix_start_ms } => {
                let elapsed = elapsed_ms.load(Ordering::SeqCst);
                let ticks_ms = elapsed + 1;
                Now { ticks_ms, ticks_us: ticks_ms * 1000, unix_ms: unix_start_ms + elapsed }
            }
        }
    }

    /// Moves a manual clock forward; the machine's clock takes no orders.
    pub fn advance_ms(&self, by_ms: u64) {
        if let Source::Manual { elapsed_ms, .. } = &self.0 {
            elapsed_ms.fetch_add(by_ms, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_both_scales_and_only_when_told() {
        let clock = Clock::manual(1_000_000);
        let before = clock.now();
        assert_eq!(clock.now(), before);
        clock.clone().advance_ms(250);
        let after = clock.now();
        assert_eq!(after.ticks_ms - before.ticks_ms, 250);
        assert_eq!(after.unix_ms, 1_000_250);
    }

    #[test]
    fn the_machine_clock_never_goes_back() {
        let clock = Clock::machine();
        let first = clock.now();
        assert!(first.ticks_ms > 0 && clock.now().ticks_ms >= first.ticks_ms);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).expect("a year after 1970");
        assert!(first.unix_ms.abs_diff(unix.as_millis() as u64) < 60_000);
    }
}
