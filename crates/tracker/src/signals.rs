//! Signs of cheating: cheap counters that say where a person should look. None of them
//! changes what is credited.

/// The greatest common divisor of what a user's counters grew by.
///
/// Programs that invent uploads tend to grow them by round steps; what was really sent
/// comes in blocks and requests and shares no large divisor for long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps {
    divisor: [u8; 6],
    count: u16,
}

/// Blocks are of 16 KiB: what shares more than that has another reason.
const BLOCK_BYTES: u64 = 16 * 1024;
/// Steps before a divisor says anything.
const STEPS_MIN: u16 = 8;

impl Steps {
    /// Takes note of a step.
    pub(crate) fn note(&mut self, bytes: u64) {
        if bytes != 0 {
            let divisor = common(self.divisor(), bytes);
            self.divisor.copy_from_slice(&divisor.to_le_bytes()[..6]);
            self.count = self.count.saturating_add(1);
        }
    }

    pub(crate) fn bytes(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&self.divisor);
        bytes[6..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, low, high] = bytes;
        Self { divisor: [a, b, c, d, e, f], count: u16::from_le_bytes([low, high]) }
    }

    fn divisor(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&self.divisor);
        u64::from_le_bytes(bytes)
    }

    /// How many steps there were, up to 65,535.
    pub(crate) fn count(&self) -> u16 {
        self.count
    }

    /// The divisor, if there were enough steps and it is no accident.
    pub(crate) fn suspicious(&self) -> Option<u64> {
        (self.count >= STEPS_MIN && self.divisor() > BLOCK_BYTES).then(|| self.divisor())
    }
}

fn common(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// What was told to be sent and taken at one torrent: the sums of all should be alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    sent: [u8; 6],
    taken: [u8; 6],
}

/// How much more than was taken is told to be sent where somebody should look: twice as much…
const EXCESS_TIMES: u64 = 2;
/// …and more than who goes without a word, or is counted elsewhere, explains.
const EXCESS_BYTES_MIN: u64 = 10 << 30;

/// Where the sums are halved, so that what is new weighs more.
const BALANCE_MAX: u64 = 1 << 47;

impl Balance {
    pub(crate) fn note(&mut self, sent: u64, taken: u64) {
        if sent | taken == 0 {
            return;
        }
        let (mut all_sent, mut all_taken) = self.sums();
        all_sent = all_sent.saturating_add(sent);
        all_taken = all_taken.saturating_add(taken);
        while all_sent.max(all_taken) >= BALANCE_MAX {
            (all_sent, all_taken) = (all_sent / 2, all_taken / 2);
        }
        self.sent.copy_from_slice(&all_sent.to_le_bytes()[..6]);
        self.taken.copy_from_slice(&all_taken.to_le_bytes()[..6]);
    }

    pub(crate) fn bytes(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..6].copy_from_slice(&self.sent);
        bytes[6..].copy_from_slice(&self.taken);
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; 12]) -> Self {
        let mut balance = Self::default();
        balance.sent.copy_from_slice(&bytes[..6]);
        balance.taken.copy_from_slice(&bytes[6..]);
        balance
    }

    /// Bytes told to be sent beyond those told to be taken, if they are suspiciously many.
    pub(crate) fn suspicious(&self) -> Option<u64> {
        let (sent, taken) = self.sums();
        let excess = sent.saturating_sub(taken);
        (excess >= EXCESS_BYTES_MIN && sent >= EXCESS_TIMES * taken).then_some(excess)
    }

    /// Bytes told to be sent, and to be taken.
    pub(crate) fn sums(&self) -> (u64, u64) {
        let sum = |bytes: &[u8; 6]| {
            let mut wide = [0; 8];
            wide[..6].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        };
        (sum(&self.sent), sum(&self.taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_steps_are_told_from_real_ones() {
        let after = |steps: &[u64]| {
            let mut noted = Steps::default();
            steps.iter().for_each(|bytes| noted.note(*bytes));
            noted.suspicious()
        };
        let megabytes: Vec<u64> = (1..20).map(|count| count * 1_000_000).collect();
        let blocks: Vec<u64> = (1..20).map(|count| count * BLOCK_BYTES).collect();
        assert_eq!(after(&megabytes), Some(1_000_000));
        assert_eq!(after(&megabytes[..7]), None, "too few to say");
        assert_eq!(after(&blocks), None);
        assert_eq!(after(&[0; 100]), None);
    }

    #[test]
    fn much_more_that_was_sent_than_taken_is_pointed_at() {
        for (sent, taken, expected) in [
            (100, 50, None),
            (100 << 30, 60 << 30, None),
            (100 << 30, 50 << 30, Some(50 << 30)),
            (9 << 30, 0, None),
            (10 << 30, 0, Some(10 << 30)),
            (0, 100 << 30, None),
        ] {
            let mut balance = Balance::default();
            balance.note(sent, taken);
            assert_eq!(balance.suspicious(), expected, "{sent} {taken}");
        }
    }

    #[test]
    fn a_balance_forgets_slowly_and_never_overflows() {
        let mut balance = Balance::default();
        balance.note(10, 20);
        assert_eq!(balance.sums(), (10, 20));
        (0..100).for_each(|_| balance.note(u64::MAX, 1 << 46));
        let (sent, taken) = balance.sums();
        assert!(sent > taken && sent < BALANCE_MAX);
    }
}
