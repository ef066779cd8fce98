//! What recurs on a site's pages: menus, notices and the ends of titles, learned as pages come.
//!
//! A page's text is in blocks. A block that stands on a quarter of the pages is none of them in
//! particular, and isn't looked for. Bounds: [`SLOTS`] blocks, [`PAGES_MAX`] pages, then all
//! counts are halved, so that a site that changes its menu is learned anew.

use std::collections::HashSet;

const SLOTS: usize = 8192;
/// Places in which one block may lie.
const WAYS: usize = 4;
const PAGES_MAX: u32 = 512;
/// Before so many pages nothing is known to recur.
const PAGES_MIN: u32 = 4;
/// What recurs stands on one page in so many.
const SHARE: u32 = 4;

/// What was seen on how many pages.
pub struct Blocks {
    slots: Box<[(u64, u32)]>,
    pages: u32,
    /// Those that were counted.
    known: HashSet<u64>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { slots: vec![(0, 0); SLOTS].into_boxed_slice(), pages: 0, known: HashSet::new() }
    }
}

impl Blocks {
    /// Counts a page's blocks, unless this page was counted lately.
    pub fn note(&mut self, page: u64, blocks: impl Iterator<Item = u64>) {
        if !self.known.insert(page) {
            return;
        }
        if self.pages >= PAGES_MAX {
            self.slots.iter_mut().for_each(|(_, count)| *count /= 2);
            self.pages /= 2;
            self.known = HashSet::from([page]);
        }
        self.pages += 1;
        let once: HashSet<u64> = blocks.collect();
        once.into_iter().for_each(|block| self.count(block));
    }

    /// Whether a block recurs.
    #[must_use]
    pub fn is_common(&self, block: u64) -> bool {
        let count = self.places(block).find(|(hash, _)| *hash == block).map_or(0, |(_, n)| *n);
        self.pages >= PAGES_MIN && count > PAGES_MIN / 2 && count * SHARE >= self.pages
    }

    fn places(&self, block: u64) -> impl Iterator<Item = &(u64, u32)> {
        let first = Self::first(block);
        self.slots[first..first + WAYS].iter()
    }

    fn first(block: u64) -> usize {
        // The low bits of a good hash are as good as any.
        (block as usize % (SLOTS / WAYS)) * WAYS
    }

    /// A new block takes the place of the rarest; one that recurs outlives many of those.
    fn count(&mut self, block: u64) {
        let first = Self::first(block);
        let places = &mut self.slots[first..first + WAYS];
        if let Some((_, count)) = places.iter_mut().find(|(hash, _)| *hash == block) {
            *count = count.saturating_add(1);
            return;
        }
        let Some(rarest) = places.iter_mut().min_by_key(|(_, count)| *count) else { return };
        match rarest.1 {
            0 | 1 => *rarest = (block, 1),
            _ => rarest.1 -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_on_many_pages_recurs_and_what_one_page_shows_again_does_not() {
        let mut blocks = Blocks::default();
        for page in 0..3 {
            blocks.note(page, [7, 100 + page].into_iter());
        }
        assert!(!blocks.is_common(7), "three pages may be alike");
        blocks.note(3, [7, 103].into_iter());
        for _ in 0..100 {
            blocks.note(3, [7, 103].into_iter());
        }
        assert!(blocks.is_common(7));
        assert!(!blocks.is_common(103), "one page is one page");
        assert!(!blocks.is_common(8));
    }

    #[test]
    fn it_takes_the_room_that_it_has_and_a_new_menu_is_learned() {
        let mut blocks = Blocks::default();
        for page in 0..20_000_u64 {
            let menu = if page < 10_000 { 1 } else { 2 };
            let own = (0..20).map(|at| (page * 20 + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 4);
            blocks.note(page, own.chain([menu]));
        }
        assert!(blocks.known.len() <= PAGES_MAX as usize + 1);
        assert!(blocks.is_common(2) && !blocks.is_common(1));
    }
}
