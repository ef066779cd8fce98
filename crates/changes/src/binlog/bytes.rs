//! A cursor over bytes that gives nothing rather than reading past their end.

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// A number of up to eight bytes, the smallest first.
    pub(crate) fn number(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number of up to eight bytes that stands for a length.
    pub(crate) fn length(&mut self, width: usize) -> Option<usize> {
        usize::try_from(self.number(width)?).ok()
    }

    /// A number whose first byte says how long it is.
    pub(crate) fn packed(&mut self) -> Option<usize> {
        match self.byte()? {
            small @ 0..=250 => Some(usize::from(small)),
            252 => self.length(2),
            253 => self.length(3),
            254 => self.length(8),
            _ => None,
        }
    }

    /// As many bytes as the number before them says.
    pub(crate) fn counted(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self.length(width)?;
        self.take(length)
    }

    /// One bit for each of `count` columns.
    pub(crate) fn bits(&mut self, count: usize) -> Option<Bits<'a>> {
        self.take(count.div_ceil(8)).map(Bits)
    }
}

/// A set of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a>(&'a [u8]);

impl Bits<'_> {
    pub(crate) fn has(&self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    pub(crate) fn count(&self, columns: usize) -> usize {
        (0..columns).filter(|index| self.has(*index)).count()
    }
}
