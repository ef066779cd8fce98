//! A PostgreSQL that is asked for advice.

use changes::Address;
use changes::connect::postgres_options;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

use super::{Trial, indexes, quote, unused};
use crate::advice::{Advice, Candidate, TableFacts, Want};
use crate::digests::{CONNECT_MAX, DigestError, refused_postgres};

pub(super) struct Server {
    client: Client,
    /// The hypothetical index that was made last.
    tried: Option<String>,
}

fn text(row: &Row, at: usize) -> String {
    row.try_get::<_, Option<String>>(at).ok().flatten().unwrap_or_default()
}

impl Server {
    pub(super) async fn connect(address: &Address) -> Result<Self, DigestError> {
        let config = postgres_options(address, "wick queries");
        let connecting = tokio::time::timeout(CONNECT_MAX, config.connect(NoTls));
        let connected = connecting.await.map_err(|_| DigestError::Silent)?;
        let (client, connection) = connected.map_err(|error| refused_postgres(&error))?;
        // It ends with the client; what goes wrong is told to who asks next.
        drop(tokio::spawn(connection));
        let limits = "SET default_transaction_read_only = on; SET statement_timeout = '10s'";
        client.batch_execute(limits).await.map_err(|error| refused_postgres(&error))?;
        // auto_explain fails over indexes that aren't there. Who may not turn it off for a
        // session learns of it by the trial that fails.
        let _ = client.batch_execute("SET auto_explain.log_min_duration = -1").await;
        Ok(Self { client, tried: None })
    }

    async fn ask(&self, question: &str, name: &str) -> Result<Vec<Row>, DigestError> {
        let values: [&(dyn ToSql + Sync); 1] = [&name];
        self.client.query(question, &values).await.map_err(|error| refused_postgres(&error))
    }

    pub(super) async fn table(&self, name: &str) -> Result<Option<TableFacts>, DigestError> {
        let question = "SELECT c.relname::text, c.reltuples::text, a.attname::text, \
            (CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END)::text \
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
            JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname \
            AND s.attname = a.attname WHERE c.relkind IN ('r', 'p') \
            AND n.nspname = ANY (current_schemas(false)) AND lower(c.relname) = lower($1::text)";
        let rows = self.ask(question, name).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut facts = TableFacts {
            name: text(first, 0),
            rows: text(first, 1).parse().unwrap_or(0.0),
            ..TableFacts::default()
        };
        for row in &rows {
            let values = text(row, 3).parse().unwrap_or(0.0);
            facts.distinct.insert(text(row, 2).to_lowercase(), values);
        }
        let question = "SELECT i.indexrelid::text, a.attname::text, i.indisunique::text \
            FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
            JOIN pg_namespace n ON n.oid = c.relnamespace \
            CROSS JOIN unnest(i.indkey) WITH ORDINALITY k(number, place) \
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number \
            WHERE i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts \
            AND n.nspname = ANY (current_schemas(false)) AND lower(c.relname) = lower($1::text) \
            ORDER BY i.indexrelid, k.place";
        let rows = self.ask(question, name).await?;
        let columns = rows.iter().map(|row| (text(row, 0), text(row, 1), text(row, 2) == "true"));
        facts.indexes = indexes(columns);
        Ok(Some(facts))
    }

    /// Explains each statement without the index and with a hypothetical one.
    pub(super) async fn try_out(
        &mut self,
        candidate: &Candidate,
        statements: &[(&Want, &str)],
    ) -> Vec<Result<Trial, String>> {
        let failed = |why: String| statements.iter().map(|_| Err(why.clone())).collect();
        let question = "SELECT 1::text FROM pg_extension WHERE extname = $1::text";
        match self.ask(question, "hypopg").await {
            Err(error) => return failed(error.to_string()),
            Ok(there) if there.is_empty() => {
                let why = "with the extension hypopg in this database it could be tried without \
                           being made";
                return failed(why.to_owned());
            }
            Ok(_) => {}
        }
        let mut before = Vec::new();
        for (_, statement) in statements {
            before.push(self.cost(statement).await);
        }
        let columns: Vec<_> = candidate.columns.iter().map(|name| quote(name, false)).collect();
        let index =
            format!("CREATE INDEX ON {} ({})", quote(&candidate.table, false), columns.join(", "));
        let question = "SELECT indexrelid::text FROM hypopg_create_index($1::text)";
        match self.ask(question, &index).await {
            Ok(rows) => self.tried = rows.first().map(|row| text(row, 0)),
            Err(error) => return failed(error.to_string()),
        }
        let mut trials = Vec::new();
        for ((_, statement), before) in statements.iter().zip(before) {
            let after = self.cost(statement).await;
            let what = "the cost by the planner, ";
            trials.push(before.and_then(|before| Ok(Trial { before, after: after?, what })));
        }
        trials
    }

    /// Keeps the hypothetical index that was tried last, or not.
    pub(super) async fn settle(&mut self, is_kept: bool) -> Result<(), DigestError> {
        let Some(index) = self.tried.take().filter(|_| !is_kept) else { return Ok(()) };
        let question = "SELECT hypopg_drop_index($1::text::oid)::text";
        self.ask(question, &index).await.map(drop)
    }

    /// What the planner thinks that a statement costs.
    async fn cost(&self, statement: &str) -> Result<f64, String> {
        let rows = self.client.query(&format!("EXPLAIN {statement}"), &[]).await;
        // Its words may repeat literals; its code doesn't.
        let rows = rows.map_err(|error| match error.code() {
            Some(&SqlState::UNDEFINED_PARAMETER) => {
                "the example has placeholders, whose values are not known".to_owned()
            }
            Some(code) => format!("the server doesn't explain the example ({})", code.code()),
            None => "the example can't be explained".to_owned(),
        })?;
        let first = rows.first().map(|row| text(row, 0)).unwrap_or_default();
        let cost =
            first.split_once("..").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        cost.ok_or_else(|| "the server's plan can't be read".to_owned())
    }

    pub(super) async fn unused(&self) -> Result<Vec<Advice>, String> {
        let question = "SELECT s.relname::text, s.indexrelname::text, pg_get_indexdef(i.indexrelid), \
            pg_size_pretty(pg_relation_size(i.indexrelid)) \
            FROM pg_stat_user_indexes s JOIN pg_index i ON i.indexrelid = s.indexrelid \
            WHERE s.idx_scan = 0 AND NOT i.indisunique AND s.schemaname <> $1::text \
            ORDER BY pg_relation_size(i.indexrelid) DESC LIMIT 50";
        let rows = self.ask(question, "pg_catalog").await.map_err(|error| error.to_string())?;
        let told = rows.iter().map(|row| {
            unused(
                format!("DROP INDEX CONCURRENTLY {}", quote(&text(row, 1), false)),
                format!(
                    "no scan of {} used its {} since the server's statistics began, and each write keeps it",
                    text(row, 0),
                    text(row, 3)
                ),
                text(row, 2),
            )
        });
        Ok(told.collect())
    }
}
