//! Credits: what announces add up to, for the site's database.
//!
//! Invariants: 1. of one user and torrent a batch has one entry, in which all their sessions
//! are added up; each session stands beside, for sites that show peers. 2. whoever writes a batch writes its number in the same transaction, and
//! writes no batch whose number is there already; so a batch counts once, whoever died.

use std::net::SocketAddr;

use wire::tracker::PeerId;

use crate::rights::{TorrentId, UserId, Worth};
use crate::session::Session;

/// What one user did with one torrent since the batch before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Who.
    pub user: UserId,
    /// With what.
    pub torrent: TorrentId,
    /// Bytes to add, as they are worth.
    pub uploaded: u64,
    /// The same of those taken.
    pub downloaded: u64,
    /// Bytes to add, as the clients told them.
    pub told_uploaded: u64,
    /// The same of those taken.
    pub told_downloaded: u64,
    /// Bytes to add that were taken with a token, as the clients told them.
    pub token_downloaded: u64,
    /// Whether a token was used up: its torrent was completed with it.
    pub has_ended_token: bool,
    /// Times completed, to add.
    pub completed: u32,
    /// Seconds seeded, to add.
    pub seeded_seconds: u32,
    /// Announces, to add.
    pub announces: u32,
    /// What stands now: bytes that the most complete session lacks. None if nothing was told
    /// since the batch before (the session timed out): what was written then still holds.
    pub left: Option<u64>,
    /// Whether a session of theirs is there.
    pub is_active: bool,
    /// Unix seconds of the last announce.
    pub announced: u32,
    /// The session that announced last.
    pub last: LastSession,
    /// Others that announced since the batch before, or fell silent: the latest is the last.
    pub others: Vec<LastSession>,
}

/// A session of a user as it last announced, for sites that show peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSession {
    /// What the client calls itself.
    pub peer_id: PeerId,
    /// Where it is, by IPv4 and by IPv6.
    pub v4: Option<SocketAddr>,
    /// The same for IPv6.
    pub v6: Option<SocketAddr>,
    /// Its own cumulative counters.
    pub uploaded: u64,
    /// The same for bytes taken.
    pub downloaded: u64,
    /// Bytes a second since the announce before.
    pub upload_rate: u32,
    /// The same for bytes taken.
    pub download_rate: u32,
    /// Whether it said that it goes.
    pub has_stopped: bool,
    /// Whether it is there still.
    pub is_active: bool,
    /// Whether others can connect to it; none if nobody tried.
    pub is_connectable: Option<bool>,
    /// Bytes that it lacks. None if it told nothing since the batch before: it timed out.
    pub left: Option<u64>,
    /// Unix seconds of its last announce.
    pub announced: u32,
    /// Its share of the credit: bytes sent, as they are worth.
    pub credited_uploaded: u64,
    /// The same of those taken.
    pub credited_downloaded: u64,
    /// And of its announces.
    pub announces: u32,
}

impl Credit {
    /// One that adds nothing yet, of whom something was heard.
    pub(crate) fn empty(user: UserId, torrent: TorrentId, last: LastSession) -> Self {
        Self {
            user,
            torrent,
            uploaded: 0,
            downloaded: 0,
            told_uploaded: 0,
            told_downloaded: 0,
            token_downloaded: 0,
            has_ended_token: false,
            completed: 0,
            seeded_seconds: 0,
            announces: 0,
            left: None,
            is_active: true,
            announced: 0,
            last,
            others: Vec::new(),
        }
    }

    /// Whether it has anything to add.
    pub(crate) fn adds(&self) -> bool {
        let bytes = [self.uploaded, self.downloaded, self.told_uploaded, self.told_downloaded];
        bytes != [0; 4] || self.completed > 0 || self.seeded_seconds > 0
    }
}

impl LastSession {
    /// Whether it has a share of what is added.
    pub(crate) fn adds(&self) -> bool {
        (self.credited_uploaded, self.credited_downloaded) != (0, 0)
    }
}

/// What stands of a torrent whose swarm changed since the batch before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which.
    pub torrent: TorrentId,
    /// Peers that have all.
    pub seeders: u32,
    /// Peers that don't.
    pub leechers: u32,
    /// Times completed, to add.
    pub completed: u32,
    /// Times completed, in all.
    pub completed_total: u32,
    /// Unix seconds of the last announce.
    pub announced: u32,
}

/// One announce of a session, for a ledger that several trackers write: what it adds is found
/// out there, by what the others wrote of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Who.
    pub user: UserId,
    /// With what.
    pub torrent: TorrentId,
    /// What the client calls itself.
    pub peer_id: PeerId,
    /// Unix seconds.
    pub at: u32,
    /// The client's cumulative counters.
    pub uploaded: u64,
    /// The same for bytes taken.
    pub downloaded: u64,
    /// Whether it has all.
    pub is_complete: bool,
    /// Whether it said that it begins.
    pub has_started: bool,
    /// Whether it said that it goes.
    pub has_stopped: bool,
    /// What a byte was worth.
    pub worth: Worth,
    /// Whether it was taken with a token.
    pub has_token: bool,
}

impl Point {
    /// Where a session stands, neither at its start nor at its end.
    pub(crate) fn of(session: &Session, torrent: TorrentId, worth: Worth) -> Self {
        Self {
            user: UserId(session.user),
            torrent,
            peer_id: session.peer_id,
            at: session.announced,
            uploaded: session.uploaded,
            downloaded: session.downloaded,
            is_complete: session.is_complete,
            has_started: false,
            has_stopped: false,
            worth,
            has_token: false,
        }
    }
}

/// What is written in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Counts up by one from batch to batch, over restarts too.
    pub number: u64,
    /// Sorted by user and torrent, which keeps locks in one order.
    pub credits: Vec<Credit>,
    /// Sorted by torrent.
    pub torrents: Vec<Standing>,
    /// In a ledger of several trackers: the announces, each session's in their order. Then they
    /// say what is credited, and the sums above are those of this tracker alone.
    pub points: Vec<Point>,
}
