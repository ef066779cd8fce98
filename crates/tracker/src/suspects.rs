//! Suspects: users and torrents whose figures no honest clients tell, for a person to look at.
//! Nothing is done about them here.
//!
//! In: the signs that are kept of each ([`crate::signals`]). Out: the worst of them.
//! Law: all users and torrents are passed, a shard at a time: for people, and once a minute for
//! a count; not for requests.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use base::Now;
use wire::tracker::InfoHash;

use crate::rights::{TorrentId, UserId};
use crate::tracker::Tracker;

/// How often they are counted.
const COUNTED_EVERY_MS: u64 = 60_000;

/// A user who sent by round steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectUser {
    /// Who.
    pub id: UserId,
    /// What all that they told to have sent is a multiple of, in bytes.
    pub step: u64,
    /// In so many announces, or more.
    pub steps: u16,
}

/// A torrent of which more was sent than taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectTorrent {
    /// Its number.
    pub id: TorrentId,
    /// Its name.
    pub info_hash: InfoHash,
    /// Bytes that all told to have sent lately.
    pub sent: u64,
    /// And to have taken.
    pub taken: u64,
}

/// Those that stand out most, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    /// Users, the largest steps first.
    pub users: Vec<SuspectUser>,
    /// All of them.
    pub users_all: usize,
    /// Torrents, those that lack most takers first.
    pub torrents: Vec<SuspectTorrent>,
    /// All of them.
    pub torrents_all: usize,
}

/// How many there were when they were counted last.
#[derive(Debug, Default)]
pub(crate) struct SuspectCounts {
    /// When they are counted again.
    due_ms: AtomicU64,
    pub(crate) users: AtomicUsize,
    pub(crate) torrents: AtomicUsize,
}

impl Tracker {
    /// At most `max` users and as many torrents that a person should look at.
    #[must_use]
    pub fn suspects(&self, max: usize) -> Suspects {
        let mut found = Suspects::default();
        for shard in 0..self.users.shards() {
            self.users.with_shard(shard, |rows| {
                found.users.extend(rows.iter().filter_map(|row| {
                    let (id, steps) = (UserId(row.id), row.steps.count());
                    Some(SuspectUser { id, step: row.steps.suspicious()?, steps })
                }));
            });
        }
        for shard in &self.shards {
            let shard = shard.lock();
            found.torrents.extend(shard.torrents.rows.iter().filter_map(|row| {
                row.balance.suspicious()?;
                let (sent, taken) = row.balance.sums();
                let (id, info_hash) = (TorrentId(row.id), row.info_hash);
                Some(SuspectTorrent { id, info_hash, sent, taken })
            }));
        }
        (found.users_all, found.torrents_all) = (found.users.len(), found.torrents.len());
        let excess = |torrent: &SuspectTorrent| torrent.sent.saturating_sub(torrent.taken);
        found.users.sort_by_key(|user| (std::cmp::Reverse(user.step), user.id));
        found.torrents.sort_by_key(|torrent| (std::cmp::Reverse(excess(torrent)), torrent.id));
        found.users.truncate(max);
        found.torrents.truncate(max);
        found
    }

    /// Counts them, where the last count is old.
    pub(crate) fn count_suspects(&self, now: Now) {
        let counts = &self.suspect_counts;
        if now.ticks_ms < counts.due_ms.load(Relaxed) {
            return;
        }
        counts.due_ms.store(now.ticks_ms + COUNTED_EVERY_MS, Relaxed);
        let found = self.suspects(0);
        counts.users.store(found.users_all, Relaxed);
        counts.torrents.store(found.torrents_all, Relaxed);
    }
}
