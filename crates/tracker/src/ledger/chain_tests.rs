//! Clients that haste from tracker to tracker: they end and begin within a second of saying more
//! elsewhere, with and without telling so, to trackers whose clocks differ, and what they said is
//! written in any order. No byte and no completion counts twice.

use std::ops::Range;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

const SEEDS: u64 = 1_500;
const NODES: usize = 4;
/// How far clocks are off, at most, each way.
const OFF_MS: u64 = 2_000;

/// Bytes sent and taken, and completions.
type Sums = [u64; 3];
/// How long clients wait at most, one of these, before they say more and before they begin.
type Paces = [&'static [u64]; 2];
const HASTE_MS: Paces = [&[10, 1_000, 1_000, 6_000, 20_000, 2_000_000]; 2];

/// A client, and what it told whom.
struct Client {
    dice: StdRng,
    paces_ms: Paces,
    nodes: usize,
    /// By which it is behind the hour at which the story begins, of each node.
    off_ms: [u64; NODES],
    now_ms: u64,
    counters: [u64; 2],
    is_complete: bool,
    is_there: bool,
    /// What it did.
    did: Sums,
    /// In the order in which it was told.
    said: Vec<Row>,
}

impl Client {
    fn new(seed: u64, paces_ms: Paces) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        let off_ms = std::array::from_fn(|_| dice.random_range(0..=2 * OFF_MS));
        let nodes = dice.random_range(2..=NODES);
        Self {
            dice,
            paces_ms,
            nodes,
            off_ms,
            now_ms: 1_000_000,
            counters: [0; 2],
            is_complete: false,
            is_there: false,
            did: [0; 3],
            said: Vec::new(),
        }
    }

    fn says(&mut self, has_started: bool, has_stopped: bool) {
        let node = self.dice.random_range(0..self.nodes);
        self.said.push(Row {
            place: (self.now_ms + self.off_ms[node]) / 1_000 * PLACES,
            node: node as u64,
            uploaded: self.counters[0],
            downloaded: self.counters[1],
            is_complete: self.is_complete,
            has_started,
            has_stopped,
        });
    }

    /// Once, or by both families of addresses, or not at all.
    fn tells(&mut self, has_started: bool, has_stopped: bool) {
        for _ in 0..[0, 1, 1, 1, 1, 1, 2, 2][self.dice.random_range(0..8)] {
            self.says(has_started, has_stopped);
            self.now_ms += self.dice.random_range(0..300);
        }
    }

    fn works(&mut self) {
        let more = [0, 1, 1_000][self.dice.random_range(0..3)];
        let mut more = [self.dice.random_range(0..=more), self.dice.random_range(0..=more)];
        if self.is_complete {
            more[1] = 0;
        }
        for (at, more) in more.into_iter().enumerate() {
            self.counters[at] += more;
            self.did[at] += more;
        }
        if !self.is_complete && self.dice.random_bool(0.2) {
            self.is_complete = true;
            self.did[2] += 1;
        }
    }

    fn steps(&mut self) {
        let most_ms = self.paces_ms[usize::from(!self.is_there)];
        let most_ms = most_ms[self.dice.random_range(0..most_ms.len())];
        self.now_ms += self.dice.random_range(0..most_ms);
        if !self.is_there {
            // Some go on counting where they were.
            if self.dice.random_bool(0.9) {
                self.counters = [0; 2];
            }
            self.is_complete &= self.dice.random_bool(0.8);
            self.is_there = true;
            return self.tells(true, false);
        }
        self.works();
        self.is_there = self.dice.random_bool(0.7);
        let has_stopped = !self.is_there;
        self.tells(false, has_stopped);
    }

    /// What is to be credited where it is known who was first.
    fn clear(&self) -> Sums {
        let mut sums = [0; 3];
        for pair in self.said.windows(2) {
            let (before, after) = (counters(&pair[0]), counters(&pair[1]));
            for at in 0..3 {
                sums[at] += after[at].saturating_sub(before[at]);
            }
        }
        sums
    }
}

fn counters(row: &Row) -> Sums {
    [row.uploaded, row.downloaded, u64::from(row.is_complete)]
}

/// A ledger as [`books::shared`](crate::books) keeps it, of one session.
#[derive(Default)]
struct Ledger {
    rows: Vec<Row>,
    credited: Sums,
    told: [u64; NODES],
    dropped: u64,
    /// All that was put there, and whether anything wasn't.
    put: Vec<Row>,
    has_left_out: bool,
}

impl Ledger {
    /// A batch of one tracker, of what it was told.
    fn settle(&mut self, batch: &[Row], nodes: usize) {
        let horizon = self.told[..nodes].iter().copied().min().unwrap_or(0);
        let floor = horizon.max(self.dropped);
        for row in batch {
            let at = (row.place / PLACES).max(self.told[row.node as usize] + 1);
            let row = Row { place: at * PLACES, ..*row };
            let Some((row, link)) = insert(&mut self.rows, row, self.dropped * PLACES) else {
                self.has_left_out = true;
                continue;
            };
            self.put.push(row);
            let added = [link.uploaded, link.downloaded, link.completed];
            self.credited.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
        }
        self.rows.drain(..needed(&self.rows, floor * PLACES));
        self.dropped = floor;
    }
}

/// What was credited of a client's story, written in some order.
fn written(client: &mut Client, seed: u64) -> Ledger {
    let mut ledger = Ledger::default();
    let mut logs: [Vec<Row>; NODES] = Default::default();
    client.said.iter().for_each(|row| logs[row.node as usize].push(*row));
    let end = client.now_ms / 1_000 + 10;
    while logs.iter().any(|log| !log.is_empty()) {
        let node = client.dice.random_range(0..client.nodes);
        let many = client.dice.random_range(0..4).min(logs[node].len());
        let batch: Vec<Row> = logs[node].drain(..many).collect();
        ledger.settle(&batch, client.nodes);
        let did = client.did;
        let is_more = ledger.credited.iter().zip(did).any(|(sum, did)| *sum > did);
        assert!(!is_more, "seed {seed}: {:?} of {did:?}: {:?}", ledger.credited, client.said);
        if client.dice.random_bool(0.5) {
            let told = logs[node].first().map_or(end, |next| next.place / PLACES - 1);
            ledger.told[node] = ledger.told[node].max(told);
        }
    }
    ledger
}

/// What is credited of clients' stories, and what would be if it were known who was first.
fn check(seeds: u64, steps: Range<usize>, paces_ms: Paces) -> [u64; 2] {
    let mut sums = [0; 2];
    for seed in 0..seeds {
        let mut client = Client::new(seed, paces_ms);
        let many = client.dice.random_range(steps.clone());
        (0..many).for_each(|_| client.steps());
        let mut ledger = written(&mut client, seed);
        let credited = ledger.credited;
        if !ledger.has_left_out {
            ledger.put.sort_unstable_by_key(|row| row.place);
            let all = walk(&ledger.put).sums.map(|sum| sum as u64);
            assert_eq!(credited, all, "seed {seed}: in whichever order: {:?}", client.said);
        }
        sums.iter_mut().zip([credited[0], client.clear()[0]]).for_each(|(sum, more)| *sum += more);
    }
    sums
}

#[test]
fn no_byte_counts_twice_whatever_clocks_say() {
    let [credited, clear] = check(SEEDS, 2..14, HASTE_MS);
    println!("in haste: {credited} of {clear}");
    assert!(credited * 100 > clear * 85, "{credited} of {clear}");
    // As clients announce that don't haste, but for some that begin anew at once.
    let [credited, clear] = check(SEEDS, 2..14, [&[1_800_000], &[10, 6_000, 3_600_000]]);
    println!("at leisure: {credited} of {clear}");
    assert!(credited * 100 > clear * 95, "{credited} of {clear}");
}

#[test]
fn who_says_too_much_within_seconds_is_credited_no_byte_too_many() {
    // So much that some of it is left out.
    check(100, 30..70, [&[1_000, 6_000]; 2]);
}
