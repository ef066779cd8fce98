//! Deadlines of connections, without a timer a request.
//!
//! A connection writes its deadline into a cell; one housekeeping task looks over
//! all cells twice a second and wakes those that are late. Setting a deadline is
//! one store, where a timer would be a lock and a walk through a wheel.
//! One that was idle at two looks in a row is told to rest: to give back what it holds.
//! Invariant: a watch that fired stays fired; its connection must end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use slab::Slab;

/// How often deadlines are looked at; also how late they may be noticed.
pub(crate) const SWEEP_INTERVAL_MS: u64 = 500;

/// So many looks in a row that found a connection idle tell it to rest.
const REST_LOOKS: u8 = 2;

/// The deadline of one connection.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// 0: none.
    deadline_ticks_ms: AtomicU64,
    /// Between two requests: may be closed at any time without loss.
    idle: AtomicBool,
    /// Looks that found it so, since it was busy.
    idle_looks: AtomicU8,
    fired: AtomicBool,
    waker: AtomicWaker,
}

impl Watch {
    /// From now on the connection must show progress before `ticks_ms`.
    pub(crate) fn set(&self, ticks_ms: u64) {
        self.deadline_ticks_ms.store(ticks_ms, Ordering::Relaxed);
    }

    /// No deadline: somebody else (the origin's time-outs) watches over this phase.
    pub(crate) fn clear(&self) {
        self.set(0);
    }

    /// Marks the connection as waiting for a request, or as busy with one.
    pub(crate) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
        if !idle {
            self.idle_looks.store(0, Ordering::Relaxed);
        }
    }

    /// Whether nothing has come for so long that the connection should hold little. It is
    /// woken once when that begins.
    pub(crate) fn rests(&self) -> bool {
        self.idle_looks.load(Ordering::Relaxed) >= REST_LOOKS
    }

    /// One more look at it.
    fn look(&self) {
        let looks = self.idle_looks.load(Ordering::Relaxed);
        if looks < REST_LOOKS && self.idle.load(Ordering::Relaxed) {
            self.idle_looks.store(looks + 1, Ordering::Relaxed);
            if self.rests() {
                self.waker.wake();
            }
        }
    }

    /// Whether the connection must end.
    pub(crate) fn has_fired(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }

    /// Ready once the connection must end.
    pub(crate) fn poll_fired(&self, context: &Context<'_>) -> Poll<()> {
        if self.fired.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        self.waker.register(context.waker());
        if self.fired.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ends the connection; returns whether nobody did before.
    fn fire(&self) -> bool {
        let was_fired = self.fired.swap(true, Ordering::AcqRel);
        self.waker.wake();
        !was_fired
    }
}

/// The deadlines of all connections of a server.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    slots: Mutex<Slab<Arc<Watch>>>,
}

impl Watches {
    /// Enters a connection; it leaves when the returned place is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let watch = Arc::new(Watch::default());
        let slot = self.slots.lock().insert(watch.clone());
        Place { watch, slot, watches: self.clone() }
    }

    /// How many connections there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().len()
    }

    /// Ends what is late; when `closing`, also what is idle. Returns how many it ended.
    pub(crate) fn sweep(&self, ticks_ms: u64, closing: bool) -> usize {
        let late = |watch: &Watch| {
            let deadline = watch.deadline_ticks_ms.load(Ordering::Relaxed);
            (deadline != 0 && deadline <= ticks_ms)
                || (closing && watch.idle.load(Ordering::Relaxed))
        };
        let slots = self.slots.lock();
        slots.iter().for_each(|(_, watch)| watch.look());
        slots.iter().filter(|(_, watch)| late(watch) && watch.fire()).count()
    }

    /// Ends every connection; returns how many nobody had ended before.
    pub(crate) fn end_all(&self) -> usize {
        self.slots.lock().iter().filter(|(_, watch)| watch.fire()).count()
    }
}

/// A connection's place among the watched.
#[derive(Debug)]
pub(crate) struct Place {
    watch: Arc<Watch>,
    slot: usize,
    watches: Arc<Watches>,
}

impl Place {
    /// The watch itself, to be listened to while the connection is busy with something else.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        self.watch.clone()
    }
}

impl std::ops::Deref for Place {
    type Target = Watch;
    fn deref(&self) -> &Watch {
        &self.watch
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.watches.slots.lock().remove(self.slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(watch: &Watch) -> bool {
        watch.poll_fired(&Context::from_waker(std::task::Waker::noop())).is_ready()
    }

    #[test]
    fn only_the_late_are_ended_and_the_idle_when_closing() {
        let watches = Arc::new(Watches::default());
        let (late, busy, idle) = (watches.enter(), watches.enter(), watches.enter());
        late.set(100);
        busy.set(101);
        idle.set_idle(true);
        assert_eq!(watches.sweep(100, false), 1);
        assert!(fired(&late) && !fired(&busy) && !fired(&idle));
        assert_eq!(watches.sweep(100, false), 0, "it was ended, if it is slow to notice");
        drop(late);
        assert_eq!(watches.sweep(100, true), 1);
        assert!(!fired(&busy) && fired(&idle));
        assert_eq!((watches.end_all(), watches.end_all()), (1, 0));
        assert!(fired(&busy));
        drop((busy, idle));
        assert_eq!(watches.len(), 0);
    }

    #[test]
    fn who_is_idle_at_two_looks_in_a_row_rests_until_it_is_busy() {
        let watches = Arc::new(Watches::default());
        let place = watches.enter();
        place.set_idle(true);
        watches.sweep(1, false);
        assert!(!place.rests());
        place.set_idle(false);
        watches.sweep(1, false);
        place.set_idle(true);
        watches.sweep(1, false);
        assert!(!place.rests(), "it was busy in between");
        watches.sweep(1, false);
        assert!(place.rests() && !place.has_fired());
        place.set_idle(false);
        assert!(!place.rests());
    }
}
