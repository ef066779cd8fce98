//! What is shown, as numbers: the head, the routes in their order, the reasons, the slowest.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::controls::{Controls, Sort, Window};
use super::watching::{Between, Stretch, Watching};
use crate::observing::asking::LogLine;
use crate::observing::overview::Past;

/// Everything that is shown at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) head: Head,
    pub(super) rows: Vec<Row>,
    pub(super) reasons: Vec<Reason>,
    pub(super) slowest: Vec<LogLine>,
}

/// What concerns all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) version: String,
    pub(super) uptime_seconds: u64,
    pub(super) connections: u64,
    /// How many seconds "now" has; none: everything since the start.
    pub(super) now_seconds: Option<u64>,
    pub(super) rate: f64,
    pub(super) hits: u64,
    pub(super) requests: u64,
    pub(super) errors_rate: f64,
    pub(super) errors: u64,
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
    pub(super) requests_all: u64,
    pub(super) errors_all: u64,
    pub(super) slots: u64,
    pub(super) slots_taken: u64,
    pub(super) waiting: u64,
    pub(super) resident_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) cache_bytes: u64,
    pub(super) pages: u64,
    pub(super) past: Past,
}

/// One route.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) requests: u64,
    pub(super) hits: u64,
    /// Requests a second now.
    pub(super) rate: f64,
    pub(super) origin_us: u64,
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
    pub(super) errors: u64,
}

/// A verdict with its reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Reason {
    pub(super) why: String,
    pub(super) requests: u64,
    pub(super) origin_us: u64,
}

impl View {
    /// What is shown of what was told; nothing if there is nothing.
    pub(super) fn of(watching: &Watching, controls: &Controls) -> Self {
        let window = match controls.window {
            Window::SinceStart => watching.since_start(),
            Window::Minute => watching.minute(),
        };
        let (Some(now), Some(window)) = (watching.now(), window) else { return Self::default() };
        let mut reasons: Vec<Reason> = window
            .reasons()
            .map(|(why, requests, origin_us)| Reason { why: why.to_owned(), requests, origin_us })
            .filter(|reason| reason.requests > 0)
            .collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.requests));
        let slowest = now
            .last
            .slowest
            .iter()
            .filter(|line| controls.lets_through(&format!("{} {}", line.path, line.verdict)));
        Self {
            head: Head::of(now),
            rows: rows(now, window, controls),
            reasons,
            slowest: slowest.cloned().collect(),
        }
    }
}

impl Head {
    fn of(now: Between<'_>) -> Self {
        let Stretch { counts, times } = now.all();
        let last = now.last;
        Self {
            version: last.version.clone(),
            uptime_seconds: last.uptime_seconds,
            connections: last.connections,
            now_seconds: now.earlier.map(|_| now.seconds().round() as u64),
            rate: counts.requests as f64 / now.seconds().max(0.1),
            hits: counts.hits,
            requests: counts.requests,
            errors_rate: counts.errors as f64 / now.seconds().max(0.1),
            errors: counts.errors,
            p50_us: times.percentile(0.5),
            p99_us: times.percentile(0.99),
            requests_all: last.all.requests,
            errors_all: last.all.errors,
            slots: last.slots,
            slots_taken: last.slots_taken,
            waiting: last.waiting,
            resident_bytes: last.resident_bytes,
            memory_bytes: last.memory_bytes,
            cache_bytes: last.cache_bytes,
            pages: last.pages,
            past: last.past.clone(),
        }
    }
}

/// The routes that had any request, filtered and in their order.
fn rows(now: Between<'_>, window: Between<'_>, controls: &Controls) -> Vec<Row> {
    let sites = now.last.routes.iter().map(|route| route.site.as_str());
    let has_sites = sites.filter(|site| !site.is_empty()).collect::<BTreeSet<_>>().len() > 1;
    let seconds = now.seconds().max(0.1);
    // Both are of the same answer, so their routes stand in the same order.
    let mut rows: Vec<Row> = now
        .routes()
        .zip(window.routes())
        .map(|((site, route, now), (_, _, Stretch { counts, times }))| Row {
            name: match (route, has_sites) {
                ("", _) => "(others)".to_owned(),
                (route, false) => route.to_owned(),
                (route, true) => format!("{route}  {site}"),
            },
            requests: counts.requests,
            hits: counts.hits,
            rate: now.counts.requests as f64 / seconds,
            origin_us: counts.origin_us,
            p50_us: times.percentile(0.5),
            p99_us: times.percentile(0.99),
            errors: counts.errors,
        })
        .filter(|row| row.requests > 0 && controls.lets_through(&row.name))
        .collect();
    rows.sort_by(|one, other| {
        let order = order(controls.sort, one, other);
        let order = if controls.is_reversed { order.reverse() } else { order };
        order
            .then_with(|| other.requests.cmp(&one.requests))
            .then_with(|| one.name.cmp(&other.name))
    });
    rows
}

/// What is to be looked at first comes first.
fn order(sort: Sort, one: &Row, other: &Row) -> Ordering {
    match sort {
        Sort::Requests => other.requests.cmp(&one.requests),
        Sort::Hits => share(one).total_cmp(&share(other)),
        Sort::Origin => other.origin_us.cmp(&one.origin_us),
        Sort::P99 => other.p99_us.cmp(&one.p99_us),
        Sort::Errors => other.errors.cmp(&one.errors),
    }
}

fn share(row: &Row) -> f64 {
    row.hits as f64 / row.requests.max(1) as f64
}
