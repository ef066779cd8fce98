//! What clients of Sphinx ask, asked of searchd and of Wick over the same protocols: the same
//! documents are found.
//!
//! The posts are made up, from a fixed seed, and so are the questions, in the forms that phpBB,
//! TorrentPier and MediaWiki's extension send. `QUERIES=5000 POSTS=20000` makes it larger.
//! Debian's `sphinxsearch` is the oracle; where it isn't there, this says so and passes.

mod clients;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
mod filling;
mod postgres;
#[path = "../../../changes/tests/postgres/server.rs"]
#[allow(dead_code, reason = "what others test by it isn't tested here")]
mod postgres_server;
mod questions;
mod servers;

use std::collections::BTreeSet;

use questions::{Question, posts, questions};
use servers::{Searchd, Wick};

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn the_same_documents_are_found_as_by_searchd() {
    let Some(searchd) = Searchd::start() else {
        eprintln!("skipped: searchd isn't there; scripts/setup test installs it");
        return;
    };
    let wick = Wick::start();
    let posts = posts(number("POSTS", 1500));
    for statement in &posts {
        for port in [searchd.mysql, wick.mysql()] {
            clients::sql(port, statement).unwrap_or_else(|why| panic!("{port}: {why}"));
        }
    }
    wick.commit();
    let questions = questions(number("QUERIES", 300));
    let mut unlike = Vec::new();
    let mut found = 0;
    for question in &questions {
        let ask = |mysql, api| -> Result<BTreeSet<u64>, String> {
            match question {
                Question::Sql(statement) => clients::sql(mysql, statement),
                Question::Api(query) => clients::api(api, query),
                Question::Excerpts(words, texts) => clients::excerpts(api, "main", words, texts),
            }
        };
        let expected = ask(searchd.mysql, searchd.api);
        let answered = ask(wick.mysql(), wick.api());
        found += usize::from(expected.as_ref().is_ok_and(|ids| !ids.is_empty()));
        if expected != answered {
            unlike.push(format!("{question:?}\n  searchd: {expected:?}\n  Wick: {answered:?}"));
        }
    }
    eprintln!("{} of {} questions find something", found, questions.len());
    eprintln!("{} are answered in another way\n{}", unlike.len(), unlike.join("\n"));
    assert!(found * 2 > questions.len(), "hardly anything is found");
    assert!(unlike.len() * 100 <= questions.len(), "more than one in a hundred");
}

/// Each is answered by the same bytes.
#[test]
fn commands_are_answered_byte_by_byte_as_searchd_answers_them() {
    let Some(searchd) = Searchd::start() else {
        eprintln!("skipped: searchd isn't there; scripts/setup test installs it");
        return;
    };
    let wick = Wick::start();
    for statement in [
        "REPLACE INTO main (id,title,data,forum_id,tags) VALUES (1,'hello world','a fox',1,(3,1))",
        "REPLACE INTO main (id,title,data,forum_id,tags) VALUES (2,'hello','hello fox',2,())",
    ] {
        for port in [searchd.mysql, wick.mysql()] {
            clients::sql(port, statement).expect("it is put");
        }
    }
    wick.commit();
    let excerpt = |index, text| {
        clients::body(&[
            Ok(0),
            Ok(1),
            Err(index),
            Err("fox"),
            Err("<b>"),
            Err("</b>"),
            Err(" ... "),
            Ok(256),
            Ok(5),
            Ok(0),
            Ok(0),
            Ok(1),
            Err("index"),
            Err("none"),
            Ok(2),
            Err(text),
            Err("none"),
        ])
    };
    let update = |index, name| {
        clients::body(&[Err(index), Ok(1), Err(name), Ok(0), Ok(1), Ok(0), Ok(1), Ok(9)])
    };
    let keywords = |index, has_hits| clients::body(&[Err("Hello World"), Err(index), Ok(has_hits)]);
    for (command, version, body) in [
        (1, 0x104, excerpt("main", "the quick Fox, jumps")),
        (1, 0x104, excerpt("nope", "the")),
        (2, 0x102, update("main", "forum_id")),
        (2, 0x102, update("main", "nope")),
        (2, 0x102, update("nope", "forum_id")),
        (3, 0x100, keywords("main", 1)),
        (3, 0x100, keywords("main", 0)),
        (3, 0x100, keywords("nope", 0)),
        (7, 0x100, Vec::new()),
        (9, 0x100, clients::body(&[Ok(77)])),
        (33, 0x100, b"abcd".to_vec()),
        (0, 0x219, clients::body(&[Ok(0), Ok(1)])),
    ] {
        let ask = |port| clients::raw(port, command, version, &body).escape_ascii().to_string();
        assert_eq!(ask(wick.api()), ask(searchd.api), "{command} {version:x}");
    }
}

/// Rows as MariaDB's client prints them.
#[test]
fn sets_of_large_numbers_are_told_as_searchd_tells_them() {
    let Some(searchd) = Searchd::start() else {
        eprintln!("skipped: searchd isn't there; scripts/setup test installs it");
        return;
    };
    let wick = Wick::start();
    let statements = "\
        REPLACE INTO main (id,title,far,tags) VALUES (1,'a',(9000000000,3),(1)), (2,'a',(3),()); \
        SELECT id, far FROM main ORDER BY id ASC; \
        SELECT id FROM main WHERE far = 9000000000; \
        SELECT id FROM main WHERE far IN (3) ORDER BY id ASC; \
        SELECT id FROM main WHERE far > 3; \
        SELECT GROUPBY() AS g, COUNT(*) AS c FROM main GROUP BY far ORDER BY g ASC; \
        UPDATE main SET far = (7, 12345678901) WHERE id = 2; \
        SELECT id, far, tags FROM main ORDER BY id ASC; \
        DESC main";
    let (Some(told), Some(expected)) = (
        servers::printed_by_mariadb(wick.mysql(), statements),
        servers::printed_by_mariadb(searchd.mysql, statements),
    ) else {
        eprintln!("skipped: the mariadb client isn't there; scripts/setup test installs it");
        return;
    };
    assert_eq!(told, expected);
}

#[test]
fn php_and_the_mariadb_client_are_served() {
    let wick = Wick::start();
    servers::clients_of_others(wick.mysql(), wick.api());
}
