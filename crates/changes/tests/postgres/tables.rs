//! Tables that are made, altered, emptied and dropped while they are followed, and those
//! whose rows are known by nothing: no write of the site is refused, and all are heard of.

use std::io::Write;

use changes::Event;

use crate::server::{LOGICAL, Server};
use crate::{TABLES, following, shown, told, until, until_shown};

/// Which table is published as what.
const PUBLISHED: &str = "SELECT string_agg(p.pubname || ' ' || l.prrelid::regclass, ', ' \
    ORDER BY p.pubname, l.prrelid::regclass::text) \
    FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid";

#[tokio::test]
async fn a_table_without_a_key_takes_every_write_and_is_heard() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(
        "CREATE TABLE bare (a INT, b TEXT); CREATE UNLOGGED TABLE quick (a INT PRIMARY KEY); \
         CREATE TABLE late (a INT PRIMARY KEY DEFERRABLE, b TEXT); \
         CREATE TABLE silent (a INT PRIMARY KEY); ALTER TABLE silent REPLICA IDENTITY NOTHING; \
         CREATE TABLE named (a INT NOT NULL UNIQUE, b TEXT); \
         ALTER TABLE named REPLICA IDENTITY USING INDEX named_a_key; \
         CREATE TABLE parted (a INT PRIMARY KEY, b TEXT) PARTITION BY RANGE (a); \
         CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9); \
         INSERT INTO bare VALUES (0, 'x');",
    );
    let mut feed = following(server.wick()).await;
    let published = "wick_inserts bare, wick_inserts late, wick_inserts silent, wick_rows named, wick_rows part";
    assert_eq!(server.ask(PUBLISHED), published);
    // What is added is in the log, the rest is counted.
    for (statement, expected) in [
        ("INSERT INTO bare VALUES (1, 'x')", "Insert bare  -"),
        ("UPDATE bare SET b = 'y'", "Other bare  ?"),
        ("DELETE FROM bare", "Other bare  ?"),
        ("TRUNCATE bare", "Other bare  ?"),
        ("INSERT INTO quick VALUES (1)", "Other quick  ?"),
        ("DELETE FROM quick", "Other quick  ?"),
        ("INSERT INTO late VALUES (1, 'x')", "Insert late  -"),
        ("UPDATE late SET b = 'y'", "Other late  ?"),
        ("INSERT INTO silent VALUES (1)", "Insert silent  -"),
        ("DELETE FROM silent", "Other silent  ?"),
        ("INSERT INTO named VALUES (1, 'x')", "Insert named  -"),
        ("UPDATE named SET b = 'y'", "Update named b -"),
        ("INSERT INTO parted VALUES (1, 'x')", "Insert part  -"),
        ("DELETE FROM parted", "Delete part  -"),
    ] {
        server.ask(statement);
        until_shown(&mut feed, expected).await;
    }
}

#[tokio::test]
async fn tables_that_come_and_go_are_noticed() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    server.ask("CREATE TABLE more (id INT PRIMARY KEY, name TEXT UNIQUE)");
    until_shown(&mut feed, "Schema more  ?").await;
    // It may have been written to before it was published.
    until_shown(&mut feed, "Other more  ?").await;
    let seen = told(&server, &mut feed, "INSERT INTO more VALUES (1, 'x')").await;
    assert!(seen.contains(&"Insert more  x".to_owned()), "{seen:?}");

    for (statement, expected) in [
        ("ALTER TABLE more ADD COLUMN value TEXT", "Schema more  ?"),
        ("ALTER TABLE more RENAME COLUMN value TO worth", "Schema more  ?"),
        ("CREATE INDEX ON more (worth)", "Schema more  ?"),
        ("ALTER TABLE more RENAME TO most", "Schema most  ?"),
        ("CREATE VIEW seen AS SELECT 1 AS a", "Schema seen  ?"),
        ("CREATE OR REPLACE VIEW seen AS SELECT 2 AS a", "Schema seen  ?"),
        ("DROP TABLE most", "Schema most  ?"),
        ("CREATE MATERIALIZED VIEW kept AS SELECT count(*) FROM posts", "Schema kept  ?"),
        ("REFRESH MATERIALIZED VIEW kept", "Other kept  ?"),
    ] {
        server.ask(statement);
        until_shown(&mut feed, expected).await;
    }
    assert_eq!(
        told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await,
        ["Insert posts  -"]
    );
}

#[tokio::test]
async fn a_key_that_goes_and_comes_leaves_the_table_writable() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    server.ask("INSERT INTO posts (title) VALUES ('x')");
    let mut feed = following(server.wick()).await;
    let published = "SELECT pubname FROM pg_publication_tables WHERE tablename = 'posts' AND schemaname = 'public'";
    server.ask("ALTER TABLE posts DROP CONSTRAINT posts_pkey");
    server.until(published, "wick_inserts").await;
    until_shown(&mut feed, "Schema posts  ?").await;
    server.ask("UPDATE posts SET title = 'y'");
    until_shown(&mut feed, "Other posts  ?").await;
    server.ask("ALTER TABLE posts ADD PRIMARY KEY (id)");
    server.until(published, "wick_rows").await;
    let update = "UPDATE posts SET title = title || '!'";
    server.ask(update);
    server.ask(update);
    until_shown(&mut feed, "Update posts title -").await;
}

#[tokio::test]
async fn what_was_begun_before_a_table_was_published_is_heard() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    server.ask("CREATE TABLE more (id INT PRIMARY KEY)");
    // It writes as soon as it can, perhaps before we publish, and stays open.
    let mut client = server.client("app", "app");
    let mut input = client.stdin.take().expect("an input");
    input.write_all(b"BEGIN; INSERT INTO more VALUES (1);\n").expect("it reads");
    server.until(
        "SELECT count(*) FROM pg_locks WHERE relation = 'more'::regclass AND mode = 'RowExclusiveLock'",
        "1",
    ).await;
    server
        .until("SELECT pubname FROM pg_publication_tables WHERE tablename = 'more'", "wick_rows")
        .await;
    // All that was to be told so far has been.
    until(&mut feed, |event| *event == Event::Idle).await;
    while feed.ready().is_some() {}
    input.write_all(b"COMMIT;\n").expect("it reads");
    let is_more =
        |event: &Event| matches!(event, Event::Change(change) if &*change.table == "more");
    until(&mut feed, is_more).await;
    drop(input);
    assert!(client.wait().expect("it ends").success());
}

#[tokio::test]
async fn what_somebody_left_behind_is_put_right() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    // An older following, while the table had a key; nobody was there when it went.
    server.ask(
        "CREATE PUBLICATION wick_rows FOR TABLE ONLY posts; ALTER TABLE posts DROP CONSTRAINT posts_pkey; \
         ALTER PUBLICATION wick_rows OWNER TO app;",
    );
    let mut feed = following(server.wick()).await;
    server.ask("INSERT INTO posts (title) VALUES ('x'); UPDATE posts SET title = 'y';");
    let events = until(
        &mut feed,
        |event| matches!(event, Event::Change(change) if change.to_string() == "Other posts  ?"),
    );
    assert_eq!(shown(&events.await).first().map(String::as_str), Some("Insert posts  -"));
}
