//! An audit whose workers come by a queue with NATS, and a worker that does.
//!
//! What is asked for, and what counts, is the `audit` crate's; how it gets there and back the
//! `cluster` crate's. The audit's token is the queue's secret.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ::audit::{Crew, Desk, Hands, Welcome, WorkersToken};
use base::complaint::complain;
use clap::Args;
use cluster::{Arrival, Corner, Giver, QueueError, Settings, Taken, Taker};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

/// Pages that a worker has at once.
const HANDS: usize = 16;
/// How often a worker says that it is there, and a coordinator looks who is.
const SAYING: Duration = Duration::from_secs(2);
/// How long a worker waits for a coordinator that isn't there (any more).
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How long the end of an audit is told to those who ask.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where a queue is.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueTyped {
    /// Have workers come by a queue with these NATS servers, which need JetStream; several with
    /// commas between them.
    #[arg(long, value_name = "URL", group = "ways")]
    pub(crate) nats: Option<String>,
    /// The queue's name there: that of one audit at a time.
    #[arg(long, value_name = "NAME", default_value = "audit", requires = "nats")]
    pub(crate) queue: String,
    /// A file with what the NATS servers want to see.
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub(crate) nats_credentials: Option<PathBuf>,
}

impl QueueTyped {
    fn settings(&self, servers: &str) -> Result<Settings, Box<dyn Error>> {
        let (name, credentials) = (&self.queue, self.nats_credentials.clone());
        // Nobody's lag counts here.
        Ok(Settings::new(servers, name, "audit", Duration::from_secs(1), credentials)?)
    }
}

/// An audit's queue: its workers come until it is closed.
pub(super) struct Queue {
    crew: Arc<Crew>,
    serving: JoinHandle<Result<(), QueueError>>,
}

impl Queue {
    /// Takes the queue over, and says how to come.
    pub(super) fn open(
        runtime: &Runtime,
        typed: &QueueTyped,
        servers: &str,
        token: &WorkersToken,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Box<dyn Error>> {
        let settings = typed.settings(servers)?;
        let shown = settings.shown();
        let giver = runtime.block_on(Giver::open(settings, token.secret()))?;
        let desk = Desk::default();
        let crew = Arc::clone(desk.crew());
        complain(format_args!(
            "workers do the work: wick audit worker --nats {shown} --queue {} --token-file FILE",
            typed.queue
        ));
        let interrupted = Arc::clone(interrupted);
        let serving = runtime.spawn(async move {
            let served = serve(desk, giver).await;
            if served.is_err() {
                // Without a queue nothing more is done; the next run goes on.
                interrupted.store(true, Ordering::Relaxed);
            }
            served
        });
        Ok(Self { crew, serving })
    }

    pub(super) fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }

    /// Tells all workers that there is no more to do.
    pub(super) async fn close(self) -> Result<(), Box<dyn Error>> {
        self.crew.close();
        Ok(self.serving.await??)
    }
}

/// Brings work into the queue, and what comes of it to the audit, until that is over.
async fn serve(mut desk: Desk, mut giver: Giver) -> Result<(), QueueError> {
    let crew = Arc::clone(desk.crew());
    let mut looks = interval(SAYING);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = crew.closed() => break,
            arrival = giver.next() => take(&mut desk, arrival).await?,
            _ = looks.tick() => desk.look(SAYING),
            errand = desk.next() => {
                let corner = if errand.is_for_here { Corner::Here } else { Corner::Any };
                tokio::select! {
                    () = crew.closed() => break,
                    given = giver.give(errand.number, corner, &errand.content) => given?,
                }
            }
        }
    }
    giver.take_away().await?;
    let told = async {
        while crew.workers() > 0 {
            let arrival = giver.next().await;
            // That nothing is brought any more is this one's own doing.
            if !matches!(arrival, Arrival::Ended(_)) {
                take(&mut desk, arrival).await?;
            }
        }
        Ok(())
    };
    // Who doesn't hear it finds that nobody is there.
    timeout(FAREWELL, told).await.unwrap_or(Ok(()))
}

async fn take(desk: &mut Desk, arrival: Arrival) -> Result<(), QueueError> {
    match arrival {
        Arrival::Asked(question) => {
            let answer = desk.hello(&question.content);
            question.answer(&answer).await;
        }
        Arrival::Brought(number, content) => desk.brought(number, content.as_deref()),
        Arrival::Ended(error) => return Err(error),
    }
    Ok(())
}

/// A worker that takes from a queue.
pub(super) struct QueueWorker {
    taker: Taker,
    hands: Hands,
    queue: String,
    done: AtomicUsize,
    /// Something failed that the coordinator may know of.
    stirs: Notify,
}

impl QueueWorker {
    pub(super) async fn reach(
        typed: &QueueTyped,
        servers: &str,
        token: &WorkersToken,
    ) -> Result<Self, Box<dyn Error>> {
        let taker = Taker::reach(typed.settings(servers)?, token.secret()).await?;
        let (hands, queue) = (Hands::new()?, typed.queue.clone());
        let (done, stirs) = (AtomicUsize::new(0), Notify::new());
        Ok(Self { taker, hands, queue, done, stirs })
    }

    /// Pages of which it brought what came of them.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Works until the audit is over.
    pub(super) async fn work(self: &Arc<Self>) -> Result<(), Box<dyn Error>> {
        let mut taking: JoinSet<()> = JoinSet::new();
        let places = Arc::new(Semaphore::new(HANDS));
        let (mut heard, mut was_welcome) = (Instant::now(), false);
        loop {
            match self.taker.ask(&self.hands.hello()).await? {
                Some(answer) => {
                    heard = Instant::now();
                    match Hands::heard(&answer) {
                        Welcome::Over => return Ok(()),
                        Welcome::Refused(why) => return Err(self.refused(&why)),
                        Welcome::In { is_here } if !was_welcome => {
                            was_welcome = true;
                            let here = is_here.then_some(Corner::Here);
                            for corner in [Some(Corner::Any), here].into_iter().flatten() {
                                let (own, places) = (Arc::clone(self), Arc::clone(&places));
                                taking.spawn(own.take_all(corner, places));
                            }
                        }
                        Welcome::In { .. } => {}
                    }
                }
                None if was_welcome && self.taker.is_gone().await => return Ok(()),
                None if heard.elapsed() > PATIENCE => {
                    let (queue, servers) = (&self.queue, self.taker.shown());
                    return Err(format!(
                        "nobody gives work through the queue {queue} at {servers}; see that wick \
                         audit --nats runs, and by that name"
                    )
                    .into());
                }
                None => {}
            }
            tokio::select! {
                () = sleep(SAYING) => {}
                () = self.stirs.notified() => sleep(AGAIN_AFTER / 10).await,
            }
        }
    }

    fn refused(&self, why: &str) -> Box<dyn Error> {
        let told: String = why.chars().filter(|letter| !letter.is_control()).take(300).collect();
        format!("the coordinator of the queue {} refuses: {told}", self.queue).into()
    }

    /// Takes what lies in one corner, as long as there are hands.
    async fn take_all(self: Arc<Self>, corner: Corner, places: Arc<Semaphore>) {
        let mut working: JoinSet<()> = JoinSet::new();
        // It is never closed.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            while working.try_join_next().is_some() {}
            match self.taker.take(corner).await {
                Ok(None) => {}
                Ok(Some(taken)) => {
                    let own = Arc::clone(&self);
                    working.spawn(async move {
                        own.run(taken).await;
                        drop(place);
                    });
                }
                Err(_) => {
                    // The coordinator knows whether the audit is over.
                    self.stirs.notify_one();
                    sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    async fn run(&self, taken: Taken) {
        let packed = tokio::select! {
            packed = self.hands.work(&taken.content, taken.times) => packed,
            () = taken.hold() => return,
        };
        match taken.bring(&packed).await {
            Ok(()) => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            // Another does it, or the audit is over.
            Err(_) => self.stirs.notify_one(),
        }
    }
}
