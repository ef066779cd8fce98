//! What eviction keeps: the hot set through a scan, and more hits than the plain way.

use std::collections::{BTreeMap, HashMap};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Store;
use crate::memory_tests::{fill, find};

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
