//! Following: what changes behind our back is heard, and sweeps.
//!
//! ```text
//! source → ear → listener ─┬─ noise: nothing
//!                          └─ content: sweep, store nothing for 50 ms, sweep again, restore
//! ```
//!
//! While every source of a site is heard, its pages are fresh for hours; when one is lost
//! all pages go, and what is made then is fresh for seconds. What reading itself writes is
//! learned from bursts of probes ([`probe`]); until then everything sweeps.
//! Invariants: 1. a page bears hours of freshness only if every source was heard from before
//! its fetch began until it was stored. 2. nothing whose fetch began before a change, or less
//! than [`changes::FENCE`] after it was heard, is found as fresh.
//! Start at [`listen`].

mod calm;
pub(crate) mod ear;
pub(crate) mod gate;
mod listen;
mod look;
mod own;
mod probe;
mod pulse;
mod rules;
pub(crate) mod scope;
mod shared;
mod status;
mod suspects;
mod together;
pub(crate) mod traffic;
mod usual;
pub(crate) mod visit;
pub(crate) mod wanted;
mod witness;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Counter, Shutdown};
use changes::{Feed, Learner, Source, noise};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::ear::Ear;
use self::gate::Gate;
use self::listen::Listener;
use self::own::OwnChanges;
pub use self::rules::FollowRules;
use self::scope::Scope;
use self::status::Status;
use self::suspects::Suspects;
use self::together::Together;
use self::traffic::Traffic;
use self::wanted::Wanted;
pub use self::witness::{STATEMENT_AGE, Statements};
use crate::Server;
use crate::notes::StoredNote;
use crate::site::Site;
use crate::strangers::fill::Order;
use crate::strangers::proving::Looks;
use crate::strangers::{Keeping, noise_of, proofs_of};

/// What was heard and waits for the listener; the feeds' own queues are longer.
const HEARD_MAX: usize = 256;

/// One site's changes, as the road sees them.
pub(crate) struct Following {
    sources: Vec<Source>,
    rules: FollowRules,
    is_heard: AtomicBool,
    pub(crate) learner: Mutex<Learner>,
    pub(crate) gate: Gate,
    pub(crate) traffic: Mutex<Traffic>,
    pub(crate) suspects: Mutex<Suspects>,
    pub(crate) wanted: Wanted,
    pub(crate) own: OwnChanges,
    pub(crate) scope: Scope,
    pub(crate) looks: Looks,
    pub(crate) status: Mutex<Status>,
    pub(crate) counts: Counts,
    together: Together,
    keeping: Keeping,
    /// What was last noted for the next start.
    noted: Mutex<noise::State>,
}

base::counters! {
    /// What happened around changes since the start.
    #[derive(Debug, Default)]
    pub(crate) struct Counts {
        /// Changes that were heard.
        pub(crate) heard: Counter,
        /// Those among them that reading makes.
        pub(crate) noise: Counter,
        /// Sweeps, all changes of a moment counted as one.
        pub(crate) sweeps: Counter,
        /// Pages that were made anew after a sweep before anybody asked for them.
        pub(crate) restored: Counter,
        /// Sweeps because a page was found changed though no change was heard of.
        pub(crate) unheard: Counter,
        /// Requests sent to find out what reading writes.
        pub(crate) probes: Counter,
    }
}

/// What a listener leaves out. It exists so that tests can show what each part is for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Omission {
    #[default]
    Nothing,
    /// It doesn't sweep again when all can read what was changed.
    SecondSweep,
    /// It lets pages be stored before that.
    Fence,
    /// It doesn't sweep when a source is lost.
    SweepOfTheLost,
}

impl Following {
    /// For a site with these sources; none where there is nothing to follow.
    pub(crate) fn new(
        sources: Vec<Source>,
        rules: FollowRules,
        keeping: Keeping,
        learned: &[StoredNote],
    ) -> Option<Arc<Self>> {
        if sources.is_empty() {
            return None;
        }
        let learner = noise_of(learned).map_or_else(Learner::default, Learner::from_state);
        let scope = Scope::new(rules.scope, proofs_of(learned));
        Some(Arc::new(Self {
            status: Mutex::new(Status::of(&sources)),
            sources,
            rules,
            is_heard: AtomicBool::new(false),
            learner: Mutex::new(learner),
            gate: Gate::default(),
            traffic: Mutex::default(),
            suspects: Mutex::default(),
            wanted: Wanted::default(),
            own: OwnChanges::default(),
            scope,
            looks: Looks::default(),
            counts: Counts::default(),
            together: Together::default(),
            keeping,
            noted: Mutex::default(),
        }))
    }

    /// Whether every source is heard at this moment.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.load(Ordering::SeqCst)
    }

    /// How long a page is fresh that is stored now; none while a source is not heard.
    pub(crate) fn fresh_ms(&self) -> Option<u64> {
        self.is_heard().then(|| u64::try_from(self.rules.fresh.as_millis()).unwrap_or(u64::MAX))
    }

    /// What the owner's settings say.
    pub(crate) fn rules(&self) -> &FollowRules {
        &self.rules
    }

    /// Whether the owner has decided that this kind is noise or is not, in the settings or, where
    /// they say nothing, since then; none: what was learned counts.
    pub(crate) fn decided(&self, signature: &changes::Signature) -> Option<bool> {
        self.rules.is_noise(signature).or_else(|| self.keeping.is_noise(signature))
    }

    fn note_heard(&self, is_heard: bool) {
        self.is_heard.store(is_heard, Ordering::SeqCst);
    }

    /// Whether Wick may fetch such a page though no visitor waits for it: not while fetching
    /// one was seen to change something, and probes have not shown what reading it changes.
    pub(crate) fn may_ask_unasked(&self, site: &Site, target: &str) -> bool {
        let strangers = site.strangers.as_ref();
        strangers.is_none_or(|strangers| strangers.classes.wrote(target).is_none())
            || self.learner.lock().has_probed(&policy::strangers::shape(target))
    }

    /// The pages that Wick may fetch though no visitor waits for them, most wanted first.
    fn unasked(&self, site: &Site) -> Vec<(u32, Order)> {
        let mut orders = self.wanted.by_want();
        orders.retain(|(_, order)| self.may_ask_unasked(site, &order.brief.target));
        orders
    }

    /// Keeps what was learned about noise, and what was proved, for the next start.
    pub(crate) fn note_learned(&self) {
        if let Some(kept) = self.scope.news() {
            self.keeping.note_proofs(kept);
        }
        let state: noise::State = self.learner.lock().state();
        let mut noted = self.noted.lock();
        if *noted != state {
            self.keeping.note_noise(&state);
            *noted = state;
        }
    }
}

impl Server {
    /// Follows the changes of every site that has sources, until the signal to stop. It must
    /// run beside the listeners; without it pages are fresh for seconds only.
    pub async fn follow(self: Arc<Self>, shutdown: Shutdown) {
        let mut followed = Vec::new();
        loop {
            self.follow_these(&mut followed);
            tokio::select! {
                () = self.sites_changed.notified() => {}
                () = shutdown.begun() => break,
            }
        }
    }

    /// Begins to follow the sites that came, and ends it for those that went.
    fn follow_these(self: &Arc<Self>, followed: &mut Vec<Followed>) {
        let sites: Vec<Arc<Site>> = self.sites().each().into_iter().cloned().collect();
        let is_there = |site: &Arc<Site>| sites.iter().any(|one| Arc::ptr_eq(one, site));
        followed.retain(|followed| is_there(&followed.site));
        for site in sites {
            let Some(following) = site.following.as_ref() else { continue };
            if followed.iter().any(|followed| Arc::ptr_eq(&followed.site, &site)) {
                continue;
            }
            let sources = following.sources.iter().cloned();
            let shared = self.shared_reading(&site);
            let ear = |source| Ear::new(source, site.tap.clone(), shared.clone());
            let ears = sources.map(ear).collect();
            let work = follow_site(self.clone(), site.clone(), ears, Omission::Nothing);
            followed.push(Followed { site, work: tokio::spawn(work) });
        }
    }

    /// Follows one site by feeds that somebody else makes, one for each of its sources.
    pub async fn follow_feeds(self: Arc<Self>, site: &str, feeds: Vec<Feed>) {
        self.follow_feeds_without(site, feeds, Omission::Nothing).await;
    }

    /// The same, but for something that is left out.
    #[doc(hidden)]
    pub async fn follow_feeds_without(
        self: Arc<Self>,
        site: &str,
        feeds: Vec<Feed>,
        omits: Omission,
    ) {
        let found = self.sites().each().into_iter().find(|one| one.name == site).cloned();
        let Some(site) = found.filter(|site| site.following.is_some()) else { return };
        let ears = feeds.into_iter().map(Ear::of).collect();
        follow_site(self.clone(), site, ears, omits).await;
    }
}

/// A site that is followed until this is dropped. What changes from then on nobody hears, so
/// what was made before is not fresh any more.
struct Followed {
    site: Arc<Site>,
    work: JoinHandle<()>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.work.abort();
        if let Some(following) = &self.site.following {
            following.note_heard(false);
        }
        self.site.generations.note_change();
    }
}

/// All that has to run for one site to be followed.
async fn follow_site(server: Arc<Server>, site: Arc<Site>, ears: Vec<Ear>, omits: Omission) {
    let Some(following) = site.following.clone() else { return };
    let (sender, receiver) = mpsc::channel(HEARD_MAX);
    let count = ears.len();
    let ears = ears.into_iter().enumerate().map(|(index, ear)| {
        ear.hear(index, sender.clone(), (following.clone(), server.clock.clone()))
    });
    let listener = Listener::new(server.clone(), site.clone(), following.clone(), count, omits);
    tokio::join!(
        futures_util::future::join_all(ears),
        listener.listen(receiver),
        own::serve(following.clone()),
        probe::learn(server.clone(), site.clone(), following.clone()),
        pulse::beat(server, site, following),
    );
}
