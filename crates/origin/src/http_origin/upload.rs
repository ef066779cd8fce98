//! A request body on its way to the origin, watched while it goes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use wire::{Body, BodyError, body};

/// What became of a body so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pieces: AtomicU64,
    is_whole: AtomicBool,
    error: Mutex<Option<BodyError>>,
}

impl Progress {
    /// How many pieces were taken; it moves as long as the visitor sends.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces.load(Ordering::Acquire)
    }

    /// Whether the body was taken to its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Acquire)
    }

    /// Why the body broke off, if it did.
    pub(crate) fn error(&self) -> Option<BodyError> {
        self.error.lock().clone()
    }
}

/// The body that hyper sends.
pub(crate) struct Upload {
    body: Body,
    progress: Arc<Progress>,
}

impl Upload {
    /// Watches `body`; none is an empty one.
    pub(crate) fn new(body: Option<Body>) -> (Self, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        let body = body.unwrap_or_else(body::empty);
        progress.is_whole.store(body.is_end_stream(), Ordering::Release);
        (Self { body, progress: progress.clone() }, progress)
    }

    /// The body as it is now.
    pub(crate) fn into_inner(self) -> Body {
        self.body
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(_))) => {
                this.progress.pieces.fetch_add(1, Ordering::AcqRel);
                if this.body.is_end_stream() {
                    this.progress.is_whole.store(true, Ordering::Release);
                }
            }
            Poll::Ready(Some(Err(error))) => *this.progress.error.lock() = Some(error.clone()),
            Poll::Ready(None) => this.progress.is_whole.store(true, Ordering::Release),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
