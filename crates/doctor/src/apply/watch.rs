//! After a change: does anything get worse?
//!
//! Looked at once a second: how much programs wait for memory and disks (PSI), whether the
//! database and php-fpm still answer, and, where Wick serves the site, how its visitors fare.
//! What counts as worse is pure: [`Pulse::worse_than`].

use std::time::Duration;

use crate::machine::{Keeper, Machine};
use crate::read::{Options, glance};

/// How far apart two looks are, at most.
const STEP: Duration = Duration::from_secs(1);
/// Percentage points of waiting more that are no accident.
const POINTS: f64 = 10.0;
/// Looks in a row that have to be worse.
const WORSE_LOOKS: u32 = 3;

/// Requests from which on shares and percentiles of them say something.
const REQUESTS_MIN: u64 = 20;
/// Percentage points of answers with an error more that are no accident.
const ERROR_POINTS: f64 = 1.0;
/// How much longer the slowest hundredth may take: by half, and by more than this.
const SLOWER_BY: f64 = 1.5;
const SLOWER_MS: f64 = 20.0;

/// How visitors fared in the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Visitors {
    /// Requests.
    pub requests: u64,
    /// Those answered with a status of 500 or more.
    pub errors: u64,
    /// What 99 of 100 answers took at most, in milliseconds.
    pub p99_ms: f64,
}

impl Visitors {
    fn error_percent(&self) -> f64 {
        self.errors as f64 * 100.0 / self.requests.max(1) as f64
    }

    /// What is worse for them than before, if there are enough of them to say.
    fn worse_than(&self, before: &Self) -> Option<String> {
        if self.requests < REQUESTS_MIN || before.requests < REQUESTS_MIN {
            return None;
        }
        let (was, is) = (before.error_percent(), self.error_percent());
        if is > was + ERROR_POINTS {
            return Some(format!("{is:.1} % of answers are errors, before {was:.1} %"));
        }
        let (was, is) = (before.p99_ms, self.p99_ms);
        if is > (was * SLOWER_BY).max(was + SLOWER_MS) {
            return Some(format!(
                "one answer of a hundred takes {is:.0} ms or more, before {was:.0} ms"
            ));
        }
        None
    }
}

/// How the machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pulse {
    /// Percent of the last ten seconds in which somebody waited for memory.
    pub memory: f64,
    /// For disks.
    pub disks: f64,
    /// Whether the database told its status.
    pub has_database: bool,
    /// Whether php-fpm told of its opcode cache.
    pub has_php: bool,
    /// How the visitors fare of the sites that Wick serves here; none: it serves none.
    pub visitors: Option<Visitors>,
}

impl Pulse {
    /// Of a machine, and its visitors.
    #[must_use]
    pub fn of(machine: &Machine, visitors: Option<Visitors>) -> Self {
        let now = |name: &str| machine.now(name).unwrap_or(0.0);
        Self {
            memory: now("psi.memory.some.avg10"),
            disks: now("psi.io.some.avg10"),
            has_database: machine.now("mysql.Uptime").is_some(),
            // A busy Wick has all children of its own php-fpm, and nobody else is answered.
            has_php: machine.set("php.asked").is_some()
                && machine.pools.first().is_some_and(|pool| pool.keeper != Some(Keeper::Wick)),
            visitors,
        }
    }

    /// What is worse than before, if anything is.
    #[must_use]
    pub fn worse_than(&self, before: &Self) -> Option<String> {
        if before.has_database && !self.has_database {
            return Some("the database doesn't answer any more".into());
        }
        if before.has_php && !self.has_php {
            return Some("php-fpm doesn't answer any more".into());
        }
        for (what, was, is) in
            [("memory", before.memory, self.memory), ("disks", before.disks, self.disks)]
        {
            if is > was + POINTS {
                return Some(format!(
                    "programs wait for {what} {is:.0} % of the time, before {was:.0} %"
                ));
            }
        }
        self.visitors?.worse_than(before.visitors.as_ref()?)
    }
}

/// Watches for `time`; what got worse, if anything did. A reload in progress, or a moment's
/// load, is no reason: only what stays worse is. `visitors` tells how they fared lately.
pub async fn watch(
    before: Pulse,
    options: &Options,
    time: Duration,
    visitors: impl Fn() -> Option<Visitors>,
) -> Option<String> {
    let end = tokio::time::Instant::now() + time;
    let step = options.window.min(STEP);
    let mut worse = 0;
    while tokio::time::Instant::now() < end {
        tokio::time::sleep(step).await;
        let pulse = match glance(options).await {
            Ok(machine) => Pulse::of(&machine, visitors()),
            Err(error) => return Some(error.to_string()),
        };
        match pulse.worse_than(&before) {
            None => worse = 0,
            Some(why) => {
                worse += 1;
                if worse >= WORSE_LOOKS {
                    return Some(why);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_longer_or_answers_no_more_is_worse() {
        let well =
            Pulse { memory: 2.0, disks: 5.0, has_database: true, has_php: true, visitors: None };
        for (now, is_worse) in [
            (well, false),
            (Pulse { memory: 11.0, ..well }, false),
            (Pulse { memory: 12.5, ..well }, true),
            (Pulse { disks: 16.0, ..well }, true),
            (Pulse { has_database: false, ..well }, true),
            (Pulse { has_php: false, ..well }, true),
        ] {
            assert_eq!(now.worse_than(&well).is_some(), is_worse, "{now:?}");
        }
        assert_eq!(well.worse_than(&Pulse::default()), None, "nobody answered before");
    }

    #[test]
    fn visitors_who_wait_longer_or_see_errors_are_worse_off() {
        let visitors = Visitors { requests: 200, errors: 1, p99_ms: 40.0 };
        let pulse = |visitors| Pulse { visitors, ..Pulse::default() };
        let before = pulse(Some(visitors));
        for (now, is_worse) in [
            (Some(visitors), false),
            (None, false),
            (Some(Visitors { errors: 3, ..visitors }), false),
            (Some(Visitors { errors: 4, ..visitors }), true),
            (Some(Visitors { p99_ms: 60.0, ..visitors }), false),
            (Some(Visitors { p99_ms: 61.0, ..visitors }), true),
            (Some(Visitors { requests: 19, errors: 19, p99_ms: 900.0 }), false),
        ] {
            assert_eq!(pulse(now).worse_than(&before).is_some(), is_worse, "{now:?}");
        }
        // Where all is quick, a few milliseconds are nothing.
        let quick = pulse(Some(Visitors { p99_ms: 1.0, ..visitors }));
        let slower = pulse(Some(Visitors { p99_ms: 20.0, ..visitors }));
        assert_eq!(slower.worse_than(&quick), None);
    }

    #[tokio::test]
    async fn what_stays_worse_for_visitors_ends_the_watch() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("proc")).expect("a folder");
        let meminfo = folder.path().join("proc/meminfo");
        std::fs::write(meminfo, "MemTotal: 1000 kB\n").expect("a file");
        let options = Options::at(folder.path().to_owned(), Duration::from_millis(1));
        let well = Visitors { requests: 100, errors: 0, p99_ms: 10.0 };
        let before = Pulse { visitors: Some(well), ..Pulse::default() };
        let looks = std::cell::Cell::new(0);
        // Of two bad looks at a time, and of three.
        let visitors = |bad_of_three: u32| {
            looks.set(looks.get() + 1);
            let is_bad = looks.get() % 3 < bad_of_three;
            Some(Visitors { errors: if is_bad { 50 } else { 0 }, ..well })
        };
        let moment = Duration::from_millis(100);
        assert_eq!(watch(before, &options, moment, || visitors(2)).await, None);
        let why = watch(before, &options, Duration::from_secs(60), || visitors(3)).await;
        assert_eq!(why.as_deref(), Some("50.0 % of answers are errors, before 0.0 %"));
    }
}
