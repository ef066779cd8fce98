//! `wick bench`, before a Wick that serves a folder of files.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

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
    let (wick, url, folder) = site();
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
    let csv = folder.path().join("times.csv").display().to_string();
    let ended = bench(&["-n", "50", "-q", "-l", "-d", "-S", "-e", &csv, &url]);
    assert!(ended.status.success() && ended.errors.is_empty(), "{}", ended.told());
    assert!(ended.output.contains("\nDocument Length:        Variable\n"), "{}", ended.output);
    assert!(
        ended.output.contains("\n              min   avg   max\nConnect: "),
        "{}",
        ended.output
    );
    assert!(!ended.output.contains("Percentage"), "{}", ended.output);
    let csv = fs::read_to_string(csv).expect("it was written");
    assert!(csv.starts_with("Percentage served,Time in ms\n0,") && csv.contains("\n100,"), "{csv}");
    assert_eq!(csv.lines().count(), 102);
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

/// What a line tells in JSON.
fn told(line: &[&str]) -> serde_json::Value {
    let ended = bench(&[&["--format", "json"], line].concat());
    // A machine that is busy makes a run with a schedule void.
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.told());
    serde_json::from_str(&ended.output).expect("JSON")
}

#[test]
fn a_unix_socket_is_loaded() {
    let folder = open_folder();
    let path = folder.path().join("app.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().expect("one more handle");
                let lines = BufReader::new(stream).lines().map_while(Result::ok);
                for _ in lines.filter(String::is_empty) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    if writer.write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    let told = told(&["-n", "40", "-c", "2", "-k", &format!("unix:{}:/a", path.display())]);
    assert_eq!(told["statuses"]["200"], 40, "{told:#}");
    assert_eq!((&told["body_bytes"], &told["failed"]), (&80.into(), &0.into()));
    assert_eq!(told["target"], "localhost");
}

#[test]
fn lists_logs_and_scenarios_are_played() {
    let (wick, url, folder) = site();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let list = write("list", "3 /news.txt\n# not there\n/missing\n");
    let one = told(&["-n", "40", "--urls", &list, &url]);
    let counts = |one: &serde_json::Value| {
        ["200", "404"].map(|status| one["statuses"][status].as_u64().unwrap_or(0))
    };
    // Weights are kept to on the whole, not among the first few.
    assert!(matches!(counts(&one), [28..=32, 8..=12]), "{one:#}");
    // Several addresses are such a list, each with the same weight.
    let one = told(&["-n", "40", &url, "/missing"]);
    assert!(matches!(counts(&one), [18..=22, 18..=22]), "{one:#}");

    let line = |second: u32, request: &str| {
        format!("192.0.2.1 - - [10/Oct/2025:13:55:{second} +0000] \"{request} HTTP/1.1\" 200 10\n")
    };
    let requests = ["GET /news.txt", "POST /news.txt", "HEAD /news.txt", "GET /missing"];
    let log: String = (30..).zip(requests).map(|(second, request)| line(second, request)).collect();
    let log = write("access.log", &log);
    let one = told(&["--replay", &log, "--speed", "100x", &url]);
    assert_eq!((&one["model"], &one["begun"]), (&"replay".into(), &3.into()));
    assert_eq!(counts(&one), [2, 1]);
    assert_eq!(one["wanted"], 3);

    let scenario = |expect: u16| {
        format!(
            "[[scenario]]\nname = \"reader\"\n[[scenario.step]]\nrequest = \"GET /news.txt\"\n\
             take = {{ last = \"(9)\" }}\n\
             [[scenario.step]]\nrequest = \"GET /missing?{{last}}\"\nexpect = {expect}\n"
        )
    };
    let [good, bad] = [404, 200].map(|expect| write(&format!("{expect}.toml"), &scenario(expect)));
    let one = told(&["-n", "5", "--scenario", &good, &url]);
    assert_eq!((&one["answered"], &one["failed"]), (&10.into(), &0.into()), "{one:#}");
    let one = told(&["-n", "5", "--scenario", &bad, &url]);
    assert_eq!((&one["answered"], &one["failed"]), (&5.into(), &5.into()), "{one:#}");
    let first = &one["failures"]["not as expected"]["first"];
    assert_eq!(first, "/missing?9: status 404, and not 200");
    // blitz's steps are a scenario too.
    let steps = ["-p", "5-5:1", "-s", "200", &url, "-s", "404", "-b", "a=1", "/missing"];
    let one = told(&steps);
    assert_eq!((&one["answered"], &one["failed"]), (&10.into(), &0.into()), "{one:#}");
    wick.stop();
}

#[test]
fn a_run_is_held_against_one_that_was_kept() {
    let (wick, url, folder) = site();
    let kept = folder.path().join("kept.json").display().to_string();
    // Too short to be compared: its last second isn't over.
    let ended = bench(&["--rate", "50", "--duration", "1s", "--save", &kept, &url]);
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.told());
    let mut before: serde_json::Value =
        serde_json::from_slice(&fs::read(&kept).expect("it was kept")).expect("JSON");
    let ended = bench(&["-n", "5", "--compare", &kept, &url]);
    assert_eq!(ended.status.code(), Some(3), "{}", ended.told());
    assert!(ended.output.contains("VOID: there are fewer than 4 samples"), "{}", ended.told());

    // The same with as many seconds as are needed, all quicker or slower than any answer now.
    before["void"] = serde_json::Value::Null;
    let point = before["points"][0].clone();
    let runs = [(1, 4, "the second is slower"), (3_600_000_000_u64, 0, "the second is faster")];
    let runs = runs.map(|(p50_us, status, verdict)| {
        let points = (0..9).map(|second| {
            let mut point = point.clone();
            point["second"] = second.into();
            point["latency"]["p50_us"] = (p50_us + second % 2).into();
            point
        });
        before["points"] = points.collect();
        let path = folder.path().join(format!("{status}.json"));
        fs::write(&path, before.to_string()).expect("a file");
        let line = ["bench", "--rate", "20", "--duration", "6s", "--format", "json", "--compare"];
        let path = path.display().to_string();
        (Wick::run(&[&line[..], &[&path, &url]].concat()), status, verdict)
    });
    for (running, status, verdict) in runs {
        let ended = running.end();
        let told: serde_json::Value = serde_json::from_str(&ended.output).expect("JSON");
        if told["void"].is_null() {
            assert_eq!(ended.status.code(), Some(status), "{}", ended.told());
            assert!(ended.errors.contains(verdict), "{}", ended.told());
        } else {
            assert_eq!(ended.status.code(), Some(3), "{}", ended.told());
        }
    }
    wick.stop();
}

#[test]
fn two_targets_are_held_against_each_other() {
    let (wick, url, folder) = site();
    let [page, kept] = ["vs.html", "vs.json"].map(|name| folder.path().join(name));
    let files = ["--html", &page.display().to_string(), "--save", &kept.display().to_string()]
        .map(str::to_owned);
    let files = files.each_ref().map(String::as_str);
    let rounds = ["--rounds", "4", "--duration", "100ms", "-c", "1", "--format", "json"];
    let ended = bench(&[&["--vs", &url][..], &rounds, &files, &[&url]].concat());
    // What the machine does meanwhile decides what is found; that it is told is what counts.
    assert!(matches!(ended.status.code(), Some(0 | 3 | 4)), "{}", ended.told());
    let told: serde_json::Value = serde_json::from_str(&ended.output).expect("JSON");
    assert_eq!(told["figures"][0]["figure"], "p50");
    assert_eq!(told["figures"].as_array().map(Vec::len), Some(5));
    let kept = fs::read_to_string(kept).expect("it was kept");
    assert_eq!(kept.trim_end(), ended.output.trim_end());
    let page = fs::read_to_string(page).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("against http://127"), "{page}");
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
    let wrong = told(&["-p", "1-9:9", "-V", "http://127.0.0.1/"]);
    assert!(wrong.starts_with("2 error: -V shows single answers"), "{wrong}");
    let wrong = told(&["-n", "5", "-X", "127.0.0.1:8080", "http://127.0.0.1/"]);
    assert!(wrong.starts_with("1 wick: -X: a load goes to the target itself"), "{wrong}");
}
