//! The dictionaries as they come: packages of Python's, of which a few files and the licence are
//! wanted.
//!
//! Invariant: nothing is unpacked of an archive whose sum isn't the pinned one.

mod archive;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::chinese::{Chinese, WORDS};

const PACK_BYTES_MAX: u64 = 64 << 20;
const FILE_BYTES_MAX: u64 = 128 << 20;

/// A language's dictionary, as packages have it.
#[derive(Debug)]
pub struct Pack {
    /// The language's code.
    pub code: &'static str,
    /// What it is called.
    pub language: &'static str,
    /// The package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The file of it that is unpacked.
    pub file: &'static str,
    /// Its SHA-256.
    pub sha256: &'static str,
    /// What becomes better by it.
    pub gain: &'static str,
    /// Which files of it are kept, by the ends of their paths.
    wanted: &'static [&'static str],
    /// The licence, where the package only names it.
    licence: Option<&'static str>,
}

/// All that there are.
pub const PACKS: &[Pack] = &[
    Pack {
        code: "ko",
        language: "Korean",
        package: "python-mecab-ko-dic",
        version: "2.1.1.post2",
        file: "python_mecab_ko_dic-2.1.1.post2-py3-none-any.whl",
        sha256: "ef8f4e80c8976f1340a7264abb0c96f384fe059fd897584aeba0151753c6ae9b",
        gain: "Korean is searched by morphemes",
        wanted: &["/sys.dic", "/unk.dic", "/matrix.bin", "/char.bin", "/dicrc", "/LICENSE"],
        licence: None,
    },
    Pack {
        code: "ja",
        language: "Japanese",
        package: "ipadic",
        version: "1.0.0",
        file: "ipadic-1.0.0.tar.gz",
        sha256: "f5923d31eca6131acaaf18ed28d8998665b1347b640d3a6476f64650e9a71c07",
        gain: "Japanese words are found in all their forms",
        wanted: &["/sys.dic", "/unk.dic", "/matrix.bin", "/char.bin", "/dicdir/COPYING"],
        licence: None,
    },
    Pack {
        code: "zh",
        language: "Chinese",
        package: "jieba",
        version: "0.42.1",
        file: "jieba-0.42.1.tar.gz",
        sha256: "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2",
        gain: "Chinese is searched by words",
        wanted: &["/jieba/dict.txt"],
        licence: Some(include_str!("jieba.txt")),
    },
];

/// Why a pack can't be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file can't be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// It isn't the file that is wanted.
    #[error("{0} isn't {file} with the sum {sum}; fetch it again", file = .1.file, sum = .1.sha256)]
    Other(PathBuf, &'static Pack),
}

impl Pack {
    /// That of a language.
    #[must_use]
    pub fn of(code: &str) -> Option<&'static Self> {
        PACKS.iter().find(|pack| pack.code == code)
    }

    /// Unpacks the dictionary into a folder, which is made.
    pub fn unpack(&'static self, package: &Path, folder: &Path) -> Result<(), PackError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| PackError::File(path, error)
        };
        let mut bytes = Vec::new();
        let file = fs::File::open(package).map_err(at(package))?;
        file.take(PACK_BYTES_MAX).read_to_end(&mut bytes).map_err(at(package))?;
        let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if sum != self.sha256 {
            return Err(PackError::Other(package.to_owned(), self));
        }
        // Beside the folder first: one that is half there would be taken for a dictionary.
        let fresh = folder.with_extension("new");
        fs::create_dir_all(&fresh).map_err(at(&fresh))?;
        let is_wanted = |name: &str| self.wanted.iter().any(|end| name.ends_with(end));
        let files = archive::files(&bytes, is_wanted, FILE_BYTES_MAX).map_err(at(package))?;
        for (name, data) in files {
            let name = name.rsplit('/').next().unwrap_or_default();
            let (name, data) = match name {
                // Of a list that is read from its beginning one that is looked into where it lies.
                "dict.txt" => (WORDS, Chinese::file_of(&String::from_utf8_lossy(&data))),
                name => (name, data),
            };
            let path = fresh.join(name);
            fs::write(&path, data).map_err(at(&path))?;
        }
        if let Some(licence) = self.licence {
            let path = fresh.join("LICENSE");
            fs::write(&path, licence).map_err(at(&path))?;
        }
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(at(folder))?;
        }
        fs::rename(&fresh, folder).map_err(at(folder))
    }
}
