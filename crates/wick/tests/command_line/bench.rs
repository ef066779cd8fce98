//! `wick bench`, before a Wick that serves a folder of files.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::wick::{Ended, Wick, open_folder};

/// A Wick with one file, and the file's address.
fn site() -> (Wick, String, TempDir) {
    let folder = open_folder();
    fs::write(folder.path().join("news.txt"), "0123456789").expect("a file");
    let (wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    (wick, format!("http://{address}/news.txt"), folder)
}

fn bench(line: &[&str]) -> Ended {
    Wick::run(&[&["bench"], line].concat()).end()
}

#[test]
fn a_schedule_is_kept_and_reported() {
    let (wick, url, _folder) = site();
    let out = open_folder();
    let [page, log, kept] = ["page.html", "log.hlog", "kept.json"].map(|name| {
        let path = out.path().join(name);
        path.display().to_string()
    });
    let files = ["--html", &page, "--hdr", &log, "--save", &kept];
    let line = ["--pattern", "50-150:1", "-T", "20000", "-r", "ireland", "--format", "json", &url];
    let ended = bench(&[&line[..], &files].concat());
    // A machine that is busy makes the run void, which is a status of its own and no failure.
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.told());
    let told: serde_json::Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(told["begun"], 100);
    assert_eq!(told["statuses"]["200"], 100);
    assert_eq!(told["body_bytes"], 1_000);
    assert_eq!(told["void"].is_null(), ended.status.code() == Some(0));
    assert!(ended.errors.starts_with("loading 127.0.0.1:"), "{}", ended.errors);
    let read = |path: &str| fs::read_to_string(path).expect("it was written");
    assert!(read(&page).starts_with("<!DOCTYPE html>") && read(&page).contains("<svg"));
    assert!(read(&log).contains("HistogramLogVersion") || read(&log).starts_with('#'));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&read(&kept)).expect("JSON"), told);
    wick.stop();
}

#[test]
fn abs_line_gives_abs_report() {
    let (wick, url, _folder) = site();
    let ended = bench(&["-n", "300", "-c", "7", "-k", &url]);
    assert!(ended.status.success(), "{}", ended.told());
    for expected in [
        "\nDocument Path:          /news.txt\nDocument Length:        10 bytes\n",
        "\nConcurrency Level:      7\n",
        "\nComplete requests:      300\nFailed requests:        0\nKeep-Alive requests:    300\n",
        "\nHTML transferred:       3000 bytes\n",
        "\nPercentage of the requests served within a certain time (ms)\n  50% ",
        "(longest request)",
    ] {
        assert!(ended.output.contains(expected), "{expected:?} is missing in {}", ended.output);
    }
    wick.stop();
}

#[test]
fn ctrl_c_gives_the_report_so_far() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let running = Wick::run(&["bench", "-c", "1", "--duration", "1h", "--format", "json", &url]);
    // The first connection only finds out whether anybody is there.
    let (_trial, _) = listener.accept().expect("it looks who is there");
    let (mut stream, _) = listener.accept().expect("it loads");
    let mut request = [0; 4096];
    assert!(stream.read(&mut request).expect("a request") > 0);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it listens");
    assert!(stream.read(&mut request).expect("another request") > 0);
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.told());
    let told: serde_json::Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!((&told["stopped"], &told["answered"]), (&true.into(), &1.into()));
    assert_eq!(told["failures"]["unfinished at the end"]["count"], 1);
}

#[test]
fn two_targets_are_held_against_each_other() {
    let (wick, url, _folder) = site();
    let rounds = ["--rounds", "4", "--duration", "100ms", "-c", "1", "--format", "json"];
    let ended = bench(&[&["--vs", &url][..], &rounds, &[&url]].concat());
    // What the machine does meanwhile decides what is found; that it is told is what counts.
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.told());
    let told: serde_json::Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(told["figures"][0]["figure"], "p50");
    assert_eq!(told["figures"].as_array().map(Vec::len), Some(5));
    wick.stop();
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let told = |line: &[&str]| bench(line).told();
    assert_eq!(
        told(&["http://192.0.2.1/"]),
        "1 wick: 192.0.2.1 at 192.0.2.1:80 is not this machine, and a load may harm what is \
         somebody else's; if it is yours to load, say so: --i-may-load 192.0.2.1"
    );
    let unreachable = told(&["unix:/nowhere/app.sock:/"]);
    assert!(
        unreachable.starts_with("1 loading localhost at unix:/nowhere/app.sock"),
        "{unreachable}"
    );
    assert!(
        unreachable.contains("unix:/nowhere/app.sock can't be reached: No such file"),
        "{unreachable}"
    );
    assert!(told(&["--pattern", "1-250", "http://127.0.0.1/"]).contains("as in 1-250:60"));
    assert!(told(&["--compare", "/nowhere", "http://127.0.0.1/"]).contains("the file /nowhere: "));
}
