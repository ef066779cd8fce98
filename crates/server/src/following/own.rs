//! Own changes: who writes through Wick reads what they wrote.
//!
//! When the answer to a write has ended, its changes are in the database's log. The answer
//! is held, for [`WAIT_MAX`] at most, until the log was heard up to there.

use std::sync::Arc;
use std::time::Duration;

use changes::{LogEnd, Place, Progress};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use wire::Body;

use super::Following;
use crate::gather::peek_end;

/// The longest that an answer is held for this.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// What of an answer is held at most.
const HELD_BYTES_MAX: usize = 256 << 10;
/// Writers that may wait at one time; others are not held.
const WAITING_MAX: usize = 256;

type Waiter = oneshot::Sender<()>;

/// Where writers wait until their changes were heard.
pub(crate) struct OwnChanges {
    asks: mpsc::Sender<Waiter>,
    asked: Mutex<Option<mpsc::Receiver<Waiter>>>,
    progress: Mutex<Progress>,
    moved: Notify,
}

impl Default for OwnChanges {
    fn default() -> Self {
        let (asks, asked) = mpsc::channel(WAITING_MAX);
        Self {
            asks,
            asked: Mutex::new(Some(asked)),
            progress: Mutex::default(),
            moved: Notify::new(),
        }
    }
}

impl OwnChanges {
    /// Holds an answer to a write back until it has ended and what it wrote was heard, but
    /// not for long. One that is long goes on as it comes.
    pub(super) async fn hold(&self, body: Body) -> Body {
        let (body, has_ended) = peek_end(body, HELD_BYTES_MAX, Instant::now() + WAIT_MAX).await;
        if has_ended {
            self.heard().await;
        }
        body
    }

    /// Waits until everything that was written before was heard, but not for long.
    async fn heard(&self) {
        let (waiter, heard) = oneshot::channel();
        if self.asks.try_send(waiter).is_ok() {
            // Too late is not wrong: the write itself has swept what strangers share.
            let _ = timeout(WAIT_MAX, heard).await;
        }
    }

    /// The log was heard up to here.
    pub(super) fn told(&self, place: Place) {
        self.progress.lock().tell(place);
        self.moved.notify_waiters();
    }

    /// Nothing is known any more: the feed was lost.
    pub(super) fn forget(&self) {
        self.progress.lock().forget();
    }

    /// Waits until everything up to there was heard.
    pub(super) async fn reached(&self, end: &[Place]) {
        loop {
            let moved = self.moved.notified();
            if self.progress.lock().has_reached(end) {
                return;
            }
            moved.await;
        }
    }
}

/// Asks where the log ends for those who wait, and lets them go when it was heard so far.
pub(super) async fn serve(following: Arc<Following>) {
    let own = &following.own;
    let Some(mut asked) = own.asked.lock().take() else { return };
    let sources = following.sources.iter().enumerate();
    let mut ends: Vec<(usize, LogEnd)> =
        sources.filter_map(|(index, source)| Some((index, LogEnd::of(source)?))).collect();
    while let Some(first) = asked.recv().await {
        let mut waiters = vec![first];
        // Whoever waits by now has written before the end is read.
        while let Ok(another) = asked.try_recv() {
            waiters.push(another);
        }
        if !following.is_heard() {
            continue;
        }
        let until = Instant::now() + WAIT_MAX;
        for (index, end) in &mut ends {
            // Else it would be waited for in vain.
            if !following.status.lock().tells_places(*index) {
                continue;
            }
            let Ok(place) = end.read().await else { continue };
            let _ = tokio::time::timeout_at(until, own.reached(&place)).await;
        }
        for waiter in waiters {
            // Who has lost patience isn't there any more.
            let _ = waiter.send(());
        }
    }
}
