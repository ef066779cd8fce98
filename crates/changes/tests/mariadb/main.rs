//! Feeds of a real MariaDB: every write of a list is seen, in every way to log it.
//!
//! A write is known to have been told when the feed tells the commit that the server
//! gave it, so that nothing waits for a clock; [`hearing::WAIT`] is only how long a feed that
//! says nothing is listened to before the test gives up.

#[path = "../shared/daemon.rs"]
mod daemon;
#[path = "../shared/hearing.rs"]
mod hearing;
#[path = "../shared/logged.rs"]
mod logged;
mod polled;
mod server;
mod trouble;
#[path = "../shared/writes.rs"]
mod writes;

use changes::{Event, Feed, Gtid, Place};
use hearing::until;
use logged::following;
use server::{PASSWORD, Server};
use writes::{TABLES, WRITES, Write};

const BINLOG: &[&str] = &["--log-bin=log", "--server-id=1"];

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
            Event::Change(change) => Some(change.to_string()),
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
