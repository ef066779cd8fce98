//! Pages on the disk: after a stop, a kill, damage and an upgrade; and a disk that is of no use.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::origin::Origin;
use crate::serving::upgrade;
use crate::wick::{Wick, ask, names, until};

/// An origin that says what it was asked for, and lets it be stored for an hour.
fn origin() -> Origin {
    Origin::new(|head, stream| {
        let target = head.split(' ').nth(1).unwrap_or_default();
        let body = format!("this is {target}");
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nCache-Control: max-age=3600\r\n\
             Cache-Tag: tag{target}\r\nConnection: close\r\n\r\n{body}"
        );
        // A visitor who went away is the test's affair.
        let _ = stream.write_all(answer.as_bytes());
    })
}

struct Stage {
    origin: Origin,
    state: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self { origin: origin(), state: TempDir::new().expect("a temporary folder") }
    }

    fn state(&self) -> String {
        self.state.path().display().to_string()
    }

    fn serve(&self) -> (Wick, SocketAddr) {
        let (url, state) = (self.origin.url(), self.state());
        Wick::serve(&[&url, "--state", &state, "--disk", "64M"])
    }

    fn disk(&self) -> PathBuf {
        self.state.path().join("disk")
    }

    /// Bytes of all segments.
    fn segment_bytes(&self) -> u64 {
        segments(&self.disk()).iter().map(|path| fs::metadata(path).map_or(0, |it| it.len())).sum()
    }

    /// Asks for a page until it is on the disk.
    fn keep(&self, address: SocketAddr, target: &str) {
        let before = self.segment_bytes();
        assert!(get(address, target).contains("fwd=uri-miss"), "{target} is new");
        assert!(get(address, target).contains("wick; hit"), "{target} is stored");
        until("the page on the disk", || self.segment_bytes() > before);
    }
}

fn segments(disk: &Path) -> Vec<PathBuf> {
    let named = names(disk).into_iter().filter(|name| name.starts_with("segment-"));
    named.map(|name| disk.join(name)).collect()
}

fn get(address: SocketAddr, target: &str) -> String {
    let answer = ask(address, &format!("GET {target}\nHost: a.test"));
    assert!(answer.contains(&format!("this is {target}")), "{answer}");
    answer.to_ascii_lowercase()
}

fn kill(wick: Wick) {
    wick.signal(Signal::KILL);
    assert!(wick.end().told().contains("signal"));
}

#[test]
fn after_a_kill_pages_are_there_and_what_was_purged_or_written_is_not() {
    let stage = Stage::new();
    let (wick, address) = stage.serve();
    let targets = ["/stays", "/url", "/tagged", "/written"];
    targets.iter().for_each(|target| stage.keep(address, target));
    for line in ["PURGE /url\nHost: a.test", "PURGE /\nHost: a.test\nCache-Tag: tag/tagged"] {
        let answer = ask(address, line);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    ask(address, "POST /written\nHost: a.test\nContent-Length: 0");
    kill(wick);

    let asked = stage.origin.heads().len();
    let (mut wick, address) = stage.serve();
    assert!(get(address, "/stays").contains("wick; hit"));
    assert_eq!(stage.origin.heads().len(), asked, "the origin is not asked");
    for target in &targets[1..] {
        assert!(!get(address, target).contains("hit"), "{target}");
    }
    assert!(!wick.has_ended());
    wick.stop();
    let folder = fs::metadata(stage.disk()).expect("it is there");
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
    for segment in segments(&stage.disk()) {
        let file = fs::metadata(segment).expect("it is there");
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777, 0o600);
    }
}

#[test]
fn a_stop_keeps_what_was_asked_for_once_and_the_start_says_so() {
    let stage = Stage::new();
    let (wick, address) = stage.serve();
    get(address, "/once");
    wick.stop();
    let mut wick = {
        let (url, state) = (stage.origin.url(), stage.state());
        let listen = ["--listen", "127.0.0.1:0", "--threads", "1"];
        let all = [&["serve", &url, "--state", &state, "--disk", "64M"][..], &listen].concat();
        Wick::run(&all)
    };
    assert!(wick.line("disk").contains("1 page kept from before"));
    let line = wick.line("listening http://");
    let address = line.rsplit("http://").next().expect("an address").trim_end_matches('/');
    assert!(get(address.parse().expect("an address"), "/once").contains("wick; hit"));
    wick.stop();
    let url = stage.origin.url();
    let state = stage.state();
    let checked =
        Wick::run(&["check", &url, "--state", &state, "--disk", "64M", "--listen", "127.0.0.1:0"])
            .end();
    assert!(checked.output.contains("disk        64.0 MiB for pages"), "{}", checked.output);
}

#[test]
fn what_the_disk_did_is_told_to_whoever_watches() {
    let stage = Stage::new();
    let admin = loopback::address();
    let settings = stage.state.path().join("wick.toml").display().to_string();
    fs::write(&settings, format!("admin = \"{admin}\"\ndisk = \"64M\"\n")).expect("ours");
    let (url, state) = (stage.origin.url(), stage.state());
    let (wick, address) = Wick::serve(&[&url, "--config", &settings, "--state", &state]);
    stage.keep(address, "/one");
    let has = |line: &str| ask(admin, "GET /metrics").lines().any(|one| one == line);
    until("the page's count", || has("wick_disk_written_total 1") && has("wick_disk_pages 1"));
    let now = ask(admin, "GET /api/now");
    assert!(now.contains("\"disk\":{\"pages\":1,") && now.contains("\"damaged\":0"), "{now}");
    wick.stop();
}

#[test]
fn a_damaged_page_alone_is_asked_of_the_origin_again() {
    let stage = Stage::new();
    let (wick, address) = stage.serve();
    ["/one", "/two", "/three"].iter().for_each(|target| stage.keep(address, target));
    kill(wick);
    let segment = segments(&stage.disk()).pop().expect("there is one");
    let mut bytes = fs::read(&segment).expect("it is ours");
    let at = bytes.windows(12).position(|it| it == b"this is /two").expect("it lies there");
    bytes[at] ^= 1;
    fs::write(&segment, bytes).expect("it is ours");
    let (wick, address) = stage.serve();
    assert!(get(address, "/one").contains("wick; hit"));
    assert!(get(address, "/two").contains("uri-miss"));
    assert!(get(address, "/three").contains("wick; hit"));
    wick.stop();
}

#[test]
fn an_upgrade_keeps_the_pages_and_what_was_purged_meanwhile_stays_so() {
    let stage = Stage::new();
    let (mut wick, address) = stage.serve();
    for target in ["/a", "/b"] {
        get(address, target);
    }
    let state = stage.state();
    let _serving = upgrade(&state);
    // It may not have got hold of the folder yet.
    let purge = ask(address, "PURGE /b\nHost: a.test");
    assert!(purge.starts_with("HTTP/1.1 200"), "{purge}");
    until("the old one ends", || wick.has_ended());
    let asked = stage.origin.heads().len();
    // The new one asks the origin until it has the folder, and stores what it gets: so what
    // tells is a page that nobody asked for until the old one had let go.
    until("the old one's journal is taken over", || {
        names(&stage.disk()).iter().filter(|name| name.starts_with("journal-")).count() == 1
    });
    let was_kept = get(address, "/a").contains("wick; hit");
    let was_purged = !get(address, "/b").contains("hit");
    assert!(was_kept && was_purged, "{was_kept} {was_purged}");
    assert_eq!(stage.origin.heads().len(), asked + 1);
}

#[test]
fn a_disk_that_is_of_no_use_is_told_of_and_visitors_are_served() {
    let stage = Stage::new();
    fs::write(stage.disk(), "a file where the folder should be").expect("it is ours");
    let (wick, address) = stage.serve();
    get(address, "/one");
    assert!(get(address, "/one").contains("wick; hit"));
    let ended = wick.stop();
    assert!(ended.errors.contains("can't keep pages in"), "{}", ended.errors);

    let stage = Stage::new();
    let (wick, address) = stage.serve();
    stage.keep(address, "/one");
    // From here on nothing new can be made there.
    fs::remove_dir_all(stage.disk()).expect("it is ours");
    fs::write(stage.disk(), "a file where the folder should be").expect("it is ours");
    get(address, "/two");
    assert!(get(address, "/two").contains("wick; hit"));
    assert!(get(address, "/one").contains("wick; hit"), "it is in memory");
    wick.stop();

    let small = Wick::run(&["serve", &stage.origin.url(), "--disk", "1M"]).end();
    assert!(small.errors.contains("--disk 16M"), "{}", small.errors);
}
