//! What apps are given, and what they are not, whatever they show and ask.

use std::sync::Arc;

use base::Clock;
use origin::{FilesOrigin, Origin};
use serde_json::{Value, json};

use super::*;
use crate::{ServerConfig, SiteConfig};

const KEYS: [&str; 2] = ["11111111111111111111111111111111", "22222222222222222222222222222222"];

/// Two sites, `a.test` and `b.test`.
fn server(app_memory_bytes: u64) -> Arc<Server> {
    let sites = ["a.test", "b.test"].into_iter().zip(KEYS).map(|(host, key)| {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        (site.name, site.hosts) = (host.to_owned(), vec![host.to_owned()]);
        site.app_key = AppKey::new(key);
        site
    });
    let config =
        ServerConfig { sites: sites.collect(), app_memory_bytes, ..ServerConfig::default() };
    Server::new(config, Clock::manual(0))
}

fn help(server: &Server, site: usize, path: &str, asked: &Value) -> (u16, Value) {
    let Help { status, body } =
        server.help(KEYS[site].as_bytes(), path, asked.to_string().as_bytes());
    (status, serde_json::from_str(&body).expect("an answer is JSON"))
}

/// The version of a namespace, as its site is told.
fn version(server: &Server, site: usize, name: &str) -> String {
    let (_, told) = help(server, site, "/1/objects", &json!({ "get": [[name, ""]] }));
    told["versions"][name].as_str().expect("a version").to_owned()
}

fn set(server: &Server, site: usize, value: &str, version: &str) {
    let set = json!({ "set": [["n", "k", version, value, 60]] });
    assert_eq!(help(server, site, "/1/objects", &set).0, 200);
}

fn get(server: &Server, site: usize) -> Value {
    help(server, site, "/1/objects", &json!({ "get": [["n", "k"]] })).1["got"][0].clone()
}

#[test]
fn nobody_is_helped_without_a_key() {
    let server = server(1 << 20);
    for key in ["", "1", "11111111111111111111111111111112", &KEYS.concat()] {
        assert_eq!(
            server.help(key.as_bytes(), "/1/purge", br#"{"all":true}"#).status,
            401,
            "{key}"
        );
    }
    assert_eq!((server.counters.purges.read(), server.counters.app_refused.read()), (0, 4));
    assert!(AppKey::new("short").is_none());
}

#[test]
fn a_site_gets_nothing_of_another() {
    let server = server(1 << 20);
    set(&server, 0, "a's", &version(&server, 0, "n"));
    assert_eq!((get(&server, 0), get(&server, 1)), (json!("a's"), Value::Null));
    // Whatever it says: no version, name or key leads there.
    for name in ["n", "a.test\0n", "../a.test/n"] {
        let asked = json!({ "get": [[name, "k"]], "bump": [name] });
        let (status, told) = help(&server, 1, "/1/objects", &asked);
        assert!(status == 400 || told["got"][0].is_null(), "{told}");
    }
    assert_eq!(get(&server, 0), json!("a's"), "nor did it bump it");
    let purge = json!({ "urls": ["http://a.test/"] });
    assert_eq!(help(&server, 1, "/1/purge", &purge).0, 400);
    assert_eq!(help(&server, 0, "/1/purge", &purge).0, 200);
}

#[test]
fn what_was_made_before_a_bump_is_never_found_after_it() {
    let server = server(1 << 20);
    let before = version(&server, 0, "n");
    assert_eq!(help(&server, 0, "/1/objects", &json!({ "bump": ["n"] })).0, 200);
    set(&server, 0, "old", &before);
    assert_eq!(get(&server, 0), Value::Null);
    set(&server, 0, "new", &version(&server, 0, "n"));
    assert_eq!(get(&server, 0), json!("new"));
    set(&server, 0, "newer", &version(&server, 0, "n"));
    assert_eq!(get(&server, 0), json!("newer"));
}

#[test]
fn a_value_lives_for_its_seconds() {
    let server = server(1 << 20);
    set(&server, 0, "v", &version(&server, 0, "n"));
    server.clock.advance_ms(59_999);
    assert_eq!(get(&server, 0), json!("v"));
    server.clock.advance_ms(1);
    assert_eq!(get(&server, 0), Value::Null);
}

#[test]
fn what_is_kept_stays_within_the_owners_figure_and_is_taken_from_the_pages() {
    const MEMORY: usize = 256 << 10;
    let server = server(MEMORY as u64);
    for number in 0..2000 {
        let value = "x".repeat(number % 3000);
        let asked =
            json!({ "set": [["n", number.to_string(), version(&server, 0, "n"), value, 60]] });
        assert_eq!(help(&server, 0, "/1/objects", &asked).0, 200);
        let texts = json!({ "dialect": "phpbb3", "texts": [value] });
        assert_eq!(help(&server, 0, "/1/render", &texts).0, 200);
        let used = server.app.things.used();
        assert!(used <= MEMORY, "{used}");
        assert!(server.store.reserved() >= used, "{} of {used}", server.store.reserved());
    }
    assert!(server.app.things.len() > 20);
}

#[test]
fn what_cant_be_done_is_told_with_what_to_do() {
    let server = server(1 << 20);
    let long = "k".repeat(NAME_BYTES_MAX + 1);
    let large = "v".repeat(VALUE_BYTES_MAX + 1);
    let many: Vec<_> = (0..=KEYS_MAX).map(|_| json!(["n", "k"])).collect();
    for (path, asked, status, words) in [
        ("/1/render", json!({ "dialect": "x", "texts": [] }), 400, "there are mybb, phpbb2"),
        ("/1/render", json!({ "dialect": "site", "texts": [] }), 400, "wick.toml"),
        ("/1/render", json!({ "texts": [] }), 400, "missing field `dialect`"),
        ("/1/render", json!({ "dialect": "smf", "text": [] }), 400, "unknown field `text`"),
        ("/1/objects", json!({ "get": [["n", long]] }), 400, "hash it"),
        ("/1/objects", json!({ "get": [["n", "a\0b"]] }), 400, "hash it"),
        ("/1/objects", json!({ "set": [["n", "k", "1", large, 1]] }), 400, "keep it in parts"),
        ("/1/objects", json!({ "get": many }), 400, "send 1000 at a time"),
        ("/1/purge", json!({}), 400, "name urls, tags or all"),
        ("/1/purge", json!({ "urls": ["/x"] }), 400, "send a whole one"),
        ("/2/purge", json!({ "all": true }), 404, "/1/purge"),
    ] {
        let (own, told) = help(&server, 0, path, &asked);
        let why = told["error"].as_str().unwrap_or_default();
        assert!(own == status && why.contains(words), "{path}: {own} {why}");
    }
    assert_eq!(server.help(KEYS[0].as_bytes(), "/1/render", b"{").status, 400);
}
