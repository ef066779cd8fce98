//! A server that is asked for what changed, as one must whose log may not be read.

use std::time::Duration;

use changes::{Event, Feed};

use crate::hearing::until;
use crate::server::Server;
use crate::writes::TABLES;

fn is_of(table: &'static str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Change(change) if &*change.table == table)
}

#[tokio::test]
async fn a_poll_sees_which_table_was_written() {
    let Some(mut server) = Server::start(&[]) else { return };
    server.ask(TABLES);
    let mut feed = Feed::poll(server.address("app", "app"));
    until(&mut feed, |event| *event == Event::Recovered).await;
    for (statement, table) in [
        ("INSERT INTO site.posts (title) VALUES ('x')", "posts"),
        ("UPDATE site.posts SET views = 5", "posts"),
        ("INSERT INTO site.settings VALUES (7, 'theme', 'dark')", "settings"),
        ("CREATE TABLE site.more (id INT)", "more"),
        ("DROP TABLE site.more", "more"),
    ] {
        server.ask(statement);
        until(&mut feed, is_of(table)).await;
    }
    server.kill();
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.again();
    until(&mut feed, |event| *event == Event::Recovered).await;
}

#[tokio::test]
async fn what_is_written_again_within_a_second_is_told_and_what_stands_still_is_not() {
    let Some(server) = Server::start(&[]) else { return };
    server.ask(TABLES);
    let mut feed = Feed::poll(server.address("app", "app"));
    until(&mut feed, |event| *event == Event::Recovered).await;
    let mut rounds = Vec::new();
    for at in 0..30_u64 {
        // Nothing of what was told before is taken for it.
        until(&mut feed, |event| *event == Event::Idle).await;
        while feed.ready().is_some() {}
        server.ask("INSERT INTO site.posts (title) VALUES ('x')");
        until(&mut feed, is_of("posts")).await;
        let told = until(&mut feed, |event| *event == Event::Idle).await;
        rounds.push(told.iter().filter(|event| matches!(event, Event::Commit(_))).count());
        tokio::time::sleep(Duration::from_millis(at * 37 % 150)).await;
    }
    // Until a second is over it is asked five times; the server's own work may begin transactions.
    let calm = rounds.iter().filter(|rounds| **rounds <= 2).count();
    assert!(calm > 20, "{rounds:?}");
}
