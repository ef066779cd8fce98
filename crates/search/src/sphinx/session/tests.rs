//! Statements and their answers, on the rows that searchd 2.2.11 was asked about.

use super::*;
use crate::Limits;

/// A catalogue with a table as searchd's documentation has them, and its folder.
fn session() -> (Session, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Arc::new(Catalogue::new(folder.path().to_owned(), Limits::default(), None));
    let mut session = Session::new(catalogue, Arc::new(Figures::default()));
    for text in [
        "CREATE TABLE posts (title text, body text indexed, forum_id int, topic_id int, \
         big bigint, rating float, posted timestamp, subject string, tags multi, first bool) \
         min_prefix_len='2'",
        "INSERT INTO posts (id,title,body,forum_id,topic_id,posted,first,rating,big,tags,subject) \
         VALUES (1,'hello world','the quick brown fox jumps',1,10,1000,1,1.5,-5,(3,1,2),'Hello')",
        "REPLACE INTO posts (id,title,body,forum_id,topic_id,posted,first,rating,big,tags,subject) \
         VALUES ('2','hello there','lazy dogs fox sleep',2,'10',2000,0,2.5,9999999999,(1),'Abc'),\
         (3,'another thing','nothing of hello interest',2,11,3000,0,0,0,(),'')",
    ] {
        assert!(matches!(session.answer(text, 0)[..], [Reply::Done { .. }]), "{text}");
    }
    (session, folder)
}

/// An answer's rows with `|` between cells, or why not.
fn shown(reply: &Reply) -> Vec<String> {
    match reply {
        Reply::Done { rows, .. } => vec![format!("{rows} done")],
        Reply::Refused { code, why, .. } => vec![format!("{code} {why}")],
        Reply::Table(table) => {
            let row = |row: &Row| row.cells.iter().map(Cell::written).collect::<Vec<_>>().join("|");
            table.rows.iter().map(row).collect()
        }
    }
}

#[track_caller]
fn check(session: &mut Session, query: &str, expected: &[&str]) {
    let replies = session.answer(query, 0);
    assert_eq!(shown(replies.last().unwrap()), expected, "{query}");
}

/// What searchd 2.2.11 answers to the same on the same rows.
#[test]
fn selects_are_answered_as_searchd_answers_them() {
    let (mut session, _folder) = session();
    for (query, expected) in [
        (
            "SELECT id, forum_id, big, rating, tags FROM posts",
            &["1|1|-5|1.500000|1,2,3", "2|2|9999999999|2.500000|1", "3|2|0|0.000000|"][..],
        ),
        (
            "SELECT id FROM posts WHERE MATCH('@title hello') AND forum_id IN (1,'2') \
          AND posted BETWEEN 500 AND 2500 ORDER BY id DESC",
            &["2", "1"],
        ),
        (
            "SELECT id, forum_id f, count(*) c, groupby() g FROM posts WHERE MATCH('hello') \
          GROUP BY forum_id WITHIN GROUP ORDER BY posted DESC ORDER BY posted DESC LIMIT 0,5",
            &["3|2|2|2", "1|1|1|1"],
        ),
        ("SELECT count(*) FROM posts", &["3"]),
        ("SELECT id FROM posts WHERE forum_id <> '2'", &["1"]),
        ("SELECT id FROM posts WHERE forum_id NOT IN (2)", &["1"]),
        ("SELECT id FROM posts WHERE subject='Abc'", &["2"]),
        ("SELECT id FROM posts WHERE tags=1", &["1", "2"]),
        ("SELECT id FROM posts WHERE tags<>1", &["3"]),
        ("SELECT id FROM posts WHERE rating > 1.5", &["2"]),
        (
            "SELECT id, subject FROM posts ORDER BY subject ASC, id DESC",
            &["3|", "2|Abc", "1|Hello"],
        ),
        ("SELECT id FROM posts WHERE MATCH('hel*') ORDER BY id ASC LIMIT '1',1", &["2"]),
        (
            "SELECT groupby() g, count(*) FROM posts GROUP BY tags ORDER BY g ASC",
            &["1|2", "2|1", "3|1"],
        ),
        (
            "SELECT id, count(distinct topic_id) FROM posts GROUP BY forum_id ORDER BY id ASC",
            &["1|1", "2|2"],
        ),
        ("SELECT title FROM posts WHERE id = '2'", &["hello there"]),
        ("SELECT id, forum_id*2+1 x FROM posts WHERE id=2", &["2|5"]),
        ("SELECT 1+2, 'x'", &["3|x"]),
        ("SELECT * FROM posts WHERE MATCH('zzz')", &[]),
        (
            "SHOW META",
            &["total|0", "total_found|0", "time|0.000", "keyword[0]|zzz", "docs[0]|0", "hits[0]|0"],
        ),
        ("SHOW TABLES LIKE 'po%'", &["posts|rt"]),
        (
            "CALL SNIPPETS('the quick brown fox jumps over','posts','fox')",
            &["the quick brown <b>fox</b> jumps over"],
        ),
        ("CALL KEYWORDS('Hello worlds','posts',1)", &["1|hello|hello|3|3", "2|worlds|worlds|0|0"]),
    ] {
        check(&mut session, query, expected);
    }
}

#[test]
fn errors_are_in_searchds_words() {
    let (mut session, _folder) = session();
    for (query, expected) in [
        ("SELECT * FROM nope", "unknown local index 'nope' in search request"),
        ("SELECT nope FROM posts", "index posts: parse error: unknown column: nope"),
        ("SELECT * FROM posts WHERE nope=3", "index posts: no such filter attribute 'nope'"),
        ("SELECT * FROM posts ORDER BY nope", "index posts: sort-by attribute 'nope' not found"),
        ("SELECT id FROM posts GROUP BY nope", "index posts: group-by attribute 'nope' not found"),
        ("INSERT INTO posts (id,title) VALUES (1,'x')", "duplicate id '1'"),
        ("INSERT INTO posts (id,nope) VALUES (9,'x')", "unknown column: 'nope'"),
        ("INSERT INTO nope (id,title) VALUES (9,'x')", "no such index 'nope'"),
        ("UPDATE posts SET nope=7 WHERE id=1", "index posts: attribute 'nope' not found"),
        ("TRUNCATE RTINDEX nope", "TRUNCATE RTINDEX requires an existing RT index"),
        ("SELECT id FROM posts WHERE MATCH('hello') OPTION ranker=xx", "unknown ranker 'xx'"),
        (
            "SELECT id FROM posts LIMIT 1000,10",
            "offset out of bounds (offset=1000, max_matches=1000)",
        ),
        ("CALL SNIPPETS('x','nope','x')", "unknown local index 'nope' in search request"),
    ] {
        check(&mut session, query, &[&format!("1064 {expected}")]);
    }
    check(&mut session, "DESCRIBE nope", &["1146 no such index 'nope'"]);
}

#[test]
fn a_client_sees_what_it_wrote() {
    let (mut session, folder) = session();
    check(&mut session, "UPDATE posts SET forum_id=7, tags=(5,4) WHERE id='1'", &["1 done"]);
    check(&mut session, "SELECT forum_id, tags FROM posts WHERE forum_id=7", &["7|4,5"]);
    check(&mut session, "UPDATE posts SET topic_id=9 WHERE forum_id=2", &["2 done"]);
    check(&mut session, "DELETE FROM posts WHERE id IN (1, 99)", &["1 done"]);
    check(&mut session, "SELECT id, topic_id FROM posts", &["2|9", "3|9"]);
    check(&mut session, "DELETE FROM posts WHERE topic_id = 9 AND forum_id = 2", &["2 done"]);
    check(&mut session, "SELECT id FROM posts", &[]);
    check(&mut session, "REPLACE INTO posts (id, title) VALUES (4, 'again')", &["1 done"]);
    drop(session);
    let catalogue = Arc::new(Catalogue::new(folder.path().to_owned(), Limits::default(), None));
    catalogue.reopen();
    let mut session = Session::new(catalogue, Arc::new(Figures::default()));
    check(&mut session, "SELECT title FROM posts WHERE MATCH('again')", &["again"]);
    check(&mut session, "TRUNCATE RTINDEX posts", &["0 done"]);
    check(&mut session, "SELECT id FROM posts", &[]);
    check(&mut session, "DROP TABLE posts", &["0 done"]);
    check(&mut session, "SHOW TABLES", &[]);
}

#[test]
fn names_are_compared_by_patterns() {
    for (name, like, expected) in [
        ("posts", "po%", true),
        ("posts", "%st%", true),
        ("posts", "p_sts", true),
        ("posts", "po", false),
        ("posts", "%x", false),
    ] {
        assert_eq!(is_like(name, Some(like)), expected, "{name} {like}");
    }
}

#[test]
fn other_forms_of_a_word_are_marked_where_they_are_found() {
    let (mut session, _folder) = session();
    let text =
        "  The lamps were burning brightly in all of the windows of the old house by the sea";
    check(&mut session, "CREATE TABLE forms (body text) morphology='stem_en'", &["0 done"]);
    let put = format!("INSERT INTO forms (id, body) VALUES (1, '{text}')");
    check(&mut session, &put, &["1 done"]);
    check(&mut session, "SELECT id FROM forms WHERE MATCH('burned window')", &["1"]);
    check(
        &mut session,
        &format!("CALL SNIPPETS('{text}', 'forms', 'burned window')"),
        &[
            "  The lamps were <b>burning</b> brightly in all of the <b>windows</b> of the old house by \
           the sea",
        ],
    );
    check(
        &mut session,
        "CALL SNIPPETS('burning hello', 'posts', 'burned hello')",
        &["burning <b>hello</b>"],
    );
}
