//! Clients over WebSocket, over real sockets of this machine, before a real store.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Clock;
use base::clock::Now;
use wire::tracker::{InfoHash, Passkey};

use super::super::{ConnectionIds, ServeRules, Service, Serving, Sockets};
use super::{ALLOWED_AT_ONCE, ASK_MS, LOST_MS};
use crate::rights::{Torrent, TorrentId, User, UserId, Worth};
use crate::rules::{Mode, Rules};
use crate::tracker::Tracker;

const PATIENCE: Duration = Duration::from_secs(60);
const HASH: &str = "hhhhhhhhhhhhhhhhhhhh";
const ONE: &str = "0000000000000000000000000000one1";
const TWO: &str = "0000000000000000000000000000two2";
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

struct Running {
    tracker: Arc<Tracker>,
    service: Arc<Service>,
    serving: Option<Serving>,
    at: SocketAddr,
    clock: Clock,
}

impl Running {
    fn begin(mode: Mode) -> Self {
        Self::begin_by(mode, ServeRules { webtorrent: true, ..ServeRules::default() })
    }

    fn begin_by(mode: Mode, serve: ServeRules) -> Self {
        let rules = Rules { mode, allows_private_addresses: true, ..Rules::default() };
        let tracker = Arc::new(Tracker::new(rules));
        let worth = Worth::default();
        tracker.put_torrent(&Torrent {
            id: TorrentId(1),
            info_hash: InfoHash([b'h'; 20]),
            info_hash_v2: None,
            completed: 0,
            worth,
            bytes: None,
            made: 0,
        });
        for (id, passkey) in [(1, ONE), (2, TWO)] {
            tracker.put_user(&User {
                id: UserId(id),
                passkey: Passkey::new(passkey.as_bytes()),
                passkey_version: 0,
                may_leech: true,
                wait_seconds: 0,
                peers_max: 0,
                torrents_max: 0,
                worth,
            });
        }
        let clock = Clock::manual(1_700_000_000_000);
        let ids = ConnectionIds::new([7; 16]);
        let service = Arc::new(Service::new(tracker.clone(), serve, ids, clock.clone()));
        let address = "127.0.0.1:0".parse().expect("an address");
        let sockets = Sockets::bind(&[address], true, 2).expect("the address is free");
        let at = sockets.addresses().0[0];
        let serving = Serving::begin(&service, sockets, 2).expect("threads begin");
        Self { tracker, service, serving: Some(serving), at, clock }
    }

    /// Connects at this path.
    fn client(&self, path: &str, number: u32) -> Client {
        let (client, head) = Client::knock(self.at, path, number, "Sec-WebSocket-Version: 13\r\n");
        assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
        // The example of RFC 6455 §1.3.
        assert!(head.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
        client
    }

    fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        let text = format!("GET {target} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers and closes");
        answer.escape_ascii().to_string()
    }

    /// Complete and incomplete peers.
    fn counts(&self) -> (u32, u32) {
        let counts = self.tracker.scrape(&InfoHash([b'h'; 20])).expect("it is known");
        (counts.complete, counts.incomplete)
    }

    fn now_after(&self, ms: u64) -> Now {
        let now = self.clock.now();
        Now { ticks_ms: now.ticks_ms + ms, unix_ms: now.unix_ms + ms, ..now }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let bound = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < bound, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A client as a browser has one.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    number: u32,
}

impl Client {
    /// Asks for WebSocket, and gives what is answered.
    fn knock(at: SocketAddr, path: &str, number: u32, version: &str) -> (Self, String) {
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{version}\r\n"
        );
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut client = Self { stream, received: Vec::new(), number };
        let head = loop {
            if let Some(end) = client.received.windows(4).position(|it| it == b"\r\n\r\n") {
                break client.received.drain(..end + 4).collect();
            }
            if !client.more() {
                break std::mem::take(&mut client.received);
            }
        };
        (client, String::from_utf8_lossy(&head).into_owned())
    }

    /// Reads more; false at the end.
    fn more(&mut self) -> bool {
        let mut some = [0; 4096];
        match self.stream.read(&mut some) {
            Ok(count) => {
                self.received.extend_from_slice(&some[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing more came: {error}"),
        }
    }

    fn send(&mut self, first: u8, payload: &[u8]) {
        let mask = [1, 2, 3, 4];
        let mut bytes = vec![first];
        match u16::try_from(payload.len()) {
            Ok(short) if short < 126 => bytes.push(0x80 | short as u8),
            Ok(middle) => {
                bytes.push(0x80 | 126);
                bytes.extend_from_slice(&middle.to_be_bytes());
            }
            Err(_) => {
                bytes.push(0x80 | 127);
                bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
            }
        }
        bytes.extend_from_slice(&mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&bytes).expect("it reads");
    }

    /// The next frame; none at the end.
    fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let [first, second, rest @ ..] = &self.received[..] {
                let (length, skipped) = match (*second, rest) {
                    (126, [a, b, ..]) => (usize::from(*a) << 8 | usize::from(*b), 4),
                    (126, _) => (usize::MAX, 0),
                    (short, _) => (usize::from(short), 2),
                };
                if self.received.len().saturating_sub(skipped) >= length {
                    let first = *first;
                    let payload = self.received[skipped..skipped + length].to_vec();
                    self.received.drain(..skipped + length);
                    return Some((first, payload));
                }
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// The next message.
    fn hears(&mut self) -> String {
        loop {
            match self.frame() {
                Some((TEXT, payload)) => return String::from_utf8(payload).expect("it is text"),
                Some((PING, _)) => self.send(PONG, b""),
                other => panic!("{other:?} is no message"),
            }
        }
    }

    /// The code that the connection is closed with.
    fn close_code(&mut self) -> u16 {
        loop {
            match self.frame() {
                Some((CLOSE, payload)) => return u16::from_be_bytes([payload[0], payload[1]]),
                Some(_) => {}
                None => panic!("it ended without a word"),
            }
        }
    }

    fn name(&self) -> String {
        format!("-WW0205-{:012}", self.number)
    }

    fn says(&mut self, more: &str) {
        let name = self.name();
        let text =
            format!(r#"{{"action":"announce","info_hash":"{HASH}","peer_id":"{name}",{more}}}"#);
        self.send(TEXT, text.as_bytes());
    }

    /// Announces these counters and offers, and gives what is answered.
    fn announces(&mut self, event: &str, [up, down, left]: [u64; 3], offers: usize) -> String {
        let offers: Vec<String> = (0..offers)
            .map(|number| format!(r#"{{"offer":{{"sdp":"of {number}"}},"offer_id":"o{number}"}}"#))
            .collect();
        self.says(&format!(
            r#""event":"{event}","uploaded":{up},"downloaded":{down},"left":{left},"offers":[{}]"#,
            offers.join(",")
        ));
        self.hears()
    }
}

#[test]
fn clients_meet_through_the_tracker_whichever_threads_they_are_on() {
    let running = Running::begin(Mode::Open);
    let mut seeders: Vec<Client> =
        (1..=6).map(|number| running.client("/announce", number)).collect();
    for seeder in &mut seeders {
        let told = seeder.announces("started", [0, 9, 0], 3);
        assert!(told.contains(r#""interval":3"#) && told.contains(HASH), "a fifth: {told}");
    }
    assert_eq!(running.service.counters().web_offers.read(), 0, "who has all wants nobody else");
    let mut taker = running.client("/announce", 7);
    let told = taker.announces("started", [0, 0, 9], 6);
    assert!(told.contains(r#""complete":6,"incomplete":1"#), "{told}");
    for seeder in &mut seeders {
        let offer = seeder.hears();
        assert!(offer.contains(r#""peer_id":"-WW0205-000000000007""#), "{offer}");
        let id = offer.split(r#""offer_id":""#).nth(1).expect("it has one");
        let id = id.split('"').next().expect("it ends");
        let sdp = format!(r#""offer":{{"sdp":"of {}"}}"#, &id[1..]);
        assert!(offer.contains(&sdp), "what belongs together: {offer}");
        seeder.says(&format!(
            r#""to_peer_id":"-WW0205-000000000007","offer_id":"{id}","answer":{{"sdp":"yes"}}"#
        ));
    }
    let answers: std::collections::BTreeSet<String> = (0..6).map(|_| taker.hears()).collect();
    assert_eq!(answers.len(), 6, "one of each: {answers:?}");
    assert!(answers.iter().all(|it| it.contains(r#""answer":{"sdp":"yes"}"#)), "{answers:?}");
    let counters = running.service.counters();
    assert_eq!((counters.web_offers.read(), counters.web_answers.read()), (6, 6));

    // Others are not told of them, and count them all the same.
    let http = running.get(&format!(
        "/announce?info_hash={HASH}&peer_id=-TR4040-000000000001&port=1&left=1&uploaded=0\
         &downloaded=0"
    ));
    assert!(http.contains("8:completei6e") && http.contains("5:peers0:"), "{http}");
    taker.send(TEXT, format!(r#"{{"action":"scrape","info_hash":"{HASH}"}}"#).as_bytes());
    let told = taker.hears();
    let expected = format!(r#""files":{{"{HASH}":{{"complete":6,"incomplete":2,"#);
    assert!(told.contains(&expected), "{told}");
    // One that says that it goes is offered nothing more.
    seeders[0].announces("stopped", [0, 9, 0], 0);
    taker.announces("completed", [0, 9, 9], 10);
    assert_eq!(counters.web_offers.read(), 6 + 5);
    assert_eq!(running.counts(), (5, 2));
}

#[test]
fn a_private_tracker_hands_on_what_its_users_say_and_counts_each_byte() {
    let running = Running::begin(Mode::Private);
    let mut one = running.client(&format!("/{ONE}/announce"), 1);
    let mut own = running.client(&format!("/announce?passkey={ONE}"), 2);
    let mut two = running.client(&format!("/{TWO}/announce"), 3);
    one.announces("started", [500, 0, 0], 0);
    own.announces("started", [0, 0, 9], 5);
    two.announces("started", [0, 0, 9], 5);
    assert!(one.hears().contains("-WW0205-000000000003"), "from the other, and not its own");
    for (path, expected) in [
        ("/announce", "a passkey is missing"),
        ("/0000000000000000000000000000six6/announce", "this passkey is unknown"),
        ("/announce?passkey=a%20b", "the passkey is malformed"),
    ] {
        let mut stranger = running.client(path, 9);
        let told = stranger.announces("started", [0, 0, 9], 5);
        assert!(told.contains(r#""failure reason":""#) && told.contains(expected), "{told}");
        let answer = r#""to_peer_id":"-WW0205-000000000001","offer_id":"o","answer":{}"#;
        stranger.says(answer);
        assert!(stranger.hears().contains("announce this torrent before"), "{path}");
    }
    assert_eq!(running.service.counters().web_offers.read(), 2, "to both of the other user");

    running.clock.advance_ms(20_000);
    one.announces("", [1500, 0, 0], 0);
    one.says(r#""left":0"#);
    assert!(one.hears().contains("uploaded is missing"), "no counters are no announce");
    let told = one.announces("", [9500, 0, 0], 0);
    assert!(told.contains("announced too often"), "{told}");
    let torrent = running.tracker.torrent(&InfoHash([b'h'; 20]), 9).expect("it is known");
    assert_eq!(torrent.told_sent, 1000);
    assert_eq!(torrent.sessions.len(), 3);
    // Two users cannot have one name: a user's place is not another's to take.
    let mut thief = running.client(&format!("/{TWO}/announce"), 1);
    let told = thief.announces("started", [0, 0, 9], 5);
    assert!(told.contains("somebody else has this peer id"), "{told}");
    // Whose passkey is gone hears nothing more.
    running.tracker.remove_user(UserId(1));
    running.clock.advance_ms(20_000);
    assert!(one.announces("", [2500, 0, 0], 0).contains("this passkey is unknown"));
    let before = running.service.counters().web_offers.read();
    two.announces("", [0, 0, 9], 5);
    let offers = running.service.counters().web_offers.read() - before;
    assert_eq!(offers, 1, "the other has not announced since");
}

#[test]
fn who_loses_its_connection_may_come_back_and_no_byte_is_lost() {
    let running = Running::begin(Mode::Private);
    let path = format!("/{ONE}/announce");
    let mut one = running.client(&path, 1);
    let mut two = running.client(&path, 2);
    one.announces("started", [0, 0, 0], 0);
    two.announces("started", [0, 0, 9], 0);
    drop((one, two));
    until("both to be gone", || running.service.web_connected() == 0);
    running.service.end_lost(running.now_after(LOST_MS - 1));
    assert_eq!(running.counts(), (1, 1), "they have a while");
    running.clock.advance_ms(60_000);
    let mut one = running.client(&path, 1);
    one.announces("", [700, 0, 0], 0);
    running.service.end_lost(running.now_after(LOST_MS));
    assert_eq!(running.counts(), (1, 0), "one came back");
    one.announces("completed", [900, 0, 0], 0);
    let torrent = running.tracker.torrent(&InfoHash([b'h'; 20]), 9).expect("it is known");
    assert_eq!(torrent.told_sent, 900, "also what was sent while it was away");
    let user = running.tracker.user(UserId(1)).expect("it is known");
    assert_eq!((user.taking, user.sessions.len()), (0, 1), "the slot of the other is free");
}

#[test]
fn a_client_that_others_can_reach_too_is_one_and_stays_when_its_connection_goes() {
    let running = Running::begin(Mode::Open);
    let mut one = running.client("/announce", 1);
    let by_http = |peer_id: &str| {
        running.get(&format!(
            "/announce?info_hash={HASH}&peer_id={peer_id}&port=6881&left=0&uploaded=0\
             &downloaded=0&event=started"
        ))
    };
    by_http(&one.name());
    one.announces("started", [0, 0, 0], 0);
    assert_eq!(running.counts(), (1, 0));
    drop(one);
    until("it to be gone", || running.service.web_connected() == 0);
    running.service.end_lost(running.now_after(LOST_MS));
    assert_eq!(running.counts(), (1, 0));
    let taker = format!(
        "/announce?info_hash={HASH}&peer_id=-TR4040-000000000002&port=7&left=1&uploaded=0\
         &downloaded=0&ip=1.2.3.4"
    );
    assert!(!running.get(&taker).contains("d14:failure"));
}

#[test]
fn silent_clients_are_asked_and_end_if_they_say_nothing() {
    let running = Running::begin(Mode::Open);
    let (mut awake, mut idle) = (running.client("/announce", 1), running.client("/announce", 2));
    let mut asleep = running.client("/announce", 3);
    awake.announces("started", [0, 0, 9], 0);
    asleep.announces("started", [0, 0, 9], 0);
    running.clock.advance_ms(ASK_MS + 1000);
    assert_eq!(awake.frame(), Some((PING, Vec::new())));
    assert_eq!(asleep.frame(), Some((PING, Vec::new())));
    assert_eq!(idle.frame(), None, "one that is nowhere goes as any other");
    awake.send(PONG, b"");
    awake.send(PING, b"me too");
    assert_eq!(awake.frame(), Some((PONG, b"me too".to_vec())));
    running.clock.advance_ms(ASK_MS + 1000);
    assert_eq!(asleep.frame(), None);
    assert_eq!(awake.frame(), Some((PING, Vec::new())), "it is asked again");
    assert_eq!(running.service.counters().connections_late.read(), 2);
}

#[test]
fn what_is_too_much_or_wrong_ends_a_connection_and_is_counted() {
    let rules = ServeRules { webtorrent: true, connections_max: 6, ..ServeRules::default() };
    let running = Running::begin_by(Mode::Open, rules);
    let counters = running.service.counters();
    let knock = |path, version| {
        let (_, head) = Client::knock(running.at, path, 1, version);
        head[9..12].to_owned()
    };
    let version = "Sec-WebSocket-Version: 13\r\n";
    assert_eq!(knock("/elsewhere", version), "404");
    assert_eq!(knock("/announce", "Sec-WebSocket-Version: 8\r\n"), "426");
    let mut client = running.client("/announce", 1);
    client.send(TEXT, b"{}");
    assert!(client.hears().contains("action is neither announce nor scrape"));
    client.send(0x82, b"bytes");
    assert_eq!(client.close_code(), 1003);
    let mut client = running.client("/announce", 1);
    client.stream.write_all(b"\x81\x01a").expect("it reads");
    assert_eq!(client.close_code(), 1002);
    let mut client = running.client("/announce", 1);
    client.stream.write_all(b"\x81\xff\0\0\0\0\0\x01\0\x01mask").expect("it reads");
    assert_eq!(client.close_code(), 1009);
    let mut client = running.client("/announce", 1);
    client.send(0x88, b"\x03\xe8");
    assert_eq!((client.close_code(), counters.web_wrong.read()), (1000, 3));
    let mut client = running.client("/announce", 1);
    (0..=ALLOWED_AT_ONCE).for_each(|_| client.send(PONG, b""));
    client.send(PING, b"x");
    assert_eq!(client.frame(), Some((PONG, b"x".to_vec())), "who answers says nothing");
    drop(client);
    let mut client = running.client("/announce", 1);
    let pings = [0x89, 0x80, 0, 0, 0, 0].repeat(ALLOWED_AT_ONCE as usize + 1);
    client.stream.write_all(&pings).expect("it reads");
    assert_eq!((client.close_code(), counters.web_too_fast.read()), (1008, 1));
    drop(client);
    until("all to be gone", || running.service.web_connected() == 0);
    let kept: Vec<Client> = (1..=3).map(|number| running.client("/announce", number)).collect();
    assert_eq!((knock("/announce", version), counters.web_refused.read()), ("503".to_owned(), 1));
    drop(kept);
}

#[test]
fn who_does_not_read_is_let_go_and_nobody_else() {
    let running = Running::begin(Mode::Open);
    let mut deaf = running.client("/announce", 1);
    let mut talker = running.client("/announce", 2);
    deaf.announces("started", [0, 0, 9], 0);
    talker.announces("started", [0, 0, 9], 0);
    let sdp = "x".repeat(60_000);
    let counters = running.service.counters();
    let more = format!(
        r#""event":"started","uploaded":0,"downloaded":0,"offers":[{{"offer":{{"sdp":"{sdp}"}},"offer_id":"o"}}]"#
    );
    for _ in 0..900 {
        talker.says(&more);
        assert!(talker.hears().contains(r#""interval""#));
        if counters.web_slow.read() > 0 {
            break;
        }
    }
    assert_eq!(counters.web_slow.read(), 1);
    until("it to be gone", || running.service.web_connected() == 1);
    let before = counters.web_offers.read();
    talker.says(&more);
    talker.hears();
    assert_eq!(counters.web_offers.read(), before, "nobody is left");
}

#[test]
fn it_is_behind_a_setting_and_ends_with_a_word() {
    let mut running = Running::begin(Mode::Open);
    let mut first = running.client("/announce", 1);
    first.announces("started", [0, 0, 9], 0);
    running.service.set_rules(ServeRules::default());
    running.clock.advance_ms(1000);
    assert_eq!(first.close_code(), 1001);
    let (_, head) = Client::knock(running.at, "/announce", 1, "");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "as if nobody had asked: {head}");
    running.service.set_rules(ServeRules { webtorrent: true, ..ServeRules::default() });
    let mut second = running.client("/announce", 2);
    second.announces("started", [0, 0, 9], 0);
    assert!(running.serving.take().expect("it runs").stop());
    assert_eq!(second.close_code(), 1001);
    assert_eq!(second.frame(), None);
    assert_eq!(running.service.web_connected(), 0);
}
