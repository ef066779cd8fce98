//! Listening: one thread a core, each with its own socket and its own runtime.
//!
//! The kernel spreads connections over the sockets (SO_REUSEPORT); a connection
//! stays on the thread that accepted it, so nothing is shared on its way but the
//! store.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use base::listening::defer_accept;
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
/// How often a closing server looks whether it is done, at first.
const DRAIN_INTERVAL: Duration = Duration::from_millis(20);
/// How long to leave `accept` alone when it fails for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A bound address, not yet served.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
    is_for_tls: bool,
    /// On which port HTTP/3 is spoken to the same visitors; 0: on none.
    http3_port: Arc<AtomicU16>,
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
        defer_accept(&socket)?;
        socket.listen(BACKLOG)?;
        Ok(Self { socket: socket.into(), is_for_tls: false, http3_port: Arc::default() })
    }

    /// The same for visitors who come by TLS, if the server has any.
    #[must_use]
    pub fn for_tls(self) -> Self {
        Self { is_for_tls: true, ..self }
    }

    /// Tells visitors on which port they find HTTP/3, as long as there is one.
    #[must_use]
    pub fn telling(self, http3_port: Arc<AtomicU16>) -> Self {
        Self { http3_port, ..self }
    }

    /// A socket that listens already, opened by somebody else. Several of ours may share it.
    ///
    /// # Errors
    /// It can't be set up as ours are.
    pub fn of(socket: &std::net::TcpListener) -> io::Result<Self> {
        let socket = socket.try_clone()?;
        SockRef::from(&socket).set_tcp_nodelay(true)?;
        defer_accept(&socket)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, is_for_tls: false, http3_port: Arc::default() })
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
                    if server.watches.len() >= server.limits().connections_max {
                        server.counters.connections_refused.bump();
                        continue;
                    }
                    // Only a socket bound to all addresses must be asked which one was meant.
                    let local = match address.ip().is_unspecified() {
                        true => io.local_addr().unwrap_or(address),
                        false => address,
                    };
                    let mut peers = Peers::new(peer, local, "http");
                    let panics = &server.counters.panics;
                    if server.proxies.introduces(peer.ip()) {
                        let introduced = server.clone().serve_introduced(io, peers, tls.clone());
                        task::spawn_counted(panics, introduced);
                        continue;
                    }
                    let Ok(seat) = server.seat(peers) else { continue };
                    // A proxy would tell it to others, who don't come to us.
                    if tls.is_some() && !server.proxies.trusts(peer.ip()) {
                        peers.http3_port = self.http3_port.load(Ordering::Relaxed);
                    }
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
        let at_once = self.limits().connections_per_address_max;
        let seat = self.callers.enter(Block::of(peers.peer.ip()), at_once);
        seat.map(Some).inspect_err(|_| self.counters.connections_of_one.bump())
    }

    /// Waits until the last connection is gone.
    pub async fn drained(&self) {
        let began = self.clock.now().ticks_ms;
        while self.watches.len() > 0 {
            let waited = Duration::from_millis(self.clock.now().ticks_ms - began);
            tokio::time::sleep(drain_pause(waited)).await;
        }
    }

    /// Ends late connections, for as long as the server lives; on the signal to stop
    /// also idle ones, and after the grace all.
    ///
    /// Where another process takes the place of this one, idle ones wait for their next
    /// request, and what is under way goes on for as long as it may: a tunnel or a stream of
    /// events that is cut is noticed by its visitor.
    pub async fn housekeeping(self: Arc<Self>, shutdown: Shutdown) {
        let mut tick = tokio::time::interval(Duration::from_millis(SWEEP_INTERVAL_MS));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !shutdown.has_begun() {
            tokio::select! {
                _ = tick.tick() => {}
                () = shutdown.begun() => {}
            }
            let ticks_ms = self.clock.now().ticks_ms;
            let late = self.watches.sweep(ticks_ms, false);
            self.counters.connections_late.add(late as u64);
            for site in self.sites().all() {
                site.alike.forget_old(ticks_ms, site.generations.content());
            }
            self.answer_who_asked();
        }
        self.begin_closing();
        self.drain().await;
    }

    /// Waits for the last connections, and ends those that take too long.
    async fn drain(&self) {
        let is_leaving = self.is_leaving();
        let grace = if is_leaving { self.limits().long_leave() } else { self.limits().grace };
        let began = self.clock.now().ticks_ms;
        let mut waited = Duration::ZERO;
        while self.watches.len() > 0 {
            if is_leaving && waited >= self.limits().short_leave() {
                // Nobody asks here any more, and the other one needs the room.
                self.set_memory_limit(0);
            }
            self.watches.sweep(began + waited.as_millis() as u64, !is_leaving);
            if waited >= grace {
                self.counters.connections_cut.add(self.watches.end_all() as u64);
            }
            tokio::time::sleep(drain_pause(waited)).await;
            waited = Duration::from_millis(self.clock.now().ticks_ms - began);
        }
    }
}

/// How long to leave connections alone that were waited for so long: most end at once, and
/// the last ones may stay for an hour.
fn drain_pause(waited: Duration) -> Duration {
    (waited / 64).clamp(DRAIN_INTERVAL, Duration::from_millis(SWEEP_INTERVAL_MS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, ServerConfig};

    /// When a connection in the middle of something, and one that waits, are ended.
    async fn ends(is_leaving: bool) -> [u64; 2] {
        let limits = Limits { upgrade_grace: Duration::from_secs(3600), ..Limits::default() };
        let clock = base::Clock::manual(1_700_000_000_000);
        let server = Server::new(ServerConfig { limits, ..ServerConfig::default() }, clock.clone());
        if is_leaving {
            server.begin_leaving();
        }
        let shutdown = Shutdown::default();
        shutdown.begin();
        let (mut busy, mut idle) = (Some(server.watches.enter()), Some(server.watches.enter()));
        let watch = idle.as_ref().expect("it was entered").watch();
        watch.set_idle(true);
        watch.set(clock.now().ticks_ms + server.limits().idle_timeout.as_millis() as u64);
        let housekeeping = tokio::spawn(server.clone().housekeeping(shutdown));
        let (mut ended, mut second) = ([0; 2], 0);
        while busy.is_some() || idle.is_some() {
            for (place, end) in [&mut busy, &mut idle].into_iter().zip(&mut ended) {
                if place.take_if(|place| place.has_fired()).is_some() {
                    *end = second;
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            clock.advance_ms(1000);
            second += 1;
        }
        housekeeping.await.expect("it ends with the last connection");
        assert_eq!(server.counters.connections_cut.read(), 1, "the one that waits is not cut");
        assert_eq!(server.memory().limit_bytes == 0, is_leaving);
        ended
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_stays_longer_where_another_one_serves() {
        let at_a_stop = ends(false).await;
        assert!(at_a_stop[1] <= 1 && (30..=32).contains(&at_a_stop[0]), "{at_a_stop:?}");
        let leaving = ends(true).await;
        assert!((60..=62).contains(&leaving[1]), "{leaving:?}");
        assert!((3600..=3602).contains(&leaving[0]), "{leaving:?}");
    }
}
