//! The journal: what must not be forgotten when the process is killed.
//!
//! Each run has one of its own, from before it serves. An entry is one `write` to the end of
//! a file, so it needs no lock and is there once the call has returned, whatever becomes of
//! the process. A crash of the machine may lose it: a journal of another boot counts only if
//! its last entry says that all was in order.
//! Invariant: a journal is read whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{sum_of_note, u32_at, u64_at};

const HEAD_BYTES: usize = 12;

/// What one entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The first one: who writes, by which format, since which start of the machine.
    Opened { format: u32, boot: Vec<u8> },
    /// The last one: all was in order.
    Closed,
    /// These records are dead.
    Dead(Vec<u64>),
    /// So are all older ones of a key with this hash.
    DeadKey { hash: u64, before: u64 },
    /// So are all older ones.
    AllDead { before: u64 },
    /// What whoever uses the tier wants to know after a restart.
    Told(Vec<u8>),
}

impl Said {
    fn to_bytes(&self) -> Vec<u8> {
        let numbers = |kind: u8, numbers: &[u64]| {
            let mut bytes = vec![kind];
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            bytes
        };
        match self {
            Self::Opened { format, boot } => {
                let mut bytes = numbers(0, &[u64::from(*format)]);
                bytes.extend_from_slice(boot);
                bytes
            }
            Self::Closed => vec![1],
            Self::Dead(sequences) => numbers(2, sequences),
            Self::DeadKey { hash, before } => numbers(3, &[*hash, *before]),
            Self::AllDead { before } => numbers(4, &[*before]),
            Self::Told(text) => [&[5], &**text].concat(),
        }
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let numbers = || rest.chunks_exact(8).filter_map(|chunk| u64_at(chunk, 0));
        Some(match (kind, rest.len()) {
            (0, 8..) => Self::Opened {
                format: u32::try_from(u64_at(rest, 0)?).ok()?,
                boot: rest[8..].to_vec(),
            },
            (1, 0) => Self::Closed,
            (2, _) if rest.len().is_multiple_of(8) => Self::Dead(numbers().collect()),
            (3, 16) => Self::DeadKey { hash: u64_at(rest, 0)?, before: u64_at(rest, 8)? },
            (4, 8) => Self::AllDead { before: u64_at(rest, 0)? },
            (5, _) => Self::Told(rest.to_vec()),
            _ => return None,
        })
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    pub(super) path: PathBuf,
    bytes: AtomicU64,
}

impl Journal {
    /// Begins one; there must be none of this name.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, bytes: AtomicU64::new(0) })
    }

    /// Appends an entry; it survives the process once this has returned.
    pub(super) fn say(&self, secret: u64, said: &Said) -> io::Result<()> {
        let text = said.to_bytes();
        let mut entry = Vec::with_capacity(HEAD_BYTES + text.len());
        let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        entry.extend_from_slice(&length.to_le_bytes());
        entry.extend_from_slice(&sum_of_note(secret, &text).to_le_bytes());
        entry.extend_from_slice(&text);
        self.bytes.fetch_add(entry.len() as u64, Ordering::Relaxed);
        // Half an entry is an error of which the caller draws the conclusion.
        match (&self.file).write(&entry)? {
            written if written == entry.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// All entries of a journal; none if any byte of it is not as it was written.
pub(super) fn read(path: &Path, secret: u64) -> io::Result<Option<Vec<Said>>> {
    Ok(entries(&std::fs::read(path)?, secret))
}

fn entries(mut bytes: &[u8], secret: u64) -> Option<Vec<Said>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let length = u32_at(bytes, 0)? as usize;
        let sum = u64_at(bytes, 4)?;
        let text = bytes.get(HEAD_BYTES..)?.get(..length)?;
        (sum == sum_of_note(secret, text)).then_some(())?;
        entries.push(Said::of_bytes(text)?);
        bytes = &bytes[HEAD_BYTES + length..];
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let journal = Journal::create(path.clone()).expect("a new file");
        let said = [
            Said::Opened { format: 1, boot: b"boot".to_vec() },
            Said::Told(b"a purge".to_vec()),
            Said::Dead(vec![1, 2, 3]),
            Said::DeadKey { hash: 5, before: 6 },
            Said::AllDead { before: 9 },
            Said::Told(Vec::new()),
            Said::Closed,
        ];
        said.iter().for_each(|said| journal.say(7, said).expect("there is room"));
        assert_eq!(read(&path, 7).expect("it can be read"), Some(said.to_vec()));
        assert_eq!(read(&path, 8).expect("it can be read"), None, "another secret");
        let bytes = std::fs::read(&path).expect("it can be read");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert_eq!(entries(&damaged, 7), None, "byte {at}");
            let cut = entries(&bytes[..at], 7);
            assert!(cut.is_none_or(|cut| said.starts_with(&cut)), "cut at {at}");
        }
    }
}
