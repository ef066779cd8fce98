//! Feeds of MySQL in trouble: a server that dies, logs that go, rights that are missing.

use changes::{Address, Door, Event, Feed, Gauge, LogEnd, Lost, Progress, Rung, Source};

use crate::hearing::until;
use crate::logged::{changes_before, following, next};
use crate::server::{PASSWORD, Server};
use crate::writes::TABLES;
use crate::{FULL, told};

const INSERT: &str = "INSERT INTO posts (title) VALUES ('x')";

/// A server with tables, and a feed of it.
async fn begin(settings: &[&str]) -> Option<(Server, Feed)> {
    let server = Server::start(settings).await?;
    server.ask(TABLES).await;
    let feed = following(server.address("wick", PASSWORD)).await;
    Some((server, feed))
}

#[tokio::test]
async fn a_server_that_dies_is_lost_and_found_again() {
    let Some((mut server, mut feed)) = begin(FULL).await else { return };
    assert_eq!(told(&server, &mut feed, INSERT).await, ["Insert posts  -"]);
    server.kill();
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.again().await;
    until(&mut feed, |event| *event == Event::Recovered).await;
    assert_eq!(told(&server, &mut feed, INSERT).await, ["Insert posts  -"]);
}

#[tokio::test]
async fn logs_that_turn_over_and_go_lose_nothing() {
    let Some((server, mut feed)) = begin(FULL).await else { return };
    for _ in 0..3 {
        assert_eq!(told(&server, &mut feed, INSERT).await, ["Insert posts  -"]);
        server.ask("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY").await;
    }
    // One that begins now, with the first logs gone, begins at the present.
    let mut late = following(server.address("wick", PASSWORD)).await;
    for feed in [&mut feed, &mut late] {
        let seen = told(&server, feed, "UPDATE posts SET views = views + 1").await;
        let is_it = |line: &String| line == "Update posts views -";
        assert!(!seen.is_empty() && seen.iter().all(is_it), "{seen:?}");
    }
}

#[tokio::test]
async fn a_log_that_begins_anew_is_followed_on() {
    let Some((server, mut feed)) = begin(FULL).await else { return };
    told(&server, &mut feed, INSERT).await;
    server.ask(&format!("RESET MASTER; USE site; {INSERT}")).await;
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    until(&mut feed, |event| *event == Event::Recovered).await;
    assert_eq!(told(&server, &mut feed, "DELETE FROM posts").await, ["Delete posts  -"]);
}

#[tokio::test]
async fn a_quiet_log_is_not_taken_for_a_lost_one() {
    let packed = ["--binlog-transaction-compression=ON"];
    let Some((server, mut feed)) = begin(&[FULL, &packed].concat()).await else { return };
    for statement in [
        "SELECT 1",
        "USE site; INSERT INTO posts (title) VALUES ('x')",
        "CREATE DATABASE other; CREATE TABLE other.t (id INT); INSERT INTO other.t VALUES (1)",
        "FLUSH BINARY LOGS",
    ] {
        server.ask(statement).await;
        // The end of the log is looked at with each.
        for _ in 0..3 {
            let heard = until(&mut feed, |event| *event == Event::Idle).await;
            // On a machine that is pressed MySQL 8.0.31 now and then ends a stream by itself,
            // with an event that comes just as it beats; that is no suspicion of ours.
            let is_suspected = |event: &Event| *event == Event::Lost(Lost::Incident);
            assert!(!heard.iter().any(is_suspected), "{statement}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn who_waits_for_the_end_of_the_log_has_heard_what_was_written() {
    let Some((server, mut feed)) = begin(FULL).await else { return };
    let mut end = LogEnd::new(server.address("wick", PASSWORD));
    let mut progress = Progress::default();
    for _ in 0..5 {
        server.ask(&format!("USE site; {INSERT}")).await;
        let end = end.read().await.expect("an end");
        assert_eq!(changes_before(&end, &mut feed, &mut progress).await, 1);
    }
}

#[tokio::test]
async fn what_mysql_alone_writes_is_seen() {
    let json = ["--binlog-row-value-options=PARTIAL_JSON"];
    let Some((server, mut feed)) = begin(&[FULL, &json].concat()).await else { return };
    for (statement, expected) in [
        (
            "CREATE TABLE notes (name VARCHAR(40) PRIMARY KEY, doc JSON); \
             INSERT INTO notes VALUES ('first', JSON_OBJECT('a', REPEAT('x', 500), 'b', 1))",
            &["Schema   ?", "Insert notes  first"][..],
        ),
        // Only what differs in the JSON is in the log.
        ("UPDATE notes SET doc = JSON_SET(doc, '$.b', 2)", &["Update notes doc first"]),
        (
            "XA START 'a'; UPDATE posts SET views = 9 WHERE id = 0; \
             INSERT INTO posts (title) VALUES ('xa'); XA END 'a'; XA PREPARE 'a'",
            &["Insert posts  -"],
        ),
        ("XA COMMIT 'a'", &["Other   ?"]),
        ("UPDATE posts SET views = 3", &["Update posts views -"]),
        ("CREATE TABLE copies SELECT * FROM posts", &["Schema   ?", "Insert copies  -"]),
        (
            "SET binlog_row_image = 'MINIMAL', binlog_row_value_options = ''; UPDATE notes SET doc = '{}'",
            &["Update notes doc first"],
        ),
        ("GRANT SELECT ON site.notes TO wick", &[]),
    ] {
        let mut told = told(&server, &mut feed, statement).await;
        // Its key is asked for before others can see the table, or just after.
        told.iter_mut()
            .for_each(|line| *line = line.replace("Insert copies  ?", "Insert copies  -"));
        assert_eq!(told, expected, "{statement}");
    }
}

#[tokio::test]
async fn what_is_refused_says_why_and_never_the_password() {
    let Some(server) = Server::start(FULL).await else { return };
    let wrong = "n0t-the-p4ss";
    for (user, password, codes) in
        [("wick", wrong, &["1045"][..]), ("app", "app", &["1227"]), ("nobody", wrong, &["1045"])]
    {
        let mut feed = Feed::binlog(server.address(user, password));
        let Event::Lost(lost) = next(&mut feed).await else { panic!("{user} is let in") };
        // Whom it doesn't know it asks for a login of any kind, so as not to say so.
        let is_right = match &lost {
            Lost::Refused { code, .. } => codes.contains(&code.as_str()),
            Lost::Impossible(why) => user == "nobody" && why.contains("caching_sha2_password"),
            _ => false,
        };
        assert!(is_right, "{user}: {lost:?}");
        assert!(!format!("{lost} {lost:?}").contains(wrong), "{lost}");
    }
    // Each right alone is too little.
    for right in ["REPLICATION CLIENT", "REPLICATION SLAVE"] {
        server.ask(&format!("GRANT {right} ON *.* TO app@localhost")).await;
        let first = next(&mut Feed::binlog(server.address("app", "app"))).await;
        assert_eq!(first == Event::Recovered, right == "REPLICATION SLAVE", "{right}: {first:?}");
    }
}

/// Over TCP without TLS the password goes encrypted with the server's RSA key at first,
/// and as a scramble once the server has seen it.
#[tokio::test]
async fn a_password_is_shown_over_tcp_to_who_saw_it_before_and_who_did_not() {
    let port = loopback::port();
    let settings = [format!("--port={port}"), "--bind-address=127.0.0.1".to_owned()];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let Some(server) = Server::start(&settings).await else { return };
    server.ask(TABLES).await;
    let address = Address {
        door: Door::Tcp("127.0.0.1".to_owned(), port),
        ..server.address("wick", PASSWORD)
    };
    for _ in 0..2 {
        let mut feed = following(address.clone()).await;
        assert_eq!(told(&server, &mut feed, INSERT).await, ["Insert posts  -"]);
    }
}

#[tokio::test]
async fn each_rung_says_what_the_next_one_needs() {
    let Some(mut server) = Server::start(&["--skip-log-bin"]).await else { return };
    let app = server.address("app", "app");
    server.ask(TABLES).await;
    let standing = changes::standing(&app).await.expect("an answer");
    assert_eq!((standing.rung, standing.needs_restart), (Rung::Poll, true));
    let lost = Feed::binlog(app.clone()).next().await;
    let is_off = |why: &str| why.contains("log_bin");
    assert!(matches!(&lost, Event::Lost(Lost::Impossible(why)) if is_off(why)), "{lost:?}");

    // What it says is done, as it says it.
    for grant in &standing.grants {
        server.ask(grant).await;
    }
    server.kill();
    let lines = standing.settings.iter().map(|line| format!("--{}", line.replace(" = ", "=")));
    server.set(lines.collect());
    server.again().await;
    let standing = changes::standing(&app).await.expect("an answer");
    assert_eq!((standing.rung, standing.needs_restart), (Rung::Log, false));
    assert_eq!((standing.grants, standing.settings), (vec![], vec![]));
    let mut feed = following(app).await;
    assert_eq!(told(&server, &mut feed, INSERT).await, ["Insert posts  -"]);
}

#[tokio::test]
async fn a_poll_sees_which_table_was_written_and_the_gauge_how_busy_it_is() {
    let Some(server) = Server::start(&["--skip-log-bin"]).await else { return };
    server.ask(TABLES).await;
    let mut feed = Feed::poll(server.address("app", "app"));
    until(&mut feed, |event| *event == Event::Recovered).await;
    let of = |table: &'static str| move |event: &Event| matches!(event, Event::Change(change) if &*change.table == table);
    for (statement, table) in [
        ("INSERT INTO site.posts (title) VALUES ('x')", "posts"),
        ("UPDATE site.posts SET views = 5", "posts"),
        ("INSERT INTO site.settings VALUES (7, 'theme', 'dark')", "settings"),
        ("CREATE TABLE site.more (id INT)", "more"),
        ("DROP TABLE site.more", "more"),
    ] {
        server.ask(statement).await;
        until(&mut feed, of(table)).await;
    }
    let source = Source::MySql(server.address("app", "app"));
    let figures = Gauge::new(&source).expect("a server").read().await.expect("it answers");
    assert!(figures.running >= Some(1) && figures.questions > Some(0), "{figures:?}");
    assert!(figures.slow.is_some() && figures.memory_hits > Some(0), "{figures:?}");
}
