//! Sockets for the loops: a listener that threads can share a port on, and accepting.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// Events taken from the kernel in one call.
pub(crate) const EVENTS_MAX: usize = 512;

/// The epoll datum of the listener; connections are numbered from zero.
pub(crate) const LISTENER: u64 = u64::MAX;

/// A non-blocking listener. Accepted sockets inherit TCP_NODELAY from it, which
/// saves a call a connection.
pub(crate) fn listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, 16_384)?;
    Ok(socket)
}

/// The next waiting connection, already non-blocking; `None` when nobody waits.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<Option<TcpStream>> {
    match net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        Ok(socket) => Ok(Some(TcpStream::from(socket))),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// An epoll set and the events of its last wait.
pub(crate) struct Readiness {
    set: OwnedFd,
    events: Vec<Event>,
}

impl Readiness {
    pub(crate) fn new() -> io::Result<Self> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { set, events: Vec::with_capacity(EVENTS_MAX) })
    }

    pub(crate) fn add(&self, socket: impl rustix::fd::AsFd, number: u64) -> io::Result<()> {
        Ok(epoll::add(&self.set, socket, EventData::new_u64(number), EventFlags::IN)?)
    }

    /// Asks for room to write as well; only a reader that lags behind needs it.
    pub(crate) fn want_write(
        &self,
        socket: impl rustix::fd::AsFd,
        number: u64,
        want: bool,
    ) -> io::Result<()> {
        let flags = if want { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.set, socket, EventData::new_u64(number), flags)?)
    }

    /// Blocks until something is ready and gives the numbers of the ready sockets.
    pub(crate) fn wait(&mut self) -> io::Result<impl Iterator<Item = u64>> {
        self.events.clear();
        match epoll::wait(&self.set, rustix::buffer::spare_capacity(&mut self.events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.events.drain(..).map(|event| event.data.u64()))
    }
}
