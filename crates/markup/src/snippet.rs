//! Snippets: short bytes that are copied often.
//!
//! In: bytes, or a part of a text. Out: the same behind what is in a buffer. Most are
//! shorter than [`STRIDE`], and a copy whose length is known beforehand is a few instructions
//! where another is a call: so more is copied, where there is more, and then taken back.

use std::ops::Range;

/// How many bytes are copied at once, whatever of them is wanted.
const STRIDE: usize = 64;

/// Bytes that are appended again and again, with room behind them for whole strides.
#[derive(Debug, Default)]
pub(crate) struct Snippet {
    strides: Box<[[u8; STRIDE]]>,
    length: usize,
}

impl Snippet {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut strides = vec![[0; STRIDE]; bytes.len().div_ceil(STRIDE)];
        strides.as_flattened_mut()[..bytes.len()].copy_from_slice(bytes);
        Self { strides: strides.into(), length: bytes.len() }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.length;
        for stride in &self.strides {
            out.extend_from_slice(stride);
        }
        out.truncate(end);
    }
}

/// Appends a part of a text.
#[inline]
pub(crate) fn append(text: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    let end = out.len() + part.len();
    match text[part.start..].first_chunk::<STRIDE>() {
        Some(stride) if part.len() <= STRIDE => {
            out.extend_from_slice(stride);
            out.truncate(end);
        }
        _ => out.extend_from_slice(&text[part]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_what_is_wanted_is_appended() {
        let text: Vec<u8> = (0..200).collect();
        for (from, to) in [(0, 0), (0, 1), (3, 67), (3, 68), (0, 128), (130, 200), (190, 200)] {
            let wanted = [b"before", &text[from..to]].concat();
            let mut out = b"before".to_vec();
            append(&text, from..to, &mut out);
            assert_eq!(out, wanted, "{from} to {to}");
            let mut out = b"before".to_vec();
            Snippet::new(&text[from..to]).append_to(&mut out);
            assert_eq!(out, wanted, "{from} to {to}");
        }
    }
}
