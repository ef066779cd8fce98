//! A passkey is written and told nowhere, whatever way it came and whatever was wrong with it.

use std::fs;
use std::path::Path;

use crate::served::{Served, UdpClient, get, query};
use crate::wick::open_folder;

const SECRET: &str = "5ecre7passkey0123456789abcdefAB";

/// Every file below a folder that holds the secret.
fn holders(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            holders(&path, found);
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_passkey_is_in_no_log_no_answer_and_no_file() {
    let site = open_folder();
    fs::write(site.path().join("index.html"), "a page").expect("a page");
    let log = open_folder();
    let top = format!(
        "listen = \"127.0.0.1:0\"\naccess_log = \"{}\"\nserver_timing = true",
        log.path().join("access").display()
    );
    let table = format!("path = \"/announce\"\n[[site]]\norigin = \"{}\"", site.path().display());
    let served = Served::begin(&top, &table);
    let through_site = served.site.expect("there is a site");
    let mut told = String::new();
    for address in [served.address, through_site] {
        for target in [
            format!("/announce?passkey={SECRET}&{}", query(1, 0, "")),
            format!("/{SECRET}/announce?{}", query(2, 0, "")),
            format!("/announce/{SECRET}?{}", query(3, 0, "")),
            format!("/{SECRET}/scrape?info_hash={}", "h".repeat(20)),
            format!("/{SECRET}/announce?info_hash=short"),
            format!("/announce?uk={SECRET}%20&{}", query(4, 0, "")),
            format!("/announce?passkey={SECRET}?{}", query(5, 0, "")),
        ] {
            told.push_str(&get(address, &target));
        }
    }
    let path = format!("/{SECRET}/announce");
    let options = [&[2, path.len() as u8][..], path.as_bytes()].concat();
    let answer = UdpClient::connect(served.address).announce(6, &options);
    told.push_str(&answer.escape_ascii().to_string());
    for arguments in [
        &["tracker", "status"][..],
        &["tracker", "torrent", &"68".repeat(20)],
        &["log"],
        &["log", "--lines", "100"],
        &["top", "--once"],
        &["reload"],
    ] {
        told.push_str(&served.ask(arguments));
    }
    assert!(told.contains("peers"), "something was told: {told}");
    let state = served.folder;
    let ended = served.wick.stop();
    told.push_str(&format!("{}{}", ended.output, ended.errors));
    assert!(!told.contains(SECRET), "{told}");
    let mut found = Vec::new();
    holders(state.path(), &mut found);
    holders(log.path(), &mut found);
    assert_eq!(found, Vec::<String>::new());
    let lines = fs::read_to_string(log.path().join("access")).expect("the log");
    assert_eq!(
        lines.lines().filter(|line| line.contains("synthetic(tracker)")).count(),
        7,
        "{lines}"
    );
}
