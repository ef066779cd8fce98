//! The addresses that are served: looked at, bound once a thread, and listened on.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use base::Shutdown;
use base::complaint::complain;
use server::{Listener, Server};

use crate::plan::Plan;
use crate::run::{RunError, single_threaded};
use crate::service::Inherited;

/// What is served.
#[derive(Default)]
pub(crate) struct Listening {
    /// For HTTP.
    pub(crate) addresses: Vec<SocketAddr>,
    /// For HTTPS.
    pub(crate) addresses_tls: Vec<SocketAddr>,
    /// Handles on all sockets.
    pub(crate) sockets: Vec<OwnedFd>,
    pub(crate) threads: Vec<JoinHandle<()>>,
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

/// Binds every address once a thread, unless it was opened for us, and starts the threads.
pub(crate) fn begin(
    plan: &Plan,
    inherited: &Inherited,
    server: &Arc<Server>,
    [shutdown, abandon]: [&Shutdown; 2],
) -> Result<Listening, RunError> {
    let mut listening = Listening::default();
    let mut by_thread: Vec<Vec<Listener>> = (0..plan.threads).map(|_| Vec::new()).collect();
    for wanted in there(&plan.listen, inherited) {
        let address = bind(wanted, false, inherited, &mut by_thread, &mut listening.sockets)?;
        listening.addresses.push(address);
    }
    for wanted in there(&plan.listen_tls, inherited) {
        let address = bind(wanted, true, inherited, &mut by_thread, &mut listening.sockets)?;
        listening.addresses_tls.push(address);
    }
    if let Some(address) = listening.addresses_tls.first() {
        server.set_tls_port(address.port());
    }
    for (number, listeners) in by_thread.into_iter().enumerate() {
        let (server, shutdown, abandon) = (server.clone(), shutdown.clone(), abandon.clone());
        let runtime = single_threaded()?;
        let thread = std::thread::Builder::new()
            .name(format!("serve-{number}"))
            .spawn(move || runtime.block_on(serve_all(listeners, server, shutdown, abandon)))
            .map_err(|error| RunError::System("a thread", error))?;
        listening.threads.push(thread);
    }
    Ok(listening)
}

/// Binds one address; returns it with its port.
fn bind(
    wanted: SocketAddr,
    is_for_tls: bool,
    inherited: &Inherited,
    by_thread: &mut [Vec<Listener>],
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
        by_thread[thread].push(if is_for_tls { listener.for_tls() } else { listener });
    }
    Ok(address)
}

/// One thread's work.
async fn serve_all(
    listeners: Vec<Listener>,
    server: Arc<Server>,
    shutdown: Shutdown,
    abandon: Shutdown,
) {
    let serving = listeners.into_iter().map(|listener| {
        let (server, shutdown) = (server.clone(), shutdown.clone());
        async move {
            if let Err(error) = listener.serve(server, shutdown).await {
                complain(format_args!("a listener failed: {error}"));
            }
        }
    });
    futures_util::future::join_all(serving).await;
    // What is left when this returns goes with the thread's runtime.
    tokio::select! {
        () = server.drained() => {}
        () = abandon.begun() => {}
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
