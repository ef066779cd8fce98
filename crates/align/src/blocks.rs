//! Matching blocks: the longest common run of two rows, then those left and right of it.
//!
//! The procedure of Ratcliff and Obershelp, which prefers long runs to many matches: rows
//! of a table that lost a line stay together. The budget bounds its bad cases.

use std::ops::Range;

use hashbrown::HashMap;

use crate::compare::TooDifferent;

/// Steps that may still be taken.
#[derive(Debug)]
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) fn new(steps: usize) -> Self {
        Self(steps)
    }

    /// Takes steps, or tells that there are not so many left.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), TooDifferent> {
        self.0 = self.0.checked_sub(steps).ok_or(TooDifferent)?;
        Ok(())
    }
}

/// A run that both rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) old: usize,
    pub(crate) new: usize,
    pub(crate) length: usize,
}

/// The common runs of two rows, in order.
pub(crate) fn matching_blocks(
    old: &[u64],
    new: &[u64],
    budget: &mut Budget,
) -> Result<Vec<Block>, TooDifferent> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, &value) in new.iter().enumerate() {
        places.entry(value).or_default().push(at);
    }
    let mut search = Search {
        old,
        places,
        lengths: vec![0; new.len() + 1],
        next_lengths: vec![0; new.len() + 1],
        budget,
    };
    let mut blocks = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((a, b)) = open.pop() {
        search.budget.spend(1)?;
        let Some(block) = search.longest(&a, &b)? else { continue };
        blocks.push(block);
        open.push((a.start..block.old, b.start..block.new));
        open.push((block.old + block.length..a.end, block.new + block.length..b.end));
    }
    blocks.sort_unstable_by_key(|block| block.old);
    Ok(blocks)
}

struct Search<'a> {
    old: &'a [u64],
    /// Where each value stands in the new row, ascending.
    places: HashMap<u64, Vec<usize>>,
    /// The length of the run that ends at the cell before, by place in the new row plus
    /// one; all zero between two searches.
    lengths: Vec<usize>,
    next_lengths: Vec<usize>,
    budget: &'a mut Budget,
}

impl Search<'_> {
    /// The longest common run; of several the one that comes first.
    fn longest(
        &mut self,
        a: &Range<usize>,
        b: &Range<usize>,
    ) -> Result<Option<Block>, TooDifferent> {
        let mut best: Option<Block> = None;
        let mut touched: Vec<usize> = Vec::new();
        for a_at in a.clone() {
            let places = self.places.get(&self.old[a_at]).map_or(&[][..], Vec::as_slice);
            let first = places.partition_point(|&place| place < b.start);
            let end = places.partition_point(|&place| place < b.end);
            let places = &places[first..end];
            self.budget.spend(places.len() + 1)?;
            for &b_at in places {
                let length = self.lengths[b_at] + 1;
                self.next_lengths[b_at + 1] = length;
                if best.is_none_or(|best| length > best.length) {
                    best = Some(Block { old: a_at + 1 - length, new: b_at + 1 - length, length });
                }
            }
            touched.drain(..).for_each(|place| self.lengths[place] = 0);
            touched.extend(places.iter().map(|place| place + 1));
            std::mem::swap(&mut self.lengths, &mut self.next_lengths);
        }
        touched.drain(..).for_each(|place| self.lengths[place] = 0);
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &[u64], new: &[u64], expected: &[(usize, usize, usize)]) {
        let found = matching_blocks(old, new, &mut Budget::new(10_000)).expect("short rows");
        let found: Vec<_> = found.iter().map(|b| (b.old, b.new, b.length)).collect();
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn the_longest_run_comes_first_and_the_rest_to_its_sides() {
        check(&[1, 2, 3, 4], &[2, 3, 1], &[(1, 0, 2)]);
        check(&[9, 1, 2, 3, 8], &[9, 7, 1, 2, 3, 6, 8], &[(0, 0, 1), (1, 2, 3), (4, 6, 1)]);
        check(&[1, 1, 1], &[1, 1], &[(0, 0, 2)]);
        check(&[1, 1], &[1, 1, 1], &[(0, 0, 2)]);
        check(&[1], &[2], &[]);
        check(&[], &[1], &[]);
    }

    #[test]
    fn a_search_without_budget_is_given_up() {
        let row = vec![1; 100];
        assert_eq!(matching_blocks(&row, &row, &mut Budget::new(1000)), Err(TooDifferent));
    }
}
