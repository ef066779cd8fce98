//! A share of time that is never exceeded: whoever worked rests so long that it isn't.
//!
//! Pure: moments go in and come out.
//! Invariant: of all time until the next work may begin, at most one part in [`PARTS`] was work.

use std::time::Duration;

/// 2 % of one core's time, and something less: waking up and handing pages over isn't in what is
/// told here.
const PARTS: u32 = 52;

/// When work may go on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    next: Duration,
}

impl Budget {
    /// Work was done between these moments. Time by the clock is no less than time of the
    /// processor, so that a busy machine makes the share smaller.
    pub(super) fn worked(&mut self, began: Duration, ended: Duration) {
        self.next = ended + ended.saturating_sub(began) * (PARTS - 1);
    }

    /// How long it is until work may begin.
    pub(super) fn rest(&self, now: Duration) -> Duration {
        self.next.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_pages_take_and_however_they_come_the_share_holds() {
        // Work in µs, and what passes before there is more of it.
        let mut seed = 7_u64;
        let mut draw = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % most
        };
        for pause_max in [1, 1_000, 10_000_000] {
            let (mut budget, mut now, mut spent) =
                (Budget::default(), Duration::ZERO, Duration::ZERO);
            for _ in 0..2_000 {
                now += Duration::from_micros(draw(pause_max));
                now += budget.rest(now);
                assert!(spent * PARTS <= now, "{spent:?} of {now:?}");
                let work = Duration::from_micros(draw(300_000));
                budget.worked(now, now + work);
                (now, spent) = (now + work, spent + work);
            }
            // What there is, is used where pages wait.
            assert!(pause_max > 1 || spent * PARTS * 101 / 100 > now, "{spent:?} of {now:?}");
        }
    }
}
