//! A MariaDB or MySQL that is asked for advice.

mod plan;
mod sample;

use std::collections::HashMap;

use changes::Address;
use changes::connect::options;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use self::plan::{Explained, Plan, limit, limit_at};
use self::sample::Sample;
use super::{Trial, indexes, quote, unused};
use crate::advice::{Advice, Candidate, TableFacts, Want};
use crate::classes::Class;
use crate::digests::{CONNECT_MAX, DigestError, refused};

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
    /// Which rows of each table are looked at.
    samples: HashMap<String, Sample>,
    /// The table and the columns of what was tried last, and of what is kept.
    tried: Option<(String, String)>,
    kept: Vec<(String, String)>,
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
        Ok(Self { connection, database, samples: HashMap::new(), tried: None, kept: Vec::new() })
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
        let question = "SELECT TABLE_NAME, CAST(TABLE_ROWS AS CHAR), ENGINE FROM information_schema.TABLES \
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
        let known = self.ask(question, name).await?;
        let is_primary = |one: &&Vec<String>| one[0] == "PRIMARY";
        let key: Vec<_> =
            known.iter().filter(is_primary).map(|one| one[1].to_lowercase()).collect();
        let known = known.iter().map(|one| (one[0].clone(), one[1].clone(), one[2] == "0"));
        let mut indexes = indexes(known);
        // InnoDB's other indexes end with the key, by which they find rows.
        if told[2].eq_ignore_ascii_case("innodb") {
            for index in indexes.iter_mut().filter(|index| !index.is_unique) {
                let more = key.iter().filter(|name| !index.columns.contains(name));
                index.columns.extend(more.cloned().collect::<Vec<_>>());
            }
        }
        let mut facts = TableFacts { name: told[0].clone(), indexes, ..TableFacts::default() };
        if columns.is_empty() {
            return Ok(Some(facts));
        }
        let names: Vec<_> = columns.iter().map(|column| quote(column, true)).collect();
        let counts: Vec<_> =
            names.iter().map(|name| format!("CAST(COUNT(DISTINCT {name}) AS CHAR)")).collect();
        let table = quote(&facts.name, true);
        let sample = self.sample(&facts.name, rows).await?;
        let question = format!(
            "SELECT CAST(COUNT(*) AS CHAR), {} FROM ({}) wick",
            counts.join(", "),
            sample.of(&names.join(", "), &table)
        );
        self.samples.insert(facts.name.clone(), sample);
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

    /// Which rows stand for a table: slices all over it where its key begins with a number,
    /// since its first rows are its oldest.
    async fn sample(&mut self, name: &str, rows: f64) -> Result<Sample, DigestError> {
        let question = "SELECT c.COLUMN_NAME FROM information_schema.STATISTICS s \
            JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = s.TABLE_SCHEMA \
            AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME \
            WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ? AND s.INDEX_NAME = 'PRIMARY' \
            AND s.SEQ_IN_INDEX = 1 AND c.DATA_TYPE LIKE '%int'";
        let Some(key) = self.ask(question, name).await?.into_iter().next() else {
            return Ok(Sample::default());
        };
        let (key, table) = (quote(&key[0], true), quote(name, true));
        let question =
            format!("SELECT CAST(MIN({key}) AS CHAR), CAST(MAX({key}) AS CHAR) FROM {table}");
        let told = self.connection.query_first::<Row, _>(question).await;
        let told = told.map_err(|error| refused(&error))?.map(texts).unwrap_or_default();
        let bounds: Vec<i128> = told.iter().filter_map(|text| text.parse().ok()).collect();
        Ok(match bounds[..] {
            [low, high] => Sample::over(&key, low, high, rows),
            _ => Sample::default(),
        })
    }

    /// Explains each statement with a copy of a part of the table in the place of the table,
    /// without the index and with it.
    pub(super) async fn try_out(
        &mut self,
        candidate: &Candidate,
        statements: &[(&Want, &str)],
    ) -> Vec<Result<Trial, String>> {
        let result = self.tried(candidate, statements).await;
        let table = quote(&candidate.table, true);
        let mut failure = None;
        // Whatever went wrong, later trials see the true table.
        for name in ["wick_before", "wick_after", table.as_str()] {
            let drop = format!("DROP TEMPORARY TABLE IF EXISTS {name}");
            failure = failure.or(self.connection.query_drop(drop).await.err());
        }
        let told = |error: &mysql_async::Error| {
            format!("no trial with a temporary copy of {}: {}", candidate.table, words(error))
        };
        match (result, failure) {
            (Err(error), _) | (_, Some(error)) => {
                statements.iter().map(|_| Err(told(&error))).collect()
            }
            (Ok(trials), None) => {
                trials.into_iter().map(|trial| trial.map_err(|error| told(&error))).collect()
            }
        }
    }

    async fn tried(
        &mut self,
        candidate: &Candidate,
        statements: &[(&Want, &str)],
    ) -> mysql_async::Result<Vec<mysql_async::Result<Trial>>> {
        let table = quote(&candidate.table, true);
        let columns: Vec<_> = candidate.columns.iter().map(|name| quote(name, true)).collect();
        let sample = self.samples.get(&candidate.table).cloned().unwrap_or_default();
        let columns = columns.join(", ");
        let of_table = self.kept.iter().filter(|(name, _)| *name == candidate.table);
        let kept: String =
            of_table.map(|(_, columns)| format!(", ADD INDEX ({columns})")).collect();
        self.tried = Some((candidate.table.clone(), columns.clone()));
        // Only names of temporary tables are altered, dropped or renamed.
        for step in [
            format!("CREATE TEMPORARY TABLE wick_before LIKE {table}"),
            format!("ALTER TABLE wick_before COMMENT 'before'{kept}"),
            format!("INSERT INTO wick_before {}", sample.of("*", &table)),
            format!("CREATE TEMPORARY TABLE wick_after LIKE {table}"),
            format!("ALTER TABLE wick_after ADD INDEX ({columns}){kept}"),
            "INSERT INTO wick_after SELECT * FROM wick_before".to_owned(),
            format!("ALTER TABLE wick_before RENAME TO {table}"),
        ] {
            self.connection.query_drop(step).await?;
        }
        let before = self.explained(statements).await;
        for step in [
            format!("DROP TEMPORARY TABLE {table}"),
            format!("ALTER TABLE wick_after RENAME TO {table}"),
        ] {
            self.connection.query_drop(step).await?;
        }
        let after = self.explained(statements).await;
        let pairs = statements.iter().zip(before.into_iter().zip(after));
        let trial = |((want, statement), (before, after)): (&(&Want, &str), _)| {
            let (before, after): (Explained, Explained) = (before?, after?);
            let matching = want.is_whole.then(|| after.all.rows_of(&want.alias)).flatten();
            let limit = limit(statement);
            let looked_at = |plans: &Explained| plans.looked_at(&want.alias, limit, matching);
            let what = "rows that the planner expects to look at in a copy, ";
            Ok(Trial { before: looked_at(&before), after: looked_at(&after), what })
        };
        Ok(pairs.map(trial).collect())
    }

    /// Keeps the index that was tried last in the copies that follow, or not.
    pub(super) fn settle(&mut self, is_kept: bool) {
        let tried = self.tried.take();
        self.kept.extend(tried.filter(|_| is_kept));
    }

    async fn explained(
        &mut self,
        statements: &[(&Want, &str)],
    ) -> Vec<mysql_async::Result<Explained>> {
        let mut all = Vec::new();
        for (_, statement) in statements {
            let whole = &statement[..limit_at(statement)];
            let plans = async {
                let all = Plan::of(&mut self.connection, whole).await?;
                let first = Plan::of(&mut self.connection, statement).await?;
                Ok(Explained { all, first })
            };
            all.push(plans.await);
        }
        all
    }

    /// A table's indexes but its key, each with its first column.
    pub(super) async fn first_columns(
        &mut self,
        table: &str,
    ) -> Result<Vec<(String, String)>, DigestError> {
        let question = "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS \
            WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND SEQ_IN_INDEX = 1 \
            AND COLUMN_NAME IS NOT NULL AND INDEX_NAME <> 'PRIMARY' ORDER BY INDEX_NAME LIMIT 16";
        let rows = self.ask(question, table).await?;
        Ok(rows.into_iter().map(|mut row| (row.remove(0), row.remove(0))).collect())
    }

    /// Which index the server takes for a statement of one table, as it is written, and how many
    /// rows it expects by that to look at if all are wanted.
    pub(super) async fn expects(&mut self, statement: &str) -> Option<(String, f64)> {
        let taken = Plan::of(&mut self.connection, statement).await.ok()?.key();
        let all = Plan::of(&mut self.connection, &statement[..limit_at(statement)]).await.ok()?;
        Some((taken, all.rows()))
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

/// The server's words; the driver's may repeat what was sent.
fn words(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(error) => format!("the server says {}", error.code),
        _ => "the connection failed".to_owned(),
    }
}
