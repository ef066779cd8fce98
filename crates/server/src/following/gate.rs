//! A gate before the origin: closed for a moment while Wick finds out what reading writes.
//!
//! Readers wait at it, for [`WAIT_MAX`] at most. Who writes never does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// The longest that a reader waits.
const WAIT_MAX: Duration = Duration::from_millis(3_000);

/// A gate that is open unless somebody holds it shut.
#[derive(Default)]
pub(crate) struct Gate {
    is_shut: AtomicBool,
    opened: Notify,
}

/// Keeps the gate shut until it is dropped.
pub(crate) struct Shut<'a>(&'a Gate);

impl Gate {
    /// Shuts the gate.
    pub(crate) fn shut(&self) -> Shut<'_> {
        self.is_shut.store(true, Ordering::SeqCst);
        Shut(self)
    }

    /// Opens it at once: somebody shall not wait, whatever it was shut for.
    pub(crate) fn open(&self) {
        self.is_shut.store(false, Ordering::SeqCst);
        self.opened.notify_waiters();
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::SeqCst)
    }

    /// Waits until it is open, or has been shut for too long.
    pub(crate) async fn pass(&self) {
        if !self.is_shut() {
            return;
        }
        let open = async {
            loop {
                let opened = self.opened.notified();
                if !self.is_shut() {
                    return;
                }
                opened.await;
            }
        };
        // Late is better than never: the probes that are disturbed then prove nothing.
        let _ = timeout(WAIT_MAX, open).await;
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_comes_to_a_shut_gate_waits_for_it_but_not_for_ever() {
        let gate = Gate::default();
        assert!(gate.pass().now_or_never().is_some());
        let shut = gate.shut();
        let mut waiting = Box::pin(gate.pass());
        assert!((&mut waiting).now_or_never().is_none());
        drop(shut);
        assert!(waiting.now_or_never().is_some());
        let _shut = gate.shut();
        gate.pass().await;
        assert!(gate.is_shut());
        gate.open();
        assert!(gate.pass().now_or_never().is_some());
    }
}
