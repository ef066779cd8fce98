//! How everything is at a moment: what `wick top` asks for once a second.
//!
//! Counts are those since the start, so that whoever asks again takes the difference.
//! Bounds: [`LEADERS`] routes for each of three orders, all others put together;
//! [`SLOWEST`] requests; [`PAST_SECONDS`] of history; texts of [`TEXT_CHARS_MAX`].

use std::collections::BTreeSet;

use observe::RouteCounts;
use observe::history::{self, Span};
use observe::routes::RouteName;
use serde::{Deserialize, Serialize};

use super::asking::{LogLine, line};
use super::{Observing, unix};
use crate::memory::Meter;

/// Routes that are told of each order: by requests, by the origin's time, by errors.
const LEADERS: usize = 64;
/// The slowest requests that are told, and how far back they are looked for.
const SLOWEST: usize = 16;
const SLOWEST_WITHIN_MS: u64 = 300_000;
/// Seconds of history.
const PAST_SECONDS: usize = 60;
/// Letters of the name of a site or a route.
const TEXT_CHARS_MAX: usize = 160;

/// The answer.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Overview {
    /// Unix time.
    pub(crate) time_ms: u64,
    pub(crate) version: String,
    pub(crate) uptime_seconds: u64,
    /// What the process holds in memory, and the owner's figure.
    pub(crate) resident_bytes: u64,
    pub(crate) memory_bytes: u64,
    /// What the cache has of it, and for how many pages.
    pub(crate) cache_bytes: u64,
    pub(crate) pages: u64,
    pub(crate) connections: u64,
    /// Requests that may be with the origins at once, those that are, and those that wait.
    pub(crate) slots: u64,
    pub(crate) slots_taken: u64,
    pub(crate) waiting: u64,
    pub(crate) all: Counted,
    pub(crate) routes: Vec<RouteTold>,
    /// Routes that are put together in the one without a name.
    pub(crate) routes_untold: u64,
    pub(crate) reasons: Vec<ReasonTold>,
    /// The slowest of the last minutes, the slowest first.
    pub(crate) slowest: Vec<LogLine>,
    pub(crate) past: Past,
}

/// What was counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Counted {
    pub(crate) requests: u64,
    pub(crate) hits: u64,
    /// Answers with a status of 500 or more.
    pub(crate) errors: u64,
    pub(crate) origin_us: u64,
    /// Where each bucket of times begins, in microseconds, and how many are in it.
    pub(crate) times: Vec<(u64, u64)>,
}

/// One route.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RouteTold {
    pub(crate) site: String,
    pub(crate) route: String,
    pub(crate) counts: Counted,
}

/// A verdict with its reason, or why something was not stored.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct ReasonTold {
    pub(crate) why: String,
    pub(crate) requests: u64,
    pub(crate) origin_us: u64,
}

/// The last seconds that are over, oldest first; all of one length.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Past {
    pub(crate) requests: Vec<u64>,
    pub(crate) hits: Vec<u64>,
    pub(crate) errors: Vec<u64>,
    pub(crate) p99_us: Vec<u64>,
}

/// Looks at everything.
pub(super) fn overview(observing: &Observing) -> Overview {
    let now = unix();
    let routes = observing.ledger.counts();
    let mut all = RouteCounts::of(RouteName::default());
    routes.iter().for_each(|counts| all.merge(counts));
    let since = (now.as_millis() as u64).saturating_sub(SLOWEST_WITHIN_MS);
    let slowest = observing.ledger.slowest(since, SLOWEST);
    let mut overview = Overview {
        time_ms: now.as_millis() as u64,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_seconds: observing.began.elapsed().as_secs(),
        resident_bytes: Meter::open().and_then(|meter| meter.resident_bytes()).unwrap_or_default(),
        reasons: reasons(&all),
        all: Counted::of(&all),
        slowest: slowest.into_iter().map(|(seen, name)| line(seen, name)).collect(),
        past: past(observing, now.as_secs()),
        ..Overview::default()
    };
    (overview.routes, overview.routes_untold) = leaders(routes);
    if let Some((server, memory_bytes)) = observing.attached() {
        let memory = server.memory();
        overview.memory_bytes = memory_bytes;
        overview.cache_bytes = memory.used_bytes;
        overview.pages = memory.pages;
        overview.connections = server.connections() as u64;
        for load in server.site_counts().iter().filter_map(|site| site.load) {
            overview.slots += load.slots as u64;
            overview.slots_taken += load.taken as u64;
            overview.waiting += load.waiting as u64;
        }
    }
    overview
}

impl Counted {
    fn of(counts: &RouteCounts) -> Self {
        Self {
            requests: counts.requests(),
            hits: counts.hits(),
            errors: counts.errors,
            origin_us: counts.origin_us(),
            times: counts.times.buckets().map(|(begin, _, count)| (begin, count)).collect(),
        }
    }
}

/// The routes that lead in any order, and all others as one; how many those are.
fn leaders(routes: Vec<RouteCounts>) -> (Vec<RouteTold>, u64) {
    let mut leading = BTreeSet::new();
    let orders: [fn(&RouteCounts) -> u64; 3] =
        [RouteCounts::requests, RouteCounts::origin_us, |counts| counts.errors];
    for order in orders {
        let mut places: Vec<(u64, usize)> =
            routes.iter().enumerate().map(|(place, counts)| (order(counts), place)).collect();
        places.sort_unstable_by(|one, other| other.cmp(one));
        leading.extend(places.iter().take(LEADERS).map(|(_, place)| *place));
    }
    let mut told = Vec::with_capacity(leading.len() + 1);
    let mut others = RouteCounts::of(RouteName::default());
    let mut untold = 0;
    for (place, counts) in routes.iter().enumerate() {
        if !counts.name.route.is_empty() && leading.contains(&place) {
            told.push(RouteTold {
                site: cut(&counts.name.site),
                route: cut(&counts.name.route),
                counts: Counted::of(counts),
            });
        } else {
            untold += u64::from(!counts.name.route.is_empty());
            others.merge(counts);
        }
    }
    if others.requests() > 0 {
        told.push(RouteTold { counts: Counted::of(&others), ..RouteTold::default() });
    }
    (told, untold)
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

fn reasons(all: &RouteCounts) -> Vec<ReasonTold> {
    let told = all.each_verdict().map(|(verdict, tally)| ReasonTold {
        why: verdict.to_string(),
        requests: tally.requests,
        origin_us: tally.origin_us,
    });
    told.collect()
}

/// Seconds that were not noted are told as those in which nothing happened.
fn past(observing: &Observing, now: u64) -> Past {
    let mut past = Past {
        requests: vec![0; PAST_SECONDS],
        hits: vec![0; PAST_SECONDS],
        errors: vec![0; PAST_SECONDS],
        p99_us: vec![0; PAST_SECONDS],
    };
    let from = now.saturating_sub(PAST_SECONDS as u64);
    let span = Span { from, to: now, step: 1 };
    // A history that can't be read is no reason to tell nothing else.
    for point in history::read(&observing.history, span, now).unwrap_or_default() {
        let Some(at) = point.time.checked_sub(from).map(|at| at as usize) else { continue };
        if at < PAST_SECONDS {
            past.requests[at] += point.requests;
            past.hits[at] += point.hits;
            past.errors[at] += point.errors;
            past.p99_us[at] = past.p99_us[at].max(point.times().percentile(0.99).unwrap_or(0));
        }
    }
    past
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(name: String, requests: u64, errors: u64) -> RouteCounts {
        let mut counts = RouteCounts::of(RouteName { site: "a".into(), route: name });
        counts.verdicts[0].requests = requests;
        counts.errors = errors;
        counts
    }

    #[test]
    fn routes_that_lead_are_told_and_the_sum_stays_that_of_all() {
        let mut routes: Vec<_> =
            (0..300_u64).map(|number| route(format!("/{number}"), number + 1, 0)).collect();
        routes.push(route("/broken".into(), 1, 7));
        routes.push(route(String::new(), 5, 0));
        let sum: u64 = routes.iter().map(RouteCounts::requests).sum();
        let (told, untold) = leaders(routes);
        assert_eq!(told.iter().map(|one| one.counts.requests).sum::<u64>(), sum);
        assert!(told.iter().any(|one| one.route == "/broken"), "it leads by its errors");
        assert!(told.len() <= 3 * LEADERS + 1 && told.len() as u64 + untold == 302, "{untold}");
        assert_eq!(told.last().map(|one| one.route.as_str()), Some(""));
        assert_eq!(leaders(Vec::new()).0.len(), 0);
    }

    #[test]
    fn a_second_without_a_point_is_told_as_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let observing = Observing::new(folder.path());
        let overview = overview(&observing);
        assert_eq!(overview.past.requests, [0; PAST_SECONDS]);
        assert_eq!((overview.all.requests, overview.slots, overview.routes.len()), (0, 0, 0));
        assert!(overview.resident_bytes > 0);
    }
}
