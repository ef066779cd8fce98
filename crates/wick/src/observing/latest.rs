//! What was counted until the last second, and how long answers took lately.
//!
//! It is made of the sample that is taken for the history anyway.

use std::collections::VecDeque;

use observe::RouteCounts;
use observe::histogram::Histogram;
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
    /// The median of the times that answers of the last ten seconds took; none without any.
    pub(crate) p50_us: Option<u64>,
    /// The time that 99 % of them did not exceed.
    pub(crate) p99_us: Option<u64>,
}

/// The times as they were counted at each of the last samples.
#[derive(Default)]
pub(super) struct Window(VecDeque<Histogram>);

impl Window {
    pub(super) fn latest(&mut self, totals: &RouteCounts) -> Latest {
        let earliest = self.0.front().cloned().unwrap_or_default();
        let times = totals.times.since(&earliest);
        if self.0.len() >= WINDOW {
            self.0.pop_front();
        }
        self.0.push_back(totals.times.clone());
        Latest {
            requests: totals.requests(),
            hits: totals.hits(),
            bytes: totals.bytes,
            hit_bytes: totals.hit_bytes,
            errors: totals.errors,
            origin_us: totals.origin_us(),
            p50_us: times.percentile(0.5),
            p99_us: times.percentile(0.99),
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
        totals.times.add_many(1000, 100);
        totals.bytes = 7;
        let first = window.latest(&totals);
        assert_eq!((first.bytes, first.p50_us.map(|time| time / 100)), (7, Some(9)));
        for _ in 0..WINDOW {
            window.latest(&totals);
        }
        assert_eq!(window.latest(&totals).p50_us, None, "those were long ago");
        totals.times.add(1 << 20);
        assert!(window.latest(&totals).p50_us > Some(1 << 19));
    }
}
