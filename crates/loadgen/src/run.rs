//! A run: threads that load, somebody who watches, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use parking_lot::Mutex;

use crate::dial::{DialError, Dialer};
use crate::plan::{Load, Plan};
use crate::tally::{Tally, histogram};
use crate::worker::{Share, work};

/// Of the requests begun, this share may be late by the generator; more make a run void.
pub const LATE_SHARE_MAX: f64 = 0.01;
/// Until all threads are ready.
const HEAD_START: Duration = Duration::from_millis(20);

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nobody listens there.
    #[error("{target} can't be reached: {error}")]
    Unreachable {
        /// Where.
        target: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Somebody listens there, and TLS doesn't come about.
    #[error("no TLS with {target}: {error}; --insecure believes any certificate")]
    NoTls {
        /// Where.
        target: String,
        /// What is wrong.
        error: std::io::Error,
    },
    /// The generator lacks something.
    #[error("the load can't be made: {0}")]
    Ours(std::io::Error),
    /// A defect of the generator.
    #[error("a thread of the generator panicked; please report this")]
    Panicked,
}

/// How far a run is, for who watches it; and whether it is to stop.
#[derive(Debug)]
pub struct Live {
    stop: AtomicBool,
    pub(crate) threads: Vec<LiveThread>,
    recent: Mutex<Histogram<u32>>,
}

#[derive(Debug, Default)]
pub(crate) struct LiveThread {
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// What a watcher sees.
#[derive(Clone, Debug)]
pub struct Glance {
    /// Whole answers so far.
    pub answered: u64,
    /// Failures so far.
    pub failed: u64,
    /// Bytes received so far.
    pub bytes: u64,
    /// Microseconds of the answers of the seconds that ended since the last glance.
    pub latency: Histogram<u32>,
}

impl Live {
    /// For a plan with so many threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let threads = (0..threads).map(|_| LiveThread::default()).collect();
        Self { stop: AtomicBool::new(false), threads, recent: Mutex::new(histogram(2)) }
    }

    /// Ends the run soon; what was measured until then is reported.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether somebody wants the run to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How far it is.
    #[must_use]
    pub fn glance(&self) -> Glance {
        let sum = |part: fn(&LiveThread) -> &AtomicU64| {
            self.threads.iter().map(|thread| part(thread).load(Ordering::Relaxed)).sum()
        };
        Glance {
            answered: sum(|thread| &thread.answered),
            failed: sum(|thread| &thread.failed),
            bytes: sum(|thread| &thread.bytes),
            latency: std::mem::replace(&mut *self.recent.lock(), histogram(2)),
        }
    }

    pub(crate) fn add_second(&self, latency: &Histogram<u32>) {
        // Both have the same bounds.
        let added = self.recent.lock().add(latency);
        debug_assert!(added.is_ok());
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All that was measured.
    pub tally: Tally,
    /// From the beginning to the last answer, or to the end of the schedule if that is later.
    pub time: Duration,
    /// CPU time of the generator's threads.
    pub cpu: Duration,
    /// How busy the busiest of them was: 1 is a whole core.
    pub busiest: f64,
    /// Whether somebody stopped it before its end.
    pub is_stopped: bool,
}

impl Outcome {
    /// Of the requests begun, the share that was late by the generator.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.tally.late_by_generator as f64 / (self.tally.begun as f64).max(1.0)
    }

    /// Why nothing can be concluded from it; none if something can.
    #[must_use]
    pub fn void(&self) -> Option<String> {
        let late = self.late_share();
        if late > LATE_SHARE_MAX {
            return Some(format!(
                "{:.1} % of the requests were sent over 1 ms late by the generator itself, not by the target; \
                 give it more threads or a machine of its own, or a lower rate",
                late * 100.0
            ));
        }
        (self.tally.answered() == 0).then(|| "no answer came".to_owned())
    }

    /// Answers a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.tally.answered() as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// Loads; blocks until it is over.
///
/// # Errors
/// The target can't be reached, or the generator lacks something.
pub fn run(plan: &Arc<Plan>, live: &Live) -> Result<Outcome, RunError> {
    reach(plan)?;
    let begin = Instant::now() + HEAD_START;
    let threads = live.threads.len().max(1);
    let shares = (0..threads).map(|thread| Share { thread, threads });
    let done = std::thread::scope(|scope| {
        let started: Vec<_> = shares
            .map(|share| {
                let name = format!("load-{}", share.thread);
                std::thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || work(plan, share, begin, live))
            })
            .collect();
        let ended = started.into_iter().map(|thread| match thread.map_err(RunError::Ours) {
            Ok(thread) => thread.join().unwrap_or(Err(RunError::Panicked)),
            Err(error) => {
                live.stop();
                Err(error)
            }
        });
        ended.collect::<Vec<_>>()
    });
    let done = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    let wall = done.iter().map(|done| done.wall).max().unwrap_or_default();
    let (mut tally, mut cpu, mut busiest) = (Tally::default(), Duration::ZERO, 0.0f64);
    for done in done {
        busiest = busiest.max(done.cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9));
        cpu += done.cpu;
        tally.add(done.tally);
    }
    let is_stopped = live.is_stopped();
    let scheduled = match &plan.load {
        Load::Closed(_) => Duration::ZERO,
        load => load.time().unwrap_or_default(),
    };
    let time = if is_stopped { wall } else { tally.last_answer.max(scheduled) };
    Ok(Outcome { tally, time, cpu, busiest, is_stopped })
}

/// Whether anybody is there at all: said at once, and not by a million failures.
fn reach(plan: &Plan) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Ours)?;
    let dialer = Dialer::new(plan).map_err(RunError::Ours)?;
    let unreachable = |error| RunError::Unreachable { target: plan.target.shown(), error };
    runtime.block_on(async {
        let knocked = tokio::time::timeout(plan.timeout, dialer.knock()).await;
        dialer.close().await;
        match knocked {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(DialError::Connect(error))) => Err(unreachable(error)),
            Ok(Err(DialError::Tls(error))) => {
                Err(RunError::NoTls { target: plan.target.shown(), error })
            }
            Err(_) => Err(unreachable(std::io::Error::other("it didn't answer in time"))),
        }
    })
}
