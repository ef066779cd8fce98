//! `wick serve`: from a plan to a running server, and back.
//!
//! The main thread keeps the house (php-fpm, deadlines, memory, signals); each
//! serving thread has a runtime of its own. The order of stopping is the order of
//! starting turned round: listeners, answers in flight, PHP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base::complaint::complain;
use base::{Counter, Shutdown};
use observe::machine::Meter;
use server::{
    Aside, Done, Http3Handle, Limits, NoNotes, Notes, Order, Orders, Server, ServerConfig, Wanted,
};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracker::serve::Sockets as TrackerSockets;

use crate::arguments::Serve;
use crate::certificates::{CertificateError, Certificates, Prepared};
use crate::cluster::Joined;
use crate::companions::Companions;
use crate::control::{ControlError, ControlSocket};
use crate::listening::{self, Listening, Sockets, explain_listen};
use crate::log::AccessLog;
use crate::notebook::Notebook;
use crate::observing::{Keeping, Observing};
use crate::own_user::{self, OwnUserError};
use crate::plan::{Plan, PlanError};
use crate::service::{self, Doing, Inherited};
use crate::signals::{Heard, Signals};
use crate::sites::{SiteError, Started};
use crate::sphinx::{Answering, Port as SphinxPort, SphinxError};
use crate::traces::Exporting;
use crate::tracker::{TrackerError, Tracking};
use crate::upgrade::{self, Predecessor, Succession};
use crate::{admin, announce, app, changes, cluster, descriptors, disk, memory, reload, rulings};

/// Orders that may wait for the one that is carried out.
const ORDERS_MAX: usize = 4;
/// How long connections may take to notice that the grace is over.
const AFTER_GRACE: Duration = Duration::from_secs(1);

/// Why Wick stops before it serves; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It can't become the user that it is to serve as.
    #[error(transparent)]
    OwnUser(#[from] OwnUserError),
    /// A site can't be served.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// An address can't be listened on.
    #[error("{}", explain_listen(*.0, .1))]
    Listen(SocketAddr, io::Error),
    /// The admin listener can't be had where the owner wants it.
    #[error("{}", admin::explain(.0, *.1, .2))]
    Admin(&'static str, SocketAddr, io::Error),
    /// Other nodes can't be listened to where the owner wants it.
    #[error(
        "can't listen on {0} for the other nodes ({1}): stop what listens there, or name another \
         address by listen in [cluster]"
    )]
    Fellows(SocketAddr, io::Error),
    /// There is no TLS to be had.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The access log can't be opened.
    #[error(
        "can't write the access log {0}: {1}; name a file in a folder that this user may write to"
    )]
    AccessLog(String, io::Error),
    /// There is no tracker to be had.
    #[error(transparent)]
    Tracker(#[from] TrackerError),
    /// Clients of Sphinx's can't be answered.
    #[error(transparent)]
    Sphinx(#[from] SphinxError),
    /// The running Wick can't be asked.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The system refuses what every process needs.
    #[error("the system refuses {0}: {1}")]
    System(&'static str, io::Error),
    /// `wick check` found something.
    #[error("{0} to put right before Wick can serve")]
    Check(String),
    /// Ctrl-C came before the demo had its figures.
    #[error("stopped while measuring; nothing is left running or lying about")]
    Interrupted,
    /// The demo can't show what it was asked to.
    #[error("{0}")]
    Demo(String),
    /// The demo's figures are worth nothing.
    #[error("the measurement is void: {0}")]
    Void(String),
}

/// Serves until it is told to stop, or until another Wick serves in its place.
pub(crate) fn serve(arguments: &Serve) -> Result<(), RunError> {
    if let Some(keep_for) = &arguments.keep_for {
        return own_user::keep(arguments, keep_for);
    }
    let plan = Plan::of(arguments)?;
    own_user::enter(&plan, arguments)?;
    let runtime = single_threaded()?;
    runtime.block_on(async {
        let mut signals = listen_to_signals()?;
        let (orders, received) = mpsc::channel(ORDERS_MAX);
        let begin = Begin { caches: true, orders: Some(orders), takes_over: arguments.take_over };
        let mut running = Running::start(plan, begin).await?;
        running.begin_admin(arguments.take_over)?;
        announce::say(&announce::start(&running));
        service::tell(Doing::Serves);
        let end = running.obey(arguments, &mut signals, received).await;
        announce::say(match end {
            End::Stop => {
                service::tell(Doing::Stops);
                "\nStopping: answers in flight may finish (Ctrl-C again ends them).\n"
            }
            End::Leave => {
                running.server.begin_leaving();
                "\nAnother Wick serves from here on: this one ends what it has begun.\n"
            }
        });
        running.stop(&mut signals, end).await;
        announce::say(&announce::stop(&running.server, running.log_lost()));
        Ok(())
    })
}

/// Why a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Stop,
    /// Another one listens on its sockets.
    Leave,
}

/// How a server begins.
#[derive(Debug, Default)]
pub(crate) struct Begin {
    /// False only for comparison.
    pub(crate) caches: bool,
    /// Where orders go to; without it they are refused.
    pub(crate) orders: Option<Orders>,
    /// Whether it takes the place of another.
    pub(crate) takes_over: bool,
}

pub(crate) fn listen_to_signals() -> Result<Signals, RunError> {
    Signals::listen().map_err(|error| RunError::System("signals", error))
}

/// A server at work.
pub(crate) struct Running {
    pub(crate) plan: Plan,
    pub(crate) server: Arc<Server>,
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) addresses_tls: Vec<SocketAddr>,
    /// Over UDP.
    pub(crate) addresses_http3: Vec<SocketAddr>,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) found: Vec<String>,
    /// The sites' searches and audits.
    pub(crate) companions: Companions,
    /// The tracker beside the sites.
    pub(crate) tracker: Option<Arc<Tracking>>,
    /// Clients of Sphinx's beside the sites.
    pub(crate) sphinx: Option<Arc<Answering>>,
    /// The other nodes, where there are any.
    joined: Option<Joined>,
    pub(crate) log: Option<AccessLog>,
    /// Lines that this log and those before could not take.
    pub(crate) lost: Arc<Counter>,
    notebook: Option<Arc<Notebook>>,
    pub(crate) observing: Arc<Observing>,
    /// Writes the history, until the stop.
    keeping: Option<Keeping>,
    /// What sends traces to a collector.
    exporting: Option<Exporting>,
    control: Option<ControlSocket>,
    pub(crate) admin: Option<admin::Listening>,
    /// What it hands on to us, if a successor fails that had taken its place.
    orders: Option<Orders>,
    /// One for each of the plan's sites, in their order.
    pub(crate) started: Vec<Started>,
    /// Origins of earlier settings that still answer.
    pub(crate) leaving: JoinSet<()>,
    /// Counts up with each time that the settings are read again.
    pub(crate) reloads: u64,
    /// Who may take its place.
    succession: Succession,
    /// Whether its notebook is another's.
    is_lent: bool,
    threads: Vec<JoinHandle<()>>,
    sockets: Sockets,
    shutdown: Shutdown,
    /// Leaves connections as they are.
    abandon: Shutdown,
    housekeeping: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Starts everything a plan names; what was started is stopped again if the rest fails.
    pub(crate) async fn start(plan: Plan, begin: Begin) -> Result<Self, RunError> {
        let Begin { caches, orders, takes_over } = begin;
        let (shutdown, abandon) = (Shutdown::default(), Shutdown::default());
        let (predecessor, mut inherited) = opened(&plan, takes_over)?;
        listening::probe(&plan, &inherited)?;
        let mut beside = Beside::bind(&plan, &mut inherited)?;
        let prepared = Prepared::of(&plan)?;
        let (log, lost) = open_first_log(&plan)?;
        let disk = disk::begin(&plan);
        let reloads = numbered(takes_over);
        let (started, companions) = start_sites(&plan, reloads, caches).await?;
        let mut found = found(&plan, &started, caches, prepared.as_ref()).await;
        let notebook = open_notebook(&plan);
        let (observing, exporting) = observe(&plan);
        let config = ServerConfig {
            sites: started.iter().map(|site| site.config.clone()).collect(),
            access: log.as_ref().map(AccessLog::sink),
            observer: Some(observing.clone()),
            notes: notes(notebook.as_ref()),
            tls: prepared.as_ref().map(Prepared::tls),
            aside: beside.tracker.clone().map(|tracker| tracker as Arc<dyn Aside>),
            disk,
            ..configured(&plan, feasible(&plan.limits))
        };
        let (server, joined) = Joined::serve(&plan, config, &observing, takes_over).await;
        found.extend(disk::open(&server, &plan, &shutdown).await);
        // Before anybody can come.
        let certificates = prepared.map(|one| one.begin(Joined::certificates(joined.as_ref())));
        let ends = [&shutdown, &abandon];
        let begun = listening::begin(&plan, takes_over, &mut inherited, &server, ends);
        let (Listening { addresses, addresses_tls, addresses_http3, sockets, threads }, started) =
            given_up(begun, &shutdown, started).await?;
        let housekeeping = begin_beside(&server, &plan, &shutdown);
        // Before the other one leaves: whoever asks next must find somebody.
        let control = open_control(&plan, &server, orders.clone(), &shutdown, takes_over);
        take_place(predecessor, &sockets)?;
        beside.begin(&plan, &observing)?;
        Ok(Self {
            keeping: Some(Keeping::begin(&observing, &server, plan.memory_bytes)),
            plan,
            companions: companions.told_to(&observing, &server),
            server,
            addresses,
            addresses_tls,
            addresses_http3,
            certificates,
            found,
            tracker: beside.tracker,
            sphinx: beside.sphinx,
            joined,
            log,
            lost,
            notebook,
            observing,
            exporting,
            control,
            admin: None,
            orders,
            started,
            leaving: JoinSet::new(),
            reloads,
            succession: Succession::default(),
            is_lent: false,
            threads,
            sockets,
            shutdown,
            abandon,
            housekeeping,
        })
    }

    /// Begins to tell how everything is. Sites are served without it too.
    fn begin_admin(&mut self, waits: bool) -> Result<(), RunError> {
        let addresses = self.addresses.iter().chain(&self.addresses_tls);
        let ports = addresses.map(SocketAddr::port).collect();
        self.admin = admin::begin(admin::Beginning {
            plan: &self.plan.admin,
            server: &self.server,
            observing: &self.observing,
            memory_bytes: self.plan.memory_bytes,
            log_lost: Some(self.lost.clone()),
            http3_addresses: self.addresses_http3.len(),
            meter: Meter::new(&self.plan.state, ports),
            subjects: self.subjects(),
            road: Handle::current(),
            waits,
            shutdown: &self.shutdown,
        })?;
        Ok(())
    }

    /// Has the servers of other sites be asked how they are, after a change of the sites.
    pub(crate) fn tell_admin(&self) {
        if let Some(admin) = &self.admin {
            admin.replace(self.subjects());
        }
    }

    fn subjects(&self) -> Vec<admin::Subject> {
        let sites = self.plan.sites.iter().zip(&self.started);
        sites.map(|(plan, started)| started.subject(plan)).collect()
    }

    /// Does what signals and orders ask for, until one of them asks for the end.
    async fn obey(
        &mut self,
        arguments: &Serve,
        signals: &mut Signals,
        mut received: mpsc::Receiver<Order>,
    ) -> End {
        loop {
            tokio::select! {
                heard = signals.next() => match heard {
                    Heard::Stop => return End::Stop,
                    Heard::Reopen => self.reopen_log(),
                    Heard::Reload => match self.reload(arguments).await {
                        Ok(lines) => announce::say(&reload::told(&lines)),
                        Err(why) => complain(format_args!("the settings stay as they were: {why}")),
                    },
                },
                Some(Order { wanted, answer }) = received.recv() => match wanted {
                    Wanted::Upgrade => self.succession.begin(answer),
                    Wanted::Reload => {
                        let told = self.reload(arguments).await;
                        let done = told.map(|lines| Done { lines, sockets: Vec::new() });
                        // Whoever asked may have given up waiting; so below.
                        let _ = answer.send(done.map_err(|why| why.to_string()));
                    }
                    Wanted::HandOver => drop(answer.send(self.hand_over().await)),
                    Wanted::Leave => {
                        // Before the other one reads them.
                        self.sockets.http3.iter().for_each(Http3Handle::leave);
                        // It opens the stores that this one has.
                        self.end_tracker().await;
                        self.end_sphinx().await;
                        self.end_companions().await;
                        self.succession.complete();
                        let _ = answer.send(Ok(Done::default()));
                        return End::Leave;
                    }
                },
                () = self.succession.failure() => self.go_on(),
            }
        }
    }

    /// Handles on all sockets, for one that is to take its place; it has the notebook from
    /// now on.
    async fn hand_over(&mut self) -> Result<Done, String> {
        let done =
            upgrade::handed_over(&self.sockets, self.tracker.as_deref(), self.sphinx.as_deref());
        let done = done.map_err(|error| error.to_string())?;
        self.succession.note_handed_over();
        if let Some(notebook) = &self.notebook {
            self.server.note_all();
            notebook.lend().await;
            self.is_lent = true;
        }
        Ok(done)
    }

    /// The one that was to take its place has failed.
    fn go_on(&mut self) {
        if std::mem::take(&mut self.is_lent)
            && let Some(notebook) = &self.notebook
        {
            notebook.take_back();
        }
        if self.control.as_ref().is_none_or(|control| !control.is_in_place()) {
            let orders = self.orders.clone();
            self.control = open_control(&self.plan, &self.server, orders, &self.shutdown, false);
        }
    }

    /// Ends searches and audits; what was put into their files is written.
    async fn end_companions(&mut self) {
        self.companions.end(&self.observing).await;
    }

    /// Ends the tracker; what it knows is written.
    async fn end_tracker(&self) {
        let Some(tracker) = self.tracker.clone() else { return };
        // A panic in it was told.
        let _ = tokio::task::spawn_blocking(move || tracker.end()).await;
    }

    /// Ends what clients of Sphinx's have; its indexes are let go of.
    async fn end_sphinx(&self) {
        let Some(sphinx) = self.sphinx.clone() else { return };
        // As above.
        let _ = tokio::task::spawn_blocking(move || sphinx.end()).await;
    }

    /// Stops listening, lets answers in flight finish, then stops PHP. Another signal, or
    /// the end of the grace, ends whatever is left.
    pub(crate) async fn stop(&mut self, signals: &mut Signals, end: End) {
        self.shutdown.begin();
        // Who asks from now on is told that nobody runs.
        self.control = None;
        self.end_tracker().await;
        self.end_sphinx().await;
        self.end_companions().await;
        self.sockets = Sockets::default();
        self.certificates = None;
        if let Some(admin) = self.admin.take() {
            admin.join();
        }
        // Another one may be waiting to go on with them.
        if end == End::Leave {
            self.keeping = None;
            disk::close(&self.server).await;
        }
        let grace = match end {
            End::Stop => self.plan.limits.grace,
            End::Leave => self.plan.limits.long_leave(),
        } + AFTER_GRACE;
        let log = self.log.as_ref();
        let in_good_order = tokio::select! {
            _ = &mut self.housekeeping => true,
            () = stop_asked(signals, log) => false,
            () = tokio::time::sleep(grace) => false,
        };
        if !in_good_order {
            self.server.end_connections();
            // One that waits for its origin would hear of that only from the origin.
            self.abandon.begin();
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                complain("a serving thread panicked; please report it");
            }
        }
        if in_good_order {
            tokio::select! {
                () = stop_all(&mut self.started, &mut self.leaving) => {}
                () = signals.stop() => {}
            }
        }
        // A php-fpm that is not asked to stop ends at once with what holds it.
        self.started.clear();
        self.leaving.abort_all();
        // After the last answer: what it made old is told.
        if let Some(joined) = &mut self.joined {
            joined.end().await;
        }
        // With the last answers.
        self.keeping = None;
        self.exporting = None;
        if let Some(log) = &self.log {
            log.finish().await;
        }
        if end == End::Stop {
            disk::close(&self.server).await;
        }
        if let Some(notebook) = self.notebook.as_ref().filter(|_| !self.is_lent) {
            self.server.note_all();
            notebook.finish().await;
            match notebook.lost() {
                0 => {}
                lost => complain(format_args!(
                    "{lost} learned facts were not kept because the disk was too slow or full"
                )),
            }
        }
    }

    /// Lines that the access log could not take.
    pub(crate) fn log_lost(&self) -> u64 {
        self.lost.read()
    }

    /// The process groups of the php-fpms that were started.
    pub(crate) fn php_groups(&self) -> Vec<u32> {
        self.started.iter().filter_map(Started::php_group).collect()
    }
}

/// By what the folders of our php-fpm are told from those of the one before, which have none.
fn numbered(takes_over: bool) -> u64 {
    if takes_over { u64::from(std::process::id()) } else { 0 }
}

/// What listens, with the sites; if nothing can, what was started is stopped.
async fn given_up(
    listening: Result<Listening, RunError>,
    shutdown: &Shutdown,
    mut started: Vec<Started>,
) -> Result<(Listening, Vec<Started>), RunError> {
    match listening {
        Ok(listening) => Ok((listening, started)),
        Err(error) => {
            shutdown.begin();
            stop_all(&mut started, &mut JoinSet::new()).await;
            Err(error)
        }
    }
}

/// What is told of all that happens, and to whom of traces.
fn observe(plan: &Plan) -> (Arc<Observing>, Option<Exporting>) {
    let observing = Observing::new(&plan.state);
    let exporting = observing.trace(plan.traces.as_ref());
    (observing, exporting)
}

/// What else is served beside the sites: bound with them, and begun when nobody else has it.
struct Beside {
    tracker: Option<Arc<Tracking>>,
    tracker_sockets: TrackerSockets,
    sphinx: Option<Arc<Answering>>,
    sphinx_ports: Vec<SphinxPort>,
}

impl Beside {
    /// Binds what there is to be.
    fn bind(plan: &Plan, inherited: &mut Inherited) -> Result<Self, RunError> {
        let tracker = plan.tracker.as_ref().map(|wanted| {
            let sockets = inherited.take_tracker();
            Tracking::bind(wanted, plan.threads, sockets)
        });
        let (tracker, tracker_sockets) = tracker.transpose()?.unzip();
        let sphinx = plan.sphinx.as_ref();
        let sphinx = sphinx.map(|wanted| Answering::bind(wanted, inherited.take_sphinx()));
        let (sphinx, sphinx_ports) = sphinx.transpose()?.unzip();
        let tracker_sockets = tracker_sockets.unwrap_or_default();
        Ok(Self {
            tracker,
            tracker_sockets,
            sphinx,
            sphinx_ports: sphinx_ports.unwrap_or_default(),
        })
    }

    /// Opens its stores and serves, once nobody else has either. It is told of from then on.
    fn begin(&mut self, plan: &Plan, observing: &Observing) -> Result<(), RunError> {
        if let (Some(wanted), Some(tracker)) = (&plan.tracker, &self.tracker) {
            let sockets = std::mem::take(&mut self.tracker_sockets);
            tracker.begin(wanted, &plan.state, plan.threads, sockets)?;
            let _ = observing.tracker.set(tracker.clone());
        }
        if let (Some(wanted), Some(sphinx)) = (&plan.sphinx, &self.sphinx) {
            sphinx.begin(wanted, &plan.state, std::mem::take(&mut self.sphinx_ports))?;
            let _ = observing.sphinx.set(sphinx.clone());
        }
        Ok(())
    }
}

/// What of a server's configuration stands in the plan as it is.
fn configured(plan: &Plan, limits: Limits) -> ServerConfig {
    ServerConfig {
        limits,
        memory_bytes: plan.memory_bytes,
        app_memory_bytes: plan.app_memory_bytes,
        proxies: plan.proxies.clone(),
        request_ids: plan.request_ids,
        server_timing: plan.server_timing,
        rulings: rulings::open(&plan.state),
        traces: plan.traces.as_ref().map(|traces| traces.rules),
        complaints: Some(Arc::new(|line| complain(line))),
        ..ServerConfig::default()
    }
}

/// Waits for another signal to stop. Who serves its last answers for an hour doesn't write
/// them to a log that was moved away.
async fn stop_asked(signals: &mut Signals, log: Option<&AccessLog>) {
    loop {
        match (signals.next().await, log) {
            (Heard::Stop, _) => return,
            (Heard::Reopen, Some(log)) => log.reopen(),
            (Heard::Reopen | Heard::Reload, _) => {}
        }
    }
}

/// The sockets that are open already, and who has them if we take its place.
fn opened(plan: &Plan, takes_over: bool) -> Result<(Option<Predecessor>, Inherited), RunError> {
    if takes_over {
        let (predecessor, inherited) = Predecessor::find(&plan.state)?;
        return Ok((Some(predecessor), inherited));
    }
    // The one before has its addresses until it leaves.
    admin::probe(&plan.admin)?;
    cluster::probe(plan)?;
    let taken = Inherited::take().map_err(|error| RunError::System("its sockets", error))?;
    Ok((None, taken))
}

/// Starts every site, or none, and what stands beside them.
async fn start_sites(
    plan: &Plan,
    number: u64,
    caches: bool,
) -> Result<(Vec<Started>, Companions), RunError> {
    let mut started = start_all(plan, number, caches).await?;
    let mut companions = Companions::default();
    if caches {
        companions.settle(&plan.sites, &mut started, &plan.state);
    }
    Ok((started, companions))
}

/// Starts every site, or none.
async fn start_all(plan: &Plan, number: u64, caches: bool) -> Result<Vec<Started>, RunError> {
    let mut started = Vec::new();
    for site in &plan.sites {
        match Started::start(site, &plan.state, number, caches).await {
            Ok(site) => started.push(site),
            Err(error) => {
                stop_all(&mut started, &mut JoinSet::new()).await;
                return Err(error.into());
            }
        }
    }
    Ok(started)
}

/// What was found out about the sites, for the person at the terminal.
async fn found(
    plan: &Plan,
    started: &[Started],
    caches: bool,
    prepared: Option<&Prepared>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (plan, started) in plan.sites.iter().zip(started) {
        found.extend_from_slice(&started.found);
        if caches && plan.caches {
            found.extend(changes::found(plan).await);
        }
    }
    found.extend(prepared.iter().flat_map(|prepared| prepared.found.clone()));
    found
}

/// Limits that this process can have: connections take descriptors.
pub(crate) fn feasible(limits: &Limits) -> Limits {
    let connections_max = limits.connections_max.min(descriptors::raise_limit());
    Limits { connections_max, ..limits.clone() }
}

/// The access log, if one is wanted, and what counts the lines that it can't take.
fn open_first_log(plan: &Plan) -> Result<(Option<AccessLog>, Arc<Counter>), RunError> {
    let lost = Arc::default();
    Ok((open_log(plan, &lost)?, lost))
}

/// The access log, if one is wanted.
pub(crate) fn open_log(plan: &Plan, lost: &Arc<Counter>) -> Result<Option<AccessLog>, RunError> {
    let Some(path) = &plan.access_log else { return Ok(None) };
    let log = AccessLog::open(path, plan.access_log_format, lost.clone());
    log.map(Some).map_err(|error| RunError::AccessLog(path.display().to_string(), error))
}

/// What was learned before, if it can be had: a site is served without it too.
fn open_notebook(plan: &Plan) -> Option<Arc<Notebook>> {
    match Notebook::open(&plan.state) {
        Ok(notebook) => Some(Arc::new(notebook)),
        Err(error) => {
            complain(&error);
            None
        }
    }
}

fn notes(notebook: Option<&Arc<Notebook>>) -> Arc<dyn Notes> {
    match notebook {
        Some(notebook) => notebook.clone(),
        None => Arc::new(NoNotes),
    }
}

/// What goes on beside the visitors, until the stop.
fn begin_beside(
    server: &Arc<Server>,
    plan: &Plan,
    shutdown: &Shutdown,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(memory::govern(server.clone(), plan.memory_bytes, shutdown.clone()));
    tokio::spawn(memory::give_back_code_soon());
    tokio::spawn(server.clone().follow(shutdown.clone()));
    app::begin(server, shutdown);
    cluster::listen(server, plan, shutdown);
    let replaying = tokio::spawn(server.clone().replay_views(shutdown.clone()));
    let housekeeping = server.clone().housekeeping(shutdown.clone());
    let server = server.clone();
    tokio::spawn(async move {
        housekeeping.await;
        replaying.abort();
        // Nobody is served any more, so nothing is counted after this.
        server.replay_last_views().await;
    })
}

/// Answers `wick explain` and `wick purge`, if that can be had.
fn open_control(
    plan: &Plan,
    server: &Arc<Server>,
    orders: Option<Orders>,
    shutdown: &Shutdown,
    takes_over: bool,
) -> Option<ControlSocket> {
    // Without somebody to carry them out, orders are refused.
    let orders = orders.unwrap_or_else(|| mpsc::channel(1).0);
    match ControlSocket::open(&plan.state, takes_over) {
        Ok((socket, listener)) => {
            tokio::spawn(server.clone().serve_control(listener, orders, shutdown.clone()));
            Some(socket)
        }
        Err(error) => {
            complain(&error);
            None
        }
    }
}

/// Tells the one before, if there is one, that somebody else serves now.
fn take_place(predecessor: Option<Predecessor>, sockets: &Sockets) -> Result<(), RunError> {
    let Some(predecessor) = predecessor else { return Ok(()) };
    predecessor.dismiss()?;
    sockets.are_ours.begin();
    service::tell_of_succession();
    Ok(())
}

async fn stop_all(started: &mut Vec<Started>, leaving: &mut JoinSet<()>) {
    for site in started.drain(..) {
        site.stop().await;
    }
    while leaving.join_next().await.is_some() {}
}
pub(crate) fn single_threaded() -> Result<Runtime, RunError> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(16)
        .build()
        .map_err(|error| RunError::System("a runtime", error))
}
