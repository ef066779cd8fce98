//! Rows for the logs that a site keeps of what its tracker was asked, until they are written.
//!
//! In: announces and scrapes that were answered. Out: rows, in their order.
//! Invariants: 1. nothing is kept where nobody wants it. 2. no more than [`ROWS_MAX`] of a kind
//! wait: what comes then is left out, and counted. 3. no passkey is among what is kept.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use serde::Deserialize;
use wire::tracker::{Announce, Event, InfoHash, PeerId};

use crate::rights::{TorrentId, UserId};

/// Of either kind; some 7 MB.
const ROWS_MAX: usize = 50_000;

/// What a log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogOf {
    /// Announces that were counted.
    Announces,
    /// Scrapes that were answered, whatever number of torrents they name.
    Scrapes,
}

/// One announce or scrape. What a scrape doesn't say is nothing, or 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Whose; 0 is nobody's.
    pub user: UserId,
    /// Of which torrent.
    pub torrent: TorrentId,
    /// The same by its name; of a scrape the first.
    pub info_hash: InfoHash,
    /// What the client calls itself.
    pub peer_id: PeerId,
    /// Where it came from.
    pub from: IpAddr,
    /// Where it says that it listens.
    pub port: u16,
    /// Its counters.
    pub uploaded: u64,
    /// The same for bytes taken.
    pub downloaded: u64,
    /// Bytes that it lacks.
    pub left: u64,
    /// Why it announces.
    pub event: Event,
    /// Peers that it wants; 0 if it doesn't say.
    pub peers_wanted: u32,
    /// A hash of its `key`.
    pub key: Option<u64>,
    /// Unix seconds.
    pub at: u32,
}

impl LogRow {
    /// That of an announce.
    pub(crate) fn of_announce(
        announce: &Announce,
        user: UserId,
        torrent: TorrentId,
        from: IpAddr,
        at: u32,
    ) -> Self {
        Self {
            user,
            torrent,
            info_hash: announce.info_hash,
            peer_id: announce.peer_id,
            from,
            port: announce.port,
            uploaded: announce.uploaded,
            downloaded: announce.downloaded,
            left: announce.left,
            event: announce.event,
            peers_wanted: announce.peers_wanted.unwrap_or(0),
            key: announce.key,
            at,
        }
    }

    /// That of a scrape.
    pub(crate) fn of_scrape(user: UserId, info_hash: InfoHash, from: IpAddr, at: u32) -> Self {
        Self { user, info_hash, from, at, ..Self::default() }
    }
}

impl Default for LogRow {
    fn default() -> Self {
        Self {
            user: UserId(0),
            torrent: TorrentId(0),
            info_hash: InfoHash([0; 20]),
            peer_id: PeerId([0; 20]),
            from: Ipv4Addr::UNSPECIFIED.into(),
            port: 0,
            uploaded: 0,
            downloaded: 0,
            left: 0,
            event: Event::Update,
            peers_wanted: 0,
            key: None,
            at: 0,
        }
    }
}

/// Rows of both kinds.
#[derive(Debug, Default)]
pub struct SiteLog([Waiting; 2]);

#[derive(Debug, Default)]
struct Waiting {
    is_wanted: AtomicBool,
    rows: Mutex<VecDeque<LogRow>>,
    left_out: AtomicU64,
}

impl SiteLog {
    /// Whether rows are wanted from now on; those of before go where they aren't.
    pub fn want(&self, of: LogOf, is_wanted: bool) {
        let waiting = &self.0[of as usize];
        waiting.is_wanted.store(is_wanted, Relaxed);
        if !is_wanted {
            *waiting.rows.lock() = VecDeque::new();
        }
    }

    /// Keeps a row, which is made only if it is wanted and there is room.
    pub(crate) fn note(&self, of: LogOf, row: impl FnOnce() -> LogRow) {
        let waiting = &self.0[of as usize];
        if !waiting.is_wanted.load(Relaxed) {
            return;
        }
        let mut rows = waiting.rows.lock();
        if rows.len() == ROWS_MAX {
            waiting.left_out.fetch_add(1, Relaxed);
        } else {
            rows.push_back(row());
        }
    }

    /// So many of those that wait longest, or all.
    #[must_use]
    pub fn first(&self, of: LogOf, count: usize) -> Vec<LogRow> {
        self.0[of as usize].rows.lock().iter().take(count).cloned().collect()
    }

    /// So many of those that wait longest are written.
    pub fn written(&self, of: LogOf, count: usize) {
        let mut rows = self.0[of as usize].rows.lock();
        let count = count.min(rows.len());
        rows.drain(..count);
        // A database that was away for long costs no memory for good.
        if rows.is_empty() && rows.capacity() > ROWS_MAX / 10 {
            *rows = VecDeque::new();
        }
    }

    /// So many of those that wait longest won't be written.
    pub fn lost(&self, of: LogOf, count: usize) {
        self.written(of, count);
        self.0[of as usize].left_out.fetch_add(count as u64, Relaxed);
    }

    /// How many were left out.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.0.iter().map(|waiting| waiting.left_out.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_wants_is_not_kept_and_what_is_too_much_is_counted() {
        let log = SiteLog::default();
        let row = |at| LogRow { at, ..LogRow::default() };
        let first = |count| -> Vec<u32> {
            log.first(LogOf::Announces, count).iter().map(|row| row.at).collect()
        };
        log.note(LogOf::Announces, || unreachable!("nobody wants it"));
        log.want(LogOf::Announces, true);
        log.note(LogOf::Scrapes, || unreachable!("nobody wants it"));
        (1..=ROWS_MAX as u32 + 3).for_each(|at| log.note(LogOf::Announces, || row(at)));
        assert_eq!((log.left_out(), first(2)), (3, vec![1, 2]));
        log.written(LogOf::Announces, 2);
        log.lost(LogOf::Announces, 1);
        assert_eq!((log.left_out(), first(1), first(usize::MAX).len()), (4, vec![4], ROWS_MAX - 3));
        log.want(LogOf::Announces, false);
        assert_eq!((log.left_out(), first(1)), (4, Vec::new()));
    }
}
