//! A day of history, written by a process that is killed by `kill -9` while it writes: read back
//! as it is, by the crate that wrote it and by a Wick that begins there.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use observe::histogram::Histogram;
use observe::history::{History, Point, Span, Times, read};

use crate::wick::{Wick, ask, body, open_folder, until};

const DAY: u64 = 86_400;
/// How often the writer is killed.
const KILLS: u64 = 6;
/// The writer's folder and the second that it begins with.
const FOLDER: &str = "HISTORY_FOLDER";
const FROM: &str = "HISTORY_FROM";

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What happened in a second, which only its time tells; counts below 16 are kept exactly.
fn point(time: u64) -> Point {
    let mut times = Histogram::default();
    times.add_many(1 << (time % 20), 1 + time % 7);
    Point {
        time,
        covered: 1,
        requests: 1 + time % 7,
        hits: time % 3,
        errors: u64::from(time.is_multiple_of(11)),
        bytes: time * 1000,
        origin_us: time % 1_000_003,
        html: Times::of(&times),
        ..Point::default()
    }
}

/// The writer, in a process of its own: a second after the other, and each is told by eight bytes
/// on standard error when it was written. It ends when it is killed.
#[test]
#[ignore = "it is the child of the test below"]
fn a_writer_that_never_ends() {
    let (Some(folder), Ok(from)) = (std::env::var_os(FOLDER), std::env::var(FROM)) else { return };
    let from: u64 = from.parse().expect("a second");
    let mut history = History::open(&PathBuf::from(folder)).expect("nobody else has it");
    for time in from.. {
        history.note(point(time)).expect("there is room");
        std::io::stderr().write_all(&time.to_le_bytes()).expect("somebody listens");
    }
}

/// Has a writer go on until it has told of this second, then kills it; the last that it told of.
fn written_until(folder: &Path, from: u64, least: u64) -> u64 {
    let mut writer = Command::new(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "history::a_writer_that_never_ends", "--nocapture"])
        .env(FOLDER, folder)
        .env(FROM, from.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be run");
    let mut told = writer.stderr.take().expect("it is piped");
    let mut next = || {
        let mut bytes = [0; 8];
        told.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let mut last = 0;
    while last < least {
        last = next().expect("it writes");
    }
    // SIGKILL: it learns nothing of it.
    writer.kill().expect("it runs");
    writer.wait().expect("it is ours");
    while let Ok(time) = next() {
        last = time;
    }
    last
}

/// What of each of these seconds, or longer stretches, was read back.
fn read_back(folder: &Path, from: u64, to: u64, step: u64) -> HashMap<u64, Point> {
    let mut all = HashMap::new();
    for from in (from..to).step_by(4000) {
        let span = Span { from, to: to.min(from + 4000), step };
        let points = read(folder, span, to).expect("it can be read");
        all.extend(points.into_iter().map(|point| (point.time, point)));
    }
    all
}

#[test]
fn a_day_is_there_after_a_kill_but_for_the_second_that_was_written() {
    let state = open_folder();
    let folder = state.path().join("history");
    fs::create_dir(&folder).expect("it is new");
    // What a Wick writes from now on has other places than all that is looked at.
    let begin = unix_seconds() - DAY + 600;
    let (mut from, mut doubtful) = (begin, 0);
    for kill in 0..KILLS {
        // After most of a day at first, then after a while that no multiple of anything is.
        let least = if kill == 0 { begin + DAY - 6000 } else { from + 137 * kill };
        let last = written_until(&folder, from, least);
        let end = last + 1;
        // All of it at the end, and what is near the kill each time.
        let near = if kill + 1 == KILLS { begin } else { begin.max(end - 1000) };
        let seconds = read_back(&folder, near, end, 1);
        for time in near..end {
            let read = seconds.get(&time);
            assert!(read.is_some_and(|read| *read == point(time)), "{time} of {last}: {read:?}");
        }
        // The next one, if it was begun, is whole or not there.
        let beyond = read_back(&folder, end, end + 1, 1);
        assert!(beyond.values().all(|read| *read == point(read.time)), "{beyond:?}");
        // Then it stands in one file, and perhaps not in those of longer stretches.
        doubtful += beyond.values().map(|read| read.requests).sum::<u64>();
        from = end + beyond.len() as u64;
    }
    let minutes = read_back(&folder, begin + 60, from - 60, 60);
    let whole = minutes.values().filter(|minute| minute.covered == 60).count() as u64;
    // Each kill may have come between the files of the second that was written.
    assert!(whole + KILLS >= (from - begin) / 60 - 2, "{whole} of {}", minutes.len());
    a_wick_tells_it(state.path(), begin, from, doubtful);
}

/// A Wick that begins in the same folder tells of all of it, without a hand.
/// Of the seconds in which the writer was killed there were so many requests.
fn a_wick_tells_it(state: &Path, begin: u64, end: u64, doubtful: u64) {
    let admin = loopback::address();
    let file = state.join("wick.toml");
    fs::write(&file, format!("admin = \"{admin}\"\n")).expect("the settings are written");
    let (state, file) = (state.display().to_string(), file.display().to_string());
    let arguments = ["--state", &state, "--config", &file, "http://127.0.0.1:1"];
    let (wick, _) = Wick::serve(&arguments);
    let (from, to) = (begin.next_multiple_of(60), (end - 60) / 60 * 60);
    let path = format!("GET /api/history?from={from}&to={to}&points={}", (to - from) / 60);
    let told = ask(admin, &path);
    let points: Vec<serde_json::Value> = serde_json::from_str(body(&told)).expect("JSON");
    let sum: u64 = points.iter().filter_map(|point| point["requests"].as_u64()).sum();
    let all: u64 = (from..to).map(|time| point(time).requests).sum();
    assert!((all - doubtful..=all).contains(&sum), "{sum} of {all}, and {doubtful} in doubt");
    until("a point of its own", || {
        let now = unix_seconds();
        let own = ask(admin, &format!("GET /api/history?from={}&to={}&points=60", now - 60, now));
        std::thread::sleep(Duration::from_millis(20));
        body(&own).contains("\"start\"")
    });
    wick.stop();
}
