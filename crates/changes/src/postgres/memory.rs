//! A memory of rows: what they were when the log last told of them.
//!
//! A table that is known by its primary key tells of an update only what the row became,
//! not what it was. "Which columns changed" would then be "all of them" for a counter of
//! views as for an edited text, and whoever learns that the one is noise would miss the
//! other. So a row that was told once is remembered, as sums of its values.
//!
//! Invariants: 1. It holds two generations of at most [`GENERATION_MAX`] each, 8 bytes a
//! unit: some 8 MB with the map around them. 2. What it doesn't remember is unknown, never
//! guessed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::message::Value;
use crate::KeyClass;

/// The most units of memory that one generation takes.
const GENERATION_MAX: usize = 256 << 10;
/// What a row takes besides its columns.
const ROW: usize = 16;
const NULL: u64 = 1;
/// A large value that was never told.
const UNTOLD: u64 = 0;

/// A row as it was told last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// A sum of each of its values.
    pub(super) sums: Box<[u64]>,
    pub(super) key: KeyClass,
}

#[derive(Default)]
pub(super) struct Memory {
    young: HashMap<u64, Known>,
    old: HashMap<u64, Known>,
    /// The units that the young ones take.
    units: usize,
    random: RandomState,
}

impl Memory {
    /// What the row is remembered by that is known by `values`, in one life of a table.
    pub(super) fn name<'a>(&self, life: u64, values: impl Iterator<Item = Value<'a>>) -> u64 {
        let values: Vec<Value<'_>> = values.collect();
        self.random.hash_one((life, values))
    }

    /// The sum of a value; a large one that was kept has that which it had.
    pub(super) fn sum(&self, value: &Value<'_>, before: Option<u64>) -> u64 {
        match value {
            Value::Null => NULL,
            Value::Unchanged => before.unwrap_or(UNTOLD),
            Value::Text(text) => self.random.hash_one(text).max(NULL + 1),
        }
    }

    /// What is known of a row, which is forgotten.
    pub(super) fn take(&mut self, name: u64) -> Option<Known> {
        if let Some(known) = self.young.remove(&name) {
            self.units = self.units.saturating_sub(known.units());
            return Some(known);
        }
        self.old.remove(&name)
    }

    /// Remembers a row.
    pub(super) fn put(&mut self, name: u64, known: Known) {
        self.take(name);
        self.units += known.units();
        self.young.insert(name, known);
        if self.units > GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
            self.units = 0;
        }
    }
}

/// Whether the value of this sum was known, and was one.
pub(super) fn was_there(sum: u64) -> bool {
    !matches!(sum, NULL | UNTOLD)
}

impl Known {
    fn units(&self) -> usize {
        let class = match &self.key {
            KeyClass::Of(class) => class.len() / 8,
            _ => 0,
        };
        ROW + self.sums.len() + class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(sum: u64) -> Known {
        Known { sums: Box::new([sum]), key: KeyClass::Plain }
    }

    #[test]
    fn a_row_is_remembered_once_and_no_longer_than_two_generations() {
        let mut memory = Memory::default();
        memory.put(1, known(5));
        memory.put(1, known(6));
        assert_eq!((memory.take(1), memory.take(1)), (Some(known(6)), None));
        assert_eq!(memory.units, 0);

        let generation = u64::try_from(GENERATION_MAX / (ROW + 1) + 1).expect("a number");
        memory.put(0, known(0));
        (1..=generation).for_each(|row| memory.put(row, known(row)));
        // It is of the old ones now, and becomes young again by being told.
        assert_eq!(memory.take(0), Some(known(0)));
        memory.put(0, known(0));
        (1..=2 * generation).for_each(|row| memory.put(row, known(row)));
        assert_eq!(memory.take(0), None);
        assert!(memory.young.len() + memory.old.len() <= 2 * GENERATION_MAX / ROW);
    }

    #[test]
    fn values_differ_as_their_sums_do() {
        let memory = Memory::default();
        let sum = |value| memory.sum(&value, Some(77));
        assert_eq!(sum(Value::Text(b"a")), sum(Value::Text(b"a")));
        assert_ne!(sum(Value::Text(b"a")), sum(Value::Text(b"b")));
        assert_ne!(sum(Value::Text(b"")), sum(Value::Null));
        assert_eq!(sum(Value::Unchanged), 77);
        assert_eq!(memory.sum(&Value::Unchanged, None), UNTOLD);
    }
}
