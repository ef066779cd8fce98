//! Wick's own history played again: its arrivals, how wanted its pages were, its mix of hits.
//!
//! The history counts each second's answers, hits apart; single answers are kept beside it, all
//! but few of those that weren't hits, and of hits a sample. So a second is played with as many
//! of each as it had: others at the moments at which they came, hits spread over it, their paths
//! drawn in turn from the hits that were kept nearest to it.
//! Invariants: 1. The same history is played the same way. 2. Of several hosts the one is played
//! that most was asked of. 3. A second has no more arrivals than it had.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use loadgen::replay::Arrival;
use observe::history::{HistoryError, Point, Span, read};
use observe::kept::Kept;
use observe::{Wanted, kept};

use crate::observing::{history_folder, unix};

/// Seconds of history that are kept one by one.
const SECONDS_MAX: u64 = 86_400;

/// What is known of a stretch of time.
pub(super) struct Past {
    points: Vec<Point>,
    /// Oldest first; of the host that most was asked of.
    hits: Vec<Kept>,
    others: Vec<Kept>,
    /// What share of hits, and of others, that host had.
    shares: [f64; 2],
    /// Other hosts.
    pub(super) hosts_left_out: usize,
}

impl Past {
    /// Reads the last `since` of the Wick with this state folder.
    pub(super) fn read(state: &Path, since: Duration) -> Result<Self, HistoryError> {
        let folder = history_folder(state);
        let now = unix();
        let from = now.saturating_sub(since.min(Duration::from_secs(SECONDS_MAX)));
        let span = Span { from: from.as_secs(), to: now.as_secs(), step: 1 };
        let points = read(&folder, span, now.as_secs())?;
        let kept = kept::read(&folder, from.as_secs() * 1000, &Wanted::default());
        let kept = kept.map_err(|error| HistoryError::Unusable(folder, error))?;
        Ok(Self::of(points, kept))
    }

    fn of(points: Vec<Point>, kept: Vec<Kept>) -> Self {
        let mut hosts: HashMap<&str, u64> = HashMap::new();
        kept.iter().for_each(|one| *hosts.entry(&one.host).or_default() += 1);
        let most = hosts.iter().max_by_key(|(host, count)| (**count, **host));
        let most = most.map_or_else(String::new, |(host, _)| (*host).to_owned());
        let hosts_left_out = hosts.len().saturating_sub(1);
        let is_hit = |one: &Kept| one.verdict.starts_with("hit");
        let (hits, others): (Vec<_>, Vec<_>) = kept.into_iter().partition(is_hit);
        let mut shares = [0.0; 2];
        let mut of_host = |at: usize, all: Vec<Kept>| -> Vec<Kept> {
            let count = all.len();
            let its: Vec<_> = all.into_iter().filter(|one| one.host == most).collect();
            shares[at] = its.len() as f64 / count.max(1) as f64;
            its
        };
        let (hits, others) = (of_host(0, hits), of_host(1, others));
        Self { points, hits, others, shares, hosts_left_out }
    }

    /// Everything that came, in its order.
    pub(super) fn arrivals(&self) -> Vec<Arrival<'_>> {
        let (mut arrivals, mut drawn) = (Vec::new(), [0; 2]);
        for point in &self.points {
            let begin_ms = point.time * 1000;
            let others = point.requests.saturating_sub(point.hits);
            let counts = [(point.hits, self.shares[0]), (others, self.shares[1])];
            let [hits, others] =
                counts.map(|(count, share)| (count as f64 * share).round() as usize);
            let mut second: Vec<Arrival<'_>> = Vec::with_capacity(hits + others);
            let came = within(&self.others, begin_ms);
            second.extend(came.iter().take(others).map(|one| arrival(one, one.unix_ms)));
            let missing = others.saturating_sub(came.len());
            for (at, (pool, count)) in
                [(&self.hits, hits), (&self.others, missing)].iter().enumerate()
            {
                let near = near(pool, begin_ms);
                for place in 0..*count {
                    let Some(one) = near.get(drawn[at] % near.len().max(1)) else { break };
                    drawn[at] += 1;
                    second.push(arrival(one, begin_ms + (place * 1000 / count) as u64));
                }
            }
            second.sort_by_key(|one| one.at_ms);
            arrivals.append(&mut second);
        }
        arrivals
    }
}

fn arrival(kept: &Kept, at_ms: u64) -> Arrival<'_> {
    Arrival { at_ms, method: &kept.method, path: &kept.path }
}

/// What came in the second that begins then.
fn within(all: &[Kept], begin_ms: u64) -> &[Kept] {
    let first = all.partition_point(|one| one.unix_ms < begin_ms);
    let end = all.partition_point(|one| one.unix_ms < begin_ms + 1000);
    &all[first..end]
}

/// What came in that second, or, if nothing was kept of it, around it.
fn near(all: &[Kept], begin_ms: u64) -> &[Kept] {
    const AROUND: usize = 32;
    match within(all, begin_ms) {
        [] => {
            let at = all.partition_point(|one| one.unix_ms < begin_ms);
            &all[at.saturating_sub(AROUND)..(at + AROUND).min(all.len())]
        }
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(unix_ms: u64, host: &str, path: &str, verdict: &str) -> Kept {
        let (host, path, verdict) = (host.to_owned(), path.to_owned(), verdict.to_owned());
        Kept { unix_ms, host, path, verdict, method: "GET".to_owned(), ..Kept::default() }
    }

    fn point(time: u64, requests: u64, hits: u64) -> Point {
        Point { time, covered: 1, requests, hits, ..Point::default() }
    }

    fn played(past: &Past) -> Vec<String> {
        let arrivals = past.arrivals();
        arrivals.iter().map(|one| format!("{} {}", one.at_ms, one.path)).collect()
    }

    #[test]
    fn a_second_is_played_with_what_it_had() {
        let points = vec![point(10, 5, 4), point(12, 2, 0), point(13, 1, 1)];
        let all = vec![
            kept(10_100, "a", "/hit/1", "hit"),
            kept(10_300, "a", "/miss", "miss(uri-miss)"),
            kept(10_900, "a", "/hit/2", "hit"),
            kept(12_700, "a", "/pass", "pass(cookie)"),
        ];
        let expected = [
            "10000 /hit/1",
            "10250 /hit/2",
            "10300 /miss",
            "10500 /hit/1",
            "10750 /hit/2",
            // Of two only one was kept.
            "12000 /pass",
            "12700 /pass",
            // Of none: one of those around it.
            "13000 /hit/1",
        ];
        assert_eq!(played(&Past::of(points, all)), expected);
    }

    #[test]
    fn of_several_hosts_one_is_played_with_its_share() {
        let hits = |host: &str, path: &str| kept(10_000, host, path, "hit");
        let all = vec![hits("a", "/1"), hits("b", "/x"), hits("a", "/2"), hits("a", "/3")];
        let past = Past::of(vec![point(10, 8, 8)], all);
        assert_eq!((played(&past).len(), past.hosts_left_out), (6, 1));
        assert!(past.arrivals().iter().all(|one| one.path != "/x"));
        assert!(Past::of(vec![point(10, 8, 8)], Vec::new()).arrivals().is_empty());
    }
}
