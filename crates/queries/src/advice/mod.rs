//! Advice: indexes that would make the dearest classes cheaper, and those that nobody uses.
//!
//! In: classes, and what a server tells of their tables. Out: [`Advice`]. `shape` reads
//! statements, `choice` chooses columns, `server` asks and verifies; here it is weighed
//! what an index gains against what writes pay for it, and said in which order.
//! Invariants: 1. what wasn't verified says so. 2. what writes pay more for than is gained
//! isn't advised.

mod choice;
pub mod server;
mod shape;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use self::shape::{Change, Shape};
use crate::tokens::Dialect;

/// What keeping one entry of an index costs, in rows that could be looked at instead: a way
/// down a tree, and a page that has to be written.
const ENTRY_ROWS: f64 = 30.0;

/// One piece of advice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do, as a statement.
    pub statement: String,
    /// Why.
    pub why: String,
    /// How sure it is: `verified`, `unverified` or `unused`, with what that stands on.
    pub confidence: String,
    /// What it costs.
    pub cost: String,
    /// How to take it back.
    pub revert: String,
    /// The classes that it is for, by their ids.
    pub classes: Vec<String>,
}

/// What is known of a table.
#[derive(Clone, Debug, Default)]
struct TableFacts {
    name: String,
    rows: f64,
    /// How many values each column has that can be indexed.
    distinct: HashMap<String, f64>,
    indexes: Vec<IndexFacts>,
}

#[derive(Clone, Debug, Default)]
struct IndexFacts {
    columns: Vec<String>,
    is_unique: bool,
}

/// An index that may help.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    table: String,
    columns: Vec<String>,
    wants: Vec<Want>,
}

/// A class that an index may help.
#[derive(Clone, Debug, PartialEq)]
struct Want {
    /// Its row in the report.
    row: usize,
    /// What it calls the table.
    alias: String,
    /// How many rows it is expected to look at without the index and with it.
    expected: (f64, f64),
    /// Whether the index leaves just the rows that its conditions do.
    is_whole: bool,
    /// Whether the estimate stands on a guess, so that only a trial can tell.
    is_guess: bool,
    /// Whether, by estimate, what was advised meanwhile does as much.
    is_served: bool,
}

type Facts = HashMap<String, TableFacts>;

/// The shapes of statements, each with its place.
fn shapes<'a>(statements: impl Iterator<Item = &'a str>, dialect: Dialect) -> Vec<(usize, Shape)> {
    let shape = |(at, text): (usize, &str)| Some((at, Shape::of(text.as_bytes(), dialect)?));
    statements.enumerate().filter_map(shape).collect()
}

impl Want {
    /// Which share of its rows it is expected not to look at.
    fn expected_share(&self) -> f64 {
        1.0 - self.expected.1 / self.expected.0.max(1.0)
    }
}

/// What keeping an index on these columns costs all that is written, in rows, and how many
/// of the writes change it.
fn kept(candidate: &Candidate, counts: &[u64], shapes: &[(usize, Shape)]) -> (f64, u64) {
    let changes = |shape: &Shape| match &shape.change {
        Change::None => false,
        Change::Rows => true,
        Change::Columns(set) => set.iter().any(|name| candidate.columns.contains(name)),
    };
    let of_table = shapes.iter().filter(|(_, shape)| {
        let first = shape.tables.first();
        first.is_some_and(|first| first.name.eq_ignore_ascii_case(&candidate.table))
            && changes(shape)
    });
    let writes = of_table.map(|(at, _)| counts[*at]).sum::<u64>();
    (writes as f64 * ENTRY_ROWS, writes)
}

/// Puts those first without which others do harm: where a planner finds an index for a join
/// it may take that way although conditions, whose own index is missing, would leave less.
fn put_in_order(all: &mut [Candidate], shapes: &[(usize, Shape)]) {
    let joins_by = |row: usize, one: &Candidate| {
        let shape = shapes.iter().find(|(at, _)| *at == row).map(|(_, shape)| shape);
        let joins = shape.into_iter().flat_map(|shape| &shape.joins);
        let mut columns = joins.flat_map(|(first, second)| [first, second]);
        columns.any(|column| column.name.eq_ignore_ascii_case(&one.columns[0]))
    };
    let comes_first = |later: &Candidate, earlier: &Candidate| {
        let is_for = |row| earlier.wants.iter().any(|want| want.row == row);
        later.table == earlier.table
            && later.columns[0] != earlier.columns[0]
            && later.wants.iter().any(|want| !is_for(want.row) && joins_by(want.row, earlier))
    };
    for place in 1..all.len() {
        let earlier = (0..place).find(|&at| comes_first(&all[place], &all[at]));
        if let Some(at) = earlier {
            all[at..=place].rotate_right(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statements: &[&str]) -> Vec<(usize, Shape)> {
        shapes(statements.iter().copied(), Dialect::MySql)
    }

    fn candidate(columns: &[&str], rows: &[usize]) -> Candidate {
        let want = |&row: &usize| Want {
            row,
            alias: "posts".to_owned(),
            expected: (100.0, 1.0),
            is_whole: true,
            is_guess: false,
            is_served: false,
        };
        Candidate {
            table: "posts".to_owned(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            wants: rows.iter().map(want).collect(),
        }
    }

    #[test]
    fn writes_pay_for_what_they_change() {
        let shapes = read(&[
            "insert into posts (id) values (?+)",
            "update posts set views = views + ? where id = ?",
            "delete from posts where id = ?",
            "update topics set topic = ? where id = ?",
            "select id from posts where topic = ?",
        ]);
        let counts = [1, 10, 100, 1000, 10_000];
        let writes = |columns: &[&str]| kept(&candidate(columns, &[4]), &counts, &shapes).1;
        assert_eq!(writes(&["topic"]), 101);
        assert_eq!(writes(&["topic", "views"]), 111);
    }

    #[test]
    fn what_tempts_a_planner_comes_behind_what_keeps_it_right() {
        let shapes = read(&[
            "select 1 from posts where author = ?",
            "select 1 from posts p join members m on m.id = p.author where p.topic = ?",
        ]);
        let mut all = [candidate(&["author"], &[0]), candidate(&["topic"], &[1])];
        put_in_order(&mut all, &shapes);
        assert_eq!(all[0].columns, ["topic"]);
        let mut all = [candidate(&["topic"], &[1]), candidate(&["author"], &[0])];
        put_in_order(&mut all, &shapes);
        assert_eq!(all[0].columns, ["topic"]);
    }
}
