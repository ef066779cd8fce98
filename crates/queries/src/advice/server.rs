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

use super::choice::{again, candidates};
use super::{Advice, Candidate, Facts, IndexFacts, TableFacts, Want, kept, put_in_order, shapes};
use crate::classes::{Class, Classes};
use crate::digests::DigestError;
use crate::report::Row;
use crate::text::number;
use crate::tokens::{Dialect, Kind, Tokens};

mod forced;
mod mysql;
mod postgres;

/// Tables that are looked at, and indexes that are tried.
const TABLES_MAX: usize = 40;
const CANDIDATES_MAX: usize = 30;
/// Classes by which one index is tried.
const TRIALS_MAX: usize = 3;
/// What a trial may leave of what was looked at before. It is less than half, since MySQL
/// expects half of a table's rows of any bounds that leave more.
const SHARE_MAX: f64 = 0.4;

/// What an index came to when it was tried by one class.
#[derive(Clone, Copy, Debug)]
struct Trial {
    before: f64,
    after: f64,
    /// What the two count, and where.
    what: &'static str,
}

impl Trial {
    fn helps(&self) -> bool {
        self.after <= self.before * SHARE_MAX
    }
}

/// An index, the classes that it helps, and what it was weighed by.
struct Weighed {
    candidate: Candidate,
    /// Of the class that gains most; or why there is none.
    trial: Result<Trial, String>,
    /// Rows that need not be looked at, and those that its upkeep is worth.
    gain: f64,
    upkeep: f64,
    writes: u64,
}

/// What was left out, and why.
#[derive(Default)]
struct LeftOut {
    useless: usize,
    untried: usize,
    dear: usize,
    too_many: usize,
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
    let mut notes = Vec::new();
    let known = shapes(ranked.iter().map(|class| class.fingerprint.as_str()), dialect);
    let told = known.iter().filter(|(at, _)| *at < rows.len()).cloned();
    let shapes: Vec<_> = told.collect();
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
    let (mut left_out, mut all) = (LeftOut::default(), Vec::new());
    let mut candidates = candidates(&shapes, &facts);
    left_out.too_many = candidates.len().saturating_sub(CANDIDATES_MAX);
    candidates.truncate(CANDIDATES_MAX);
    let mut looked_at = looked_at(rows, &candidates);
    candidates
        .sort_by(|one, other| expected(other, &looked_at).total_cmp(&expected(one, &looked_at)));
    put_in_order(&mut candidates, &shapes);
    let counts: Vec<_> = ranked.iter().map(|class| class.sums.count).collect();
    for candidate in candidates {
        let trials = server.try_out(&candidate, &ranked).await;
        let kept = kept(&candidate, &counts, &known);
        let candidate = Candidate { wants: again(&candidate, &shapes, &facts), ..candidate };
        let judged = judge(candidate, trials, kept, &mut looked_at, &mut left_out);
        // Those that follow are tried beside it.
        server.settle(judged.is_some()).await?;
        let Some(one) = judged else { continue };
        if let Some(known) = facts.get_mut(&one.candidate.table.to_lowercase()) {
            all.push(advice(&one, rows, known.indexes.len(), is_mysql));
            let columns = one.candidate.columns.clone();
            known.indexes.push(IndexFacts { columns, is_unique: false });
        }
    }
    let hints = forced::forced(&mut server, &shapes, &facts, (&ranked, rows, &all)).await;
    all.extend(hints);
    notes.extend(left_out.told());
    match server.unused().await {
        Ok(unused) => all.extend(unused),
        Err(why) => notes.push(format!("Which indexes nobody uses is not known: {why}.")),
    }
    server.close().await;
    Ok((all, notes))
}

/// How many rows each class looked at, by the log, or else as is expected.
fn looked_at(rows: &[Row], candidates: &[Candidate]) -> Vec<f64> {
    let mut all: Vec<_> = rows.iter().map(|row| row.total.rows_examined as f64).collect();
    for want in candidates.iter().flat_map(|candidate| &candidate.wants) {
        if rows[want.row].total.rows_examined == 0 {
            let estimate = want.expected.0 * rows[want.row].total.count as f64;
            all[want.row] = all[want.row].max(estimate);
        }
    }
    all
}

/// How many rows less are looked at by estimate.
fn expected(candidate: &Candidate, looked_at: &[f64]) -> f64 {
    candidate.wants.iter().map(|want| looked_at[want.row] * want.expected_share()).sum()
}

/// What is left of a candidate when its trials are over, and of what its classes look at.
fn judge(
    mut candidate: Candidate,
    trials: Vec<Result<Trial, String>>,
    (upkeep, writes): (f64, u64),
    looked_at: &mut [f64],
    left_out: &mut LeftOut,
) -> Option<Weighed> {
    let is_tried = trials.iter().any(Result::is_ok);
    let (mut best, mut why) = (None::<(f64, Trial)>, String::new());
    let (mut gains, mut are_all_guesses) = (Vec::new(), true);
    for (want, trial) in candidate.wants.into_iter().zip(trials) {
        let share = match &trial {
            Ok(trial) if !trial.helps() => continue,
            Ok(trial) => 1.0 - trial.after / trial.before.max(1.0),
            // By estimate those that are advised already do as much.
            Err(_) if want.is_served => continue,
            Err(reason) => {
                why.clone_from(reason);
                want.expected_share()
            }
        };
        are_all_guesses &= want.is_guess && trial.is_err();
        let gain = looked_at[want.row] * share;
        if let Ok(trial) = trial
            && best.is_none_or(|best| best.0 < gain)
        {
            best = Some((gain, trial));
        }
        gains.push((want, gain));
    }
    let gain: f64 = gains.iter().map(|(_, gain)| gain).sum();
    let left_out = match (is_tried, best) {
        (true, None) => &mut left_out.useless,
        _ if gains.is_empty() => return None,
        _ if are_all_guesses => &mut left_out.untried,
        _ if gain <= upkeep => &mut left_out.dear,
        _ => {
            gains.iter().for_each(|(want, gain)| looked_at[want.row] -= gain);
            candidate.wants = gains.into_iter().map(|(want, _)| want).collect();
            let trial = best.map(|best| best.1).ok_or(why);
            return Some(Weighed { candidate, trial, gain, upkeep, writes });
        }
    };
    *left_out += 1;
    None
}

impl LeftOut {
    fn told(&self) -> Vec<String> {
        let told = [
            (self.useless, "were tried, and the server's planner gained less than half by them"),
            (self.dear, "would cost those who write more than they gain those who read"),
            (
                self.untried,
                "might help, but that stands on a bound or an order alone, which only a trial shows",
            ),
            (self.too_many, "were not tried, for there were so many"),
        ];
        let told = told.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, words)| format!("{count} more {words}.")).collect()
    }
}

fn advice(weighed: &Weighed, rows: &[Row], indexes: usize, is_mysql: bool) -> Advice {
    let Weighed { candidate, trial, gain, upkeep, writes } = weighed;
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
    let share: f64 = candidate.wants.iter().map(|want| rows[want.row].share).sum();
    let cost = match writes {
        0 => format!(
            "each write to {} keeps it too, beside {indexes} others; none of the writes read here changes it",
            candidate.table
        ),
        writes => format!(
            "each write to {} keeps it too, beside {indexes} others; {writes} of the writes read \
             here change it, which is worth some {} rows to be looked at",
            candidate.table,
            number(*upkeep as u64)
        ),
    };
    Advice {
        statement: format!("{kind} {} ON {table} ({})", quoted(&name), columns.join(", ")),
        why: format!(
            "classes with {:.1} % of the time would look at some {} rows less",
            share * 100.0,
            number(*gain as u64)
        ),
        confidence,
        cost,
        revert,
        classes: candidate.wants.iter().map(|want| rows[want.row].id.clone()).collect(),
    }
}

impl Server {
    async fn table(&mut self, name: &str) -> Result<Option<TableFacts>, DigestError> {
        match self {
            Self::MySql(server) => server.table(name).await,
            Self::Postgres(server) => server.table(name).await,
        }
    }

    /// Tries an index by each class that it is for, the dearest first.
    async fn try_out(
        &mut self,
        candidate: &Candidate,
        ranked: &[&Class],
    ) -> Vec<Result<Trial, String>> {
        let statement = |want: &Want| ranked.get(want.row).and_then(|class| explainable(class));
        let tried = candidate.wants.iter().take(TRIALS_MAX);
        let statements: Vec<_> = tried.filter_map(|want| Some((want, statement(want)?))).collect();
        let found = match self {
            _ if statements.is_empty() => Vec::new(),
            Self::MySql(server) => server.try_out(candidate, &statements).await,
            Self::Postgres(server) => server.try_out(candidate, &statements).await,
        };
        let mut found: HashMap<_, _> =
            statements.iter().map(|(want, _)| want.row).zip(found).collect();
        let unknown = || "no whole statement of these classes is known".to_owned();
        let trial = |want: &Want| found.remove(&want.row).unwrap_or_else(|| Err(unknown()));
        candidate.wants.iter().map(trial).collect()
    }

    /// Keeps what was tried last for the trials that follow, or not.
    async fn settle(&mut self, is_kept: bool) -> Result<(), DigestError> {
        match self {
            Self::MySql(server) => server.settle(is_kept),
            Self::Postgres(server) => server.settle(is_kept).await?,
        }
        Ok(())
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

/// The example of a class, if it is one whole statement that may be explained.
fn explainable(class: &Class) -> Option<&str> {
    let statement = std::str::from_utf8(&class.example.statement).ok()?;
    let mut tokens = Tokens::new(statement.as_bytes(), class.dialect);
    let first = tokens.next()?.text;
    let is_known = ["select", "update", "delete"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word.as_bytes()));
    let is_one = !tokens.any(|token| token.kind == Kind::Semicolon);
    (is_known && is_one && !class.example.is_cut).then_some(statement)
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
