//! An accepted TCP socket that sends head and body with `sendmsg`.
//!
//! The standard library's vectored write is `writev`, which goes through the file
//! layer: on a hit of 9 kB that is a twentieth of all CPU time in the kernel. The C
//! library's own `sendmsg` may be cancelled, which in a process of several threads costs
//! atomic operations at each call: this one goes to the kernel directly.
//!
//! A fresh socket is first simply tried: the request is mostly there already. Only one that
//! has to be waited for is registered with the runtime, so that a visitor who comes for a
//! single page costs neither that nor its undoing.

use std::any::Any;
use std::fs::File;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::sendfile;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, acceptfrom_with, recv, sendmsg,
};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A TCP connection with a visitor.
pub(crate) enum Socket {
    /// Nobody has had to wait for it yet.
    Fresh(std::net::TcpStream),
    Registered(TcpStream),
    /// It could not be registered.
    Lost,
}

/// A listening socket that can be waited for.
pub(crate) type Listening = AsyncFd<std::net::TcpListener>;

/// Registers a listening socket with this thread's runtime.
pub(crate) fn listening(listener: std::net::TcpListener) -> io::Result<Listening> {
    // It is deprecated for types that may change their descriptor, which this one can't;
    // what takes its place is unsafe.
    #[allow(deprecated)]
    AsyncFd::with_interest(listener, Interest::READABLE)
}

/// Takes the next connection.
pub(crate) async fn accept(listener: &Listening) -> io::Result<(Socket, SocketAddr)> {
    let accepted = listener.async_io(Interest::READABLE, |listener| {
        Ok(acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?)
    });
    let (socket, peer) = accepted.await?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    // A peer without an address has gone already.
    let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((Socket::Fresh(socket.into()), peer))
}

impl Socket {
    /// The address that the visitor connected to.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Fresh(stream) => stream.local_addr(),
            Self::Registered(stream) => stream.local_addr(),
            Self::Lost => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Sends bytes that others follow at once.
    pub(crate) fn poll_send_before(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, &[IoSlice::new(bytes)], SendFlags::NOSIGNAL | SendFlags::MORE)
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
        flags: SendFlags,
    ) -> Poll<io::Result<usize>> {
        if let Self::Fresh(stream) = self {
            let sent = sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags);
            if let Some(sent) = at_once(sent) {
                return Poll::Ready(sent);
            }
        }
        self.poll_when_writable(context, |stream| {
            sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags)
        })
    }

    /// Has the kernel send up to so many bytes of a file from this place on; how many it took.
    pub(crate) fn poll_send_file(
        &mut self,
        context: &mut Context<'_>,
        file: &File,
        at: u64,
        bytes: usize,
    ) -> Poll<io::Result<usize>> {
        self.poll_when_writable(context, |stream| sendfile(stream, file, Some(&mut { at }), bytes))
    }

    /// Sends once the socket takes something.
    fn poll_when_writable(
        &mut self,
        context: &mut Context<'_>,
        send: impl Fn(&TcpStream) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let stream = self.registered()?;
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_io(Interest::WRITABLE, || Ok(send(stream)?)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// The stream that can be waited for.
    fn registered(&mut self) -> io::Result<&mut TcpStream> {
        if let Self::Fresh(_) = self
            && let Self::Fresh(stream) = std::mem::replace(self, Self::Lost)
        {
            *self = Self::Registered(TcpStream::from_std(stream)?);
        }
        match self {
            Self::Registered(stream) => Ok(stream),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// The socket, where that is what carries a connection.
pub(crate) fn socket<S: 'static>(carrier: &mut S) -> Option<&mut Socket> {
    (carrier as &mut dyn Any).downcast_mut()
}

/// What a call gave, unless it has to be waited for.
fn at_once<T>(result: rustix::io::Result<T>) -> Option<io::Result<T>> {
    match result {
        Err(rustix::io::Errno::AGAIN) => None,
        result => Some(result.map_err(io::Error::from)),
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = self.get_mut();
        if let Self::Fresh(stream) = socket
            && let Some(read) =
                at_once(recv(stream, buffer.initialize_unfilled(), RecvFlags::empty()))
        {
            return Poll::Ready(read.map(|(bytes, _)| buffer.advance(bytes)));
        }
        Pin::new(socket.registered()?).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_send(context, slices, SendFlags::NOSIGNAL)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is kept back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Fresh(stream) => Poll::Ready(stream.shutdown(Shutdown::Write)),
            Self::Registered(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Lost => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn listener() -> Listening {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket of ours");
        listening(listener).expect("within a runtime")
    }

    #[tokio::test]
    async fn what_is_there_is_read_at_once_and_what_is_not_is_waited_for() {
        let listener = listener();
        let address = listener.get_ref().local_addr().expect("an address");
        let mut client = std::net::TcpStream::connect(address).expect("a connection");
        client.write_all(b"one").expect("it is taken");
        let (mut socket, peer) = accept(&listener).await.expect("a connection");
        assert_eq!(peer, client.local_addr().expect("an address"));
        let mut buffer = [0; 8];
        assert_eq!(socket.read(&mut buffer).await.expect("what was sent"), 3);
        assert!(matches!(socket, Socket::Fresh(_)));
        socket.write_all(b"answer").await.expect("it is taken");
        client.read_exact(&mut buffer[..6]).expect("the answer");
        assert_eq!(&buffer[..6], b"answer");
        let writer = std::thread::spawn(move || {
            client.write_all(b"two").expect("it is taken");
            client
        });
        assert_eq!(socket.read(&mut buffer).await.expect("what was sent"), 3);
        drop(writer.join().expect("the client"));
        assert_eq!(socket.read(&mut buffer).await.expect("the end"), 0);
    }

    #[tokio::test]
    async fn an_answer_that_the_visitor_takes_slowly_arrives_whole() {
        let listener = listener();
        let address = listener.get_ref().local_addr().expect("an address");
        let mut client = std::net::TcpStream::connect(address).expect("a connection");
        let (mut socket, _) = accept(&listener).await.expect("a connection");
        let answer = vec![7u8; 8 << 20];
        let sent = answer.clone();
        let reader = std::thread::spawn(move || {
            let mut taken = Vec::new();
            client.read_to_end(&mut taken).expect("the answer");
            taken
        });
        socket.write_all(&sent).await.expect("it is taken");
        socket.shutdown().await.expect("an end");
        drop(socket);
        assert!(reader.join().expect("the client") == answer);
    }

    #[tokio::test]
    async fn a_file_that_the_visitor_takes_slowly_arrives_whole_and_ends_where_it_ends() {
        let listener = listener();
        let address = listener.get_ref().local_addr().expect("an address");
        let mut client = std::net::TcpStream::connect(address).expect("a connection");
        let (mut carrier, _) = accept(&listener).await.expect("a connection");
        let bytes: Vec<u8> = (0..6_000_000u32).map(|at| (at / 7) as u8).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("it takes it");
        let reader = std::thread::spawn(move || {
            let mut taken = Vec::new();
            client.read_to_end(&mut taken).expect("the file");
            taken
        });
        let mut at = 1_000_000;
        loop {
            let socket = socket(&mut carrier).expect("it is one");
            let sent = poll_fn(|context| socket.poll_send_file(context, &file, at, 1 << 30)).await;
            match sent.expect("it is taken") {
                0 => break,
                sent => at += sent as u64,
            }
        }
        assert_eq!(at, 6_000_000);
        carrier.shutdown().await.expect("an end");
        drop(carrier);
        assert!(reader.join().expect("the client") == bytes[1_000_000..]);
        assert!(socket(&mut tokio::io::duplex(1).0).is_none());
    }
}
