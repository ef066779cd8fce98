//! Wick as a service of systemd: sockets that were opened for it, and what it tells back.
//!
//! Elsewhere there are none, and nobody is told.

use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use sd_notify::NotifyState;

/// Sockets that the process was started with. They are taken at most once.
pub(crate) struct Inherited {
    sockets: Vec<(SocketAddr, TcpListener)>,
}

impl Inherited {
    /// Takes those that listen for connections.
    pub(crate) fn take() -> io::Result<Self> {
        let mut given = ListenFd::from_env();
        let mut sockets = Vec::new();
        for index in 0..given.len() {
            if let Some(socket) = given.take_tcp_listener(index)? {
                sockets.push((socket.local_addr()?, socket));
            }
        }
        Ok(Self { sockets })
    }

    /// The one that listens on this address, if there is one.
    pub(crate) fn of(&self, address: SocketAddr) -> Option<&TcpListener> {
        self.sockets.iter().find(|(own, _)| *own == address).map(|(_, socket)| socket)
    }

    /// Those of which nothing is said in the settings.
    pub(crate) fn besides(&self, wanted: &[SocketAddr]) -> Vec<SocketAddr> {
        let all = self.sockets.iter().map(|(own, _)| *own);
        all.filter(|own| !wanted.contains(own)).collect()
    }
}

/// What the service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Serves,
    Reloads,
    Stops,
}

/// Tells systemd; whoever else started Wick doesn't ask.
pub(crate) fn tell(doing: Doing) {
    let state = match doing {
        Doing::Serves => NotifyState::Ready,
        Doing::Reloads => NotifyState::Reloading,
        Doing::Stops => NotifyState::Stopping,
    };
    if let Err(error) = sd_notify::notify(&[state]) {
        eprintln!("wick: systemd can't be told that it {doing:?}: {error}");
    }
}
