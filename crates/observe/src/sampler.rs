//! One second after the other: what the ledger counted since the last one.

use crate::counts::{ClassTimes, RouteCounts};
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
    /// How often something that was learned was overruled.
    pub overruled: u64,
}

/// Takes the samples.
pub struct Sampler {
    totals: RouteCounts,
    times: ClassTimes,
    outside: Outside,
}

impl Sampler {
    /// Begins to count here.
    #[must_use]
    pub fn new(ledger: &Ledger, outside: Outside) -> Self {
        Self { totals: ledger.totals(), times: ledger.times(), outside }
    }

    /// What happened since the last sample, for this second of history.
    pub fn take(&mut self, ledger: &Ledger, outside: Outside, time: u64) -> Point {
        let (totals, before) = (ledger.totals(), &self.totals);
        let times = ledger.times();
        let since_then = times.since(&self.times);
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
            html: Times::of(&since_then.html),
            other: Times::of(&since_then.other),
        };
        let before = &self.outside;
        for (now, before, mark) in [
            (outside.purges, before.purges, Mark::Purge),
            (outside.sweeps, before.sweeps, Mark::Sweep),
            (outside.overruled, before.overruled, Mark::Overrule),
        ] {
            if now > before {
                point.mark(mark);
            }
        }
        (self.totals, self.times, self.outside) = (totals, times, outside);
        point
    }

    /// All that was counted, as of the last sample.
    #[must_use]
    pub fn totals(&self) -> &RouteCounts {
        &self.totals
    }

    /// How long answers took, as of the last sample.
    #[must_use]
    pub fn times(&self) -> &ClassTimes {
        &self.times
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
        let tell = |verdict: Verdict, status: u16, is_html: bool| {
            ledger.note(&Answer {
                unix_ms: 0,
                method: "GET",
                host: "a.test",
                path: "/",
                status,
                verdict,
                unstored: None,
                bytes: 50,
                is_html,
                phases: [0; Phase::COUNT],
                site: &|| "site".to_owned(),
                took_us: &|| 300,
            });
        };
        tell(Verdict::Hit, 200, true);
        let mut outside = Outside { origin_us: 70, purges: 3, ..Outside::default() };
        let mut sampler = Sampler::new(&ledger, outside);
        tell(Verdict::Hit, 200, true);
        tell(Verdict::Collapsed, 500, false);
        outside.origin_us = 100;
        let point = sampler.take(&ledger, outside, 7);
        assert_eq!((point.time, point.requests, point.hits, point.errors), (7, 2, 1, 1));
        assert_eq!((point.bytes, point.origin_us, point.marks), (100, 30, 0));
        for times in [&point.html, &point.other] {
            assert!(times.percentile(0.5).is_some_and(|time| (256..512).contains(&time)));
            assert_eq!(times.count(), 1);
        }
        outside.purges = 4;
        outside.origin_us = 0;
        let quiet = sampler.take(&ledger, outside, 8);
        assert_eq!((quiet.requests, quiet.origin_us, quiet.times().count()), (0, 0, 0));
        assert!(quiet.has(Mark::Purge) && !quiet.has(Mark::Sweep));
        outside.overruled = 1;
        assert!(sampler.take(&ledger, outside, 9).has(Mark::Overrule));
    }
}
