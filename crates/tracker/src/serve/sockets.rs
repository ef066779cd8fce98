//! The tracker's own sockets: bound, or taken over from the process before.
//!
//! Each thread has one of each address for itself, among which the system spreads clients
//! (SO_REUSEPORT). IPv4 and IPv6 are apart.
//! Invariant: a process that takes over reads every socket that it is given, or who comes to one
//! would wait for ever.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use base::listening::defer_accept;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the system holds for us while we are busy.
const BACKLOG: i32 = 4096;
/// Bytes of datagrams that the system holds for us: those of some seconds, as when another
/// process takes over. Who may administer the network is given all of it; others get less where
/// the system's own bound (`net.core.rmem_max`) is lower.
pub const UDP_BUFFER_BYTES: usize = 8 << 20;

/// Sockets that are bound.
#[derive(Debug, Default)]
pub struct Sockets {
    pub(super) http: Vec<TcpListener>,
    pub(super) udp: Vec<UdpSocket>,
}

impl Sockets {
    /// Binds every address once for each thread, over TCP and, if `udp`, over UDP.
    ///
    /// # Errors
    /// An address can't be had; what the system says.
    pub fn bind(
        addresses: &[SocketAddr],
        udp: bool,
        threads: usize,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let mut sockets = Self::default();
        for &wanted in addresses {
            let failed = |error| (wanted, error);
            let mut address = wanted;
            for _ in 0..threads {
                let http = bind_http(address).map_err(failed)?;
                // Port 0 is chosen by the first; the others share it.
                address = http.local_addr().map_err(failed)?;
                sockets.http.push(http);
                if udp {
                    sockets.udp.push(bind_udp(address).map_err(failed)?);
                }
            }
        }
        Ok(sockets)
    }

    /// Those that the process before has handed over.
    ///
    /// # Errors
    /// They are something else.
    pub fn of_handles(http: Vec<OwnedFd>, udp: Vec<OwnedFd>) -> io::Result<Self> {
        let http: Vec<TcpListener> = http.into_iter().map(TcpListener::from).collect();
        let udp: Vec<UdpSocket> = udp.into_iter().map(UdpSocket::from).collect();
        http.iter().try_for_each(|socket| socket.local_addr().map(drop))?;
        udp.iter().try_for_each(|socket| socket.local_addr().map(drop))?;
        Ok(Self { http, udp })
    }

    /// Other handles on all of them, for who is to take over: those of TCP, those of UDP.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn handles(&self) -> io::Result<(Vec<OwnedFd>, Vec<OwnedFd>)> {
        let http = self.http.iter().map(|socket| socket.try_clone().map(OwnedFd::from));
        let udp = self.udp.iter().map(|socket| socket.try_clone().map(OwnedFd::from));
        Ok((http.collect::<io::Result<_>>()?, udp.collect::<io::Result<_>>()?))
    }

    /// Where they are, each address once: those of TCP, those of UDP.
    #[must_use]
    pub fn addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let mut http: Vec<_> = self.http.iter().filter_map(|it| it.local_addr().ok()).collect();
        let mut udp: Vec<_> = self.udp.iter().filter_map(|it| it.local_addr().ok()).collect();
        http.dedup();
        udp.dedup();
        (http, udp)
    }

    /// Whether these are the sockets for such settings.
    #[must_use]
    pub fn are_for(&self, addresses: &[SocketAddr], udp: bool) -> bool {
        let is_meant = |(own, wanted): (&SocketAddr, &SocketAddr)| {
            own == wanted || wanted.port() == 0 && own.ip() == wanted.ip()
        };
        let fit = |own: &[SocketAddr], wanted: &[SocketAddr]| {
            own.len() == wanted.len() && own.iter().zip(wanted).all(is_meant)
        };
        let (own, own_udp) = self.addresses();
        fit(&own, addresses) && fit(&own_udp, if udp { addresses } else { &[] })
    }

    /// Deals them out to threads.
    pub(super) fn dealt(self, threads: usize) -> Vec<Self> {
        let mut dealt: Vec<Self> = (0..threads.max(1)).map(|_| Self::default()).collect();
        let count = dealt.len();
        for (number, socket) in self.http.into_iter().enumerate() {
            dealt[number % count].http.push(socket);
        }
        for (number, socket) in self.udp.into_iter().enumerate() {
            dealt[number % count].udp.push(socket);
        }
        dealt
    }
}

/// Whether a process other than ours has an address already.
///
/// # Errors
/// It is taken, or what else the system says.
pub fn probe(address: SocketAddr, udp: bool) -> io::Result<()> {
    let socket = opened(address, Type::STREAM)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(1)?;
    if udp { opened(address, Type::DGRAM)?.bind(&address.into()) } else { Ok(()) }
}

fn opened(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let protocol = if kind == Type::DGRAM { Protocol::UDP } else { Protocol::TCP };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn bind_http(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = opened(address, Type::STREAM)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Accepted sockets inherit this on Linux.
    socket.set_tcp_nodelay(true)?;
    defer_accept(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn bind_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = opened(address, Type::DGRAM)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    make_room(&socket);
    Ok(socket.into())
}

/// Less room loses more when busy, and nothing else.
fn make_room(socket: &Socket) {
    if set_socket_recv_buffer_size_force(socket, UDP_BUFFER_BYTES).is_err() {
        let _ = socket.set_recv_buffer_size(UDP_BUFFER_BYTES);
    }
}

/// Bytes of datagrams that the system would hold for a socket of this process.
///
/// # Errors
/// What the system says.
pub fn udp_room(address: SocketAddr) -> io::Result<usize> {
    let socket = opened(address, Type::DGRAM)?;
    make_room(&socket);
    // Linux tells twice what it was asked for, since it counts its own records with it.
    Ok(socket.recv_buffer_size()? / 2)
}
