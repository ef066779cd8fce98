//! A queue threaded through the slots of a shard, by number instead of by pointer.
//!
//! Entries leave from the head and join at the tail; one may be taken out of the
//! middle in constant time. It allocates nothing and holds nothing but entries
//! that exist, so it needs no bound of its own.

use crate::shard::Slot;

/// The number of no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The neighbours of one entry in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    ahead: u32,
    behind: u32,
}

impl Links {
    /// Those of an entry that is in no queue.
    pub(crate) const UNLINKED: Self = Self { ahead: NONE, behind: NONE };
}

/// First in, first out, with the weight of what is in it.
#[derive(Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
    length: usize,
    weight: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, length: 0, weight: 0 }
    }
}

impl Queue {
    /// The entry that would leave next.
    pub(crate) fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// How many entries are in it.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The weight of all its entries, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Puts an entry that is in no queue at the tail.
    pub(crate) fn join<T>(&mut self, slots: &mut [Slot<T>], id: u32) {
        slots[id as usize].links = Links { ahead: self.tail, behind: NONE };
        match self.tail {
            NONE => self.head = id,
            tail => slots[tail as usize].links.behind = id,
        }
        self.tail = id;
        self.length += 1;
        self.weight += slots[id as usize].weight;
    }

    /// Takes one of its entries out, wherever it stands.
    pub(crate) fn leave<T>(&mut self, slots: &mut [Slot<T>], id: u32) {
        let Links { ahead, behind } = slots[id as usize].links;
        self.point(slots, ahead, behind, behind, ahead);
        slots[id as usize].links = Links::UNLINKED;
        self.length -= 1;
        self.weight -= slots[id as usize].weight;
    }

    /// One of its entries weighs something else now.
    pub(crate) fn reweigh<T>(&mut self, slots: &mut [Slot<T>], id: u32, weight: usize) {
        let slot = &mut slots[id as usize];
        self.weight = self.weight - slot.weight + weight;
        slot.weight = weight;
    }

    /// One of its entries has moved to slot `id`: its neighbours are told.
    pub(crate) fn renamed<T>(&mut self, slots: &mut [Slot<T>], id: u32) {
        let Links { ahead, behind } = slots[id as usize].links;
        self.point(slots, ahead, behind, id, id);
    }

    /// Makes the one ahead (or the head) point to `next`, the one behind (or the tail) to `previous`.
    fn point<T>(
        &mut self,
        slots: &mut [Slot<T>],
        ahead: u32,
        behind: u32,
        next: u32,
        previous: u32,
    ) {
        match ahead {
            NONE => self.head = next,
            ahead => slots[ahead as usize].links.behind = next,
        }
        match behind {
            NONE => self.tail = previous,
            behind => slots[behind as usize].links.ahead = previous,
        }
    }

    /// Walks from head to tail and says what it saw: entries and their weight.
    #[cfg(test)]
    pub(crate) fn walk<T>(&self, slots: &[Slot<T>]) -> Vec<u32> {
        let mut seen = Vec::new();
        let (mut at, mut ahead) = (self.head, NONE);
        while at != NONE {
            assert_eq!(slots[at as usize].links.ahead, ahead, "links agree in both directions");
            seen.push(at);
            ahead = at;
            at = slots[at as usize].links.behind;
        }
        assert_eq!(self.tail, ahead);
        assert_eq!(self.length, seen.len());
        assert_eq!(self.weight, seen.iter().map(|&id| slots[id as usize].weight).sum::<usize>());
        seen
    }
}
