//! Kept connections, shared by all threads, closed once they have lain unused.
//!
//! Invariants: 1. A connection here is nobody's. 2. While one lies here a task
//! watches over it, so that none outlives its time because no request came.

use std::sync::{Arc, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The connections of one origin that wait for their next request.
pub(crate) struct Pool<C> {
    inner: Arc<Inner<C>>,
}

struct Inner<C> {
    keep: Duration,
    idle: Mutex<Idle<C>>,
}

struct Idle<C> {
    /// Oldest first.
    connections: Vec<Kept<C>>,
    is_watched: bool,
    is_closed: bool,
}

struct Kept<C> {
    connection: C,
    since: Instant,
    thread: ThreadId,
}

impl<C> Clone for Pool<C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<C: Send + 'static> Pool<C> {
    /// A pool that keeps an unused connection for `keep`.
    pub(crate) fn new(keep: Duration) -> Self {
        let idle = Idle { connections: Vec::new(), is_watched: false, is_closed: false };
        Self { inner: Arc::new(Inner { keep, idle: Mutex::new(idle) }) }
    }

    /// The connection used last, of this thread if there is one: its socket is
    /// watched by this thread's runtime, so no other has to be woken for it.
    pub(crate) fn take(&self) -> Option<C> {
        let mut idle = self.inner.idle.lock();
        let here = thread::current().id();
        let at = idle.connections.iter().rposition(|kept| kept.thread == here);
        let last = idle.connections.len().checked_sub(1)?;
        Some(idle.connections.remove(at.unwrap_or(last)).connection)
    }

    /// The connection that has lain here longest.
    pub(crate) fn take_oldest(&self) -> Option<C> {
        let mut idle = self.inner.idle.lock();
        if idle.connections.is_empty() { None } else { Some(idle.connections.remove(0).connection) }
    }

    /// Lays a connection aside. Must be called within a runtime.
    pub(crate) fn put(&self, connection: C) {
        if self.inner.keep.is_zero() {
            return;
        }
        let kept = Kept { connection, since: Instant::now(), thread: thread::current().id() };
        let mut idle = self.inner.idle.lock();
        if idle.is_closed {
            return;
        }
        idle.connections.push(kept);
        if !idle.is_watched {
            idle.is_watched = true;
            drop(tokio::spawn(watch(Arc::downgrade(&self.inner))));
        }
    }

    /// Closes what lies here and keeps nothing from now on.
    pub(crate) fn close(&self) {
        let mut idle = self.inner.idle.lock();
        idle.is_closed = true;
        idle.connections.clear();
    }

    /// How many lie here.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.inner.idle.lock().connections.len()
    }
}

/// Marks the pool as unwatched if the watch ends with its runtime, before its time.
struct Watch<C> {
    inner: Weak<Inner<C>>,
    is_over: bool,
}

impl<C> Drop for Watch<C> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.upgrade().filter(|_| !self.is_over) {
            inner.idle.lock().is_watched = false;
        }
    }
}

/// Closes what has lain here too long, until nothing lies here any more.
async fn watch<C: Send + 'static>(inner: Weak<Inner<C>>) {
    let mut watch = Watch { inner, is_over: false };
    while let Some(next) = watch.inner.upgrade().and_then(|inner| inner.close_expired()) {
        tokio::time::sleep_until(next).await;
    }
    watch.is_over = true;
}

impl<C> Inner<C> {
    /// Closes what has lain here too long and says when to look again; none: nothing
    /// lies here, and under the same lock the pool became unwatched, so that whoever
    /// puts a connection here next starts a new watch.
    fn close_expired(&self) -> Option<Instant> {
        let mut idle = self.idle.lock();
        let now = Instant::now();
        let expired = idle.connections.partition_point(|kept| kept.since + self.keep <= now);
        idle.connections.drain(..expired);
        let next = idle.connections.first().map(|kept| kept.since + self.keep);
        idle.is_watched = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_are_closed_once_they_have_lain_unused() {
        let pool = Pool::new(Duration::from_secs(5));
        let connection = Arc::new(());
        for _ in 0..2 {
            pool.put(connection.clone());
            tokio::time::sleep(Duration::from_secs(3)).await;
            pool.put(connection.clone());
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(pool.len(), 1);
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(Arc::strong_count(&connection), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_pool_keeps_nothing() {
        let pool = Pool::new(Duration::from_secs(5));
        let connection = Arc::new(());
        pool.put(connection.clone());
        pool.close();
        pool.put(connection.clone());
        assert_eq!((pool.len(), Arc::strong_count(&connection)), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_used_last_is_taken_first() {
        let pool = Pool::new(Duration::from_secs(5));
        (1..=3).for_each(|number| pool.put(number));
        assert_eq!(pool.take(), Some(3));
        assert_eq!(pool.take_oldest(), Some(1));
        assert_eq!(pool.take(), Some(2));
        assert_eq!((pool.take(), pool.take_oldest()), (None, None));
    }
}
