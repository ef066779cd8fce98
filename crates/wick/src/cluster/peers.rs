//! Peers of the tracker: told once a second beside the stream, sealed, since they are people's
//! addresses. So a client sees those who came to other nodes: `tracker/src/exchange.rs`.

use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use cluster::{Node, Seal};
use tokio::time::sleep;

use crate::observing::Observing;

/// How often they are told.
const EVERY: Duration = Duration::from_secs(1);
/// What they are sealed for.
const PURPOSE: &str = "peers";

/// Tells until the signal to stop; nothing without a seal.
pub(super) async fn tell(
    node: Arc<Node>,
    observing: Arc<Observing>,
    seal: Option<Arc<Seal>>,
    shutdown: Shutdown,
) {
    let Some(seal) = seal else { return };
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = shutdown.begun() => return,
        }
        let Some(open) = observing.tracker.get().and_then(|tracking| tracking.open()) else {
            continue;
        };
        for told in open.tracker.take_told() {
            seal.seal(PURPOSE, &told).into_iter().for_each(|sealed| node.say_aside(sealed));
        }
    }
}

/// Another node tells them. What the secret didn't seal is nothing.
pub(super) fn hear(observing: &Observing, seal: Option<&Arc<Seal>>, sealed: &[u8]) {
    if let Some(open) = observing.tracker.get().and_then(|tracking| tracking.open())
        && let Some(told) = seal.and_then(|seal| seal.open(PURPOSE, sealed))
    {
        open.tracker.hear_told(&told);
    }
}
