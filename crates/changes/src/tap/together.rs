//! The tap and the poll together: what the app changed, row by row, and what anybody else
//! did, by table.
//!
//! In: what passes the tap, and, five times a second, which tables changed and how many
//! statements that write the server has counted, both as the app's own user may ask. Out:
//! changes. [`Judge`] says which of the tables that changed are explained by what was heard.
//!
//! How long what others write may go untold: 0.4 s as a rule (a round, and the one after it,
//! in which it is judged), and 1.4 s beside an own statement that is under way. One that takes
//! longer than 2 s, on a table that the app itself writes at the same time, 60 s.
//!
//! What it misses, all of it on tables only that the app itself wrote within the same 2.6 s:
//! what the server doesn't count as a statement (rows that replication or a cluster applies,
//! cascades of keys), what others committed more than a minute after their last
//! statement by `SET autocommit`, `LOCK TABLES` or a definition, and a statement of theirs
//! that ran for more than a minute. And everywhere what no table's time tells: temporary
//! tables, sequences, and engines that keep no time, of which only the tap tells.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::Shared;
use super::alone::gone;
use super::judge::{Judge, Round};
use crate::connect::{connect, lost};
use crate::poll::{EVERY, compare, tables};
use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Event, Lost, Operation};

/// After so long without an answer the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// How often a moment is looked for at which no own statement is under way, and the time
/// between: less than a round, all together.
const COUNT_TRIES: u32 = 10;
const COUNT_AGAIN: Duration = Duration::from_millis(5);

/// How often each kind of statement was begun that writes, or makes visible what was written.
/// Of those of the first line the tap knows its own share (`Act::is_counted`); those of the
/// second are, to it, statements of which it isn't sure.
const COUNTS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN (\
    'Com_begin', 'Com_commit', 'Com_insert', 'Com_insert_select', 'Com_replace', \
    'Com_replace_select', 'Com_update', 'Com_delete', 'Com_truncate', \
    'Com_update_multi', 'Com_delete_multi', 'Com_load', 'Com_call_procedure', \
    'Com_compound_sql', 'Com_execute_immediate', 'Com_xa_commit', 'Com_multi')";

/// Hears the tap and asks the server for ever.
pub(crate) async fn follow(shared: Arc<Shared>, inlet: Inlet) {
    repeat(&inlet, || listen(shared.clone(), inlet.clone())).await;
}

async fn listen(shared: Arc<Shared>, inlet: Inlet) -> Result<std::convert::Infallible, Lost> {
    let address = &shared.address;
    let mut connection = connect(address).await?;
    // MySQL 8 answers from a day-old note unless told otherwise; MariaDB doesn't know the word.
    let _ = connection.query_drop("SET SESSION information_schema_stats_expiry = 0").await;
    let mut known = tables(&mut connection, address).await?;
    let judge = Arc::new(Mutex::new(Judge::default()));
    let database = &address.database;
    let _place = shared.hearers.join(&inlet, database, Some(judge.clone())).ok_or_else(gone)?;
    loop {
        tokio::time::sleep(EVERY).await;
        if shared.hearers.is_closed() {
            return Err(gone());
        }
        let now = tables(&mut connection, address).await?;
        // After the tables: who changed one has been counted before.
        let round = count(&shared, &mut connection).await?;
        let changes = compare(&known, &now, false);
        known = now;
        if changes.iter().any(|change| change.operation == Operation::Schema) {
            shared.tables.forget();
        }
        let told = judge.lock().round(changes, round);
        if told.is_empty() {
            inlet.tell(Event::Idle);
        } else {
            told.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
            inlet.tell(Event::Commit(None));
        }
    }
}

/// The server's count beside ours. While an own statement is under way nobody knows whether it
/// is in the server's, so a moment without one is waited for, if only for a little.
async fn count(shared: &Shared, connection: &mut Conn) -> Result<Round, Lost> {
    let mut tries = 1;
    loop {
        let (before, _) = shared.hearers.counts();
        let total = counted(connection).await?;
        let (after, unread) = shared.hearers.counts();
        let is_open = before.ended != after.begun;
        if !is_open || tries == COUNT_TRIES {
            return Ok(Round { total, before, after, has_unread: unread > 0 });
        }
        tries += 1;
        tokio::time::sleep(COUNT_AGAIN).await;
    }
}

async fn counted(connection: &mut Conn) -> Result<u64, Lost> {
    let lines: Vec<(String, u64)> = match timeout(SILENCE_MAX, connection.query(COUNTS)).await {
        Ok(answer) => answer.map_err(|error| lost(&error))?,
        Err(_) => return Err(Lost::Silent),
    };
    Ok(lines.iter().fold(0, |sum: u64, (_, count)| sum.wrapping_add(*count)))
}
