//! The names of files in the state folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn journal(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("journal-{generation:08}"))
}

pub(crate) fn checkpoint(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("checkpoint-{generation:08}"))
}

/// A checkpoint that is being written.
pub(crate) fn part(folder: &Path) -> PathBuf {
    folder.join("checkpoint.part")
}

pub(crate) fn shard(checkpoint: &Path, shard: usize) -> PathBuf {
    checkpoint.join(format!("shard-{shard:02}"))
}

pub(crate) fn users(checkpoint: &Path) -> PathBuf {
    checkpoint.join("users")
}

/// The numbers of all `PREFIX…` in a folder, in order.
pub(crate) fn numbers(folder: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}
