//! One line of the ledger: an announce, what it changed and why.
//!
//! It is what the journal keeps, and from it alone a restart makes again what was in memory.

use wire::tracker::InfoHash;

use super::accounting::Rule;
use crate::rights::{TorrentId, Worth};
use crate::session::Session;

/// What one announce did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The torrent's number.
    pub torrent: TorrentId,
    /// And its name.
    pub info_hash: InfoHash,
    /// The session as it was told: counters, addresses, time.
    pub session: Session,
    /// Whether it said that it begins.
    pub has_started: bool,
    /// Whether it said that it goes.
    pub has_stopped: bool,
    /// Whether the user has a session there now.
    pub is_active: bool,
    /// Bytes that the user's most complete session lacks.
    pub left: u64,
    /// Bytes that this one lacks.
    pub own_left: u64,
    /// By how much the counters grew.
    pub told_uploaded: u64,
    /// The same of bytes taken.
    pub told_downloaded: u64,
    /// What was credited for it.
    pub uploaded: u64,
    /// The same of bytes taken.
    pub downloaded: u64,
    /// What a byte was worth.
    pub worth: Worth,
    /// Whether it was taken with a token.
    pub has_token: bool,
    /// Seconds since the session's announce before; 0 if there was none.
    pub elapsed_seconds: u32,
    /// Seconds seeded.
    pub seeded_seconds: u32,
    /// Whether it took the last it lacked.
    pub has_completed: bool,
    /// Hundredths of bytes that the user is still owed after it, sent and taken.
    pub rests: [u8; 2],
    /// By which rule.
    pub rule: Rule,
}
