//! Requests of a connection that carries many at once: what HTTP/2 and HTTP/3 have in common.
//!
//! ```text
//! head, decoded ─ reception ─┬─ page at hand: answered in this turn
//!                            └─ must wait: a future, until its answer is sent
//! ```
//!
//! In: a head, or why it is none, and the two ends of its stream. Out: an answer.
//! What a request is and what it may cost is decided here and in `wire::decoded`; frames,
//! compression and flow control are the protocols' own ([`crate::http2`], [`crate::http3`]).
//! Start at [`Reception::receive`]; [`answer`] answers, [`upload`] is a request's body.

pub(crate) mod allowance;
pub(crate) mod answer;
pub(crate) mod head;
pub(crate) mod upload;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Now;
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};
use wire::decoded::HeadReader;
use wire::h1::{Framing, HeadError, Length};
use wire::{Name, RequestHead};

use crate::Server;
use crate::access::Begun;
use crate::connection::EARLY_MAX;
use crate::hints;
use crate::journey::{Journey, Peers};
use crate::observer::Outcome;
use crate::pipeline::{self, Errand, Turn};
use crate::reply::{Payload, Reply};
use crate::streams::answer::Answering;
use crate::streams::upload::Upload;
use crate::trace::Trace;

/// What a client may send of one request's body before the origin has taken any.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 64 << 10;

/// An answer under way.
pub(crate) type Answer = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The client doesn't want it any longer, or is gone.
#[derive(Debug)]
pub(crate) struct Gone;

/// Why a stream is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// Its client took nothing for too long.
    Late,
    /// The answer is not what was promised.
    Ours,
}

/// The end of a stream that brings a request's body.
pub(crate) trait Incoming: Send + Unpin + 'static {
    /// The next piece; none at the end of the body.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>>;

    /// Lets the client send so much more.
    fn give_back(&mut self, bytes: usize);
}

/// How a protocol writes the fields of a head. Each is written by itself: none refers to what
/// was sent before.
pub(crate) trait Coding {
    /// Begins a block.
    fn begin(out: &mut Vec<u8>);

    /// Appends the status.
    fn status(out: &mut Vec<u8>, status: u16);

    /// Appends a field; its name may be in any letter case.
    fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]);
}

/// The end of a stream that takes an answer's head.
pub(crate) trait Responder: Coding + Send + 'static {
    /// What takes the body.
    type Outgoing: Outgoing;

    /// Sends an interim answer; who has gone meanwhile misses nothing by missing it.
    fn relay(&mut self, interim: Vec<u8>) -> impl Future<Output = ()> + Send;

    /// Sends the head; gives what is left to be sent, and who takes it.
    fn begin(
        self,
        head: Vec<u8>,
        payload: Payload,
    ) -> impl Future<Output = Option<(Self::Outgoing, Payload)>> + Send;
}

/// The end of a stream that takes an answer's body.
pub(crate) trait Outgoing: Coding + Send + 'static {
    /// Waits for room, and takes off the piece what there is room for. With the end of the
    /// last piece the stream ends.
    fn send(
        &mut self,
        piece: &mut Bytes,
        is_last: bool,
    ) -> impl Future<Output = Result<(), Gone>> + Send;

    /// Ends the stream with these.
    fn send_trailers(&mut self, trailers: Vec<u8>)
    -> impl Future<Output = Result<(), Gone>> + Send;

    /// Ready once the client wants nothing more of it.
    fn unwanted(&mut self) -> impl Future<Output = ()> + Send;

    /// Ends the stream so that nobody takes for whole what was sent of it.
    fn break_off(&mut self, why: Break);
}

/// Where all requests of one connection are received.
pub(crate) struct Reception {
    pub(crate) server: Arc<Server>,
    pub(crate) peers: Peers,
    /// Where else the same is served (RFC 7838); none: nowhere that is told.
    pub(crate) alternative: Option<Bytes>,
}

/// What a request is read into, and kept from request to request where one is answered at once.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) head: RequestHead,
    pub(crate) reader: HeadReader,
    key: Vec<u8>,
    /// The trace that the request in hand belongs to.
    trace: Option<Trace>,
}

/// What has come of a request that was received.
#[allow(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a hit allocates nothing"
)]
pub(crate) enum Received<R, I> {
    /// Its answer is at hand; a body that nobody reads may come behind it.
    Arrived(Answering<R>, Reply, Option<I>),
    /// It is sent for.
    Onward(Answer),
}

impl Reception {
    pub(crate) fn new(server: Arc<Server>, peers: Peers) -> Self {
        let alternative = head::alternative(peers.http3_port);
        Self { server, peers, alternative }
    }

    /// Takes in the request whose head is in `scratch`, if it could be `read`. `incoming`: what
    /// comes behind it.
    pub(crate) fn receive<R: Responder, I: Incoming>(
        &self,
        read: Result<Framing, HeadError>,
        incoming: Option<I>,
        responder: R,
        scratch: &mut Scratch,
        now: Now,
    ) -> Received<R, I> {
        let server = &self.server;
        let head = &mut scratch.head;
        let framing = match read {
            Ok(framing) => framing,
            Err(error) => {
                // What is there of the head may be another request's.
                (*head, scratch.trace) = (RequestHead::default(), None);
                let answering = self.answering(responder, false);
                return Received::Arrived(answering, Reply::unreadable(error), incoming);
            }
        };
        let mut answering = self.answering(responder, head.method == Method::HEAD);
        answering.takes_trailers = head.fields.has_member(Name::Te, "trailers");
        let peers = self.peers.of_request(&server.proxies, &head.fields);
        let peer = peers.peer.ip();
        let aside = server.set_aside(head, peers);
        let id = server.name_request(self.peers, &mut head.fields);
        answering.id = id;
        let trace = server.begin_trace(self.peers, peers, head);
        scratch.trace = trace;
        answering.line = server.has_log().then(|| Begun::of(head, peer, id, now));
        let limit = match framing.length {
            Length::Known(_) => server.limits().body_bytes_max,
            _ => u64::MAX,
        };
        let turn = match (aside, framing.length) {
            (Some(reply), _) => Turn::Arrived(reply),
            (_, Length::Known(bytes)) if bytes > limit => Turn::Arrived(Reply::too_large(limit)),
            (None, length) => {
                let awaits_body = length != Length::None;
                pipeline::depart(server, head, awaits_body, now, &mut scratch.key, peers)
            }
        };
        match turn {
            Turn::Arrived(reply) => {
                let reply = if answering.is_head { reply.without_body() } else { reply };
                Received::Arrived(answering, reply, incoming)
            }
            Turn::Onward(errand) => {
                answering.watched = server.watch(&scratch.head, trace, now);
                let onward = self.set_out(errand, framing, incoming, peers, answering, scratch);
                Received::Onward(onward)
            }
        }
    }

    /// Tells who wants to know of an answer that nobody waited for: what came of it, and bytes
    /// of its body.
    pub(crate) fn observe(&self, scratch: &Scratch, now: Now, (outcome, bytes): (Outcome, u64)) {
        self.server.observe(&scratch.head, scratch.trace, now, outcome, bytes);
    }

    fn answering<R: Responder>(&self, responder: R, is_head: bool) -> Answering<R> {
        Answering {
            server: self.server.clone(),
            responder,
            alternative: self.alternative.clone(),
            line: None,
            watched: None,
            id: None,
            is_head,
            takes_trailers: false,
        }
    }

    /// Sends a request on the part of the road that waits.
    fn set_out<R: Responder, I: Incoming>(
        &self,
        errand: Errand,
        framing: Framing,
        incoming: Option<I>,
        peers: Peers,
        answering: Answering<R>,
        scratch: &mut Scratch,
    ) -> Answer {
        let is_told = hints::may_be_told(&errand, &scratch.head);
        let may_come = is_told || errand.site.origin.sends_hints();
        let (early_sender, early) = may_come.then(|| mpsc::channel(EARLY_MAX)).unzip();
        if let Some(sender) = early_sender.as_ref().filter(|_| is_told) {
            hints::tell(&self.server, &errand, &scratch.head, &scratch.key, sender);
        }
        let (wanted_sender, wanted) = framing.expects_continue.then(oneshot::channel).unzip();
        let limits = self.server.limits();
        let (body, left_over) = incoming
            .map(|incoming| Upload::new(incoming, framing.length, &limits, wanted_sender))
            .unzip();
        let body = body.filter(|_| framing.length != Length::None);
        let journey = Journey::new(
            self.server.clone(),
            &errand,
            std::mem::take(&mut scratch.head),
            std::mem::take(&mut scratch.key),
            framing.length,
            body.map(BodyExt::boxed_unsync),
            peers,
            early_sender,
            answering.watched.as_ref().map(|watched| watched.taken_along()),
        );
        let travel = pipeline::travel(journey, errand.hash, errand.task);
        Box::pin(answering.answer(travel, early, wanted, left_over))
    }
}
