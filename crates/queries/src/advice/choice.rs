//! Which index a statement wants, by what it compares and what its tables are.
//!
//! In: a [`Shape`] and [`Facts`]. Out: [`Candidate`]s. Pure.
//! The table that its own conditions leave fewest rows of is read first: its columns are
//! those that are compared with one value, by how selective they are, then those compared
//! with a list, then one that has bounds, or else those of the order. The others are looked
//! up by the columns that join them.
//! Invariants: 1. what an index serves already isn't chosen. 2. of two candidates of which
//! one begins like the other only the longer is. 3. what stands on a guess says so.

use super::shape::{Column, Compared, Shape};
use super::{Candidate, Facts, IndexFacts, TableFacts, Want};

/// Columns of an index that is advised.
const COLUMNS_MAX: usize = 4;
/// A smaller table needs no index.
const ROWS_MIN: f64 = 500.0;
/// How many times fewer rows have to be looked at, by estimate.
const GAIN_MIN: f64 = 4.0;
/// What a bound is expected to leave.
const RANGE_SHARE: f64 = 1.0 / 3.0;
/// Rows that are read where a `LIMIT` ends a walk in order.
const LIMIT_ROWS: f64 = 50.0;

/// Indexes that would help, without those that others begin with.
pub(super) fn candidates(shapes: &[(usize, Shape)], facts: &Facts) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for (at, shape) in shapes {
        let first = read_first(shape, facts);
        for (place, table) in shape.tables.iter().enumerate() {
            let Some(known) = facts.get(&table.name.to_lowercase()) else { continue };
            let wish = Wish { shape, place, known, facts, is_first: first == Some(place) };
            let Some(found) = wish.candidate(*at) else { continue };
            match all.iter_mut().find(|one| {
                one.table == found.table
                    && (one.columns.starts_with(&found.columns)
                        || found.columns.starts_with(&one.columns))
            }) {
                Some(one) => {
                    if one.columns.len() < found.columns.len() {
                        one.columns = found.columns;
                    }
                    one.wants.extend(found.wants);
                }
                None => all.push(found),
            }
        }
    }
    all
}

/// What the classes of a candidate want now that other indexes are advised.
pub(super) fn again(candidate: &Candidate, shapes: &[(usize, Shape)], facts: &Facts) -> Vec<Want> {
    let now = |want: &Want| {
        let (_, shape) = shapes.iter().find(|(at, _)| *at == want.row)?;
        let known = facts.get(&candidate.table.to_lowercase())?;
        let place = shape.tables.iter().position(|table| table.alias == want.alias)?;
        let is_first = read_first(shape, facts) == Some(place);
        let found = Wish { shape, place, known, facts, is_first }.candidate(want.row)?;
        found.wants.into_iter().next()
    };
    let again = |want: &Want| now(want).unwrap_or_else(|| Want { is_served: true, ..want.clone() });
    candidate.wants.iter().map(again).collect()
}

/// The table whose own conditions leave fewest rows; the others are looked up from it.
fn read_first(shape: &Shape, facts: &Facts) -> Option<usize> {
    let expected = |place: usize| {
        let table = &shape.tables[place];
        let known = facts.get(&table.name.to_lowercase())?;
        let wish = Wish { shape, place, known, facts, is_first: true };
        let equal = wish.compared(Compared::Equal);
        let has_bounds = !wish.compared(Compared::Range).is_empty();
        let rows = left(&equal, &equal, known) * if has_bounds { RANGE_SHARE } else { 1.0 };
        Some(rows)
    };
    let places = (0..shape.tables.len()).filter(|&place| !shape.tables[place].is_optional);
    let places = places.filter_map(|place| Some((place, expected(place)?)));
    places.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(place, _)| place)
}

/// What a statement wants of one of its tables.
struct Wish<'a> {
    shape: &'a Shape,
    place: usize,
    known: &'a TableFacts,
    facts: &'a Facts,
    is_first: bool,
}

/// Columns that are chosen, and what they are for.
struct Chosen {
    columns: Vec<String>,
    /// How many of them are compared with one value or a list.
    equal: usize,
    /// Whether the rows come in the order that is asked for.
    is_ordered: bool,
}

impl Wish<'_> {
    fn candidate(&self, row: usize) -> Option<Candidate> {
        if self.known.rows < ROWS_MIN {
            return None;
        }
        let chosen = self.choose()?;
        let Chosen { columns, equal, is_ordered } = &chosen;
        let equal = &columns[..*equal];
        let expected_by = |names: &[String]| left(names, equal, self.known);
        let now = self.known.indexes.iter().map(|index| {
            let usable = index.columns.iter().take_while(|name| columns.contains(name)).count();
            expected_by(&index.columns[..usable])
        });
        let now = now.fold(self.known.rows, f64::min);
        let ends_early = *is_ordered && self.shape.has_limit;
        let by_values = expected_by(columns);
        let then = if ends_early { by_values.min(LIMIT_ROWS) } else { by_values };
        let is_bound_only = equal.is_empty() && !ends_early;
        let serves = |index: &IndexFacts| serves(index, columns, equal);
        // How much a bound alone leaves nobody knows before it is tried.
        let is_little = now < then * GAIN_MIN && !(is_bound_only && now >= self.known.rows);
        if self.known.indexes.iter().any(serves) || is_little {
            return None;
        }
        let is_guess = left(equal, equal, self.known) * GAIN_MIN > now;
        let is_whole =
            !self.shape.has_more && self.own_conditions().all(|name| columns.contains(&name));
        let alias = self.shape.tables[self.place].alias.clone();
        let want = Want { row, alias, expected: (now, then), is_whole, is_guess, is_served: false };
        Some(Candidate {
            table: self.known.name.clone(),
            columns: chosen.columns,
            wants: vec![want],
        })
    }

    fn choose(&self) -> Option<Chosen> {
        let mut columns = self.compared(Compared::Equal);
        if !self.is_first {
            columns.extend(self.joined());
        }
        sort_by_values(&mut columns, self.known);
        let has_values = |name: &String| self.known.distinct.get(name).is_some_and(|it| *it >= 2.0);
        columns.retain(has_values);
        let is_found = |index: &IndexFacts| {
            index.is_unique && index.columns.iter().all(|name| columns.contains(name))
        };
        if self.known.indexes.iter().any(is_found) {
            return None;
        }
        let mut several = self.compared(Compared::In);
        several.retain(|name| !columns.contains(name));
        let equal = (columns.len() + several.len()).min(COLUMNS_MAX);
        let in_order = if several.is_empty() && self.is_first { self.order() } else { Vec::new() };
        columns.extend(several);
        let bounds = self.compared(Compared::Range);
        let bound = bounds.into_iter().find(|name| !columns.contains(name));
        let is_ordered = match bound {
            Some(bound) => {
                columns.push(bound.clone());
                in_order == [bound]
            }
            None if !in_order.is_empty() && (equal > 0 || self.shape.has_limit) => {
                let more: Vec<_> =
                    in_order.into_iter().filter(|name| !columns.contains(name)).collect();
                columns.extend(more);
                true
            }
            None => false,
        };
        let is_ordered = is_ordered && columns.len() <= COLUMNS_MAX;
        columns.truncate(COLUMNS_MAX);
        (!columns.is_empty()).then_some(Chosen { columns, equal, is_ordered })
    }

    /// A column's name, if it is this table's.
    fn own(&self, column: &Column) -> Option<String> {
        let name = column.name.to_lowercase();
        let is_own = owner(column, self.shape, self.facts) == Some(self.place);
        (is_own && self.known.distinct.contains_key(&name)).then_some(name)
    }

    fn compared(&self, wanted: Compared) -> Vec<String> {
        let conditions = self.shape.conditions.iter().filter(|(_, how)| *how == wanted);
        let mut names: Vec<_> = conditions.filter_map(|(column, _)| self.own(column)).collect();
        sort_by_values(&mut names, self.known);
        names
    }

    /// Columns that conditions are on; those of which nothing is known have no name.
    fn own_conditions(&self) -> impl Iterator<Item = String> {
        let conditions = self.shape.conditions.iter().map(|(column, _)| column);
        conditions
            .filter(|column| {
                owner(column, self.shape, self.facts).is_none_or(|at| at == self.place)
            })
            .map(|column| self.own(column).unwrap_or_default())
    }

    /// The columns of the order, if all are this table's.
    fn order(&self) -> Vec<String> {
        let all: Option<Vec<_>> = self.shape.order.iter().map(|column| self.own(column)).collect();
        all.unwrap_or_default()
    }

    /// Columns by which the table is looked up, row by row of others.
    fn joined(&self) -> impl Iterator<Item = String> {
        let sides = self.shape.joins.iter().filter_map(|(one, other)| {
            let owner = |column| owner(column, self.shape, self.facts);
            let (first, second) = (owner(one)?, owner(other)?);
            match (first == self.place, second == self.place) {
                (true, false) => Some(one),
                (false, true) => Some(other),
                _ => None,
            }
        });
        sides.filter_map(|column| self.own(column))
    }
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::tokens::Dialect;

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
            .map(|one| {
                let rows: Vec<_> = one.wants.iter().map(|want| want.row).collect();
                let guess = if one.wants.iter().all(|want| want.is_guess) { "?" } else { "" };
                format!("{}({}){guess} {rows:?}", one.table, one.columns.join(","))
            })
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
            &["posts(topic,user) [0]", "users(name) [0]"],
        );
    }

    #[test]
    fn what_is_looked_up_has_the_columns_that_join_it() {
        let join = "select 1 from users u join posts p on p.topic = u.id where u.name = 'a'";
        check(&[join], &["users(name) [0]", "posts(topic) [0]"]);
        let left = "select 1 from users u left join posts p on p.topic = u.id and p.state = 1";
        check(&[left], &["posts(topic,state) [0]"]);
    }

    #[test]
    fn what_only_a_trial_can_tell_is_a_guess() {
        check(&["select 1 from posts order by at desc limit 10"], &["posts(at)? [0]"]);
        check(&["select 1 from posts where at > 5"], &["posts(at)? [0]"]);
        check(
            &["select 1 from posts where state = 1 order by at limit 5"],
            &["posts(state,at)? [0]"],
        );
        check(&["select 1 from posts order by at"], &[]);
        check(&["select 1 from posts order by id limit 10"], &[]);
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
