//! An index of a source in PostgreSQL.

use std::time::{Duration, Instant};

use search::Limits;
use search::sphinx::{State, Wishes, conf};

use crate::filling::Kept;
use crate::postgres_server::Server;

#[test]
fn a_source_in_postgresql_is_read_and_missed_while_it_is_away() {
    let Some(mut server) = Server::start(&[]) else { return };
    server.ask(
        "CREATE TABLE posts (id bigint, open boolean, size numeric, title text); \
         INSERT INTO posts SELECT n, n % 2 = 0, n * 1.5, 'lamp ' || n FROM generate_series(1, 9) n; \
         CREATE TABLE tags (post bigint, tag int); INSERT INTO tags VALUES (4, 7), (4, 8), (5, 7);",
    );
    let text = format!(
        "source a {{\n type = pgsql\n sql_host = {}\n sql_user = app\n sql_pass = app\n \
         sql_db = site\n sql_query_pre = SET client_encoding TO 'UTF8'\n \
         sql_query_range = SELECT MIN(id), MAX(id) FROM posts\n sql_range_step = 4\n \
         sql_query = SELECT id, open, size, title FROM posts WHERE id BETWEEN $start AND $end\n \
         sql_attr_bool = open\n sql_attr_float = size\n sql_attr_multi = uint tags from \
         ranged-main-query; SELECT post, tag FROM tags WHERE post BETWEEN $start AND $end\n}}\n\
         index posts {{\n source = a\n}}",
        server.folder().display()
    );
    let folder = tempfile::tempdir().expect("a folder");
    let wishes = Wishes {
        folder: folder.path().join("indexes"),
        conf: conf::read(&text).expect("it is read"),
        every: Duration::from_secs(3600),
        limits: Limits::default(),
        morphemes: None,
    };
    let kept = Kept::begin(&folder, wishes.clone());
    kept.until("SELECT id FROM posts WHERE MATCH('lamp') AND open = 1", &[2, 4, 6, 8]);
    kept.until("SELECT id FROM posts WHERE tags = 7 AND size > 6", &[5]);
    kept.until("SELECT id FROM posts WHERE MATCH('9')", &[9]);
    server.kill();
    kept.filling.settle(wishes);
    let begun = Instant::now();
    while !matches!(kept.state("posts"), State::Trouble(why) if why.contains("away")) {
        assert!(begun.elapsed() < crate::filling::PATIENCE, "{:?}", kept.state("posts"));
        std::thread::sleep(Duration::from_millis(5));
    }
    kept.until("SELECT id FROM posts WHERE MATCH('9')", &[9]);
    server.again();
    server.ask("INSERT INTO posts VALUES (10, true, 1, 'fresh')");
    kept.until("SELECT id FROM posts WHERE MATCH('fresh')", &[10]);
    kept.end();
}
