//! How often visitors may ask of all nodes together: told once a second beside the stream, sealed,
//! since it names addresses. Who is told of, and what the error is: `server/src/defence/shares.rs`.

use std::sync::{Arc, Weak};

use cluster::{Node, Seal};
use server::Server;

/// What it is sealed for.
pub(super) const PURPOSE: &str = "rates";

/// What is to be told now; none when the server is gone.
pub(super) fn told(node: &Node, server: &Weak<Server>) -> Option<Vec<Vec<u8>>> {
    let server = server.upgrade()?;
    // One that is missing may serve all the same. If it doesn't, more is told than need be.
    let told = server.tell_rates(1 + node.status().members.len());
    Some(told.map(String::into_bytes).into_iter().collect())
}

/// Another node tells it. What the secret didn't seal is nothing.
pub(super) fn hear(server: &Server, seal: Option<&Arc<Seal>>, sealed: &[u8]) {
    if let Some(told) = seal.and_then(|seal| seal.open(PURPOSE, sealed)) {
        server.hear_rates(&told);
    }
}
