//! A body that is coded while it comes.
//!
//! What the origin has sent is on its way to the visitor before the origin is waited for: then,
//! and only then, the coder is flushed, so that a page that is sent bit by bit is seen bit by
//! bit, and one that comes at once is coded as one.
//! Invariant: a body that fails fails here too, without the end that would make it look whole.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::Frame;
use http_body_util::BodyExt;
use store::Reservation;
use tokio::sync::OwnedSemaphorePermit;
use transform::Encoder;
use wire::{Body, BodyError, Coding};

use crate::Server;
use crate::page::Page;

/// What is coded before the thread may do something else.
const STEP_BYTES: usize = 16 << 10;

/// Less is sent only when nothing more is at hand.
const FRAME_BYTES_MIN: usize = 4 << 10;

/// A body in a coding, if there is a place and room for one more; else as it is.
pub(super) fn encoded(server: &Arc<Server>, coding: Coding, body: Body) -> Result<Body, Body> {
    let place = server.press.streams.clone().try_acquire_owned().ok();
    let room = place.and_then(|place| {
        Some((place, server.store.reserve(transform::stream_bytes(coding)).ok()?))
    });
    let Some((room, encoder)) = room.zip(Encoder::new(coding).ok()) else {
        server.counters.codings_put_off.bump();
        return Err(body);
    };
    let coded = CodedBody {
        body,
        encoder: Some(encoder),
        piece: Bytes::new(),
        has_more: false,
        last: None,
        coding,
        server: server.clone(),
        _room: room,
    };
    Ok(coded.boxed_unsync())
}

struct CodedBody {
    body: Body,
    /// None behind the end.
    encoder: Option<Encoder>,
    /// What came and was not coded yet.
    piece: Bytes,
    /// Whether the coder holds something that was not sent.
    has_more: bool,
    /// Trailers, to be sent behind the coder's end.
    last: Option<Frame<Bytes>>,
    coding: Coding,
    server: Arc<Server>,
    _room: (OwnedSemaphorePermit, Reservation<Page>),
}

type Outcome = Option<Result<Frame<Bytes>, BodyError>>;

impl CodedBody {
    /// Codes a step of what is here.
    fn step(&mut self) -> Outcome {
        let encoder = self.encoder.as_mut()?;
        let step = self.piece.split_to(self.piece.len().min(STEP_BYTES));
        self.server.counters.codings[self.coding.index()].before_bytes.add(step.len() as u64);
        if encoder.write(&step).is_err() {
            return Some(Err(self.broken()));
        }
        self.has_more = true;
        let is_much = encoder.ready_bytes() >= FRAME_BYTES_MIN;
        if is_much { self.ready() } else { None }
    }

    /// Makes all that was coded so far ready.
    fn flush(&mut self) -> Outcome {
        let encoder = self.encoder.as_mut().filter(|_| self.has_more)?;
        self.has_more = false;
        match encoder.flush() {
            Ok(()) => self.ready(),
            Err(_) => Some(Err(self.broken())),
        }
    }

    fn ready(&mut self) -> Outcome {
        let bytes = self.encoder.as_mut()?.take();
        (!bytes.is_empty()).then(|| Ok(self.counted(bytes)))
    }

    fn finish(&mut self) -> Outcome {
        match self.encoder.take()?.finish() {
            Ok(bytes) => Some(Ok(self.counted(bytes))),
            Err(_) => Some(Err(self.broken())),
        }
    }

    fn counted(&self, bytes: Vec<u8>) -> Frame<Bytes> {
        let counts = &self.server.counters.codings[self.coding.index()];
        counts.after_bytes.add(bytes.len() as u64);
        Frame::data(bytes.into())
    }

    fn broken(&mut self) -> BodyError {
        self.encoder = None;
        BodyError::Ours("there is no memory to code an answer".into())
    }
}

impl http_body::Body for CodedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.encoder.is_none() {
            return Poll::Ready(this.last.take().map(Ok));
        }
        loop {
            if this.piece.has_remaining() {
                if let Some(frame) = this.step() {
                    return Poll::Ready(Some(frame));
                }
                if this.piece.has_remaining() {
                    // Others want to be served as well.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Pending => {
                    return this.flush().map_or(Poll::Pending, |frame| Poll::Ready(Some(frame)));
                }
                Poll::Ready(None) => return Poll::Ready(this.finish()),
                Poll::Ready(Some(Err(error))) => {
                    this.encoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => this.piece = piece,
                    Err(trailers) => {
                        this.last = Some(trailers);
                        return Poll::Ready(this.finish());
                    }
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.encoder.is_none() && self.last.is_none()
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
