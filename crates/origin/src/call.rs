//! A request as an origin is asked it.

use std::net::SocketAddr;
use std::sync::Arc;

use base::Phases;
use wire::{Body, RequestHead, ResponseHead};

/// Called with the head of each `103 Early Hints` that comes before the answer.
pub type EarlySink = Box<dyn FnMut(ResponseHead) + Send>;

/// One request, ready to be sent: its fields were cleaned and the forwarded ones set.
pub struct Call {
    /// Method, target, host and fields. Framing fields among them are ignored.
    pub head: RequestHead,
    /// The body, if there is one.
    pub body: Option<Body>,
    /// The body's length in bytes if it was announced.
    pub body_length: Option<u64>,
    /// The visitor's address.
    pub peer: SocketAddr,
    /// The address that the visitor connected to.
    pub local: SocketAddr,
    /// `http` or `https`, as the visitor sees the site.
    pub scheme: &'static str,
    /// Whether it is on its visitor's account: what Wick asks by itself is not, nor what a
    /// program on this machine does.
    pub is_counted: bool,
    /// Where early hints go; none: nowhere.
    pub early: Option<EarlySink>,
    /// Where it is noted how long each part of the way took; none: nowhere.
    pub phases: Option<Arc<Phases>>,
}

impl Call {
    /// Whether a body was sent along, also one of no bytes but with a length.
    pub(crate) fn has_body(&self) -> bool {
        self.body.is_some() && self.body_length != Some(0)
    }
}
