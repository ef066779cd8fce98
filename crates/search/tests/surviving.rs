//! An index through kills, damage and other formats: never a hand needed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use search::{Document, Index, IndexError, Limits, Opened, Search, Shape, Value, read_query};

/// Names the folder to the child that is killed.
const CHILD: &str = "WICK_TEST_SEARCH_CHILD";

fn open(folder: &Path) -> (Index, Opened) {
    Index::open(folder, Shape::pages(), Limits::default(), None).unwrap()
}

fn page(id: u64) -> Document {
    let text = format!("the page number{id} of the book and some words that all pages have");
    let url = Value::Text(format!("https://example.org/{id}"));
    Document { id, fields: vec![format!("Page {id}"), String::new(), text], attributes: vec![url] }
}

fn found(index: &Index, text: &str) -> usize {
    let query = read_query(text, index.shape());
    index.search(&Search { query, ..Search::default() }).unwrap().total_found
}

/// What the child does: puts pages, and says how many are committed.
#[test]
fn child() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let (index, _) = open(Path::new(&folder));
    let mut next = index.counts().documents + 1;
    loop {
        for id in next..next + 5 {
            index.put(page(id));
            // One that is put again and one that is removed are on the way too.
            index.put(page(id));
            index.remove(1_000_000 + id);
        }
        index.commit();
        next += 5;
        println!("committed {}", next - 1);
    }
}

#[test]
fn what_was_committed_survives_kills_at_any_point() {
    let folder = tempfile::tempdir().unwrap();
    let mut committed = 0;
    for round in 0..5_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = lines.filter_map(|line| line.split_once("committed ")?.1.parse::<u64>().ok());
        // Merges begin after some of them; where in the next one it dies is chance.
        let rounds = usize::try_from(3 + round * 7 % 11).unwrap();
        committed = told.take(rounds).last().unwrap_or(committed);
        child.kill().unwrap();
        child.wait().unwrap();

        let (index, opened) = open(folder.path());
        assert_eq!(opened, Opened::AsItWas, "round {round}");
        let documents = index.counts().documents;
        assert!(documents >= committed && documents % 5 == 0, "{documents} of {committed}");
        assert_eq!(found(&index, "number1 book"), 1);
        assert_eq!(found(&index, &format!("number{committed}")), 1);
        assert_eq!(index.get(committed), Some(fitted(&index, committed)));
    }
    assert!(committed > 40, "{committed}");
}

/// A page as it comes back: filled up to the shape.
fn fitted(index: &Index, id: u64) -> Document {
    let mut document = page(id);
    document.fields.resize(index.shape().fields.len(), String::new());
    let kept = index.get(id).unwrap();
    document.attributes.extend(kept.attributes.into_iter().skip(document.attributes.len()));
    document
}

#[test]
fn what_is_put_is_found_without_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = open(folder.path());
    index.put(page(1));
    assert_eq!(index.get(1).unwrap().fields[0], "Page 1");
    // How long that takes on an idle machine is for a bench to say.
    let patience = Instant::now() + Duration::from_secs(60);
    while found(&index, "number1") == 0 {
        assert!(Instant::now() < patience, "nothing was committed");
        std::thread::yield_now();
    }
}

#[test]
fn attributes_change_also_before_they_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = open(folder.path());
    index.put(page(1));
    let kind = index.shape().attribute_at("kind").unwrap();
    let hits = index.shape().attribute_at("hits").unwrap();
    assert!(index.update_attributes(1, &[(kind, Value::Text("post".into()))]));
    assert!(index.update_attributes(1, &[(hits, Value::Int(7))]));
    assert!(!index.update_attributes(2, &[(hits, Value::Int(7))]));
    index.commit();
    assert!(index.update_attributes(1, &[(hits, Value::Int(8))]));
    index.commit();
    let found = index.search(&Search::default()).unwrap();
    assert_eq!(found.hits.len(), 1);
    assert_eq!(found.hits[0].attributes[kind], Value::Text("post".into()));
    assert_eq!(found.hits[0].attributes[hits], Value::Int(8));
    index.remove(1);
    assert!(!index.update_attributes(1, &[(hits, Value::Int(9))]));
    index.put(page(2));
    index.clear();
    assert_eq!(index.counts().documents, 0);
}

#[test]
fn whatever_is_damaged_the_index_goes_on() {
    for damage in [cut_short, turned_over, removed, renamed] {
        let folder = tempfile::tempdir().unwrap();
        let (index, opened) = open(folder.path());
        assert_eq!(opened, Opened::Fresh);
        for id in 1..50 {
            index.put(page(id));
        }
        drop(index);
        let mut files: Vec<PathBuf> = fs::read_dir(folder.path().join("terms"))
            .unwrap()
            .flatten()
            .map(|one| one.path())
            .collect();
        files.retain(|path| fs::metadata(path).unwrap().len() > 0);
        files.push(folder.path().join("format"));
        files.sort();
        for file in files {
            let copy = tempfile::tempdir().unwrap();
            copy_all(folder.path(), copy.path());
            // As a process leaves it that had no time to close it.
            fs::write(copy.path().join("open"), "").unwrap();
            damage(&copy.path().join(file.strip_prefix(folder.path()).unwrap()));
            let (index, opened) = open(copy.path());
            let search =
                Search { query: read_query("number7", index.shape()), ..Search::default() };
            let first = index.search(&search).map(|found| found.total_found);
            // Either nothing of it was needed, or all sources are to be read again.
            let wants = index.takes_wish_for_sources();
            match (&opened, &first) {
                (Opened::AsItWas, Ok(1)) => assert!(!wants),
                (Opened::AsItWas, Ok(_)) => {}
                _ => assert!(wants, "{file:?} {opened:?} {first:?}"),
            }
            index.put(page(100));
            index.commit();
            assert_eq!(found(&index, "number100"), 1, "{file:?} {opened:?} {first:?}");
        }
    }
}

fn cut_short(file: &Path) {
    let length = fs::metadata(file).unwrap().len();
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
}

fn turned_over(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes.iter_mut().step_by(3).for_each(|byte| *byte = !*byte);
    fs::write(file, bytes).unwrap();
}

fn removed(file: &Path) {
    fs::remove_file(file).unwrap();
}

fn renamed(file: &Path) {
    fs::rename(file, file.with_extension("bak")).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn another_shape_is_begun_anew_and_a_folder_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = open(folder.path());
    index.put(page(1));
    let again = Index::open(folder.path(), Shape::pages(), Limits::default(), None);
    assert!(matches!(again, Err(IndexError::InUse(_))));
    let other = Index::open(folder.path(), Shape::new("other"), Limits::default(), None);
    assert!(matches!(other, Err(IndexError::InUse(_))));
    drop(index);
    assert_eq!(open(folder.path()).1, Opened::AsItWas);
    let other = Shape::new("other").field("words", 1.0);
    let (index, opened) = Index::open(folder.path(), other, Limits::default(), None).unwrap();
    assert!(matches!(opened, Opened::BegunAnew(_)), "{opened:?}");
    assert_eq!(index.counts().documents, 0);
    assert!(index.takes_wish_for_sources());
    assert!(!index.takes_wish_for_sources());
}
