//! One request's answer on its stream: what is at hand goes at once, the rest as the client
//! lets it come.
//!
//! Law: RFC 9113 §5.2, §8.1; RFC 9114 §4.1. Of a body that comes from elsewhere no more than
//! [`PIECE_BYTES`] are held.
//! Invariant: an answer that breaks off ends with a reset, never as if it were whole.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use base::Now;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use wire::{Body, Fields, ResponseHead};

use crate::Server;
use crate::access::Begun;
use crate::connection::{LINGER, poll_once};
use crate::observer::{self, Watched};
use crate::pace::{Pace, Slowest};
use crate::reply::{Payload, Reply};
use crate::request_id::{self, RequestId};
use crate::streams::head::HEAD_BYTES;
use crate::streams::{Break, Gone, Incoming, Outgoing, Responder, head, upload};

/// So much of one answer is handed on at a time.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// What must be known to answer a request that was read.
pub(crate) struct Answering<R> {
    pub(crate) server: Arc<Server>,
    pub(crate) responder: R,
    /// Where else the same is served, if that is told.
    pub(crate) alternative: Option<Bytes>,
    /// The log's line, where there is a log.
    pub(crate) line: Option<Begun>,
    /// What is known of its journey, where somebody wants to know.
    pub(crate) watched: Option<Box<Watched>>,
    /// What the request is called, where requests have names.
    pub(crate) id: Option<RequestId>,
    pub(crate) is_head: bool,
    /// Whether the client said that it wants to see trailers.
    pub(crate) takes_trailers: bool,
}

/// The rest of an answer whose head was sent.
pub(crate) struct Rest<O> {
    pub(crate) server: Arc<Server>,
    pub(crate) stream: O,
    pub(crate) payload: Payload,
    pub(crate) takes_trailers: bool,
    pub(crate) pace: Pace,
    pub(crate) watched: Option<Box<Watched>>,
    /// Bytes of the body that were taken off it.
    pub(crate) sent_bytes: u64,
}

/// Why a body is not sent to its end.
enum Broken {
    Unwanted,
    Because(Break),
}

impl From<Gone> for Broken {
    fn from(_: Gone) -> Self {
        Self::Unwanted
    }
}

impl<R: Responder> Answering<R> {
    /// Counts and logs a reply; appends its head as it is sent, and gives its payload.
    pub(crate) fn prepare(&mut self, reply: Reply, now: Now, block: &mut Vec<u8>) -> Payload {
        let reply = if self.is_head { reply.without_body() } else { reply };
        self.server.note_answer(self.line.take(), &reply, now);
        head::push::<R>(block, &reply, now);
        if let Some(id) = &self.id {
            R::field(block, request_id::FIELD.as_bytes(), id.as_bytes());
        }
        if let Some(watched) = &mut self.watched {
            watched.note_reply(&reply, now);
        }
        if self.server.server_timing {
            let text = observer::server_timing(reply.verdict, self.watched.as_deref(), now);
            R::field(block, observer::SERVER_TIMING.as_bytes(), text.as_bytes());
        }
        if let Some(alternative) = self.alternative.take() {
            R::field(block, b"alt-svc", &alternative);
        }
        reply.payload
    }

    /// Sends the head of a reply, and what can be sent with it; gives what can't.
    pub(crate) async fn begin(mut self, reply: Reply, now: Now) -> Option<Rest<R::Outgoing>> {
        let mut block = Vec::with_capacity(HEAD_BYTES);
        let payload = self.prepare(reply, now, &mut block);
        let length = payload.length();
        let begun = self.responder.begin(block, payload).await;
        Rest::of(begun, length, self.server, self.takes_trailers, self.watched)
    }

    /// Waits for the reply, and answers; early hints go before it, and `100 Continue` once the
    /// body is `wanted`. What the origin has left of the body is in `left_over`.
    pub(crate) async fn answer<I: Incoming>(
        mut self,
        reply: impl Future<Output = Reply>,
        mut hints: Option<mpsc::Receiver<ResponseHead>>,
        mut wanted: Option<oneshot::Receiver<()>>,
        left_over: Option<oneshot::Receiver<I>>,
    ) {
        let reply = {
            let mut reply = pin!(reply);
            loop {
                tokio::select! {
                    biased;
                    Some(hints) = next_hints(&mut hints) => {
                        self.responder.relay(head::interim::<R>(&hints)).await;
                    }
                    is_wanted = told(&mut wanted) => {
                        wanted = None;
                        if is_wanted {
                            let status = 100;
                            let go_on = ResponseHead { status, fields: Fields::new() };
                            self.responder.relay(head::interim::<R>(&go_on)).await;
                        }
                    }
                    reply = &mut reply => break reply,
                }
            }
        };
        // Hints may have come together with the answer.
        while let Some(hints) = hints.as_mut().and_then(|hints| hints.try_recv().ok()) {
            self.responder.relay(head::interim::<R>(&hints)).await;
        }
        let now = self.server.clock.now();
        if let Some(rest) = self.begin(reply, now).await {
            rest.send().await;
        }
        let Some(left_over) = left_over else { return };
        // The origin may go on reading behind its answer, but not for long.
        if let Ok(Ok(incoming)) = timeout(LINGER, left_over).await {
            upload::drain(incoming).await;
        }
    }
}

impl<O: Outgoing> Rest<O> {
    /// What is left of a payload of this length; who watches is told if that is nothing.
    pub(crate) fn of(
        begun: Option<(O, Payload)>,
        length: Option<u64>,
        server: Arc<Server>,
        takes_trailers: bool,
        watched: Option<Box<Watched>>,
    ) -> Option<Self> {
        let Some((stream, payload)) = begun else {
            if let Some(watched) = watched {
                watched.end(&server, length.unwrap_or_default());
            }
            return None;
        };
        let left = payload.length().or(length).unwrap_or_default();
        let sent_bytes = length.unwrap_or_default().saturating_sub(left);
        let pace = Pace::default();
        Some(Self { server, stream, payload, takes_trailers, pace, watched, sent_bytes })
    }

    /// Sends it as the client takes it.
    pub(crate) async fn send(mut self) {
        let payload = std::mem::replace(&mut self.payload, Payload::None);
        let sent = match payload {
            Payload::None => Ok(()),
            // Nobody asks for one: what would is refused with the head.
            Payload::Tunnel(_) | Payload::Sliced(_) => Err(Broken::Because(Break::Ours)),
            Payload::Whole(bytes) => self.send_piece(bytes, true).await,
            Payload::Parts(parts) => self.send_parts(parts).await,
            Payload::Stream { body, length } => self.send_body(body, length).await,
            Payload::File(stretch) => {
                let length = Some(stretch.length());
                self.send_body(stretch.into_body(), length).await
            }
        };
        if let Some(watched) = self.watched.take() {
            watched.end(&self.server, self.sent_bytes);
        }
        if let Err(Broken::Because(why)) = sent {
            self.server.counters.streams_late.add(u64::from(why == Break::Late));
            self.stream.break_off(why);
        }
    }

    async fn send_parts(&mut self, parts: Vec<Bytes>) -> Result<(), Broken> {
        for part in parts {
            self.send_piece(part, false).await?;
        }
        self.send_piece(Bytes::new(), true).await
    }

    /// Sends a body as it comes; the last piece ends the stream, where it is known for it.
    async fn send_body(&mut self, mut body: Body, length: Option<u64>) -> Result<(), Broken> {
        const SHORT: Broken = Broken::Because(Break::Ours);
        let mut left = length;
        loop {
            let Some(frame) = self.next_frame(&mut body).await? else { break };
            let frame = frame.map_err(|_| SHORT)?;
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(frame) => {
                    let Ok(trailers) = frame.into_trailers() else { continue };
                    if !self.takes_trailers || left.is_some_and(|left| left > 0) {
                        continue;
                    }
                    let sent = self.stream.send_trailers(head::trailers::<O>(&trailers));
                    return paced(&self.server, &mut self.pace, sent).await;
                }
            };
            if let Some(left) = &mut left {
                *left = left.checked_sub(data.len() as u64).ok_or(SHORT)?;
            }
            let is_last = body.is_end_stream() && left.is_none_or(|left| left == 0);
            if is_last || !data.is_empty() {
                self.send_piece(data, is_last).await?;
            }
            if is_last {
                return Ok(());
            }
        }
        match left {
            None | Some(0) => self.send_piece(Bytes::new(), true).await,
            Some(_) => Err(SHORT),
        }
    }

    /// What the body gives next, unless the client resets the stream.
    async fn next_frame(
        &mut self,
        body: &mut Body,
    ) -> Result<Option<Result<http_body::Frame<Bytes>, wire::BodyError>>, Broken> {
        tokio::select! {
            biased;
            frame = body.frame() => Ok(frame),
            () = self.stream.unwanted() => Err(Broken::Unwanted),
        }
    }

    /// Sends one piece as far as the client lets it come; the last one ends the stream.
    async fn send_piece(&mut self, mut piece: Bytes, is_last: bool) -> Result<(), Broken> {
        while is_last || !piece.is_empty() {
            let before = piece.len();
            let sent = self.stream.send(&mut piece, is_last);
            paced(&self.server, &mut self.pace, sent).await?;
            self.pace.note(before - piece.len(), 0);
            self.sent_bytes += (before - piece.len()) as u64;
            if piece.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

/// Does what may have to wait for the client, and ends that wait when it was long enough.
async fn paced(
    server: &Server,
    pace: &mut Pace,
    work: impl Future<Output = Result<(), Gone>>,
) -> Result<(), Broken> {
    let mut work = pin!(work);
    if let Some(done) = poll_once(work.as_mut()).await {
        return Ok(done?);
    }
    let limits = server.limits();
    // Streams share what the client's line carries, so one may have to wait for others.
    let after = limits.slowest.after.max(limits.write_timeout);
    let slowest = Slowest { after, ..limits.slowest };
    let (within_ms, is_slow) = pace.allowance_ms(slowest, limits.write_timeout);
    let since = Instant::now();
    let done = timeout(Duration::from_millis(within_ms), work).await;
    pace.note(0, since.elapsed().as_millis() as u64);
    match done {
        Ok(done) => Ok(done?),
        Err(_) => {
            server.counters.clients_slow.add(u64::from(is_slow));
            Err(Broken::Because(Break::Late))
        }
    }
}

/// The next early hints, where any may come.
async fn next_hints(hints: &mut Option<mpsc::Receiver<ResponseHead>>) -> Option<ResponseHead> {
    match hints {
        Some(hints) => hints.recv().await,
        None => None,
    }
}

/// Whether the word was given; never ready where none is awaited.
async fn told(wanted: &mut Option<oneshot::Receiver<()>>) -> bool {
    match wanted {
        Some(wanted) => wanted.await.is_ok(),
        None => std::future::pending().await,
    }
}
