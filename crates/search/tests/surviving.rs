//! An index through kills, damage and other formats: never a hand needed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use search::{
    Document, Former, Index, IndexError, Limits, Opened, Search, Shape, Value, read_query,
};

/// Names the folder to the child that is killed.
const CHILD: &str = "WICK_TEST_SEARCH_CHILD";
/// The same for the one that commits nothing itself.
const PUTTING: &str = "WICK_TEST_SEARCH_PUTTING";

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
        let mut child = spawn("child", CHILD, folder.path());
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

fn spawn(test: &str, variable: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(variable, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn since_1970() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::try_from(since.unwrap().as_millis()).unwrap()
}

/// What the other child does: puts pages, commits none, and says when it put each. Beside it
/// somebody writes to the disk, and says how long that takes at the moment, and how many pages a
/// search would find.
#[test]
fn putting_child() {
    let Ok(folder) = std::env::var(PUTTING) else { return };
    let (index, _) = open(Path::new(&folder));
    let (beside, seen) = (Path::new(&folder).join("beside"), index.clone());
    std::thread::spawn(move || {
        loop {
            let begun = Instant::now();
            std::thread::sleep(Duration::from_millis(5));
            fs::write(&beside, b"beside").unwrap();
            fs::File::open(&beside).unwrap().sync_all().unwrap();
            println!("beside {}", begun.elapsed().as_millis());
            println!("seen {}", seen.documents());
        }
    });
    let mut next = index.counts().documents + 1;
    loop {
        index.put(page(next));
        println!("put {next} {}", since_1970());
        next += 1;
    }
}

/// Where a write took no longer than this, a commit is made in time; on a machine that has much else
/// to do only what was found already is sure to be there.
const PROMPT_MS: u64 = 25;

/// `KILLS=200` makes it longer.
#[test]
fn what_was_put_a_second_ago_survives_kills_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let kills = std::env::var("KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let mut dice = since_1970();
    let mut survived = 0;
    for kill in 0..kills {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let lives = Duration::from_millis((dice >> 33) % 2500);
        let mut child = spawn("putting_child", PUTTING, folder.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.find(|line| line.contains("put ")).unwrap();
        std::thread::sleep(lives);
        let killed = since_1970();
        child.kill().unwrap();
        child.wait().unwrap();
        // The last line may be half of one.
        let mut lines: Vec<String> = std::iter::once(first).chain(lines).collect();
        lines.pop();
        let told = |word: &str| -> Vec<Vec<u64>> {
            let rest = lines.iter().filter_map(|line| line.split_once(word).map(|(_, it)| it));
            rest.map(|it| it.split(' ').filter_map(|one| one.parse().ok()).collect()).collect()
        };
        let slowest = told("beside ").iter().flatten().copied().max().unwrap_or(0);
        let put = told("put ");
        let old = put.iter().filter(|put| put[1] + 1000 < killed).map(|put| put[0]).max();
        let old = old.filter(|_| slowest <= PROMPT_MS).unwrap_or(0);
        let seen = told("seen ").iter().flatten().copied().max().unwrap_or(0);

        let (index, opened) = open(folder.path());
        assert_eq!(opened, Opened::AsItWas, "kill {kill} after {lives:?}");
        let documents = index.counts().documents;
        // And some that were put weren't told of.
        let last = put.last().map_or(u64::MAX, |put| put[0] + 3);
        eprintln!(
            "kill {kill} after {lives:?}: of {last} pages {documents} survive; {seen} were found, and \
             {old} are older than a second where the slowest write took {slowest} ms"
        );
        assert!(documents >= seen.max(old), "of {seen} and {old} there are {documents}");
        assert!(documents <= last, "{documents}");
        // What survives is what was put first: none between them is missing.
        survived = survived.max(documents);
        for id in
            [1, documents / 2, documents].into_iter().filter(|id| (1..=documents).contains(id))
        {
            assert_eq!(found(&index, &format!("number{id}")), 1, "{id} of {documents}");
            assert_eq!(index.get(id), Some(fitted(&index, id)));
        }
    }
    assert!(survived > 0, "nothing was ever committed");
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

/// As if another version of Wick had written it.
fn written_by_another(folder: &Path) {
    let format = fs::read_to_string(folder.join("format")).unwrap();
    let (_, rest) = format.split_once(' ').unwrap();
    fs::write(folder.join("format"), format!("0 {rest}")).unwrap();
}

#[test]
fn what_was_written_in_another_format_can_be_read_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { keeps_former: true, ..Limits::default() };
    let open = || Index::open(folder.path(), Shape::pages(), limits.clone(), None).unwrap();
    let (index, _) = open();
    (1..=50).for_each(|id| index.put(page(id)));
    index.remove(7);
    index.commit();
    let kept = index.get(3);
    drop(index);
    assert!(Former::of(folder.path()).is_none());
    for _ in 0..2 {
        written_by_another(folder.path());
        let (index, opened) = open();
        assert!(matches!(opened, Opened::BegunAnew(_)), "{opened:?}");
        assert_eq!(index.documents(), 0);
    }
    // Also after one that wasn't there for long enough to be filled.
    let former = Former::of(folder.path()).unwrap();
    assert_eq!(former.documents(), 49);
    let mut all = Vec::new();
    assert!(!former.each(|one| {
        all.push(one);
        all.len() < 10
    }));
    all.clear();
    assert!(former.each(|one| {
        all.push(one);
        true
    }));
    assert_eq!(all.len(), 49);
    assert!(all.iter().all(|one| one.id != 7));
    assert_eq!(all.iter().find(|one| one.id == 3), kept.as_ref());
    former.remove();
    assert!(Former::of(folder.path()).is_none());
    // What can't be read isn't kept.
    let (index, _) = open();
    index.put(page(1));
    drop(index);
    written_by_another(folder.path());
    damaged(&folder.path().join("terms/meta.json"));
    drop(open());
    assert!(Former::of(folder.path()).is_none());
    assert!(!folder.path().join("former").exists());
}

fn damaged(file: &Path) {
    fs::write(file, "nothing that can be read").unwrap();
}
