//! Traces on their way to a collector: OTLP over HTTP, as JSON.
//!
//! Answers are recorded by who gave them, into a queue; a thread of its own takes batches from
//! there, writes and sends them. What is sent is made by [`observe::traces::otlp`].
//! Invariants: 1. no answer waits: what finds the queue full is left out and counted. 2. a
//! collector that fails is left alone for longer each time, and what was to be sent is given up
//! after a while. 3. the collector's address is never shown.
//! Start at [`Traces::record`]; why it is so: `docs/decisions/traces.md`.

mod setting;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base::Counter;
use base::Phase;
use base::complaint::complain;
use observe::Answer;
use observe::routes::RouteName;
use observe::traces::exemplars::Each;
use observe::traces::{Exemplar, Exemplars, Place, Recorded, otlp};
use origin::Origin;
use server::Trace;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};
use wire::Version;

pub(crate) use setting::{Collector, Share, TracesPlan};

use crate::post::Answered;
use crate::run::single_threaded;

/// Answers that wait to be sent; the largest has some 4 KiB of text.
const QUEUE_MAX: usize = 2048;
/// Answers of one batch, and how long the first of them waits for the others.
const BATCH_MAX: usize = 256;
const LINGER: Duration = Duration::from_secs(2);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a batch is tried, and the pauses between: each is twice the one before it.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long the last batches may take, at the end.
const FAREWELL: Duration = Duration::from_secs(3);

base::counters! {
    /// What became of traces.
    #[derive(Debug, Default)]
    pub(crate) struct TraceCounters {
        /// Answers that the collector has taken.
        pub(crate) sent: Counter,
        /// Answers that found the queue full.
        pub(crate) left_out: Counter,
        /// Answers that the collector did not take, or that it could not be told.
        pub(crate) lost: Counter,
    }
}

/// What is recorded, and what became of it.
#[derive(Debug)]
pub(crate) struct Traces {
    queue: mpsc::Sender<Recorded>,
    pub(crate) counters: TraceCounters,
    exemplars: Exemplars,
}

/// The thread that sends; dropping it sends what is left, for a moment.
pub(crate) struct Exporting {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Traces {
    /// Begins; without a thread nothing is recorded, and the owner is told.
    pub(crate) fn begin(plan: &TracesPlan) -> Option<(Arc<Self>, Exporting)> {
        let (queue, received) = mpsc::channel(QUEUE_MAX);
        let (stop, stopped) = oneshot::channel();
        let (counters, exemplars) = (TraceCounters::default(), Exemplars::default());
        let traces = Arc::new(Self { queue, counters, exemplars });
        let sender = Sender {
            plan: plan.clone(),
            traces: traces.clone(),
            pause: PAUSE,
            has_complained: false,
        };
        let runtime = single_threaded().map_err(|error| error.to_string());
        let spawned = runtime.and_then(|runtime| {
            std::thread::Builder::new()
                .name("traces".into())
                .spawn(move || {
                    runtime.block_on(sender.run(received, stopped));
                    runtime.shutdown_background();
                })
                .map_err(|error| error.to_string())
        });
        let told =
            |error| complain(format_args!("nothing is traced, for want of a thread: {error}"));
        let thread = spawned.map_err(told).ok()?;
        Some((traces, Exporting { stop: Some(stop), thread: Some(thread) }))
    }

    /// Records an answer of this trace and route; `begins` says when each phase began.
    pub(crate) fn record(
        &self,
        answer: &Answer<'_>,
        trace: &Trace,
        begins: [u64; Phase::COUNT],
        name: RouteName,
    ) {
        let place = Place {
            trace: trace.id,
            parent: trace.parent,
            span: trace.span,
            origin_span: trace.origin_span,
            scheme: trace.scheme,
            version: version(trace.version),
        };
        let recorded = Recorded::of(answer, place, begins, name);
        let (took_us, unix_ms) = (recorded.took_us, recorded.unix_ms + recorded.took_us / 1000);
        match self.queue.try_send(recorded) {
            Ok(()) => self.exemplars.note(Exemplar { trace: trace.id, took_us, unix_ms }),
            Err(_) => self.counters.left_out.bump(),
        }
    }

    pub(crate) fn exemplars(&self) -> Each {
        self.exemplars.each()
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has said itself why, if it panicked.
            let _ = thread.join();
        }
    }
}

fn version(version: Version) -> &'static str {
    match version {
        Version::Http10 => "1.0",
        Version::Http11 => "1.1",
        Version::Http2 => "2",
        Version::Http3 => "3",
    }
}

/// What came of a batch.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// It was taken, but for so many.
    Taken { rejected: u64 },
    /// It may be taken later: after so long, if that was said.
    Later(Option<Duration>, String),
    /// It never will be.
    Never(String),
}

struct Sender {
    plan: TracesPlan,
    traces: Arc<Traces>,
    /// Before a batch is sent for the second time.
    pause: Duration,
    /// Whether the owner knows that the collector fails.
    has_complained: bool,
}

impl Sender {
    /// Sends what comes, until the end; then what is left, once.
    async fn run(mut self, mut received: mpsc::Receiver<Recorded>, stopped: oneshot::Receiver<()>) {
        let Some(origin) = self.plan.collector.0.origin() else { return };
        let mut rest = Vec::new();
        tokio::select! {
            () = self.send_on(&origin, &mut received, &mut rest) => {}
            _ = stopped => {}
        }
        received.close();
        while let Ok(recorded) = received.try_recv() {
            rest.push(recorded);
        }
        let end = Instant::now() + FAREWELL;
        for batch in rest.chunks(BATCH_MAX) {
            let sent = timeout_at(end, self.send_once(&origin, batch)).await;
            let late = |_| Sent::Never("Wick has stopped".to_owned());
            self.count(batch.len(), &sent.unwrap_or_else(late));
        }
    }

    /// What is under way stands in `batch`, so that it isn't lost with this future.
    async fn send_on(
        &mut self,
        origin: &Origin,
        received: &mut mpsc::Receiver<Recorded>,
        batch: &mut Vec<Recorded>,
    ) {
        while let Some(first) = received.recv().await {
            batch.push(first);
            let due = Instant::now() + LINGER;
            while batch.len() < BATCH_MAX
                && let Ok(Some(recorded)) = timeout_at(due, received.recv()).await
            {
                batch.push(recorded);
            }
            self.send(origin, batch).await;
            batch.clear();
        }
    }

    /// Sends a batch, again and again if that may help.
    async fn send(&mut self, origin: &Origin, batch: &[Recorded]) {
        let mut pause = self.pause;
        for turn in 1..=TRIES {
            let sent = self.send_once(origin, batch).await;
            let Sent::Later(wanted, _) = &sent else { return self.count(batch.len(), &sent) };
            if turn == TRIES {
                return self.count(batch.len(), &sent);
            }
            sleep(wanted.unwrap_or(pause).min(PAUSE_MAX)).await;
            pause *= 2;
        }
    }

    async fn send_once(&self, origin: &Origin, batch: &[Recorded]) -> Sent {
        let json = otlp::batch(batch, env!("CARGO_PKG_VERSION"));
        match self.plan.collector.0.post(origin, json, PATIENCE).await {
            Ok(answered) => judge(&answered),
            Err(why) => Sent::Later(None, why),
        }
    }

    /// Counts what came of a batch, and tells the owner when a collector begins to fail.
    fn count(&mut self, answers: usize, sent: &Sent) {
        let (lost, why) = match sent {
            Sent::Taken { rejected: 0 } => (0, String::new()),
            Sent::Taken { rejected } => (*rejected, format!("{rejected} spans were rejected")),
            Sent::Later(_, why) | Sent::Never(why) => (answers as u64, why.clone()),
        };
        let lost = lost.min(answers as u64);
        self.traces.counters.lost.add(lost);
        self.traces.counters.sent.add(answers as u64 - lost);
        if lost == 0 {
            self.has_complained = false;
        } else if !std::mem::replace(&mut self.has_complained, true) {
            complain(format_args!(
                "the collector of traces does not take them: {why}; see whether OTLP over HTTP is \
                 spoken at otlp = … of [traces] in wick.toml"
            ));
        }
    }
}

/// What an answer means (OTLP/HTTP, "Failures": these four may be tried again).
fn judge(answered: &Answered) -> Sent {
    let status = || format!("a status of {}", answered.status);
    match answered.status {
        200..300 => Sent::Taken { rejected: rejected(&answered.body) },
        429 | 502..=504 => Sent::Later(answered.retry_after, status()),
        _ => Sent::Never(status()),
    }
}

/// How many spans of a batch were not taken, though the batch was.
fn rejected(body: &[u8]) -> u64 {
    let told: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let number = &told["partialSuccess"]["rejectedSpans"];
    // 64-bit numbers are written as text.
    number.as_str().and_then(|text| text.parse().ok()).or_else(|| number.as_u64()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
