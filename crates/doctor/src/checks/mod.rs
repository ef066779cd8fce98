//! The checks: a table of small pure functions over a machine and its budget.
//!
//! Each says what it found, why all is fine, or nothing where what it needs wasn't seen. Their
//! numbers are those of `docs/doctor.md`, which is made from this table.
//! Invariant: no check decides about memory itself; sizes are the [`Budget`]'s.

mod database;
mod folklore;
mod growth;
mod host;
mod innodb;
mod kept;
mod memory;
mod network;
mod php;
mod pools;
mod postgres;
mod web;

use serde::Serialize;

pub use folklore::{RECIPES, Recipe};

use crate::budget::Budget;
use crate::finding::{Change, Class, Confidence, Finding, Fix, settle};
use crate::machine::Machine;
use crate::traffic::saved_ms_a_day;

/// What a check looks at.
pub(crate) struct View<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) budget: &'a Budget,
}

/// One check.
pub struct Check {
    /// Its number in the documentation.
    pub number: u8,
    /// Its name, which findings bear.
    pub id: &'static str,
    /// What is at stake.
    pub class: Class,
    /// What has to be seen for it.
    pub needs: &'static str,
    /// The formula, with its threshold.
    pub formula: &'static str,
    /// Where the rule is from.
    pub source: &'static str,
    judge: fn(&View<'_>) -> Option<Verdict>,
}

/// What came of a check; none of them where what it needs wasn't seen.
pub(crate) enum Verdict {
    /// One piece of advice, or several.
    Found(Vec<Advice>),
    /// All is well, because.
    Fine(String),
    /// It can't be judged, because.
    Unseen(String),
}

/// A finding without what its check says of all of them.
pub(crate) struct Advice {
    subject: String,
    evidence: String,
    gain: String,
    class: Option<Class>,
    confidence: Confidence,
    fix: Fix,
    revert: Option<String>,
}

/// Advice that rests on this evidence.
pub(crate) fn advice(evidence: impl Into<String>) -> Advice {
    Advice {
        subject: String::new(),
        evidence: evidence.into(),
        gain: String::new(),
        class: None,
        confidence: Confidence::High,
        fix: Fix::default(),
        revert: None,
    }
}

impl Advice {
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    pub(crate) fn gain(mut self, gain: impl Into<String>) -> Self {
        self.gain = gain.into();
        self
    }

    pub(crate) fn class(mut self, class: Class) -> Self {
        self.class = Some(class);
        self
    }

    pub(crate) fn sure(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    pub(crate) fn fix(mut self, words: impl Into<String>) -> Self {
        self.fix.words = words.into();
        self
    }

    pub(crate) fn change(mut self, change: Change) -> Self {
        self.fix.changes.push(change);
        self
    }

    pub(crate) fn changes(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.fix.changes.extend(changes);
        self
    }

    pub(crate) fn revert(mut self, revert: impl Into<String>) -> Self {
        self.revert = Some(revert.into());
        self
    }

    pub(crate) fn found(self) -> Option<Verdict> {
        Some(Verdict::Found(vec![self]))
    }
}

/// All is well, because.
pub(crate) fn fine(why: impl Into<String>) -> Option<Verdict> {
    Some(Verdict::Fine(why.into()))
}

/// It can't be judged, because.
pub(crate) fn unseen(why: impl Into<String>) -> Option<Verdict> {
    Some(Verdict::Unseen(why.into()))
}

/// Several findings of one check, or why there are none.
pub(crate) fn each(found: Vec<Advice>, otherwise: impl Into<String>) -> Option<Verdict> {
    if found.is_empty() { fine(otherwise) } else { Some(Verdict::Found(found)) }
}

/// Judges every php-fpm by itself, where there are several.
pub(crate) fn each_php(
    view: &View<'_>,
    judge: impl Fn(&View<'_>) -> Option<Verdict>,
) -> Option<Verdict> {
    let phps = view.machine.phps();
    if phps.len() < 2 {
        return judge(view);
    }
    let (mut found, mut fine, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    for php in phps {
        let (machine, budget) = (view.machine.of_php(php), view.budget.of_php(php));
        let one = |because: String| format!("PHP {php}: {because}");
        match judge(&View { machine: &machine, budget: &budget }) {
            Some(Verdict::Found(each)) => found.extend(each.into_iter().map(|advice| {
                let subject = format!("PHP {php}");
                match advice.subject.is_empty() {
                    true => advice.about(subject),
                    false => advice,
                }
            })),
            Some(Verdict::Fine(because)) => fine.push(one(because)),
            Some(Verdict::Unseen(because)) => unseen.push(one(because)),
            None => unseen.push(one("it wasn't seen".into())),
        }
    }
    match (found.is_empty(), fine.is_empty()) {
        (false, _) => Some(Verdict::Found(found)),
        (true, false) => {
            fine.append(&mut unseen);
            Some(Verdict::Fine(fine.join("; ")))
        }
        (true, true) => Some(Verdict::Unseen(unseen.join("; "))),
    }
}

/// A check with what it said, where that is no finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Which check.
    pub id: &'static str,
    /// Why all is fine, or why it can't be said.
    pub because: String,
}

/// What all checks came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// What to do, the worst first; no two change one setting.
    pub findings: Vec<Finding>,
    /// What is fine.
    pub fine: Vec<Remark>,
    /// What couldn't be judged.
    pub unseen: Vec<Remark>,
}

/// Every check, by its number.
#[must_use]
pub fn all() -> Vec<&'static Check> {
    let tables = [
        memory::CHECKS,
        php::CHECKS,
        pools::CHECKS,
        growth::CHECKS,
        database::CHECKS,
        innodb::CHECKS,
        network::CHECKS,
        host::CHECKS,
        web::CHECKS,
        folklore::CHECKS,
        postgres::CHECKS,
    ];
    let mut all: Vec<&Check> = tables.into_iter().flatten().collect();
    all.sort_by_key(|check| check.number);
    all
}

/// Runs every check over a machine.
#[must_use]
pub fn examine(machine: &Machine, budget: &Budget) -> Examination {
    let view = View { machine, budget };
    let mut examination = Examination::default();
    for check in all() {
        let remark = |because: String| Remark { id: check.id, because };
        match (check.judge)(&view) {
            Some(Verdict::Found(each)) => {
                let found = each.into_iter().map(|one| check.finding(one, machine));
                examination.findings.extend(found);
            }
            Some(Verdict::Fine(why)) => examination.fine.push(remark(why)),
            Some(Verdict::Unseen(why)) => examination.unseen.push(remark(why)),
            None => examination.unseen.push(remark(format!("not seen: {}", check.needs))),
        }
    }
    examination.findings = settle(examination.findings);
    examination
}

impl Check {
    fn finding(&self, mut advice: Advice, machine: &Machine) -> Finding {
        kept::say_instead(&mut advice.fix, machine);
        let way_back = || match advice.fix.changes.is_empty() {
            true => "put back what you changed".to_owned(),
            false => "wick doctor --rollback".to_owned(),
        };
        let class = advice.class.unwrap_or(self.class);
        Finding {
            id: self.id,
            subject: advice.subject.clone(),
            revert: advice.revert.clone().unwrap_or_else(way_back),
            evidence: advice.evidence,
            class,
            gain: advice.gain,
            saved_ms_a_day: saved_ms_a_day(self.id, class, machine),
            confidence: advice.confidence,
            fix: advice.fix,
            source: self.source,
        }
    }
}

impl View<'_> {
    /// Less sure where the counters of the database are younger than a day.
    pub(crate) fn database_confidence(&self) -> Confidence {
        match self.machine.now("mysql.Uptime") {
            Some(uptime) if uptime >= 86_400.0 => Confidence::High,
            _ => Confidence::Medium,
        }
    }
}

/// A share, as a person reads it.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn checks_have_names_of_their_own_and_say_where_they_are_from() {
        let ids: BTreeSet<_> = all().iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), all().len());
        let numbers: BTreeSet<_> = all().iter().map(|check| check.number).collect();
        assert_eq!(numbers, (1..=63).collect());
        for check in all() {
            let told = [check.needs, check.formula, check.source];
            assert!(told.iter().all(|text| !text.is_empty()), "{}", check.id);
        }
    }

    #[test]
    fn of_an_empty_machine_nothing_is_found() {
        let machine = Machine::default();
        let examination = examine(&machine, &Budget::of(&machine));
        assert_eq!(examination.findings, []);
    }
}
