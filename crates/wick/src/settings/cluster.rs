//! `[cluster]`, as an owner writes it.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::{OneOrMany, Seconds, Secret};

/// `[cluster]`: this Wick is one of several, which tell each other what makes pages old.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ClusterSettings {
    /// The NATS servers with JetStream, one or a list, as in `"nats://10.0.0.5:4222"`; a login may
    /// stand before the host. With three or more, what is told is kept on three. Default: none; it
    /// must be written.
    pub(crate) nats: Option<OneOrMany<Secret>>,
    /// A file with what the NATS servers want to see (`.creds`). Default: none.
    pub(crate) credentials: Option<PathBuf>,
    /// The cluster's name: others may use the same NATS servers. Default: `wick`.
    pub(crate) name: Option<String>,
    /// This node's name, which no other of the cluster has. Default: the machine's.
    pub(crate) node: Option<String>,
    /// The lag limit, from `200ms` to `60s`: what was made old by an answer so long ago is fresh on
    /// no node. A node that hears nothing for so long asks the origin again for what is older.
    /// Default: `2s`.
    pub(crate) lag: Option<Seconds>,
    /// The address at which other nodes ask this one for pages, as in `"10.0.0.5:7070"`: a page
    /// that is missing on one is asked of the node that owns it, so that all of them make one
    /// request to the origin. It is in the clear, so it belongs into a network of the nodes' own.
    /// Default: none; this node asks no other, and is asked by none.
    pub(crate) listen: Option<SocketAddr>,
    /// By what nodes know each other, of at least 16 characters and the same on all, such as
    /// `openssl rand -hex 16` prints. With it they have the certificates that CAs issue together:
    /// one orders, all serve; these and their keys go through NATS sealed by it. A `rate` holds
    /// for all nodes together, about. And what strangers were given is laid down there, sealed too,
    /// so a form that one node showed may be sent to any; and a tracker's clients see those of all
    /// nodes. Default: none; each node orders and
    /// counts for itself, and it must be written where `listen` isn't on this machine alone.
    pub(crate) secret: Option<Secret>,
    /// A file with that in its first line. Default: none.
    pub(crate) secret_file: Option<PathBuf>,
}
