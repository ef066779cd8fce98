//! A request's body on its way from a stream to the origin.
//!
//! The origin takes it piece by piece, and only what was taken lets the client send more: a
//! slow origin slows its own client down, and no more is held than the stream's window.
//! Law: RFC 9113 §5.2; RFC 9114 §4.1.2. Trailers of requests end here, as over HTTP/1.1.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep, timeout};
use wire::BodyError;
use wire::h1::Length;

use crate::config::Limits;
use crate::connection::{LINGER, LINGER_BYTES_MAX};
use crate::pace::{Pace, Slowest};
use crate::streams::Incoming;

/// A body that yields what a stream brings.
pub(crate) struct Upload<I: Incoming> {
    /// Always there until this is dropped.
    incoming: Option<I>,
    /// Who takes what the origin left.
    leavings: Option<oneshot::Sender<I>>,
    /// Bytes that the origin has, and that the client may not send anew yet.
    held: usize,
    taken_bytes: u64,
    limit_bytes: u64,
    left: Option<u64>,
    patience: Duration,
    slowest: Slowest,
    pace: Pace,
    /// Since when the client is waited for, if it is.
    waits_since: Option<Instant>,
    /// Runs while the client is waited for.
    silence: Option<Pin<Box<Sleep>>>,
    /// Told that the body is wanted, once it has to be waited for.
    wanted: Option<oneshot::Sender<()>>,
    is_over: bool,
}

impl<I: Incoming> Upload<I> {
    /// The body of a request of this length, within these limits. `wanted` is told if somebody
    /// waits for it; what is left of it in the end goes to whom the receiver belongs that comes
    /// with it.
    pub(crate) fn new(
        incoming: I,
        length: Length,
        limits: &Limits,
        wanted: Option<oneshot::Sender<()>>,
    ) -> (Self, oneshot::Receiver<I>) {
        let (patience, slowest) = (limits.body_timeout, limits.slowest);
        let limit_bytes = limits.body_bytes_max;
        let left = match length {
            Length::None => Some(0),
            Length::Known(bytes) => Some(bytes),
            Length::Chunked => None,
        };
        let (leavings, left_over) = oneshot::channel();
        let (incoming, leavings) = (Some(incoming), Some(leavings));
        let (held, taken_bytes, silence, is_over) = (0, 0, None, false);
        let upload = Self {
            incoming,
            leavings,
            held,
            taken_bytes,
            limit_bytes,
            left,
            patience,
            slowest,
            pace: Pace::default(),
            waits_since: None,
            silence,
            wanted,
            is_over,
        };
        (upload, left_over)
    }

    /// Lets the client send as much as the origin has taken.
    fn release(&mut self) {
        if let Some(incoming) = &mut self.incoming {
            incoming.give_back(std::mem::take(&mut self.held));
        }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let silence = self.silence.get_or_insert_with(|| Box::pin(sleep(Duration::MAX)));
        if self.waits_since.is_none() {
            let now = Instant::now();
            self.pace.reach(self.taken_bytes);
            let (within_ms, _) = self.pace.allowance_ms(self.slowest, self.patience);
            silence.as_mut().reset(now + Duration::from_millis(within_ms));
            self.waits_since = Some(now);
        }
        silence.as_mut().poll(context)
    }

    fn take(&mut self, data: Bytes) -> Result<Frame<Bytes>, BodyError> {
        self.held = data.len();
        self.taken_bytes += data.len() as u64;
        if self.taken_bytes > self.limit_bytes {
            return Err(BodyError::TooLarge { limit: self.limit_bytes });
        }
        if let Some(left) = &mut self.left {
            let over = || BodyError::Client("it is longer than announced".into());
            *left = left.checked_sub(data.len() as u64).ok_or_else(over)?;
        }
        Ok(Frame::data(data))
    }
}

impl<I: Incoming> Drop for Upload<I> {
    fn drop(&mut self) {
        self.release();
        if let (Some(incoming), Some(leavings)) = (self.incoming.take(), self.leavings.take()) {
            // Where nobody waits for it its stream is reset.
            let _ = leavings.send(incoming);
        }
    }
}

/// Reads on for a moment after an answer that did not wait for its request's body: some clients
/// take the answer for broken if what they still send is met by a reset.
pub(crate) async fn drain<I: Incoming>(mut incoming: I) {
    let drained = async {
        let mut left = LINGER_BYTES_MAX;
        while let Some(Ok(data)) = poll_fn(|context| incoming.poll_data(context)).await {
            incoming.give_back(data.len());
            match left.checked_sub(data.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Who is slower than that is reset.
    let _ = timeout(LINGER, drained).await;
}

impl<I: Incoming> http_body::Body for Upload<I> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let upload = &mut *self;
        if upload.is_over {
            return Poll::Ready(None);
        }
        upload.release();
        let Some(incoming) = &mut upload.incoming else { return Poll::Ready(None) };
        let next = match incoming.poll_data(context) {
            Poll::Ready(next) => next,
            Poll::Pending => {
                if let Some(wanted) = upload.wanted.take() {
                    // Nobody listens any more if the answer is on its way already.
                    let _ = wanted.send(());
                }
                if upload.poll_silence(context).is_pending() {
                    return Poll::Pending;
                }
                upload.is_over = true;
                let seconds = upload.patience.as_secs();
                return Poll::Ready(Some(Err(BodyError::ClientIdle { seconds })));
            }
        };
        if let Some(since) = upload.waits_since.take() {
            upload.pace.note(0, since.elapsed().as_millis() as u64);
        }
        let frame = match next {
            Some(Ok(data)) => Some(upload.take(data)),
            Some(Err(why)) => Some(Err(BodyError::Client(why))),
            None if upload.left.is_some_and(|left| left > 0) => {
                Some(Err(BodyError::Client("it is shorter than announced".into())))
            }
            None => None,
        };
        upload.is_over = !matches!(frame, Some(Ok(_)));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
