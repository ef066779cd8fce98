//! What is told once a second beside the stream, sealed: who hears it without the secret learns
//! nothing, and says nothing.

use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use cluster::{Node, Seal};
use tokio::time::sleep;

/// How often it is told.
const EVERY: Duration = Duration::from_secs(1);

/// Tells what `told` gives, sealed for `purpose`, until that gives none any more or the signal to
/// stop; nothing without a seal.
pub(super) async fn tell(
    node: Arc<Node>,
    seal: Option<Arc<Seal>>,
    purpose: &str,
    shutdown: Shutdown,
    told: impl Fn(&Node) -> Option<Vec<Vec<u8>>>,
) {
    let Some(seal) = seal else { return };
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = shutdown.begun() => return,
        }
        let Some(told) = told(&node) else { return };
        for told in told {
            seal.seal(purpose, &told).into_iter().for_each(|sealed| node.say_aside(sealed));
        }
    }
}
