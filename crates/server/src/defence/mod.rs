//! Defence: what one visitor may ask of a site's origin, so that enough is left for others.
//!
//! A visitor is a [`Block`] of addresses. Two bounds, both the owner's: how often it may ask
//! ([`rates`]), and how many of its requests may be with the origin at once ([`crowd`]).
//! Whoever calls this leaves out programs on this machine, and what files answer; behind a
//! trusted proxy the visitor is who the proxy says it is.
//! Start at [`Defence::enter`]; why it is so: `docs/decisions/limits.md`.

mod crowd;
mod dress;
mod rates;

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
    crowd: Arc<Crowd>,
}

impl Defence {
    pub(crate) fn new(rules: DefenceRules) -> Self {
        Self {
            counts_hits: AtomicBool::new(counts_hits(&rules)),
            rules: ArcSwap::from_pointee(rules),
            rates: OnceLock::new(),
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
        let rates = self.rates.get_or_init(Rates::default);
        rates
            .count(Block::of(visitor), rate, ticks_ms)
            .map_err(|retry_seconds| OriginError::TooOften { retry_seconds })
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
