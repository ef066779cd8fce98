//! Batches: what was earned, numbered, on its way into the site's database.
//!
//! Invariants: 1. a batch never changes once it was taken, and is handed out until it was
//! written. 2. numbers go up by one. 3. where there is a state folder, a batch is in it before
//! it is handed out, and so is every announce that it rests on: whoever dies then, the same
//! batch is found again. 4. of batches that wait, one is in memory; the others on disk.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use base::complaint::complain;
use parking_lot::Mutex;

use crate::credit::Batch;
use crate::journal::spool::{Sealed, Spool};
use crate::rules::Mode;
use crate::tracker::{SHARDS, Tracker, add_difference};

/// Credits in a batch, about: a batch is of whole shards.
const CREDITS: usize = 2048;
/// No turn takes so long: what is announced at a moment is in its shard by then.
const TURN_SECONDS: u32 = 10;

/// Batches that were not written yet.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    books: Mutex<Books>,
    /// Whether the folder of batches failed when it was last needed.
    has_failed: AtomicBool,
}

#[derive(Debug)]
struct Books {
    waiting: VecDeque<Waiting>,
    /// The last number given out.
    last: u64,
    /// Which shard has its turn next.
    cursor: usize,
    sealed: Sealed,
    spool: Option<Spool>,
    /// When the round began that is under way: unix seconds.
    began: u32,
    /// Up to which moment all that was announced is in batches that are written.
    told: u32,
    /// The newest batch that the database has; its file tells up to where batches were made.
    kept: Option<u64>,
}

impl Default for Books {
    fn default() -> Self {
        let waiting = VecDeque::new();
        let sealed = [0; SHARDS];
        Self { waiting, last: 0, cursor: 0, sealed, spool: None, began: 0, told: 0, kept: None }
    }
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    /// None if it is on disk alone.
    batch: Option<Arc<Batch>>,
    is_on_disk: bool,
}

impl Batches {
    /// Those that a folder has, and up to where they go.
    pub(crate) fn open(spool: Spool) -> io::Result<(Self, Sealed, u64)> {
        let numbers = spool.numbers()?;
        let (sealed, damaged) = match numbers.last() {
            Some(newest) => spool.read(*newest).map(|(_, sealed, damaged)| (sealed, damaged))?,
            None => ([0; SHARDS], 0),
        };
        let waiting = |number: &u64| Waiting { number: *number, batch: None, is_on_disk: true };
        let books = Books {
            waiting: numbers.iter().map(waiting).collect(),
            last: numbers.last().copied().unwrap_or(0),
            sealed,
            spool: Some(spool),
            ..Books::default()
        };
        let batches = Self { books: Mutex::new(books), has_failed: AtomicBool::new(false) };
        Ok((batches, sealed, damaged))
    }

    pub(crate) fn resume(&self, last_in_database: u64) {
        let mut books = self.books.lock();
        books.forget(last_in_database);
        books.last = books.last.max(last_in_database);
    }

    pub(crate) fn written(&self, number: u64) {
        self.books.lock().forget(number);
    }

    /// The last number given out.
    pub(crate) fn last(&self) -> u64 {
        self.books.lock().last
    }

    /// Up to which moment all that was announced is in batches that are written.
    pub(crate) fn told(&self) -> u32 {
        self.books.lock().told
    }

    pub(crate) fn behind(&self) -> usize {
        self.books.lock().waiting.len()
    }

    fn note(&self, result: &io::Result<()>) {
        let had_failed = self.has_failed.swap(result.is_err(), Relaxed);
        if let Err(error) = result
            && !had_failed
        {
            complain(format_args!(
                "tracker: the folder of batches fails ({error}); credits wait in memory until \
                 it can be written"
            ));
        }
    }
}

impl Books {
    fn forget(&mut self, up_to: u64) {
        while self.waiting.front().is_some_and(|front| front.number <= up_to) {
            let Some(gone) = self.waiting.pop_front() else { return };
            let Some(spool) = &self.spool else { continue };
            if let Some(kept) = self.kept.replace(gone.number) {
                spool.remove(kept);
            }
        }
    }
}

impl Tracker {
    /// The next batch: the same again until it was written. None when all shards had their
    /// turn; then is the time to pause.
    #[must_use]
    pub fn take_batch(&self, now: base::Now) -> Option<Arc<Batch>> {
        let mut books = self.batches.books.lock();
        if books.waiting.is_empty() && !self.seal(&mut books, now) {
            books.told = books.told.max(books.began);
            return None;
        }
        let result = self.to_disk(&mut books);
        self.batches.note(&result);
        let Books { waiting, spool, .. } = &mut *books;
        let front = waiting.front_mut()?;
        if spool.is_some() && !front.is_on_disk {
            return None;
        }
        if front.batch.is_none() {
            let result = spool.as_ref()?.read(front.number);
            let (batch, _, damaged) =
                result.inspect_err(|error| self.batches.note(&Err(error.kind().into()))).ok()?;
            if damaged > 0 {
                let number = front.number;
                complain(format_args!(
                    "tracker: batch {number} is damaged on disk; some of its credits are lost"
                ));
            }
            front.batch = Some(batch.into());
        }
        front.batch.clone()
    }

    /// Makes batches of what is too much to keep in memory.
    pub(crate) fn relieve(&self, now: base::Now) {
        let max = self.rules.load().pending_max as usize;
        if self.pending.load(Relaxed) <= max {
            return;
        }
        let mut books = self.batches.books.lock();
        if books.spool.is_none() {
            return;
        }
        while self.pending.load(Relaxed) > max / 2
            && books.waiting.back().is_none_or(|last| last.is_on_disk)
        {
            self.seal(&mut books, now);
            let result = self.to_disk(&mut books);
            self.batches.note(&result);
            // It is read again when its turn comes.
            if let Some(last) = books.waiting.back_mut().filter(|last| last.is_on_disk) {
                last.batch = None;
            }
        }
    }

    /// Makes batches of all there is, and writes them into the folder.
    pub(crate) fn seal_all(&self, now: base::Now) -> io::Result<()> {
        let mut books = self.batches.books.lock();
        while self.seal(&mut books, now) {
            self.to_disk(&mut books)?;
            // It is read again when its turn comes.
            if let Some(last) = books.waiting.back_mut() {
                last.batch = None;
            }
        }
        Ok(())
    }

    /// All batches that were made are on disk when this returns. A checkpoint that was written
    /// without their credits is worth nothing before.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.to_disk(&mut self.batches.books.lock())
    }

    /// Makes one batch of whole shards, from the cursor on. False when the round is over.
    fn seal(&self, books: &mut Books, now: base::Now) -> bool {
        let is_private = self.rules.load().mode == Mode::Private;
        if books.cursor == 0 {
            let at = u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX);
            books.began = at.saturating_sub(TURN_SECONDS);
        }
        let room = self.pending.load(Relaxed).min(CREDITS + CREDITS / 8);
        let mut batch = Batch { credits: Vec::with_capacity(room), ..Batch::default() };
        while books.cursor < SHARDS && batch.credits.len().max(batch.points.len()) < CREDITS {
            let mut shard = self.shards[books.cursor].lock();
            let count = shard.pending.drain(&mut batch);
            add_difference(&self.pending, count, 0);
            if is_private {
                shard.torrents.take_standings(&mut batch.torrents);
            } else {
                shard.torrents.rows.iter_mut().for_each(|row| row.is_dirty = false);
            }
            books.sealed[books.cursor] = shard.sequence;
            books.cursor += 1;
        }
        let is_empty = batch.credits.is_empty() && batch.points.is_empty();
        if books.cursor == SHARDS && is_empty && batch.torrents.is_empty() {
            books.cursor = 0;
            return false;
        }
        batch.credits.sort_unstable_by_key(|credit| (credit.user, credit.torrent));
        batch.torrents.sort_unstable_by_key(|standing| standing.torrent);
        books.last += 1;
        batch.number = books.last;
        let number = batch.number;
        books.waiting.push_back(Waiting { number, batch: Some(batch.into()), is_on_disk: false });
        true
    }

    /// What is not on disk yet goes there, after all that it rests on.
    fn to_disk(&self, books: &mut Books) -> io::Result<()> {
        let Books { waiting, spool, sealed, .. } = books;
        let Some(spool) = spool else { return Ok(()) };
        for waiting in waiting.iter_mut().filter(|waiting| !waiting.is_on_disk) {
            self.sync_journal()?;
            if let Some(batch) = &waiting.batch {
                spool.write(batch, sealed)?;
                waiting.is_on_disk = true;
            }
        }
        Ok(())
    }
}
