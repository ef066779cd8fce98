//! Statements: where a database's time goes, as it counts that itself, by what they have in
//! common ("digests").
//!
//! Only statements on rows are taken along, and only as the server keeps them, with marks in the
//! place of values; what administers a server may hold a password.
//! Start at [`crate::Gauge::statements`].

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use crate::{Lost, connect};

/// The dearest so many are asked for.
pub(crate) const STATEMENTS_MAX: usize = 50;
/// Bytes of a statement.
const TEXT_BYTES_MAX: usize = 500;

/// What a server has counted of one kind of statement, since it or its count began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// It, with marks in the place of values.
    pub text: String,
    /// How often it ran.
    pub calls: u64,
    /// How long all of that took, in microseconds.
    pub took_us: u64,
}

/// Picoseconds, on MariaDB and MySQL.
const MYSQL: &str = "SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT DIV 1000000 \
    FROM performance_schema.events_statements_summary_by_digest \
    WHERE SCHEMA_NAME = ? AND DIGEST_TEXT IS NOT NULL \
    ORDER BY SUM_TIMER_WAIT DESC LIMIT 50";

/// Milliseconds, on PostgreSQL. A user who may not read all sees no text of others' statements.
pub(crate) const POSTGRES: &str = "SELECT replace(query, E'\\n', ' '), calls, \
    round(total_exec_time * 1000) FROM pg_stat_statements \
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    ORDER BY total_exec_time DESC LIMIT 50";

pub(crate) async fn of_mysql(
    connection: &mut Conn,
    database: &str,
) -> Result<Vec<Statement>, Lost> {
    let on: Result<Option<u8>, _> = connection.query_first("SELECT @@performance_schema").await;
    if on.map_err(|error| connect::lost(&error))? != Some(1) {
        let why = "the server counts no statements: start it with performance_schema = ON";
        return Err(Lost::Impossible(why.to_owned()));
    }
    let rows: Result<Vec<(String, u64, u64)>, _> = connection.exec(MYSQL, (database,)).await;
    let rows = rows.map_err(|error| connect::lost(&error))?;
    let each = rows.into_iter().filter_map(|(text, calls, took_us)| of(&text, calls, took_us));
    Ok(each.take(STATEMENTS_MAX).collect())
}

/// One of them, if it is of a kind that holds no secrets.
pub(crate) fn of(text: &str, calls: u64, took_us: u64) -> Option<Statement> {
    const KINDS: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "(SELECT"];
    let text = text.trim_start();
    let word = text.split(|letter: char| letter.is_whitespace()).next()?.to_ascii_uppercase();
    if !KINDS.contains(&word.as_str()) {
        return None;
    }
    let text = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
    Some(Statement { text, calls, took_us })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_on_rows_are_taken_along() {
        for (text, is_taken) in [
            ("SELECT * FROM `a` WHERE `b` = ?", true),
            ("  update a set b = $1", true),
            ("with x as (select 1) select * from x", true),
            ("ALTER ROLE wick PASSWORD 'hush'", false),
            ("SET PASSWORD = ?", false),
            ("/* hush */ SELECT 1", false),
            ("", false),
        ] {
            assert_eq!(of(text, 1, 1).is_some(), is_taken, "{text}");
        }
        let long = of(&format!("SELECT {}", "é".repeat(1000)), 1, 1).expect("it is one");
        assert_eq!(long.text.len(), 499);
    }
}
