//! Sites by host, what origins are told, what the log says, where Wick listens.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, open_folder};

/// It says that it closes: a write is not sent twice, so it must not meet a dead connection.
const PAGE: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nConnection: close\r\n\
    Content-Length: 4\r\n\r\npage";

/// What `Cache-Status` says without the key.
fn cache_status(answer: &str) -> String {
    let line = answer.lines().find_map(|line| line.strip_prefix("cache-status: "));
    let line = line.unwrap_or("none");
    line.split("; key=").next().unwrap_or(line).trim().to_owned()
}

#[test]
fn each_host_gets_its_own_site_and_a_stranger_is_misdirected() {
    let folder = open_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["one", "two"] {
        fs::create_dir(path(name)).expect("a folder");
        fs::write(format!("{}/index.html", path(name)), name).expect("a file");
    }
    let text = format!(
        "[[site]]\nhosts = [\"one.test\", \"WWW.one.test\"]\norigin = \"{}\"\n\
         [[site]]\nhosts = [\"two.test\"]\norigin = \"{}\"\n",
        path("one"),
        path("two")
    );
    fs::write(path("wick.toml"), text).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &path("wick.toml")]);
    for (host, expected) in [
        ("one.test", "200 one"),
        ("www.one.test", "200 one"),
        ("ONE.test:8080", "200 one"),
        ("two.test", "200 two"),
        ("three.test", "421 There is no site of this name here."),
        ("one.test.evil", "421 There is no site of this name here."),
    ] {
        let answer = ask(address, &format!("GET /\nHost: {host}"));
        let (status, text) = expected.split_once(' ').expect("a status and a text");
        let is_right = answer[9..].starts_with(status) && body(&answer).contains(text);
        assert!(is_right, "{host}: {answer}");
    }
    wick.stop();
}

#[test]
fn nothing_that_a_stranger_claims_about_the_way_here_reaches_the_origin() {
    let origin = Origin::saying(PAGE);
    let (wick, address) = Wick::serve(&[&origin.url()]);
    let claims = [
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X_Forwarded_For",
        "Forwarded",
        "X-Real-IP",
        "X-Original-URL",
        "X-Rewrite-URL",
        "Client-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "Proxy",
    ];
    let fields: String = claims.iter().map(|name| format!("{name}: evil\n")).collect();
    let answer = ask(address, &format!("GET /\nHost: board.test\nX-Own: kept\n{fields}"));
    assert_eq!(body(&answer), "page");
    let heads = origin.heads();
    let [head] = heads.as_slice() else { panic!("one request: {heads:?}") };
    let head = head.to_ascii_lowercase();
    assert!(!head.contains("evil"), "{head}");
    for line in [
        "x-own: kept",
        "host: board.test",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: board.test",
        "x-forwarded-port: 80",
        "x-forwarded-proto: http",
        "forwarded: for=127.0.0.1;host=board.test;proto=http",
    ] {
        assert!(head.lines().any(|seen| seen == line), "no {line:?} in {head}");
    }
    wick.stop();
}

#[test]
fn the_log_has_a_line_for_each_answer_and_no_secret_in_it() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let log = folder.path().join("access.log").display().to_string();
    let (wick, address) = Wick::serve(&[&origin.url(), "--access-log", &log]);
    let secrets = "Cookie: session=hush\nAuthorization: Basic hush\nReferer: http://a/?hush";
    for request in [
        "GET /reset?token=hush".to_owned(),
        "GET /page".to_owned(),
        "GET /page".to_owned(),
        format!("GET /page\n{secrets}"),
        "POST /write?hush\nContent-Length: 0".to_owned(),
    ] {
        ask(address, &format!("{request}\nHost: board.test"));
    }
    wick.stop();
    let text = fs::read_to_string(&log).expect("the log is there");
    assert!(!text.contains("hush") && !text.contains('?'), "{text}");
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words.len(), 8, "{line}");
            assert!(words[0].parse::<f64>().is_ok_and(|time| time > 1e9), "{line}");
            assert!(words[7].ends_with("ms"), "{line}");
            words[1..7].join(" ")
        })
        .collect();
    assert_eq!(
        lines,
        [
            "127.0.0.1 GET board.test /reset 200 miss(uri-miss)",
            "127.0.0.1 GET board.test /page 200 miss(uri-miss)",
            "127.0.0.1 GET board.test /page 200 hit",
            "127.0.0.1 GET board.test /page 200 pass(authorization)",
            "127.0.0.1 POST board.test /write 200 pass(method)",
        ]
    );
}

#[test]
fn parameters_that_the_owner_ignores_do_not_choose_the_page() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let file = folder.path().join("wick.toml").display().to_string();
    let text =
        format!("[[site]]\norigin = \"{}\"\nignore_query = [\"utm_source\"]\n", origin.url());
    fs::write(&file, text).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &file]);
    let mut seen = Vec::new();
    for target in ["/p?id=1", "/p?id=1&utm_source=a", "/p?utm_source=b&id=1", "/p?id=2"] {
        let status = cache_status(&ask(address, &format!("GET {target}")));
        seen.push(if status.starts_with("wick; hit") { "hit" } else { "miss" });
    }
    assert_eq!(seen, ["miss", "hit", "hit", "miss"]);
    wick.stop();
}

#[test]
fn a_site_whose_owner_switched_the_cache_off_is_asked_each_time() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let file = folder.path().join("wick.toml").display().to_string();
    let text = format!("[[site]]\norigin = \"{}\"\ncache = false\n", origin.url());
    fs::write(&file, text).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &file]);
    for _ in 0..2 {
        let status = cache_status(&ask(address, "GET /"));
        assert!(status.contains("fwd=bypass") && status.contains("caching-off"), "{status}");
    }
    assert_eq!(origin.heads().len(), 2);
    wick.stop();
}

#[test]
fn several_threads_share_one_cache() {
    let origin = Origin::saying(PAGE);
    let (wick, address) = Wick::serve(&[&origin.url(), "--threads", "2"]);
    assert!(cache_status(&ask(address, "GET /")).contains("fwd=uri-miss"));
    for _ in 0..20 {
        assert!(cache_status(&ask(address, "GET /")).starts_with("wick; hit"));
    }
    let threads = format!("/proc/{}/task", wick.id());
    let names = fs::read_dir(threads).expect("it runs").flatten();
    let names = names.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    assert_eq!(names.filter(|name| name.starts_with("serve-")).count(), 2);
    wick.stop();
    assert_eq!(origin.heads().len(), 1);
}

#[test]
fn several_addresses_are_listened_on_and_one_may_be_of_ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("SKIPPED: this system has no IPv6");
        return;
    }
    let origin = Origin::new(|_, stream| {
        let _ = stream.write_all(PAGE.as_bytes());
    });
    let (wick, six) =
        Wick::serve(&[&origin.url(), "--listen", "[::1]:0", "--listen", "127.0.0.1:0"]);
    assert!(six.is_ipv6());
    let answer = ask(six, "GET /");
    assert_eq!(body(&answer), "page");
    let head = origin.heads().remove(0).to_ascii_lowercase();
    assert!(head.contains("\nx-forwarded-for: ::1\n"), "{head}");
    assert!(head.contains("forwarded: for=\"[::1]\""), "{head}");
    let output = wick.stop().output;
    let four =
        output.lines().find_map(|line| line.trim().strip_prefix("listening http://127.0.0.1:"));
    assert!(four.is_some(), "{output}");
}
