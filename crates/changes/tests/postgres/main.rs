//! Feeds of a real PostgreSQL: every write is seen, and none is refused because of us.
//!
//! A write is known to have been told when the feed tells the place in the log where the
//! server was after it, so that nothing waits for a clock; [`WAIT`] is only how long a feed
//! that says nothing is listened to before the test gives up.

#[path = "../shared/daemon.rs"]
mod daemon;
#[path = "../shared/hearing.rs"]
mod hearing;
mod rungs;
mod server;
mod tables;
mod trouble;

use changes::{Address, Event, Feed, Place};
use hearing::{WAIT, until};
use server::{LOGICAL, Server};

/// Tables of every shape: a key with text, one without, one of several columns; one that
/// tells all of its old rows, and one in another schema.
const TABLES: &str = "\
    CREATE TABLE options (id SERIAL PRIMARY KEY, option_name TEXT NOT NULL UNIQUE, option_value TEXT, \
        at TIMESTAMPTZ, price NUMERIC(12,4), bits BYTEA, document JSONB); \
    CREATE TABLE posts (id SERIAL PRIMARY KEY, title TEXT, views INT DEFAULT 0); \
    CREATE TABLE settings (member INT, name VARCHAR(30), value TEXT, PRIMARY KEY (member, name)); \
    CREATE TABLE told (id INT, name TEXT UNIQUE, value TEXT); ALTER TABLE told REPLICA IDENTITY FULL; \
    CREATE SCHEMA other; CREATE TABLE other.posts (id INT PRIMARY KEY, title TEXT);";

/// Statements, and what is told of them.
const WRITES: &[(&str, &[&str])] = &[
    (
        "INSERT INTO options (option_name, option_value, at, price, bits, document) VALUES \
         ('blogname', 'A', '2026-01-02 03:04:05.678', 1.5, '\\x00ff', '{\"a\": 1}'), \
         ('_transient_5f8a1c', repeat('long', 2000), NULL, NULL, NULL, NULL)",
        &["Insert options  blogname", "Insert options  _transient_#"],
    ),
    (
        "UPDATE options SET option_value = 'B', price = 2 WHERE option_name = 'blogname'",
        &["Update options option_value+price blogname"],
    ),
    (
        "INSERT INTO options (option_name, option_value) VALUES ('blogname', 'C') \
         ON CONFLICT (option_name) DO UPDATE SET option_value = excluded.option_value",
        &["Update options option_value blogname"],
    ),
    // It becomes what it was.
    ("UPDATE options SET option_value = 'C' WHERE option_name = 'blogname'", &[]),
    (
        "UPDATE options SET option_name = 'title' WHERE option_name = 'blogname'",
        &["Update options option_name blogname→title"],
    ),
    ("INSERT INTO posts (title) VALUES ('One'), ('Two')", &["Insert posts  -"]),
    ("UPDATE posts SET views = views + 1", &["Update posts views -"]),
    ("UPDATE posts SET title = title || '!' WHERE id = 1", &["Update posts title -"]),
    ("INSERT INTO settings VALUES (7, 'theme', 'dark')", &["Insert settings  #,theme"]),
    ("UPDATE settings SET value = 'light'", &["Update settings value #,theme"]),
    ("DELETE FROM settings", &["Delete settings  #,theme"]),
    ("INSERT INTO told VALUES (1, 'a', 'x')", &["Insert told  a"]),
    ("UPDATE told SET value = 'y'", &["Update told value a"]),
    ("DELETE FROM told", &["Delete told  a"]),
    ("INSERT INTO other.posts VALUES (1, 'x')", &["Insert other.posts  -"]),
    ("DELETE FROM posts WHERE id = 2", &["Delete posts  -"]),
    ("TRUNCATE posts, other.posts", &["Other posts  ?", "Other other.posts  ?"]),
    ("BEGIN; INSERT INTO posts (title) VALUES ('x'); ROLLBACK", &[]),
    (
        "BEGIN; INSERT INTO posts (title) VALUES ('x'); SAVEPOINT a; DELETE FROM options; \
         ROLLBACK TO a; COMMIT",
        &["Insert posts  -"],
    ),
    ("CREATE TEMPORARY TABLE t (id INT); INSERT INTO t VALUES (1)", &[]),
];

async fn next(feed: &mut Feed) -> Event {
    tokio::time::timeout(WAIT, feed.next()).await.expect("the feed says something")
}

/// A feed that follows.
async fn following(address: Address) -> Feed {
    let mut feed = Feed::postgres(address);
    until(&mut feed, |event| *event == Event::Recovered).await;
    feed
}

/// Waits for a change that is shown like this.
async fn until_shown(feed: &mut Feed, expected: &str) {
    until(feed, |event| matches!(event, Event::Change(change) if change.to_string() == expected))
        .await;
}

fn shown(events: &[Event]) -> Vec<String> {
    let change = |event: &Event| match event {
        Event::Change(change) => Some(change.to_string()),
        _ => None,
    };
    events.iter().filter_map(change).collect()
}

/// What the feed tells of `statements`, up to the place where the log ends after them.
async fn told(server: &Server, feed: &mut Feed, statements: &str) -> Vec<String> {
    let end = server.ask(&format!("{statements}; SELECT pg_current_wal_flush_lsn() - '0/0';"));
    let end: u64 = end.lines().last().unwrap_or_default().parse().expect("a place");
    let is_it = |event: &Event| matches!(event, Event::Commit(Some(Place::Lsn(at))) if *at >= end);
    shown(&until(feed, is_it).await)
}

#[tokio::test]
async fn every_write_is_seen() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    for (statement, expected) in WRITES {
        assert_eq!(told(&server, &mut feed, statement).await, *expected, "{statement}");
    }
}
