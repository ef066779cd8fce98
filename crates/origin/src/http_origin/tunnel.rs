//! Tunnels: connections to a server that go on in another protocol.
//!
//! A tunnel may last for days, so it takes no slot from those who want pages; tunnels have
//! slots of their own, and whoever finds none free is refused.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::ResponseHead;

use crate::Answer;
use crate::slots::Slot;

/// What became of a request to upgrade.
pub enum Upgrading {
    /// The server has switched, and bytes go both ways from here.
    Switched(ResponseHead, Tunnel),
    /// It has answered like any other request.
    Answered(Answer),
}

/// The server's end of a connection that is not HTTP any more; dropping it closes it.
pub struct Tunnel {
    io: TokioIo<Upgraded>,
    _slot: Slot,
}

impl Tunnel {
    pub(crate) fn new(upgraded: Upgraded, slot: Slot) -> Self {
        Self { io: TokioIo::new(upgraded), _slot: slot }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(context, buffer)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}
