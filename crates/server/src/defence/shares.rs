//! Shares: what of a visitor's rate one node of several may let through without a word.
//!
//! Each node lets a visitor have the whole rate, less what the others say that they have let
//! through. A node's *share* is the rate parted by the number of nodes, after half the burst so
//! parted. Who stays within it everywhere is never spoken of: all nodes together let no more
//! through than the rate. Who doesn't is *hot* for a while: all that is let through of it is told
//! once a second.
//! Bounds: [`HOT_MAX`] visitors are told of; as many are counted as by [`Rates`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base::network::Block;
use parking_lot::Mutex;

use super::rates::{Rate, Rates};

/// Visitors of a site that are told of at one time.
const HOT_MAX: usize = 1024;
/// How long a visitor stays hot after it was over the share.
const HOT_MS: u64 = 10_000;

/// What this node has let through of each visitor of a site.
pub(crate) struct Shares {
    within: Rates,
    hot: Mutex<HashMap<Block, Hot>>,
    /// Whether there is anybody in it, which every request asks.
    has_hot: AtomicBool,
    nodes: AtomicU32,
}

struct Hot {
    /// Requests that nobody was told of yet.
    untold: u32,
    until_ms: u64,
}

impl Shares {
    /// As one of so many nodes.
    pub(crate) fn new(nodes: u32) -> Self {
        let (within, hot, has_hot) = Default::default();
        Self { within, hot, has_hot, nodes: AtomicU32::new(nodes) }
    }

    /// There are so many nodes now.
    pub(crate) fn set_nodes(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// A request was let through.
    pub(crate) fn note(&self, visitor: Block, rate: Rate, ticks_ms: u64) {
        let share = rate.parted(self.nodes());
        let is_over = self.within.count(visitor, share, ticks_ms).is_err();
        if !is_over && !self.has_hot.load(Ordering::Relaxed) {
            return;
        }
        let mut hot = self.hot.lock();
        self.has_hot.store(true, Ordering::Relaxed);
        if is_over && (hot.len() < HOT_MAX || hot.contains_key(&visitor)) {
            let until_ms = ticks_ms + HOT_MS;
            hot.entry(visitor).or_insert(Hot { untold: 0, until_ms }).until_ms = until_ms;
        }
        if let Some(hot) = hot.get_mut(&visitor).filter(|hot| hot.until_ms > ticks_ms) {
            hot.untold = hot.untold.saturating_add(1);
        }
    }

    /// What is to be told: how many requests of whom were let through since the last time.
    pub(crate) fn take(&self, ticks_ms: u64) -> Vec<(Block, u32)> {
        let mut hot = self.hot.lock();
        hot.retain(|_, one| one.untold > 0 || one.until_ms > ticks_ms);
        self.has_hot.store(!hot.is_empty(), Ordering::Relaxed);
        let untold =
            hot.iter_mut().map(|(visitor, one)| (*visitor, std::mem::take(&mut one.untold)));
        untold.filter(|(_, untold)| *untold > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use super::*;

    fn visitor(number: u32) -> Block {
        Block::of(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    #[test]
    fn who_stays_within_the_share_is_never_spoken_of() {
        let shares = Shares::new(4);
        // 20 a second after 80: a share is 5 a second after 11.
        let rate = Rate::new(Duration::from_millis(50), 81);
        for ms in (0..60_000).step_by(200) {
            shares.note(visitor(1), rate, ms);
            assert_eq!(shares.take(ms), []);
        }
        (0..20).for_each(|_| shares.note(visitor(2), rate, 60_000));
        assert_eq!(shares.take(60_000), [(visitor(2), 9)]);
        assert_eq!(shares.take(61_000), [], "nothing new");
        shares.note(visitor(2), rate, 69_000);
        assert_eq!(shares.take(69_000), [(visitor(2), 1)], "it is still hot");
        shares.note(visitor(2), rate, 90_000);
        assert_eq!(shares.take(90_000), [], "it isn't any more");
    }

    #[test]
    fn no_more_visitors_are_told_of_than_the_bound() {
        let shares = Shares::new(2);
        let rate = Rate::new(Duration::from_secs(1), 1);
        for number in 0..2 * HOT_MAX as u32 {
            (0..3).for_each(|_| shares.note(visitor(number), rate, 0));
        }
        assert_eq!(shares.take(0).len(), HOT_MAX);
        shares.take(HOT_MS + 1);
        assert!(shares.hot.lock().is_empty());
    }
}
