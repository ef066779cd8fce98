//! Torrents and users as the site has them, and what they may.

use wire::tracker::{InfoHash, Passkey};

/// A torrent's number in the site's database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TorrentId(pub u32);

/// A user's number in the site's database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub u32);

/// What a byte is worth, in hundredths: 100 counts once, 0 is free, 200 counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Of bytes sent.
    pub uploaded: u16,
    /// Of bytes taken: 0 is freeleech.
    pub downloaded: u16,
}

impl Worth {
    /// Neither side counts.
    pub(crate) const NOTHING: Self = Self { uploaded: 0, downloaded: 0 };
}

impl Default for Worth {
    fn default() -> Self {
        Self { uploaded: 100, downloaded: 100 }
    }
}

/// A torrent that is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torrent {
    /// Its number.
    pub id: TorrentId,
    /// What clients call it.
    pub info_hash: InfoHash,
    /// Its second name: a hybrid torrent's v2 hash, cut (BEP 52).
    pub info_hash_v2: Option<InfoHash>,
    /// How often it was completed so far.
    pub completed: u32,
    /// What its bytes are worth.
    pub worth: Worth,
    /// Bytes, if the site knows: no honest announce lacks more.
    pub bytes: Option<u64>,
    /// Unix seconds of its making, for wait times; 0 if unknown.
    pub made: u32,
}

/// Somebody with a passkey.
#[derive(Clone, Debug)]
pub struct User {
    /// Their number.
    pub id: UserId,
    /// Their secret; none where it is computed from number and torrent.
    pub passkey: Option<Passkey>,
    /// Counts up when a computed passkey is replaced; 0 where there are none.
    pub passkey_version: u32,
    /// Whether they may take at all.
    pub may_leech: bool,
    /// Seconds that they wait before they may take a new torrent.
    pub wait_seconds: u32,
    /// Peers at one torrent at most; 0 is any number.
    pub peers_max: u16,
    /// Torrents that they take at one time at most; 0 is any number.
    pub torrents_max: u16,
    /// What their bytes are worth, beside what the torrent says: the better of both counts.
    pub worth: Worth,
}
