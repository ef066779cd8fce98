//! What BitTorrent clients say to a tracker, and what they are told, whatever the transport.
//!
//! In: what came ([`query`] over HTTP, [`udp`], [`web`]). Out: what is said back ([`answer`],
//! [`udp`], [`web`]).
//! Law: BEP 3, 7, 15, 21, 23, 24, 31, 41, 48, 52; of WebTorrent there is none.

pub mod answer;
pub mod bencode;
mod percent;
pub mod query;
pub mod udp;
pub mod web;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What names a torrent. A v2 torrent's hash is cut to as many bytes (BEP 52).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InfoHash(pub [u8; 20]);

/// What a client calls itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub [u8; 20]);

/// The longest secret by which a private tracker knows a user.
pub const PASSKEY_BYTES_MAX: usize = 64;

/// The secret by which a private tracker knows a user. Never shown.
#[derive(Clone)]
pub struct Passkey {
    bytes: [u8; PASSKEY_BYTES_MAX],
    length: u8,
}

impl Passkey {
    /// None if it is empty, too long, or not of letters and digits.
    #[must_use]
    pub fn new(text: &[u8]) -> Option<Self> {
        let is_fit = !text.is_empty()
            && text.len() <= PASSKEY_BYTES_MAX
            && text.iter().all(u8::is_ascii_alphanumeric);
        if !is_fit {
            return None;
        }
        let mut bytes = [0; PASSKEY_BYTES_MAX];
        bytes[..text.len()].copy_from_slice(text);
        Some(Self { bytes, length: text.len() as u8 })
    }

    /// The secret itself, for who compares it (in constant time) or hashes it.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Passkey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Passkey(…)")
    }
}

/// Why a client announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// The interval has passed.
    #[default]
    Update,
    /// It begins.
    Started,
    /// It has all from now on.
    Completed,
    /// It goes.
    Stopped,
    /// A partial seed (BEP 21): incomplete, and downloads nothing.
    Paused,
}

/// One announce.
#[derive(Clone, Debug)]
pub struct Announce {
    /// Of which torrent.
    pub info_hash: InfoHash,
    /// Who says so; the same over all its sockets.
    pub peer_id: PeerId,
    /// A hash of `key`, which tells a client again whose address changed.
    pub key: Option<u64>,
    /// By whom, on a private tracker.
    pub passkey: Option<Passkey>,
    /// Where it listens; 0 if nowhere.
    pub port: u16,
    /// Bytes that it sent since it started.
    pub uploaded: u64,
    /// Bytes that it took since it started.
    pub downloaded: u64,
    /// Bytes that it lacks.
    pub left: u64,
    /// Why it announces.
    pub event: Event,
    /// How many peers it wants; none if it doesn't say.
    pub peers_wanted: Option<u32>,
    /// The address that it says it has (BEP 7 and `ip=`), believed only where the rules say so.
    pub told_v4: Option<Ipv4Addr>,
    /// The same for IPv6.
    pub told_v6: Option<Ipv6Addr>,
}

/// Peers for one answer, as they are sent.
#[derive(Debug, Default)]
pub struct Peers {
    /// 6 bytes each: address and port (BEP 23).
    pub v4: Vec<u8>,
    /// 18 bytes each (BEP 7).
    pub v6: Vec<u8>,
    /// What they call themselves, those of `v4` first; filled only if `with_ids`.
    pub ids: Vec<PeerId>,
    /// Whether the answer names them.
    pub with_ids: bool,
    /// Whether the answer has no room for IPv4, as one over UDP by IPv6.
    pub without_v4: bool,
    /// The same for IPv6.
    pub without_v6: bool,
}

/// What an announce is answered with, beside peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Seconds until the next announce.
    pub interval: u32,
    /// Seconds before which none is wanted.
    pub min_interval: u32,
    /// What the swarm is.
    pub swarm: Counts,
}

/// What a swarm is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Peers that have all.
    pub complete: u32,
    /// Peers that don't.
    pub incomplete: u32,
    /// How often it was completed.
    pub downloaded: u32,
    /// Partial seeds among the incomplete (BEP 21's `downloaders` leaves these out).
    pub partial: u32,
}
