//! One HTTP/2 connection: many requests at once, each on the same road as over HTTP/1.1.
//!
//! ```text
//! socket ─ frames ─ head ─┬─ page at hand: its frames are added to what is to be sent
//!                         └─ must wait: a future of this task, until its answer is sent
//!        ─ all that was added, in one write
//! ```
//!
//! Frames and fields are `wire::h2`'s and `wire::hpack`'s; what a request is and what it may
//! cost is decided in [`crate::streams`]. [`hall`] is what streams share, [`stream`] their two
//! ends, [`inbound`] what each frame means, [`output`] what is to be sent. Why it is so: `docs/decisions/http2.md`.
//! Law: RFC 9113 §3.4, §5.1, §5.4, §6.8, §10.5.
//! Invariants: 1. a connection never has more requests under way than it may have streams,
//! however many of them its client resets: what was asked of an origin goes on until it
//! answers. 2. whoever sends frames that ask for nothing is shown out. 3. a block of fields is
//! read to its end whatever becomes of its stream, or later blocks could not be.

mod hall;
mod inbound;
mod output;
mod state;
mod stream;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base::Now;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::timeout;
use wire::h2::{self, Code, Fault, Reader};
use wire::hpack::Decoder;

use crate::http2::hall::Hall;
use crate::http2::output::Output;
use crate::journey::Peers;
use crate::streams::allowance::Allowance;
use crate::streams::{Answer, Reception, Scratch};
use crate::watch::Place;
use crate::{Limits, Server};

/// What a client says first. HTTP/1.1 has no such method, so nobody else begins like that.
pub(crate) const PREFACE_START: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

/// So much is read at a time: some hundred requests.
const READ_BYTES: usize = 16 << 10;
/// A block of fields that is not coded may be as long as they are; one that is longer than
/// twice what they may be is not gathered.
const BLOCK_HEADS_MAX: usize = 2;
/// Each so many bytes that a client takes let it send one more frame: its window is opened by
/// frames, while answers to PING and SETTINGS are too short to pay for the next.
const BYTES_A_FRAME: usize = 64;
/// Malformed streams of one connection that are answered by resetting them.
const MALFORMED_MAX: usize = 256;
/// How long the last word to a client may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// What is asked to be said again, so that it is known which requests came before it was read
/// that no more should.
const GOODBYE: [u8; 8] = *b"farewell";
/// The last stream that there can be.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// Serves a connection on which HTTP/2 is spoken from its first byte on: known from what the
/// client chose (ALPN), or from `first`, which was read already.
pub(crate) async fn serve<S>(server: Arc<Server>, io: S, peers: Peers, place: Place, first: Bytes)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let now = server.clock.now();
    let limits = server.limits.load_full();
    place.set(now.ticks_ms + limits.head_timeout.as_millis() as u64);
    let connection = Connection {
        hall: Hall::new(server.clone()),
        reception: Reception::new(server, peers),
        io,
        place,
        input: BytesMut::from(&first[..]),
        reader: Reader::new(BLOCK_HEADS_MAX * limits.head_bytes_max),
        decoder: Decoder::default(),
        output: Output::default(),
        answers: FuturesUnordered::new(),
        scratch: Scratch::default(),
        block: Vec::new(),
        resets: Allowance::new(limits.resets_max, now.ticks_ms),
        idle: Allowance::new(limits.idle_frames_max, now.ticks_ms),
        malformed: 0,
        last_stream: 0,
        phase: Phase::Begun,
        parting: Parting::Not,
        is_stuck: false,
        limits,
    };
    connection.run().await;
}

struct Connection<S> {
    reception: Reception,
    /// As they were when this turn began.
    limits: Arc<Limits>,
    hall: Arc<Hall>,
    io: S,
    place: Place,
    /// What was read and not looked at: nothing, unless so much is to be sent that it waits.
    input: BytesMut,
    reader: Reader,
    decoder: Decoder,
    /// What is being sent.
    output: Output,
    /// Requests under way, from their heads to the last bytes of their answers.
    answers: FuturesUnordered<Answer>,
    scratch: Scratch,
    /// An answer's head while it is written.
    block: Vec<u8>,
    resets: Allowance,
    idle: Allowance,
    malformed: usize,
    /// The last stream that was begun.
    last_stream: u32,
    phase: Phase,
    parting: Parting,
    /// Whether the client does not take what was written.
    is_stuck: bool,
}

/// What a connection's deadline is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first request.
    Begun,
    /// The next request.
    Idle,
    /// The rest of a frame or a head.
    Head,
    /// Bytes that the client doesn't take.
    Flushing,
    /// Nothing of ours: origins have their own time-outs, and so has each stream.
    Busy,
}

/// How far a connection is on its way to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parting {
    Not,
    /// The client was asked to send no more requests.
    Asked,
    /// It was told which was the last, or has said itself that it was.
    Agreed,
}

/// Why a connection is over.
enum End {
    /// It is closed.
    Closed,
    /// Both sides have said all.
    Done,
    /// It is not wanted any longer: idle or late.
    Late,
    /// Its client does not keep to the law, or sends too much that asks for nothing.
    Fault(Code),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        // A visitor who went away is no event.
        Self::Closed
    }
}

impl From<Fault> for End {
    fn from(Fault(code): Fault) -> Self {
        Self::Fault(code)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(mut self) {
        match poll_fn(|context| self.turn(context)).await {
            End::Closed => {}
            End::Done => self.leave(None).await,
            End::Late => self.leave(Some(Code::NoError)).await,
            End::Fault(code) => {
                if code == Code::EnhanceYourCalm {
                    self.reception.server.counters.connections_calmed.bump();
                }
                self.leave(Some(code)).await;
            }
        }
        self.hall.end();
        let Self { io, place, mut answers, .. } = self;
        drop(io);
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

    /// Does all that can be done now. What is to be sent is gathered while frames are read.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<End> {
        let mut now = None;
        self.hall.begin_turn(context.waker());
        self.limits = self.reception.server.limits.load_full();
        if self.parting == Parting::Not && self.reception.server.is_closing() {
            self.parting = Parting::Asked;
            self.hall.say(|text| {
                h2::push_goaway(text, LAST_STREAM, Code::NoError);
                h2::push_ping(text, false, GOODBYE);
            });
        }
        loop {
            while let Poll::Ready(Some(())) = self.answers.poll_next_unpin(context) {
                now.get_or_insert_with(|| self.reception.server.clock.now());
            }
            match self.advance(context, &mut now) {
                Ok(true) => {}
                Ok(false) if self.hall.end_turn() => break,
                // More came to be sent, unless what is being sent has to leave first.
                Ok(false) if self.is_stuck => break,
                Ok(false) => {}
                Err(end) => return Poll::Ready(end),
            }
        }
        self.set_deadline(now);
        if self.place.rests() {
            self.rest();
        }
        self.place.poll_fired(context).map(|()| End::Late)
    }

    /// Sends what is to be sent, and reads what has come; whether anything had.
    fn advance(&mut self, context: &mut Context<'_>, now: &mut Option<Now>) -> Result<bool, End> {
        self.send(context)?;
        let has_output = self.is_stuck || self.hall.has_output();
        if self.parting == Parting::Agreed && self.answers.is_empty() && !has_output {
            return Err(End::Done);
        }
        if self.hall.is_full() {
            return Ok(false);
        }
        if self.input.is_empty() {
            match self.poll_read(context) {
                Poll::Pending => return Ok(false),
                Poll::Ready(0) => return Err(End::Closed),
                Poll::Ready(_) => {}
            }
        }
        self.take_input(now)?;
        Ok(true)
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        self.input.reserve(READ_BYTES);
        let read = ready!(pin!(self.io.read_buf(&mut self.input)).poll(context));
        Poll::Ready(read.unwrap_or(0))
    }

    /// Sends until there is nothing more, or the client takes nothing more.
    fn send(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let mut has_sent = self.is_stuck;
        while !self.output.is_empty() || self.hall.take_output(&mut self.output) {
            match self.output.poll_send(&mut self.io, context)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(bytes) => {
                    (has_sent, self.is_stuck) = (true, false);
                    self.idle.give((bytes / BYTES_A_FRAME) as u32);
                    self.hall.sent(bytes, &mut self.output.done);
                }
                Poll::Pending => {
                    self.note_stuck();
                    return Ok(());
                }
            }
        }
        // TLS may hold back what it has taken.
        match has_sent.then(|| Pin::new(&mut self.io).poll_flush(context)) {
            Some(Poll::Ready(flushed)) => {
                self.is_stuck = false;
                flushed
            }
            Some(Poll::Pending) => {
                self.note_stuck();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn note_stuck(&mut self) {
        if !std::mem::replace(&mut self.is_stuck, true) {
            let limit_ms = self.limits.write_timeout.as_millis() as u64;
            self.place.set(self.reception.server.clock.now().ticks_ms + limit_ms);
        }
    }

    /// Looks at what was read, frame by frame.
    fn take_input(&mut self, now: &mut Option<Now>) -> Result<(), End> {
        let mut input = std::mem::take(&mut self.input);
        // Frames lie in the reader while they are looked at.
        let mut reader = std::mem::take(&mut self.reader);
        let mut rest = &input[..];
        let (mut taken, had_preface) = (Ok(()), reader.has_preface());
        while taken.is_ok() && !self.hall.is_full() {
            match reader.next(&mut rest) {
                Ok(Some(frame)) => taken = self.take(frame, now),
                Ok(None) => break,
                Err(fault) => taken = Err(fault.into()),
            }
        }
        if !had_preface && reader.has_preface() {
            self.reception.server.counters.connections_http2.bump();
        }
        let left = rest.len();
        input.advance(input.len() - left);
        (self.input, self.reader) = (input, reader);
        taken
    }

    /// Sees to it that the connection ends when its client is silent. `now`: when a request
    /// came or an answer was finished, if any was in this turn.
    fn set_deadline(&mut self, now: Option<Now>) {
        let has_answers = !self.answers.is_empty();
        let is_midway = self.reader.is_midway();
        self.place.set_idle(!has_answers && !is_midway && !self.is_stuck);
        if self.is_stuck {
            // It was set when the client stopped taking anything.
            self.phase = Phase::Flushing;
            return;
        }
        let (phase, within) = match (has_answers, is_midway) {
            (true, _) => (Phase::Busy, None),
            (_, true) => (Phase::Head, Some(self.limits.head_timeout)),
            _ if self.phase == Phase::Begun && now.is_none() => return,
            _ => (Phase::Idle, Some(self.limits.idle_timeout)),
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

    /// Holds no more than one needs that has been silent for a while.
    fn rest(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        if self.output.is_empty() {
            self.output = Output::default();
        }
        (self.scratch, self.block) = (Scratch::default(), Vec::new());
        self.reader.rest();
        self.decoder.rest();
        self.hall.rest();
    }

    /// Says that nothing more will be answered, and why, and ends the stream of bytes.
    async fn leave(&mut self, code: Option<Code>) {
        if let Some(code) = code {
            self.hall.say(|text| h2::push_goaway(text, self.last_stream, code));
        }
        let said = poll_fn(|context| {
            if self.send(context).is_err() {
                return Poll::Ready(());
            }
            match self.is_stuck {
                true => Poll::Pending,
                false => Pin::new(&mut self.io).poll_shutdown(context).map(drop),
            }
        });
        // A client that doesn't take it has heard enough.
        let _ = timeout(FAREWELL, said).await;
    }
}
