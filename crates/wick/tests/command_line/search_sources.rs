//! Rows that are found beside a site's pages: what a source says is public is found, what it says
//! no more isn't.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::database::{Database, PASSWORD};
use crate::origin::Origin;
use crate::postgres_server::Server;
use crate::search::{Page, Pages, Serving, found, paths, serve, set, site, visit};
use crate::wick::{Wick, open_folder, until};

const QUERY: &str = "SELECT '/t/' || id AS address, title, body AS text, at AS changed, \
                     open AS public FROM posts";
const SCHEMA: &str = "CREATE TABLE posts (id INT PRIMARY KEY, title TEXT, body TEXT, at BIGINT, \
                      open INT)";

/// A source of this database.
fn source(database: &str, more: &str) -> String {
    format!(
        "search_crawl = false\n[[site.search_source]]\ndatabase = \"{database}\"\n\
         every = \"100ms\"\n{more}\n"
    )
}

fn status(serving: &Serving) -> String {
    let kept = serving.state.path().display().to_string();
    Wick::run(&["search", "--state", &kept, "status"]).end().output
}

/// The story of some rows, told by statements.
fn play(serving: &Serving, tell: &dyn Fn(&str)) {
    let address = serving.address;
    tell("INSERT INTO posts VALUES (1, 'One', 'about lanterns', 1000, 1)");
    tell("INSERT INTO posts VALUES (2, 'Two', 'about lanterns, in secret', 1001, 0)");
    tell("INSERT INTO posts VALUES (3, 'Three', 'about a lantern', 1002, 1)");
    tell("INSERT INTO posts VALUES (4, 'Four', 'about candles', 1003, NULL)");
    let by_name = |query: &str| {
        let mut paths = paths(address, query);
        paths.sort_unstable();
        paths
    };
    until("what is public is found", || by_name("lanterns") == ["/t/1", "/t/3"]);
    assert!(by_name("secret").is_empty() && by_name("candles").is_empty());
    let first = &found(address, "title:one")["hits"][0];
    assert_eq!((first["title"].as_str(), first["changed"].as_i64()), (Some("One"), Some(1000)));
    // One is private from now on, one is gone, one is another, one is new.
    tell("UPDATE posts SET open = 0, at = 2000 WHERE id = 1");
    tell("DELETE FROM posts WHERE id = 3");
    tell("UPDATE posts SET open = 1, at = 2001 WHERE id = 2");
    tell("INSERT INTO posts VALUES (5, 'Five', 'lanterns again', 2002, 1)");
    until("what is public now is found", || by_name("lanterns") == ["/t/2", "/t/5"]);
}

#[test]
fn rows_of_sqlite_are_found_as_long_as_they_are_public() {
    let origin = site(&Pages::default());
    let folder = open_folder();
    let file = folder.path().join("site.db");
    let database = Connection::open(&file).expect("a file");
    database.execute_batch(SCHEMA).expect("a table");
    let ranged = format!(
        "query = \"{QUERY} WHERE id BETWEEN $start AND $end\"\nstep = 2\n\
         range = \"SELECT MIN(id), MAX(id) FROM posts\"\n"
    );
    let place = format!("sqlite:{}", file.display());
    let serving = serve(&origin, &source(&place, &ranged));
    play(&serving, &|statement| database.execute_batch(statement).expect("it runs"));
    until("how it stands is told", || status(&serving).contains("4 rows, 2 of them public"));
    // What is wrong is told, and what was found is found.
    database.execute_batch("ALTER TABLE posts RENAME TO notes").expect("it runs");
    until("its trouble is told", || status(&serving).contains("no such table: posts"));
    assert_eq!(paths(serving.address, "again"), ["/t/5"]);
    // What no source says any more isn't found.
    serving.reload(&origin, "search_crawl = false\n");
    until("it isn't found", || paths(serving.address, "again").is_empty());
    serving.wick.stop();
}

#[test]
fn rows_of_mariadb_are_asked_for_what_has_changed() {
    let Some(database) = Database::start("") else { return };
    let origin = site(&Pages::default());
    let tell = |statement: &str| drop(database.ask(&format!("USE site; {statement}")));
    tell(SCHEMA);
    let query = QUERY.replace("'/t/' || id", "CONCAT('/t/', id)");
    let lines = format!(
        "query = \"{query}\"\ndelta = \"{query} WHERE at >= $since\"\nall_every = \"300ms\"\n"
    );
    let place =
        format!("mysql://app:{PASSWORD}@localhost/site?socket={}", database.socket().display());
    let serving = serve(&origin, &source(&place, &lines));
    play(&serving, &tell);
    assert!(!status(&serving).contains(PASSWORD));
    // Only what says so is asked about.
    serving.reload(&origin, &source(&place, &lines.replace("300ms", "1h")));
    until("all is found again", || paths(serving.address, "lanterns").len() == 2);
    tell("INSERT INTO posts VALUES (6, 'Six', 'more lanterns', 1, 1)");
    tell("INSERT INTO posts VALUES (7, 'Seven', 'newer lanterns', 3000, 1)");
    until("the newer one is found", || paths(serving.address, "newer") == ["/t/7"]);
    assert!(paths(serving.address, "more").is_empty(), "it says that it isn't new");
    serving.wick.stop();
}

#[test]
fn rows_of_postgresql_are_found() {
    let Some(server) = Server::start(&[]) else { return };
    let origin = site(&Pages::default());
    server.ask(&SCHEMA.replace("open INT", "open BOOLEAN"));
    let place = format!("postgres://app:app@localhost/site?socket={}", server.folder().display());
    let serving = serve(&origin, &source(&place, &format!("query = \"{QUERY}\"\n")));
    let tell = |statement: &str| {
        let statement = statement.replace(", 1)", ", true)").replace(", 0)", ", false)");
        let statement = statement.replace("open = 1", "open = true");
        drop(server.ask(&statement.replace("open = 0", "open = false")));
    };
    play(&serving, &tell);
    serving.wick.stop();
}

fn lines(file: &Path, rows: &[&str]) {
    let whole = file.with_extension("new");
    fs::write(&whole, rows.join("\n")).expect("the folder takes files");
    fs::rename(whole, file).expect("the folder takes files");
}

fn origin_of(pages: &Pages) -> Origin {
    set(pages, "/open", Page::Public("Open about harbours".into()));
    set(pages, "/members", Page::Members("Members about harbours".into()));
    set(pages, "/told", Page::Public("Told about nothing".into()));
    site(pages)
}

#[test]
fn lines_of_json_are_found_or_name_pages_that_strangers_are_given() {
    let pages = Pages::default();
    let origin = origin_of(&pages);
    let folder = open_folder();
    let file = folder.path().join("rows.jsonl");
    let told =
        r#"{"address":"/told","title":"Told","text":"<p>of <b>harbours</b></p>","public":true}"#;
    let named = [r#"{"address":"/open"}"#, r#"{"address":"/members"}"#, told];
    lines(&file, &named);
    let path = file.display();
    let settings = format!(
        "search_crawl = false\n[[site.search_source]]\nfile = \"{path}\"\nhtml = true\nevery = \"100ms\"\n"
    );
    let serving = serve(&origin, &settings);
    let address = serving.address;
    let all = |query: &str| {
        let mut paths = paths(address, query);
        paths.sort_unstable();
        paths
    };
    visit(address, "/nothing", "");
    until("both are found", || all("harbours") == ["/open", "/told"]);
    assert!(all("members").is_empty() && all("\"b\"").is_empty());
    // What the source says of an address is what is found, whoever visits it.
    visit(address, "/told", "");
    assert_eq!(all("harbours"), ["/open", "/told"]);
    assert!(all("nothing").is_empty());
    // What isn't understood changes nothing.
    lines(&file, &[r#"{"address":"/told","hidden":true}"#]);
    until("it is told", || status(&serving).contains("line 1: \"hidden\" means nothing here"));
    assert_eq!(all("harbours"), ["/open", "/told"]);
    lines(&file, &[r#"{"address":"/told","text":"of harbours","public":false}"#]);
    until("it isn't found any more", || all("harbours") == ["/open"]);
    serving.wick.stop();
}
