//! Feeds in trouble: a server that dies, logs that go, rights and passwords that are wrong.

use changes::{Address, Event, Feed, Gauge, LogEnd, Lost, Progress, Rung, Source};

use crate::hearing::until;
use crate::logged::{changes_before, following, next};
use crate::server::{PASSWORD, Server};
use crate::writes::TABLES;
use crate::{BINLOG, told};

/// Settings under which rows are told with names.
const ROWS: &[&str] =
    &["--log-bin=log", "--server-id=1", "--binlog-format=ROW", "--binlog-row-metadata=FULL"];

#[tokio::test]
async fn a_server_that_dies_is_lost_and_found_again() {
    let Some(mut server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('before')").await;
    assert_eq!(seen, ["Insert posts  -"]);

    server.kill();
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.again();
    until(&mut feed, |event| *event == Event::Recovered).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('after')").await;
    // What was written before is swept by "recovered", and never told twice.
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
async fn logs_that_turn_over_and_go_lose_nothing() {
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    for _ in 0..3 {
        let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
        assert_eq!(seen, ["Insert posts  -"]);
        server.ask("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY;");
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
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    let insert = "INSERT INTO posts (title) VALUES ('x')";
    told(&server, &mut feed, insert).await;
    server.ask("RESET MASTER;");
    // This server sends nothing of the new log, and beats on.
    server.ask(&format!("USE site; {insert};"));
    until(&mut feed, |event| *event == Event::Lost(Lost::Incident)).await;
    until(&mut feed, |event| *event == Event::Recovered).await;
    let seen = told(&server, &mut feed, "DELETE FROM posts").await;
    assert_eq!(seen, ["Delete posts  -"]);
}

#[tokio::test]
async fn a_quiet_log_is_not_taken_for_a_lost_one() {
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    for statement in [
        "SELECT 1",
        "USE site; INSERT INTO posts (title) VALUES ('x')",
        "USE site; SET gtid_domain_id = 3; INSERT INTO posts (title) VALUES ('y')",
        "CREATE DATABASE other; CREATE TABLE other.t (id INT); INSERT INTO other.t VALUES (1)",
        "FLUSH BINARY LOGS",
    ] {
        server.ask(statement);
        // The end of the log is looked at with each.
        for _ in 0..3 {
            let heard = until(&mut feed, |event| *event == Event::Idle).await;
            let is_lost = |event: &Event| matches!(event, Event::Lost(_));
            assert!(!heard.iter().any(is_lost), "{statement}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn who_waits_for_the_end_of_the_log_has_heard_what_was_written() {
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    let mut end = LogEnd::new(server.address("wick", PASSWORD));
    let mut progress = Progress::default();
    for _ in 0..5 {
        server.ask("INSERT INTO site.posts (title) VALUES ('x')");
        let end = end.read().await.expect("an end");
        assert_eq!(changes_before(&end, &mut feed, &mut progress).await, 1);
    }
}

#[tokio::test]
async fn a_minimal_image_tells_what_was_assigned() {
    let Some(server) = Server::start(&[ROWS, &["--binlog-row-image=MINIMAL"]].concat()) else {
        return;
    };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    for (statement, expected) in [
        (
            "INSERT INTO options (option_name, option_value) VALUES ('blogname', 'A')",
            "Insert options  blogname",
        ),
        // Its primary key is the id; the name stays unsaid.
        (
            "UPDATE options SET option_value = 'B' WHERE option_name = 'blogname'",
            "Update options option_value ?",
        ),
        ("INSERT INTO settings VALUES (7, 'theme', 'dark')", "Insert settings  #,theme"),
        ("UPDATE settings SET value = 'light'", "Update settings value #,theme"),
        ("DELETE FROM settings", "Delete settings  #,theme"),
        ("DELETE FROM options", "Delete options  ?"),
    ] {
        assert_eq!(told(&server, &mut feed, statement).await, [expected], "{statement}");
    }
}

#[tokio::test]
async fn other_databases_and_temporary_tables_are_nobodys_business() {
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    server.ask("CREATE DATABASE other; CREATE TABLE other.posts (id INT);");
    let mut feed = following(server.address("wick", PASSWORD)).await;
    let statements = "INSERT INTO other.posts VALUES (1); CREATE TEMPORARY TABLE t (id INT); \
        INSERT INTO t VALUES (1); DROP TEMPORARY TABLE t; UPDATE posts SET views = 1; \
        DELETE FROM other.posts";
    assert_eq!(told(&server, &mut feed, statements).await, Vec::<String>::new());
}

#[tokio::test]
async fn many_rows_of_one_statement_are_few_changes() {
    let Some(server) = Server::start(ROWS) else { return };
    server.ask(TABLES);
    let mut feed = following(server.address("wick", PASSWORD)).await;
    let many = "INSERT INTO posts (title) SELECT 'x' FROM seq_1_to_20000";
    let seen = told(&server, &mut feed, many).await;
    assert!(!seen.is_empty() && seen.iter().all(|line| line == "Insert posts  -"), "{seen:?}");
    let names = "INSERT INTO options (option_name) SELECT CONCAT('n', CHAR(97 + seq DIV 26), \
        CHAR(97 + seq MOD 26), 'z') FROM seq_0_to_300";
    // More kinds of rows than are told apart: the table as a whole.
    let seen = told(&server, &mut feed, names).await;
    assert!(seen.contains(&"Other options  ?".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn what_is_refused_says_why_and_never_the_password() {
    let Some(server) = Server::start(BINLOG) else { return };
    let wrong = "n0t-the-p4ss";
    for (user, password, codes) in [
        ("wick", wrong, &["1045"][..]),
        ("app", "app", &["1045", "1227"]),
        ("nobody", wrong, &["1045", "1698"]),
    ] {
        let address = server.address(user, password);
        assert!(!format!("{address:?}").contains(password) || user == password);
        let mut feed = Feed::binlog(address);
        let Event::Lost(lost) = next(&mut feed).await else { panic!("{user} is let in") };
        let Lost::Refused { code, .. } = &lost else { panic!("{user}: {lost:?}") };
        assert!(codes.contains(&code.as_str()), "{lost}");
        assert!(!format!("{lost} {lost:?}").contains(wrong), "{lost}");
    }
    // As soon as the right is there, the feed follows.
    let mut feed = Feed::binlog(server.address("app", "app"));
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.ask("GRANT REPLICATION SLAVE ON *.* TO app@localhost;");
    until(&mut feed, |event| *event == Event::Recovered).await;
}

#[tokio::test]
async fn nobody_there_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let address: Address =
        format!("mysql://u:s3cret@localhost/d?socket={}/no", folder.path().display())
            .parse()
            .expect("an address");
    let mut feed = Feed::binlog(address);
    assert_eq!(next(&mut feed).await, Event::Lost(Lost::Disconnected));
    assert_eq!(feed.ready(), None);
}

#[tokio::test]
async fn each_rung_says_what_the_next_one_needs() {
    let Some(mut server) = Server::start(&[]) else { return };
    let app = server.address("app", "app");
    server.ask(TABLES);
    let standing = changes::standing(&app).await.expect("an answer");
    assert_eq!(standing.rung, Rung::Poll);
    assert!(standing.needs_restart);
    let lost = Feed::binlog(app.clone()).next().await;
    assert!(
        matches!(&lost, Event::Lost(Lost::Impossible(why)) if why.contains("log_bin")),
        "{lost:?}"
    );

    // What it says is done, as it says it.
    standing.grants.iter().for_each(|grant| drop(server.ask(grant)));
    server.kill();
    let lines = standing.settings.iter().map(|line| format!("--{}", line.replace(" = ", "=")));
    server.set(lines.collect());
    server.again();
    let standing = changes::standing(&app).await.expect("an answer");
    assert_eq!((standing.rung, standing.needs_restart), (Rung::Log, false));
    assert_eq!((standing.grants, standing.settings), (vec![], vec![]));
    let mut feed = following(app).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
async fn where_a_databases_time_goes_is_told_where_it_is_counted_and_may_be_asked() {
    let Some(server) = Server::start(&["--performance-schema=ON"]) else { return };
    let mut gauge = Gauge::new(&Source::MySql(server.address("app", "app"))).expect("a server");
    let told = gauge.statements().await;
    assert!(matches!(told, Err(Lost::Refused { .. })), "this user may not: {told:?}");
    server.ask("GRANT SELECT ON performance_schema.* TO app@localhost");
    server.ask(
        "CREATE TABLE site.counted (a TEXT); USE site; \
        INSERT INTO counted VALUES ('hush'); INSERT INTO counted VALUES ('hush')",
    );
    let told = gauge.statements().await.expect("it may");
    let inserted = told.iter().find(|it| it.text.starts_with("INSERT INTO `counted`"));
    assert!(inserted.is_some_and(|it| it.calls == 2 && it.took_us > 0), "{told:?}");
    assert!(told.iter().all(|it| !it.text.contains("hush")), "{told:?}");
    assert!(gauge.read().await.is_ok(), "the same connection goes on");
}

#[tokio::test]
async fn the_server_tells_how_busy_it_is_also_after_it_died() {
    let Some(mut server) = Server::start(&[]) else { return };
    let source = Source::MySql(server.address("app", "app"));
    let mut gauge = Gauge::new(&source).expect("a server");
    let before = gauge.read().await.expect("it answers");
    server.ask("SELECT 1; SELECT 2;");
    let figures = gauge.read().await.expect("it answers");
    assert!(figures.questions >= before.questions.map(|questions| questions + 2), "{figures:?}");
    assert!(figures.running >= Some(1) && figures.connections >= Some(1), "{figures:?}");
    assert!(figures.slow.is_some() && figures.memory_hits > Some(0), "{figures:?}");
    server.kill();
    assert_eq!(gauge.read().await.err(), Some(Lost::Disconnected));
    server.again();
    assert!(gauge.read().await.is_ok());
}
