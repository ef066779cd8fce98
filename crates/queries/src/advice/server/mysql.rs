//! A MariaDB or MySQL that is asked for advice.

use changes::Address;
use changes::connect::options;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::{Trial, indexes, quote, unused};
use crate::advice::{Advice, Candidate, TableFacts};
use crate::classes::Class;
use crate::digests::{CONNECT_MAX, DigestError, refused};
use crate::tokens::{Dialect, Kind, Tokens};

/// Rows by which columns are judged, and of which a copy is made.
const SAMPLE_ROWS: u32 = 20_000;
/// A trial takes no longer, in seconds, where the server obeys.
const SECONDS_MAX: u32 = 10;
/// Types that an index takes only a part of.
const LONG_TYPES: [&str; 12] = [
    "text",
    "tinytext",
    "mediumtext",
    "longtext",
    "blob",
    "tinyblob",
    "mediumblob",
    "longblob",
    "json",
    "geometry",
    "point",
    "polygon",
];

pub(super) struct Server {
    connection: Conn,
    database: String,
}

fn texts(mut row: Row) -> Vec<String> {
    (0..row.len())
        .map(|at| {
            row.take_opt::<Option<String>, _>(at).and_then(Result::ok).flatten().unwrap_or_default()
        })
        .collect()
}

impl Server {
    /// A connection to `address`, in its database or that of the first class that has one.
    pub(super) async fn connect(address: &Address, ranked: &[&Class]) -> Result<Self, DigestError> {
        let connecting = tokio::time::timeout(CONNECT_MAX, Conn::new(options(address)));
        let connection = connecting.await.map_err(|_| DigestError::Silent)?;
        let mut connection = connection.map_err(|error| refused(&error))?;
        let mut database = address.database.clone();
        if database.is_empty() {
            let mut known = ranked.iter().filter_map(|class| class.databases.names.first());
            database = known.next().cloned().unwrap_or_default();
        }
        if !database.is_empty() {
            let ask = format!("USE {}", quote(&database, true));
            connection.query_drop(ask).await.map_err(|error| refused(&error))?;
        }
        // One of the two knows the first, the other the second.
        let limits = [
            format!("SET SESSION max_statement_time = {SECONDS_MAX}"),
            format!("SET SESSION max_execution_time = {SECONDS_MAX}000"),
        ];
        for limit in limits {
            if connection.query_drop(limit).await.is_ok() {
                break;
            }
        }
        Ok(Self { connection, database })
    }

    pub(super) async fn close(self) {
        // It ends either way.
        let _ = self.connection.disconnect().await;
    }

    async fn ask(&mut self, question: &str, name: &str) -> Result<Vec<Vec<String>>, DigestError> {
        let values = (self.database.clone(), name.to_owned());
        let rows = self.connection.exec::<Row, _, _>(question, values).await;
        Ok(rows.map_err(|error| refused(&error))?.into_iter().map(texts).collect())
    }

    pub(super) async fn table(&mut self, name: &str) -> Result<Option<TableFacts>, DigestError> {
        let question = "SELECT TABLE_NAME, CAST(TABLE_ROWS AS CHAR) FROM information_schema.TABLES \
            WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND TABLE_TYPE = 'BASE TABLE'";
        let Some(told) = self.ask(question, name).await?.into_iter().next() else {
            return Ok(None);
        };
        let mut rows: f64 = told[1].parse().unwrap_or(0.0);
        let question = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
            WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?";
        let columns = self.ask(question, name).await?;
        let columns = columns
            .into_iter()
            .filter(|column| !LONG_TYPES.contains(&column[1].to_ascii_lowercase().as_str()));
        let columns: Vec<_> = columns.map(|column| column[0].clone()).collect();
        let question = "SELECT INDEX_NAME, COLUMN_NAME, CAST(NON_UNIQUE AS CHAR) \
            FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? \
            AND COLUMN_NAME IS NOT NULL ORDER BY INDEX_NAME, SEQ_IN_INDEX";
        let known = self.ask(question, name).await?.into_iter();
        let indexes = indexes(known.map(|one| (one[0].clone(), one[1].clone(), one[2] == "0")));
        let mut facts = TableFacts { name: told[0].clone(), indexes, ..TableFacts::default() };
        if columns.is_empty() {
            return Ok(Some(facts));
        }
        let names: Vec<_> = columns.iter().map(|column| quote(column, true)).collect();
        let counts: Vec<_> =
            names.iter().map(|name| format!("CAST(COUNT(DISTINCT {name}) AS CHAR)")).collect();
        let question = format!(
            "SELECT CAST(COUNT(*) AS CHAR), {} FROM (SELECT {} FROM {} LIMIT {SAMPLE_ROWS}) wick",
            counts.join(", "),
            names.join(", "),
            quote(&facts.name, true)
        );
        let told = self.connection.query_first::<Row, _>(question).await;
        let told = told.map_err(|error| refused(&error))?.map(texts).unwrap_or_default();
        let counts: Vec<f64> = told.iter().map(|count| count.parse().unwrap_or(0.0)).collect();
        let Some((sampled, counts)) = counts.split_first() else { return Ok(Some(facts)) };
        rows = rows.max(*sampled);
        for (column, count) in columns.iter().zip(counts) {
            // What hardly repeats in a sample hardly does elsewhere.
            let is_key = *count > 0.9 * sampled;
            let values = if is_key { rows * count / sampled.max(1.0) } else { *count };
            facts.distinct.insert(column.to_lowercase(), values);
        }
        facts.rows = rows;
        Ok(Some(facts))
    }

    /// Explains `statement` with a copy of a table's first rows in the place of the table,
    /// without the index and with it.
    pub(super) async fn try_out(
        &mut self,
        candidate: &Candidate,
        statement: &str,
    ) -> Result<Trial, String> {
        let result = self.tried(candidate, statement).await;
        let table = quote(&candidate.table, true);
        // Whatever went wrong, later trials see the true table.
        for name in ["wick_before", "wick_after", table.as_str()] {
            let drop = format!("DROP TEMPORARY TABLE IF EXISTS {name}");
            self.connection.query_drop(drop).await.map_err(|error| words(&error))?;
        }
        result.map_err(|error| {
            format!("no trial with a temporary copy of {}: {}", candidate.table, words(&error))
        })
    }

    async fn tried(
        &mut self,
        candidate: &Candidate,
        statement: &str,
    ) -> Result<Trial, mysql_async::Error> {
        let table = quote(&candidate.table, true);
        let columns: Vec<_> = candidate.columns.iter().map(|name| quote(name, true)).collect();
        // Only names of temporary tables are altered, dropped or renamed.
        let (trial, columns) = ("wick_trial", columns.join(", "));
        for step in [
            format!("CREATE TEMPORARY TABLE wick_before LIKE {table}"),
            format!("INSERT INTO wick_before SELECT * FROM {table} LIMIT {SAMPLE_ROWS}"),
            format!("CREATE TEMPORARY TABLE wick_after LIKE {table}"),
            format!("ALTER TABLE wick_after ADD INDEX {trial} ({columns})"),
            "INSERT INTO wick_after SELECT * FROM wick_before".to_owned(),
            format!("ALTER TABLE wick_before RENAME TO {table}"),
        ] {
            self.connection.query_drop(step).await?;
        }
        let before = self.explained(statement).await?;
        for step in [
            format!("DROP TEMPORARY TABLE {table}"),
            format!("ALTER TABLE wick_after RENAME TO {table}"),
        ] {
            self.connection.query_drop(step).await?;
        }
        let after = self.explained(statement).await?;
        Ok(Trial { before, after, what: "rows that the planner expects to look at in a copy, " })
    }

    /// How many rows the planner expects to look at for all that is asked: with a `LIMIT`
    /// it tells how many it hopes for.
    async fn explained(&mut self, statement: &str) -> Result<f64, mysql_async::Error> {
        let statement = &statement[..limit_at(statement)];
        let rows: Vec<Row> = self.connection.exec(format!("EXPLAIN {statement}"), ()).await?;
        let mut product = 1.0;
        for row in rows {
            let columns = row.columns();
            let at = columns.iter().position(|column| column.name_str() == "rows");
            let told = texts_of_number(&row, at);
            product *= told.unwrap_or(1.0).max(1.0);
        }
        Ok(product)
    }

    pub(super) async fn unused(&mut self) -> Result<Vec<Advice>, String> {
        let is_on: Option<u8> = self
            .connection
            .query_first("SELECT @@performance_schema")
            .await
            .map_err(|e| words(&e))?;
        if is_on != Some(1) {
            return Err("performance_schema is off".to_owned());
        }
        let question = "SELECT u.OBJECT_NAME, u.INDEX_NAME, \
            GROUP_CONCAT(s.COLUMN_NAME ORDER BY s.SEQ_IN_INDEX SEPARATOR '`, `') \
            FROM performance_schema.table_io_waits_summary_by_index_usage u \
            JOIN information_schema.STATISTICS s ON s.TABLE_SCHEMA = u.OBJECT_SCHEMA \
            AND s.TABLE_NAME = u.OBJECT_NAME AND s.INDEX_NAME = u.INDEX_NAME \
            WHERE u.OBJECT_SCHEMA = ? AND u.INDEX_NAME <> ? AND u.COUNT_STAR = 0 \
            AND s.NON_UNIQUE = 1 GROUP BY u.OBJECT_NAME, u.INDEX_NAME LIMIT 50";
        let rows = self.ask(question, "PRIMARY").await.map_err(|error| error.to_string())?;
        let uptime: Option<Row> = self
            .connection
            .query_first("SHOW GLOBAL STATUS LIKE 'Uptime'")
            .await
            .map_err(|error| words(&error))?;
        let seconds = uptime.map(texts).and_then(|told| told.get(1)?.parse::<f64>().ok());
        let since = crate::text::duration(seconds.unwrap_or(0.0));
        let told = rows.iter().map(|row| {
            let (table, index) = (quote(&row[0], true), quote(&row[1], true));
            unused(
                format!("DROP INDEX {index} ON {table}"),
                format!("nothing was looked up by it since the server started, {since} ago, and each write keeps it"),
                format!("CREATE INDEX {index} ON {table} (`{}`)", row[2]),
            )
        });
        Ok(told.collect())
    }
}

/// Where the statement's own `LIMIT` begins, or its end.
fn limit_at(statement: &str) -> usize {
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

fn texts_of_number(row: &Row, at: Option<usize>) -> Option<f64> {
    match row.as_ref(at?)? {
        mysql_async::Value::Int(number) => Some(*number as f64),
        mysql_async::Value::UInt(number) => Some(*number as f64),
        mysql_async::Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// The server's words; the driver's may repeat what was sent.
fn words(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(error) => format!("the server says {}", error.code),
        _ => "the connection failed".to_owned(),
    }
}
