//! Listeners, connections and the road that a request travels.
//!
//! Start at [`pipeline`]: it shows the whole road. A [`Listener`] accepts, a
//! connection reads heads and writes replies, and everything in between is one
//! of the stations that the pipeline names.

mod access;
mod alike;
mod app;
mod aside;
mod carry;
mod coding;
mod companion;
mod config;
mod connection;
mod control;
mod counters;
mod defence;
mod disk;
mod esi;
mod explain;
mod fellows;
mod fetch;
mod files;
mod following;
mod gather;
mod hints;
mod http2;
mod http3;
mod introduction;
mod journey;
mod learned;
mod listener;
mod mark_new;
mod notes;
mod observer;
mod overrule;
mod pace;
mod page;
mod parts;
mod pipeline;
mod purge;
mod render;
mod reply;
mod request_id;
mod rewriting;
mod serve_stored;
mod site;
mod slices;
mod socket;
mod strangers;
mod streams;
mod tls;
mod told;
mod trace;
mod try_out;
mod tunnel;
mod upload;
mod views;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use base::Clock;
use store::{Flights, Store};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore};

pub use access::{AccessLine, AccessSink};
pub use app::{AppKey, Help};
pub use aside::Aside;
pub use companion::{
    Companion, CompanionAnswer, CompanionAsked, CompanionFuture, Given, Listed, Notice, Noticed,
    PageHandle, PageMark, PublicPage, Unread, Vouch,
};
pub use config::{Complaints, Limits, ServerConfig, SiteConfig};
pub use control::{Done, Order, Orders, SOCKETS_MAX, Wanted};
pub use counters::{CodingCounts, Counters};
pub use defence::{DefenceRules, Rate};
pub use disk::DiskFound;
pub use esi::elsewhere::PartHost;
pub use explain::{Line, Question};
#[doc(hidden)]
pub use fellows::page_in_parcel;
pub use fellows::{
    Beginning, Calm, Deposits, FellowRequest, Fellows, Fellowship, Looked, Looking, Place, Reading,
    Roll, Shield, Traffic, Untold, Word,
};
#[doc(hidden)]
pub use following::Omission;
pub use following::{FollowRules, STATEMENT_AGE, Statements};
pub use http3::{HandedOver, Http3Handle, Http3Listener};
pub use introduction::Proxies;
pub use learned::{Learned, LearnedClass, LearnedCookie, Meaning};
pub use listener::Listener;
pub use mark_new::MarkNewRules;
pub use notes::{NoNotes, Note, Notes, StoredNote};
pub use observer::{Observed, Observer};
pub use overrule::{Act, OverruleOrder, Rule, Ruling, Rulings, RulingsKeeper, ToldRuling};
pub use pace::Slowest;
pub use pipeline::hash_seed;
pub use purge::order::PurgeOrder;
pub use purge::purgers::PurgeToken;
pub use strangers::StrangerRules;
pub use tls::{
    Facts, Identity, IdentityError, Inquiry, Served, Shown, StapleError, StapleLife, Tls,
};
pub use told::SiteCounts;
pub use trace::{Trace, TraceRules};
pub use try_out::{Beside, Difference, TriedOut, TryOut};
pub use views::{ViewsRules, ViewsSecret, ViewsTo};

use crate::app::App;
use crate::coding::press::Press;
use crate::defence::Crowd;
use crate::disk::Shelf;
use crate::esi::private::PrivateParts;
use crate::fetch::Landing;
use crate::journey::Peers;
use crate::page::Page;
use crate::site::Sites;
use crate::watch::Watches;

/// Everything that the connections of one process share.
pub struct Server {
    clock: Clock,
    limits: ArcSwap<Limits>,
    proxies: Proxies,
    /// Whether each request is given an id.
    request_ids: bool,
    /// Which requests are recorded as traces.
    traces: Option<TraceRules>,
    sites: ArcSwap<Sites>,
    /// Told when other sites have come.
    sites_changed: Notify,
    store: Arc<Store<Page>>,
    /// What is kept on the disk.
    shelf: Option<Shelf>,
    flights: Flights<Landing>,
    /// What is kept for sites' own code.
    app: App,
    counters: Counters,
    access: ArcSwapOption<AccessSink>,
    /// Whether there is one, which every request asks.
    has_access: AtomicBool,
    observer: Option<Arc<dyn Observer>>,
    server_timing: bool,
    notes: Arc<dyn Notes>,
    rulings: Arc<Rulings>,
    tls: Option<Arc<Tls>>,
    complaints: Option<Complaints>,
    /// The other nodes, where it is one of several.
    fellowship: Option<Fellowship>,
    /// What answers requests that are for no site.
    aside: Option<Arc<dyn Aside>>,
    watches: Arc<Watches>,
    press: Press,
    /// Places for files that are held open.
    open_files: Arc<Semaphore>,
    /// Parts of pages, for one visitor each.
    private_parts: PrivateParts,
    /// Connections by visitor.
    callers: Arc<Crowd>,
    /// One address is tried out at a time.
    try_outs: Arc<Semaphore>,
    closing: AtomicBool,
    /// Whether idle connections may wait for their next request even then.
    leaving: AtomicBool,
}

impl Server {
    /// A server that listens nowhere yet.
    #[must_use]
    pub fn new(config: ServerConfig, clock: Clock) -> Arc<Self> {
        let memory = usize::try_from(config.memory_bytes).unwrap_or(usize::MAX);
        Arc::new(Self {
            clock,
            limits: ArcSwap::from_pointee(config.limits),
            proxies: config.proxies,
            request_ids: config.request_ids,
            traces: config.traces,
            sites: ArcSwap::from_pointee(Sites::new(
                config.sites,
                &config.notes,
                &config.rulings,
                config.disk.clone(),
            )),
            shelf: config.disk.map(Shelf::new),
            sites_changed: Notify::new(),
            store: Arc::new(Store::new(memory)),
            flights: Flights::default(),
            app: App::new(config.app_memory_bytes),
            counters: Counters::default(),
            has_access: AtomicBool::new(config.access.is_some()),
            access: ArcSwapOption::from_pointee(config.access),
            observer: config.observer,
            server_timing: config.server_timing,
            notes: config.notes,
            rulings: config.rulings,
            tls: config.tls,
            complaints: config.complaints,
            fellowship: config.fellowship,
            aside: config.aside,
            watches: Arc::default(),
            press: Press::default(),
            open_files: Arc::new(Semaphore::new(files::OPEN_FILES_MAX)),
            private_parts: PrivateParts::default(),
            callers: Arc::default(),
            try_outs: Arc::new(Semaphore::new(1)),
            closing: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
        })
    }

    /// Serves one connection until it ends. [`Server::housekeeping`] must run beside it
    /// for deadlines to be kept.
    pub async fn serve_connection<S>(self: Arc<Self>, io: S, peer: SocketAddr, local: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peers = Peers::new(peer, local, "http");
        match self.proxies.introduces(peer.ip()) {
            true => self.serve_introduced(io, peers, None).await,
            false => connection::serve(self, io, peers).await,
        }
    }

    /// Serves these sites from now on. Of those that were served before, what is stored,
    /// learned and counted stays, as far as the settings that made it are the same; requests
    /// on their way end where they began.
    pub fn replace_sites(&self, sites: Vec<SiteConfig>) {
        self.sites.store(Arc::new(self.sites().after(sites, &self.notes)));
        // Somebody may have ruled while they were made.
        self.follow_rulings();
        self.sites_changed.notify_one();
    }

    /// Bounds clients by these from now on; a connection in the middle of something when it next
    /// rests.
    pub fn replace_limits(&self, limits: Limits) {
        self.limits.store(Arc::new(limits));
    }

    /// Tells of answers here from now on.
    pub fn replace_access(&self, access: Option<AccessSink>) {
        self.has_access.store(access.is_some(), Ordering::Relaxed);
        self.access.store(access.map(Arc::new));
    }

    fn limits(&self) -> Guard<Arc<Limits>> {
        self.limits.load()
    }

    fn sites(&self) -> Guard<Arc<Sites>> {
        self.sites.load()
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Certificates and what is spoken by them, where TLS is listened for.
    #[must_use]
    pub fn tls(&self) -> Option<&Arc<Tls>> {
        self.tls.as_ref()
    }

    /// Where what is learned about the sites is kept.
    #[must_use]
    pub fn notes(&self) -> &Arc<dyn Notes> {
        &self.notes
    }

    /// The memory tier.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory {
            limit_bytes: self.store.limit() as u64,
            used_bytes: self.store.used() as u64,
            reserved_bytes: self.store.reserved() as u64,
            pages: self.store.len() as u64,
        }
    }

    /// Lets the memory tier hold at most this much from now on.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.store.set_limit(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Fetches under way that others may wait for; none once all is quiet.
    #[must_use]
    pub fn flights(&self) -> usize {
        self.flights.len()
    }

    /// Hands what is worth knowing after a restart to whoever keeps notes; for the stop.
    pub fn note_all(&self) {
        self.sites().each().iter().for_each(|site| site.note_all());
    }

    /// Purges that took more than was asked for, for want of room to remember them one by one.
    #[must_use]
    pub fn purges_widened(&self) -> u64 {
        self.sites().each().iter().map(|site| site.generations.widened.read()).sum()
    }

    /// How often a site was swept because something changed, all sites together.
    #[must_use]
    pub fn sweeps(&self) -> u64 {
        let sites = self.sites();
        let followed = sites.each().into_iter().filter_map(|site| site.following.clone());
        followed.map(|following| following.counts.sweeps.read()).sum()
    }

    /// What a counter of the sites' origins says, all together.
    #[must_use]
    pub fn of_origins(&self, count: impl Fn(&origin::Counters) -> u64) -> u64 {
        self.sites().each().iter().map(|site| count(site.origin.counters())).sum()
    }

    /// Addresses that were being counted for a rate when others took their place.
    #[must_use]
    pub fn rates_forgotten(&self) -> u64 {
        self.sites().each().iter().map(|site| site.defence.forgotten()).sum()
    }

    /// Connections open at this moment.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.watches.len()
    }

    /// Tells on which port visitors find TLS.
    pub fn set_tls_port(&self, port: u16) {
        if let Some(tls) = &self.tls {
            tls.set_port(port);
        }
    }

    /// Ends every connection at once, whatever it is doing.
    pub fn end_connections(&self) {
        self.watches.end_all();
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// At the signal to stop somebody else listens on the same sockets: connections that wait
    /// for a request are not ended before they had one more, or waited as long as any may.
    /// Purges and changes are told to the other one from now on, so nothing that is stored here
    /// counts as fresh any more, and nothing more is stored.
    pub fn begin_leaving(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    fn begin_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

/// How full the memory tier is.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The most that it may hold.
    pub limit_bytes: u64,
    /// What it holds, with all overhead.
    pub used_bytes: u64,
    /// What is set aside for bodies on their way into it.
    pub reserved_bytes: u64,
    /// How many responses that is.
    pub pages: u64,
}
