//! What lies on the disk, by the hashes of keys: some forty bytes of memory a page, no I/O.
//!
//! Bound: the table's size in memory, which is weighed against the owner's figure.

use hashbrown::HashTable;

use super::record::Entry;

/// The segment of what has not been written yet.
pub(super) const PENDING: u32 = u32::MAX;

/// Where one record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) hash: u64,
    /// The record's number.
    pub sequence: u64,
    pub(super) segment: u32,
    pub(super) offset: u32,
    pub(super) length: u32,
    /// Which variant of its key it is, as far as that can be told by a number; of a piece of
    /// something large, how often it was asked for, up to [`AGAIN`].
    pub fingerprint: u32,
}

/// Once by who had it written, and once more.
const AGAIN: u32 = 2;

impl Place {
    pub(super) fn of(segment: u32, entry: &Entry) -> Self {
        let Entry { hash, sequence, offset, length, fingerprint, .. } = *entry;
        Self { hash, sequence, segment, offset, length, fingerprint }
    }

    /// How long the record is, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.length as usize
    }

    /// Whether it was written already.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.segment != PENDING
    }
}

#[derive(Debug, Default)]
pub(super) struct Index {
    table: HashTable<Place>,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.table.allocation_size()
    }

    pub(super) fn holds(&self, hash: u64) -> bool {
        self.table.find(hash, |place| place.hash == hash).is_some()
    }

    /// All records of a key with this hash.
    pub(super) fn places(&self, hash: u64) -> impl Iterator<Item = &Place> {
        self.table.iter_hash(hash).filter(move |place| place.hash == hash)
    }

    pub(super) fn insert(&mut self, place: Place) {
        self.table.insert_unique(place.hash, place, |place| place.hash);
    }

    /// Puts a record that was pending where it was written; false if it isn't wanted any more.
    pub(super) fn settle(&mut self, place: Place) -> bool {
        let is_it = |other: &Place| other.hash == place.hash && other.sequence == place.sequence;
        let found = self.table.find_mut(place.hash, is_it);
        found.map(|pending| *pending = place).is_some()
    }

    /// Takes one record out.
    pub(super) fn remove(&mut self, hash: u64, sequence: u64) -> bool {
        let is_it = |place: &Place| place.hash == hash && place.sequence == sequence;
        self.table.find_entry(hash, is_it).map(hashbrown::hash_table::OccupiedEntry::remove).is_ok()
    }

    /// The same, but only if it lies in this segment.
    pub(super) fn remove_from(&mut self, hash: u64, sequence: u64, segment: u32) -> bool {
        let found = self.table.find_entry(hash, Self::is_at(hash, sequence, segment));
        found.map(hashbrown::hash_table::OccupiedEntry::remove).is_ok()
    }

    /// A piece of something large was asked for.
    pub(super) fn note_asked(&mut self, hash: u64, sequence: u64, segment: u32) {
        if let Some(place) = self.table.find_mut(hash, Self::is_at(hash, sequence, segment)) {
            place.fingerprint = (place.fingerprint + 1).min(AGAIN);
        }
    }

    /// Whether a piece was asked for again; from now on it has to be once more.
    pub(super) fn take_asked(&mut self, hash: u64, sequence: u64, segment: u32) -> bool {
        let found = self.table.find_mut(hash, Self::is_at(hash, sequence, segment));
        found.is_some_and(|place| std::mem::take(&mut place.fingerprint) >= AGAIN)
    }

    fn is_at(hash: u64, sequence: u64, segment: u32) -> impl Fn(&Place) -> bool {
        move |place| (place.hash, place.sequence, place.segment) == (hash, sequence, segment)
    }

    pub(super) fn retain(&mut self, wanted: impl FnMut(&mut Place) -> bool) {
        self.table.retain(wanted);
        self.table.shrink_to(self.table.len(), |place| place.hash);
    }
}

/// How many records fit into an index of so many bytes.
pub(super) fn entries_max(bytes: usize) -> usize {
    // A table has a power of two of places, of which seven in eight are used.
    let places = (bytes / (size_of::<Place>() + 1)).max(16);
    let whole = if places.is_power_of_two() { places } else { places.next_power_of_two() / 2 };
    whole / 8 * 7
}
