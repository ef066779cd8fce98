//! How a node stands, for whoever asks.

use std::net::SocketAddr;

use serde::Serialize;

use crate::deposits::DepositCounts;

/// A node among the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its name.
    pub node: String,
    /// The cluster's.
    pub cluster: String,
    /// The NATS servers, without what must not be seen.
    pub servers: String,
    /// Whether it has heard all that was told a lag limit ago.
    pub is_in_touch: bool,
    /// The lag limit, in milliseconds.
    pub lag_ms: u64,
    /// For how many milliseconds it is in touch if it hears nothing more; below zero: since
    /// when it isn't.
    pub in_touch_for_ms: i64,
    /// What it has told, and what it heard of others, since its start.
    pub told: u64,
    /// What others told.
    pub heard: u64,
    /// How often something may have been missed.
    pub missed: u64,
    /// How often its own words took how long until it heard them back, by doublings of a
    /// millisecond: less than 1, less than 2, less than 4, and so on.
    pub heard_back: Vec<u64>,
    /// At which address other nodes may ask it for pages, if at any.
    pub listen: Option<SocketAddr>,
    /// Whether its owner is about to take it off.
    pub is_draining: bool,
    /// What waits to be told.
    pub waiting: usize,
    /// Why it can't speak or hear at this moment.
    pub error: Option<String>,
    /// The other nodes.
    pub members: Vec<Member>,
    /// Sources that one node reads for all.
    pub readings: Vec<Reading>,
    /// What was laid down for other nodes, and found; none without a secret.
    pub deposits: Option<DepositCounts>,
}

/// A source, and who reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The source, by the name that all nodes have for it.
    pub source: String,
    /// The node that reads it; none: nobody does.
    pub by: Option<String>,
    /// Its epoch: the place in the stream at which it claimed it. The higher one is obeyed.
    pub epoch: u64,
    /// Whether it hears all that changes there.
    pub is_followed: bool,
}

/// Another node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Whether it is away without having said goodbye.
    pub is_missing: bool,
    /// Milliseconds between the moment up to which it has told all, and the last at which this
    /// node heard itself.
    pub behind_ms: u64,
    /// At which address it may be asked for pages, if at any.
    pub listen: Option<SocketAddr>,
    /// Whether its owner is about to take it off.
    pub is_draining: bool,
}
