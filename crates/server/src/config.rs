//! What a server runs on: every choice made, every default filled in.
//!
//! What the owner wrote is read elsewhere (the `wick` crate); this is what became of it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use changes::{Source, Tap};
use markup::Renderer;
use origin::Origin;
use policy::Rules;
use store::disk::Disk;

use crate::access::AccessSink;
use crate::app::AppKey;
use crate::aside::Aside;
use crate::companion::Companion;
use crate::defence::DefenceRules;
use crate::esi::elsewhere::PartHost;
use crate::fellows::Fellowship;
use crate::following::FollowRules;
use crate::introduction::Proxies;
use crate::mark_new::MarkNewRules;
use crate::notes::{NoNotes, Notes};
use crate::observer::Observer;
use crate::overrule::Rulings;
use crate::pace::Slowest;
use crate::purge::purgers::PurgeToken;
use crate::strangers::StrangerRules;
use crate::tls::Tls;
use crate::trace::TraceRules;
use crate::views::ViewsRules;

/// Everything that a [`crate::Server`] is made from.
pub struct ServerConfig {
    /// The sites, in order; a request goes to the first whose hosts fit.
    pub sites: Vec<SiteConfig>,
    /// Bytes that the cache may make the process use.
    pub memory_bytes: u64,
    /// Bytes of these that may be taken by what is kept for sites' own code.
    pub app_memory_bytes: u64,
    /// Bounds on what a client may do.
    pub limits: Limits,
    /// The proxies before us.
    pub proxies: Proxies,
    /// Whether each request is given an id; each site's rules say so too.
    pub request_ids: bool,
    /// Which requests are recorded as traces; none: nobody wants traces.
    pub traces: Option<TraceRules>,
    /// Where a line for each answer goes, if anywhere.
    pub access: Option<AccessSink>,
    /// Who is told of each answer, and knows what happened; none: nobody.
    pub observer: Option<Arc<dyn Observer>>,
    /// Whether answers tell in `Server-Timing` where their time went.
    pub server_timing: bool,
    /// Who keeps what is learned about the sites.
    pub notes: Arc<dyn Notes>,
    /// What the owner decided over what was learned, at run time.
    pub rulings: Arc<Rulings>,
    /// What visitors are shown who come by TLS; none where nobody does.
    pub tls: Option<Arc<Tls>>,
    /// What answers requests that are for no site; none: there are none.
    pub aside: Option<Arc<dyn Aside>>,
    /// Where pages are kept over a restart, if anywhere. It must have been begun with
    /// [`crate::hash_seed`] as its secret.
    pub disk: Option<Disk>,
    /// Where the owner is told what would otherwise go wrong unseen, a line each.
    pub complaints: Option<Complaints>,
    /// The other nodes of a cluster; none: it is the only one.
    pub fellowship: Option<Fellowship>,
}

/// Takes a line for the owner.
pub type Complaints = Arc<dyn Fn(&str) + Send + Sync>;

/// One site: whom it answers for, where its pages come from, what its owner decided.
#[derive(Clone)]
pub struct SiteConfig {
    /// What learned facts are kept under: the same after every restart, and no other site's.
    pub name: String,
    /// Host names in lower case, with a port only if it matters; empty: any host.
    pub hosts: Vec<String>,
    /// Where pages come from.
    pub origin: Arc<Origin>,
    /// The owner's decisions about caching.
    pub rules: Rules,
    /// What one visitor may take.
    pub defence: DefenceRules,
    /// How new items are marked in its pages.
    pub mark_new: MarkNewRules,
    /// What its own code shows that wants help; none: there is none for it.
    pub app_key: Option<AppKey>,
    /// The dialect of its own markup, if it has one.
    pub markup: Option<Arc<Renderer>>,
    /// Whether anything is stored; false makes every request pass, for comparison.
    pub caches: bool,
    /// By which rules pages are shared among strangers; none: only what the law lets be
    /// stored is.
    pub strangers: Option<StrangerRules>,
    /// What who is not on this machine must show to purge; none: nobody else may.
    pub purge_token: Option<PurgeToken>,
    /// Where changes of its content are heard of.
    pub changes: Vec<Source>,
    /// How its app is told of views that it didn't see; none: it isn't.
    pub views: Option<ViewsRules>,
    /// What stands beside its origin, if anything does.
    pub companion: Option<Arc<dyn Companion>>,
    /// Hosts beside its own that parts of its pages may come from.
    pub part_hosts: Vec<PartHost>,
    /// Whether it is such a host, whom no visitor reaches.
    pub(crate) is_elsewhere: bool,
    /// What stands between its app and the MariaDB or MySQL among them, if anything does: that
    /// one is heard by it. Whoever started the app keeps it.
    pub tap: Option<Weak<Tap>>,
    /// What follows from them.
    pub changes_rules: FollowRules,
}

impl SiteConfig {
    /// A site that answers for any host by the default rules.
    #[must_use]
    pub fn new(origin: Origin) -> Self {
        Self {
            name: "site".to_owned(),
            hosts: Vec::new(),
            origin: Arc::new(origin),
            rules: Rules::default(),
            defence: DefenceRules::default(),
            mark_new: MarkNewRules::default(),
            app_key: None,
            markup: None,
            caches: true,
            strangers: None,
            purge_token: None,
            changes: Vec::new(),
            views: None,
            companion: None,
            part_hosts: Vec::new(),
            is_elsewhere: false,
            tap: None,
            changes_rules: FollowRules::default(),
        }
    }
}

/// Bounds on what one client may take, in bytes, time and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request head.
    pub head_bytes_max: usize,
    /// Bytes of a request target.
    pub target_bytes_max: usize,
    /// Bytes of a request body.
    pub body_bytes_max: u64,
    /// From the first byte of a head to its last.
    pub head_timeout: Duration,
    /// Between two requests on one connection.
    pub idle_timeout: Duration,
    /// Without a byte of a request body.
    pub body_timeout: Duration,
    /// Without the client taking a byte of the answer.
    pub write_timeout: Duration,
    /// Without a byte either way on a connection that speaks another protocol.
    pub tunnel_timeout: Duration,
    /// The slowest that a body may come, or an answer be taken.
    pub slowest: Slowest,
    /// Connections at one time.
    pub connections_max: usize,
    /// Requests of one connection of HTTP/2 or HTTP/3 at one time.
    pub streams_max: u32,
    /// Streams that such a client may reset, at once and again in ten seconds. A page with
    /// hundreds of pictures that is left before it is whole makes a few hundred.
    pub resets_max: u32,
    /// Frames that ask for nothing which such a client may send, at once and again in ten
    /// seconds; what opens the window for bytes that it takes is on top of that.
    pub idle_frames_max: u32,
    /// Connections of one address at one time.
    pub connections_per_address_max: usize,
    /// How long answers in flight may take after the signal to stop.
    pub grace: Duration,
    /// The same where another process serves in the place of this one.
    pub upgrade_grace: Duration,
}

impl Limits {
    /// The longest that a connection which waits, or what follows its next request, goes on
    /// after another process has taken this one's place.
    #[must_use]
    pub fn short_leave(&self) -> Duration {
        self.idle_timeout + self.grace
    }

    /// The longest that anything goes on then: also tunnels, streams of events, downloads.
    #[must_use]
    pub fn long_leave(&self) -> Duration {
        self.upgrade_grace.max(self.short_leave())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes_max: 64 << 10,
            target_bytes_max: 16 << 10,
            body_bytes_max: 1 << 30,
            head_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            tunnel_timeout: Duration::from_secs(600),
            slowest: Slowest::default(),
            connections_max: 20_000,
            streams_max: 128,
            resets_max: 500,
            idle_frames_max: 1000,
            connections_per_address_max: 2_000,
            grace: Duration::from_secs(30),
            upgrade_grace: Duration::from_secs(3600),
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            sites: Vec::new(),
            memory_bytes: 64 << 20,
            app_memory_bytes: 8 << 20,
            limits: Limits::default(),
            proxies: Proxies::default(),
            request_ids: false,
            traces: None,
            access: None,
            observer: None,
            server_timing: false,
            notes: Arc::new(NoNotes),
            rulings: Arc::default(),
            tls: None,
            aside: None,
            disk: None,
            complaints: None,
            fellowship: None,
        }
    }
}
