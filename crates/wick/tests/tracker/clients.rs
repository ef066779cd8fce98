//! Real BitTorrent clients: a file goes from one to another by what the tracker says, over HTTP
//! and UDP, IPv4 and IPv6; and what they did is what stands in the database, to the byte.
//!
//! Each has a passkey of its own in its copy of the torrent; over UDP only libtorrent, and so
//! qBittorrent, can show one (BEP 41), and the others meet an open tracker.
//! By IPv6 come those that can: aria2 asks trackers over UDP by IPv4 alone, and rTorrent 0.9.8
//! announces by IPv6 but takes nothing from peers there, and binds no address of it.
//! The one that has the file is libtorrent; it announces where its copy is told to. A client that
//! isn't installed is skipped, which is said on standard error; with `CLIENTS=required` that fails.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sha1::{Digest, Sha1};
use wire::tracker::bencode::Value;

use crate::served::{Served, Tables};
use crate::wick::until;

const FILE_BYTES: usize = 3_000_000;
const PIECE_BYTES: usize = 64 << 10;
const PRIVATE: &str = "interval = \"60s\"\nmode = \"private\"\nflush = \"1s\"";
/// Of who has the file, and of who wants it.
const PASSKEYS: [&str; 2] =
    ["0123456789abcdef0123456789abcde1", "0123456789abcdef0123456789abcde2"];

/// A process that is ended with the test.
struct Client(Child);

impl Client {
    /// Asks it to end as a person at a terminal does, so that it tells the tracker.
    fn interrupt(&self) {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(id, Signal::INT).expect("it runs");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file that nobody has seen, and its torrent.
struct Shared {
    content: Vec<u8>,
    torrent: Vec<u8>,
    hash: String,
}

/// What `name` comes to as a torrent at a tracker.
fn share(name: &str, announce: &str) -> Shared {
    let mut seed = name.bytes().fold(1u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut content = Vec::with_capacity(FILE_BYTES);
    while content.len() < FILE_BYTES {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        content.push((seed >> 33) as u8);
    }
    let pieces: Vec<u8> = content.chunks(PIECE_BYTES).flat_map(Sha1::digest).collect();
    let info = Value::Dictionary(vec![
        (b"length", Value::Number(FILE_BYTES as i64)),
        (b"name", Value::Bytes(b"file.bin")),
        (b"piece length", Value::Number(PIECE_BYTES as i64)),
        (b"pieces", Value::Bytes(&pieces)),
        // Peers come from the tracker and from nowhere else.
        (b"private", Value::Number(1)),
    ]);
    let mut written = Vec::new();
    info.write(&mut written);
    let hash = Sha1::digest(&written).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let announce = Value::Bytes(announce.as_bytes());
    let whole = Value::Dictionary(vec![(b"announce", announce), (b"info", info)]);
    let mut torrent = Vec::new();
    whole.write(&mut torrent);
    Shared { content, torrent, hash }
}

/// Starts one that has the file, or one that wants it: a script of Python before libtorrent.
fn libtorrent(folder: &Path, at: &str, is_done: &str) -> Client {
    let script = r"
import libtorrent, sys, time, os
torrent, folder, at, done = sys.argv[1:5]
session = libtorrent.session({'listen_interfaces': at, 'enable_dht': False, 'enable_lsd': False,
    'enable_upnp': False, 'enable_natpmp': False, 'allow_multiple_connections_per_ip': True,
    'announce_to_all_trackers': True, 'min_announce_interval': 1, 'alert_mask': 0})
handle = session.add_torrent({'ti': libtorrent.torrent_info(torrent), 'save_path': folder})
while not os.path.exists(done):
    time.sleep(0.05)
    if handle.status().is_seeding and not os.path.exists(folder + '/whole'):
        open(folder + '/whole', 'w').close()
status = handle.status()
handle.pause()
time.sleep(0.5)
with open(folder + '/totals.new', 'w') as totals:
    totals.write('%d %d' % (status.total_payload_upload, status.total_payload_download))
os.rename(folder + '/totals.new', folder + '/totals')
time.sleep(1)
";
    let child = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .arg(folder.join("file.torrent"))
        .arg(folder)
        .args([at, is_done])
        .stdout(Stdio::null())
        .spawn();
    Client(child.expect("python3 can be run"))
}

/// Says that a client isn't there; where all are required that is a failure.
fn skip(name: &str) {
    let is_required = std::env::var("CLIENTS").is_ok_and(|text| text == "required");
    assert!(!is_required, "{name} is not installed");
    eprintln!("skipped: {name} is not installed");
}

/// A command that takes the file into a folder, from peers at this address; none for a client that
/// isn't installed.
fn taker(name: &str, folder: &Path, at: &str, port: u16) -> Option<Client> {
    let torrent = folder.join("file.torrent").display().to_string();
    let own = folder.display().to_string();
    let port = port.to_string();
    let mut command = match name {
        "aria2" => {
            let mut command = Command::new("aria2c");
            command.args(["--enable-dht=true", "--bt-enable-lpd=false", "--seed-time=0"]);
            command.args(["--no-conf", "--quiet", "--file-allocation=none"]);
            command.arg(format!("--listen-port={port}")).arg(format!("--dht-listen-port={port}"));
            command.arg(format!("--dht-file-path={own}/dht")).args(["-d", &own, &torrent]);
            command
        }
        "rtorrent" => {
            let mut command = Command::new("rtorrent");
            let settings = format!("{own}/rtorrent.rc");
            let text = format!(
                "directory.default.set = {own}\nnetwork.port_range.set = {port}-{port}\n\
                 network.bind_address.set = 127.0.0.1\ndht.mode.set = disable\n\
                 system.daemon.set = true\nsession.path.set = {own}\n\
                 trackers.use_udp.set = yes\nload.start = {torrent}\n"
            );
            fs::write(&settings, text).expect("its settings are written");
            command.args(["-n", "-o", &format!("import={settings}")]);
            command
        }
        _ => {
            let mut command = Command::new("qbittorrent-nox");
            let folder = format!("{own}/qBittorrent/config");
            fs::create_dir_all(&folder).expect("a folder");
            let text = format!(
                "[LegalNotice]\nAccepted=true\n[BitTorrent]\nSession\\DHTEnabled=false\n\
                 Session\\LSDEnabled=false\nSession\\PeXEnabled=false\nSession\\Port={port}\n\
                 Session\\InterfaceAddress={at}\n[Preferences]\n\
                 WebUI\\Address=127.0.0.1\nWebUI\\Port=0\nGeneral\\Locale=en\n"
            );
            fs::write(format!("{folder}/qBittorrent.conf"), text).expect("its settings");
            command.arg(format!("--profile={own}")).arg(format!("--save-path={own}"));
            command.arg(format!("--webui-port={}", loopback::port()));
            command.args(["--skip-dialog=true", &torrent]);
            command
        }
    };
    command.env("HOME", folder).stdin(Stdio::null()).stdout(Stdio::null());
    let started = command.stderr(Stdio::null()).spawn();
    if started.is_err() {
        skip(name);
    }
    started.ok().map(Client)
}

fn folder(served: &Served, name: &str, torrent: &[u8]) -> PathBuf {
    let folder = served.folder.path().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("file.torrent"), torrent).expect("the torrent");
    folder
}

fn has_libtorrent() -> bool {
    let status = Command::new("/usr/bin/python3")
        .args(["-c", "import libtorrent"])
        .stderr(Stdio::null())
        .status();
    let is_there = status.is_ok_and(|status| status.success());
    if !is_there {
        skip("python3-libtorrent");
    }
    is_there
}

fn is_whole(path: &Path, content: &[u8]) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == content)
}

/// What was told of a torrent: bytes sent, bytes taken.
fn told(served: &Served, hash: &str) -> (u64, u64) {
    let text = served.ask(&["tracker", "torrent", hash]);
    let line = text.lines().find(|line| line.starts_with("told")).expect(&text);
    let mut numbers = line.split(' ').filter_map(|word| word.parse().ok());
    (numbers.next().expect("sent"), numbers.next().expect("taken"))
}

fn totals(folder: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(folder.join("totals")).ok()?;
    let (sent, taken) = text.split_once(' ')?;
    Some((sent.parse().ok()?, taken.parse().ok()?))
}

/// A torrent for the giver and one for the taker, of the same file, and the tables of a private
/// tracker that knows both.
fn both(
    served: &Served,
    name: &str,
    scheme: &str,
    is_private: bool,
) -> ([Shared; 2], Option<Tables>) {
    let copies = PASSKEYS.map(|passkey| {
        let path = match (is_private, scheme) {
            (false, _) => "announce".to_owned(),
            (true, "udp") => format!("{passkey}/announce"),
            // On loopback libtorrent asks nobody over HTTP by another path than /announce.
            (true, _) => format!("announce?passkey={passkey}"),
        };
        share(&format!("{name}{scheme}"), &format!("{scheme}://{}/{path}", served.address))
    });
    let users = [(1, PASSKEYS[0]), (2, PASSKEYS[1])];
    let tables = is_private.then(|| served.enrol(&users, &copies[0].hash));
    (copies, tables)
}

/// libtorrent gives to libtorrent; both tell the tracker what they sent and took.
fn exchange(listen: &str, at: &str, scheme: &str) {
    if !has_libtorrent() {
        return;
    }
    let served = Served::begin_at(listen, "", PRIVATE);
    let ([shared, other], tables) = both(&served, listen, scheme, true);
    let tables = tables.expect("it is private");
    let (giver, taker) =
        (folder(&served, "giver", &shared.torrent), folder(&served, "taker", &other.torrent));
    fs::write(giver.join("file.bin"), &shared.content).expect("the file");
    let done = served.folder.path().join("done").display().to_string();
    let _giver = libtorrent(&giver, &format!("{at}:{}", loopback::port()), &done);
    until("the giver to announce", || {
        served.ask(&["tracker", "torrent", &shared.hash]).contains("seeds, ")
    });
    let _taker = libtorrent(&taker, &format!("{at}:{}", loopback::port()), &done);
    until("the file", || taker.join("whole").exists());
    assert!(is_whole(&taker.join("file.bin"), &shared.content));
    fs::write(&done, "").expect("a file");
    until("both to stop", || totals(&giver).is_some() && totals(&taker).is_some());
    let did = [totals(&giver), totals(&taker)].map(|one| one.expect("it is there"));
    assert!(did[1].1 >= FILE_BYTES as u64, "{} taken", did[1].1);
    until("what was done to be credited", || [tables.credit(1), tables.credit(2)] == did);
    assert_eq!(tables.completed(), 1);
    served.stop();
}

#[test]
fn libtorrent_completes_over_http_and_ipv4() {
    exchange("127.0.0.1:0", "127.0.0.1", "http");
}

#[test]
fn libtorrent_completes_over_udp_and_ipv4() {
    exchange("127.0.0.1:0", "127.0.0.1", "udp");
}

#[test]
fn libtorrent_completes_over_http_and_ipv6() {
    exchange("[::1]:0", "[::1]", "http");
}

#[test]
fn libtorrent_completes_over_udp_and_ipv6() {
    exchange("[::1]:0", "[::1]", "udp");
}

/// libtorrent gives to another client, by IPv4.
fn give_to(name: &str, scheme: &str) {
    give_at("127.0.0.1", name, scheme);
}

/// The same at one address, as it stands in a URL.
fn give_at(host: &str, name: &str, scheme: &str) {
    if !has_libtorrent() {
        return;
    }
    let is_private = scheme == "http" || name == "qbittorrent";
    let table = if is_private { PRIVATE } else { "interval = \"60s\"" };
    let served = Served::begin_at(&format!("{host}:0"), "", table);
    let ([shared, other], tables) = both(&served, &format!("{name}{host}"), scheme, is_private);
    let (giver, own) =
        (folder(&served, "giver", &shared.torrent), folder(&served, "taker", &other.torrent));
    fs::write(giver.join("file.bin"), &shared.content).expect("the file");
    let done = served.folder.path().join("done").display().to_string();
    let _giver = libtorrent(&giver, &format!("{host}:{}", loopback::port()), &done);
    until("the giver to announce", || {
        served.ask(&["tracker", "torrent", &shared.hash]).contains("seeds, ")
    });
    let at = host.trim_matches(['[', ']']);
    let Some(taker) = taker(name, &own, at, loopback::port()) else { return };
    until("the file", || is_whole(&own.join("file.bin"), &shared.content));
    taker.interrupt();
    fs::write(&done, "").expect("a file");
    until("what was sent to be told", || {
        totals(&giver).is_some_and(|(sent, _)| told(&served, &shared.hash).0 >= sent)
    });
    if let Some(tables) = tables {
        until("what was done to be credited", || totals(&giver) == Some(tables.credit(1)));
        // rTorrent has all and does not say so before its next announce.
        let least = if name == "rtorrent" { 0 } else { FILE_BYTES as u64 };
        until("the taker's to be credited", || tables.credit(2).1 >= least);
        until("what was told to be what is credited", || {
            let (mine, theirs) = (tables.credit(1), tables.credit(2));
            told(&served, &shared.hash) == (mine.0 + theirs.0, mine.1 + theirs.1)
        });
    }
    served.stop();
}

#[test]
fn aria2_completes_over_http() {
    give_to("aria2", "http");
}

#[test]
fn aria2_completes_over_http_and_ipv6() {
    give_at("[::1]", "aria2", "http");
}

#[test]
fn qbittorrent_completes_over_http_and_ipv6() {
    give_at("[::1]", "qbittorrent", "http");
}

#[test]
fn qbittorrent_completes_over_udp_and_ipv6() {
    give_at("[::1]", "qbittorrent", "udp");
}

#[test]
fn aria2_completes_over_udp() {
    give_to("aria2", "udp");
}

#[test]
fn rtorrent_completes_over_http() {
    give_to("rtorrent", "http");
}

#[test]
fn rtorrent_completes_over_udp() {
    give_to("rtorrent", "udp");
}

#[test]
fn qbittorrent_completes_over_http() {
    give_to("qbittorrent", "http");
}

#[test]
fn qbittorrent_completes_over_udp() {
    give_to("qbittorrent", "udp");
}
