//! Our publications: of which tables the server's log tells us what.
//!
//! A table of which updates are published, and whose rows are known by nothing, refuses
//! every update and delete of the site. So `wick_rows` holds only tables with a primary
//! key (or what stands for one), `wick_inserts` holds the others with what is added to
//! them only, and neither is ever of all tables.
//!
//! Invariants: 1. Nothing of a table is changed, and nobody who reads or writes waits for
//! us: to publish takes a lock that only changes of definitions and vacuums conflict with,
//! and gives up after half a second. 2. A table is published in one transaction with a
//! look at whether it may be, which under that lock nobody can change meanwhile. 3. The
//! names are the same for everyone who follows one database, and what all of them want is
//! the same, so publications that somebody left behind are taken on as they are.
//!
//! What is left: a site that takes a table's primary key away, and updates it before it has
//! another, is refused that until the next look (a quarter of a second); within one
//! transaction, for good. Publications stay when nobody follows. They cost nothing, but
//! hold that rule up; `DROP PUBLICATION wick_rows, wick_inserts` ends it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::catalog::{Catalog, INSERTS, ROWS, Relation};
use super::connection::Connection;
use crate::Lost;

/// A table that could not be published is tried again after this.
const AGAIN: Duration = Duration::from_secs(10);

/// Says that one of its tables has nothing that its rows are known by.
const IS_UNSAFE: &str = "\
    SELECT count(*) FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid \
    JOIN pg_class c ON c.oid = l.prrelid \
    WHERE p.pubname = 'wick_rows' AND c.relreplident <> 'f' \
        AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid \
            AND i.indisvalid AND i.indisunique AND i.indimmediate AND i.indpred IS NULL \
            AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident \
                ELSE false END)";

/// What could not be done lately, by table.
#[derive(Default)]
pub(super) struct Publications {
    failed: BTreeMap<u32, Instant>,
}

impl Publications {
    /// Makes those that are missing.
    pub(super) async fn make(connection: &Connection) -> Result<(), Lost> {
        for (name, operations) in
            [(ROWS, "insert, update, delete, truncate"), (INSERTS, "insert, truncate")]
        {
            let known = format!("SELECT count(*) FROM pg_publication WHERE pubname = '{name}'");
            if connection.ask_one(&known).await?.number::<u64>(0)? > 0 {
                continue;
            }
            let made = format!("CREATE PUBLICATION {name} WITH (publish = '{operations}')");
            match connection.run(&made).await {
                // Somebody else was quicker.
                Err(Lost::Refused { code, .. }) if code == "42710" || code == "23505" => {}
                made => made?,
            }
        }
        Ok(())
    }

    /// Publishes what is to be published, and no more; says which tables are so now that
    /// were not.
    pub(super) async fn settle(
        &mut self,
        connection: &Connection,
        catalog: &Catalog,
    ) -> Result<Vec<u32>, Lost> {
        self.failed.retain(|number, at| catalog.contains_key(number) && at.elapsed() < AGAIN);
        // What may no longer be there goes first: until then updates of it are refused.
        let is_wrong = |relation: &Relation| relation.is_in_rows && !relation.may_publish_rows();
        for (_, relation) in catalog.iter().filter(|(_, relation)| is_wrong(relation)) {
            tried(self::remove(connection, ROWS, relation).await)?;
        }
        let is_twice = |relation: &Relation| relation.is_in_inserts && relation.may_publish_rows();
        for (_, relation) in catalog.iter().filter(|(_, relation)| is_twice(relation)) {
            tried(self::remove(connection, INSERTS, relation).await)?;
        }
        let mut added = Vec::new();
        let rows: Vec<u32> =
            self.wanted(catalog, |relation| !relation.is_in_rows && relation.may_publish_rows());
        added.extend(self.add(connection, ROWS, &rows, catalog).await?);
        let inserts: Vec<u32> = self
            .wanted(catalog, |relation| !relation.is_in_inserts && relation.may_publish_inserts());
        added.extend(self.add(connection, INSERTS, &inserts, catalog).await?);
        Ok(added)
    }

    /// Whether nothing waits for another try.
    pub(super) fn is_settled(&self) -> bool {
        self.failed.is_empty()
    }

    fn wanted(&self, catalog: &Catalog, is_wanted: impl Fn(&Relation) -> bool) -> Vec<u32> {
        let is_it = |(number, relation): &(&u32, &Relation)| {
            relation.is_own && is_wanted(relation) && !self.failed.contains_key(number)
        };
        catalog.iter().filter(is_it).map(|(number, _)| *number).collect()
    }

    /// Adds tables all at once, or those one by one of which nothing is in the way.
    async fn add(
        &mut self,
        connection: &Connection,
        publication: &str,
        numbers: &[u32],
        catalog: &Catalog,
    ) -> Result<Vec<u32>, Lost> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let quoted = |number: &u32| catalog.get(number).map(Relation::quoted).unwrap_or_default();
        let all: Vec<String> = numbers.iter().map(quoted).collect();
        if tried(add(connection, publication, &all).await)? {
            return Ok(numbers.to_vec());
        }
        let mut added = Vec::new();
        for (number, name) in numbers.iter().zip(all) {
            if tried(add(connection, publication, &[name]).await)? {
                added.push(*number);
            } else {
                self.failed.insert(*number, Instant::now());
            }
        }
        Ok(added)
    }
}

async fn add(connection: &Connection, publication: &str, tables: &[String]) -> Result<(), Lost> {
    let tables = tables.join(", ONLY ");
    let added = connection
        .run(&format!("BEGIN; ALTER PUBLICATION {publication} ADD TABLE ONLY {tables}"))
        .await;
    let is_safe = match added {
        Ok(()) => connection.ask_one(IS_UNSAFE).await.and_then(|line| line.number::<u64>(0)),
        Err(lost) => Err(lost),
    };
    match is_safe {
        Ok(0) => connection.run("COMMIT").await,
        Ok(_) => {
            connection.run("ROLLBACK").await?;
            Err(Lost::Refused {
                code: "55000".to_owned(),
                message: "rows known by nothing".to_owned(),
            })
        }
        Err(lost @ Lost::Refused { .. }) => {
            connection.run("ROLLBACK").await?;
            Err(lost)
        }
        Err(lost) => Err(lost),
    }
}

async fn remove(
    connection: &Connection,
    publication: &str,
    relation: &Relation,
) -> Result<(), Lost> {
    let name = relation.quoted();
    connection.run(&format!("ALTER PUBLICATION {publication} DROP TABLE ONLY {name}")).await
}

/// Whether something was done; a refusal is for another time: a lock is in the way, the
/// table went, or another who follows did the same at once.
fn tried(done: Result<(), Lost>) -> Result<bool, Lost> {
    match done {
        Ok(()) => Ok(true),
        Err(Lost::Refused { .. }) => Ok(false),
        Err(lost) => Err(lost),
    }
}
