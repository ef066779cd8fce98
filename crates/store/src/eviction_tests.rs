//! What eviction keeps: the hot set through a scan, and more hits than the plain way.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::memory_tests::{Page, fill, find, page};
use crate::{Inserted, Key, Store};

#[test]
fn what_is_read_survives_a_scan_of_ten_times_the_limit() {
    const LIMIT: usize = 8 << 20;
    let store = Store::new(LIMIT);
    fill(&store, 0..200u64, 10_000);
    (0..200).for_each(|number| assert!(find(&store, number).is_some()));
    let scanned = 10 * LIMIT as u64 / 10_000;
    fill(&store, 1_000..1_000 + scanned, 10_000);
    let survivors = (0..200).filter(|&number| find(&store, number).is_some()).count();
    assert!(survivors >= 198, "{survivors} of 200");
}

/// What of `numbers` is left after a scan of twice the limit.
fn left_after_scan(store: &Store<Page>, numbers: Range<u64>) -> usize {
    fill(store, 10_000..10_000 + 2 * store.limit() as u64 / 10_000, 10_000);
    numbers.filter(|&number| find(store, number).is_some()).count()
}

#[test]
fn a_page_that_returns_soon_after_it_went_stays() {
    let store = Store::new(8 << 20);
    // A main queue that holds something, and a small one that turns pages away unread.
    fill(&store, 0..400, 10_000);
    (0..400).for_each(|number| assert!(find(&store, number).is_some()));
    fill(&store, 1_000..1_700, 10_000);
    let gone: Vec<_> = (1_000..1_100).filter(|&number| find(&store, number).is_none()).collect();
    assert!(gone.len() > 90, "{}", gone.len());
    fill(&store, 1_000..1_100, 10_000);
    let left = left_after_scan(&store, 1_000..1_100);
    assert!(left > 90, "{left}");
}

#[test]
fn a_refreshed_page_keeps_what_its_readings_earned() {
    let store = Store::new(8 << 20);
    fill(&store, 0..100, 10_000);
    (0..100).for_each(|number| assert!(find(&store, number).is_some()));
    fill(&store, 0..100, 10_000);
    assert_eq!(store.len(), 100);
    let left = left_after_scan(&store, 0..100);
    assert!(left > 95, "{left}");
}

fn put(store: &Store<Page>, key: &Key, weight: usize) {
    assert!(matches!(store.insert(key, page(0, 0, 0, weight)), Inserted::Stored { .. }));
}

#[test]
fn a_crowded_shard_makes_room_for_itself_and_light_ones_for_a_heavy_thing() {
    let key = |shard: u64, number: u64| Key { hash: shard << 48 | number, text: b"same" };
    let store = Store::new(1 << 20);
    for number in 0..10 {
        (0..16).for_each(|shard| put(&store, &key(shard, number), 5_000));
    }
    (100..1_000).for_each(|number| put(&store, &key(3, number), 5_000));
    let others = (0..10).flat_map(|number| (4..19).map(move |shard| key(shard % 16, number)));
    let left = others.filter(|key| store.newest(key).is_some()).count();
    assert!(left > 140, "{left} of 150");

    store.clear();
    let half = store.reserve(1 << 19).expect("half may be reserved");
    for number in 0..6 {
        (1..16).for_each(|shard| put(&store, &key(shard, number), 5_000));
    }
    let before = store.len();
    put(&store, &key(0, 0), 130_000);
    assert!(store.len() < before && store.newest(&key(0, 0)).is_some());
    assert!(store.used() + half.bytes() <= store.limit());
}

#[test]
fn one_insertion_does_not_pay_for_sparing_all_that_is_wanted() {
    let store = Store::new(8 << 20);
    fill(&store, 0..6_000, 1_000);
    for _ in 0..4 {
        (0..6_000).for_each(|number| assert!(find(&store, number).is_some()));
    }
    store.set_limit(store.used() - 1);
    assert_eq!((store.counts().evicted, store.counts().forced), (1, 1));
}

/// The plain way, as the oracle: the least recently used goes. It pays for no index.
#[derive(Default)]
struct Lru {
    used_at: HashMap<u64, (u64, usize)>,
    order: BTreeMap<u64, u64>,
    used: usize,
    time: u64,
}

impl Lru {
    /// Reads a key and stores it if it was not there; says whether it was.
    fn read(&mut self, number: u64, weight: usize, limit: usize) -> bool {
        self.time += 1;
        self.order.insert(self.time, number);
        let earlier = self.used_at.insert(number, (self.time, weight));
        match earlier {
            Some((time, _)) => drop(self.order.remove(&time)),
            None => self.used += weight,
        }
        while self.used > limit {
            let (_, oldest) = self.order.pop_first().expect("what is used is in the order");
            let (_, weight) = self.used_at.remove(&oldest).expect("what is in the order is here");
            self.used -= weight;
        }
        earlier.is_some()
    }
}

/// Hits of the store and of the oracle over a trace whose popularity falls as rank^-skew.
fn hits_of_both(seed: u64, skew: f64, keys: u64, limit: usize, weights: &[usize]) -> (u32, u32) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut sum = 0.0;
    let reach: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += (rank as f64).powf(-skew);
            sum
        })
        .collect();
    let (store, mut lru) = (Store::new(limit), Lru::default());
    let (mut hits, mut lru_hits) = (0, 0);
    for _ in 0..60_000 {
        let at = random.random_range(0.0..sum);
        let number = reach.partition_point(|&reach| reach < at) as u64;
        let weight = weights[number as usize % weights.len()];
        lru_hits += u32::from(lru.read(number, weight, limit));
        match find(&store, number) {
            Some(_) => hits += 1,
            None => fill(&store, number..number + 1, weight),
        }
    }
    (hits, lru_hits)
}

#[test]
fn it_hits_at_least_as_often_as_least_recently_used() {
    for (seed, skew, keys, limit, weights) in [
        (1, 0.6, 10_000, 4 << 20, &[10_000][..]),
        (2, 0.8, 10_000, 4 << 20, &[10_000][..]),
        (3, 1.0, 10_000, 4 << 20, &[10_000][..]),
        (4, 1.2, 10_000, 4 << 20, &[10_000][..]),
        (5, 0.9, 20_000, 16 << 20, &[2_000, 9_000, 40_000, 300, 120_000][..]),
        (6, 0.9, 2_000, 1 << 20, &[9_000, 35_000][..]),
    ] {
        let (hits, lru_hits) = hits_of_both(seed, skew, keys, limit, weights);
        println!("skew {skew}, {keys} keys: {hits} hits, least recently used {lru_hits}");
        assert!(hits >= lru_hits, "skew {skew}: {hits} < {lru_hits}");
    }
}
