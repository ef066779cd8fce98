//! What the tests of the tracker share: torrents, users, announces, and time by hand.

#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses some of it")]

use std::net::{IpAddr, Ipv4Addr};

use base::Now;
use tracker::rights::Worth;
use tracker::{Mode, Refusal, Rules, Torrent, TorrentId, Tracker, User, UserId};
use wire::tracker::{Announce, Event, InfoHash, Passkey, PeerId, Peers, Told};

/// When these stories begin.
pub const START: u32 = 1_700_000_000;

/// Dice that fall alike for one seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A folder that is gone when it is dropped; in memory where there is such, for what is tested
/// is which bytes are there, and not how long disks take.
pub fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
        .expect("a folder for state")
}

pub fn now(at: u32) -> Now {
    let ms = u64::from(at) * 1000;
    Now { ticks_ms: ms, ticks_us: ms * 1000, unix_ms: ms }
}

pub fn private() -> Rules {
    Rules { mode: Mode::Private, allows_private_addresses: true, ..Rules::default() }
}

pub fn open() -> Rules {
    Rules { allows_private_addresses: true, ..Rules::default() }
}

pub fn info_hash(torrent: u32) -> InfoHash {
    let mut hash = [0x5a; 20];
    hash[..4].copy_from_slice(&torrent.to_le_bytes());
    hash[19] = torrent as u8;
    InfoHash(hash)
}

pub fn torrent(id: u32) -> Torrent {
    Torrent {
        id: TorrentId(id),
        info_hash: info_hash(id),
        info_hash_v2: None,
        completed: 0,
        worth: Worth::default(),
        bytes: None,
        made: 0,
    }
}

pub fn user(id: u32) -> User {
    User {
        id: UserId(id),
        passkey: passkey(id),
        passkey_version: 0,
        may_leech: true,
        wait_seconds: 0,
        peers_max: 0,
        torrents_max: 0,
        worth: Worth::default(),
    }
}

pub fn passkey(user: u32) -> Option<Passkey> {
    Passkey::new(format!("passkey{user}").as_bytes())
}

pub fn peer_id(client: u32) -> PeerId {
    let mut peer_id = *b"-WK0001-000000000000";
    peer_id[16..].copy_from_slice(&client.to_be_bytes());
    PeerId(peer_id)
}

/// A first announce of a leecher.
pub fn announce(torrent: u32, user: u32, client: u32) -> Announce {
    Announce {
        info_hash: info_hash(torrent),
        peer_id: peer_id(client),
        key: None,
        passkey: passkey(user),
        port: 6881,
        uploaded: 0,
        downloaded: 0,
        left: 1000,
        event: Event::Started,
        peers_wanted: Some(50),
        told_v4: None,
        told_v6: None,
    }
}

/// Where a client is.
pub fn address(client: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + client))
}

/// Announces from an IPv4 address, and says what was answered and whom it was told of.
pub fn tell(tracker: &Tracker, announce: &Announce, at: u32) -> Result<(Told, Vec<u32>), Refusal> {
    let mut client = [0; 4];
    client.copy_from_slice(&announce.peer_id.0[16..]);
    let mut peers = Peers::default();
    let from = address(u32::from_be_bytes(client));
    let told = tracker.announce(announce, from, now(at), &mut peers)?;
    let told_of = peers
        .v4
        .chunks(6)
        .map(|peer| u32::from_be_bytes([peer[0], peer[1], peer[2], peer[3]]) - 0x0a00_0000)
        .collect();
    Ok((told, told_of))
}
