//! Numbers and texts, of which the blocks of HPACK and of QPACK are made.
//!
//! Law: RFC 7541 §5; RFC 9204 §4.1.
//! Bounds: what a text comes to is known not to be too much before it is decoded.

use crate::hpack::huffman;

/// What a field costs beside its text (RFC 7541 §4.1, RFC 9114 §4.2.2).
pub(crate) const FIELD_BYTES: usize = 32;
/// The shortest code is five bits, so a coded text grows no further than this.
const CODED_GROWTH: (usize, usize) = (8, 5);
/// What follows the first byte of a number: more is no number of ours.
const NUMBER_BYTES_MAX: u32 = 4;

/// A block that is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError<E> {
    /// It is no block, or refers to what there isn't: the connection is out of step.
    Broken,
    /// Its fields are more than was announced to be taken.
    TooLarge,
    /// Who takes the fields refuses one.
    Refused(E),
}

/// What is left to be read of a block.
pub(crate) struct Block<'a> {
    pub(crate) rest: &'a [u8],
    /// What the fields may still come to.
    pub(crate) left: usize,
}

impl<'a> Block<'a> {
    pub(crate) fn spend<E>(&mut self, bytes: usize) -> Result<(), BlockError<E>> {
        self.left = self.left.checked_sub(bytes).ok_or(BlockError::TooLarge)?;
        Ok(())
    }

    /// A text whose length stands in the last bits of the next byte, and before that whether
    /// it is coded; then it is decoded into `out`.
    pub(crate) fn text<'b, E>(
        &mut self,
        bits: u32,
        out: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], BlockError<E>>
    where
        'a: 'b,
    {
        let first = *self.rest.first().ok_or(BlockError::Broken)?;
        let length = self.number(bits)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(BlockError::Broken)?;
        self.rest = rest;
        if first & 1 << bits == 0 {
            self.spend(length)?;
            return Ok(text);
        }
        let (times, of) = CODED_GROWTH;
        if length > self.left.saturating_mul(of).saturating_add(of) {
            return Err(BlockError::TooLarge);
        }
        out.clear();
        out.reserve(length * times / of + 1);
        huffman::decode(text, out).map_err(|_| BlockError::Broken)?;
        self.spend(out.len())?;
        Ok(out)
    }

    /// A number that begins in the last bits of the next byte (RFC 7541 §5.1).
    pub(crate) fn number<E>(&mut self, bits: u32) -> Result<usize, BlockError<E>> {
        let (&first, mut rest) = self.rest.split_first().ok_or(BlockError::Broken)?;
        let most = (1u32 << bits) - 1;
        let mut value = u32::from(first) & most;
        if value == most {
            for place in 0.. {
                let (&byte, behind) = rest.split_first().ok_or(BlockError::Broken)?;
                if place == NUMBER_BYTES_MAX {
                    return Err(BlockError::Broken);
                }
                rest = behind;
                value += u32::from(byte & 0x7f) << (7 * place);
                if byte < 0x80 {
                    break;
                }
            }
        }
        self.rest = rest;
        Ok(value as usize)
    }
}

/// Appends a number that begins in the last bits of a byte of which the others are given.
#[inline]
pub(crate) fn push_number(out: &mut Vec<u8>, first: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Appends a text as it is: to code it would save a quarter of a head and cost more than
/// sending it.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push_number(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.1, and the edges.
    #[test]
    fn numbers_are_those_of_the_law() {
        for (value, bits, bytes) in [
            (10, 5, &[0x0a][..]),
            (1337, 5, &[0x1f, 0x9a, 0x0a]),
            (42, 8, &[0x2a]),
            (30, 5, &[0x1e]),
            (31, 5, &[0x1f, 0x00]),
            (127, 7, &[0x7f, 0x00]),
            (254, 7, &[0x7f, 0x7f]),
            (255, 7, &[0x7f, 0x80, 0x01]),
        ] {
            let mut out = Vec::new();
            push_number(&mut out, 0, bits, value);
            assert_eq!(out, bytes, "{value}");
            let read: Result<usize, BlockError<()>> = Block { rest: &out, left: 0 }.number(bits);
            assert_eq!(read, Ok(value));
        }
        for broken in [&[][..], &[0x1f], &[0x1f, 0x80], &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x00]] {
            let read: Result<usize, BlockError<()>> = Block { rest: broken, left: 0 }.number(5);
            assert_eq!(read, Err(BlockError::Broken), "{broken:x?}");
        }
    }
}
