//! A request's body on its way up a stream, in a task of its own: an answer may begin before
//! the body ends.
//!
//! What was sent is kept as long as it is little, so that a request which the server refuses
//! without having seen it can be sent again with its body.
//! Law: RFC 9113 §5.2 (no more than there is room for), §8.1 (an answer that doesn't wait).
//! Bound: [`KEPT_BYTES_MAX`], and one piece of the visitor's.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::{Reason, SendStream};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::task::JoinHandle;
use wire::{Body, BodyError};

use crate::http_origin::upload::Upload;

/// Of a body, what is kept to be sent again.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// The most that is asked of the stream's window at once.
const PIECE_BYTES: usize = 16 * 1024;

/// A body that is being sent; dropping it gives it up, and resets the stream.
pub(crate) struct Sending {
    task: JoinHandle<Remains>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sending {
    pub(super) fn start(upload: Upload, stream: SendStream<Bytes>) -> Self {
        Self { task: tokio::spawn(send(upload, stream)) }
    }

    /// The body as it was, after its stream has ended; none if too much of it is gone.
    pub(super) async fn reclaim(mut self) -> Option<Body> {
        (&mut self.task).await.ok()?.body()
    }
}

/// What is left of a body that was sent, or was to be.
struct Remains {
    /// None: it was too much to be kept.
    kept: Option<VecDeque<Bytes>>,
    kept_bytes: usize,
    rest: Upload,
}

impl Remains {
    fn keep(&mut self, bytes: &Bytes) {
        self.kept_bytes += bytes.len();
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.kept = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.push_back(bytes.clone());
        }
    }

    fn body(self) -> Option<Body> {
        let rest = self.rest.into_inner();
        Some(Rewound { again: self.kept?, rest }.boxed_unsync())
    }
}

/// Sends a body until it is over, or nobody wants it.
async fn send(upload: Upload, mut stream: SendStream<Bytes>) -> Remains {
    let kept = Some(VecDeque::new());
    let mut remains = Remains { kept, kept_bytes: 0, rest: upload };
    while let Some(frame) = next(&mut remains.rest, &mut stream).await {
        match frame {
            None => {
                // An error means that the stream is over: its reader learns why.
                let _ = stream.send_data(Bytes::new(), true);
                break;
            }
            Some(Err(_)) => {
                stream.send_reset(Reason::CANCEL);
                break;
            }
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => {
                    remains.keep(&bytes);
                    let is_last = remains.rest.is_end_stream();
                    if !send_piece(bytes, is_last, &mut stream).await || is_last {
                        break;
                    }
                }
                Err(frame) => {
                    remains.kept = None;
                    if let Ok(trailers) = frame.into_trailers() {
                        let _ = stream.send_trailers(trailers);
                    }
                    break;
                }
            },
        }
    }
    remains
}

type Piece = Option<Result<Frame<Bytes>, BodyError>>;

/// What the visitor sends next; none: the stream is over.
async fn next(upload: &mut Upload, stream: &mut SendStream<Bytes>) -> Option<Piece> {
    poll_fn(|context| {
        if stream.poll_reset(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut *upload).poll_frame(context).map(Some)
    })
    .await
}

/// Sends a piece as there is room for it; false: the stream is over.
async fn send_piece(mut bytes: Bytes, is_last: bool, stream: &mut SendStream<Bytes>) -> bool {
    if bytes.is_empty() {
        return !is_last || stream.send_data(bytes, true).is_ok();
    }
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len().min(PIECE_BYTES));
        let room = match stream.capacity() {
            0 => poll_fn(|context| room(stream, context)).await,
            room => Some(room),
        };
        let Some(room) = room else { return false };
        let piece = bytes.split_to(room.min(bytes.len()));
        let ends = is_last && bytes.is_empty();
        if stream.send_data(piece, ends).is_err() {
            return false;
        }
    }
    true
}

fn room(stream: &mut SendStream<Bytes>, context: &mut Context<'_>) -> Poll<Option<usize>> {
    if stream.poll_reset(context).is_ready() {
        return Poll::Ready(None);
    }
    stream.poll_capacity(context).map(|room| room.and_then(Result::ok))
}

/// A body from its beginning, after a part of it had been taken.
struct Rewound {
    again: VecDeque<Bytes>,
    rest: Body,
}

impl http_body::Body for Rewound {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Piece> {
        let this = self.get_mut();
        match this.again.pop_front() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Pin::new(&mut this.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.again.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
