//! One connection: heads of HTTP/1.1 in, replies out, one after the other.
//!
//! It owns the socket and every buffer, and keeps them from request to request; where none
//! comes for a while all but the socket is given back ([`Resting`]).
//! A hit is answered without leaving this task: read, look, one vectored write.
//! Everything that must wait goes through [`pipeline::travel`], boxed, so that an
//! idle connection stays small.
//! One that begins as HTTP/2 does is given over to [`http2`].
//! Law: RFC 9112 §9. Invariant: after any doubt about framing the connection closes.

mod file;

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Now;
use bytes::{Buf, Bytes, BytesMut};
use http::Method;
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use wire::h1::{Framing, HeadError, HeadLimits, Length, read_head};
use wire::{BodyError, Name, RequestHead, ResponseHead, Version};

use crate::access::Begun;
use crate::files;
use crate::http2;
use crate::journey::{Journey, Peers};
use crate::observer::{self, Outcome, Watched};
use crate::pace::Pace;
use crate::pipeline::{self, Errand, Turn};
use crate::render::{self, Persistence};
use crate::reply::{Payload, Reply};
use crate::request_id::RequestId;
use crate::trace::Trace;
use crate::tunnel;
use crate::upload::{self, Need, Pump};
use crate::watch::Place;
use crate::{Limits, Server};

/// A first read this large takes any usual head in one go.
const READ_BYTES: usize = 4 << 10;
/// What TLS has decrypted waits there, and is read in pieces without a system call: a
/// connection that waits for a head need not hold more.
const READ_BYTES_TLS: usize = 1 << 10;
/// What waits for the first bytes of a request where none has come for a while.
const READ_BYTES_RESTING: usize = 64;
/// What is read and thrown away after an answer that did not wait for its request's body.
pub(crate) const LINGER_BYTES_MAX: usize = 256 << 10;
/// How long that may take.
pub(crate) const LINGER: Duration = Duration::from_secs(2);
/// Early hints of one request that may wait to be written.
pub(crate) const EARLY_MAX: usize = 8;

/// What of a connection stays while nothing comes: little, for there may be very many.
struct Resting<S> {
    server: Arc<Server>,
    io: S,
    peers: Peers,
    place: Place,
    /// Whether a request of HTTP/1.1 was read.
    has_served: bool,
}

/// A connection while it is busy.
struct Connection<S> {
    server: Arc<Server>,
    /// As they were when it was last at rest.
    limits: Arc<Limits>,
    io: S,
    peers: Peers,
    place: Place,
    input: BytesMut,
    output: Vec<u8>,
    head: RequestHead,
    key: Vec<u8>,
    /// What the request in hand is called, where requests have names.
    id: Option<RequestId>,
    /// The trace that it belongs to, where traces are wanted.
    trace: Option<Trace>,
    /// How fast the body in hand comes, and how fast the answer is taken.
    incoming: Pace,
    outgoing: Pace,
    /// The log's line for the request in hand, where there is a log.
    line: Option<Begun>,
    /// What is known of the journey in hand, where somebody wants to know.
    watched: Option<Box<Watched>>,
    /// Bytes of the body in hand that were sent.
    body_bytes: u64,
    /// Whether a request of HTTP/1.1 was read.
    has_served: bool,
}

/// Why a connection is over, as far as its own loop must know.
enum End {
    /// Nothing more to say: closed by the client, by its deadline, or by us.
    Closed,
    /// Not yet, but nothing comes.
    Rests,
    /// The client must be told, then the connection closes.
    Refused(HeadError),
    /// HTTP/2 is spoken here.
    Http2,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        // A visitor who went away is no event; origins' failures are told elsewhere.
        Self::Closed
    }
}

/// What became of a connection that was busy.
enum Left<S> {
    Rests(Resting<S>),
    Over(Resting<S>),
    /// It begins as HTTP/2 does.
    Http2(Resting<S>, Bytes),
}

/// Serves requests until one side has had enough.
pub(crate) fn serve<S>(server: Arc<Server>, io: S, peers: Peers) -> impl Future<Output = ()>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    // Before the task begins, so that nobody is missed when connections are counted.
    serve_at(server.watches.enter(), server, io, peers)
}

/// The same for one that has its place among the watched already.
pub(crate) async fn serve_at<S>(place: Place, server: Arc<Server>, io: S, peers: Peers)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    // Who connects and says nothing must not stay.
    let late_at = server.clock.now().ticks_ms + server.limits().head_timeout.as_millis() as u64;
    place.set(late_at);
    let mut resting = Resting { server, io, peers, place, has_served: false };
    let mut input = BytesMut::new();
    loop {
        // Boxed, so that who rests doesn't bear the size of who is busy.
        match Box::pin(Connection::of(resting, input).run()).await {
            Left::Rests(left) => resting = left,
            Left::Over(left) => return left.end().await,
            Left::Http2(Resting { server, io, peers, place, .. }, first) => {
                return Box::pin(http2::serve(server, io, peers, place, first)).await;
            }
        }
        let mut first = [0; READ_BYTES_RESTING];
        match resting.read(&mut first).await {
            0 => return resting.end().await,
            bytes => input = first[..bytes].into(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Resting<S> {
    /// Waits for bytes; none at its end.
    async fn read(&mut self, first: &mut [u8]) -> usize {
        let mut read = pin!(self.io.read(first));
        let place = &self.place;
        poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(result.unwrap_or(0)),
            Poll::Pending => place.poll_fired(context).map(|()| 0),
        })
        .await
    }

    async fn end(mut self) {
        if self.peers.scheme == "https" {
            // An end that isn't told could be somebody else's doing (RFC 8446 §6.1).
            poll_once(pin!(self.io.shutdown())).await;
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Connection<S> {
    fn of(resting: Resting<S>, input: BytesMut) -> Self {
        let Resting { server, io, peers, place, has_served } = resting;
        Self {
            limits: server.limits.load_full(),
            server,
            io,
            peers,
            place,
            head: RequestHead::default(),
            input,
            output: Vec::new(),
            key: Vec::new(),
            id: None,
            trace: None,
            incoming: Pace::default(),
            outgoing: Pace::default(),
            line: None,
            watched: None,
            body_bytes: 0,
            has_served,
        }
    }

    /// Serves requests until none comes.
    async fn run(mut self) -> Left<S> {
        loop {
            match self.next_request().await {
                Ok(framing) => match self.exchange(framing).await {
                    Ok(true) => {}
                    Ok(false) | Err(_) => return Left::Over(self.into_resting()),
                },
                Err(End::Refused(error)) => {
                    self.refuse(error).await;
                    return Left::Over(self.into_resting());
                }
                Err(End::Closed) => return Left::Over(self.into_resting()),
                Err(End::Rests) => return Left::Rests(self.into_resting()),
                Err(End::Http2) => {
                    let first = std::mem::take(&mut self.input).freeze();
                    return Left::Http2(self.into_resting(), first);
                }
            }
        }
    }

    fn into_resting(self) -> Resting<S> {
        let Self { server, io, peers, place, has_served, .. } = self;
        Resting { server, io, peers, place, has_served }
    }

    /// Waits for a whole head.
    async fn next_request(&mut self) -> Result<Framing, End> {
        let limits = HeadLimits {
            head_bytes_max: self.limits.head_bytes_max,
            target_bytes_max: self.limits.target_bytes_max,
        };
        let (mut scanned, mut begun) = (0, false);
        loop {
            if !self.input.is_empty() {
                match read_head(&self.input, &mut scanned, &mut self.head, &limits) {
                    Ok(Some((bytes, framing))) => {
                        self.input.advance(bytes);
                        self.has_served = true;
                        self.place.set_idle(false);
                        return Ok(framing);
                    }
                    Ok(None) => {}
                    // Known by the version that HTTP/1 can't have, so it costs HTTP/1 nothing.
                    Err(HeadError::Version) if self.is_http2() => return Err(End::Http2),
                    Err(error) => return Err(End::Refused(error)),
                }
                if !begun {
                    begun = true;
                    self.expect_progress(self.limits.head_timeout);
                }
            }
            if self.input.is_empty() && self.server.is_closing() && !self.server.is_leaving() {
                return Err(End::Closed);
            }
            self.place.set_idle(self.input.is_empty());
            let room = match self.peers.scheme {
                "https" => READ_BYTES_TLS,
                _ => READ_BYTES,
            };
            self.read(room, self.input.is_empty()).await?;
        }
    }

    /// Whether the client begins as one does who knows that HTTP/2 is spoken here: with the
    /// preface of RFC 9113 §3.4, and nothing before it.
    fn is_http2(&self) -> bool {
        !self.has_served && self.input.starts_with(http2::PREFACE_START)
    }

    /// Reads what is there into `input`, about so much at a time; the end of the stream is an
    /// end, and so is a rest, where one is allowed.
    async fn read(&mut self, room: usize, may_rest: bool) -> Result<(), End> {
        if self.input.capacity() - self.input.len() < room / 4 {
            self.input.reserve(room);
        }
        let mut read = pin!(self.io.read_buf(&mut self.input));
        let place = &self.place;
        poll_fn(|context| match read.as_mut().poll(context) {
            Poll::Ready(Ok(bytes)) if bytes > 0 => Poll::Ready(Ok(())),
            Poll::Ready(_) => Poll::Ready(Err(End::Closed)),
            Poll::Pending => match place.poll_fired(context) {
                Poll::Ready(()) => Poll::Ready(Err(End::Closed)),
                Poll::Pending if may_rest && place.rests() => Poll::Ready(Err(End::Rests)),
                Poll::Pending => Poll::Pending,
            },
        })
        .await
    }

    fn expect_progress(&self, within: Duration) {
        let now = self.server.clock.now();
        self.place.set(now.ticks_ms + within.as_millis() as u64);
    }

    /// Answers one request; returns whether another may follow.
    async fn exchange(&mut self, framing: Framing) -> Result<bool, End> {
        let now = self.server.clock.now();
        (self.incoming, self.outgoing, self.body_bytes) = (Pace::default(), Pace::default(), 0);
        let mut persistence = Persistence {
            wanted: framing.persistent && !self.server.is_closing(),
            version: self.head.version,
            takes_trailers: self.head.fields.has_member(Name::Te, "trailers"),
            http3_port: self.peers.http3_port,
        };
        let has_body = framing.length != Length::None;
        let peers = self.peers.of_request(&self.server.proxies, &self.head.fields);
        let aside = self.server.set_aside(&mut self.head, peers);
        self.id = self.server.name_request(self.peers, &mut self.head.fields);
        self.trace = self.server.begin_trace(self.peers, peers, &self.head);
        self.line =
            self.server.has_log().then(|| Begun::of(&self.head, peers.peer.ip(), self.id, now));
        let limit = self.limits.body_bytes_max;
        let (server, head, key) = (&self.server, &mut self.head, &mut self.key);
        let turn = match (aside, framing.length) {
            (Some(reply), _) => Turn::Arrived(reply),
            (_, Length::Known(bytes)) if bytes > limit => Turn::Arrived(Reply::too_large(limit)),
            _ => pipeline::depart(server, head, has_body, now, key, peers),
        };
        match turn {
            Turn::Arrived(reply) if !has_body => {
                let is_head = self.head.method == Method::HEAD;
                let reply = if is_head { reply.without_body() } else { reply };
                let idle_ms = self.limits.idle_timeout.as_millis() as u64;
                self.place.set(now.ticks_ms + idle_ms);
                self.send_at_once(reply, persistence, now).await?;
                Ok(persistence.wanted)
            }
            Turn::Arrived(reply) => {
                let is_head = self.head.method == Method::HEAD;
                let reply = if is_head { reply.without_body() } else { reply };
                persistence.wanted = false;
                self.send_at_once(reply, persistence, now).await?;
                self.linger().await;
                Ok(false)
            }
            // Boxed, so that who rests, or is served from memory, doesn't bear its size.
            Turn::Onward(errand) => {
                self.watched = self.server.watch(&self.head, self.trace, now);
                let whole = Box::pin(self.set_out(errand, framing, peers, persistence)).await;
                if let Some(watched) = self.watched.take() {
                    watched.end(&self.server, self.body_bytes);
                }
                whole
            }
        }
    }

    /// Sends a reply that nobody waited for.
    async fn send_at_once(
        &mut self,
        reply: Reply,
        persistence: Persistence,
        now: Now,
    ) -> Result<(), End> {
        let outcome = Outcome::of(&reply);
        let sent = self.send(reply, None, persistence, now).await;
        self.server.observe(&self.head, self.trace, now, outcome, self.body_bytes);
        sent.map(drop)
    }

    /// Sends a request on the part of the road that waits, and its reply to the client.
    async fn set_out(
        &mut self,
        errand: Errand,
        framing: Framing,
        peers: Peers,
        persistence: Persistence,
    ) -> Result<bool, End> {
        self.place.clear();
        let (mut pump, upload) = upload::channel(framing.length, self.limits.body_bytes_max);
        let hints = errand.site.origin.sends_hints() && self.head.version == Version::Http11;
        let (early_sender, early) = hints.then(|| mpsc::channel(EARLY_MAX)).unzip();
        let journey = Journey::new(
            self.server.clone(),
            &errand,
            std::mem::take(&mut self.head),
            std::mem::take(&mut self.key),
            framing.length,
            upload.map(BodyExt::boxed_unsync),
            peers,
            early_sender,
            self.watched.as_ref().map(|watched| watched.taken_along()),
        );
        let is_head = *journey.method() == Method::HEAD;
        let continues = framing.expects_continue;
        let travel = Box::pin(pipeline::travel(journey, errand.hash, errand.task));
        let reply = self.accompany(travel, &mut pump, continues, early).await?;
        self.finish(reply, pump, persistence, is_head).await
    }

    /// Waits for the reply, while the body goes up and early hints come down.
    async fn accompany(
        &mut self,
        mut travel: Pin<Box<impl Future<Output = Reply>>>,
        pump: &mut Pump,
        mut expects_continue: bool,
        mut early: Option<mpsc::Receiver<ResponseHead>>,
    ) -> Result<Reply, End> {
        let watch = self.place.watch();
        let mut is_late = false;
        loop {
            if let Some(reply) = poll_once(travel.as_mut()).await {
                // Hints may have come together with the answer.
                while let Some(hints) = early.as_mut().and_then(|early| early.try_recv().ok()) {
                    self.relay(&hints).await?;
                }
                return Ok(reply);
            }
            if expects_continue && !pump.is_over() && pump.is_wanted() {
                expects_continue = false;
                self.output.clear();
                self.output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                self.write_out(&[]).await?;
            }
            let pumping = !pump.is_over() && pump.is_wanted();
            tokio::select! {
                biased;
                Some(hints) = next_hints(&mut early) => self.relay(&hints).await?,
                reply = &mut travel => return Ok(reply),
                // While the body comes the pump listens; a late client is told why.
                () = self.pump_once(pump), if pumping => is_late = watch.has_fired(),
                () = poll_fn(|context| watch.poll_fired(context)), if !pumping && !is_late => {
                    return Err(End::Closed);
                }
            }
        }
    }

    /// Sends an interim answer.
    async fn relay(&mut self, hints: &ResponseHead) -> Result<(), End> {
        self.output.clear();
        render::interim(&mut self.output, hints);
        self.write_out(&[]).await
    }

    /// One step of the request's body: a piece handed over, or more bytes read.
    async fn pump_once(&mut self, pump: &mut Pump) {
        match pump.next(&mut self.input) {
            Need::Nothing => {}
            Need::Room => pump.hand_over().await,
            Need::Bytes => {
                let limits = &self.limits;
                let began = self.server.clock.now();
                self.incoming.reach(pump.taken_bytes());
                let (within_ms, is_slow) =
                    self.incoming.allowance_ms(limits.slowest, limits.body_timeout);
                self.place.set(began.ticks_ms + within_ms);
                let read = self.read(READ_BYTES, false).await;
                self.place.clear();
                let waited_ms = self.server.clock.now().ticks_ms - began.ticks_ms;
                self.incoming.note(0, waited_ms);
                if read.is_err() && self.place.has_fired() {
                    self.server.counters.clients_slow.add(u64::from(is_slow));
                    let seconds = self.limits.body_timeout.as_secs();
                    pump.fail(BodyError::ClientIdle { seconds });
                } else if read.is_err() {
                    pump.fail(BodyError::Client("the connection closed".into()));
                }
            }
        }
    }

    /// Sends the reply of a journey and sees to what is left of the request's body.
    async fn finish(
        &mut self,
        reply: Reply,
        mut pump: Pump,
        mut persistence: Persistence,
        is_head: bool,
    ) -> Result<bool, End> {
        persistence.wanted &= pump.is_done() || (!pump.is_over() && pump.is_wanted());
        let now = self.server.clock.now();
        let pump = if pump.is_done() { None } else { Some(&mut pump) };
        let unread = pump.is_some();
        let reply = if is_head { reply.without_body() } else { reply };
        let whole = self.send(reply, pump, persistence, now).await?;
        self.expect_progress(self.limits.idle_timeout);
        if unread && !whole {
            self.linger().await;
            return Ok(false);
        }
        Ok(persistence.wanted && whole)
    }

    /// Writes a reply; returns whether the connection is still in step afterwards.
    async fn send(
        &mut self,
        reply: Reply,
        pump: Option<&mut Pump>,
        persistence: Persistence,
        now: Now,
    ) -> Result<bool, End> {
        self.server.note_answer(self.line.take(), &reply, now);
        self.output.clear();
        render::head(&mut self.output, &reply, persistence, now);
        if let Some(id) = self.id.take() {
            render::request_id(&mut self.output, &id);
        }
        if let Some(watched) = &mut self.watched {
            watched.note_reply(&reply, now);
        }
        if self.server.server_timing {
            let phases = self.watched.as_deref();
            let text = observer::server_timing(reply.verdict, phases, now);
            render::add_field(&mut self.output, observer::SERVER_TIMING, text.as_bytes());
        }
        match reply.payload {
            Payload::None => self.write_out(&[]).await?,
            Payload::Whole(bytes) => match files::open(&reply.head, &bytes) {
                Some(file) if pump.is_none() && self.has_socket() => {
                    return self.send_file(file, 0, file.length(), persistence).await;
                }
                _ => self.write_out(&bytes).await?,
            },
            Payload::Parts(parts) => {
                for part in parts {
                    self.write_out(&part).await?;
                    self.output.clear();
                }
            }
            Payload::Stream { body, length } => {
                return self.stream(body, length, pump, persistence).await;
            }
            Payload::File(stretch) => {
                return self.send_stretch(*stretch, pump, persistence).await;
            }
            // It is made a stream of before it comes here.
            Payload::Sliced(_) => return Err(End::Closed),
            Payload::Tunnel(tunnel) => {
                self.write_out(&[]).await?;
                self.output = Vec::new();
                // How long it is used afterwards is not how long the answer took.
                if let Some(watched) = self.watched.take() {
                    watched.end(&self.server, 0);
                }
                let early = std::mem::take(&mut self.input);
                tunnel::carry(&self.server, &self.place, &mut self.io, &early, *tunnel).await;
                return Err(End::Closed);
            }
        }
        Ok(pump.is_none_or(|pump| pump.is_done()))
    }

    /// Writes a body as it comes, in chunks where its length is not known.
    async fn stream(
        &mut self,
        mut body: wire::Body,
        length: Option<u64>,
        mut pump: Option<&mut Pump>,
        persistence: Persistence,
    ) -> Result<bool, End> {
        let chunked = length.is_none() && persistence.version == Version::Http11;
        let (mut left, mut trailers) = (length, None);
        loop {
            let frame = match poll_once(body.frame()).await {
                Some(frame) => frame,
                None => self.wait_for_frame(&mut body, pump.as_deref_mut()).await?,
            };
            match frame {
                None => break,
                Some(Err(_)) => return Err(End::Closed),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        if !self.write_piece(&data, chunked, &mut left).await? {
                            return Err(End::Closed);
                        }
                    }
                    Err(frame) => trailers = frame.into_trailers().ok(),
                },
            }
        }
        if chunked {
            let trailers = trailers.filter(|_| persistence.takes_trailers);
            render::last_chunk(&mut self.output, trailers.as_ref());
        }
        self.write_out(&[]).await?;
        let in_step = left.is_none_or(|left| left == 0) && (length.is_some() || chunked);
        Ok(in_step && pump.is_none_or(|pump| pump.is_done()))
    }

    /// The next piece of an answer that has none ready. What is in hand goes out before we
    /// wait, but not before the task that carries the body had its turn: head and body of a
    /// small page then leave in one call.
    async fn wait_for_frame(
        &mut self,
        body: &mut wire::Body,
        pump: Option<&mut Pump>,
    ) -> Result<Option<Result<http_body::Frame<Bytes>, BodyError>>, End> {
        if !self.output.is_empty() {
            tokio::task::yield_now().await;
            if let Some(frame) = poll_once(body.frame()).await {
                return Ok(frame);
            }
            self.write_out(&[]).await?;
            self.output.clear();
        }
        // From here the origin's time-outs watch; a deadline of an earlier write is over.
        self.place.clear();
        Ok(self.next_frame(body, pump).await)
    }

    /// Writes one piece behind what `output` holds; `false` when it is more than was promised.
    async fn write_piece(
        &mut self,
        data: &Bytes,
        chunked: bool,
        left: &mut Option<u64>,
    ) -> Result<bool, End> {
        if data.is_empty() {
            return Ok(true);
        }
        if let Some(left) = left {
            match left.checked_sub(data.len() as u64) {
                Some(rest) => *left = rest,
                None => return Ok(false),
            }
        }
        if chunked {
            render::chunk_size(&mut self.output, data.len());
        }
        self.write_out(data).await?;
        self.output.clear();
        if chunked {
            self.output.extend_from_slice(b"\r\n");
        }
        Ok(true)
    }

    /// The next piece of an answer, while the rest of the request's body goes up.
    async fn next_frame(
        &mut self,
        body: &mut wire::Body,
        mut pump: Option<&mut Pump>,
    ) -> Option<Result<http_body::Frame<Bytes>, BodyError>> {
        let watch = self.place.watch();
        let mut is_late = watch.has_fired();
        loop {
            match pump.as_deref_mut().filter(|pump| !pump.is_over() && pump.is_wanted()) {
                None => {
                    return tokio::select! {
                        biased;
                        frame = body.frame() => frame,
                        () = poll_fn(|context| watch.poll_fired(context)), if !is_late => {
                            Some(Err(BodyError::Ours("the connection was ended".into())))
                        }
                    };
                }
                Some(pump) => tokio::select! {
                    biased;
                    frame = body.frame() => return frame,
                    () = self.pump_once(pump) => is_late = watch.has_fired(),
                },
            }
        }
    }

    /// Writes `output`, then `body`, in as few system calls as the socket takes.
    async fn write_out(&mut self, body: &[u8]) -> Result<(), End> {
        let (mut sent, total) = (0, self.output.len() + body.len());
        while sent < total {
            let head_left = &self.output[sent.min(self.output.len())..];
            let body_left = &body[sent.saturating_sub(self.output.len())..];
            let io = &mut self.io;
            let mut patience = Patience::new(&self.server, &self.place, &mut self.outgoing);
            let written = poll_fn(|context| {
                let slices = [IoSlice::new(head_left), IoSlice::new(body_left)];
                let slices = match (head_left.is_empty(), body_left.is_empty()) {
                    (true, _) => &slices[1..],
                    (false, true) => &slices[..1],
                    (false, false) => &slices[..],
                };
                let written = match slices {
                    [one] => Pin::new(&mut *io).poll_write(context, one),
                    both => Pin::new(&mut *io).poll_write_vectored(context, both),
                };
                match written {
                    Poll::Ready(result) => Poll::Ready(result.ok()),
                    Poll::Pending => patience.poll_over(context).map(|()| None),
                }
            })
            .await;
            match written {
                Some(bytes) if bytes > 0 => {
                    patience.end(bytes);
                    let head_bytes = self.output.len();
                    let before = sent.saturating_sub(head_bytes);
                    sent += bytes;
                    self.body_bytes += (sent.saturating_sub(head_bytes) - before) as u64;
                }
                _ => return Err(End::Closed),
            }
        }
        self.flush().await
    }

    /// Sends what is kept back below: TLS encrypts ahead of a visitor who takes slowly.
    async fn flush(&mut self) -> Result<(), End> {
        let io = &mut self.io;
        let mut patience = Patience::new(&self.server, &self.place, &mut self.outgoing);
        let flushed = poll_fn(|context| match Pin::new(&mut *io).poll_flush(context) {
            Poll::Ready(flushed) => Poll::Ready(flushed.map_err(End::from)),
            Poll::Pending => patience.poll_over(context).map(|()| Err(End::Closed)),
        })
        .await;
        patience.end(0);
        flushed
    }

    /// Tells the client why its request can't be read, and closes.
    async fn refuse(&mut self, error: HeadError) {
        let now = self.server.clock.now();
        let persistence = Persistence { wanted: false, ..Persistence::default() };
        let reply = Reply::unreadable(error);
        // What is there of the head may be another request's.
        (self.head, self.trace) = (RequestHead::default(), None);
        if self.send_at_once(reply, persistence, now).await.is_ok() {
            self.linger().await;
        }
    }

    /// Closes our side and reads on for a moment: bytes that lie unread at a close
    /// would reset the connection and take the answer with them (RFC 9112 §9.6).
    async fn linger(&mut self) {
        if self.io.shutdown().await.is_err() {
            return;
        }
        self.expect_progress(LINGER);
        let mut discarded = self.input.len();
        while discarded < LINGER_BYTES_MAX {
            self.input.clear();
            if self.read(READ_BYTES, false).await.is_err() {
                return;
            }
            discarded += self.input.len();
        }
    }
}

/// How long a client is waited for that takes nothing at the moment.
struct Patience<'a> {
    server: &'a Server,
    place: &'a Place,
    pace: &'a mut Pace,
    since: Option<Now>,
    /// Whether it is because of its pace, if it ends.
    is_slow: bool,
}

impl<'a> Patience<'a> {
    fn new(server: &'a Server, place: &'a Place, pace: &'a mut Pace) -> Self {
        Self { server, place, pace, since: None, is_slow: false }
    }

    /// Ready when the client was waited for long enough; the first call begins that.
    fn poll_over(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.since.is_none() {
            let (now, limits) = (self.server.clock.now(), self.server.limits());
            let (within_ms, is_slow) = self.pace.allowance_ms(limits.slowest, limits.write_timeout);
            self.place.set(now.ticks_ms + within_ms);
            (self.since, self.is_slow) = (Some(now), is_slow);
        }
        let over = self.place.poll_fired(context);
        if over.is_ready() {
            self.server.counters.clients_slow.add(u64::from(self.is_slow));
        }
        over
    }

    /// The client took so many bytes.
    fn end(self, bytes: usize) {
        let waited =
            self.since.map_or(0, |since| self.server.clock.now().ticks_ms - since.ticks_ms);
        self.pace.note(bytes, waited);
    }
}

/// The next early hints, where any may come.
async fn next_hints(early: &mut Option<mpsc::Receiver<ResponseHead>>) -> Option<ResponseHead> {
    match early {
        Some(early) => early.recv().await,
        None => None,
    }
}

/// Polls once; `None` when it would have to wait.
pub(crate) async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
