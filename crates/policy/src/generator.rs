//! Numbers that look random, for tests: the same from each seed, on every machine.

/// xorshift64*: small, even, and the same everywhere.
pub(crate) struct Generator(pub(crate) u64);

impl Generator {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.next(from.len())]
    }
}
