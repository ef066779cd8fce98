//! How often visitors may ask of all nodes together: told once a second beside the stream, sealed,
//! since it names addresses. Who is told of, and what the error is: `server/src/defence/shares.rs`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Shutdown;
use cluster::{Node, Seal};
use server::Server;
use tokio::time::sleep;

/// How often it is told.
const EVERY: Duration = Duration::from_secs(1);
/// What it is sealed for.
const PURPOSE: &str = "rates";

/// Tells until the signal to stop, or for as long as the server is there; nothing without a seal.
pub(super) async fn tell(
    node: Arc<Node>,
    server: Weak<Server>,
    seal: Option<Arc<Seal>>,
    shutdown: Shutdown,
) {
    let Some(seal) = seal else { return };
    loop {
        tokio::select! {
            () = sleep(EVERY) => {}
            () = shutdown.begun() => return,
        }
        let Some(server) = server.upgrade() else { return };
        // One that is missing may serve all the same. If it doesn't, more is told than need be.
        let told = server.tell_rates(1 + node.status().members.len());
        if let Some(sealed) = told.and_then(|told| seal.seal(PURPOSE, told.as_bytes())) {
            node.say_aside(sealed);
        }
    }
}

/// Another node tells it. What the secret didn't seal is nothing.
pub(super) fn hear(server: &Server, seal: Option<&Arc<Seal>>, sealed: &[u8]) {
    if let Some(told) = seal.and_then(|seal| seal.open(PURPOSE, sealed)) {
        server.hear_rates(&told);
    }
}
