//! An answer's body as its stream brings it, no faster than it is read.
//!
//! Law: RFC 9113 §5.2 (flow control), §8.1.1 (a body that isn't as long as its head says).
//! Invariant: an end that the server didn't mean as one is an error, whatever it is called.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Frame, SizeHint};

use crate::http_origin::explain;

/// The body.
pub(crate) struct Streamed {
    stream: RecvStream,
    /// Bytes that are still to come, where that is known.
    left: Option<u64>,
    is_at_trailers: bool,
}

impl Streamed {
    /// The body behind a head; `length` is what has to come, if the head tells.
    pub(super) fn new(stream: RecvStream, length: Option<u64>) -> Self {
        let left = if stream.is_end_stream() { Some(0) } else { length };
        Self { stream, left, is_at_trailers: false }
    }

    /// Takes a piece, and lets the server send as much more.
    fn take(&mut self, bytes: Bytes) -> Result<Frame<Bytes>, String> {
        let length = bytes.len() as u64;
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(length).ok_or_else(|| {
                "more came than the length in its head, or a body where none may be".to_owned()
            })?;
        }
        let released = self.stream.flow_control().release_capacity(bytes.len());
        released.map_err(|error| explain(&error))?;
        Ok(Frame::data(bytes))
    }
}

impl http_body::Body for Streamed {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let this = self.get_mut();
        while !this.is_at_trailers {
            match ready!(this.stream.poll_data(context)) {
                Some(Ok(bytes)) if bytes.is_empty() => {}
                Some(Ok(bytes)) => return Poll::Ready(Some(this.take(bytes))),
                Some(Err(error)) => return Poll::Ready(Some(Err(explain(&error)))),
                None => this.is_at_trailers = true,
            }
        }
        let trailers = ready!(this.stream.poll_trailers(context));
        let frame = trailers.map(|trailers| trailers.map(Frame::trailers));
        Poll::Ready(frame.map_err(|error| explain(&error)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
