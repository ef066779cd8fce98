//! Lines as people type them, and what they ask for.

use clap::Parser;

use super::*;
use crate::arguments::{Arguments, Command};

/// What a line after `wick bench` becomes.
fn plan(line: &str) -> Result<Plan, String> {
    let words = ["wick", "bench"].into_iter().chain(line.split_whitespace());
    let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
    let Command::Bench(typed) = arguments.command else { panic!("bench was asked for") };
    of(&typed).map_err(|error| error.to_string())
}

fn shown(line: &str) -> String {
    let plan = match plan(line) {
        Ok(plan) => plan,
        Err(error) => return error,
    };
    let load = match &plan.load {
        Load::Open(pattern) => {
            let (requests, seconds) = (pattern.requests(), pattern.time().as_secs());
            format!("open {requests} in {seconds} s")
        }
        Load::Moments(moments) => format!("replay {moments:?}"),
        Load::Closed(closed) => {
            format!("closed {:?} {:?} think {:?}", closed.requests, closed.time, closed.think)
        }
    };
    let keeps = if plan.keeps { "kept" } else { "closed" };
    format!("{load}, {} connections {keeps}, {:?}", plan.connections, plan.timeout)
}

fn written(line: &str) -> String {
    let plan = plan(line).expect("a right line");
    let Work::Requests(mix) = &plan.work else { panic!("requests were asked for") };
    String::from_utf8(mix.all()[0].whole.clone()).expect("text")
}

const URL: &str = "http://127.0.0.1:81/a";

#[test]
fn our_own_lines() {
    let check = |line: &str, expected: &str| assert_eq!(shown(&format!("{line} {URL}")), expected);
    check("", "open 500 in 10 s, 1000 connections kept, 30s");
    check("--rate 200 --duration 1m", "open 12000 in 60 s, 1000 connections kept, 30s");
    check("-c 8 --duration 5s", "closed None Some(5s) think 0ns, 8 connections kept, 30s");
    check("-c 8 --think 1s", "closed None Some(10s) think 1s, 8 connections kept, 30s");
    check("--no-keep-alive --timeout 1s", "open 500 in 10 s, 1000 connections closed, 1s");
    check("--think 1s", "--think is for visitors who wait for an answer: give -c too");
    assert!(shown("").contains("<URL>"), "{}", shown(""));
}

#[test]
fn blitz_lines_are_taken_as_they_are() {
    let line = format!("--pattern 1-250:60 -T 4000 -r california {URL}");
    assert_eq!(shown(&line), "open 7530 in 60 s, 1000 connections kept, 4s");
    let line = format!("--pattern 1-250:60 -T soon {URL}");
    assert!(shown(&line).contains("\"soon\" is not a number of milliseconds"));
    assert!(shown(&format!("-T 4000 {URL}")).contains("write --timeout 4s"));
}

#[test]
fn ab_lines_are_taken_as_they_are() {
    let check = |line: &str, expected: &str| assert_eq!(shown(line), expected, "{line}");
    let kept = "closed Some(10000) None think 0ns, 200 connections kept, 30s";
    check(&format!("-n 10000 -c 200 -k {URL}"), kept);
    check(&format!("-n 10000 -c 200 -k -r {URL}"), kept);
    let closed = "closed Some(10000) None think 0ns, 1 connections closed, 30s";
    check(&format!("-n 10000 {URL}"), closed);
    let timed = "closed Some(50000) Some(7s) think 0ns, 2 connections closed, 30s";
    check(&format!("-t 7 -c 2 {URL}"), timed);
    assert!(shown(&format!("-n 5 --rate 2 {URL}")).contains("cannot be used with"));
}

#[test]
fn fields_cookies_bodies_and_methods_are_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("body");
    std::fs::write(&file, "a=1").expect("a file");
    let line = format!(
        "-n 1 -H X:1 -C s=1 -C t=2 -p {} -T application/x-www-form-urlencoded {URL}",
        file.display()
    );
    let sent = written(&line);
    assert!(sent.starts_with("POST /a HTTP/1.1\r\nHost: 127.0.0.1:81\r\n"), "{sent}");
    for expected in [
        "\r\nX: 1\r\n",
        "\r\nCookie: s=1; t=2\r\n",
        "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "\r\nConnection: close\r\n",
        "\r\nContent-Length: 3\r\n\r\na=1",
    ] {
        assert!(sent.contains(expected), "{expected:?} in {sent}");
    }
    assert!(written(&format!("-m HEAD {URL}")).starts_with("HEAD /a "));
    assert!(shown(&format!("-p /nowhere {URL}")).starts_with("the file /nowhere: "));
}

#[test]
fn lists_have_weights() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("urls");
    let line = format!("--urls {} {URL}", file.display());
    let listed = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        let plan = plan(&line)?;
        let Work::Requests(mix) = &plan.work else { panic!("requests were asked for") };
        Ok::<_, String>((mix.all().len(), mix.pick(0)))
    };
    assert_eq!(listed("# news\n3 /news\n\nhttp://127.0.0.1:81/b\n").map(|found| found.0), Ok(2));
    assert!(listed("/a\nmany /b\n").expect_err("no weight").contains("line 2: write an address"));
    let elsewhere = listed("http://example.org/\n").expect_err("another host");
    assert!(elsewhere.contains("a run loads one host"), "{elsewhere}");
    assert!(listed("0 /a\n").expect_err("no weight").contains("nothing to ask for"));
}

#[test]
fn others_are_loaded_only_at_their_owners_word() {
    let refused = shown("http://192.0.2.1/");
    assert!(refused.contains("--i-may-load 192.0.2.1"), "{refused}");
    let allowed = shown("--i-may-load 192.0.2.1 http://192.0.2.1/");
    assert!(allowed.starts_with("open 500"), "{allowed}");
    let fast = shown("--i-may-load 192.0.2.1 --rate 5000 http://192.0.2.1/");
    assert!(fast.contains("--rate-cap 5000 allows them"), "{fast}");
}
