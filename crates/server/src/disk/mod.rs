//! The disk tier on the road: what is kept there, found again, and told to be gone.
//!
//! ```text
//! hit → kept?  no → put (behind everybody's back)
//! miss → anything there? (memory only) → recall: one read for all who wait → look again
//! written, purged, newer copy stored → removed there before anybody is told
//! ```
//! A page goes there when it was asked for again, at most once in [`REST_SECONDS`] for one
//! key; what lies in memory when Wick stops in good order goes there then.
//! Invariants: 1. a page that is put is looked at again once it can be removed, so that no
//! removal passes between. 2. a page that comes back is stored only if none is there that it
//! would take the place of, and nobody removed it meanwhile. 3. no removal waits for a read.
//! Start at [`note_hit`] and [`recall`]; [`past`] says what of earlier runs still holds.

pub(crate) mod past;
pub(crate) mod record;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::{Counter, Now};
use parking_lot::Mutex;
use store::disk::{Disk, DiskCounts, Place, Put, read_record};
use store::{Flights, Key, Reservation, Role};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::past::Pasts;
use crate::Server;
use crate::journey::Journey;
use crate::page::Page;
use crate::purge::generations::Standing;
use crate::site::Site;
use crate::slices::Slices;
use crate::strangers::welcome;

/// Reads at one time; a disk of flash is about as quick with these as with more.
const READS_MAX: usize = 8;
/// Requests that may wait for a read; others ask the origin.
const WAITING_MAX: usize = 256;
/// Variants of one key that one recall reads, the newest.
const VARIANTS_MAX: usize = 16;
/// So long after a page was put no newer copy of it is: what is made anew all the time would
/// be written all the time.
const REST_SECONDS: u64 = 60;
/// Keys of which that is remembered, about.
const RECENT: usize = 4096;
/// How long a stop may take to write what lies in memory.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
const STOP_STEP: Duration = Duration::from_millis(1);

/// The disk tier of a server.
pub(crate) struct Shelf {
    pub(crate) disk: Disk,
    /// What of it belongs to large bodies.
    pub(crate) slices: Slices,
    is_open: AtomicBool,
    reads: Semaphore,
    waiting: AtomicUsize,
    flights: Flights<()>,
    /// By the hash of its key: its upper half and when it was put, in seconds.
    recent: Box<[AtomicU64]>,
    /// What the index takes of the memory tier's room.
    room: Mutex<Option<Reservation<Page>>>,
    refused: Counter,
}

/// What was found on the disk at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskFound {
    /// Pages that may be used, if their sites still say so.
    pub pages: usize,
    /// Bytes that they lie in.
    pub bytes: u64,
    /// Why there are none though there were.
    pub emptied: Option<&'static str>,
}

impl Shelf {
    pub(crate) fn new(disk: Disk) -> Self {
        Self {
            disk,
            slices: Slices::default(),
            is_open: AtomicBool::new(false),
            reads: Semaphore::new(READS_MAX),
            waiting: AtomicUsize::new(0),
            flights: Flights::default(),
            recent: (0..RECENT).map(|_| AtomicU64::new(0)).collect(),
            room: Mutex::default(),
            refused: Counter::default(),
        }
    }

    /// Whether it can be read and written at this moment.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// A turn to read.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.reads.acquire().await.ok()
    }

    /// Whether a copy of this key's page was put a moment ago.
    fn is_recent(&self, hash: u64, now: Now) -> bool {
        let seen = self.recent[hash as usize % RECENT].load(Ordering::Relaxed);
        seen >> 32 == hash >> 32
            && (now.ticks_ms / 1000).saturating_sub(seen & u64::from(u32::MAX)) < REST_SECONDS
    }

    fn note_recent(&self, hash: u64, now: Now) {
        let seen = (hash >> 32 << 32) | (now.ticks_ms / 1000 + 1).min(u64::from(u32::MAX));
        self.recent[hash as usize % RECENT].store(seen, Ordering::Relaxed);
    }

    /// Sets as much of the memory tier's room aside as the index takes.
    pub(crate) fn weigh(&self, server: &Server) {
        let bytes = self.disk.index_bytes();
        let mut room = self.room.lock();
        let held = room.as_ref().map_or(0, Reservation::bytes);
        match &mut *room {
            Some(room) if bytes < held => room.shrink_to(bytes),
            // Where there is no room the index has its own bound.
            Some(room) if bytes > held => drop(room.grow(bytes - held)),
            Some(_) => {}
            None => *room = server.store.reserve(bytes).ok(),
        }
    }
}

impl Server {
    /// Has the disk's folder for this process, if no other has it, and takes over what of it
    /// still holds. It may take seconds: call it before anybody is served, or apart.
    pub fn open_disk(&self) -> Option<DiskFound> {
        let shelf = self.shelf.as_ref()?;
        let past = match shelf.disk.open() {
            Ok(past) => past?,
            // It has said so.
            Err(_) => return Some(DiskFound::default()),
        };
        let mut pasts = Pasts::of(&past.told, shelf.disk.run());
        pasts.prune(past.floor);
        // First remembered, then used: who is killed in between finds both again.
        pasts.tell(&shelf.disk);
        for site in self.sites().each() {
            site.adopt_past(&mut pasts);
        }
        let (pages, bytes, emptied) = (past.records, past.bytes, past.emptied);
        shelf.disk.settle(past);
        shelf.weigh(self);
        shelf.is_open.store(shelf.disk.is_open(), Ordering::Release);
        Some(DiskFound { pages, bytes, emptied })
    }

    /// Writes what lies in memory and is not on the disk yet, as far as that goes within a few
    /// seconds, and lets another process have the folder. Nobody may be served any more.
    pub fn close_disk(&self) {
        let Some(shelf) = &self.shelf else { return };
        let until = Instant::now() + STOP_PATIENCE;
        let now = self.clock.now();
        let sites = self.sites();
        self.store.for_each(|hash, text, page| {
            let key = Key { hash, text };
            let site = past::host_of_key(text).and_then(|host| sites.find(host));
            let Some(site) = site.filter(|_| shelf.is_open.load(Ordering::Relaxed)) else { return };
            if is_there(shelf, page) || !is_of_use(page, now) {
                return;
            }
            while !shelf.disk.has_room() && Instant::now() < until {
                std::thread::sleep(STOP_STEP);
            }
            put(self, shelf, site, &key, page, now);
        });
        shelf.is_open.store(false, Ordering::Release);
        shelf.disk.close();
    }

    /// What the disk tier did since the start; none if there is none.
    #[must_use]
    pub fn disk_counts(&self) -> Option<DiskCounts> {
        self.shelf.as_ref().map(|shelf| shelf.disk.counts())
    }

    /// Pages on the disk, and the bytes that they lie in.
    #[must_use]
    pub fn disk_size(&self) -> (usize, u64) {
        self.shelf.as_ref().map_or((0, 0), |shelf| shelf.disk.size())
    }

    /// Requests that went to the origin because too many waited for the disk.
    #[must_use]
    pub fn disk_reads_refused(&self) -> u64 {
        self.shelf.as_ref().map_or(0, |shelf| shelf.refused.read())
    }

    /// Whether something lies on the disk under a key. Memory only.
    pub(crate) fn is_on_disk(&self, hash: u64) -> bool {
        self.shelf.as_ref().is_some_and(|shelf| shelf.disk.holds(hash))
    }

    /// Removes what is `unwanted` from memory and from the disk; says how many there were in
    /// memory.
    ///
    /// The disk is first, so that who reads it just now sees it; and last, for who puts there
    /// what he found in memory just before.
    pub(crate) fn remove_if(&self, key: &Key<'_>, unwanted: impl FnMut(&Page) -> bool) -> usize {
        let removed = self.remove_untold(key, unwanted);
        self.doubt(key);
        removed
    }

    /// The same where whoever stands beside the site is still to be told.
    pub(crate) fn remove_untold(
        &self,
        key: &Key<'_>,
        unwanted: impl FnMut(&Page) -> bool,
    ) -> usize {
        let Some(shelf) = &self.shelf else { return self.store.remove_if(key, unwanted) };
        shelf.disk.remove(key.hash, |_| true);
        let removed = self.store.remove_if(key, unwanted);
        shelf.disk.remove(key.hash, |_| true);
        removed
    }

    /// A newer page was stored: what it took the place of isn't to come back.
    pub(crate) fn supersede(&self, key: &Key<'_>, page: &Page) {
        let Some(shelf) = &self.shelf else { return };
        if !shelf.is_open.load(Ordering::Acquire) {
            shelf.disk.remove(key.hash, |_| true);
            return;
        }
        let fingerprint = page.fingerprint();
        let mut older = shelf.disk.places(key.hash);
        older.retain(|place| place.fingerprint == fingerprint);
        if older.is_empty() {
            return;
        }
        let alive = in_memory(self, key);
        let is_older = |place: &Place| older.iter().any(|it| it.sequence == place.sequence);
        shelf.disk.remove(key.hash, |place| is_older(place) && !alive.contains(&place.sequence));
    }
}

/// The numbers under which the variants of a key that are in memory lie on the disk.
fn in_memory(server: &Server, key: &Key<'_>) -> Vec<u64> {
    let mut numbers = Vec::new();
    server.store.has(key, |page| {
        numbers.push(page.on_disk.load(Ordering::Acquire));
        false
    });
    numbers
}

fn is_there(shelf: &Shelf, page: &Page) -> bool {
    let sequence = page.on_disk.load(Ordering::Relaxed);
    sequence != 0 && shelf.disk.may_have(sequence)
}

/// Whether a page may still be of use after a restart.
fn is_of_use(page: &Page, now: Now) -> bool {
    page.as_stored().is_some_and(|stored| {
        let terms = &stored.terms;
        let seconds = terms.stale_while_revalidate_seconds.unwrap_or(0);
        let left_ms = policy::ttl_ms(terms, now.ticks_ms) + i64::from(seconds) * 1000;
        !terms.no_cache && (left_ms > 0 || !page.is_for_strangers())
    })
}

/// A page was found in memory: it is worth keeping.
pub(crate) fn note_hit(server: &Server, site: &Site, key: &Key<'_>, page: &Arc<Page>, now: Now) {
    let Some(shelf) = &server.shelf else { return };
    let is_to_be_put = shelf.is_open.load(Ordering::Relaxed)
        && !is_there(shelf, page)
        && !shelf.is_recent(key.hash, now)
        && shelf.disk.has_room();
    if !is_to_be_put {
        return;
    }
    match put(server, shelf, site, key, page, now) {
        true => {
            shelf.note_recent(key.hash, now);
            shelf.weigh(server);
        }
        // Or each hit would try again.
        false => shelf.is_open.store(shelf.disk.is_open(), Ordering::Release),
    }
}

/// Keeps a page that lies in memory, at once.
pub(crate) fn keep(server: &Server, site: &Site, key: &Key<'_>, page: &Arc<Page>, now: Now) {
    if let Some(shelf) = server.slices_shelf() {
        put(server, shelf, site, key, page, now);
    }
}

fn put(
    server: &Server,
    shelf: &Shelf,
    site: &Site,
    key: &Key<'_>,
    page: &Arc<Page>,
    now: Now,
) -> bool {
    // What parts of other hosts are kept by has no name there.
    if site.is_elsewhere {
        return false;
    }
    let Some(kept) = record::Kept::of(site, page, now, shelf.disk.run()) else { return false };
    let before = page.on_disk.load(Ordering::Acquire);
    let sequence = shelf.disk.next_sequence();
    // Of two who put it one is enough.
    if page.on_disk.compare_exchange(before, sequence, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        return false;
    }
    let is_taken = shelf.disk.put(Put {
        sequence,
        hash: key.hash,
        key: key.text.into(),
        floor: page.marks.born,
        fingerprint: page.fingerprint(),
        bytes: store::Resident::weight(&**page),
        is_bulk: false,
        done: None,
        write: Box::new(move |out| kept.write(out)),
    });
    // Who removed the page before it could be found there has removed it here.
    let is_alive = is_taken
        && server.store.has(key, |stored| std::ptr::eq(stored, &**page))
        && site.generations.standing(&page.marks, key, now.ticks_ms) != Standing::Gone;
    if !is_alive {
        if is_taken {
            shelf.disk.remove(key.hash, |place| place.sequence == sequence);
        }
        page.on_disk.store(0, Ordering::Release);
    }
    is_alive
}

/// Brings what the disk has under a request's key into memory; one reads for all who wait.
pub(crate) async fn recall(journey: &Journey, hash: u64) {
    let Some(shelf) = &journey.server.shelf else { return };
    let Some(_place) = Waiting::of(&shelf.waiting) else {
        shelf.refused.bump();
        return;
    };
    match shelf.flights.join(&Key { hash, text: &journey.key }) {
        Role::Waiter(wait) => drop(wait.outcome().await),
        Role::Leader(lead) => {
            let place = shelf.reads.acquire().await;
            let (server, site) = (journey.server.clone(), journey.site.clone());
            let text = journey.key.clone();
            let read = move || read_all(&server, &site, &Key { hash, text: &text });
            // One that panics brings nothing; the origin is asked then.
            let _ = tokio::task::spawn_blocking(read).await;
            drop(place);
            if let Some(strangers) = &journey.site.strangers {
                welcome::order(journey, hash).drop_if_heard(strangers);
            }
            lead.land(());
        }
    }
}

/// One who waits for the disk, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn of(waiting: &'a AtomicUsize) -> Option<Self> {
        let one = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < WAITING_MAX).then_some(one)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads what lies under a key and isn't in memory, and stores it there.
fn read_all(server: &Server, site: &Site, key: &Key<'_>) {
    let Some(shelf) = &server.shelf else { return };
    let here = in_memory(server, key);
    let mut places = shelf.disk.places(key.hash);
    places.retain(|place| place.is_written() && !here.contains(&place.sequence));
    let first = places.len().saturating_sub(VARIANTS_MAX);
    for place in &places[first..] {
        let now = server.clock.now();
        let Ok(room) = server.store.reserve(place.bytes()) else { return };
        let Some(bytes) = shelf.disk.read(place) else { continue };
        let Some((found, _)) = read_record(&bytes, shelf.disk.secret()) else { continue };
        // Another key with the same hash; nobody has seen one yet.
        if found.key != key.text {
            continue;
        }
        let page = record::read(found.payload, key.text, site, now, shelf);
        drop(room);
        let page = page.filter(|page| {
            site.generations.standing(&page.marks, key, now.ticks_ms) != Standing::Gone
        });
        let Some(page) = page else {
            shelf.disk.remove(key.hash, |other| other.sequence == place.sequence);
            continue;
        };
        page.on_disk.store(place.sequence, Ordering::Release);
        let page = Arc::new(page);
        server.store.insert_missing(key, page, || shelf.disk.has(key.hash, place.sequence));
    }
}
