//! `wick log`: what a running server says of its last answers.

use std::net::SocketAddr;

use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder, until};

// It says that its connection ends, or a POST may be lost on one that is just ending.
const PAGE: &str = "HTTP/1.1 200 OK\r\nCache-Control: s-maxage=600\r\nContent-Length: 5\r\n\
                    Connection: close\r\n\r\nhello";

/// The lines that `wick log` shows with these arguments.
fn lines(state: &str, more: &[&str]) -> Vec<String> {
    let ended = Wick::run(&[&["log", "--state", state], more].concat()).end();
    assert_eq!(ended.told(), "0 ", "{}", ended.output);
    ended.output.lines().map(str::to_owned).collect()
}

fn served(settings: &str) -> (Origin, tempfile::TempDir, Wick, SocketAddr) {
    let origin = Origin::saying(PAGE);
    let state = open_folder();
    let file = state.path().join("wick.toml");
    std::fs::write(&file, settings).expect("a settings file");
    let (kept, file) = (state.path().display().to_string(), file.display().to_string());
    let (wick, address) = Wick::serve(&[&origin.url(), "--state", &kept, "--config", &file]);
    (origin, state, wick, address)
}

#[test]
fn the_last_answers_are_told_with_why_and_where_their_time_went() {
    let (_origin, state, _wick, address) = served("");
    let kept = state.path().display().to_string();
    for path in ["/thread/1?token=hush", "/thread/1?token=hush", "/thread/2", "/about"] {
        ask(address, &format!("GET {path}"));
    }
    ask(address, "POST /thread/2\nContent-Length: 0");
    let all = lines(&kept, &[]);
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all.iter().all(|line| !line.contains("hush")), "{all:?}");
    assert!(all[0].contains("  200  miss(uri-miss) ") && all[0].contains("origin "), "{all:?}");
    assert!(all[0].contains(&format!("GET {address}/thread/1  [lookup ")), "{all:?}");
    assert!(all[1].contains("  200  hit ") && !all[1].contains('['), "{all:?}");
    assert!(all[4].contains("pass(method)") && all[4].contains("POST"), "{all:?}");
    for (arguments, count) in [
        (&["--why", "miss"][..], 3),
        (&["--why", "method"], 1),
        (&["--route", "/thread/{id}"], 4),
        (&["--route", "/ab*", "--status", "2xx"], 1),
        (&["--status", "404"], 0),
        (&["--lines", "2"], 2),
    ] {
        assert_eq!(lines(&kept, arguments).len(), count, "{arguments:?}");
    }
}

#[test]
fn what_was_answered_before_a_crash_is_told_with_nobody_running() {
    let (_origin, state, wick, address) = served("");
    let kept = state.path().display().to_string();
    for path in ["/thread/1?token=hush", "/thread/1?token=hush", "/thread/2"] {
        ask(address, &format!("GET {path}\nCookie: id=hush"));
    }
    until("the end of that second", || lines(&kept, &["--since", "1h"]).len() > 3);
    wick.signal(rustix::process::Signal::KILL);
    wick.end();
    let all = lines(&kept, &["--since", "1h", "--why", "miss"]);
    assert!(all[0].ends_with(" (UTC)"), "the day: {all:?}");
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all[1].contains("GET ") && all[1].contains("/thread/1  ["), "{all:?}");
    assert!(all[1].contains("lookup ") && !all.concat().contains("hush"), "{all:?}");
    assert_eq!(lines(&kept, &["--since", "1h", "--why", "hit"]).len(), 2);
    assert_eq!(lines(&kept, &["--since", "1h", "--lines", "1"]).len(), 2);
    assert!(lines(&kept, &["--since", "0s"]).is_empty());
}

#[test]
fn a_browser_is_told_in_server_timing_only_where_the_owner_wants_it() {
    let (_origin, _state, _wick, address) = served("server_timing = true\n");
    let miss = ask(address, "GET /");
    let line = |answer: &str| -> String {
        let line = answer.lines().find(|line| line.starts_with("server-timing: "));
        line.unwrap_or_default().to_owned()
    };
    let told = line(&miss);
    assert!(
        told.starts_with("server-timing: cache;desc=\"miss(uri-miss)\", lookup;dur="),
        "{told}"
    );
    for phase in ["queue", "connect", "origin", "total"] {
        assert!(told.contains(&format!(", {phase};dur=")), "{told}");
    }
    assert_eq!(line(&ask(address, "GET /")), "server-timing: cache;desc=\"hit\"");
    let (_origin, _state, _wick, address) = served("");
    assert_eq!(line(&ask(address, "GET /")), "");
}

#[test]
fn without_a_server_it_says_what_to_do() {
    let state = open_folder();
    let ended = Wick::run(&["log", "--state", &state.path().display().to_string()]).end();
    assert!(ended.told().starts_with("1 wick: no Wick is running"), "{}", ended.told());
}
