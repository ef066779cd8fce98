//! PostgreSQL: settings and statistics.
//!
//! Invariant: only SELECT is sent, and none runs longer than a second on the server.

use changes::Address;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::{Root, pairs};
use crate::machine::{Machine, Unseen};

const SETTINGS: &str = "SELECT name, CASE unit WHEN '8kB' THEN (setting::bigint * 8192)::text \
    WHEN 'kB' THEN (setting::bigint * 1024)::text WHEN 'MB' THEN (setting::bigint * 1048576)::text \
    ELSE setting END FROM pg_settings WHERE name IN ('shared_buffers', 'work_mem', \
    'maintenance_work_mem', 'max_connections', 'log_min_duration_statement', 'fsync', \
    'synchronous_commit', 'full_page_writes', 'effective_cache_size', 'random_page_cost', \
    'max_wal_size', 'server_version', 'autovacuum', 'idle_in_transaction_session_timeout', \
    'autovacuum_freeze_max_age', 'max_slot_wal_keep_size') UNION ALL \
    SELECT 'pending.' || name, setting FROM pg_settings WHERE pending_restart";

/// Of those beside each other the first that the server's version knows counts.
const COUNTERS: &[&[&str]] = &[
    &["SELECT 'blocks_hit', COALESCE(sum(blks_hit), 0)::text FROM pg_stat_database UNION ALL \
     SELECT 'blocks_read', COALESCE(sum(blks_read), 0)::text FROM pg_stat_database UNION ALL \
     SELECT 'temp_files', COALESCE(sum(temp_files), 0)::text FROM pg_stat_database UNION ALL \
     SELECT 'temp_bytes', COALESCE(sum(temp_bytes), 0)::text FROM pg_stat_database UNION ALL \
     SELECT 'connections', COALESCE(sum(numbackends), 0)::text FROM pg_stat_database"],
    &[
        "SELECT 'transaction_seconds', COALESCE(EXTRACT(EPOCH FROM now() - min(xact_start)), 0)::text \
     FROM pg_stat_activity WHERE backend_type = 'client backend'",
    ],
    &["SELECT 'data_bytes', sum(pg_database_size(oid))::text FROM pg_database \
     WHERE datallowconn AND has_database_privilege(oid, 'CONNECT')"],
    &["SELECT 'oldest_xid', max(age(datfrozenxid))::text FROM pg_database"],
    &[
        "SELECT 'dead_share', COALESCE(max(n_dead_tup::float8 / (n_live_tup + n_dead_tup)), 0)::text \
     FROM pg_stat_user_tables WHERE n_live_tup + n_dead_tup >= 10000",
    ],
    &["SELECT 'slots_unread', count(*)::text FROM pg_replication_slots WHERE NOT active"],
    &[
        "SELECT 'checkpoints_req', num_requested::text FROM pg_stat_checkpointer UNION ALL \
         SELECT 'checkpoints_timed', num_timed::text FROM pg_stat_checkpointer",
        "SELECT 'checkpoints_req', checkpoints_req::text FROM pg_stat_bgwriter UNION ALL \
         SELECT 'checkpoints_timed', checkpoints_timed::text FROM pg_stat_bgwriter",
    ],
];

/// What counts, as far as it is told until then.
pub(super) async fn count(root: &Root, address: Option<&Address>, until: Instant) -> Machine {
    let mut seen = Machine::default();
    let each = match address {
        None => recorded(root, "postgres-status.tsv"),
        Some(address) => match ask(address, COUNTERS, until).await {
            Ok(each) => each,
            Err(why) => {
                seen.unseen.push(unseen(address, &why));
                return seen;
            }
        },
    };
    for (name, value) in each {
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        seen.now.extend(number.map(|number| (format!("postgres.{name}"), number)));
    }
    seen
}

/// What is set.
pub(super) async fn read(root: &Root, address: Option<&Address>, until: Instant) -> Machine {
    let mut seen = Machine::default();
    let each = match address {
        None => Ok(recorded(root, "postgres-settings.tsv")),
        Some(address) => ask(address, &[&[SETTINGS]], until).await.map_err(|why| (address, why)),
    };
    match each {
        Ok(each) => seen
            .settings
            .extend(each.into_iter().map(|(name, value)| (format!("postgres.{name}"), value))),
        Err((address, why)) => seen.unseen.push(unseen(address, &why)),
    }
    seen
}

fn recorded(root: &Root, name: &str) -> Vec<(String, String)> {
    let text = root.recorded(name).unwrap_or_default();
    pairs(&text).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn unseen(address: &Address, why: &str) -> Unseen {
    Unseen {
        what: "PostgreSQL's settings and statistics".into(),
        cure: format!(
            "{}: {why}: name a login that may read pg_stat_activity with --postgres",
            address.door
        ),
    }
}

async fn ask(
    address: &Address,
    queries: &[&[&str]],
    until: Instant,
) -> Result<Vec<(String, String)>, String> {
    let asked = async {
        let config = changes::connect::postgres_options(address, "wick doctor");
        let (client, connection) = config.connect(NoTls).await.map_err(|error| told(&error))?;
        let driven = tokio::spawn(connection);
        let answers = answers(&client, queries).await;
        drop(client);
        driven.abort();
        answers
    };
    timeout_at(until, asked).await.unwrap_or_else(|_| Err("no answer in time".into()))
}

async fn answers(client: &Client, queries: &[&[&str]]) -> Result<Vec<(String, String)>, String> {
    client.simple_query("SET statement_timeout = 1000").await.map_err(|error| told(&error))?;
    let mut found = Vec::new();
    for alternatives in queries {
        for message in first_known(client, alternatives).await? {
            if let SimpleQueryMessage::Row(row) = message
                && let (Some(name), Some(value)) = (row.get(0), row.get(1))
            {
                found.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    Ok(found)
}

/// The answer to the first of these that this version of the server has tables for.
async fn first_known(
    client: &Client,
    alternatives: &[&str],
) -> Result<Vec<SimpleQueryMessage>, String> {
    let mut last = Ok(Vec::new());
    for query in alternatives {
        match client.simple_query(query).await {
            Ok(answer) => return Ok(answer),
            Err(error) => last = Err(told(&error)),
        }
    }
    last
}

/// The server's words; the driver's may repeat what was sent.
fn told(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => "it can't be reached".to_owned(),
    }
}
