//! Feeds of a real MariaDB: every write of a list is seen, in every way to log it.
//!
//! A write is known to have been told when the feed tells the commit that the server
//! gave it, so that nothing waits for a clock; [`WAIT`] is only how long a feed that
//! says nothing is listened to before the test gives up.

#[path = "../shared/daemon.rs"]
mod daemon;
#[path = "../shared/hearing.rs"]
mod hearing;
mod server;
mod trouble;

use changes::{Address, Event, Feed, Gtid, Place};
use hearing::{WAIT, show, until};
use server::{PASSWORD, Server};

const BINLOG: &[&str] = &["--log-bin=log", "--server-id=1"];

/// Tables of every shape: a key with text, one without, one of several columns.
const TABLES: &str = "USE site; \
    CREATE TABLE options (id BIGINT AUTO_INCREMENT PRIMARY KEY, option_name VARCHAR(191) NOT NULL UNIQUE, \
        option_value LONGTEXT, at DATETIME(3) NULL, price DECIMAL(12,4) NULL, kind ENUM('a','b') NULL, \
        flags SET('x','y') NULL, bits BIT(11) NULL, rate DOUBLE NULL, day DATE NULL, short CHAR(200) NULL); \
    CREATE TABLE posts (id INT AUTO_INCREMENT PRIMARY KEY, title TEXT, views INT DEFAULT 0); \
    CREATE TABLE settings (member INT, name CHAR(30), value TEXT, PRIMARY KEY (member, name)) ENGINE=MyISAM;";

/// Writes, and what is told of them with names, without, and from statements.
struct Write {
    statement: &'static str,
    by_row: &'static [&'static str],
    by_statement: &'static [&'static str],
}

const fn write(
    statement: &'static str,
    by_row: &'static [&'static str],
    by_statement: &'static [&'static str],
) -> Write {
    Write { statement, by_row, by_statement }
}

const WRITES: &[Write] = &[
    write(
        "INSERT INTO options (option_name, option_value, at, price, kind, flags, bits, rate, day, short) VALUES \
         ('blogname', 'A', '2026-01-02 03:04:05.678', 1.5, 'b', 'x,y', 5, 0.25, '2026-01-02', 's'), \
         ('_transient_5f8a1c', REPEAT('long', 2000), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        &["Insert options  _transient_#", "Insert options  blogname"],
        &["Insert options  _transient_#", "Insert options  blogname"],
    ),
    write(
        "UPDATE options SET option_value = 'B', rate = 2 WHERE option_name = 'blogname'",
        &["Update options option_value+rate blogname"],
        &["Update options option_value+rate blogname"],
    ),
    write(
        "INSERT INTO options (option_name, option_value) VALUES ('blogname', 'C') \
         ON DUPLICATE KEY UPDATE option_value = VALUES(option_value)",
        &["Update options option_value blogname"],
        &[],
    ),
    write(
        "INSERT INTO posts (title) VALUES ('One'), ('Two')",
        &["Insert posts  -"],
        &["Insert posts  -"],
    ),
    write(
        "UPDATE posts SET views = views + 1",
        &["Update posts views -"],
        &["Update posts views -"],
    ),
    write(
        "UPDATE posts p JOIN options o SET p.title = o.option_value WHERE o.option_name = 'blogname'",
        &["Update posts title -"],
        // Its outcome may depend on an order, so its rows are logged.
        &["Update posts 1 -"],
    ),
    write(
        "INSERT INTO settings VALUES (7, 'theme', 'dark')",
        &["Insert settings  #,theme"],
        &["Insert settings  #,theme"],
    ),
    write(
        "UPDATE settings SET value = 'light' WHERE member = 7 AND name = 'theme'",
        &["Update settings value #,theme"],
        &["Update settings value #,theme"],
    ),
    write(
        "DELETE FROM settings WHERE name = 'theme'",
        &["Delete settings  #,theme"],
        &["Delete settings  ?"],
    ),
    write("DELETE FROM posts", &["Delete posts  -"], &["Delete posts  -"]),
    write("TRUNCATE options", &["Other options  ?"], &["Other options  ?"]),
    write("ALTER TABLE posts ADD COLUMN likes INT", &["Schema   ?"], &["Schema   ?"]),
    write(
        "INSERT INTO posts (title, likes) VALUES ('x', 1)",
        &["Insert posts  -"],
        &["Insert posts  -"],
    ),
    write("UPDATE posts SET likes = 2", &["Update posts likes -"], &["Update posts likes -"]),
    write("CREATE DATABASE other", &["Schema   ?"], &["Schema   ?"]),
];

async fn next(feed: &mut Feed) -> Event {
    tokio::time::timeout(WAIT, feed.next()).await.expect("the feed says something")
}

/// A feed that follows.
async fn following(address: Address) -> Feed {
    let mut feed = Feed::binlog(address);
    until(&mut feed, |event| *event == Event::Recovered).await;
    feed
}

/// What the feed tells of `statements`, up to the commit that the server gave them.
async fn told(server: &Server, feed: &mut Feed, statements: &str) -> Vec<String> {
    let place = server.ask(&format!("USE site; {statements}; SELECT @@last_gtid;"));
    let place = Gtid::list(place.lines().last().unwrap_or_default()).expect("a place");
    assert_eq!(place.len(), 1, "{statements} left no trace in the log");
    let heard = until(feed, |event| match event {
        Event::Commit(Some(Place::Gtid(at))) => {
            at.domain == place[0].domain && at.sequence >= place[0].sequence
        }
        _ => false,
    });
    let changes = heard.await;
    changes
        .iter()
        .filter_map(|event| match event {
            Event::Change(change) => Some(show(change)),
            _ => None,
        })
        .collect()
}

async fn check(server: &Server, expected: impl Fn(&Write) -> Vec<String>) {
    let mut feed = following(server.address("wick", PASSWORD)).await;
    for write in WRITES {
        let told = told(server, &mut feed, write.statement).await;
        assert_eq!(told, expected(write), "{}", write.statement);
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[tokio::test]
async fn every_write_is_seen_by_rows_with_names() {
    let settings = [BINLOG, &["--binlog-format=ROW", "--binlog-row-metadata=FULL"]].concat();
    let Some(server) = Server::start(&settings) else { return };
    server.ask(TABLES);
    check(&server, |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_by_compressed_rows() {
    let compressed = ["--log-bin-compress=ON", "--log-bin-compress-min-len=10"];
    let settings = ["--binlog-format=ROW", "--binlog-row-metadata=FULL", "--binlog-checksum=NONE"];
    let Some(server) = Server::start(&[BINLOG, &compressed, &settings].concat()) else { return };
    server.ask(TABLES);
    check(&server, |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_by_statements() {
    let compressed = ["--log-bin-compress=ON", "--log-bin-compress-min-len=100"];
    for settings in [&[][..], &compressed] {
        let settings = [BINLOG, &["--binlog-format=MIXED"], settings].concat();
        let Some(server) = Server::start(&settings) else { return };
        server.ask(TABLES);
        check(&server, |write| {
            if write.by_statement.is_empty() {
                // An insert that may become an update is logged by its rows, or as both.
                return lines(&["Update options 2 blogname"]);
            }
            lines(write.by_statement)
        })
        .await;
    }
}
