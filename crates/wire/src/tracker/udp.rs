//! The tracker protocol over UDP, without its sockets.
//!
//! In: a datagram. Out: a [`Request`], or nothing where it is none; answers are appended.
//! Law: BEP 15 and 41. Bytes behind a request are legal, and options need no end.
//! Invariant: what answers a request whose source isn't proved yet is not larger than it.

use super::{Announce, Counts, Event, InfoHash, Passkey, PeerId, Peers, Told, percent, query};

/// What a client that connects shows.
const MAGIC: u64 = 0x0417_2710_1980;
const CONNECT: u32 = 0;
const ANNOUNCE: u32 = 1;
const SCRAPE: u32 = 2;
const ERROR: u32 = 3;
/// Bytes of an announce before its options.
const ANNOUNCE_BYTES: usize = 98;
/// Bytes of every request before what differs.
const HEAD_BYTES: usize = 16;
/// The longest path that is put together from options.
const PATH_BYTES_MAX: usize = 512;

/// What a datagram asks.
#[derive(Debug)]
pub enum Request<'a> {
    /// For a connection id.
    Connect,
    /// To be counted in, and for peers.
    Announce(Announce),
    /// How these torrents stand, of which each is twenty bytes.
    Scrape(&'a [u8]),
    /// An announce with something wrong in its path.
    Wrong(query::QueryError),
}

/// What stands before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The id that the client was given; of no meaning where it connects.
    pub connection: u64,
    /// What the client finds its answer by.
    pub transaction: u32,
    action: u32,
}

impl Head {
    /// What a datagram begins with; none if it asks nothing.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let connection = u64::from_be_bytes(*datagram.first_chunk()?);
        let action = number(datagram, 8)?;
        let head = Self { connection, transaction: number(datagram, 12)?, action };
        let is_whole = match action {
            CONNECT => connection == MAGIC,
            ANNOUNCE => datagram.len() >= ANNOUNCE_BYTES,
            SCRAPE => datagram.len() >= HEAD_BYTES + 20,
            _ => false,
        };
        is_whole.then_some(head)
    }

    /// Whether it asks for an id, which needs none.
    #[must_use]
    pub fn connects(&self) -> bool {
        self.action == CONNECT
    }

    /// What the datagram asks, once its source is proved.
    #[must_use]
    pub fn request<'a>(&self, datagram: &'a [u8]) -> Request<'a> {
        match (self.action, datagram.first_chunk::<ANNOUNCE_BYTES>()) {
            (ANNOUNCE, Some(fixed)) => match path(&datagram[ANNOUNCE_BYTES..]) {
                Ok(passkey) => Request::Announce(announce(fixed, passkey)),
                Err(wrong) => Request::Wrong(wrong),
            },
            (SCRAPE, _) => {
                let hashes = datagram.get(HEAD_BYTES..).unwrap_or_default();
                let count = (hashes.len() / 20).min(query::SCRAPE_HASHES_MAX);
                Request::Scrape(&hashes[..count * 20])
            }
            _ => Request::Connect,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map(|four| u32::from_be_bytes(*four))
}

fn announce(fixed: &[u8; ANNOUNCE_BYTES], passkey: Option<Passkey>) -> Announce {
    let four = |at: usize| number(fixed, at).unwrap_or(0);
    let eight = |at: usize| u64::from(four(at)) << 32 | u64::from(four(at + 4));
    let twenty = |at: usize| fixed[at..].first_chunk::<20>().copied().unwrap_or_default();
    Announce {
        info_hash: InfoHash(twenty(16)),
        peer_id: PeerId(twenty(36)),
        downloaded: eight(56),
        left: eight(64),
        uploaded: eight(72),
        event: match four(80) {
            1 => Event::Completed,
            2 => Event::Started,
            3 => Event::Stopped,
            4 => Event::Paused,
            _ => Event::Update,
        },
        told_v4: Some(four(84)).filter(|&address| address != 0).map(Into::into),
        told_v6: None,
        // As over HTTP, where these bytes come as text.
        key: Some(percent::hash(&hexadecimal(four(88)))),
        // Below nothing is as many as the tracker likes.
        peers_wanted: Some(four(92)).filter(|&wanted| i32::try_from(wanted).is_ok()),
        port: u16::from_be_bytes([fixed[96], fixed[97]]),
        passkey,
    }
}

/// A number in eight signs, as clients write their key over HTTP.
fn hexadecimal(number: u32) -> [u8; 8] {
    std::array::from_fn(|at| b"0123456789ABCDEF"[(number >> (28 - 4 * at)) as usize & 15])
}

/// The passkey in the options behind an announce.
fn path(mut options: &[u8]) -> Result<Option<Passkey>, query::QueryError> {
    let (mut path, mut length) = ([0; PATH_BYTES_MAX], 0);
    loop {
        match options {
            // Nothing to do.
            [1, rest @ ..] => options = rest,
            [2, size, rest @ ..] => {
                let Some((data, beyond)) = rest.split_at_checked(usize::from(*size)) else { break };
                let Some(place) = path.get_mut(length..length + data.len()) else { break };
                place.copy_from_slice(data);
                length += data.len();
                options = beyond;
            }
            // The end, or what nobody knows.
            _ => break,
        }
    }
    if length == 0 { Ok(None) } else { query::passkey_of(&path[..length]) }
}

/// Appends the id that a client is given: 16 bytes, as many as it sent.
pub fn put_connect(out: &mut Vec<u8>, transaction: u32, connection: u64) {
    put(out, [CONNECT, transaction]);
    out.extend_from_slice(&connection.to_be_bytes());
}

/// Appends what an announce is answered with: peers of the family that the client came by.
pub fn put_announce(out: &mut Vec<u8>, transaction: u32, told: &Told, peers: &Peers, is_v6: bool) {
    let Counts { complete, incomplete, .. } = told.swarm;
    put(out, [ANNOUNCE, transaction, told.interval, incomplete, complete]);
    out.extend_from_slice(if is_v6 { &peers.v6 } else { &peers.v4 });
}

/// Appends the head of an answer to a scrape; a [`put_counts`] for each torrent follows.
pub fn put_scrape(out: &mut Vec<u8>, transaction: u32) {
    put(out, [SCRAPE, transaction]);
}

/// Appends how one torrent stands.
pub fn put_counts(out: &mut Vec<u8>, counts: &Counts) {
    put(out, [counts.complete, counts.downloaded, counts.incomplete]);
}

/// Appends why not.
pub fn put_error(out: &mut Vec<u8>, transaction: u32, reason: &str) {
    put(out, [ERROR, transaction]);
    out.extend_from_slice(reason.as_bytes());
}

fn put<const COUNT: usize>(out: &mut Vec<u8>, numbers: [u32; COUNT]) {
    for number in numbers {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(connection: u64, action: u32, transaction: u32) -> Vec<u8> {
        let mut datagram = connection.to_be_bytes().to_vec();
        put(&mut datagram, [action, transaction]);
        datagram
    }

    fn sample() -> Vec<u8> {
        let mut datagram = head(7, ANNOUNCE, 9);
        datagram.extend_from_slice(&[b'h'; 20]);
        datagram.extend_from_slice(&[b'p'; 20]);
        for counter in [1u64, 2, 3] {
            datagram.extend_from_slice(&counter.to_be_bytes());
        }
        put(&mut datagram, [2, 0x0a00_0001, 0xabcd, u32::MAX]);
        datagram.extend_from_slice(&[0x1a, 0xe1]);
        datagram
    }

    fn asked(datagram: &[u8]) -> Announce {
        let head = Head::read(datagram).expect("it is whole");
        match head.request(datagram) {
            Request::Announce(announce) => announce,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_announce_is_read_at_its_places() {
        let announce = asked(&sample());
        assert_eq!((announce.info_hash.0, announce.peer_id.0), ([b'h'; 20], [b'p'; 20]));
        let counters = (announce.downloaded, announce.left, announce.uploaded);
        assert_eq!((counters, announce.event), ((1, 2, 3), Event::Started));
        assert_eq!((announce.port, announce.peers_wanted), (6881, None));
        assert_eq!(announce.told_v4, Some([10, 0, 0, 1].into()));
        assert_eq!(announce.key, Some(percent::hash(b"0000ABCD")));
        assert!(announce.passkey.is_none());
    }

    #[test]
    fn options_may_be_cut_padded_or_left_open() {
        let key = b"0123456789abcdef0123456789abcdef";
        let whole = [&b"/announce?passkey="[..], key].concat();
        let (one, two) = whole.split_at(20);
        let data = |data: &[u8]| [&[2, data.len() as u8][..], data].concat();
        for (options, is_there) in [
            ([data(&whole), vec![0]].concat(), true),
            (data(&whole), true),
            ([vec![1, 1], data(one), vec![1], data(two), vec![0, 99, 99]].concat(), true),
            ([data(&[&b"/"[..], key, b"/announce"].concat()), vec![]].concat(), true),
            (vec![0, 2, 1, b'x'], false),
            (vec![9, 9, 9], false),
            (vec![2], false),
            (vec![2, 200, b'/'], false),
            (data(b"/announce"), false),
        ] {
            let passkey = asked(&[sample(), options.clone()].concat()).passkey;
            let found = passkey.as_ref().map(Passkey::expose);
            assert_eq!(found, is_there.then_some(&key[..]), "{}", options.escape_ascii());
        }
        let wrong = [sample(), data(b"/announce?passkey=not~one")].concat();
        let head = Head::read(&wrong).expect("it is whole");
        assert!(matches!(head.request(&wrong), Request::Wrong(query::QueryError::Passkey)));
    }

    #[test]
    fn what_asks_nothing_is_none() {
        let announce = sample();
        for (datagram, is_some) in [
            (head(MAGIC, CONNECT, 1), true),
            ([head(MAGIC, CONNECT, 1), vec![0; 100]].concat(), true),
            (head(MAGIC + 1, CONNECT, 1), false),
            (head(MAGIC, CONNECT, 1)[..15].to_vec(), false),
            (announce.clone(), true),
            (announce[..97].to_vec(), false),
            (head(7, SCRAPE, 1), false),
            ([head(7, SCRAPE, 1), vec![b'h'; 19]].concat(), false),
            ([head(7, SCRAPE, 1), vec![b'h'; 20]].concat(), true),
            (head(7, ERROR, 1), false),
            (Vec::new(), false),
        ] {
            assert_eq!(Head::read(&datagram).is_some(), is_some, "{}", datagram.escape_ascii());
        }
    }

    #[test]
    fn a_scrape_is_of_whole_hashes_and_bounded() {
        for (bytes, count) in [(20, 1), (39, 1), (40, 2), (20 * 74, 74), (20 * 75, 74)] {
            let datagram = [head(7, SCRAPE, 1), vec![b'h'; bytes]].concat();
            let head = Head::read(&datagram).expect("it is whole");
            let Request::Scrape(hashes) = head.request(&datagram) else { panic!("no scrape") };
            assert_eq!(hashes.len(), count * 20);
        }
    }

    #[test]
    fn answers_are_of_the_size_that_the_protocol_has() {
        let mut out = Vec::new();
        put_connect(&mut out, 1, 2);
        assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let told = Told {
            interval: 60,
            swarm: Counts { complete: 4, incomplete: 3, ..Counts::default() },
            ..Told::default()
        };
        let peers = Peers { v4: vec![4; 12], v6: vec![6; 18], ..Peers::default() };
        for (is_v6, expected) in [(false, vec![4; 12]), (true, vec![6; 18])] {
            out.clear();
            put_announce(&mut out, 9, &told, &peers, is_v6);
            assert_eq!(out[..20], [0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 60, 0, 0, 0, 3, 0, 0, 0, 4]);
            assert_eq!(out[20..], expected);
        }
    }
}
