//! Certificates of the owner's own: who is shown which, and what is done with plain HTTP.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::authority::Authority;
use crate::origin::Origin;
use crate::running::Ground;
use crate::visitor::{Visitor, curl};
use crate::wick::{ask, body, until};

#[test]
fn each_name_is_shown_its_own_certificate_and_an_unknown_one_none() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let one = ca.pair(ground.path(), "one", &["one.test", "www.one.test"]);
    let two = ca.pair(ground.path(), "two", &["*.two.test"]);
    let running = ground.serve(&format!(
        "[[site]]\nhosts = [\"one.test\", \"www.one.test\"]\norigin = {:?}\n{}\
         [[site]]\nhosts = [\"a.two.test\", \"b.two.test:8443\"]\norigin = {:?}\n{}\
         [[site]]\nhosts = [\"plain.test\"]\ncertificate = \"off\"\norigin = {:?}\n",
        ground.site("one", "page one"),
        one.settings(),
        ground.site("two", "page two"),
        two.settings(),
        ground.site("plain", "plain page"),
    ));
    let trusted = ["--cacert", &ca.file.display().to_string()];
    let seen = |url: &str, more: &[&str]| curl(running.tls, url, &[&trusted, more].concat());
    for (url, page) in [
        ("https://one.test/", "page one"),
        ("https://www.one.test/", "page one"),
        ("https://a.two.test/", "page two"),
    ] {
        assert_eq!(seen(url, &[]).as_deref(), Ok(page), "{url}");
        for version in ["1.2", "1.3"] {
            let only = ["--tls-max", version, "--tlsv1.2"];
            assert_eq!(seen(url, &only).as_deref(), Ok(page), "{url} by {version}");
        }
        for (version, number) in [("--http2", "2"), ("--http1.1", "1.1")] {
            let spoken = seen(url, &[version, "--write-out", " by %{http_version}"]);
            assert_eq!(spoken, Ok(format!("{page} by {number}")), "{url}");
        }
        assert_eq!(seen(url, &["--http1.0"]).as_deref(), Ok(page), "{url} by HTTP/1.0");
    }
    // Of the certificate, not of a site.
    assert!(seen("https://c.two.test/", &[]).is_ok_and(|page| page.contains("no site of this")));
    for unknown in ["https://three.test/", "https://plain.test/", "https://x.one.test/"] {
        assert_eq!(seen(unknown, &[]), Err(35), "{unknown}: no connection");
    }
    let plain = ask(running.plain(), "GET /\nHost: plain.test");
    assert_eq!(body(&plain), "plain page", "nobody is sent away who has no certificate");
    running.stop();
}

#[test]
fn who_comes_by_http_is_sent_to_https_and_told_to_stay_there() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "all", &["one.test", "two.test"]);
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nConnection: close\r\n\
         Strict-Transport-Security: max-age=1\r\nContent-Length: 4\r\n\r\npage",
    );
    let running = ground.serve(&format!(
        "[[site]]\nhosts = [\"one.test\"]\norigin = \"{0}\"\nhsts = \"1y\"\n{1}\
         [[site]]\nhosts = [\"two.test\"]\norigin = \"{0}\"\nhttps_redirect = false\n{1}",
        origin.url(),
        pair.settings()
    ));
    let answer = ask(running.plain(), "POST /a/b?c=d\nHost: one.test\nContent-Length: 0");
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    // A name without a port came to 80, which led here; so 443 leads here too.
    assert!(answer.contains("\r\nlocation: https://one.test/a/b?c=d\r\n"), "{answer}");
    assert!(answer.contains("\r\ncache-status: wick; detail=https\r\n"), "{answer}");
    let host = format!("one.test:{}", running.plain().port());
    let answer = ask(running.plain(), &format!("GET /\nHost: {host}"));
    let target = format!("\r\nlocation: https://one.test:{}/\r\n", running.tls.port());
    assert!(answer.contains(&target) && !answer.contains("strict-transport"), "{answer}");
    assert!(origin.heads().is_empty(), "nothing of that concerns the site");
    let answer = ask(running.plain(), "GET /\nHost: two.test");
    assert_eq!(body(&answer), "page");

    let mut visitor = Visitor::new(running.tls, "one.test", &ca.file).expect("a connection");
    for verdict in ["fwd=uri-miss", "wick; hit"] {
        let (head, page) = visitor.ask("GET /");
        assert_eq!(page, b"page");
        assert!(head.contains(verdict), "{head}");
        let lines: Vec<_> = head.lines().filter(|line| line.contains("strict-transport")).collect();
        assert_eq!(lines, ["strict-transport-security: max-age=31536000"], "{head}");
    }
    let told = origin.heads().pop().expect("a request").to_ascii_lowercase();
    assert!(
        told.contains("\nx-forwarded-proto: https\n") && told.contains(";proto=https"),
        "{told}"
    );
    let mut visitor = Visitor::new(running.tls, "two.test", &ca.file).expect("a connection");
    let (head, _) = visitor.ask("GET /");
    assert!(head.contains("fwd=uri-miss"), "each scheme has pages of its own: {head}");
    assert!(head.contains("strict-transport-security: max-age=1\r\n"), "the app's own: {head}");
    running.stop();
}

#[test]
fn what_cannot_be_served_is_told_before_it_begins() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "a", &["one.test"]);
    let other = ca.pair(ground.path(), "b", &["two.test"]);
    let site = ground.site("one", "page");
    let told = |listen: &str, certificate: &str| {
        let site = format!("[[site]]\nhosts = [\"one.test\"]\norigin = {site:?}\n{certificate}");
        let ended = ground.run("serve", &format!("{listen}{site}")).end();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.output);
        ended.output
    };
    let listen = "listen_tls = \"127.0.0.1:0\"\n";
    let files = |chain: &std::path::Path, key: &std::path::Path| {
        format!("certificate = {chain:?}\ncertificate_key = {key:?}\n")
    };
    let nothing = ground.path().join("nothing.pem");
    let empty = ground.path().join("empty.pem");
    fs::write(&empty, "").expect("it is written");
    for (certificate, expected) in [
        (files(&nothing, &pair.key), "nothing.pem: No such file or directory"),
        (files(&empty, &pair.key), "there is no certificate in it"),
        (files(&pair.chain, &empty), "there is no key in it"),
        (files(&pair.chain, &other.key), "the key does not belong to the certificate"),
        (format!("certificate = {:?}\n", pair.chain), "there is no key in it"),
        ("certificate_key = \"/x\"\n".to_owned(), "has a certificate_key and no certificate"),
        ("certificate = \"of\"\n".to_owned(), "write \"auto\", \"off\", or a file"),
        ("certificate = \"off\"\n".to_owned(), "every site has certificate = \"off\""),
        ("hsts = \"yes\"\n".to_owned(), "\"yes\" is not a duration"),
    ] {
        let said = told(listen, &certificate);
        assert!(said.contains(expected), "no {expected:?} in {said}");
        assert!(!said.contains("BEGIN PRIVATE KEY-----\n"), "{said}");
    }
    let said = told("", &pair.settings());
    assert!(said.contains("nobody listens for HTTPS: add listen_tls"), "{said}");
    let directory = "listen_tls = \"127.0.0.1:0\"\nacme_directory = \"http://ca\"\n";
    assert!(told(directory, "").contains("wick.toml:4:18: the address of a CA's directory begins"));
}

#[test]
fn check_tells_of_every_certificate_and_what_is_wrong_with_it() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "a", &["one.test"]);
    let settings = |hosts: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\nlisten_tls = \"127.0.0.1:0\"\n[[site]]\nhosts = [{hosts}]\n\
             origin = \"{}\"\n{}",
            Origin::saying("").url(),
            pair.settings()
        )
    };
    crate::reload::make_private(&pair.key);
    let ended = ground.run("check", &settings("\"one.test\"")).end();
    assert!(ended.status.success(), "{}", ended.output);
    assert!(ended.output.contains("a.pem: one.test, good until 4096-01-01"), "{}", ended.output);
    let ended = ground.run("check", &settings("\"one.test\", \"two.test\"")).end();
    assert!(ended.output.contains("is not for two.test: browsers warn"), "{}", ended.output);
    assert_eq!(ended.status.code(), Some(1));
}

#[test]
fn an_explanation_is_of_the_scheme_that_was_asked_for() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "a", &["one.test"]);
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nConnection: close\r\n\
         Content-Length: 4\r\n\r\npage",
    );
    let site = format!("[[site]]\nhosts = [\"one.test\"]\norigin = \"{}\"\n", origin.url());
    let running = ground.serve(&format!("{site}{}", pair.settings()));
    let mut visitor = Visitor::new(running.tls, "one.test", &ca.file).expect("a connection");
    visitor.ask("GET /");
    let state = ground.path().join("state").display().to_string();
    let explain = |url: &str| crate::wick::Wick::run(&["explain", url, "--state", &state]).end();
    let told = explain("https://one.test/").output;
    assert!(told.contains("https|one.test|/") && told.contains("hit"), "{told}");
    let told = explain("http://one.test/").output;
    assert!(told.contains("synthetic(https)"), "{told}");
    running.stop();
}

#[test]
fn the_owner_is_told_of_a_certificate_that_ends() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "one", &["one.test"]);
    let hours = |hours| time::OffsetDateTime::now_utc() + time::Duration::hours(hours);
    pair.write(&ca.issue_for(&["one.test"], hours(-80 * 24), hours(9 * 24 + 12)));
    let (program, out) = (ground.path().join("tell"), ground.path().join("told"));
    let script = format!(
        "#!/bin/sh\necho \"$WICK_ALERT $WICK_ALERT_KIND $WICK_ALERT_SUBJECT\" >> '{}'\n",
        out.display()
    );
    fs::write(&program, script).expect("it is written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    // The program runs as whoever serves.
    fs::write(&out, "").expect("it is written");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o666)).expect("it is ours");
    let mut running = ground.serve(&format!(
        "admin = \"off\"\nalert_command = {program:?}\n[[site]]\nhosts = [\"one.test\"]\norigin = {:?}\n{}",
        ground.site("one", "page one"),
        pair.settings()
    ));
    let told = || fs::read_to_string(&out).unwrap_or_default();
    until("the program's word", || told() == "began certificate one.test\n");
    let line = running.wick.line("wick: certificate (one.test): ");
    assert!(line.contains("ends in 9 days, and there is no new one"), "{line}");
    running.stop();
}
