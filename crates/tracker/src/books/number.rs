//! The number of the last batch, where the database has it: in the one row of a tracker that is
//! alone, or in each tracker's row of a ledger that several write.

use super::contract::Dialect;
use super::link::{Link, Row, Trouble};
use super::schema::{BATCHES, batches_row, batches_table};
use super::shared::{NODES, Node, rows, shared_tables};

/// The number; makes the table and the row that say it, where there are none and we may. From
/// then on the other trackers wait for what this one has to tell.
pub(crate) async fn number(
    link: &mut Link,
    dialect: Dialect,
    node: Option<&Node>,
) -> Result<u64, Trouble> {
    let alone = number_of(link, dialect, (BATCHES, 1), &[batches_table(dialect)]).await?;
    let Some(node) = node else {
        are_there_others(link).await?;
        if alone.is_none() {
            link.run(&batches_row(dialect)).await?;
        }
        return Ok(alone.unwrap_or(0));
    };
    let row = (NODES, node.id);
    let number = number_of(link, dialect, row, &shared_tables(dialect)).await?;
    // Of those that it made alone, that many are written.
    let alone = alone.unwrap_or(0).min(node.last_alone);
    if number.is_none() {
        for row in rows(dialect, node, alone) {
            link.run(&row).await?;
        }
    }
    let id = node.id;
    let back = format!("UPDATE {NODES} SET is_gone = 0 WHERE id = {id} AND is_gone <> 0");
    link.run(&back).await?;
    Ok(number.unwrap_or(alone))
}

/// Who is alone doesn't write where several do: what a client did between it and them would count
/// twice.
async fn are_there_others(link: &mut Link) -> Result<(), Trouble> {
    let others = format!("SELECT COUNT(*) FROM {NODES} WHERE id <> 0 AND is_gone = 0");
    match link.ask(&others).await {
        Ok(rows) if rows.first().and_then(|row| row.number(0)).unwrap_or(0) > 0 => {
            Err(Trouble::Refused(format!(
                "several nodes of a [cluster] write into this database, and this tracker is none of \
                 them: write [cluster] here too; or, where they are gone for good, run: UPDATE \
                 {NODES} SET is_gone = 1"
            )))
        }
        Ok(_) => Ok(()),
        Err(Trouble::Away(why)) => Err(Trouble::Away(why)),
        // There is no such table.
        Err(_) => Ok(()),
    }
}

async fn number_of(
    link: &mut Link,
    dialect: Dialect,
    row: (&str, u64),
    tables: &[String],
) -> Result<Option<u64>, Trouble> {
    let answer = match locked(link, dialect, row).await {
        Err(trouble) if trouble.is_owners() => {
            link.run("ROLLBACK").await?;
            for table in tables {
                link.run(table).await?;
            }
            locked(link, dialect, row).await?
        }
        answer => answer?,
    };
    Ok(answer.first().map(|row| row.number(0).unwrap_or(0)))
}

/// Reads it under its lock: a commit that is still under way somewhere, of a connection or a
/// process that has gone, is waited for.
async fn locked(
    link: &mut Link,
    dialect: Dialect,
    (table, id): (&str, u64),
) -> Result<Vec<Row>, Trouble> {
    let lock = if dialect == Dialect::Sqlite { "" } else { " FOR UPDATE" };
    link.run(dialect.begin()).await?;
    let answer = link.ask(&format!("SELECT number FROM {table} WHERE id = {id}{lock}")).await?;
    link.run("COMMIT").await?;
    Ok(answer)
}
