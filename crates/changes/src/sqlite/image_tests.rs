//! Images held against what SQLite itself says: random writes, and rows read before and after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::*;

const TABLES: &str = "
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, body TEXT, views INTEGER, topic INTEGER);
    CREATE INDEX of_topic ON posts (topic);
    CREATE TABLE sessions (sid VARCHAR(40) PRIMARY KEY, data BLOB, seen REAL);
    CREATE TABLE options (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
    CREATE TABLE sums (a INTEGER, b INTEGER AS (a + 1));";
const ROWS_READ: [&str; 2] = ["posts", "sessions"];
const OTHERS: [&str; 2] = ["options", "sums"];

type Rows = BTreeMap<i64, Vec<(String, Value)>>;
type Told = BTreeSet<(String, String, Vec<String>)>;

fn reader(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a file")
}

/// All rows of a table; those without numbers are counted through.
fn dump(connection: &Connection, table: &str) -> Rows {
    let number = if table == "options" { "row_number() OVER ()" } else { "rowid" };
    let sql = format!("SELECT {number}, * FROM {table}");
    let mut statement = connection.prepare(&sql).expect("a table");
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let values = names.iter().enumerate().skip(1);
        let values = values.map(|(at, name)| Ok((name.clone(), row.get(at)?)));
        Ok((row.get(0)?, values.collect::<rusqlite::Result<_>>()?))
    });
    rows.expect("rows").collect::<rusqlite::Result<_>>().expect("rows")
}

/// What has to be told, by the rows before and after.
fn expected(table: &str, before: &Rows, after: &Rows) -> Told {
    let of = |operation: &str, columns| (table.to_owned(), operation.to_owned(), columns);
    let mut told = Told::new();
    for number in before.keys().chain(after.keys()) {
        match (before.get(number), after.get(number)) {
            (None, _) => drop(told.insert(of("Insert", Vec::new()))),
            (_, None) => drop(told.insert(of("Delete", Vec::new()))),
            (Some(old), Some(new)) if old != new => {
                let pairs = old.iter().zip(new).filter(|(old, new)| old != new);
                let mut columns: Vec<String> = pairs.map(|(old, _)| old.0.clone()).collect();
                columns.sort_unstable();
                told.insert(of("Update", columns));
            }
            _ => {}
        }
    }
    told
}

fn told(changes: &[Change]) -> Told {
    let of = |change: &Change| {
        let columns = change.columns.iter().map(ToString::to_string).collect();
        (change.table.to_string(), format!("{:?}", change.operation), columns)
    };
    changes.iter().map(of).collect()
}

/// Writes something, mostly one row, as applications do.
fn write(writer: &Connection, random: &mut StdRng) {
    let letter = char::from(random.random_range(b'a'..=b'z')).to_string();
    let text = letter.repeat([0, 5, 300, 5_000, 40_000][random.random_range(0..5)]);
    let (id, number) = (random.random_range(1..60_i64), random.random_range(0..5_i64));
    let sid = format!("{id:032x}");
    let done = match random.random_range(0..12) {
        0..3 => writer.execute(
            "INSERT OR REPLACE INTO posts VALUES (?1, ?2, ?3, 0, ?4)",
            (id, &letter, text, number),
        ),
        3..5 => writer.execute("UPDATE posts SET views = views + 1 WHERE id = ?1", [id]),
        5 => writer.execute(
            "UPDATE posts SET body = replace(body, substr(body, 1, 1), ?1) WHERE id = ?2",
            (&letter, id),
        ),
        6 => writer.execute("DELETE FROM posts WHERE topic = ?1 AND id > ?2", (number, id)),
        7 => writer.execute("INSERT OR REPLACE INTO sessions VALUES (?1, ?2, 0.5)", (&sid, text)),
        8 => writer
            .execute("UPDATE sessions SET seen = seen * 1.5, data = NULL WHERE sid = ?1", [sid]),
        9 => writer.execute("INSERT OR REPLACE INTO options VALUES (?1, ?2)", (&letter, text)),
        10 => writer.execute("INSERT INTO sums VALUES (?1)", [number]),
        _ => writer.execute("UPDATE posts SET topic = topic WHERE id = ?1", [id]),
    };
    done.expect("it is written");
}

#[test]
fn what_is_told_is_what_became_other() {
    let shapes = [("WAL", 512, 0), ("WAL", 4096, 0), ("DELETE", 1024, 1), ("TRUNCATE", 65_536, 0)];
    for (seed, (mode, page_bytes, vacuum)) in shapes.into_iter().enumerate() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let writer = Connection::open(&path).expect("a file");
        writer.pragma_update(None, "page_size", page_bytes).expect("a size");
        writer.pragma_update(None, "auto_vacuum", vacuum).expect("a way");
        writer.pragma_update(None, "journal_mode", mode).expect("a mode");
        writer.execute_batch(TABLES).expect("tables");
        let (reader, mut random) = (reader(&path), StdRng::seed_from_u64(seed as u64));
        let (mut image, _) = Image::of(&path, &reader, None).expect("an image");
        let mut kinds = BTreeSet::new();
        for step in 0..250 {
            let before = [ROWS_READ, OTHERS].concat().into_iter().map(|it| dump(&writer, it));
            let before: Vec<Rows> = before.collect();
            (0..random.random_range(1..4)).for_each(|_| write(&writer, &mut random));
            let (now, changes) = Image::of(&path, &reader, Some(&image)).expect("an image");
            image = now;
            let mut told = told(&changes);
            let mut wanted = Told::new();
            for (table, before) in ROWS_READ.iter().zip(&before) {
                wanted.extend(expected(table, before, &dump(&writer, table)));
            }
            for (table, before) in OTHERS.iter().zip(&before[ROWS_READ.len()..]) {
                let change = ((*table).to_owned(), "Other".to_owned(), Vec::new());
                if *before != dump(&writer, table) {
                    wanted.insert(change);
                } else if vacuum > 0 {
                    // Its pages may have moved.
                    told.remove(&change);
                }
            }
            assert_eq!(told, wanted, "seed {seed}, step {step}");
            kinds.extend(told.into_iter().map(|(table, operation, _)| (table, operation)));
        }
        // All that can happen did.
        assert_eq!(kinds.len(), 8, "{kinds:?}");
    }
}

#[test]
fn keys_and_values_are_told_as_a_log_tells_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site.sqlite");
    let writer = Connection::open(&path).expect("a file");
    writer.execute_batch(TABLES).expect("tables");
    let reader = reader(&path);
    let (mut image, _) = Image::of(&path, &reader, None).expect("an image");
    let mut after = |sql: &str| {
        writer.execute_batch(sql).expect("it is written");
        let (now, changes) = Image::of(&path, &reader, Some(&image)).expect("an image");
        image = now;
        changes
    };
    let changes = after("INSERT INTO sessions VALUES ('0123456789abcdef0123456789abcdef', '', 1)");
    assert_eq!(changes[0].key, KeyClass::Of("#".into()));
    let changes = after("INSERT INTO posts VALUES (7, 'a', 'b', 0, 5)");
    assert_eq!(changes[0].key, KeyClass::Plain);
    let mut values = Values::named(false);
    values.note(Column::named("id"), "7");
    values.note(Column::named("topic"), "5");
    assert_eq!(changes[0].values, values);
    // Where it was and where it is.
    values.note(Column::named("topic"), "6");
    assert_eq!(after("UPDATE posts SET topic = 6")[0].values, values);
    assert_eq!(after("BEGIN; UPDATE posts SET views = 9; ROLLBACK"), []);
    let schema = Change::of("", "", Operation::Schema);
    assert_eq!(after("ALTER TABLE posts ADD COLUMN more TEXT DEFAULT 'x'"), [schema]);
    let changed = after("UPDATE posts SET views = 1");
    let names: Vec<String> = changed[0].columns.iter().map(ToString::to_string).collect();
    // What wasn't there may have been anything.
    assert_eq!(names, ["more", "views"]);
    // Each page moves, and nothing else.
    assert_eq!(
        after("INSERT INTO posts (body) VALUES (zeroblob(9000)); DELETE FROM posts WHERE id > 7")[..],
        []
    );
}

#[test]
fn of_a_large_file_there_is_no_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site.sqlite");
    let writer = Connection::open(&path).expect("a file");
    writer.execute_batch("CREATE TABLE t (a)").expect("a table");
    let reader = reader(&path);
    assert!(Image::of(&path, &reader, None).is_ok());
    writer.execute("INSERT INTO t VALUES (zeroblob(?1))", [FILE_BYTES_MAX as i64]).expect("a row");
    assert!(matches!(Image::of(&path, &reader, None), Err(Trouble::TooLarge)));
}

#[test]
fn an_image_is_of_one_moment_while_others_write() {
    const NEWS: usize = 30;
    for mode in ["WAL", "DELETE", "PERSIST"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("site.sqlite");
        let writer = Connection::open(&path).expect("a file");
        writer.pragma_update(None, "journal_mode", mode).expect("a mode");
        writer.execute_batch(TABLES).expect("tables");
        // Each is on pages of its own, and between them lie many.
        let many = "INSERT INTO posts (title, body, views) VALUES ('a', hex(zeroblob(20000)), 0)";
        for _ in 0..10 {
            writer.execute(many, []).expect("a row");
        }
        writer.execute_batch("INSERT INTO sessions VALUES ('one', '', 0)").expect("a row");
        let (reader, is_over) = (reader(&path), &AtomicBool::new(false));
        let mut news = 0;
        let mut random = StdRng::seed_from_u64(7);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Both rows change, or none.
                let both = "BEGIN; UPDATE posts SET views = views + 1 WHERE id = 10;
                    UPDATE sessions SET seen = seen + 1; COMMIT";
                while !is_over.load(Ordering::Relaxed) {
                    writer.execute_batch(both).expect("it is written");
                    // Else there would be no image without a log.
                    std::thread::sleep(Duration::from_micros(random.random_range(0..80_000)));
                }
            });
            let mut image = None;
            while news < NEWS {
                let Ok((now, changes)) = Image::of(&path, &reader, image.as_ref()) else {
                    continue;
                };
                let tables: BTreeSet<_> = changes.iter().map(|it| it.table.to_string()).collect();
                news += usize::from(!tables.is_empty());
                image = Some(now);
                if !(tables.is_empty() || tables.len() == 2) {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("{mode}: {changes:?}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
