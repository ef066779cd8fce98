//! One second after the other: what the ledger counted since the last one.

use crate::counts::RouteCounts;
use crate::history::{Mark, Point, Times};
use crate::ledger::Ledger;

/// What others count, from their beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// How long places at the origins were held, in microseconds.
    pub origin_us: u64,
    /// What the process holds in memory at this moment, in bytes.
    pub memory_bytes: u64,
    /// Purges.
    pub purges: u64,
    /// Sweeps.
    pub sweeps: u64,
}

/// Takes the samples.
pub struct Sampler {
    totals: RouteCounts,
    outside: Outside,
}

impl Sampler {
    /// Begins to count here.
    #[must_use]
    pub fn new(ledger: &Ledger, outside: Outside) -> Self {
        Self { totals: ledger.totals(), outside }
    }

    /// What happened since the last sample, for this second of history.
    pub fn take(&mut self, ledger: &Ledger, outside: Outside, time: u64) -> Point {
        let (totals, before) = (ledger.totals(), &self.totals);
        // A count that an origin of other settings took along is no loss worth telling.
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let mut point = Point {
            time,
            covered: 1,
            requests: since(totals.requests(), before.requests()),
            hits: since(totals.hits(), before.hits()),
            errors: since(totals.errors, before.errors),
            bytes: since(totals.bytes, before.bytes),
            origin_us: since(outside.origin_us, self.outside.origin_us),
            memory_bytes: outside.memory_bytes,
            marks: 0,
            times: Times::of(&totals.times.since(&before.times)),
        };
        if outside.purges > self.outside.purges {
            point.mark(Mark::Purge);
        }
        if outside.sweeps > self.outside.sweeps {
            point.mark(Mark::Sweep);
        }
        (self.totals, self.outside) = (totals, outside);
        point
    }

    /// All that was counted, as of the last sample.
    #[must_use]
    pub fn totals(&self) -> &RouteCounts {
        &self.totals
    }
}

#[cfg(test)]
mod tests {
    use base::Phase;
    use policy::Verdict;

    use super::*;
    use crate::Answer;

    #[test]
    fn each_sample_has_what_happened_since_the_last_one() {
        let ledger = Ledger::default();
        let tell = |verdict: Verdict, status: u16| {
            ledger.note(&Answer {
                unix_ms: 0,
                method: "GET",
                host: "a.test",
                path: "/",
                status,
                verdict,
                unstored: None,
                bytes: 50,
                phases: [0; Phase::COUNT],
                site: &|| "site".to_owned(),
                took_us: &|| 300,
            });
        };
        tell(Verdict::Hit, 200);
        let mut outside = Outside { origin_us: 70, purges: 3, ..Outside::default() };
        let mut sampler = Sampler::new(&ledger, outside);
        tell(Verdict::Hit, 200);
        tell(Verdict::Collapsed, 500);
        outside.origin_us = 100;
        let point = sampler.take(&ledger, outside, 7);
        assert_eq!((point.time, point.requests, point.hits, point.errors), (7, 2, 1, 1));
        assert_eq!((point.bytes, point.origin_us, point.marks), (100, 30, 0));
        assert!(point.times.percentile(0.5).is_some_and(|time| (256..512).contains(&time)));
        outside.purges = 4;
        outside.origin_us = 0;
        let quiet = sampler.take(&ledger, outside, 8);
        assert_eq!((quiet.requests, quiet.origin_us), (0, 0));
        assert!(quiet.has(Mark::Purge) && !quiet.has(Mark::Sweep));
    }
}
