//! Polling: when a server's tables were last changed, as the app's own user may ask.
//!
//! In: `information_schema.TABLES`, several times a second. Out: changes of whole tables.
//! Invariant: times are whole seconds there, so a table that changed in this second may
//! do so again unseen. It is told again with every poll until that second is over, or until
//! the server says that no transaction of InnoDB has begun or ended since the poll before.

use std::collections::BTreeMap;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::time::timeout;

use crate::connect::{connect, lost};
use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Address, Change, Event, Lost, Operation};

/// How often it asks; an answer costs a server of hundreds of tables less than a millisecond.
pub(crate) const EVERY: Duration = Duration::from_millis(200);
/// How soon it asks once more where something has changed: until nothing does, no page is kept.
const AGAIN: Duration = Duration::from_millis(80);
/// After so long without an answer the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);

const TABLES: &str = "\
    SELECT TABLE_SCHEMA, TABLE_NAME, CAST(CREATE_TIME AS CHAR), CAST(UPDATE_TIME AS CHAR), \
           COALESCE(UPDATE_TIME >= NOW() - INTERVAL 1 SECOND, 0), \
           COALESCE(ENGINE = 'InnoDB', 0) \
    FROM information_schema.TABLES \
    WHERE TABLE_TYPE = 'BASE TABLE' AND (TABLE_SCHEMA = ? OR ? = '' AND TABLE_SCHEMA NOT IN \
          ('mysql', 'sys', 'information_schema', 'performance_schema'))";

/// The number that the next transaction is given: MariaDB's goes up as one that writes begins, and
/// once more as its commit does. MySQL has none.
const NUMBER: &str = "SHOW GLOBAL STATUS LIKE 'Innodb_max_trx_id'";

type Line = (String, String, Option<String>, Option<String>, u8, u8);

/// Watches the tables of `address` for ever.
pub(crate) async fn follow(address: Address, inlet: Inlet) {
    repeat(&inlet, || watch(address.clone(), inlet.clone())).await;
}

async fn watch(address: Address, inlet: Inlet) -> Result<std::convert::Infallible, Lost> {
    let mut connection = connect(&address).await?;
    // MySQL 8 answers from a day-old note unless told otherwise; MariaDB doesn't know the word.
    let _ = connection.query_drop("SET SESSION information_schema_stats_expiry = 0").await;
    let mut number = transactions(&mut connection).await?;
    let mut known = tables(&mut connection, &address).await?;
    let mut pause = EVERY;
    inlet.tell(Event::Recovered);
    loop {
        tokio::time::sleep(pause).await;
        let before = number;
        if before.is_some() {
            // Before the tables: what is committed between these two has another number next time.
            number = transactions(&mut connection).await?;
        }
        let is_still = before.is_some() && number == before;
        let now = tables(&mut connection, &address).await?;
        let changes = compare(&known, &now, is_still);
        known = now;
        let is_first = pause == EVERY && !changes.is_empty();
        pause = if is_first { AGAIN } else { EVERY };
        if changes.is_empty() {
            inlet.tell(Event::Idle);
        } else {
            changes.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
            inlet.tell(Event::Commit(None));
        }
    }
}

pub(crate) async fn tables(connection: &mut Conn, address: &Address) -> Result<Tables, Lost> {
    let asked = connection.exec(TABLES, (&address.database, &address.database));
    let lines: Vec<Line> = answer(asked).await?;
    let table = |(database, name, made, changed, is_recent, is_counted)| {
        let table = Table { made, changed, is_recent: is_recent != 0, is_counted: is_counted != 0 };
        ((database, name), table)
    };
    Ok(lines.into_iter().map(table).collect())
}

async fn transactions(connection: &mut Conn) -> Result<Option<u64>, Lost> {
    let line: Option<(String, u64)> = answer(connection.query_first(NUMBER)).await?;
    Ok(line.map(|(_, number)| number))
}

async fn answer<T>(asked: impl Future<Output = mysql_async::Result<T>>) -> Result<T, Lost> {
    match timeout(SILENCE_MAX, asked).await {
        Ok(answer) => answer.map_err(|error| lost(&error)),
        Err(_) => Err(Lost::Silent),
    }
}

/// Tables by database and name, as they stood at one asking.
pub(crate) type Tables = BTreeMap<(String, String), Table>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    made: Option<String>,
    changed: Option<String>,
    /// Changed within this second or the one before it.
    is_recent: bool,
    /// Whether the server's transactions are all that changes it.
    is_counted: bool,
}

/// What may have changed between two answers. `is_still`: no transaction began or ended meanwhile.
pub(crate) fn compare(before: &Tables, now: &Tables, is_still: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    changes.extend(gone.map(|(database, table)| Change::of(database, table, Operation::Schema)));
    for ((database, name), table) in now {
        let old = before.get(&(database.clone(), name.clone()));
        if old.is_none_or(|old| old.made != table.made) {
            changes.push(Change::of(database, name, Operation::Schema));
        } else if old.is_none_or(|old| old.changed != table.changed) {
            changes.push(Change::anything(database, name));
        } else if table.is_recent && !(is_still && table.is_counted) {
            changes.push(Change { is_again: true, ..Change::anything(database, name) });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables such as `posts 1 7!`: name, made, changed, `!` for just now; MyISAM's in capitals.
    fn tables(lines: &[&str]) -> Tables {
        let line = |line: &&str| {
            let mut words = line.split(' ').map(str::to_owned);
            let name = words.next().unwrap_or_default();
            let (made, changed) = (words.next(), words.next());
            let is_recent = changed.as_ref().is_some_and(|changed| changed.ends_with('!'));
            let changed = changed.map(|changed| changed.trim_end_matches('!').to_owned());
            let is_counted = name.chars().all(char::is_lowercase);
            (("site".to_owned(), name), Table { made, changed, is_recent, is_counted })
        };
        lines.iter().map(line).collect()
    }

    fn check(before: &[&str], now: &[&str], expected: &[&str]) {
        check_of(false, before, now, expected);
    }

    fn check_of(is_still: bool, before: &[&str], now: &[&str], expected: &[&str]) {
        let changes = compare(&tables(before), &tables(now), is_still);
        let shown: Vec<String> = changes
            .iter()
            .map(|change| {
                let again = if change.is_again { " again" } else { "" };
                format!("{:?} {}{again}", change.operation, change.table)
            })
            .collect();
        assert_eq!(shown, expected, "{before:?} {now:?}");
    }

    #[test]
    fn tables_are_told_when_they_may_have_changed() {
        check(&["a 1 5"], &["a 1 5"], &[]);
        check(&["a 1 5"], &["a 1 6!"], &["Other a"]);
        // The same second again: it may have changed once more.
        check(&["a 1 6!"], &["a 1 6!"], &["Other a again"]);
        check(&["a 1 6!"], &["a 1 6"], &[]);
        // A restarted server has forgotten.
        check(&["a 1 6"], &["a 1"], &["Other a"]);
        check(&["a 1 6", "b 1 1"], &["a 2 6", "c 2"], &["Schema b", "Schema a", "Schema c"]);
    }

    #[test]
    fn nothing_is_told_again_where_no_transaction_began_or_ended() {
        check_of(true, &["a 1 6!", "B 1 6!"], &["a 1 6!", "B 1 6!"], &["Other B again"]);
        check_of(true, &["a 1 5", "b 1 5"], &["a 1 6!", "b 2 5"], &["Other a", "Schema b"]);
    }
}
