//! `wick demo`: figures that mean something, or none; and nothing left behind.

use std::fs;
use std::net::TcpListener;

use rustix::process::Signal;

use crate::wick::{Ended, Wick, ask, has_php, names, open_folder, processes_with, until};

const BOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specimens/board");

/// Nothing runs and nothing lies about where the demo had its folder.
fn assert_clean(ended: &Ended) {
    let folder = ended.folder.path();
    assert_eq!(names(folder), Vec::<String>::new());
    assert_eq!(processes_with(&folder.display().to_string()), Vec::<String>::new());
}

#[test]
fn the_demo_gives_both_ratios_and_serves_the_board_on_the_next_free_port() {
    if !has_php() {
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let wanted = taken.local_addr().expect("an address").to_string();
    let mut wick = Wick::run(&["demo", BOARD, "--seconds", "1", "--listen", &wanted]);
    wick.line(&format!("{wanted} is taken, so the next free port is used."));
    let line = wick.line("Open       http://");
    let address = line.rsplit("http://").next().expect("an address").trim_end_matches('/');
    let answer = ask(address.parse().expect("an address"), "GET /");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("The Lamp Room"), "{answer}");
    wick.line("Stop       Ctrl-C");
    wick.signal(Signal::INT);
    let ended = wick.end();
    assert_eq!(ended.told(), "0 ");
    let row = |name: &str| {
        let row = ended.output.lines().find(|line| line.trim_start().starts_with(name));
        row.expect("the table has this row").trim().to_owned()
    };
    assert!(row("pages a second").ends_with(" times as many"), "{}", ended.output);
    assert!(row("CPU time a page").ends_with(" times less"), "{}", ended.output);
    assert!(row("failures").ends_with(" 0               0"), "{}", ended.output);
    assert_clean(&ended);
}

#[test]
fn a_demo_with_failures_tells_no_ratio_but_why() {
    if !has_php() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.php"), "<?php http_response_code(503);").expect("a file");
    let site = site.path().display().to_string();
    let ended = Wick::run(&["demo", &site, "--seconds", "1", "--once"]).end();
    let told = ended.told();
    assert!(told.starts_with("1 wick: the measurement is void: before, "), "{told}");
    assert!(told.contains(" requests failed (status 503: "), "{told}");
    assert!(
        ended.output.contains("failures") && !ended.output.contains("times"),
        "{}",
        ended.output
    );
    assert_clean(&ended);
}

#[test]
fn a_demo_that_is_stopped_while_it_measures_says_so_and_is_gone() {
    if !has_php() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let mut wick = Wick::run(&["demo", BOARD, "--seconds", "600"]);
        wick.line("visitors ask for 4 pages in turn");
        let folder = wick.folder.path().to_owned();
        // The board makes its database when it is asked for the first time.
        until("the first page", || {
            let demo = names(&folder).pop().map(|name| folder.join(name).join("data"));
            demo.is_some_and(|data| data.exists() && !names(&data).is_empty())
        });
        wick.signal(signal);
        let ended = wick.end();
        assert_eq!(
            ended.told(),
            "1 wick: stopped while measuring; nothing is left running or lying about"
        );
        assert_clean(&ended);
    }
}

#[test]
fn a_folder_without_the_site_is_told_with_its_cure() {
    let folder = open_folder();
    let path = folder.path().display().to_string();
    let told = Wick::run(&["demo", &path]).end().told();
    assert!(
        told.starts_with(&format!("1 wick: can't serve {path}: there is no index.php")),
        "{told}"
    );
}
