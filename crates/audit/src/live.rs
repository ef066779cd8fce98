//! What can be seen of an audit while it runs, and how it is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use url::Url;

use crate::errand::{self, Manner, Outcome};
use crate::fetch::Host;
use crate::gate::Gates;
use crate::workers::{Crew, Slot};

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
    browsers: Semaphore,
    gates: Gates,
    crew: Option<Arc<Crew>>,
}

impl Default for Live {
    fn default() -> Self {
        Self {
            is_stopped: AtomicBool::new(false),
            stopped: Notify::new(),
            done: AtomicUsize::new(0),
            found: AtomicUsize::new(0),
            places: Arc::new(Semaphore::new(PLACES)),
            browsers: Semaphore::new(1),
            gates: Gates::new(),
            crew: None,
        }
    }
}

impl Live {
    /// An audit whose pages are fetched and tested by these workers, and not here.
    #[must_use]
    pub fn with(crew: Arc<Crew>) -> Self {
        Self { crew: Some(crew), ..Self::default() }
    }

    /// How many workers there are beside this process; none if it works itself.
    #[must_use]
    pub fn workers(&self) -> Option<usize> {
        self.crew.as_ref().map(|crew| crew.workers())
    }

    /// A site is on this machine.
    pub(crate) fn stay_here(&self) {
        if let Some(crew) = &self.crew {
            crew.stay_here();
        }
    }

    /// Waits for somebody who asks for a page now.
    pub(crate) async fn hand(&self) -> Hand {
        match &self.crew {
            Some(crew) => Hand(Some(crew.slot().await)),
            None => Hand(None),
        }
    }

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

    /// At what pace each host is asked by all sites of the run.
    pub(crate) fn gates(&self) -> &Gates {
        &self.gates
    }

    /// The turn of who needs a browser: it takes more memory than all the rest.
    pub(crate) async fn browser(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.browsers.acquire().await.ok()
    }
}

/// Who asks for one page and tests it: a worker, or this process.
pub(crate) struct Hand(Option<Slot>);

impl Hand {
    /// Does it; the place is given back as soon as the site has answered.
    pub(crate) async fn run(
        self,
        host: Arc<Host>,
        url: Url,
        manner: Manner,
        place: Option<OwnedSemaphorePermit>,
    ) -> Outcome {
        let Some(slot) = self.0 else { return errand::run(host, url, manner, place).await };
        let outcome = slot.run(url.into(), host.addresses.clone(), manner).await;
        drop(place);
        outcome
    }
}
