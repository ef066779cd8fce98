//! Rungs of a real PostgreSQL: what each of them needs, and the poll that every app's own
//! user can do.

use std::io::Write;

use changes::{Change, Event, Feed, Lost, Rung, Source, standing_of};

use crate::server::{LOGICAL, Server};
use crate::{TABLES, following, next, told, until, until_shown};

#[tokio::test]
async fn each_rung_says_what_the_next_one_needs() {
    let Some(mut server) = Server::start(&[]) else { return };
    server.ask(TABLES);
    server.ask("CREATE TABLE bare (a INT)");
    let app = server.address("app", "app");
    let standing =
        standing_of(&Source::PostgreSql(app.clone())).await.expect("a server").expect("an answer");
    assert_eq!((standing.rung, standing.needs_restart), (Rung::Poll, true));
    assert_eq!(standing.settings, ["wal_level = logical"]);
    let lost = next(&mut Feed::postgres(app.clone())).await;
    let is_said = |why: &str| why.contains("REPLICATION") && why.contains("wal_level = logical");
    assert!(matches!(&lost, Event::Lost(Lost::Impossible(why)) if is_said(why)), "{lost:?}");

    // The right alone doesn't do, and the settings alone don't.
    server.kill();
    server.set(standing.settings.iter().map(|line| line.replace(" = ", "=")).collect());
    server.again();
    let mut feed = Feed::postgres(app.clone());
    assert!(matches!(next(&mut feed).await, Event::Lost(Lost::Impossible(_))));
    let mut poll = Feed::poll_postgres(app.clone());
    until(&mut poll, |event| *event == Event::Recovered).await;
    // What it says is done, as it says it; the feed that was refused follows.
    standing.grants.iter().for_each(|grant| drop(server.administer_site(grant)));
    until(&mut feed, |event| *event == Event::Recovered).await;
    let standing =
        standing_of(&Source::PostgreSql(app.clone())).await.expect("a server").expect("an answer");
    assert_eq!((standing.rung, standing.needs_restart), (Rung::Log, false));
    assert_eq!((standing.grants, standing.settings), (vec![], vec![]));
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
async fn a_user_who_owns_nothing_is_told_what_is_missing() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    server.administer("CREATE ROLE other LOGIN REPLICATION PASSWORD 'other'");
    let other = server.address("other", "other");
    let standing = standing_of(&Source::PostgreSql(other.clone()))
        .await
        .expect("a server")
        .expect("an answer");
    assert_eq!(standing.rung, Rung::Poll);
    let grants = ["GRANT CREATE ON DATABASE \"site\" TO \"other\";", "GRANT \"app\" TO \"other\";"];
    assert_eq!(standing.grants, grants);
    standing.grants.iter().for_each(|grant| drop(server.administer_site(grant)));
    let mut feed = following(other).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
async fn a_poll_sees_which_table_was_written() {
    let Some(mut server) = Server::start(&[]) else { return };
    server.ask(TABLES);
    let mut feed = Feed::poll_postgres(server.address("app", "app"));
    until(&mut feed, |event| *event == Event::Recovered).await;
    for (statement, expected) in [
        ("INSERT INTO posts (title) VALUES ('x')", "Other posts  ?"),
        ("UPDATE posts SET views = 5", "Other posts  ?"),
        ("INSERT INTO other.posts VALUES (1, 'x')", "Other other.posts  ?"),
        ("TRUNCATE posts", "Other posts  ?"),
        ("CREATE TABLE more (id INT)", "Schema more  ?"),
        ("ALTER TABLE more ADD COLUMN name TEXT", "Schema more  ?"),
        ("DROP TABLE more", "Schema more  ?"),
    ] {
        server.ask(statement);
        until_shown(&mut feed, expected).await;
    }
    server.kill();
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.again();
    until(&mut feed, |event| *event == Event::Recovered).await;
}

#[tokio::test]
async fn a_poll_hears_of_a_connection_that_stays_before_the_counters_do() {
    let Some(server) = Server::start(&[]) else { return };
    server.ask(TABLES);
    let mut feed = Feed::poll_postgres(server.address("app", "app"));
    until(&mut feed, |event| *event == Event::Recovered).await;
    let mut client = server.client("app", "app");
    let mut input = client.stdin.take().expect("an input");
    let any = Event::Change(Change::anything("site", ""));
    for _ in 0..3 {
        // The second counts late, as one right after the first; a transaction that follows
        // keeps it from being counted at all.
        let write = b"INSERT INTO posts (title) VALUES ('x'); BEGIN; SELECT 1;\n";
        input.write_all(write).expect("it reads");
        until(&mut feed, |event| *event == any).await;
        input.write_all(b"COMMIT;\n").expect("it reads");
        until(&mut feed, |event| *event == Event::Idle).await;
    }
    drop(input);
    assert!(client.wait().expect("it ends").success());
}
