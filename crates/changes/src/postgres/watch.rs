//! Watching beside the log: tables that come, go and change, and those that the log does
//! not tell of.
//!
//! Four times a second the server is asked for its snapshot. Only if some transaction
//! ended since are its tables looked at (4 ms for 300 of them), and only tables that are
//! not wholly published have their counters read (2 µs each).
//!
//! Invariants: 1. A table that is published while it is written to is told as changed
//! until every transaction that ran then has ended: what one of them did before is not in
//! the log. 2. A server whose log goes on without us is one that we lost.
//!
//! Limit: counters come late. A server counts what a transaction did when its connection
//! ends, or at once if it has not done so for a second; else up to ten seconds later, and
//! not before the end of a transaction that follows at once (measured on 15.18). That is
//! how late an update of a table without a primary key may be heard of, and a write to one
//! that is unlogged or belongs to somebody else.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::catalog::{self, Catalog, Counters, Relation};
use super::connection::Connection;
use super::publications::Publications;
use super::stream::Shared;
use crate::queue::Inlet;
use crate::{Change, Event, Lost};

const EVERY: Duration = Duration::from_millis(250);
/// So many looks without news are a silence worth telling.
const QUIET: u32 = 4;
/// The log may be so far behind, while nothing at all comes of it.
const STALL_MAX: Duration = Duration::from_secs(30);

/// What is watched of one database.
pub(super) struct Watch {
    pub(super) connection: Connection,
    database: String,
    catalog: Catalog,
    counters: Counters,
    snapshot: Snapshot,
    publications: Publications,
    /// Tables that were published lately, and the first transaction that is surely told.
    young: BTreeMap<u32, u64>,
    shared: Arc<Shared>,
    inlet: Inlet,
}

/// Which transactions have ended, in the server's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    text: String,
    /// All before this one have ended…
    oldest: u64,
    /// …and none from this one on.
    next: u64,
}

impl Snapshot {
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let oldest = parts.next()?.parse().ok()?;
        let next = parts.next()?.parse().ok()?;
        Some(Self { text: text.to_owned(), oldest, next })
    }

    pub(super) async fn now(connection: &Connection) -> Result<Self, Lost> {
        let line = connection.ask_one("SELECT pg_current_snapshot()").await?;
        Self::read(line.text(0)).ok_or(Lost::Unreadable)
    }
}

impl Watch {
    /// Publishes what is there.
    pub(super) async fn begin(
        connection: Connection,
        database: &str,
        shared: Arc<Shared>,
        inlet: Inlet,
    ) -> Result<Self, Lost> {
        Publications::make(&connection).await?;
        let mut publications = Publications::default();
        let snapshot = Snapshot::now(&connection).await?;
        let catalog = catalog::read(&connection).await?;
        publications.settle(&connection, &catalog).await?;
        Ok(Self {
            connection,
            database: database.to_owned(),
            catalog: Catalog::new(),
            counters: Counters::new(),
            snapshot,
            publications,
            young: BTreeMap::new(),
            shared,
            inlet,
        })
    }

    /// Looks for the first time; from now on what happens is seen.
    pub(super) async fn look(&mut self) -> Result<(), Lost> {
        self.catalog = catalog::read(&self.connection).await?;
        *self.shared.keys.write() = catalog::keys(&self.connection).await?;
        self.counters = self.count().await?;
        Ok(())
    }

    /// Looks again and again, until that fails.
    pub(super) async fn run(&mut self) -> Result<Infallible, Lost> {
        let mut quiet = 0;
        let mut pulse = Pulse::new();
        loop {
            tokio::time::sleep(EVERY).await;
            let mut changes = self.tables().await?;
            let counters = self.count().await?;
            let counted = catalog::counted_unheard(&self.counters, &counters, &self.catalog);
            changes.extend(counted.map(|relation| self.anything(relation)));
            self.counters = counters;
            if changes.is_empty() {
                quiet += 1;
                if quiet % QUIET == 0 {
                    self.inlet.tell(Event::Idle);
                    pulse.feel(&self.connection, &self.shared).await?;
                }
                continue;
            }
            quiet = 0;
            changes.into_iter().for_each(|change| self.inlet.tell(Event::Change(change)));
            self.inlet.tell(Event::Commit(None));
        }
    }

    /// What happened to tables themselves, and to those that were just published.
    async fn tables(&mut self) -> Result<Vec<Change>, Lost> {
        let snapshot = Snapshot::now(&self.connection).await?;
        if snapshot == self.snapshot {
            return Ok(Vec::new());
        }
        let mut now = catalog::read(&self.connection).await?;
        let mut changes =
            catalog::compare(&self.database, &self.catalog, &now, Relation::is_published);
        // An unfinished transaction may have gone on writing without being in the log.
        self.young.retain(|number, _| now.contains_key(number));
        let young = self.young.keys().filter_map(|number| now.get(number));
        changes.extend(young.map(|relation| self.anything(relation)));
        self.young.retain(|_, next| snapshot.oldest < *next);
        if !changes.is_empty() {
            // Who shall sweep need not wait for the rest.
            changes.drain(..).for_each(|change| self.inlet.tell(Event::Change(change)));
            self.inlet.tell(Event::Commit(None));
            *self.shared.keys.write() = catalog::keys(&self.connection).await?;
        }
        let added = self.publications.settle(&self.connection, &now).await?;
        if !added.is_empty() || now.values().any(is_misplaced) {
            let next = Snapshot::now(&self.connection).await?.next;
            self.young.extend(added.into_iter().map(|number| (number, next)));
            now = with_publications_of(now, catalog::read(&self.connection).await?);
        }
        // What is not as it should be is looked at again even if nothing happens meanwhile.
        let is_settled = self.publications.is_settled() && !now.values().any(is_misplaced);
        self.snapshot = if is_settled { snapshot } else { Snapshot::default() };
        self.catalog = now;
        Ok(changes)
    }

    async fn count(&self) -> Result<Counters, Lost> {
        catalog::counters(&self.connection, &self.catalog, Relation::is_counted).await
    }

    fn anything(&self, relation: &Relation) -> Change {
        Change::anything(&self.database, &relation.named())
    }
}

/// Whether a table of ours is published otherwise than it may be.
fn is_misplaced(relation: &Relation) -> bool {
    let is_wrong = relation.is_in_rows && !relation.may_publish_rows()
        || relation.is_in_inserts && !relation.may_publish_inserts();
    relation.is_own && is_wrong
}

/// What was seen, with what is published by now: the rest of the later look is for the
/// next comparison.
fn with_publications_of(mut seen: Catalog, later: Catalog) -> Catalog {
    for (number, relation) in &mut seen {
        if let Some(later) = later.get(number) {
            relation.is_in_rows = later.is_in_rows;
            relation.is_in_inserts = later.is_in_inserts;
        }
    }
    seen
}

/// Whether the stream keeps up with the log.
struct Pulse {
    heard: u64,
    /// A place that was the end of the log, and when something was last heard.
    end: u64,
    at: Instant,
}

impl Pulse {
    fn new() -> Self {
        Self { heard: 0, end: 0, at: Instant::now() }
    }

    async fn feel(&mut self, connection: &Connection, shared: &Shared) -> Result<(), Lost> {
        let heard = shared.heard.load(Ordering::Relaxed);
        let is_alive = heard != self.heard || shared.told.load(Ordering::Relaxed) >= self.end;
        if is_alive {
            (self.heard, self.end, self.at) = (heard, connection.log_end().await?, Instant::now());
        }
        if self.at.elapsed() > STALL_MAX { Err(Lost::Silent) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_read() {
        for (text, expected) in
            [("7:9:7,8", Some((7, 9))), ("7:7:", Some((7, 7))), ("7", None), ("a:b:", None)]
        {
            let read = Snapshot::read(text).map(|snapshot| (snapshot.oldest, snapshot.next));
            assert_eq!(read, expected, "{text}");
        }
    }
}
