//! One HTTP/3 connection: many requests at once, each on the same road as over HTTP/2.
//!
//! ```text
//! UDP socket ─ quinn ─┬─ a request's stream ─ head ─ crate::streams ─ answer
//!                     └─ a stream that goes one way: settings, and the end
//! ```
//!
//! QUIC is the `quinn` crate's; frames and heads are read by `wire::h3`, and what a request is
//! and what it may cost is decided in [`crate::streams`]. [`listener`] lets connections in,
//! [`taking`] and [`sending`] are the ends of a request's stream, [`control`] is the rest;
//! [`socket`] is there for when another process takes this one's place.
//! Law: RFC 9114, RFC 9204. Why it is so: `docs/decisions/http3.md`.
//! Invariants: 1. a connection never has more requests under way than it may have streams,
//! however many of them its client resets: a stream counts until its answer has ended, and
//! what was asked of an origin goes on until it answers. 2. nothing is held of what a client
//! sends but one head for each stream, and what its windows let it send.

mod control;
mod listener;
mod sending;
mod socket;
mod taking;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::Shutdown;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use quinn::{RecvStream, SendStream, VarInt};
use tokio::time::{Instant, sleep, timeout};
use wire::Name;
use wire::decoded::read_framing;
use wire::h1::{HeadError, HeadLimits};
use wire::h3::{self, Code};
use wire::qpack::BlockError;

use crate::Server;
use crate::connection::poll_once;
use crate::http3::sending::Sending;
use crate::http3::taking::{Fault, Taking};
use crate::journey::Peers;
use crate::streams::allowance::{Allowance, Excess};
use crate::streams::{Answer, Received, Reception, Scratch, upload};
use crate::watch::Place;

pub use listener::Http3Listener;
pub use socket::{HandedOver, Http3Handle};

/// Where another process serves, a client may begin requests for so long after it was told not to:
/// what was on its way is answered, and it is seldom on its way for longer.
const LAST_CALL: Duration = Duration::from_secs(1);
/// The number of the last stream that there could be: "not yet, but soon" (RFC 9114 §5.2).
const LAST_STREAM: u64 = (1 << 62) - 4;

/// What all streams of a connection share.
pub(crate) struct Hall {
    reception: Reception,
    connection: quinn::Connection,
    /// What the client may reset, and send that asks for nothing. One task looks at it.
    allowances: Mutex<Allowances>,
    is_calmed: AtomicBool,
    /// Streams of which there may be one: for settings, to and from a table that isn't there.
    has_control: AtomicBool,
    has_encoder: AtomicBool,
    has_decoder: AtomicBool,
}

struct Allowances {
    resets: Allowance,
    idle: Allowance,
}

impl Hall {
    fn server(&self) -> &Arc<Server> {
        &self.reception.server
    }

    /// Ends the connection because it is out of step.
    fn fail(&self, code: Code) {
        self.connection.close(VarInt::from_u32(code.number()), b"");
    }

    /// Counts something that asks for nothing, and ends the connection if it is too much.
    fn note(&self, what: Excess) {
        let server = self.server();
        let ticks_ms = || server.clock.now().ticks_ms;
        let mut allowances = self.allowances.lock();
        let is_allowed = match what {
            Excess::Resets => allowances.resets.take(ticks_ms),
            Excess::Idle => allowances.idle.take(ticks_ms),
        };
        drop(allowances);
        if !is_allowed && !self.is_calmed.swap(true, Ordering::Relaxed) {
            server.counters.connections_calmed.bump();
            self.fail(Code::ExcessiveLoad);
        }
    }
}

/// Serves a connection whose handshake is over.
pub(crate) async fn serve(
    server: Arc<Server>,
    connection: quinn::Connection,
    peers: Peers,
    place: Place,
    shutdown: Shutdown,
) {
    server.counters.connections_http3.bump();
    let limits = server.limits();
    let ticks_ms = server.clock.now().ticks_ms;
    let hall = Arc::new(Hall {
        allowances: Mutex::new(Allowances {
            resets: Allowance::new(limits.resets_max, ticks_ms),
            idle: Allowance::new(limits.idle_frames_max, ticks_ms),
        }),
        reception: Reception::new(server, peers),
        connection,
        is_calmed: AtomicBool::new(false),
        has_control: AtomicBool::new(false),
        has_encoder: AtomicBool::new(false),
        has_decoder: AtomicBool::new(false),
    });
    let (answers, others) = (FuturesUnordered::new(), FuturesUnordered::new());
    let visit = Visit { hall, place, control: None, answers, others, next_stream: 0 };
    visit.run(shutdown).await;
}

/// One connection, from its handshake to its end.
struct Visit {
    hall: Arc<Hall>,
    place: Place,
    /// Where the client is told of settings, and of the end.
    control: Option<SendStream>,
    /// Requests under way, from their streams' first bytes to the last that the client took.
    answers: FuturesUnordered<Answer>,
    /// Streams that go one way.
    others: FuturesUnordered<Answer>,
    /// The number of the first stream that was not seen yet.
    next_stream: u64,
}

impl Visit {
    async fn run(mut self, shutdown: Shutdown) {
        self.expect_within(self.hall.server().limits().head_timeout);
        self.place.set_idle(true);
        let (hall, mut is_told, mut is_leaving) = (self.hall.clone(), false, false);
        let mut stop = pin!(shutdown.begun());
        let mut last_call = pin!(sleep(LAST_CALL));
        let mut begin = pin!(control::begin(&hall));
        loop {
            let place = &self.place;
            tokio::select! {
                biased;
                () = poll_fn(|context| place.poll_fired(context)) => {
                    hall.fail(Code::NoError);
                    break;
                }
                control = &mut begin, if self.control.is_none() => match control {
                    Some(control) => self.control = Some(control),
                    None => break,
                },
                Some(()) = self.answers.next(), if !self.answers.is_empty() => {
                    if self.answers.is_empty() {
                        self.expect_within(hall.server().limits().idle_timeout);
                        self.place.set_idle(true);
                    }
                }
                Some(()) = self.others.next(), if !self.others.is_empty() => {}
                accepted = hall.connection.accept_bi() => match accepted {
                    Ok((send, recv)) => self.receive(send, recv, is_leaving),
                    Err(_) => break,
                },
                accepted = hall.connection.accept_uni() => match accepted {
                    Ok(stream) => self.others.push(Box::pin(control::listen(hall.clone(), stream))),
                    Err(_) => break,
                },
                () = &mut stop, if !is_told => {
                    is_told = true;
                    is_leaving = !hall.server().is_leaving();
                    last_call.as_mut().reset(Instant::now() + LAST_CALL);
                    self.say_goodbye(if is_leaving { self.next_stream } else { LAST_STREAM }).await;
                }
                () = &mut last_call, if is_told && !is_leaving => {
                    is_leaving = true;
                    self.say_goodbye(self.next_stream).await;
                }
            }
            if is_leaving && self.answers.is_empty() {
                hall.fail(Code::NoError);
                break;
            }
        }
        self.end().await;
    }

    /// What was asked of an origin is finished, as when an HTTP/1.1 visitor goes away: others
    /// may wait for it, and a write's traces must be swept.
    async fn end(self) {
        let Self { place, mut answers, .. } = self;
        place.set_idle(false);
        place.clear();
        while !answers.is_empty() {
            let next = tokio::select! {
                answer = answers.next() => answer,
                () = poll_fn(|context| place.poll_fired(context)) => None,
            };
            if next.is_none() {
                return;
            }
        }
    }

    fn expect_within(&self, time: std::time::Duration) {
        let now = self.hall.server().clock.now();
        self.place.set(now.ticks_ms + time.as_millis() as u64);
    }

    /// Takes in a stream that may bring a request.
    fn receive(&mut self, mut send: SendStream, mut recv: RecvStream, is_leaving: bool) {
        let server = self.hall.server();
        if is_leaving || self.answers.len() >= server.limits().streams_max as usize {
            server.counters.streams_refused.bump();
            let code = VarInt::from_u32(Code::RequestRejected.number());
            // Either fails only if the client was faster.
            let _ = (send.reset(code), recv.stop(code));
            return;
        }
        self.next_stream = u64::from(VarInt::from(recv.id())) + 4;
        // Clients may send a frame of no meaning with each request, so that servers stay used to
        // them (RFC 9114 §7.2.8).
        self.hall.allowances.lock().idle.give(1);
        self.place.set_idle(false);
        self.place.clear();
        let taking = Taking::new(recv, self.hall.clone());
        let sending = Sending::new(send, self.hall.clone());
        self.answers.push(Box::pin(exchange(self.hall.clone(), taking, sending)));
    }

    /// Tells the client that nothing is answered from this stream on (RFC 9114 §5.2).
    async fn say_goodbye(&mut self, first_unanswered: u64) {
        let Some(control) = &mut self.control else { return };
        let (mut goodbye, mut id) = (Vec::new(), Vec::new());
        h3::push_number(&mut id, first_unanswered);
        h3::push_frame(&mut goodbye, h3::frame::GOAWAY, id.len());
        goodbye.extend_from_slice(&id);
        // Who doesn't take so little learns it from the end.
        let _ = poll_once(pin!(control.write_all(&goodbye))).await;
    }
}

/// One request and its answer.
async fn exchange(hall: Arc<Hall>, mut taking: Taking, sending: Sending) {
    let limits = hall.server().limits();
    let mut scratch = Scratch::default();
    let reading = read_head(&mut taking, &hall, &mut scratch);
    let read = timeout(limits.head_timeout, reading).await;
    let (read, has_body) = match read.unwrap_or(Err(Fault::Stream(Code::RequestIncomplete))) {
        Ok(has_body) => (read_framing(&scratch.head, has_body), has_body),
        Err(Fault::Gone) => return sending.give_up(),
        Err(Fault::Stream(code)) => return sending.reset(code),
        // What is left of the stream is not wanted.
        Err(Fault::Head(error)) => (Err(error), false),
    };
    let now = hall.server().clock.now();
    // Where nothing of it is wanted that is told behind the answer.
    let (incoming, _unwanted) = if has_body { (Some(taking), None) } else { (None, Some(taking)) };
    match hall.reception.receive(read, incoming, sending, &mut scratch, now) {
        Received::Onward(answer) => answer.await,
        Received::Arrived(answering, reply, unread) => {
            let seen = reply.seen();
            let rest = answering.begin(reply, now).await;
            hall.reception.observe(&scratch, now, seen);
            if let Some(rest) = rest {
                rest.send().await;
            }
            if let Some(unread) = unread {
                upload::drain(unread).await;
            }
        }
    }
}

/// Reads a request's head; whether a body comes behind it. That the stream ends may be told
/// after the head, so where nothing else tells of a body its first byte or its end is waited
/// for.
async fn read_head(taking: &mut Taking, hall: &Hall, scratch: &mut Scratch) -> Result<bool, Fault> {
    let limits = HeadLimits {
        head_bytes_max: hall.server().limits().head_bytes_max,
        target_bytes_max: hall.server().limits().target_bytes_max,
    };
    let block = taking.head(limits.head_bytes_max).await?;
    let Scratch { head, reader, .. } = scratch;
    h3::read_head(&block, reader, head, &limits).map_err(|error| match error {
        BlockError::Broken => {
            hall.fail(Code::DecompressionFailed);
            Fault::Gone
        }
        BlockError::TooLarge => Fault::Head(HeadError::TooLarge),
        BlockError::Refused(error) => Fault::Head(error),
    })?;
    let told = head.fields.has(Name::ContentLength) || head.fields.has(Name::Expect);
    let at_once = poll_once(Box::pin(taking.has_more())).await;
    match at_once {
        Some(has_more) => has_more,
        None if told => Ok(true),
        None => taking.has_more().await,
    }
}
