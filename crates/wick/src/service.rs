//! Wick as a service of systemd: sockets that were opened for it, and what it tells back.
//!
//! Elsewhere there are none, and nobody is told.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use base::complaint::complain;
use listenfd::ListenFd;
use sd_notify::NotifyState;
use server::HandedOver;
use tracker::serve::Sockets;

/// Sockets that the process was started with. They are taken at most once.
pub(crate) struct Inherited {
    sockets: Vec<(SocketAddr, TcpListener)>,
    /// For HTTP/3, until they are taken.
    http3: Vec<HandedOver>,
    /// The tracker's, until they are taken.
    tracker: Option<Sockets>,
    /// Those for clients of Sphinx's, until they are taken.
    sphinx: Vec<TcpListener>,
}

impl Inherited {
    /// Those that another Wick has handed over.
    pub(crate) fn of_handles(
        handles: Vec<OwnedFd>,
        http3: Vec<HandedOver>,
        tracker: Option<Sockets>,
        sphinx: Vec<TcpListener>,
    ) -> io::Result<Self> {
        let sockets = handles.into_iter().map(|handle| {
            let socket = TcpListener::from(handle);
            Ok((socket.local_addr()?, socket))
        });
        Ok(Self { sockets: sockets.collect::<io::Result<_>>()?, http3, tracker, sphinx })
    }

    /// Takes those that listen for connections.
    pub(crate) fn take() -> io::Result<Self> {
        let mut given = ListenFd::from_env();
        let mut sockets = Vec::new();
        for index in 0..given.len() {
            if let Some(socket) = given.take_tcp_listener(index)? {
                sockets.push((socket.local_addr()?, socket));
            }
        }
        Ok(Self { sockets, http3: Vec::new(), tracker: None, sphinx: Vec::new() })
    }

    /// Those that listen on this address; on any port, if none is asked for.
    pub(crate) fn of(&self, address: SocketAddr) -> Vec<&TcpListener> {
        let all = self.sockets.iter().filter(|(own, _)| is_meant(*own, address));
        all.map(|(_, socket)| socket).collect()
    }

    /// Takes the one for HTTP/3 on this address.
    pub(crate) fn take_http3(&mut self, address: SocketAddr) -> Option<HandedOver> {
        let at = self.http3.iter().position(|handed| handed.address == address)?;
        Some(self.http3.swap_remove(at))
    }

    /// Takes those of the tracker.
    pub(crate) fn take_tracker(&mut self) -> Option<Sockets> {
        self.tracker.take()
    }

    /// Takes those for clients of Sphinx's.
    pub(crate) fn take_sphinx(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.sphinx)
    }

    /// Those of which nothing is said in the settings.
    pub(crate) fn besides(&self, wanted: &[SocketAddr]) -> Vec<SocketAddr> {
        let all = self.sockets.iter().map(|(own, _)| *own);
        all.filter(|own| !wanted.iter().any(|one| is_meant(*own, *one))).collect()
    }
}

fn is_meant(own: SocketAddr, wanted: SocketAddr) -> bool {
    own == wanted || wanted.port() == 0 && own.ip() == wanted.ip()
}

/// What the service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Serves,
    Reloads,
    Stops,
}

/// Tells systemd that this process is the service now.
pub(crate) fn tell_of_succession() {
    let state = NotifyState::MainPid(std::process::id());
    if let Err(error) = sd_notify::notify(&[state]) {
        complain(format_args!("systemd can't be told of the new process: {error}"));
    }
}

/// Tells systemd; whoever else started Wick doesn't ask.
pub(crate) fn tell(doing: Doing) {
    let state = match doing {
        Doing::Serves => NotifyState::Ready,
        Doing::Reloads => NotifyState::Reloading,
        Doing::Stops => NotifyState::Stopping,
    };
    if let Err(error) = sd_notify::notify(&[state]) {
        complain(format_args!("systemd can't be told that it {doing:?}: {error}"));
    }
}
