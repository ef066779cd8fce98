//! `wick explain`: what a running server says of a request, and what is said without one.

use std::io::Write;
use std::net::SocketAddr;

use crate::origin::Origin;
use crate::wick::{Wick, ask, names, open_folder, until};

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

/// A board that greets whoever bears its cookie by name.
fn greeting_board(head: &str, stream: &mut std::net::TcpStream) {
    let name = |line: &str| Some(line.strip_prefix("cookie: board_session=")?.to_owned());
    let name = head.lines().find_map(|line| name(&line.replacen("Cookie", "cookie", 1)));
    let set = match name {
        Some(_) => String::new(),
        None => "Set-Cookie: board_session=nobody-0123456789; Path=/\r\n".to_owned(),
    };
    let rows = "<li class=topic>The same for all of them</li>".repeat(30);
    let name = name.unwrap_or_default();
    let body = format!("<nav id=user>Hello {name}</nav><ul>{rows}</ul>");
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nCache-Control: private\r\nContent-Type: text/html\r\n{set}\
         Content-Length: {}\r\n\r\n{body}",
        body.len(),
    );
}

#[test]
fn where_members_pages_differ_is_told_with_what_would_make_one_of_them() {
    let state = open_folder();
    let kept = state.path().display().to_string();
    let board = Origin::new(greeting_board);
    let (_wick, address) = Wick::serve(&[&board.url(), "--state", &kept]);
    ask(address, "GET /");
    let visit = |name: &str| {
        let own = format!("GET /\nCookie: board_session={name}-0123456789abcdef");
        assert!(ask(address, &own).contains(name), "each is greeted by name");
    };
    // The first visits show that the page is asked for often.
    until("two members' copies were compared", || {
        visit("annabel");
        visit("bertram");
        explain(address, &kept, &[]).contains("members")
    });
    let told = explain(address, &kept, &[]);
    for expected in [
        "members  copies of such a page agree but for 1 spot, ",
        "spot     in nav#user, ",
        "put <esi:include src=\"/parts/user\"/> where what differs in nav#user is",
        "Surrogate-Control: max-age=60, content=\"ESI/1.0\"",
    ] {
        assert!(told.contains(expected), "no {expected:?} in\n{told}");
    }
    assert!(!told.contains("annabel") && !told.contains("bertram"), "{told}");
}

#[test]
fn members_pages_are_not_compared_where_the_owner_does_not_want_it() {
    let state = open_folder();
    let kept = state.path().display().to_string();
    let board = Origin::new(greeting_board);
    let settings = state.path().join("wick.toml");
    let text = format!("[[site]]\norigin = \"{}\"\nsuggest_parts = false\n", board.url());
    std::fs::write(&settings, text).expect("the folder takes files");
    let settings = settings.display().to_string();
    let (_wick, address) = Wick::serve(&["--config", &settings, "--state", &kept]);
    ask(address, "GET /");
    for name in ["annabel", "bertram"].repeat(6) {
        ask(address, &format!("GET /\nCookie: board_session={name}-0123456789abcdef"));
    }
    let told = explain(address, &kept, &[]);
    assert!(!told.contains("members"), "{told}");
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
