//! A folder of plain files: what is served, and what never is.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::wick::{Wick, ask, body, open_folder};

/// The status line's number, the named fields and the body, as one line.
fn shown(address: SocketAddr, request: &str, fields: &[&str]) -> String {
    let answer = ask(address, request);
    let status = answer.get(9..12).unwrap_or("none");
    let mut line = status.to_owned();
    for field in fields {
        let value = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case(field).then(|| value.trim().to_owned())
        });
        line.push_str(&format!(" {field}={}", value.unwrap_or_else(|| "-".into())));
    }
    if status.starts_with('2') && !body(&answer).is_empty() {
        line.push_str(&format!(" {:?}", body(&answer)));
    }
    line
}

/// Lays out a small site in `outer`, with files that must not be served in it and beside it.
fn lay_out(outer: &Path) -> PathBuf {
    let root = outer.join("site");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    fs::create_dir(&root).expect("a folder");
    fs::write(outer.join("secret.txt"), "secret").expect("a file");
    for (name, text) in [
        ("index.html", "<p>home</p>"),
        ("a.txt", "0123456789"),
        ("style.css", "p{}"),
        ("with space.txt", "s"),
        ("full/index.html", "<p>full</p>"),
        ("list/hidden.txt", "h"),
        (".env", "secret"),
        (".git/config", "secret"),
        ("list/.htpasswd", "secret"),
        (".well-known/x", "known"),
    ] {
        write(name, text);
    }
    root
}

#[test]
fn files_are_served_with_type_range_and_conditions_and_nothing_else_is() {
    let outer = open_folder();
    let root = lay_out(outer.path());
    let (wick, address) = Wick::serve(&[&root.display().to_string()]);
    let tag = ask(address, "GET /a.txt");
    let field = |name: &str| {
        let found = tag.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.expect("a validator").trim().to_owned()
    };
    let (etag, modified) = (field("etag"), field("last-modified"));
    for (request, fields, expected) in [
        ("GET /", &["content-type"][..], "200 content-type=text/html \"<p>home</p>\""),
        (
            "GET /a.txt",
            &["content-type", "accept-ranges"],
            "200 content-type=text/plain accept-ranges=bytes \"0123456789\"",
        ),
        ("GET /style.css", &["content-type"], "200 content-type=text/css \"p{}\""),
        ("GET /with%20space.txt", &[], "200 \"s\""),
        ("GET /.well-known/x", &[], "200 \"known\""),
        ("HEAD /a.txt", &["content-length"], "200 content-length=10"),
        (
            &format!("GET /a.txt\nIf-None-Match: {etag}"),
            &["content-length"],
            "304 content-length=-",
        ),
        (&format!("GET /a.txt\nIf-Modified-Since: {modified}"), &[], "304"),
        ("GET /a.txt\nIf-None-Match: \"other\"", &[], "200 \"0123456789\""),
        (
            "GET /a.txt\nRange: bytes=2-4",
            &["content-range"],
            "206 content-range=bytes 2-4/10 \"234\"",
        ),
        (
            "GET /a.txt\nRange: bytes=-3",
            &["content-range"],
            "206 content-range=bytes 7-9/10 \"789\"",
        ),
        ("GET /a.txt\nRange: bytes=10-", &["content-range"], "416 content-range=bytes */10"),
        ("GET /full", &["location"], "301 location=/full/"),
        ("GET /full/?a=1", &[], "200 \"<p>full</p>\""),
        ("GET /list/", &[], "404"),
        ("GET /none", &[], "404"),
        ("GET /.env", &[], "403"),
        ("GET /%2eenv", &[], "403"),
        ("GET /.git/config", &[], "403"),
        ("GET /list/.htpasswd", &[], "403"),
        ("GET /../secret.txt", &[], "403"),
        ("GET /%2e%2e/secret.txt", &[], "403"),
        ("GET /list/..%2f..%2fsecret.txt", &[], "403"),
        ("GET /list/%2e%2e%5c%2e%2e%5csecret.txt", &[], "403"),
        ("GET /a.txt%00.html", &[], "400"),
        ("POST /a.txt\nContent-Length: 0", &["allow"], "405 allow=GET, HEAD"),
        ("DELETE /a.txt", &["allow"], "405 allow=GET, HEAD"),
    ] {
        let seen = shown(address, request, fields);
        let seen = seen.replace("; charset=utf-8", "");
        assert_eq!(seen, expected, "{request}");
    }
    assert!(root.join("a.txt").exists());
    wick.stop();
}
