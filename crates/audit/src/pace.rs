//! Pace: how often a host is asked, and by how many requests at once.
//!
//! Pure: answers and moments go in, and when the next request may go comes out. A host that
//! gets slower is asked by fewer at once; one that asks for rest has it.
//! Invariants: 1. what `Crawl-delay` and `Retry-After` say is kept to. 2. a host elsewhere is
//! never busy with us for more than half of the time of [`ELSEWHERE_MAX`] connections.

use std::time::Duration;

/// Requests at once, on this machine.
const HERE_MAX: usize = 8;
/// Requests at once, elsewhere.
const ELSEWHERE_MAX: usize = 2;
/// So much slower than it was makes a host slow.
const SLOW_TIMES: u32 = 3;
/// Shorter latencies than this say nothing.
const SLOW_MIN: Duration = Duration::from_millis(30);
/// Answers in a row that are not slow, before one more is asked for at once.
const CALM: usize = 8;
const BACK_OFF_MIN: Duration = Duration::from_secs(1);
const BACK_OFF_MAX: Duration = Duration::from_secs(300);
/// A host that wants a longer rest is left alone.
pub(crate) const REST_MAX: Duration = Duration::from_secs(120);

/// The pace of one host. Moments are times since any beginning.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    is_here: bool,
    most: usize,
    window: usize,
    calm: usize,
    /// The usual latency.
    usual: Option<Duration>,
    latency: Duration,
    /// What lies at least between two requests.
    delay: Duration,
    next: Duration,
    failures: u32,
    /// Whether it wants a rest that is too long for this run.
    is_left: bool,
}

impl Pace {
    /// The pace of a host; `rate` is the most requests a second.
    pub(crate) fn new(is_here: bool, rate: Option<f64>) -> Self {
        let most = if is_here { HERE_MAX } else { ELSEWHERE_MAX };
        let delay = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        Self {
            is_here,
            most,
            window: most.min(2),
            calm: 0,
            usual: None,
            latency: Duration::ZERO,
            delay,
            next: Duration::ZERO,
            failures: 0,
            is_left: false,
        }
    }

    /// Takes over what `robots.txt` wants.
    pub(crate) fn obey(&mut self, delay: Option<Duration>) {
        if let Some(delay) = delay.filter(|delay| !delay.is_zero()) {
            self.delay = self.delay.max(delay);
            (self.most, self.window) = (1, 1);
        }
    }

    /// How many requests may be under way at once.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// When the next request may go.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// A request goes.
    pub(crate) fn begin(&mut self, now: Duration) {
        let rest = if self.is_here { Duration::ZERO } else { self.latency };
        self.next = self.next.max(now + self.delay.max(rest));
    }

    /// An answer came.
    pub(crate) fn answered(&mut self, took: Duration) {
        self.failures = 0;
        self.is_left = false;
        self.latency = if self.usual.is_none() { took } else { (self.latency * 3 + took) / 4 };
        let usual = *self.usual.get_or_insert(took);
        // What is quicker than usual counts at once, what is slower by and by.
        self.usual = Some(if took < usual { took } else { (usual * 63 + took) / 64 });
        if self.latency > (usual * SLOW_TIMES).max(SLOW_MIN) {
            self.window = (self.window / 2).max(1);
            self.calm = 0;
            return;
        }
        self.calm += 1;
        if self.calm >= CALM && self.window < self.most {
            self.calm = 0;
            self.window += 1;
        }
    }

    /// The host wants rest, or fails. Whether it may be asked again within this run.
    pub(crate) fn rest(&mut self, now: Duration, wanted: Option<Duration>) -> bool {
        self.failures += 1;
        self.window = 1;
        self.calm = 0;
        let own = BACK_OFF_MIN * 2u32.saturating_pow(self.failures.min(16) - 1);
        let rest = wanted.unwrap_or_else(|| own.min(BACK_OFF_MAX));
        self.next = self.next.max(now + rest);
        self.is_left = rest > REST_MAX;
        !self.is_left
    }

    /// Whether it wants to be left alone for longer than this run may wait.
    pub(crate) fn wants_to_be_left(&self) -> bool {
        self.is_left
    }

    /// Failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_host_that_gets_slower_is_asked_by_fewer_at_once() {
        let mut pace = Pace::new(true, None);
        (0..100).for_each(|_| pace.answered(ms(20)));
        assert_eq!(pace.window(), HERE_MAX);
        (0..20).for_each(|_| pace.answered(ms(200)));
        assert_eq!(pace.window(), 1);
        (0..100).for_each(|_| pace.answered(ms(20)));
        assert_eq!(pace.window(), HERE_MAX);
    }

    #[test]
    fn another_machine_rests_as_long_as_it_worked() {
        let mut pace = Pace::new(false, None);
        (0..100).for_each(|_| pace.answered(ms(40)));
        assert_eq!(pace.window(), ELSEWHERE_MAX);
        pace.begin(ms(1000));
        assert_eq!(pace.next(), ms(1040));
    }

    #[test]
    fn delays_rates_and_retry_after_are_kept_to() {
        let mut pace = Pace::new(true, Some(10.0));
        pace.begin(ms(0));
        assert_eq!(pace.next(), ms(100));
        pace.obey(Some(ms(2000)));
        assert_eq!(pace.window(), 1);
        pace.begin(ms(100));
        assert_eq!(pace.next(), ms(2100));
        (0..50).for_each(|_| pace.answered(ms(1)));
        assert_eq!(pace.window(), 1, "a delay is for one at a time");
        assert!(pace.rest(ms(3000), Some(ms(60_000))));
        assert_eq!(pace.next(), ms(63_000));
        assert!(!pace.rest(ms(3000), Some(ms(7_200_000))), "that long means never");
        assert!(pace.wants_to_be_left());
    }

    #[test]
    fn a_host_that_fails_rests_longer_each_time() {
        let mut pace = Pace::new(true, None);
        let rests: Vec<_> = (0..3)
            .map(|_| {
                pace.rest(ms(0), None);
                pace.next()
            })
            .collect();
        assert_eq!(rests, [ms(1000), ms(2000), ms(4000)]);
        assert_eq!(pace.failures(), 3);
        pace.answered(ms(5));
        assert_eq!(pace.failures(), 0);
    }
}
