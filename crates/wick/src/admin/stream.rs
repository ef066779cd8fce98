//! `/api/stream`: each look as a server-sent event (HTML, §9.2), to few at once.
//!
//! Invariant: a listener who is slow misses looks; none is kept for them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http_body::{Body, Frame};
use tokio::sync::watch;

use super::watch::Look;

/// Listeners at once.
const STREAMS_MAX: usize = 8;

/// Who looks on.
#[derive(Clone, Default)]
pub(crate) struct Streams {
    /// How many do.
    pub(crate) audience: Arc<AtomicUsize>,
}

/// The place of one listener; it is free again when this is dropped.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The receiver of looks again, and the next of them; none at the end.
type Next = BoxFuture<'static, (watch::Receiver<Arc<Look>>, Option<Arc<Look>>)>;

/// The events for one listener.
pub(crate) struct Events {
    next: Next,
    is_over: bool,
    _place: Place,
}

impl Streams {
    /// Begins to tell looks, the last one first; none if too many look on already.
    pub(crate) fn begin(&self, mut looks: watch::Receiver<Arc<Look>>) -> Option<Events> {
        let add = |so_far: usize| (so_far < STREAMS_MAX).then_some(so_far + 1);
        self.audience.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        looks.mark_changed();
        Some(Events { next: next(looks), is_over: false, _place: Place(self.audience.clone()) })
    }
}

fn next(mut looks: watch::Receiver<Arc<Look>>) -> Next {
    Box::pin(async move {
        let is_there = looks.changed().await.is_ok();
        let look = is_there.then(|| looks.borrow_and_update().clone());
        (looks, look)
    })
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let (looks, look) = ready!(self.next.as_mut().poll(context));
        let Some(look) = look else {
            self.is_over = true;
            return Poll::Ready(None);
        };
        self.next = next(looks);
        Poll::Ready(Some(Ok(Frame::data(event(&look.json())))))
    }
}

/// JSON has no line breaks as it is written here, so it is one line of data.
fn event(json: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(json.len() + 8);
    event.put_slice(b"data: ");
    event.put_slice(json);
    event.put_slice(b"\n\n");
    event.freeze()
}
