//! Alerts: the few things for which an owner should be disturbed, each with what to do.
//!
//! In: a [`Sample`] a second. Out: what began and what ended.
//! Invariants: 1. what goes to and fro disturbs nobody: an alert begins when something was bad
//! for a while without a break, and ends when it was good for a while, where good is better than
//! not bad. 2. what isn't there any more is no alert.
//! Start at [`Alerts::look`].

mod rules;

use std::collections::BTreeMap;

use serde::Serialize;

use rules::Failures;

/// Everything that the rules look at, at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Seconds that never go back.
    pub seconds: u64,
    /// Unix time.
    pub unix_seconds: i64,
    /// All answers so far.
    pub answers: u64,
    /// Those of them that a visitor saw fail: the app said so itself, no answer of it came, or
    /// the fault is ours.
    pub failed: u64,
    /// The machine's memory, and what programs could still have of it.
    pub memory_bytes: Option<(u64, u64)>,
    /// The disk of the state folder, and what of it is free.
    pub disk_bytes: Option<(u64, u64)>,
    /// The sites.
    pub sites: Vec<SiteSample>,
    /// The certificates.
    pub certificates: Vec<CertificateSample>,
}

/// One site.
#[derive(Clone, Debug, Default)]
pub struct SiteSample {
    /// Its name.
    pub name: String,
    /// Requests that may be with its origin, and those that are.
    pub slots: Option<(u64, u64)>,
    /// Requests that wait.
    pub waiting: u64,
    /// Whether its changes are heard; none where nobody listens.
    pub is_followed: Option<bool>,
}

/// One certificate.
#[derive(Clone, Debug, Default)]
pub struct CertificateSample {
    /// Whom it is for.
    pub names: String,
    /// The first second of its life, in unix time.
    pub begins: i64,
    /// The last one.
    pub ends: i64,
}

/// What an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Requests fail.
    Failures,
    /// Requests wait for PHP, or for another origin.
    OriginBusy,
    /// A certificate ends.
    Certificate,
    /// Changes of a site aren't heard.
    ChangesLost,
    /// The machine's memory is used up.
    Memory,
    /// The disk is full.
    Disk,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Failures,
        Self::OriginBusy,
        Self::Certificate,
        Self::ChangesLost,
        Self::Memory,
        Self::Disk,
    ];

    /// Its name, which never changes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::OriginBusy => "origin-busy",
            Self::Certificate => "certificate",
            Self::ChangesLost => "changes-lost",
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }

    /// For how many seconds it must be bad before anybody is told, and good before it is over.
    fn patience(self) -> (u64, u64) {
        match self {
            Self::Failures => (10, 120),
            Self::OriginBusy | Self::Memory => (30, 60),
            Self::Certificate => (0, 60),
            Self::ChangesLost | Self::Disk => (60, 60),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::Failures => {
                "standard error says what the origin answered, and \"wick check\" tries it; \
                 wick_answers_total in /metrics has the reasons"
            }
            Self::OriginBusy => {
                "find the slow addresses in the access log; raise php_children (or \
                 origin_connections) if there is memory for more"
            }
            Self::Certificate => {
                "standard error says why the CA issued no new one, or renew your own file; \
                 \"wick check\" says what is missing"
            }
            Self::ChangesLost => {
                "see whether the database runs; \"wick explain URL\" says why it can't be heard. \
                 Until then pages are fresh for seconds only"
            }
            Self::Memory => "lower php_children or memory, or end other programs",
            Self::Disk => "free space on the disk of the state folder",
        }
    }
}

/// Something for which an owner is disturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alert {
    /// What it is about.
    pub kind: Kind,
    /// Which site or certificate; empty for what there is one of.
    pub subject: String,
    /// What was seen when it began, in a sentence.
    pub what: String,
    /// What to do.
    pub fix: &'static str,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It began.
    Began(Alert),
    /// It is over.
    Ended(Alert),
}

/// How something stands at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Bad(String),
    /// Neither so bad that it begins an alert nor so good that it ends one.
    Between,
    Good,
}

/// One thing that may be bad.
#[derive(Debug, Default)]
struct Latch {
    /// Since when it has been so that its state would change.
    since: Option<u64>,
    raised: Option<Alert>,
}

/// What is bad, and what may become so.
#[derive(Debug, Default)]
pub struct Alerts {
    latches: BTreeMap<(Kind, String), Latch>,
    failures: Failures,
}

impl Alerts {
    /// Looks at a sample; what began and what ended by it.
    pub fn look(&mut self, sample: &Sample) -> Vec<Turn> {
        let findings = rules::findings(sample, &mut self.failures);
        let mut before = std::mem::take(&mut self.latches);
        let mut turns = Vec::new();
        for (kind, subject, finding) in findings {
            let key = (kind, subject);
            let mut latch = before.remove(&key).unwrap_or_default();
            turns.extend(latch.step(&key, finding, sample.seconds));
            self.latches.insert(key, latch);
        }
        let gone = before.into_values().filter_map(|latch| latch.raised);
        turns.extend(gone.map(Turn::Ended));
        turns
    }

    /// What is bad now.
    pub fn raised(&self) -> impl Iterator<Item = &Alert> {
        self.latches.values().filter_map(|latch| latch.raised.as_ref())
    }
}

impl Latch {
    fn step(&mut self, key: &(Kind, String), finding: Finding, now: u64) -> Option<Turn> {
        let (kind, subject) = key;
        let (raise_after, end_after) = kind.patience();
        match (finding, &self.raised) {
            (Finding::Bad(what), None) => {
                let since = *self.since.get_or_insert(now);
                if now.saturating_sub(since) < raise_after {
                    return None;
                }
                let (kind, subject, fix) = (*kind, subject.clone(), kind.fix());
                let alert = Alert { kind, subject, what, fix };
                (self.since, self.raised) = (None, Some(alert.clone()));
                Some(Turn::Began(alert))
            }
            (Finding::Good, Some(_)) => {
                let since = *self.since.get_or_insert(now);
                if now.saturating_sub(since) < end_after {
                    return None;
                }
                self.since = None;
                self.raised.take().map(Turn::Ended)
            }
            _ => {
                self.since = None;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
