//! One shard of the memory tier: an index, the entries, and the S3-FIFO queues between them.
//!
//! A new entry joins the small queue, a tenth of the shard. Reaching its head it
//! moves to the main queue if it was read meanwhile, else it goes and leaves a
//! ghost; so a scan passes through the small queue and harms nothing else. At
//! the head of the main queue, each reading that was counted buys another round.
//! (Yang and others, "FIFO queues are all you need for cache eviction", SOSP 2023.)
//!
//! Invariants: 1. The table holds the newest variant of each key, once; older ones
//! hang behind it, newest first. 2. Slots are dense: the last one moves into a hole,
//! so memory follows the number of entries both ways. 3. Every slot is in exactly
//! one queue. 4. No item is dropped here: what goes is handed out, to be dropped
//! after the lock is released. Slots are numbered in 32 bits: four thousand million
//! entries, which with their smallest weight fill more than a terabyte.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::allocation::allocated_bytes;
use crate::ghost::Ghost;
use crate::memory::{Key, Resident, VARIANTS_MAX};
use crate::queue::{Links, NONE, Queue};

/// More readings than this are not counted; each buys a round in the main queue.
const READINGS_MAX: u8 = 3;
/// Readings that move an entry from the small queue to the main one. Two, as the paper has it,
/// hit less often on each of the traces in `eviction_tests.rs`.
const READINGS_TO_STAY: u8 = 1;
/// The small queue is the shard's weight divided by this.
const SMALL_SHARE: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Small,
    Main,
}

/// One entry.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    hash: u64,
    text: Arc<[u8]>,
    item: Arc<T>,
    /// Of the item and the text; the slot itself is weighed with the index.
    pub(crate) weight: usize,
    pub(crate) links: Links,
    /// The next older variant of the same key.
    older: u32,
    readings: u8,
    place: Place,
}

impl<T> Slot<T> {
    /// Whether it was read often enough to be spared where it stands.
    fn is_wanted(&self) -> bool {
        match self.place {
            Place::Small => self.readings >= READINGS_TO_STAY,
            Place::Main => self.readings > 0,
        }
    }
}

/// What one step of eviction came to.
pub(crate) enum Step<T> {
    /// An entry went; it weighed so much.
    Evicted(Arc<T>, usize),
    /// An entry earned another round.
    Spared,
    /// There is nothing here to take.
    Nothing,
}

/// What a step of eviction may take.
pub(crate) struct Pressure<'a, T> {
    /// A shard lighter than this is passed over.
    pub(crate) lightest: usize,
    /// This item stays: room is made for it.
    pub(crate) fresh: Option<&'a Arc<T>>,
    /// Readings buy nothing any more.
    pub(crate) force: bool,
}

/// What left the shard when something was inserted.
pub(crate) struct Displaced<T> {
    pub(crate) items: Vec<Arc<T>>,
    /// The last of them went because its key had too many variants.
    pub(crate) crowded_out: bool,
}

#[derive(Debug)]
pub(crate) struct Shard<T> {
    table: HashTable<u32>,
    slots: Vec<Slot<T>>,
    small: Queue,
    main: Queue,
    ghost: Ghost,
}

impl<T> Default for Shard<T> {
    fn default() -> Self {
        Self {
            table: HashTable::new(),
            slots: Vec::new(),
            small: Queue::default(),
            main: Queue::default(),
            ghost: Ghost::default(),
        }
    }
}

impl<T: Resident> Shard<T> {
    /// The newest variant that `choose` accepts; the reading is counted.
    pub(crate) fn find(&mut self, key: &Key, choose: impl FnMut(&T) -> bool) -> Option<Arc<T>> {
        let id = self.choose(key, choose)?;
        let slot = &mut self.slots[id as usize];
        // A hot entry stays at the top: then its cache line is not even written.
        if slot.readings < READINGS_MAX {
            slot.readings += 1;
        }
        Some(slot.item.clone())
    }

    /// The newest variant, whatever it is; the reading is not counted.
    pub(crate) fn newest(&self, key: &Key) -> Option<Arc<T>> {
        self.head(key).map(|id| self.slots[id as usize].item.clone())
    }

    /// Whether the key has such a variant; not a reading.
    pub(crate) fn has(&self, key: &Key, is_it: impl FnMut(&T) -> bool) -> bool {
        self.choose(key, is_it).is_some()
    }

    /// Everything, with the hashes and texts of its keys.
    pub(crate) fn all(&self) -> Vec<(u64, Arc<[u8]>, Arc<T>)> {
        let each = |slot: &Slot<T>| (slot.hash, slot.text.clone(), slot.item.clone());
        self.slots.iter().map(each).collect()
    }

    /// How many variants the key has.
    pub(crate) fn variants(&self, key: &Key) -> usize {
        self.chain(self.head(key)).count()
    }

    /// Stores `item` as the newest variant, in the place of those that it replaces.
    pub(crate) fn insert(&mut self, key: &Key, item: Arc<T>, weight: usize) -> Displaced<T> {
        let text = match self.head(key) {
            Some(id) => self.slots[id as usize].text.clone(),
            None => Arc::from(key.text),
        };
        let recalled = self.ghost.recall(key.hash, self.slots.len());
        let mut place = if recalled { Place::Main } else { Place::Small };
        let mut readings = 0;
        let mut displaced = Displaced { items: Vec::new(), crowded_out: false };
        // What a refreshed page earned before counts for the new copy of it.
        while let Some(id) = self.choose(key, |older| item.replaces(older)) {
            let slot = &self.slots[id as usize];
            readings = slot.readings.max(readings);
            if slot.place == Place::Main {
                place = Place::Main;
            }
            displaced.items.push(self.take(id));
        }
        let oldest = self.chain(self.head(key)).nth(VARIANTS_MAX - 1);
        if let Some(oldest) = oldest {
            displaced.items.push(self.take(oldest));
            displaced.crowded_out = true;
        }
        let older = self.head(key).unwrap_or(NONE);
        let links = Links::UNLINKED;
        self.add(Slot { hash: key.hash, text, item, weight, links, older, readings, place });
        displaced
    }

    /// Changes what an item holds, if it is there, and weighs it anew.
    pub(crate) fn amend(&mut self, key: &Key, item: &Arc<T>, change: impl FnOnce()) -> bool {
        let slot = |id: u32| &self.slots[id as usize];
        let Some(id) = self.chain(self.head(key)).find(|&id| Arc::ptr_eq(&slot(id).item, item))
        else {
            return false;
        };
        change();
        let place = slot(id).place;
        let (queue, slots) = self.queue(place);
        queue.reweigh(slots, id, entry_weight(&**item, key.text));
        true
    }

    /// Takes out the variants that `unwanted` says are.
    pub(crate) fn remove_if(
        &mut self,
        key: &Key,
        mut unwanted: impl FnMut(&T) -> bool,
    ) -> Vec<Arc<T>> {
        let mut removed = Vec::new();
        while let Some(id) = self.choose(key, &mut unwanted) {
            removed.push(self.take(id));
        }
        removed
    }

    /// Takes one step towards less weight.
    pub(crate) fn step(&mut self, pressure: &Pressure<T>) -> Step<T> {
        let (small, main) = (self.small.weight(), self.main.weight());
        if self.weight() < pressure.lightest {
            return Step::Nothing;
        }
        // A sole entry in the small queue had no time to be read: it outweighs its tenth only
        // because it is large.
        let small_is_full = small >= (small + main) / SMALL_SHARE && self.small.length() > 1;
        let mut heads = [self.main.head(), self.small.head()];
        if small_is_full {
            heads.reverse();
        }
        let item = |id: u32| &self.slots[id as usize].item;
        let is_fresh = |&id: &u32| pressure.fresh.is_some_and(|fresh| Arc::ptr_eq(fresh, item(id)));
        let mut ids = heads.into_iter().flatten();
        let Some(first) = ids.next() else { return Step::Nothing };
        // The fresh one is taken up only when all others stand behind it; it then joins behind them.
        let id = if is_fresh(&first) { ids.next().unwrap_or(first) } else { first };
        let is_fresh = is_fresh(&id);
        if is_fresh && self.slots.len() == 1 {
            return Step::Nothing;
        }
        let slot = &self.slots[id as usize];
        if is_fresh || (slot.is_wanted() && !pressure.force) {
            self.spare(id, is_fresh);
            return Step::Spared;
        }
        let (hash, weight) = (slot.hash, slot.weight);
        if slot.place == Place::Small {
            self.ghost.remember(hash, self.slots.len());
        }
        Step::Evicted(self.take(id), weight)
    }

    /// Takes everything out, also the ghosts.
    pub(crate) fn clear(&mut self) -> Vec<Arc<T>> {
        let emptied = std::mem::take(self);
        emptied.slots.into_iter().map(|slot| slot.item).collect()
    }

    /// How many entries there are.
    pub(crate) fn length(&self) -> usize {
        self.slots.len()
    }

    /// The memory that entries, index and ghosts occupy, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.small.weight() + self.main.weight() + self.index_bytes()
    }

    /// Of that, what is neither item nor key text.
    pub(crate) fn index_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T>>()
            + self.table.allocation_size()
            + self.ghost.bytes()
    }

    /// Gives an entry another round, in the main queue and for a reading unless it is fresh.
    fn spare(&mut self, id: u32, is_fresh: bool) {
        let slot = &mut self.slots[id as usize];
        let from = slot.place;
        match from {
            _ if is_fresh => {}
            Place::Small => (slot.readings, slot.place) = (0, Place::Main),
            Place::Main => slot.readings -= 1,
        }
        let to = slot.place;
        let (queue, slots) = self.queue(from);
        queue.leave(slots, id);
        let (queue, slots) = self.queue(to);
        queue.join(slots, id);
    }

    fn queue(&mut self, place: Place) -> (&mut Queue, &mut [Slot<T>]) {
        match place {
            Place::Small => (&mut self.small, &mut self.slots),
            Place::Main => (&mut self.main, &mut self.slots),
        }
    }

    fn head(&self, key: &Key) -> Option<u32> {
        let is_it = |&id: &u32| {
            let slot = &self.slots[id as usize];
            slot.hash == key.hash && *slot.text == *key.text
        };
        self.table.find(key.hash, is_it).copied()
    }

    /// A variant and all older ones, newest first.
    fn chain(&self, head: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(head, |&id| {
            Some(self.slots[id as usize].older).filter(|&older| older != NONE)
        })
    }

    fn choose(&self, key: &Key, mut choose: impl FnMut(&T) -> bool) -> Option<u32> {
        self.chain(self.head(key)).find(|&id| choose(&self.slots[id as usize].item))
    }

    /// Adds a slot whose `older` is the head of its key so far.
    fn add(&mut self, slot: Slot<T>) {
        if self.slots.len() == self.slots.capacity() {
            // By a quarter, not by doubling: this memory is weighed against the limit.
            self.slots.reserve_exact((self.slots.len() / 4).max(4));
        }
        let id = self.slots.len() as u32;
        let (hash, older, place) = (slot.hash, slot.older, slot.place);
        self.slots.push(slot);
        let (queue, slots) = self.queue(place);
        queue.join(slots, id);
        match self.table.find_mut(hash, |&head| head == older) {
            Some(head) => *head = id,
            None => {
                let slots = &self.slots;
                self.table.insert_unique(hash, id, |&id| slots[id as usize].hash);
            }
        }
    }

    /// Takes one entry out of its key, its queue and its slot.
    fn take(&mut self, id: u32) -> Arc<T> {
        let Slot { hash, older, place, .. } = self.slots[id as usize];
        self.repoint(hash, id, older);
        let (queue, slots) = self.queue(place);
        queue.leave(slots, id);
        let last = self.slots.len() as u32 - 1;
        let taken = self.slots.swap_remove(id as usize);
        if id != last {
            let Slot { hash, place, .. } = self.slots[id as usize];
            let (queue, slots) = self.queue(place);
            queue.renamed(slots, id);
            self.repoint(hash, last, id);
        }
        self.give_back_memory();
        taken.item
    }

    /// Whatever points to variant `from`, the table or a newer variant, points to `to` instead.
    fn repoint(&mut self, hash: u64, from: u32, to: u32) {
        if let Ok(mut entry) = self.table.find_entry(hash, |&head| head == from) {
            match to {
                NONE => drop(entry.remove()),
                _ => *entry.get_mut() = to,
            }
            return;
        }
        // Keys that merely look alike to the table are walked too: their chains do not hold `from`.
        let newer = self
            .table
            .iter_hash(hash)
            .flat_map(|&head| self.chain(Some(head)))
            .find(|&id| self.slots[id as usize].older == from);
        if let Some(newer) = newer {
            self.slots[newer as usize].older = to;
        }
    }

    /// Keeps the index within a constant factor of what it indexes.
    fn give_back_memory(&mut self) {
        let length = self.slots.len();
        if length == 0 {
            self.slots = Vec::new();
            self.table = HashTable::new();
            self.ghost.clear();
            return;
        }
        if length < self.slots.capacity() / 2 {
            self.slots.shrink_to(length + length / 4);
        }
        if self.table.len() < self.table.capacity() / 4 {
            let slots = &self.slots;
            self.table.shrink_to(self.table.len() * 2, |&id| slots[id as usize].hash);
        }
    }

    /// Checks every invariant and weighs all anew.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let queued = [self.small.walk(&self.slots), self.main.walk(&self.slots)];
        for (ids, place) in queued.iter().zip([Place::Small, Place::Main]) {
            assert!(ids.iter().all(|&id| self.slots[id as usize].place == place));
        }
        assert_eq!(queued[0].len() + queued[1].len(), self.slots.len());
        let mut chained = 0;
        for &head in &self.table {
            let first = &self.slots[head as usize];
            for id in self.chain(Some(head)) {
                let slot = &self.slots[id as usize];
                assert!(slot.hash == first.hash && slot.text == first.text);
                assert_eq!(slot.weight, entry_weight(&*slot.item, &slot.text));
                chained += 1;
            }
        }
        assert_eq!(chained, self.slots.len());
    }
}

/// What an entry weighs without its part in the index: the item and the key's text.
///
/// Variants share one text and each is charged for it, so that the sum is never too low.
pub(crate) fn entry_weight<T: Resident>(item: &T, text: &[u8]) -> usize {
    const ARC_COUNTS: usize = 2 * size_of::<usize>();
    item.weight().saturating_add(allocated_bytes(text.len() + ARC_COUNTS))
}
