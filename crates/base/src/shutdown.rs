//! Stopping in good order: one signal, heard by everyone who asked to hear it.
//!
//! Clones share the signal. It is given once and is never taken back.

use tokio::sync::watch;

/// The signal to stop, and the means to wait for it.
#[derive(Clone, Debug)]
pub struct Shutdown {
    sender: std::sync::Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { sender: std::sync::Arc::new(watch::Sender::new(false)) }
    }
}

impl Shutdown {
    /// Gives the signal; giving it twice changes nothing.
    pub fn begin(&self) {
        self.sender.send_replace(true);
    }

    /// Whether the signal was given.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        *self.sender.borrow()
    }

    /// Waits for the signal; returns at once if it was given before.
    pub async fn begun(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as `self`, so the only end of this wait is the signal.
        let _ = receiver.wait_for(|begun| *begun).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_clones_hear_the_signal_early_or_late() {
        let shutdown = Shutdown::default();
        let early = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.begun().await }
        });
        tokio::task::yield_now().await;
        assert!(!shutdown.has_begun());
        shutdown.begin();
        early.await.expect("the waiting task ends");
        shutdown.begun().await;
        assert!(shutdown.has_begun());
    }
}
