//! The tracker beside the sites: begun, told new rules, handed over, ended.
//!
//! Its sockets are bound with those of the sites, and read only when its store is open: at an
//! upgrade that is when the process before has written all that it knew. What comes meanwhile
//! waits in the sockets, which both have. Announces that come through a site are answered by
//! [`Door`].
//! Invariants: 1. one process at a time has the store. 2. no announce that was answered is
//! forgotten by a stop, an upgrade or a reload. 3. nothing here tells a passkey.

mod asking;
mod books;
mod importing;
mod lists;
mod plan;
mod told;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use base::Clock;
use base::complaint::complain;
use server::Aside;
use tracker::serve::{ConnectionIds, Mount, Service, Serving, Sockets};
use tracker::{Rules, Tracker};
use wire::tracker::answer::{Retry, put_failure};

pub(crate) use self::asking::{TrackerQuestion, ask, tell};
use self::books::Books;
use self::lists::Watched;
pub(crate) use self::plan::{BooksPlan, TrackerPlan};
pub(crate) use self::told::TrackerNow;

/// How often time goes on in the store, and lists of torrents are looked at.
const TICK: Duration = Duration::from_secs(1);
/// The secret by which clients over UDP are known again, also by the next process.
const KEY_FILE: &str = "connection.key";

/// Why there is no tracker; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrackerError {
    /// An address can't be had.
    #[error(
        "the tracker can't listen on {0}: {1}; stop what has that port (\"ss -lntup\" names it), \
         or write another in listen of [tracker]"
    )]
    Listen(SocketAddr, io::Error),
    /// What it must not lose can't be had.
    #[error(
        "the tracker's folder {0} can't be used: {1}; let this user write there, or name another \
         state folder with --state"
    )]
    Folder(String, io::Error),
    /// The database can't be had as it is written.
    #[error("the tracker's database: {0}")]
    Books(String),
    /// The system refuses a thread.
    #[error("the system refuses what the tracker needs: {0}")]
    System(io::Error),
}

/// What is known of the tracker as long as the process lives.
pub(crate) struct Tracking {
    /// What is served; none before the store is open and after it is closed.
    open: Mutex<Option<Arc<Open>>>,
    /// Handles on its sockets, for a successor.
    handles: Mutex<Option<Sockets>>,
    mount: Option<Mount>,
    clock: Clock,
}

/// An open tracker.
pub(crate) struct Open {
    pub(crate) tracker: Arc<Tracker>,
    pub(crate) service: Arc<Service>,
    pub(crate) books: Option<Books>,
    /// Held while rules are changed.
    lists: Arc<Mutex<Watched>>,
    work: Mutex<Option<Work>>,
}

/// What has to be ended.
struct Work {
    serving: Serving,
    stop: Arc<AtomicBool>,
    ticking: JoinHandle<()>,
}

impl Tracking {
    /// Whether an address is to be had.
    pub(crate) fn probe(address: SocketAddr, udp: bool) -> Result<(), TrackerError> {
        let failed = |error| TrackerError::Listen(address, error);
        tracker::serve::probe(address, udp).map_err(failed)
    }

    /// A tracker whose sockets are bound, and not read yet. `inherited`: those of the process
    /// before.
    pub(crate) fn bind(
        plan: &TrackerPlan,
        threads: usize,
        inherited: Option<Sockets>,
    ) -> Result<(Arc<Self>, Sockets), TrackerError> {
        let fits = |sockets: &Sockets| sockets.are_for(&plan.listen, plan.udp);
        let sockets = match inherited.filter(fits) {
            Some(sockets) => sockets,
            None => {
                for &address in &plan.listen {
                    Self::probe(address, plan.udp)?;
                }
                Sockets::bind(&plan.listen, plan.udp, threads)
                    .map_err(|(address, error)| TrackerError::Listen(address, error))?
            }
        };
        let (http, udp) = sockets.handles().map_err(TrackerError::System)?;
        let handles = Sockets::of_handles(http, udp).map_err(TrackerError::System)?;
        let tracking = Arc::new(Self {
            open: Mutex::default(),
            handles: Mutex::new(Some(handles)),
            mount: plan.mount.clone(),
            clock: Clock::machine(),
        });
        Ok((tracking, sockets))
    }

    /// Opens the store in the state folder and begins to serve.
    pub(crate) fn begin(
        &self,
        plan: &TrackerPlan,
        state: &Path,
        threads: usize,
        sockets: Sockets,
    ) -> Result<(), TrackerError> {
        let folder = plan::folder(state);
        let failed = |error| TrackerError::Folder(folder.display().to_string(), error);
        // Passkeys are in the tables there.
        let mut closed = std::fs::DirBuilder::new();
        closed.recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let ids = ConnectionIds::new(connection_key(&folder).map_err(failed)?);
        let now = self.clock.now();
        let (tracker, _) = Tracker::open(&folder, plan.rules.clone(), now).map_err(failed)?;
        let tracker = Arc::new(tracker);
        let books = plan.books.as_ref().map(|books| Books::begin(books, &tracker, &folder));
        let books = books.transpose().map_err(TrackerError::Books)?;
        let heart = tracker.clone();
        let service = Service::new(heart, plan.serve.clone(), ids, self.clock.clone());
        let service = Arc::new(service);
        if let (Some(books), Some(wanted)) = (&books, &plan.books)
            && let Some(pushes) = books.pushes(wanted, &tracker)
        {
            service.take_pushes(pushes);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let lists = Arc::new(Mutex::new(Watched::new(plan.lists.clone())));
        let ticking = {
            let (tracker, clock, stop) = (tracker.clone(), self.clock.clone(), stop.clone());
            let named = std::thread::Builder::new().name("tracker-time".to_owned());
            let lists = lists.clone();
            let work = move || tick(&tracker, &clock, &lists, &stop);
            named.spawn(work).map_err(TrackerError::System)?
        };
        let serving = Serving::begin(&service, sockets, threads).map_err(TrackerError::System)?;
        let work = Mutex::new(Some(Work { serving, stop, ticking }));
        let open = Open { tracker, service, books, lists, work };
        *lock(&self.open) = Some(Arc::new(open));
        Ok(())
    }

    /// What is served at the moment.
    pub(crate) fn open(&self) -> Option<Arc<Open>> {
        lock(&self.open).clone()
    }

    /// Goes on by other rules.
    pub(crate) fn settle(&self, plan: &TrackerPlan) {
        if let Some(open) = self.open() {
            let mut lists = lock(&open.lists);
            *lists = Watched::new(plan.lists.clone());
            // The key of computed passkeys is the site's and not the settings'.
            let xbt_key = open.tracker.rules().xbt_key.clone();
            open.tracker.set_rules(Rules { xbt_key, ..plan.rules.clone() });
            open.service.set_rules(plan.serve.clone());
        }
    }

    /// Handles on all sockets: those of TCP, those of UDP.
    pub(crate) fn handles(&self) -> io::Result<(Vec<OwnedFd>, Vec<OwnedFd>)> {
        lock(&self.handles).as_ref().map_or(Ok((Vec::new(), Vec::new())), Sockets::handles)
    }

    /// Where it listens: over TCP, over UDP.
    pub(crate) fn addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        lock(&self.handles).as_ref().map(Sockets::addresses).unwrap_or_default()
    }

    /// Answers what it has taken, writes all it knows, and ends. Waits.
    pub(crate) fn end(&self) {
        *lock(&self.handles) = None;
        let Some(open) = lock(&self.open).take() else { return };
        let Some(Work { serving, stop, ticking }) = lock(&open.work).take() else { return };
        stop.store(true, Ordering::Release);
        ticking.thread().unpark();
        let is_well = serving.stop();
        if ticking.join().is_err() || !is_well {
            complain("a thread of the tracker panicked; please report it");
        }
        if let Some(books) = &open.books {
            books.end();
        }
        let kept = open.tracker.flush_journal();
        if let Err(error) = kept.and_then(|()| open.tracker.checkpoint(self.clock.now())) {
            complain(format_args!("the tracker's state could not be written: {error}"));
        }
    }
}

/// Time goes on in the store, and what it knows is written now and then.
fn tick(tracker: &Tracker, clock: &Clock, lists: &Mutex<Watched>, stop: &AtomicBool) {
    let mut has_complained = false;
    while !stop.load(Ordering::Acquire) {
        let now = clock.now();
        tracker.tick(now);
        lock(lists).look(tracker);
        let kept = tracker.flush_journal().and_then(|()| match tracker.wants_checkpoint(now) {
            true => tracker.checkpoint(now),
            false => Ok(()),
        });
        match kept {
            Err(error) if !has_complained => {
                complain(format_args!(
                    "the tracker goes on, and a restart may lose what it counts from now on, as \
                     its log can't be written: {error}"
                ));
                has_complained = true;
            }
            Ok(()) => has_complained = false,
            Err(_) => {}
        }
        std::thread::park_timeout(TICK);
    }
}

/// The secret of connection ids: kept, so that the next process takes those that this one gave.
fn connection_key(folder: &Path) -> io::Result<[u8; 16]> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    let path = folder.join(KEY_FILE);
    if let Ok(kept) = std::fs::read(&path)
        && let Ok(key) = kept.try_into()
    {
        return Ok(key);
    }
    let key: [u8; 16] = rand::random();
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    file.write_all(&key)?;
    Ok(key)
}

impl Aside for Tracking {
    fn name(&self, target: &str) -> Option<&str> {
        self.mount.as_ref()?.name(target)
    }

    fn answer(&self, target: &str, from: IpAddr) -> Vec<u8> {
        let mut out = Vec::new();
        match self.open() {
            Some(open) => {
                let _ = open.service.answer_alone(target.as_bytes(), from, &mut out);
            }
            None => put_failure(&mut out, "the tracker starts; try again", Retry::Minutes(1)),
        }
        out
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
