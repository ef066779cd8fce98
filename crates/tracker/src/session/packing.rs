//! A session in 39 bytes, and what doesn't fit there.
//!
//! ```text
//! 0  user, 4       11 prefix of the peer id, 2    25 uploaded, 6      37 announced, 2
//! 4  address, 6    13 the rest of it, 12          31 downloaded, 6
//! 10 flags, 1
//! ```
//!
//! What an answer needs of a peer stands first, for large swarms keep it apart.
//!
//! Of the time of the last announce there are the lower two bytes: no session is silent for 18
//! hours, so the clock has the rest.
//!
//! The address is IPv4 and port; of a session that has an IPv6 address it is the number of a
//! row beside, which holds both. A peer id whose beginning found no room in the table is a row
//! beside as well, and a hash by which it is found.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::ops::Range;

use wire::tracker::PeerId;

use super::prefixes::{Prefixes, WHOLE};
use super::slab::Slab;
use super::{COUNTER_MAX, Kind, Session};

/// How long a packed session is.
pub(crate) const RECORD_BYTES: usize = 39;
/// How much of it an answer needs.
pub(crate) const HOT_BYTES: usize = 11;
/// Where its user is.
pub(crate) const USER: Range<usize> = 0..4;
const ADDRESS: usize = 4;
const FLAGS: usize = 10;
const PREFIX: usize = 11;
const NAME: usize = 13;
const UPLOADED: usize = 25;
const DOWNLOADED: usize = 31;
const ANNOUNCED: usize = 37;
/// How far back a last announce can be told.
const AGE_SECONDS_MAX: u32 = u16::MAX as u32;
/// How far the wall clock may go back without being taken for one that was wrong before.
const SET_BACK_SECONDS: u32 = 3600;

const COMPLETE: u8 = 1;
const PARTIAL: u8 = 2;
/// The address is a row beside.
const WIDE: u8 = 4;
/// Somebody tried to connect to it, and could.
const CHECKED: u8 = 8;
const CONNECTABLE: u8 = 16;
/// Among rows beside: whether there is an IPv4 address as well.
const V4_PORT: usize = 4;
const V6: usize = 6;
const V6_PORT: usize = 16;
const WIDE_BYTES: usize = 24;

/// A packed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(pub(crate) [u8; RECORD_BYTES]);

impl Record {
    /// Whose it is.
    pub(crate) fn user(&self) -> u32 {
        user(&self.0)
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.0[FLAGS] & PARTIAL != 0
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.0[FLAGS] & (COMPLETE | PARTIAL) != 0 { Kind::Giving } else { Kind::Taking }
    }

    fn prefix(&self) -> u16 {
        u16::from_le_bytes(self.bytes(PREFIX))
    }

    fn is_wide(&self) -> bool {
        self.0[FLAGS] & WIDE != 0
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    fn counter(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&self.0[at..at + 6]);
        u64::from_le_bytes(bytes)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// A peer id made ready to be held against records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    peer_id: PeerId,
    packed: Option<[u8; 14]>,
}

/// What packs and unpacks sessions of one shard: the tables beside them.
#[derive(Debug, Default)]
pub(crate) struct Packing {
    prefixes: Prefixes,
    wide: Slab<WIDE_BYTES>,
    whole: Slab<20>,
    hasher: RandomState,
    /// Unix seconds, as of the last announce or tick.
    clock: u32,
}

impl Packing {
    /// Time goes on.
    pub(crate) fn set_clock(&mut self, at: u32) {
        if at > self.clock || at < self.clock.saturating_sub(SET_BACK_SECONDS) {
            self.clock = at;
        }
    }

    /// Unix seconds of a session's last announce.
    pub(crate) fn announced(&self, record: &Record) -> u32 {
        let age = (self.clock as u16).wrapping_sub(u16::from_le_bytes(record.bytes(ANNOUNCED)));
        self.clock.saturating_sub(u32::from(age))
    }

    /// Makes ready to look for a client.
    pub(crate) fn wanted(&self, peer_id: &PeerId) -> Wanted {
        let (prefix, rest) = split(peer_id);
        let packed = self.prefixes.find(prefix).map(|number| {
            let mut packed = [0; 14];
            packed[..2].copy_from_slice(&number.to_le_bytes());
            packed[2..].copy_from_slice(&rest);
            packed
        });
        Wanted { peer_id: *peer_id, packed }
    }

    /// Whether a record is of that client.
    pub(crate) fn is(&self, record: &[u8], wanted: &Wanted) -> bool {
        if record[PREFIX..NAME] == WHOLE.to_le_bytes() {
            return whole_number(record)
                .is_some_and(|number| self.whole.row(number) == wanted.peer_id.0);
        }
        wanted.packed.is_some_and(|packed| record[PREFIX..UPLOADED] == packed)
    }

    /// A keyed hash of what the client calls itself.
    pub(crate) fn hash(&self, peer_id: &PeerId) -> u32 {
        self.hasher.hash_one(peer_id.0) as u32
    }

    pub(crate) fn peer_id(&self, record: &Record) -> PeerId {
        if record.prefix() == WHOLE {
            return PeerId(
                whole_number(&record.0).map_or([0; 20], |number| self.whole.row(number)),
            );
        }
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&self.prefixes.prefix(record.prefix()));
        bytes[8..].copy_from_slice(&record.0[NAME..UPLOADED]);
        PeerId(bytes)
    }

    /// Packs a new session.
    pub(crate) fn pack(&mut self, session: &Session) -> Record {
        let mut record = Record([0; RECORD_BYTES]);
        let (prefix, rest) = split(&session.peer_id);
        let number = self.prefixes.hold(prefix);
        record.put(PREFIX, &number.to_le_bytes());
        if number == WHOLE {
            let row = self.whole.put(session.peer_id.0);
            record.put(NAME, &row.to_le_bytes());
        } else {
            record.put(NAME, &rest);
        }
        record.put(USER.start, &session.user.to_le_bytes());
        self.put_rest(&mut record, session);
        record
    }

    /// Packs what changed of a session that is there: all but its name and whose it is.
    pub(crate) fn repack(&mut self, record: &mut Record, session: &Session) {
        if record.is_wide() {
            self.wide.release(u32::from_le_bytes(record.bytes(ADDRESS)));
        }
        self.put_rest(record, session);
    }

    fn put_rest(&mut self, record: &mut Record, session: &Session) {
        let mut flags = 0;
        let v4 = session.v4_bytes().unwrap_or_default();
        match session.v6 {
            None => record.put(ADDRESS, &v4),
            Some(v6) => {
                let mut row = [0; WIDE_BYTES];
                row[..V6].copy_from_slice(&v4);
                row[V6..].copy_from_slice(&v6_bytes(*v6.ip(), v6.port()));
                let number = self.wide.put(row);
                record.put(ADDRESS, &number.to_le_bytes());
                record.put(ADDRESS + 4, &[0; 2]);
                flags |= WIDE;
            }
        }
        record.put(UPLOADED, &session.uploaded.min(COUNTER_MAX).to_le_bytes()[..6]);
        record.put(DOWNLOADED, &session.downloaded.min(COUNTER_MAX).to_le_bytes()[..6]);
        let age = self.clock.saturating_sub(session.announced).min(AGE_SECONDS_MAX);
        record.put(ANNOUNCED, &(self.clock.wrapping_sub(age) as u16).to_le_bytes());
        flags |= if session.is_complete { COMPLETE } else { 0 };
        flags |= if session.is_partial { PARTIAL } else { 0 };
        flags |= session.is_connectable.map_or(0, |_| CHECKED);
        flags |= if session.is_connectable == Some(true) { CONNECTABLE } else { 0 };
        record.0[FLAGS] = flags;
    }

    pub(crate) fn unpack(&self, record: &Record) -> Session {
        let (v4, v6) = self.written(&record.0);
        let (v4, v6) = ((v4 != [0; 6]).then_some(v4), (v6 != [0; 18]).then_some(v6));
        Session {
            peer_id: self.peer_id(record),
            user: record.user(),
            v4: v4.map(|v4| {
                SocketAddrV4::new(Ipv4Addr::new(v4[0], v4[1], v4[2], v4[3]), port(&v4[4..]))
            }),
            v6: v6.map(|v6| {
                let mut ip = [0; 16];
                ip.copy_from_slice(&v6[..16]);
                SocketAddrV6::new(Ipv6Addr::from(ip), port(&v6[16..]), 0, 0)
            }),
            uploaded: record.counter(UPLOADED),
            downloaded: record.counter(DOWNLOADED),
            announced: self.announced(record),
            is_complete: record.0[FLAGS] & COMPLETE != 0,
            is_partial: record.is_partial(),
            is_connectable: (record.0[FLAGS] & CHECKED != 0)
                .then_some(record.0[FLAGS] & CONNECTABLE != 0),
        }
    }

    /// Where a session can be reached, as it is sent.
    pub(crate) fn addresses(&self, record: &[u8]) -> (Option<[u8; 6]>, Option<[u8; 18]>) {
        let (v4, v6) = self.written(record);
        let is_v6 = v6[V6_PORT..] != [0; 2];
        ((v4[V4_PORT..] != [0; 2]).then_some(v4), is_v6.then_some(v6))
    }

    /// Has what a session has beside its record brought near.
    pub(crate) fn fetch(&self, record: &[u8; HOT_BYTES]) {
        if record[FLAGS] & WIDE != 0 {
            self.wide.fetch(wide_number(record));
        }
    }

    /// Its addresses, of nothing but zeros where it has none; by port 0 nobody can reach it.
    fn written(&self, record: &[u8]) -> ([u8; 6], [u8; 18]) {
        let (mut v4, mut v6) = ([0; 6], [0; 18]);
        if record[FLAGS] & WIDE == 0 {
            v4.copy_from_slice(&record[ADDRESS..FLAGS]);
            return (v4, v6);
        }
        let row = self.wide.row(wide_number(record));
        v4.copy_from_slice(&row[..V6]);
        v6.copy_from_slice(&row[V6..]);
        (v4, v6)
    }

    /// Gives back what a session that goes held beside.
    pub(crate) fn release(&mut self, record: &Record) {
        if record.is_wide() {
            self.wide.release(u32::from_le_bytes(record.bytes(ADDRESS)));
        }
        match record.prefix() {
            WHOLE => {
                if let Some(number) = whole_number(&record.0) {
                    self.whole.release(number);
                }
            }
            number => self.prefixes.release(number),
        }
    }
}

/// Whose a record is, or what an answer needs of it.
pub(crate) fn user(row: &[u8]) -> u32 {
    u32::from_le_bytes([row[0], row[1], row[2], row[3]])
}

/// Where a session is that has IPv4 alone, as it is sent, and two bytes of nothing: eight bytes at
/// once cost no more than one.
pub(crate) fn only_v4(row: &[u8; HOT_BYTES]) -> Option<[u8; 8]> {
    let [_, _, _, last @ ..] = *row;
    // The last byte of the user, the address in six, and the flags.
    let word = u64::from_le_bytes(last);
    let is_wide = word & u64::from(WIDE) << 56 != 0;
    let port = word >> (8 * (1 + V4_PORT)) & 0xffff;
    (!is_wide && port != 0).then_some((word >> 8 & ((1 << 48) - 1)).to_le_bytes())
}

fn wide_number(record: &[u8]) -> u32 {
    let at = ADDRESS;
    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}

fn split(peer_id: &PeerId) -> ([u8; 8], [u8; 12]) {
    let (mut prefix, mut rest) = ([0; 8], [0; 12]);
    prefix.copy_from_slice(&peer_id.0[..8]);
    rest.copy_from_slice(&peer_id.0[8..]);
    (prefix, rest)
}

fn whole_number(record: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(record.get(NAME..NAME + 4)?.try_into().ok()?))
}

fn port(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

pub(super) fn v4_bytes(ip: Ipv4Addr, port: u16) -> [u8; 6] {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&ip.octets());
    bytes[4..].copy_from_slice(&port.to_be_bytes());
    bytes
}

pub(super) fn v6_bytes(ip: Ipv6Addr, port: u16) -> [u8; 18] {
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..].copy_from_slice(&port.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: [u8; 8], v4: bool, v6: bool) -> Session {
        let mut peer_id = [7; 20];
        peer_id[..8].copy_from_slice(&name);
        Session {
            peer_id: PeerId(peer_id),
            user: 0xdead_beef,
            v4: v4.then(|| SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 6881)),
            v6: v6.then(|| SocketAddrV6::new(Ipv6Addr::LOCALHOST, 51413, 0, 0)),
            uploaded: COUNTER_MAX,
            downloaded: 1,
            announced: 1_700_000_000,
            is_complete: true,
            is_partial: false,
            is_connectable: [None, Some(false), Some(true)][usize::from(name[0]) % 3],
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_as_it_was() {
        let mut packing = Packing::default();
        packing.set_clock(1_700_003_600);
        for (v4, v6) in [(true, false), (false, true), (true, true), (false, false)] {
            let whole = session(*b"-qB4520-", v4, v6);
            let mut record = packing.pack(&whole);
            assert_eq!(packing.unpack(&record), whole);
            assert!(packing.is(&record.0, &packing.wanted(&whole.peer_id)));
            let moved = Session { v4: whole.v4.xor(session([0; 8], true, true).v4), ..whole };
            packing.repack(&mut record, &moved);
            assert_eq!(packing.unpack(&record), moved);
            packing.release(&record);
        }
    }

    #[test]
    fn the_clock_has_the_rest_of_a_time() {
        for age in [0, 1, 65_535, 65_536, 200_000] {
            let mut packing = Packing::default();
            packing.set_clock(1_700_000_000 + age);
            let record = packing.pack(&session(*b"-qB4520-", true, false));
            let expected = 1_700_000_000 + age.saturating_sub(65_535);
            assert_eq!(packing.announced(&record), expected, "{age}");
            packing.set_clock(1_700_000_000 + age - 1);
            assert_eq!(packing.announced(&record), expected, "a second back is none");
        }
    }

    #[test]
    fn names_that_find_no_room_in_the_table_are_right_all_the_same() {
        let mut packing = Packing::default();
        packing.set_clock(1_700_003_600);
        let records: Vec<(Session, Record)> = (0..70_000_u64)
            .map(|at| session(at.to_be_bytes(), true, at % 3 == 0))
            .map(|session| (session.clone(), packing.pack(&session)))
            .collect();
        for (session, record) in &records {
            assert_eq!(&packing.unpack(record), session);
            assert!(packing.is(&record.0, &packing.wanted(&session.peer_id)));
        }
        let stranger = packing.wanted(&PeerId([1; 20]));
        assert!(!records.iter().any(|(_, record)| packing.is(&record.0, &stranger)));
        for (_, record) in &records {
            packing.release(record);
        }
        assert_ne!(packing.prefixes.hold([1; 8]), WHOLE, "room came back");
    }

    #[test]
    fn who_listens_nowhere_keeps_its_address_and_nobody_is_told_of_it() {
        let mut packing = Packing::default();
        packing.set_clock(1_700_003_600);
        for (v4, v6) in [(true, false), (false, true), (true, true)] {
            let mut session = session(*b"-WW0208-", v4, v6);
            session.v4.iter_mut().for_each(|v4| v4.set_port(0));
            session.v6.iter_mut().for_each(|v6| v6.set_port(0));
            let record = packing.pack(&session);
            assert_eq!(packing.unpack(&record), session);
            assert_eq!(packing.addresses(&record.0), (None, None));
            packing.release(&record);
        }
    }
}
