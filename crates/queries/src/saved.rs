//! A run, as `--save` keeps it, and what is new, gone or worse since (`--since`).
//!
//! Invariant: a saved run holds fingerprints and sums, and no literal.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::classes::Classes;
use crate::report::seconds;

/// How much longer the mean has become of what is worse.
const WORSE_FACTOR: f64 = 1.5;
/// Of fewer executions a mean says little.
const COUNT_MIN: u64 = 10;
/// What takes a smaller share of the time is told of neither way.
const SHARE_MIN: f64 = 0.001;

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The version of this shape.
    pub version: u32,
    /// Time that all executions took.
    pub seconds: f64,
    /// Its classes.
    pub classes: Vec<SavedClass>,
}

/// A class of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedClass {
    /// The hash of the fingerprint, in hexadecimal digits.
    pub id: String,
    /// The fingerprint.
    pub fingerprint: String,
    /// Executions.
    pub count: u64,
    /// Time that they took.
    pub seconds: f64,
}

/// What changed between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Classes that were not there before, the dearest first.
    pub new: Vec<SavedClass>,
    /// Classes that are there no more, the dearest first.
    pub gone: Vec<SavedClass>,
    /// Classes whose mean is longer by half or more.
    pub worse: Vec<Worse>,
}

/// A class that takes longer than it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Worse {
    /// The hash of its fingerprint, in hexadecimal digits.
    pub id: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its mean before.
    pub before_seconds: f64,
    /// Its mean now.
    pub now_seconds: f64,
    /// How many times that is.
    pub factor: f64,
}

impl SavedClass {
    fn mean(&self) -> f64 {
        self.seconds / (self.count.max(1) as f64)
    }
}

impl Saved {
    /// What `classes` come to.
    #[must_use]
    pub fn of(classes: &Classes) -> Self {
        let class = |class: &&crate::classes::Class| SavedClass {
            id: format!("{:016x}", class.id),
            fingerprint: class.fingerprint.clone(),
            count: class.sums.count,
            seconds: seconds(class.sums.nanoseconds),
        };
        Self {
            version: 1,
            seconds: seconds(classes.all.nanoseconds),
            classes: classes.ranked().iter().map(class).collect(),
        }
    }
}

impl Changes {
    /// What changed from `before` to `now`.
    #[must_use]
    pub fn between(before: &Saved, now: &Saved) -> Self {
        let index = |saved: &Saved| -> HashMap<String, SavedClass> {
            saved.classes.iter().map(|class| (class.id.clone(), class.clone())).collect()
        };
        let (known, there) = (index(before), index(now));
        let lacking = |of: &Saved, others: &HashMap<String, SavedClass>| {
            let lacks = |class: &&SavedClass| {
                !others.contains_key(&class.id) && class.seconds >= SHARE_MIN * of.seconds
            };
            of.classes.iter().filter(lacks).cloned().collect()
        };
        let worse = now.classes.iter().filter_map(|class| {
            let before = known.get(&class.id)?;
            let factor = class.mean() / before.mean().max(1e-9);
            let is_told = class.count >= COUNT_MIN
                && before.count >= COUNT_MIN
                && class.seconds >= SHARE_MIN * now.seconds
                && factor >= WORSE_FACTOR;
            is_told.then(|| Worse {
                id: class.id.clone(),
                fingerprint: class.fingerprint.clone(),
                before_seconds: before.mean(),
                now_seconds: class.mean(),
                factor,
            })
        });
        Self { new: lacking(now, &known), gone: lacking(before, &there), worse: worse.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(classes: &[(&str, u64, f64)]) -> Saved {
        let class = |&(id, count, seconds): &(&str, u64, f64)| SavedClass {
            id: id.into(),
            fingerprint: id.into(),
            count,
            seconds,
        };
        Saved { version: 1, seconds: 100.0, classes: classes.iter().map(class).collect() }
    }

    #[test]
    fn what_is_new_gone_and_worse_is_told() {
        let before = saved(&[("a", 100, 10.0), ("b", 100, 10.0), ("old", 1, 5.0), ("c", 2, 1.0)]);
        let now = saved(&[
            ("a", 100, 30.0),
            ("b", 200, 20.0),
            ("new", 1, 5.0),
            ("tiny", 1, 0.01),
            ("c", 2, 50.0),
        ]);
        let changes = Changes::between(&before, &now);
        let ids = |all: &[SavedClass]| all.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&changes.new), ["new"], "what takes no time is not told");
        assert_eq!(ids(&changes.gone), ["old"]);
        assert_eq!(changes.worse.len(), 1, "two executions say nothing");
        assert!((changes.worse[0].factor - 3.0).abs() < 1e-6);
    }
}
