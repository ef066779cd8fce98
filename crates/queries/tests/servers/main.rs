//! Real servers: the logs that they write, and what they count themselves.

#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/mariadb/server.rs"]
mod mariadb;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/mysql/server.rs"]
mod mysql;
#[allow(dead_code, reason = "tests of another crate use more of it")]
#[path = "../../../changes/tests/postgres/server.rs"]
mod postgres;

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use queries::advice::Advice;
use queries::advice::server::advise;
use queries::classes::{Class, Classes};
use queries::digests::{DigestError, watch};
use queries::files::Growing;
use queries::logs::{Faults, Reading};
use queries::query::Query;
use queries::report::{Report, Row, Wanted};
use queries::tokens::Dialect;

/// A table, and questions of two classes about it.
const TABLE: &str = "CREATE TABLE posts (id INT PRIMARY KEY, topic INT, title TEXT);";

fn questions(times: u32) -> String {
    let ask = |one| {
        format!(
            "SELECT title FROM posts WHERE topic = {one}; DELETE FROM posts WHERE id IN ({one}, 7);"
        )
    };
    (0..times).map(ask).collect()
}

const SELECT: &str = "select title from posts where topic = ?";
const DELETE: &str = "delete from posts where id in (?+)";

fn count(classes: &Classes, is_it: impl Fn(&Class) -> bool) -> u64 {
    classes.ranked().iter().filter(|class| is_it(class)).map(|class| class.sums.count).sum()
}

fn read(log: &mut impl Read, reading: &mut Reading, classes: &mut Classes) {
    reading.take_all(log, &mut |query| classes.take(query)).expect("the log can be read");
}

/// Waits until the log has this: a server answers first and writes then.
async fn until_written(log: &Path, last: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !std::fs::read_to_string(log).is_ok_and(|text| text.contains(last)) {
        assert!(Instant::now() < deadline, "{last} never came into the log");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_mariadb_writes_its_log_and_it_is_read_while_it_grows_and_is_rotated() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let off = watch(&server.address("root", ""), true, std::future::ready(())).await;
    let told = off.expect_err("nothing is counted unless it is asked for").to_string();
    assert!(told.contains("performance_schema = ON"), "{told}");
    let folder = server.socket().parent().expect("a folder").to_owned();
    let log = folder.join("slow.log");
    server.ask(&format!(
        "USE site; {TABLE} SET GLOBAL slow_query_log_file = '{}'; SET GLOBAL long_query_time = 0; \
         SET GLOBAL log_slow_verbosity = 'query_plan,explain'; SET GLOBAL slow_query_log = 1;",
        log.display()
    ));
    server.ask(&format!("USE site; {}", questions(20)));
    let (mut classes, mut reading) = (Classes::default(), Reading::default());
    let mut growing = Growing::open(&log).expect("the log is there");
    read(&mut growing, &mut reading, &mut classes);
    std::fs::rename(&log, folder.join("slow.log.1")).expect("it is rotated");
    server.ask("FLUSH SLOW LOGS;");
    server.ask(&format!("USE site; {}", questions(10)));
    until_written(&log, "IN (9, 7);\n").await;
    read(&mut growing, &mut reading, &mut classes);
    assert!(growing.turn_over().expect("the new one is there"));
    read(&mut growing, &mut reading, &mut classes);
    reading.end(&mut |query| classes.take(query));
    for expected in [SELECT, DELETE] {
        assert_eq!(count(&classes, |class| class.fingerprint == expected), 30, "{expected}");
    }
    assert_eq!(reading.faults().unread, 0, "{:?}", reading.faults());
    let ranked = classes.ranked();
    let select = ranked.iter().find(|class| class.fingerprint == SELECT).expect("it is there");
    assert_eq!(select.databases.names, ["site"]);
    assert!(select.example.plan.contains("posts"), "{}", select.example.plan);
}

/// The log with all that `log_slow_extra` adds, on a connection that stays while it is rotated.
#[tokio::test]
async fn a_mysql_writes_its_log_and_it_is_read_while_it_grows_and_is_rotated() {
    let Some(server) = mysql::Server::start(&[]).await else { return };
    let off = watch(&server.address("root", ""), true, std::future::ready(())).await;
    let told = off.expect_err("nothing is counted unless it is asked for").to_string();
    assert!(told.contains("performance_schema = ON"), "{told}");
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("slow.log");
    server
        .ask(&format!(
            "USE site; {TABLE} SET GLOBAL slow_query_log_file = '{}'; \
             SET GLOBAL long_query_time = 0; SET GLOBAL log_slow_extra = ON; \
             SET GLOBAL slow_query_log = 1;",
            log.display()
        ))
        .await;
    server.ask(&format!("USE site; {}", questions(20))).await;
    let (mut classes, mut reading) = (Classes::default(), Reading::default());
    let mut growing = Growing::open(&log).expect("the log is there");
    read(&mut growing, &mut reading, &mut classes);
    std::fs::rename(&log, folder.path().join("slow.log.1")).expect("it is rotated");
    server.ask("FLUSH SLOW LOGS;").await;
    let sorted = "SELECT topic, COUNT(*) FROM posts GROUP BY topic ORDER BY COUNT(*);";
    server.ask(&format!("USE site; {} {sorted}", questions(10))).await;
    until_written(&log, &format!("{sorted}\n")).await;
    read(&mut growing, &mut reading, &mut classes);
    assert!(growing.turn_over().expect("the new one is there"));
    read(&mut growing, &mut reading, &mut classes);
    reading.end(&mut |query| classes.take(query));
    for expected in [SELECT, DELETE] {
        assert_eq!(count(&classes, |class| class.fingerprint == expected), 30, "{expected}");
    }
    assert_eq!(reading.faults().unread, 0, "{:?}", reading.faults());
    let ranked = classes.ranked();
    let select = ranked.iter().find(|class| class.fingerprint == SELECT).expect("it is there");
    assert_eq!(select.users.names, ["root"]);
    assert!(select.marks.full_scan && !select.marks.temporary, "{:?}", select.marks);
    let grouped = ranked.iter().find(|class| class.fingerprint.contains("group by"));
    let marks = grouped.expect("it is there").marks;
    assert!(marks.temporary && marks.sort, "{marks:?}");
}

#[tokio::test]
async fn a_mysql_is_asked_what_it_counted() {
    let Some(server) = mysql::Server::start(&["--performance-schema=ON"]).await else { return };
    server.ask(&format!("USE site; {TABLE} {}", questions(5))).await;
    let ran = async { drop(server.ask(&format!("USE site; {}", questions(20))).await) };
    let watched = watch(&server.address("root", ""), true, ran).await.expect("digests");
    let is_select = |class: &Class| class.fingerprint.contains("`topic` = ?");
    assert_eq!(count(&watched.classes, is_select), 20, "{:?}", watched.classes.ranked());
    let ranked = watched.classes.ranked();
    let select = ranked.iter().find(|class| is_select(class)).expect("it is there");
    assert_eq!(select.databases.names, ["site"]);
    let denied = watch(&server.address("app", "app"), true, std::future::ready(())).await;
    assert!(matches!(denied, Err(DigestError::Denied)), "{denied:?}");
    server
        .ask(
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' \
             WHERE NAME = 'statements_digest';",
        )
        .await;
    let off = watch(&server.address("root", ""), true, std::future::ready(())).await;
    assert!(matches!(off, Err(DigestError::NoConsumer)), "{off:?}");
}

#[tokio::test]
async fn a_mariadb_is_asked_what_it_counted() {
    let Some(server) = mariadb::Server::start(&["--performance-schema=ON"]) else { return };
    server.ask(&format!("USE site; {TABLE} {}", questions(5)));
    let ran = async { drop(server.ask(&format!("USE site; {}", questions(20)))) };
    let watched = watch(&server.address("root", ""), true, ran).await.expect("digests");
    let selects = count(&watched.classes, |class| class.fingerprint.contains("`topic` = ?"));
    assert_eq!(selects, 20, "what ran before is not in it");
    assert!(!watched.was_reset);
    let denied = watch(&server.address("app", "app"), true, std::future::ready(())).await;
    assert!(matches!(denied, Err(DigestError::Denied)), "{denied:?}");
    server.ask("UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest';");
    let off = watch(&server.address("root", ""), true, std::future::ready(())).await;
    assert!(matches!(off, Err(DigestError::NoConsumer)), "{off:?}");
}

#[tokio::test]
async fn a_postgresql_is_asked_what_it_counted() {
    let settings = ["shared_preload_libraries=pg_stat_statements"];
    let Some(server) = postgres::Server::start(&settings) else { return };
    let off = watch(&server.wick(), false, std::future::ready(())).await;
    let told = off.expect_err("it wasn't created").to_string();
    assert!(told.contains("CREATE EXTENSION pg_stat_statements"), "{told}");
    server.administer_site("CREATE EXTENSION pg_stat_statements;");
    server.ask(&format!("{TABLE} {}", questions(5)));
    let ran = async { drop(server.ask(&questions(20))) };
    server.administer_site("GRANT pg_read_all_stats TO wick;");
    let watched = watch(&server.wick(), false, ran).await.expect("statements");
    for expected in [SELECT, DELETE] {
        let found = count(&watched.classes, |class| class.fingerprint == expected);
        assert_eq!(found, 20, "{expected}: {:?}", watched.classes.ranked());
    }
}

/// A report of these statements, each a second long.
fn report(dialect: Dialect, statements: &[&str]) -> (Classes, Vec<Row>) {
    let mut classes = Classes::default();
    for statement in statements {
        let mut query = Query::new(statement.as_bytes(), dialect);
        query.nanoseconds = 1_000_000_000;
        classes.take(&query);
    }
    let wanted = Wanted { top: 10, literals: false };
    let report = Report::of(&classes, &Faults::default(), wanted);
    (classes, report.top)
}

fn statements(advice: &[Advice], confidence: &str) -> Vec<String> {
    let wanted = advice.iter().filter(|one| one.confidence.starts_with(confidence));
    let mut all: Vec<_> = wanted.map(|one| one.statement.clone()).collect();
    all.sort();
    all
}

/// Two that want an index, one that has its own, and one that none would help.
const WISHES: &[&str] = &[
    "SELECT title FROM posts WHERE topic = 5 AND member > 3",
    "SELECT id FROM posts WHERE member = 7 ORDER BY id DESC LIMIT 5",
    "SELECT title FROM posts WHERE id = 5",
    "SELECT title FROM posts WHERE state = 1",
    "INSERT INTO posts (id) VALUES (1)",
];

#[tokio::test]
async fn a_mariadb_advises_what_its_own_planner_gains_by() {
    let Some(server) = mariadb::Server::start(&["--performance-schema=ON"]) else { return };
    server.ask(
        "USE site; CREATE TABLE posts (id INT PRIMARY KEY, topic INT, member INT, state INT, \
         title TEXT, KEY idle (state, member)); \
         INSERT INTO posts SELECT seq, seq % 100, seq % 300, seq % 2, 'x' FROM seq_1_to_3000; \
         ANALYZE TABLE posts; SELECT id FROM posts WHERE id = 3;",
    );
    let (classes, rows) = report(Dialect::MySql, WISHES);
    // A count of all rows would use the index that nobody else does.
    let state = "SHOW CREATE TABLE site.posts; SELECT SUM(topic) FROM site.posts;";
    let before = server.ask(state);
    let (advice, notes) =
        advise(&server.address("root", ""), true, &classes, &rows).await.expect("advice");
    assert_eq!(
        statements(&advice, "verified"),
        [
            "CREATE INDEX `posts_member_id` ON `posts` (`member`, `id`)",
            "CREATE INDEX `posts_topic_member` ON `posts` (`topic`, `member`)",
        ],
        "{advice:?} {notes:?}"
    );
    assert_eq!(statements(&advice, "unused"), ["DROP INDEX `idle` ON `posts`"], "{notes:?}");
    assert_eq!(server.ask(state), before, "nothing is changed");
    for one in advice.iter().filter(|one| one.confidence.starts_with("verified")) {
        server.ask(&format!("USE site; {}; {};", one.statement, one.revert));
    }
}

#[tokio::test]
async fn a_mysql_advises_what_its_own_planner_gains_by() {
    let Some(server) = mysql::Server::start(&["--performance-schema=ON"]).await else { return };
    server
        .ask(
            "USE site; CREATE TABLE posts (id INT PRIMARY KEY, topic INT, member INT, state INT, \
             title TEXT, KEY idle (state, member)); SET SESSION cte_max_recursion_depth = 3000; \
             INSERT INTO posts WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s \
             WHERE n < 3000) SELECT n, n % 100, n % 300, n % 2, 'x' FROM s; ANALYZE TABLE posts; \
             SELECT id FROM posts WHERE id = 3;",
        )
        .await;
    let (classes, rows) = report(Dialect::MySql, WISHES);
    // A count of all rows would use the index that nobody else does.
    let state = ["SHOW CREATE TABLE site.posts;", "SELECT SUM(topic) FROM site.posts;"];
    let before = [server.ask(state[0]).await, server.ask(state[1]).await];
    let (advice, notes) =
        advise(&server.address("root", ""), true, &classes, &rows).await.expect("advice");
    assert_eq!(
        statements(&advice, "verified"),
        [
            "CREATE INDEX `posts_member_id` ON `posts` (`member`, `id`)",
            "CREATE INDEX `posts_topic_member` ON `posts` (`topic`, `member`)",
        ],
        "{advice:?} {notes:?}"
    );
    assert_eq!(statements(&advice, "unused"), ["DROP INDEX `idle` ON `posts`"], "{notes:?}");
    let after = [server.ask(state[0]).await, server.ask(state[1]).await];
    assert_eq!(after, before, "nothing is changed");
    for one in advice.iter().filter(|one| one.confidence.starts_with("verified")) {
        server.ask(&format!("USE site; {}; {};", one.statement, one.revert)).await;
    }
}

#[tokio::test]
async fn a_postgresql_advises_and_says_what_it_could_not_verify() {
    let Some(server) = postgres::Server::start(&[]) else { return };
    server.ask(
        "CREATE TABLE posts (id INT PRIMARY KEY, topic INT, member INT, state INT, title TEXT); \
         INSERT INTO posts SELECT g, g % 100, g % 300, g % 2, 'x' FROM generate_series(1, 3000) g; \
         ANALYZE posts;",
    );
    let (classes, rows) = report(Dialect::Postgres, WISHES);
    let site = server.address("app", "app");
    let (advice, notes) = advise(&site, false, &classes, &rows).await.expect("advice");
    let expected = [
        "CREATE INDEX CONCURRENTLY \"posts_member_id\" ON \"posts\" (\"member\", \"id\")",
        "CREATE INDEX CONCURRENTLY \"posts_topic_member\" ON \"posts\" (\"topic\", \"member\")",
    ];
    assert_eq!(statements(&advice, "unverified"), expected, "{advice:?} {notes:?}");
    let has_hypopg = "SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg';";
    if server.administer_site(has_hypopg) == "1" {
        server.administer_site("CREATE EXTENSION hypopg;");
        let (advice, notes) = advise(&site, false, &classes, &rows).await.expect("advice");
        assert_eq!(statements(&advice, "verified"), expected, "{advice:?} {notes:?}");
    } else {
        eprintln!("\n*** hypopg is missing: NO INDEX IS TRIED ON POSTGRESQL ***\n");
    }
    assert_eq!(server.ask("SELECT count(*) FROM pg_indexes WHERE tablename = 'posts';"), "1");
}

/// The rows of a topic are its oldest, which the planner doesn't know: it walks by the order that is
/// wanted, through all rows, since it hopes to have found enough soon.
#[tokio::test]
async fn an_index_that_is_there_and_not_taken_is_a_dated_exception() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(
        "USE site; CREATE TABLE posts (id INT PRIMARY KEY, topic INT, created INT, title TEXT, \
         INDEX topic (topic), INDEX created (created)); \
         INSERT INTO posts SELECT seq, IF(seq <= 2000, 1, 1 + seq % 9), seq, REPEAT('t', 200) \
         FROM seq_1_to_20000; \
         UPDATE posts SET topic = 2 WHERE id > 2000 AND topic = 1; ANALYZE TABLE posts;",
    );
    let statement = "SELECT id, title FROM posts WHERE topic = 1 ORDER BY created DESC LIMIT 20";
    let advised = |examined: u64| {
        let mut classes = Classes::default();
        let mut query = Query::new(statement.as_bytes(), Dialect::MySql);
        (query.nanoseconds, query.rows_examined, query.database) =
            (9_000_000, examined, &b"site"[..]);
        classes.take(&query);
        let report = Report::of(&classes, &Faults::default(), Wanted { top: 9, literals: false });
        let address = server.address("root", "");
        async move { advise(&address, true, &classes, &report.top).await.expect("advice").0 }
    };
    let all = advised(18_020).await;
    let hint = all.iter().find(|one| one.statement.contains("FORCE INDEX")).expect("a hint");
    assert!(
        hint.statement.contains("from posts FORCE INDEX (`topic`) where topic = ?"),
        "{}",
        hint.statement
    );
    assert!(hint.why.contains("`created`"), "{}", hint.why);
    assert!(hint.confidence.contains("look again on 2"), "{}", hint.confidence);
    // Where the log shows that the walk soon found enough the planner was right.
    let all = advised(600).await;
    assert!(!all.iter().any(|one| one.statement.contains("FORCE INDEX")), "{all:?}");
}
