//! Early hints that Wick sends of its own: to whom, of what, and before what.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use crate::wick::{Wick, open_folder, until};
use crate::{output, program};

/// What the hints are of.
const HEAD: &str = "<!doctype html><html><head><title>t</title>\
     <link rel=stylesheet href=/a.css><link rel=stylesheet href=/b.css nonce=x></head>";
const EXPECTED: &str = "link: </f.woff2>; rel=preload; as=font; crossorigin, \
     </a.css>; rel=preload; as=style";

/// An origin with three pages: for everybody, but asked about each time; for everybody who bears
/// no cookie; for one person. It thinks until its test's client was told.
fn begin_origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    address
}

fn answer_all(stream: TcpStream) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    loop {
        let (mut head, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            head += &line.to_ascii_lowercase();
        }
        let control = match (head.split(' ').nth(1)?, head.contains("\r\ncookie:")) {
            ("/asked", _) => "public, no-cache\r\netag: \"1\"",
            ("/varied", false) => "public, max-age=60\r\nvary: cookie",
            _ => "private\r\nvary: cookie",
        };
        let link = "link: </f.woff2>; rel=preload; as=font; crossorigin, </2>; rel=next";
        let (kind, length) = ("content-type: text/html", HEAD.len());
        if head.contains("\r\nif-none-match:") {
            out.write_all(b"HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\n\r\n").ok()?;
            continue;
        }
        let answer = format!(
            "HTTP/1.1 200 OK\r\n{kind}\r\n{link}\r\ncache-control: {control}\r\n\
             content-length: {length}\r\n\r\n{HEAD}"
        );
        out.write_all(answer.as_bytes()).ok()?;
    }
}

fn serve(folder: &Path, origin: SocketAddr, hints: &str) -> (Wick, SocketAddr) {
    let settings = folder.join("wick.toml");
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\n[[site]]\norigin = \"http://{origin}\"\nstrangers = false\n{hints}"
    );
    std::fs::write(&settings, text).expect("a file");
    Wick::serve(&["--config", &settings.display().to_string()])
}

#[test]
fn who_must_wait_over_http2_is_told_what_the_page_will_need() {
    let Some(curl) = program("curl") else { return };
    let folder = open_folder();
    let (wick, address) = serve(folder.path(), begin_origin(), "early_hints = true\n");
    let ask = |path: &str, more: &[&str]| {
        let url = format!("http://{address}{path}");
        let prior = ["-s", "-i", "--http2-prior-knowledge", &url];
        let said = output(&curl, &[&prior, more].concat());
        assert!(said.contains("HTTP/2 200"), "{said}");
        let early = said.split_once("HTTP/2 200").map_or("", |(early, _)| early);
        (early.trim().replace(" \r\n", "; "), said.clone())
    };
    let told = format!("HTTP/2 103; {EXPECTED}");
    let cookie = ["-H", "Cookie: member=1"];
    // Nobody has taught anything yet.
    assert_eq!(ask("/asked", &[]).0, "");
    // Who is first to wait may have the page before it was read; who comes later is told.
    until("hints of a page that is stored", || ask("/asked", &[]).0 == told);
    assert_eq!(ask("/asked", &[]).0, told);
    // A hit waits for nothing; a member does, and what strangers are shown is no secret.
    assert_eq!(ask("/varied", &[]).0, "");
    let (early, said) = ask("/varied", &[]);
    assert!(early.is_empty() && said.contains("hit"), "{said}");
    until("hints for a member", || ask("/varied", &cookie).0 == told);
    assert_eq!(ask("/varied", &cookie).0, told);
    // What was made for one person teaches nothing, nor do those who ask for no page.
    for _ in 0..2 {
        assert_eq!(ask("/own", &cookie).0, "");
    }
    assert_eq!(ask("/asked", &["-H", "Sec-Fetch-Dest: image"]).0, "");
    assert_eq!(ask("/asked", &["-I"]).0, "");
    let url = format!("http://{address}/asked");
    let older = output(&curl, &["-s", "-i", "--http1.1", &url]);
    assert!(older.starts_with("HTTP/1.1 200"), "{older}");
    wick.stop();
}

#[test]
fn nobody_is_told_unless_the_owner_wants_it() {
    let Some(curl) = program("curl") else { return };
    let folder = open_folder();
    let (wick, address) = serve(folder.path(), begin_origin(), "");
    let url = format!("http://{address}/asked");
    for _ in 0..3 {
        let said = output(&curl, &["-s", "-i", "--http2-prior-knowledge", &url]);
        assert!(said.starts_with("HTTP/2 200"), "{said}");
    }
    wick.stop();
}
