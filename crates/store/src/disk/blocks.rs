//! A record that is read in blocks: each has a checksum of its own, so that who reads slowly
//! holds one block and not the record.
//!
//! ```text
//! payload: count 4 | length 4 | sums 8 each | their sum 8 | the bytes
//! ```
//! Sums are made with the record's number, which no other record has: a block of another one is never taken for its.
//! Invariant: what is read is what was written, or nothing.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::index::Place;
use super::record::{HEAD_BYTES, sum, u32_at, u64_at};
use super::{Disk, folder};

/// How long a block is; the last of a record may be shorter.
pub const BLOCK_BYTES: usize = 64 << 10;
/// A record has at most so many.
const BLOCKS_MAX: usize = 1 << 10;
const COUNT_BYTES: usize = 8;

/// A record whose blocks can be read.
#[derive(Clone, Debug)]
pub struct Blocks {
    place: Place,
    /// Where its bytes begin in the segment.
    start: u64,
    length: usize,
    sums: Box<[u64]>,
}

impl Blocks {
    /// Bytes of all blocks.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }
}

/// What a block's checksum is kept apart by; no record has so many blocks.
fn salt(sequence: u64, number: usize) -> u64 {
    sequence.wrapping_mul(2 * BLOCKS_MAX as u64).wrapping_add(number as u64)
}

/// Appends bytes as the payload of the record with this number.
pub fn write_blocks(out: &mut Vec<u8>, secret: u64, sequence: u64, bytes: &[u8]) {
    let blocks = bytes.chunks(BLOCK_BYTES);
    let start = out.len();
    // A record is far shorter than what 32 bits count, or it isn't written.
    for number in [blocks.len(), bytes.len()] {
        out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    for (number, block) in blocks.enumerate() {
        out.extend_from_slice(&sum(secret, salt(sequence, number), block).to_le_bytes());
    }
    let of_all = sum(secret, salt(sequence, BLOCKS_MAX), &out[start..]);
    out.extend_from_slice(&of_all.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// What stands before the bytes: the sums and the bytes' length; none if it is not sound.
fn read_sums(bytes: &[u8], secret: u64, sequence: u64) -> Option<(Box<[u64]>, usize)> {
    let (head, of_all) = bytes.split_last_chunk::<8>()?;
    let is_sound = u64::from_le_bytes(*of_all) == sum(secret, salt(sequence, BLOCKS_MAX), head);
    let length = u32_at(head, 4)? as usize;
    let sums: Box<[u64]> =
        head[COUNT_BYTES..].chunks_exact(8).filter_map(|it| u64_at(it, 0)).collect();
    (is_sound && sums.len() == length.div_ceil(BLOCK_BYTES)).then_some((sums, length))
}

impl Disk {
    /// Opens the newest record under a key that was written by [`write_blocks`]; none if there
    /// is none that is sound. Waits for the disk.
    #[must_use]
    pub fn open_blocks(&self, hash: u64, key: &[u8]) -> Option<Blocks> {
        let mut places = self.places(hash);
        places.retain(Place::is_written);
        let place = places.pop()?;
        let opened = self.try_open_blocks(&place, key);
        match &opened {
            None => self.note_damaged(&place),
            Some(_) => {
                let Place { hash, sequence, segment, .. } = place;
                self.inner.shelf.lock().index.note_asked(hash, sequence, segment);
            }
        }
        opened
    }

    fn try_open_blocks(&self, place: &Place, key: &[u8]) -> Option<Blocks> {
        let file = File::open(folder::segment_path(&self.inner.folder, place.segment)).ok()?;
        let mut head = vec![0; HEAD_BYTES + key.len() + COUNT_BYTES];
        file.read_exact_at(&mut head, place.offset.into()).ok()?;
        let counted = head.split_off(HEAD_BYTES + key.len());
        let is_it = u64_at(&head, 16)? == place.sequence && head[HEAD_BYTES..] == *key;
        let count = u32_at(&counted, 0)? as usize;
        (is_it && count < BLOCKS_MAX).then_some(())?;
        let mut sums = vec![0; count * 8 + 8];
        let at = u64::from(place.offset) + (HEAD_BYTES + key.len() + COUNT_BYTES) as u64;
        file.read_exact_at(&mut sums, at).ok()?;
        let start = at + sums.len() as u64;
        let all = [counted, sums].concat();
        let (sums, length) = read_sums(&all, self.inner.secret, place.sequence)?;
        Some(Blocks { place: *place, start, length, sums })
    }

    /// A block's bytes; none if they are damaged or gone, and then all of the record is. Waits
    /// for the disk.
    #[must_use]
    pub fn read_block(&self, blocks: &Blocks, number: usize) -> Option<Vec<u8>> {
        let Blocks { place, start, length, sums } = blocks;
        let expected = *sums.get(number)?;
        let at = number * BLOCK_BYTES;
        let mut bytes = vec![0; (length - at).min(BLOCK_BYTES)];
        // Opened anew each time: who reads slowly must not keep a segment that has gone.
        let is_read = File::open(folder::segment_path(&self.inner.folder, place.segment))
            .and_then(|file| file.read_exact_at(&mut bytes, start + at as u64))
            .is_ok();
        let salt = salt(place.sequence, number);
        if is_read && sum(self.inner.secret, salt, &bytes) == expected {
            return Some(bytes);
        }
        self.note_damaged(place);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0x0123_4567_89ab_cdef;

    #[test]
    fn sums_are_read_as_they_were_written_or_not_at_all() {
        let bytes = vec![7; BLOCK_BYTES + 1];
        let mut out = Vec::new();
        write_blocks(&mut out, SECRET, 9, &bytes);
        let head = &out[..out.len() - bytes.len()];
        let (sums, length) = read_sums(head, SECRET, 9).expect("it is sound");
        assert_eq!((sums.len(), length), (2, bytes.len()));
        assert!(read_sums(head, SECRET, 8).is_none(), "another record's");
        for at in 0..head.len() {
            let mut damaged = head.to_vec();
            damaged[at] ^= 1;
            assert!(read_sums(&damaged, SECRET, 9).is_none(), "byte {at}");
            assert!(read_sums(&head[..at], SECRET, 9).is_none(), "cut at {at}");
        }
    }
}
