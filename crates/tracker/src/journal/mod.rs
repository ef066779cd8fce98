//! What a restart finds: an append-only log of announces, checkpoints of all of memory, and
//! batches on their way.
//!
//! ```text
//! FOLDER/journal-00000007          entries since checkpoint 7 began
//! FOLDER/checkpoint-00000007/      shard-00 … shard-63, users
//! FOLDER/batches/00000000000000000012
//! ```
//!
//! Invariants: 1. what an answer rests on is in the kernel before the answer leaves, so that
//! the death of the process loses nothing ([`log`]). 2. entries are numbered by shard. A
//! shard's credits in a checkpoint, and those in a batch, are all up to one number; an entry
//! past both is owed, any other is not. So each counts once, wherever the process died.
//! 3. sessions are absolute: an entry that is read twice says the same. 4. every record has a
//! checksum; a damaged one is left out and counted, and those behind it are read.

pub(crate) mod checkpoint;
pub(crate) mod codec;
pub(crate) mod files;
pub(crate) mod frame;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod spool;

use crate::ledger::Entry;

pub use load::Loaded;

/// The entries of a journal and how many of its bytes are damaged, for who reads one by hand.
#[must_use]
pub fn entries(bytes: &[u8]) -> (Vec<Entry>, u64) {
    let mut frames = frame::Frames::new(bytes);
    let mut entries = Vec::new();
    // Bytes in memory can always be read.
    while let Ok(Some((kind, body))) = frames.next() {
        if kind == frame::Kind::Entry {
            entries.extend(log::read(body).map(|(_, _, entry)| entry));
        }
    }
    (entries, frames.damaged_bytes)
}

/// A journal of these entries.
#[must_use]
pub fn written(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (sequence, entry) in (1_u64..).zip(entries) {
        log::put(&mut bytes, crate::tracker::shard_of(&entry.info_hash), sequence, entry);
    }
    bytes
}
