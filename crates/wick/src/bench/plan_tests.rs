//! Lines as people type them, and what they ask for.

use super::*;
use crate::arguments::{Arguments, Command};

/// What a line after `wick bench` becomes.
fn plan(line: &str) -> Result<Plan, String> {
    let words = ["wick", "bench"].into_iter().chain(line.split_whitespace());
    let arguments = Arguments::read(words).map_err(|error| error.to_string())?;
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
        Load::Moments(moments) => format!("replay of {}", moments.len()),
        Load::Closed(closed) => {
            format!("closed {:?} {:?} think {:?}", closed.requests, closed.time, closed.think)
        }
    };
    let keeps = if plan.keeps { "kept" } else { "closed" };
    format!("{load}, {} connections {keeps}, {:?}", plan.connections, plan.timeout)
}

fn written(line: &str) -> String {
    all_written(line).remove(0)
}

/// All that a line asks for, as it is sent.
fn all_written(line: &str) -> Vec<String> {
    let plan = plan(line).expect("a right line");
    let Work::Requests(mix) = &plan.work else { panic!("requests were asked for") };
    let text = |request: &Request| String::from_utf8(request.whole.clone()).expect("text");
    mix.all().iter().map(text).collect()
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
    // Without a pattern they are ab's letters.
    let line = format!("-p 1-250:60 -T 4000 --region virginia {URL}");
    assert_eq!(shown(&line), "open 7530 in 60 s, 1000 connections kept, 4s");
    let told = shown(&format!("-p 1-250:60 --timeout 4000 {URL}"));
    assert!(told.contains("write -T 4000"), "{told}");
    let told = shown(&format!("--timeout 4s -p 1-250:60 {URL} --connections 7"));
    assert_eq!(told, "open 7530 in 60 s, 7 connections kept, 4s");
}

#[test]
fn what_blitz_says_of_a_request_is_sent() {
    let line = format!(
        "-X PUT -A curl/7 -b a=1 --cookie b=2 -e http://x/ -H X:1 -u ann:x -d q=1 -d r=2 -p 1-9:9 {URL}"
    );
    let sent = written(&line);
    assert!(sent.starts_with("PUT /a HTTP/1.1\r\n"), "{sent}");
    for expected in [
        "\r\nUser-Agent: curl/7\r\n",
        "\r\nCookie: a=1; b=2\r\n",
        "\r\nReferer: http://x/\r\n",
        "\r\nX: 1\r\n",
        "\r\nAuthorization: Basic YW5uOng=\r\n",
        "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "\r\n\r\nq=1&r=2",
    ] {
        assert!(sent.contains(expected), "{expected:?} in {sent}");
    }
    assert!(written(&format!("-p 1-9:9 {URL} -d q=1")).starts_with("POST /a "));
    // Ordinary words go where our own go.
    let sent = written(&format!("--pattern=1-9:9 {URL} --request DELETE -A me"));
    assert!(sent.starts_with("DELETE /a ") && sent.contains("\r\nUser-Agent: me\r\n"), "{sent}");
    for (line, expected) in [
        ("-D -", "-D shows the heads of single answers"),
        ("-V", "-V shows single answers"),
        ("-o out.csv", "--save FILE keeps the report"),
        ("--format csv", "--save FILE keeps the report"),
        ("-3", "SSL and TLS 1.0 aren't spoken"),
        ("-s good", "\"good\" is not a status"),
        ("-v:x what", "-v:x what is not a variable"),
        ("-d q=1 --urls list", "leave -d, -s and -v out"),
    ] {
        let told = shown(&format!("-p 1-9:9 {line} {URL}"));
        assert!(told.contains(expected), "{line}: {told}");
    }
    let told = shown(&format!("-p 1-9:9 {URL} -d"));
    assert!(told.contains("-d has to have a value behind it"), "{told}");
}

#[test]
fn blitzs_variables_and_steps_are_what_visitors_do() {
    let line = format!("-p 1-9:9 -v:q [one,two,a&b] -v:n n[7,7] -d n=#{{n}} {URL}?q=#{{q}}#top");
    let sent = all_written(&line);
    assert_eq!(sent.len(), 1_000, "as many as the longest has");
    for (sent, path) in sent.iter().zip(["/a?q=one", "/a?q=two", "/a?q=a&b", "/a?q=one"]) {
        assert!(sent.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{sent}");
        assert!(sent.ends_with("\r\n\r\nn=7"), "{sent}");
    }
    let steps = format!("-p 1-9:9 -d user=ann -s 302 {URL} -s 200 http://127.0.0.1:81/b");
    let Work::Stories(mix) = plan(&steps).expect("a right line").work else { panic!("steps") };
    assert_eq!(mix.all().len(), 1);
    let told = shown(&format!("{steps} -X GET"));
    assert!(told.contains("has to stand before it"), "{told}");
    let elsewhere = shown(&format!("{steps} http://127.0.0.1:82/"));
    assert!(elsewhere.contains("a run loads one host"), "{elsewhere}");
}

#[test]
fn several_addresses_are_asked_for_in_turns() {
    let sent = all_written(&format!("-H X:1 {URL} 127.0.0.1:81/b?c /d"));
    let first = |path: &str| format!("GET {path} HTTP/1.1\r\n");
    for (sent, path) in sent.iter().zip(["/a", "/b?c", "/d"]) {
        assert!(sent.starts_with(&first(path)) && sent.contains("\r\nX: 1\r\n"), "{sent}");
    }
    assert_eq!(sent.len(), 3);
    // ab's -r takes no region: what stands behind it is the first address.
    let sent = all_written(&format!("-n 5 -r {URL} /b"));
    assert!(sent[0].starts_with(&first("/a")) && sent[1].starts_with(&first("/b")), "{sent:?}");
    let told = shown(&format!("{URL} http://127.0.0.2:81/"));
    assert!(told.contains("on another host than 127.0.0.1:81"), "{told}");
    let told = shown(&format!("--urls list {URL} /b"));
    assert!(told.contains("leave the other addresses out"), "{told}");
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
    let quick = "closed Some(10) None think 0ns, 1 connections closed, 3s";
    check(&format!("-n 10 -s 3 -q -l -d -S -v 1 -f ALL {URL}"), quick);
}

#[test]
fn what_ab_says_of_a_request_is_sent() {
    assert!(written(&format!("-n 1 -i {URL}")).starts_with("HEAD /a HTTP/1.1\r\n"));
    let sent = written(&format!("-n 1 -A ann:secret -P bob:x {URL}"));
    assert!(sent.contains("\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n"), "{sent}");
    assert!(sent.contains("\r\nProxy-Authorization: Basic Ym9iOng=\r\n"), "{sent}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("body");
    std::fs::write(&file, "<a/>").expect("a file");
    let sent = written(&format!("-n 1 -u {} -T text/xml {URL}", file.display()));
    assert!(sent.starts_with("PUT /a HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains("\r\nContent-Type: text/xml\r\n") && sent.ends_with("\r\n\r\n<a/>"));
    for (line, expected) in [
        ("-v 4", "-v above 1 shows single answers"),
        ("-g out.tsv", "--hdr FILE has their spread"),
        ("-X 127.0.0.1:8080", "never by a proxy"),
        ("-b 4096", "the kernel chooses the buffers"),
        ("-B 127.0.0.1", "the kernel chooses the address"),
        ("-f SSL3", "TLS 1.2 and 1.3 are spoken"),
        ("-Z AES128", "the target chooses among the cipher suites"),
        ("-E me.pem", "certificates of clients aren't sent"),
        ("-I", "the name of the target is always sent"),
        ("-w", "--html FILE writes a page"),
        ("-x border=1", "--html FILE writes a page"),
        ("-i -p body", "cannot be used with"),
    ] {
        let told = shown(&format!("-n 1 {line} {URL}"));
        assert!(told.contains(expected), "{line}: {told}");
    }
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
