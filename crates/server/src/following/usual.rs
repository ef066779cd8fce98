//! The usual: tables that change whenever pages are read, where rows can't be told apart.
//!
//! Where only tables are known, nothing says that a change of one is noise: beside the row of a
//! cache an edit may stand. So it sweeps. But it is no news to whoever reads pages again behind
//! news, or each reading would have the next one follow for ever.
//! Bound: [`TABLES_MAX`].

use std::collections::BTreeMap;

use changes::Rows;

/// A table's score goes up by one when it changes while pages are read and nothing is written, up to
/// this, and down by one where pages are read and it doesn't change.
const SCORE_MAX: u8 = 12;
/// With so much it is usual.
const USUAL_MIN: u8 = 6;
const TABLES_MAX: usize = 256;

/// How a source's tables changed with what was read.
#[derive(Debug, Default)]
pub(super) struct Usual {
    scores: BTreeMap<Rows, u8>,
    /// The tables that were told since it was last asked, and whether as what is new; and those of
    /// the time before.
    told: BTreeMap<Rows, bool>,
    before: BTreeMap<Rows, bool>,
    /// How many readings had ended when it was last asked.
    reads: u64,
}

impl Usual {
    /// It changed, or was told as what may be nothing new.
    pub(super) fn note(&mut self, rows: &Rows, is_new: bool) {
        if self.told.len() < TABLES_MAX || self.told.contains_key(rows) {
            *self.told.entry(rows.clone()).or_default() |= is_new;
        }
    }

    /// Whether it changes with most of what is read.
    pub(super) fn is(&self, rows: &Rows) -> bool {
        self.scores.get(rows).is_some_and(|score| *score >= USUAL_MIN)
    }

    /// The source was asked. `reads`: how many readings ended so far; `was_only_read`: whether
    /// pages were read just now, and nobody wrote.
    pub(super) fn end_round(&mut self, reads: u64, was_only_read: bool) {
        let told = std::mem::take(&mut self.told);
        // What a reading changes may be told before it ends.
        let before = std::mem::replace(&mut self.before, told);
        let has_read = std::mem::replace(&mut self.reads, reads) != reads;
        if !was_only_read {
            return;
        }
        let told = &self.before;
        if has_read {
            let stands_still = |rows: &Rows| !told.contains_key(rows) && !before.contains_key(rows);
            for (_, score) in self.scores.iter_mut().filter(|(rows, _)| stands_still(rows)) {
                *score = score.saturating_sub(1);
            }
            self.scores.retain(|_, score| *score > 0);
        }
        for (rows, _) in told.iter().filter(|(_, is_new)| **is_new) {
            if self.scores.len() < TABLES_MAX || self.scores.contains_key(rows) {
                let score = self.scores.entry(rows.clone()).or_default();
                *score = score.saturating_add(1).min(SCORE_MAX);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use changes::{Change, Signature};

    use super::*;

    fn rows(table: &str) -> Rows {
        Signature::from(&Change::anything("site", table)).rows
    }

    #[test]
    fn what_changes_with_most_readings_is_usual_and_what_changes_beside_one_is_not() {
        let (cache, posts) = (rows("cache"), rows("posts"));
        let mut usual = Usual::default();
        let mut reads = 0;
        for round in 0..100 {
            usual.note(&cache, round % 5 == 0);
            // Somebody edits by other ways while pages are read all the time, and for a second it is
            // told again.
            if round % 10 < 5 {
                usual.note(&posts, round % 10 == 0);
            }
            reads += 1;
            usual.end_round(reads, true);
        }
        assert!(usual.is(&cache) && !usual.is(&posts));
        // Asked again between two readings nothing has changed: that says nothing.
        (0..20).for_each(|_| usual.end_round(reads, true));
        assert!(usual.is(&cache));
        (1..20).for_each(|more| usual.end_round(reads + more, true));
        assert!(!usual.is(&cache), "pages are read and it stands still");
    }

    #[test]
    fn what_changes_while_somebody_writes_or_nobody_reads_is_not() {
        let posts = rows("posts");
        let mut usual = Usual::default();
        for _ in 0..20 {
            usual.note(&posts, true);
            usual.end_round(7, false);
        }
        assert!(!usual.is(&posts));
    }
}
