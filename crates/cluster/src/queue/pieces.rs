//! What is too large for one message of NATS, cut into pieces and put together again.
//!
//! Pure. All pieces of one bringing have a mark of its own, since two who did the same work bring
//! different bytes; the last one says how many there were.
//! Bounds: [`BYTES_MAX`] of all that isn't whole yet; the oldest gives way.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

/// Bytes of a piece: NATS takes a million.
pub(super) const PIECE_BYTES: usize = 512 << 10;
/// Bytes of what isn't whole.
const BYTES_MAX: usize = 128 << 20;

/// The pieces of what was cut, in their order.
pub(super) fn cut(content: &Bytes) -> Vec<Bytes> {
    let starts = (0..content.len()).step_by(PIECE_BYTES);
    let pieces: Vec<_> =
        starts.map(|start| content.slice(start..content.len().min(start + PIECE_BYTES))).collect();
    if pieces.is_empty() { vec![Bytes::new()] } else { pieces }
}

/// What came and isn't whole.
#[derive(Default)]
pub(super) struct Pieces {
    by_mark: HashMap<String, Vec<Option<Bytes>>>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Pieces {
    /// Takes a piece; all of it with the last one, and nothing of what has a hole.
    pub(super) fn take(
        &mut self,
        mark: &str,
        at: usize,
        is_last: bool,
        piece: Bytes,
    ) -> Option<Option<Vec<u8>>> {
        if is_last {
            let mut pieces = self.forget(mark);
            pieces.resize(at, None);
            pieces.push(Some(piece));
            let pieces: Option<Vec<Bytes>> = pieces.into_iter().collect();
            return Some(pieces.map(|pieces| pieces.concat()));
        }
        // More than one may have is none of ours.
        if at > super::CONTENT_BYTES_MAX / PIECE_BYTES {
            return None;
        }
        let known = self.by_mark.entry(mark.to_owned()).or_insert_with(|| {
            self.order.push_back(mark.to_owned());
            Vec::new()
        });
        if known.len() <= at {
            known.resize(at + 1, None);
        }
        let length = piece.len();
        let before = known[at].replace(piece).map_or(0, |before| before.len());
        self.bytes = self.bytes + length - before;
        while self.bytes > BYTES_MAX
            && let Some(oldest) = self.order.front().cloned()
        {
            self.forget(&oldest);
        }
        None
    }

    fn forget(&mut self, mark: &str) -> Vec<Option<Bytes>> {
        self.order.retain(|one| one != mark);
        let pieces = self.by_mark.remove(mark).unwrap_or_default();
        self.bytes -= pieces.iter().flatten().map(Bytes::len).sum::<usize>();
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: usize, pieces: usize) {
        let content = Bytes::from((0..bytes).map(|at| (at % 251) as u8).collect::<Vec<_>>());
        let cut = cut(&content);
        assert_eq!(cut.len(), pieces, "{bytes}");
        let mut taken = Pieces::default();
        for (at, piece) in cut.iter().enumerate() {
            let is_last = at + 1 == cut.len();
            // Another's of the same work come between, and some come twice.
            taken.take("2", at, false, Bytes::from_static(b"of another"));
            if !is_last {
                taken.take("1", at, false, piece.clone());
            }
            match taken.take("1", at, is_last, piece.clone()) {
                Some(whole) => assert_eq!(whole.as_deref(), Some(&content[..]), "{bytes}"),
                None => assert!(!is_last, "{bytes}"),
            }
        }
        assert_eq!(taken.bytes, pieces * "of another".len());
    }

    #[test]
    fn what_was_cut_is_put_together() {
        check(0, 1);
        check(1, 1);
        check(PIECE_BYTES, 1);
        check(PIECE_BYTES + 1, 2);
        check(3 * PIECE_BYTES, 3);
    }

    #[test]
    fn what_has_a_hole_is_nothing_and_what_waits_is_bounded() {
        let mut taken = Pieces::default();
        assert_eq!(taken.take("1", 0, false, Bytes::from_static(b"a")), None);
        assert_eq!(taken.take("1", 2, true, Bytes::from_static(b"c")), Some(None));
        assert_eq!(taken.take("1", 1_000_000, false, Bytes::from_static(b"far")), None);
        let piece = Bytes::from(vec![0; PIECE_BYTES]);
        for mark in 0..2 * (BYTES_MAX / PIECE_BYTES) as u64 {
            taken.take(&mark.to_string(), 0, false, piece.clone());
        }
        assert_eq!(taken.bytes, BYTES_MAX);
        assert_eq!(taken.by_mark.len(), taken.order.len());
    }
}
