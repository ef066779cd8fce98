//! Who announces what: torrents by Zipf's law, users by fair dice, clients of many makes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tracker::rights::Worth;
use tracker::{Torrent, TorrentId, Tracker, User, UserId};
use wire::tracker::{Announce, Event, InfoHash, Passkey, PeerId};

/// Of a hundred sessions so many come by IPv6.
const IPV6_PERCENT: u64 = 10;

/// What is to be held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    pub(crate) sessions: u64,
    pub(crate) torrents: u64,
    pub(crate) users: u64,
    /// Announces in a second.
    pub(crate) a_second: u64,
}

impl Crowd {
    /// Tells the tracker of all torrents and users, as a site's database would.
    pub(crate) fn register(&self, tracker: &Tracker) {
        tracker.begin_loading();
        for id in 0..self.torrents {
            tracker.put_torrent(&Torrent {
                id: TorrentId(id as u32 + 1),
                info_hash: info_hash(id),
                info_hash_v2: None,
                completed: 0,
                worth: Worth::default(),
                bytes: None,
                made: 0,
            });
        }
        for id in 0..self.users {
            tracker.put_user(&User {
                id: UserId(id as u32 + 1),
                passkey: passkey(id),
                passkey_version: 0,
                may_leech: true,
                wait_seconds: 0,
                peers_max: 0,
                torrents_max: 0,
                worth: Worth::default(),
            });
        }
        tracker.finish_loading();
    }

    /// What a session says the `round`th time.
    pub(crate) fn announce(&self, session: u64, round: u64) -> (Announce, IpAddr) {
        let dice = mixed(session, 1);
        // The torrent of rank n has a share of 1 / n.
        let fair = (dice >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = ((self.torrents + 1) as f64).powf(fair) as u64 - 1;
        let torrent = rank.min(self.torrents - 1);
        let user = mixed(session, 2) % self.users;
        let mut peer_id = *b"-qB4520-000000000000";
        let make = mixed(session, 3) % 300;
        for (place, unit) in [(3, 100), (4, 10), (5, 1)] {
            peer_id[place] = b'0' + (make / unit % 10) as u8;
        }
        peer_id[8..16].copy_from_slice(&mixed(session, 4).to_le_bytes());
        peer_id[16..].copy_from_slice(&(session as u32).to_le_bytes());
        let address = mixed(session, 5);
        let from = if address % 100 < IPV6_PERCENT {
            IpAddr::V6(Ipv6Addr::from((0x2a00_u128 << 112) | u128::from(address)))
        } else {
            IpAddr::V4(Ipv4Addr::from((address >> 8) as u32 | 0x0100_0000))
        };
        let announce = Announce {
            info_hash: info_hash(torrent),
            peer_id: PeerId(peer_id),
            key: None,
            passkey: passkey(user),
            port: 1024 + (address % 60_000) as u16,
            uploaded: round * (mixed(session, 6) % (1 << 33)),
            downloaded: 0,
            // One in four takes.
            left: u64::from(mixed(session, 7).is_multiple_of(4)) * 1_000_000,
            event: if round == 0 { Event::Started } else { Event::Update },
            peers_wanted: Some(50),
            told_v4: None,
            told_v6: None,
        };
        (announce, from)
    }
}

fn info_hash(torrent: u64) -> InfoHash {
    let mut hash = [0; 20];
    hash[..8].copy_from_slice(&mixed(torrent, 8).to_le_bytes());
    hash[12..].copy_from_slice(&mixed(torrent, 9).to_le_bytes());
    InfoHash(hash)
}

fn passkey(user: u64) -> Option<Passkey> {
    let mut text = [0; 32];
    let bytes = (u128::from(mixed(user, 10)) << 64 | u128::from(mixed(user, 11))).to_le_bytes();
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[b'a' + (byte >> 4), b'a' + (byte & 15)]);
    }
    Passkey::new(&text)
}

/// A number that looks random, always the same.
pub(crate) fn mixed(number: u64, salt: u64) -> u64 {
    let start = number.wrapping_add(salt << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let once = (start ^ (start >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}
