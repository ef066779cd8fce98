//! Indexes of a `sphinx.conf` whose sources are a file of SQLite, asked over SphinxQL.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use search::Limits;
use search::sphinx::{Catalogue, Door, Figures, Filling, Protocol, State, Wishes, conf, try_out};
use tempfile::TempDir;

use crate::clients;

/// So long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
CREATE TABLE posts (id INTEGER PRIMARY KEY, forum INT, at REAL, title TEXT, text TEXT, gone INT);
CREATE TABLE tags (post INT, tag INT);
CREATE TABLE notes (post INT, note TEXT);
CREATE TABLE counter (last INT, done INT);
INSERT INTO counter VALUES (0, 0);
INSERT INTO posts VALUES
  (1, 3, 1.5, 'first light', '<p>a lamp burns</p>', 0), (2, 3, 2.5, 'oil', 'little oil', 0),
  (7, 4, 0.5, 'wick', 'a wick in a lamp', 0), (1200, 4, 9, 'far', 'a lamp far away', 0);
INSERT INTO tags VALUES (1, 10), (1, 20), (7, 20), (99, 5);
INSERT INTO notes VALUES (1, 'bright'), (2, 'golden'), (1, 'quiet');";

const CONF: &str = "
source base
{
    type = sqlite
    sql_db = FILE
}
source main : base
{
    sql_query_pre = UPDATE counter SET last = (SELECT MAX(id) FROM posts)
    sql_query_range = SELECT MIN(id), MAX(id) FROM posts
    sql_range_step = 500
    sql_query = SELECT id, forum, at, title, text FROM posts WHERE id >= $start AND id <= $end \\
        AND id <= (SELECT last FROM counter)
    sql_attr_uint = forum
    sql_attr_float = at
    sql_field_string = title
    sql_attr_multi = uint tags from query; SELECT post, tag FROM tags
    sql_joined_field = notes from query; SELECT post, note FROM notes ORDER BY post
    sql_query_post_index = UPDATE counter SET done = $maxid
}
source delta : main
{
    sql_query_pre =
    sql_query_range =
    sql_query = SELECT id, forum, at, title, text FROM posts WHERE id > (SELECT last FROM counter)
    sql_query_killlist = SELECT id FROM posts WHERE gone = 1
    sql_query_post_index =
}
index main
{
    source = main
    html_strip = 1
}
index delta : main
{
    source = delta
}
index board
{
    type = distributed
    local = main
    local = delta
}
index live
{
    type = rt
    rt_field = title
}
";

/// Indexes that are kept, and a port.
pub(crate) struct Kept {
    pub(crate) filling: Filling,
    door: Door,
    catalogue: Arc<Catalogue>,
}

impl Kept {
    pub(crate) fn begin(folder: &TempDir, wishes: Wishes) -> Self {
        let tables = folder.path().join("tables");
        std::fs::create_dir_all(&tables).expect("a folder");
        let catalogue = Arc::new(Catalogue::new(tables, Limits::default(), None));
        let filling = Filling::begin(wishes, catalogue.clone()).expect("it begins");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let figures = Arc::<Figures>::default();
        let door = Door::open(listener, Protocol::MySql, catalogue.clone(), figures);
        Self { filling, door: door.expect("a port"), catalogue }
    }

    fn find(&self, statement: &str) -> Result<BTreeSet<u64>, String> {
        clients::sql(self.door.address().port(), statement)
    }

    /// Waits until a statement finds these ids.
    #[track_caller]
    pub(crate) fn until(&self, statement: &str, expected: &[u64]) {
        let expected = Ok(expected.iter().copied().collect());
        let begun = Instant::now();
        loop {
            let found = self.find(statement);
            if found == expected {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{statement}: {found:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn state(&self, index: &str) -> State {
        let all = self.filling.status();
        all.into_iter().find(|status| status.name == index).expect("it is there").state
    }

    pub(crate) fn end(mut self) {
        self.door.close();
        self.filling.end();
        self.catalogue.close();
    }
}

/// A database, its connection, and wishes that are never due by themselves.
fn site() -> (TempDir, Connection, Wishes) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("site.db");
    let database = Connection::open(&file).expect("a database");
    database.execute_batch(SCHEMA).expect("tables");
    let text = CONF.replace("FILE", &file.display().to_string());
    let wishes = Wishes {
        folder: folder.path().join("indexes"),
        conf: conf::read(&text).expect("it is read"),
        every: Duration::from_secs(3600),
        limits: Limits::default(),
        morphemes: None,
    };
    (folder, database, wishes)
}

#[test]
fn sources_are_read_as_indexer_reads_them() {
    let (folder, database, wishes) = site();
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM main WHERE MATCH('lamp')", &[1, 7, 1200]);
    for (statement, expected) in [
        ("SELECT id FROM main WHERE MATCH('@title light')", &[1][..]),
        // Tags of HTML are none of the text.
        ("SELECT id FROM main WHERE MATCH('p')", &[]),
        ("SELECT id FROM main WHERE MATCH('lamp') AND forum = 4", &[7, 1200]),
        ("SELECT id FROM main WHERE tags = 20", &[1, 7]),
        ("SELECT id FROM main WHERE tags IN (10, 5)", &[1]),
        ("SELECT id FROM main WHERE at > 2", &[2, 1200]),
        ("SELECT id FROM main WHERE title = 'oil'", &[2]),
        ("SELECT id FROM main WHERE MATCH('@notes quiet')", &[1]),
        ("SELECT id FROM main WHERE MATCH('@notes golden')", &[2]),
        ("SELECT id FROM board WHERE MATCH('lamp')", &[1, 7, 1200]),
    ] {
        kept.until(statement, expected);
    }
    let done: i64 = database.query_row("SELECT done FROM counter", [], |row| row.get(0)).unwrap();
    assert_eq!(done, 1200, "$maxid");
    kept.end();
}

#[test]
fn a_delta_shows_what_is_new_and_hides_what_is_gone() {
    let (folder, database, wishes) = site();
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM board WHERE MATCH('lamp')", &[1, 7, 1200]);
    database
        .execute_batch(
            "INSERT INTO posts VALUES (1300, 3, 1, 'new', 'another lamp', 0); \
             UPDATE posts SET gone = 1 WHERE id = 7",
        )
        .expect("changes");
    // Only the delta is due, so that the main index stays as it was.
    let mut only = wishes.clone();
    only.conf.indexes.retain(|index| index.name != "main" && index.name != "board");
    kept.end();
    let delta = Kept::begin(&folder, only.clone());
    delta.filling.settle(only);
    delta.until("SELECT id FROM delta WHERE MATCH('lamp')", &[1300]);
    delta.end();
    let kept = Kept::begin(&folder, wishes);
    kept.until("SELECT id FROM board WHERE MATCH('lamp')", &[1, 1200, 1300]);
    assert_eq!(
        kept.find("SELECT id FROM main WHERE MATCH('lamp')"),
        Ok([1, 7, 1200].into()),
        "alone it is whole"
    );
    kept.end();
}

#[test]
fn what_was_made_is_found_at_once_and_while_the_database_is_away() {
    let (folder, _database, wishes) = site();
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM board WHERE MATCH('lamp')", &[1, 7, 1200]);
    kept.find("INSERT INTO live (id, title) VALUES (5, 'lamp')").expect("it is put");
    kept.end();
    let (file, away) = (folder.path().join("site.db"), folder.path().join("away.db"));
    std::fs::rename(&file, &away).expect("it is ours");
    let kept = Kept::begin(&folder, wishes.clone());
    let found = kept.find("SELECT id FROM board WHERE MATCH('lamp')");
    assert_eq!(found, Ok([1, 7, 1200].into()), "at once");
    assert_eq!(kept.find("SELECT id FROM live WHERE MATCH('lamp')"), Ok([5].into()));
    kept.filling.settle(wishes.clone());
    let begun = Instant::now();
    while !matches!(kept.state("main"), State::Trouble(why) if why.contains("away")) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", kept.state("main"));
        std::thread::sleep(Duration::from_millis(5));
    }
    let found = kept.find("SELECT id FROM board WHERE MATCH('lamp')");
    assert_eq!(found, Ok([1, 7, 1200].into()), "as it was");
    let database = Connection::open(&away).expect("it is there");
    database.execute_batch("UPDATE posts SET text = 'dark' WHERE id = 1").expect("a change");
    drop(database);
    std::fs::rename(&away, &file).expect("it is ours");
    kept.until("SELECT id FROM board WHERE MATCH('lamp')", &[7, 1200]);
    kept.end();
}

#[test]
fn what_clients_change_while_an_index_is_made_is_changed_in_that_too() {
    let (folder, database, wishes) = site();
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM delta", &[]);
    database
        .execute_batch("BEGIN EXCLUSIVE; UPDATE posts SET text = 'dark' WHERE id = 2")
        .expect("a lock");
    kept.filling.settle(wishes);
    let begun = Instant::now();
    // It waits for the lock.
    while kept.state("main") != State::Making {
        assert!(begun.elapsed() < PATIENCE, "{:?}", kept.state("main"));
        std::thread::sleep(Duration::from_millis(1));
    }
    kept.find("UPDATE main SET forum = 77 WHERE id = 1").expect("it is changed");
    database.execute_batch("COMMIT").expect("it is released");
    kept.until("SELECT id FROM main WHERE MATCH('dark')", &[2]);
    kept.until("SELECT id FROM main WHERE forum = 77", &[1]);
    kept.end();
}

#[test]
fn what_is_damaged_is_made_anew_without_a_hand() {
    let (folder, _database, wishes) = site();
    let lamp = "SELECT id FROM board WHERE MATCH('lamp')";
    let making = folder.path().join("indexes/main");
    for broken in ["1/index/terms/meta.json", "1/layout", "current"] {
        let kept = Kept::begin(&folder, wishes.clone());
        kept.until(lamp, &[1, 7, 1200]);
        kept.end();
        let path = making.join(broken);
        // Another making may have another number by now.
        let path = if path.exists() { path } else { making.join("current") };
        std::fs::write(&path, b"\0odd").expect("it is ours");
    }
    // As whoever is killed in a making leaves it.
    std::fs::create_dir_all(making.join("9/index")).expect("it is ours");
    std::fs::write(making.join("unfinished"), b"").expect("it is ours");
    let kept = Kept::begin(&folder, wishes);
    kept.until(lamp, &[1, 7, 1200]);
    kept.end();
    assert!(!making.join("9").exists(), "it is cleared away");
}

#[test]
fn other_settings_take_the_place_of_those_before() {
    let (folder, _database, wishes) = site();
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM main WHERE MATCH('lamp')", &[1, 7, 1200]);
    let mut other = wishes;
    other.conf.sources.retain(|source| source.name == "main");
    other.conf.indexes.retain(|index| index.name == "main");
    other.conf.sources[0].query = "SELECT id, forum, at, title, text FROM posts WHERE id < 5 AND \
                                   $start <= $end"
        .to_owned();
    kept.filling.settle(other);
    kept.until("SELECT id FROM main WHERE MATCH('lamp')", &[1]);
    let gone = kept.find("SELECT id FROM delta").expect_err("it is gone");
    assert!(gone.contains("unknown local index 'delta'"), "{gone}");
    kept.end();
}

#[test]
fn sources_are_tried_without_changing_anything() {
    let (_folder, database, mut wishes) = site();
    wishes.conf.sources[1].query = "SELECT x FROM nowhere".to_owned();
    let tried = try_out(&wishes.conf);
    let found = tried[0].told.as_ref().expect("it answers");
    assert_eq!((found.range, found.steps), (Some((1, 1200)), 3));
    // The counter says that nothing is indexed yet.
    assert_eq!((found.rows, found.is_at_least), (0, false));
    assert_eq!(found.fields, ["title", "text", "notes"]);
    assert_eq!(found.attributes, ["forum", "at", "title", "tags"]);
    let told = tried[1].told.as_ref().expect_err("it is wrong");
    assert!(told.contains("no such table: nowhere"), "{told}");
    let last: i64 = database.query_row("SELECT last FROM counter", [], |row| row.get(0)).unwrap();
    assert_eq!(last, 0, "it was not counted");
}
