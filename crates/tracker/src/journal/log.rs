//! The journal: one write for all that was announced in a turn.
//!
//! Entries gather in a buffer while shards are locked, so those of one shard stay in order.
//! [`Journal::flush`] writes them before the turn's answers leave. Who flushes while another
//! does waits for it, and by then their own entries are written as well.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::codec::{Bytes, put_entry, take_entry};
use super::files;
use super::frame::{self, Frames, Kind};
use crate::ledger::Entry;
use crate::rights::{TorrentId, UserId};

/// Bytes in the buffer at which an announce doesn't wait for the turn's end.
const BUFFER_BYTES: usize = 1 << 20;
/// What a disk that can't be written costs of memory, before entries are dropped.
const BUFFER_BYTES_MAX: usize = 32 << 20;

/// The log.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    buffer: Mutex<Vec<u8>>,
    file: Mutex<(File, Vec<u8>)>,
    pub(crate) generation: AtomicU64,
    /// Bytes in this file.
    pub(crate) bytes: AtomicU64,
    /// Entries that found no room because the disk can't be written.
    pub(crate) dropped: AtomicU64,
    has_failed: AtomicBool,
    /// Bytes that the last flush could not write.
    stuck: AtomicUsize,
}

impl Journal {
    pub(crate) fn create(folder: &Path, generation: u64) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            buffer: Mutex::default(),
            file: Mutex::new((create(&files::journal(folder, generation))?, Vec::new())),
            generation: AtomicU64::new(generation),
            bytes: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            stuck: AtomicUsize::new(0),
        })
    }

    /// Adds an entry, which has this number in its shard. To be called while that is locked.
    /// True if somebody should flush although the turn isn't over.
    pub(crate) fn append(&self, shard: usize, sequence: u64, entry: &Entry) -> bool {
        let mut buffer = self.buffer.lock();
        if buffer.len() + self.stuck.load(Relaxed) > BUFFER_BYTES_MAX {
            self.dropped.fetch_add(1, Relaxed);
            return false;
        }
        put(&mut buffer, shard, sequence, entry);
        buffer.len() > BUFFER_BYTES && !self.has_failed.load(Relaxed)
    }

    /// All that was added before this call is in the kernel when it returns.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut file = self.file.lock();
        self.flush_into(&mut file)
    }

    /// The same, on the disk itself. Nobody who flushes waits for it.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut file = self.file.lock();
        self.flush_into(&mut file)?;
        let same = file.0.try_clone()?;
        drop(file);
        same.sync_data()
    }

    fn flush_into(&self, (file, spare): &mut (File, Vec<u8>)) -> io::Result<()> {
        // What a write left over stands before what came since.
        let mut buffer = self.buffer.lock();
        if spare.is_empty() {
            std::mem::swap(&mut *buffer, spare);
        } else {
            spare.append(&mut buffer);
        }
        drop(buffer);
        let mut written = 0;
        let result = write_all(file, spare, &mut written);
        self.bytes.fetch_add(written as u64, Relaxed);
        spare.drain(..written);
        self.stuck.store(spare.len(), Relaxed);
        self.has_failed.store(result.is_err(), Relaxed);
        if spare.capacity() > 2 * BUFFER_BYTES {
            spare.shrink_to(BUFFER_BYTES);
        }
        result
    }

    /// Goes on in a new file, and says its number.
    pub(crate) fn rotate(&self) -> io::Result<u64> {
        let mut file = self.file.lock();
        self.flush_into(&mut file)?;
        let generation = self.generation.load(Relaxed) + 1;
        file.0 = create(&files::journal(&self.folder, generation))?;
        self.generation.store(generation, Relaxed);
        self.bytes.store(0, Relaxed);
        Ok(generation)
    }
}

fn write_all(file: &mut File, bytes: &[u8], written: &mut usize) -> io::Result<()> {
    while *written < bytes.len() {
        match file.write(&bytes[*written..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Appends an entry as a record.
pub(crate) fn put(out: &mut Vec<u8>, shard: usize, sequence: u64, entry: &Entry) {
    frame::put(out, Kind::Entry, |out| {
        out.push(shard as u8);
        out.extend_from_slice(&sequence.to_le_bytes());
        put_entry(out, entry);
    });
}

/// A file that only its owner reads.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// An entry as it is in a record, with its shard and its number there.
pub(crate) fn read(body: &[u8]) -> Option<(u8, u64, Entry)> {
    let mut bytes = Bytes(body);
    Some((bytes.u8()?, bytes.u64()?, take_entry(&mut bytes)?))
}

/// The last entries of a user at a torrent, oldest first.
pub(crate) fn explain(
    folder: &Path,
    user: UserId,
    torrent: TorrentId,
    entries_max: usize,
) -> io::Result<Vec<Entry>> {
    let mut found = std::collections::VecDeque::new();
    for generation in files::numbers(folder, "journal-")? {
        let file = match File::open(files::journal(folder, generation)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let mut frames = Frames::new(file);
        while let Some((kind, body)) = frames.next()? {
            let entry = (kind == Kind::Entry).then(|| read(body)).flatten();
            let Some((_, _, entry)) = entry else { continue };
            if entry.session.user == user.0 && entry.torrent == torrent {
                if found.len() == entries_max {
                    found.pop_front();
                }
                found.push_back(entry);
            }
        }
    }
    Ok(found.into())
}
