//! A body that is changed while it comes: something put into it, parts of it filled.
//!
//! What is at hand goes out at once; what a [`Rewrite`] holds back goes out at the end, before
//! the trailers. A body that fails fails here too.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use origin::Answer;
use wire::{Body, BodyError, Name};

/// What is done to a body.
pub(crate) trait Rewrite: Send + 'static {
    /// Takes a piece and hands what may go on to `out`, in order.
    fn write(&mut self, piece: Bytes, out: impl FnMut(Bytes));

    /// The body is whole: hands out what was held back.
    fn finish(&mut self, out: impl FnMut(Bytes));

    /// Whether the rest passes as it is.
    fn is_done(&self) -> bool {
        false
    }
}

/// Has an answer's body changed while it comes; nobody knows its length any more.
pub(crate) fn rewrite(answer: &mut Answer, rewrite: impl Rewrite + Unpin) {
    answer.head.fields.remove(Name::ContentLength);
    // An answer to HEAD has no bytes still.
    answer.length = answer.length.filter(|&bytes| bytes == 0);
    let body = std::mem::replace(&mut answer.body, wire::body::empty());
    let rewritten = Rewritten { body, rewrite, ready: Vec::new(), last: None, is_over: false };
    answer.body = rewritten.boxed_unsync();
}

struct Rewritten<R> {
    body: Body,
    rewrite: R,
    /// What goes out next, the last of it first.
    ready: Vec<Bytes>,
    /// Trailers, behind all else.
    last: Option<Frame<Bytes>>,
    is_over: bool,
}

impl<R: Rewrite + Unpin> http_body::Body for Rewritten<R> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            if let Some(piece) = this.ready.pop() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if this.is_over {
                return Poll::Ready(this.last.take().map(Ok));
            }
            let ready = &mut this.ready;
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => this.rewrite.write(piece, |piece| ready.push(piece)),
                    Err(trailers) => (this.is_over, this.last) = (true, Some(trailers)),
                },
                None => this.is_over = true,
            }
            if this.is_over {
                this.rewrite.finish(|piece| ready.push(piece));
            }
            ready.reverse();
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_empty()
            && self.last.is_none()
            && (self.is_over || (self.rewrite.is_done() && self.body.is_end_stream()))
    }
}
