//! A compiled dictionary of MeCab's: Korean comes so, and Japanese.
//!
//! The files are read where they lie, mapped, so that a dictionary of a hundred megabytes
//! takes as much memory as is looked into. Formats: MeCab's dictionary version 102, its
//! matrix and its character properties. Invariant: whatever the files hold, nothing here
//! panics or reads beyond them; what can't be read isn't found.
//! Start at [`Mecab::open`]; `lattice.rs` chooses.

mod files;
mod lattice;

use std::ops::RangeInclusive;
use std::path::Path;

use tantivy::directory::OwnedBytes;

pub(in crate::text) use files::map;
use files::{Characters, Lexicon, Matrix};

/// A dictionary, open.
pub(super) struct Mecab {
    known: Lexicon,
    unknown: Lexicon,
    matrix: Matrix,
    characters: Characters,
    habits: Habits,
    /// How large its words are.
    pub(super) size: usize,
}

/// What costs more than the dictionary says.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// What a part of this kind costs more behind a space: a particle has none before it.
    pub(super) space_costs: Vec<(u16, i32)>,
    pub(super) joined: Option<Joined>,
}

/// What it costs more that a noun is joined to an adverb, or that what may be a particle is a
/// noun behind another word. Kinds are by the dictionary's `pos-id.def`.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) adverb: u16,
    pub(super) nouns: RangeInclusive<u16>,
    pub(super) particle: u16,
    pub(super) cost: i16,
}

/// A part of a text, and what the dictionary says of it, in columns with commas.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) feature: &'a str,
}

/// The files that are needed: words, what unknown ones may be, costs, kinds of characters.
pub(super) const FILES: [&str; 4] = ["sys.dic", "unk.dic", "matrix.bin", "char.bin"];

impl Mecab {
    /// Opens the dictionary of a folder; if it can't be used, says why.
    pub(super) fn open(folder: &Path, habits: Habits) -> Result<Self, String> {
        let file = |name: &str| map(folder, name).map_err(|error| format!("{name}: {error}"));
        let [known, unknown, matrix, characters] = FILES;
        let files = [file(known)?, file(unknown)?, file(matrix)?, file(characters)?];
        Self::of(files, habits).map_err(|name| format!("{name} is damaged"))
    }

    /// Reads the [`FILES`]; if one is damaged, says which.
    pub(super) fn of(files: [OwnedBytes; 4], habits: Habits) -> Result<Self, &'static str> {
        let [known, unknown, matrix, characters] = files;
        let size = known.len();
        Ok(Self {
            known: Lexicon::of(known).ok_or(FILES[0])?,
            unknown: Lexicon::of(unknown).ok_or(FILES[1])?,
            matrix: Matrix::of(matrix).ok_or(FILES[2])?,
            characters: Characters::of(characters).ok_or(FILES[3])?,
            habits,
            size,
        })
    }

    /// The parts of a text, in order; what is a space is none.
    pub(super) fn pieces<'a>(&'a self, text: &'a str) -> Vec<Piece<'a>> {
        lattice::best_way(self, text)
    }
}
