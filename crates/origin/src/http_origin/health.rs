//! Whether one of several servers is asked at all, and for how much.
//!
//! In: what became of requests to it and of checks, with the moment at which each began.
//! Out: its share, whether it is due for a trial, and changes worth telling. A server that
//! fails several times in a row is out for a time that grows with each absence; then one
//! request tries it, or the checks do where there are any, and its share grows back.
//! Pure: time and dice are the caller's.
//! Invariant: what began before the last change says nothing about the time after it.

use std::time::Duration;

/// Failures in a row after which a server is out.
const FAILURES_MAX: u32 = 3;
/// The first absence; each further one is twice as long.
const ABSENCE_MS: u64 = 1_000;
/// The longest.
const ABSENCE_MS_MAX: u64 = 60_000;
/// How long a server must have been well for its earlier absences to be forgotten.
const FORGOTTEN_MS: u64 = 60_000;
/// How long a server that came back takes until it has its whole share: its caches are
/// cold, and whatever felled it may do so again.
pub(crate) const SLOW_START: Duration = Duration::from_secs(30);
/// The share that it begins with, in thousandths.
const SHARE_MIN: u32 = 50;
/// A trial that can be repeated elsewhere costs nobody anything. If none comes for so long,
/// any request will do.
const PATIENCE_MS: u64 = 5_000;
/// Checks in a row that have to say the same.
const CHECKS: u32 = 2;

/// What is known of one server's health.
#[derive(Debug, Default)]
pub(crate) struct Health {
    out: Option<Absence>,
    /// Failures in a row.
    failures: u32,
    /// Absences since it was last well for long.
    absences: u32,
    /// When it came back; 0: it was never out.
    back_ms: u64,
    /// Checks in a row that speak for a change.
    against: u32,
}

#[derive(Clone, Copy, Debug)]
struct Absence {
    since_ms: u64,
    until_ms: u64,
    /// A request is trying it.
    is_tried: bool,
}

/// What has changed, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Out of use.
    Out {
        /// For at least so long.
        for_ms: u64,
    },
    /// In use again.
    Back,
}

impl Health {
    /// Its share of what it would be asked, in thousandths; 0: it is out.
    pub(crate) fn share(&self, now_ms: u64) -> u32 {
        if self.out.is_some() {
            return 0;
        }
        let whole_ms = SLOW_START.as_millis() as u64;
        let passed_ms = now_ms.saturating_sub(self.back_ms);
        if !self.is_starting(now_ms) {
            return 1000;
        }
        let grown = u64::from(1000 - SHARE_MIN) * passed_ms / whole_ms;
        SHARE_MIN + u32::try_from(grown).unwrap_or(0)
    }

    /// Whether it is out of use.
    pub(crate) fn is_out(&self) -> bool {
        self.out.is_some()
    }

    fn is_starting(&self, now_ms: u64) -> bool {
        self.back_ms != 0 && now_ms < self.back_ms + SLOW_START.as_millis() as u64
    }

    /// Whether this request should try it.
    pub(crate) fn is_due(&self, now_ms: u64, is_repeatable: bool) -> bool {
        let patience_ms = if is_repeatable { 0 } else { PATIENCE_MS };
        self.out.is_some_and(|out| !out.is_tried && now_ms >= out.until_ms + patience_ms)
    }

    /// A request tries it now.
    pub(crate) fn begin_trial(&mut self) {
        if let Some(out) = &mut self.out {
            out.is_tried = true;
        }
    }

    /// The trial came to nothing that says anything: its visitor left.
    pub(crate) fn give_up_trial(&mut self) {
        if let Some(out) = &mut self.out {
            out.is_tried = false;
        }
    }

    /// A request that began at `began_ms` was answered.
    pub(crate) fn succeeded(&mut self, began_ms: u64, now_ms: u64) -> Option<Change> {
        match self.out {
            None => {
                if began_ms >= self.back_ms {
                    self.failures = 0;
                }
                None
            }
            Some(out) => (began_ms >= out.since_ms).then(|| self.come_back(now_ms)),
        }
    }

    /// A request that began at `began_ms` found nobody, or nobody who would answer.
    pub(crate) fn failed(&mut self, began_ms: u64, now_ms: u64, dice: u64) -> Option<Change> {
        match self.out {
            None if began_ms < self.back_ms => None,
            None => {
                self.failures += 1;
                let is_enough = self.failures >= FAILURES_MAX || self.is_starting(now_ms);
                is_enough.then(|| self.go_out(now_ms, dice))
            }
            Some(out) => {
                let is_of_now = began_ms >= out.since_ms;
                let is_trial = out.is_tried || now_ms >= out.until_ms;
                (is_of_now && is_trial).then(|| self.go_out(now_ms, dice))
            }
        }
    }

    /// A check came to this.
    pub(crate) fn checked(&mut self, is_well: bool, now_ms: u64) -> Option<Change> {
        if is_well == self.out.is_none() {
            self.against = 0;
            return None;
        }
        self.against += 1;
        if self.against < CHECKS {
            return None;
        }
        match self.out {
            None => {
                self.against = 0;
                // The next checks tell when it may come back.
                self.out = Some(Absence { since_ms: now_ms, until_ms: now_ms, is_tried: false });
                Some(Change::Out { for_ms: 0 })
            }
            // It answers checks, and doesn't answer requests.
            Some(out) if now_ms < out.until_ms => None,
            Some(_) => Some(self.come_back(now_ms)),
        }
    }

    fn come_back(&mut self, now_ms: u64) -> Change {
        self.out = None;
        (self.failures, self.against) = (0, 0);
        self.back_ms = now_ms;
        Change::Back
    }

    fn go_out(&mut self, now_ms: u64, dice: u64) -> Change {
        if self.out.is_none() && now_ms.saturating_sub(self.back_ms) > FORGOTTEN_MS {
            self.absences = 0;
        }
        let whole_ms = (ABSENCE_MS << self.absences.min(16)).min(ABSENCE_MS_MAX);
        self.absences += 1;
        // Between three quarters and five: servers that fell together don't come back together.
        let for_ms = whole_ms * (750 + dice % 501) / 1000;
        self.out = Some(Absence { since_ms: now_ms, until_ms: now_ms + for_ms, is_tried: false });
        (self.failures, self.against) = (0, 0);
        Change::Out { for_ms }
    }
}

#[cfg(test)]
mod tests {
    use base::Clock;

    use super::*;

    /// Plays a story, and shows what changed and the share at its end. `f` and `s`: a request
    /// begins now and fails or succeeds; `f-N`, `s-N`: one that began N ms ago; `f+`, `s+`:
    /// a check; `t`, `T`: a trial begins if one is due, with a request that can be repeated
    /// and with any; `g`: it is given up; a number: so many milliseconds pass.
    fn play(story: &str) -> String {
        let clock = Clock::manual(0);
        clock.advance_ms(1_000_000);
        let mut health = Health::default();
        let mut seen = Vec::new();
        for word in story.split(' ') {
            let now = clock.now().ticks_ms;
            let (act, ago) = word.split_once('-').unwrap_or((word, "0"));
            let began = now - ago.parse::<u64>().expect("a number of milliseconds");
            let change = match act {
                "f" => health.failed(began, now, 250),
                "s" => health.succeeded(began, now),
                "f+" => health.checked(false, now),
                "s+" => health.checked(true, now),
                "t" | "T" => {
                    let is_due = health.is_due(now, act == "t");
                    seen.push(if is_due { "try".to_owned() } else { "wait".to_owned() });
                    if is_due {
                        health.begin_trial();
                    }
                    None
                }
                "g" => {
                    health.give_up_trial();
                    None
                }
                pause => {
                    clock.advance_ms(pause.parse().expect("a number of milliseconds"));
                    None
                }
            };
            seen.extend(change.map(|change| match change {
                Change::Out { for_ms } => format!("out:{for_ms}"),
                Change::Back => "back".to_owned(),
            }));
        }
        format!("{} {}", seen.join(" "), health.share(clock.now().ticks_ms)).trim_start().to_owned()
    }

    #[test]
    fn three_failures_in_a_row_take_a_server_out_and_a_trial_brings_it_back() {
        for (story, seen) in [
            ("s", "1000"),
            ("f f", "1000"),
            ("f f s f f", "1000"),
            ("f f f", "out:1000 0"),
            ("f f f f s-5", "out:1000 0"),
            ("f f f 999 t", "out:1000 wait 0"),
            ("f f f 1000 t t", "out:1000 try wait 0"),
            ("f f f 1000 t g t", "out:1000 try try 0"),
            ("f f f 1000 T 5000 T", "out:1000 wait try 0"),
            ("f f f 1000 t 10 s", "out:1000 try back 50"),
            // What began before it came back says nothing.
            ("f f f 1000 t 10 s 10 f-30", "out:1000 try back 50"),
            ("f f f 1000 t 10 f-10 2000 t f", "out:1000 try out:2000 try out:4000 0"),
        ] {
            assert_eq!(play(story), seen, "{story}");
        }
    }

    #[test]
    fn absences_grow_up_to_a_minute_and_are_forgotten_after_one() {
        let mut story = "f f f".to_owned();
        (0..8).for_each(|_| story.push_str(" 60000 t f"));
        let seen = play(&story);
        for length in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000] {
            assert!(seen.contains(&format!("out:{length} ")), "{seen}");
        }
        assert!(!seen.contains("out:64000"), "{seen}");
        let well = |ms: u64| play(&format!("f f f 1000 t s {ms} f f f"));
        assert_eq!(well(60_000), "out:1000 try back out:2000 0");
        assert_eq!(well(60_001), "out:1000 try back out:1000 0");
    }

    #[test]
    fn a_server_that_came_back_gets_its_share_slowly_and_falls_at_the_first_failure() {
        for (story, seen) in [
            ("f f f 1000 t s 15000", "out:1000 try back 525"),
            ("f f f 1000 t s 29999", "out:1000 try back 999"),
            ("f f f 1000 t s 30000", "out:1000 try back 1000"),
            ("f f f 1000 t s 29999 f", "out:1000 try back out:2000 0"),
            ("f f f 1000 t s 30000 f", "out:1000 try back 1000"),
        ] {
            assert_eq!(play(story), seen, "{story}");
        }
    }

    #[test]
    fn two_checks_in_a_row_decide() {
        for (story, seen) in [
            ("f+ s+ f+", "1000"),
            ("f+ f+", "out:0 0"),
            ("f+ f+ s+ f+ s+", "out:0 0"),
            ("f+ f+ s+ 10 s+", "out:0 back 50"),
            // Requests fail though checks pass: its time out has to be over.
            ("f f f s+ s+ s+", "out:1000 0"),
            ("f f f s+ s+ 1000 s+", "out:1000 back 50"),
        ] {
            assert_eq!(play(story), seen, "{story}");
        }
    }

    #[test]
    fn jitter_stays_within_a_quarter() {
        for dice in 0..2_000 {
            let mut health = Health { failures: 2, ..Health::default() };
            match health.failed(5, 5, dice) {
                Some(Change::Out { for_ms }) => assert!((750..=1250).contains(&for_ms)),
                other => assert_eq!(other, Some(Change::Back), "it goes out"),
            }
        }
    }
}
