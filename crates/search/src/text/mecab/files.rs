//! The files of a compiled dictionary, as MeCab writes them.

use std::io;
use std::path::Path;

use tantivy::Directory;
use tantivy::directory::{MmapDirectory, OwnedBytes};

const HEADER_BYTES: usize = 72;
const MAGIC: u32 = 0xEF71_8F77;
const VERSION: u32 = 102;
const TOKEN_BYTES: usize = 16;
const NAME_BYTES: usize = 32;

/// A file, mapped.
pub(in crate::text) fn map(folder: &Path, name: &str) -> io::Result<OwnedBytes> {
    let folder = MmapDirectory::open(folder).map_err(io::Error::other)?;
    folder.open_read(Path::new(name)).map_err(io::Error::other)?.read_bytes()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Words and what they may be.
pub(super) struct Lexicon {
    bytes: OwnedBytes,
    tokens: usize,
    features: usize,
}

/// One of the things that a word may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) left: u16,
    pub(super) right: u16,
    pub(super) kind: u16,
    pub(super) cost: i16,
    feature: u32,
}

impl Lexicon {
    pub(super) fn of(bytes: OwnedBytes) -> Option<Self> {
        let sum = u32::try_from(bytes.len()).ok()?;
        let field = |at: usize| u32_at(&bytes, 4 * at);
        let size = |at: usize| usize::try_from(field(at)?).ok();
        let tokens = HEADER_BYTES.checked_add(size(6)?)?;
        let features = tokens.checked_add(size(7)?)?;
        let end = features.checked_add(size(8)?)?;
        let is_whole = field(0)? ^ MAGIC == sum && field(1)? == VERSION && end == bytes.len();
        // `utf-8` and `utf8` are written.
        let charset = bytes.get(40..45)?;
        let is_utf8 =
            charset.eq_ignore_ascii_case(b"utf-8") || charset.eq_ignore_ascii_case(b"utf8\0");
        (is_whole && is_utf8).then_some(Self { bytes, tokens, features })
    }

    /// Calls with the length and the value of each word that a text begins with.
    pub(super) fn prefixes(&self, text: &[u8], mut visit: impl FnMut(usize, u32)) {
        let Some((mut base, _)) = self.unit(0) else { return };
        for length in 0..=text.len() {
            if let Some((value, check)) = self.unit(base)
                && check == base
                && value < 0
            {
                visit(length, (-(value + 1)).cast_unsigned());
            }
            let Some(byte) = text.get(length) else { return };
            let next = base.wrapping_add(i32::from(*byte) + 1);
            match self.unit(next) {
                Some((value, check)) if check == base => base = value,
                _ => return,
            }
        }
    }

    /// The value of a word.
    pub(super) fn value(&self, word: &[u8]) -> Option<u32> {
        let mut found = None;
        self.prefixes(word, |length, value| {
            if length == word.len() {
                found = Some(value);
            }
        });
        found
    }

    /// Base and check of a unit of the double array.
    fn unit(&self, at: i32) -> Option<(i32, i32)> {
        let at = usize::try_from(at).ok()?.checked_mul(8)?.checked_add(HEADER_BYTES)?;
        if at + 8 > self.tokens {
            return None;
        }
        let number = |at| u32_at(&self.bytes, at).map(u32::cast_signed);
        Some((number(at)?, number(at + 4)?))
    }

    /// What a word of this value may be.
    pub(super) fn entries(&self, value: u32) -> impl Iterator<Item = Entry> {
        let first = (value >> 8) as usize;
        (first..first + (value & 0xFF) as usize).filter_map(|at| self.entry(at))
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        let at = self.tokens.checked_add(at.checked_mul(TOKEN_BYTES)?)?;
        if at + TOKEN_BYTES > self.features {
            return None;
        }
        Some(Entry {
            left: u16_at(&self.bytes, at)?,
            right: u16_at(&self.bytes, at + 2)?,
            kind: u16_at(&self.bytes, at + 4)?,
            cost: u16_at(&self.bytes, at + 6)?.cast_signed(),
            feature: u32_at(&self.bytes, at + 8)?,
        })
    }

    /// What is said of an entry: its tag, and eight more columns.
    pub(super) fn feature(&self, entry: &Entry) -> &str {
        let begin = self.features.saturating_add(entry.feature as usize);
        let rest = self.bytes.get(begin..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
        std::str::from_utf8(&rest[..end]).unwrap_or_default()
    }
}

/// What it costs that two parts stand beside each other.
pub(super) struct Matrix {
    bytes: OwnedBytes,
    lefts: usize,
}

impl Matrix {
    pub(super) fn of(bytes: OwnedBytes) -> Option<Self> {
        let lefts = usize::from(u16_at(&bytes, 0)?);
        let rights = usize::from(u16_at(&bytes, 2)?);
        (bytes.len() == 4 + 2 * lefts * rights).then_some(Self { bytes, lefts })
    }

    pub(super) fn cost(&self, left: u16, right: u16) -> i32 {
        let at = usize::from(left) + self.lefts * usize::from(right);
        u16_at(&self.bytes, 4 + 2 * at)
            .map_or(i32::from(i16::MAX), |cost| i32::from(cost.cast_signed()))
    }
}

/// What characters are, and what may be made of those that no word begins with.
pub(super) struct Characters {
    bytes: OwnedBytes,
    count: usize,
}

/// The properties of a character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Character(u32);

impl Character {
    /// Whether both are of one category at least.
    pub(super) fn is_like(self, other: Self) -> bool {
        self.0 & other.0 & 0x3_FFFF != 0
    }

    fn category(self) -> usize {
        (self.0 >> 18 & 0xFF) as usize
    }

    /// Of how many characters an unknown word may be.
    pub(super) fn length(self) -> usize {
        (self.0 >> 26 & 0xF) as usize
    }

    /// Whether all that are alike are one unknown word.
    pub(super) fn is_grouped(self) -> bool {
        self.0 >> 30 & 1 == 1
    }

    /// Whether unknown words are tried where known ones are.
    pub(super) fn is_always(self) -> bool {
        self.0 >> 31 == 1
    }
}

impl Characters {
    pub(super) fn of(bytes: OwnedBytes) -> Option<Self> {
        let count = usize::try_from(u32_at(&bytes, 0)?).ok()?;
        (bytes.len() == 4 + NAME_BYTES * count + 4 * 0xFFFF).then_some(Self { bytes, count })
    }

    pub(super) fn of_character(&self, one: char) -> Character {
        // What is beyond the first plane is as nothing in particular.
        let number = if u32::from(one) < 0xFFFF { one as usize } else { 0 };
        Character(u32_at(&self.bytes, 4 + NAME_BYTES * self.count + 4 * number).unwrap_or(0))
    }

    /// The name of a character's category.
    pub(super) fn name(&self, one: Character) -> &[u8] {
        let at = 4 + NAME_BYTES * one.category().min(self.count.saturating_sub(1));
        let name = self.bytes.get(at..at + NAME_BYTES).unwrap_or_default();
        &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())]
    }
}
