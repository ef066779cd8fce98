//! Pace: how fast a client sends a body or takes an answer, over all the time that it was
//! waited for.
//!
//! A pause has a time-out of its own; this is for who sends a byte just before each. Only
//! waiting for the client counts: a slow origin is not its fault.

use std::time::Duration;

/// The slowest that a client may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowest {
    /// Bytes a second; 0: as slow as it likes.
    pub bytes_a_second: u64,
    /// How long it may be slower than that at first.
    pub after: Duration,
}

impl Default for Slowest {
    fn default() -> Self {
        Self { bytes_a_second: 100, after: Duration::from_secs(30) }
    }
}

/// What one body has come to so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    bytes: u64,
    waited_ms: u64,
}

impl Pace {
    /// Bytes that were moved, and how long that was waited for.
    pub(crate) fn note(&mut self, bytes: usize, waited_ms: u64) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        self.waited_ms = self.waited_ms.saturating_add(waited_ms);
    }

    /// Bytes that were moved so far, where somebody else counts them.
    pub(crate) fn reach(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// How long the client may be waited for now, if a pause may take `pause`; and whether it
    /// is the pace that says so.
    pub(crate) fn allowance_ms(&self, slowest: Slowest, pause: Duration) -> (u64, bool) {
        let pause_ms = pause.as_millis() as u64;
        let earned_ms = self.bytes.saturating_mul(1000).checked_div(slowest.bytes_a_second);
        let Some(earned_ms) = earned_ms else { return (pause_ms, false) };
        let whole_ms = earned_ms.max(slowest.after.as_millis() as u64);
        let left_ms = whole_ms.saturating_sub(self.waited_ms);
        (left_ms.min(pause_ms), left_ms < pause_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(10);

    /// After how many seconds a client is let go that sends so many bytes in each step of so
    /// many seconds; none: not within the hour.
    fn ends(bytes: usize, step_seconds: u64, bytes_a_second: u64) -> Option<u64> {
        let slowest = Slowest { bytes_a_second, after: Duration::from_secs(30) };
        let mut pace = Pace::default();
        let (mut seconds, step_ms) = (0, step_seconds * 1000);
        while seconds < 3600 {
            let (allowed_ms, _) = pace.allowance_ms(slowest, PAUSE);
            if allowed_ms < step_ms {
                return Some(seconds + allowed_ms / 1000);
            }
            pace.note(bytes, step_ms);
            seconds += step_seconds;
        }
        None
    }

    #[test]
    fn who_is_slower_than_the_slowest_is_let_go_after_the_first_while() {
        for (bytes, step_seconds, slowest, expected) in [
            (1, 9, 100, Some(30)),
            (99, 1, 100, Some(30)),
            (110, 1, 100, None),
            (1200, 9, 100, None),
            (890, 9, 100, Some(30)),
            (100_000, 20, 100, Some(10)),
            (1, 9, 0, None),
        ] {
            let found = ends(bytes, step_seconds, slowest);
            assert_eq!(found, expected, "{bytes} in {step_seconds} s of {slowest}");
        }
    }

    #[test]
    fn what_came_fast_at_first_buys_no_more_than_its_time() {
        let slowest = Slowest::default();
        let mut pace = Pace::default();
        pace.note(6000, 1000);
        pace.note(1, 50_000);
        assert_eq!(pace.allowance_ms(slowest, PAUSE), (9010, true));
        assert_eq!(pace.allowance_ms(slowest, Duration::from_secs(9)), (9000, false));
        pace.note(usize::MAX, 0);
        assert_eq!(pace.allowance_ms(slowest, PAUSE), (10_000, false));
    }
}
