//! Calm: whether a source that only tells which table changed stands still often enough.
//!
//! Where a table of sessions or a counter of views changes with every reader, asking for
//! tables tells of changes all the time, and none of them can be told from an edit. Sweeping
//! for each would leave nothing in the store: short freshness is better then.

/// Of the last 64 askings, with so many that found changes it isn't calm any more…
const RESTLESS_MIN: u32 = 32;
/// …and with so few it is again.
const CALM_MAX: u32 = 6;

/// The last askings of one source, the newest in the lowest bit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calm {
    changed: u64,
    is_restless: bool,
}

impl Calm {
    /// It was asked, and something had changed or not. True: calm ended or came back with it.
    pub(super) fn note(&mut self, has_changed: bool) -> bool {
        self.changed = self.changed << 1 | u64::from(has_changed);
        let changed = self.changed.count_ones();
        let was_restless = self.is_restless;
        self.is_restless = match was_restless {
            true => changed > CALM_MAX,
            false => changed >= RESTLESS_MIN,
        };
        self.is_restless != was_restless
    }

    /// Whether it changes all the time.
    pub(super) fn is_restless(&self) -> bool {
        self.is_restless
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_all_the_time_is_restless_until_it_has_stood_still() {
        let mut calm = Calm::default();
        for _ in 0..100 {
            calm.note(true);
            for _ in 0..4 {
                assert!(!calm.note(false), "a change now and then");
            }
        }
        let moved: Vec<u32> = (0..100).filter(|_| calm.note(true)).collect();
        assert!(moved.len() == 1 && calm.is_restless());
        let still = (0..100).position(|_| calm.note(false)).expect("calm again");
        assert!(still > 50 && !calm.is_restless());
    }
}
