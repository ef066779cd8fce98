//! The admin listener: how Wick, its sites and its machine are, for their owner and for programs.
//!
//! It has a thread of its own, with one runtime: [`watch`] looks at everything once a second,
//! [`serve`] answers by the last look, [`asked`] by what was counted and learned, [`munin`] tells
//! it in another protocol, [`acts`] does what little may be done. [`guard`] decides who may ask. Why it is so: `docs/decisions/admin.md`.
//! Invariant: Wick serves its sites the same whether this is there or not.

mod acts;
mod alarm;
mod asked;
mod cluster_metrics;
mod guard;
mod metrics;
mod modules;
mod munin;
mod now;
mod page;
mod plan;
mod serve;
mod stream;
mod subjects;
mod token;
mod watch;

use base::complaint::complain;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::{Counter, Shutdown};
use observe::machine::Meter;
use server::Server;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch as telling};

pub(crate) use now::hits;
pub(crate) use plan::{AdminPlan, AdminPlanError, AdminSetting, AdminWritten, StatusPath};
pub(crate) use subjects::{PhpSelf, Restarts, Subject};

use crate::observing::Observing;
use crate::run::{RunError, single_threaded};
use acts::Acting;
use alarm::Alarm;
use asked::Asked;
use serve::Admin;
use stream::Streams;
use watch::{AdminCounters, Watch, Watched};

/// How often and how long it is waited for a predecessor to leave its address.
const FREE_TRIES: u32 = 500;
const FREE_INTERVAL: Duration = Duration::from_millis(10);
/// Changes of the sites that may wait to be noticed.
const REPLACED_MAX: usize = 4;

/// What the admin listener is begun with.
pub(crate) struct Beginning<'a> {
    pub(crate) plan: &'a AdminPlan,
    pub(crate) server: &'a Arc<Server>,
    pub(crate) observing: &'a Arc<Observing>,
    pub(crate) memory_bytes: u64,
    pub(crate) log_lost: Option<Arc<Counter>>,
    /// On how many addresses HTTP/3 is listened for.
    pub(crate) http3_addresses: usize,
    pub(crate) meter: Meter,
    pub(crate) subjects: Vec<Subject>,
    /// Where requests to origins are at home.
    pub(crate) road: Handle,
    /// Whether another Wick may still have the address for a moment.
    pub(crate) waits: bool,
    pub(crate) shutdown: &'a Shutdown,
}

/// The admin listener at work; it ends at the signal to stop.
pub(crate) struct Listening {
    pub(crate) address: Option<SocketAddr>,
    /// What is told at the start where the address could not be had.
    pub(crate) trouble: Option<String>,
    replaced: mpsc::Sender<Vec<Subject>>,
    thread: JoinHandle<()>,
}

/// Whether the addresses that the owner named can be had.
pub(crate) fn probe(plan: &AdminPlan) -> Result<(), RunError> {
    let named = plan.address.filter(|_| plan.is_named).map(|address| ("admin", address));
    for (setting, address) in named.into_iter().chain(plan.munin.map(|at| ("munin", at))) {
        std::net::TcpListener::bind(address)
            .map_err(|error| RunError::Admin(setting, address, error))?;
    }
    Ok(())
}

/// Begins to look and to tell; none where nothing is to be looked at.
pub(crate) fn begin(beginning: Beginning<'_>) -> Result<Option<Listening>, RunError> {
    let plan = beginning.plan;
    if !plan.is_watched {
        return Ok(None);
    }
    let mut trouble = None;
    let mut open = |setting, address: Option<SocketAddr>| {
        let door = address.map(|address| Door::open(setting, address, beginning.waits));
        door.and_then(|door| door.map_err(|why| trouble = Some(why)).ok())
    };
    let doors = [open("admin", plan.address), open("munin", plan.munin)];
    let address = doors[0].as_ref().map(Door::address);
    let (replaced, receiver) = mpsc::channel(REPLACED_MAX);
    let (counters, streams) = (Arc::<AdminCounters>::default(), Streams::default());
    let watched = beginning.watched(&counters, &streams);
    let asked = Asked::new(beginning.server, beginning.observing, plan.guard.token.is_some());
    let acting = Acting { server: beginning.server.clone(), road: beginning.road };
    let (guard, alarm) = (plan.guard.clone(), plan.alarm.clone());
    let (runtime, shutdown) = (single_threaded()?, beginning.shutdown.clone());
    let (meter, subjects) = (beginning.meter, beginning.subjects);
    let work = async move {
        let mut watch = Watch::new(watched, meter);
        watch.replace(subjects);
        watch.tell_by(Alarm::begin(alarm, counters.clone()));
        let (told, looks) = telling::channel(watch.look());
        let [door, munin] = doors;
        if let Some(door) = door {
            let admin =
                Arc::new(Admin { guard, looks: looks.clone(), streams, counters, asked, acting });
            tokio::spawn(async move {
                if let Some(listener) = door.listener().await {
                    serve::serve(listener, admin).await;
                }
            });
        }
        if let Some(door) = munin {
            tokio::spawn(async move {
                if let Some(listener) = door.listener().await {
                    munin::serve(listener, looks).await;
                }
            });
        }
        tokio::select! {
            () = watch.run(told, receiver) => {}
            () = shutdown.begun() => {}
        }
    };
    let thread = std::thread::Builder::new()
        .name("admin".into())
        .spawn(move || {
            runtime.block_on(work);
            // A name that is being looked up for a database can't be given up.
            runtime.shutdown_background();
        })
        .map_err(|error| RunError::System("a thread", error))?;
    Ok(Some(Listening { address, trouble, replaced, thread }))
}

impl Beginning<'_> {
    fn watched(&self, counters: &Arc<AdminCounters>, streams: &Streams) -> Watched {
        Watched {
            server: self.server.clone(),
            observing: self.observing.clone(),
            memory_bytes: self.memory_bytes,
            log_lost: self.log_lost.clone(),
            http3_addresses: self.http3_addresses,
            counters: counters.clone(),
            audience: streams.audience.clone(),
            began: Instant::now(),
        }
    }
}

/// An address that is listened on, or will be once the Wick before this one has left it.
enum Door {
    Open(std::net::TcpListener, SocketAddr),
    Later(&'static str, SocketAddr),
}

impl Door {
    fn open(setting: &'static str, address: SocketAddr, waits: bool) -> Result<Self, String> {
        let bound = std::net::TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self::Open(listener, address))
        });
        match bound {
            Err(error) if waits && error.kind() == io::ErrorKind::AddrInUse => {
                Ok(Self::Later(setting, address))
            }
            bound => bound.map_err(|error| explain(setting, address, &error)),
        }
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Open(_, address) | Self::Later(_, address) => *address,
        }
    }

    async fn listener(self) -> Option<TcpListener> {
        let (setting, address) = match self {
            Self::Open(listener, _) => return TcpListener::from_std(listener).ok(),
            Self::Later(setting, address) => (setting, address),
        };
        let mut tried = TcpListener::bind(address).await;
        for _ in 0..FREE_TRIES {
            if tried.is_ok() {
                break;
            }
            tokio::time::sleep(FREE_INTERVAL).await;
            tried = TcpListener::bind(address).await;
        }
        let told = |error: io::Error| complain(explain(setting, address, &error));
        tried.map_err(told).ok()
    }
}

/// Why an address can't be had, and what to write.
pub(crate) fn explain(setting: &str, address: SocketAddr, error: &io::Error) -> String {
    let port = address.port();
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "something listens on {address} already: stop it (\"ss -ltnp sport = :{port}\" names \
             it), or write another address, or \"off\", in {setting} = \"…\" of wick.toml"
        ),
        _ => format!(
            "can't listen on {address}: {error}; write another address in {setting} = \"…\" of \
             wick.toml"
        ),
    }
}

impl Listening {
    /// Asks these sites' servers from now on.
    pub(crate) fn replace(&self, subjects: Vec<Subject>) {
        // If so many reloads wait already, a later one says the same or more.
        let _ = self.replaced.try_send(subjects);
    }

    /// Waits for its end, after the signal to stop.
    pub(crate) fn join(self) {
        if self.thread.join().is_err() {
            complain("the admin thread panicked; please report it");
        }
    }
}

#[cfg(test)]
mod tests;
