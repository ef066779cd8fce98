//! This Wick as one of several: begun before anybody can come, and ended after the last answer.
//!
//! What is told and heard stands in the `cluster` crate, what it means for pages in
//! `server/src/fellows`; here both meet.
//! Invariant: no login of the NATS servers is ever shown.

mod asking;
mod door;
mod figures;
mod learned;
mod peers;
mod plan;
mod rates;
mod reading;
mod telling;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base::complaint::complain;
use base::{Clock, Shutdown};
use cluster::{Ears, Node, Run, Seal, Status};
use server::{
    Deposits, Fellows, Fellowship, Looking, Place, Reading, Roll, Server, ServerConfig, Untold,
};

pub(crate) use self::asking::{ClusterQuestion, ask, tell};
use self::figures::Meter;
pub(crate) use self::figures::Sum;
pub(crate) use self::plan::{ClusterPlan, ClusterPlanError};
use crate::certificates;
use crate::observing::Observing;
use crate::plan::Plan;
use crate::run::RunError;

/// How long a start waits for the others before it goes on without.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks meanwhile.
const LOOK: Duration = Duration::from_millis(10);
/// How long the goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// Where other nodes ask this one for pages, if anywhere.
fn address(plan: &Plan) -> Option<SocketAddr> {
    plan.cluster.as_ref()?.node.listen
}

/// Whether other nodes can be listened to where the owner wants it.
pub(crate) fn probe(plan: &Plan) -> Result<(), RunError> {
    let Some(address) = address(plan) else { return Ok(()) };
    let probed = std::net::TcpListener::bind(address);
    probed.map(drop).map_err(|error| RunError::Fellows(address, error))
}

/// Listens to other nodes, if that is wanted. It must be called on a runtime that lasts as long
/// as the server does.
pub(crate) fn listen(server: &Arc<Server>, plan: &Plan, shutdown: &Shutdown) {
    if let Some(address) = address(plan) {
        door::begin(server, address, shutdown);
    }
}

/// What is asked about the cluster.
pub(crate) struct Joint {
    node: Arc<Node>,
    server: Weak<Server>,
    meter: Arc<Meter>,
}

impl Joint {
    /// Whether nothing new is to come to this node.
    pub(crate) fn is_draining(&self) -> bool {
        self.node.is_draining()
    }

    /// How this node stands among them.
    pub(crate) fn standing(&self) -> Status {
        self.node.status()
    }

    /// All nodes together.
    pub(crate) fn sum(&self) -> Sum {
        Sum::of(&figures::nodes(&self.node, &self.meter, &self.node.status()))
    }
}

/// A node that speaks and hears.
pub(crate) struct Joined {
    node: Arc<Node>,
    fellowship: Fellowship,
    /// By which all nodes have their certificates together; none without a secret, or TLS.
    certificates: Option<Arc<certificates::Fellows>>,
    /// By which is sealed what is for the nodes alone; none without a secret.
    seal: Option<Arc<Seal>>,
    shutdown: Shutdown,
    work: Option<JoinHandle<()>>,
}

impl Joined {
    /// A server, and its node where the plan has a cluster: begun before anybody can come.
    pub(crate) async fn serve(
        plan: &Plan,
        mut config: ServerConfig,
        observing: &Arc<Observing>,
        is_successor: bool,
    ) -> (Arc<Server>, Option<Self>) {
        let clock = Clock::machine();
        let mut joined = Self::of(plan.cluster.as_ref(), &clock, is_successor);
        config.fellowship = joined.as_ref().map(|joined| joined.fellowship.clone());
        let Some(node) = &mut joined else { return (Server::new(config, clock), None) };
        let notes = learned::Shared::new(config.notes);
        config.notes = notes.clone();
        node.certificates = node
            .seal
            .clone()
            .zip(config.tls.clone())
            .map(|(seal, tls)| certificates::Fellows::new(node.node.clone(), seal, tls));
        let server = Server::new(config, clock);
        notes.tell_by(&server);
        node.begin(&server, observing).await;
        let meter = node.show_figures(&server);
        let joint = Joint { node: node.node.clone(), server: Arc::downgrade(&server), meter };
        let _ = observing.cluster.set(joint);
        (server, joined)
    }

    /// `clock` is the server's.
    fn of(plan: Option<&ClusterPlan>, clock: &Clock, is_successor: bool) -> Option<Self> {
        let plan = plan?;
        let settings = plan.node.clone();
        let lag = settings.lag;
        let heard_until = Arc::new(AtomicU64::new(0));
        let run = Run { instance: rand::random::<u64>().max(1), is_successor };
        let node = Node::new(settings, clock.clone(), run, heard_until.clone());
        let fellows = Arc::new(Way(node.clone()));
        let seal = node.cluster_seal().cloned();
        let deposits = seal.is_some().then(|| fellows.clone() as Arc<dyn Deposits>);
        let shield = plan.shield(seal.as_deref());
        let fellowship = Fellowship { fellows, heard_until, lag, shield, deposits };
        let shutdown = Shutdown::default();
        Some(Self { node, fellowship, certificates: None, seal, shutdown, work: None })
    }

    /// The way to the other nodes' certificates, where all have them together.
    pub(crate) fn certificates(joined: Option<&Self>) -> Option<Arc<certificates::Fellows>> {
        joined?.certificates.clone()
    }

    /// Tells the others how this node is from now on.
    fn show_figures(&self, server: &Arc<Server>) -> Arc<Meter> {
        let meter = Arc::new(Meter::new(server));
        let (own, weak) = (meter.clone(), Arc::downgrade(&self.node));
        self.node.show_figures(Box::new(move || {
            let told = weak.upgrade().map(|node| own.read(&node.status()));
            // It is made of texts and numbers, so it can always be written.
            serde_json::to_string(&told.unwrap_or_default()).unwrap_or_default()
        }));
        meter
    }

    /// Begins to speak and to hear, and waits a while until it is in touch.
    async fn begin(&mut self, server: &Arc<Server>, observing: &Arc<Observing>) {
        let (certificates, seal) = (self.certificates.clone(), self.seal.clone());
        let ears = Arc::new(ServerEars {
            server: server.clone(),
            observing: observing.clone(),
            certificates,
            seal: seal.clone(),
        });
        let run = self.node.clone().run(ears, self.shutdown.clone());
        let (node, shutdown) = (self.node.clone(), self.shutdown.clone());
        let (tracked, server) = (observing.clone(), Arc::downgrade(server));
        let told = move |_: &Node| Some(peers::told(&tracked));
        let peers =
            telling::tell(node.clone(), seal.clone(), peers::PURPOSE, shutdown.clone(), told);
        let told = move |node: &Node| rates::told(node, &server);
        let rates = telling::tell(node, seal, rates::PURPOSE, shutdown, told);
        let run = async { _ = tokio::join!(run, rates, peers) };
        // Of its own, since a start or a reload may hold the others up for longer than a lag limit.
        let begun = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let begun = begun.and_then(|runtime| {
            let name = "wick-cluster".to_owned();
            thread::Builder::new().name(name).spawn(move || runtime.block_on(run))
        });
        match begun {
            Ok(work) => self.work = Some(work),
            Err(error) => {
                return complain(format_args!(
                    "cluster: the system refuses a thread ({error}); this node stays out of touch"
                ));
            }
        }
        let in_touch = async {
            while !self.node.status().is_in_touch {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(PATIENCE, in_touch).await.is_err() {
            let missing = self.node.status().members.into_iter().filter(|node| node.is_missing);
            let missing: Vec<_> = missing.map(|member| member.node).collect();
            let why = match missing.as_slice() {
                [] => "the NATS servers don't answer yet".to_owned(),
                missing => format!(
                    "nothing is heard of {}: start it, or take it off with \"wick cluster forget {}\"",
                    missing.join(", "),
                    missing.join(" ")
                ),
            };
            complain(format_args!(
                "cluster: not in touch ({why}); pages are fresh for the lag limit alone until it is"
            ));
        }
    }

    /// Says goodbye, once no answer is on its way any more.
    pub(crate) async fn end(&mut self) {
        self.shutdown.begin();
        let Some(work) = self.work.take() else { return };
        let begun = Instant::now();
        // Who can't say goodbye is waited for by the others; a start says that it is back.
        while !work.is_finished() && begun.elapsed() < GOODBYE {
            tokio::time::sleep(LOOK).await;
        }
        if work.is_finished() && work.join().is_err() {
            complain("cluster: its thread panicked; please report it");
        }
    }
}

/// The way out, for the server.
struct Way(Arc<Node>);

impl Fellows for Way {
    fn tell(&self, news: String) {
        self.0.tell(news);
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.settled())
    }

    fn reading(&self) -> Option<Arc<dyn Reading>> {
        Some(Arc::new(reading::Shared(self.0.clone())))
    }

    fn roll(&self) -> Roll {
        let cluster::Roll { own, others, heard } = self.0.roll();
        let heard = heard.map(|cluster::Place { stream, sequence }| Place { stream, sequence });
        Roll { own, others, heard }
    }

    fn obeyed(&self, place: Place) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let Place { stream, sequence } = place;
        Box::pin(self.0.obeyed(cluster::Place { stream, sequence }))
    }
}

impl Deposits for Way {
    fn lay_down(&self, name: &[u8], content: &[u8]) {
        self.0.lay_down(name, content);
    }

    fn seal(&self, content: &[u8]) -> Option<String> {
        self.0.seal(content)
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        self.0.open(sealed)
    }

    fn lay_down_surely<'a>(
        &'a self,
        name: &'a [u8],
        content: &'a [u8],
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(self.0.lay_down_surely(name, content))
    }

    fn find<'a>(&'a self, name: &'a [u8]) -> Looking<'a> {
        Box::pin(async { self.0.find(name).await.map_err(|_| Untold) })
    }
}

/// The way in.
struct ServerEars {
    server: Arc<Server>,
    observing: Arc<Observing>,
    certificates: Option<Arc<certificates::Fellows>>,
    seal: Option<Arc<Seal>>,
}

impl Ears for ServerEars {
    fn hear(&self, news: &str) {
        match &self.certificates {
            Some(certificates) if certificates.hear(news) => {}
            // It is for nodes that serve by TLS and have the secret.
            None if certificates::is_news(news) => {}
            _ => self.server.hear(news),
        }
    }

    fn missed(&self) {
        self.server.hear_unknown();
        // What others learned may be among it. The first time it is all that they did.
        self.server.ask_learned();
        if let Some(certificates) = &self.certificates {
            certificates.missed();
        }
    }

    fn hear_aside(&self, bytes: &[u8]) {
        rates::hear(&self.server, self.seal.as_ref(), bytes);
        peers::hear(&self.observing, self.seal.as_ref(), bytes);
    }
}
