//! What can be seen of an audit while it runs, and how it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Requests at once, to all sites. Who waits longest comes first, so no site waits for another's
/// end.
const PLACES: usize = 64;

/// Shared by the audit and who watches it.
#[derive(Debug)]
pub struct Live {
    is_stopped: AtomicBool,
    stopped: Notify,
    done: AtomicUsize,
    found: AtomicUsize,
    places: Arc<Semaphore>,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            is_stopped: AtomicBool::new(false),
            stopped: Notify::new(),
            done: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
            places: Arc::new(Semaphore::new(PLACES)),
        }
    }
}

impl Live {
    /// Ends the audit at once: what is under way is left, and asked for again by the next run.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.stopped.notify_waiters();
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Waits for [`Live::stop`].
    pub(crate) async fn stopped(&self) {
        // Who listens before looking can't miss it.
        let heard = self.stopped.notified();
        if !self.is_stopped() {
            heard.await;
        }
    }

    /// Addresses that were answered.
    #[must_use]
    pub fn answered(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Addresses that were answered or are to be asked for, as far as is known yet.
    #[must_use]
    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }

    pub(crate) fn find(&self, more: usize) {
        self.found.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn done(&self, more: usize) {
        self.done.fetch_add(more, Ordering::Relaxed);
    }

    /// A place among the requests that are under way.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed; without a permit a request would merely be one too many.
        Arc::clone(&self.places).acquire_owned().await.ok()
    }
}
