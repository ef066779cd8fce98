//! The disk tier: what was stored outlives the process, and more of it has room.
//!
//! ```text
//! put → queue → writer → segment (records, at its end a footer) … the oldest goes when all is full
//! look-up → index (memory) → one read → verified
//! ```
//! Nothing here knows what a page is: a record is a key, some numbers and bytes.
//! Invariants: 1. a record that was removed before [`Disk::remove`] or [`Disk::told`] returned
//! stays removed, also when the process is killed just then. 2. what is read is what was
//! written: every record bears a checksum. 3. nothing waits for the disk but who reads, and
//! the one short write of a removal. 4. whatever fails, the tier ends and takes what it kept
//! with it; nothing else does. 5. two processes never write one folder's segments.
//! Bounds: [`QUEUE_MAX`] records that wait, and [`QUEUE_BYTES_MAX`]; the index's bytes; the
//! folder's bytes; [`JOURNAL_BYTES_MAX`].
//! Why it is so: docs/decisions/disk-tier.md. Start at [`Disk::begin`].

mod blocks;
mod folder;
mod index;
mod journal;
mod record;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender, SyncSender};

use base::Counter;
use parking_lot::{Mutex, RwLock};

pub use self::blocks::{BLOCK_BYTES, Blocks, write_blocks};
pub use self::index::Place;
use self::index::{Index, PENDING, entries_max};
use self::journal::{Journal, Said};
pub use self::record::{
    Entry, Record, footer_bytes, read_footer, read_record, scan, write_footer, write_record,
};
use self::writer::{Message, Writer};

/// Records that wait to be written, and what they may weigh together.
const QUEUE_MAX: usize = 1024;
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// A journal that is longer is begun anew; all that lies on the disk then is dead after the
/// next start.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;
/// Keys of which all is dead that a run notes before it has the folder for itself.
const DEAD_KEYS_MAX: usize = 1 << 16;
/// Segments that the folder has room for, and how large each is.
const SEGMENTS: u64 = 64;
const SEGMENT_BYTES_MIN: u64 = 256 << 10;
const SEGMENT_BYTES_MAX: u64 = 32 << 20;
/// Look-ups under one lock.
const LOOKS_AT_ONCE: usize = 64;
/// A record is at most this part of the folder.
const LARGEST_PART: u64 = 8;

/// What a tier is made of.
pub struct DiskOptions<'a> {
    /// Its folder; nothing else lies in it.
    pub folder: PathBuf,
    /// What the folder may take.
    pub size_bytes: u64,
    /// What the index of it may take of memory.
    pub index_bytes_max: usize,
    /// What tells this start of the machine from any other; see [`boot`].
    pub boot: Vec<u8>,
    /// Seconds since 1970.
    pub unix_seconds: u64,
    /// Told once if the tier ends before it should.
    pub complain: Box<dyn Fn(&str) + Send + Sync>,
    /// Given the folder's secret, if it has one, the secret that it shall have; with another one
    /// nothing that lies there is believed.
    pub secret: &'a dyn Fn(Option<u64>) -> u64,
}

/// What tells this start of the machine from any other; where nothing does, no two are alike.
#[must_use]
pub fn boot() -> Vec<u8> {
    use std::hash::{BuildHasher, RandomState};
    let told = std::fs::read("/proc/sys/kernel/random/boot_id").ok();
    told.unwrap_or_else(|| RandomState::new().hash_one("boot").to_le_bytes().to_vec())
}

/// The disk tier. Clones are the same one.
#[derive(Clone)]
pub struct Disk {
    inner: Arc<Inner>,
}

/// Appends what a record holds.
pub type Write = Box<dyn FnOnce(&mut Vec<u8>) + Send>;

/// A record to be written.
pub struct Put {
    /// Its number, from [`Disk::next_sequence`].
    pub sequence: u64,
    /// The hash of its key.
    pub hash: u64,
    /// Its key.
    pub key: Box<[u8]>,
    /// See [`Entry::floor`].
    pub floor: u64,
    /// See [`Entry::fingerprint`].
    pub fingerprint: u32,
    /// What it keeps in memory until it is written, about; 0 where that is bounded elsewhere.
    pub bytes: usize,
    /// Whether it is a piece of something large. These have segments of their own, so that they
    /// and all others give way to each other only where one kind has more than half the folder.
    pub is_bulk: bool,
    /// Dropped when it can be read, or never will be.
    pub done: Option<Sender<Infallible>>,
    /// Appends what is stored; on the writer's thread.
    pub write: Write,
}

/// What earlier runs left behind, once this one has the folder for itself.
pub struct Past {
    /// What they told by [`Disk::told`], the oldest first.
    pub told: Vec<Vec<u8>>,
    /// The lowest [`Entry::floor`] of the records that are left.
    pub floor: u64,
    /// The records that are left, without pieces of something large.
    pub records: usize,
    /// The bytes of their segments.
    pub bytes: u64,
    /// Why there are none though there were.
    pub emptied: Option<&'static str>,
    loaded: folder::Loaded,
    lock: File,
}

/// How often something happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Records that were written.
    pub written: u64,
    /// Records that were read and found whole.
    pub read: u64,
    /// Records that were not as they had been written.
    pub damaged: u64,
    /// Records that were not written because too many waited, or had no room.
    pub dropped: u64,
    /// Records that went with the oldest segments.
    pub evicted: u64,
    /// Pieces of something large that stayed when their segment went, as they had been asked
    /// for again.
    pub carried: u64,
    /// 1 once the tier has ended because of an error.
    pub failed: u64,
}

#[derive(Default)]
struct Counters {
    written: Counter,
    read: Counter,
    damaged: Counter,
    dropped: Counter,
    evicted: Counter,
    carried: Counter,
    failed: Counter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Another process may still have the folder.
    #[default]
    Waiting,
    Open,
    Ended,
}

#[derive(Default)]
struct Shelf {
    state: State,
    index: Index,
    /// Bytes of each segment, the open one's included.
    segments: BTreeMap<u32, u64>,
    /// While it waits: keys of which all older records are dead.
    dead_keys: HashSet<u64>,
    all_dead: bool,
    lock: Option<File>,
}

impl Shelf {
    /// It isn't known yet what lies there: all of the key that comes from earlier runs is dead.
    fn note_dead_key(&mut self, hash: u64, run: u64) -> Option<Said> {
        if self.all_dead || !self.dead_keys.insert(hash) {
            return None;
        }
        if self.dead_keys.len() > DEAD_KEYS_MAX {
            self.all_dead = true;
            return Some(Said::AllDead { before: run });
        }
        Some(Said::DeadKey { hash, before: run })
    }
}

struct Inner {
    folder: PathBuf,
    secret: u64,
    run: u64,
    boot: Vec<u8>,
    size_bytes: u64,
    segment_bytes: u64,
    entries_max: usize,
    journal: RwLock<Arc<Journal>>,
    /// How often the journal was begun anew.
    parts: AtomicU64,
    is_rolling: AtomicBool,
    shelf: Mutex<Shelf>,
    sequence: AtomicU64,
    /// Records with lower numbers are not there any more.
    oldest: AtomicU64,
    sender: SyncSender<Message>,
    waiting_bytes: AtomicUsize,
    counters: Counters,
    complain: Box<dyn Fn(&str) + Send + Sync>,
}

impl Disk {
    /// Prepares the folder and begins this run's journal. Nothing is found before
    /// [`Disk::open`] and [`Disk::settle`].
    ///
    /// # Errors
    /// The folder can't be made, read or written.
    pub fn begin(options: DiskOptions<'_>) -> io::Result<Self> {
        let DiskOptions { folder, size_bytes, index_bytes_max, boot, unix_seconds, .. } = options;
        let complain = options.complain;
        folder::prepare(&folder)?;
        let secret = folder::secret(&folder, options.secret)?;
        let run = folder::run_number(&folder, unix_seconds)?;
        let journal = Journal::create(folder::journal_path(&folder, run, 0))?;
        journal.say(secret, &Said::Opened { format: folder::FORMAT, boot: boot.clone() })?;
        let (sender, messages) = mpsc::sync_channel(QUEUE_MAX);
        let segment_bytes = (size_bytes / SEGMENTS).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
        let inner = Arc::new(Inner {
            folder,
            secret,
            run,
            boot,
            size_bytes,
            segment_bytes,
            entries_max: entries_max(index_bytes_max),
            journal: RwLock::new(Arc::new(journal)),
            parts: AtomicU64::new(0),
            is_rolling: AtomicBool::new(false),
            shelf: Mutex::default(),
            sequence: AtomicU64::new(run + 1),
            oldest: AtomicU64::new(0),
            sender,
            waiting_bytes: AtomicUsize::new(0),
            counters: Counters::default(),
            complain,
        });
        let writer = Writer::new(Arc::downgrade(&inner), messages);
        std::thread::Builder::new().name("disk".into()).spawn(move || writer.work())?;
        Ok(Self { inner })
    }

    /// The folder's secret: the same after every restart, and nobody else's.
    #[must_use]
    pub fn secret(&self) -> u64 {
        self.inner.secret
    }

    /// The number from which this run counts: above all that earlier ones counted.
    #[must_use]
    pub fn run(&self) -> u64 {
        self.inner.run
    }

    /// Has the folder for this process alone and reads what is in it; none while another has
    /// it. It may take seconds, and is done with by [`Disk::settle`].
    ///
    /// # Errors
    /// The folder can't be read; the tier has ended then.
    pub fn open(&self) -> io::Result<Option<Past>> {
        let inner = &self.inner;
        let opened = folder::lock(&inner.folder).and_then(|lock| {
            let Some(lock) = lock else { return Ok(None) };
            let (folder, secret, run) = (&inner.folder, inner.secret, inner.run);
            let mut loaded = folder::load(folder, secret, run, &inner.boot, inner.entries_max)?;
            let told = std::mem::take(&mut loaded.told);
            let (floor, emptied, records) = (loaded.floor, loaded.emptied, loaded.records);
            let bytes = loaded.segments.values().sum();
            Ok(Some(Past { told, floor, records, bytes, emptied, loaded, lock }))
        });
        opened.inspect_err(|error| inner.fail(&error.to_string()))
    }

    /// What was found may be used from now on. What of the past is to be remembered must have
    /// been told again, as the journals of earlier runs go here.
    pub fn settle(&self, past: Past) {
        let inner = &self.inner;
        let Past { mut loaded, lock, .. } = past;
        if !loaded.dead.is_empty() {
            inner.say(&Said::Dead(std::mem::take(&mut loaded.dead)));
        }
        if loaded.all_dead > 0 {
            inner.say(&Said::AllDead { before: loaded.all_dead });
        }
        let journals = std::mem::take(&mut loaded.journals);
        let mut shelf = inner.shelf.lock();
        if shelf.state != State::Waiting {
            return;
        }
        let (dead_keys, all_dead) = (std::mem::take(&mut shelf.dead_keys), shelf.all_dead);
        // The keys are told in this run's own journal, which stays.
        loaded.index.retain(|place| !all_dead && !dead_keys.contains(&place.hash));
        (shelf.index, shelf.segments) = (loaded.index, loaded.segments);
        (shelf.state, shelf.lock) = (State::Open, Some(lock));
        drop(shelf);
        // All that they say is in this run's by now.
        for path in &journals {
            if let Err(error) = std::fs::remove_file(path) {
                return inner.fail(&error.to_string());
            }
        }
        // Whoever was killed may have left more than there is room for.
        let _ = inner.sender.try_send(Message::MakeRoom);
    }

    /// Whether anything lies there under a key with this hash.
    #[must_use]
    pub fn holds(&self, hash: u64) -> bool {
        self.inner.shelf.lock().index.holds(hash)
    }

    /// Whether something lies there, written, under each of the keys with these hashes.
    #[must_use]
    pub fn holds_all(&self, hashes: impl Iterator<Item = u64>) -> bool {
        let mut hashes = hashes.peekable();
        while hashes.peek().is_some() {
            // Not all under one lock, as there may be very many.
            let shelf = self.inner.shelf.lock();
            for hash in hashes.by_ref().take(LOOKS_AT_ONCE) {
                if !shelf.index.places(hash).any(Place::is_written) {
                    return false;
                }
            }
        }
        true
    }

    /// What the folder may take.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.size_bytes
    }

    /// Everything that lies there under keys with this hash, the newest last.
    #[must_use]
    pub fn places(&self, hash: u64) -> Vec<Place> {
        let mut places: Vec<_> = self.inner.shelf.lock().index.places(hash).copied().collect();
        places.sort_unstable_by_key(|place| place.sequence);
        places
    }

    /// A record's bytes, for [`read_record`]; none if they are damaged or gone. Waits for the
    /// disk.
    #[must_use]
    pub fn read(&self, place: &Place) -> Option<Vec<u8>> {
        let inner = &self.inner;
        let path = folder::segment_path(&inner.folder, place.segment);
        let mut bytes = vec![0; place.bytes()];
        let is_read = File::open(path)
            .and_then(|file| file.read_exact_at(&mut bytes, place.offset.into()))
            .is_ok();
        let is_it = |(record, length): (Record<'_>, usize)| {
            length == bytes.len() && (record.sequence, record.hash) == (place.sequence, place.hash)
        };
        if is_read && read_record(&bytes, inner.secret).is_some_and(is_it) {
            inner.counters.read.bump();
            return Some(bytes);
        }
        self.note_damaged(place);
        None
    }

    /// A record is not as it was written; one that went with its segment meanwhile, or lies
    /// elsewhere by now, is not damaged.
    fn note_damaged(&self, place: &Place) {
        let Place { hash, sequence, segment, .. } = *place;
        if self.inner.shelf.lock().index.remove_from(hash, sequence, segment) {
            self.inner.counters.damaged.bump();
        }
    }

    /// A number for a record.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.inner.sequence.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether a record with this number may still be there.
    #[must_use]
    pub fn may_have(&self, sequence: u64) -> bool {
        sequence >= self.inner.oldest.load(Ordering::Relaxed)
    }

    /// Whether one more record would be taken now, as far as can be told without looking closely.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.inner.waiting_bytes.load(Ordering::Relaxed) < QUEUE_BYTES_MAX
    }

    /// Whether this record is there, or waits to be written.
    #[must_use]
    pub fn has(&self, hash: u64, sequence: u64) -> bool {
        let shelf = self.inner.shelf.lock();
        shelf.index.places(hash).any(|place| place.sequence == sequence)
    }

    /// Has a record written behind everybody's back; false if too many wait, or there is no
    /// tier to write to. From now on [`Disk::remove`] removes it.
    pub fn put(&self, put: Put) -> bool {
        let inner = &self.inner;
        let Put { sequence, hash, fingerprint, bytes, .. } = put;
        let waiting = inner.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let place = Place { hash, sequence, segment: PENDING, offset: 0, length: 0, fingerprint };
        let is_taken = waiting.saturating_add(bytes) <= QUEUE_BYTES_MAX.max(bytes) && {
            let mut shelf = inner.shelf.lock();
            let has_room = shelf.state == State::Open && shelf.index.len() < inner.entries_max;
            if has_room {
                shelf.index.insert(place);
            }
            has_room
        };
        if is_taken && inner.sender.try_send(Message::Write(put)).is_ok() {
            return true;
        }
        inner.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        inner.counters.dropped.bump();
        if is_taken {
            inner.shelf.lock().index.remove(hash, sequence);
        }
        false
    }

    /// Removes the records of keys with this hash that are `unwanted`, for good: once this has
    /// returned no process finds them again. Costs nothing where there are none.
    pub fn remove(&self, hash: u64, mut unwanted: impl FnMut(&Place) -> bool) {
        let inner = &self.inner;
        let mut shelf = inner.shelf.lock();
        let said = match shelf.state {
            State::Ended => return,
            State::Open => {
                let all = shelf.index.places(hash);
                let gone: Vec<u64> =
                    all.filter(|place| unwanted(place)).map(|place| place.sequence).collect();
                if gone.is_empty() {
                    return;
                }
                for &sequence in &gone {
                    shelf.index.remove(hash, sequence);
                }
                Said::Dead(gone)
            }
            State::Waiting => match shelf.note_dead_key(hash, inner.run) {
                Some(said) => said,
                None => return,
            },
        };
        drop(shelf);
        inner.say(&said);
    }

    /// Keeps a text for the next run: once this has returned it survives the process.
    pub fn told(&self, text: &[u8]) {
        self.inner.say(&Said::Told(text.to_vec()));
    }

    /// Writes what waits, ends the journal and lets another process have the folder. Waits for
    /// the disk.
    pub fn close(&self) {
        let (done, is_done) = mpsc::channel();
        if self.inner.sender.send(Message::Finish(done)).is_ok() {
            // A thread that has ended drops the sender.
            let _ = is_done.recv();
        }
    }

    /// Whether it can be read from and written to now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.inner.shelf.lock().state == State::Open
    }

    /// The memory that the index takes.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.inner.shelf.lock().index.bytes()
    }

    /// Records that lie there, and the bytes of their segments.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        let shelf = self.inner.shelf.lock();
        (shelf.index.len(), shelf.segments.values().sum())
    }

    /// What happened since the start.
    #[must_use]
    pub fn counts(&self) -> DiskCounts {
        let counters = &self.inner.counters;
        DiskCounts {
            written: counters.written.read(),
            read: counters.read.read(),
            damaged: counters.damaged.read(),
            dropped: counters.dropped.read(),
            evicted: counters.evicted.read(),
            carried: counters.carried.read(),
            failed: counters.failed.read(),
        }
    }
}

impl Inner {
    /// Appends to the journal. If that fails nothing that lies there can be trusted after the
    /// next start, so the tier ends.
    fn say(&self, said: &Said) {
        if self.counters.failed.read() > 0 {
            return;
        }
        let journal = self.journal.read().clone();
        if let Err(error) = journal.say(self.secret, said) {
            return self.fail(&error.to_string());
        }
        if journal.bytes() > JOURNAL_BYTES_MAX && !self.is_rolling.swap(true, Ordering::AcqRel) {
            if let Err(error) = self.begin_anew(&journal) {
                self.fail(&error.to_string());
            }
            self.is_rolling.store(false, Ordering::Release);
        }
    }

    /// Another journal in the place of one that is too long.
    ///
    /// Who took hold of the old one before may still write to it, of what was counted before:
    /// so all records that have a number by then are dead for the next run. Those that come
    /// later are looked at again by whoever puts them, when all may know that they are there.
    fn begin_anew(&self, old: &Journal) -> io::Result<()> {
        let part = self.parts.fetch_add(1, Ordering::Relaxed) + 1;
        let journal = Journal::create(folder::journal_path(&self.folder, self.run, part))?;
        let opened = Said::Opened { format: folder::FORMAT, boot: self.boot.clone() };
        journal.say(self.secret, &opened)?;
        let journal = Arc::new(journal);
        *self.journal.write() = journal.clone();
        let before = self.sequence.load(Ordering::SeqCst);
        journal.say(self.secret, &Said::AllDead { before })?;
        std::fs::remove_file(&old.path)
    }

    /// Ends the tier. The journal goes first, so that nobody trusts what was kept.
    fn fail(&self, why: &str) {
        let mut shelf = self.shelf.lock();
        let was = std::mem::replace(&mut shelf.state, State::Ended);
        let index = std::mem::take(&mut shelf.index);
        drop((shelf, index));
        // What can't be removed now is removed by the next run, or told to be of no use there.
        let _ = std::fs::remove_file(&self.journal.read().path);
        if was == State::Ended && self.counters.failed.read() > 0 {
            return;
        }
        self.counters.failed.bump();
        (self.complain)(&format!(
            "pages are not kept on the disk any more ({why} in {}): see to the disk and restart",
            self.folder.display()
        ));
        let _ = self.sender.try_send(Message::GiveUp);
    }
}
