//! `wick explain`: what a running server says of a request, and what is said without one.

use std::net::SocketAddr;

use crate::origin::Origin;
use crate::wick::{Wick, ask, names, open_folder};

/// What `wick explain` says of the front page, by a few words of each line.
fn explain(address: SocketAddr, state: &str, more: &[&str]) -> String {
    let url = format!("http://{address}/");
    let ended = Wick::run(&[&["explain", &url, "--state", state], more].concat()).end();
    assert_eq!(ended.told(), "0 ", "{}", ended.output);
    ended.output
}

#[test]
fn a_running_server_tells_what_becomes_of_a_request() {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello",
    );
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    let before = explain(address, &kept, &[]);
    assert!(before.contains("store    nothing\nverdict  miss(uri-miss): "), "{before}");
    assert!(origin.heads().is_empty(), "explaining asks no origin");

    ask(address, "GET /");
    let after = explain(address, &kept, &["--user-agent", "Some Browser"]);
    let line = |topic: &str| after.lines().find(|line| line.starts_with(topic)).unwrap_or_default();
    assert_eq!(line("site"), format!("site     {}", origin.url()));
    assert_eq!(line("key"), format!("key      http|{address}|/"));
    assert!(line("visitor").starts_with("visitor  a stranger"), "{after}");
    assert!(line("store").starts_with("store    a page (200, 5 B), "), "{after}");
    assert!(line("store").contains(" s old, fresh for "), "{after}");
    assert_eq!(line("verdict"), "verdict  hit: served from memory");
    wick.stop();
    let kept = names(state.path());
    assert_eq!(kept, ["history", "learned.sqlite3"], "the socket goes with the server");
}

#[test]
fn a_cookie_is_part_of_the_question() {
    // A page that says nothing of a lifetime is for those without a cookie.
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\r\n\
         Content-Length: 5\r\n\r\nhello",
    );
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (_wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    ask(address, "GET /");
    let without = explain(address, &kept, &[]);
    assert!(without.contains("\nverdict  hit: "), "{without}");
    let with = explain(address, &kept, &["--cookie", "a=b", "--cookie", "c=d"]);
    assert!(with.contains("\nverdict  pass(cookie): "), "{with}");
}

#[test]
fn without_a_server_or_an_address_it_says_what_to_do() {
    let state = open_folder();
    let kept = state.path().display().to_string();
    let told = Wick::run(&["explain", "http://a.test/", "--state", &kept]).end().told();
    assert_eq!(
        told,
        format!(
            "1 wick: no Wick is running with the state folder {kept}: start one with \
             \"wick serve SITE\", or name the folder of the one that runs with --state"
        )
    );
    let told = Wick::run(&["explain", "/page", "--state", &kept]).end().told();
    assert!(told.starts_with("2 ") && told.contains("write the whole address"), "{told}");
}

#[test]
fn a_second_wick_with_the_same_folder_serves_and_says_what_it_goes_without() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (first, address_of_first) = Wick::serve(&[&origin.url(), "--state", &kept]);
    let (second, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    assert!(ask(address, "GET /").ends_with("\r\n\r\nx"));
    let told = second.stop().errors;
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("another Wick keeps what it learns in "), "{told}");
    assert!(lines[1].contains("answers \"wick explain\", and this one doesn't"), "{told}");
    let said = explain(address_of_first, &kept, &[]);
    assert!(said.contains("verdict  miss"), "the first one still answers: {said}");
    assert_eq!(first.stop().told(), "0 ");
}
