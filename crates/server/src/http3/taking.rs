//! What a request's stream brings: its head, then its body piece by piece.
//!
//! Law: RFC 9114 §4.1, §7. Only what was read lets the client send more, so an origin that takes
//! nothing holds its client back.
//! Invariants: 1. of a head no more is held than a head may have; of all else nothing. 2. what
//! ends within a frame is never taken for whole.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, VarInt};
use wire::h1::HeadError;
use wire::h3::{Code, Frames, Step, frame};

use crate::http3::Hall;
use crate::streams::Incoming;
use crate::streams::allowance::Excess;

/// So much is taken from the stream at a time.
const CHUNK_BYTES_MAX: usize = 64 << 10;

/// Why no request comes of a stream.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Its client is gone, or doesn't want it any longer, or the connection has ended.
    Gone,
    /// It ends so.
    Stream(Code),
    /// Its client is told why.
    Head(HeadError),
}

/// Where in its request a stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    /// Between the frames of the body, or in one that is none of it.
    Body,
    /// In a frame of the body.
    Data,
    /// Nothing is read of them.
    Trailers,
    Over,
}

/// The end of a request's stream that brings it.
pub(crate) struct Taking {
    recv: RecvStream,
    hall: Arc<Hall>,
    /// What has come and was not looked at.
    chunk: Bytes,
    frames: Frames,
    part: Part,
    /// The beginning of the body, if it was looked at before it was wanted.
    first: Option<Bytes>,
}

impl Taking {
    pub(crate) fn new(recv: RecvStream, hall: Arc<Hall>) -> Self {
        let (chunk, frames) = (Bytes::new(), Frames::default());
        Self { recv, hall, chunk, frames, part: Part::Head, first: None }
    }

    /// The block of the request's fields, no longer than so many bytes.
    pub(crate) async fn head(&mut self, bytes_max: usize) -> Result<Bytes, Fault> {
        let (mut block, mut is_head) = (Bytes::new(), false);
        loop {
            let step = poll_fn(|context| self.poll_step(context)).await?;
            match step {
                None => {
                    self.part = Part::Over;
                    return Err(Fault::Stream(Code::RequestIncomplete));
                }
                Some(Step::Begins(frame::HEADERS, length)) => {
                    if length > bytes_max as u64 {
                        return Err(Fault::Head(HeadError::TooLarge));
                    }
                    is_head = true;
                }
                Some(Step::Begins(frame::DATA, _)) => return Err(self.fail(Code::FrameUnexpected)),
                Some(Step::Begins(kind, _)) => self.pass_over(kind)?,
                Some(Step::Payload(piece)) if is_head => {
                    block = if block.is_empty() { piece } else { [block, piece].concat().into() };
                }
                Some(Step::Payload(_)) => {}
                Some(Step::Ends) if is_head => {
                    self.part = Part::Body;
                    return Ok(block);
                }
                Some(Step::Ends) => {}
            }
        }
    }

    /// Waits for the body's first bytes; false if there is none.
    pub(crate) async fn has_more(&mut self) -> Result<bool, Fault> {
        if self.first.is_some() {
            return Ok(true);
        }
        self.first = poll_fn(|context| self.poll_body(context)).await?;
        Ok(self.first.is_some())
    }

    /// The next piece of the body, never an empty one; none at its end.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Fault>> {
        while self.part != Part::Over {
            match (ready!(self.poll_step(context))?, self.part) {
                (None, _) => self.part = Part::Over,
                (Some(Step::Begins(frame::DATA, length)), Part::Body) => {
                    if length == 0 {
                        self.hall.note(Excess::Idle);
                    }
                    self.part = Part::Data;
                }
                (Some(Step::Begins(frame::HEADERS, _)), Part::Body) => self.part = Part::Trailers,
                (Some(Step::Begins(frame::DATA | frame::HEADERS, _)), _) => {
                    return Poll::Ready(Err(self.fail(Code::FrameUnexpected)));
                }
                (Some(Step::Begins(kind, _)), _) => self.pass_over(kind)?,
                (Some(Step::Payload(piece)), Part::Data) => return Poll::Ready(Ok(Some(piece))),
                (Some(Step::Ends), Part::Data) => self.part = Part::Body,
                (Some(Step::Payload(_) | Step::Ends), _) => {}
            }
        }
        Poll::Ready(Ok(None))
    }

    /// The next step of the stream's frames; none at its end.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Step>, Fault>> {
        loop {
            if let Some(step) = self.frames.next(&mut self.chunk) {
                return Poll::Ready(Ok(Some(step)));
            }
            let read = ready!(pin!(self.recv.read_chunk(CHUNK_BYTES_MAX, true)).poll(context));
            match read {
                Ok(Some(chunk)) => self.chunk = chunk.bytes,
                Ok(None) if self.frames.is_midway() => {
                    return Poll::Ready(Err(self.fail(Code::Frame)));
                }
                Ok(None) => return Poll::Ready(Ok(None)),
                Err(error) => {
                    self.part = Part::Over;
                    if matches!(error, ReadError::Reset(_)) {
                        self.hall.note(Excess::Resets);
                    }
                    return Poll::Ready(Err(Fault::Gone));
                }
            }
        }
    }

    /// A frame that is no part of a request.
    fn pass_over(&mut self, kind: u64) -> Result<(), Fault> {
        let is_misplaced = frame::is_of_http2(kind)
            || matches!(
                kind,
                frame::CANCEL_PUSH
                    | frame::SETTINGS
                    | frame::PUSH_PROMISE
                    | frame::GOAWAY
                    | frame::MAX_PUSH_ID
            );
        if is_misplaced {
            return Err(self.fail(Code::FrameUnexpected));
        }
        self.hall.note(Excess::Idle);
        Ok(())
    }

    /// Ends the connection.
    fn fail(&mut self, code: Code) -> Fault {
        self.part = Part::Over;
        self.hall.fail(code);
        Fault::Gone
    }
}

impl Incoming for Taking {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let piece = ready!(self.poll_body(context));
        Poll::Ready(piece.map_err(|_| "the stream was reset".to_owned()).transpose())
    }

    fn give_back(&mut self, _bytes: usize) {
        // What was read lets the client send more.
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if self.part != Part::Over {
            // The answer needs nothing more of it (RFC 9114 §4.1). It fails if all has come.
            let _ = self.recv.stop(VarInt::from_u32(Code::NoError.number()));
        }
    }
}
