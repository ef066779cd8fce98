//! `wick import`: settings to standard output, what was left to standard error, and
//! `wick check` is content with what came out.

use std::fs;
use std::net::TcpListener;

use crate::wick::{Wick, open_folder};

#[test]
fn what_is_imported_can_be_checked_and_what_was_left_is_told_beside_it() {
    let folder = open_folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(at("site")).expect("a folder");
    fs::write(at("site/index.html"), "hello").expect("a page");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    fs::create_dir(at("enabled")).expect("a folder");
    let server = format!(
        "server {{ listen {address}; server_name a.test; root {};\n  rewrite ^/a /b; }}",
        at("site")
    );
    fs::write(at("enabled/a"), server).expect("a server");
    fs::write(at("nginx.conf"), "http { include enabled/*; }").expect("settings");

    let imported = Wick::run(&["import", &at("nginx.conf")]).end();
    assert!(imported.status.success(), "{}", imported.errors);
    assert!(imported.output.contains(&format!("listen = [\"{address}\"]")), "{}", imported.output);
    assert!(imported.errors.contains("enabled/a:2: rewrite ^/a /b"), "{}", imported.errors);

    let (settings, state) = (at("wick.toml"), at("state"));
    let strict = ["import", &at("nginx.conf"), "--strict", "--output", &settings];
    assert_eq!(Wick::run(&strict).end().status.code(), Some(1));
    let written = fs::read_to_string(&settings).expect("it is written");
    assert_eq!(written.trim(), imported.output.trim());
    let checked = Wick::run(&["check", &settings, "--state", &state]).end();
    assert!(checked.output.contains("Everything is in order."), "{}", checked.output);

    fs::write(at("broken.conf"), "server {\n  root \"/x;\n}").expect("settings");
    let broken = Wick::run(&["import", &at("broken.conf")]).end();
    let expected = format!("wick: {}:2:8: this \" is never closed", at("broken.conf"));
    assert!(broken.errors.starts_with(&expected), "{}", broken.errors);
}
