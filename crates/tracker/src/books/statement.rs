//! Statements: many rows of a batch in one, in the words of each database.
//!
//! In: lines and the columns that a table has. Out: texts of a bounded length.
//! Law: what MariaDB and MySQL both know. `VALUES(column)` is old in MySQL 8, and its
//! successor isn't known to MariaDB; `VALUES` as a table has another form in each.
//! Invariants: 1. rows come in the order of their keys, so that two who write wait for each
//! other and not in a ring. 2. a figure that is nothing leaves its column as it is.

use rusqlite::types::Value as Bound;

use super::contract::{Dialect, Given, Manner};
use super::figure::Line;
use super::shape::{Column, Part, Written};
use super::value::Value;

/// A `SELECT` a row.
const UPDATE_ROWS_MAX: usize = 256;
const INSERT_ROWS_MAX: usize = 2_000;

/// A row's values as they are written.
pub(crate) struct Tuple(String);

/// How many rows a statement has at most.
pub(crate) fn rows_max(written: &Written, manner: Manner) -> usize {
    match manner {
        // What isn't done wholly or not at all is done one by one.
        _ if !written.is_whole => 1,
        Manner::Update => UPDATE_ROWS_MAX,
        Manner::Upsert | Manner::Insert => INSERT_ROWS_MAX,
    }
}

impl Tuple {
    /// The values of a line; none if it lacks what names its row.
    pub(crate) fn of(
        line: &Line<'_>,
        written: &Written,
        manner: Manner,
        dialect: Dialect,
    ) -> Option<Self> {
        Self::written(written, manner, |_, column, text| {
            value(line, column)?.write(dialect, column.times, column.max, text);
            Some(())
        })
    }

    /// The same with places, which values are bound to.
    fn of_places(written: &Written, manner: Manner) -> Option<Self> {
        Self::written(written, manner, |at, _, text| {
            text.push('?');
            text.push_str(&(at + 1).to_string());
            Some(())
        })
    }

    fn written(
        written: &Written,
        manner: Manner,
        write: impl Fn(usize, &Column, &mut String) -> Option<()>,
    ) -> Option<Self> {
        let mut text = String::with_capacity(16 * written.columns.len());
        let is_update = manner == Manner::Update;
        text.push_str(if is_update { "SELECT " } else { "(" });
        for (at, column) in written.columns.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            write(at, column, &mut text)?;
            if is_update {
                text.push_str(" AS v");
                text.push_str(&at.to_string());
            }
        }
        if !is_update {
            text.push(')');
        }
        Some(Self(text))
    }
}

/// What a line has for a column; none if it lacks what names its row.
fn value(line: &Line<'_>, column: &Column) -> Option<Value> {
    let value = match column.given {
        Given::Number(number) => Value::Number(number.into()),
        Given::Figure(figure) => figure.of(line),
    };
    (column.part != Part::Key || value != Value::Nothing).then_some(value)
}

/// Puts what is bound to the places of [`statement_of_places`] in the place of what is there; false
/// if the line lacks what names its row.
pub(crate) fn bind(
    line: &Line<'_>,
    written: &Written,
    manner: Manner,
    bound: &mut Vec<Bound>,
) -> bool {
    bound.clear();
    for column in written.columns.iter().filter(|column| has_place(column, manner)) {
        let Some(value) = value(line, column) else { return false };
        bound.push(value.bound(column.times, column.max));
    }
    true
}

/// The statement that writes one row, whose values are bound to it in the columns' order. A
/// file of SQLite would read the text of each row longer than it takes to write it.
pub(crate) fn statement_of_places(written: &Written, manner: Manner) -> String {
    if manner == Manner::Update {
        return update_bound(written);
    }
    let places = Tuple::of_places(written, manner);
    statement(written, manner, places.as_slice(), Dialect::Sqlite)
}

/// Ends of the statements that `tuples` are cut into.
pub(crate) fn cuts(tuples: &[Tuple], rows_max: usize, bytes_max: usize) -> Vec<usize> {
    let (mut ends, mut bytes, mut rows) = (Vec::new(), 0, 0);
    for (at, tuple) in tuples.iter().enumerate() {
        // What joins them is shorter than this.
        let more = tuple.0.len() + " UNION ALL ".len();
        if rows > 0 && (rows == rows_max || bytes + more > bytes_max) {
            ends.push(at);
            (bytes, rows) = (0, 0);
        }
        (bytes, rows) = (bytes + more, rows + 1);
    }
    ends.push(tuples.len());
    ends
}

/// The statement that writes them.
pub(crate) fn statement(
    written: &Written,
    manner: Manner,
    tuples: &[Tuple],
    dialect: Dialect,
) -> String {
    match (manner, dialect) {
        (Manner::Update, Dialect::MySql) => update_joined(written, tuples),
        (Manner::Update, _) => update_from(written, tuples),
        (_, Dialect::MySql) => insert_on_duplicate(written, tuples),
        _ => insert_on_conflict(written, tuples),
    }
}

fn joined(tuples: &[Tuple], between: &str) -> String {
    let texts: Vec<&str> = tuples.iter().map(|tuple| tuple.0.as_str()).collect();
    texts.join(between)
}

/// What becomes of the columns of a row that is there; `held` and `given` write a column as it
/// stands and as it comes.
fn assignments(
    written: &Written,
    target: impl Fn(&str) -> String,
    held: impl Fn(&str) -> String,
    given: impl Fn(usize, &str) -> String,
) -> Vec<String> {
    let mut parts = Vec::new();
    for (at, column) in written.columns.iter().enumerate() {
        let (held, given) = (held(&column.name), given(at, &column.name));
        let value = match column.part {
            Part::Key | Part::First => continue,
            Part::Add => format!("{held} + {given}"),
            Part::Set => format!("COALESCE({given}, {held})"),
            Part::Once => format!("COALESCE({held}, {given})"),
        };
        parts.push(format!("{} = {value}", target(&column.name)));
    }
    parts
}

fn keys(written: &Written) -> impl Iterator<Item = (usize, &str)> {
    let columns = written.columns.iter().enumerate();
    columns
        .filter(|(_, column)| column.part == Part::Key)
        .map(|(at, column)| (at, column.name.as_str()))
}

/// Where the rows are joined first, in their order, the table's are found by their keys.
fn update_joined(written: &Written, tuples: &[Tuple]) -> String {
    let on: Vec<String> =
        keys(written).map(|(at, name)| format!("held.{name} = given.v{at}")).collect();
    let held = |name: &str| format!("held.{name}");
    let set = assignments(written, held, held, |at, _| format!("given.v{at}"));
    format!(
        "UPDATE ({}) AS given STRAIGHT_JOIN {} AS held ON {} SET {}",
        joined(tuples, " UNION ALL "),
        written.table,
        on.join(" AND "),
        set.join(", ")
    )
}

fn update_from(written: &Written, tuples: &[Tuple]) -> String {
    let on: Vec<String> =
        keys(written).map(|(at, name)| format!("held.{name} = given.v{at}")).collect();
    let held = |name: &str| format!("held.{name}");
    let set = assignments(written, str::to_owned, held, |at, _| format!("given.v{at}"));
    format!(
        "UPDATE {} AS held SET {} FROM ({}) AS given WHERE {}",
        written.table,
        set.join(", "),
        joined(tuples, " UNION ALL "),
        on.join(" AND ")
    )
}

/// Whether a row's statement says anything of a column: what is written only into a new row has no
/// place in one that changes a row.
fn has_place(column: &Column, manner: Manner) -> bool {
    column.part != Part::First || manner != Manner::Update
}

/// One row, which is found by its key. For a table of given rows, though it has one, SQLite makes
/// a file in memory each time, which costs ten times what the writing does.
fn update_bound(written: &Written) -> String {
    let has = |column: &&Column| has_place(column, Manner::Update);
    let place = |at: usize| format!("?{}", written.columns[..=at].iter().filter(has).count());
    let on: Vec<String> =
        keys(written).map(|(at, name)| format!("{name} = {}", place(at))).collect();
    let set = assignments(written, str::to_owned, str::to_owned, |at, _| place(at));
    format!("UPDATE {} SET {} WHERE {}", written.table, set.join(", "), on.join(" AND "))
}

fn names(written: &Written) -> String {
    let names: Vec<&str> = written.columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn insert_on_duplicate(written: &Written, tuples: &[Tuple]) -> String {
    let values = |_: usize, name: &str| format!("VALUES({name})");
    let mut set = assignments(written, str::to_owned, str::to_owned, values);
    if set.is_empty() || written.manner == Manner::Insert {
        set = keys(written).take(1).map(|(_, name)| format!("{name} = {name}")).collect();
    }
    format!(
        "INSERT INTO {} ({}) VALUES {} ON DUPLICATE KEY UPDATE {}",
        written.table,
        names(written),
        joined(tuples, ","),
        set.join(", ")
    )
}

fn insert_on_conflict(written: &Written, tuples: &[Tuple]) -> String {
    let held = |name: &str| format!("held.{name}");
    let set = assignments(written, str::to_owned, held, |_, name| format!("excluded.{name}"));
    let conflict = if set.is_empty() || written.manner == Manner::Insert {
        "DO NOTHING".to_owned()
    } else {
        let keys: Vec<&str> = keys(written).map(|(_, name)| name).collect();
        format!("({}) DO UPDATE SET {}", keys.join(", "), set.join(", "))
    };
    format!(
        "INSERT INTO {} AS held ({}) VALUES {} ON CONFLICT {conflict}",
        written.table,
        names(written),
        joined(tuples, ",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::books::contract::{Each, Times};
    use crate::books::figure::Figure;

    fn written(manner: Manner) -> Written {
        let column = |name: &str, figure, part| Column {
            name: name.to_owned(),
            given: Given::Figure(figure),
            part,
            max: u64::MAX,
            times: Times::Unix,
        };
        Written {
            table: "users".to_owned(),
            each: Each::User,
            manner,
            only: None,
            columns: vec![
                column("id", Figure::User, Part::Key),
                column("up", Figure::Uploaded, Part::Add),
                column("down", Figure::Downloaded, Part::Set),
            ],
            is_whole: true,
        }
    }

    fn check(manner: Manner, dialect: Dialect, expected: &str) {
        let written = written(manner);
        let lines = [(1, 10, 20), (2, 30, 40)];
        let tuple = |(user, uploaded, downloaded)| {
            Tuple::of(&Line::User { user, uploaded, downloaded }, &written, manner, dialect)
        };
        let tuples: Vec<Tuple> = lines.into_iter().filter_map(tuple).collect();
        assert_eq!(statement(&written, manner, &tuples, dialect), expected);
    }

    #[test]
    fn rows_are_written_together_in_the_words_of_each_database() {
        check(
            Manner::Upsert,
            Dialect::MySql,
            "INSERT INTO users (id, up, down) VALUES (1,10,20),(2,30,40) ON DUPLICATE KEY UPDATE \
             up = up + VALUES(up), down = COALESCE(VALUES(down), down)",
        );
        check(
            Manner::Upsert,
            Dialect::Postgres,
            "INSERT INTO users AS held (id, up, down) VALUES (1,10,20),(2,30,40) ON CONFLICT (id) \
             DO UPDATE SET up = held.up + excluded.up, down = COALESCE(excluded.down, held.down)",
        );
        check(
            Manner::Insert,
            Dialect::MySql,
            "INSERT INTO users (id, up, down) VALUES (1,10,20),(2,30,40) ON DUPLICATE KEY UPDATE \
             id = id",
        );
        check(
            Manner::Update,
            Dialect::MySql,
            "UPDATE (SELECT 1 AS v0,10 AS v1,20 AS v2 UNION ALL SELECT 2 AS v0,30 AS v1,40 AS v2) \
             AS given STRAIGHT_JOIN users AS held ON held.id = given.v0 SET held.up = held.up + \
             given.v1, held.down = COALESCE(given.v2, held.down)",
        );
        check(
            Manner::Update,
            Dialect::Sqlite,
            "UPDATE users AS held SET up = held.up + given.v1, down = COALESCE(given.v2, held.down) \
             FROM (SELECT 1 AS v0,10 AS v1,20 AS v2 UNION ALL SELECT 2 AS v0,30 AS v1,40 AS v2) \
             AS given WHERE held.id = given.v0",
        );
    }

    #[test]
    fn one_row_has_places_that_values_are_bound_to() {
        let line = Line::User { user: 1, uploaded: u64::MAX, downloaded: 20 };
        let all = [1, i64::MAX, 5, 20].map(Bound::Integer).to_vec();
        let changed = [1, i64::MAX, 20].map(Bound::Integer).to_vec();
        for (manner, expected, expected_bound) in [
            (
                Manner::Upsert,
                "INSERT INTO users AS held (id, up, made, down) VALUES (?1,?2,?3,?4) ON CONFLICT \
                 (id) DO UPDATE SET up = held.up + excluded.up, down = COALESCE(excluded.down, \
                 held.down)",
                all,
            ),
            (
                Manner::Update,
                "UPDATE users SET up = up + ?2, down = COALESCE(?3, down) WHERE id = ?1",
                changed,
            ),
        ] {
            let mut written = written(manner);
            written.columns.insert(
                2,
                Column {
                    name: "made".to_owned(),
                    given: Given::Number(5),
                    part: Part::First,
                    max: u64::MAX,
                    times: Times::Unix,
                },
            );
            assert_eq!(statement_of_places(&written, manner), expected);
            let mut bound = Vec::new();
            assert!(bind(&line, &written, manner, &mut bound));
            assert_eq!(bound, expected_bound);
        }
    }

    #[test]
    fn statements_are_cut_by_rows_and_by_bytes() {
        let tuples: Vec<Tuple> = (0..5).map(|_| Tuple("x".repeat(89))).collect();
        assert_eq!(cuts(&tuples, 2, 10_000), [2, 4, 5]);
        assert_eq!(cuts(&tuples, 100, 300), [3, 5]);
        assert_eq!(cuts(&tuples, 100, 10), [1, 2, 3, 4, 5], "a row is never cut");
    }
}
