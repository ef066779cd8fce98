//! Numbers and strings as the binary API sends them: in network order, strings by their length.
//!
//! Invariants: 1. what is too short is an error, never a panic. 2. a count says nothing of what
//! is reserved: memory follows the bytes that came.

/// A request ended before it was whole, or counts more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid or truncated request")]
pub struct Cut;

/// What is left of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Cut> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Cut> {
        self.take(N)?.try_into().map_err(|_| Cut)
    }

    pub(crate) fn number(&mut self) -> Result<u32, Cut> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn large(&mut self) -> Result<u64, Cut> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Cut> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn float(&mut self) -> Result<f32, Cut> {
        self.array().map(f32::from_be_bytes)
    }

    /// Text; what isn't UTF-8 in it can't be found anyway.
    pub(crate) fn text(&mut self) -> Result<String, Cut> {
        let length = self.count(usize::MAX)?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// A count that may be at most `most`.
    pub(crate) fn count(&mut self, most: usize) -> Result<usize, Cut> {
        let count = usize::try_from(self.number()?).map_err(|_| Cut)?;
        if count > most { Err(Cut) } else { Ok(count) }
    }

    /// So many of what `read` reads.
    pub(crate) fn many<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Cut>,
    ) -> Result<Vec<T>, Cut> {
        let mut found = Vec::new();
        for _ in 0..self.count(most)? {
            found.push(read(self)?);
        }
        Ok(found)
    }
}

/// An answer as it grows.
#[derive(Debug, Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    pub(crate) fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(crate) fn large(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_an_error() {
        assert_eq!(Bytes(&[0, 0, 1]).number(), Err(Cut));
        assert_eq!(Bytes(&[0, 0, 0, 9, b'a']).text(), Err(Cut));
        assert_eq!(Bytes(&[255, 255, 255, 255]).many(9, Bytes::number), Err(Cut));
        assert_eq!(Bytes(&[0, 0, 0, 1, b'a']).text().as_deref(), Ok("a"));
    }
}
