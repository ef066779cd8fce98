//! Plans of MySQL and MariaDB, as `EXPLAIN` tells them, and how many rows they come to.
//!
//! With a `LIMIT` the servers tell how many rows they hope to look at. What a walk in
//! order really looks at until it has found enough depends on how many of its rows match,
//! which the plan without the `LIMIT` tells, if an index leaves just those.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};

use crate::tokens::{Dialect, Kind, Tokens};

/// A plan: its tables in the order in which they are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    tables: Vec<Read>,
}

#[derive(Clone, Debug, Default)]
struct Read {
    alias: String,
    /// The index that is taken; empty for none.
    key: String,
    rows: f64,
    /// Whether all rows are needed before the first is told.
    gathers: bool,
}

/// The plan for all rows, and the one for those up to the `LIMIT`.
#[derive(Clone, Debug)]
pub(super) struct Explained {
    pub(super) all: Plan,
    pub(super) first: Plan,
}

impl Plan {
    /// What the server makes of `statement`, which is not run.
    pub(super) async fn of(connection: &mut Conn, statement: &str) -> mysql_async::Result<Self> {
        let rows: Vec<Row> = connection.exec(format!("EXPLAIN {statement}"), ()).await?;
        let tables = rows.iter().map(|row| {
            let text = |name: &str| {
                let at = row.columns_ref().iter().position(|it| it.name_str() == name);
                at.and_then(|at| text(row.as_ref(at)?)).unwrap_or_default()
            };
            let extra = text("Extra");
            let gathers = ["Using filesort", "Using temporary"].iter().any(|it| extra.contains(it));
            let rows = text("rows").parse().unwrap_or(1.0);
            Read { alias: text("table"), key: text("key"), rows, gathers }
        });
        Ok(Self { tables: tables.collect() })
    }

    /// The index that is taken for the first table.
    pub(super) fn key(&self) -> String {
        self.tables.first().map(|table| table.key.clone()).unwrap_or_default()
    }

    /// How many rows are expected of the first table.
    pub(super) fn rows(&self) -> f64 {
        self.tables.first().map_or(0.0, |table| table.rows)
    }

    fn product(&self) -> f64 {
        self.tables.iter().map(|table| table.rows.max(1.0)).product()
    }

    /// Rows of the table that is read first, if it is this one.
    pub(super) fn rows_of(&self, alias: &str) -> Option<f64> {
        let first = self.tables.first()?;
        first.alias.eq_ignore_ascii_case(alias).then_some(first.rows)
    }
}

impl Explained {
    /// Rows that are looked at, where `matching` rows of `alias` are what conditions leave.
    pub(super) fn looked_at(&self, alias: &str, limit: Option<f64>, matching: Option<f64>) -> f64 {
        let all = self.all.product();
        let (Some(limit), Some(matching)) = (limit, matching) else { return all };
        if self.first.tables.iter().any(|table| table.gathers) {
            return self.first.product();
        }
        let (Some(hoped), Some(rows)) = (self.first.rows_of(alias), self.all.rows_of(alias)) else {
            return all;
        };
        let walked = (limit * rows.max(1.0) / matching.max(1.0)).min(rows).max(1.0);
        self.first.product() / hoped.max(1.0) * walked
    }
}

/// Where the statement's own `LIMIT` begins, or its end.
pub(super) fn limit_at(statement: &str) -> usize {
    let mut tokens = Tokens::new(statement.as_bytes(), Dialect::MySql);
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            Kind::Word if depth == 0 && token.text.eq_ignore_ascii_case(b"limit") => {
                return tokens.position() - token.text.len();
            }
            _ => {}
        }
    }
    statement.len()
}

/// Rows after which the statement has enough: its `LIMIT` and what is passed over before.
pub(super) fn limit(statement: &str) -> Option<f64> {
    let clause = &statement[limit_at(statement)..];
    let numbers = Tokens::new(clause.as_bytes(), Dialect::MySql)
        .filter_map(|token| std::str::from_utf8(token.text).ok()?.parse::<f64>().ok());
    let numbers: Vec<_> = numbers.take(2).collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum())
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Bytes(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tables: &[(&str, f64, bool)]) -> Plan {
        let read = |&(alias, rows, gathers): &(&str, f64, bool)| Read {
            alias: alias.to_owned(),
            rows,
            gathers,
            ..Read::default()
        };
        Plan { tables: tables.iter().map(read).collect() }
    }

    #[test]
    fn a_limit_is_what_is_passed_over_and_what_is_told() {
        assert_eq!(limit("SELECT 1 FROM t WHERE a = 7 LIMIT 20"), Some(20.0));
        assert_eq!(limit("SELECT 1 FROM t LIMIT 40, 20"), Some(60.0));
        assert_eq!(limit("SELECT 1 FROM t LIMIT 20 OFFSET 40"), Some(60.0));
        assert_eq!(limit("SELECT 1 FROM (SELECT 2 LIMIT 3) t"), None);
    }

    #[test]
    fn a_walk_goes_on_until_enough_rows_match() {
        let walk =
            Explained { all: plan(&[("p", 1000.0, false)]), first: plan(&[("p", 20.0, false)]) };
        assert_eq!(walk.looked_at("p", Some(20.0), Some(100.0)), 200.0, "every tenth matches");
        assert_eq!(walk.looked_at("p", Some(20.0), Some(5.0)), 1000.0, "never enough");
        assert_eq!(walk.looked_at("p", Some(20.0), None), 1000.0, "nobody knows");
        let sorted =
            Explained { all: plan(&[("p", 50.0, true)]), first: plan(&[("p", 50.0, true)]) };
        assert_eq!(sorted.looked_at("p", Some(20.0), Some(50.0)), 50.0, "all are gathered");
        let joined = Explained {
            all: plan(&[("p", 50.0, false), ("m", 1.0, false)]),
            first: plan(&[("p", 20.0, false), ("m", 1.0, false)]),
        };
        assert_eq!(joined.looked_at("p", Some(20.0), Some(50.0)), 20.0);
    }
}
