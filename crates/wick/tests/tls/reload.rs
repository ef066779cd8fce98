//! A certificate that changes while it is served.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::authority::Authority;
use crate::running::Ground;
use crate::visitor::Visitor;
use crate::wick::until;

pub(crate) fn make_private(key: &Path) {
    fs::set_permissions(key, Permissions::from_mode(0o600)).expect("it is ours");
}

#[test]
fn a_new_certificate_is_shown_while_open_connections_stay_and_a_broken_one_is_not() {
    let ground = Ground::new();
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "a", &["one.test"]);
    let site = ground.site("one", "page");
    let settings = format!("[[site]]\nhosts = [\"one.test\"]\norigin = {site:?}\n");
    let mut running = ground.serve(&format!("{settings}{}", pair.settings()));
    let tls = running.tls;
    let connect = || Visitor::new(tls, "one.test", &ca.file).expect("a connection");
    let mut early = connect();
    assert_eq!(early.ask("GET /").1, b"page");
    let first = early.certificate();

    pair.write(&ca.issue(&["one.test"]));
    running.wick.line("was read again, good until");
    let mut second = Vec::new();
    until("another certificate", || {
        second = connect().certificate();
        second != first
    });
    assert_eq!(early.ask("GET /").1, b"page", "the old connection goes on");

    fs::write(&pair.chain, "-----BEGIN CERTIFICATE-----\nbroken").expect("it is written");
    let line = running.wick.line("the certificate stays as it was");
    assert!(line.contains("a.pem"), "{line}");
    assert_eq!(connect().certificate(), second);

    // The same when the settings are read again: nothing changes.
    running.wick.signal(rustix::process::Signal::HUP);
    running.wick.line("the settings stay as they were");
    assert_eq!(connect().certificate(), second);

    pair.write(&ca.issue(&["one.test"]));
    running.wick.line("was read again, good until");
    until("a third certificate", || connect().certificate() != second);
    assert_eq!(early.ask("GET /").1, b"page", "the oldest connection goes on");

    // Other settings bring other files.
    let other = ca.pair(ground.path(), "b", &["one.test", "two.test"]);
    let settings = fs::read_to_string(ground.path().join("wick.toml")).expect("the settings");
    let settings = settings.replace("a.pem", "b.pem").replace("a.key", "b.key");
    let settings = settings.replace("[\"one.test\"]", "[\"one.test\", \"two.test\"]");
    fs::write(ground.path().join("wick.toml"), settings).expect("the settings are written");
    running.wick.signal(rustix::process::Signal::HUP);
    until("the certificate of the new settings", || {
        Visitor::new(tls, "two.test", &ca.file).is_ok()
    });
    let _ = other;
    assert_eq!(early.ask("GET /").1, b"page", "the oldest connection goes on");
    running.stop();
}
