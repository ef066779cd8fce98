//! What was measured: times, statuses, failures, and all of it over time.
//!
//! Invariants: 1. The memory of a tally doesn't grow with the length of a run: histograms have
//! a fixed number of counts, and the timeline at most [`POINTS_MAX`] points, which become longer.
//! 2. Tallies of several threads are added without loss.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Points of a timeline.
pub const POINTS_MAX: usize = 240;
/// No latency is longer, in microseconds: an hour.
const MICROSECONDS_MAX: u64 = 3_600_000_000;

/// Why a request was not answered, or not well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection came about.
    Connect,
    /// No TLS came about.
    Tls,
    /// The request could not be written.
    Send,
    /// The connection broke off while the answer came.
    Receive,
    /// The answer was not HTTP.
    Malformed,
    /// The answer was not whole in time.
    Timeout,
    /// The answer was not the one that a scenario expects.
    Unexpected,
    /// The run was over before the answer was whole.
    Unfinished,
    /// So many requests waited for a connection that this one was never sent.
    Overrun,
}

impl FailureKind {
    /// In words.
    #[must_use]
    pub fn shown(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::Tls => "no TLS",
            Self::Send => "not sent",
            Self::Receive => "broken off",
            Self::Malformed => "not HTTP",
            Self::Timeout => "timed out",
            Self::Unexpected => "not as expected",
            Self::Unfinished => "unfinished at the end",
            Self::Overrun => "never sent, too many waited",
        }
    }
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// How many.
    pub count: u64,
    /// What the first of them said.
    pub first: String,
}

/// What happened in a stretch of time.
#[derive(Clone, Debug)]
pub struct Point {
    /// Whole answers.
    pub answered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Microseconds from the intended moment to the last byte.
    pub latency: Histogram<u32>,
}

/// Points of the same width, one after the other.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Seconds that a point lasts; a power of two.
    pub width_seconds: u64,
    /// The points, from the beginning.
    pub points: Vec<Point>,
}

/// An answer's times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// From the moment at which it was intended to the last byte.
    pub latency: Duration,
    /// From the moment at which it was begun to the last byte.
    pub service: Duration,
    /// Opening the connection; nothing on a kept one.
    pub connect: Duration,
    /// From the request, on an open connection, to the first byte.
    pub waiting: Duration,
}

impl Times {
    /// Whether all of them are the same time, but for that of the connection, which was open.
    fn are_one(&self) -> bool {
        self.connect.is_zero() && self.latency == self.service && self.waiting == self.service
    }
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Microseconds from the intended moment to the last byte, of whole answers.
    pub latency: Histogram<u64>,
    /// Microseconds from the moment at which the request was begun.
    pub service: Histogram<u64>,
    /// Microseconds for the connection, 0 on a kept one.
    pub connect: Histogram<u64>,
    /// Microseconds from the request, on an open connection, to the last byte.
    pub processing: Histogram<u64>,
    /// Microseconds to the first byte, on an open connection.
    pub waiting: Histogram<u64>,
    /// Whole answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// The status that came last and how often in a row: most answers bear the same.
    latest: (u16, u64),
    /// Answers whose times are one: on a kept connection, begun when they were intended, and
    /// read in one piece. Nearly all of a closed run are; [`Tally::settle`] counts them where
    /// they belong.
    plain: Histogram<u64>,
    /// Requests that failed.
    pub failures: BTreeMap<FailureKind, Failures>,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes of heads.
    pub head_bytes: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Answers on a connection that had carried another.
    pub kept: u64,
    /// Answers whose connection could carry another.
    pub keepable: u64,
    /// Requests sent again because their kept connection had been closed meanwhile.
    pub resent: u64,
    /// Requests begun.
    pub begun: u64,
    /// Those begun over a millisecond late by the generator itself.
    pub late_by_generator: u64,
    /// Those begun over a millisecond late because all connections were busy.
    pub late_by_target: u64,
    /// Microseconds by which the generator was late.
    pub lateness: Histogram<u64>,
    /// Body bytes of the first answer, by which ab tells other lengths.
    pub first_length: Option<u64>,
    /// Answers whose body is of another length than the first.
    pub other_lengths: u64,
    /// What the first answer's `Server` says.
    pub server: String,
    /// When the last answer was whole, since the beginning.
    pub last_answer: Duration,
    /// All of it over time.
    pub timeline: Timeline,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latency: histogram(3),
            service: histogram(3),
            connect: histogram(3),
            processing: histogram(3),
            waiting: histogram(3),
            lateness: histogram(3),
            statuses: BTreeMap::new(),
            latest: (0, 0),
            plain: histogram(3),
            failures: BTreeMap::new(),
            body_bytes: 0,
            head_bytes: 0,
            connections: 0,
            kept: 0,
            keepable: 0,
            resent: 0,
            begun: 0,
            late_by_generator: 0,
            late_by_target: 0,
            first_length: None,
            other_lengths: 0,
            server: String::new(),
            last_answer: Duration::ZERO,
            timeline: Timeline { width_seconds: 1, points: Vec::new() },
        }
    }
}

/// A histogram of microseconds, up to an hour.
pub(crate) fn histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    // The bounds are constants that the crate accepts; a test makes both kinds.
    Histogram::new_with_bounds(1, MICROSECONDS_MAX, digits)
        .expect("an hour in microseconds with up to five digits is a histogram")
}

/// Microseconds as histograms take them.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).min(MICROSECONDS_MAX)
}

impl Tally {
    /// A whole answer, at this time since the beginning.
    pub(crate) fn answer(&mut self, at: Duration, times: &Times, answer: &crate::response::Answer) {
        let latency = micros(times.latency);
        if times.are_one() {
            self.plain.saturating_record(latency);
        } else {
            self.latency.saturating_record(latency);
            self.service.saturating_record(micros(times.service));
            self.connect.saturating_record(micros(times.connect));
            let processing = times.service.saturating_sub(times.connect);
            self.processing.saturating_record(micros(processing));
            self.waiting.saturating_record(micros(times.waiting));
        }
        self.body_bytes += answer.body_bytes;
        self.head_bytes += answer.head_bytes;
        if self.latest.0 != answer.status {
            self.settle_statuses();
            self.latest.0 = answer.status;
        }
        self.latest.1 += 1;
        self.keepable += u64::from(answer.keeps);
        let first = *self.first_length.get_or_insert(answer.body_bytes);
        self.other_lengths += u64::from(first != answer.body_bytes);
        self.last_answer = self.last_answer.max(at);
        let point = self.timeline.at(at);
        point.answered += 1;
        point.bytes += answer.body_bytes + answer.head_bytes;
        point.latency.saturating_record(latency);
    }

    /// A request that failed.
    pub(crate) fn fail(&mut self, at: Duration, kind: FailureKind, why: impl FnOnce() -> String) {
        self.fail_many(at, kind, 1, why);
    }

    pub(crate) fn fail_many(
        &mut self,
        at: Duration,
        kind: FailureKind,
        count: u64,
        why: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        let place =
            self.failures.entry(kind).or_insert_with(|| Failures { count: 0, first: why() });
        place.count += count;
        self.timeline.at(at).failed += count;
    }

    /// Counts what was put off while answers came.
    pub(crate) fn settle(&mut self) {
        self.settle_statuses();
        let plain = std::mem::replace(&mut self.plain, histogram(3));
        for all in [&mut self.latency, &mut self.service, &mut self.processing, &mut self.waiting] {
            // All have the same bounds.
            let added = all.add(&plain);
            debug_assert!(added.is_ok());
        }
        self.connect.saturating_record_n(0, plain.len());
    }

    /// Counts the statuses that were seen in a row.
    fn settle_statuses(&mut self) {
        let (status, count) = std::mem::take(&mut self.latest);
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    /// Whole answers.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.latency.len() + self.plain.len()
    }

    /// Requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().map(|failures| failures.count).sum()
    }

    /// Adds what another thread, or another round, measured.
    pub fn add(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        for (own, others) in [
            (&mut self.latency, &other.latency),
            (&mut self.service, &other.service),
            (&mut self.connect, &other.connect),
            (&mut self.processing, &other.processing),
            (&mut self.waiting, &other.waiting),
            (&mut self.lateness, &other.lateness),
        ] {
            // Both have the same bounds, so there is no value that doesn't fit.
            let added = own.add(others);
            debug_assert!(added.is_ok());
        }
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (kind, failures) in other.failures {
            let none = Failures { count: 0, first: failures.first };
            self.failures.entry(kind).or_insert(none).count += failures.count;
        }
        self.body_bytes += other.body_bytes;
        self.head_bytes += other.head_bytes;
        self.connections += other.connections;
        self.kept += other.kept;
        self.keepable += other.keepable;
        self.resent += other.resent;
        self.begun += other.begun;
        self.late_by_generator += other.late_by_generator;
        self.late_by_target += other.late_by_target;
        self.first_length = self.first_length.or(other.first_length);
        self.other_lengths += other.other_lengths;
        if self.server.is_empty() {
            self.server = other.server;
        }
        self.last_answer = self.last_answer.max(other.last_answer);
        self.timeline.add(other.timeline);
    }
}

impl Point {
    fn new() -> Self {
        Self { answered: 0, failed: 0, bytes: 0, latency: histogram(2) }
    }

    fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.bytes += other.bytes;
        let added = self.latency.add(&other.latency);
        debug_assert!(added.is_ok());
    }
}

impl Timeline {
    fn at(&mut self, at: Duration) -> &mut Point {
        while at.as_secs() / self.width_seconds >= POINTS_MAX as u64 {
            self.halve();
        }
        let place = usize::try_from(at.as_secs() / self.width_seconds).unwrap_or(POINTS_MAX);
        while self.points.len() <= place {
            self.points.push(Point::new());
        }
        &mut self.points[place]
    }

    /// Makes points twice as long.
    fn halve(&mut self) {
        let mut points = std::mem::take(&mut self.points).into_iter();
        while let Some(mut point) = points.next() {
            if let Some(second) = points.next() {
                point.add(&second);
            }
            self.points.push(point);
        }
        self.width_seconds *= 2;
    }

    fn add(&mut self, mut other: Self) {
        while self.width_seconds < other.width_seconds {
            self.halve();
        }
        while other.width_seconds < self.width_seconds {
            other.halve();
        }
        for (place, point) in other.points.iter().enumerate() {
            match self.points.get_mut(place) {
                Some(own) => own.add(point),
                None => self.points.push(point.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::Answer;

    fn answers(tally: &mut Tally, seconds: impl Iterator<Item = u64>) {
        for second in seconds {
            let times = Times { latency: Duration::from_micros(second + 1), ..Times::default() };
            let status = if second % 10 == 9 { 404 } else { 200 };
            let answer = Answer { status, head_bytes: 1, body_bytes: 2, keeps: true };
            tally.answer(Duration::from_secs(second), &times, &answer);
        }
    }

    #[test]
    fn a_run_of_any_length_has_a_timeline_of_bounded_length() {
        let mut tally = Tally::default();
        answers(&mut tally, 0..100_000);
        let timeline = &tally.timeline;
        assert_eq!(timeline.width_seconds, 512);
        assert!(timeline.points.len() <= POINTS_MAX);
        assert_eq!(timeline.points.iter().map(|point| point.answered).sum::<u64>(), 100_000);
        assert_eq!(timeline.points[0].latency.len(), 512);
        let counts = tally.latency.distinct_values() * 8 * 7;
        let points = POINTS_MAX * timeline.points[0].latency.distinct_values() * 4;
        assert!(counts + points < 8 << 20, "a thread's tally takes {} bytes", counts + points);
    }

    #[test]
    fn times_that_are_one_are_counted_as_each_of_them() {
        let mut tally = Tally::default();
        let answer = Answer { status: 200, head_bytes: 1, body_bytes: 2, keeps: true };
        let [short, long] = [3, 9].map(Duration::from_micros);
        let one = Times { latency: long, service: long, connect: Duration::ZERO, waiting: long };
        for times in [one, Times { connect: short, ..one }, Times { waiting: short, ..one }] {
            tally.answer(Duration::ZERO, &times, &answer);
        }
        assert_eq!(tally.answered(), 3);
        tally.settle();
        assert_eq!(tally.answered(), 3);
        let told = |times: &Histogram<u64>| (times.len(), times.min(), times.max());
        assert_eq!(told(&tally.latency), (3, 9, 9));
        assert_eq!(told(&tally.service), (3, 9, 9));
        assert_eq!(told(&tally.connect), (3, 0, 3));
        assert_eq!(told(&tally.processing), (3, 6, 9));
        assert_eq!(told(&tally.waiting), (3, 3, 9));
    }

    #[test]
    fn threads_are_added_without_loss() {
        let (mut one, mut two, mut both) = (Tally::default(), Tally::default(), Tally::default());
        answers(&mut one, (0..700).step_by(2));
        answers(&mut two, (1..300).step_by(2));
        answers(&mut both, (0..700).filter(|second| second % 2 == 0 || *second < 300));
        two.fail(Duration::from_secs(5), FailureKind::Timeout, || "no answer".to_owned());
        one.add(two);
        both.settle();
        assert_eq!(one.statuses, both.statuses);
        assert_eq!(one.latency, both.latency);
        assert_eq!((one.answered(), one.failed()), (500, 1));
        let counts = |tally: &Tally| -> Vec<_> {
            tally.timeline.points.iter().map(|point| point.answered).collect()
        };
        assert_eq!(counts(&one), counts(&both));
        assert_eq!(one.failures[&FailureKind::Timeout].first, "no answer");
    }
}
