//! How much a client may send that asks for nothing: so much at once, and again in a while.

/// In this time an empty allowance is full again.
pub(crate) const REFILL_MS: u64 = 10_000;

/// What a client sent too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Streams that it reset.
    Resets,
    /// Frames that bring nothing.
    Idle,
}

/// So many, and again that many in [`REFILL_MS`].
pub(crate) struct Allowance {
    most: u32,
    left: u32,
    filled_ticks_ms: u64,
}

impl Allowance {
    pub(crate) fn new(most: u32, ticks_ms: u64) -> Self {
        Self { most, left: most, filled_ticks_ms: ticks_ms }
    }

    /// Takes one; the clock is read only when none are left.
    pub(crate) fn take(&mut self, ticks_ms: impl Fn() -> u64) -> bool {
        if self.left == 0 {
            let now = ticks_ms();
            let passed = now.saturating_sub(self.filled_ticks_ms).min(REFILL_MS);
            self.left = (u64::from(self.most) * passed / REFILL_MS) as u32;
            if self.left == 0 {
                return false;
            }
            self.filled_ticks_ms = now;
        }
        self.left -= 1;
        true
    }

    pub(crate) fn give(&mut self, more: u32) {
        self.left = self.left.saturating_add(more).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_comes_back_with_time_and_with_what_is_given() {
        let mut allowance = Allowance::new(3, 0);
        let mut taken = |given: u32, ticks_ms: u64| {
            allowance.give(given);
            (0..9).filter(|_| allowance.take(|| ticks_ms)).count()
        };
        assert_eq!(taken(0, 0), 3);
        assert_eq!(taken(0, 0), 0);
        assert_eq!(taken(2, 0), 2);
        assert_eq!(taken(0, REFILL_MS / 3 + 1), 1);
        // What was given, no more than the most, and what time gave once that was used up.
        assert_eq!(taken(99, 100 * REFILL_MS), 6);
    }
}
