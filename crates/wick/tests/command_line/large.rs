//! A film that is far too large for memory: in parts, by a slow reader, over a kill, and without
//! its origin.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::origin::Origin;
use crate::wick::Wick;

const FILM_BYTES: usize = 64 << 20;
const PIECE_BYTES: usize = 64 << 10;
/// What serving it may add to the process, at most. Slices on their way to the disk are 8 MiB,
/// and the writer has one more.
const GROWTH_MAX_KIB: u64 = 28 << 10;

/// The film's bytes: no two pieces of it are alike.
fn film(range: Range<usize>) -> impl Iterator<Item = Vec<u8>> {
    let pieces = range.start / PIECE_BYTES..range.end.div_ceil(PIECE_BYTES);
    pieces.map(move |piece| {
        let mut bytes = vec![b'.'; PIECE_BYTES];
        bytes[..8].copy_from_slice(&piece.to_le_bytes());
        bytes[PIECE_BYTES - 8..].copy_from_slice(&(!piece).to_le_bytes());
        let start = piece * PIECE_BYTES;
        bytes.truncate(range.end.min(start + PIECE_BYTES) - start);
        bytes.split_off(range.start.saturating_sub(start))
    })
}

/// An origin that has the film, as long as it is not out.
fn origin(is_out: Arc<AtomicBool>) -> Origin {
    Origin::new(move |head, stream| {
        if is_out.load(Ordering::SeqCst) {
            return;
        }
        let wanted = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": bytes=")?;
            let (first, last) = value.split_once('-')?;
            let range = first.parse().ok()?..last.parse::<usize>().ok()?.min(FILM_BYTES - 1) + 1;
            name.eq_ignore_ascii_case("range").then_some(range)
        });
        let range = wanted.clone().unwrap_or(0..FILM_BYTES);
        let (status, part) = match wanted {
            Some(range) => {
                let (first, last) = (range.start, range.end - 1);
                (
                    "206 Partial Content",
                    format!("Content-Range: bytes {first}-{last}/{FILM_BYTES}\r\n"),
                )
            }
            None => ("200 OK", String::new()),
        };
        let length = range.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{part}ETag: \"one\"\r\n\
             Cache-Control: public, max-age=3600\r\nConnection: close\r\n\r\n"
        );
        let mut sent = stream.write_all(head.as_bytes());
        for piece in film(range) {
            // Who went away is the test's affair.
            sent = sent.and_then(|()| stream.write_all(&piece));
        }
    })
}

/// Asks for a part and reads its head.
fn begin(address: SocketAddr, range: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "GET /film HTTP/1.1\r\nHost: a.test\r\nRange: bytes={range}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it answers");
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).expect("a head").to_ascii_lowercase())
}

/// Asks for a part, which must be as it is in the film; its head.
fn take(address: SocketAddr, range: Range<usize>) -> String {
    let (mut stream, head) = begin(address, &format!("{}-{}", range.start, range.end - 1));
    assert!(head.starts_with("http/1.1 206"), "{head}");
    for expected in film(range) {
        let mut piece = vec![0; expected.len()];
        stream.read_exact(&mut piece).expect("it goes on");
        assert!(piece == expected, "another piece was sent: {head}");
    }
    assert_eq!(stream.read(&mut [0]).expect("it ends"), 0);
    head
}

/// The most memory that the process has had so far, in KiB.
fn highest_kib(wick: &Wick) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", wick.id())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("its size");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn a_film_is_served_in_parts_over_a_kill_and_without_its_origin() {
    let is_out = Arc::new(AtomicBool::new(false));
    let origin = origin(is_out.clone());
    let (url, state) = (origin.url(), TempDir::new().expect("a temporary folder"));
    let state = state.path().display().to_string();
    let serve = || Wick::serve(&[&url, "--state", &state, "--disk", "1G"]);
    let (wick, address) = serve();
    let before = highest_kib(&wick);

    // Who seeks pulls what is near, and no more.
    let near = 50_000_000..50_000_100;
    assert!(take(address, near.clone()).contains("fwd=uri-miss"));
    assert_eq!(origin.heads().len(), 1);
    let asked = &origin.heads()[0].to_ascii_lowercase();
    assert!(asked.contains("range: bytes=49283072-50331647"), "{asked}");
    assert!(take(address, near.clone()).contains("wick; hit"));

    // A slow reader holds nothing, and a quick one beside it is not held up.
    let (slow, head) = begin(address, "0-");
    assert!(head.contains("fwd=partial"), "{head}");
    let beginning = 0..30_000_000;
    take(address, beginning.clone());
    assert!(take(address, beginning.clone()).contains("wick; hit"));
    let grown = highest_kib(&wick) - before;
    assert!(grown < GROWTH_MAX_KIB, "{grown} KiB more");
    wick.signal(Signal::KILL);
    assert!(wick.end().told().contains("signal"));
    drop(slow);

    // What was sent before is there, and nobody is asked for it.
    is_out.store(true, Ordering::SeqCst);
    let asked = origin.heads().len();
    let (wick, address) = serve();
    assert!(take(address, beginning).contains("wick; hit"));
    assert!(take(address, near).contains("wick; hit"));
    assert_eq!(origin.heads().len(), asked, "the origin is not asked");
    let (_, head) = begin(address, "60000000-");
    assert!(head.starts_with("http/1.1 502"), "{head}");
    is_out.store(false, Ordering::SeqCst);
    assert!(take(address, 40_000_000..FILM_BYTES).contains("fwd=partial"));
    wick.stop();
}
