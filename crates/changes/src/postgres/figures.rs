//! How busy a PostgreSQL server is.

use super::connection::Connection;
use crate::Lost;
use crate::figures::Figures;
use crate::statements::{self, Statement};

/// A transaction is counted when it ends; of others' backends anybody sees that they are there,
/// and what they do only who may.
const QUESTION: &str = "SELECT d.numbackends, \
    (SELECT count(*) FROM pg_stat_activity AS a \
        WHERE a.datname = d.datname AND a.state = 'active' AND a.pid <> pg_backend_pid()), \
    d.xact_commit + d.xact_rollback, d.blks_hit, d.blks_read \
    FROM pg_stat_database AS d WHERE d.datname = current_database()";

/// Where its time goes, if `pg_stat_statements` is there.
pub(crate) async fn statements(connection: &Connection) -> Result<Vec<Statement>, Lost> {
    let lines = connection.ask(statements::POSTGRES).await.map_err(|lost| match lost {
        // No such table.
        Lost::Refused { code, .. } if code == "42P01" => Lost::Impossible(
            "the server counts no statements: CREATE EXTENSION pg_stat_statements, with \
             shared_preload_libraries = 'pg_stat_statements'"
                .to_owned(),
        ),
        lost => lost,
    })?;
    let each =
        lines.iter().map(|line| Ok(statements::of(line.text(0), line.number(1)?, line.number(2)?)));
    let all: Result<Vec<Option<Statement>>, Lost> = each.collect();
    Ok(all?.into_iter().flatten().collect())
}

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
