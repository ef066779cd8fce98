//! Slices: bodies that are too large for memory, kept in pieces on the disk.
//!
//! ```text
//! page (head, terms, marks; no body) → object (a number, a length) → slices, each a record
//! ```
//! A large answer is a [`crate::page::Page`] like any other, in memory and on the disk, so that
//! it is found, judged, validated and purged like any other. It has no body but an *object*: a
//! number that is never used again, under which its slices lie. Whoever can't find the page
//! can't find a slice, and a page with another validator has another object.
//!
//! A slice that is wanted and missing is fetched by range, some at a time ([`fill`]), by one for
//! all who want it; all of them read it from the disk, block by block ([`serve`]). So nobody's
//! slowness holds a slice in memory, nor an answer of the origin's.
//! Invariants: 1. all bytes of an answer are of one representation, told by a strong validator.
//! 2. a slice is in memory only while it is fetched and written: [`BUFFERS_MAX`] at one time.
//! 3. of two fetches for one object none brings what the other is about to bring.
//! Start at [`begin`]; docs/decisions/disk-tier.md says why it is so.

pub(crate) mod begin;
pub(crate) mod fill;
pub(crate) mod serve;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use origin::OriginError;
use parking_lot::Mutex;
use policy::slices::{RUN_SLICES, slices_of};
use store::disk::Disk;
use tokio::sync::{Semaphore, watch};

use crate::Server;
use crate::disk::Shelf;
use crate::pipeline;

/// Slices that are in memory at one time, on their way to the disk.
const BUFFERS_MAX: usize = 8;
/// Who wants a slice that a fetch comes to within so many waits for that; others send their own.
const REACH_SLICES: u64 = 8;
/// An object is at most this part of the folder, or it would wash itself out.
const LARGEST_PART: u64 = 2;

/// The objects of a server.
pub(crate) struct Slices {
    /// Those that somebody holds, by number: of two pages of one object both share its fetches.
    objects: Mutex<HashMap<u64, Weak<Object>>>,
    buffers: Arc<Semaphore>,
}

impl Default for Slices {
    fn default() -> Self {
        Self { objects: Mutex::default(), buffers: Arc::new(Semaphore::new(BUFFERS_MAX)) }
    }
}

impl Slices {
    /// The object with this number.
    pub(crate) fn object(&self, id: u64, length: u64) -> Arc<Object> {
        let mut objects = self.objects.lock();
        if let Some(object) = objects.get(&id).and_then(Weak::upgrade) {
            return object;
        }
        objects.retain(|_, object| object.strong_count() > 0);
        let object = Arc::new(Object {
            id,
            length,
            fills: Mutex::default(),
            last_fill: AtomicU64::new(0),
            readers: AtomicUsize::new(0),
            comes_whole: AtomicBool::new(false),
        });
        objects.insert(id, Arc::downgrade(&object));
        object
    }
}

impl Server {
    /// Where slices are kept, if they are at this moment.
    pub(crate) fn slices_shelf(&self) -> Option<&Shelf> {
        self.shelf.as_ref().filter(|shelf| shelf.is_open())
    }

    /// Whether a body of this length is kept in slices.
    pub(crate) fn cuts(&self, length: u64) -> bool {
        length > crate::fetch::object_bytes_max(self)
            && self
                .slices_shelf()
                .is_some_and(|shelf| length <= shelf.disk.size_bytes() / LARGEST_PART)
    }
}

/// A large body, some of whose slices may lie on the disk.
#[derive(Debug)]
pub(crate) struct Object {
    id: u64,
    pub(crate) length: u64,
    /// Fetches under way: at most two for each who reads it.
    fills: Mutex<Vec<Fill>>,
    last_fill: AtomicU64,
    readers: AtomicUsize,
    /// Whether its origin sends all of it whatever part is asked for.
    comes_whole: AtomicBool,
}

/// A fetch that is under way.
#[derive(Debug)]
struct Fill {
    number: u64,
    /// The slice behind the last that it brings.
    end: u64,
    progress: watch::Receiver<Progress>,
}

/// How far a fetch has come.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The slice that it brings next; those before lie on the disk.
    next: u64,
    outcome: Option<Result<(), Trouble>>,
}

/// Why a slice didn't come.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// The origin has another representation now.
    Changed,
    /// The origin did not answer, or broke off.
    Origin(OriginError),
    /// The origin answered something else.
    Refused,
    /// It came and could not be kept.
    NotKept,
}

/// What somebody does who wants a slice.
pub(crate) enum Joined {
    /// It lies on the disk.
    Here,
    /// Wait for somebody's fetch.
    Wait(watch::Receiver<Progress>),
    /// Fetch these slices.
    Fetch(Ticket, Range<u64>),
}

impl Object {
    /// The number and the length, for the disk.
    pub(crate) fn to_kept(&self) -> (u64, u64) {
        (self.id, self.length)
    }

    /// The key of a slice.
    fn key(&self, slice: u64) -> [u8; 21] {
        let mut key = *b"slice................";
        key[5..13].copy_from_slice(&self.id.to_le_bytes());
        key[13..].copy_from_slice(&slice.to_le_bytes());
        key
    }

    /// Whether all of these bytes lie on the disk.
    pub(crate) fn is_here(&self, disk: &Disk, bytes: &Range<u64>) -> bool {
        disk.holds_all(slices_of(bytes).map(|slice| pipeline::hash(&self.key(slice))))
    }

    fn has(&self, disk: &Disk, slice: u64) -> bool {
        disk.holds_all(std::iter::once(pipeline::hash(&self.key(slice))))
    }

    /// What to do for a slice, by somebody who wants all up to `end`.
    fn join(self: &Arc<Self>, disk: &Disk, slice: u64, end: u64) -> Joined {
        let mut fills = self.fills.lock();
        if self.has(disk, slice) {
            return Joined::Here;
        }
        let reach = if self.comes_whole.load(Ordering::Relaxed) { u64::MAX } else { REACH_SLICES };
        let brings = |fill: &&Fill, slice: u64| {
            let next = fill.progress.borrow().next;
            (next..fill.end.min(next.saturating_add(reach))).contains(&slice)
        };
        if let Some(fill) = fills.iter().find(|fill| brings(fill, slice)) {
            return Joined::Wait(fill.progress.clone());
        }
        let most = end.min(slice.saturating_add(RUN_SLICES)).max(slice + 1);
        let is_free = |slice: &u64| {
            !self.has(disk, *slice) && !fills.iter().any(|fill| brings(&fill, *slice))
        };
        let end = (slice + 1..most).find(|slice| !is_free(slice)).unwrap_or(most);
        let ticket = self.enter(&mut fills, slice..end);
        Joined::Fetch(ticket, slice..end)
    }

    /// The ticket of a fetch that is under way already and brings these slices.
    fn claim(self: &Arc<Self>, slices: Range<u64>) -> Ticket {
        self.enter(&mut self.fills.lock(), slices)
    }

    fn enter(self: &Arc<Self>, fills: &mut Vec<Fill>, slices: Range<u64>) -> Ticket {
        let number = self.last_fill.fetch_add(1, Ordering::Relaxed);
        let begun = Progress { next: slices.start, outcome: None };
        let (sender, progress) = watch::channel(begun);
        fills.push(Fill { number, end: slices.end, progress });
        Ticket { object: self.clone(), number, sender }
    }
}

/// The duty to bring some slices. Who wants them is told when it is dropped, at the latest.
pub(crate) struct Ticket {
    object: Arc<Object>,
    number: u64,
    sender: watch::Sender<Progress>,
}

impl Ticket {
    /// All of the object is brought, from its first slice on.
    fn widen(&self) {
        self.object.comes_whole.store(true, Ordering::Relaxed);
        let mut fills = self.object.fills.lock();
        if let Some(fill) = fills.iter_mut().find(|fill| fill.number == self.number) {
            fill.end = u64::MAX;
        }
        self.sender.send_modify(|progress| progress.next = 0);
    }

    /// This slice lies on the disk.
    fn brought(&self, slice: u64) {
        self.sender.send_modify(|progress| progress.next = slice + 1);
    }

    /// Ends the fetch.
    fn end(self, outcome: Result<(), Trouble>) {
        self.sender.send_modify(|progress| progress.outcome = Some(outcome));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // First out of the way, then told: who is told joins another.
        self.object.fills.lock().retain(|fill| fill.number != self.number);
        self.sender.send_modify(|progress| {
            progress.outcome.get_or_insert(Err(Trouble::NotKept));
        });
    }
}

/// Somebody who reads an object; what nobody reads is not fetched on.
pub(crate) struct Reading(pub(crate) Arc<Object>);

impl Reading {
    pub(crate) fn of(object: &Arc<Object>) -> Self {
        object.readers.fetch_add(1, Ordering::Relaxed);
        Self(object.clone())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
