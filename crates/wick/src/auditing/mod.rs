//! `audit = true`: pages are judged as they are stored for everybody.
//!
//! The server tells of what it stored ([`Companion::notice`]); one thread of low priority judges
//! page after page and writes what it found into a file of the state folder
//! (`audit::Standing`), which `wick audit status` and the dashboard show.
//! Invariants: 1. no answer waits for any of this. 2. at most 2 % of one core's time is spent
//! (`budget.rs`). 3. only a page whose text is another than before is judged.
//! Bounds: [`PAGES_WAITING_MAX`] pages wait, without their bodies; what finds no room is shed and
//! counted, as is a page of more than [`HTML_BYTES_MAX`]. That is at most 4 MiB, beside one
//! page's tree and 512 KiB for each site's file.
//! Start at [`SiteAudit`].

mod asking;
mod beside;
mod budget;
mod stored;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use ::audit::{Standing, judged, sum_of};
use ::crawl::bears_secret;
use base::Counter;
use base::complaint::complain;
use server::{Notice, Noticed, PageHandle, Server};
use url::Url;

pub(crate) use asking::{AuditNow, StatusTyped, show, told};
use beside::Beside;
use budget::Budget;
pub(crate) use stored::{StoredQuestion, of_running, tell as tell_stored};

use crate::observing::{Observing, unix};
use crate::plan::SitePlan;
use crate::sites::{Started, folder_name};

/// Pages that may wait.
const PAGES_WAITING_MAX: usize = 1024;
/// Longer addresses are not judged.
const TARGET_BYTES_MAX: usize = 2048;
/// Larger pages are not judged.
const HTML_BYTES_MAX: usize = 2 << 20;
/// As nice as can be.
const NICENESS: i32 = 19;
/// What the files of this are called before the name of their site.
const PREFIX: &str = "live-";

base::counters! {
    /// What happened.
    #[derive(Debug, Default)]
    pub(crate) struct Counters {
        /// Pages that were judged.
        pub(crate) pages_judged: Counter,
        /// Pages that were as they were.
        pub(crate) pages_same: Counter,
        /// Pages that found no room in the queue, or were too large.
        pub(crate) pages_shed: Counter,
        /// Judgements that couldn't be written down.
        pub(crate) writes_failed: Counter,
        /// Judgements that broke off, which is a defect.
        pub(crate) judgements_broken: Counter,
        /// Time that was spent, in microseconds.
        pub(crate) spent_us: Counter,
    }
}

/// A page that was stored.
struct Stored {
    audit: Arc<SiteAudit>,
    host: String,
    target: String,
    page: PageHandle,
}

/// The judging of one site's pages.
pub(crate) struct SiteAudit {
    name: String,
    path: PathBuf,
    /// Whether it answers for any host: then a page is known without it.
    is_for_any: bool,
    /// By which scheme and host visitors come, as the first one did: a page that lies there by
    /// the other scheme too is the same.
    base: OnceLock<(&'static str, String)>,
    waiting: SyncSender<Option<Stored>>,
    counters: Counters,
    /// Pages, errors, warnings and notices that stand.
    counts: [AtomicI64; 4],
    is_told: AtomicBool,
}

impl SiteAudit {
    /// Something was learned about an address.
    fn notice(self: &Arc<Self>, notice: Notice<'_>) {
        let Noticed::Stored(page) = notice.what else { return };
        // Whoever was given such an address may have it alone.
        if notice.target.len() > TARGET_BYTES_MAX || bears_secret(notice.target) {
            return;
        }
        let scheme = if notice.scheme == "https" { "https" } else { "http" };
        let host = notice.host.to_ascii_lowercase();
        if self.base.get_or_init(|| (scheme, host.clone())).0 != scheme {
            return;
        }
        let stored =
            Stored { audit: Arc::clone(self), host, target: notice.target.to_owned(), page };
        if self.waiting.try_send(Some(stored)).is_err() {
            self.counters.pages_shed.bump();
        }
    }

    fn url(&self, stored: &Stored) -> Option<Url> {
        let (scheme, first) = self.base.get()?;
        let host = if self.is_for_any { first } else { &stored.host };
        Url::parse(&format!("{scheme}://{host}{}", stored.target)).ok()
    }

    fn judge(&self, server: &Server, files: &mut Files, stored: &Stored) {
        // One that is gone again has been told of since.
        let Some(page) = server.public_page(&stored.page) else { return };
        let Some(url) = self.url(stored) else { return };
        if page.body.len() > HTML_BYTES_MAX {
            self.counters.pages_shed.bump();
            return;
        }
        let sum = sum_of(&page.fields, &page.body);
        let now = i64::try_from(unix().as_secs()).unwrap_or(i64::MAX);
        let done = files.of(self).and_then(|standing| {
            if standing.knows(url.as_str(), sum, now)? {
                self.counters.pages_same.bump();
                return Ok(());
            }
            let findings = judged(&url, &page.fields, &page.body);
            self.counters.pages_judged.bump();
            let more = standing.put(url.as_str(), sum, &findings, now)?;
            self.count(more);
            Ok(())
        });
        if let Err(error) = done {
            self.counters.writes_failed.bump();
            files.0.remove(&self.path);
            if !self.is_told.swap(true, Ordering::Relaxed) {
                complain(format_args!("{}: its pages aren't audited: {error}", self.name));
            }
        }
    }

    fn count(&self, more: ::audit::Counts) {
        let [errors, warnings, notices] = more.findings;
        for (own, more) in self.counts.iter().zip([more.pages, errors, warnings, notices]) {
            own.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// The files that are open, by their path.
#[derive(Default)]
struct Files(HashMap<PathBuf, Standing>);

impl Files {
    fn of(&mut self, audit: &SiteAudit) -> Result<&mut Standing, ::audit::BookError> {
        if !self.0.contains_key(&audit.path) {
            let standing = Standing::open(&audit.path, &audit.name)?;
            audit.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
            audit.count(standing.counts()?);
            self.0.insert(audit.path.clone(), standing);
        }
        self.0.get_mut(&audit.path).ok_or_else(|| {
            ::audit::BookError::Folder(audit.path.clone(), std::io::ErrorKind::NotFound.into())
        })
    }
}

/// The judging of all sites, as long as one wants it.
#[derive(Default)]
pub(crate) struct Auditing {
    sites: HashMap<String, Arc<SiteAudit>>,
    judge: Option<Judge>,
}

/// The thread that judges.
struct Judge {
    /// Nothing: it is over.
    waiting: SyncSender<Option<Stored>>,
    server: Arc<OnceLock<Weak<Server>>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Auditing {
    /// Has the pages of each site judged that wants it, beside its search; to be called when the
    /// searches are settled.
    pub(crate) fn settle(&mut self, plans: &[SitePlan], started: &mut [Started], state: &Path) {
        let mut before = std::mem::take(&mut self.sites);
        for (plan, site) in plans.iter().zip(started) {
            if !plan.audits {
                continue;
            }
            let name = site.config.name.clone();
            let Some(judge) = self.judge() else { return };
            let audit = before.remove(&name).unwrap_or_else(|| {
                let file = format!("{PREFIX}{}.sqlite", folder_name(Path::new(&name)));
                Arc::new(SiteAudit {
                    name: name.clone(),
                    path: state.join("audit").join(file),
                    is_for_any: plan.hosts.is_empty(),
                    base: OnceLock::new(),
                    waiting: judge.waiting.clone(),
                    counters: Counters::default(),
                    counts: Default::default(),
                    is_told: AtomicBool::new(false),
                })
            });
            let search = site.config.companion.take();
            site.config.companion = Some(Arc::new(Beside { search, audit: audit.clone() }));
            self.sites.insert(name, audit);
        }
    }

    fn judge(&mut self) -> Option<&Judge> {
        if self.judge.is_none() {
            let (waiting, stored) = sync_channel(PAGES_WAITING_MAX);
            let server = Arc::new(OnceLock::new());
            let is_over = Arc::new(AtomicBool::new(false));
            let own = (Arc::clone(&server), Arc::clone(&is_over));
            let begun = std::thread::Builder::new().name("wick-audit".to_owned());
            match begun.spawn(move || work(&stored, &own.0, &own.1)) {
                Ok(thread) => self.judge = Some(Judge { waiting, server, is_over, thread }),
                Err(error) => {
                    complain(format_args!("no site is audited: no thread: {error}"));
                }
            }
        }
        self.judge.as_ref()
    }

    /// Names the server whose pages are judged, and has the sites be told of.
    pub(crate) fn tell(&self, observing: &Observing, server: &Arc<Server>) {
        if let Some(judge) = &self.judge {
            // One that goes on has it.
            let _ = judge.server.set(Arc::downgrade(server));
        }
        let mut all: Vec<_> = self.sites.values().cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        observing.set_audits(all);
    }

    /// Ends it, with the page that is being judged.
    pub(crate) fn end(&mut self) {
        self.sites.clear();
        let Some(judge) = self.judge.take() else { return };
        judge.is_over.store(true, Ordering::Relaxed);
        judge.thread.thread().unpark();
        // Where there is no room, it has something to wake up for.
        let _ = judge.waiting.try_send(None);
        // A panic in it was told.
        let _ = judge.thread.join();
    }
}

/// Judges what was stored until it is over.
fn work(stored: &Receiver<Option<Stored>>, server: &OnceLock<Weak<Server>>, is_over: &AtomicBool) {
    // Where that isn't allowed, the budget holds all the same.
    let _ = rustix::process::nice(NICENESS);
    let (begun, mut budget, mut files) = (Instant::now(), Budget::default(), Files::default());
    while !is_over.load(Ordering::Relaxed) {
        let rest = budget.rest(begun.elapsed());
        if !rest.is_zero() {
            std::thread::park_timeout(rest);
            continue;
        }
        let Ok(Some(next)) = stored.recv() else { return };
        let Some(server) = server.get().and_then(Weak::upgrade) else { continue };
        let began = begun.elapsed();
        let judged = AssertUnwindSafe(|| next.audit.judge(&server, &mut files, &next));
        if catch_unwind(judged).is_err() {
            // It was told, and is no reason to judge no other page; what is open may be torn.
            next.audit.counters.judgements_broken.bump();
            files = Files::default();
        }
        let ended = begun.elapsed();
        let spent = u64::try_from((ended - began).as_micros()).unwrap_or(u64::MAX);
        next.audit.counters.spent_us.add(spent);
        budget.worked(began, ended);
    }
}
