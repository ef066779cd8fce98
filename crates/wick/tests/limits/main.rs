//! Clients that mean harm, against the built binary: many that hold connections open, slow
//! ones, and proxies that say for whom they come.
//!
//! Nothing is asserted of how long something takes, only that it comes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tempfile::TempDir;

#[path = "../command_line/origin.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod origin;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod wick;

use origin::Origin;
use wick::{PATIENCE, Wick, ask, body, rest, send};

/// Connections that are held open, if there are descriptors for them.
const HELD: u64 = 10_000;
/// What each may cost of memory, all told.
const CONNECTION_BYTES_MAX: u64 = 16 << 10;
/// How long a slow client waits between two pieces.
const DRIP: Duration = Duration::from_millis(50);

const PAGE: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A Wick before `origin` with these settings.
fn serve(settings: &str, origin: &Origin) -> (Wick, SocketAddr, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let file: PathBuf = folder.path().join("wick.toml");
    std::fs::write(&file, settings).expect("the settings are written");
    let file = file.display().to_string();
    let (wick, address) = Wick::serve(&["--config", &file, &origin.url()]);
    (wick, address, folder)
}

/// How many connections fit our descriptors and Wick's.
fn connections() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .expect("up to the hard limit");
    maximum.map_or(HELD, |files| HELD.min((files - files / 8).saturating_sub(1500)))
}

#[test]
fn http2_is_spoken_behind_a_proxy_that_introduces_it_and_names_its_requests() {
    let origin = Origin::saying(PAGE);
    let settings =
        "proxy_protocol = \"127.0.0.1\"\ntrusted_proxies = \"127.0.0.1\"\nrequest_id = true\n";
    let (wick, address, _folder) = serve(settings, &origin);
    let asked = std::process::Command::new("curl")
        .args(["-sS", "-D-", "--haproxy-protocol", "--http2-prior-knowledge"])
        .args(["-H", "X-Request-Id: from-the-proxy", "-H", "X-Forwarded-For: 203.0.113.7"])
        .args(["-H", "X-Forwarded-Proto: https"])
        .arg(format!("http://{address}/"))
        .output()
        .expect("curl is installed");
    let answer = String::from_utf8_lossy(&asked.stdout);
    assert!(answer.starts_with("HTTP/2 200"), "{answer} {asked:?}");
    assert!(answer.contains("x-request-id: from-the-proxy"), "{answer}");
    let heads = origin.heads().join("\n").to_ascii_lowercase();
    for line in
        ["x-forwarded-for: 203.0.113.7", "x-forwarded-proto: https", "x-request-id: from-the-proxy"]
    {
        assert!(heads.contains(line), "{line} in {heads}");
    }
    wick.stop();
}

#[test]
fn the_owners_page_is_shown_while_the_origin_is_out_and_is_read_again() {
    let origin = format!("http://{}", loopback::address());
    let folder = TempDir::new().expect("a temporary folder");
    let page = folder.path().join("busy.html");
    std::fs::write(&page, "<p>back soon</p>").expect("the page is written");
    let file = folder.path().join("wick.toml");
    let log = folder.path().join("access.log");
    let settings = format!(
        "request_id = true\naccess_log = {log:?}\n[[site]]\norigin = {origin:?}\nbusy_page = {page:?}\n"
    );
    std::fs::write(&file, settings).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string()]);
    let answer = ask(address, "GET /");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: "), "{answer}");
    assert_eq!(body(&answer), "<p>back soon</p>");
    let (_, id) = answer.split_once("x-request-id: ").expect("it has a name");
    let id = &id[..32];
    wick::until("the log names the request", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains(id))
    });
    std::fs::write(&page, "<p>back on Monday</p>").expect("the page is written");
    wick.signal(Signal::HUP);
    wick::until("the new page is shown", || ask(address, "GET /").contains("Monday"));
    wick.stop();
}

#[test]
fn a_page_that_can_not_be_read_is_told_before_anything_is_served() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("wick.toml");
    let settings = "[[site]]\norigin = \"http://127.0.0.1:1\"\nbusy_page = \"/nowhere.html\"\n";
    std::fs::write(&file, settings).expect("the settings are written");
    let ended = Wick::run(&["serve", "--config", &file.display().to_string()]).end();
    let told = ended.told();
    assert!(told.contains("can't read the busy_page /nowhere.html"), "{told}");
    assert!(told.contains("name a file that this user may read"), "{told}");
}

/// What the process holds of memory.
fn resident_bytes(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its size");
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().expect("a number") << 10
}

#[test]
fn who_reads_is_answered_while_thousands_hold_half_a_request() {
    let origin = Origin::saying(PAGE);
    let settings = "[limits]\nhead_timeout = \"10s\"\n";
    let (wick, address, _folder) = serve(settings, &origin);
    assert!(ask(address, "GET /").contains("miss") || origin.heads().len() == 1);
    let before = resident_bytes(wick.id());
    let mut held: Vec<TcpStream> =
        (0..connections()).map(|_| send(address, "GET / HTTP/1.1\nX-Slow: ")).collect();
    for _ in 0..200 {
        let answer = ask(address, "GET /");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("wick; hit"), "{answer}");
    }
    let grown = resident_bytes(wick.id()).saturating_sub(before);
    let count = held.len() as u64;
    assert!(grown <= count * CONNECTION_BYTES_MAX + (8 << 20), "{count} cost {grown} bytes");
    eprintln!("{count} connections with half a request cost {} bytes each", grown / count);
    // All of them are let go, and nothing is said to them.
    for stream in &mut held {
        let mut byte = [0];
        assert!(!matches!(stream.read(&mut byte), Ok(1..)), "half a request was answered");
    }
    assert!(ask(address, "GET /").contains("wick; hit"));
    assert_eq!(origin.heads().len(), 1);
    assert!(wick.stop().output.contains("closed for want of progress"));
}

#[test]
fn a_body_that_drips_is_refused_and_told_why() {
    // It waits for the whole body, as apps do.
    let origin = Origin::new(|_, stream| drop(stream.read_to_end(&mut Vec::new())));
    let settings = "[limits]\nmin_rate = 10000\nmin_rate_after = \"1s\"\n";
    let (wick, address, _folder) = serve(settings, &origin);
    let mut stream = send(address, "POST / HTTP/1.1\nHost: a.test\nContent-Length: 1000000\n\n");
    let mut drip = stream.try_clone().expect("a socket");
    let dripping = std::thread::spawn(move || {
        while drip.write_all(b"x").is_ok() {
            std::thread::sleep(DRIP);
        }
    });
    let mut answer = Vec::new();
    // A reset may follow the answer, for bytes were on their way.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("client-body"), "{answer}");
    drop(stream);
    dripping.join().expect("it ends with the connection");
    assert!(wick.stop().output.contains("less than min_rate"));
}

#[test]
fn who_takes_an_answer_in_drops_is_let_go() {
    const BYTES: usize = 64 << 20;
    let origin = Origin::new(|_, stream| {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let piece = vec![b'x'; 1 << 16];
        while stream.write_all(&piece).is_ok() {}
    });
    let settings = "[limits]\nmin_rate = \"10M\"\nmin_rate_after = \"1s\"\n";
    let (wick, address, _folder) = serve(settings, &origin);
    let mut stream = send(address, "GET / HTTP/1.1\nHost: a.test\n\n");
    let (mut taken, mut drop_bytes) = (0, [0; 512]);
    while let Ok(count @ 1..) = stream.read(&mut drop_bytes) {
        taken += count;
        if taken < 1 << 16 {
            std::thread::sleep(DRIP);
        }
    }
    assert!(taken < BYTES, "{taken} bytes came");
    assert!(wick.stop().output.contains("less than min_rate"));
}

#[test]
fn a_proxy_introduces_its_visitors_and_others_do_not() {
    let origin = Origin::saying(PAGE);
    let (wick, address, _folder) = serve("proxy_protocol = \"127.0.0.1\"\n", &origin);
    let request = "GET / HTTP/1.1\nHost: a.test\nConnection: close\n\n";
    let line = "PROXY TCP4 203.0.113.7 198.51.100.1 5000 80\n";
    let answer = rest(send(address, &format!("{line}{request}")));
    assert_eq!(body(&answer), "ok", "{answer}");
    let heads = origin.heads().join("\n").to_ascii_lowercase();
    assert!(heads.contains("x-forwarded-for: 203.0.113.7"), "{heads}");
    // In pieces, as a network may bring it.
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    for byte in format!("{line}{request}").replace('\n', "\r\n").as_bytes() {
        stream.write_all(&[*byte]).expect("it is taken");
    }
    assert_eq!(body(&rest(stream)), "ok");
    let mut silent = send(address, request);
    let mut answer = Vec::new();
    let _ = silent.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    assert!(wick.stop().output.contains("began with no header"));
}
