//! DER, as far as OCSP needs it: one value after the other, by tag (X.690 §8.1, §10.1).
//!
//! Invariant: a length is written in the shortest way and reaches no further than the bytes do.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const ENUMERATED: u8 = 0x0a;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;

/// The tag of a field with this number that holds other values.
pub(super) const fn numbered(number: u8) -> u8 {
    0xa0 | number
}

/// What is left of some values.
#[derive(Clone, Copy)]
pub(super) struct Values<'a>(pub(super) &'a [u8]);

impl<'a> Values<'a> {
    /// The next value: its tag, its content, and the whole of it.
    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        // A tag of several bytes stands nowhere in what is read here.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = digits.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
                let shortest = if digits.len() == 1 { 0x80 } else { 1 << (8 * (digits.len() - 1)) };
                (Some(length).filter(|&length| length >= shortest)?, rest)
            }
            _ => return None,
        };
        let (content, left) = rest.split_at_checked(length)?;
        let whole = &self.0[..self.0.len() - left.len()];
        self.0 = left;
        Some((tag, content, whole))
    }

    /// The next value's content, if it has this tag; nothing is taken if not.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (_, content, _) = ahead.any().filter(|(found, ..)| *found == tag)?;
        *self = ahead;
        Some(content)
    }

    /// The same for a value that holds others.
    pub(super) fn open(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Self)
    }
}

/// Writes a value. Contents here have a few hundred bytes at most.
pub(super) fn push(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    match content.len() {
        length @ 0..0x80 => out.push(length as u8),
        length @ 0x80..0x100 => out.extend_from_slice(&[0x81, length as u8]),
        length => {
            out.push(0x82);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
    }
    out.extend_from_slice(content);
}
