//! What the tracker says of itself: counts, a user, a torrent.

use std::sync::atomic::Ordering::Relaxed;

use base::Counter;
use wire::tracker::{Counts, InfoHash};

use crate::refusal::Refusal;
use crate::rights::{TorrentId, UserId};
use crate::session::{Kind, Session};
use crate::swarm::Place;
use crate::tracker::Tracker;

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) announces: Counter,
    pub(crate) scrapes: Counter,
    /// Announces that other trackers told of, and own ones that they weren't told.
    pub(crate) heard: Counter,
    pub(crate) untold: Counter,
    pub(crate) refused: [Counter; Refusal::NAMES.len()],
}

/// The tracker in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Sessions there are.
    pub sessions: usize,
    /// Of those, complete ones.
    pub complete: u64,
    /// And others.
    pub incomplete: u64,
    /// Torrents there are.
    pub torrents: usize,
    /// Users there are.
    pub users: usize,
    /// Announces since the start.
    pub announces: u64,
    /// Announces a second, lately.
    pub announces_per_second: u32,
    /// Scrapes since the start.
    pub scrapes: u64,
    /// Announces that other trackers of the same swarms told of.
    pub heard: u64,
    /// Announces that they weren't told, for want of room.
    pub untold: u64,
    /// Announces that were refused, by reason.
    pub refused: Vec<(&'static str, u64)>,
    /// The interval that clients are told now, in seconds, without jitter.
    pub interval_seconds: u32,
    /// Users and torrents with credits that no batch has yet.
    pub credits_pending: usize,
    /// Batches that no database has yet.
    pub batches_behind: usize,
    /// Port checks that found no room, and are made at the next announce.
    pub port_checks_dropped: u64,
    /// Users whose uploads look invented, as of the last minute.
    pub suspect_users: usize,
    /// And torrents of which much more was sent than taken.
    pub suspect_torrents: usize,
    /// Bytes in the journal since the last checkpoint.
    pub journal_bytes: u64,
    /// Entries that the journal has not, because its disk could not be written for too long: a
    /// kill would lose them.
    pub journal_dropped: u64,
}

/// A user, as the tracker sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserStatus {
    /// Who.
    pub id: UserId,
    /// Whether they may take.
    pub may_leech: bool,
    /// Torrents that they take now.
    pub taking: u32,
    /// Their sessions, each with its torrent.
    pub sessions: Vec<(TorrentId, InfoHash, Session)>,
    /// A large common divisor of all that they uploaded, which real uploads don't have.
    pub round_steps: Option<u64>,
}

/// A torrent, as the tracker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorrentStatus {
    /// Its number.
    pub id: TorrentId,
    /// Its name.
    pub info_hash: InfoHash,
    /// Its swarm.
    pub counts: Counts,
    /// Unix seconds of the last announce.
    pub announced: u32,
    /// Bytes that all told to have sent lately; what is far from `told_taken` is suspicious.
    pub told_sent: u64,
    /// And to have taken.
    pub told_taken: u64,
    /// Some of its sessions.
    pub sessions: Vec<Session>,
}

impl Tracker {
    /// The tracker in figures.
    #[must_use]
    pub fn status(&self) -> Status {
        let (mut complete, mut incomplete, mut torrents) = (0, 0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            torrents += shard.torrents.rows.len();
            for row in &shard.torrents.rows {
                let counts = row.counts();
                complete += u64::from(counts.complete);
                incomplete += u64::from(counts.incomplete);
            }
        }
        let refused = &self.counters.refused;
        let journal = self.disk.as_ref().map(|disk| &disk.journal);
        Status {
            sessions: self.sessions.load(Relaxed),
            complete,
            incomplete,
            torrents,
            users: self.users.len(),
            announces: self.counters.announces.read(),
            announces_per_second: self.pace.rate(),
            scrapes: self.counters.scrapes.read(),
            heard: self.counters.heard.read(),
            untold: self.counters.untold.read(),
            refused: Refusal::NAMES.into_iter().zip(refused.iter().map(Counter::read)).collect(),
            interval_seconds: self.pace.interval_now(),
            credits_pending: self.pending.load(Relaxed),
            batches_behind: self.batches.behind(),
            port_checks_dropped: self.port_checks.dropped.load(Relaxed),
            suspect_users: self.suspect_counts.users.load(Relaxed),
            suspect_torrents: self.suspect_counts.torrents.load(Relaxed),
            journal_bytes: journal.map_or(0, |journal| journal.bytes.load(Relaxed)),
            journal_dropped: journal.map_or(0, |journal| journal.dropped.load(Relaxed)),
        }
    }

    /// A user and their sessions, of which all swarms are searched: for people, not for
    /// requests.
    #[must_use]
    pub fn user(&self, id: UserId) -> Option<UserStatus> {
        let user = self.users.with(id, |row| *row)?;
        let mut sessions = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            for row in &shard.torrents.rows {
                row.swarm.each_of_user(id.0, |place| {
                    let session = shard.packing.unpack(&row.swarm.record(place));
                    sessions.push((TorrentId(row.id), row.info_hash, session));
                });
            }
        }
        Some(UserStatus {
            id,
            may_leech: user.may_leech,
            taking: user.taking,
            sessions,
            round_steps: user.steps.suspicious(),
        })
    }

    /// A torrent, with at most so many of its sessions.
    #[must_use]
    pub fn torrent(&self, hash: &InfoHash, sessions_max: usize) -> Option<TorrentStatus> {
        let shard = self.shard(hash).lock();
        let row = &shard.torrents.rows[shard.torrents.find(hash)?];
        let (told_sent, told_taken) = row.balance.sums();
        let places = [Kind::Giving, Kind::Taking]
            .into_iter()
            .flat_map(|kind| (0..row.swarm.len(kind) as u32).map(move |at| Place { kind, at }));
        Some(TorrentStatus {
            id: TorrentId(row.id),
            info_hash: row.info_hash,
            counts: row.counts(),
            announced: row.announced,
            told_sent,
            told_taken,
            sessions: places
                .take(sessions_max)
                .map(|place| shard.packing.unpack(&row.swarm.record(place)))
                .collect(),
        })
    }
}
