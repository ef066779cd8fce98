//! Packed sessions of a large swarm in two columns: what an answer needs of a peer, and the rest.
//!
//! An answer reads fifty records from all over a swarm, of each eleven bytes. With these beside
//! each other a million peers are 11 MB, which caches hold, and not 39.
//! Columns grow by chunks of about 16 KiB: growing copies one at most, so a swarm of a million
//! costs no announce more than one of a hundred.

use crate::foresight::fetch_bytes;
use crate::session::{HOT_BYTES, RECORD_BYTES, Record};

const COLD_BYTES: usize = RECORD_BYTES - HOT_BYTES;

/// The sessions of one kind.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hot: Column<HOT_BYTES>,
    cold: Column<COLD_BYTES>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.hot.len()
    }

    /// What an answer needs of a session.
    pub(super) fn hot(&self, at: usize) -> &[u8] {
        self.hot.row(at)
    }

    /// Has what an answer needs of a session brought near.
    pub(super) fn fetch(&self, at: usize) {
        self.hot.fetch(at);
    }

    pub(super) fn fetch_whole(&self, at: usize) {
        self.hot.fetch(at);
        self.cold.fetch(at);
    }

    pub(super) fn record(&self, at: usize) -> Record {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..HOT_BYTES].copy_from_slice(self.hot.row(at));
        bytes[HOT_BYTES..].copy_from_slice(self.cold.row(at));
        Record(bytes)
    }

    pub(super) fn set(&mut self, at: usize, record: &Record) {
        self.hot.row_mut(at).copy_from_slice(&record.0[..HOT_BYTES]);
        self.cold.row_mut(at).copy_from_slice(&record.0[HOT_BYTES..]);
    }

    pub(super) fn push(&mut self, record: &Record) {
        self.hot.push(&record.0[..HOT_BYTES]);
        self.cold.push(&record.0[HOT_BYTES..]);
    }

    /// Takes one out; the last takes its place.
    pub(super) fn swap_remove(&mut self, at: usize) {
        let last = self.record(self.len() - 1);
        self.set(at, &last);
        self.hot.pop();
        self.cold.pop();
    }
}

/// Rows of `N` bytes.
#[derive(Debug, Default)]
struct Column<const N: usize> {
    chunks: Vec<Vec<u8>>,
}

impl<const N: usize> Column<N> {
    /// As many as fit 16 KiB.
    const CHUNK_ROWS: usize = 16 * 1024 / N;

    fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * Self::CHUNK_ROWS;
        full + self.chunks.last().map_or(0, |last| last.len() / N)
    }

    fn row(&self, at: usize) -> &[u8] {
        let start = at % Self::CHUNK_ROWS * N;
        &self.chunks[at / Self::CHUNK_ROWS][start..start + N]
    }

    fn fetch(&self, at: usize) {
        fetch_bytes(&self.chunks[at / Self::CHUNK_ROWS], at % Self::CHUNK_ROWS * N, N);
    }

    fn row_mut(&mut self, at: usize) -> &mut [u8] {
        let start = at % Self::CHUNK_ROWS * N;
        &mut self.chunks[at / Self::CHUNK_ROWS][start..start + N]
    }

    fn push(&mut self, row: &[u8]) {
        if self.chunks.last().is_none_or(|last| last.len() == Self::CHUNK_ROWS * N) {
            self.chunks.push(Vec::new());
        }
        if let Some(last) = self.chunks.last_mut() {
            grow(last, N);
            last.extend_from_slice(row);
        }
    }

    fn pop(&mut self) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.truncate(chunk.len() - N);
            shrink(chunk, N);
            if chunk.is_empty() {
                self.chunks.pop();
            }
        }
    }
}

/// Room for one row more, and for as many as that costs nothing more: all of what the allocator
/// gives for one. If it weren't told, it would be asked again for each row.
pub(super) fn grow(rows: &mut Vec<u8>, row_bytes: usize) {
    if rows.capacity() - rows.len() < row_bytes {
        rows.reserve_exact(allocated(rows.len() + row_bytes) - rows.len());
    }
}

/// Bytes that jemalloc gives for so many: its sizes are multiples of 16, and past 128 bytes four
/// between a power of two and the next.
fn allocated(bytes: usize) -> usize {
    bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(16))
}

/// Gives back room when more than half of it is empty.
pub(super) fn shrink(rows: &mut Vec<u8>, row_bytes: usize) {
    if rows.capacity() > 2 * rows.len() + 4 * row_bytes {
        rows.shrink_to(rows.len() + row_bytes);
    }
}

/// A row of a small swarm as a record.
pub(super) fn record(row: &[u8]) -> Record {
    let mut bytes = [0; RECORD_BYTES];
    bytes.copy_from_slice(row);
    Record(bytes)
}

#[cfg(test)]
mod tests {
    use super::allocated;

    #[test]
    fn sizes_are_the_allocator_s() {
        let sizes = [(39, 48), (128, 128), (129, 160), (256, 256), (257, 320), (4992, 5120)];
        for (bytes, expected) in sizes.into_iter().chain([(16_379, 16_384), (10_241, 12_288)]) {
            assert_eq!(allocated(bytes), expected, "{bytes}");
        }
    }
}
