//! What a request takes along when it can't be answered at once.
//!
//! A journey owns everything it needs, so that it outlives the connection's
//! buffers and can be finished in the background.

use std::net::SocketAddr;
use std::sync::Arc;

use base::Now;
use http::Method;
use http_body_util::BodyExt;
use origin::Call;
use tokio::sync::mpsc;
use wire::h1::Length;
use wire::{Body, Fields, Name, RequestHead, ResponseHead};

use crate::Server;
use crate::site::Site;
use crate::upload::Upload;

/// Whether a request has a cookie or an authorization.
pub(crate) fn bears_credentials(fields: &Fields) -> bool {
    fields.has(Name::Cookie) || fields.has(Name::Authorization)
}

/// Both ends of the visitor's connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
}

/// A request on its way to the origin, or to somebody who is already there.
pub(crate) struct Journey {
    pub(crate) server: Arc<Server>,
    pub(crate) site: Arc<Site>,
    pub(crate) head: RequestHead,
    pub(crate) key: Vec<u8>,
    pub(crate) peers: Peers,
    /// The site's count of writes when the store was looked at.
    writes: u64,
    length: Length,
    body: Option<Body>,
    early: Option<mpsc::Sender<ResponseHead>>,
}

impl Journey {
    #[allow(clippy::too_many_arguments, reason = "it is the one place where all of it meets")]
    pub(crate) fn new(
        server: Arc<Server>,
        site: Arc<Site>,
        head: RequestHead,
        key: Vec<u8>,
        length: Length,
        upload: Option<Upload>,
        peers: Peers,
        early: Option<mpsc::Sender<ResponseHead>>,
    ) -> Self {
        let body = upload.map(BodyExt::boxed_unsync);
        let writes = site.writes();
        Self { server, site, head, key, peers, writes, length, body, early }
    }

    /// Whether the visitor shows who it is. Answers to such requests are often for one
    /// person, so what they teach about a URL is kept apart from what strangers may expect.
    pub(crate) fn bears_credentials(&self) -> bool {
        bears_credentials(&self.head.fields)
    }

    /// Whether nothing was written to the site since the store was looked at.
    pub(crate) fn is_untouched(&self) -> bool {
        self.site.writes() == self.writes
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    pub(crate) fn now(&self) -> Now {
        self.server.clock.now()
    }

    /// The same errand without a visitor waiting for it: a refresh in the background.
    pub(crate) fn unattended(
        server: &Arc<Server>,
        site: &Arc<Site>,
        head: &RequestHead,
        key: &[u8],
        peers: Peers,
    ) -> Self {
        Self {
            server: server.clone(),
            site: site.clone(),
            head: head.clone(),
            key: key.to_vec(),
            peers,
            writes: site.writes(),
            length: Length::None,
            body: None,
            early: None,
        }
    }

    /// The request as the origin shall see it. The body can be taken only once.
    pub(crate) fn call(&mut self) -> Call {
        let head = RequestHead {
            method: self.head.method.clone(),
            target: self.head.target.clone(),
            host: self.head.host.clone(),
            version: self.head.version,
            fields: policy::to_origin(&self.head, self.peers.peer.ip(), "http"),
        };
        let early = self.early.take().map(|sender| {
            // Hints are worth nothing late, so what finds the channel full is dropped.
            let relay = move |hints: ResponseHead| drop(sender.try_send(hints));
            Box::new(relay) as origin::EarlySink
        });
        Call {
            head,
            body: self.body.take(),
            body_length: match self.length {
                Length::None => Some(0),
                Length::Known(bytes) => Some(bytes),
                Length::Chunked => None,
            },
            peer: self.peers.peer,
            local: self.peers.local,
            scheme: "http",
            early,
        }
    }
}
