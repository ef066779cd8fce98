//! The store against a plain model: what it finds, and what it weighs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::{Inserted, Key, NoRoom, Resident, Store, VARIANTS_MAX, shard::entry_weight};

#[derive(Debug)]
pub(crate) struct Page {
    key: u64,
    variant: u8,
    version: u64,
    weight: AtomicUsize,
}

impl Resident for Page {
    fn weight(&self) -> usize {
        self.weight.load(Relaxed)
    }

    fn replaces(&self, older: &Self) -> bool {
        self.variant == older.variant
    }
}

pub(crate) fn page(key: u64, variant: u8, version: u64, weight: usize) -> Arc<Page> {
    Arc::new(Page { key, variant, version, weight: weight.into() })
}

/// The text of a key and, as often as `collisions` asks for, a hash that others have too.
fn with_key<R>(number: u64, collisions: u64, then: impl FnOnce(&Key) -> R) -> R {
    let text = format!("http://example.com/thread/{number:05}");
    let mixed = (number / collisions + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    then(&Key {
        hash: mixed ^ (mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9),
        text: text.as_bytes(),
    })
}

fn insert(store: &Store<Page>, item: Arc<Page>) -> Inserted {
    with_key(item.key, 1, |key| store.insert(key, item.clone()))
}

pub(crate) fn fill(store: &Store<Page>, numbers: Range<u64>, weight: usize) {
    for number in numbers {
        insert(store, page(number, 0, 0, weight));
    }
}

pub(crate) fn find(store: &Store<Page>, number: u64) -> Option<Arc<Page>> {
    with_key(number, 1, |key| store.find(key, |_| true))
}

fn assert_within_limit<T: Resident>(store: &Store<T>) {
    let held = store.used() + store.reserved();
    assert!(held <= store.limit(), "{held} of {}", store.limit());
}

#[test]
fn what_is_not_wanted_any_more_leaves_the_older_one_where_it_is() {
    let store = Store::new(100_000);
    insert(&store, page(1, 0, 1, 100));
    let unwanted = with_key(1, 1, |key| store.insert_if(key, page(1, 0, 2, 100), || false));
    assert_eq!(unwanted, Inserted::Unwanted);
    assert_eq!(find(&store, 1).map(|page| page.version), Some(1));
    store.audit();
}

#[test]
fn the_newest_matching_variant_is_found_and_replaced_by_its_successor() {
    let store = Store::new(1 << 20);
    let key = Key { hash: 1, text: b"/a" };
    assert!(store.newest(&key).is_none() && store.find(&key, |_| true).is_none());
    for (variant, version, replaced) in [(1, 1, 0), (2, 2, 0), (3, 3, 0), (2, 4, 1)] {
        let stored = Inserted::Stored { replaced, evicted: 0 };
        assert_eq!(store.insert(&key, page(0, variant, version, 100)), stored);
    }
    assert_eq!((store.variants(&key), store.len()), (3, 3));
    assert_eq!(store.newest(&key).map(|page| page.version), Some(4));
    let versions =
        |most: u8| store.find(&key, |page| page.variant <= most).map(|page| page.version);
    assert_eq!(
        (versions(3), versions(2), versions(1), versions(0)),
        (Some(4), Some(4), Some(1), None)
    );
    assert_eq!(store.remove_if(&key, |page| page.variant == 2), 1);
    assert_eq!(versions(2), Some(1));
    assert_eq!((store.remove(&key), store.remove(&key), store.used()), (2, 0, 0));
}

#[test]
fn a_key_keeps_its_newest_variants_up_to_a_maximum() {
    let store = Store::new(1 << 20);
    let key = Key { hash: 1, text: b"/a" };
    (0..=VARIANTS_MAX as u8).for_each(|variant| {
        let stored = Inserted::Stored { replaced: 0, evicted: 0 };
        assert_eq!(store.insert(&key, page(0, variant, 0, 100)), stored);
    });
    assert_eq!((store.variants(&key), store.counts().crowded_out), (VARIANTS_MAX, 1));
    assert!(store.find(&key, |page| page.variant == 0).is_none());
    assert!(store.find(&key, |page| page.variant == 1).is_some());
    store.audit();
}

#[test]
fn a_thing_heavier_than_an_eighth_of_the_limit_is_refused_and_harms_nothing() {
    let store = Store::new(80_000);
    assert!(matches!(insert(&store, page(1, 0, 1, 5_000)), Inserted::Stored { .. }));
    assert_eq!(insert(&store, page(1, 0, 2, 10_001)), Inserted::TooHeavy);
    assert_eq!(insert(&store, page(2, 0, 2, usize::MAX)), Inserted::TooHeavy);
    assert_eq!(find(&store, 1).map(|page| page.version), Some(1));
    assert_eq!((store.len(), store.counts().too_heavy, store.counts().evicted), (1, 2, 0));
}

#[test]
fn what_was_just_stored_is_found_also_when_only_a_few_large_things_fit() {
    let store = Store::new(1 << 20);
    for number in 0..1_000 {
        assert!(matches!(insert(&store, page(number, 0, 0, 130_000)), Inserted::Stored { .. }));
        assert!(find(&store, number).is_some(), "{number}");
        assert_within_limit(&store);
    }
    assert!(store.len() >= 7, "the limit is for all shards together: {}", store.len());
}

/// Lets a stored page hold something else; says whether it does.
fn amend(store: &Store<Page>, item: &Arc<Page>, weight: usize) -> bool {
    let more = weight.saturating_sub(item.weight());
    let change = || item.weight.store(weight, Relaxed);
    with_key(item.key, 1, |key| store.amend(key, item, more, change))
}

#[test]
fn what_comes_to_hold_more_is_weighed_anew_and_room_is_made_for_it() {
    let store = Store::new(100_000);
    fill(&store, 1..9, 10_000);
    let first = find(&store, 1).expect("it fits");
    let used = store.used();
    assert!(amend(&store, &first, 11_000) && store.used() == used + 1_000);
    assert!(amend(&store, &first, 9_000) && store.used() == used - 1_000);
    fill(&store, 9..10, 9_000);
    assert_eq!(store.counts().evicted, 0);
    for number in 2..9 {
        find(&store, number).map(|page| amend(&store, &page, 12_000));
        assert_within_limit(&store);
        store.audit();
        assert!(find(&store, number).is_none_or(|page| page.weight() == 12_000), "{number}");
    }
    assert!(store.counts().evicted > 0);
    let last = (1..10).find_map(|number| find(&store, number)).expect("some are left");
    let weight = last.weight();
    assert!(!amend(&store, &last, 13_000), "it would be too heavy");
    with_key(last.key, 1, |key| store.remove(key));
    let used = store.used();
    assert!(!amend(&store, &last, 10), "it isn't there any more");
    assert_eq!((last.weight(), store.used()), (weight, used));
}

#[test]
fn reservations_count_against_the_limit_and_take_half_of_it_at_most() {
    let store = Store::new(1 << 20);
    fill(&store, 0..200, 5_000);
    assert_eq!(store.counts().evicted, 0);
    let mut first = store.reserve(400_000).expect("within half of the limit");
    assert!(store.counts().evicted > 0);
    assert_within_limit(&store);
    assert_eq!(store.reserve(200_000).err(), Some(NoRoom));
    assert_eq!((first.grow(200_000), first.bytes()), (Err(NoRoom), 400_000));
    assert_eq!(first.grow(usize::MAX), Err(NoRoom));
    let second = store.reserve(100_000).expect("within half of the limit");
    assert_eq!((store.reserved(), store.counts().reservations_refused), (500_000, 3));
    first.shrink_to(300_000);
    first.shrink_to(350_000);
    assert_eq!((first.bytes(), store.reserved()), (300_000, 400_000));
    assert_eq!(first.grow(50_000), Ok(()));
    assert_within_limit(&store);
    drop((first, second));
    assert_eq!(store.reserved(), 0);
    store.audit();
}

#[test]
fn a_lower_limit_holds_when_it_is_set_and_emptiness_costs_nothing() {
    let store = Store::new(1 << 20);
    fill(&store, 0..150, 5_000);
    let before = store.len();
    store.set_limit(300_000);
    assert!(store.len() < before && store.used() > 250_000, "{}", store.used());
    assert_within_limit(&store);
    let entries = store.len();
    assert_eq!(store.clear(), entries);
    assert_eq!((store.len(), store.used(), store.index_bytes()), (0, 0, 0));
    store.set_limit(0);
    assert_eq!(insert(&store, page(1, 0, 0, 1)), Inserted::TooHeavy);
}

#[test]
fn evicted_things_are_dropped_when_no_lock_is_held() {
    struct Asks(Option<Store<Asks>>);
    impl Resident for Asks {
        fn weight(&self) -> usize {
            1_000
        }
        fn replaces(&self, _older: &Self) -> bool {
            true
        }
    }
    impl Drop for Asks {
        fn drop(&mut self) {
            self.0.as_ref().map(Store::len);
        }
    }
    let (done, waits) = mpsc::channel();
    std::thread::spawn(move || {
        let store = Store::new(20_000);
        for hash in (0..100u64).map(|number| number << 48) {
            let item = || Arc::new(Asks(Some(store.clone())));
            store.insert(&Key { hash, text: b"same" }, item());
            store.insert(&Key { hash, text: b"same" }, item());
        }
        store.remove(&Key { hash: 99 << 48, text: b"same" });
        let evicted = store.counts().evicted;
        store.clear();
        done.send(evicted).expect("the test waits");
    });
    let evicted = waits.recv_timeout(Duration::from_secs(60)).expect("no drop waits for a lock");
    assert!(evicted > 50, "{evicted}");
}

#[test]
fn an_entry_costs_under_two_hundred_bytes_besides_its_item() {
    let store = Store::new(64 << 20);
    for count in [20_000u64, 40_000] {
        fill(&store, count - 20_000..count, 512);
        let overhead = store.used() / count as usize - 512;
        assert!((80..200).contains(&overhead), "{overhead}");
    }
    assert_eq!(store.counts().evicted, 0);
    // Large things take the place of small ones, and their index goes with them.
    let before = store.index_bytes();
    fill(&store, 1 << 20..(1 << 20) + 2_000, 100_000);
    assert!(store.index_bytes() < before / 4, "{} of {before}", store.index_bytes());
    assert_within_limit(&store);
    store.audit();
}

/// What the store may contain: every page that was inserted and not removed or replaced.
#[derive(Default)]
struct Model {
    pages: HashMap<u64, Vec<Arc<Page>>>,
}

impl Model {
    fn insert(&mut self, page: Arc<Page>) {
        let variants = self.pages.entry(page.key).or_default();
        variants.retain(|older| !page.replaces(older));
        variants.push(page);
    }

    /// Takes what the store found: newer matching pages were evicted, or it would have found them.
    fn found(&mut self, number: u64, variant_max: u8, found: Option<&Arc<Page>>) {
        let variants = self.pages.entry(number).or_default();
        if let Some(found) = found {
            assert!(found.key == number && found.variant <= variant_max);
            assert!(variants.iter().any(|page| Arc::ptr_eq(page, found)), "stale: {found:?}");
        }
        let version = found.map_or(0, |found| found.version);
        variants.retain(|page| page.variant > variant_max || page.version <= version);
    }
}

#[test]
fn whatever_happens_it_finds_the_newest_or_nothing_and_weighs_what_it_holds() {
    for seed in 0..24 {
        let mut random = StdRng::seed_from_u64(seed);
        let limit = 1 << random.random_range(15..20);
        let weight_max = limit / if seed % 2 == 0 { 10 } else { 40 };
        let (keys, collisions) = (random.random_range(1..400), random.random_range(1..4));
        let store = Store::new(limit);
        let (mut model, mut reservations) = (Model::default(), Vec::new());
        let (mut hits, mut stored) = (0, 0);
        for version in 1..4_000u64 {
            let (number, variant) = (random.random_range(0..keys), random.random_range(0..5));
            with_key(number, collisions, |key| match random.random_range(0..100) {
                0..45 => {
                    let page = page(number, variant, version, random.random_range(1..weight_max));
                    match store.insert(key, page.clone()) {
                        Inserted::Stored { .. } => model.insert(page),
                        Inserted::TooHeavy | Inserted::Unwanted => {
                            panic!("a tenth is not too heavy")
                        }
                    }
                    let newest = store.newest(key).expect("what was just stored is there");
                    assert_eq!(newest.version, version);
                    stored += 1;
                }
                45..90 => {
                    let found = store.find(key, |page| page.variant <= variant);
                    hits += usize::from(found.is_some());
                    model.found(number, variant, found.as_ref());
                    if let Some(found) = found.filter(|_| version % 8 == 0) {
                        let more = random.random_range(0..weight_max / 8);
                        store.amend(key, &found, more, || {
                            found.weight.fetch_add(more, Relaxed);
                        });
                    }
                }
                90..94 => {
                    store.remove_if(key, |page| page.variant == variant);
                    let variants = model.pages.entry(number).or_default();
                    variants.retain(|page| page.variant != variant);
                    assert!(store.variants(key) <= variants.len());
                }
                94..96 => {
                    store.remove(key);
                    model.pages.remove(&number);
                    assert_eq!(store.variants(key), 0);
                }
                96..98 => {
                    reservations.extend(store.reserve(random.random_range(0..limit / 5)).ok())
                }
                _ => drop(reservations.pop()),
            });
            assert_within_limit(&store);
            if version % 64 == 0 {
                store.audit();
            }
        }
        assert!(hits > 20 && stored > 1_000, "seed {seed}: {hits} hits");
        let content = all(&store, keys, collisions);
        assert_eq!(store.used(), content + store.index_bytes(), "seed {seed}");
        store.clear();
        assert_eq!(store.used(), 0);
    }
}

/// The weight of all that is found under the keys below `keys`, found by removing it.
fn all(store: &Store<Page>, keys: u64, collisions: u64) -> usize {
    let mut weight = 0;
    for number in 0..keys {
        with_key(number, collisions, |key| {
            let mut taken = 0;
            store.find(key, |page| {
                taken += entry_weight(page, key.text);
                false
            });
            weight += taken;
        });
    }
    weight
}

#[test]
fn threads_neither_lose_weight_nor_pass_the_limit_nor_mix_pages_up() {
    let store = Store::new(1 << 20);
    let hands: Vec<_> = (0..4)
        .map(|seed| {
            let store = store.clone();
            std::thread::spawn(move || {
                let mut random = StdRng::seed_from_u64(seed);
                for version in 0..20_000 {
                    let (number, variant) =
                        (random.random_range(0..300), random.random_range(0..3));
                    with_key(number, 2, |key| match random.random_range(0..10) {
                        0..4 => {
                            let weight = random.random_range(100..20_000);
                            store.insert(key, page(number, variant, version, weight));
                        }
                        4..8 => {
                            let found = store.find(key, |page| page.variant == variant);
                            assert!(
                                found.is_none_or(|it| (it.key, it.variant) == (number, variant))
                            );
                        }
                        8 => drop(store.remove(key)),
                        _ => drop(store.reserve(random.random_range(0..100_000))),
                    });
                }
            })
        })
        .collect();
    for hand in hands {
        hand.join().expect("no thread panics");
    }
    store.audit();
    assert_within_limit(&store);
    assert_eq!(store.reserved(), 0);
    assert!(store.counts().evicted > 1_000, "{:?}", store.counts());
}
