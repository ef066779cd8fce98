//! Where HTTP/3 comes in: one UDP socket for each address, on one thread.
//!
//! Law: RFC 9000 §8.1. Bounds: connections as over TCP, all together and of one address;
//! handshakes under way of addresses that nobody has proven; what is held of a connection.
//! Invariants: 1. who may be somebody else takes nobody's seat. 2. the port is told to visitors
//! of HTTPS only while it is listened on.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use base::{Shutdown, task};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, IdleTimeout, Incoming, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};
use wire::h3::Code;

use crate::defence::Seat;
use crate::http3;
use crate::http3::socket::{HandedOver, Http3Handle, Route};
use crate::journey::Peers;
use crate::streams::STREAM_WINDOW_BYTES;
use crate::tls::Tls;
use crate::{Limits, Server};

/// Handshakes under way of addresses that may be another's; beyond that they are proven first.
const UNPROVEN_MAX: usize = 64;
/// What the kernel may hold for us, if it lets us have so much.
const SOCKET_BYTES: usize = 1 << 20;
/// What a client may send on all streams together before it is read. Heads count as well, so
/// this is more than over HTTP/2: four bodies that nobody takes don't hold back a request.
const CONNECTION_WINDOW_BYTES: u32 = 5 * STREAM_WINDOW_BYTES;
/// What a connection may hold of answers that its client has not acknowledged.
const SEND_WINDOW_BYTES: u64 = 1 << 20;
/// Streams of a client that go one way: three are of use, and some say nothing on purpose.
const ONE_WAY_STREAMS_MAX: u32 = 8;
/// What may wait of clients whose connections were not looked at.
const INCOMING_MAX: usize = 1024;
const INCOMING_BYTES: u64 = 16 << 10;
const INCOMING_BYTES_ALL: u64 = 2 << 20;
/// A client that is gone without a word is noticed after so long at the latest.
const SILENCE_MIN: Duration = Duration::from_secs(30);

/// A bound address, not yet served.
#[derive(Debug)]
pub struct Http3Listener {
    handle: Http3Handle,
}

impl Http3Listener {
    /// Binds an address. It is shared with nobody but successors: packets of one connection must
    /// all come to one process.
    ///
    /// # Errors
    /// What the system says: in use, not ours, not allowed.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // The more the better, up to what the system allows.
        let _ =
            (socket.set_recv_buffer_size(SOCKET_BYTES), socket.set_send_buffer_size(SOCKET_BYTES));
        socket.bind(&address.into())?;
        Ok(Self { handle: Http3Handle::new(socket.into(), Vec::new())? })
    }

    /// The socket that another process has handed over. It must not be served before that one
    /// has left it.
    ///
    /// # Errors
    /// It is none.
    pub fn of(handed: HandedOver) -> io::Result<Self> {
        let HandedOver { socket, routes, .. } = handed;
        let routes = routes.into_iter().map(|(tag, socket)| Route { tag, socket });
        Ok(Self { handle: Http3Handle::new(socket.into(), routes.collect())? })
    }

    /// By which it can be handed over.
    #[must_use]
    pub fn handle(&self) -> Http3Handle {
        self.handle.clone()
    }

    /// Serves until the signal to stop, and until the last answer has arrived and the last
    /// client was told; then the port is free. `told` is where the port is told from.
    ///
    /// # Errors
    /// The socket can't be registered with this thread's runtime, or there is no TLS.
    pub async fn serve(
        self,
        server: Arc<Server>,
        told: Arc<AtomicU16>,
        shutdown: Shutdown,
    ) -> io::Result<()> {
        let (handle, address) = (self.handle.clone(), self.handle.address());
        let tls = server.tls.clone().ok_or_else(|| io::Error::other("there is no TLS"))?;
        let config = config(&server.limits(), &tls)?;
        let mut named = EndpointConfig::default();
        named.cid_generator(move || handle.ids());
        let (socket, runtime) = (self.handle.open(&server)?, Arc::new(quinn::TokioRuntime));
        let endpoint = Endpoint::new_with_abstract_socket(named, Some(config), socket, runtime)?;
        told.store(address.port(), Ordering::Relaxed);
        let door = Door { server, address, shutdown, unproven: Arc::default() };
        let mut stop = pin!(door.shutdown.begun());
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => door.take(incoming),
                    None => break,
                },
                () = &mut stop => break,
            }
        }
        told.store(0, Ordering::Relaxed);
        let mut idle = pin!(endpoint.wait_idle());
        loop {
            tokio::select! {
                Some(incoming) = endpoint.accept() => match self.handle.is_left() {
                    // It came with the last that was read here; its next try reaches the other.
                    true => incoming.ignore(),
                    // Who is told so goes on by TCP at once.
                    false => incoming.refuse(),
                },
                () = &mut idle => return Ok(()),
            }
        }
    }
}

/// How QUIC is spoken.
fn config(limits: &Limits, tls: &Tls) -> io::Result<quinn::ServerConfig> {
    let crypto = QuicServerConfig::try_from(tls.quic()).map_err(io::Error::other)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    config
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES_ALL);
    let silence = limits.idle_timeout.max(SILENCE_MIN);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(limits.streams_max))
        .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY_STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .send_window(SEND_WINDOW_BYTES)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(IdleTimeout::try_from(silence).ok())
        // An origin may take longer than a client's line stays open by itself.
        .keep_alive_interval(Some(silence / 2));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// Who comes in, and who doesn't.
struct Door {
    server: Arc<Server>,
    address: SocketAddr,
    shutdown: Shutdown,
    /// Handshakes under way of addresses that nobody has proven.
    unproven: Arc<AtomicUsize>,
}

/// One of those handshakes.
struct Unproven(Arc<AtomicUsize>);

impl Drop for Unproven {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Door {
    fn take(&self, incoming: Incoming) {
        let (server, peer) = (&self.server, incoming.remote_address());
        if server.watches.len() >= server.limits().connections_max {
            server.counters.connections_refused.bump();
            return incoming.refuse();
        }
        if server.proxies.introduces(peer.ip()) {
            // There is no such header over UDP.
            server.counters.introductions_refused.bump();
            return incoming.refuse();
        }
        let is_proven = incoming.remote_address_validated();
        if !is_proven && self.unproven.load(Ordering::Relaxed) >= UNPROVEN_MAX {
            server.counters.addresses_asked.bump();
            // It fails only for addresses that are proven.
            let _ = incoming.retry();
            return;
        }
        let ip = incoming.local_ip().unwrap_or(self.address.ip());
        let local = SocketAddr::new(ip, self.address.port());
        let peers = Peers { scheme: "https", ..Peers::new(peer, local, "https") };
        let standing = if is_proven {
            match server.seat(peers) {
                Ok(seat) => Standing::Seated(seat),
                Err(_) => return incoming.refuse(),
            }
        } else {
            self.unproven.fetch_add(1, Ordering::Relaxed);
            Standing::Unproven(Unproven(self.unproven.clone()))
        };
        // Taken before the task begins, so that nobody is missed when connections are counted.
        let place = server.watches.enter();
        let shutdown = self.shutdown.clone();
        let entered = enter(server.clone(), incoming, peers, standing, place, shutdown);
        task::spawn_counted(&server.counters.panics, entered);
    }
}

/// Where a client stands before its handshake is over.
enum Standing {
    Seated(Option<Seat>),
    Unproven(Unproven),
}

/// Shakes hands, and serves the connection.
async fn enter(
    server: Arc<Server>,
    incoming: Incoming,
    peers: Peers,
    standing: Standing,
    place: crate::watch::Place,
    shutdown: Shutdown,
) {
    let late_at = server.clock.now().ticks_ms + server.limits().head_timeout.as_millis() as u64;
    place.set(late_at);
    let connecting = incoming.accept().ok();
    let connection = match connecting {
        None => None,
        Some(connecting) => {
            let mut connecting = pin!(connecting);
            poll_fn(|context| match connecting.as_mut().poll(context) {
                Poll::Ready(connected) => Poll::Ready(connected.ok()),
                Poll::Pending => place.poll_fired(context).map(|()| None),
            })
            .await
        }
    };
    let Some(connection) = connection else {
        server.counters.handshakes_failed.bump();
        return;
    };
    let _seat = match standing {
        Standing::Seated(seat) => seat,
        Standing::Unproven(unproven) => {
            drop(unproven);
            match server.seat(peers) {
                Ok(seat) => seat,
                Err(_) => {
                    connection.close(VarInt::from_u32(Code::ExcessiveLoad.number()), b"");
                    return;
                }
            }
        }
    };
    http3::serve(server, connection, peers, place, shutdown).await;
}
