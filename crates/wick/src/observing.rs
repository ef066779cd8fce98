//! What happens is told to the `observe` crate, kept, and told to who asks.
//!
//! The server tells each answer; a thread takes a sample each second and writes it into the
//! state folder. Another Wick that still writes there, as during an upgrade, is waited for.
//! What may be asked through the control socket stands in [`asking`].
//! Invariant: nothing here holds up an answer, and a history that can't be kept ends nothing.

pub(crate) mod asking;
mod latest;
pub(crate) mod log;
pub(crate) mod overview;
pub(crate) mod profile;
pub(crate) mod told;

use base::complaint::complain;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::Phases;
use observe::history::{History, HistoryError, Mark, Point};
use observe::kept::KeptWriter;
use observe::routes::RouteName;
use observe::{Answer, Ledger, Outside, Sampler, Seen, Wanted};
use server::{Observed, Observer, Server};

pub(crate) use self::latest::Latest;
use self::latest::Window;
use self::profile::Profile;
use crate::auditing::SiteAudit;
use crate::memory::Meter;
use crate::search::SiteSearch;
use crate::sphinx::Answering;
use crate::traces::{Exporting, Traces, TracesPlan};
use crate::tracker::Tracking;

/// The history's folder in the state folder.
const FOLDER: &str = "history";

/// Where the Wick with this state folder keeps its history.
pub(crate) fn history_folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// What happened, and what is to be marked in the next second of history.
pub(crate) struct Observing {
    pub(crate) ledger: Ledger,
    pub(crate) history: PathBuf,
    marks: AtomicU16,
    began: Instant,
    /// The server that tells of its answers, and the owner's figure for its memory.
    server: OnceLock<(Weak<Server>, u64)>,
    latest: Mutex<Option<Latest>>,
    traces: OnceLock<Arc<Traces>>,
    /// Where slow requests were in PHP.
    pub(crate) profile: Arc<Profile>,
    /// The tracker beside the sites.
    pub(crate) tracker: OnceLock<Arc<Tracking>>,
    /// Clients of Sphinx's beside the sites.
    pub(crate) sphinx: OnceLock<Arc<Answering>>,
    /// This node among others.
    pub(crate) cluster: OnceLock<crate::cluster::Joint>,
    /// The sites' searches.
    searches: Mutex<Vec<Arc<SiteSearch>>>,
    /// The sites' audits.
    audits: Mutex<Vec<Arc<SiteAudit>>>,
}

impl Observing {
    pub(crate) fn new(state: &Path) -> Arc<Self> {
        let history = history_folder(state);
        Arc::new(Self {
            ledger: Ledger::default(),
            history,
            marks: AtomicU16::new(0),
            latest: Mutex::default(),
            traces: OnceLock::new(),
            profile: Arc::default(),
            tracker: OnceLock::new(),
            sphinx: OnceLock::new(),
            cluster: OnceLock::new(),
            searches: Mutex::default(),
            audits: Mutex::default(),
            began: Instant::now(),
            server: OnceLock::new(),
        })
    }

    /// Names the server, so that how busy it is can be told too. Only the first one counts.
    fn attach(&self, server: &Arc<Server>, memory_bytes: u64) {
        let _ = self.server.set((Arc::downgrade(server), memory_bytes));
    }

    /// Names the sites' audits, so that they can be asked.
    pub(crate) fn set_audits(&self, audits: Vec<Arc<SiteAudit>>) {
        *self.audits.lock().unwrap_or_else(PoisonError::into_inner) = audits;
    }

    pub(crate) fn audits(&self) -> Vec<Arc<SiteAudit>> {
        self.audits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Names the sites' searches, so that they can be asked.
    pub(crate) fn set_searches(&self, searches: Vec<Arc<SiteSearch>>) {
        *self.searches.lock().unwrap_or_else(PoisonError::into_inner) = searches;
    }

    pub(crate) fn searches(&self) -> Vec<Arc<SiteSearch>> {
        self.searches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn attached(&self) -> Option<(Arc<Server>, u64)> {
        let (server, memory_bytes) = self.server.get()?;
        Some((server.upgrade()?, *memory_bytes))
    }

    /// Begins to tell a collector of traces, where one is wanted.
    pub(crate) fn trace(&self, plan: Option<&TracesPlan>) -> Option<Exporting> {
        let (traces, exporting) = Traces::begin(plan?)?;
        let _ = self.traces.set(traces);
        Some(exporting)
    }

    /// What is recorded, where anything is.
    pub(crate) fn traces(&self) -> Option<&Traces> {
        self.traces.get().map(|traces| &**traces)
    }

    /// Notes in the history that something happens.
    pub(crate) fn mark(&self, mark: Mark) {
        self.marks.fetch_or(mark as u16, Ordering::Relaxed);
    }

    /// Whether that is to be noted with the next second.
    #[cfg(test)]
    pub(crate) fn is_marked(&self, mark: Mark) -> bool {
        self.marks.load(Ordering::Relaxed) & mark as u16 != 0
    }

    /// What the last second's sample told; none before the first.
    pub(crate) fn latest(&self) -> Option<Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Observing {
    fn answered(&self, answer: &Observed<'_>) {
        let told = Answer {
            unix_ms: answer.unix_ms,
            method: answer.method,
            host: answer.host,
            path: answer.path,
            status: answer.status,
            verdict: answer.verdict,
            unstored: answer.unstored,
            bytes: answer.bytes,
            is_html: answer.is_html,
            phases: answer.phases.map(Phases::all).unwrap_or_default(),
            site: &|| answer.site(),
            took_us: &|| answer.took_us(),
        };
        let route = self.ledger.note(&told);
        if let (Some(trace), Some(traces)) = (&answer.trace, self.traces())
            && trace.is_recorded
        {
            let begins = answer.phases.map(Phases::begins).unwrap_or_default();
            traces.record(&told, trace, begins, self.ledger.route_name(route));
        }
    }

    fn tell(&self, question: serde_json::Value) -> Result<serde_json::Value, String> {
        asking::tell(self, question)
    }
}

/// The thread that writes the history; it ends when this is dropped.
pub(crate) struct Keeping {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeping {
    /// Begins; without a thread there is no history, and the owner is told. From now on it can
    /// be asked how busy the server is; `memory_bytes` is the owner's figure.
    pub(crate) fn begin(
        observing: &Arc<Observing>,
        server: &Arc<Server>,
        memory_bytes: u64,
    ) -> Self {
        observing.attach(server, memory_bytes);
        let (stop, stopped) = mpsc::sync_channel(1);
        let (observing, server) = (observing.clone(), Arc::downgrade(server));
        let spawned = std::thread::Builder::new()
            .name("history".into())
            .spawn(move || keep(&observing, &server, &stopped));
        if let Err(error) = &spawned {
            complain(format_args!("no history is kept, as there is no thread for it: {error}"));
        }
        Self { stop: Some(stop), thread: spawned.ok() }
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has said itself why, if it panicked.
            let _ = thread.join();
        }
    }
}

/// Takes a sample at the end of each second, and one more at the end.
fn keep(observing: &Observing, server: &Weak<Server>, stopped: &mpsc::Receiver<()>) {
    let meter = Meter::open().ok();
    let Some(outside) = outside(server, meter.as_ref()) else { return };
    let mut sampler = Sampler::new(&observing.ledger, outside);
    let (mut scribe, mut window) = (Scribe::default(), Window::default());
    let mut newest = 0;
    observing.mark(Mark::Start);
    loop {
        let now = unix();
        let left = Duration::from_secs(now.as_secs() + 1).saturating_sub(now);
        let is_last = stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout);
        let Some(outside) = self::outside(server, meter.as_ref()) else { return };
        // The second that has just ended; at the stop the one that hasn't yet.
        let time = if is_last { unix().as_secs() } else { now.as_secs() };
        let mut point = sampler.take(&observing.ledger, outside, time);
        let mut latest = window.latest(sampler.totals(), sampler.times());
        latest.times.exemplars = observing.traces().map(Traces::exemplars).unwrap_or_default();
        *observing.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(latest);
        point.marks |= observing.marks.swap(0, Ordering::Relaxed);
        let (answers, last) = observing.ledger.recent(newest, &Wanted::default());
        newest = last;
        scribe.write(observing, point, &answers);
        if is_last {
            return;
        }
    }
}

/// The time since 1970.
pub(crate) fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// None once there is no server any more.
fn outside(server: &Weak<Server>, meter: Option<&Meter>) -> Option<Outside> {
    let server = server.upgrade()?;
    Some(Outside {
        origin_us: server.of_origins(|counters| counters.busy_us.read()),
        memory_bytes: meter.and_then(|meter| meter.resident_bytes().ok()).unwrap_or_default(),
        purges: server.counters().purges.read(),
        sweeps: server.sweeps(),
        overruled: server.counters().overruled.read(),
    })
}

/// Writes seconds as long as that can be done, and tells the owner once if it can't.
#[derive(Default)]
struct Scribe {
    history: Option<(History, KeptWriter)>,
    has_complained: bool,
}

impl Scribe {
    fn write(&mut self, observing: &Observing, point: Point, answers: &[(Seen, RouteName)]) {
        let marks = point.marks;
        if let Err(error) = self.try_write(observing, point, answers) {
            // What was to be marked shall not be lost with the second.
            observing.marks.fetch_or(marks, Ordering::Relaxed);
            self.history = None;
            let is_waiting = matches!(error, HistoryError::Taken(_));
            if !is_waiting && !std::mem::replace(&mut self.has_complained, true) {
                complain(error);
            }
        }
    }

    fn try_write(
        &mut self,
        observing: &Observing,
        point: Point,
        answers: &[(Seen, RouteName)],
    ) -> Result<(), HistoryError> {
        let unusable = |error| HistoryError::Unusable(observing.history.clone(), error);
        let open = match self.history.take() {
            Some(open) => open,
            // The history's lock is that of the answers too.
            None => {
                let history = History::open(&observing.history)?;
                (history, KeptWriter::open(&observing.history).map_err(unusable)?)
            }
        };
        let (history, kept) = self.history.insert(open);
        history.note(point)?;
        kept.note(answers).map_err(unusable)
    }
}

#[cfg(test)]
mod tests {
    use base::Clock;
    use observe::history::{Span, read};
    use server::ServerConfig;

    use super::*;

    #[test]
    fn what_is_noted_before_the_stop_is_in_the_history() {
        let folder = tempfile::tempdir().expect("a folder");
        let observing = Observing::new(folder.path());
        let server = Server::new(ServerConfig::default(), Clock::manual(0));
        let keeping = Keeping::begin(&observing, &server, 64 << 20);
        observing.mark(Mark::Reload);
        drop(keeping);
        let now = unix().as_secs();
        let span = Span { from: now - 60, to: now + 60, step: 60 };
        let points = read(&observing.history, span, now).expect("it was written");
        assert!(points.iter().any(|point| point.has(Mark::Reload)), "{points:?}");
    }

    #[test]
    fn a_history_that_another_writes_is_waited_for_and_its_marks_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let observing = Observing::new(folder.path());
        let other = History::open(&observing.history).expect("a new history");
        let mut scribe = Scribe::default();
        let mut point = Point { time: 1_789_000_000, ..Default::default() };
        point.mark(Mark::Purge);
        scribe.write(&observing, point.clone(), &[]);
        assert_eq!(observing.marks.load(Ordering::Relaxed), Mark::Purge as u16);
        assert!(!scribe.has_complained, "it is no fault");
        drop(other);
        scribe.write(&observing, point, &[]);
        assert!(scribe.history.is_some());
    }
}
