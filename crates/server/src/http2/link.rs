//! The bytes of one connection between its socket and the library that makes frames of them.
//!
//! The library writes frame by frame: a small page would be one call for each. Here frames are
//! gathered while there is more to do, and leave together. What comes in passes a [`Meter`].
//! Invariant: nothing stays here while the connection waits: who corks uncorks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Server;
use crate::http2::meter::Meter;
use crate::streams::allowance::Excess;
use crate::watch::Watch;

/// So much leaves together.
const BATCH_BYTES: usize = 64 << 10;
/// Room for a first answer, made when there is one.
const FIRST_BYTES: usize = 1 << 10;

/// What the connection and its link tell each other. Both are of one task.
#[derive(Default)]
pub(crate) struct Signals {
    is_corked: AtomicBool,
    has_output: AtomicBool,
    is_midway: AtomicBool,
    is_stuck: AtomicBool,
    /// 0, or what there was too much of.
    excess: AtomicU8,
}

impl Signals {
    /// Has frames gathered.
    pub(crate) fn cork(&self) {
        self.is_corked.store(true, Ordering::Relaxed);
    }

    /// Lets frames leave; whether any wait.
    pub(crate) fn uncork(&self) -> bool {
        self.is_corked.swap(false, Ordering::Relaxed) && self.has_output.load(Ordering::Relaxed)
    }

    /// Whether a frame or a head has begun and not ended.
    pub(crate) fn is_midway(&self) -> bool {
        self.is_midway.load(Ordering::Relaxed)
    }

    /// Whether the client does not take what was written.
    pub(crate) fn is_stuck(&self) -> bool {
        self.is_stuck.load(Ordering::Relaxed)
    }

    /// What the client sent too much of.
    pub(crate) fn excess(&self) -> Option<Excess> {
        match self.excess.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Excess::Resets),
            _ => Some(Excess::Idle),
        }
    }

    fn set_excess(&self, excess: Excess) {
        let number = if excess == Excess::Resets { 1 } else { 2 };
        self.excess.store(number, Ordering::Relaxed);
    }
}

/// A socket as the library sees it.
pub(crate) struct Link<S> {
    io: S,
    server: Arc<Server>,
    watch: Arc<Watch>,
    signals: Arc<Signals>,
    meter: Meter,
    /// What was read before it was known what is spoken here.
    first: Bytes,
    output: Vec<u8>,
    /// Bytes of `output` that have left.
    sent: usize,
}

impl<S> Link<S> {
    pub(crate) fn new(
        io: S,
        first: Bytes,
        server: &Arc<Server>,
        watch: Arc<Watch>,
        signals: &Arc<Signals>,
    ) -> Self {
        let limits = server.limits();
        let ticks_ms = server.clock.now().ticks_ms;
        let meter = Meter::new(limits.resets_max, limits.idle_frames_max, ticks_ms);
        let (server, signals) = (server.clone(), signals.clone());
        Self { io, server, watch, signals, meter, first, output: Vec::new(), sent: 0 }
    }

    fn note_read(&mut self, bytes: &[u8]) {
        let clock = &self.server.clock;
        if let Err(excess) = self.meter.read(bytes, || clock.now().ticks_ms) {
            self.signals.set_excess(excess);
        }
        self.signals.is_midway.store(self.meter.is_midway(), Ordering::Relaxed);
    }

    /// Takes as much as there is room for.
    fn gather(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(BATCH_BYTES - self.output.len());
        if self.output.capacity() - self.output.len() < taken {
            // A short answer needs little; more than that, and it will be a whole batch.
            let room = if self.output.is_empty() { taken.max(FIRST_BYTES) } else { BATCH_BYTES };
            self.output.reserve_exact(room - self.output.len());
        }
        self.output.extend_from_slice(&bytes[..taken]);
        self.signals.has_output.store(true, Ordering::Relaxed);
        let resets = self.meter.write(&bytes[..taken]);
        if resets > 0 {
            self.server.counters.streams_reset.add(resets);
        }
        taken
    }
}

impl<S: AsyncWrite + Unpin> Link<S> {
    /// Sends what was gathered.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.output.len() {
            match Pin::new(&mut self.io).poll_write(context, &self.output[self.sent..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(bytes)) => {
                    self.sent += bytes;
                    self.meter.wrote(bytes);
                    self.signals.is_stuck.store(false, Ordering::Relaxed);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if !self.signals.is_stuck.swap(true, Ordering::Relaxed) {
                        let limit_ms = self.server.limits().write_timeout.as_millis() as u64;
                        self.watch.set(self.server.clock.now().ticks_ms + limit_ms);
                    }
                    return Poll::Pending;
                }
            }
        }
        // A connection that says nothing holds no memory for it.
        self.output = Vec::new();
        self.sent = 0;
        self.signals.has_output.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.output.len() < BATCH_BYTES {
            true => Poll::Ready(Ok(())),
            false => self.poll_send(context),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Link<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let link = &mut *self;
        if link.signals.excess().is_some() {
            // The connection sees it at the end of this turn.
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        if link.first.is_empty() {
            ready!(Pin::new(&mut link.io).poll_read(context, buffer))?;
        } else {
            let taken = link.first.len().min(buffer.remaining());
            buffer.put_slice(&link.first[..taken]);
            link.first.advance(taken);
        }
        link.note_read(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Link<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        Poll::Ready(Ok(self.gather(bytes)))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_room(context))?;
        let mut taken = 0;
        for slice in slices {
            taken += self.gather(slice);
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.signals.is_corked.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
