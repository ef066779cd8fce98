//! The budget: one limit in bytes, what stored things use of it, and what is set aside.
//!
//! It is kept for the whole store, not for each shard: a shard's share of a
//! small limit would refuse the few large things that the whole could hold.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Reservations together may take the limit divided by this.
const RESERVED_SHARE: usize = 2;

#[derive(Debug)]
pub(crate) struct Budget {
    limit: AtomicUsize,
    used: AtomicUsize,
    reserved: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.into(), used: 0.into(), reserved: 0.into() }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(SeqCst)
    }

    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, SeqCst);
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(SeqCst)
    }

    pub(crate) fn reserved(&self) -> usize {
        self.reserved.load(SeqCst)
    }

    /// A shard that weighed `before` weighs `after` now; called under that shard's lock.
    pub(crate) fn reweigh(&self, before: usize, after: usize) {
        if after >= before {
            self.used.fetch_add(after - before, SeqCst);
        } else {
            self.used.fetch_sub(before - after, SeqCst);
        }
    }

    /// Whether more is held than may be.
    pub(crate) fn is_over(&self) -> bool {
        self.used().saturating_add(self.reserved()) > self.limit()
    }

    /// Sets bytes aside unless reservations would take more than their share.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let most = self.limit() / RESERVED_SHARE;
        let add = |reserved: usize| reserved.checked_add(bytes).filter(|&sum| sum <= most);
        self.reserved.fetch_update(SeqCst, SeqCst, add).is_ok()
    }

    /// Gives back what was set aside.
    pub(crate) fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, SeqCst);
    }
}
