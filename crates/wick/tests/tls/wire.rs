//! What comes to the port for TLS and is no TLS, or an old one; and how much arrives.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::authority::Authority;
use crate::running::{Ground, Running};
use crate::visitor::{Visitor, curl};
use crate::wick::PATIENCE;

fn serve(ground: &Ground, settings: &str) -> (Running, Authority) {
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "a", &["one.test"]);
    let site = ground.site("one", "page");
    // More than sockets hold, so that the server has to wait.
    let large: Vec<u8> = (0..16u32 << 20).map(|at| (at / 7 % 251) as u8).collect();
    fs::write(site.join("large.bin"), large).expect("it is written");
    let site = format!("[[site]]\nhosts = [\"one.test\"]\norigin = {site:?}\n");
    (ground.serve(&format!("{settings}{site}{}", pair.settings())), ca)
}

/// Sends bytes to the port for TLS and reads to the end.
fn send(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(running.tls).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    stream.write_all(bytes).expect("it is taken");
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// A hello of TLS as old as this, with ciphers of its time.
fn old_hello(version: u8) -> Vec<u8> {
    let mut hello = vec![3, version];
    hello.extend([7; 32]);
    hello.extend([0, 0, 8, 0xc0, 0x13, 0xc0, 0x09, 0x00, 0x2f, 0x00, 0x35, 1, 0]);
    let mut message = vec![1, 0, 0, hello.len() as u8];
    message.extend(hello);
    let mut record = vec![22, 3, 1, 0, message.len() as u8];
    record.extend(message);
    record
}

#[test]
fn old_tls_and_no_tls_are_refused_without_harm() {
    let ground = Ground::new();
    let (running, ca) = serve(&ground, "");
    for version in [1, 2] {
        let answer = send(&running, &old_hello(version));
        // A fatal alert: handshake_failure or protocol_version (RFC 8446 §6.2).
        let says = answer.ends_with(&[2, 40]) || answer.ends_with(&[2, 70]);
        let is_alert = answer.first() == Some(&21) && says;
        assert!(is_alert, "TLS 1.{}: {answer:?}", version - 1);
    }
    let answer = send(&running, b"GET / HTTP/1.1\r\nHost: one.test\r\n\r\n");
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    send(&running, &[22, 3, 1, 0xff, 0xff]);
    send(&running, &[0; 20_000]);
    let mut visitor = Visitor::new(running.tls, "one.test", &ca.file).expect("a connection");
    assert_eq!(visitor.ask("GET /").1, b"page");
    let output = running.stop().output;
    assert!(output.contains(" TLS handshakes came to nothing"), "{output}");
    assert!(!output.contains("panicked"), "{output}");
}

#[test]
fn who_says_nothing_is_let_go() {
    let ground = Ground::new();
    let (running, _) = serve(&ground, "[limits]\nhead_timeout = \"1s\"\n");
    let (hello, nothing) = (old_hello(3), []);
    for begun in [&hello[..20], &nothing[..]] {
        assert!(send(&running, begun).len() < 20, "an end, or an alert");
    }
    running.stop();
}

#[test]
fn a_large_answer_arrives_whole_on_a_connection_that_stays() {
    let ground = Ground::new();
    let (running, ca) = serve(&ground, "");
    let mut visitor = Visitor::new(running.tls, "one.test", &ca.file).expect("a connection");
    for _ in 0..2 {
        let (_, body) = visitor.ask("GET /large.bin");
        let is_right = body.iter().enumerate().all(|(at, &byte)| byte == (at / 7 % 251) as u8);
        assert!(body.len() == 16 << 20 && is_right);
    }
    let told = ["--cacert", &ca.file.display().to_string(), "--http2", "--output", "/dev/null"];
    let told = [&told[..], &["--write-out", "%{size_download} by %{http_version}"]].concat();
    let taken = curl(running.tls, "https://one.test/large.bin", &told);
    assert_eq!(taken, Ok(format!("{} by 2", 16 << 20)));
    assert_eq!(visitor.ask("GET /").1, b"page");
    let last = visitor.ask_last("GET /").expect("an end that is told");
    assert!(last.ends_with("\r\n\r\npage"), "{last}");
    running.stop();
}
