//! One request's answer on its stream: what is at hand goes at once, the rest as the client
//! lets it come.
//!
//! Law: RFC 9113 §5.2, §8.1. A page in memory is handed over without a copy; of a body that
//! comes from elsewhere no more than [`PIECE_BYTES`] are held.
//! Invariant: an answer that breaks off ends with RST_STREAM, never as if it were whole.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use base::Now;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use wire::{Body, ResponseHead};

use crate::Server;
use crate::access::Begun;
use crate::connection::LINGER;
use crate::http2::{head, upload};
use crate::observer::{self, Watched};
use crate::pace::{Pace, Slowest};
use crate::reply::{Payload, Reply};
use crate::request_id::{self, RequestId};

/// So much of one answer is handed to the library at a time.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// What must be known to answer a request that was read.
pub(crate) struct Answering {
    pub(crate) server: Arc<Server>,
    pub(crate) respond: SendResponse<Bytes>,
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
pub(crate) struct Rest {
    server: Arc<Server>,
    stream: SendStream<Bytes>,
    payload: Payload,
    takes_trailers: bool,
    pace: Pace,
    watched: Option<Box<Watched>>,
    sent_bytes: u64,
}

/// Why a body is not sent to its end.
enum Broken {
    /// The client doesn't want it, or is gone.
    Unwanted,
    /// The client took nothing for too long.
    Late,
    /// It is not what was promised.
    Ours,
}

impl Answering {
    /// Counts and logs a reply, and sends what can be sent now; gives what can't.
    pub(crate) fn begin(mut self, reply: Reply, now: Now) -> Option<Rest> {
        let reply = if self.is_head { reply.without_body() } else { reply };
        self.server.note_answer(self.line.take(), &reply, now);
        let mut response = head::of(&reply, now);
        if let Some(id) = &self.id {
            head::add(request_id::FIELD, id.as_bytes(), response.headers_mut());
        }
        if let Some(watched) = &mut self.watched {
            watched.note_reply(&reply, now);
        }
        if self.server.server_timing {
            let text = observer::server_timing(reply.verdict, self.watched.as_deref(), now);
            head::add(observer::SERVER_TIMING, text.as_bytes(), response.headers_mut());
        }
        let is_whole = matches!(reply.payload, Payload::None);
        let mut stream = match self.respond.send_response(response, is_whole) {
            Ok(stream) => stream,
            Err(_) => {
                // The client is gone, or our fields are none: either way it ends here.
                self.respond.send_reset(Reason::INTERNAL_ERROR);
                return None;
            }
        };
        let at_once = reply.payload.length();
        match reply.payload {
            Payload::None => {}
            Payload::Whole(bytes) if fits(&mut stream, bytes.len()) => {
                // Who reset the stream wants nothing of it.
                let _ = stream.send_data(bytes, true);
            }
            payload => {
                return Some(Rest {
                    server: self.server,
                    stream,
                    payload,
                    takes_trailers: self.takes_trailers,
                    pace: Pace::default(),
                    watched: self.watched,
                    sent_bytes: 0,
                });
            }
        }
        if let Some(watched) = self.watched {
            watched.end(&self.server, at_once.unwrap_or_default());
        }
        None
    }

    /// Waits for the reply, and answers; early hints go before it, and `100 Continue` once the
    /// body is `wanted`. What the origin has left of the body is in `left_over`.
    pub(crate) async fn answer(
        mut self,
        reply: impl Future<Output = Reply>,
        mut hints: Option<mpsc::Receiver<ResponseHead>>,
        mut wanted: Option<oneshot::Receiver<()>>,
        left_over: Option<oneshot::Receiver<RecvStream>>,
    ) {
        let reply = {
            let mut reply = std::pin::pin!(reply);
            loop {
                tokio::select! {
                    biased;
                    Some(hints) = next_hints(&mut hints) => self.relay(head::interim(&hints)),
                    is_wanted = told(&mut wanted) => {
                        wanted = None;
                        if is_wanted {
                            let mut response = Response::new(());
                            *response.status_mut() = StatusCode::CONTINUE;
                            self.relay(response);
                        }
                    }
                    reply = &mut reply => break reply,
                }
            }
        };
        // Hints may have come together with the answer.
        while let Some(hints) = hints.as_mut().and_then(|hints| hints.try_recv().ok()) {
            self.relay(head::interim(&hints));
        }
        let now = self.server.clock.now();
        if let Some(rest) = self.begin(reply, now) {
            rest.send().await;
        }
        let Some(left_over) = left_over else { return };
        // The origin may go on reading behind its answer, but not for long.
        if let Ok(Ok(incoming)) = timeout(LINGER, left_over).await {
            upload::drain(incoming).await;
        }
    }

    fn relay(&mut self, interim: Response<()>) {
        // Who has gone meanwhile misses nothing by missing this.
        let _ = self.respond.send_informational(interim);
    }
}

impl Rest {
    /// Sends it as the client takes it.
    pub(crate) async fn send(mut self) {
        let payload = std::mem::replace(&mut self.payload, Payload::None);
        let sent = match payload {
            Payload::None => Ok(()),
            // Nobody asks for one: what would is refused with the head.
            Payload::Tunnel(_) => Err(Broken::Ours),
            Payload::Whole(bytes) => self.send_piece(bytes, true).await,
            Payload::Parts(parts) => self.send_parts(parts).await,
            Payload::Stream { body, length } => self.send_body(body, length).await,
        };
        if let Some(watched) = self.watched.take() {
            watched.end(&self.server, self.sent_bytes);
        }
        match sent {
            Ok(()) | Err(Broken::Unwanted) => {}
            Err(Broken::Late) => {
                self.server.counters.streams_late.bump();
                self.stream.send_reset(Reason::CANCEL);
            }
            Err(Broken::Ours) => self.stream.send_reset(Reason::INTERNAL_ERROR),
        }
    }

    async fn send_parts(&mut self, parts: Vec<Bytes>) -> Result<(), Broken> {
        for part in parts {
            self.send_piece(part, false).await?;
        }
        self.end(Bytes::new())
    }

    /// Sends a body as it comes; the last piece ends the stream, where it is known for it.
    async fn send_body(&mut self, mut body: Body, length: Option<u64>) -> Result<(), Broken> {
        let mut left = length;
        loop {
            let Some(frame) = self.next_frame(&mut body).await? else { break };
            let frame = frame.map_err(|_| Broken::Ours)?;
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(frame) => {
                    let Ok(trailers) = frame.into_trailers() else { continue };
                    if !self.takes_trailers || left.is_some_and(|left| left > 0) {
                        continue;
                    }
                    let trailers = head::trailers(trailers);
                    return self.stream.send_trailers(trailers).map_err(|_| Broken::Unwanted);
                }
            };
            if let Some(left) = &mut left {
                *left = left.checked_sub(data.len() as u64).ok_or(Broken::Ours)?;
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
            None | Some(0) => self.end(Bytes::new()),
            Some(_) => Err(Broken::Ours),
        }
    }

    /// What the body gives next, unless the client resets the stream.
    async fn next_frame(
        &mut self,
        body: &mut Body,
    ) -> Result<Option<Result<http_body::Frame<Bytes>, wire::BodyError>>, Broken> {
        let stream = &mut self.stream;
        let reset = poll_fn(|context| stream.poll_reset(context).map(|_| ()));
        tokio::select! {
            biased;
            frame = body.frame() => Ok(frame),
            () = reset => Err(Broken::Unwanted),
        }
    }

    /// Sends one piece as far as the client lets it come.
    async fn send_piece(&mut self, mut piece: Bytes, is_last: bool) -> Result<(), Broken> {
        while !piece.is_empty() {
            self.stream.reserve_capacity(piece.len().min(PIECE_BYTES));
            let room = match self.stream.capacity() {
                0 => self.wait_for_room().await?,
                room => room,
            };
            let part = piece.split_to(room.min(piece.len()));
            self.pace.note(part.len(), 0);
            self.sent_bytes += part.len() as u64;
            if piece.is_empty() && is_last {
                return self.end(part);
            }
            self.stream.send_data(part, false).map_err(|_| Broken::Unwanted)?;
        }
        if is_last { self.end(piece) } else { Ok(()) }
    }

    async fn wait_for_room(&mut self) -> Result<usize, Broken> {
        let stream = &mut self.stream;
        let room = poll_fn(|context| {
            loop {
                match stream.poll_capacity(context) {
                    // It was taken away again.
                    Poll::Ready(Some(Ok(0))) => {}
                    room => return room,
                }
            }
        });
        let limits = &self.server.limits;
        // Streams share what the client's line carries, so one may have to wait for others.
        let after = limits.slowest.after.max(limits.write_timeout);
        let slowest = Slowest { after, ..limits.slowest };
        let (within_ms, is_slow) = self.pace.allowance_ms(slowest, limits.write_timeout);
        let since = Instant::now();
        let room = timeout(Duration::from_millis(within_ms), room).await;
        self.pace.note(0, since.elapsed().as_millis() as u64);
        match room {
            Ok(Some(Ok(room))) => Ok(room),
            Ok(_) => Err(Broken::Unwanted),
            Err(_) => {
                self.server.counters.clients_slow.add(u64::from(is_slow));
                Err(Broken::Late)
            }
        }
    }

    fn end(&mut self, last: Bytes) -> Result<(), Broken> {
        self.stream.send_data(last, true).map_err(|_| Broken::Unwanted)
    }
}

/// Whether the client lets so much come at once.
fn fits(stream: &mut SendStream<Bytes>, bytes: usize) -> bool {
    bytes <= PIECE_BYTES && {
        stream.reserve_capacity(bytes);
        stream.capacity() >= bytes
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
