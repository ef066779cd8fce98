//! What the running Wick said in the last minute, and what happened between two answers.
//!
//! Bound: [`LOOKS_MAX`] answers. A Wick that was started anew begins anew here too.

use std::collections::VecDeque;

use observe::histogram::Histogram;

use crate::observing::overview::{Counted, Overview};

/// Answers that are kept: those of a minute.
const LOOKS_MAX: usize = 61;
const MINUTE_MS: u64 = 60_500;
/// How far back "now" reaches.
const NOW_MS: u64 = 10_500;

/// The last answers, oldest first.
#[derive(Debug, Default)]
pub(super) struct Watching {
    looks: VecDeque<Overview>,
}

/// What happened in a stretch of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    pub(super) counts: Counted,
    pub(super) times: Histogram,
}

/// Two answers, of which the first may be the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'a> {
    pub(super) earlier: Option<&'a Overview>,
    pub(super) last: &'a Overview,
}

impl Watching {
    /// Keeps an answer.
    pub(super) fn add(&mut self, overview: Overview) {
        let is_another = |last: &Overview| {
            overview.uptime_seconds < last.uptime_seconds
                || overview.all.requests < last.all.requests
                || overview.time_ms < last.time_ms
        };
        if self.looks.back().is_some_and(is_another) {
            self.looks.clear();
        }
        let oldest = overview.time_ms.saturating_sub(MINUTE_MS);
        self.looks.push_back(overview);
        while self.looks.len() > LOOKS_MAX
            || self.looks.front().is_some_and(|look| look.time_ms < oldest)
        {
            self.looks.pop_front();
        }
    }

    /// Everything since the start.
    pub(super) fn since_start(&self) -> Option<Between<'_>> {
        Some(Between { earlier: None, last: self.looks.back()? })
    }

    /// The last minute, or as much of it as was watched.
    pub(super) fn minute(&self) -> Option<Between<'_>> {
        let last = self.looks.back()?;
        Some(Between { earlier: self.looks.front(), last })
    }

    /// The last ten seconds; everything since the start where there was one answer only.
    pub(super) fn now(&self) -> Option<Between<'_>> {
        let last = self.looks.back()?;
        let since = last.time_ms.saturating_sub(NOW_MS);
        let before = self.looks.iter().rev().skip(1).take_while(|look| look.time_ms >= since);
        Some(Between { earlier: before.last(), last })
    }
}

impl<'a> Between<'a> {
    pub(super) fn seconds(self) -> f64 {
        match self.earlier {
            None => self.last.uptime_seconds.max(1) as f64,
            Some(earlier) => self.last.time_ms.saturating_sub(earlier.time_ms) as f64 / 1000.0,
        }
    }

    pub(super) fn all(self) -> Stretch {
        Stretch::of(&self.last.all, self.earlier.map(|earlier| &earlier.all))
    }

    /// Each route with its site.
    pub(super) fn routes(self) -> impl Iterator<Item = (&'a str, &'a str, Stretch)> {
        self.last.routes.iter().map(move |route| {
            let before = self.earlier.map(|earlier| {
                let known = earlier.routes.iter();
                let mut known =
                    known.filter(|known| known.site == route.site && known.route == route.route);
                match known.next() {
                    Some(known) => known.counts.clone(),
                    // One that is new has counted from zero. Where some weren't told, it may be
                    // an old one that leads now: nothing is said of it yet.
                    None if earlier.routes_untold == 0 => Counted::default(),
                    None => route.counts.clone(),
                }
            });
            let stretch = Stretch::of(&route.counts, before.as_ref());
            (route.site.as_str(), route.route.as_str(), stretch)
        })
    }

    /// Each reason: requests, and the origin's time in microseconds.
    pub(super) fn reasons(self) -> impl Iterator<Item = (&'a str, u64, u64)> {
        self.last.reasons.iter().map(move |reason| {
            let earlier = self.earlier.iter().flat_map(|earlier| &earlier.reasons);
            let before = earlier.clone().find(|before| before.why == reason.why);
            let (requests, origin_us) =
                before.map_or((0, 0), |before| (before.requests, before.origin_us));
            (
                reason.why.as_str(),
                reason.requests.saturating_sub(requests),
                reason.origin_us.saturating_sub(origin_us),
            )
        })
    }
}

impl Stretch {
    /// Routes may be put together with others, so that counts go down: that is nothing then.
    fn of(last: &Counted, earlier: Option<&Counted>) -> Self {
        let times = histogram(last);
        let Some(earlier) = earlier else { return Self { counts: last.clone(), times } };
        let counts = Counted {
            requests: last.requests.saturating_sub(earlier.requests),
            hits: last.hits.saturating_sub(earlier.hits),
            errors: last.errors.saturating_sub(earlier.errors),
            origin_us: last.origin_us.saturating_sub(earlier.origin_us),
            times: Vec::new(),
        };
        Self { counts, times: times.since(&histogram(earlier)) }
    }
}

fn histogram(counted: &Counted) -> Histogram {
    let mut histogram = Histogram::default();
    counted.times.iter().for_each(|(begin, count)| histogram.add_many(*begin, *count));
    histogram
}
