//! The notebook's file: bounds, damage, versions, and who may read it.

use super::*;
use tempfile::TempDir;

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("learned.sqlite3");
    (folder, path)
}

fn open(path: &Path, rows: i64, bytes: i64) -> File {
    File::open(path, Bounds { rows, bytes }).expect("a good file")
}

fn note(kind: &'static str, key: u32, bytes: usize) -> Note {
    // Each key has four bytes.
    let key = format!("{key:04}").into_bytes();
    Note { site: "a".into(), kind, key, value: Some(vec![b'x'; bytes]) }
}

/// The keys of a kind, oldest first.
fn keys(file: &mut File, kind: &str) -> String {
    let notes = file.load("a").into_iter().filter(|note| note.kind == kind);
    let keys = notes.map(|note| String::from_utf8(note.key).expect("the test's key"));
    keys.map(|key| key.trim_start_matches('0').to_owned()).collect::<Vec<_>>().join(" ")
}

fn set_aside(folder: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path()).expect("the folder").flatten();
    let paths = entries.map(|entry| entry.path());
    let is_aside = |path: &PathBuf| {
        let name = path.display().to_string();
        name.contains(".damaged-") && !name.ends_with("-wal")
    };
    paths.filter(is_aside).collect()
}

#[test]
fn beyond_a_bound_the_oldest_of_the_kind_go() {
    let (_folder, path) = folder();
    let check = |rows, bytes, expected: &str| {
        let mut file = open(&path, rows, bytes);
        // Written again, the first is the newest.
        let mut batch: Vec<_> = (1..=16).map(|key| note("page", key, 6)).collect();
        batch.extend([note("page", 1, 6), note("cookie", 1, 6)]);
        assert!(file.write(&batch));
        assert!(file.write(&[note("page", 17, 6)]));
        assert_eq!(keys(&mut file, "page"), expected, "{rows} rows, {bytes} bytes");
        assert_eq!(keys(&mut file, "cookie"), "1");
        drop(file);
        fs::remove_file(&path).expect("a file to remove");
    };
    check(17, 1_000, "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 17");
    check(16, 1_000, "4 5 6 7 8 9 10 11 12 13 14 15 16 1 17");
    check(1_000, 170, "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 17");
    check(1_000, 160, "4 5 6 7 8 9 10 11 12 13 14 15 16 1 17");
    check(1_000, 100, "9 10 11 12 13 14 15 16 1 17");
}

#[test]
fn sums_are_those_of_the_file_after_a_restart_too() {
    let (_folder, path) = folder();
    let batch: Vec<_> = (1..=16).map(|key| note("page", key, 6)).collect();
    assert!(open(&path, 100, 1_000).write(&batch));
    let mut file = open(&path, 8, 1_000);
    assert!(file.write(&[note("page", 17, 6)]));
    assert_eq!(keys(&mut file, "page"), "10 11 12 13 14 15 16 17");
    let mut gone = note("page", 10, 0);
    gone.value = None;
    assert!(file.write(&[gone, note("page", 18, 6)]));
    assert_eq!(keys(&mut file, "page"), "11 12 13 14 15 16 17 18", "what was forgotten made room");
}

#[test]
fn a_file_that_is_no_notebook_is_set_aside_and_learning_goes_on() {
    let foreign = |path: &Path, sql: &str| {
        let other = Connection::open(path).expect("a database");
        other.execute_batch(sql).expect("right SQL");
    };
    for make in [
        &(|path: &Path| fs::write(path, "no database at all".repeat(500)).expect("written"))
            as &dyn Fn(&Path),
        &|path| foreign(path, "CREATE TABLE other (x)"),
        &|path| foreign(path, "PRAGMA user_version=1"),
        &|path| foreign(path, "PRAGMA user_version=-7"),
    ] {
        let (folder, path) = folder();
        make(&path);
        let before = fs::read(&path).expect("the file");
        let mut file = open(&path, 9, 1_000);
        assert!(file.write(&[note("page", 1, 1)]));
        assert_eq!(keys(&mut file, "page"), "1");
        let aside = set_aside(&folder);
        assert_eq!(aside.len(), 1);
        assert!(fs::read(&aside[0]).expect("the file") == before, "it was not written to");
    }
}

#[test]
fn damage_that_shows_while_the_file_is_used_ends_nothing() {
    let (folder, path) = folder();
    let batch: Vec<_> = (1..=200).map(|key| note("page", key, 900)).collect();
    assert!(open(&path, 1_000, 1 << 20).write(&batch));
    // The first page stays whole, so that opening finds nothing wrong with the schema.
    let mut bytes = fs::read(&path).expect("the file");
    assert!(bytes.len() > 100_000, "the pages are in the file itself");
    let scrap = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte = 0xa5);
    scrap(&mut bytes[4096..]);
    fs::write(&path, &bytes).expect("it is ours");
    let mut file = open(&path, 1_000, 1 << 20);
    assert_eq!(keys(&mut file, "page"), "");
    assert!(file.write(&[note("page", 1, 1)]));
    assert_eq!(keys(&mut file, "page"), "1");
    assert_eq!(set_aside(&folder).len(), 1);
}

#[test]
fn only_the_newest_damaged_files_stay() {
    let (folder, path) = folder();
    for _ in 0..DAMAGED_MAX + 2 {
        fs::write(&path, "no database".repeat(500)).expect("written");
        drop(open(&path, 9, 1_000));
    }
    assert_eq!(set_aside(&folder).len(), DAMAGED_MAX);
}

#[test]
fn a_file_of_a_newer_version_is_left_as_it_is() {
    let (folder, path) = folder();
    let newer = Connection::open(&path).expect("a database");
    newer.execute_batch("CREATE TABLE other (x); PRAGMA user_version=2").expect("right SQL");
    drop(newer);
    let before = fs::read(&path).expect("the file");
    let told = File::open(&path, Bounds::default()).err().expect("it is newer").to_string();
    assert!(told.contains("newer Wick") && told.contains("move that file away"), "{told}");
    assert!(fs::read(&path).expect("the file") == before);
    assert!(set_aside(&folder).is_empty());
}

#[test]
fn nobody_else_may_read_what_was_learned() {
    let (folder, path) = folder();
    fs::write(&path, "").expect("an empty file that all may read");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let mut file = open(&path, 9, 1_000);
    assert!(file.write(&[note("page", 1, 1)]));
    let entries = fs::read_dir(folder.path()).expect("the folder").flatten();
    let modes: Vec<_> = entries
        .map(|entry| entry.metadata().expect("it is there").permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o600, 0o600], "the file and its log");
}
