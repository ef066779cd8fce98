//! The tracker is killed as `kill -9` does it: while it writes its journal, a checkpoint, a batch,
//! or nothing, and the database with it. Nothing is lost or doubled.
//!
//! A child plays a story that is the same for one seed, and kills itself somewhere in it. The
//! next goes on behind the last turn that was answered: clients whose answer never came say the
//! same again, which must count once. In the end the sums that the database has are those of a
//! story without kills, to the byte. `SEEDS=20` plays more stories, `SEED=7` one alone.

mod world;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::process::{Signal, getpid, kill_process};
use tracker::rights::Worth;
use tracker::{Batch, Rules, Tracker};
use wire::tracker::{Announce, Event};
use world::{Dice, START, announce, folder, now, private, tell, torrent, user};

const TORRENTS: u64 = 100;
const USERS: u64 = 12;
const TURNS: u64 = 3000;
/// Where a child finds its story.
const FOLDER: &str = "TRACKER_KILLED_IN";

/// What a client does, in the order in which it does it: a story is the same whoever plays it.
#[derive(Default)]
struct Story {
    clients: HashMap<(u32, u32, u32), (u64, u64, bool)>,
    /// In hundredths, and bytes taken, and completions, by user and torrent.
    owed: BTreeMap<(u32, u32), [u64; 3]>,
}

impl Story {
    /// The announces of a turn: one of each client at most, so that a turn that is played again
    /// says nothing new.
    fn turn(&mut self, seed: u64, turn: u64) -> Vec<Announce> {
        let mut dice = Dice(seed.wrapping_mul(1_000_003) + turn);
        let mut said = BTreeMap::new();
        for _ in 0..1 + dice.below(4) {
            let id = 1 + dice.below(TORRENTS).min(dice.below(TORRENTS)) as u32;
            let key = (id, 1 + dice.below(USERS) as u32, dice.below(2) as u32);
            said.entry(key).or_insert_with(|| self.announce(&mut dice, key));
        }
        said.into_values().collect()
    }

    fn announce(&mut self, dice: &mut Dice, key: (u32, u32, u32)) -> Announce {
        let (id, whose, client) = key;
        let mut told = announce(id, whose, whose * 10 + client);
        let Some((uploaded, downloaded, is_complete)) = self.clients.get(&key).copied() else {
            let (uploaded, is_complete) = (dice.below(100), dice.chance(20));
            self.clients.insert(key, (uploaded, 0, is_complete));
            (told.uploaded, told.left) = (uploaded, u64::from(!is_complete) * 77);
            return told;
        };
        told.event = if dice.chance(8) { Event::Stopped } else { Event::Update };
        told.uploaded = uploaded + dice.below(1 << 30);
        told.downloaded = downloaded + dice.below(1 << 20);
        let completes = !is_complete && dice.chance(20);
        told.left = u64::from(!is_complete && !completes) * 77;
        let owed = self.owed.entry((whose, id)).or_default();
        owed[0] += (told.uploaded - uploaded) * worth(id);
        owed[1] += told.downloaded - downloaded;
        owed[2] += u64::from(completes);
        if told.event == Event::Stopped {
            self.clients.remove(&key);
        } else {
            self.clients.insert(key, (told.uploaded, told.downloaded, told.left == 0));
        }
        told
    }
}

fn worth(torrent: u32) -> u64 {
    [100, 0, 33, 150][torrent as usize % 4]
}

/// A database whose transactions are lines of a file: one that is not whole was never written.
struct Database {
    file: File,
    last: u64,
    sums: BTreeMap<(u32, u32), [u64; 3]>,
}

impl Database {
    fn open(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let file = OpenOptions::new().append(true).create(true).open(path).expect("a database");
        file.set_len(whole.len() as u64).expect("a database");
        let mut database = Self { file, last: 0, sums: BTreeMap::new() };
        for line in whole.lines() {
            let numbers: Vec<u64> = line.split(' ').filter_map(|text| text.parse().ok()).collect();
            database.last = numbers[0];
            for row in numbers[1..].chunks_exact(5) {
                let sums = database.sums.entry((row[0] as u32, row[1] as u32)).or_default();
                (0..3).for_each(|at| sums[at] += row[2 + at]);
            }
        }
        database
    }

    fn write(&mut self, batch: &Batch) {
        if batch.number <= self.last {
            return;
        }
        assert_eq!(batch.number, self.last + 1, "no number is left out");
        let mut line = batch.number.to_string();
        for credit in &batch.credits {
            let (user, torrent) = (credit.user.0, credit.torrent.0);
            let (uploaded, downloaded) = (credit.uploaded, credit.downloaded);
            let credit = format!(" {user} {torrent} {uploaded} {downloaded} {}", credit.completed);
            line.push_str(&credit);
        }
        line.push('\n');
        self.file.write_all(line.as_bytes()).expect("a database");
        self.last = batch.number;
    }
}

fn open(folder: &Path, last_in_database: u64) -> Tracker {
    let rules = Rules { gap_seconds: 0, pending_max: 60, ..private() };
    let (tracker, _) = Tracker::open(&folder.join("state"), rules, now(START)).expect("state");
    tracker.resume(last_in_database);
    tracker.begin_loading();
    for id in 1..=TORRENTS as u32 {
        let worth = Worth { uploaded: worth(id) as u16, downloaded: 100 };
        tracker.put_torrent(&tracker::Torrent { worth, ..torrent(id) });
    }
    for id in 1..=USERS as u32 {
        let none = Worth { uploaded: 0, downloaded: 100 };
        tracker.put_user(&tracker::User { worth: none, ..user(id) });
    }
    tracker.finish_loading();
    tracker
}

/// Turns that were answered until now.
fn answered(folder: &Path) -> u64 {
    fs::metadata(folder.join("answered")).map_or(0, |file| file.len())
}

fn die() {
    kill_process(getpid(), Signal::KILL).expect("a kill");
}

/// Plays the story on from where it was, and dies after some turns.
fn live(folder: &Path, seed: u64, mut dice: Dice) {
    let mut database = Database::open(&folder.join("database"));
    let tracker = Arc::new(open(folder, database.last));
    let begin = answered(folder);
    let mut story = Story::default();
    (0..begin).for_each(|turn| drop(story.turn(seed, turn)));
    let mut answers =
        OpenOptions::new().append(true).create(true).open(folder.join("answered")).expect("a file");
    let played = Arc::new(AtomicU64::new(0));
    let (life, more) = (dice.below(30), dice.below(20_000));
    let watched = played.clone();
    std::thread::spawn(move || {
        while watched.load(Relaxed) < life {
            std::thread::yield_now();
        }
        // At no place in particular.
        (0..more).for_each(|_| std::hint::spin_loop());
        die();
    });
    let checkpointed = tracker.clone();
    std::thread::spawn(move || while checkpointed.checkpoint(now(START)).is_ok() {});
    for turn in begin..TURNS {
        for told in story.turn(seed, turn) {
            tell(&tracker, &told, START + turn as u32 / 4).expect("nobody is refused");
        }
        tracker.flush_journal().expect("state");
        answers.write_all(b".").expect("a file");
        if dice.chance(10) {
            tracker.tick(now(START + turn as u32 / 4));
            while let Some(batch) = tracker.take_batch(now(START)) {
                if dice.chance(20) {
                    break;
                }
                database.write(&batch);
                if dice.chance(80) {
                    tracker.written(batch.number);
                }
            }
        }
        played.store(turn - begin + 1, Relaxed);
        // However slow the other thread is.
        if turn - begin > life + 60 {
            die();
        }
    }
}

/// Not a test: what the test below runs in processes of their own.
#[test]
fn a_life() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let number = |name: &str| std::env::var(name).expect("told").parse().expect("a number");
    live(Path::new(&folder), number("STORY"), Dice(number("LIFE")));
}

/// Says how often it was killed.
fn play(seed: u64) -> u64 {
    let state = folder();
    let mut kills = 0;
    while answered(state.path()) < TURNS {
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "a_life", "--quiet"])
            .env(FOLDER, state.path())
            .env("STORY", seed.to_string())
            .env("LIFE", (seed * 1_000_000 + kills).to_string())
            .output()
            .expect("a child");
        let is_killed = std::os::unix::process::ExitStatusExt::signal(&child.status) == Some(9);
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(is_killed || child.status.success(), "seed {seed}, kill {kills}: {said}");
        kills += u64::from(is_killed);
    }
    compare(state.path(), seed);
    kills
}

fn compare(folder: &Path, seed: u64) {
    let mut story = Story::default();
    (0..TURNS).for_each(|turn| drop(story.turn(seed, turn)));
    let mut database = Database::open(&folder.join("database"));
    let tracker = open(folder, database.last);
    let mut empty = 0;
    while empty < 2 {
        match tracker.take_batch(now(START)) {
            Some(batch) => {
                database.write(&batch);
                tracker.written(batch.number);
            }
            None => empty += 1,
        }
    }
    let database = Database::open(&folder.join("database"));
    assert_eq!(tracker.status().sessions, story.clients.len(), "seed {seed}");
    let exact = |sums: &BTreeMap<(u32, u32), [u64; 3]>| -> BTreeMap<(u32, u32), [u64; 2]> {
        let some = sums.iter().filter(|(_, sum)| sum[1] + sum[2] > 0);
        some.map(|(key, sum)| (*key, [sum[1], sum[2]])).collect()
    };
    assert_eq!(exact(&database.sums), exact(&story.owed), "seed {seed}");
    // What bytes are worth is exact for each user over all torrents: a rest below one byte.
    for whose in 1..=USERS as u32 {
        let all = |sums: &BTreeMap<(u32, u32), [u64; 3]>| -> u64 {
            sums.iter().filter(|((user, _), _)| *user == whose).map(|(_, sum)| sum[0]).sum()
        };
        let (credited, owed) = (all(&database.sums) * 100, all(&story.owed));
        assert!(credited <= owed && owed - credited < 100, "{credited} of {owed}, seed {seed}");
    }
}

#[test]
fn a_kill_costs_an_open_tracker_what_it_was_told_in_some_minutes() {
    let state = folder();
    let at = |seconds| now(START + seconds);
    let (tracker, _) = Tracker::open(state.path(), world::open(), at(0)).expect("state");
    assert!(!tracker.wants_checkpoint(at(3600)), "nobody announced");
    tell(&tracker, &announce(1, 1, 1), START).expect("nobody is refused");
    assert!(!tracker.wants_checkpoint(at(299)) && tracker.wants_checkpoint(at(301)));
    tracker.checkpoint(at(301)).expect("state");
    assert!(!tracker.wants_checkpoint(at(3600)), "nothing is new");
    tell(&tracker, &announce(1, 1, 2), START + 302).expect("nobody is refused");
    assert!(!tracker.wants_checkpoint(at(600)) && tracker.wants_checkpoint(at(602)));
    // It is killed before it is written.
    drop(tracker);
    let (_, loaded) = Tracker::open(state.path(), world::open(), at(603)).expect("state");
    assert_eq!((loaded.sessions, loaded.damaged_bytes), (1, 0));
}

#[test]
fn no_kill_loses_or_doubles_a_byte() {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match told("SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + told("SEEDS").unwrap_or(1),
    };
    let kills: u64 = seeds.map(play).sum();
    println!("{kills} kills");
    assert!(kills > 30, "only {kills} kills");
}
