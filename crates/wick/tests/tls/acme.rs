//! Certificates from a CA: got, kept, renewed, and waited for while it is down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::pebble::Pebble;
use crate::running::Ground;
use crate::visitor::{Visitor, curl};
use crate::wick::{ask, body, until};

const LONG: u32 = 7_776_000;

fn site(ground: &Ground, hosts: &str) -> String {
    format!("[[site]]\nhosts = [{hosts}]\norigin = {:?}\n", ground.site("one", "page"))
}

/// Every file of the folder is for its owner alone; their names.
fn kept(ground: &Ground) -> Vec<String> {
    let folder = ground.path().join("state/certificates");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files = fs::read_dir(&folder).expect("the folder can be read").flatten();
    let names = files.map(|file| {
        assert_eq!(mode(&file.path()), 0o600, "{:?}", file.path());
        file.file_name().to_string_lossy().into_owned()
    });
    let mut names: Vec<_> = names.filter(|name| !name.starts_with("account-")).collect();
    names.sort();
    names
}

#[test]
fn a_name_is_proved_by_http_once_the_ca_is_there_and_served_meanwhile() {
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    let settings =
        format!("{}{}", pebble.settings(), site(&ground, "\"a.wick.test\", \"b.wick.test\""));
    let mut running = ground.serve(&settings);
    running.wick.line("no certificate for");
    running.wick.line("is asked for again in");
    // The CA is down: browsers would warn, so nobody is sent there.
    assert_eq!(curl(running.tls, "https://a.wick.test/", &["--insecure"]).as_deref(), Ok("page"));
    assert_eq!(curl(running.tls, "https://a.wick.test/", &[]), Err(60));
    assert_eq!(body(&ask(running.plain(), "GET /\nHost: a.wick.test")), "page");
    let proof = ask(running.plain(), "GET /.well-known/acme-challenge/x\nHost: a.wick.test");
    assert!(proof.starts_with("HTTP/1.1 404 "), "{proof}");

    pebble.start(running.plain().port(), 1, LONG);
    let mut seen = [running.wick.line("has issued"), running.wick.line("has issued")];
    seen.sort();
    assert!(seen[0].contains("for a.wick.test") && seen[1].contains("for b.wick.test"));
    let root = pebble.root();
    for name in ["a.wick.test", "b.wick.test"] {
        let url = format!("https://{name}/");
        let trusted = ["--cacert", &root.display().to_string()];
        assert_eq!(curl(running.tls, &url, &trusted).as_deref(), Ok("page"), "{}", pebble.log());
        let answer = ask(running.plain(), &format!("GET /x\nHost: {name}"));
        assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    }
    assert_eq!(kept(&ground), ["a.wick.test.pem", "b.wick.test.pem"]);
    let output = running.stop().output;
    assert!(!output.contains("PRIVATE KEY"), "{output}");

    // After a restart nobody is asked.
    pebble.stop();
    let settings = fs::read_to_string(ground.path().join("wick.toml")).expect("the settings");
    let (_, settings) = settings.split_once("listen_tls = \"127.0.0.1:0\"\n").expect("settings");
    let running = ground.serve(settings);
    let visitor = Visitor::new(running.tls, "a.wick.test", &root);
    assert!(visitor.is_ok(), "{:?}", visitor.err());
    let output = running.stop().output;
    assert!(!output.contains("no certificate for"), "{output}");
}

#[test]
fn a_name_is_proved_by_tls_where_nothing_else_is_served() {
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    let settings = format!("{}{}", pebble.settings(), site(&ground, "\"c.wick.test\""));
    let mut running = ground.serve_tls(&settings);
    pebble.start(1, running.tls.port(), LONG);
    running.wick.line("has issued a certificate for c.wick.test");
    let visitor = Visitor::new(running.tls, "c.wick.test", &pebble.root());
    assert!(visitor.is_ok(), "{:?}: {}", visitor.err(), pebble.log());
    running.stop();
}

#[test]
fn a_certificate_is_renewed_before_it_ends_and_connections_stay() {
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    let settings = format!("{}{}", pebble.settings(), site(&ground, "\"d.wick.test\""));
    let mut running = ground.serve(&settings);
    pebble.start(running.plain().port(), 1, 15);
    running.wick.line("has issued");
    let root = pebble.root();
    let connect = || Visitor::new(running.tls, "d.wick.test", &root).ok();
    let mut early = connect().expect("a good certificate");
    let first = early.certificate();
    until("another certificate", || {
        connect().expect("never one that has ended").certificate() != first
    });
    assert_eq!(early.ask("GET /").1, b"page");
    running.stop();
}

#[test]
fn an_account_is_bound_to_one_that_the_owner_has_at_the_ca() {
    const KEY: &str = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    pebble.binding = Some(("kid-1", KEY));
    let site = site(&ground, "\"g.wick.test\"");
    let mut running = ground.serve(&format!("{}{site}", pebble.settings()));
    pebble.start(running.plain().port(), 1, LONG);
    running.wick.line("takes no account without one that you have there");
    let output = running.stop().output;
    assert!(output.contains("write acme_eab_key_id and acme_eab_hmac_key"), "{output}");
    pebble.stop();

    let bound = format!(
        "acme_eab_key_id = \"kid-1\"\nacme_eab_hmac_key = \"{KEY}\"\n{}",
        pebble.settings()
    );
    let mut running = ground.serve(&format!("{bound}{site}"));
    pebble.start(running.plain().port(), 1, LONG);
    running.wick.line("has issued a certificate for g.wick.test");
    let output = running.stop().output;
    assert!(!output.contains(KEY), "{output}");

    for (half, expected) in [
        ("acme_eab_key_id = \"kid-1\"\n", "acme_eab_key_id and acme_eab_hmac_key belong together"),
        ("acme_eab_hmac_key = \"not a key\"\n", "wick.toml:3:21: this is no key for an external"),
    ] {
        let ended = ground.run("serve", &format!("{half}{site}")).end();
        assert!(ended.output.contains(expected), "{}", ended.output);
        assert!(!ended.output.contains("not a key"), "{}", ended.output);
    }
}

#[test]
fn the_next_ca_is_asked_when_one_is_down() {
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    let list = format!("[\"https://127.0.0.1:1/dir\", \"{}\"]", pebble.directory());
    let settings = pebble.settings().replace(&format!("\"{}\"", pebble.directory()), &list);
    let mut running = ground.serve(&format!("{settings}{}", site(&ground, "\"e.wick.test\"")));
    pebble.start(running.plain().port(), 1, LONG);
    running.wick.line("no certificate for e.wick.test from 127.0.0.1:1: can't connect");
    running.wick.line("has issued a certificate for e.wick.test");
    running.stop();
}

#[test]
fn a_proof_that_the_ca_does_not_see_is_told_and_not_tried_again_at_once() {
    let ground = Ground::new();
    let Some(mut pebble) = Pebble::new(ground.path()) else { return };
    pebble.start(1, 1, LONG);
    let settings = format!("{}{}", pebble.settings(), site(&ground, "\"f.wick.test\""));
    let mut running = ground.serve(&settings);
    let line = running.wick.line("no certificate for f.wick.test from");
    assert!(line.contains("refused") && line.contains(".well-known/acme-challenge"), "{line}");
    let line = running.wick.line("is asked for again in");
    let seconds = line.trim_end_matches(" s").rsplit(' ').next().and_then(|n| n.parse().ok());
    assert!(seconds.is_some_and(|n: u64| n >= 30), "a CA counts what it refuses: {line}");
    assert_eq!(body(&ask(running.plain(), "GET /\nHost: f.wick.test")), "page");
    running.stop();
}
