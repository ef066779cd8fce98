//! Clients of Sphinx's, whose server Wick is now: a board's own `sphinx.conf`, its database, and
//! what the board asks.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::database::{Database, PASSWORD};
use crate::serving::{Serving, end, upgrade};
use crate::sphinx_clients::{Query, api, sql};
use crate::wick::{Wick, open_folder, until};

/// As phpBB writes it, for a socket: the delta has what came or changed since the main index.
const CONF: &str = "
source source_phpbb_7_main
{
    type = mysql # mysql or pgsql
    sql_host = localhost
    sql_user = app
    sql_pass = PASSWORD
    sql_db = site
    sql_sock = SOCKET
    sql_query_pre = SET NAMES 'utf8'
    sql_query_pre = UPDATE phpbb_sphinx SET max_doc_id = (SELECT MAX(post_id) FROM phpbb_posts) \\
        WHERE counter_id = 1
    sql_query_range = SELECT MIN(post_id), MAX(post_id) FROM phpbb_posts
    sql_range_step = 50
    sql_query = SELECT \\
            p.post_id AS id, \\
            p.forum_id, \\
            p.topic_id, \\
            p.poster_id, \\
            CASE WHEN p.post_id = t.topic_first_post_id THEN 1 ELSE 0 END as topic_first_post, \\
            p.post_time, \\
            p.post_subject, \\
            p.post_subject as title, \\
            p.post_text as data, \\
            0 as deleted \\
        FROM phpbb_posts p, phpbb_topics t \\
        WHERE p.topic_id = t.topic_id AND p.post_id >= $start AND p.post_id <= $end
    sql_query_post_index = UPDATE phpbb_sphinx SET max_doc_id = $maxid WHERE counter_id = 1
    sql_attr_uint = forum_id
    sql_attr_uint = topic_id
    sql_attr_uint = poster_id
    sql_attr_bool = topic_first_post
    sql_attr_bool = deleted
    sql_attr_timestamp = post_time
    sql_attr_string = post_subject
}
source source_phpbb_7_delta : source_phpbb_7_main
{
    sql_query_pre = SET NAMES 'utf8'
    sql_query_range =
    sql_range_step =
    sql_query = SELECT p.post_id AS id, p.forum_id, p.topic_id, p.poster_id, \\
            CASE WHEN p.post_id = t.topic_first_post_id THEN 1 ELSE 0 END as topic_first_post, \\
            p.post_time, p.post_subject, p.post_subject as title, p.post_text as data, \\
            0 as deleted \\
        FROM phpbb_posts p, phpbb_topics t \\
        WHERE p.topic_id = t.topic_id AND (p.post_edited = 1 \\
            OR p.post_id > (SELECT max_doc_id FROM phpbb_sphinx WHERE counter_id = 1))
    sql_query_killlist = SELECT post_id FROM phpbb_posts WHERE post_edited = 1
    sql_query_post_index =
}
index index_phpbb_7_main
{
    path = /var/lib/sphinx/index_phpbb_7_main
    source = source_phpbb_7_main
    docinfo = extern
    morphology = none
    min_word_len = 2
    charset_table = U+FF10..U+FF19->0..9, 0..9, A..Z->a..z, _, a..z
    ignore_chars = U+0027, U+002C
    blend_chars = U+23, U+24
    min_prefix_len = 3
    html_strip = 1
}
index index_phpbb_7_delta : index_phpbb_7_main
{
    path = /var/lib/sphinx/index_phpbb_7_delta
    source = source_phpbb_7_delta
}
index board
{
    type = distributed
    local = index_phpbb_7_main
    local = index_phpbb_7_delta
}
indexer
{
    mem_limit = 512M
}
searchd
{
    listen = 9312
    max_matches = 20000
}
";

/// 120 posts of 12 topics in three forums; a word tells what number a post's is divided by.
fn schema() -> String {
    let mut text = "USE site; CREATE TABLE phpbb_sphinx (counter_id INT PRIMARY KEY, \
        max_doc_id INT NOT NULL); INSERT INTO phpbb_sphinx VALUES (1, 0); \
        CREATE TABLE phpbb_topics (topic_id INT PRIMARY KEY, topic_first_post_id INT); \
        CREATE TABLE phpbb_posts (post_id INT PRIMARY KEY, forum_id INT, topic_id INT, \
        poster_id INT, post_time INT, post_subject VARCHAR(255), post_text MEDIUMTEXT, \
        post_edited INT NOT NULL DEFAULT 0) DEFAULT CHARSET utf8mb4;"
        .to_owned();
    for topic in 0..12 {
        text += &format!("INSERT INTO phpbb_topics VALUES ({}, {});", topic + 1, topic * 10 + 1);
    }
    for post in 1..=120 {
        text += &format!("INSERT INTO phpbb_posts VALUES {};", row(post, ""));
    }
    text
}

fn row(post: u32, more: &str) -> String {
    let (topic, forum) = ((post - 1) / 10 + 1, (post - 1) / 40 + 1);
    let mut words = String::from("<b>lamp</b> oil");
    for (number, word) in [(2, "even"), (3, "third"), (5, "fifth"), (7, "스핑크스")] {
        if post.is_multiple_of(number) {
            words += &format!(" {word}");
        }
    }
    let time = 1_600_000_000 + post;
    format!(
        "({post}, {forum}, {topic}, {}, {time}, 'Re: topic {topic}', '{words} {more}', 0)",
        post % 4
    )
}

/// What a board asks, and what fits.
fn expected(fits: impl Fn(u32) -> bool) -> BTreeSet<u64> {
    (1..=120).filter(|post| fits(*post)).map(u64::from).collect()
}

fn asked(text: &str) -> Query {
    // Extended, by time, from the delta and the main index, as phpBB asks.
    let indexes = "index_phpbb_7_delta;index_phpbb_7_main";
    Query { text: text.to_owned(), indexes, mode: 4, sort: (1, "post_time"), ..Query::default() }
}

/// A Wick with nothing but this, and where it is.
struct Board {
    wick: Wick,
    api: u16,
    sql: u16,
    state: String,
}

impl Board {
    fn serve(config: &str, folder: &TempDir) -> Self {
        let mut wick = Wick::run(&["serve", "--config", config, "--threads", "1"]);
        let mut port = || {
            let line = wick.line("  sphinx    127.0.0.1:");
            let port = line.rsplit(':').next().expect("a port").trim_end_matches(" (SphinxQL)");
            port.parse().expect("a port")
        };
        let (api, sql) = (port(), port());
        wick.line("Ctrl-C stops it.");
        Self { wick, api, sql, state: state_of(folder) }
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let ended = Wick::run(&[arguments, &["--state", &self.state]].concat()).end();
        assert_eq!(ended.told(), "0 ", "{arguments:?}");
        ended.output
    }

    #[track_caller]
    fn until(&self, statement: &str, expected: &[u64]) {
        let expected = Ok(expected.iter().copied().collect());
        let mut found = Err(String::new());
        let bound = std::time::Instant::now() + crate::wick::PATIENCE;
        while found != expected {
            assert!(std::time::Instant::now() < bound, "{statement}: {found:?}, not {expected:?}");
            found = sql(self.sql, statement);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

fn state_of(folder: &TempDir) -> String {
    folder.path().join("state").display().to_string()
}

fn settings(folder: &TempDir, conf: &str) -> String {
    let path = folder.path().join("sphinx.conf");
    fs::write(&path, conf).expect("it is our folder");
    // A password is in it.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let text = format!(
        "state = \"{}\"\nadmin = \"off\"\n[sphinx]\nconf = \"{}\"\n\
         listen = [\"127.0.0.1:0\", \"127.0.0.1:0:mysql41\"]\nevery = \"1s\"\n",
        state_of(folder),
        path.display()
    );
    let config = folder.path().join("wick.toml");
    fs::write(&config, text).expect("it is our folder");
    config.display().to_string()
}

#[test]
fn a_stranded_board_goes_on_with_its_own_settings() {
    let Some(database) = Database::start("") else { return };
    database.ask(&schema());
    let folder = open_folder();
    let conf = CONF.replace("SOCKET", &database.socket().display().to_string());
    let config = settings(&folder, &conf.replace("PASSWORD", PASSWORD));

    let checked = Wick::run(&["check", "--config", &config]).end();
    assert_eq!(checked.told(), "0 ", "{}", checked.output);
    for said in [
        "index     index_phpbb_7_main: plain of source_phpbb_7_main",
        "index     board: distributed of index_phpbb_7_main, index_phpbb_7_delta",
        "blend_chars: these separate words",
        "source_phpbb_7_main: ids 1 to 120 in 3 steps, 50 rows in the first; fields title, data; \
         attributes forum_id, topic_id,",
    ] {
        assert!(checked.output.contains(said), "{said}: {}", checked.output);
    }
    assert!(!checked.output.contains(PASSWORD));

    let board = Board::serve(&config, &folder);
    board.until(
        "SELECT id FROM board WHERE MATCH('fifth third')",
        &[15, 30, 45, 60, 75, 90, 105, 120],
    );
    for (query, wanted) in [
        (asked("even third"), expected(|post| post % 6 == 0)),
        (asked("third | fifth"), expected(|post| post % 3 == 0 || post % 5 == 0)),
        (asked("lamp -even"), expected(|post| post % 2 == 1)),
        (asked("\"oil even\""), expected(|post| post % 2 == 0)),
        (asked("fif*"), expected(|post| post % 5 == 0)),
        (asked("스핑크스"), expected(|post| post % 7 == 0)),
        (asked("@title 3"), expected(|post| (21..=30).contains(&post))),
        (
            Query { filters: vec![("forum_id", vec![2, 3], false)], ..asked("third") },
            expected(|post| post % 3 == 0 && post > 40),
        ),
        (
            Query { filters: vec![("poster_id", vec![1], true)], ..asked("fifth") },
            expected(|post| post % 5 == 0 && post % 4 != 1),
        ),
        (
            Query { range: Some(("post_time", 1_600_000_010, 1_600_000_030)), ..asked("third") },
            expected(|post| post % 3 == 0 && (10..=30).contains(&post)),
        ),
        (Query { group: "topic_id", ..asked("스핑크스 fifth") }, [4, 7, 11].into()),
    ] {
        assert_eq!(api(board.api, &query), Ok(wanted), "{query:?}");
    }
    if let Some(told) = by_mysql(board.sql) {
        assert!(told.starts_with("35\n70\n105\ntotal\t3\ntotal_found\t3\n"), "{told}");
    }

    database.ask(
        "USE site; INSERT INTO phpbb_posts VALUES (121, 1, 1, 1, 1, 'new', 'fresh fifth', 0); \
         UPDATE phpbb_posts SET post_text = 'third no more', post_edited = 1 WHERE post_id = 15",
    );
    // By itself, within `every`.
    board.until("SELECT id FROM board WHERE MATCH('fresh')", &[121]);
    board.until("SELECT id FROM board WHERE MATCH('fifth third')", &[30, 45, 60, 75, 90, 105, 120]);

    goes_on_without_its_database(board, &database, &config, &folder);
}

/// The database is killed, then Wick is; what is known is found, and what is new when it is back.
fn goes_on_without_its_database(board: Board, database: &Database, config: &str, folder: &TempDir) {
    let (own, away) = (database.folder.path().join("my.cnf"), database.folder.path().join("away"));
    fs::rename(&own, &away).expect("it is our folder");
    let server = fs::read_to_string(database.folder.path().join("mysqld.pid")).expect("it runs");
    assert!(
        Command::new("kill").args(["-KILL", server.trim()]).status().expect("kill runs").success()
    );
    until("the database to be missed", || board.ask(&["sphinx", "status"]).contains("is away"));
    board.until("SELECT id FROM board WHERE MATCH('fresh')", &[121]);
    board.wick.signal(Signal::KILL);
    drop(board.wick.end());

    let board = Board::serve(config, folder);
    assert_eq!(sql(board.sql, "SELECT id FROM board WHERE MATCH('fresh')"), Ok([121].into()));
    fs::rename(&away, &own).expect("it is our folder");
    until("the database", || database.try_ask("SELECT 1").is_ok());
    database.ask("USE site; UPDATE phpbb_posts SET post_text = 'stale' WHERE post_id = 121");
    board.ask(&["reload"]);
    board.until("SELECT id FROM board WHERE MATCH('stale')", &[121]);
    until("the main index to be made anew", || {
        let told = board.ask(&["sphinx", "status"]);
        told.split_whitespace().collect::<Vec<_>>().join(" ").contains("7_main plain, 121 doc")
    });
    let ended = board.wick.stop();
    assert!(!ended.errors.contains(PASSWORD), "{}", ended.errors);
}

/// What MySQL's own client is told; none where it isn't installed.
fn by_mysql(port: u16) -> Option<String> {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-h", "127.0.0.1", "-P", &port.to_string(), "-N", "-e"]);
    client.arg("SELECT id FROM board WHERE MATCH('스핑크스 fifth'); SHOW META");
    let output = client.output().ok()?;
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file of SQLite as the site, so that nothing else has to run.
fn small_site(folder: &TempDir) -> (PathBuf, String) {
    let file = folder.path().join("site.db");
    let database = rusqlite::Connection::open(&file).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE pages (id INT, title TEXT); INSERT INTO pages VALUES (3, 'lamp');",
        )
        .expect("a table");
    drop(database);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let conf = format!(
        "source a {{\n type = sqlite\n sql_db = {}\n sql_query = SELECT id, title FROM pages\n}}\n\
         index pages {{\n source = a\n}}\n",
        file.display()
    );
    (file, settings(folder, &conf))
}

#[test]
fn no_search_fails_while_another_wick_takes_over() {
    let folder = open_folder();
    let (_, config) = small_site(&folder);
    let board = Board::serve(&config, &folder);
    board.until("SELECT id FROM pages WHERE MATCH('lamp')", &[3]);
    let is_over = Arc::new(AtomicBool::new(false));
    let (ports, own) = ((board.sql, board.api), is_over.clone());
    let clients = std::thread::spawn(move || {
        let query = Query { text: "lamp".to_owned(), indexes: "pages", ..Query::default() };
        let mut count = 0;
        while !own.load(Ordering::Relaxed) {
            assert_eq!(sql(ports.0, "SELECT id FROM pages WHERE MATCH('lamp')"), Ok([3].into()));
            assert_eq!(api(ports.1, &query), Ok([3].into()));
            count += 1;
        }
        count
    });
    let mut serving = Serving::of(board.wick.id());
    for _ in 0..2 {
        std::mem::forget(std::mem::replace(&mut serving, upgrade(&board.state)));
        until("the next one to tell of its index", || {
            let told = board.ask(&["sphinx", "status"]);
            told.split_whitespace().collect::<Vec<_>>().join(" ").contains("pages plain, 1 doc")
        });
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(clients.join().expect("each search is answered") > 2);
    end(serving);
    drop(board.wick.end());
}

#[test]
fn what_is_wrong_with_a_sphinx_conf_is_said_where_it_is() {
    let folder = open_folder();
    let (file, config) = small_site(&folder);
    let conf = folder.path().join("sphinx.conf");
    let append = |text: &str| {
        let mut conf = fs::OpenOptions::new().append(true).open(&conf).expect("it is ours");
        conf.write_all(text.as_bytes()).expect("it is written");
    };
    append("index pages2 : pages\n{\n stopwords = /etc/words\n mispelt = 1\n}\n");
    fs::remove_file(&file).expect("it is ours");
    let told = Wick::run(&["check", "--config", &config]).end();
    assert!(told.output.contains("line 11   stopwords: stop words are indexed"), "{}", told.output);
    assert!(told.output.contains("line 12   mispelt: there is no such setting"), "{}", told.output);
    let wrong = "the source a: its database is away: unable to open database file";
    assert!(told.output.contains(wrong), "{}", told.output);
    append("index broken\n{\n type = what\n}\n");
    let told = Wick::run(&["serve", "--config", &config]).end();
    assert!(told.told().contains("in [sphinx]: conf "), "{}", told.told());
    assert!(
        told.told().contains("line 14: indexes of the type what aren't made"),
        "{}",
        told.told()
    );
}
