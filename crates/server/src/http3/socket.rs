//! One UDP socket that two processes have for a while, and whose packet is whose.
//!
//! ```text
//! UDP socket ─ who came last reads it ─┬─ its own packets, and those of new clients: quinn
//!                                       └─ an older process's: through a Unix socket to it
//! ```
//! A connection's id begins with its process's tag, so one look at a packet says whose it is. All
//! processes send on the UDP socket itself. Law: RFC 9000 §5.1 (ids say nothing that tells two of
//! one connection's from other connections'), §17.2, §17.3.
//! Bounds: [`ROUTES_MAX`] older processes; a packet that finds the Unix socket full is dropped and
//! counted, and sent again by its client as any that is lost.
//! Invariants: 1. at every moment just one process reads the socket, apart from the batch that it
//! has in hand when another begins. 2. who finds that its successor has gone reads again itself.
//! Start at [`Socket::poll_recv`]; [`Http3Handle`] is what whoever runs the server holds of it.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, ConnectionId, ConnectionIdGenerator, Runtime, UdpPoller};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use tokio::io::ReadBuf;
use tokio::net::UnixDatagram;

use crate::Server;

/// Whose a connection is.
pub(crate) type Tag = [u8; TAG_BYTES];
const TAG_BYTES: usize = 4;
/// A tag, and what tells a process's connections apart. A client's own choice for its first
/// packet is at least 8 random bytes, and begins with a tag once in four thousand million times.
const ID_BYTES: usize = TAG_BYTES + 8;
/// Processes that still end something, at one time.
const ROUTES_MAX: usize = 8;
/// In front of a packet that goes through a Unix socket: whether there is a local address, the
/// ECN bits, both addresses.
const LABEL_BYTES: usize = 2 + 16 + 16 + 2;
/// The longest packet over UDP, with its label.
const LABELLED_BYTES_MAX: usize = LABEL_BYTES + (64 << 10);

/// The way to an older process.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) tag: Tag,
    pub(crate) socket: OwnedFd,
}

/// What whoever runs the server holds of a socket, to hand it over.
#[derive(Clone)]
pub struct Http3Handle {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A socket that is handed over: where it is bound, and who goes on with what on it.
#[derive(Debug)]
pub struct HandedOver {
    /// Its address.
    pub address: SocketAddr,
    /// The socket.
    pub socket: OwnedFd,
    /// Tags of processes, and the ways to them.
    pub routes: Vec<([u8; 4], OwnedFd)>,
}

struct Shared {
    tag: Tag,
    socket: UdpSocket,
    /// The ways to those before.
    routes: Mutex<Vec<Arc<Route>>>,
    /// How many, so that who has none needs no lock.
    routes_len: AtomicUsize,
    /// Where a successor sends what is ours, once it has the socket.
    inbox: Mutex<Option<OwnedFd>>,
    /// Whether it has.
    is_left: AtomicBool,
    /// Who waits for packets.
    waker: AtomicWaker,
}

impl fmt::Debug for Http3Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http3Handle").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Http3Handle {
    pub(crate) fn new(socket: UdpSocket, routes: Vec<Route>) -> io::Result<Self> {
        let routes: Vec<_> = routes.into_iter().map(Arc::new).take(ROUTES_MAX).collect();
        let address = socket.local_addr()?;
        let mut tag = Tag::default();
        rustix::rand::getrandom(&mut tag, rustix::rand::GetRandomFlags::empty())?;
        let shared = Shared {
            tag,
            socket,
            routes_len: AtomicUsize::new(routes.len()),
            routes: Mutex::new(routes),
            inbox: Mutex::new(None),
            is_left: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        Ok(Self { address, shared: Arc::new(shared) })
    }

    /// The address that it is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Prepares for a successor, who gets all this. Nothing changes until [`Self::leave`]; if it
    /// fails, the next one gets the same anew.
    ///
    /// # Errors
    /// The system gives no more sockets.
    pub fn hand_over(&self) -> io::Result<HandedOver> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let (inbox, theirs) = pair?;
        let mut routes = vec![(self.shared.tag, theirs)];
        for route in self.shared.routes.lock().iter() {
            routes.push((route.tag, route.socket.try_clone()?));
        }
        let socket = self.shared.socket.try_clone()?.into();
        *self.shared.inbox.lock() = Some(inbox);
        Ok(HandedOver { address: self.address, socket, routes })
    }

    /// Reads the socket no more: its successor does from now on.
    pub fn leave(&self) {
        if self.shared.inbox.lock().is_some() {
            self.shared.is_left.store(true, Ordering::Release);
            self.shared.waker.wake();
        }
    }

    /// Whether somebody else reads it.
    pub(crate) fn is_left(&self) -> bool {
        self.shared.is_left.load(Ordering::Acquire)
    }

    /// Names this process's connections.
    pub(crate) fn ids(&self) -> Box<dyn ConnectionIdGenerator> {
        Box::new(Ids(self.shared.tag))
    }

    /// The socket as quinn reads and writes it; within the runtime that does so.
    pub(crate) fn open(&self, server: &Arc<Server>) -> io::Result<Arc<Socket>> {
        let inner = quinn::TokioRuntime.wrap_udp_socket(self.shared.socket.try_clone()?)?;
        let (shared, server) = (self.shared.clone(), server.clone());
        Ok(Arc::new(Socket { inner, shared, server, inbox: Mutex::new(None) }))
    }
}

/// Ids that begin with a tag.
struct Ids(Tag);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut id = [0; ID_BYTES];
        id[..TAG_BYTES].copy_from_slice(&self.0);
        // The system's randomness doesn't fail once it was there, as it was for the tag.
        let _ =
            rustix::rand::getrandom(&mut id[TAG_BYTES..], rustix::rand::GetRandomFlags::empty());
        ConnectionId::new(&id)
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// See [`Http3Handle::open`].
pub(crate) struct Socket {
    inner: Arc<dyn AsyncUdpSocket>,
    shared: Arc<Shared>,
    server: Arc<Server>,
    /// Where packets come from a successor, once it has begun; one task polls it.
    inbox: Mutex<Option<UnixDatagram>>,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.shared.waker.register(context.waker());
        if self.shared.is_left.load(Ordering::Acquire) {
            match ready!(self.poll_inbox(context, buffers, meta)) {
                Ok(count) => return Poll::Ready(Ok(count)),
                // Nobody is left to read it for us.
                Err(_) => self.take_back(),
            }
        }
        let count = ready!(self.inner.poll_recv(context, buffers, meta))?;
        if self.shared.routes_len.load(Ordering::Relaxed) > 0 {
            let all = buffers.iter_mut().zip(meta.iter_mut()).take(count);
            all.for_each(|(buffer, meta)| self.sort(buffer, meta));
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl Socket {
    /// Sends on what is an older process's, and leaves the rest in the buffer.
    fn sort(&self, buffer: &mut [u8], meta: &mut RecvMeta) {
        let (mut read, mut kept) = (0, 0);
        while read < meta.len {
            let length = meta.stride.max(1).min(meta.len - read);
            let packet = read..read + length;
            read += length;
            let tag = tag_of(&buffer[packet.clone()]);
            match tag.filter(|tag| *tag != self.shared.tag).and_then(|tag| self.route(tag)) {
                Some(route) => self.send_on(&route, &buffer[packet], meta),
                None => {
                    buffer.copy_within(packet, kept);
                    kept += length;
                }
            }
        }
        meta.len = kept;
    }

    fn route(&self, tag: Tag) -> Option<Arc<Route>> {
        self.shared.routes.lock().iter().find(|route| route.tag == tag).cloned()
    }

    fn send_on(&self, route: &Arc<Route>, packet: &[u8], meta: &RecvMeta) {
        let mut labelled = Vec::with_capacity(LABEL_BYTES + packet.len());
        push_label(&mut labelled, meta);
        labelled.extend_from_slice(packet);
        match rustix::net::send(&route.socket, &labelled, SendFlags::NOSIGNAL) {
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS) => {
                self.server.counters.packets_dropped.bump();
            }
            Err(_) => {
                // It has ended: its clients will learn that from their own clocks.
                let mut routes = self.shared.routes.lock();
                routes.retain(|known| known.tag != route.tag);
                self.shared.routes_len.store(routes.len(), Ordering::Relaxed);
            }
        }
    }

    /// Reads what a successor sends on.
    fn poll_inbox(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut inbox = self.inbox.lock();
        if let Some(given) = self.shared.inbox.lock().take() {
            // To whom it is all one: packets keep their borders, and an end is seen.
            *inbox = Some(UnixDatagram::from_std(given.into())?);
        }
        let Some(inbox) = &*inbox else { return Poll::Ready(Err(gone())) };
        let (Some(buffer), Some(meta)) = (buffers.first_mut(), meta.first_mut()) else {
            return Poll::Ready(Ok(0));
        };
        let mut labelled = [0; LABELLED_BYTES_MAX];
        loop {
            let mut read = ReadBuf::new(&mut labelled);
            ready!(inbox.poll_recv(context, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Err(gone()));
            }
            let Some(packet) = read_label(read.filled(), meta) else { continue };
            let length = packet.len().min(buffer.len());
            buffer[..length].copy_from_slice(&packet[..length]);
            (meta.len, meta.stride) = (length, length);
            return Poll::Ready(Ok(1));
        }
    }

    fn take_back(&self) {
        *self.inbox.lock() = None;
        self.shared.is_left.store(false, Ordering::Release);
    }
}

fn gone() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// The tag that a packet's destination begins with, if that is as long as ours are.
fn tag_of(packet: &[u8]) -> Option<Tag> {
    let (first, rest) = packet.split_first()?;
    let id = match first & 0x80 {
        0 => rest,
        // A version, and the length of the id.
        _ => match rest.split_at_checked(4)?.1.split_first()? {
            (&length, rest) if usize::from(length) == ID_BYTES => rest,
            _ => return None,
        },
    };
    id.get(..ID_BYTES)?.first_chunk().copied()
}

fn push_label(out: &mut Vec<u8>, meta: &RecvMeta) {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    out.push(u8::from(meta.dst_ip.is_some()));
    out.push(meta.ecn.map_or(0, |ecn| ecn as u8));
    out.extend_from_slice(&bits(meta.addr.ip()));
    out.extend_from_slice(&meta.dst_ip.map_or([0; 16], bits));
    out.extend_from_slice(&meta.addr.port().to_be_bytes());
}

/// Reads what stands in front of a packet; gives the packet.
fn read_label<'a>(text: &'a [u8], meta: &mut RecvMeta) -> Option<&'a [u8]> {
    let (label, packet) = text.split_first_chunk::<LABEL_BYTES>()?;
    let address = |at: usize| {
        let bytes: [u8; 16] = label[at..at + 16].try_into().ok()?;
        Some(IpAddr::from(bytes).to_canonical())
    };
    let port = u16::from_be_bytes([label[LABEL_BYTES - 2], label[LABEL_BYTES - 1]]);
    meta.addr = SocketAddr::new(address(2)?, port);
    meta.dst_ip = if label[0] == 1 { Some(address(18)?) } else { None };
    meta.ecn = EcnCodepoint::from_bits(label[1]);
    Some(packet)
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
