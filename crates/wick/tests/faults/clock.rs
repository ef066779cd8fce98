//! The wall clock is set while Wick runs: what is stored ages by a clock that only goes on.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder, until};
use crate::{AS_OURSELVES, PAGE};

/// A library that shows a program another time than it is.
fn faketime() -> Option<PathBuf> {
    let libraries = fs::read_dir("/usr/lib").ok()?.flatten();
    let found = libraries.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: libfaketime is not installed (scripts/setup test installs it)");
    }
    found
}

/// The value of a field.
fn field(answer: &str, name: &str) -> String {
    let lines = answer.lines().filter_map(|line| line.split_once(": "));
    let line =
        lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value).next();
    line.ok_or_else(|| format!("{name} in {answer}")).expect("it is told").to_owned()
}

fn dated(answer: &str) -> i64 {
    let date = httpdate::parse_http_date(&field(answer, "date")).expect("a date");
    let since = date.duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    since.as_secs().cast_signed()
}

#[test]
fn a_clock_that_is_set_makes_no_page_older_or_younger() {
    let Some(library) = faketime() else { return };
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let told = folder.path().join("time");
    fs::write(&told, "+0").expect("ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &told)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let state = folder.path().join("state").display().to_string();
    let url = origin.url();
    let arguments = ["serve", &url, "--listen", "127.0.0.1:0", "--threads", "1", "--state", &state];
    let mut wick = Wick::command(command, &[&arguments[..], &AS_OURSELVES].concat());
    let line = wick.line("listening http://");
    let address = line.rsplit("http://").next().expect("an address").trim_end_matches('/');
    let address = address.parse().expect("an address with its port");
    let first = dated(&ask(address, "GET /"));
    let mut asked = 1;
    for (offset, hours) in [("+3600", 1), ("-3600", -1), ("+0", 0)] {
        fs::write(&told, offset).expect("ours");
        // It looks at the wall clock now and then.
        until("the other time", || {
            asked += 1;
            let new = ask(address, &format!("GET /{asked}"));
            (dated(&new) - first - hours * 3600).abs() < 600
        });
        let page = ask(address, "GET /");
        assert!(field(&page, "cache-status").starts_with("wick; hit; ttl="), "{offset}: {page}");
        assert!(field(&page, "age").parse::<u64>().is_ok_and(|age| age < 600), "{page}");
        assert_eq!(dated(&page), first, "{offset}");
    }
    assert_eq!(origin.heads().len(), asked, "nothing was fetched twice");
    wick.stop();
}
