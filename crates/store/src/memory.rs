//! The memory tier: stored things by key, under one limit in bytes.
//!
//! A look-up costs one short lock on one of [`SHARDS`], one comparison of the whole
//! key, and one bump of a reference count; nothing is allocated and no list is
//! reordered. Room is made one step at a time, a shard at a time, never with two
//! locks held, and what is evicted is dropped after its shard's lock is released.
//!
//! Invariants: 1. When an insertion, a reservation or a new limit returns and nobody
//! else is in the middle of one, used and reserved bytes together are within the
//! limit (unless reservations alone pass a limit that was lowered under them).
//! 2. Used bytes are items, key texts, index and ghosts, with the allocator's rounding.
//! Start at [`Store::find`] and [`Store::insert`]; eviction is in `shard.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::Counter;
use parking_lot::Mutex;

use crate::budget::Budget;
use crate::reservation::{NoRoom, Reservation};
use crate::shard::{Pressure, Shard, Step, entry_weight};

/// The most variants that one key may have; the oldest goes for one more.
pub const VARIANTS_MAX: usize = 64;

const SHARDS: usize = 16;
/// A thing heavier than the limit divided by this is refused: it would cost too many others.
const HEAVIEST_SHARE: usize = 8;
/// Steps without a victim after which readings buy nothing: one insertion must not pay for all.
const SPARED_MAX: usize = 1024;

/// What the store needs to know of a stored thing.
pub trait Resident: Send + Sync + 'static {
    /// The bytes of memory that it holds, its `Arc` and the allocator's rounding included
    /// (see [`crate::allocated_bytes`]). It changes only within [`Store::amend`].
    fn weight(&self) -> usize;

    /// Whether it takes the place of `older`, which is stored under the same key.
    fn replaces(&self, older: &Self) -> bool;
}

/// What something is stored under.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// A hash of the text with all 64 bits well mixed, such as xxh3.
    pub hash: u64,
    /// The key itself; it is compared in full.
    pub text: &'a [u8],
}

/// What became of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is stored.
    Stored {
        /// How many older variants went because this one replaces them.
        replaced: usize,
        /// How many other things went to make room.
        evicted: usize,
    },
    /// It weighs more than an eighth of the limit and was not stored. What it would have
    /// replaced is still there.
    TooHeavy,
    /// It was not wanted any more, and what it would have replaced is still there.
    Unwanted,
}

/// How often a limit was felt since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Things evicted to make room.
    pub evicted: u64,
    /// What they weighed, in bytes.
    pub evicted_bytes: u64,
    /// Of those evicted, how many were wanted: sparing them had cost too many steps already.
    pub forced: u64,
    /// Things refused for their weight.
    pub too_heavy: u64,
    /// Variants that went because their key had [`VARIANTS_MAX`] of them.
    pub crowded_out: u64,
    /// Reservations refused.
    pub reservations_refused: u64,
}

#[derive(Default)]
struct Counters {
    evicted: Counter,
    evicted_bytes: Counter,
    forced: Counter,
    too_heavy: Counter,
    crowded_out: Counter,
    reservations_refused: Counter,
}

/// The memory tier. Clones are the same store.
pub struct Store<T: Resident> {
    inner: Arc<Inner<T>>,
}

/// A lock on cache lines of its own, so that neighbours do not slow each other down.
#[repr(align(128))]
struct Apart<T>(Mutex<Shard<T>>);

struct Inner<T> {
    shards: [Apart<T>; SHARDS],
    budget: Budget,
    /// The shard whose turn it is to make room.
    turn: AtomicUsize,
    counters: Counters,
}

impl<T: Resident> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<T: Resident> Store<T> {
    /// An empty store that holds at most `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        let inner = Inner {
            shards: std::array::from_fn(|_| Apart(Mutex::new(Shard::default()))),
            budget: Budget::new(limit_bytes),
            turn: AtomicUsize::new(0),
            counters: Counters::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The newest variant of `key` that `choose` accepts; its reading is counted.
    ///
    /// `choose` runs under the shard's lock: it compares a few bytes and returns. It must not
    /// panic, nor call the store, which would wait for itself.
    pub fn find(&self, key: &Key, choose: impl FnMut(&T) -> bool) -> Option<Arc<T>> {
        self.shard(key).lock().find(key, choose)
    }

    /// The newest variant whatever it is, to learn what tells variants apart; not a reading.
    #[must_use]
    pub fn newest(&self, key: &Key) -> Option<Arc<T>> {
        self.shard(key).lock().newest(key)
    }

    /// How many variants `key` has.
    #[must_use]
    pub fn variants(&self, key: &Key) -> usize {
        self.shard(key).lock().variants(key)
    }

    /// Stores `item` as the newest variant of `key` and evicts what no longer fits.
    pub fn insert(&self, key: &Key, item: Arc<T>) -> Inserted {
        self.insert_if(key, item, || true)
    }

    /// The same if `is_wanted` says so at that moment: who removes the key's variants after
    /// that has changed removes this one as well, and nobody finds it between.
    ///
    /// `is_wanted` runs under the shard's lock, as `choose` of [`Store::find`] does.
    pub fn insert_if(&self, key: &Key, item: Arc<T>, is_wanted: impl FnOnce() -> bool) -> Inserted {
        let weight = entry_weight(&*item, key.text);
        if weight > self.limit() / HEAVIEST_SHARE {
            self.inner.counters.too_heavy.bump();
            return Inserted::TooHeavy;
        }
        let insert =
            |shard: &mut Shard<T>| is_wanted().then(|| shard.insert(key, item.clone(), weight));
        let Some(displaced) = self.change(key, insert) else { return Inserted::Unwanted };
        let crowded_out = usize::from(displaced.crowded_out);
        self.inner.counters.crowded_out.add(crowded_out as u64);
        let replaced = displaced.items.len() - crowded_out;
        Inserted::Stored { replaced, evicted: self.make_room(Some(&item)) }
    }

    /// The same if no variant is stored already that `item` would take the place of: what comes
    /// from elsewhere is never newer than what is here.
    pub fn insert_missing(
        &self,
        key: &Key,
        item: Arc<T>,
        is_wanted: impl FnOnce() -> bool,
    ) -> Inserted {
        let weight = entry_weight(&*item, key.text);
        if weight > self.limit() / HEAVIEST_SHARE {
            self.inner.counters.too_heavy.bump();
            return Inserted::TooHeavy;
        }
        let insert = |shard: &mut Shard<T>| {
            let is_missing = !shard.has(key, |older| item.replaces(older));
            (is_missing && is_wanted()).then(|| shard.insert(key, item.clone(), weight))
        };
        let Some(displaced) = self.change(key, insert) else { return Inserted::Unwanted };
        self.inner.counters.crowded_out.add(u64::from(displaced.crowded_out));
        Inserted::Stored { replaced: 0, evicted: self.make_room(Some(&item)) }
    }

    /// Whether `key` has a variant that `is_it`; not a reading. `is_it` runs under the shard's
    /// lock, as `choose` of [`Store::find`] does.
    pub fn has(&self, key: &Key, is_it: impl FnMut(&T) -> bool) -> bool {
        self.shard(key).lock().has(key, is_it)
    }

    /// Everything that is stored, with the hashes and texts of its keys; a shard at a time, so
    /// that it is no picture of one moment.
    pub fn for_each(&self, mut each: impl FnMut(u64, &[u8], &Arc<T>)) {
        for place in 0..SHARDS {
            let all = self.inner.shards[place].0.lock().all();
            all.iter().for_each(|(hash, text, item)| each(*hash, text, item));
        }
    }

    /// Lets `change` give `item` so many bytes more or less to hold, weighs it anew and makes
    /// room; says whether that was done. It isn't if the item doesn't lie under `key` any more,
    /// or would weigh more than an eighth of the limit.
    ///
    /// `change` runs under the shard's lock, as `choose` of [`Store::find`] does.
    pub fn amend(&self, key: &Key, item: &Arc<T>, more: usize, change: impl FnOnce()) -> bool {
        let weight = entry_weight(&**item, key.text).saturating_add(more);
        if weight > self.limit() / HEAVIEST_SHARE {
            self.inner.counters.too_heavy.bump();
            return false;
        }
        let is_done = self.change(key, |shard| shard.amend(key, item, change));
        if is_done {
            self.make_room(Some(item));
        }
        is_done
    }

    /// Removes all variants of `key` and says how many there were.
    pub fn remove(&self, key: &Key) -> usize {
        self.remove_if(key, |_| true)
    }

    /// Removes the variants of `key` that are `unwanted` and says how many there were.
    ///
    /// `unwanted` runs under the shard's lock, as `choose` in [`Store::find`], and may be asked
    /// about the same thing more than once.
    pub fn remove_if(&self, key: &Key, unwanted: impl FnMut(&T) -> bool) -> usize {
        self.change(key, |shard| shard.remove_if(key, unwanted)).len()
    }

    /// Removes everything, a shard at a time, and says how many entries there were.
    pub fn clear(&self) -> usize {
        let mut removed = 0;
        for place in 0..SHARDS {
            removed += self.change_at(place, Shard::clear).len();
        }
        removed
    }

    /// Sets `bytes` aside for a body that is being filled, evicting to make room.
    ///
    /// # Errors
    /// [`NoRoom`]: reservations together would take more than half of the limit.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation<T>, NoRoom> {
        self.set_aside(bytes)?;
        Ok(Reservation::granted(self.clone(), bytes))
    }

    /// Sets the limit and evicts down to it before it returns.
    pub fn set_limit(&self, bytes: usize) {
        self.inner.budget.set_limit(bytes);
        self.make_room(None);
    }

    /// The most that may be used and reserved together, in bytes.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.inner.budget.limit()
    }

    /// What stored things and their index occupy, in bytes.
    #[must_use]
    pub fn used(&self) -> usize {
        self.inner.budget.used()
    }

    /// What is set aside, in bytes.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.inner.budget.reserved()
    }

    /// Of the used bytes, what is neither item nor key text. Visits every shard.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.inner.shards.iter().map(|shard| shard.0.lock().index_bytes()).sum()
    }

    /// How many things are stored, each variant counted. Visits every shard.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.shards.iter().map(|shard| shard.0.lock().length()).sum()
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often each limit was felt.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counters = &self.inner.counters;
        Counts {
            evicted: counters.evicted.read(),
            evicted_bytes: counters.evicted_bytes.read(),
            forced: counters.forced.read(),
            too_heavy: counters.too_heavy.read(),
            crowded_out: counters.crowded_out.read(),
            reservations_refused: counters.reservations_refused.read(),
        }
    }

    /// The accounting half of [`Store::reserve`].
    pub(crate) fn set_aside(&self, bytes: usize) -> Result<(), NoRoom> {
        if !self.inner.budget.reserve(bytes) {
            self.inner.counters.reservations_refused.bump();
            return Err(NoRoom);
        }
        self.make_room(None);
        Ok(())
    }

    /// Undoes [`Store::set_aside`].
    pub(crate) fn give_back(&self, bytes: usize) {
        self.inner.budget.release(bytes);
    }

    /// Steps from shard to shard until all is within the limit; says how many entries went.
    ///
    /// A shard lighter than the average is passed over, so shards stay alike, unless a whole
    /// round found nothing. What is `fresh` stays: room is made for it.
    fn make_room(&self, fresh: Option<&Arc<T>>) -> usize {
        let (mut evicted, mut fruitless, mut spared) = (0, 0, 0);
        while self.inner.budget.is_over() && fruitless < 2 * SHARDS {
            let place = self.inner.turn.fetch_add(1, Ordering::Relaxed) % SHARDS;
            let pressure = Pressure {
                lightest: if fruitless < SHARDS { self.used() / SHARDS } else { 0 },
                fresh,
                force: spared >= SPARED_MAX,
            };
            match self.change_at(place, |shard| shard.step(&pressure)) {
                Step::Evicted(_item, weight) => {
                    evicted += 1;
                    self.inner.counters.forced.add(u64::from(pressure.force));
                    (fruitless, spared) = (0, 0);
                    self.inner.counters.evicted.bump();
                    self.inner.counters.evicted_bytes.add(weight as u64);
                }
                Step::Spared => {
                    spared += 1;
                    fruitless = 0;
                }
                Step::Nothing => fruitless += 1,
            }
        }
        evicted
    }

    fn shard(&self, key: &Key) -> &Mutex<Shard<T>> {
        &self.inner.shards[place(key)].0
    }

    fn change<R>(&self, key: &Key, change: impl FnOnce(&mut Shard<T>) -> R) -> R {
        self.change_at(place(key), change)
    }

    /// Changes a shard under its lock and carries the difference to the budget.
    fn change_at<R>(&self, place: usize, change: impl FnOnce(&mut Shard<T>) -> R) -> R {
        let mut shard = self.inner.shards[place].0.lock();
        let before = shard.weight();
        let result = change(&mut shard);
        self.inner.budget.reweigh(before, shard.weight());
        result
    }

    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let mut weight = 0;
        for shard in &self.inner.shards {
            let shard = shard.0.lock();
            shard.audit();
            weight += shard.weight();
        }
        assert_eq!(self.used(), weight);
    }
}

/// The shard of a key. The table within it uses the lowest and the seven highest bits of the hash.
fn place(key: &Key) -> usize {
    (key.hash >> 48) as usize % SHARDS
}
