//! After a change: does anything get worse?
//!
//! Looked at once a second: how much programs wait for memory and disks (PSI), and whether the
//! database and php-fpm still answer. What counts as worse is pure: [`Pulse::worse_than`].

use std::time::Duration;

use crate::machine::Machine;
use crate::read::{Options, glance};

/// How far apart two looks are, at most.
const STEP: Duration = Duration::from_secs(1);
/// Percentage points of waiting more that are no accident.
const POINTS: f64 = 10.0;
/// Looks in a row that have to be worse.
const WORSE_LOOKS: u32 = 3;

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
}

impl Pulse {
    /// Of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let now = |name: &str| machine.now(name).unwrap_or(0.0);
        Self {
            memory: now("psi.memory.some.avg10"),
            disks: now("psi.io.some.avg10"),
            has_database: machine.now("mysql.Uptime").is_some(),
            has_php: machine.set("php.asked").is_some(),
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
        None
    }
}

/// Watches for `time`; what got worse, if anything did. A reload in progress, or a moment's
/// load, is no reason: only what stays worse is.
pub async fn watch(before: Pulse, options: &Options, time: Duration) -> Option<String> {
    let end = tokio::time::Instant::now() + time;
    let step = options.window.min(STEP);
    let mut worse = 0;
    while tokio::time::Instant::now() < end {
        tokio::time::sleep(step).await;
        let pulse = match glance(options).await {
            Ok(machine) => Pulse::of(&machine),
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
        let well = Pulse { memory: 2.0, disks: 5.0, has_database: true, has_php: true };
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
}
