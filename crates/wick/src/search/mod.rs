//! `search = true`: a site's own search, fed by the pages that everybody is given.
//!
//! The server tells of pages that were stored for everybody and of addresses that became
//! doubtful ([`Companion::notice`]); tasks read them (`taking.rs`) and put their text into an
//! index in the state folder. Whoever searches is answered by `answering.rs`, and what is found
//! is shown only if it is vouched for at that moment (`standing.rs`, `finding.rs`). Pages that
//! nobody visits are asked for (`crawl.rs`), and asked for again once something was written to
//! the site (`renewing.rs`). An index that is found to be damaged is filled again (`refilling.rs`),
//! one of another format is made anew of what the former has (`moving.rs`).
//! Invariants: 1. no answer waits for any of this. 2. no text is shown of a page that Wick would
//! not serve to a stranger without asking, unless it was asked for just now and is still there.
//! Bounds: [`EVENTS_MAX`] events of each kind wait; what finds no room is shed and counted.
//! Start at [`SiteSearch`].

mod answering;
mod asking;
mod crawl;
mod feeds;
mod finding;
mod found;
mod hastened;
mod kept;
mod learned;
mod moving;
mod opening;
mod popularity;
mod queries;
mod refilling;
mod renewing;
mod rows;
mod setting;
mod sitemap;
mod standing;
mod taking;
mod websub;
mod written;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use ::crawl::{bears_secret, plain_host};
use ::search::Index;
use ::search::site::Blocks;
use base::Counter;
use server::{Companion, CompanionAsked, CompanionFuture, Notice, Noticed, PageHandle, Server};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle};

pub(crate) use asking::{SearchNow, SearchQuestion, ask, tell};
use found::Found;
use hastened::Hastened;
use kept::Kept;
use moving::MadeAnew;
use queries::Queries;
use queries::QueriesTold;
use rows::PublicRows;
pub(crate) use rows::RowPlan;
pub(crate) use setting::{EngineSetting, SearchError, SearchPath, SearchPlan, rules};
use standing::Standings;
use taking::Doubt;
pub(crate) use websub::Hub;
use written::Written;

use crate::observing::Observing;
use crate::plan::SitePlan;
use crate::sites::{Started, folder_name};

/// Events of a kind that may wait.
const EVENTS_MAX: usize = 1024;
/// Pages whose links may wait.
const LINKS_MAX: usize = 64;
/// Searches at one time; others are told to come again.
const SEARCHES_MAX: usize = 32;
/// Pages that are read for searches at one time.
const READS_MAX: usize = 4;
/// A file that is sent again and again is read so often.
const FILE_AGAIN: Duration = Duration::from_secs(10);
/// How long a stop waits for what is being put.
const END_PATIENCE: Duration = Duration::from_secs(10);

base::counters! {
    /// What happened.
    #[derive(Debug, Default)]
    pub(crate) struct Counters {
        /// Pages whose text was looked at.
        pub(crate) pages_read: Counter,
        /// Pages that were put into the index, again or for the first time.
        pub(crate) pages_put: Counter,
        /// Pages that were taken out of it.
        pub(crate) pages_removed: Counter,
        /// Events that found no room in the queue.
        pub(crate) events_shed: Counter,
        /// Searches that were answered, feeds among them.
        pub(crate) searches: Counter,
        /// Feeds that were told to be as they were, without a search.
        pub(crate) feeds_unchanged: Counter,
        /// Searches that nothing fitted all of.
        pub(crate) searches_missed: Counter,
        /// Searches that were told to come again.
        pub(crate) searches_refused: Counter,
        /// Pages that were asked for as a stranger before they were shown.
        pub(crate) confirmations: Counter,
        /// Hits that were not shown.
        pub(crate) hits_left_out: Counter,
        /// Pages that the crawl asked for.
        pub(crate) pages_crawled: Counter,
        /// Pages that were asked for again since they may have changed.
        pub(crate) pages_renewed: Counter,
        /// Feeds of which the hub was told.
        pub(crate) hub_told: Counter,
        /// Feeds of which it couldn't be told at once.
        pub(crate) hub_failed: Counter,
        /// Feeds of which it wasn't told, since too many wait.
        pub(crate) hub_shed: Counter,
        /// Rows of sources that were put into the index, again or for the first time.
        pub(crate) rows_put: Counter,
        /// Rows that were taken out of it.
        pub(crate) rows_removed: Counter,
        /// Pages that were asked for since a source names them.
        pub(crate) rows_confirmed: Counter,
        /// How often everything was read again, since the index was damaged.
        pub(crate) refills: Counter,
    }
}

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) scheme: &'static str,
    /// As asked for, in lower case.
    pub(super) host: String,
    pub(super) target: String,
}

/// Targets that pages of a host lead to.
pub(super) struct Links {
    pub(super) host: String,
    pub(super) targets: Vec<String>,
}

/// What is to be looked into.
pub(super) enum Event {
    /// With the number of its notice.
    Stored(Place, PageHandle, u64),
    File(Place),
}

/// One site's search.
pub(crate) struct SiteSearch {
    name: String,
    /// The site's hosts, without ports; none: any.
    hosts: Vec<String>,
    plan: RwLock<Arc<SearchPlan>>,
    folder: PathBuf,
    /// None before it is open, and at the end.
    index: RwLock<Option<Kept>>,
    /// Why the engine that keeps the text can't be opened.
    shut: Mutex<Option<String>>,
    server: OnceLock<Weak<Server>>,
    standings: Standings,
    rows: PublicRows,
    /// Whether the site has no sitemap of its own, as far as is known.
    lacks_sitemap: AtomicBool,
    /// When a map may have pages read for it again; who has it is having that done.
    map_rests_until: tokio::sync::Mutex<Option<tokio::time::Instant>>,
    blocks: Mutex<Blocks>,
    /// Whether the index lacks what it had, and how far it is.
    made_anew: MadeAnew,
    /// How often the index was begun anew since this is here.
    anew: watch::Sender<u64>,
    /// The pages that were written to just now.
    written: Written,
    /// Those among them that the index doesn't have.
    hastened: Arc<Hastened>,
    /// Told when somebody writes to a page, or looks at one that they may have written to.
    looked: Arc<Notify>,
    /// Told when something was changed behind our back and can be read by all.
    settled: Arc<Notify>,
    events: mpsc::Sender<Event>,
    doubts: mpsc::Sender<Doubt>,
    /// Where pages lead to that the index doesn't have.
    links: mpsc::Sender<Links>,
    /// What is told to other nodes' searches, and heard of them.
    found: Found,
    /// Files that were read lately, and when.
    files: Mutex<HashMap<u64, Instant>>,
    /// By which scheme and host visitors come.
    base: Mutex<Option<(&'static str, String)>>,
    searches: Semaphore,
    reads: Semaphore,
    pub(crate) counters: Counters,
    queries: Queries,
    /// What the crawl does, in a few words.
    crawl: Mutex<String>,
    began: i64,
}

fn unpoisoned<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts it at the end, once; of more than there is room for the first is given back.
fn keep_latest<T: PartialEq>(all: &mut VecDeque<T>, latest: T, max: usize) -> Option<T> {
    all.retain(|other| *other != latest);
    all.push_back(latest);
    if all.len() > max { all.pop_front() } else { None }
}

/// Seconds since 1970.
fn unix() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

impl SiteSearch {
    pub(super) fn plan(&self) -> Arc<SearchPlan> {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn index(&self) -> Option<Kept> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The index in the state folder, if it is that which is searched.
    pub(super) fn own_index(&self) -> Option<Index> {
        self.index()?.own().cloned()
    }

    fn set_index(&self, index: Option<Kept>) -> Option<Kept> {
        let mut own = self.index.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut own, index)
    }

    pub(super) fn server(&self) -> Option<Arc<Server>> {
        self.server.get()?.upgrade()
    }

    /// What a page's address is known by: without its host where the site answers for any.
    pub(super) fn url_of(&self, host: &str, target: &str) -> String {
        match self.hosts.is_empty() {
            true => target.to_owned(),
            false => format!("//{}{target}", plain_host(host)),
        }
    }

    /// The host that a page is kept apart by.
    pub(super) fn host_of(&self, host: &str) -> String {
        if self.hosts.is_empty() { String::new() } else { plain_host(host).to_owned() }
    }

    /// Path and query of what is known by this.
    pub(super) fn target_of<'a>(&self, url: &'a str) -> &'a str {
        match url.strip_prefix("//") {
            Some(rest) if !self.hosts.is_empty() => rest.find('/').map_or("/", |at| &rest[at..]),
            _ => url,
        }
    }

    /// Whether a file was read lately: one that is sent all the time is read now and then.
    fn was_read_lately(&self, id: u64) -> bool {
        let (mut files, now) = (unpoisoned(&self.files), Instant::now());
        if files.get(&id).is_some_and(|&read| now.duration_since(read) < FILE_AGAIN) {
            return true;
        }
        if files.len() >= EVENTS_MAX {
            files.clear();
        }
        files.insert(id, now);
        false
    }

    fn put<T>(&self, queue: &mpsc::Sender<T>, event: T) {
        if queue.try_send(event).is_err() {
            self.counters.events_shed.bump();
        }
    }
}

impl Companion for SiteSearch {
    fn answers(&self, path: &str) -> bool {
        (path == sitemap::PATH && self.has_sitemap())
            || answering::Wanted::of(path, &self.plan().path).is_some()
    }

    fn answer(self: Arc<Self>, asked: CompanionAsked) -> CompanionFuture {
        Box::pin(async move { self.answered(asked).await })
    }

    fn notice(&self, notice: Notice<'_>) {
        let Notice { scheme, host, target, what } = notice;
        let scheme = if scheme == "https" { "https" } else { "http" };
        let host = host.to_ascii_lowercase();
        if !matches!(what, Noticed::Written) {
            let mut base = unpoisoned(&self.base);
            if base.is_none() {
                *base = Some((scheme, host.clone()));
            }
        }
        let id = ::search::Document::id_of(&self.url_of(&host, target));
        let place = Place { scheme, host, target: target.to_owned() };
        // What was known before isn't known any more. Only then may it be shed.
        match what {
            Noticed::Stored(page) => {
                let number = self.standings.notice(id, Some(page.mark()));
                self.put(&self.events, Event::Stored(place, page, number));
            }
            Noticed::Wanted if self.plan().crawls && !bears_secret(target) => {
                let targets = vec![place.target];
                self.put(&self.links, Links { host: place.host, targets });
            }
            Noticed::Wanted => {}
            Noticed::Found if bears_secret(target) => {}
            Noticed::Found => {
                self.found.note_heard(id);
                self.put(&self.doubts, Doubt { place, tries: 1 });
            }
            Noticed::Seen => match self.standings.note_look(self.server().as_deref(), id) {
                true => self.looked.notify_one(),
                false => self.hastened.note_look(&place.host, target),
            },
            Noticed::Written => {
                self.standings.notice(id, None);
                self.hastened.note_written();
                // By which scheme is known of visitors only.
                let scheme = unpoisoned(&self.base).as_ref().map_or(scheme, |(known, _)| known);
                if let Some(place) = self.written.put(Place { scheme, ..place }) {
                    self.put(&self.doubts, Doubt { place, tries: 0 });
                }
                self.looked.notify_one();
            }
            Noticed::Doubted => {
                self.standings.notice(id, None);
                self.put(&self.doubts, Doubt { place, tries: 0 });
            }
            // Of files nothing is known: each is read before it is shown.
            Noticed::File if self.was_read_lately(id) => {}
            Noticed::File => self.put(&self.events, Event::File(place)),
        }
    }

    fn settled(&self) {
        self.settled.notify_one();
    }
}

/// The searches of all sites, as long as they run.
#[derive(Default)]
pub(crate) struct Searching {
    sites: HashMap<String, Running>,
}

struct Running {
    search: Arc<SiteSearch>,
    tasks: Vec<AbortHandle>,
    rows: rows::Reading,
    opening: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        // What holds it besides is over as soon as it is done; then its files are closed.
        self.search.set_index(None);
    }
}

impl Searching {
    /// Gives each site that wants one its search, and ends those that nobody wants any more. It
    /// must be called on a runtime.
    pub(crate) fn settle(&mut self, plans: &[SitePlan], started: &mut [Started], state: &Path) {
        let mut before = std::mem::take(&mut self.sites);
        for (plan, site) in plans.iter().zip(started) {
            site.config.companion = None;
            let Some(wanted) = &plan.search else { continue };
            let name = site.config.name.clone();
            let is_kept_there = |running: &Running| running.search.plan().engine == wanted.engine;
            let running = match before.remove(&name).filter(is_kept_there) {
                Some(mut running) => {
                    let mut own =
                        running.search.plan.write().unwrap_or_else(PoisonError::into_inner);
                    *own = Arc::new(wanted.clone());
                    drop(own);
                    if !running.rows.is_of(&wanted.rows) {
                        // Before others begin, so that it puts nothing behind their back.
                        running.rows.end();
                        running.rows = rows::Reading::begin(&running.search, &wanted.rows);
                    }
                    running
                }
                None => Running::begin(&name, &plan.hosts, wanted, state),
            };
            site.config.companion = Some(running.search.clone());
            self.sites.insert(name, running);
        }
    }

    /// Names the server that pages are read by, and has the searches be told of.
    pub(crate) fn tell(&self, observing: &Observing, server: &Arc<Server>) {
        let mut all: Vec<_> = self.sites.values().map(|one| one.search.clone()).collect();
        for search in &all {
            // One that goes on has it.
            let _ = search.server.set(Arc::downgrade(server));
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        observing.set_searches(all);
    }

    /// Ends all of them; what was put is written.
    pub(crate) async fn end(&mut self) {
        for (_, mut running) in std::mem::take(&mut self.sites) {
            running.tasks.iter().for_each(AbortHandle::abort);
            running.rows.end();
            if let Some(opening) = running.opening.take() {
                opening.abort();
            }
            let search = running.search.clone();
            let closing = tokio::task::spawn_blocking(move || {
                // Whoever opens the index next finds beside it what was learned.
                if let Some(index) = search.index() {
                    search.write_learned(Vec::new());
                    search.set_index(None);
                    index.commit();
                }
            });
            // What takes longer is derived data, and read again.
            let _ = tokio::time::timeout(END_PATIENCE, closing).await;
        }
    }
}

impl Running {
    fn begin(name: &str, hosts: &[String], plan: &SearchPlan, state: &Path) -> Self {
        let (events, stored) = mpsc::channel(EVENTS_MAX);
        let (doubts, doubted) = mpsc::channel(EVENTS_MAX);
        let (links, linked) = mpsc::channel(LINKS_MAX);
        let hosts = hosts.iter().map(|host| plain_host(host).to_ascii_lowercase()).collect();
        let search = Arc::new(SiteSearch {
            name: name.to_owned(),
            hosts,
            plan: RwLock::new(Arc::new(plan.clone())),
            folder: state.join("search").join(folder_name(Path::new(name))),
            index: RwLock::new(None),
            shut: Mutex::default(),
            server: OnceLock::new(),
            standings: Standings::default(),
            rows: PublicRows::default(),
            lacks_sitemap: AtomicBool::new(false),
            map_rests_until: tokio::sync::Mutex::default(),
            blocks: Mutex::default(),
            made_anew: MadeAnew::default(),
            anew: watch::Sender::new(0),
            written: Written::default(),
            hastened: Arc::default(),
            looked: Arc::default(),
            settled: Arc::default(),
            events,
            doubts,
            links,
            found: Found::default(),
            files: Mutex::default(),
            base: Mutex::default(),
            searches: Semaphore::new(SEARCHES_MAX),
            reads: Semaphore::new(READS_MAX),
            counters: Counters::default(),
            queries: Queries::default(),
            crawl: Mutex::new("has not begun".to_owned()),
            began: unix(),
        });
        let (owned, state) = (search.clone(), state.to_owned());
        let opening = match plan.engine.clone() {
            Some(address) => tokio::spawn(opening::open_engine(owned, state, address)),
            None => tokio::spawn(opening::open(owned, state)),
        };
        let mut tasks = vec![
            tokio::spawn(taking::take_stored(Arc::downgrade(&search), stored)).abort_handle(),
            tokio::spawn(taking::look_into_doubts(Arc::downgrade(&search), doubted)).abort_handle(),
            tokio::spawn(crawl::crawl(Arc::downgrade(&search), linked)).abort_handle(),
            tokio::spawn(renewing::renew(Arc::downgrade(&search))).abort_handle(),
            tokio::spawn(written::renew_looked_at(Arc::downgrade(&search))).abort_handle(),
            tokio::spawn(refilling::refill(Arc::downgrade(&search))).abort_handle(),
            tokio::spawn(learned::keep(Arc::downgrade(&search))).abort_handle(),
            opening.abort_handle(),
        ];
        if plan.engine.is_none() {
            tasks.extend([
                tokio::spawn(popularity::count(Arc::downgrade(&search))).abort_handle(),
                tokio::spawn(websub::tell(Arc::downgrade(&search))).abort_handle(),
                tokio::spawn(sitemap::look(Arc::downgrade(&search))).abort_handle(),
            ]);
        }
        let rows = rows::Reading::begin(&search, &plan.rows);
        Self { search, tasks, rows, opening: Some(opening) }
    }
}
