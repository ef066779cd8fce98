//! The judge: whether what a poll saw change is what the app was heard to change.
//!
//! In, several times a second: the tables that changed, and how many statements that write
//! the server has counted since it began, beside those that passed the tap. Out: tables that
//! something unheard may have changed.
//! Law: the server counts a statement when it begins, and the time of a table is moved when
//! what a statement did can be read. So while the counts agree nobody else has written, and
//! once they don't, every table that changes around then may be somebody else's.
//! Invariants: 1. a table for which nothing was heard is told. 2. while the counts leave it
//! open whether somebody else wrote (an own statement is under way), what changed is kept
//! back, and told if that lasts. 3. a minute after somebody else wrote, what was taken for
//! our own since then is told once more: a statement may take long.

use std::collections::{BTreeSet, HashMap};

use super::conversation::Counts;
use crate::{Change, Operation};

/// A change that was heard explains what is seen for so many rounds: times are whole seconds,
/// a table counts as changed for two of them, and a round is a fifth of one.
const EXPLAINS_ROUNDS: u64 = 13;
/// How long everything may be somebody else's after a statement of theirs.
const DOUBT_ROUNDS: u64 = 13;
/// After so many what was taken for our own meanwhile is told: a minute, or more.
const LATE_ROUNDS: u64 = 300;
/// How long it may stay open whether somebody else wrote.
const OPEN_ROUNDS: u64 = 5;
/// Tables that are remembered; with more none is, and everything is told.
const TABLES_MAX: usize = 4096;

type Table = (Box<str>, Box<str>);

/// What one round of asking found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The server's count.
    pub(super) total: u64,
    /// Ours before it was asked, and after.
    pub(super) before: Counts,
    pub(super) after: Counts,
    /// Whether there are conversations that can't be read.
    pub(super) has_unread: bool,
}

/// What was heard and seen so far.
#[derive(Debug, Default)]
pub(super) struct Judge {
    round: u64,
    /// In which round a change of a table was last heard.
    heard: HashMap<Table, u64>,
    /// Seen in the round before: what is heard may be heard after it is seen.
    seen: Vec<Change>,
    /// Statements of others, if that is known.
    others: Option<i64>,
    unsure: u64,
    doubt_until: u64,
    /// Taken for our own while that was open, and since when.
    open: Taken,
    /// Taken for our own since somebody else wrote, and when it is told.
    late: Taken,
    has_others_since: bool,
}

/// Tables that are to be told at a round.
#[derive(Debug, Default)]
struct Taken {
    tables: BTreeSet<Table>,
    due: Option<u64>,
}

/// Whether somebody else wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Nobody,
    Open,
    Somebody,
}

impl Judge {
    /// A change passed the tap.
    pub(super) fn told(&mut self, change: &Change) {
        if self.heard.len() >= TABLES_MAX {
            self.heard.clear();
        }
        self.heard.insert(table(change), self.round);
    }

    /// A round of asking found these tables changed; what is to be told of them.
    pub(super) fn round(&mut self, changes: Vec<Change>, found: Round) -> Vec<Change> {
        self.round += 1;
        let verdict = self.verdict(found);
        if verdict == Verdict::Somebody {
            self.doubt_until = self.round + DOUBT_ROUNDS;
            self.has_others_since = self.late.due.is_some();
            self.late.due.get_or_insert(self.round + LATE_ROUNDS);
        }
        let (schema, changes): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.operation == Operation::Schema);
        let mut told = schema;
        for change in std::mem::replace(&mut self.seen, changes) {
            if self.is_own(&change) {
                self.take(&change, verdict);
            } else {
                told.push(change);
            }
        }
        self.give(verdict, &mut told);
        told
    }

    fn is_own(&self, change: &Change) -> bool {
        let heard = self.heard.get(&table(change));
        let is_explained = heard.is_some_and(|heard| self.round - heard <= EXPLAINS_ROUNDS);
        is_explained && self.round > self.doubt_until
    }

    fn take(&mut self, change: &Change, verdict: Verdict) {
        if verdict != Verdict::Nobody {
            self.open.due.get_or_insert(self.round + OPEN_ROUNDS);
            self.open.add(change);
        }
        if self.late.due.is_some() {
            self.late.add(change);
        }
    }

    /// Adds what was kept back and is due.
    fn give(&mut self, verdict: Verdict, told: &mut Vec<Change>) {
        match verdict {
            Verdict::Nobody => self.open = Taken::default(),
            Verdict::Somebody => self.open.give(told),
            Verdict::Open if self.open.is_due(self.round) => self.open.give(told),
            Verdict::Open => {}
        }
        if self.late.is_due(self.round) {
            self.late.give(told);
            if std::mem::take(&mut self.has_others_since) {
                self.late.due = Some(self.round + LATE_ROUNDS);
            }
        }
    }

    fn verdict(&mut self, found: Round) -> Verdict {
        let Round { total, before, after, has_unread } = found;
        // Counts may begin anywhere; only how they move means something.
        let least = total.wrapping_sub(after.begun).cast_signed();
        let most = total.wrapping_sub(before.ended).cast_signed();
        let is_sure = before.unsure == after.unsure && !has_unread;
        if !is_sure || std::mem::replace(&mut self.unsure, after.unsure) != after.unsure {
            self.others = None;
        }
        match self.others {
            None => {
                self.others = (is_sure && least == most).then_some(least);
                Verdict::Somebody
            }
            Some(others) if least > others => {
                self.others = Some(least);
                Verdict::Somebody
            }
            // It was set back.
            Some(others) if most < others => {
                self.others = None;
                Verdict::Somebody
            }
            Some(others) if most == others => Verdict::Nobody,
            Some(_) => Verdict::Open,
        }
    }
}

impl Taken {
    fn add(&mut self, change: &Change) {
        if self.tables.len() >= TABLES_MAX {
            self.tables = BTreeSet::from([Table::default()]);
        }
        self.tables.insert((change.database.clone(), change.table.clone()));
    }

    fn is_due(&self, round: u64) -> bool {
        self.due.is_some_and(|due| due <= round)
    }

    fn give(&mut self, told: &mut Vec<Change>) {
        let tables = std::mem::take(self).tables;
        told.extend(tables.iter().map(|(database, table)| Change::anything(database, table)));
    }
}

/// A table's name; some servers don't tell case apart there.
fn table(change: &Change) -> Table {
    (change.database.to_lowercase().into(), change.table.to_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server, an app, others, and what the judge says.
    #[derive(Default)]
    struct Story {
        judge: Judge,
        total: u64,
        counts: Counts,
    }

    impl Story {
        /// One whose counts are known, and whose beginning is long ago.
        fn calm() -> Self {
            let mut story = Self { total: 70, ..Self::default() };
            story.rest(LATE_ROUNDS + DOUBT_ROUNDS);
            story
        }

        fn own(&mut self, table: &str) -> &mut Self {
            self.judge.told(&Change::anything("site", table));
            self.counts.begun += 1;
            self.counts.ended += 1;
            self.total += 1;
            self
        }

        fn other(&mut self) -> &mut Self {
            self.total += 1;
            self
        }

        /// A round in which these tables are seen changed.
        fn see(&mut self, tables: &[&str]) -> Vec<String> {
            let counts = self.counts;
            self.see_between(tables, counts)
        }

        fn see_between(&mut self, tables: &[&str], before: Counts) -> Vec<String> {
            let changes = tables.iter().map(|table| Change::anything("site", table)).collect();
            let (total, after) = (self.total, self.counts);
            let round = Round { total, before, after, has_unread: false };
            let told = self.judge.round(changes, round);
            told.iter().map(|change| change.table.to_string()).collect()
        }

        fn rest(&mut self, rounds: u64) -> Vec<String> {
            (0..rounds).flat_map(|_| self.see(&[])).collect()
        }
    }

    const NONE: &[&str] = &[];

    #[test]
    fn what_was_heard_is_not_told_again_and_what_was_not_is() {
        let mut story = Story::calm();
        assert_eq!(story.own("Posts").see(&["posts"]), NONE);
        for _ in 0..10 {
            assert_eq!(story.see(&["posts"]), NONE);
        }
        // By a trigger, say.
        assert_eq!(story.own("posts").see(&["posts", "log"]), NONE);
        assert_eq!(story.rest(1), ["log"]);
        // What is heard just after it was seen.
        assert_eq!(story.see(&["late"]), NONE);
        assert_eq!(story.own("late").rest(2), NONE);
    }

    #[test]
    fn somebody_else_is_found_in_the_noise_of_our_own() {
        let mut story = Story::calm();
        for _ in 0..100 {
            assert_eq!(story.own("views").see(&["views"]), NONE);
        }
        // The edit and a reader hit the same second of the same table.
        assert_eq!(story.other().own("views").see(&["views"]), ["views"]);
        assert_eq!(story.own("views").see(&["views"]), ["views"]);
        story.rest(DOUBT_ROUNDS);
        for _ in 0..100 {
            assert_eq!(story.own("views").see(&["views"]), NONE);
        }
        // Theirs may have taken long: a minute later it is told once more.
        let late = story.rest(LATE_ROUNDS);
        assert_eq!(late, ["views"]);
        assert_eq!(story.rest(2 * LATE_ROUNDS), NONE);
    }

    #[test]
    fn others_who_go_on_writing_are_looked_at_again() {
        let mut story = Story::calm();
        story.other().rest(LATE_ROUNDS - 20);
        story.other().rest(19);
        story.own("views").see(&["views"]);
        assert_eq!(story.rest(2), ["views"]);
        story.own("views").see(&["views"]);
        assert_eq!(story.rest(LATE_ROUNDS + 1), ["views"]);
    }

    #[test]
    fn while_a_statement_is_under_way_it_is_left_open() {
        let mut story = Story::calm();
        let before = story.counts;
        // Done between the two looks at our own count: who else wrote can't be told.
        assert_eq!(story.own("views").see_between(&["views"], before), NONE);
        assert_eq!(story.own("views").see_between(&["views"], before), NONE);
        assert_eq!(story.see(&[]), NONE);
        // Now somebody did, and the next round shows it.
        let before = story.counts;
        assert_eq!(story.other().own("views").see_between(&["views"], before), NONE);
        assert_eq!(story.own("views").see_between(&["views"], before), ["views"]);

        // It is never left open for long.
        let mut story = Story::calm();
        let before = story.counts;
        story.counts.begun += 1;
        story.total += 1;
        let mut told = Vec::new();
        for _ in 0..8 {
            story.judge.told(&Change::anything("site", "views"));
            told.extend(story.see_between(&["views"], before));
        }
        assert_eq!(told, ["views"]);
    }

    #[test]
    fn what_nobody_knows_whether_it_was_counted_makes_everything_doubtful() {
        let mut story = Story::calm();
        story.counts.unsure += 1;
        story.own("views").see(&["views"]);
        assert_eq!(story.own("views").see(&[]), ["views"]);
        story.rest(DOUBT_ROUNDS + 1);
        assert_eq!(story.own("views").see(&["views"]), NONE);
        assert_eq!(story.rest(1), NONE);
        // A server that began to count anew.
        story.total = 3;
        assert_eq!(story.own("views").see(&["views"]), NONE);
        assert_eq!(story.rest(1), ["views"]);
    }
}
