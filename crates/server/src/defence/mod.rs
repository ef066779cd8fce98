//! Defence: what one visitor may ask of a site's origin, so that enough is left for others.
//!
//! A visitor is a [`Block`] of addresses. Two bounds, both the owner's: how often it may ask
//! ([`rates`]), and how many of its requests may be with the origin at once ([`crowd`]).
//! Whoever calls this leaves out programs on this machine, and what files answer; behind a
//! trusted proxy the visitor is who the proxy says it is. Where there are other nodes, what they
//! let through counts too ([`shares`]).
//! Start at [`Defence::enter`]; why it is so: `docs/decisions/limits.md`.

mod crowd;
mod dress;
mod rates;
mod shares;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use base::network::Block;
use bytes::Bytes;
use origin::OriginError;

pub use rates::Rate;

pub(crate) use crowd::{Crowd, Seat};
use rates::Rates;
use shares::Shares;

/// The owner's decisions about what one visitor may take, and what goes on answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefenceRules {
    /// How often one address may ask; none: as often as it likes.
    pub rate: Option<Rate>,
    /// Whether what memory answers counts too.
    pub rate_hits: bool,
    /// Requests of one address that may be with the origin at once, or wait for it.
    pub concurrency: usize,
    /// What visitors are shown where the origin is out or busy; none: a sentence.
    pub busy_page: Option<Bytes>,
    /// Whether browsers are told to be careful.
    pub security_headers: bool,
    /// Whether requests bear an id of ours, so that an origin's means nothing.
    pub request_id: bool,
}

impl Default for DefenceRules {
    fn default() -> Self {
        Self {
            rate: None,
            rate_hits: false,
            concurrency: 64,
            busy_page: None,
            security_headers: false,
            request_id: false,
        }
    }
}

/// What stands before one site's origin.
pub(crate) struct Defence {
    rules: ArcSwap<DefenceRules>,
    /// Of the rules, what every hit asks.
    counts_hits: AtomicBool,
    /// Made when there is a rate for the first time: it is a mebibyte.
    rates: OnceLock<Rates>,
    /// Made when there are other nodes for the first time.
    shares: OnceLock<Shares>,
    crowd: Arc<Crowd>,
}

impl Defence {
    pub(crate) fn new(rules: DefenceRules) -> Self {
        Self {
            counts_hits: AtomicBool::new(counts_hits(&rules)),
            rules: ArcSwap::from_pointee(rules),
            rates: OnceLock::new(),
            shares: OnceLock::new(),
            crowd: Arc::default(),
        }
    }

    /// Other rules from now on; who was counted stays so.
    pub(crate) fn follow(&self, rules: DefenceRules) {
        self.counts_hits.store(counts_hits(&rules), Ordering::Relaxed);
        self.rules.store(Arc::new(rules));
    }

    /// Counts a request that has just come, where hits are counted.
    pub(crate) fn admit(&self, visitor: IpAddr, ticks_ms: u64) -> Result<(), OriginError> {
        match self.counts_hits.load(Ordering::Relaxed) {
            false => Ok(()),
            true => self.count(&self.rules.load(), visitor, ticks_ms),
        }
    }

    /// Lets a visitor's request through to the origin. The seat is to be kept until the answer is over.
    pub(crate) fn enter(&self, visitor: IpAddr, ticks_ms: u64) -> Result<Seat, OriginError> {
        let rules = self.rules.load();
        if !rules.rate_hits {
            self.count(&rules, visitor, ticks_ms)?;
        }
        let seat = self.crowd.enter(Block::of(visitor), rules.concurrency);
        seat.map_err(|under_way| OriginError::TooManyAtOnce { under_way })
    }

    fn count(
        &self,
        rules: &DefenceRules,
        visitor: IpAddr,
        ticks_ms: u64,
    ) -> Result<(), OriginError> {
        let Some(rate) = rules.rate else { return Ok(()) };
        let visitor = Block::of(visitor);
        let rates = self.rates.get_or_init(Rates::default);
        rates
            .count(visitor, rate, ticks_ms)
            .map_err(|retry_seconds| OriginError::TooOften { retry_seconds })?;
        if let Some(shares) = self.shares.get() {
            shares.note(visitor, rate, ticks_ms);
        }
        Ok(())
    }

    /// What the others are to know, as one of so many nodes: how many requests of whom were let
    /// through since the last time, of those who ask for more than a share.
    pub(crate) fn share(&self, nodes: usize, ticks_ms: u64) -> Vec<(Block, u32)> {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        let is_wanted = nodes > 1 && self.rules.load().rate.is_some();
        let Some(shares) = self.shares.get() else {
            if is_wanted {
                self.shares.get_or_init(|| Shares::new(nodes));
            }
            return Vec::new();
        };
        shares.set_nodes(nodes);
        let told = shares.take(ticks_ms);
        if is_wanted { told } else { Vec::new() }
    }

    /// By how many nodes the rate is parted; zero: this node counts alone.
    pub(crate) fn nodes(&self) -> u32 {
        self.shares.get().map_or(0, Shares::nodes)
    }

    /// Another node has let so many requests of a visitor's through.
    pub(crate) fn hear(&self, visitor: Block, count: u32, ticks_ms: u64) {
        let Some(rate) = self.rules.load().rate else { return };
        let nodes = self.shares.get().map_or(2, Shares::nodes);
        self.rates.get_or_init(Rates::default).add(visitor, rate, count, nodes, ticks_ms);
    }

    /// Addresses that were still being counted when others took their place.
    pub(crate) fn forgotten(&self) -> u64 {
        self.rates.get().map_or(0, |rates| rates.forgotten.read())
    }
}

fn counts_hits(rules: &DefenceRules) -> bool {
    rules.rate_hits && rules.rate.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn rules(rate: &str, burst: u32, rate_hits: bool) -> DefenceRules {
        let interval = base::amount::parse_rate(rate).expect("a rate");
        DefenceRules {
            rate: Some(Rate::new(interval, burst)),
            rate_hits,
            ..DefenceRules::default()
        }
    }

    #[test]
    fn a_hit_counts_only_where_the_owner_says_so_and_then_the_origin_does_not_count_again() {
        for (rate_hits, hits_taken, asks_taken) in [(false, 9, 3), (true, 3, 9)] {
            let defence = Defence::new(rules("1/s", 3, rate_hits));
            let ann = address("192.0.2.1");
            let taken = |ask: &dyn Fn() -> bool| (0..9).filter(|_| ask()).count();
            assert_eq!(taken(&|| defence.admit(ann, 5).is_ok()), hits_taken);
            assert_eq!(taken(&|| defence.enter(ann, 5).is_ok()), asks_taken);
        }
    }

    /// What three nodes let through in two minutes of a visitor who asks each of them so often,
    /// in milliseconds; the rate is 10 a second after 20.
    fn let_through(every_ms: [u64; 3]) -> usize {
        let nodes = [(); 3].map(|()| Defence::new(rules("10/s", 20, false)));
        let (ann, mut taken) = (address("192.0.2.1"), 0);
        for ms in 0..120_000 {
            if ms % 1000 == 0 {
                let told = nodes.each_ref().map(|node| node.share(3, ms));
                for (from, told) in told.into_iter().enumerate() {
                    for (to, node) in nodes.iter().enumerate().filter(|(to, _)| *to != from) {
                        assert_ne!(to, from);
                        told.iter().for_each(|(visitor, count)| node.hear(*visitor, *count, ms));
                    }
                }
            }
            let asks = nodes.iter().zip(every_ms).filter(|(_, every)| ms % every == 0);
            taken += asks.filter(|(node, _)| node.enter(ann, ms).is_ok()).count();
        }
        taken
    }

    #[test]
    fn several_nodes_together_let_about_as_much_through_as_one() {
        let (rate, bursts) = (10 * 120, 3 * 20);
        for every_ms in [[10, 10, 10], [10, 10, u64::MAX], [10, u64::MAX, u64::MAX]] {
            let taken = let_through(every_ms);
            assert!((rate * 8 / 10..=rate * 12 / 10 + bursts).contains(&taken), "{taken}");
        }
        // Just within the shares of two: the most that can be had.
        let taken = let_through([10, 310, 310]);
        assert!((rate..=rate * 5 / 3 + bursts).contains(&taken), "{taken}");
        // Nobody is refused who asks for no more than the rate.
        let asked = |every: u64| 120_000_usize.div_ceil(every as usize);
        assert_eq!(let_through([310, 310, 310]), 3 * asked(310));
        assert_eq!(let_through([250, 500, 500]), asked(250) + 2 * asked(500));
    }

    #[test]
    fn rules_that_change_hold_at_once_and_forget_nobody() {
        let defence = Defence::new(rules("1/h", 2, false));
        let ann = address("2001:db8::1");
        assert!(defence.enter(ann, 0).is_ok() && defence.enter(ann, 0).is_ok());
        assert!(defence.enter(ann, 0).is_err());
        defence.follow(DefenceRules::default());
        assert!(defence.enter(ann, 0).is_ok());
        defence.follow(rules("1/h", 2, true));
        assert_eq!(defence.admit(ann, 0), Err(OriginError::TooOften { retry_seconds: 3600 }));
    }
}
