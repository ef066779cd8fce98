//! What is known of a table's rows: a hash of each, by its number.
//!
//! Eight bytes a row, in order: rows come so, and a table is looked at in slices from its
//! beginning to its end. One that comes between others moves those behind it, which of a million
//! takes less than asking the database for it did.

use std::ops::RangeInclusive;

use crate::users::reserve;

/// The rows of one table.
#[derive(Debug, Default)]
pub(crate) struct Known(Vec<(u32, u32)>);

impl Known {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The hash of a row.
    pub(crate) fn hash(&self, id: u32) -> Option<u32> {
        self.place(id).ok().map(|at| self.0[at].1)
    }

    /// Puts a row in, or its new hash.
    pub(crate) fn put(&mut self, id: u32, hash: u32) {
        match self.place(id) {
            Ok(at) => self.0[at].1 = hash,
            Err(at) => {
                reserve(&mut self.0);
                self.0.insert(at, (id, hash));
            }
        }
    }

    /// Takes those of a range out that aren't `there`, which is in order, and says which.
    pub(crate) fn remove_missing(&mut self, range: RangeInclusive<u32>, there: &[u32]) -> Vec<u32> {
        let mut gone = Vec::new();
        let from = self.0.partition_point(|(id, _)| id < range.start());
        let until = self.0.partition_point(|(id, _)| id <= range.end());
        let is_gone = |id: &u32| there.binary_search(id).is_err();
        if from >= until {
            return gone;
        }
        gone.extend(self.0[from..until].iter().map(|(id, _)| *id).filter(is_gone));
        if !gone.is_empty() {
            self.0.retain(|(id, _)| gone.binary_search(id).is_err());
        }
        gone
    }

    fn place(&self, id: u32) -> Result<usize, usize> {
        // Most come behind all that are there.
        match self.0.last() {
            Some((last, _)) if *last >= id => self.0.binary_search_by_key(&id, |(id, _)| *id),
            _ => Err(self.0.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_change_and_go_in_any_order() {
        let mut known = Known::default();
        for id in [7, 9, 3, 8, 9, 1] {
            known.put(id, id * 10);
        }
        known.put(8, 5);
        let told = [1, 2, 3, 7, 8, 9, 10].map(|id| known.hash(id));
        assert_eq!(told, [Some(10), None, Some(30), Some(70), Some(5), Some(90), None]);
        assert_eq!(known.remove_missing(3..=8, &[7, 8]), [3]);
        assert_eq!(known.remove_missing(4..=6, &[]), Vec::<u32>::new());
        assert_eq!((known.len(), known.hash(1), known.hash(3)), (4, Some(10), None));
        assert_eq!(known.remove_missing(0..=u32::MAX, &[]), [1, 7, 8, 9]);
        assert!(known.is_empty());
    }
}
