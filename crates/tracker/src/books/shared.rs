//! The ledger of several trackers in one database: what each announce adds is found out in the
//! transaction that writes it, by what all of them wrote of its session.
//!
//! In: a batch and its points. Out: the same batch with what the points add. Two tables:
//! [`NODES`] has a row for each tracker, with the number of its last batch and up to when it has
//! told all that it was announced, and row 0, which whoever writes holds; [`POINTS`] has the
//! announces of each session that are still needed, and, of torrent 0, the hundredths of a byte
//! that a user is still owed.
//! Invariants: 1. one tracker at a time reads and writes points, whatever the isolation: row 0 is
//! locked first. 2. an announce is dropped only where every tracker has told what was before the
//! next of its session. 3. who was gone and comes back is credited only what is known for sure.
//! Start at [`settle`]; what an announce adds is [`chain::insert`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use wire::tracker::PeerId;

use super::contract::Dialect;
use super::link::{Link, Row as Answer, Trouble};
use super::value::Value;
use crate::credit::{Batch, Credit, LastSession, Point};
use crate::ledger::accounting::weigh;
use crate::ledger::chain::{self, CLOCKS_SECONDS, GAP_SECONDS, PLACES, Row};
use crate::rights::{TorrentId, UserId};

/// A row for each tracker.
pub const NODES: &str = "wick_tracker_nodes";
/// The announces of sessions.
pub const POINTS: &str = "wick_tracker_points";

/// Sessions' users and torrents in one question, and rows in one statement.
const AT_ONCE: usize = 200;
/// Who hasn't told for so long is spoken of.
const AWAITED_SECONDS: u32 = 600;
const COMPLETE: u64 = 1;
const STARTED: u64 = 2;
const STOPPED: u64 = 4;

/// One of the trackers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// By what it is told from the others for good; below 2⁶³, and not 0.
    pub id: u64,
    /// What people call it.
    pub name: String,
    /// The last batch that it made before there were several; 0 if it made none.
    pub last_alone: u64,
}

/// What makes both tables.
#[must_use]
pub fn shared_tables(dialect: Dialect) -> Vec<String> {
    let engine = if dialect == Dialect::MySql { " ENGINE = InnoDB" } else { "" };
    let (index, after) = match dialect {
        Dialect::MySql => (", KEY place (place)", None),
        Dialect::Postgres | Dialect::Sqlite => {
            ("", Some(format!("CREATE INDEX IF NOT EXISTS {POINTS}_place ON {POINTS} (place)")))
        }
    };
    let mut tables = vec![
        format!(
            "CREATE TABLE IF NOT EXISTS {NODES} (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(64) \
             NOT NULL, number BIGINT NOT NULL, written BIGINT NOT NULL, told BIGINT NOT NULL, \
             is_gone SMALLINT NOT NULL DEFAULT 0){engine}"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {POINTS} (user_id BIGINT NOT NULL, torrent_id BIGINT NOT \
             NULL, peer_id CHAR(40) NOT NULL, place BIGINT NOT NULL, node BIGINT NOT NULL, \
             uploaded BIGINT NOT NULL, downloaded BIGINT NOT NULL, flags SMALLINT NOT NULL, \
             PRIMARY KEY (user_id, torrent_id, peer_id, place){index}){engine}"
        ),
    ];
    tables.extend(after);
    tables
}

/// What puts a tracker's row there, and row 0; `number` is that of its last batch that is written.
/// It hasn't told anything yet.
pub(crate) fn rows(dialect: Dialect, node: &Node, number: u64) -> [String; 2] {
    let (ignore, conflict) = match dialect {
        Dialect::MySql => ("IGNORE ", ""),
        Dialect::Postgres | Dialect::Sqlite => ("", " ON CONFLICT (id) DO NOTHING"),
    };
    let row = |id: u64, name: &str, number: u64| {
        let text = quoted(dialect, name);
        format!(
            "INSERT {ignore}INTO {NODES} (id, name, number, written, told) \
             VALUES ({id}, {text}, {number}, 0, 0){conflict}"
        )
    };
    [row(0, "", 0), row(node.id, &node.name, number)]
}

/// A node's name as it is in the database.
fn quoted(dialect: Dialect, name: &str) -> String {
    let mut text = String::new();
    let name: String = name.chars().take(64).collect();
    Value::Text(name).write(dialect, super::contract::Times::Unix, u64::MAX, &mut text);
    text
}

/// Waits no more for trackers by these names. Who comes back all the same is waited for again.
pub(crate) async fn let_go(
    link: &mut Link,
    dialect: Dialect,
    node: &Node,
    names: &[String],
) -> Result<(), Trouble> {
    let names: Vec<String> = names.iter().map(|name| quoted(dialect, name)).collect();
    let which = format!("name IN ({}) AND id NOT IN (0, {})", names.join(", "), node.id);
    link.run(&format!("UPDATE {NODES} SET is_gone = 1 WHERE {which}")).await.map(drop)
}

/// A tracker that hasn't told for long: what the others are announced is kept for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Awaited {
    /// As in [`NODES`].
    pub id: u64,
    /// What people call it.
    pub name: String,
    /// Up to when it has told all; unix seconds, 0 if it never did.
    pub told: u32,
}

/// Tells that all that was announced until a moment is written, and drops what nobody can need
/// any more. Says who is waited for longest, if for long.
pub(crate) async fn tell(
    link: &mut Link,
    dialect: Dialect,
    node: &Node,
    told: u32,
) -> Result<Option<Awaited>, Trouble> {
    link.run(dialect.begin()).await?;
    hold(link).await?;
    let id = node.id;
    link.run(&format!("UPDATE {NODES} SET told = {told} WHERE id = {id} AND told < {told}"))
        .await?;
    let gone = horizon(link).await?.saturating_sub(GAP_SECONDS);
    // Who comes back with what belongs beside it is too late.
    let late = gone + CLOCKS_SECONDS;
    link.run(&format!("UPDATE {NODES} SET told = {late} WHERE id = 0 AND told < {late}")).await?;
    link.run(&ended(dialect, gone * PLACES)).await?;
    link.run("COMMIT").await?;
    let since = told.saturating_sub(AWAITED_SECONDS);
    let question = format!(
        "SELECT id, name, told FROM {NODES} WHERE id NOT IN (0, {id}) AND is_gone = 0 \
         AND told < {since} ORDER BY told LIMIT 1"
    );
    let awaited = |row: &Answer| {
        let (id, name) = (row.number(0)?, row.text(1)?.to_owned());
        let told = row.number(2).and_then(|told| u32::try_from(told).ok())?;
        Some(Awaited { id, name, told })
    };
    Ok(link.ask(&question).await?.first().and_then(awaited))
}

/// What drops sessions whose last announce was before a place: whole ones, since what is left of a
/// part could be credited anew.
fn ended(dialect: Dialect, gone: u64) -> String {
    let of = format!(
        "later.user_id = old.user_id AND later.torrent_id = old.torrent_id AND later.peer_id = \
         old.peer_id AND later.place >= {gone}"
    );
    let which = format!("old.place < {gone} AND old.torrent_id <> 0");
    match dialect {
        Dialect::MySql => format!(
            "DELETE old FROM {POINTS} AS old LEFT JOIN {POINTS} AS later ON {of} WHERE {which} AND \
             later.place IS NULL"
        ),
        Dialect::Postgres | Dialect::Sqlite => format!(
            "DELETE FROM {POINTS} AS old WHERE {which} AND NOT EXISTS (SELECT 1 FROM {POINTS} AS \
             later WHERE {of})"
        ),
    }
}

/// The database's clock, in unix seconds.
pub(crate) fn clock(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "UNIX_TIMESTAMP()",
        Dialect::Postgres => "EXTRACT(EPOCH FROM now())",
        Dialect::Sqlite => "strftime('%s', 'now')",
    }
}

/// Waits until nobody else writes points; nobody else does from then on.
async fn hold(link: &mut Link) -> Result<(), Trouble> {
    match link.run(&format!("UPDATE {NODES} SET number = number + 1 WHERE id = 0")).await? {
        0 => Err(Trouble::Refused(format!(
            "{NODES} has no row 0 any more: INSERT INTO {NODES} VALUES (0, '', 0, 0, 0, 0) ends \
             that"
        ))),
        _ => Ok(()),
    }
}

/// Up to when all trackers have told all that they were announced.
async fn horizon(link: &mut Link) -> Result<u64, Trouble> {
    let question = format!("SELECT MIN(told) FROM {NODES} WHERE id <> 0 AND is_gone = 0");
    Ok(link.ask(&question).await?.first().and_then(|row| row.number(0)).unwrap_or(0))
}

/// Sessions, by user, torrent and client.
type Key = (u32, u32, [u8; 20]);
/// Of each, what is there.
type Sessions = BTreeMap<Key, Vec<Row>>;

/// Makes of a batch what it adds to what all trackers wrote, and writes its points. Says how many
/// of them came too late to be credited. Within the transaction.
pub(crate) async fn settle<'a>(
    link: &mut Link,
    node: &Node,
    batch: &'a Batch,
) -> Result<(Cow<'a, Batch>, u64), Trouble> {
    if batch.points.is_empty() {
        // It was earned while there was one tracker, or nothing was.
        return Ok((Cow::Borrowed(batch), 0));
    }
    hold(link).await?;
    let number = |row: Option<&Answer>, at| row.and_then(|row| row.number(at)).unwrap_or(0);
    let question = format!("SELECT told FROM {NODES} WHERE id");
    let own = link.ask(&format!("{question} = {}", node.id)).await?;
    let own = number(own.first(), 0);
    let dropped = link.ask(&format!("{question} = 0")).await?;
    let dropped = number(dropped.first(), 0);
    let floor = horizon(link).await?.max(dropped);
    let mut sessions = known(link, &batch.points).await?;
    let mut rests = rests(link, &batch.points).await?;
    let before = rests.clone();
    let mut added = Added::default();
    let mut changes = Vec::new();
    for point in &batch.points {
        let key = (point.user.0, point.torrent.0, point.peer_id.0);
        let rows = sessions.entry(key).or_default();
        // Whatever its clock says: before it told that it had told all, it didn't know of this.
        let at = u64::from(point.at).max(own + 1);
        match chain::insert(rows, row(point, at, node.id), dropped * PLACES) {
            Some((row, link)) => {
                changes.push((key, row));
                added.add(point, &link, rests.entry(point.user.0).or_default());
            }
            None => added.too_late += 1,
        }
    }
    write(link, &changes).await?;
    drop_unneeded(link, &sessions, floor * PLACES).await?;
    write_rests(link, &before, &rests).await?;
    link.run(&format!("UPDATE {NODES} SET told = {floor} WHERE id = 0")).await?;
    Ok((Cow::Owned(added.to(batch)), added.too_late))
}

fn row(point: &Point, at: u64, node: u64) -> Row {
    Row {
        place: at * PLACES,
        node,
        uploaded: point.uploaded,
        downloaded: point.downloaded,
        is_complete: point.is_complete,
        has_started: point.has_started,
        has_stopped: point.has_stopped,
    }
}

/// What is there of the sessions of these points.
async fn known(link: &mut Link, points: &[Point]) -> Result<Sessions, Trouble> {
    let mut pairs: Vec<(u32, u32)> =
        points.iter().map(|point| (point.user.0, point.torrent.0)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut sessions = Sessions::new();
    for pairs in pairs.chunks(AT_ONCE) {
        let of =
            |(user, torrent): &(u32, u32)| format!("(user_id = {user} AND torrent_id = {torrent})");
        let which = pairs.iter().map(of).collect::<Vec<_>>().join(" OR ");
        let question = format!(
            "SELECT user_id, torrent_id, peer_id, place, node, uploaded, downloaded, flags \
             FROM {POINTS} WHERE {which}"
        );
        for answer in link.ask(&question).await? {
            let (key, row) = read(&answer).ok_or_else(|| {
                Trouble::Refused(format!("{POINTS} has a row that no tracker wrote"))
            })?;
            sessions.entry(key).or_default().push(row);
        }
    }
    sessions.values_mut().for_each(|rows| rows.sort_unstable_by_key(|row| row.place));
    Ok(sessions)
}

fn read(answer: &Answer) -> Option<(Key, Row)> {
    let number = |at| answer.number(at);
    let id = |at| number(at).and_then(|id| u32::try_from(id).ok());
    let peer_id = super::registry::hexadecimal(answer.bytes(2)?)?.try_into().ok()?;
    let flags = number(7)?;
    let row = Row {
        place: number(3)?,
        node: number(4)?,
        uploaded: number(5)?,
        downloaded: number(6)?,
        is_complete: flags & COMPLETE != 0,
        has_started: flags & STARTED != 0,
        has_stopped: flags & STOPPED != 0,
    };
    Some(((id(0)?, id(1)?, peer_id), row))
}

async fn write(link: &mut Link, rows: &[(Key, Row)]) -> Result<(), Trouble> {
    for rows in rows.chunks(AT_ONCE) {
        let mut text = format!("INSERT INTO {POINTS} VALUES ");
        for (at, ((user, torrent, peer_id), row)) in rows.iter().enumerate() {
            let Row { place, node, uploaded, downloaded, .. } = row;
            let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
            let flags = flag(row.is_complete, COMPLETE)
                | flag(row.has_started, STARTED)
                | flag(row.has_stopped, STOPPED);
            let comma = if at == 0 { "" } else { ", " };
            let peer_id = hexadecimal(peer_id);
            let _ = write!(
                text,
                "{comma}({user}, {torrent}, '{peer_id}', {place}, {node}, {uploaded}, \
                 {downloaded}, {flags})"
            );
        }
        link.run(&text).await?;
    }
    Ok(())
}

/// Drops the announces before those that are needed.
async fn drop_unneeded(link: &mut Link, sessions: &Sessions, floor: u64) -> Result<(), Trouble> {
    let mut gone = Vec::new();
    for ((user, torrent, peer_id), rows) in sessions {
        let needed = chain::needed(rows, floor);
        if needed > 0 {
            gone.push(format!(
                "(user_id = {user} AND torrent_id = {torrent} AND peer_id = '{}' AND place < {})",
                hexadecimal(peer_id),
                rows[needed].place
            ));
        }
    }
    for gone in gone.chunks(AT_ONCE) {
        link.run(&format!("DELETE FROM {POINTS} WHERE {}", gone.join(" OR "))).await?;
    }
    Ok(())
}

/// Hundredths that users are still owed, sent and taken.
type Rests = BTreeMap<u32, [u8; 2]>;

/// Those of whom anything isn't worth whole bytes.
async fn rests(link: &mut Link, points: &[Point]) -> Result<Rests, Trouble> {
    let is_odd = |point: &&Point| {
        !point.worth.uploaded.is_multiple_of(100) || !point.worth.downloaded.is_multiple_of(100)
    };
    let mut users: Vec<u32> = points.iter().filter(is_odd).map(|point| point.user.0).collect();
    users.sort_unstable();
    users.dedup();
    let mut rests = Rests::new();
    for users in users.chunks(AT_ONCE) {
        let of: Vec<String> = users.iter().map(u32::to_string).collect();
        let question = format!(
            "SELECT user_id, uploaded, downloaded FROM {POINTS} \
             WHERE torrent_id = 0 AND user_id IN ({})",
            of.join(", ")
        );
        for row in link.ask(&question).await? {
            let rest = |at| row.number(at).map_or(0, |rest| (rest % 100) as u8);
            let user = row.number(0).and_then(|id| u32::try_from(id).ok());
            rests.extend(user.map(|user| (user, [rest(1), rest(2)])));
        }
    }
    Ok(rests)
}

async fn write_rests(link: &mut Link, before: &Rests, after: &Rests) -> Result<(), Trouble> {
    let changed =
        after.iter().filter(|(user, rest)| before.get(user).copied().unwrap_or_default() != **rest);
    let changed: Vec<(&u32, &[u8; 2])> = changed.collect();
    for changed in changed.chunks(AT_ONCE) {
        let users: Vec<String> = changed.iter().map(|(user, _)| user.to_string()).collect();
        let rows = changed.iter().map(|(user, [uploaded, downloaded])| {
            format!("({user}, 0, '', 0, 0, {uploaded}, {downloaded}, 0)")
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        link.run(&format!(
            "DELETE FROM {POINTS} WHERE torrent_id = 0 AND user_id IN ({})",
            users.join(", ")
        ))
        .await?;
        link.run(&format!("INSERT INTO {POINTS} VALUES {rows}")).await?;
    }
    Ok(())
}

/// What the points of a batch add.
#[derive(Default)]
struct Added {
    sessions: BTreeMap<(UserId, TorrentId, [u8; 20]), Sums>,
    too_late: u64,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    uploaded: u64,
    downloaded: u64,
    told_uploaded: u64,
    told_downloaded: u64,
    token_downloaded: u64,
    has_ended_token: bool,
    completed: u64,
    seeded_seconds: u64,
}

impl Added {
    fn add(&mut self, point: &Point, link: &chain::Link, [sent, taken]: &mut [u8; 2]) {
        let key = (point.user, point.torrent, point.peer_id.0);
        let sums = self.sessions.entry(key).or_default();
        sums.told_uploaded = sums.told_uploaded.saturating_add(link.uploaded);
        sums.told_downloaded = sums.told_downloaded.saturating_add(link.downloaded);
        let worth = point.worth;
        let uploaded = weigh(link.uploaded, worth.uploaded, sent);
        let downloaded = weigh(link.downloaded, worth.downloaded, taken);
        sums.uploaded = sums.uploaded.saturating_add(uploaded);
        sums.downloaded = sums.downloaded.saturating_add(downloaded);
        if point.has_token {
            sums.token_downloaded = sums.token_downloaded.saturating_add(link.downloaded);
            sums.has_ended_token |= link.completed > 0;
        }
        sums.completed += link.completed;
        sums.seeded_seconds += link.seeded_seconds;
    }

    /// The batch with these sums in the place of its own.
    fn to(&self, batch: &Batch) -> Batch {
        let mut batch = batch.clone();
        let small = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
        for credit in &mut batch.credits {
            let (user, torrent) = (credit.user, credit.torrent);
            let range = (user, torrent, [0; 20])..=(user, torrent, [u8::MAX; 20]);
            let mut all = Sums::default();
            shares(credit).for_each(|it| (it.credited_uploaded, it.credited_downloaded) = (0, 0));
            for ((_, _, peer_id), sums) in self.sessions.range(range) {
                all.uploaded = all.uploaded.saturating_add(sums.uploaded);
                all.downloaded = all.downloaded.saturating_add(sums.downloaded);
                all.told_uploaded = all.told_uploaded.saturating_add(sums.told_uploaded);
                all.told_downloaded = all.told_downloaded.saturating_add(sums.told_downloaded);
                all.token_downloaded = all.token_downloaded.saturating_add(sums.token_downloaded);
                all.has_ended_token |= sums.has_ended_token;
                all.completed += sums.completed;
                all.seeded_seconds += sums.seeded_seconds;
                let share = of_client(credit, PeerId(*peer_id));
                share.credited_uploaded = share.credited_uploaded.saturating_add(sums.uploaded);
                share.credited_downloaded =
                    share.credited_downloaded.saturating_add(sums.downloaded);
            }
            (credit.uploaded, credit.downloaded) = (all.uploaded, all.downloaded);
            credit.told_uploaded = all.told_uploaded;
            credit.told_downloaded = all.told_downloaded;
            credit.token_downloaded = all.token_downloaded;
            credit.has_ended_token = all.has_ended_token;
            credit.completed = small(all.completed);
            credit.seeded_seconds = small(all.seeded_seconds);
        }
        let mut completed: BTreeMap<TorrentId, u32> = BTreeMap::new();
        for credit in &batch.credits {
            *completed.entry(credit.torrent).or_default() += credit.completed;
        }
        for standing in &mut batch.torrents {
            standing.completed = completed.get(&standing.torrent).copied().unwrap_or(0);
        }
        batch
    }
}

fn shares(credit: &mut Credit) -> impl Iterator<Item = &mut LastSession> {
    std::iter::once(&mut credit.last).chain(&mut credit.others)
}

/// The client's own row, or the last's where it has none any more.
fn of_client(credit: &mut Credit, peer_id: PeerId) -> &mut LastSession {
    let Credit { last, others, .. } = credit;
    match others.iter_mut().find(|other| other.peer_id == peer_id) {
        Some(other) => other,
        None => last,
    }
}

fn hexadecimal(bytes: &[u8; 20]) -> String {
    bytes.iter().fold(String::with_capacity(40), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
