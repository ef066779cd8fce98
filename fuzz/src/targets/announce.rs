//! What clients send to a tracker, over HTTP and UDP, and what it says back.

use std::net::Ipv4Addr;

use wire::tracker::answer::{self, Form, Retry};
use wire::tracker::bencode::Value;
use wire::tracker::query::{self, Asked, SCRAPE_HASHES_MAX};
use wire::tracker::udp::{self, Head, Request};
use wire::tracker::{Counts, InfoHash, Peers, Told};

/// A target: what is read of it is bounded, and its secret is never shown.
pub(crate) fn run_query(input: &[u8]) {
    let asked = query::read(input);
    let passkey = match &asked {
        Ok(Asked::Announce(it)) => it.announce.passkey.as_ref(),
        Ok(Asked::Scrape(it)) => {
            assert!(it.hashes.len() <= SCRAPE_HASHES_MAX, "a scrape is bounded");
            it.passkey.as_ref()
        }
        Ok(Asked::Other) | Err(_) => None,
    };
    if let Some(passkey) = passkey {
        assert!(passkey.expose().iter().all(u8::is_ascii_alphanumeric));
        let shown = format!("{asked:?}");
        let secret = String::from_utf8_lossy(passkey.expose()).into_owned();
        // A short one may be part of anything.
        assert!(secret.len() < 12 || !shown.contains(&secret), "a secret is shown");
    }
}

/// A datagram: it is read alike with bytes behind it, and what answers it before its source is
/// proved is not larger.
pub(crate) fn run_udp(input: &[u8]) {
    let Some(head) = Head::read(input) else { return };
    let mut out = Vec::new();
    if head.connects() {
        udp::put_connect(&mut out, head.transaction, 1);
        assert!(out.len() <= input.len(), "an answer to anybody is no larger");
    }
    match head.request(input) {
        Request::Scrape(hashes) => assert_eq!(hashes.len() % 20, 0),
        Request::Announce(announce) => {
            let (fixed, _) = input.split_at(98);
            let alone = Head::read(fixed).map(|head| head.request(fixed));
            let is_same = matches!(alone, Some(Request::Announce(alone))
                if (alone.info_hash, alone.left, alone.port)
                    == (announce.info_hash, announce.left, announce.port));
            assert!(is_same, "options make no other announce");
        }
        Request::Connect | Request::Wrong(_) => {}
    }
}

/// Bencoded bytes: what is read is written as it was; and whatever an answer is made of, it can
/// be read.
pub(crate) fn run_bencode(input: &[u8]) {
    if let Some(value) = Value::read(input) {
        let mut out = Vec::new();
        value.write(&mut out);
        assert_eq!(out, input, "there is one way to write it");
    }
    let text = String::from_utf8_lossy(input);
    let mut peers = Peers { v4: input.to_vec(), ..Peers::default() };
    peers.v4.truncate(input.len() / 6 * 6);
    peers.v6 = input[..input.len() / 18 * 18].to_vec();
    let four = input.first_chunk::<4>().copied().unwrap_or_default();
    let number = u32::from_be_bytes(four);
    let swarm = Counts { complete: number, incomplete: 1, downloaded: number, partial: number };
    let told = Told { interval: number, min_interval: number, swarm };
    for is_compact in [true, false] {
        let external = Some(Ipv4Addr::from(four).into());
        let mut out = Vec::new();
        let form = Form { is_compact, external, warning: Some(&text) };
        answer::put_announce(&mut out, &told, &peers, &form);
        let read = Value::read(&out);
        assert!(read.is_some_and(|read| read.of("peers").is_some()), "there are always peers");
    }
    let hashes = input.chunks_exact(20).filter_map(|hash| hash.try_into().ok());
    let mut torrents: Vec<_> = hashes.map(|hash| (InfoHash(hash), swarm)).collect();
    let (mut failure, mut scrape) = (Vec::new(), Vec::new());
    answer::put_failure(&mut failure, &text, Retry::Minutes(number));
    answer::put_scrape(&mut scrape, &mut torrents, Some(number));
    assert!(Value::read(&failure).is_some() && Value::read(&scrape).is_some());
}
