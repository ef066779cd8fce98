//! The books hold, whatever happens: thousands of steps of dice against a plain model, with
//! kills, restarts, checkpoints, lost acknowledgements and a database that is away.
//!
//! The model knows what every announce is worth by the rules alone. At the end the sums that
//! reached the database, once each by their numbers, must be the model's to the byte.
//! `SEED=7 cargo test -p tracker --test ledger` plays one story alone, `SEEDS=20` more of them.

mod world;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use tracker::rights::Worth;
use tracker::{Batch, Rules, Tracker};
use wire::tracker::Event;
use world::{Dice, START, announce, folder, now, private, tell, torrent, user};

const TORRENTS: u64 = 90;
const USERS: u64 = 12;
const STEPS: u32 = 1500;

/// What a user has of a torrent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    /// In hundredths.
    uploaded: u64,
    told_uploaded: u64,
    told_downloaded: u64,
    completed: u64,
    seeded_seconds: u64,
    announces: u64,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    uploaded: u64,
    downloaded: u64,
    is_complete: bool,
    at: u32,
}

/// The plain truth.
#[derive(Clone, Default)]
struct Model {
    clients: HashMap<(u32, u32, u32), Client>,
    sums: BTreeMap<(u32, u32), Sum>,
}

/// A database that takes each batch once.
#[derive(Default)]
struct Database {
    last: u64,
    sums: BTreeMap<(u32, u32), Sum>,
    completed: BTreeMap<u32, u64>,
}

impl Database {
    fn write(&mut self, batch: &Batch) {
        if batch.number <= self.last {
            return;
        }
        assert_eq!(batch.number, self.last + 1, "no number is left out");
        self.last = batch.number;
        for credit in &batch.credits {
            let sum = self.sums.entry((credit.user.0, credit.torrent.0)).or_default();
            sum.uploaded += credit.uploaded * 100;
            sum.told_uploaded += credit.told_uploaded;
            sum.told_downloaded += credit.told_downloaded;
            sum.completed += u64::from(credit.completed);
            sum.seeded_seconds += u64::from(credit.seeded_seconds);
            sum.announces += u64::from(credit.announces);
        }
        for standing in &batch.torrents {
            let completed = self.completed.entry(standing.torrent.0).or_default();
            *completed += u64::from(standing.completed);
            assert_eq!(*completed, u64::from(standing.completed_total), "{standing:?}");
        }
    }
}

fn rules() -> Rules {
    Rules { gap_seconds: 0, pending_max: 40, ..private() }
}

fn worth(torrent: u32) -> u16 {
    [100, 0, 33, 150][torrent as usize % 4]
}

fn start(folder: &Path, at: u32, database: &Database) -> Tracker {
    let (tracker, loaded) = Tracker::open(folder, rules(), now(at)).expect("state on disk");
    assert_eq!(loaded.damaged_bytes, 0, "nothing is damaged by a kill between turns");
    tracker.resume(database.last);
    tracker.begin_loading();
    for id in 1..=TORRENTS as u32 {
        let worth = Worth { uploaded: worth(id), downloaded: 100 };
        tracker.put_torrent(&tracker::Torrent { worth, ..torrent(id) });
    }
    for id in 1..=USERS as u32 {
        let none = Worth { uploaded: 0, downloaded: 100 };
        tracker.put_user(&tracker::User { worth: none, ..user(id) });
    }
    tracker.finish_loading();
    tracker
}

/// One announce of the dice, told to both.
fn step(dice: &mut Dice, tracker: &Tracker, model: &mut Model, at: u32) {
    let id = 1 + dice.below(TORRENTS).min(dice.below(TORRENTS)) as u32;
    let whose = 1 + dice.below(USERS) as u32;
    let client = dice.below(3) as u32;
    let key = (id, whose, client);
    let known = model.clients.get(&key).copied();
    let before = known.unwrap_or(Client { uploaded: 0, downloaded: 0, is_complete: false, at });
    let mut now_is = Client {
        uploaded: before.uploaded + dice.below(1 << 30),
        downloaded: before.downloaded + dice.below(1 << 20),
        is_complete: before.is_complete || dice.chance(20),
        at,
    };
    if dice.chance(5) {
        now_is = Client { uploaded: dice.below(1000), ..now_is };
    }
    let event = match dice.below(10) {
        0 => Event::Stopped,
        1 => Event::Started,
        2 => Event::Completed,
        _ => Event::Update,
    };
    let mut told = announce(id, whose, whose * 10 + client);
    (told.uploaded, told.downloaded) = (now_is.uploaded, now_is.downloaded);
    told.left = u64::from(!now_is.is_complete) * 77;
    told.event = event;
    tell(tracker, &told, at).expect("nobody is refused");
    if known.is_none() && event == Event::Stopped {
        return;
    }
    let sum = model.sums.entry((whose, id)).or_default();
    sum.announces += 1;
    if let Some(before) = known {
        let has_grown =
            now_is.uploaded >= before.uploaded && now_is.downloaded >= before.downloaded;
        if has_grown {
            sum.uploaded += (now_is.uploaded - before.uploaded) * u64::from(worth(id));
            sum.told_uploaded += now_is.uploaded - before.uploaded;
            sum.told_downloaded += now_is.downloaded - before.downloaded;
        }
        sum.completed += u64::from(now_is.is_complete && !before.is_complete);
        if before.is_complete {
            sum.seeded_seconds += u64::from(at - before.at);
        }
    }
    if event == Event::Stopped {
        model.clients.remove(&key);
    } else {
        model.clients.insert(key, now_is);
    }
}

/// Batches go to the database; an acknowledgement is lost now and then.
fn write_some(dice: &mut Dice, tracker: &Tracker, database: &mut Database, at: u32) {
    for _ in 0..dice.below(4) {
        let Some(batch) = tracker.take_batch(now(at)) else { return };
        if dice.chance(80) {
            database.write(&batch);
            if dice.chance(80) {
                tracker.written(batch.number);
            }
        }
        if let Some(again) = tracker.take_batch(now(at))
            && again.number == batch.number
        {
            assert_eq!(again, batch, "a batch never changes");
        }
    }
}

/// Says how often it was killed.
fn play(seed: u64) -> u64 {
    let state = folder();
    let mut dice = Dice(seed);
    let (mut model, mut database) = (Model::default(), Database::default());
    let mut at = START;
    let mut kills = 0;
    let mut tracker = start(state.path(), at, &database);
    for _ in 0..STEPS {
        // In all less than the time after which sessions are gone.
        at += dice.below(2) as u32;
        match dice.below(100) {
            0..84 => {
                // A turn: its answers leave after the journal was flushed, or never.
                let before = model.clone();
                for _ in 0..1 + dice.below(4) {
                    step(&mut dice, &tracker, &mut model, at);
                }
                if dice.chance(97) {
                    tracker.flush_journal().expect("state on disk");
                } else {
                    kills += 1;
                    drop(tracker);
                    model = before;
                    tracker = start(state.path(), at, &database);
                }
            }
            84..95 => write_some(&mut dice, &tracker, &mut database, at),
            95..97 => tracker.tick(now(at)),
            97 => tracker.checkpoint(now(at)).expect("state on disk"),
            _ => {
                kills += 1;
                drop(tracker);
                tracker = start(state.path(), at, &database);
            }
        }
    }
    assert_eq!(tracker.status().sessions, model.clients.len(), "seed {seed}");
    let mut empty = 0;
    while empty < 2 {
        match tracker.take_batch(now(at)) {
            Some(batch) => {
                database.write(&batch);
                tracker.written(batch.number);
            }
            None => empty += 1,
        }
    }
    compare(seed, &tracker, &model, &database);
    kills
}

fn compare(seed: u64, tracker: &Tracker, model: &Model, database: &Database) {
    let again = format!("again: SEED={seed} cargo test -p tracker --test ledger");
    let plain = |sums: &BTreeMap<(u32, u32), Sum>| -> BTreeMap<(u32, u32), Sum> {
        let without = |sum: &Sum| Sum { uploaded: 0, ..*sum };
        let some = sums.iter().filter(|(_, sum)| sum.announces > 0);
        some.map(|(key, sum)| (*key, without(sum))).collect()
    };
    let (written, owed) = (plain(&database.sums), plain(&model.sums));
    for (key, sum) in &owed {
        assert_eq!(written.get(key), Some(sum), "{key:?}; {again}");
    }
    assert_eq!(written.len(), owed.len(), "nothing for who did nothing; {again}");
    // What bytes are worth is exact for each user over all torrents: a rest below one byte.
    for whose in 1..=USERS as u32 {
        let all = |sums: &BTreeMap<(u32, u32), Sum>| -> u64 {
            let own = sums.iter().filter(|((user, _), _)| *user == whose);
            own.map(|(_, sum)| sum.uploaded).sum()
        };
        let (credited, owed) = (all(&database.sums), all(&model.sums));
        assert!(credited <= owed && owed - credited < 100, "{credited} of {owed}; {again}");
        let taking = model
            .clients
            .iter()
            .filter(|((_, user, _), client)| *user == whose && !client.is_complete);
        let torrents: std::collections::BTreeSet<u32> = taking.map(|((id, ..), _)| *id).collect();
        let status = tracker.user(tracker::UserId(whose)).expect("a user");
        assert_eq!(status.taking as usize, torrents.len(), "{again}");
    }
}

#[test]
fn every_byte_reaches_the_database_once() {
    if let Some(seed) = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        play(seed);
        return;
    }
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1_u64);
    let kills: u64 = (0..3 * seeds).map(play).sum();
    println!("{kills} kills");
}
