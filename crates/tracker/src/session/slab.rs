//! A slab of small rows of bytes, grown by chunks so that no announce pays for copying it.

use crate::foresight::fetch;

const CHUNK_ROWS: usize = 256;

/// Rows of `N` bytes under numbers that stay.
#[derive(Debug, Default)]
pub(super) struct Slab<const N: usize> {
    chunks: Vec<Vec<[u8; N]>>,
    free: Vec<u32>,
}

impl<const N: usize> Slab<N> {
    pub(super) fn put(&mut self, row: [u8; N]) -> u32 {
        if let Some(number) = self.free.pop() {
            self.set(number, row);
            return number;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK_ROWS) {
            self.chunks.push(Vec::with_capacity(if self.chunks.is_empty() {
                4
            } else {
                CHUNK_ROWS
            }));
        }
        let full = (self.chunks.len() - 1) * CHUNK_ROWS;
        let Some(last) = self.chunks.last_mut() else { return u32::MAX };
        last.push(row);
        (full + last.len() - 1) as u32
    }

    /// The row, or zeros for a number that was never given out.
    pub(super) fn row(&self, number: u32) -> [u8; N] {
        let at = number as usize;
        self.chunks
            .get(at / CHUNK_ROWS)
            .and_then(|chunk| chunk.get(at % CHUNK_ROWS))
            .copied()
            .unwrap_or([0; N])
    }

    /// Has a row brought near.
    pub(super) fn fetch(&self, number: u32) {
        let at = number as usize;
        if let Some(chunk) = self.chunks.get(at / CHUNK_ROWS) {
            fetch(chunk, at % CHUNK_ROWS);
        }
    }

    pub(super) fn set(&mut self, number: u32, row: [u8; N]) {
        let at = number as usize;
        if let Some(place) =
            self.chunks.get_mut(at / CHUNK_ROWS).and_then(|chunk| chunk.get_mut(at % CHUNK_ROWS))
        {
            *place = row;
        }
    }

    pub(super) fn release(&mut self, number: u32) {
        self.free.push(number);
        let full = self.chunks.len().saturating_sub(1) * CHUNK_ROWS;
        if self.free.len() == full + self.chunks.last().map_or(0, Vec::len) {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slab;

    #[test]
    fn rows_keep_their_numbers_and_places_are_used_again() {
        let mut slab = Slab::<4>::default();
        let numbers: Vec<u32> = (0..1000_u32).map(|at| slab.put(at.to_le_bytes())).collect();
        for (at, number) in numbers.iter().enumerate() {
            assert_eq!(slab.row(*number), (at as u32).to_le_bytes());
        }
        slab.release(numbers[17]);
        assert_eq!(slab.put([9; 4]), numbers[17]);
        for number in &numbers {
            slab.release(*number);
        }
        assert_eq!(slab.chunks.len(), 0, "an empty slab holds nothing");
    }
}
