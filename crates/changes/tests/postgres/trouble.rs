//! Feeds in trouble: a server that dies, large transactions and values, rights and
//! passwords that are wrong, and what is left when nobody follows any more.

use std::io::Write;
use std::process::{Command, Stdio};

use changes::{Address, Event, Feed, Gauge, LogEnd, Lost, Progress, Source};

use crate::server::{LOGICAL, PASSWORD, Server};
use crate::{TABLES, WAIT, following, next, shown, told, until};

const SLOTS: &str = "SELECT count(*) FROM pg_replication_slots";

#[tokio::test]
async fn a_server_that_dies_is_lost_and_found_again() {
    let Some(mut server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('before')").await;
    assert_eq!(seen, ["Insert posts  -"]);

    server.kill();
    until(&mut feed, |event| matches!(event, Event::Lost(_))).await;
    server.again();
    until(&mut feed, |event| *event == Event::Recovered).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('after')").await;
    // What was written before is swept by "recovered", and never told twice.
    assert_eq!(seen, ["Insert posts  -"]);
    assert_eq!(server.administer(SLOTS), "1");
}

#[tokio::test]
async fn who_waits_for_the_end_of_the_log_has_heard_what_was_written() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    server.administer("CREATE DATABASE elsewhere; CREATE TABLE t (a INT);");
    let mut feed = following(server.wick()).await;
    let mut end = LogEnd::of(&Source::PostgreSql(server.wick())).expect("a log");
    let mut progress = Progress::default();
    for (statement, expected) in [
        ("INSERT INTO posts (title) VALUES ('x')", 1),
        ("INSERT INTO posts (title) VALUES ('y')", 1),
        // Nothing of it is published, and the end is reached all the same.
        ("CREATE TEMPORARY TABLE t (id INT); INSERT INTO t VALUES (1)", 0),
        ("SELECT 1", 0),
    ] {
        server.ask(statement);
        server.administer("INSERT INTO t VALUES (1)");
        let end = end.read().await.expect("an end");
        let mut changes = 0;
        let reach = async {
            while !progress.has_reached(&end) {
                match feed.next().await {
                    Event::Change(_) => changes += 1,
                    Event::Commit(Some(place)) => progress.tell(place),
                    _ => {}
                }
            }
        };
        tokio::time::timeout(WAIT, reach).await.expect("the end is reached");
        assert_eq!(changes, expected, "{statement}");
    }
}

#[tokio::test]
async fn many_rows_of_one_statement_are_few_changes() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    let many = "INSERT INTO posts (title) SELECT 'x' FROM generate_series(1, 10000)";
    assert_eq!(told(&server, &mut feed, many).await, ["Insert posts  -"]);
    let seen = told(&server, &mut feed, "UPDATE posts SET views = views + 1").await;
    assert_eq!(seen, ["Update posts views -"]);
    let names = "INSERT INTO options (option_name) \
        SELECT 'n' || chr(97 + i / 26) || chr(97 + i % 26) || 'z' FROM generate_series(0, 300) i";
    // More kinds of rows than are told apart: the table as a whole.
    let seen = told(&server, &mut feed, names).await;
    assert!(seen.contains(&"Other options  ?".to_owned()), "{seen:?}");
    assert_eq!(feed.overruns(), 0);
}

#[tokio::test]
async fn a_large_value_that_is_kept_is_not_taken_for_a_changed_one() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    server.ask("ALTER TABLE options ALTER option_value SET STORAGE EXTERNAL");
    let mut feed = following(server.wick()).await;
    for (statement, expected) in [
        (
            "INSERT INTO options (option_name, option_value) VALUES ('big', repeat('large', 100000))",
            "Insert options  big",
        ),
        ("UPDATE options SET price = 1", "Update options price big"),
        (
            "UPDATE options SET option_value = option_value || '!'",
            "Update options option_value big",
        ),
        ("UPDATE options SET price = 2", "Update options price big"),
        ("DELETE FROM options", "Delete options  big"),
    ] {
        assert_eq!(told(&server, &mut feed, statement).await, [expected], "{statement}");
    }
    // Larger than is taken in: lost, and found again behind it.
    server.ask(
        "INSERT INTO options (option_name, option_value) VALUES ('huge', repeat('large', 4000000))",
    );
    until(&mut feed, |event| *event == Event::Lost(Lost::Unreadable)).await;
    until(&mut feed, |event| *event == Event::Recovered).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
async fn none_of_many_small_transactions_is_missed() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut feed = following(server.wick()).await;
    // Each in a transaction of its own, and each with a class of its own.
    let name = |number: usize| {
        let letter =
            |place: usize| char::from(b'a' + u8::try_from(number / place % 10).expect("a digit"));
        format!("{}{}{}", letter(100), letter(10), letter(1))
    };
    let insert =
        |number| format!("INSERT INTO options (option_name) VALUES ('{}');\n", name(number));
    let mut clients = vec![];
    for quarter in 0..4 {
        let mut client = server.client("app", "app");
        let statements: String = (quarter * 250..(quarter + 1) * 250).map(insert).collect();
        let mut input = client.stdin.take().expect("an input");
        input.write_all(statements.as_bytes()).expect("it reads");
        clients.push(client);
    }
    let mut missing: std::collections::BTreeSet<String> =
        (0..1000).map(|number| format!("Insert options  {}", name(number))).collect();
    while !missing.is_empty() {
        let events = until(&mut feed, |event| matches!(event, Event::Commit(_))).await;
        assert!(!events.iter().any(|event| matches!(event, Event::Lost(_))), "{events:?}");
        shown(&events).iter().for_each(|line| {
            assert!(missing.remove(line), "{line} was told twice");
        });
    }
    for mut client in clients {
        assert!(client.wait().expect("it ends").success());
    }
}

#[tokio::test]
async fn what_is_refused_says_why_and_never_the_password() {
    let Some(server) = Server::start(LOGICAL) else { return };
    let wrong = "n0t-the-p4ss";
    for (user, password, expected) in [("wick", wrong, "28P01"), ("nobody", wrong, "28P01")] {
        for feed in [Feed::postgres, Feed::poll_postgres] {
            let address = server.address(user, password);
            assert!(!format!("{address:?}").contains(password));
            let Event::Lost(lost) = next(&mut feed(address)).await else {
                panic!("{user} is let in")
            };
            let Lost::Refused { code, .. } = &lost else { panic!("{user}: {lost:?}") };
            assert_eq!(code, expected, "{lost}");
            assert!(!format!("{lost} {lost:?}").contains(wrong), "{lost}");
        }
    }
    let Event::Lost(lost) = next(&mut Feed::postgres(server.address("wick", ""))).await else {
        panic!("without a password");
    };
    assert!(lost.to_string().contains("password"), "{lost}");
}

#[tokio::test]
async fn nobody_there_is_told_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let address: Address =
        format!("postgres://u:s3cret@localhost/d?socket={}", folder.path().display())
            .parse()
            .expect("an address");
    for feed in [Feed::postgres, Feed::poll_postgres] {
        let mut feed = feed(address.clone());
        assert_eq!(next(&mut feed).await, Event::Lost(Lost::Disconnected));
        assert_eq!(feed.ready(), None);
    }
}

#[tokio::test]
async fn a_transaction_that_stays_open_is_waited_for_with_one_slot_and_said() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let mut client = server.client("app", "app");
    let mut input = client.stdin.take().expect("an input");
    input.write_all(b"BEGIN; INSERT INTO posts (title) VALUES ('x');\n").expect("it reads");
    let writers = "SELECT count(*) FROM pg_locks \
        WHERE relation = 'posts'::regclass AND mode = 'RowExclusiveLock'";
    server.until(writers, "1").await;
    let mut feed = Feed::postgres(server.wick());
    let heard = next(&mut feed).await;
    assert!(matches!(heard, Event::Lost(Lost::Waiting(_))), "{heard:?}");
    assert_eq!(server.administer(SLOTS), "1");
    input.write_all(b"COMMIT;\n").expect("it reads");
    until(&mut feed, |event| *event == Event::Recovered).await;
    drop(input);
    assert!(client.wait().expect("it ends").success());
    assert_eq!(told(&server, &mut feed, "SELECT 1").await, Vec::<String>::new());
}

#[tokio::test]
async fn no_slot_is_left_when_nobody_follows() {
    let Some(server) = Server::start(LOGICAL) else { return };
    server.ask(TABLES);
    let feed = following(server.wick()).await;
    assert_eq!(server.administer(SLOTS), "1");
    drop(feed);
    server.until(SLOTS, "0").await;
    server
        .until("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wick'", "0")
        .await;

    // The same for a process that is killed. Its publications stay, and are taken on.
    let mut follower = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "trouble::a_process_that_follows_for_ever", "--ignored"])
        .env("FOLLOW", server.address("wick", PASSWORD).door.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    server.until(SLOTS, "1").await;
    follower.kill().expect("it is ours");
    follower.wait().expect("it ends");
    server.until(SLOTS, "0").await;
    let mut feed = following(server.wick()).await;
    let seen = told(&server, &mut feed, "INSERT INTO posts (title) VALUES ('x')").await;
    assert_eq!(seen, ["Insert posts  -"]);
}

#[tokio::test]
#[ignore = "the process that is killed in the test above"]
async fn a_process_that_follows_for_ever() {
    let Ok(folder) = std::env::var("FOLLOW") else { return };
    let address = Address {
        door: changes::Door::Socket(folder.into()),
        user: "wick".to_owned(),
        password: changes::Secret::new(PASSWORD),
        database: "site".to_owned(),
    };
    let mut feed = Feed::postgres(address);
    loop {
        feed.next().await;
    }
}

#[tokio::test]
async fn the_server_tells_how_busy_it_is_also_after_it_died() {
    let Some(mut server) = Server::start(&[]) else { return };
    let source = Source::PostgreSql(server.wick());
    let mut gauge = Gauge::new(&source).expect("a server");
    let before = gauge.read().await.expect("it answers");
    server.ask("SELECT 1;");
    server.ask("SELECT 2;");
    let figures = gauge.read().await.expect("it answers");
    // Its counters come up to a second late.
    assert!(figures.questions >= before.questions && figures.running.is_some(), "{figures:?}");
    assert!(figures.connections >= Some(1) && figures.memory_hits > Some(0), "{figures:?}");
    let told = gauge.statements().await;
    assert!(matches!(told, Err(Lost::Impossible(_))), "it has no such extension: {told:?}");
    server.kill();
    assert_eq!(gauge.read().await.err(), Some(Lost::Disconnected));
    server.again();
    assert!(gauge.read().await.is_ok());
}
