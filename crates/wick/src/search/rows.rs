//! Rows that are found beside pages: read again and again from what the settings name.
//!
//! A row that says that it is public is found by its own words, as long as its source says so;
//! its address is then the source's, and whatever its page says is left out. Of other rows only
//! the address is taken, and read as a stranger is given it.
//! Invariants: 1. of what a run before this left nothing is shown until it was read again.
//! 2. a reading that fails takes nothing out and shows nothing more. 3. one row at a time.
//! Bounds: [`PAGES_MAX`] documents of an index, [`ROWS_MAX`] rows, [`WAITING_MAX`] addresses to be
//! read.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant, SystemTime};

use ::crawl::targets_within;
use ::search::rows::{Row, RowSource, Rows, Stop, Trouble};
use ::search::{Document, Filter, FilterKind, Index, Value};
use base::complaint::complain;
use server::Unread;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::taking::{Doubt, PAGES_MAX, READ_PATIENCE, opened, sum_of};
use super::{Place, SiteSearch, crawl, unix, unpoisoned};

/// Addresses of one source that wait to be read; the others come with the next reading.
const WAITING_MAX: usize = 20_000;
/// A source is left alone for so many times as long as its reading took.
const REST: u32 = 19;
/// How often it is looked whether anything is due.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Addresses of which it is known when they were read.
const ASKED_MAX: usize = 100_000;
/// Rows that are known to be public: what a table of 2^19 places holds, in 13 MB. The others aren't
/// found.
const ROWS_MAX: usize = (1 << 19) / 8 * 7;
/// Each reading of all has a number of its own.
static READINGS: AtomicU16 = AtomicU16::new(1);
/// The least rest between two addresses.
const READ_REST: Duration = Duration::from_millis(20);
/// The places of a document's attributes, as [`::search::Shape::pages`] has them.
const KIND: usize = 2;
const SEEN: usize = 4;

/// A source, and how often it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowPlan {
    /// What it is called in messages.
    pub(crate) name: String,
    pub(crate) source: RowSource,
    pub(crate) every: Duration,
    pub(crate) all_every: Duration,
}

/// The rows that are public, by the ids of their documents.
#[derive(Default)]
pub(super) struct PublicRows {
    rows: Mutex<HashMap<u64, Known>>,
    told: Mutex<Vec<Told>>,
}

/// One of them, in 16 bytes: there may be many.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    sum: i64,
    /// Of when it changed, a part that tells one moment from another.
    changed: u32,
    source: u16,
    /// By which reading of all it was seen last.
    reading: u16,
}

/// The part of a number that is kept: of moments more than a century apart, of sources and of
/// readings it tells one from the next.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part is meant")]
fn part_of(moment: i64) -> u32 {
    moment as u32
}

/// How a source stands.
#[derive(Clone, Default)]
struct Told {
    name: String,
    state: String,
}

impl PublicRows {
    /// The index has none of them any more.
    pub(super) fn forget(&self) {
        *unpoisoned(&self.rows) = HashMap::new();
    }

    pub(super) fn has(&self, id: u64) -> bool {
        unpoisoned(&self.rows).contains_key(&id)
    }

    /// Whether a source says that this text is public.
    pub(super) fn is_sure(&self, id: u64, sum: i64) -> bool {
        unpoisoned(&self.rows).get(&id).is_some_and(|known| known.sum == sum)
    }

    /// How each source stands: its name, and a few words.
    pub(super) fn told(&self) -> Vec<(String, String)> {
        let told = unpoisoned(&self.told);
        told.iter().map(|one| (one.name.clone(), one.state.clone())).collect()
    }

    fn tell(&self, at: usize, name: &str, state: String) {
        let mut told = unpoisoned(&self.told);
        if told.len() <= at {
            told.resize(at + 1, Told::default());
        }
        told[at] = Told { name: name.to_owned(), state };
    }
}

/// Whoever reads a site's sources. Ends with it.
pub(super) struct Reading {
    plans: Vec<RowPlan>,
    stop: Stop,
    task: AbortHandle,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.end();
    }
}

impl Reading {
    /// Reads these for as long as there is a search. It must be called on a runtime.
    pub(super) fn begin(search: &Arc<SiteSearch>, plans: &[RowPlan]) -> Self {
        let stop = Stop::default();
        let work = read_all(Arc::downgrade(search), plans.to_vec(), stop.clone());
        Self { plans: plans.to_vec(), stop, task: tokio::spawn(work).abort_handle() }
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.stop.begin();
        self.task.abort();
    }

    /// Whether it reads these.
    pub(super) fn is_of(&self, plans: &[RowPlan]) -> bool {
        self.plans == plans
    }
}

async fn read_all(search: Weak<SiteSearch>, plans: Vec<RowPlan>, stop: Stop) {
    let Some(owned) = opened(&search).await else { return };
    unpoisoned(&owned.rows.rows).clear();
    unpoisoned(&owned.rows.told).clear();
    let Some(index) = owned.own_index() else { return };
    drop(owned);
    let forgotten = tokio::task::spawn_blocking(move || forget(&index)).await;
    if let Ok(Err(why)) = forgotten {
        complain(format_args!("rows that were found before can't be taken out: {why}"));
    }
    if plans.is_empty() {
        return;
    }
    let Some(base) = crawl::begin(&search).await else { return };
    let Some(anew) = search.upgrade().map(|owned| owned.anew.subscribe()) else { return };
    let sources = plans.into_iter().enumerate().map(|(at, plan)| Source {
        at,
        anew: anew.clone(),
        plan,
        base: base.clone(),
        search: search.clone(),
        stop: stop.clone(),
        since: None,
        reading: 0,
        file: None,
        waiting: VecDeque::new(),
        asked: HashMap::new(),
    });
    futures_util::future::join_all(sources.map(Source::go_on)).await;
}

/// Takes out what a run before this put: nobody knows whether it is public still.
fn forget(index: &Index) -> Result<(), String> {
    let kind = FilterKind::TextIn(vec![Row::KIND.to_owned()]);
    let filter = Filter { attribute: Some(KIND), kind, is_excluded: false };
    index.remove_where(&[filter]).map(|_| ()).map_err(|error| error.to_string())
}

/// One source, as it is read.
struct Source {
    at: usize,
    plan: RowPlan,
    base: (&'static str, String),
    search: Weak<SiteSearch>,
    stop: Stop,
    /// Told when the index has nothing any more.
    anew: watch::Receiver<u64>,
    /// The latest change that was seen, once all rows were read.
    since: Option<i64>,
    /// The number of the last reading of all.
    reading: u16,
    /// How a file was when it was read.
    file: Option<(SystemTime, u64)>,
    /// Addresses to be read.
    waiting: VecDeque<String>,
    /// When addresses were read, and for which change.
    asked: HashMap<u64, (Option<i64>, Instant)>,
}

/// What a reading brought.
#[derive(Default)]
struct Brought {
    rows: u64,
    public: u64,
    elsewhere: u64,
    /// Public ones that aren't found.
    left_out: u64,
    latest: Option<i64>,
    waiting: Vec<Waiting>,
}

/// A row whose address is to be read.
struct Waiting {
    id: u64,
    changed: Option<i64>,
    target: String,
}

impl Source {
    async fn go_on(mut self) {
        let (mut due, mut all_due) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            if self.anew.has_changed().unwrap_or(false) {
                self.anew.mark_unchanged();
                self.forget();
                due = now;
            }
            if due <= now {
                let is_all = self.since.is_none() || all_due <= now;
                let wanted = match self.since.filter(|_| !is_all) {
                    Some(since) if self.plan.source.has_delta() => Rows::Since(since),
                    _ => Rows::All,
                };
                let Some(is_read) = self.look(wanted).await else { return };
                let took = now.elapsed() * REST;
                if is_read && wanted == Rows::All {
                    all_due = Instant::now() + self.plan.all_every.max(took);
                }
                due = Instant::now() + self.plan.every.max(took);
            }
            match self.waiting.pop_front() {
                Some(target) => {
                    let Some(rest) = self.confirm(target).await else { return };
                    sleep(rest).await;
                }
                None if self.search.strong_count() == 0 => return,
                None => sleep(due.saturating_duration_since(Instant::now()).min(LOOK_EVERY)).await,
            }
        }
    }

    /// Of what it brought nothing is there any more.
    fn forget(&mut self) {
        (self.since, self.file) = (None, None);
        self.waiting.clear();
        self.asked.clear();
    }

    /// Reads it; whether it was read, and none at the end.
    async fn look(&mut self, wanted: Rows) -> Option<bool> {
        let search = self.search.upgrade()?;
        let before = match &self.plan.source {
            RowSource::Lines { path, .. } => mark_of(path.clone()).await,
            RowSource::Sql { .. } => None,
        };
        if before.is_some() && before == self.file {
            return Some(true);
        }
        let index = search.own_index()?;
        let reading = match wanted {
            Rows::All => READINGS.fetch_add(1, Ordering::Relaxed),
            Rows::Since(_) => self.reading,
        };
        let taking = Taking {
            search: search.clone(),
            index,
            base: self.base.clone(),
            source: u16::try_from(self.at).unwrap_or(u16::MAX),
            reading,
        };
        let (source, stop) = (self.plan.source.clone(), self.stop.clone());
        let read = tokio::task::spawn_blocking(move || taking.read(&source, wanted, &stop)).await;
        let name = &self.plan.name;
        match read.ok()? {
            Ok(brought) => {
                (self.reading, self.file) = (reading, before);
                self.since = brought.latest.or(self.since).or(Some(0));
                if wanted == Rows::All {
                    let Brought { rows, public, elsewhere, left_out, .. } = brought;
                    let mut state = format!("{rows} rows, {public} of them public");
                    if elsewhere > 0 {
                        state.push_str(&format!(", {elsewhere} not of this site"));
                    }
                    if left_out > 0 {
                        state.push_str(&format!(", {left_out} for which there is no room"));
                    }
                    search.rows.tell(self.at, name, state);
                    self.waiting.clear();
                }
                self.wait_for(brought.waiting);
                Some(true)
            }
            Err(Trouble::Stopped) => None,
            Err(trouble) => {
                let state = format!("isn't read: {trouble}");
                let is_known =
                    search.rows.told().get(self.at).is_some_and(|(_, before)| *before == state);
                if !is_known {
                    complain(format_args!("{}: search source {name} {state}", search.name));
                }
                search.rows.tell(self.at, name, state);
                Some(false)
            }
        }
    }

    /// Has addresses be read, but for those that were lately and haven't changed since.
    fn wait_for(&mut self, waiting: Vec<Waiting>) {
        for Waiting { id, changed, target } in waiting {
            let is_known = self.asked.get(&id).is_some_and(|(before, at)| {
                *before == changed && at.elapsed() < self.plan.all_every
            });
            if is_known || self.waiting.len() >= WAITING_MAX {
                continue;
            }
            if self.asked.len() >= ASKED_MAX {
                self.asked.clear();
            }
            self.asked.insert(id, (changed, Instant::now()));
            self.waiting.push_back(target);
        }
    }

    /// Reads an address as a stranger; how long to rest then, and none at the end.
    async fn confirm(&self, target: String) -> Option<Duration> {
        let search = self.search.upgrade()?;
        let place = Place { scheme: self.base.0, host: self.base.1.clone(), target };
        let began = Instant::now();
        search.counters.rows_confirmed.bump();
        let read = search.read(&place, READ_PATIENCE).await;
        if read.is_err_and(|unread| !matches!(unread, Unread::Status(..))) {
            search.put(&search.doubts, Doubt { place, tries: 1 });
        }
        Some(began.elapsed().max(READ_REST))
    }
}

/// By which a file is told from what it was.
async fn mark_of(path: PathBuf) -> Option<(SystemTime, u64)> {
    let told = tokio::fs::metadata(path).await.ok()?;
    Some((told.modified().ok()?, told.len()))
}

/// One reading of one source.
struct Taking {
    search: Arc<SiteSearch>,
    index: Index,
    base: (&'static str, String),
    source: u16,
    reading: u16,
}

impl Taking {
    fn read(self, source: &RowSource, wanted: Rows, stop: &Stop) -> Result<Brought, Trouble> {
        let mut brought = Brought::default();
        source.read(wanted, stop, &mut |row| {
            if stop.has_begun() {
                return Err(Trouble::Stopped);
            }
            self.take(&row, &mut brought);
            Ok(())
        })?;
        if wanted == Rows::All {
            self.take_out_others();
        }
        Ok(brought)
    }

    fn take(&self, row: &Row, brought: &mut Brought) {
        brought.rows += 1;
        brought.latest = brought.latest.max(row.changed);
        let (scheme, host) = &self.base;
        let base = format!("{scheme}://{host}/");
        let Some(target) = targets_within([row.address.as_str()].into_iter(), &base).pop() else {
            brought.elsewhere += 1;
            return;
        };
        let url = self.search.url_of(host, &target);
        let id = Document::id_of(&url);
        match row.public {
            Some(true) => {
                brought.public += 1;
                let document = row.document(&url, &self.search.host_of(host), unix());
                let is_put = self.put(document, row.changed.unwrap_or(0));
                brought.left_out += u64::from(!is_put);
            }
            Some(false) => self.remove(id),
            None => {
                // What was a public row is a page now, if it is one.
                self.remove(id);
                if brought.waiting.len() < WAITING_MAX && !self.is_current(id, row.changed) {
                    brought.waiting.push(Waiting { id, changed: row.changed, target });
                }
            }
        }
    }

    /// False if there is no room for it.
    fn put(&self, document: Document, changed: i64) -> bool {
        let (id, sum) = (document.id, sum_of(&document.attributes));
        let Self { source, reading, .. } = *self;
        let known = Known { sum, changed: part_of(changed), source, reading };
        let has_room = self.index.documents() < PAGES_MAX;
        let before = {
            let mut rows = unpoisoned(&self.search.rows.rows);
            let has_place = rows.contains_key(&id) || (has_room && rows.len() < ROWS_MAX);
            if !has_place {
                return false;
            }
            rows.insert(id, known)
        };
        if before.is_some_and(|before| (before.sum, before.changed) == (sum, known.changed)) {
            return true;
        }
        self.search.standings.remove(id);
        self.index.put(document);
        self.search.counters.rows_put.bump();
        true
    }

    fn remove(&self, id: u64) {
        // First it isn't shown any more, then it is taken out.
        if unpoisoned(&self.search.rows.rows).remove(&id).is_some() {
            self.index.remove(id);
            self.search.counters.rows_removed.bump();
        }
    }

    /// Whether a page was read since its row changed.
    fn is_current(&self, id: u64, changed: Option<i64>) -> bool {
        let Some(document) = self.index.get(id) else { return false };
        match (document.attributes.get(SEEN), changed) {
            (Some(Value::Int(seen)), Some(changed)) => *seen > changed,
            _ => true,
        }
    }

    /// Takes out what the source had before and has no more.
    fn take_out_others(&self) {
        let gone: Vec<u64> = {
            let rows = unpoisoned(&self.search.rows.rows);
            let is_gone =
                |known: &Known| known.source == self.source && known.reading != self.reading;
            rows.iter().filter(|(_, known)| is_gone(known)).map(|(id, _)| *id).collect()
        };
        gone.into_iter().for_each(|id| self.remove(id));
    }
}
