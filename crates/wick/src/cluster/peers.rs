//! Peers of the tracker: told once a second beside the stream, sealed, since they are people's
//! addresses. So a client sees those who came to other nodes: `tracker/src/exchange.rs`.

use std::sync::Arc;

use cluster::Seal;

use crate::observing::Observing;

/// What they are sealed for.
pub(super) const PURPOSE: &str = "peers";

/// What is to be told now.
pub(super) fn told(observing: &Observing) -> Vec<Vec<u8>> {
    let tracking = observing.tracker.get().and_then(|tracking| tracking.open());
    tracking.map(|open| open.tracker.take_told()).unwrap_or_default()
}

/// Another node tells them. What the secret didn't seal is nothing.
pub(super) fn hear(observing: &Observing, seal: Option<&Arc<Seal>>, sealed: &[u8]) {
    if let Some(open) = observing.tracker.get().and_then(|tracking| tracking.open())
        && let Some(told) = seal.and_then(|seal| seal.open(PURPOSE, sealed))
    {
        open.tracker.hear_told(&told);
    }
}
