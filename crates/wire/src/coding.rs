//! Content codings that Wick can make, and sets of them.
//!
//! Law: RFC 9110 §8.4.1; RFC 7932 (`br`), RFC 8878 and RFC 9659 (`zstd`).

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Coding {
    /// `zstd`.
    Zstd,
    /// `br`.
    Brotli,
    /// `gzip`.
    Gzip,
}

impl Coding {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// All of them, the one that is preferred where a client wants them alike first: it is read
    /// in the least time.
    pub const ALL: [Self; Self::COUNT] = [Self::Zstd, Self::Brotli, Self::Gzip];

    /// All of them, the one that is made in the least time first.
    pub const CHEAPEST_FIRST: [Self; Self::COUNT] = [Self::Zstd, Self::Gzip, Self::Brotli];

    /// Its name in `Content-Encoding`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The ending of a file that lies in this coding beside another.
    #[must_use]
    pub fn file_ending(self) -> &'static str {
        match self {
            Self::Zstd => ".zst",
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }

    /// The coding of this name, in any letter case. `x-gzip` is `gzip` (RFC 9110 §8.4.1.3).
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Some(Self::Gzip);
        }
        Self::ALL.into_iter().find(|coding| name.eq_ignore_ascii_case(coding.as_str().as_bytes()))
    }

    /// Its place in [`Coding::ALL`].
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A set of codings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codings(u8);

impl Codings {
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Every one.
    pub const ALL: Self = Self((1 << Coding::COUNT) - 1);

    /// The same set and this one.
    #[must_use]
    pub fn with(self, coding: Coding) -> Self {
        Self(self.0 | 1 << coding.index())
    }

    /// Whether it is in the set.
    #[must_use]
    pub fn has(self, coding: Coding) -> bool {
        self.0 & 1 << coding.index() != 0
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first of the set in the order of [`Coding::ALL`].
    #[must_use]
    pub fn first(self) -> Option<Coding> {
        self.iter().next()
    }

    /// The one of the set that is made in the least time.
    #[must_use]
    pub fn cheapest(self) -> Option<Coding> {
        Coding::CHEAPEST_FIRST.into_iter().find(|&coding| self.has(coding))
    }

    /// The set in the order of [`Coding::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Coding> {
        Coding::ALL.into_iter().filter(move |&coding| self.has(coding))
    }
}

impl FromIterator<Coding> for Codings {
    fn from_iter<I: IntoIterator<Item = Coding>>(codings: I) -> Self {
        codings.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_coding_is_known_by_its_name_and_stands_where_its_index_says() {
        for (place, coding) in Coding::ALL.into_iter().enumerate() {
            assert_eq!(Coding::of(coding.as_str().to_uppercase().as_bytes()), Some(coding));
            assert_eq!(coding.index(), place);
        }
        assert_eq!(Coding::of(b"x-gzip"), Some(Coding::Gzip));
        assert_eq!(Coding::of(b"deflate"), None);
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let two: Codings = [Coding::Gzip, Coding::Brotli].into_iter().collect();
        assert_eq!(two.iter().collect::<Vec<_>>(), [Coding::Brotli, Coding::Gzip]);
        assert_eq!((two.first(), two.cheapest()), (Some(Coding::Brotli), Some(Coding::Gzip)));
        assert!(!two.has(Coding::Zstd) && two.with(Coding::Zstd) == Codings::ALL);
        assert!(Codings::NONE.is_empty() && Codings::NONE.first().is_none());
    }
}
