//! The addresses that are served: looked at, bound once a thread, and listened on.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU16;
use std::thread::JoinHandle;
use std::time::Duration;

use base::Shutdown;
use base::complaint::complain;
use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use server::{HandedOver, Http3Handle, Http3Listener, Listener, Server};

use crate::plan::Plan;
use crate::run::{RunError, single_threaded};
use crate::service::Inherited;

/// How often it is seen whether another Wick has left its UDP port.
const FREE_INTERVAL: Duration = Duration::from_millis(20);

/// What is served.
#[derive(Default)]
pub(crate) struct Listening {
    /// For HTTP.
    pub(crate) addresses: Vec<SocketAddr>,
    /// For HTTPS.
    pub(crate) addresses_tls: Vec<SocketAddr>,
    /// For HTTP/3, over UDP.
    pub(crate) addresses_http3: Vec<SocketAddr>,
    pub(crate) sockets: Sockets,
    pub(crate) threads: Vec<JoinHandle<()>>,
}

/// Handles on all sockets, for a successor.
#[derive(Default)]
pub(crate) struct Sockets {
    pub(crate) listening: Vec<OwnedFd>,
    pub(crate) http3: Vec<Http3Handle>,
    /// Given when no other Wick reads those of HTTP/3.
    pub(crate) are_ours: Shutdown,
}

/// Whether every address can be had that was not opened for us.
pub(crate) fn probe(plan: &Plan, inherited: &Inherited) -> Result<(), RunError> {
    let all = [plan.listen.as_slice(), &plan.listen_tls].concat();
    for address in inherited.besides(&all) {
        complain(format_args!(
            "nothing is served on {address}, which was opened for it: add it to listen or \
             listen_tls"
        ));
    }
    for address in there(&all, inherited) {
        if inherited.of(address).is_empty() {
            Listener::probe(address).map_err(|error| RunError::Listen(address, error))?;
        }
    }
    Ok(())
}

/// Listening on all addresses means those of the families that there are.
fn there(all: &[SocketAddr], inherited: &Inherited) -> Vec<SocketAddr> {
    let is_there = |address: &SocketAddr| {
        let is_any = address.is_ipv6() && address.ip().is_unspecified();
        let is_sure = !is_any || all.len() == 1 || !inherited.of(*address).is_empty();
        is_sure || !Listener::probe(*address).is_err_and(|error| is_other_family(&error))
    };
    all.iter().copied().filter(is_there).collect()
}

/// Whether the machine has no IPv6: not at all, or none at the moment.
fn is_other_family(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(number, Some(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::ADDRNOTAVAIL))
}

/// An address of HTTP/3.
struct Http3 {
    address: SocketAddr,
    /// None: another Wick, whose place this one takes, has it yet and didn't hand it over.
    listener: Option<Http3Listener>,
    /// Where visitors of HTTPS are told of it from.
    told: Arc<AtomicU16>,
    /// Given when nobody else reads the socket.
    is_ours: Shutdown,
}

/// What one thread listens on.
#[derive(Default)]
struct Doors {
    listeners: Vec<Listener>,
    http3: Vec<Http3>,
}

/// Binds every address once a thread, unless it was opened for us, and starts the threads.
/// HTTP/3 has one socket for each address: one who `takes_over` reads it when it is told to.
pub(crate) fn begin(
    plan: &Plan,
    takes_over: bool,
    inherited: &mut Inherited,
    server: &Arc<Server>,
    [shutdown, abandon]: [&Shutdown; 2],
) -> Result<Listening, RunError> {
    let mut listening = Listening::default();
    let are_ours = listening.sockets.are_ours.clone();
    if !takes_over {
        are_ours.begin();
    }
    let mut by_thread: Vec<Doors> = (0..plan.threads).map(|_| Doors::default()).collect();
    for wanted in there(&plan.listen, inherited) {
        let address =
            bind(wanted, None, inherited, &mut by_thread, &mut listening.sockets.listening)?;
        listening.addresses.push(address);
    }
    for wanted in there(&plan.listen_tls, inherited) {
        let told = Arc::<AtomicU16>::default();
        let (doors, sockets) = (&mut by_thread, &mut listening.sockets.listening);
        let address = bind(wanted, Some(&told), inherited, doors, sockets)?;
        let wanted = plan.http3.then(|| inherited.take_http3(address));
        let http3 = wanted.and_then(|handed| bind_http3(address, handed, &are_ours, told));
        if let Some(http3) = http3 {
            let handle = http3.listener.as_ref().map(Http3Listener::handle);
            listening.sockets.http3.extend(handle);
            // Not all on the first, and not where the main thread would be, if there are more.
            let thread = (listening.addresses_http3.len() + 1) % by_thread.len();
            by_thread[thread].http3.push(http3);
            listening.addresses_http3.push(address);
        }
        listening.addresses_tls.push(address);
    }
    if let Some(address) = listening.addresses_tls.first() {
        server.set_tls_port(address.port());
    }
    for (number, doors) in by_thread.into_iter().enumerate() {
        let (server, shutdown, abandon) = (server.clone(), shutdown.clone(), abandon.clone());
        let runtime = single_threaded()?;
        let thread = std::thread::Builder::new()
            .name(format!("serve-{number}"))
            .spawn(move || runtime.block_on(serve_all(doors, server, shutdown, abandon)))
            .map_err(|error| RunError::System("a thread", error))?;
        listening.threads.push(thread);
    }
    Ok(listening)
}

/// Binds one address over UDP, unless another Wick has handed it over. Without it a site is served
/// too.
fn bind_http3(
    address: SocketAddr,
    handed: Option<HandedOver>,
    is_ours: &Shutdown,
    told: Arc<AtomicU16>,
) -> Option<Http3> {
    let is_ours = is_ours.clone();
    match handed.map_or_else(|| Http3Listener::bind(address), Http3Listener::of) {
        Ok(listener) => Some(Http3 { address, listener: Some(listener), told, is_ours }),
        // One that didn't hand it over has it until it leaves.
        Err(error) if !is_ours.has_begun() && error.kind() == io::ErrorKind::AddrInUse => {
            Some(Http3 { address, listener: None, told, is_ours })
        }
        Err(error) => {
            complain(explain_http3(address, &error));
            None
        }
    }
}

/// Binds one address; returns it with its port. `tls`: for visitors who come by it, who are told
/// of HTTP/3 from there.
fn bind(
    wanted: SocketAddr,
    tls: Option<&Arc<AtomicU16>>,
    inherited: &Inherited,
    by_thread: &mut [Doors],
    handles: &mut Vec<OwnedFd>,
) -> Result<SocketAddr, RunError> {
    let failed = |error| RunError::Listen(wanted, error);
    let opened = inherited.of(wanted);
    let mut address = wanted;
    // Every socket that was opened is listened on, or who comes to it would wait for ever.
    for number in 0..opened.len().max(by_thread.len()) {
        let listener = match opened.get(number % opened.len().max(1)) {
            Some(socket) => Listener::of(socket).map_err(failed)?,
            None => Listener::bind(address).map_err(failed)?,
        };
        // Port 0 is chosen by the first socket; the others must share it.
        address = listener.address().map_err(failed)?;
        if number < opened.len() || opened.is_empty() {
            handles.push(listener.handle().map_err(failed)?);
        }
        let thread = number % by_thread.len();
        by_thread[thread].listeners.push(match tls {
            Some(http3_port) => listener.for_tls().telling(http3_port.clone()),
            None => listener,
        });
    }
    Ok(address)
}

/// One thread's work.
async fn serve_all(doors: Doors, server: Arc<Server>, shutdown: Shutdown, abandon: Shutdown) {
    let http3 = doors.http3.into_iter().map(|it| it.serve(server.clone(), shutdown.clone()));
    let serving = doors.listeners.into_iter().map(|listener| {
        let (server, shutdown) = (server.clone(), shutdown.clone());
        async move {
            if let Err(error) = listener.serve(server, shutdown).await {
                complain(format_args!("a listener failed: {error}"));
            }
        }
    });
    let serving = join(join_all(serving), join_all(http3));
    // What is left when this returns goes with the thread's runtime.
    tokio::select! {
        () = serving.then(|_| server.drained()) => {}
        () = abandon.begun() => {}
    }
}

impl Http3 {
    /// Serves from when the address can be had to the stop.
    async fn serve(self, server: Arc<Server>, shutdown: Shutdown) {
        let mut listener = self.listener;
        tokio::select! {
            () = self.is_ours.begun() => {}
            () = shutdown.begun() => return,
        }
        let served = loop {
            match listener.map_or_else(|| Http3Listener::bind(self.address), Ok) {
                Ok(listener) => break listener.serve(server, self.told, shutdown).await,
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => break Err(error),
                Err(_) => listener = None,
            }
            tokio::select! {
                () = tokio::time::sleep(FREE_INTERVAL) => {}
                () = shutdown.begun() => return,
            }
        };
        if let Err(error) = served {
            complain(explain_http3(self.address, &error));
        }
    }
}

pub(crate) fn explain_http3(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "HTTP/3 is not served on {address}: something has that UDP port already; stop it \
             (\"ss -lunp sport = :{port}\" names it), or set http3 = false"
        ),
        _ => format!("HTTP/3 is not served on {address} ({error}): see to it or set http3 = false"),
    }
}

pub(crate) fn explain_listen(address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "something listens on {address} already: stop it (\"ss -ltnp sport = :{port}\" names it), \
             or choose another address with --listen"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "this user may not listen on port {port}: run as root, or choose a port above 1023 with --listen"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "{} is not an address of this machine: choose another with --listen",
            address.ip()
        ),
        _ => format!("can't listen on {address}: {error}"),
    }
}
