//! Polling: what changed, as the app's own user may ask.
//!
//! A server's counters of rows tell which table was written to, but late: up to ten
//! seconds, and longer if a long transaction follows (see `watch`). They are exact as soon
//! as the connection that wrote has ended. So each look asks first which transactions have
//! ended and whether anybody else is connected to the database; only then for the counters.
//!
//! 1. No transaction ended since the last look: nothing was written.
//! 2. Some did, and nobody else is connected: the counters tell which tables.
//! 3. Some did, and somebody is: any table may have been written to.
//!
//! Invariant: a change that others can read is told with the next look, 200 ms later at
//! most, and the time that the server takes to answer. Counters that come late tell it
//! again, which is one sweep too many.
//!
//! What this sweeps in vain: transactions of other databases of the same server, while
//! somebody is connected to this one. Apps that keep connections have it always so.

use std::convert::Infallible;
use std::time::Duration;

use super::catalog::{self, Relation};
use super::connection::{Connection, database};
use super::watch::Snapshot;
use crate::queue::Inlet;
use crate::{Address, Change, Event, Lost};

const EVERY: Duration = Duration::from_millis(200);

/// Who else may have written to this database and not counted it yet. Our own connections
/// write nothing.
const NOW: &str = "\
    SELECT pg_current_snapshot(), \
        EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
            AND pid <> pg_backend_pid() AND application_name IS DISTINCT FROM 'wick')";

pub(super) async fn watch(address: Address, inlet: Inlet) -> Result<Infallible, Lost> {
    let connection = Connection::open(&address).await?;
    let database = database(&address);
    let mut snapshot = Snapshot::now(&connection).await?;
    let mut catalog = catalog::read(&connection).await?;
    let mut counters = catalog::counters(&connection, &catalog, Relation::has_rows).await?;
    inlet.tell(Event::Recovered);
    loop {
        tokio::time::sleep(EVERY).await;
        let line = connection.ask_one(NOW).await?;
        let now = Snapshot::read(line.text(0)).ok_or(Lost::Unreadable)?;
        let mut changes = Vec::new();
        if now != snapshot {
            let tables = catalog::read(&connection).await?;
            changes = catalog::compare(database, &catalog, &tables, |_| false);
            catalog = tables;
            if line.is_true(1) {
                changes.push(Change::anything(database, ""));
            }
            snapshot = now;
        }
        let counted = catalog::counters(&connection, &catalog, Relation::has_rows).await?;
        let named = |relation: &Relation| Change::anything(database, &relation.named());
        changes.extend(catalog::counted(&counters, &counted, &catalog).map(named));
        counters = counted;
        if changes.is_empty() {
            inlet.tell(Event::Idle);
            continue;
        }
        changes.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
        inlet.tell(Event::Commit(None));
    }
}
