//! Transactions: when what a statement changed is to be told.
//!
//! In: statements as they end, with what they change. Out: the changes to tell now.
//! Invariants: 1. What others can read is told. A change is told when it is committed, and
//! also at once where its table may know no transactions. 2. Where it isn't certain whether
//! a transaction ended, what it changed is told now and again later. 3. It is not told once
//! it was taken back for certain.

use std::collections::BTreeSet;

use super::act::Act;
use super::conversation::Outcome;
use crate::Change;

/// Kinds of change of one transaction; with more it may have changed anything.
const PENDING_MAX: usize = 256;

/// The open transaction of one connection.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pending: BTreeSet<Change>,
}

impl Transaction {
    /// A statement has ended. `is_lasting`: what it did can't be taken back.
    pub(super) fn take(
        &mut self,
        act: &Act,
        own: Vec<Change>,
        is_lasting: bool,
        outcome: Outcome,
    ) -> Vec<Change> {
        match outcome {
            Outcome::Done { rows, is_open, has_warnings } => match act {
                // A warning says that something could not be taken back.
                Act::Rollback => {
                    let pending = self.end();
                    if has_warnings { pending } else { Vec::new() }
                }
                Act::Begin | Act::Commit => self.end(),
                Act::Rows(_) if rows == Some(0) => self.add(Vec::new(), is_open, false),
                _ => self.add(own, is_open, is_lasting),
            },
            Outcome::Failed => match act {
                Act::Read | Act::Rollback => Vec::new(),
                // Without transactions the rows before the wrong one are changed.
                Act::Rows(_) if is_lasting => own,
                Act::Rows(_) => Vec::new(),
                _ => self.all_and(own),
            },
            Outcome::Unknown { was_open } => match act {
                Act::Read | Act::Rollback => Vec::new(),
                Act::Rows(_) if was_open && !is_lasting => Vec::new(),
                Act::Rows(_) => own,
                _ => self.all_and(own),
            },
        }
    }

    /// It was taken back.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }

    fn add(&mut self, own: Vec<Change>, is_open: bool, is_lasting: bool) -> Vec<Change> {
        let now = if is_lasting && is_open { own.clone() } else { Vec::new() };
        self.pending.extend(own);
        if !is_open {
            return self.end();
        }
        if self.pending.len() > PENDING_MAX {
            self.pending = BTreeSet::from([Change::anything("", "")]);
        }
        now
    }

    fn end(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.pending).into_iter().collect()
    }

    /// The transaction may have ended, or not.
    fn all_and(&self, own: Vec<Change>) -> Vec<Change> {
        self.pending.iter().cloned().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::{self, Doubt};
    use super::*;

    /// Words such as `a=1` (a statement that changed so many rows of a), `a!` (it failed),
    /// `a?` (its answer never came), with `+` while a transaction is open after it.
    fn check(story: &str, lasting: &[&str], expected: &str) {
        let mut transaction = Transaction::default();
        let mut told = Vec::new();
        let mut is_open = false;
        for word in story.split(' ') {
            let (word, opens) = word.strip_suffix('+').map_or((word, false), |word| (word, true));
            let (name, end) = match word.find(['=', '!', '?']) {
                Some(at) => word.split_at(at),
                None => (word, "=1"),
            };
            let text = match name {
                "begin" | "commit" | "rollback" => name.to_owned(),
                "save" => "SAVEPOINT a".to_owned(),
                "set" => "SET autocommit = 1".to_owned(),
                "call" => "CALL p()".to_owned(),
                table => format!("UPDATE {table} SET a = 1"),
            };
            let act = act::read(&text, false, Doubt::default()).remove(0);
            let own = match &act {
                Act::Rows(_) => vec![Change::anything("", name)],
                Act::Unread => vec![Change::anything("", "*")],
                _ => Vec::new(),
            };
            let outcome = match end.split_at(1) {
                ("=", rows) => {
                    let (rows, warned) = (rows.trim_end_matches('w'), rows.ends_with('w'));
                    let rows = Some(rows.parse().expect("rows"));
                    Outcome::Done { rows, is_open: opens, has_warnings: warned }
                }
                ("!", _) => Outcome::Failed,
                _ => Outcome::Unknown { was_open: is_open },
            };
            is_open = opens;
            let is_lasting = lasting.contains(&name) || act == Act::Unread;
            let now = transaction.take(&act, own, is_lasting, outcome);
            let now: Vec<&str> = now.iter().map(|change| &*change.table).collect();
            told.push(now.join("+"));
        }
        assert_eq!(told.join(" "), expected, "{story}");
    }

    #[test]
    fn changes_are_told_when_they_are_committed() {
        check("a b=0 b=2", &[], "a  b");
        check("begin+ a+ b=0+ c+ commit", &[], "    a+c");
        check("begin+ a+ rollback", &[], "  ");
        check("begin+ a+ save+ b+ commit", &[], "    a+b");
        // What ends a transaction unasked.
        check("begin+ a+ begin+ b+ commit", &[], "  a  b");
        check("begin+ a+ set", &[], "  a");
        check("a+ commit+ b+ rollback+", &[], " a  ");
    }

    #[test]
    fn what_can_not_be_taken_back_is_told_at_once_as_well() {
        check("begin+ a+ b+ commit", &["a"], " a  a+b");
        check("begin+ a+ rollback", &["a"], " a ");
        check("begin+ a+ rollback=0w", &[], "  a");
        check("begin+ call+ rollback", &[], " * ");
    }

    #[test]
    fn an_error_changed_nothing_only_where_there_are_transactions() {
        check("a! b! a", &["b"], " b a");
        check("begin+ a+ b!+ commit", &[], "   a");
        check("begin+ a+ call!+", &[], "  a+*");
        check("begin+ a+ commit!", &[], "  a");
    }

    #[test]
    fn an_answer_that_never_came_counts_unless_it_was_taken_back() {
        check("a?", &[], "a");
        check("begin+ a+ b?", &[], "  ");
        check("begin+ a+ b?", &["b"], "  b");
        check("begin+ a+ commit?", &[], "  a");
        check("begin+ a+ rollback?", &[], "  ");
    }

    #[test]
    fn a_transaction_of_everything_may_have_changed_anything() {
        let mut transaction = Transaction::default();
        let open = Outcome::Done { rows: None, is_open: true, has_warnings: false };
        let act = act::read("UPDATE t SET a = 1", false, Doubt::default()).remove(0);
        for table in 0..=PENDING_MAX {
            transaction.take(&act, vec![Change::anything("", &table.to_string())], false, open);
        }
        let done = Outcome::Done { rows: None, is_open: false, has_warnings: false };
        let told = transaction.take(&Act::Commit, Vec::new(), false, done);
        assert_eq!(told, [Change::anything("", "")]);
    }
}
