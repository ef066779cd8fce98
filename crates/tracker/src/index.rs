//! An index of places: open addressing over four bytes a slot.
//!
//! What is looked for lies elsewhere, in rows; a slot has a row's place in 25 bits and seven
//! bits of its hash, so that hardly any other row is looked at. Several rows may have one hash.
//! Invariants: 1. between two empty slots every entry is reached from where its hash points:
//! who goes is filled up from behind. 2. growing a large index is paid for in steps.

use crate::foresight::{fetch, fetch_whole};

const TAG_BITS: u32 = 7;
const TAG_MASK: u32 = (1 << TAG_BITS) - 1;
/// Slots up to which growing is done at once.
const AT_ONCE: usize = 4096;
/// Slots of the old table that move with each entry that comes.
const STEP: usize = 16;

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    slots: Vec<u32>,
    len: usize,
    /// What was there before it grew, and how far it has moved already, from its end.
    old: Option<Box<Old>>,
}

/// A table that is being moved. From `end` on it is empty.
#[derive(Debug)]
struct Old {
    slots: Vec<u32>,
    end: usize,
}

impl Index {
    /// Where the entries of one hash are, as long as `is` says no.
    pub(crate) fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        probe(&self.slots, hash, &mut is)
            .or_else(|| self.old.as_ref().and_then(|old| probe(&old.slots, hash, &mut is)))
            .map(|(_, place)| place)
    }

    /// Has the slot brought near where the entries of a hash begin.
    pub(crate) fn fetch(&self, hash: u32) {
        fetch(&self.slots, home(&self.slots, hash));
        if let Some(old) = &self.old {
            fetch(&old.slots, home(&old.slots, hash));
        }
    }

    /// The same of the row of an entry, as far as the slots tell which it is.
    pub(crate) fn fetch_row<T>(&self, hash: u32, rows: &[T]) {
        if let Some(place) = self.find(hash, |_| true) {
            fetch_whole(rows, place as usize);
        }
    }

    /// Makes room for so many, if there are none yet.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.slots.is_empty() {
            self.slots = vec![0; slots_for(count)];
        }
    }

    /// Forgets all entries and keeps their room.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
        self.old = None;
    }

    /// Adds an entry. `hash_of` tells the hash of the row at a place.
    pub(crate) fn insert(&mut self, hash: u32, place: u32, hash_of: impl Fn(u32) -> u32) {
        self.make_room(&hash_of);
        put(&mut self.slots, hash, place);
        self.len += 1;
        self.carry_over(STEP, &hash_of);
    }

    /// Takes an entry out, whose row must still be there.
    pub(crate) fn remove(&mut self, hash: u32, place: u32, hash_of: impl Fn(u32) -> u32) {
        let is = &mut |at| at == place;
        if let Some((slot, _)) = probe(&self.slots, hash, is) {
            close(&mut self.slots, slot, &hash_of);
            self.len -= 1;
        } else if let Some(old) = &mut self.old
            && let Some((slot, _)) = probe(&old.slots, hash, is)
        {
            close(&mut old.slots, slot, &hash_of);
            self.len -= 1;
        }
    }

    /// The row of `from` lies at `to` now.
    pub(crate) fn moved(&mut self, hash: u32, from: u32, to: u32) {
        let is = &mut |at| at == from;
        if let Some((slot, _)) = probe(&self.slots, hash, is) {
            self.slots[slot] = entry(hash, to);
        } else if let Some(old) = &mut self.old
            && let Some((slot, _)) = probe(&old.slots, hash, is)
        {
            old.slots[slot] = entry(hash, to);
        }
    }

    fn make_room(&mut self, hash_of: &impl Fn(u32) -> u32) {
        if (self.len + 1) * 8 <= self.slots.len() * 7 {
            return;
        }
        // What is still moving must be over before the next begins; it nearly always is.
        self.carry_over(usize::MAX, hash_of);
        let grown = vec![0; slots_for(self.len + self.len / 10)];
        let old = std::mem::replace(&mut self.slots, grown);
        let is_small = old.len() <= AT_ONCE;
        self.old = Some(Box::new(Old { end: old.len(), slots: old }));
        if is_small {
            self.carry_over(usize::MAX, hash_of);
        }
    }

    /// Moves whole clusters from the old table's end, so that what is left stays reachable.
    fn carry_over(&mut self, steps: usize, hash_of: &impl Fn(u32) -> u32) {
        let Some(old) = &mut self.old else { return };
        for _ in 0..steps {
            while old.end > 0 && old.slots[old.end - 1] == 0 {
                old.end -= 1;
            }
            let Some(slot) = old.end.checked_sub(1) else {
                self.old = None;
                return;
            };
            let place = place_of(old.slots[slot]);
            // What went round the end of the table may come back to this very slot.
            close(&mut old.slots, slot, hash_of);
            put(&mut self.slots, hash_of(place), place);
        }
    }
}

fn slots_for(count: usize) -> usize {
    (count + 1) * 5 / 4 + 4
}

fn entry(hash: u32, place: u32) -> u32 {
    ((place + 1) << TAG_BITS) | (hash & TAG_MASK)
}

fn place_of(slot: u32) -> u32 {
    (slot >> TAG_BITS) - 1
}

fn home(slots: &[u32], hash: u32) -> usize {
    ((u64::from(hash) * slots.len() as u64) >> 32) as usize
}

fn probe(slots: &[u32], hash: u32, is: &mut impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
    if slots.is_empty() {
        return None;
    }
    let mut slot = home(slots, hash);
    for _ in 0..slots.len() {
        let found = slots[slot];
        if found == 0 {
            return None;
        }
        if (found ^ hash) & TAG_MASK == 0 && is(place_of(found)) {
            return Some((slot, place_of(found)));
        }
        slot = next(slots, slot);
    }
    None
}

fn next(slots: &[u32], slot: usize) -> usize {
    if slot + 1 == slots.len() { 0 } else { slot + 1 }
}

fn put(slots: &mut [u32], hash: u32, place: u32) {
    let mut slot = home(slots, hash);
    for _ in 0..slots.len() {
        if slots[slot] == 0 {
            slots[slot] = entry(hash, place);
            return;
        }
        slot = next(slots, slot);
    }
}

/// Empties a slot, and moves those up that passed it on their way.
fn close(slots: &mut [u32], mut hole: usize, hash_of: &impl Fn(u32) -> u32) {
    let length = slots.len();
    let mut slot = hole;
    for _ in 0..length {
        slot = next(slots, slot);
        if slots[slot] == 0 {
            break;
        }
        let wish = home(slots, hash_of(place_of(slots[slot])));
        // It may move if its wish is not within (hole, slot], going round.
        let way = (slot + length - wish) % length;
        let gap = (slot + length - hole) % length;
        if way >= gap {
            slots[hole] = slots[slot];
            hole = slot;
        }
    }
    slots[hole] = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of numbers whose hashes collide often.
    fn hash_of(rows: &[u32]) -> impl Fn(u32) -> u32 + '_ {
        |place| (rows[place as usize] / 3).wrapping_mul(0x9e37_79b9)
    }

    #[test]
    fn entries_are_found_whatever_came_went_and_moved() {
        let (mut index, mut rows) = (Index::default(), Vec::<u32>::new());
        let mut dice = 88_172_645_463_325_252_u64;
        for step in 0..60_000_u32 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let wants_more = step < 30_000 || dice.is_multiple_of(3);
            if wants_more || rows.is_empty() {
                rows.push(step);
                let place = rows.len() as u32 - 1;
                let hash = hash_of(&rows)(place);
                index.insert(hash, place, hash_of(&rows));
            } else {
                let place = (dice % rows.len() as u64) as u32;
                index.remove(hash_of(&rows)(place), place, hash_of(&rows));
                let last = rows.len() as u32 - 1;
                if last != place {
                    index.moved(hash_of(&rows)(last), last, place);
                }
                rows.swap_remove(place as usize);
            }
            if step % 1000 == 0 || step > 59_900 {
                for place in 0..rows.len() as u32 {
                    let found = index.find(hash_of(&rows)(place), |at| at == place);
                    assert_eq!(found, Some(place), "step {step}");
                }
            }
        }
        assert_eq!(index.len, rows.len());
    }
}
