//! An answer's body on its way from the origin: the connection goes back to the
//! pool once it was read to its end, and silence in its middle is an error.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use wire::BodyError;

use super::exchange::{Held, Incoming};
use super::member::Single;
use super::upload::Progress;
use crate::pool::Pool;
use crate::slots::Slot;
use crate::timeouts::seconds;

/// The body, with what has to be given back when it ends.
pub(crate) struct Download {
    incoming: Incoming,
    lease: Option<Lease>,
    idle: Duration,
    /// Set while the origin is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

/// A connection in use, or a place on one, the slot that allows it, and where it goes afterwards.
pub(crate) struct Lease {
    pub(crate) held: Held,
    pub(crate) pool: Pool<Single>,
    pub(crate) progress: Arc<Progress>,
    /// Whether the answer may have no body, but a server may send one all the same: it would be
    /// read as the next one's answer.
    pub(crate) may_run_on: bool,
    /// After the connection, so that it is back in the pool when the slot is free.
    pub(crate) slot: Option<Slot>,
}

impl Lease {
    fn give_back(self) {
        // An answer that came before its request was read whole leaves the
        // connection in the middle of a message: it is closed instead.
        if let Held::Single(connection) = self.held
            && !self.may_run_on
            && self.progress.is_whole()
            && !connection.is_closed()
        {
            self.pool.put(connection);
        }
        drop(self.slot);
    }
}

impl Download {
    pub(crate) fn new(incoming: Incoming, lease: Lease, idle: Duration) -> Self {
        let mut download =
            Self { incoming, lease: Some(lease), idle, alarm: None, is_waiting: false };
        if download.incoming.is_end_stream() {
            download.finish();
        }
        download
    }

    fn finish(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.give_back();
        }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<BodyError> {
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.idle)));
        if !self.is_waiting {
            self.is_waiting = true;
            alarm.as_mut().reset(Instant::now() + self.idle);
        }
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(BodyError::OriginIdle { seconds: seconds(self.idle) })
    }
}

impl http_body::Body for Download {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let frame = match Pin::new(&mut this.incoming).poll_frame(context) {
            Poll::Pending => {
                let error = ready!(this.poll_silence(context));
                this.lease = None;
                return Poll::Ready(Some(Err(error)));
            }
            Poll::Ready(frame) => frame,
        };
        this.is_waiting = false;
        match frame {
            Some(Ok(frame)) => {
                if this.incoming.is_end_stream() {
                    this.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                this.lease = None;
                Poll::Ready(Some(Err(BodyError::Origin(error))))
            }
            None => {
                this.finish();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
