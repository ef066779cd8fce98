//! A connection's two ends: a pipe in memory, or TCP.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpStream;

/// What a pipe in memory holds in each direction before its writer must wait.
pub(crate) const PIPE_BYTES: usize = 64 << 10;

/// A connection that can also be broken.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// From now on closing is breaking: the other side sees an error, where the
    /// medium knows one.
    fn break_on_close(&self);
}

impl Stream for DuplexStream {
    fn break_on_close(&self) {
        // A pipe in memory knows one kind of end only.
    }
}

impl Stream for TcpStream {
    fn break_on_close(&self) {
        // If the socket is gone already, it is as broken as can be.
        let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
    }
}

/// Any connection.
pub(crate) type AnyStream = Box<dyn Stream>;
