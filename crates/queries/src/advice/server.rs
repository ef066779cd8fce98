//! Advice from a server: what its tables are, which indexes nobody uses, and what its own
//! planner makes of an index that isn't there yet.
//!
//! On PostgreSQL an index is tried as a hypothetical one, where the extension `hypopg` is; on
//! MariaDB and MySQL on a temporary copy of a table's first rows, which only this connection
//! sees and which goes with it.
//! Invariants: 1. no statement of a log is run: it is explained, alone, by the protocol that
//! takes one statement only. 2. nothing that others see is changed: what is altered or
//! dropped is a temporary table. 3. what can't be tried is said to be unverified, and why.

use std::collections::{BTreeSet, HashMap};

use changes::Address;

use super::{Advice, Candidate, Facts, IndexFacts, TableFacts, candidates, shapes, writes};
use crate::classes::{Class, Classes};
use crate::digests::DigestError;
use crate::report::Row;
use crate::tokens::{Dialect, Kind, Tokens};

mod mysql;
mod postgres;

/// Tables that are looked at, and indexes that are tried.
const TABLES_MAX: usize = 40;
const CANDIDATES_MAX: usize = 10;
/// Classes by which one index is tried.
const TRIALS_MAX: usize = 3;
/// What a trial has to leave of what was looked at before.
const SHARE_MAX: f64 = 0.5;

/// What an index came to when it was tried.
struct Trial {
    before: f64,
    after: f64,
    /// What the two count, and where.
    what: &'static str,
}

enum Server {
    MySql(mysql::Server),
    Postgres(postgres::Server),
}

/// What `rows` of a report, which are the first of `classes`, want of the server at
/// `address`: indexes, and notes about what couldn't be looked at.
///
/// # Errors
/// The server can't be reached, or doesn't answer what it is asked.
pub async fn advise(
    address: &Address,
    is_mysql: bool,
    classes: &Classes,
    rows: &[Row],
) -> Result<(Vec<Advice>, Vec<String>), DigestError> {
    let dialect = if is_mysql { Dialect::MySql } else { Dialect::Postgres };
    let ranked = classes.ranked();
    let mut server = match is_mysql {
        true => Server::MySql(mysql::Server::connect(address, &ranked).await?),
        false => Server::Postgres(postgres::Server::connect(address).await?),
    };
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    let shapes = shapes(rows, dialect);
    let names = shapes.iter().flat_map(|(_, shape)| &shape.tables).map(|table| &table.name);
    let names: BTreeSet<_> = names.take(TABLES_MAX).cloned().collect();
    let mut facts = Facts::new();
    for name in names {
        if let Some(table) = server.table(&name).await? {
            facts.insert(name.to_lowercase(), table);
        }
    }
    if facts.is_empty() {
        notes.push("The server has none of the tables: name their database in --explain.".into());
    }
    let mut useless = 0;
    for candidate in candidates(&shapes, &facts).into_iter().take(CANDIDATES_MAX) {
        let trial = server.try_out(&candidate, &ranked).await;
        if trial.as_ref().is_ok_and(|trial| trial.after > trial.before * SHARE_MAX) {
            useless += 1;
            continue;
        }
        let count = writes(rows, &shapes, &candidate.table);
        let indexes = facts.get(&candidate.table.to_lowercase()).map_or(0, |it| it.indexes.len());
        all.push(advice(&candidate, &trial, rows, count, indexes, is_mysql));
    }
    if useless > 0 {
        notes.push(format!(
            "{useless} more were tried, and the server's planner gained less than half by them."
        ));
    }
    match server.unused().await {
        Ok(unused) => all.extend(unused),
        Err(why) => notes.push(format!("Which indexes nobody uses is not known: {why}.")),
    }
    server.close().await;
    Ok((all, notes))
}

fn advice(
    candidate: &Candidate,
    trial: &Result<Trial, String>,
    rows: &[Row],
    writes: u64,
    indexes: usize,
    is_mysql: bool,
) -> Advice {
    let quoted = |name: &String| quote(name, is_mysql);
    let columns: Vec<_> = candidate.columns.iter().map(quoted).collect();
    let table = quoted(&candidate.table);
    let mut name = format!("{}_{}", candidate.table, candidate.columns.join("_"));
    name =
        name.chars().filter(|letter| letter.is_alphanumeric() || *letter == '_').take(60).collect();
    let (kind, revert) = match is_mysql {
        true => ("CREATE INDEX", format!("DROP INDEX {} ON {table}", quoted(&name))),
        false => {
            ("CREATE INDEX CONCURRENTLY", format!("DROP INDEX CONCURRENTLY {}", quoted(&name)))
        }
    };
    let confidence = match trial {
        Ok(Trial { before, after, what }) => {
            format!("verified: {what}from {before:.0} to {after:.0}")
        }
        Err(why) => format!("unverified: {why}"),
    };
    let share: f64 = candidate.rows.iter().map(|at| rows[*at].share).sum();
    let (now, then) = candidate.expected;
    Advice {
        statement: format!("{kind} {} ON {table} ({})", quoted(&name), columns.join(", ")),
        why: format!(
            "classes with {:.1} % of the time look at some {now:.0} rows of {}, and would at some \
             {then:.0} (an estimate by how many values its columns have)",
            share * 100.0,
            candidate.table
        ),
        confidence,
        cost: format!(
            "each write to {} keeps it too, beside {indexes} others; {writes} writes are among \
             what is told here",
            candidate.table
        ),
        revert,
        classes: candidate.rows.iter().map(|at| rows[*at].id.clone()).collect(),
    }
}

impl Server {
    async fn table(&mut self, name: &str) -> Result<Option<TableFacts>, DigestError> {
        match self {
            Self::MySql(server) => server.table(name).await,
            Self::Postgres(server) => server.table(name).await,
        }
    }

    /// Tries an index by the classes that it is for; the first that can be tried counts.
    async fn try_out(&mut self, candidate: &Candidate, ranked: &[&Class]) -> Result<Trial, String> {
        let mut why = "no whole SELECT of these classes is known".to_owned();
        for class in candidate.rows.iter().take(TRIALS_MAX).filter_map(|at| ranked.get(*at)) {
            let Some(statement) = explainable(class) else { continue };
            let trial = match self {
                Self::MySql(server) => server.try_out(candidate, statement).await,
                Self::Postgres(server) => server.try_out(candidate, statement).await,
            };
            match trial {
                Ok(trial) => return Ok(trial),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    async fn unused(&mut self) -> Result<Vec<Advice>, String> {
        match self {
            Self::MySql(server) => server.unused().await,
            Self::Postgres(server) => server.unused().await,
        }
    }

    async fn close(self) {
        if let Self::MySql(server) = self {
            server.close().await;
        }
    }
}

/// The example of a class, if it is one whole `SELECT` that may be explained.
fn explainable(class: &Class) -> Option<&str> {
    let statement = std::str::from_utf8(&class.example.statement).ok()?;
    let mut tokens = Tokens::new(statement.as_bytes(), class.dialect);
    let is_select = tokens.next()?.text.eq_ignore_ascii_case(b"select");
    let is_one = !tokens.any(|token| token.kind == Kind::Semicolon);
    (is_select && is_one && !class.example.is_cut).then_some(statement)
}

fn quote(name: &str, is_mysql: bool) -> String {
    match is_mysql {
        true => format!("`{}`", name.replace('`', "``")),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn unused(statement: String, why: String, revert: String) -> Advice {
    let confidence = "unused, as far as the server has counted".to_owned();
    let cost = "a query that runs seldom, such as a yearly report, may need it".to_owned();
    Advice { statement, why, confidence, cost, revert, classes: Vec::new() }
}

/// Rows of an index's columns, put together by the index's name.
fn indexes(columns: impl Iterator<Item = (String, String, bool)>) -> Vec<IndexFacts> {
    let mut all: Vec<IndexFacts> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (index, column, is_unique) in columns {
        let place = *places.entry(index).or_insert_with(|| {
            all.push(IndexFacts { columns: Vec::new(), is_unique });
            all.len() - 1
        });
        all[place].columns.push(column.to_lowercase());
    }
    all
}
