//! A day of history and what may happen to it.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use super::*;
use crate::histogram::Histogram;

const DAY: u64 = 86_400;
const BEGIN: u64 = 1_789_000_020;

/// A second with traffic that follows from its number.
fn second(time: u64) -> Point {
    let mut times = Histogram::default();
    times.add_many(100 + time % 7, 10);
    Point {
        time,
        covered: 1,
        requests: 10,
        hits: time % 11,
        errors: u64::from(time.is_multiple_of(600)),
        bytes: 1000,
        origin_us: 70,
        memory_bytes: (20 << 20) + (time % 60) * (64 << 10),
        marks: 0,
        html: Times::of(&times),
        other: Times::default(),
    }
}

fn written(seconds: impl Iterator<Item = u64>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut history = History::open(folder.path()).expect("a new history");
    for time in seconds {
        history.note(second(time)).expect("the disk has room");
    }
    folder
}

fn all(folder: &Path, from: u64, to: u64, step: u64) -> Vec<Point> {
    read(folder, Span { from, to, step }, to).expect("it can be read")
}

#[test]
fn the_files_stay_within_their_bound() {
    let bytes: u64 = TIERS.iter().map(|tier| tier.bytes()).sum();
    assert!(bytes <= 64_000_000, "{bytes}");
    assert_eq!(TIERS.map(Tier::reach), [DAY, 30 * DAY, 365 * DAY]);
}

#[test]
fn a_day_is_read_as_it_was_written_though_nobody_closed_it() {
    let end = BEGIN + DAY + 3600;
    // Dropped without a word, as by a kill: nothing is kept back in memory.
    let folder = written(BEGIN..end);
    let seconds = all(folder.path(), end - 3000, end, 1);
    assert_eq!(seconds.len(), 3000);
    assert_eq!(seconds[7], second(end - 2993));
    let hours = all(folder.path(), BEGIN + 3600, end, 3600);
    let sum = |of: fn(&Point) -> u64| hours.iter().map(of).sum::<u64>();
    assert!((DAY..DAY + 3600).contains(&sum(|point| point.covered)));
    assert_eq!(sum(|point| point.requests), 10 * sum(|point| point.covered));
    // The first hour is only in the coarser files by now.
    let first = all(folder.path(), BEGIN, BEGIN + 600, 10);
    assert_eq!(first.len(), 60);
    let first = read(folder.path(), Span { from: BEGIN, to: BEGIN + 600, step: 1 }, end);
    let first = first.expect("it can be read");
    assert_eq!((first.len(), first[0].covered, first[0].requests), (60, 10, 100));
    let minutes = all(folder.path(), BEGIN - BEGIN % 60, end, 60);
    let total: u64 = minutes.iter().map(|point| point.requests).sum();
    assert_eq!(total, 10 * (end - BEGIN), "the year's file has all of it");
}

#[test]
fn who_begins_again_goes_on_in_the_same_stretch() {
    let folder = written(BEGIN..BEGIN + 5);
    let mut history = History::open(folder.path()).expect("nobody holds it");
    for time in BEGIN + 5..BEGIN + 10 {
        history.note(second(time)).expect("room");
    }
    let tens = all(folder.path(), BEGIN, BEGIN + 10, 10);
    assert_eq!((tens.len(), tens[0].requests, tens[0].covered), (1, 100, 10));
    let taken = History::open(folder.path()).expect_err("it is held").to_string();
    assert!(taken.contains("another Wick"), "{taken}");
}

#[test]
fn a_clock_that_jumps_leaves_a_gap_or_adds_up_and_is_marked() {
    let folder =
        written((BEGIN..BEGIN + 10).chain(BEGIN + 9000..BEGIN + 9002).chain(BEGIN + 5..BEGIN + 12));
    let seconds = all(folder.path(), BEGIN, BEGIN + 10_000, 2);
    let requests =
        |time: u64| seconds.iter().find(|point| point.time == time).map(|point| point.requests);
    assert_eq!(requests(BEGIN + 2), Some(20));
    assert_eq!(requests(BEGIN + 6), Some(40), "both happened at that time");
    assert_eq!((requests(BEGIN + 10), requests(BEGIN + 12)), (Some(20), None));
    let marked: Vec<_> = seconds.iter().filter(|point| point.has(Mark::Clock)).collect();
    assert_eq!((marked.len(), marked[0].time), (1, BEGIN + 4));
}

#[test]
fn a_file_cut_anywhere_keeps_what_is_before_the_cut() {
    // The first place of the ring, so that the file is short.
    let begin = BEGIN - BEGIN % DAY;
    let folder = written(begin..begin + 6);
    let path = file(folder.path(), TIERS[0]);
    let bytes = fs::read(&path).expect("the file is there");
    let span = Span { from: begin, to: begin + 100, step: 1 };
    for length in 0..=bytes.len() {
        let points = read_bytes(&bytes[..length], TIERS[0], span);
        let whole = length.saturating_sub(64) / POINT_BYTES;
        let left = if length < 64 { 0 } else { whole };
        assert_eq!(points.len(), left, "cut to {length}");
        fs::write(&path, &bytes[..length]).expect("it can be cut");
        let mut history = History::open(folder.path()).expect("a cut file is no obstacle");
        history.note(second(begin + 50)).expect("room");
        let points = all(folder.path(), begin, begin + 100, 1);
        assert_eq!(points.len(), left + 1, "cut to {length} and written on");
    }
}

#[test]
fn flipped_bytes_lose_their_own_points_only() {
    let begin = BEGIN - BEGIN % DAY;
    let folder = written(begin..begin + 100);
    let path = file(folder.path(), TIERS[0]);
    let file = OpenOptions::new().write(true).open(&path).expect("the file is there");
    for point in [3, 4, 50] {
        file.write_all_at(b"\xa5", 64 + point * POINT_BYTES as u64 + point % 72).expect("room");
    }
    let points = all(folder.path(), begin, begin + 100, 1);
    assert_eq!(points.len(), 97);
    assert!(points.iter().all(|point| *point == second(point.time)));
}

#[test]
fn what_is_no_history_is_begun_anew_and_none_is_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(all(folder.path(), 0, BEGIN, 60), []);
    fs::write(file(folder.path(), TIERS[0]), "something else, longer than the head".repeat(9))
        .expect("room");
    let mut history = History::open(folder.path()).expect("it is begun anew");
    history.note(second(BEGIN)).expect("room");
    assert_eq!(all(folder.path(), BEGIN - 10, BEGIN + 10, 1), [second(BEGIN)]);
}

#[test]
fn who_asks_for_too_much_gets_longer_points() {
    let span = Span { from: 0, to: u64::MAX, step: 0 };
    assert_eq!(span.tier(BEGIN), TIERS[2]);
    let step = span.step_of(TIERS[2]);
    assert!(TIERS[2].reach() / step <= POINTS_MAX && step.is_multiple_of(60), "{step}");
    for (ago, step, seconds) in [
        (60, 1, 1),
        (60, 30, 10),
        (60, 600, 60),
        (2 * DAY, 1, 10),
        (40 * DAY, 1, 60),
        (800 * DAY, 1, 60),
    ] {
        let span = Span { from: BEGIN - ago, to: BEGIN, step };
        assert_eq!(span.tier(BEGIN).seconds, seconds, "{ago} s ago by {step} s");
    }
}
