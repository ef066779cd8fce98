//! Classes: executions with the same fingerprint, counted together.
//!
//! Invariants: 1. a query whose class is known costs no allocation, but for an example
//! that took longer than all before. 2. there are at most [`CLASSES_MAX`] classes; when
//! there would be more, those that took least time are added up as the others, which
//! count for all sums. So memory has a bound, whatever the log.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use hdrhistogram::Histogram;
use xxhash_rust::xxh3::xxh3_64;

use crate::fingerprint::Fingerprinter;
use crate::query::{Marks, Query, Whose};
use crate::routes::Routes;
use crate::tokens::Dialect;

/// Classes that are known at once.
pub const CLASSES_MAX: usize = 1024;
/// How many give way at once.
const GIVE_WAY: usize = CLASSES_MAX / 4;
/// Bytes that are kept of an example, and of its plan.
const EXAMPLE_BYTES_MAX: usize = 4096;
const PLAN_BYTES_MAX: usize = 2048;
/// Users, hosts and databases that are told of a class, and bytes of each name.
const NAMES_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 64;
/// Percentiles are right to two digits.
const DIGITS: u8 = 2;
/// The longest time that percentiles tell: a week, in microseconds.
const MICROSECONDS_MAX: u64 = 7 * 24 * 3600 * 1_000_000;

/// What executions come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many there were.
    pub count: u64,
    /// Time that they took, in nanoseconds.
    pub nanoseconds: u64,
    /// Time that they waited for locks, in nanoseconds.
    pub lock_nanoseconds: u64,
    /// Rows that they answered with.
    pub rows_sent: u64,
    /// Rows that they looked at.
    pub rows_examined: u64,
    /// The first and the last, in seconds since 1970.
    pub seen: Option<(i64, i64)>,
}

impl Sums {
    fn take(&mut self, query: &Query<'_>) {
        let seen = query.unix_seconds.map(|at| (at, at));
        self.add(&Self {
            count: 1,
            nanoseconds: query.nanoseconds,
            lock_nanoseconds: query.lock_nanoseconds,
            rows_sent: query.rows_sent,
            rows_examined: query.rows_examined,
            seen,
        });
    }

    /// Adds what others come to.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.lock_nanoseconds = self.lock_nanoseconds.saturating_add(other.lock_nanoseconds);
        self.rows_sent = self.rows_sent.saturating_add(other.rows_sent);
        self.rows_examined = self.rows_examined.saturating_add(other.rows_examined);
        self.seen = match (self.seen, other.seen) {
            (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
            (seen, other) => seen.or(other),
        };
    }
}

/// One class.
#[derive(Debug)]
pub struct Class {
    /// The hash of its fingerprint, by which it is known from run to run.
    pub id: u64,
    /// What its queries have in common.
    pub fingerprint: String,
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// Whether it is a command of the protocol.
    pub is_command: bool,
    /// What its executions come to.
    pub sums: Sums,
    /// What was remarkable in any of them.
    pub marks: Marks,
    /// The execution that took longest.
    pub example: Example,
    /// Users, hosts and databases, the first few of each.
    pub users: Names,
    /// See [`Self::users`].
    pub hosts: Names,
    /// See [`Self::users`].
    pub databases: Names,
    /// Whom executions were for; none where nobody knows.
    pub routes: Option<Routes>,
    times: Option<Histogram<u32>>,
}

/// An execution.
#[derive(Clone, Debug, Default)]
pub struct Example {
    /// Its statement, with its literals: nobody is shown that unasked.
    pub statement: Vec<u8>,
    /// Whether its end is missing.
    pub is_cut: bool,
    /// How long it took.
    pub nanoseconds: u64,
    /// The database that was in use.
    pub database: String,
    /// Its plan, as the log had it.
    pub plan: String,
}

/// A few names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Each once, in the order in which they came.
    pub names: Vec<String>,
    /// Whether there were others.
    pub are_more: bool,
}

impl Names {
    fn take(&mut self, name: &[u8]) {
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        if name.is_empty() || self.names.iter().any(|known| known.as_bytes() == name) {
            return;
        }
        if self.names.len() == NAMES_MAX {
            self.are_more = true;
            return;
        }
        let told = String::from_utf8_lossy(name).into_owned();
        if !self.names.contains(&told) {
            self.names.push(told);
        }
    }
}

impl Class {
    /// A class that is known by its sums alone, such as a server's own digest.
    #[must_use]
    pub fn summed(fingerprint: &[u8], dialect: Dialect, sums: Sums) -> Self {
        Self {
            id: xxh3_64(fingerprint),
            fingerprint: String::from_utf8_lossy(fingerprint).into_owned(),
            dialect,
            is_command: false,
            sums,
            marks: Marks::default(),
            example: Example::default(),
            users: Names::default(),
            hosts: Names::default(),
            databases: Names::default(),
            routes: None,
            times: None,
        }
    }

    fn take(&mut self, query: &Query<'_>) {
        self.sums.take(query);
        self.marks = self.marks.or(query.marks);
        self.users.take(query.user);
        self.hosts.take(query.host);
        self.databases.take(query.database);
        match query.whose {
            Whose::Unknown => {}
            Whose::Unsure => self.routes.get_or_insert_default().take(None),
            Whose::Route(route) => self.routes.get_or_insert_default().take(Some(route)),
        }
        if let Some(times) = &mut self.times {
            let microseconds = (query.nanoseconds / 1000).clamp(1, MICROSECONDS_MAX);
            // Without room for it nothing would be right.
            if times.record(microseconds).is_err() {
                self.times = None;
            }
        }
        if self.example.statement.is_empty() || query.nanoseconds > self.example.nanoseconds {
            self.example.take(query);
        }
    }

    /// So many of a hundred took at most this long, in nanoseconds; nothing where only sums
    /// are known.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let times = self.times.as_ref()?;
        Some(times.value_at_quantile(percent / 100.0).saturating_mul(1000).min(self.longest()))
    }

    /// The longest, in nanoseconds.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.example.nanoseconds
    }

    /// How many took how long: the upper bound of each power of two of microseconds, and
    /// how many lie in it.
    #[must_use]
    pub fn spread(&self) -> Vec<(u64, u64)> {
        let Some(times) = &self.times else { return Vec::new() };
        let steps = times.iter_log(1, 2.0);
        steps
            .map(|step| (step.value_iterated_to() + 1, step.count_since_last_iteration()))
            .collect()
    }
}

impl Example {
    fn take(&mut self, query: &Query<'_>) {
        let statement = &query.statement[..query.statement.len().min(EXAMPLE_BYTES_MAX)];
        self.is_cut = statement.len() < query.statement.len();
        self.statement.clear();
        self.statement.extend_from_slice(statement);
        self.nanoseconds = query.nanoseconds;
        let text = |text: &[u8], most: usize| {
            String::from_utf8_lossy(&text[..text.len().min(most)]).into_owned()
        };
        self.database = text(query.database, NAME_BYTES_MAX);
        self.plan = text(query.plan, PLAN_BYTES_MAX);
    }
}

/// A hash is its own hash.
#[derive(Clone, Copy, Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// All classes.
#[derive(Debug, Default)]
pub struct Classes {
    maker: Fingerprinter,
    known: HashMap<u64, Class, BuildHasherDefault<Itself>>,
    /// What all executions come to, the others' too.
    pub all: Sums,
    /// What those come to whose classes are not kept.
    pub others: Sums,
    /// How often a class gave way; one that came again counts again.
    pub gave_way: u64,
}

impl Classes {
    /// Counts an execution.
    pub fn take(&mut self, query: &Query<'_>) {
        self.all.take(query);
        let fingerprint = match query.is_command {
            true => query.statement,
            false => self.maker.of(query.statement, query.dialect),
        };
        let id = xxh3_64(fingerprint);
        if let Some(class) = self.known.get_mut(&id) {
            return class.take(query);
        }
        let mut class = Class::summed(fingerprint, query.dialect, Sums::default());
        class.is_command = query.is_command;
        // The bounds are right: one below the other, and digits that there may be.
        class.times = Histogram::new_with_bounds(1, 1024, DIGITS).ok();
        if let Some(times) = &mut class.times {
            times.auto(true);
        }
        class.take(query);
        if self.known.len() >= CLASSES_MAX {
            self.make_room();
        }
        self.known.insert(id, class);
    }

    /// Takes a class of which only sums are known.
    pub fn take_summed(&mut self, class: Class) {
        self.all.add(&class.sums);
        match self.known.get_mut(&class.id) {
            Some(known) => known.sums.add(&class.sums),
            None => {
                if self.known.len() >= CLASSES_MAX {
                    self.make_room();
                }
                self.known.insert(class.id, class);
            }
        }
    }

    fn make_room(&mut self) {
        let mut costs: Vec<_> =
            self.known.values().map(|class| (class.sums.nanoseconds, class.id)).collect();
        costs.sort_unstable();
        for (_, id) in costs.into_iter().take(GIVE_WAY) {
            if let Some(class) = self.known.remove(&id) {
                self.others.add(&class.sums);
                self.gave_way += 1;
            }
        }
    }

    /// The classes, those that took most time first.
    #[must_use]
    pub fn ranked(&self) -> Vec<&Class> {
        let mut all: Vec<_> = self.known.values().collect();
        all.sort_unstable_by_key(|class| (std::cmp::Reverse(class.sums.nanoseconds), class.id));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(classes: &mut Classes, statement: &str, nanoseconds: u64) {
        let mut query = Query::new(statement.as_bytes(), Dialect::MySql);
        (query.nanoseconds, query.user, query.unix_seconds) = (nanoseconds, b"ann", Some(7));
        classes.take(&query);
    }

    #[test]
    fn executions_that_differ_in_literals_are_counted_together() {
        let mut classes = Classes::default();
        for one in 1..=100 {
            taken(&mut classes, &format!("select a from t where id = {one}"), one * 1_000_000);
        }
        taken(&mut classes, "select 2", 5);
        let ranked = classes.ranked();
        assert_eq!(ranked.len(), 2);
        let class = ranked[0];
        assert_eq!(class.sums.count, 100);
        assert_eq!(class.sums.nanoseconds, 5_050_000_000);
        assert_eq!(class.sums.seen, Some((7, 7)));
        assert_eq!(class.example.statement, b"select a from t where id = 100");
        let median = class.percentile(50.0).expect("times were kept");
        assert!((49_500_000..=50_500_000).contains(&median), "{median}");
        assert_eq!(class.percentile(100.0), Some(100_000_000));
        assert_eq!(class.spread().iter().map(|(_, count)| count).sum::<u64>(), 100);
        assert_eq!(class.users.names, ["ann"]);
    }

    #[test]
    fn what_gives_way_is_still_counted() {
        let mut classes = Classes::default();
        let many = 3 * CLASSES_MAX as u64;
        for one in 0..many {
            taken(&mut classes, &format!("select a{one} from t"), 1000 + one);
            taken(&mut classes, "select slow from t", 1_000_000);
        }
        assert!(classes.ranked().len() <= CLASSES_MAX);
        assert_eq!(classes.ranked()[0].sums.count, many, "the dearest never gives way");
        let mut sum = classes.others;
        classes.ranked().iter().for_each(|class| sum.add(&class.sums));
        assert_eq!(sum, classes.all);
        assert!(classes.gave_way > 0);
    }
}
