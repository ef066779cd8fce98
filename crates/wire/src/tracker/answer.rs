//! What a tracker says over HTTP, bencoded.
//!
//! Law: BEP 3, 7, 21, 23, 24, 31, 48. Keys are sorted, and `peers` is always there.
//! Invariant: an answer is appended; what stood before it stays.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::bencode::{put_bytes, put_digits};
use super::{Counts, InfoHash, Peers, Told};

/// Bytes of a peer by IPv4 (BEP 23).
pub const V4_BYTES: usize = 6;
/// Bytes of a peer by IPv6 (BEP 7).
pub const V6_BYTES: usize = 18;

/// How an announce is answered, beside what was told.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// Whether peers are bytes rather than dictionaries.
    pub is_compact: bool,
    /// The address that the client was seen at (BEP 24).
    pub external: Option<IpAddr>,
    /// Something that its user should know.
    pub warning: Option<&'a str>,
}

/// Appends what an announce is answered with.
pub fn put_announce(out: &mut Vec<u8>, told: &Told, peers: &Peers, form: &Form<'_>) {
    out.reserve(192 + peers.v4.len() + peers.v6.len());
    out.push(b'd');
    put_number(out, "complete", told.swarm.complete);
    put_number(out, "downloaded", told.swarm.downloaded);
    if let Some(address) = form.external {
        put_bytes(out, b"external ip");
        match address.to_canonical() {
            IpAddr::V4(address) => put_bytes(out, &address.octets()),
            IpAddr::V6(address) => put_bytes(out, &address.octets()),
        }
    }
    put_number(out, "incomplete", told.swarm.incomplete);
    put_number(out, "interval", told.interval);
    put_number(out, "min interval", told.min_interval);
    put_bytes(out, b"peers");
    if form.is_compact {
        put_bytes(out, &peers.v4);
        if !peers.v6.is_empty() {
            put_bytes(out, b"peers6");
            put_bytes(out, &peers.v6);
        }
    } else {
        put_dictionaries(out, peers);
    }
    if let Some(warning) = form.warning {
        put_bytes(out, b"warning message");
        put_bytes(out, warning.as_bytes());
    }
    out.push(b'e');
}

/// Peers one by one, as BEP 3 has them: addresses as text.
fn put_dictionaries(out: &mut Vec<u8>, peers: &Peers) {
    use std::io::Write as _;

    let v4 = peers.v4.chunks_exact(V4_BYTES).filter_map(|peer| {
        let address = <[u8; 4]>::try_from(&peer[..4]).ok()?;
        Some((IpAddr::V4(Ipv4Addr::from(address)), [peer[4], peer[5]]))
    });
    let v6 = peers.v6.chunks_exact(V6_BYTES).filter_map(|peer| {
        let address = <[u8; 16]>::try_from(&peer[..16]).ok()?;
        Some((IpAddr::V6(Ipv6Addr::from(address)), [peer[16], peer[17]]))
    });
    out.push(b'l');
    for (number, (address, port)) in v4.chain(v6).enumerate() {
        let mut text = [0; 48];
        let mut rest = &mut text[..];
        // The longest address has 45 letters.
        let _ = write!(rest, "{address}");
        let length = 48 - rest.len();
        out.push(b'd');
        put_bytes(out, b"ip");
        put_bytes(out, &text[..length]);
        if let Some(id) = peers.ids.get(number).filter(|_| peers.with_ids) {
            put_bytes(out, b"peer id");
            put_bytes(out, &id.0);
        }
        put_number(out, "port", u32::from(u16::from_be_bytes(port)));
        out.push(b'e');
    }
    out.push(b'e');
}

/// Appends why not, and after how many minutes trying again makes sense (BEP 31); none: never.
pub fn put_failure(out: &mut Vec<u8>, reason: &str, retry: Retry) {
    out.push(b'd');
    put_bytes(out, b"failure reason");
    put_bytes(out, reason.as_bytes());
    match retry {
        Retry::Unsaid => {}
        Retry::Never => {
            put_bytes(out, b"retry in");
            put_bytes(out, b"never");
        }
        Retry::Minutes(minutes) => put_number(out, "retry in", minutes),
    }
    out.push(b'e');
}

/// When a client that was refused may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// As it likes.
    Unsaid,
    /// It would hear the same for ever.
    Never,
    /// After so many minutes.
    Minutes(u32),
}

/// Appends how torrents stand; those that nobody knows are left out. `min_interval`: seconds
/// until the next scrape, if anything is said about it.
pub fn put_scrape(
    out: &mut Vec<u8>,
    torrents: &mut [(InfoHash, Counts)],
    min_interval: Option<u32>,
) {
    torrents.sort_unstable_by_key(|(hash, _)| *hash);
    out.push(b'd');
    put_bytes(out, b"files");
    out.push(b'd');
    let mut before = None;
    for (hash, counts) in torrents.iter() {
        // One that was asked for twice is one key.
        if before.replace(hash) == Some(hash) {
            continue;
        }
        put_bytes(out, &hash.0);
        out.push(b'd');
        put_number(out, "complete", counts.complete);
        put_number(out, "downloaded", counts.downloaded);
        if counts.partial > 0 {
            put_number(out, "downloaders", counts.incomplete.saturating_sub(counts.partial));
        }
        put_number(out, "incomplete", counts.incomplete);
        out.push(b'e');
    }
    out.push(b'e');
    if let Some(seconds) = min_interval {
        put_bytes(out, b"flags");
        out.push(b'd');
        put_number(out, "min_request_interval", seconds);
        out.push(b'e');
    }
    out.push(b'e');
}

fn put_number(out: &mut Vec<u8>, key: &str, number: u32) {
    put_bytes(out, key.as_bytes());
    out.push(b'i');
    put_digits(out, u64::from(number));
    out.push(b'e');
}

#[cfg(test)]
mod tests {
    use super::super::PeerId;
    use super::super::bencode::Value;
    use super::*;

    const TOLD: Told = Told {
        interval: 1800,
        min_interval: 900,
        swarm: Counts { complete: 1, incomplete: 2, downloaded: 3, partial: 1 },
    };
    const FORM: Form<'static> = Form { is_compact: true, external: None, warning: None };

    fn written(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        assert!(Value::read(&out).is_some(), "{}", out.escape_ascii());
        out.escape_ascii().to_string()
    }

    #[test]
    fn an_announce_always_has_peers_and_its_keys_are_sorted() {
        let empty = written(|out| put_announce(out, &TOLD, &Peers::default(), &FORM));
        assert_eq!(
            empty,
            "d8:completei1e10:downloadedi3e10:incompletei2e8:intervali1800e\
             12:min intervali900e5:peers0:e"
        );
        let peers = Peers { v4: b"abcdEF".to_vec(), v6: vec![b'x'; 18], ..Peers::default() };
        let form = Form { external: Some([10, 0, 0, 1].into()), warning: Some("old"), ..FORM };
        let full = written(|out| put_announce(out, &TOLD, &peers, &form));
        assert!(full.contains("11:external ip4:\\n\\x00\\x00\\x0110:incomplete"), "{full}");
        assert!(
            full.ends_with("5:peers6:abcdEF6:peers618:xxxxxxxxxxxxxxxxxx15:warning message3:olde")
        );
    }

    #[test]
    fn peers_one_by_one_have_addresses_as_text() {
        let mut peers = Peers { v4: vec![10, 0, 0, 1, 0x1a, 0xe1], ..Peers::default() };
        peers.v6 = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1], &[0, 80]].concat();
        peers.ids = vec![PeerId(*b"-TR4040-0123456789ab"), PeerId(*b"-TR4040-0123456789ac")];
        let form = Form { is_compact: false, ..FORM };
        let unnamed = written(|out| put_announce(out, &TOLD, &peers, &form));
        assert!(
            unnamed
                .ends_with("5:peersld2:ip8:10.0.0.14:porti6881eed2:ip11:2001:db8::14:porti80eeee"),
            "{unnamed}"
        );
        peers.with_ids = true;
        let named = written(|out| put_announce(out, &TOLD, &peers, &form));
        assert!(named.contains("7:peer id20:-TR4040-0123456789ac4:port"), "{named}");
    }

    #[test]
    fn a_failure_says_when_to_come_again() {
        let told = |retry| written(|out| put_failure(out, "no", retry));
        assert_eq!(told(Retry::Unsaid), "d14:failure reason2:noe");
        assert_eq!(told(Retry::Never), "d14:failure reason2:no8:retry in5:nevere");
        assert_eq!(told(Retry::Minutes(5)), "d14:failure reason2:no8:retry ini5ee");
    }

    #[test]
    fn a_scrape_is_sorted_and_names_each_torrent_once() {
        let counts = TOLD.swarm;
        let mut torrents = [InfoHash([b'b'; 20]), InfoHash([b'a'; 20]), InfoHash([b'b'; 20])]
            .map(|hash| (hash, counts));
        let told = written(|out| put_scrape(out, &mut torrents, Some(60)));
        let of = "d8:completei1e10:downloadedi3e11:downloadersi1e10:incompletei2ee";
        let (a, b) = ("a".repeat(20), "b".repeat(20));
        assert_eq!(
            told,
            format!("d5:filesd20:{a}{of}20:{b}{of}e5:flagsd20:min_request_intervali60eee")
        );
        assert_eq!(written(|out| put_scrape(out, &mut [], None)), "d5:filesdee");
    }
}
