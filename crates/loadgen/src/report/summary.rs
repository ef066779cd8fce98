//! The figures of a report, with their units in their names; what JSON shows as it is.

use std::collections::BTreeMap;

use hdrhistogram::{Counter, Histogram};
use serde::{Deserialize, Serialize};

use crate::plan::{Load, Plan};
use crate::run::Outcome;
use crate::tally::Timeline;

/// The form of the JSON; another number is another form.
pub const FORM: u32 = 1;

/// All that a report tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The form of this JSON.
    pub form: u32,
    /// What was loaded, as `Host` names it.
    pub target: String,
    /// Where that was, once for the whole run.
    pub address: String,
    /// `open`, `replay` or `closed`.
    pub model: String,
    /// Connections at one time, at most.
    pub connections_max: u64,
    /// Threads of the generator.
    pub threads: u64,
    /// How long it took.
    pub seconds: f64,
    /// Requests that were to be made; unknown where only time was given.
    pub wanted: Option<u64>,
    /// Requests begun.
    pub begun: u64,
    /// Whole answers.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Whole answers a second.
    pub answers_per_second: f64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes of heads.
    pub head_bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Answers on a connection that had carried one before.
    pub kept: u64,
    /// Requests sent again as their kept connection had been closed.
    pub resent: u64,
    /// Whole answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by kind, with what the first of each said.
    pub failures: BTreeMap<String, FailureCount>,
    /// From the intended moment to the last byte.
    pub latency: Spread,
    /// From the moment at which the request was begun to the last byte.
    pub service: Spread,
    /// The generator itself.
    pub generator: Generator,
    /// Why nothing can be concluded; none if something can.
    pub void: Option<String>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// Seconds that each of `points` lasts.
    pub point_seconds: u64,
    /// What happened when.
    pub points: Vec<PointFigures>,
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureCount {
    /// How many.
    pub count: u64,
    /// What the first of them said.
    pub first: String,
}

/// Times, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the percentile, or the figure, that it names")]
pub struct Spread {
    pub min_us: u64,
    pub mean_us: f64,
    pub deviation_us: f64,
    pub p50_us: u64,
    pub p75_us: u64,
    pub p90_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    pub p9999_us: u64,
    pub max_us: u64,
}

/// What the generator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time.
    pub cpu_seconds: f64,
    /// Whole answers a second of CPU time.
    pub answers_per_cpu_second: f64,
    /// How busy its busiest thread was; 1 is a whole core.
    pub busiest_thread: f64,
    /// Requests that were over a millisecond late by the generator.
    pub late: u64,
    /// How late the generator was.
    pub lateness: Spread,
    /// Requests that were over a millisecond late as all connections were busy.
    pub waited_for_target: u64,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFigures {
    /// When it began.
    pub second: u64,
    /// Whole answers in it.
    pub answered: u64,
    /// Failures in it.
    pub failed: u64,
    /// Bytes received in it.
    pub bytes: u64,
    /// The latency of its answers.
    pub latency: Spread,
}

impl Spread {
    /// Of a histogram of microseconds.
    #[must_use]
    pub fn of<C: Counter>(times: &Histogram<C>) -> Self {
        if times.is_empty() {
            return Self::default();
        }
        // A histogram tells the upper end of a count's range, which may be above all that
        // was seen; nobody waited longer than whoever waited longest.
        let max = times.max();
        let at = |share| times.value_at_quantile(share).min(max);
        Self {
            min_us: times.min(),
            mean_us: times.mean(),
            deviation_us: times.stdev(),
            p50_us: at(0.5),
            p75_us: at(0.75),
            p90_us: at(0.9),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            p9999_us: at(0.9999),
            max_us: max,
        }
    }
}

impl Summary {
    /// What came of a plan.
    #[must_use]
    pub fn of(plan: &Plan, outcome: &Outcome) -> Self {
        let tally = &outcome.tally;
        let cpu_seconds = outcome.cpu.as_secs_f64();
        let failures = tally.failures.iter().map(|(kind, failures)| {
            let first = failures.first.clone();
            (kind.shown().to_owned(), FailureCount { count: failures.count, first })
        });
        let model = match &plan.load {
            Load::Open(_) => "open",
            Load::Moments(_) => "replay",
            Load::Closed(_) => "closed",
        };
        Self {
            form: FORM,
            target: plan.target.authority.clone(),
            address: plan.target.shown(),
            model: model.to_owned(),
            connections_max: plan.connections as u64,
            threads: plan.threads as u64,
            seconds: outcome.time.as_secs_f64(),
            wanted: plan.load.requests(),
            begun: tally.begun,
            answered: tally.answered(),
            failed: tally.failed(),
            answers_per_second: outcome.rate(),
            body_bytes: tally.body_bytes,
            head_bytes: tally.head_bytes,
            connections: tally.connections,
            kept: tally.kept,
            resent: tally.resent,
            statuses: tally.statuses.clone(),
            failures: failures.collect(),
            latency: Spread::of(&tally.latency),
            service: Spread::of(&tally.service),
            generator: Generator {
                cpu_seconds,
                answers_per_cpu_second: tally.answered() as f64 / cpu_seconds.max(1e-9),
                busiest_thread: outcome.busiest,
                late: tally.late_by_generator,
                lateness: Spread::of(&tally.lateness),
                waited_for_target: tally.late_by_target,
            },
            void: outcome.void(),
            stopped: outcome.is_stopped,
            point_seconds: tally.timeline.width_seconds,
            points: points(&tally.timeline),
        }
    }

    /// As JSON, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        // Numbers, texts and maps by texts and numbers: nothing that JSON hasn't.
        let json = serde_json::to_string_pretty(self).expect("a summary is plain data");
        format!("{json}\n")
    }
}

fn points(timeline: &Timeline) -> Vec<PointFigures> {
    let seconds = (0..).step_by(usize::try_from(timeline.width_seconds).unwrap_or(1));
    let figures = timeline.points.iter().zip(seconds).map(|(point, second)| PointFigures {
        second,
        answered: point.answered,
        failed: point.failed,
        bytes: point.bytes,
        latency: Spread::of(&point.latency),
    });
    figures.collect()
}
