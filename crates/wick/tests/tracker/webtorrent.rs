//! Clients in browsers: a file goes from one to another over WebRTC by what the tracker hands on,
//! and what they did is what stands in the database, to the byte. And an upgrade, which they
//! hear of.
//!
//! The client is the npm package `webtorrent`, in Chromium, twice, each in a window that shares
//! nothing with the other. Where one of the two is missing nothing is checked, loudly;
//! `scripts/setup test` brings both.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::browser::{self, Browser, Outcome, Tab};
use crate::served::{Served, get};
use crate::wick::{PATIENCE, open_folder, until};

const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/webtorrent.min.js");
/// Of who has the file, and of who wants it.
const PASSKEYS: [&str; 2] =
    ["0123456789abcdef0123456789abcde1", "0123456789abcdef0123456789abcde2"];
/// Some pieces and a part of one.
const FILE_BYTES: u32 = 700_001;
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36";
const PAGE: &str = "<!DOCTYPE html><title>A client</title><p id=state>loading</p>
<script type=module>
import WebTorrent from './webtorrent.min.js';
window.told = [];
window.client = new WebTorrent({
  dht: false, lsd: false, utPex: false, tracker: { rtcConfig: { iceServers: [] } } });
client.on('error', error => told.push(String(error)));
document.querySelector('#state').textContent = 'ready';
</script>";

/// A Wick with a tracker, and a site on which the client lies.
struct Stage {
    served: Served,
    site: String,
    _folder: TempDir,
}

impl Stage {
    fn set(bundle: &Path) -> Self {
        let folder = open_folder();
        fs::write(folder.path().join("index.html"), PAGE).expect("a page");
        fs::copy(bundle, folder.path().join("webtorrent.min.js")).expect("the client");
        let table = format!(
            "webtorrent = true\nmode = \"private\"\ninterval = \"60s\"\nflush = \"1s\"\n\
             [[site]]\norigin = \"{}\"",
            folder.path().display()
        );
        let served = Served::begin("listen = \"127.0.0.1:0\"", &table);
        let site = format!("http://{}/", served.site.expect("there is a site"));
        Self { served, site, _folder: folder }
    }

    /// A visitor who has the client.
    fn visitor(&self, browser: &Arc<Browser>) -> Outcome<Tab> {
        let tab = browser.tab(AGENT)?;
        tab.open(&self.site)?;
        tab.wait_for_text("ready")?;
        Ok(tab)
    }

    /// Where the user of this number announces.
    fn announce(&self, user: usize) -> String {
        format!("ws://{}/{}/announce", self.served.address, PASSKEYS[user])
    }
}

#[test]
fn a_file_goes_from_browser_to_browser_and_each_byte_is_credited() {
    let bundle = Path::new(BUNDLE);
    if !browser::is_installed() || !bundle.exists() {
        eprintln!("SKIPPED: Chromium or {BUNDLE} is missing (scripts/setup test brings both)");
        return;
    }
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let stage = Stage::set(bundle);
    let outcome = played(&browser, &stage);
    browser.end().expect("Chromium ends");
    stage.served.stop();
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn played(browser: &Arc<Browser>, stage: &Stage) -> Outcome<()> {
    let (giver, taker) = (stage.visitor(browser)?, stage.visitor(browser)?);
    // The same file gives the same torrent; its hash is known before anything is announced.
    let seed = |announce: &str| {
        format!(
            "new Promise(done => {{
               const bytes = new Uint8Array({FILE_BYTES}).map((_, at) => at * at >> 3);
               const file = new File([bytes], 'file.bin');
               const wish = {{ name: 'file.bin', pieceLength: 65536, announce: {announce} }};
               client.seed([file], wish, torrent => {{
                 torrent.on('warning', warning => told.push(String(warning)));
                 done(torrent.infoHash);
               }});
             }})"
        )
    };
    let hash = giver.ask(&seed("[]"))?;
    let users = [(1, PASSKEYS[0]), (2, PASSKEYS[1])];
    let tables = stage.served.enrol(&users, &hash);
    let removed = format!("new Promise(done => client.remove('{hash}', () => done('gone')))");
    giver.ask(&removed)?;
    giver.ask(&seed(&format!("['{}']", stage.announce(0))))?;
    let status = || stage.served.ask(&["tracker", "status"]);
    until("the giver to be there", || status().contains("(1 seed, 0 take)"));
    let magnet = format!("magnet:?xt=urn:btih:{hash}&tr={}", escaped(&stage.announce(1)));
    taker.ask(&format!(
        "client.add('{magnet}', torrent => {{
           torrent.on('warning', warning => told.push(String(warning)));
           torrent.on('done', () => {{
             torrent.files[0].blob().then(blob => blob.arrayBuffer()).then(buffer => {{
               const bytes = new Uint8Array(buffer);
               const is_same = bytes.every((byte, at) => byte === (at * at >> 3 & 255));
               document.querySelector('#state').textContent =
                 is_same && bytes.length === {FILE_BYTES} ? 'the same file' : 'another file';
             }}).catch(error => told.push(String(error)));
           }});
         }}); 'begun'"
    ))?;
    let mut shown = String::new();
    let state = "document.querySelector('#state').textContent + ' ' + told.join('; ')";
    until("the file to be there", || {
        shown = taker.ask(state).unwrap_or_default();
        shown.contains("file")
    });
    if !shown.starts_with("the same file") {
        return Err(format!("{shown}; {}", status()));
    }
    // Both go, and say so while they know what they sent; who takes sends some bytes, too.
    let goes = |tab: &Tab| -> Outcome<u64> {
        let sent = tab.ask(
            "(() => { const [torrent] = client.torrents;
               torrent.discovery.tracker.stop(); return String(torrent.uploaded); })()",
        )?;
        sent.parse().map_err(|_| format!("{sent} is no number"))
    };
    let (also_sent, sent) = (goes(&taker)?, goes(&giver)?);
    if sent < u64::from(FILE_BYTES) {
        return Err(format!("of {FILE_BYTES} bytes {sent} were sent"));
    }
    until("the credits to be written", || {
        (tables.credit(1), tables.credit(2)) == ((sent, 0), (also_sent, u64::from(FILE_BYTES)))
    });
    assert_eq!(tables.completed(), 1);
    let told = status();
    if !told.contains(" answers handed on, ") {
        return Err(told);
    }
    Ok(())
}

/// A part of a query, of which nothing is left that means something there.
fn escaped(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

/// What a client sends to go on in WebSocket; the answer's head.
fn knock(address: SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
    let request = "GET /announce HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("an answer") > 0 {
        head.push(byte[0]);
    }
    (stream, String::from_utf8_lossy(&head).into_owned())
}

/// Announces as a client who has all, and waits for what is answered.
fn announce(stream: &mut TcpStream) {
    let text = format!(
        r#"{{"action":"announce","info_hash":"{}","peer_id":"-WW0205-000000000001","left":0,"event":"started"}}"#,
        "h".repeat(20)
    );
    // Masked by nothing but zeros, which is a mask as well.
    assert!(text.len() < 126, "its length is said in one byte");
    let mut frame = vec![0x81, 0x80 | text.len() as u8];
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    stream.write_all(&frame).expect("it reads");
    let mut head = [0; 2];
    stream.read_exact(&mut head).expect("an answer");
    assert!(head[0] == 0x81 && head[1] < 126, "{head:?}");
    let mut rest = vec![0; usize::from(head[1])];
    stream.read_exact(&mut rest).expect("all of it");
}

#[test]
fn clients_over_websocket_are_told_of_an_upgrade_and_are_there_with_the_next() {
    let served = Served::begin("", "webtorrent = true");
    let (mut stream, head) = knock(served.address);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    announce(&mut stream);
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("websocket  1 connected; 0 offers and 0 answers"), "{told}");
    let told = served.ask(&["tracker", "torrent", &"68".repeat(20)]);
    assert!(told.contains("at 127.0.0.1 (WebTorrent)"), "{told}");
    let told = served.ask(&["upgrade"]);
    let next = crate::upgrading::Next::of(&told);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it is closed");
    assert_eq!(rest, [0x88, 2, 0x03, 0xe9], "with a word");
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("peers      1 (1 seed, 0 take)"), "it is waited for: {told}");
    let (mut stream, head) = knock(served.address);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    announce(&mut stream);
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("peers      1 (1 seed, 0 take)"), "{told}");
    let address = served.address;
    drop(next);
    until("the next one to end", || TcpStream::connect(address).is_err());
}

#[test]
fn websocket_is_behind_a_setting() {
    let served = Served::begin("", "");
    let (_, head) = knock(served.address);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    served.rewrite("", "webtorrent = true");
    assert!(served.ask(&["reload"]).contains("its rules are those of the settings"));
    let (_, head) = knock(served.address);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(get(served.address, "/announce").contains("info_hash is missing"));
    served.stop();
}

#[test]
fn a_site_before_the_tracker_hands_websocket_on() {
    let at = loopback::address();
    let table = format!(
        "webtorrent = true\ntrusted_proxies = [\"127.0.0.1\"]\n\
         [[site]]\norigin = \"http://{at}\""
    );
    let served = Served::begin_at(&at.to_string(), "listen = \"127.0.0.1:0\"", &table);
    let site = served.site.expect("there is a site");
    let (mut stream, head) = knock(site);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    announce(&mut stream);
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains("websocket  1 connected"), "{told}");
    served.stop();
}
