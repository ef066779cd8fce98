//! The tracker itself with its journal and its books: what clients told is what stands in the
//! database, whoever dies between the two.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use base::Clock;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tracker::books::{Dialect, Place, Shared, Step, Writer};
use tracker::{Mode, Refusal, Rules, Tracker};
use wire::tracker::{Announce, Event, Peers};

use crate::game::{die_after, seeds};
use crate::ledger::{TORRENTS, USERS};
use crate::opened::{announce_of, loaded, opened};
use crate::sites::WICK;

const ROUNDS: usize = 120;

/// What clients have told: bytes sent and taken, by user and torrent.
type Told = BTreeMap<(u32, u32), (u64, u64)>;

struct Whole {
    folder: tempfile::TempDir,
    clock: Clock,
    dice: StdRng,
    told: Told,
}

impl Whole {
    fn place(&self) -> Place {
        Place::Sqlite(self.folder.path().join("site.sqlite"))
    }

    async fn open(&self) -> (Arc<Tracker>, Writer) {
        let rules = Rules { mode: Mode::Private, min_interval_seconds: 0, ..Rules::default() };
        let state: &Path = &self.folder.path().join("state");
        std::fs::create_dir_all(state).expect("a folder");
        let tracker = opened(state, &rules, &self.clock).await;
        let writer = loaded(&tracker, self.place(), "wick", &self.clock, Shared::default()).await;
        (tracker, writer)
    }

    /// Somebody announces that they did more than before.
    fn announce(&mut self, tracker: &Tracker) {
        let user = self.dice.random_range(1..=USERS);
        let torrent = self.dice.random_range(1..=TORRENTS);
        let before = self.told.get(&(user, torrent)).copied();
        let mut told = before.unwrap_or_default();
        if before.is_some() {
            told.0 += self.dice.random_range(0..1 << 30);
            told.1 += self.dice.random_range(0..1 << 30);
        }
        let announce = Announce {
            uploaded: told.0,
            downloaded: told.1,
            event: if before.is_none() { Event::Started } else { Event::Update },
            ..announce_of(&format!("passkey{user}"), torrent as u8)
        };
        let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, user as u8));
        let answer = tracker.announce(&announce, from, self.clock.now(), &mut Peers::default());
        // Whoever came again at once was not counted.
        if !matches!(answer, Err(Refusal::TooOften { .. })) {
            answer.expect("peers");
            self.told.insert((user, torrent), told);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_credited_once_whoever_dies_between_client_and_database() {
    for seed in seeds() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = rusqlite::Connection::open(folder.path().join("site.sqlite")).expect("a file");
        site.execute_batch(&WICK.made(Dialect::Sqlite)).expect("tables");
        let clock = Clock::manual(1_800_000_000_000);
        let (dice, told) = (StdRng::seed_from_u64(seed), Told::new());
        let mut whole = Whole { folder, clock, dice, told };
        let (mut tracker, mut writer) = whole.open().await;
        for _ in 0..ROUNDS {
            for _ in 0..whole.dice.random_range(0..12) {
                whole.announce(&tracker);
                whole.clock.advance_ms(5_000);
            }
            tracker.flush_journal().expect("it is in the journal");
            match whole.dice.random_range(0..3) {
                // All of the process dies, as it writes or not.
                0 => {
                    let waits = whole.dice.random_range(0..25);
                    die_after(waits, writer.step()).await;
                    drop((writer, tracker));
                    (tracker, writer) = whole.open().await;
                }
                1 => drop(writer.step().await),
                _ => {}
            }
        }
        tracker.flush_journal().expect("it is in the journal");
        while writer.step().await != Step::Idle {}
        assert_eq!(credited(&site), whole.told, "again: SEED={seed}");
    }
}

/// What the database has.
fn credited(site: &rusqlite::Connection) -> Told {
    let mut asked = site
        .prepare("SELECT user_id, torrent_id, uploaded, downloaded FROM wick_accounts")
        .expect("a question");
    let row = |row: &rusqlite::Row<'_>| {
        let bytes = |at| row.get::<_, i64>(at).map(|bytes| bytes as u64);
        Ok(((row.get(0)?, row.get(1)?), (bytes(2)?, bytes(3)?)))
    };
    let found: Result<Told, _> = asked.query_map([], row).expect("an answer").collect();
    found.expect("rows")
}

/// As many in memory as a small machine can bear.
const PENDING_MAX: u32 = 16;

#[tokio::test]
async fn a_database_that_is_away_for_an_hour_costs_no_byte_and_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = rusqlite::Connection::open(folder.path().join("site.sqlite")).expect("a file");
    site.execute_batch(&WICK.made(Dialect::Sqlite)).expect("tables");
    drop(site);
    let clock = Clock::manual(1_800_000_000_000);
    let (dice, told) = (StdRng::seed_from_u64(1), Told::new());
    let mut whole = Whole { folder, clock, dice, told };
    let (tracker, mut writer) = whole.open().await;
    let rules = tracker.rules().as_ref().clone();
    tracker.set_rules(Rules { pending_max: PENDING_MAX, ..rules });
    // A folder in its place can't be opened as a file.
    let (here, away) = (whole.folder.path().join("site.sqlite"), whole.folder.path().join("away"));
    std::fs::rename(&here, &away).expect("it goes");
    std::fs::create_dir(&here).expect("nothing is there");
    for minute in 0..60 {
        for _ in 0..30 {
            whole.announce(&tracker);
            whole.clock.advance_ms(2_000);
            tracker.tick(whole.clock.now());
            let status = tracker.status();
            assert!(status.credits_pending <= PENDING_MAX as usize, "{status:?}");
        }
        assert_eq!(writer.step().await, Step::Failed);
        assert!(tracker.status().batches_behind > minute / 2, "they wait on disk");
    }
    // Nor is anything lost when the process ends meanwhile.
    tracker.flush_journal().expect("it is in the journal");
    drop((writer, tracker));
    std::fs::remove_dir(&here).expect("it was empty");
    std::fs::rename(&away, &here).expect("it comes back");
    let (_tracker, mut writer) = whole.open().await;
    while writer.step().await != Step::Idle {}
    let site = rusqlite::Connection::open(here).expect("a file");
    assert_eq!(credited(&site), whole.told);
}
