//! `FORCE INDEX`, as a dated exception: where an index is there that leaves few rows, and MariaDB or
//! MySQL takes another, which the log shows to have looked at many.
//!
//! A planner that errs today may be right tomorrow, with other rows or another version; a hint stays.
//! So it is the last resort, said with little confidence and with a day on which to look again, and
//! only for one whole `SELECT` of one table.
//! Invariant: nothing is run: what was looked at is the log's own count, and what would be is what the
//! planner expects with the hint.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use time::{Duration, OffsetDateTime};

use super::{Advice, Server, explainable, mysql, quote};
use crate::advice::shape::{Change, Compared, Shape};
use crate::advice::{Facts, TableFacts};
use crate::classes::Class;
use crate::report::Row;
use crate::text::number;
use crate::tokens::{Dialect, Kind, Tokens};

/// Classes that are looked at for it.
const CLASSES_MAX: usize = 10;
/// What the hint may leave of what was looked at.
const SHARE_MAX: f64 = 0.4;
/// After which it is looked again.
const EXCEPTION: Duration = Duration::days(182);
/// Rows from which on it is worth a hint at all.
const ROWS_MIN: f64 = 500.0;

/// What a server would do if it were made to.
pub(super) struct Forced {
    /// What it takes by itself; empty for none.
    pub(super) taken: String,
    /// The index that leaves fewest rows, and how many.
    pub(super) index: String,
    pub(super) rows: f64,
}

/// Classes for which nothing else was advised, and that a hint would help.
pub(super) async fn forced(
    server: &mut Server,
    shapes: &[(usize, Shape)],
    facts: &Facts,
    (ranked, rows, advised): (&[&Class], &[Row], &[Advice]),
) -> Vec<Advice> {
    let Server::MySql(server) = server else { return Vec::new() };
    let served: BTreeSet<&String> = advised.iter().flat_map(|one| &one.classes).collect();
    let open = shapes.iter().filter(|(at, _)| !served.contains(&rows[*at].id));
    let mut all = Vec::new();
    for (at, shape) in open.take(CLASSES_MAX) {
        let (class, row) = (ranked[*at], &rows[*at]);
        let [table] = shape.tables.as_slice() else { continue };
        let known = facts.get(&table.name.to_lowercase());
        let (Some(known), Some(statement)) = (known, explainable(class)) else { continue };
        let examined = row.total.rows_examined as f64 / row.total.count.max(1) as f64;
        if shape.change != Change::None || examined < ROWS_MIN {
            continue;
        }
        // One that can't be asked is no reason to leave out what else was found.
        if let Ok(Some(forced)) = of(server, shape, known, statement).await
            && forced.rows <= examined * SHARE_MAX
            && let Some(hinted) = hinted(&class.fingerprint, &forced.index)
        {
            all.push(advice(row, (known, &forced, examined), &hinted, now()));
        }
    }
    all
}

/// The index that leaves fewest rows of a table, where the server takes another.
async fn of(
    server: &mut mysql::Server,
    shape: &Shape,
    table: &TableFacts,
    statement: &str,
) -> Result<Option<Forced>, crate::digests::DigestError> {
    let compared = shape.conditions.iter().filter(|(_, how)| *how != Compared::Range);
    let compared: BTreeSet<String> = compared.map(|(one, _)| one.name.to_lowercase()).collect();
    let mut names = server.first_columns(&table.name).await?;
    names.retain(|(_, column)| compared.contains(&column.to_lowercase()));
    let Some((taken, _)) = server.expects(statement).await else { return Ok(None) };
    let mut best: Option<Forced> = None;
    for (index, _) in names.into_iter().filter(|(index, _)| *index != taken) {
        let Some(hinted) = hinted(statement, &index) else { continue };
        let Some((by, rows)) = server.expects(&hinted).await else { continue };
        if by == index && best.as_ref().is_none_or(|best| rows < best.rows) {
            best = Some(Forced { taken: taken.clone(), index, rows });
        }
    }
    Ok(best)
}

fn advice(
    row: &Row,
    (table, forced, examined): (&TableFacts, &Forced, f64),
    hinted: &str,
    now: OffsetDateTime,
) -> Advice {
    let Forced { taken, index, rows } = forced;
    let day = (now + EXCEPTION).date();
    let day = format!("{}-{:02}-{:02}", day.year(), u8::from(day.month()), day.day());
    let (table, index) = (quote(&table.name, true), quote(index, true));
    let taken = if taken.is_empty() { "no index".to_owned() } else { quote(taken, true) };
    Advice {
        statement: hinted.to_owned(),
        why: format!(
            "the server takes {taken}, by which it looked at {} rows each time, although {index} leaves \
             some {}; first ANALYZE TABLE {table}: only if it still does, this",
            number(examined as u64),
            number(*rows as u64)
        ),
        confidence: format!(
            "low: by EXPLAIN alone, of one example; look again on {day}, whether the server takes the \
             index without being told"
        ),
        cost: "a hint stays when rows, indexes and the server change: one that drops the index makes the \
               statement fail"
            .to_owned(),
        revert: format!("take FORCE INDEX ({index}) out of the statement"),
        classes: vec![row.id.clone()],
    }
}

fn now() -> OffsetDateTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    OffsetDateTime::UNIX_EPOCH + since
}

/// A `SELECT` of one table with the hint behind the table, or behind what it is called.
fn hinted(statement: &str, index: &str) -> Option<String> {
    const NEXT: [&[u8]; 8] =
        [b"where", b"order", b"group", b"limit", b"having", b"for", b"lock", b"procedure"];
    let mut tokens = Tokens::new(statement.as_bytes(), Dialect::MySql);
    let is_word = |text: &[u8], word: &[u8]| text.eq_ignore_ascii_case(word);
    let mut depth = 0_usize;
    loop {
        let token = tokens.next()?;
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Word if depth == 0 && is_word(token.text, b"from") => break,
            _ => (),
        }
    }
    let mut end = None;
    loop {
        let before = tokens.position();
        let Some(token) = tokens.next() else { break };
        let is_name = matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Dot);
        if NEXT.iter().any(|next| is_word(token.text, next)) {
            end = end.or(Some(before));
            break;
        }
        // Another table, or a hint that somebody gave already.
        let is_other =
            ["use", "force", "ignore", "join", "left", "inner", "straight_join", "partition"];
        if !is_name || is_other.iter().any(|word| is_word(token.text, word.as_bytes())) {
            return None;
        }
        end = Some(tokens.position());
    }
    let (head, rest) = statement.split_at(end?);
    Some(format!("{} FORCE INDEX ({}){rest}", head.trim_end(), quote(index, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stands_behind_the_table_or_what_it_is_called() {
        for (statement, expected) in [
            ("SELECT a FROM t WHERE b = 1", Some("SELECT a FROM t FORCE INDEX (`i`) WHERE b = 1")),
            (
                "select (select 1 from x) from `db`.`t` as p order by c limit 3",
                Some(
                    "select (select 1 from x) from `db`.`t` as p FORCE INDEX (`i`) order by c limit 3",
                ),
            ),
            ("SELECT a FROM t p", Some("SELECT a FROM t p FORCE INDEX (`i`)")),
            ("SELECT a FROM t, u WHERE b = 1", None),
            ("SELECT a FROM t JOIN u ON 1 WHERE b = 1", None),
            ("SELECT a FROM (SELECT 1) t WHERE b = 1", None),
            ("SELECT a FROM t USE INDEX (j) WHERE b = 1", None),
            ("SELECT 1", None),
        ] {
            assert_eq!(hinted(statement, "i").as_deref(), expected, "{statement}");
        }
    }

    #[test]
    fn it_is_said_when_to_look_again() {
        let row = Row { id: "abc".into(), ..Row::default() };
        let table = TableFacts { name: "posts".into(), ..TableFacts::default() };
        let forced = Forced { taken: "created".into(), index: "topic".into(), rows: 2000.0 };
        let now = OffsetDateTime::UNIX_EPOCH;
        let told = advice(&row, (&table, &forced, 18_000.0), "select …", now);
        assert!(told.confidence.starts_with("low: ") && told.confidence.contains("1970-07-02"));
        assert!(told.why.contains("`created`") && told.why.contains("ANALYZE TABLE `posts`"));
        assert_eq!(told.classes, ["abc"]);
    }
}
