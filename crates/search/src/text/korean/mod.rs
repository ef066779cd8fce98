//! Korean by a compiled dictionary of MeCab's, as mecab-ko-dic comes.
//!
//! The files are read where they lie, mapped, so that a dictionary of a hundred megabytes
//! takes as much memory as is looked into. Formats: MeCab's dictionary version 102, its
//! matrix and its character properties. Invariant: whatever the files hold, nothing here
//! panics or reads beyond them; what can't be read isn't found.
//! Start at [`Korean::open`]; `lattice.rs` chooses, `pack.rs` fetches files from the wheel.

mod files;
mod lattice;
mod pack;

use std::path::{Path, PathBuf};

use super::{Morpheme, Morphemes};
use files::{Characters, Lexicon, Matrix, map};
pub use pack::{PACK_NAME, PACK_SHA256, PackError, unpack};

/// A dictionary, open.
pub struct Korean {
    known: Lexicon,
    unknown: Lexicon,
    matrix: Matrix,
    characters: Characters,
    /// What a part of this kind costs more behind a space: a particle has none before it.
    space_costs: Vec<(u16, i32)>,
    name: String,
}

/// Why a dictionary can't be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "the Korean dictionary in {folder} can't be used: {reason}; `wick dict add ko` puts it there anew"
)]
pub struct KoreanError {
    /// Where it was looked for.
    pub folder: PathBuf,
    /// What was wrong.
    pub reason: String,
}

impl Korean {
    /// Opens the dictionary of a folder.
    pub fn open(folder: &Path) -> Result<Self, KoreanError> {
        let wrong = |reason: String| KoreanError { folder: folder.to_owned(), reason };
        let file =
            |name: &str| map(folder, name).map_err(|error| wrong(format!("{name}: {error}")));
        let damaged = |name: &str| wrong(format!("{name} is damaged"));
        let known = file("sys.dic")?;
        let size = known.len();
        let settings = std::fs::read(folder.join("dicrc")).unwrap_or_default();
        Ok(Self {
            known: Lexicon::of(known).ok_or_else(|| damaged("sys.dic"))?,
            unknown: Lexicon::of(file("unk.dic")?).ok_or_else(|| damaged("unk.dic"))?,
            matrix: Matrix::of(file("matrix.bin")?).ok_or_else(|| damaged("matrix.bin"))?,
            characters: Characters::of(file("char.bin")?).ok_or_else(|| damaged("char.bin"))?,
            space_costs: space_costs(&String::from_utf8_lossy(&settings)),
            name: format!("mecab-ko-dic {size}"),
        })
    }
}

impl Morphemes for Korean {
    fn name(&self) -> &str {
        &self.name
    }

    fn analyse(&self, text: &str) -> Vec<Morpheme> {
        lattice::best_way(self, text)
    }
}

/// `left-space-penalty-factor = 100,3000,120,6000`
fn space_costs(settings: &str) -> Vec<(u16, i32)> {
    let line = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "left-space-penalty-factor").then_some(value)
    });
    let numbers: Vec<i32> =
        line.unwrap_or_default().split(',').filter_map(|one| one.trim().parse().ok()).collect();
    numbers
        .chunks_exact(2)
        .filter_map(|pair| Some((u16::try_from(pair[0]).ok()?, pair[1])))
        .collect()
}
