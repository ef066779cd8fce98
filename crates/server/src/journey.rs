//! What a request takes along when it can't be answered at once.
//!
//! A journey owns everything it needs, so that it outlives the connection's
//! buffers and can be finished in the background.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Now, Phases};
use bytes::Bytes;
use http::Method;
use origin::{Call, OriginError};
use parking_lot::Mutex;
use policy::representation::restore_tags;
use policy::strangers::Visitor;
use policy::{Admission, VaryKey};
use tokio::sync::mpsc;
use wire::h1::Length;
use wire::{Body, Fields, Name, RequestHead, ResponseHead};

use crate::Server;
use crate::esi::{self, Within};
use crate::gather::{Gathered, gather};
use crate::pipeline::Errand;
use crate::serve_stored::Asked;
use crate::site::Site;
use crate::strangers::guests::Reader;
use crate::trace::Trace;

/// Whether a request has a cookie or an authorization.
pub(crate) fn bears_credentials(fields: &Fields) -> bool {
    fields.has(Name::Cookie) || fields.has(Name::Authorization)
}

/// Both ends of the visitor's connection, and what is spoken between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers {
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// Whether a program on this machine asks: as the connection tells, not a field.
    pub(crate) is_here: bool,
    /// On which port the same visitor finds HTTP/3; 0: on none that is told.
    pub(crate) http3_port: u16,
}

/// A request on its way to the origin, or to somebody who is already there.
pub(crate) struct Journey {
    pub(crate) server: Arc<Server>,
    pub(crate) site: Arc<Site>,
    pub(crate) head: RequestHead,
    pub(crate) key: Vec<u8>,
    pub(crate) peers: Peers,
    /// Who asks, as far as pages for strangers are concerned.
    pub(crate) reader: Reader,
    length: Length,
    /// Whether a visitor waits for it.
    is_attended: bool,
    /// Behind a lock that nobody contends for, so that a journey may be looked at while one
    /// waits: a body can only be handed from thread to thread.
    body: Mutex<Option<Body>>,
    early: Option<mpsc::Sender<ResponseHead>>,
    /// Where it is noted what its time goes into, where somebody wants to know.
    pub(crate) phases: Option<Arc<Phases>>,
    /// What the origin is told of the trace, where traces are wanted.
    trace: Option<Trace>,
    /// Where in another answer its own is to stand.
    pub(crate) within: Option<Arc<Within>>,
    /// Whether another node of the cluster asks for it.
    pub(crate) is_for_fellow: bool,
}

impl Journey {
    #[allow(clippy::too_many_arguments, reason = "it is the one place where all of it meets")]
    pub(crate) fn new(
        server: Arc<Server>,
        errand: &Errand,
        head: RequestHead,
        key: Vec<u8>,
        length: Length,
        body: Option<Body>,
        peers: Peers,
        early: Option<mpsc::Sender<ResponseHead>>,
        taken_along: Option<(Arc<Phases>, Option<Trace>)>,
    ) -> Self {
        let (phases, trace) = taken_along.unzip();
        let body = Mutex::new(body);
        let (site, reader) = (errand.site.clone(), errand.reader);
        Self {
            server,
            site,
            head,
            key,
            peers,
            reader,
            length,
            is_attended: true,
            body,
            early,
            phases,
            trace: trace.flatten(),
            within: None,
            is_for_fellow: false,
        }
    }

    /// The same for a part of another answer.
    pub(crate) fn within(self, within: Arc<Within>) -> Self {
        Self { within: Some(within), ..self }
    }

    /// Whether the visitor shows who it is. Answers to such requests are often for one
    /// person, so what they teach about a URL is kept apart from what strangers may expect.
    pub(crate) fn bears_credentials(&self) -> bool {
        bears_credentials(&self.head.fields)
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }

    /// Whether what the origin answered may be kept, by what it says and by who asks.
    pub(crate) fn admit(&self, answer: &ResponseHead, asked_ticks_ms: u64) -> Admission {
        let (now, rules) = (self.now(), self.site.rules());
        let is_holders = self.site.strangers.is_some()
            && !self.reader.is_stranger()
            && self.head.fields.has(Name::Cookie);
        let admission = policy::admit(&self.head, answer, asked_ticks_ms, now, &rules);
        if is_holders { admission.for_holder(&self.head, answer, &rules) } else { admission }
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
            reader: Reader::of(site, &head.fields, &head.host),
            length: Length::None,
            is_attended: false,
            body: Mutex::default(),
            early: None,
            phases: None,
            trace: server.own_trace(),
            within: None,
            is_for_fellow: false,
        }
    }

    /// The same for another node, which is never sent on to a third.
    pub(crate) fn for_fellow(self) -> Self {
        Self { is_for_fellow: true, ..self }
    }

    /// The same with a visitor who waits for it.
    pub(crate) fn attended(self) -> Self {
        Self { is_attended: true, ..self }
    }

    /// The whole body of the request; none, and all of it still to be sent, if it is larger
    /// than `bytes_max`.
    pub(crate) async fn gather(&mut self, bytes_max: usize) -> Result<Option<Bytes>, OriginError> {
        let Some(body) = self.body.get_mut().take() else { return Ok(Some(Bytes::new())) };
        if matches!(self.length, Length::Known(bytes) if bytes > bytes_max as u64) {
            *self.body.get_mut() = Some(body);
            return Ok(None);
        }
        match gather(body, bytes_max).await.map_err(OriginError::Client)? {
            Gathered::Whole(bytes) => Ok(Some(bytes)),
            Gathered::Larger(body) => {
                *self.body.get_mut() = Some(body);
                Ok(None)
            }
        }
    }

    /// Gives back a body that was gathered.
    pub(crate) fn put_back(&mut self, body: Bytes) {
        if self.length != Length::None {
            self.length = Length::Known(body.len() as u64);
            *self.body.get_mut() = Some(wire::body::full(body));
        }
    }

    /// Whether Wick codes the site's answers, so that the origin need not.
    pub(crate) fn codes(&self) -> bool {
        !self.site.rules().codings.is_empty()
    }

    /// What requests select an answer by that came to this one.
    pub(crate) fn vary_key(&self, answer: &Fields) -> Option<VaryKey> {
        match self.codes() {
            true => VaryKey::of_uncoded(answer, &self.head.fields),
            false => VaryKey::of(answer, &self.head.fields),
        }
    }

    /// The request as it is answered from the store.
    pub(crate) fn asked(&self) -> Asked<'_> {
        let (server, site, peers) = (&self.server, &self.site, self.peers);
        let (head, key, within) = (&self.head, &self.key, self.within.as_ref());
        let codings = site.rules().codings;
        Asked { server, site, codings, head, key, now: self.now(), peers, within }
    }

    /// Whether the answer may have to be compared: then it must not come in a coding.
    pub(crate) fn may_be_compared(&self) -> bool {
        const DOCUMENTS: [&[u8]; 4] = [b"document", b"empty", b"iframe", b"frame"];
        let wanted = self.head.fields.first(Name::SecFetchDest);
        self.site.strangers.is_some()
            && self.reader.visitor != Visitor::Holder
            && wanted.is_none_or(|wanted| DOCUMENTS.contains(&wanted))
    }

    /// The request as the origin shall see it, with this body.
    pub(crate) fn call_with(&mut self, body: Bytes) -> Call {
        self.put_back(body);
        self.call()
    }

    /// The request as the origin shall see it. The body can be taken only once.
    pub(crate) fn call(&mut self) -> Call {
        let mut fields = match self.site.is_elsewhere {
            true => esi::elsewhere::to_origin(&self.head.fields),
            false => policy::to_origin(&self.head, self.peers.peer.ip(), self.peers.scheme),
        };
        if self.site.strangers.is_some() {
            policy::strangers::strip_own_etags(&mut fields);
        }
        restore_tags(&mut fields);
        if let Some(trace) = &self.trace {
            trace.put(&mut fields);
        }
        if self.codes() {
            fields.remove(Name::AcceptEncoding);
        }
        esi::announce(&self.site, &mut fields);
        let head = RequestHead {
            method: self.head.method.clone(),
            target: self.head.target.clone(),
            host: self.head.host.clone(),
            version: self.head.version,
            fields,
        };
        let early = self.early.take().map(|sender| {
            // Hints are worth nothing late, so what finds the channel full is dropped.
            let relay = move |hints: ResponseHead| drop(sender.try_send(hints));
            Box::new(relay) as origin::EarlySink
        });
        Call {
            head,
            body: self.body.get_mut().take(),
            body_length: match self.length {
                Length::None => Some(0),
                Length::Known(bytes) => Some(bytes),
                Length::Chunked => None,
            },
            peer: self.peers.peer,
            local: self.peers.local,
            scheme: self.peers.scheme,
            is_counted: self.is_attended && !self.peers.is_here,
            early,
            phases: self.phases.clone(),
        }
    }
}
