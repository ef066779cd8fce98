//! Bytes that stand for any content: the same at the same place every time.
//!
//! `bytes 9435` are the first 9,435 of them; `bytes 100-199` a window into them,
//! so that a wrong range shows. Only letters, digits and `-`, so that they may
//! also fill a field.

const LETTERS: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz0123456789-";

/// The filler from `first` up to but without `end`.
#[must_use]
pub fn window(first: usize, end: usize) -> Vec<u8> {
    (first..end).map(|at| LETTERS[(at * 7 + at / 37 + at / 1369) % LETTERS.len()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_cut_from_the_whole_and_a_shifted_one_differs() {
        let whole = window(0, 5000);
        assert_eq!(window(100, 200), whole[100..200]);
        assert!((1..40).all(|shift| whole[..100] != whole[shift..shift + 100]));
    }
}
