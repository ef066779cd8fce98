//! How busy a PostgreSQL server is.

use super::connection::Connection;
use crate::Lost;
use crate::figures::Figures;

/// A transaction is counted when it ends; of others' backends anybody sees that they are there,
/// and what they do only who may.
const QUESTION: &str = "SELECT d.numbackends, \
    (SELECT count(*) FROM pg_stat_activity AS a \
        WHERE a.datname = d.datname AND a.state = 'active' AND a.pid <> pg_backend_pid()), \
    d.xact_commit + d.xact_rollback, d.blks_hit, d.blks_read \
    FROM pg_stat_database AS d WHERE d.datname = current_database()";

pub(crate) async fn figures(connection: &Connection) -> Result<Figures, Lost> {
    let line = connection.ask_one(QUESTION).await?;
    Ok(Figures {
        connections: Some(line.number(0)?),
        running: Some(line.number(1)?),
        questions: Some(line.number(2)?),
        slow: None,
        memory_hits: Some(line.number(3)?),
        memory_misses: Some(line.number(4)?),
    })
}
