//! `wick purge`: what goes, what stays, and what is said of it.

use std::net::SocketAddr;

use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder};

const TAGGED: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nxkey: news\r\n\
                      Content-Length: 5\r\n\r\nhello";

/// How a second visit is answered, by the parameter of `Cache-Status` that says it.
fn visit(address: SocketAddr) -> &'static str {
    let answer = ask(address, "GET /");
    match answer.contains("wick; hit") {
        true if answer.contains("detail=purged") => "stale",
        true => "hit",
        false => "miss",
    }
}

#[test]
fn pages_go_by_address_tag_host_and_all_together() {
    let origin = Origin::saying(TAGGED);
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (_wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    let url = format!("http://{address}/");
    let purge = |what: &[&str]| Wick::run(&[&["purge", "--state", &kept], what].concat()).end();
    let site = origin.url();
    for (what, output) in [
        (&[url.as_str()][..], format!("purged  url / of {address} on {site}: a page")),
        (&["--tag", "news"], format!("purged  tags news on {site}")),
        (&["--host", "127.0.0.1"], format!("purged  host of 127.0.0.1 on {site}")),
        (&["--all"], format!("purged  all on {site}")),
    ] {
        visit(address);
        assert_eq!(visit(address), "hit");
        let ended = purge(what);
        assert_eq!((ended.told().as_str(), ended.output), ("0 ", output));
        assert_eq!(visit(address), "miss", "{what:?}");
    }
    purge(&["--tag", "other"]);
    assert_eq!(visit(address), "hit");
    let ended = purge(&["--soft", "--tag", "news", "--tag", "other"]);
    assert_eq!(ended.output, format!("purged  soft tags news other on {site}"));
    assert_eq!(visit(address), "stale");
}

#[test]
fn a_program_on_this_machine_may_purge_without_settings() {
    let origin = Origin::saying(TAGGED);
    let (_wick, address) = Wick::serve(&[&origin.url()]);
    visit(address);
    assert!(ask(address, "PURGE /").ends_with("{\"purged\":\"url\",\"variants\":1}\n"));
    assert!(ask(address, "PURGE /").ends_with("{\"purged\":\"url\",\"variants\":0}\n"));
    assert_eq!(visit(address), "miss");
}

#[test]
fn what_can_not_be_purged_is_told_with_what_to_do() {
    let state = open_folder();
    let kept = state.path().display().to_string();
    let run =
        |what: &[&str]| Wick::run(&[&["purge", "--state", &kept], what].concat()).end().told();
    assert!(run(&["--all"]).starts_with("1 wick: no Wick is running with the state folder "));
    assert!(run(&[]).starts_with("2 "), "it must be said what");
    assert!(run(&["/page"]).contains("write the whole address"));
    let origin = Origin::saying(TAGGED);
    let elsewhere = open_folder();
    let settings = elsewhere.path().join("wick.toml");
    let text = format!("[[site]]\nhosts = [\"a.test\"]\norigin = \"{}\"\n", origin.url());
    std::fs::write(&settings, text).expect("the settings are written");
    let (_wick, _) = Wick::serve(&["--config", &settings.display().to_string(), "--state", &kept]);
    assert_eq!(
        run(&["http://b.test/"]),
        "1 wick: nothing was purged: no site answers for the host \"b.test\": those here are a.test"
    );
}
