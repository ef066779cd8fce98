//! Advice: indexes that would make the dearest classes cheaper, and those that nobody uses.
//!
//! In: classes, and what a server tells of their tables. Out: [`Advice`]. `shape` reads
//! statements, `server` asks and verifies; here columns are chosen: those that are
//! compared with one value by how selective they are, then one that has bounds, or else
//! those of the order.
//! Invariants: 1. what an index serves already isn't advised. 2. of two candidates of which
//! one begins like the other only the longer is. 3. what wasn't verified says so.

pub mod server;
mod shape;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use self::shape::{Column, Compared, Shape};
use crate::report::Row;
use crate::tokens::Dialect;

/// Columns of an index that is advised.
const COLUMNS_MAX: usize = 4;
/// A smaller table needs no index.
const ROWS_MIN: f64 = 500.0;
/// How much fewer rows have to be looked at, by estimate.
const GAIN_MIN: f64 = 4.0;
/// What a bound is expected to leave.
const RANGE_SHARE: f64 = 1.0 / 3.0;

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
    /// Which rows of the report it is for.
    rows: Vec<usize>,
    /// How many rows are expected to be looked at without it and with it.
    expected: (f64, f64),
}

type Facts = HashMap<String, TableFacts>;

/// The shapes of a report's classes, each with its place.
fn shapes(rows: &[Row], dialect: Dialect) -> Vec<(usize, Shape)> {
    let shape =
        |(at, row): (usize, &Row)| Some((at, Shape::of(row.fingerprint.as_bytes(), dialect)?));
    rows.iter().enumerate().filter_map(shape).collect()
}

/// Indexes that would help, without those that others begin with.
fn candidates(shapes: &[(usize, Shape)], facts: &Facts) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for (at, shape) in shapes {
        for (place, table) in shape.tables.iter().enumerate() {
            let Some(known) = facts.get(&table.name.to_lowercase()) else { continue };
            let Some(found) = candidate(*at, shape, place, known, facts) else { continue };
            match all.iter_mut().find(|one| {
                one.table == found.table
                    && (one.columns.starts_with(&found.columns)
                        || found.columns.starts_with(&one.columns))
            }) {
                Some(one) => {
                    if one.columns.len() < found.columns.len() {
                        one.columns = found.columns;
                        one.expected = found.expected;
                    }
                    one.rows.extend(found.rows);
                }
                None => all.push(found),
            }
        }
    }
    all
}

fn candidate(
    at: usize,
    shape: &Shape,
    place: usize,
    known: &TableFacts,
    facts: &Facts,
) -> Option<Candidate> {
    if known.rows < ROWS_MIN {
        return None;
    }
    let own = |column: &Column| {
        let name = column.name.to_lowercase();
        let is_own = owner(column, shape, facts) == Some(place);
        (is_own && known.distinct.contains_key(&name)).then_some(name)
    };
    let compared = |wanted: Compared| {
        let conditions = shape.conditions.iter().filter(move |(_, how)| *how == wanted);
        let mut names: Vec<_> = conditions.filter_map(|(column, _)| own(column)).collect();
        sort_by_values(&mut names, known);
        names
    };
    let (mut columns, several, bounds) =
        (compared(Compared::Equal), compared(Compared::In), compared(Compared::Range));
    // Which table comes first is the planner's choice: one with values of its own may.
    if columns.is_empty() {
        columns.extend(joined(shape, place, facts).filter_map(own));
    }
    sort_by_values(&mut columns, known);
    columns.retain(|name| known.distinct.get(name).is_some_and(|values| *values >= 2.0));
    let is_found = |index: &IndexFacts| {
        index.is_unique && index.columns.iter().all(|name| columns.contains(name))
    };
    if known.indexes.iter().any(is_found) {
        return None;
    }
    let equal = columns.len() + several.len();
    columns.extend(several.iter().cloned());
    let ordered: Vec<_> = shape.order.iter().filter_map(own).collect();
    let is_ordered = ordered.len() == shape.order.len() && several.is_empty();
    let mut gain = 1.0;
    if let Some(bound) = bounds.into_iter().find(|name| !columns.contains(name)) {
        columns.push(bound);
    } else if equal > 0 && is_ordered && !ordered.is_empty() {
        columns
            .extend(ordered.into_iter().filter(|name| !columns.contains(name)).collect::<Vec<_>>());
        gain = GAIN_MIN;
    }
    columns.truncate(COLUMNS_MAX);
    if columns.is_empty() {
        return None;
    }
    let equal_names = &columns[..equal.min(columns.len())];
    let expected_by = |names: &[String]| left(names, equal_names, known);
    let now = known.indexes.iter().map(|index| {
        let usable = index.columns.iter().take_while(|name| columns.contains(name)).count();
        expected_by(&index.columns[..usable])
    });
    let now = now.fold(known.rows, f64::min);
    let then = expected_by(&columns);
    let serves = |index: &IndexFacts| serves(index, &columns, equal_names);
    if known.indexes.iter().any(serves) || now < then * GAIN_MIN / gain {
        return None;
    }
    Some(Candidate { table: known.name.clone(), columns, rows: vec![at], expected: (now, then) })
}

/// Columns by which a table is looked up, row by row of one before it.
fn joined<'a>(
    shape: &'a Shape,
    place: usize,
    facts: &'a Facts,
) -> impl Iterator<Item = &'a Column> {
    shape.joins.iter().filter_map(move |(one, other)| {
        let (first, second) = (owner(one, shape, facts)?, owner(other, shape, facts)?);
        match place == first.max(second) {
            true if first > second => Some(one),
            true if second > first => Some(other),
            _ => None,
        }
    })
}

/// Whether an index does what one of `columns` would: those that are compared with values
/// may come in any order.
fn serves(index: &IndexFacts, columns: &[String], equal: &[String]) -> bool {
    if index.columns.len() < columns.len() {
        return false;
    }
    let (first, rest) = index.columns.split_at(equal.len());
    first.iter().all(|name| equal.contains(name)) && rest.starts_with(&columns[equal.len()..])
}

/// How many rows are left by conditions on these columns.
fn left(names: &[String], equal: &[String], known: &TableFacts) -> f64 {
    let mut rows = known.rows;
    for name in names {
        if equal.contains(name) {
            rows /= known.distinct.get(name).copied().unwrap_or(1.0).max(1.0);
        } else {
            rows *= RANGE_SHARE;
            break;
        }
    }
    rows.max(1.0)
}

fn sort_by_values(names: &mut Vec<String>, known: &TableFacts) {
    let values = |name: &String| known.distinct.get(name).copied().unwrap_or(0.0);
    names.sort_by(|one, other| values(other).total_cmp(&values(one)).then(one.cmp(other)));
    names.dedup();
}

/// Of which table of the statement a column is; nothing where that isn't certain.
fn owner(column: &Column, shape: &Shape, facts: &Facts) -> Option<usize> {
    if let Some(qualifier) = &column.qualifier {
        return shape.tables.iter().position(|table| table.alias.eq_ignore_ascii_case(qualifier));
    }
    let has = |place: &usize| {
        let name = shape.tables[*place].name.to_lowercase();
        let known = facts.get(&name);
        known.is_some_and(|known| known.distinct.contains_key(&column.name.to_lowercase()))
    };
    if shape.tables.len() == 1 {
        return Some(0);
    }
    let mut places = (0..shape.tables.len()).filter(has);
    let first = places.next();
    first.filter(|_| places.next().is_none())
}

/// How often each table was written to, of all executions told.
fn writes(rows: &[Row], shapes: &[(usize, Shape)], table: &str) -> u64 {
    let of_table = shapes.iter().filter(|(_, shape)| {
        shape.is_write
            && shape.tables.first().is_some_and(|first| first.name.eq_ignore_ascii_case(table))
    });
    of_table.map(|(at, _)| rows[*at].total.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let table = |name: &str, rows: f64, columns: &[(&str, f64)], indexes: &[&[&str]]| {
            let column = |&(name, values): &(&str, f64)| (name.to_owned(), values);
            let index = |(at, columns): (usize, &&[&str])| IndexFacts {
                columns: columns.iter().map(|&name| name.to_owned()).collect(),
                is_unique: at == 0,
            };
            TableFacts {
                name: name.to_owned(),
                rows,
                distinct: columns.iter().map(column).collect(),
                indexes: indexes.iter().enumerate().map(index).collect(),
            }
        };
        let posts = [("id", 1e5), ("topic", 1e3), ("user", 100.0), ("at", 9e4), ("state", 3.0)];
        let users = [("id", 1e4), ("name", 1e4)];
        HashMap::from([
            ("posts".into(), table("posts", 1e5, &posts, &[&["id"], &["user", "at"]])),
            ("users".into(), table("users", 1e4, &users, &[&["id"]])),
            ("tiny".into(), table("tiny", 10.0, &[("a", 10.0)], &[])),
        ])
    }

    fn check(statements: &[&str], expected: &[&str]) {
        let read = |(at, text): (usize, &&str)| {
            Shape::of(text.as_bytes(), Dialect::MySql).map(|shape| (at, shape))
        };
        let shapes: Vec<_> = statements.iter().enumerate().filter_map(read).collect();
        let told: Vec<_> = candidates(&shapes, &facts())
            .iter()
            .map(|one| format!("{}({}) {:?}", one.table, one.columns.join(","), one.rows))
            .collect();
        assert_eq!(told, expected, "{statements:?}");
    }

    #[test]
    fn equalities_come_first_then_one_bound_or_the_order() {
        check(&["select 1 from posts where state = 1 and topic = 2"], &["posts(topic,state) [0]"]);
        check(&["select 1 from posts where at > 1 and topic = 2"], &["posts(topic,at) [0]"]);
        check(&["select 1 from posts where topic = 2 order by at desc"], &["posts(topic,at) [0]"]);
        check(
            &[
                "select 1 from posts p join users u on u.id = p.user where u.name = 'a' and topic = 1",
            ],
            &["posts(topic) [0]", "users(name) [0]"],
        );
    }

    #[test]
    fn what_would_not_help_is_not_advised() {
        check(&["select 1 from posts where id = 1 and topic = 2"], &[]);
        check(&["select 1 from posts where user = 1 order by at"], &[]);
        check(&["select 1 from tiny where a = 1"], &[]);
        check(&["select 1 from posts where nothing = 1"], &[]);
        check(&["select 1 from posts"], &[]);
    }

    #[test]
    fn candidates_that_begin_alike_are_one() {
        check(
            &[
                "select 1 from posts where topic = 1",
                "select 1 from posts where topic = 1 and at > 2",
                "select 1 from posts where topic = 3 and at < 2",
            ],
            &["posts(topic,at) [0, 1, 2]"],
        );
    }
}
