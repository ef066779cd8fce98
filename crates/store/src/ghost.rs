//! The ghost: which keys were thrown out lately without having been read twice.
//!
//! A key that comes back while its ghost is still seen has proved that it is
//! wanted, and goes straight to the main queue. A ghost is eight bytes: part of
//! the key's hash and when it went. A ghost that is mistaken for another only
//! admits one entry too early.
//!
//! Invariant: never more than twice as many ghosts as the window that
//! [`Ghost::remember`] is given, and it is given the number of living entries.

use hashbrown::HashTable;

#[derive(Debug, Clone, Copy)]
struct Trace {
    print: u32,
    stamp: u32,
}

/// Keys that went, oldest forgotten first.
#[derive(Debug, Default)]
pub(crate) struct Ghost {
    traces: HashTable<Trace>,
    /// How many went so far; it wraps, and only differences within a window are read.
    gone: u32,
}

impl Ghost {
    /// Notes that the key of `hash` went; only the last `window` of them are known afterwards.
    pub(crate) fn remember(&mut self, hash: u64, window: usize) {
        self.gone = self.gone.wrapping_add(1);
        if self.traces.len() >= window.saturating_mul(2) {
            let gone = self.gone;
            self.traces.retain(|trace| age(gone, *trace) < window);
            if self.traces.capacity() / 4 > window {
                self.traces.shrink_to(window * 2, |trace| spread(trace.print));
            }
        }
        let trace = Trace { print: print(hash), stamp: self.gone };
        match self.traces.find_mut(spread(trace.print), |other| other.print == trace.print) {
            Some(earlier) => *earlier = trace,
            None => {
                self.traces.insert_unique(spread(trace.print), trace, |trace| spread(trace.print));
            }
        }
    }

    /// Whether the key of `hash` was among the last `window` that went; it is forgotten by asking.
    pub(crate) fn recall(&mut self, hash: u64, window: usize) -> bool {
        let print = print(hash);
        match self.traces.find_entry(spread(print), |trace| trace.print == print) {
            Ok(entry) => age(self.gone, entry.remove().0) < window,
            Err(_) => false,
        }
    }

    /// Forgets everything and gives its memory back.
    pub(crate) fn clear(&mut self) {
        self.traces = HashTable::new();
    }

    /// The memory that it occupies.
    pub(crate) fn bytes(&self) -> usize {
        self.traces.allocation_size()
    }
}

fn age(gone: u32, trace: Trace) -> usize {
    gone.wrapping_sub(trace.stamp) as usize
}

fn print(hash: u64) -> u32 {
    (hash >> 16) as u32
}

/// Where a print lives in the table; its own bits are too few for the table's two uses of a hash.
fn spread(print: u32) -> u64 {
    u64::from(print).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: u64) -> u64 {
        key.wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(32)
    }

    #[test]
    fn the_last_window_is_known_and_older_keys_are_not() {
        let mut ghost = Ghost::default();
        (0..1000).for_each(|key| ghost.remember(hash(key), 100));
        assert!(!ghost.recall(hash(899), 100));
        assert!(ghost.recall(hash(900), 100) && ghost.recall(hash(999), 100));
        assert!(!ghost.recall(hash(999), 100), "a ghost is seen once");
    }

    #[test]
    fn its_memory_follows_the_window_up_and_down() {
        let mut ghost = Ghost::default();
        (0..100_000).for_each(|key| ghost.remember(hash(key), 10_000));
        assert!(ghost.traces.len() <= 20_000 && ghost.bytes() < 500_000, "{}", ghost.bytes());
        (0..100).for_each(|key| ghost.remember(hash(key), 10));
        assert!(ghost.traces.len() <= 20 && ghost.bytes() < 1_000, "{}", ghost.bytes());
        ghost.remember(1, 0);
        assert!(!ghost.recall(1, 0));
    }
}
