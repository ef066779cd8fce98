//! What was counted until the last second, and how long answers took lately.
//!
//! It is made of the sample that is taken for the history anyway.

use std::collections::VecDeque;

use observe::metrics::Times;
use observe::{ClassTimes, RouteCounts};
use serde::Serialize;

/// How many samples percentiles are of: seconds, as samples come.
const WINDOW: usize = 10;

/// Counts since the start, and percentiles of the last seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Latest {
    /// Answers.
    pub(crate) requests: u64,
    /// Those that came from memory, without anybody waiting for an origin.
    pub(crate) hits: u64,
    /// Bytes of bodies.
    pub(crate) bytes: u64,
    /// Those of them that came from memory.
    pub(crate) hit_bytes: u64,
    /// Answers with a status of 500 or more.
    pub(crate) errors: u64,
    /// How long origins worked, in microseconds.
    pub(crate) origin_us: u64,
    /// How long all answers took.
    #[serde(skip)]
    pub(crate) times: Times,
    /// The median of the times that answers of the last ten seconds took; none without any.
    pub(crate) p50_us: Option<u64>,
    /// The time that 99 % of them did not exceed.
    pub(crate) p99_us: Option<u64>,
    /// The same of HTML alone, and of all else.
    pub(crate) html_p50_us: Option<u64>,
    pub(crate) html_p99_us: Option<u64>,
    pub(crate) other_p50_us: Option<u64>,
    pub(crate) other_p99_us: Option<u64>,
}

/// The times as they were counted at each of the last samples.
#[derive(Default)]
pub(super) struct Window(VecDeque<ClassTimes>);

impl Window {
    pub(super) fn latest(&mut self, totals: &RouteCounts, times: &ClassTimes) -> Latest {
        // Before there are so many, it is all that was counted since the start.
        let is_full = self.0.len() >= WINDOW;
        let earliest = self.0.front().filter(|_| is_full).cloned().unwrap_or_default();
        let ClassTimes { html, other } = times.since(&earliest);
        let mut all = html.clone();
        all.merge(&other);
        if self.0.len() >= WINDOW {
            self.0.pop_front();
        }
        self.0.push_back(times.clone());
        Latest {
            requests: totals.requests(),
            hits: totals.hits(),
            bytes: totals.bytes,
            hit_bytes: totals.hit_bytes,
            errors: totals.errors,
            origin_us: totals.origin_us(),
            times: Times { counts: totals.times.clone(), ..Times::default() },
            p50_us: all.percentile(0.5),
            p99_us: all.percentile(0.99),
            html_p50_us: html.percentile(0.5),
            html_p99_us: html.percentile(0.99),
            other_p50_us: other.percentile(0.5),
            other_p99_us: other.percentile(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use observe::routes::RouteName;

    use super::*;

    #[test]
    fn percentiles_are_of_the_last_seconds_and_counts_of_all() {
        let mut window = Window::default();
        let mut totals = RouteCounts::of(RouteName::default());
        let mut times = ClassTimes::default();
        times.html.add_many(1000, 100);
        times.other.add_many(10, 1000);
        totals.bytes = 7;
        let first = window.latest(&totals, &times);
        assert_eq!((first.bytes, first.html_p50_us.map(|time| time / 100)), (7, Some(9)));
        assert_eq!((first.p50_us, first.other_p99_us), (Some(10), Some(10)));
        for _ in 1..WINDOW {
            assert_eq!(window.latest(&totals, &times).html_p50_us, first.html_p50_us);
        }
        window.latest(&totals, &times);
        let quiet = window.latest(&totals, &times);
        assert_eq!((quiet.p50_us, quiet.html_p50_us), (None, None), "those were long ago");
        times.html.add(1 << 20);
        let last = window.latest(&totals, &times);
        assert!(last.html_p50_us > Some(1 << 19) && last.other_p50_us.is_none());
    }
}
