//! What recurs on a site's pages: menus, notices and the ends of titles, learned as pages come.
//!
//! A page's text is in blocks. A block that stands on a quarter of the pages is none of them in
//! particular, and isn't looked for. Bounds: [`SLOTS`] blocks, [`PAGES_MAX`] pages, then all
//! counts are halved, so that a site that changes its menu is learned anew.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_64;

const SLOTS: usize = 8192;
/// A hash and a count.
const SLOT_BYTES: usize = 12;
/// Which version the bytes are of; it rises with every change of what a block's hash is of.
const FORMAT: &[u8; 12] = b"wick blocks1";
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

    /// All of it as bytes, for [`Blocks::decode`]: what was learned of a site goes on after a
    /// restart.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + SLOTS * SLOT_BYTES + self.known.len() * 8);
        out.extend_from_slice(FORMAT);
        out.extend_from_slice(&self.pages.to_le_bytes());
        for (hash, count) in &self.slots {
            out.extend_from_slice(&hash.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        }
        self.known.iter().for_each(|page| out.extend_from_slice(&page.to_le_bytes()));
        let sum = xxh3_64(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// What [`Blocks::encode`] made; none if it is anything else, or of another version.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (written, sum) = bytes.split_last_chunk::<8>()?;
        if xxh3_64(written) != u64::from_le_bytes(*sum) {
            return None;
        }
        let (pages, rest) = written.strip_prefix(FORMAT)?.split_first_chunk::<4>()?;
        let (slots, known) = rest.split_at_checked(SLOTS * SLOT_BYTES)?;
        let slots = slots.chunks_exact(SLOT_BYTES).map(|slot| {
            let (hash, count) = slot.split_first_chunk::<8>()?;
            Some((u64::from_le_bytes(*hash), u32::from_le_bytes(*count.first_chunk::<4>()?)))
        });
        let known = known.chunks_exact(8).map(|page| page.first_chunk::<8>().copied());
        Some(Self {
            slots: slots.collect::<Option<_>>()?,
            pages: u32::from_le_bytes(*pages),
            known: known.map(|page| page.map(u64::from_le_bytes)).collect::<Option<_>>()?,
        })
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
    fn what_was_learned_is_kept_and_what_is_damaged_is_not_believed() {
        let mut blocks = Blocks::default();
        for page in 0..40 {
            blocks.note(page, [7, 100 + page].into_iter());
        }
        let bytes = blocks.encode();
        let mut kept = Blocks::decode(&bytes).expect("it is whole");
        assert!(kept.is_common(7) && !kept.is_common(105));
        // A page that was counted isn't counted again.
        (0..100).for_each(|_| kept.note(5, [7, 105].into_iter()));
        assert!(!kept.is_common(105));
        assert_eq!(kept.encode().len(), bytes.len());
        let mut damaged = bytes.clone();
        damaged[5000] ^= 1;
        for wrong in [&damaged[..], &bytes[..bytes.len() - 1], &bytes[..100], b""] {
            assert!(Blocks::decode(wrong).is_none());
        }
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
