//! How long it takes until what a node says is heard: its own words, by its own clock, on the way
//! that they have to everybody.
//!
//! Counted by doublings of a millisecond, so that the counts of any time can be taken apart.

use base::Counter;

/// The first are words heard within less than a millisecond, the last those that took half a
/// minute and more.
const DOUBLINGS: usize = 16;

/// The counts.
#[derive(Debug, Default)]
pub(crate) struct Lags([Counter; DOUBLINGS]);

impl Lags {
    pub(crate) fn note(&self, milliseconds: u64) {
        let doublings = milliseconds.checked_ilog2().map_or(0, |bits| bits as usize + 1);
        self.0[doublings.min(DOUBLINGS - 1)].bump();
    }

    pub(crate) fn read(&self) -> Vec<u64> {
        self.0.iter().map(Counter::read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_by_their_doublings() {
        let lags = Lags::default();
        [0, 1, 2, 3, 4, 16_383, 16_384, u64::MAX].iter().for_each(|time| lags.note(*time));
        let mut expected = vec![1, 1, 2, 1];
        expected.resize(DOUBLINGS, 0);
        (expected[14], expected[15]) = (1, 2);
        assert_eq!(lags.read(), expected);
    }
}
