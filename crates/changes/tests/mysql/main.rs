//! Feeds of a real MySQL 8: every write of a list is seen, in every way to log it.
//!
//! As with MariaDB, a write is known to have been told when the feed has told the log up
//! to where it ended after the write, so that nothing waits for a clock.

#[path = "../shared/daemon.rs"]
mod daemon;
#[path = "../shared/hearing.rs"]
mod hearing;
#[path = "../shared/logged.rs"]
mod logged;
mod server;
mod trouble;
#[path = "../shared/writes.rs"]
mod writes;

use std::cell::RefCell;

use changes::{Event, Feed, LogEnd, Progress};
use hearing::until;
use logged::following;
use server::{PASSWORD, Server};
use writes::{TABLES, WRITES, Write};

/// What tells most; MySQL keeps a log by itself.
const FULL: &[&str] = &["--binlog-row-metadata=FULL"];

/// What the feed tells of `statements`, up to where the log ends after them.
async fn told(server: &Server, feed: &mut Feed, statements: &str) -> Vec<String> {
    server.ask(&format!("USE site; {statements}")).await;
    let mut end = LogEnd::new(server.address("wick", PASSWORD));
    let end = end.read().await.expect("the log's end");
    let progress = RefCell::new(Progress::default());
    let heard = until(feed, |event| {
        if let Event::Commit(Some(place)) = event {
            progress.borrow_mut().tell(*place);
        }
        progress.borrow().has_reached(&end)
    });
    let heard = heard.await;
    let changes = heard.iter().filter_map(|event| match event {
        Event::Change(change) => Some(change.to_string()),
        _ => None,
    });
    changes.collect()
}

async fn check(settings: &[&str], expected: impl Fn(&Write) -> Vec<String>) {
    let Some(server) = Server::start(settings).await else { return };
    server.ask(TABLES).await;
    let mut feed = following(server.address("wick", PASSWORD)).await;
    for write in WRITES {
        let told = told(&server, &mut feed, write.statement).await;
        assert_eq!(told, expected(write), "{settings:?} {}", write.statement);
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[tokio::test]
async fn every_write_is_seen_by_rows_with_names() {
    check(FULL, |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_with_gtids_and_without_checksums() {
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-checksum=NONE"];
    check(&[FULL, &gtids].concat(), |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_in_compressed_transactions() {
    let packed = ["--binlog-transaction-compression=ON"];
    check(&[FULL, &packed].concat(), |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_in_compressed_transactions_without_checksums() {
    let packed = ["--binlog-transaction-compression=ON", "--binlog-checksum=NONE"];
    check(&[FULL, &packed].concat(), |write| lines(write.by_row)).await;
}

#[tokio::test]
async fn every_write_is_seen_by_statements() {
    check(&["--binlog-format=MIXED"], |write| {
        if write.by_statement.is_empty() {
            // An insert that may become an update is logged by its rows.
            return lines(&["Update options 2 blogname"]);
        }
        lines(write.by_statement)
    })
    .await;
}
