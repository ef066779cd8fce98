//! A tap between a real PHP and a real MariaDB: PHP sees no difference, and each change is
//! told before PHP has its answer.
//!
//! That holds for a moment that no clock is needed for: when PHP says that a line of code is
//! done, what it changed lies in the feed.

#[path = "../shared/daemon.rs"]
mod daemon;
#[path = "../shared/hearing.rs"]
mod hearing;
mod php;
#[path = "../mariadb/server.rs"]
#[expect(dead_code, reason = "it is another test's, too")]
mod server;
mod together;
mod trouble;

use std::time::Instant;

use changes::{Event, Feed, Tap};
use hearing::{WAIT, until};
use php::Php;
use server::Server;
use tempfile::TempDir;

const SETTINGS: &[&str] = &["--max-allowed-packet=64M"];

const TABLES: &str = "USE site; \
    CREATE TABLE options (id BIGINT AUTO_INCREMENT PRIMARY KEY, \
        option_name VARCHAR(191) NOT NULL UNIQUE, option_value LONGTEXT); \
    CREATE TABLE posts (id INT AUTO_INCREMENT PRIMARY KEY, title TEXT, views INT DEFAULT 0); \
    CREATE TABLE files (id INT AUTO_INCREMENT PRIMARY KEY, body LONGBLOB); \
    CREATE TABLE settings (member INT, name CHAR(30), value TEXT, PRIMARY KEY (member, name)) \
        ENGINE=MyISAM; \
    CREATE DATABASE other; CREATE TABLE other.posts (id INT PRIMARY KEY); \
    GRANT ALL ON other.* TO app@localhost; \
    \nDELIMITER //\nCREATE PROCEDURE write_twice() BEGIN UPDATE posts SET views = 7; SELECT 1; SELECT 2; END//\n\
    DELIMITER ;\n";

/// A line of code, and what is told of it.
struct Line(&'static str, &'static [&'static str]);

const NONE: &[&str] = &[];

/// A write to each table, and what leaves them as they were.
const WRITES: &str = "$w = new mysqli('localhost', 'app', 'app', 'site'); \
    $w->query('INSERT INTO options (option_name) VALUES (1)'); \
    $w->query('INSERT INTO posts (title) VALUES (1)'); \
    $w->query('INSERT INTO files (body) VALUES (1)'); \
    $w->query('INSERT INTO settings VALUES (1, 1, 1)'); \
    return $w->error;";
const CLEARANCE: &str = "\
    foreach (['options', 'posts', 'files', 'settings'] as $t) $w->query(\"TRUNCATE $t\"); \
    return $w->close();";

const MYSQLI: &[Line] = &[
    Line(
        "$m = new mysqli('localhost', 'app', 'app', 'site'); return $m->set_charset('utf8mb4');",
        NONE,
    ),
    Line(
        "$m->query(\"INSERT INTO options (option_name, option_value) VALUES ('blogname', 'A'), ('_t_5f8a1c', 'é')\"); return [$m->affected_rows, $m->insert_id];",
        &["Insert options  _t_#", "Insert options  blogname"],
    ),
    Line(
        "$m->query(\"UPDATE options SET option_value = 'A' WHERE option_name = 'blogname'\"); return $m->affected_rows;",
        NONE,
    ),
    Line(
        "$m->query(\"UPDATE options SET option_value = 'B' WHERE option_name = 'blogname'\"); return $m->info;",
        &["Update options option_value blogname"],
    ),
    Line("return $m->query('SELECT * FROM options')->fetch_all();", NONE),
    Line(
        "return $m->query('SELECT * FROM options; DELETE FROM options') . $m->error;",
        // Refused as a whole: it may have been anything.
        &["Other   ?"],
    ),
    Line(
        "$m->query(\"INSERT INTO options (option_name) VALUES ('new'), ('blogname')\"); return $m->error;",
        NONE,
    ),
    Line(
        "$m->query(\"INSERT INTO settings VALUES (1, 'a', 'x'), (1, 'a', 'y')\"); return $m->error;",
        // The first row stays, without transactions.
        &["Insert settings  #,a"],
    ),
    Line(
        "$s = $m->prepare('UPDATE options SET option_value = ? WHERE option_name = ?'); $s->bind_param('ss', $v, $n); return $s->param_count;",
        NONE,
    ),
    Line(
        "[$v, $n] = ['C', 'blogname']; $s->execute(); return $s->affected_rows;",
        &["Update options option_value blogname"],
    ),
    Line(
        "[$v, $n] = ['D', '_t_5f8a1c']; $s->execute(); return $s->affected_rows;",
        &["Update options option_value _t_#"],
    ),
    Line("[$v, $n] = ['D', 'nothing']; $s->execute(); return $s->affected_rows;", NONE),
    Line(
        "$s->close(); $s = $m->prepare('SELECT id, option_name FROM options WHERE id > ?'); $i = 0; $s->bind_param('i', $i); $s->execute(); return $s->get_result()->fetch_all();",
        NONE,
    ),
    Line(
        "$s->close(); $s = $m->prepare('SELECT option_name FROM options ORDER BY id'); $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY); $s->execute(); $s->bind_result($o); $all = []; while ($s->fetch()) $all[] = $o; return $all;",
        NONE,
    ),
    Line(
        "$s->close(); $s = $m->prepare('INSERT INTO files (body) VALUES (?)'); $b = null; $s->bind_param('b', $b); $s->send_long_data(0, str_repeat('x', 100000)); $s->send_long_data(0, 'end'); return $s->execute();",
        &["Insert files  -"],
    ),
    Line("return $m->query('SELECT LENGTH(body), MD5(body) FROM files')->fetch_all();", NONE),
    Line("$s->close(); return $m->begin_transaction();", NONE),
    Line("$m->query(\"INSERT INTO posts (title) VALUES ('One')\"); return $m->insert_id;", NONE),
    Line(
        "return $m->query(\"REPLACE INTO settings VALUES (7, 'theme', 'dark')\");",
        &["Insert settings  #,theme"],
    ),
    Line("return $m->query('SELECT title FROM posts')->fetch_all();", NONE),
    Line("return $m->commit();", &["Insert posts  -", "Insert settings  #,theme"]),
    Line(
        "$m->begin_transaction(); $m->query('UPDATE posts SET views = 1'); return $m->rollback();",
        NONE,
    ),
    Line("$m->autocommit(false); return $m->query('UPDATE posts SET views = 2');", NONE),
    Line("return $m->autocommit(true);", &["Update posts views -"]),
    Line(
        "$m->multi_query(\"SELECT 1; UPDATE posts SET views = 3; INSERT INTO posts (title) VALUES ('Two;'); SELECT 2\"); $all = []; do { $r = $m->store_result(); $all[] = $r ? $r->fetch_all() : $m->affected_rows; } while ($m->next_result()); return $all;",
        &["Update posts views -", "Insert posts  -"],
    ),
    Line(
        "$m->multi_query('CALL write_twice()'); $all = []; do { $r = $m->store_result(); $all[] = $r ? $r->fetch_all() : $m->affected_rows; } while ($m->next_result()); return $all;",
        &["Other   ?", "Other   ?", "Other   ?"],
    ),
    Line("return $m->query('CREATE TABLE made (a INT)');", &["Schema   ?"]),
    Line("return $m->query('TRUNCATE TABLE posts');", &["Other posts  ?"]),
    Line("$m->select_db('other'); return $m->query('INSERT INTO posts VALUES (1)');", NONE),
    Line(
        "$m->query('USE `site`'); return $m->query(\"INSERT INTO posts (title) VALUES ('Three') RETURNING id, title\")->fetch_all();",
        &["Insert posts  -"],
    ),
    Line("return $m->query('INSERT INTO other.posts VALUES (2)');", NONE),
    Line(
        "return [$m->ping(), strlen($m->stat()) > 0, $m->query('SELECT * FROM nothing'), $m->errno];",
        NONE,
    ),
    Line(
        "$f = tempnam('/tmp', 'tap'); file_put_contents($f, \"8\\tEight\\t0\\n9\\tNine\\t0\\n\"); $m->query(\"LOAD DATA LOCAL INFILE '$f' INTO TABLE posts\"); unlink($f); return [$m->error, $m->affected_rows];",
        &["Other   ?"],
    ),
    Line("return $m->query('SELECT * FROM posts')->fetch_all();", NONE),
    Line(
        "$x = random_bytes(64) . str_repeat('y', 20 << 20); $m->query(\"INSERT INTO files (body) VALUES ('\" . $m->real_escape_string($x) . \"')\"); return [$m->error, $m->affected_rows];",
        &["Other   ?"],
    ),
    Line(
        "return $x === $m->query('SELECT body FROM files ORDER BY id DESC LIMIT 1')->fetch_row()[0];",
        NONE,
    ),
    Line(
        "$m->change_user('app', 'app', 'other'); return $m->query('INSERT INTO posts VALUES (3)');",
        NONE,
    ),
    Line("return $m->close();", NONE),
    Line(
        "$m = new mysqli('p:localhost', 'app', 'app', 'site'); $m->begin_transaction(); $m->query('UPDATE posts SET views = 9'); return $m->close();",
        NONE,
    ),
    // The same connection again: what was open is taken back.
    Line(
        "$m = new mysqli('p:localhost', 'app', 'app', 'site'); return $m->query('SELECT SUM(views) FROM posts')->fetch_row();",
        NONE,
    ),
    Line(
        "$m->query('DELETE FROM posts WHERE id = 8'); return $m->affected_rows;",
        &["Delete posts  -"],
    ),
    Line("return (new mysqli('localhost', 'app', 'wrong', 'site'))->connect_error;", NONE),
];

const PDO: &[Line] = &[
    Line(
        "$p = new PDO('mysql:host=localhost;dbname=site;charset=utf8mb4', 'app', 'app'); return $p->exec(\"INSERT INTO options (option_name) VALUES ('blogname'), ('siteurl')\");",
        &["Insert options  blogname", "Insert options  siteurl"],
    ),
    Line(
        "$s = $p->prepare('UPDATE options SET option_value = :v WHERE option_name = :n'); return $s->execute(['v' => \"it's; \\\\ ?\", 'n' => 'blogname']);",
        &["Update options option_value blogname"],
    ),
    Line("return $p->query('SELECT * FROM options')->fetchAll(PDO::FETCH_NUM);", NONE),
    Line(
        "$p->beginTransaction(); $s->execute(['v' => '2', 'n' => 'siteurl']); return $p->inTransaction();",
        NONE,
    ),
    Line("return $p->commit();", &["Update options option_value siteurl"]),
    Line(
        "$p->beginTransaction(); $s->execute(['v' => '3', 'n' => 'siteurl']); return $p->rollBack();",
        NONE,
    ),
    Line(
        "$q = $p->query(\"SELECT 1; UPDATE posts SET views = 1; INSERT INTO posts (title) VALUES ('a')\"); $all = []; do { $all[] = $q->columnCount() ? $q->fetchAll(PDO::FETCH_NUM) : $q->rowCount(); } while ($q->nextRowset()); return $all;",
        &["Insert posts  -"],
    ),
    Line(
        "$p->setAttribute(PDO::ATTR_EMULATE_PREPARES, false); $s = $p->prepare('UPDATE options SET option_value = ? WHERE option_name = ?'); return $s->execute(['4', 'siteurl']);",
        &["Update options option_value siteurl"],
    ),
    Line(
        "$s->bindValue(1, 5, PDO::PARAM_INT); $s->bindValue(2, 'blogname'); $s->execute(); return $s->rowCount();",
        &["Update options option_value blogname"],
    ),
    Line(
        "$s->bindValue(1, null, PDO::PARAM_NULL); $s->bindValue(2, 'blogname'); $s->execute(); return $s->rowCount();",
        &["Update options option_value blogname"],
    ),
    Line(
        "$s = $p->prepare('SELECT option_name, option_value FROM options WHERE id > ?'); $s->execute([0]); return $s->fetchAll(PDO::FETCH_NUM);",
        NONE,
    ),
    Line(
        "$s = $p->prepare('CALL write_twice()'); $s->execute(); $all = []; do { if ($s->columnCount()) $all[] = $s->fetchAll(PDO::FETCH_NUM); } while ($s->nextRowset()); return $all;",
        &["Other   ?", "Other   ?", "Other   ?"],
    ),
    Line(
        "$s = $p->prepare('INSERT INTO files (body) VALUES (?)'); $x = str_repeat(\"\\0é'\", 5 << 20); $s->bindParam(1, $x, PDO::PARAM_LOB); return $s->execute();",
        &["Insert files  -"],
    ),
    Line("return md5($p->query('SELECT body FROM files')->fetchColumn());", NONE),
    Line("return $p->exec('DELETE FROM nothing');", &["Delete nothing  ?"]),
    Line(
        "$s = $p = null; $p = new PDO('mysql:host=localhost;dbname=site', 'app', 'app', [PDO::ATTR_PERSISTENT => true, PDO::MYSQL_ATTR_FOUND_ROWS => true]); return $p->exec(\"UPDATE options SET option_value = '4' WHERE option_name = 'siteurl'\");",
        // Rows that were found count as changed there.
        &["Update options option_value siteurl"],
    ),
    Line(
        "return $p->exec(\"SET NAMES gbk\") . $p->exec(\"UPDATE posts SET title = '\\xe4\\xb8'\");",
        &["Other   ?"],
    ),
];

/// What lies in the feed at this moment.
fn told(feed: &mut Feed) -> Vec<String> {
    let changes = std::iter::from_fn(|| feed.ready()).filter_map(|event| match event {
        Event::Change(change) => Some(change.to_string()),
        _ => None,
    });
    changes.collect()
}

/// A tap before `server`, in a folder that everybody may walk through.
fn tap(server: &Server) -> (Tap, TempDir) {
    let folder = TempDir::with_prefix("tap").expect("a folder");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), everybody).expect("it is ours");
    let socket = folder.path().join("tap");
    let tap = Tap::stand(&socket, server.address("app", "app")).expect("the tap stands");
    (tap, folder)
}

async fn hear(tap: &Tap) -> Feed {
    let mut feed = Feed::tap(tap);
    until(&mut feed, |event| *event == Event::Recovered).await;
    feed
}

/// Writes until the keys of all tables are known: a server that has only just come may not say
/// them in time.
fn make_known(php: &mut Php, feed: &mut Feed) {
    let since = Instant::now();
    loop {
        assert_eq!(php.run(WRITES), "\"\"");
        let heard = told(feed);
        assert_eq!(heard.len(), 4, "{heard:?}");
        php.run(CLEARANCE);
        drop(told(feed));
        if !heard.iter().any(|one| one.ends_with('?')) {
            return;
        }
        assert!(since.elapsed() < WAIT, "{heard:?}");
    }
}

async fn check(lines: &'static [Line]) {
    let Some(direct) = Server::start(SETTINGS) else { return };
    let Some(mut other) = Php::start(&direct.socket()) else { return };
    let server = Server::start(SETTINGS).expect("a second one");
    [&direct, &server].into_iter().for_each(|server| drop(server.ask(TABLES)));
    let (tap, _folder) = tap(&server);
    let mut feed = hear(&tap).await;
    let socket = tap.socket().to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let mut php = Php::start(&socket).expect("as before");
        make_known(&mut php, &mut feed);
        for Line(code, expected) in lines {
            let answer = php.run(code);
            assert_eq!(told(&mut feed), *expected, "{code}: {answer}");
            assert_eq!(answer, other.run(code), "{code}");
            if expected.contains(&"Schema   ?") {
                make_known(&mut php, &mut feed);
                for code in [WRITES, CLEARANCE] {
                    other.run(code);
                }
            }
        }
    });
    work.await.expect("all lines");
}

#[tokio::test]
async fn what_mysqli_writes_is_told_before_it_is_answered() {
    check(MYSQLI).await;
}

#[tokio::test]
async fn what_pdo_writes_is_told_before_it_is_answered() {
    check(PDO).await;
}
