//! Dialling: how a connection to an origin is opened.

use std::io;
use std::net::IpAddr;
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
    /// The same, at addresses of the public internet alone: whatever the name leads to.
    Public(String),
    /// A socket's path.
    Unix(PathBuf),
    /// A pipe within this process.
    Memory(MemoryDial),
}

impl std::fmt::Display for Dial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) | Self::Public(address) => write!(f, "tcp:{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

/// How long between two attempts at an origin that is just being started again.
const PATIENCE_STEP: Duration = Duration::from_millis(20);

impl Dial {
    /// The same for a host of somebody else: its name leads nowhere inside. An address, or
    /// `localhost`, is where the owner wants it to lead.
    pub(crate) fn public_only(self) -> Self {
        match self {
            Self::Tcp(address) if !names_its_address(&address) => Self::Public(address),
            other => other,
        }
    }

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
            Self::Public(address) => {
                let found = tokio::net::lookup_host(address.as_str()).await?;
                let found: Vec<_> = found.filter(|found| is_public(found.ip())).collect();
                if found.is_empty() {
                    let why = "its name leads to no public address; name the address itself";
                    return Err(io::Error::other(why));
                }
                let stream = TcpStream::connect(&found[..]).await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
            Self::Memory(dial) => dial().await.map(Stream::Memory),
        }
    }
}

/// Whether no look-up decides where `host:port` leads.
fn names_its_address(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok()
}

/// Whether an address is of the public internet (the IANA registries of special addresses).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (b == 18 || b == 19))
                || (a == 192 && b == 0 && c == 0))
        }
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            // Global unicast, without documentation, and without what leads to IPv4 (6to4, Teredo).
            (first & 0xe000) == 0x2000
                && first != 0x2002
                && !(first == 0x2001 && (second == 0 || second == 0x0db8))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_within_a_network_are_not_public() {
        for (text, expected) in [
            ("93.184.216.34", true),
            ("2606:2800:220:1::1", true),
            ("10.0.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("100.64.0.1", false),
            ("198.18.0.1", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:93.184.216.34", true),
            ("fc00::1", false),
            ("fe80::1", false),
            ("64:ff9b::a00:1", false),
            ("2002:a00:1::1", false),
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(is_public(address), expected, "{text}");
        }
    }

    #[test]
    fn what_the_owner_names_by_its_address_may_be_inside() {
        for (address, is_public_only) in [
            ("cdn.example.org:443", true),
            ("10.0.0.1:80", false),
            ("[::1]:80", false),
            ("localhost:8080", false),
        ] {
            let dial = Dial::Tcp(address.to_owned()).public_only();
            assert_eq!(matches!(dial, Dial::Public(_)), is_public_only, "{address}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_followed() {
        let error = Dial::Public("localhost:80".into()).open().await.err().expect("refused");
        assert!(error.to_string().contains("leads to no public address"), "{error}");
    }
}
