//! Dialling: how a connection to an origin is opened.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::timeouts::{seconds, within};
use crate::{OriginError, Timeouts};

/// Opens a connection within this process; for tests and scenes.
pub type MemoryDial = Arc<dyn Fn() -> BoxFuture<'static, io::Result<DuplexStream>> + Send + Sync>;

/// An origin's address.
#[derive(Clone)]
pub enum Dial {
    /// `host:port`.
    Tcp(String),
    /// A socket's path.
    Unix(PathBuf),
    /// A pipe within this process.
    Memory(MemoryDial),
}

impl std::fmt::Display for Dial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

/// How long between two attempts at an origin that is just being started again.
const PATIENCE_STEP: Duration = Duration::from_millis(20);

impl Dial {
    /// Opens a connection. A patient caller knows that the origin is about to come
    /// back, and tries again until the time to connect is over.
    pub(crate) async fn connect(
        &self,
        timeouts: &Timeouts,
        is_patient: bool,
    ) -> Result<Stream, OriginError> {
        let attempts = async {
            loop {
                match self.open().await {
                    Err(error) if is_passing(&error, is_patient) => {
                        tokio::time::sleep(PATIENCE_STEP).await;
                    }
                    result => return result,
                }
            }
        };
        match within(timeouts.connect, attempts).await {
            Some(Ok(stream)) => Ok(stream),
            Some(Err(error)) => Err(OriginError::Unreachable(format!("{self}: {error}"))),
            None => Err(OriginError::ConnectTimeout { seconds: seconds(timeouts.connect) }),
        }
    }

    async fn open(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address.as_str()).await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
            Self::Memory(dial) => dial().await.map(Stream::Memory),
        }
    }
}

/// Whether trying again soon may help.
fn is_passing(error: &io::Error, is_patient: bool) -> bool {
    match error.kind() {
        // A Unix socket whose backlog is full says so at once instead of waiting.
        io::ErrorKind::WouldBlock => true,
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => is_patient,
        _ => false,
    }
}

/// An open connection of any kind.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Memory(DuplexStream),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Memory(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Memory(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
            Self::Memory(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Memory(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
