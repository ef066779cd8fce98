//! Listening: one thread a core, each with its own socket and its own runtime.
//!
//! The kernel spreads connections over the sockets (SO_REUSEPORT); a connection
//! stays on the thread that accepted it, so nothing is shared on its way but the
//! store.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use base::network::Block;
use base::{Shutdown, task};
use futures_util::FutureExt;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::Server;
use crate::connection;
use crate::defence::Seat;
use crate::journey::Peers;
use crate::socket;
use crate::tls;
use crate::watch::SWEEP_INTERVAL_MS;

/// Connections that the kernel holds for us while we are busy.
const BACKLOG: i32 = 4096;
/// How often a closing server looks whether it is done.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// How long to leave `accept` alone when it fails for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A bound address, not yet served.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
    is_for_tls: bool,
}

impl Listener {
    /// Binds an address. Several listeners of this process may share it.
    ///
    /// # Errors
    /// What the system says: in use, not ours, not allowed.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        // Accepted sockets inherit this on Linux, which saves a call a connection.
        socket.set_tcp_nodelay(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Self { socket: socket.into(), is_for_tls: false })
    }

    /// The same for visitors who come by TLS, if the server has any.
    #[must_use]
    pub fn for_tls(self) -> Self {
        Self { is_for_tls: true, ..self }
    }

    /// A socket that listens already, opened by somebody else. Several of ours may share it.
    ///
    /// # Errors
    /// It can't be set up as ours are.
    pub fn of(socket: &std::net::TcpListener) -> io::Result<Self> {
        let socket = socket.try_clone()?;
        SockRef::from(&socket).set_tcp_nodelay(true)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, is_for_tls: false })
    }

    /// Another handle on the socket, for whoever is to listen on it next.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    /// Whether a process other than ours listens here already.
    ///
    /// Sharing a port is allowed to any process of the same user, so a second Wick
    /// would silently take half of the first one's visitors.
    ///
    /// # Errors
    /// The address is taken, or what else the system says.
    pub fn probe(address: SocketAddr) -> io::Result<()> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(1)
    }

    /// The address with the port that the system chose for port 0.
    ///
    /// # Errors
    /// The socket is broken.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts and serves until the signal to stop, then lets answers in flight finish.
    ///
    /// # Errors
    /// The socket can't be registered with this thread's runtime.
    pub async fn serve(self, server: Arc<Server>, shutdown: Shutdown) -> io::Result<()> {
        let address = self.socket.local_addr()?;
        let tls = server.tls.clone().filter(|_| self.is_for_tls);
        let listener = socket::listening(self.socket)?;
        let stop = shutdown.begun();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = socket::accept(&listener) => accepted,
                () = &mut stop => return Ok(()),
            };
            match accepted {
                Ok((io, peer)) => {
                    if server.watches.len() >= server.limits.connections_max {
                        server.counters.connections_refused.bump();
                        continue;
                    }
                    // Only a socket bound to all addresses must be asked which one was meant.
                    let local = match address.ip().is_unspecified() {
                        true => io.local_addr().unwrap_or(address),
                        false => address,
                    };
                    let peers = Peers::new(peer, local, "http");
                    let panics = &server.counters.panics;
                    if server.proxies.introduces(peer.ip()) {
                        let introduced = server.clone().serve_introduced(io, peers, tls.clone());
                        task::spawn_counted(panics, introduced);
                        continue;
                    }
                    let Ok(seat) = server.seat(peers) else { continue };
                    // Nothing more of it than this lives as long as the connection.
                    let leave = move |()| drop(seat);
                    match &tls {
                        Some(tls) => {
                            let served = tls::serve(server.clone(), tls.clone(), io, peers);
                            task::spawn_counted(panics, served.map(leave));
                        }
                        None => {
                            let served = connection::serve(server.clone(), io, peers);
                            task::spawn_counted(panics, served.map(leave));
                        }
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => {
                    server.counters.accept_failures.bump();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// A connection that was gone before we took it is nobody's failure.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

impl Server {
    /// Counts a connection of this visitor; programs on this machine are not counted.
    ///
    /// # Errors
    /// There are as many as one visitor may have, and that was counted.
    pub(crate) fn seat(&self, peers: Peers) -> Result<Option<Seat>, usize> {
        if peers.is_here {
            return Ok(None);
        }
        let at_once = self.limits.connections_per_address_max;
        let seat = self.callers.enter(Block::of(peers.peer.ip()), at_once);
        seat.map(Some).inspect_err(|_| self.counters.connections_of_one.bump())
    }

    /// Waits until the last connection is gone.
    pub async fn drained(&self) {
        while self.watches.len() > 0 {
            tokio::time::sleep(DRAIN_INTERVAL).await;
        }
    }

    /// Ends late connections, for as long as the server lives; on the signal to stop
    /// also idle ones, and after the grace all.
    pub async fn housekeeping(self: Arc<Self>, shutdown: Shutdown) {
        let mut tick = tokio::time::interval(Duration::from_millis(SWEEP_INTERVAL_MS));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !shutdown.has_begun() {
            tokio::select! {
                _ = tick.tick() => {}
                () = shutdown.begun() => {}
            }
            let late = self.watches.sweep(self.clock.now().ticks_ms, false);
            self.counters.connections_late.add(late as u64);
        }
        self.begin_closing();
        let is_leaving = self.is_leaving();
        let waits = if is_leaving { self.limits.idle_timeout } else { Duration::ZERO };
        let grace = self.limits.grace + waits;
        let deadline = self.clock.now().ticks_ms + grace.as_millis() as u64;
        let mut tick = tokio::time::interval(DRAIN_INTERVAL);
        while self.watches.len() > 0 {
            tick.tick().await;
            let now = self.clock.now().ticks_ms;
            self.watches.sweep(now, !is_leaving);
            if now >= deadline {
                self.watches.end_all();
            }
        }
    }
}
