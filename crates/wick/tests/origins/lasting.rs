//! What lasts longer than an upgrade: tunnels and streams of events go on in the Wick that
//! was replaced, for as long as they may.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use tempfile::TempDir;

use crate::serving::{Serving, end, upgrade};
use crate::streams::{origin, read_until};
use crate::wick::{PATIENCE, Wick, ask, body, send, until};

const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A Wick that can be replaced, before an origin, with these limits.
fn serve(url: &str, limits: &str) -> (Wick, SocketAddr, TempDir, String) {
    let folder = TempDir::new().expect("a temporary folder");
    let (path, state) = (folder.path().join("wick.toml"), folder.path().join("state"));
    let settings = format!("[limits]\n{limits}\n[[site]]\norigin = \"{url}\"\n");
    std::fs::write(&path, settings).expect("the settings are written");
    let (config, state) = (path.display().to_string(), state.display().to_string());
    let (wick, address) = Wick::serve(&["--config", &config, "--state", &state]);
    (wick, address, folder, state)
}

/// Writes on one side, and reads the same on the other.
fn carry(mut from: &TcpStream, to: &TcpStream, text: &str) {
    from.write_all(text.as_bytes()).expect("it is taken");
    read_until(to, text);
}

#[test]
fn tunnels_and_events_go_on_over_upgrades() {
    let (url, asked) = origin();
    // Whoever waits for a request, or asks once more, is served for a moment only.
    let (mut wick, address, _folder, state) =
        serve(&url, "head_timeout = \"200ms\"\nidle_timeout = \"200ms\"\ngrace = \"0s\"");
    let upgrading = "Connection: upgrade\nUpgrade: websocket";
    let visitor = send(address, &format!("GET /chat HTTP/1.1\nHost: a\n{upgrading}\n\n"));
    let (_, chat) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
    (&chat).write_all(SWITCHED.as_bytes()).expect("it is taken");
    read_until(&visitor, "\r\n\r\n");
    let reader = send(address, "GET /events HTTP/1.1\nHost: a\nCookie: sid=1\n\n");
    let (_, mut events) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
    events.write_all(EVENTS.as_bytes()).expect("it is taken");
    carry(&events, &reader, "3\r\none\r\n");
    let mut resting = send(address, "");
    let answering = std::thread::spawn(move || {
        for (_, mut stream) in asked {
            let page = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\npage";
            // Who asked may be gone.
            let _ = stream.write_all(page.as_bytes());
        }
    });
    for round in 0..3 {
        let serving = upgrade(&state);
        // It is cut while the others aren't.
        if round == 0 {
            assert_eq!(resting.read(&mut [0]).expect("its end"), 0);
        }
        assert_eq!(body(&ask(address, &format!("GET /{round}"))), "page");
        carry(&visitor, &chat, &format!("what the visitor says {round}"));
        carry(&chat, &visitor, &format!("what the origin says {round}"));
        carry(&events, &reader, "3\r\ntwo\r\n");
        assert!(!wick.has_ended(), "it carries them");
        match round {
            2 => end(serving),
            _ => std::mem::forget(serving),
        }
    }
    carry(&events, &reader, "0\r\n\r\n");
    drop((chat, visitor, events, reader));
    until("the end of the first one", || wick.has_ended());
    let ended = wick.end();
    // What the others say at their ends stands in the output too: only one carried a tunnel.
    let mut summaries = ended.output.split("Stopped after").skip(1);
    let first = summaries.find(|summary| summary.contains("pass(upgrade)"));
    let was_whole = first.is_some_and(|summary| !summary.contains("were cut"));
    assert!(ended.status.success() && was_whole, "{}", ended.output);
    drop(answering);
}

#[test]
fn what_takes_longer_than_it_may_is_cut_and_counted() {
    let (url, asked) = origin();
    let limits = "idle_timeout = \"100ms\"\ngrace = \"0s\"\nupgrade_grace = \"300ms\"";
    let (mut wick, address, _folder, state) = serve(&url, limits);
    let upgrading = "Connection: upgrade\nUpgrade: websocket";
    let mut visitor = send(address, &format!("GET /chat HTTP/1.1\nHost: a\n{upgrading}\n\n"));
    let (_, chat) = asked.recv_timeout(PATIENCE).expect("the origin is asked");
    (&chat).write_all(SWITCHED.as_bytes()).expect("it is taken");
    read_until(&visitor, "\r\n\r\n");
    let serving: Serving = upgrade(&state);
    assert_eq!(visitor.read(&mut [0]).expect("the end"), 0);
    until("the end of the first one", || wick.has_ended());
    end(serving);
    let output = wick.end().output;
    assert!(output.contains("1 connections were cut: grace or upgrade_grace was over"), "{output}");
}
