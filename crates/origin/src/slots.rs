//! Slots: how many requests may be with an origin at once, and who is next.
//!
//! A fair queue of bounded length stands before a bounded number of slots.
//! Invariant: a slot is free again when its holder is dropped, however that came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::timeouts::{seconds, within};
use crate::{Counters, OriginError};

/// The bounds of one origin's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLimits {
    /// Requests that may be with the origin at once; for PHP at most its children.
    pub slots: usize,
    /// Requests that may wait for a slot.
    pub queue: usize,
    /// How long one may wait.
    pub queue_timeout: Duration,
}

/// The slots of one origin.
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
    limits: SlotLimits,
    counters: Arc<Counters>,
}

/// The right to one connection.
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// Counts a waiter for as long as it waits, also when its future is dropped.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Slots {
    pub(crate) fn new(limits: SlotLimits, counters: Arc<Counters>) -> Self {
        let slots = limits.slots.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(slots)),
            waiting: AtomicUsize::new(0),
            limits,
            counters,
        }
    }

    /// Takes a slot, in turn.
    pub(crate) async fn take(&self) -> Result<Slot, OriginError> {
        // The semaphore is fair: this succeeds only if nobody waits.
        if let Ok(permit) = self.free.clone().try_acquire_owned() {
            return Ok(Slot { _permit: permit });
        }
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiter = Waiter(&self.waiting);
        if waiting >= self.limits.queue {
            self.counters.queue_refusals.bump();
            return Err(OriginError::QueueFull { waiting });
        }
        match within(self.limits.queue_timeout, self.free.clone().acquire_owned()).await {
            Some(Ok(permit)) => Ok(Slot { _permit: permit }),
            Some(Err(closed)) => Err(OriginError::Ours(closed.to_string())),
            None => {
                self.counters.queue_timeouts.bump();
                Err(OriginError::QueueTimeout { seconds: seconds(self.limits.queue_timeout) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(slots: usize, queue: usize) -> Arc<Slots> {
        let queue_timeout = Duration::from_secs(10);
        Arc::new(Slots::new(SlotLimits { slots, queue, queue_timeout }, Arc::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_the_queue_full_is_refused_and_the_others_are_served_in_turn() {
        let slots = slots(1, 2);
        let held = slots.take().await.expect("the first slot is free");
        let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let waiters: Vec<_> = (0..2)
            .map(|number| {
                let (slots, order) = (slots.clone(), order.clone());
                tokio::spawn(async move {
                    let slot = slots.take().await;
                    order.lock().push(number);
                    slot.is_ok()
                })
            })
            .collect();
        while slots.waiting.load(Ordering::Acquire) < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slots.take().await.err(), Some(OriginError::QueueFull { waiting: 2 }));
        drop(held);
        for waiter in waiters {
            assert!(waiter.await.expect("a waiter does not panic"));
        }
        assert_eq!(*order.lock(), [0, 1]);
        assert_eq!(slots.counters.queue_refusals.read(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_told_so_and_leaves_the_queue() {
        let slots = slots(1, 1);
        let _held = slots.take().await.expect("the first slot is free");
        for _ in 0..3 {
            assert_eq!(slots.take().await.err(), Some(OriginError::QueueTimeout { seconds: 10 }));
        }
        assert_eq!(slots.counters.queue_timeouts.read(), 3);
        assert_eq!(slots.waiting.load(Ordering::Acquire), 0);
    }
}
