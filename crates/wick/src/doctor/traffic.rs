//! What visitors waited for, from the history that a Wick keeps in its state folder.
//!
//! Nobody is asked: the files are read, also while they are written, or when Wick doesn't run.

use std::path::Path;
use std::time::Duration;

use base::Phase;
use doctor::Traffic;
use doctor::apply::Visitors;
use observe::history::{self, Point, Span};

use crate::observing::unix;

const DAY_SECONDS: u64 = 86_400;
/// How long ago what visitors meet now may be.
const LATELY_SECONDS: u64 = 10;

/// The last day; `window` is how long the machine was looked at until now. None where no Wick
/// has noted anything, or it can't be read.
pub(super) fn traffic(history: &Path, window: Duration) -> Option<Traffic> {
    let now = unix().as_secs();
    let day = points(history, now, DAY_SECONDS, 60)?;
    let mut traffic = Traffic { queue_ms: queue_ms(history, now), ..Traffic::default() };
    for point in &day {
        traffic.noted_seconds += point.covered as f64;
        traffic.requests += point.requests as f64;
        traffic.origin_requests += point.requests.saturating_sub(point.hits) as f64;
        traffic.origin_ms += point.origin_us as f64 / 1000.0;
    }
    let window = points(history, now, window.as_secs().max(1), 1).unwrap_or_default();
    traffic.in_window = (!window.is_empty()).then(|| {
        let requests: u64 = window.iter().map(|point| point.requests).sum();
        let hits: u64 = window.iter().map(|point| point.hits).sum();
        (requests as f64, requests.saturating_sub(hits) as f64)
    });
    (!day.is_empty()).then_some(traffic)
}

/// How visitors fare now; none where nobody came, or no Wick serves them.
pub(super) fn visitors(history: &Path) -> Option<Visitors> {
    let lately = points(history, unix().as_secs(), LATELY_SECONDS, LATELY_SECONDS)?;
    let mut all = lately.first()?.clone();
    lately.iter().skip(1).for_each(|point| all.merge(point));
    let p99_us = all.times().percentile(0.99)?;
    Some(Visitors { requests: all.requests, errors: all.errors, p99_ms: p99_us as f64 / 1000.0 })
}

/// How long a request waited for a place at its origin, in the mean of those that were kept.
fn queue_ms(folder: &Path, now: u64) -> Option<f64> {
    let since = now.saturating_sub(DAY_SECONDS) * 1000;
    let (mut count, mut us) = (0_u64, 0_u64);
    let walked = observe::kept::walk(folder, since, |kept| {
        let spent = |phase: Phase| u64::from(kept.phases[phase as usize]);
        if spent(Phase::FirstByte) > 0 {
            count += 1;
            us += spent(Phase::Queue);
        }
    });
    (walked.is_ok() && count > 0).then(|| us as f64 / 1000.0 / count as f64)
}

fn points(folder: &Path, now: u64, seconds: u64, step: u64) -> Option<Vec<Point>> {
    let span = Span { from: now.saturating_sub(seconds), to: now, step };
    history::read(folder, span, now).ok()
}

#[cfg(test)]
mod tests {
    use observe::history::History;

    use super::*;

    #[test]
    fn a_day_is_what_its_seconds_come_to() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(traffic(folder.path(), Duration::ZERO), None, "nothing was noted");
        let mut history = History::open(folder.path()).expect("one");
        let last = unix().as_secs();
        for time in last - 120..=last {
            let (covered, requests, hits, origin_us) = (1, 10, 8, 50_000);
            let second = Point { time, covered, requests, hits, origin_us, ..Point::default() };
            history.note(second).expect("noted");
        }
        let found = traffic(folder.path(), Duration::from_secs(60)).expect("a history");
        let seconds = found.noted_seconds;
        assert!((100.0..=121.0).contains(&seconds), "{found:?}");
        assert_eq!(found.requests, seconds * 10.0);
        assert_eq!((found.origin_requests, found.origin_ms), (seconds * 2.0, seconds * 50.0));
        let (all, origin) = found.in_window.expect("somebody came");
        assert!((300.0..=610.0).contains(&all) && all == origin * 5.0, "{found:?}");
        assert_eq!(found.queue_ms, None, "no answer was kept");
        assert!(visitors(folder.path()).is_none(), "no time was noted");
    }
}
