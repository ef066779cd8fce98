//! Sessions: one client of one user at one torrent, and how it is kept in 39 bytes.
//!
//! Invariants: 1. what is packed is unpacked as it was, whatever the client calls itself.
//! 2. every packed session is given back by [`Packing::release`], and with it what it holds
//! of the side tables.

mod packing;
mod prefixes;
mod slab;

use std::net::{SocketAddrV4, SocketAddrV6};

use wire::tracker::PeerId;

pub(crate) use packing::{HOT_BYTES, Packing, RECORD_BYTES, Record, USER, Wanted, only_v4, user};

/// Counters are kept in six bytes: 281 TB of one session.
pub(crate) const COUNTER_MAX: u64 = (1 << 48) - 1;

/// One client of one user at one torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// What it calls itself.
    pub peer_id: PeerId,
    /// Whose it is; on an open tracker a hash of its `key`.
    pub user: u32,
    /// Where it is by IPv4.
    pub v4: Option<SocketAddrV4>,
    /// Where it is by IPv6.
    pub v6: Option<SocketAddrV6>,
    /// Its own counter of bytes sent, as last told: what the next announce is held against.
    pub uploaded: u64,
    /// The same of bytes taken.
    pub downloaded: u64,
    /// Unix seconds of its last announce.
    pub announced: u32,
    /// Whether it lacks nothing.
    pub is_complete: bool,
    /// Whether it is a partial seed (BEP 21): lacks something and takes nothing.
    pub is_partial: bool,
    /// Whether others can connect to it; none if nobody tried.
    pub is_connectable: Option<bool>,
}

impl Session {
    /// Which of the two kinds it is.
    pub(crate) fn kind(&self) -> Kind {
        if self.is_complete || self.is_partial { Kind::Giving } else { Kind::Taking }
    }

    /// Where it is, as that is sent.
    pub(crate) fn v4_bytes(&self) -> Option<[u8; 6]> {
        self.v4.map(|v4| packing::v4_bytes(*v4.ip(), v4.port()))
    }

    pub(crate) fn v6_bytes(&self) -> Option<[u8; 18]> {
        self.v6.map(|v6| packing::v6_bytes(*v6.ip(), v6.port()))
    }
}

/// What a session is for others: partial seeds give, though they are incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It takes nothing.
    Giving,
    /// It takes, and gives what it has.
    Taking,
}
