//! Slots: how many requests may be with an origin at once, and who is next.
//!
//! A queue of bounded length stands before a bounded number of slots, in which the visitors'
//! addresses take turns ([`crate::turns`]); one queue may stand before the slots of several
//! servers.
//! Invariant: a slot is free again when its holder is dropped, however that came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base::network::Block;
use base::{Phase, Phases};
use futures_util::future::select_all;
use tokio::time::Instant;

use crate::timeouts::{seconds, within};
use crate::turns::{Turn, Turns};
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

/// How busy an origin is at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests that may be with it at once.
    pub slots: usize,
    /// Requests that are.
    pub taken: usize,
    /// Requests that wait to be.
    pub waiting: usize,
}

/// The slots of one server.
pub(crate) struct Slots {
    free: Arc<Turns>,
    slots: usize,
    queue: Arc<Queue>,
}

/// Those who wait.
pub(crate) struct Queue {
    waiting: AtomicUsize,
    limits: SlotLimits,
    counters: Arc<Counters>,
}

/// The right to one connection.
pub(crate) struct Slot {
    _turn: Turn,
    since: Instant,
    counters: Arc<Counters>,
    /// Where it is noted how long the body took, and when its head was there.
    body: Option<(Arc<Phases>, Instant)>,
}

impl Slot {
    fn new(turn: Turn, counters: Arc<Counters>) -> Self {
        Self { _turn: turn, since: Instant::now(), counters, body: None }
    }

    /// The answer's head is here: what follows, until the slot is free, is its body.
    pub(crate) fn begin_body(&mut self, phases: Option<Arc<Phases>>) {
        self.body = phases.map(|phases| (phases, Instant::now()));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let now = Instant::now();
        self.counters.busy_us.add((now - self.since).as_micros() as u64);
        if let Some((phases, began)) = self.body.take() {
            phases.add_since(Phase::Body, began);
        }
    }
}

/// Counts a waiter for as long as it waits, also when its future is dropped.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Queue {
    pub(crate) fn new(limits: SlotLimits, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self { waiting: AtomicUsize::new(0), limits, counters })
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Waits for `turn`, if there is room and for as long as anybody may.
    async fn wait<T>(&self, turn: impl Future<Output = T>) -> Result<T, OriginError> {
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiter = Waiter(&self.waiting);
        if waiting >= self.limits.queue {
            self.counters.queue_refusals.bump();
            return Err(OriginError::QueueFull { waiting });
        }
        self.counters.queue_waits.bump();
        match within(self.limits.queue_timeout, turn).await {
            Some(turn) => Ok(turn),
            None => {
                self.counters.queue_timeouts.bump();
                Err(OriginError::QueueTimeout { seconds: seconds(self.limits.queue_timeout) })
            }
        }
    }
}

impl Slots {
    pub(crate) fn new(limits: SlotLimits, counters: Arc<Counters>) -> Self {
        Self::behind(limits.slots, Queue::new(limits, counters))
    }

    /// So many slots behind a queue that may have others too.
    pub(crate) fn behind(slots: usize, queue: Arc<Queue>) -> Self {
        let slots = slots.max(1);
        Self { free: Turns::new(slots), slots, queue }
    }

    /// Takes a slot when it is this visitor's turn.
    pub(crate) async fn take(&self, visitor: Block) -> Result<Slot, OriginError> {
        if let Some(slot) = self.try_take() {
            return Ok(slot);
        }
        let turn = self.queue.wait(self.free.take(visitor)).await?;
        Ok(Slot::new(turn, self.queue.counters.clone()))
    }

    /// Takes a slot if one is free and nobody waits for it.
    pub(crate) fn try_take(&self) -> Option<Slot> {
        let turn = self.free.try_take()?;
        Some(Slot::new(turn, self.queue.counters.clone()))
    }

    /// How busy they are; who waits is counted once, also where there are others behind the
    /// same queue.
    pub(crate) fn load(&self) -> Load {
        Load { slots: self.slots, taken: self.taken(), waiting: self.queue.waiting() }
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.slots.saturating_sub(self.free.free())
    }
}

/// Waits for the first slot of any of these, who all stand behind `queue`; there must be
/// one of them at least.
pub(crate) async fn take_any(
    visitor: Block,
    several: &[(usize, &Slots)],
    queue: &Queue,
) -> Result<(usize, Slot), OriginError> {
    let turns = several.iter().map(|&(at, slots)| {
        let (free, counters) = (slots.free.clone(), slots.queue.counters.clone());
        Box::pin(async move {
            let turn = free.take(visitor).await;
            (at, Slot::new(turn, counters))
        })
    });
    // A second slot that came at the same moment is dropped, and so goes to who is next.
    let first = select_all(turns);
    queue.wait(async { first.await.0 }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(slots: usize, queue: usize) -> Arc<Slots> {
        let queue_timeout = Duration::from_secs(10);
        Arc::new(Slots::new(SlotLimits { slots, queue, queue_timeout }, Arc::default()))
    }

    fn visitor() -> Block {
        Block::of(std::net::Ipv4Addr::LOCALHOST.into())
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_the_queue_full_is_refused_and_the_others_are_served_in_turn() {
        let slots = slots(1, 2);
        let held = slots.take(visitor()).await.expect("the first slot is free");
        let order = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let waiters: Vec<_> = (0..2)
            .map(|number| {
                let (slots, order) = (slots.clone(), order.clone());
                tokio::spawn(async move {
                    let slot = slots.take(visitor()).await;
                    order.lock().push(number);
                    slot.is_ok()
                })
            })
            .collect();
        while slots.queue.waiting.load(Ordering::Acquire) < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slots.take(visitor()).await.err(), Some(OriginError::QueueFull { waiting: 2 }));
        drop(held);
        for waiter in waiters {
            assert!(waiter.await.expect("a waiter does not panic"));
        }
        assert_eq!(*order.lock(), [0, 1]);
        assert_eq!(slots.queue.counters.queue_refusals.read(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_told_so_and_leaves_the_queue() {
        let slots = slots(1, 1);
        let _held = slots.take(visitor()).await.expect("the first slot is free");
        for _ in 0..3 {
            assert_eq!(
                slots.take(visitor()).await.err(),
                Some(OriginError::QueueTimeout { seconds: 10 })
            );
        }
        assert_eq!(slots.queue.counters.queue_timeouts.read(), 3);
        assert_eq!(slots.queue.waiting.load(Ordering::Acquire), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_several_gets_the_first_that_is_free() {
        let limits = SlotLimits { slots: 1, queue: 9, queue_timeout: Duration::from_secs(10) };
        let queue = Queue::new(limits, Arc::default());
        let (one, other) = (Slots::behind(1, queue.clone()), Slots::behind(1, queue.clone()));
        let (held, freed) = (one.try_take(), other.try_take());
        assert!(held.is_some() && one.try_take().is_none());
        let both = [(0, &one), (1, &other)];
        let free = async {
            tokio::task::yield_now().await;
            drop(freed);
        };
        let (taken, ()) = tokio::join!(take_any(visitor(), &both, &queue), free);
        let (at, slot) = taken.expect("one was freed");
        assert_eq!((at, one.taken(), other.taken()), (1, 1, 1));
        drop((held, slot));
        assert_eq!((one.taken(), other.taken(), queue.waiting.load(Ordering::Acquire)), (0, 0, 0));
    }
}
