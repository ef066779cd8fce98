//! What is told of a log: its classes in order, in numbers that people and programs read.
//!
//! In: [`Classes`] and what couldn't be read. Out: [`Report`], which `text` and `html`
//! write, and which is the JSON of `--format json` as it stands.
//! Invariant: without being asked for literals it holds none.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::classes::{Class, Classes, Names, Sums};
use crate::logs::Faults;
use crate::routes::{RouteRow, Routes};
use crate::saved::{Changes, Saved};
use crate::tokens::redact;

/// The share of the time that the first classes are counted up to.
const PARETO_SHARE: f64 = 0.8;

/// What is wanted in a report.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// How many classes.
    pub top: usize,
    /// Whether examples keep their literals.
    pub literals: bool,
}

/// Everything that is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this shape.
    pub version: u32,
    /// What was read: names of files, or a server without its password.
    pub sources: Vec<String>,
    /// Bytes that were read, unpacked; 0 for a server.
    pub bytes: u64,
    /// How long a server was watched, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_seconds: Option<f64>,
    /// All executions.
    pub total: Total,
    /// How many classes there are; at least so many where some gave way.
    pub classes: usize,
    /// How many of them, the dearest first, take `pareto_share` of the time.
    pub pareto_classes: usize,
    /// That share, from 0 to 1.
    pub pareto_share: f64,
    /// The dearest classes.
    pub top: Vec<Row>,
    /// Executions of classes that gave way, since there were too many.
    pub others: Total,
    /// Lines that couldn't be read, and the first of them with literals redacted.
    pub unread: u64,
    /// See [`Self::unread`].
    pub unread_examples: Vec<String>,
    /// Entries that were cut because of their length.
    pub cut: u64,
    /// What changed since the run that `--since` names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub changes: Option<Changes>,
    /// Indexes that would help, and those that nobody uses.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub advice: Vec<crate::advice::Advice>,
    /// What could not be looked at, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// Sums, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// Executions.
    pub count: u64,
    /// Time that they took.
    pub seconds: f64,
    /// Time that they waited for locks.
    pub lock_seconds: f64,
    /// Rows that they answered with.
    pub rows_sent: u64,
    /// Rows that they looked at.
    pub rows_examined: u64,
    /// The first and the last, in seconds since 1970; nothing where no time was told.
    pub first_seen: Option<i64>,
    /// See [`Self::first_seen`].
    pub last_seen: Option<i64>,
}

/// One class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The hash of the fingerprint, in 16 hexadecimal digits: the same in each run.
    pub id: String,
    /// What its queries have in common.
    pub fingerprint: String,
    /// Its share of the time of all, from 0 to 1.
    pub share: f64,
    /// Its sums.
    #[serde(flatten)]
    pub total: Total,
    /// The mean.
    pub mean_seconds: f64,
    /// Half of them took no longer.
    pub p50_seconds: Option<f64>,
    /// 95 of 100 took no longer.
    pub p95_seconds: Option<f64>,
    /// 99 of 100 took no longer.
    pub p99_seconds: Option<f64>,
    /// The longest; nothing where only sums are known.
    pub max_seconds: Option<f64>,
    /// Upper bounds in seconds, and how many executions lie below each and above the last.
    pub spread: Vec<(f64, u64)>,
    /// In some execution a table was read from end to end.
    pub full_scan: bool,
    /// In some execution rows were sorted apart.
    pub sort: bool,
    /// In some execution a temporary table was made.
    pub temporary: bool,
    /// In some execution that, or a sort, was on the disk.
    pub on_disk: bool,
    /// Users, the first few.
    pub users: Vec<String>,
    /// Hosts, the first few.
    pub hosts: Vec<String>,
    /// Databases, the first few.
    pub databases: Vec<String>,
    /// The slowest execution, with a `?` for each literal unless literals are wanted.
    pub example: String,
    /// Its plan, if the log has it and literals are wanted or it has none.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub plan: String,
    /// Which requests ran it, those that ran it most first; a site with a tap knows.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub routes: Vec<RouteRow>,
    /// The share of its executions of which that isn't certain, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsure_share: Option<f64>,
}

const NANOSECONDS: f64 = 1e9;

/// Nanoseconds in seconds.
#[must_use]
pub fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / NANOSECONDS
}

impl From<&Sums> for Total {
    fn from(sums: &Sums) -> Self {
        Self {
            count: sums.count,
            seconds: seconds(sums.nanoseconds),
            lock_seconds: seconds(sums.lock_nanoseconds),
            rows_sent: sums.rows_sent,
            rows_examined: sums.rows_examined,
            first_seen: sums.seen.map(|seen| seen.0),
            last_seen: sums.seen.map(|seen| seen.1),
        }
    }
}

impl Report {
    /// What `classes` come to.
    #[must_use]
    pub fn of(classes: &Classes, faults: &Faults, wanted: Wanted) -> Self {
        let ranked = classes.ranked();
        let all = classes.all.nanoseconds;
        let mut sum = 0_u64;
        let mut pareto_classes = 0;
        for class in &ranked {
            if seconds(sum) >= PARETO_SHARE * seconds(all) {
                break;
            }
            sum = sum.saturating_add(class.sums.nanoseconds);
            pareto_classes += 1;
        }
        Self {
            version: 1,
            total: (&classes.all).into(),
            classes: ranked.len(),
            pareto_classes,
            pareto_share: share(sum, all),
            top: ranked.iter().take(wanted.top).map(|class| Row::of(class, all, wanted)).collect(),
            others: (&classes.others).into(),
            unread: faults.unread,
            unread_examples: faults.examples.clone(),
            cut: faults.cut,
            ..Self::default()
        }
    }

    /// Says what changed since `before`.
    pub fn compare(&mut self, before: &Saved, now: &Saved) {
        let mut changes = Changes::between(before, now);
        changes.worse.sort_by_key(|one| Reverse((one.factor * 1000.0) as u64));
        self.changes = Some(changes);
    }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { seconds(part) / seconds(all) }
}

impl Row {
    fn of(class: &Class, all: u64, wanted: Wanted) -> Self {
        let percentile = |percent| class.percentile(percent).map(seconds);
        let names = |names: &Names| {
            let more = names.are_more.then(|| "…".to_owned());
            names.names.iter().cloned().chain(more).collect()
        };
        let total = Total::from(&class.sums);
        let routes = class.routes.as_ref();
        let unsure = |routes: &Routes| routes.unsure as f64 / class.sums.count.max(1) as f64;
        let statement = &class.example.statement;
        let example = match (wanted.literals, class.is_command) {
            (true, _) | (_, true) => String::from_utf8_lossy(statement).into_owned(),
            (false, false) => redact(statement, class.dialect),
        };
        // PostgreSQL's plans repeat literals; MariaDB's rows have none.
        let is_plan_plain = class.example.plan.starts_with("# explain: ");
        let plan = (is_plan_plain || wanted.literals).then(|| class.example.plan.clone());
        Self {
            id: format!("{:016x}", class.id),
            fingerprint: class.fingerprint.clone(),
            share: share(class.sums.nanoseconds, all),
            total,
            mean_seconds: total.seconds / (total.count.max(1) as f64),
            p50_seconds: percentile(50.0),
            p95_seconds: percentile(95.0),
            p99_seconds: percentile(99.0),
            max_seconds: percentile(100.0),
            spread: class
                .spread()
                .into_iter()
                .map(|(to, count)| (to as f64 / 1e6, count))
                .collect(),
            full_scan: class.marks.full_scan,
            sort: class.marks.sort,
            temporary: class.marks.temporary,
            on_disk: class.marks.on_disk,
            users: names(&class.users),
            hosts: names(&class.hosts),
            databases: names(&class.databases),
            example,
            plan: plan.unwrap_or_default(),
            routes: routes.map(Routes::rows).unwrap_or_default(),
            unsure_share: routes.map(unsure),
        }
    }

    /// What is remarkable, in words.
    #[must_use]
    pub fn marks(&self) -> Vec<&'static str> {
        let all = [
            (self.full_scan, "reads a whole table"),
            (self.sort, "sorts"),
            (self.temporary, "makes a temporary table"),
            (self.on_disk, "goes to the disk for it"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect()
    }
}
