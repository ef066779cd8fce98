//! In which shard the torrent of a number is.
//!
//! Sites count their torrents up, so pages of neighbours cost little more than a byte a torrent,
//! where a map of single numbers costs twelve.

use std::collections::HashMap;

use crate::rights::TorrentId;

const PAGE: u32 = 256;

/// Shards by torrents' numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Of each number its shard and one more; 0 if there is none.
    pages: HashMap<u32, Box<[u8; PAGE as usize]>>,
}

impl Numbers {
    /// Notes a torrent's shard; says where the number was before.
    pub(crate) fn insert(&mut self, id: TorrentId, shard: usize) -> Option<usize> {
        let page = self.pages.entry(id.0 / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
        let place = &mut page[(id.0 % PAGE) as usize];
        usize::from(std::mem::replace(place, shard as u8 + 1)).checked_sub(1)
    }

    /// Forgets a number; says where it was.
    pub(crate) fn remove(&mut self, id: TorrentId) -> Option<usize> {
        let page = self.pages.get_mut(&(id.0 / PAGE))?;
        let gone = std::mem::take(&mut page[(id.0 % PAGE) as usize]);
        if page.iter().all(|place| *place == 0) {
            self.pages.remove(&(id.0 / PAGE));
        }
        usize::from(gone).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_until_they_are_forgotten() {
        let mut numbers = Numbers::default();
        for id in [0, 1, 255, 256, u32::MAX] {
            assert_eq!(numbers.insert(TorrentId(id), 63), None);
            assert_eq!(numbers.insert(TorrentId(id), 5), Some(63));
        }
        for id in [0, 1, 255, 256, u32::MAX] {
            assert_eq!(numbers.remove(TorrentId(id)), Some(5));
            assert_eq!(numbers.remove(TorrentId(id)), None);
        }
        assert!(numbers.pages.is_empty());
    }
}
