//! A nudge: who can't wait until a feed looks again asks it to look at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use crate::Place;

/// Feeds that can be nudged since the process began.
static FEEDS: AtomicU64 = AtomicU64::new(0);

/// Asks one feed, which looks at its source now and then, to look at once.
#[derive(Clone, Debug)]
pub struct Nudge {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    feed: u64,
    asked: AtomicU64,
    wake: Notify,
}

impl Nudge {
    pub(crate) fn new() -> Self {
        let feed = FEEDS.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::new(Shared { feed, asked: AtomicU64::new(0), wake: Notify::new() }) }
    }

    /// Asks for a look. Everything that was committed before has been told once a commit came
    /// with this place, or a further one.
    #[must_use]
    pub fn look(&self) -> Place {
        let number = self.shared.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.shared.wake.notify_one();
        Place::Look { feed: self.shared.feed, number }
    }

    /// How often it was asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// The place that a look has reached which began when this was asked so often.
    pub(crate) fn place(&self, number: u64) -> Place {
        Place::Look { feed: self.shared.feed, number }
    }

    /// Waits until it is asked for; once, if that was meanwhile.
    pub(crate) async fn woken(&self) {
        self.shared.wake.notified().await;
    }
}
