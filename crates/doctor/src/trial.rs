//! Trials: what gains for one site and costs another, so that only measuring both tells.
//!
//! In: a machine, and later by how much longer PHP works for a page with a thing than without. Out: the
//! change to the other state, whether running programs have taken it, and whether it is to stay.
//! Invariants: 1. what isn't shown changes nothing. 2. what takes memory is tried only where the
//! budget has it.

use crate::budget::Budget;
use crate::finding::{Change, Class, Confidence, Finding, Fix, Place};
use crate::machine::Machine;

/// What a thing has to take off PHP's time for a page to be worth having.
pub const GAIN_MIN: f64 = 0.03;
/// What JIT is given: as much as PHP's own default from 8.4 on.
const JIT_BYTES: u64 = 64 << 20;

/// Why there is nothing to try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// It isn't known how PHP runs.
    #[error("php-fpm wasn't asked, so nothing can be tried: run as root, while it runs")]
    NotAsked,
    /// Its settings aren't ours to change.
    #[error(
        "the first php-fpm here is a Wick's own, or runs by a file of its owner's: nothing of it can be \
         changed for a try"
    )]
    Kept,
    /// It couldn't do anything.
    #[error("{0}: JIT does nothing then; see to that first")]
    Idle(&'static str),
    /// There is no memory.
    #[error("the budget leaves no 64 MB for JIT: see joint_memory in wick doctor")]
    NoMemory,
}

/// One thing that is on or off.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The change to the other state, as advice that can be applied.
    pub finding: Finding,
    /// Whether it is on now.
    pub is_on: bool,
}

/// What came of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The other state is to stay.
    Other,
    /// It is to be as it was.
    AsItWas,
    /// The same, as nothing was shown.
    Unknown,
}

/// Whether PHP's JIT is on: as it says itself, else as its settings say.
#[must_use]
pub fn jit_is_on(machine: &Machine) -> Option<bool> {
    if let Some(is_on) = machine.now("opcache.jit.on") {
        return Some(is_on > 0.0);
    }
    let mode = machine.set("php.opcache.jit")?.to_ascii_lowercase();
    let has_room = machine.size("php.opcache.jit_buffer_size").is_some_and(|size| size > 0);
    Some(has_room && !["off", "disable", "0", ""].contains(&mode.as_str()))
}

impl Trial {
    /// PHP's JIT: on, where it is off, and off, where it is on.
    ///
    /// # Errors
    /// It would do nothing, or there is no room for it.
    pub fn jit(machine: &Machine, budget: &Budget) -> Result<Self, TrialError> {
        let pool = machine.pools.first().filter(|_| machine.set("php.asked").is_some());
        let pool = pool.ok_or(TrialError::NotAsked)?;
        if pool.keeper.is_some() {
            return Err(TrialError::Kept);
        }
        let is_on = jit_is_on(machine)
            .ok_or(TrialError::Idle("this PHP has none (from 8.0 on, with the opcode cache)"))?;
        if machine.is_on("php.opcache.enable") != Some(true) {
            return Err(TrialError::Idle("the opcode cache is off"));
        }
        if machine.set("php.extension.xdebug").is_some() {
            return Err(TrialError::Idle("xdebug is loaded"));
        }
        if !is_on && budget.left_bytes() < JIT_BYTES {
            return Err(TrialError::NoMemory);
        }
        let (mode, room) = if is_on { ("disable", "0") } else { ("tracing", "64M") };
        let change = |name: &str, new: &str| Change {
            place: Place::Php(pool.version.clone()),
            name: name.to_owned(),
            old: machine.set(&format!("php.{name}")).map(str::to_owned),
            new: new.to_owned(),
        };
        let changes = vec![change("opcache.jit", mode), change("opcache.jit_buffer_size", room)];
        let finding = Finding {
            id: "jit",
            subject: String::new(),
            evidence: format!("it is {}", if is_on { "on" } else { "off" }),
            class: Class::Slow,
            gain: "3 % of PHP's time for a page, or it isn't kept".to_owned(),
            saved_ms_a_day: None,
            confidence: Confidence::Low,
            fix: Fix { words: format!("PHP's JIT {mode}, in turns with how it is now"), changes },
            revert: "wick doctor --rollback".to_owned(),
            source: "PHP RFC: JIT",
        };
        Ok(Self { finding, is_on })
    }

    /// Whether running programs are in the other state, or in the own.
    #[must_use]
    pub fn is_in(&self, machine: &Machine, other: bool) -> bool {
        machine.set("php.asked").is_some() && jit_is_on(machine) == Some(self.is_on != other)
    }

    /// What to do, when PHP works longer by such a share with the thing than without it: at
    /// least, by the best guess, at most. Less than nothing is a gain.
    #[must_use]
    pub fn verdict(&self, low: f64, share: f64, high: f64) -> Verdict {
        let is_wanted = match (high < 0.0 && share <= -GAIN_MIN, low > -GAIN_MIN) {
            (true, _) => true,
            (_, true) => false,
            (false, false) => return Verdict::Unknown,
        };
        if is_wanted == self.is_on { Verdict::AsItWas } else { Verdict::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Pool;

    fn machine(jit: &str, room: &str) -> Machine {
        let mut machine = Machine { pools: vec![Pool::default()], ..Machine::default() };
        for (name, value) in [
            ("asked", "1"),
            ("opcache.enable", "1"),
            ("opcache.jit", jit),
            ("opcache.jit_buffer_size", room),
        ] {
            machine.settings.insert(format!("php.{name}"), value.into());
        }
        machine.now.insert("meminfo.MemTotal".into(), 1e9);
        machine
    }

    fn jit(machine: &Machine) -> Result<Trial, TrialError> {
        Trial::jit(machine, &Budget::of(machine))
    }

    #[test]
    fn what_is_on_is_tried_off_and_what_is_off_on() {
        for (mode, room, is_on) in [
            ("off", "0", false),
            ("tracing", "0", false),
            ("1255", "32M", true),
            ("tracing", "1M", true),
        ] {
            let trial = jit(&machine(mode, room)).expect("it can be tried");
            let tried = if is_on { "disable" } else { "tracing" };
            assert_eq!((trial.is_on, trial.finding.fix.changes[0].new.as_str()), (is_on, tried));
            assert!(trial.is_in(&machine(mode, room), false));
            assert!(!trial.is_in(&machine(mode, room), true));
        }
    }

    #[test]
    fn what_would_do_nothing_or_has_no_room_is_not_tried() {
        let with = |name: &str, value: &str| {
            let mut machine = machine("off", "0");
            machine.settings.insert(name.into(), value.into());
            jit(&machine)
        };
        assert_eq!(with("php.extension.xdebug", "1"), Err(TrialError::Idle("xdebug is loaded")));
        assert!(matches!(with("php.opcache.enable", "0"), Err(TrialError::Idle(_))));
        let mut full = machine("off", "0");
        full.others_bytes = 850_000_000;
        assert_eq!(jit(&full), Err(TrialError::NoMemory));
        full.settings.remove("php.asked");
        assert_eq!(jit(&full), Err(TrialError::NotAsked));
    }

    #[test]
    fn only_what_is_shown_changes_anything() {
        let finding = jit(&machine("off", "0")).expect("a trial").finding;
        for (is_on, low, share, high, expected) in [
            // Off, and on gains; gains too little; gains nothing; nobody knows.
            (false, -0.08, -0.05, -0.02, Verdict::Other),
            (false, -0.028, -0.02, -0.01, Verdict::AsItWas),
            (false, -0.01, 0.02, 0.05, Verdict::AsItWas),
            (false, -0.20, -0.05, 0.10, Verdict::Unknown),
            (false, -0.04, -0.02, -0.01, Verdict::Unknown),
            // On, and it is worth it; it isn't; nobody knows.
            (true, -0.08, -0.05, -0.02, Verdict::AsItWas),
            (true, -0.01, 0.02, 0.05, Verdict::Other),
            (true, -0.20, -0.05, 0.10, Verdict::Unknown),
        ] {
            let trial = Trial { finding: finding.clone(), is_on };
            assert_eq!(trial.verdict(low, share, high), expected, "{is_on} {low} {share} {high}");
        }
    }
}
