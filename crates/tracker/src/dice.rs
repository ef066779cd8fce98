//! Random numbers for choices that nobody gains from guessing: xorshift with a random start.

use std::hash::{BuildHasher, RandomState};

/// Dice.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that fall otherwise in each process.
    pub(crate) fn new(salt: u64) -> Self {
        Self::seeded(RandomState::new().hash_one(salt))
    }

    /// Dice that always fall alike.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, each as likely: what would be favoured is thrown again.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        let mut wide = (self.next() >> 32) * u64::from(limit);
        // What may be favoured is below the limit, so that a division is seldom needed to know it.
        if (wide as u32) < limit {
            let unfair = limit.wrapping_neg() % limit;
            while (wide as u32) < unfair {
                wide = (self.next() >> 32) * u64::from(limit);
            }
        }
        (wide >> 32) as u32
    }
}
