//! Who is whom, and what is kept of them: by force.

use base::Clock;
use origin::{FilesOrigin, Origin};
use policy::purge::Mode;
use wire::Fields;

use super::*;
use crate::{Server, ServerConfig, SiteConfig};

const ANN: &str = "cookie: sid=ann-0123456789abcdef\nuser-agent: fox\naccept-language: de";

fn server(memory_bytes: u64) -> (Arc<Server>, Arc<Site>) {
    let site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    let config = ServerConfig { sites: vec![site], memory_bytes, ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    let site = server.sites.load().only().expect("there is one").clone();
    (server, site)
}

fn owner(site: &Site, fields: &str, host: &str, address: [u8; 4]) -> Option<Owner> {
    let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
    let head = RequestHead { fields, host: host.to_owned(), ..RequestHead::default() };
    let peer = (address, 50_000).into();
    Owner::of(site, &head, Peers::new(peer, peer, "https"))
}

fn key(target: &str) -> Key<'_> {
    Key { hash: pipeline::hash(target.as_bytes()), text: target.as_bytes() }
}

fn leave(site: &Site, fields: &str) -> Leave {
    let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
    let answer = ResponseHead { status: 200, fields };
    Leave::of(&answer, "a.test", site.generations.moment()).expect("leave to keep it")
}

/// Keeps a part of ann's for a minute.
fn keep(server: &Server, site: &Site, owner: &Owner, target: &str, body: &str) -> bool {
    let leave = leave(site, "cache-control: private, max-age=60\nxkey: cart");
    let body = Bytes::copy_from_slice(body.as_bytes());
    let (parts, key) = (&server.private_parts, key(target));
    parts.keep(&server.store, site, owner, target, &key, &body, leave, 60, 0)
}

fn find(server: &Server, site: &Site, owner: &Owner, target: &str, ticks_ms: u64) -> bool {
    server.private_parts.find(site, owner, target, &key(target), ticks_ms).is_some()
}

#[test]
fn who_differs_in_anything_that_an_app_could_know_them_by_is_somebody_else() {
    let (server, site) = server(64 << 20);
    let here = [192, 0, 2, 1];
    let ann = owner(&site, ANN, "a.test", here).expect("she has a session");
    keep(&server, &site, &ann, "/cart", "ann's");
    let same = owner(&site, ANN, "a.test", here).expect("the same");
    assert!(find(&server, &site, &same, "/cart", 0));
    assert!(!find(&server, &site, &same, "/car", 0) && !find(&server, &site, &same, "/cart2", 0));
    for (fields, host, address) in [
        (ANN.replace("ann", "bob"), "a.test", here),
        (ANN.replace("ann", "anN"), "a.test", here),
        (ANN.replace("abcdef", "abcdef; x=1"), "a.test", here),
        (ANN.replace("cookie: ", "cookie: x=1\ncookie: "), "a.test", here),
        (ANN.replace("fox", "cat"), "a.test", here),
        (ANN.replace("de", "de, en"), "a.test", here),
        (ANN.replace("\naccept-language: de", ""), "a.test", here),
        (format!("{ANN}\nauthorization: Basic x"), "a.test", here),
        (ANN.to_owned(), "b.test", here),
        (ANN.to_owned(), "a.test", [192, 0, 2, 2]),
    ] {
        let other = owner(&site, &fields, host, address).expect("somebody");
        assert_ne!(other, ann);
        assert!(!find(&server, &site, &other, "/cart", 0), "{fields} {host} {address:?}");
    }
}

#[test]
fn no_two_lists_of_fields_are_one_owner() {
    let (_server, site) = server(1 << 20);
    // What stands on the border of two fields could be part of either.
    let mut seen = Vec::new();
    for fields in [
        "cookie: sid=0123456789abcdef\nuser-agent: x",
        "cookie: sid=0123456789abcdefx",
        "cookie: sid=0123456789abcdef\naccept-language: x",
        "cookie: sid=0123456789abcdef\ncookie: x",
        "authorization: sid=0123456789abcdef\nuser-agent: x",
        "authorization: sid=0123456789abcdef\ncookie: x",
    ] {
        let owner = owner(&site, fields, "a.test", [192, 0, 2, 1]).expect("somebody");
        assert!(!seen.contains(&owner), "{fields}");
        seen.push(owner);
    }
}

#[test]
fn who_shows_nothing_that_names_a_session_is_nobody() {
    let (_server, site) = server(1 << 20);
    for (fields, is_somebody) in [
        ("", false),
        ("user-agent: x", false),
        ("cookie: theme=dark", false),
        ("cookie: theme=dark; lang=de; size=1024", false),
        ("cookie: _ga=GA1.2.1234567890.1234567890", false),
        ("cookie: sid=0123456789abcdef", true),
        ("authorization: Basic x", true),
    ] {
        let owner = owner(&site, fields, "a.test", [192, 0, 2, 1]);
        assert_eq!(owner.is_some(), is_somebody, "{fields}");
    }
}

#[test]
fn what_is_kept_ends_with_its_time_a_write_and_a_purge() {
    let (server, site) = server(64 << 20);
    let ann = owner(&site, ANN, "a.test", [192, 0, 2, 1]).expect("a session");
    keep(&server, &site, &ann, "/a", "1");
    assert!(find(&server, &site, &ann, "/a", 59_999));
    assert!(!find(&server, &site, &ann, "/a", 60_000));
    keep(&server, &site, &ann, "/a", "1");
    server.private_parts.forget(&ann.near);
    assert!(!find(&server, &site, &ann, "/a", 0));
    keep(&server, &site, &ann, "/a", "1");
    site.generations.purge_all(Mode::Hard);
    assert!(!find(&server, &site, &ann, "/a", 0));
    // What was asked for before a write isn't kept behind it.
    let leave = leave(&site, "cache-control: private, max-age=60");
    site.generations.note_write();
    let (parts, body) = (&server.private_parts, Bytes::from_static(b"old"));
    parts.keep(&server.store, &site, &ann, "/a", &key("/a"), &body, leave, 60, 0);
    assert!(!find(&server, &site, &ann, "/a", 0));
}

#[test]
fn no_leave_is_taken_where_none_is_given() {
    let began = Moment::default();
    for (status, fields, expected) in [
        (200, "cache-control: private, max-age=60", Some(Some(60))),
        (200, "cache-control: no-store", Some(None)),
        (200, "vary: Cookie, accept-encoding\ncache-control: private, max-age=5", Some(Some(5))),
        (200, "vary: X-Plan\ncache-control: private, max-age=5", None),
        (200, "vary: *\ncache-control: private, max-age=5", None),
        (200, "set-cookie: a=b\ncache-control: private, max-age=5", None),
        (200, "content-encoding: gzip\ncache-control: private, max-age=5", None),
        (404, "cache-control: private, max-age=5", None),
    ] {
        let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
        let leave = Leave::of(&ResponseHead { status, fields: fields.clone() }, "a.test", began);
        assert_eq!(leave.map(|leave| leave.seconds), expected, "{fields:?}");
    }
}

#[test]
fn what_is_kept_has_its_share_and_no_more_and_is_given_back() {
    let (server, site) = server(16 << 20);
    let share = server.store.limit() / SHARE;
    let body = "x".repeat(4_000);
    for number in 0..5_000_u32 {
        let fields = format!("cookie: sid={number:016}");
        let address = [10, 0, (number >> 8) as u8, number as u8];
        let owner = owner(&site, &fields, "a.test", address).expect("a session");
        keep(&server, &site, &owner, "/a", &body);
        assert!(server.store.reserved() <= share, "{} at {number}", server.store.reserved());
    }
    assert!(server.store.reserved() > share / 4, "{}", server.store.reserved());
    let ann = owner(&site, ANN, "a.test", [192, 0, 2, 1]).expect("a session");
    assert!(!keep(&server, &site, &ann, "/large", &"x".repeat(PART_BYTES_MAX + 1)));
    assert!(!find(&server, &site, &ann, "/large", 0));
    for _ in 0..2 {
        for shard in &server.private_parts.shards {
            drop(shard.lock().grow_old());
        }
    }
    assert_eq!(server.store.reserved(), 0);
}

#[test]
fn threads_that_keep_find_and_forget_at_once_see_their_own_only() {
    let (server, site) = server(8 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (server, site) = (&server, &site);
            scope.spawn(move || {
                for round in 0..400_u32 {
                    // All from one address, so that all lie beside each other.
                    let name = format!("{thread}-{}", round % 5);
                    let fields = format!("cookie: sid={name}-0123456789abcdef");
                    let owner = owner(site, &fields, "a.test", [192, 0, 2, 1]).expect("a session");
                    keep(server, site, &owner, "/a", &name);
                    let found = server.private_parts.find(site, &owner, "/a", &key("/a"), 0);
                    assert!(found.is_none_or(|body| body == name.as_bytes()));
                    if round % 50 == 0 {
                        server.private_parts.forget(&owner.near);
                    }
                }
            });
        }
    });
}
