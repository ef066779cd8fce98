//! Findings: what is wrong or could be better, how that is known, and what to do about it.
//!
//! One type for all the toolshed: whoever advises says what was seen (`evidence`), what it
//! gains, how sure that is, the exact change, the way back, and where the rule is from.
//! Invariants: 1. [`settle`] never lets two findings change one setting to different values.
//! 2. a finding that trades durability has no [`Change`]: nobody applies it but its reader.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// What is at stake; the worst first. Findings are ranked by it where it isn't known what they
/// save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Programs are killed, or data is at risk.
    Danger,
    /// Visitors are turned away, or queue, already.
    Refusing,
    /// What isn't cached takes longer than it has to.
    Slow,
    /// It will hurt when there is more traffic, or something fails.
    Latent,
    /// A recipe that doesn't do what it is believed to.
    Folklore,
}

impl Class {
    /// What is at stake, as a person reads it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Danger => "danger",
            Self::Refusing => "visitors are refused or queue",
            Self::Slow => "slower than it has to be",
            Self::Latent => "hurts under load or failure",
            Self::Folklore => "folklore",
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It was measured, or is plain from the settings.
    High,
    /// A rule of thumb with good evidence, or counters of less than a day.
    Medium,
    /// A threshold that wasn't proved yet, or few numbers.
    Low,
}

/// Whose setting it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The kernel's, by sysctl.
    Kernel,
    /// The php.ini of php-fpm, of this version.
    Php(String),
    /// A pool of php-fpm: the version, the pool's name.
    Pool(String, String),
    /// MariaDB's or MySQL's.
    Database,
    /// PostgreSQL's, which keeps what it is told itself (`ALTER SYSTEM`).
    Postgres,
    /// A unit of systemd.
    Unit(String),
}

/// One setting that becomes another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Whose.
    pub place: Place,
    /// Its name, as its owner writes it.
    pub name: String,
    /// What it is now, as far as that is known.
    pub old: Option<String>,
    /// What it becomes.
    pub new: String,
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, name, new, .. } = self;
        match place {
            Place::Kernel => write!(formatter, "sysctl {name}={new}"),
            Place::Php(version) => write!(formatter, "php.ini of php-fpm {version}: {name}={new}"),
            Place::Pool(_, pool) => write!(formatter, "pool [{pool}]: {name} = {new}"),
            Place::Database => write!(formatter, "[mysqld] {name} = {new}"),
            Place::Postgres if new.is_empty() => write!(formatter, "ALTER SYSTEM RESET {name}"),
            Place::Postgres => write!(formatter, "ALTER SYSTEM SET {name} = '{new}'"),
            Place::Unit(unit) => write!(formatter, "unit {unit}: {name}={new}"),
        }?;
        match &self.old {
            Some(old) if old.is_empty() => formatter.write_str("  (now empty)"),
            Some(old) => write!(formatter, "  (now {old})"),
            None => Ok(()),
        }
    }
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// In words.
    pub words: String,
    /// What of it can be applied; none where a person has to do it.
    pub changes: Vec<Change>,
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which check found it; stable.
    pub id: &'static str,
    /// What it is about where there are several of a kind, such as a pool's name.
    pub subject: String,
    /// What was seen, with its numbers.
    pub evidence: String,
    /// What is at stake.
    pub class: Class,
    /// What it gains.
    pub gain: String,
    /// What it saves a day of what the site's visitors wait for, in milliseconds; none where Wick
    /// serves no site here, or nobody can know.
    pub saved_ms_a_day: Option<f64>,
    /// How sure that is.
    pub confidence: Confidence,
    /// What to do.
    pub fix: Fix,
    /// How to undo it.
    pub revert: String,
    /// Where the rule is from.
    pub source: &'static str,
}

/// What comes first: danger, which isn't measured in time; then what saves most of it; then
/// what is worst by its class.
fn by_rank(one: &Finding, other: &Finding) -> Ordering {
    let is_safe = |finding: &Finding| finding.class != Class::Danger;
    let saved = |finding: &Finding| finding.saved_ms_a_day.unwrap_or(0.0);
    is_safe(one)
        .cmp(&is_safe(other))
        .then_with(|| saved(other).total_cmp(&saved(one)))
        .then_with(|| (one.class, one.confidence).cmp(&(other.class, other.confidence)))
}

/// Ranks findings, and takes care that none contradicts another: of two that would change one
/// setting the higher ranked keeps its change, and the other refers to it.
#[must_use]
pub fn settle(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(by_rank);
    let mut taken: BTreeMap<(Place, String), (usize, String)> = BTreeMap::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        let mut notes = Vec::new();
        finding.fix.changes.retain(|change| {
            let key = (change.place.clone(), change.name.clone());
            let Some((other, new)) = taken.get(&key) else {
                taken.insert(key, (index + 1, change.new.clone()));
                return true;
            };
            notes.push(format!("{} becomes {new} by number {other}", change.name));
            false
        });
        if !notes.is_empty() {
            finding.fix.words = format!("{} ({})", finding.fix.words, notes.join("; "));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, class: Class, new: &str) -> Finding {
        let change = Change {
            place: Place::Database,
            name: "max_connections".into(),
            old: None,
            new: new.into(),
        };
        Finding {
            id,
            subject: String::new(),
            evidence: String::new(),
            class,
            gain: String::new(),
            saved_ms_a_day: None,
            confidence: Confidence::High,
            fix: Fix { words: "more".into(), changes: vec![change] },
            revert: String::new(),
            source: "",
        }
    }

    #[test]
    fn the_worse_of_two_keeps_the_setting_and_the_other_says_so() {
        let settled =
            settle(vec![finding("b", Class::Latent, "9"), finding("a", Class::Danger, "5")]);
        assert_eq!(settled.iter().map(|one| one.id).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(settled[0].fix.changes.len(), 1);
        assert!(settled[1].fix.changes.is_empty());
        assert_eq!(settled[1].fix.words, "more (max_connections becomes 5 by number 1)");
    }

    #[test]
    fn what_saves_more_comes_first_behind_danger() {
        let saving =
            |id, class, saved| Finding { saved_ms_a_day: saved, ..finding(id, class, "1") };
        let settled = settle(vec![
            saving("unknown", Class::Refusing, None),
            saving("little", Class::Slow, Some(5.0)),
            saving("much", Class::Latent, Some(900.0)),
            saving("danger", Class::Danger, None),
            saving("folklore", Class::Folklore, None),
        ]);
        let ids: Vec<_> = settled.iter().map(|one| one.id).collect();
        assert_eq!(ids, ["danger", "much", "little", "unknown", "folklore"]);
    }
}
