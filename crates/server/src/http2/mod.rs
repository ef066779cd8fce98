//! One HTTP/2 connection: many requests at once, each on the same road as over HTTP/1.1.
//!
//! ```text
//! socket ─ link ─ h2 ─┬─ head read, page at hand: answered in this turn
//!                     └─ must wait: a future of this task, until its answer is sent
//! ```
//!
//! Frames, header compression and flow control are the `h2` crate's; what a request is and what
//! it may cost is decided in [`crate::streams`]. [`link`] gathers frames into few writes and
//! counts those that ask for nothing; [`stream`] is a stream as it is seen from there.
//! Law: RFC 9113.
//! Invariants: 1. a connection never has more requests under way than it may have streams,
//! however many of them its client resets: what was asked of an origin goes on until it
//! answers. 2. an answer in memory is never copied for a client that doesn't take it.

mod link;
mod meter;
mod stream;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Now;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::Server;
use crate::http2::link::{Link, Signals};
use crate::journey::Peers;
use crate::streams::answer::{PIECE_BYTES, Rest};
use crate::streams::{Answer, Received, Reception, STREAM_WINDOW_BYTES, Scratch, upload};
use crate::watch::Place;

/// What a client says first. HTTP/1.1 has no such method, so nobody else begins like that.
pub(crate) const PREFACE_START: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

/// What a client may send of all bodies together before an origin has taken any.
const CONNECTION_WINDOW_BYTES: u32 = 128 << 10;
/// Frames are no larger, either way, and so are the buffers for them.
const FRAME_BYTES_MAX: u32 = 16 << 10;
/// What header compression may remember.
const HEADER_TABLE_BYTES: u32 = 4 << 10;
/// Malformed streams of one connection that are answered by resetting them.
const MALFORMED_MAX: usize = 256;
/// How long the last word to a client may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Serves a connection on which HTTP/2 is spoken from its first byte on: known from what the
/// client chose (ALPN), or from `first`, which was read already.
pub(crate) async fn serve<S>(server: Arc<Server>, io: S, peers: Peers, place: Place, first: Bytes)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let head_ms = server.limits().head_timeout.as_millis() as u64;
    place.set(server.clock.now().ticks_ms + head_ms);
    let signals = Arc::<Signals>::default();
    let link = Link::new(io, first, &server, place.watch(), &signals);
    let mut handshake = pin!(settings(&server).handshake(link));
    let begun = poll_fn(|context| match handshake.as_mut().poll(context) {
        Poll::Ready(begun) => Poll::Ready(begun.ok()),
        Poll::Pending => place.poll_fired(context).map(|()| None),
    });
    let Some(frames) = begun.await else { return };
    server.counters.connections_http2.bump();
    let connection = Connection {
        reception: Reception::new(server, peers),
        frames,
        signals,
        place,
        answers: FuturesUnordered::new(),
        scratch: Scratch::default(),
        phase: Phase::Begun,
        is_leaving: false,
    };
    connection.run().await;
}

fn settings(server: &Server) -> Builder {
    let limits = server.limits();
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(limits.streams_max)
        .max_header_list_size(u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX))
        .max_frame_size(FRAME_BYTES_MAX)
        .header_table_size(HEADER_TABLE_BYTES)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buffer_size(PIECE_BYTES)
        // Of those that are reset the link counts all, not just those not looked at yet.
        .max_pending_accept_reset_streams(limits.resets_max as usize)
        .max_local_error_reset_streams(Some(MALFORMED_MAX));
    builder
}

struct Connection<S> {
    reception: Reception,
    frames: h2::server::Connection<Link<S>, Bytes>,
    signals: Arc<Signals>,
    place: Place,
    /// Requests under way, from their heads to the last bytes of their answers.
    answers: FuturesUnordered<Answer>,
    scratch: Scratch,
    phase: Phase,
    /// Whether the client was told to ask for nothing more.
    is_leaving: bool,
}

/// What a connection's deadline is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first request.
    Begun,
    /// The next request.
    Idle,
    /// The rest of a head.
    Head,
    /// Answers that lie with the library, for a client that doesn't let them come.
    Flushing,
    /// Nothing of ours: origins have their own time-outs, and so has each stream.
    Busy,
}

/// Why a connection is over.
enum End {
    /// It is closed, or the library has said why it will be.
    Closed,
    /// It is not wanted any longer: idle or late.
    Late,
    /// Its client sends too much that asks for nothing.
    Excess,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(mut self) {
        let end = poll_fn(|context| self.turn(context)).await;
        match end {
            End::Closed => {}
            End::Late => self.leave(Reason::NO_ERROR).await,
            End::Excess => {
                self.reception.server.counters.connections_calmed.bump();
                self.leave(Reason::ENHANCE_YOUR_CALM).await;
            }
        }
        let Self { frames, place, mut answers, .. } = self;
        drop(frames);
        // What was asked of an origin is finished, as when an HTTP/1.1 visitor goes away:
        // others may wait for it, and a write's traces must be swept.
        place.clear();
        while !answers.is_empty() {
            let next = poll_fn(|context| match answers.poll_next_unpin(context) {
                Poll::Ready(answer) => Poll::Ready(answer.is_some()),
                Poll::Pending => place.poll_fired(context).map(|()| false),
            });
            if !next.await {
                return;
            }
        }
    }

    /// Does all that can be done now. Frames are gathered meanwhile and leave at its end.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<End> {
        let mut now = None;
        if !self.is_leaving && self.reception.server.is_closing() {
            self.is_leaving = true;
            self.frames.graceful_shutdown();
        }
        self.signals.cork();
        loop {
            while let Poll::Ready(Some(())) = self.answers.poll_next_unpin(context) {
                now.get_or_insert_with(|| self.reception.server.clock.now());
            }
            match self.frames.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    let now = *now.get_or_insert_with(|| self.reception.server.clock.now());
                    if let Some(answer) = self.receive(request, respond, now) {
                        self.answers.push(answer);
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    if error.reason() == Some(Reason::ENHANCE_YOUR_CALM) && error.is_library() {
                        self.reception.server.counters.connections_calmed.bump();
                    }
                    return Poll::Ready(End::Closed);
                }
                Poll::Ready(None) => return Poll::Ready(End::Closed),
                // Once more, to let what was gathered leave.
                Poll::Pending if self.signals.uncork() => {}
                Poll::Pending => break,
            }
        }
        self.set_deadline(now);
        if self.signals.excess().is_some() {
            return Poll::Ready(End::Excess);
        }
        self.place.poll_fired(context).map(|()| End::Late)
    }

    /// Sees to it that the connection ends when its client is silent. `now`: when a request
    /// came or an answer was finished, if any was in this turn.
    fn set_deadline(&mut self, now: Option<Now>) {
        let has_answers = !self.answers.is_empty();
        let has_streams = has_answers || self.frames.has_streams();
        let is_midway = self.signals.is_midway();
        self.place.set_idle(!has_streams && !is_midway && !self.signals.is_stuck());
        if self.signals.is_stuck() {
            // The link has set it when the client stopped taking anything.
            self.phase = Phase::Flushing;
            return;
        }
        let limits = self.reception.server.limits();
        let (phase, within) = match (has_answers, has_streams, is_midway) {
            (true, _, _) => (Phase::Busy, None),
            (_, true, _) => (Phase::Flushing, Some(limits.write_timeout)),
            (_, _, true) => (Phase::Head, Some(limits.head_timeout)),
            _ if self.phase == Phase::Begun && now.is_none() => return,
            _ => (Phase::Idle, Some(limits.idle_timeout)),
        };
        if phase == self.phase && now.is_none() {
            return;
        }
        self.phase = phase;
        match within {
            None => self.place.clear(),
            Some(within) => {
                let now = now.unwrap_or_else(|| self.reception.server.clock.now());
                self.place.set(now.ticks_ms + within.as_millis() as u64);
            }
        }
    }

    /// Takes a request in: answers it, or gives the future that will.
    fn receive(
        &mut self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        now: Now,
    ) -> Option<Answer> {
        let server = &self.reception.server;
        if self.answers.len() >= server.limits().streams_max as usize {
            // Its client has reset streams that are still under way at an origin.
            server.counters.streams_refused.bump();
            respond.send_reset(Reason::REFUSED_STREAM);
            return None;
        }
        let (parts, incoming) = request.into_parts();
        let has_body = !incoming.is_end_stream();
        let scratch = &mut self.scratch;
        match self.reception.receive(&parts, incoming, has_body, respond, scratch, now) {
            Received::Arrived(answering, reply, unread) => {
                let seen = reply.seen();
                let rest = answering.begin_now(reply, now);
                self.reception.observe(&self.scratch, now, seen);
                finish(rest, unread)
            }
            Received::Onward(answer) => Some(answer),
        }
    }

    /// Says that nothing more will be answered, and why.
    async fn leave(&mut self, reason: Reason) {
        self.frames.abrupt_shutdown(reason);
        self.signals.uncork();
        // A client that doesn't take it has heard enough.
        let _ = timeout(FAREWELL, poll_fn(|context| self.frames.poll_closed(context))).await;
    }
}

/// The future that sends what could not be sent at once, and reads what nobody wants.
fn finish(rest: Option<Rest<SendStream<Bytes>>>, unread: Option<RecvStream>) -> Option<Answer> {
    match (rest, unread) {
        (None, None) => None,
        (Some(rest), None) => Some(Box::pin(rest.send())),
        (rest, Some(unread)) => Some(Box::pin(async move {
            if let Some(rest) = rest {
                rest.send().await;
            }
            upload::drain(unread).await;
        })),
    }
}
