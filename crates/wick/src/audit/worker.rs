//! `wick audit worker`, and the door of an audit that workers join.
//!
//! Invariant: the token is in no argument, and nowhere in what is written.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::audit::{Door, Worker, WorkersToken};
use base::complaint::complain;
use clap::Args;
use tokio::runtime::Runtime;
use tokio::time::interval;
use url::Url;

use super::queue::{QueueTyped, QueueWorker};
use super::{FAILED, LOOK, STOPPED, read_url};
use crate::bench::listen;
use crate::live_line::LiveLine;
use crate::plan::default_state;
use crate::run::single_threaded;

/// The token's file in the folder of the audits, unless another is named.
const TOKEN_FILE: &str = "workers.token";

/// `wick audit worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerTyped {
    /// The coordinator: where `wick audit --workers` listens.
    #[arg(long, value_name = "URL", value_parser = read_url, required_unless_present = "nats")]
    #[arg(group = "ways")]
    join: Option<Url>,
    /// Where the queue is, if there is one.
    #[command(flatten)]
    queue: QueueTyped,
    /// A file with the coordinator's token; WICK_AUDIT_TOKEN goes before it [default: the file
    /// that a coordinator on this machine makes in its state folder].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Where the token is.
pub(super) fn token_file(typed: Option<&Path>, state: Option<&Path>) -> PathBuf {
    let own = || state.map_or_else(default_state, Path::to_owned).join("audit").join(TOKEN_FILE);
    typed.map_or_else(own, Path::to_owned)
}

/// Works for a coordinator until it has no more to do.
pub(super) fn run(typed: &WorkerTyped) -> Result<ExitCode, Box<dyn Error>> {
    let token = WorkersToken::read(&token_file(typed.token_file.as_deref(), None))?;
    let interrupted = listen()?;
    let runtime = single_threaded()?;
    let (ended, pages) = match (&typed.join, &typed.queue.nats) {
        (Some(coordinator), _) => {
            let worker = Worker::new(coordinator.clone(), token)?;
            let work = async { worker.work().await.map_err(Box::from) };
            let ended = runtime.block_on(unless(work, || worker.done(), &interrupted));
            (ended, worker.done())
        }
        (None, servers) => {
            let servers = servers.as_deref().unwrap_or_default();
            let worker = QueueWorker::reach(&typed.queue, servers, &token);
            let worker = Arc::new(runtime.block_on(worker)?);
            let work = worker.work();
            let ended = runtime.block_on(unless(work, || worker.done(), &interrupted));
            (ended, worker.done())
        }
    };
    match ended {
        Some(Ok(())) => {
            complain(format_args!(
                "the audit is over; {pages} addresses of it were asked for here"
            ));
            Ok(ExitCode::SUCCESS)
        }
        Some(Err(error)) => {
            complain(&error);
            Ok(ExitCode::from(FAILED))
        }
        None => Ok(ExitCode::from(STOPPED)),
    }
}

/// How the work ends; none if somebody has had enough before.
async fn unless(
    work: impl Future<Output = Result<(), Box<dyn Error>>>,
    done: impl Fn() -> usize,
    interrupted: &Arc<AtomicBool>,
) -> Option<Result<(), Box<dyn Error>>> {
    tokio::select! {
        ended = work => Some(ended),
        () = watch(done, interrupted) => None,
    }
}

/// Shows on a terminal how much was done, until somebody has had enough.
async fn watch(done: impl Fn() -> usize, interrupted: &Arc<AtomicBool>) {
    let (mut line, mut looks) = (LiveLine::default(), interval(LOOK));
    while !interrupted.load(Ordering::Relaxed) {
        looks.tick().await;
        if line.is_time() {
            line.write(&format!("{} addresses", done()));
        }
    }
}

/// Opens the door, and says how to come in.
pub(super) fn open(
    runtime: &Runtime,
    address: SocketAddr,
    token_file: &Path,
) -> Result<Door, Box<dyn Error>> {
    let token = WorkersToken::read_or_make(token_file)?;
    let door = runtime.block_on(Door::open(address, token))?;
    let at = door.address();
    complain(format_args!(
        "workers do the work: wick audit worker --join http://{at}/ --token-file {}",
        token_file.display()
    ));
    Ok(door)
}

/// An address to listen at; of this machine alone where only a port is given.
pub(super) fn read_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let wrong = || "write a port, or an address and a port as in 192.0.2.1:7700".to_owned();
    port.or_else(|_| text.parse()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_come_from_this_machine_alone_unless_an_address_is_named() {
        let address = |text: &str| read_address(text).map(|address| address.to_string());
        assert_eq!(address("7700"), Ok("127.0.0.1:7700".to_owned()));
        assert_eq!(address("0.0.0.0:7700"), Ok("0.0.0.0:7700".to_owned()));
        assert_eq!(address("[::1]:7700"), Ok("[::1]:7700".to_owned()));
        for wrong in ["", "70000", "localhost:7700", "192.0.2.1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
