//! The service over real sockets of this machine, before a store that only repeats.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::Clock;
use base::clock::Now;
use wire::tracker::bencode::Value;
use wire::tracker::{Announce, Counts, Event, InfoHash, Passkey, PeerId, Peers, Told};

use super::{ConnectionIds, Heart, ScrapeRule, ServeRules, Service, Serving, Sockets};
use crate::refusal::Refusal;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A store that knows one torrent and gives each asker one peer: itself.
#[derive(Default)]
struct Mirror {
    announced: AtomicU64,
    flushed: AtomicU64,
    fails: bool,
}

impl Heart for Mirror {
    fn announce(
        &self,
        announce: &Announce,
        from: IpAddr,
        _now: Now,
        peers: &mut Peers,
    ) -> Result<Told, Refusal> {
        if announce.info_hash.0 != [b'h'; 20] {
            return Err(Refusal::UnknownTorrent);
        }
        self.announced.fetch_add(1, Ordering::SeqCst);
        match from {
            IpAddr::V4(address) => {
                peers.v4.extend_from_slice(&address.octets());
                peers.v4.extend_from_slice(&announce.port.to_be_bytes());
            }
            IpAddr::V6(address) => {
                peers.v6.extend_from_slice(&address.octets());
                peers.v6.extend_from_slice(&announce.port.to_be_bytes());
            }
        }
        let swarm = Counts { complete: 1, incomplete: 2, downloaded: 3, partial: 0 };
        let is_stopped = announce.event == Event::Stopped;
        let interval = if is_stopped || announce.passkey.is_some() { 7 } else { 1800 };
        Ok(Told { interval, min_interval: 900, swarm })
    }

    fn announce_web(&self, announce: &Announce, from: IpAddr, now: Now) -> Result<Told, Refusal> {
        self.announce(announce, from, now, &mut Peers::default())
    }

    fn lose(&self, _: Option<&Passkey>, _: &InfoHash, _: &PeerId, _: Now) {}

    fn scrape(&self, hash: &InfoHash) -> Option<Counts> {
        (hash.0 == [b'h'; 20]).then_some(Counts { complete: 4, ..Counts::default() })
    }

    fn may_scrape(&self, _passkey: Option<&Passkey>, _hash: &InfoHash) -> bool {
        true
    }

    fn flush(&self) -> io::Result<()> {
        self.flushed.store(self.announced.load(Ordering::SeqCst), Ordering::SeqCst);
        if self.fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

struct Running {
    mirror: Arc<Mirror>,
    service: Arc<Service>,
    serving: Option<Serving>,
    http: SocketAddr,
    udp: SocketAddr,
}

impl Running {
    fn begin(at: &str, rules: ServeRules) -> Self {
        Self::begin_with(at, rules, Mirror::default())
    }

    fn begin_with(at: &str, rules: ServeRules, mirror: Mirror) -> Self {
        let mirror = Arc::new(mirror);
        let ids = ConnectionIds::new([7; 16]);
        let service = Arc::new(Service::new(mirror.clone(), rules, ids, Clock::machine()));
        let address = at.parse().expect("an address");
        let sockets = Sockets::bind(&[address], true, 2).expect("the address is free");
        let (http, udp) = sockets.addresses();
        let serving = Serving::begin(&service, sockets, 2).expect("threads begin");
        Self { mirror, service, serving: Some(serving), http: http[0], udp: udp[0] }
    }

    /// Sends text over one connection and takes all answers until it ends.
    fn converse(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.http).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers and closes");
        answer.escape_ascii().to_string()
    }

    fn exchange(&self, socket: &UdpSocket, datagram: &[u8]) -> Option<Vec<u8>> {
        socket.send_to(datagram, self.udp).expect("it is sent");
        let mut answer = [0; 2048];
        socket.recv(&mut answer).ok().map(|length| answer[..length].to_vec())
    }
}

fn target(hash: &str, more: &str) -> String {
    format!(
        "/announce?info_hash={hash}&peer_id=-TR4040-0123456789ab&port=6881&uploaded=0&\
         downloaded=0&left=0{more}"
    )
}

fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: t\r\n{fields}\r\n")
}

fn known(more: &str) -> String {
    target(&"h".repeat(20), more)
}

const CLOSE: &str = "Connection: close\r\n";

#[test]
fn announces_are_answered_one_by_one_pipelined_and_in_pieces() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let pipelined =
        format!("{}{}{}", get(&known(""), ""), get(&known(""), ""), get(&known(""), CLOSE));
    let told = running.converse(&pipelined);
    assert_eq!(told.matches("200 OK").count(), 3, "{told}");
    assert_eq!(told.matches("5:peers6:\\x7f\\x00\\x00\\x01\\x1a\\xe1").count(), 3, "{told}");
    assert_eq!(told.matches("11:external ip4:").count(), 3, "{told}");

    let mut stream = TcpStream::connect(running.http).expect("it listens");
    let text = get(&known(""), CLOSE);
    for piece in text.as_bytes().chunks(40) {
        stream.write_all(piece).expect("it reads");
        stream.flush().expect("it leaves");
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert!(answer.ends_with(b"e"), "{}", answer.escape_ascii());
    assert_eq!(running.mirror.flushed.load(Ordering::SeqCst), 4, "all was logged before");
    assert_eq!(running.service.counters().http_announces.read(), 4);
}

#[test]
fn refusals_and_what_is_wrong_are_said_in_the_clients_language() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let h = "h".repeat(20);
    for (target, expected) in [
        (
            target(&"x".repeat(20), ""),
            "d14:failure reason35:this torrent is not registered here8:retry ini5ee",
        ),
        ("/announce".to_owned(), "d14:failure reason20:info_hash is missinge"),
        (known("&passkey=a%20b"), "8:retry in5:nevere"),
        (format!("/scrape?info_hash={h}"), "d5:filesd20:hhhhhhhhhhhhhhhhhhhhd8:completei4e"),
        (format!("/scrape?info_hash={}", "x".repeat(20)), "d5:filesdee"),
        ("/scrape".to_owned(), "name the torrents to scrape by info_hash"),
        ("/index.html".to_owned(), "404 Not Found"),
    ] {
        let told = running.converse(&get(&target, CLOSE));
        assert!(told.contains(expected), "{target}: {told}");
    }
    assert!(running.converse("POST / HTTP/1.1\r\n\r\n").contains("405 Method"));
    running.service.set_rules(ServeRules { scrape: ScrapeRule::Off, ..ServeRules::default() });
    let told = running.converse(&get(&format!("/scrape?info_hash={h}"), CLOSE));
    assert!(told.contains("this tracker is not scraped"), "{told}");
    running.service.set_rules(ServeRules { scrape_torrents_max: 1, ..ServeRules::default() });
    let told = running.converse(&get(&format!("/scrape?info_hash={h}&info_hash={h}"), CLOSE));
    assert!(told.contains("too many torrents"), "{told}");
    // A refusal says no more than why, and no secret.
    let text = format!("{:?}", running.service.counters());
    assert!(!text.contains(SECRET));
}

#[test]
fn in_each_second_no_more_scrapes_are_answered_than_the_owner_allows() {
    let rules = ServeRules { scrapes_per_second_max: 3, ..ServeRules::default() };
    let clock = Clock::manual(1_800_000_000_000);
    let ids = ConnectionIds::new([7; 16]);
    let service = Service::new(Arc::new(Mirror::default()), rules, ids, clock.clone());
    let from = "10.0.0.1".parse().expect("an address");
    let scrape = || {
        let mut out = Vec::new();
        let target = format!("/scrape?info_hash={}", "h".repeat(20));
        service.answer_alone(target.as_bytes(), from, &mut out);
        let told = String::from_utf8_lossy(&out).into_owned();
        let is_refused = told.contains("33:too many scrapes; try again later8:retry ini5e");
        assert!(is_refused || told.contains("8:completei4e"), "{told}");
        !is_refused
    };
    for _ in 0..3 {
        assert_eq!((0..9).filter(|_| scrape()).count(), 3);
        clock.advance_ms(1000);
    }
}

#[test]
fn a_proxy_that_is_named_tells_whom_it_speaks_for() {
    let proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    let running = Running::begin("127.0.0.1:0", ServeRules { proxies, ..ServeRules::default() });
    let fields = format!("X-Forwarded-For: 203.0.113.9\r\n{CLOSE}");
    let told = running.converse(&get(&known(""), &fields));
    assert!(told.contains("5:peers6:\\xcb\\x00q\\t\\x1a\\xe1"), "{told}");
}

#[test]
fn peers_come_one_by_one_where_a_client_wants_that() {
    let running = Running::begin("[::1]:0", ServeRules::default());
    let told = running.converse(&get(&known("&compact=0"), CLOSE));
    assert!(told.contains("5:peersld2:ip3:::14:porti6881eee"), "{told}");
    let told = running.converse(&get(&known(""), CLOSE));
    assert!(told.contains("5:peers0:6:peers618:"), "{told}");
}

#[test]
fn a_log_that_fails_is_counted_and_clients_are_answered() {
    let mirror = Mirror { fails: true, ..Mirror::default() };
    let running = Running::begin_with("127.0.0.1:0", ServeRules::default(), mirror);
    assert!(running.converse(&get(&known(""), CLOSE)).contains("5:peers6:"));
    assert!(running.service.counters().journal_failures.read() > 0);
}

#[test]
fn connections_are_bounded_and_the_rest_is_served() {
    let rules = ServeRules { connections_max: 2, ..ServeRules::default() };
    let running = Running::begin("127.0.0.1:0", rules);
    let kept: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(running.http).expect("it listens");
            stream.write_all(get(&known(""), "").as_bytes()).expect("it reads");
            let mut some = [0; 64];
            assert!(stream.read(&mut some).expect("it answers") > 0);
            stream
        })
        .collect();
    let mut third = TcpStream::connect(running.http).expect("it listens");
    let mut none = [0; 1];
    assert!(matches!(third.read(&mut none), Ok(0) | Err(_)), "it is closed at once");
    assert_eq!(running.service.counters().connections_refused.read(), 1);
    drop(kept);
}

fn connect(running: &Running, socket: &UdpSocket) -> u64 {
    let mut datagram = 0x0417_2710_1980_u64.to_be_bytes().to_vec();
    datagram.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 5]);
    let answer = running.exchange(socket, &datagram).expect("an id");
    assert_eq!((answer.len(), &answer[..8]), (16, &[0, 0, 0, 0, 0, 0, 0, 5][..]));
    u64::from_be_bytes(answer[8..].try_into().expect("eight bytes"))
}

fn announce(id: u64, hash: u8, more: &[u8]) -> Vec<u8> {
    let mut datagram = id.to_be_bytes().to_vec();
    datagram.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 9]);
    datagram.extend_from_slice(&[hash; 20]);
    datagram.extend_from_slice(b"-TR4040-0123456789ab");
    datagram.extend_from_slice(&[0; 24 + 12]);
    datagram.extend_from_slice(&[0xff; 4]);
    datagram.extend_from_slice(&6881u16.to_be_bytes());
    datagram.extend_from_slice(more);
    datagram
}

#[test]
fn over_udp_who_has_proved_where_it_is_gets_peers_of_its_family() {
    for (at, own, peer_bytes) in [
        ("127.0.0.1:0", "127.0.0.1:0", 6),
        ("[::1]:0", "[::1]:0", 18),
        ("0.0.0.0:0", "127.0.0.1:0", 6),
    ] {
        let running = Running::begin(at, ServeRules::default());
        let running = Running {
            udp: (own.parse::<SocketAddr>().expect("one").ip(), running.udp.port()).into(),
            ..running
        };
        let socket = UdpSocket::bind(own).expect("a socket");
        socket.connect(running.udp).expect("answers come from where it was asked");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
        let exchange = |datagram: &[u8]| {
            socket.send(datagram).expect("it is sent");
            let mut answer = [0; 2048];
            let length = socket.recv(&mut answer).expect("an answer");
            answer[..length].to_vec()
        };
        let mut hello = 0x0417_2710_1980_u64.to_be_bytes().to_vec();
        hello.extend_from_slice(&[0; 8]);
        let id = u64::from_be_bytes(exchange(&hello)[8..].try_into().expect("eight bytes"));
        let answer = exchange(&announce(id, b'h', b""));
        assert_eq!(answer.len(), 20 + peer_bytes, "{at}");
        assert_eq!(answer[..12], [0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 7, 8], "{at}");
        let refused = exchange(&announce(id, b'x', b""));
        assert!(refused.ends_with(b"this torrent is not registered here"), "{at}");
        let mut scrape = id.to_be_bytes().to_vec();
        scrape.extend_from_slice(&[0, 0, 0, 2, 0, 0, 0, 9]);
        scrape.extend_from_slice(&[b'h'; 20]);
        scrape.extend_from_slice(&[b'x'; 20]);
        let told = exchange(&scrape);
        assert_eq!((told.len(), told[11], told[23]), (32, 4, 0), "{at}");
    }
}

#[test]
fn over_udp_a_passkey_may_stand_in_options() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
    let id = connect(&running, &socket);
    let path = format!("/{SECRET}/announce");
    let options = [&[2, path.len() as u8][..], path.as_bytes(), b"\0tail"].concat();
    let answer = running.exchange(&socket, &announce(id, b'h', &options)).expect("peers");
    assert_eq!(answer[8..12], [0, 0, 0, 7], "the store saw the passkey");
}

#[test]
fn over_udp_nobody_unproved_gets_more_than_it_sent() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
    let id = connect(&running, &socket);
    let datagram = announce(id ^ 1, b'h', b"");
    let answer = running.exchange(&socket, &datagram).expect("an error");
    assert!(answer.len() <= 36 && answer.starts_with(&[0, 0, 0, 3]), "{answer:?}");
    // What another was given is no good here.
    let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    other.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
    let answer = running.exchange(&other, &announce(id, b'h', b"")).expect("an error");
    assert!(answer.starts_with(&[0, 0, 0, 3]));
    // Noise is answered with silence: the next answer is to the next question.
    socket.send_to(b"noise", running.udp).expect("it is sent");
    connect(&running, &socket);
    assert_eq!(running.mirror.announced.load(Ordering::SeqCst), 0);
    let counters = running.service.counters();
    assert_eq!((counters.udp_unproved.read(), counters.udp_noise.read()), (2, 1));
}

#[test]
fn many_datagrams_are_answered_each_to_its_client() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
    let id = connect(&running, &socket);
    for _ in 0..100 {
        socket.send_to(&announce(id, b'h', b""), running.udp).expect("it is sent");
    }
    let mut answer = [0; 64];
    for _ in 0..100 {
        assert_eq!(socket.recv(&mut answer).expect("an answer"), 26);
    }
    assert_eq!(running.mirror.flushed.load(Ordering::SeqCst), 100);
}

#[test]
fn sockets_go_on_in_the_next_one_and_no_announce_is_lost() {
    let running = Running::begin("127.0.0.1:0", ServeRules::default());
    let ids = ConnectionIds::new([7; 16]);
    let sockets =
        Sockets::bind(&["127.0.0.1:0".parse().expect("an address")], true, 2).expect("free");
    let (http, udp) = sockets.handles().expect("handles");
    let (http_at, udp_at) = (sockets.addresses().0[0], sockets.addresses().1[0]);
    let serving = Serving::begin(&running.service, sockets, 2).expect("threads");
    let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a bound");
    let first = Running {
        http: http_at,
        udp: udp_at,
        serving: None,
        mirror: running.mirror.clone(),
        service: running.service.clone(),
    };
    let id = connect(&first, &client);
    assert!(serving.stop(), "threads end well");
    // Nobody reads now; what comes waits.
    client.send_to(&announce(id, b'h', b""), udp_at).expect("it is sent");
    let mut waiting = TcpStream::connect(http_at).expect("the socket still listens");
    waiting.write_all(get(&known(""), CLOSE).as_bytes()).expect("it waits");
    let sockets = Sockets::of_handles(http, udp).expect("they are sockets");
    let heart = running.mirror.clone();
    let service = Arc::new(Service::new(heart, ServeRules::default(), ids, Clock::machine()));
    let next = Serving::begin(&service, sockets, 1).expect("threads");
    let mut answer = [0; 64];
    assert_eq!(client.recv(&mut answer).expect("an answer"), 26, "the id is still good");
    let mut text = Vec::new();
    waiting.read_to_end(&mut text).expect("an answer");
    assert!(text.starts_with(b"HTTP/1.1 200 OK"));
    assert!(next.stop() && running.serving.is_some_and(Serving::stop));
}

#[test]
fn what_is_said_can_be_read() {
    let heart = Arc::new(Mirror::default());
    let ids = ConnectionIds::new([7; 16]);
    let service = Service::new(heart, ServeRules::default(), ids, Clock::machine());
    let mut out = Vec::new();
    let from = "::ffff:10.0.0.1".parse().expect("an address");
    service.answer_alone(known("").as_bytes(), from, &mut out);
    let value = Value::read(&out).expect("it is bencoded");
    let peers = value.of("peers").and_then(Value::bytes);
    assert_eq!(peers, Some(&[10, 0, 0, 1, 0x1a, 0xe1][..]), "a mapped address is IPv4");
}
