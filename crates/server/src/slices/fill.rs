//! Filling: slices fetched from the origin and written to the disk.
//!
//! A fetch asks for whole slices, with `If-Range`, and its answer is held against the page: only
//! bytes of the same representation are kept, and another one ends the page with its object.
//! Invariant: a slice is on the disk whole, or not at all.
//! Bounds: one buffer a fetch, of [`super::BUFFERS_MAX`] for all, weighed in the store.
//! Start at [`by_range`].

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use origin::{Answer, OriginError};
use policy::Admission;
use policy::slices::{Brought, SLICE_BYTES, bytes_of, check};
use store::Key;
use store::Reservation;
use store::disk::{Put, write_blocks};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use wire::{Body, BodyError, ResponseHead};

use super::{Object, Ticket, Trouble};
use crate::disk::Shelf;
use crate::journey::Journey;
use crate::page::Page;
use crate::pipeline;

/// How long a fetch waits for a buffer; who wants it is then answered without the disk.
const BUFFER_PATIENCE: Duration = Duration::from_secs(2);
/// How long a slice may wait to be written.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);

/// What is needed to fetch more of a page.
pub(crate) struct Asker {
    /// The request of who wants it; its head selects the page.
    pub(crate) journey: Journey,
    pub(crate) hash: u64,
    pub(crate) page: Arc<Page>,
    pub(crate) object: Arc<Object>,
    /// Whether it has asked already. The first time counts against what its visitor may take;
    /// how many more there are lies with what others had fetched before.
    pub(crate) has_asked: AtomicBool,
}

impl Asker {
    /// Asks for these bytes of what the page is of. What comes is held against it.
    pub(crate) async fn ask(
        &self,
        bytes: &RangeInclusive<u64>,
    ) -> Result<(Answer, Brought), Trouble> {
        let Journey { server, site, head, key, peers, .. } = &self.journey;
        let stored = self.page.as_stored().ok_or(Trouble::Changed)?;
        let fields = stored.fields();
        let unattended = Journey::unattended(server, site, head, key, *peers);
        let mut call = match self.has_asked.swap(true, Ordering::Relaxed) {
            true => unattended,
            false => unattended.attended(),
        }
        .call();
        policy::strip_conditionals(&mut call.head.fields);
        let validator = policy::slices::strong_validator(&fields).ok_or(Trouble::Changed)?;
        policy::slices::ask_for(&mut call.head.fields, bytes, Some(validator));
        server.counters.fetches.bump();
        let request_ticks_ms = self.journey.now().ticks_ms;
        let answer = site.ask(server, call).await.map_err(Trouble::Origin)?;
        let brought = check(&fields, self.object.length, &answer.head, bytes);
        // What may be kept no more must not be added to.
        let merged = policy::refreshed(&fields, &answer.head.fields);
        let merged = ResponseHead { status: stored.status, fields: merged };
        let now = self.journey.now();
        let admission = policy::admit(head, &merged, request_ticks_ms, now, &site.rules());
        let brought = match (brought, admission) {
            (Brought::Part(_) | Brought::Whole, Admission::NoStore(_)) => Brought::Changed,
            (brought, _) => brought,
        };
        match brought {
            Brought::Changed => {
                self.forget();
                Err(Trouble::Changed)
            }
            Brought::Nothing => Err(Trouble::Refused),
            brought => Ok((answer, brought)),
        }
    }

    /// The page is of something that isn't there any more.
    fn forget(&self) {
        let key = Key { hash: self.hash, text: &self.journey.key };
        let server = &self.journey.server;
        let is_it = |page: &Page| {
            let object = page.as_stored().and_then(|stored| stored.object.as_ref());
            object.is_some_and(|object| Arc::ptr_eq(object, &self.object))
        };
        // Where another has taken its place, what lies on the disk is that one's.
        if server.store.has(&key, is_it) || server.store.variants(&key) == 0 {
            server.remove_if(&key, is_it);
        }
    }
}

/// Fetches these slices.
pub(crate) async fn by_range(asker: Arc<Asker>, ticket: Ticket, slices: Range<u64>) {
    let bytes = bytes_of(&slices, asker.object.length);
    let outcome = match asker.ask(&(bytes.start..=bytes.end - 1)).await {
        Ok((answer, Brought::Part(range))) => {
            carry(&asker, &ticket, answer.body, bytes.start..range.end() + 1).await
        }
        Ok((answer, _)) => {
            ticket.widen();
            carry(&asker, &ticket, answer.body, 0..asker.object.length).await
        }
        Err(trouble) => Err(trouble),
    };
    ticket.end(outcome);
}

/// Carries a body that comes already and holds these bytes.
pub(crate) async fn by_body(asker: Arc<Asker>, ticket: Ticket, body: Body, bytes: Range<u64>) {
    let outcome = carry(&asker, &ticket, body, bytes).await;
    ticket.end(outcome);
}

/// Writes the slices of a body to the disk, those of it that are whole; the first begins with it.
async fn carry(
    asker: &Asker,
    ticket: &Ticket,
    body: Body,
    bytes: Range<u64>,
) -> Result<(), Trouble> {
    let (server, object) = (&asker.journey.server, &asker.object);
    let shelf = server.slices_shelf().ok_or(Trouble::NotKept)?;
    let mut pieces = Pieces { body, rest: Bytes::new() };
    for slice in bytes.start / SLICE_BYTES.. {
        let of_slice = bytes_of(&(slice..slice + 1), object.length);
        let is_wanted = object.readers.load(Ordering::Relaxed) > 0;
        if of_slice.is_empty() || of_slice.end > bytes.end || !is_wanted {
            break;
        }
        // A slice is far shorter than what an address counts.
        let length = (of_slice.end - of_slice.start) as usize;
        if object.has(&shelf.disk, slice) {
            pieces.skip(length).await?;
        } else {
            let Some(buffer) = Buffer::of(asker, shelf, length).await else {
                server.counters.slices_not_kept.bump();
                return Err(Trouble::NotKept);
            };
            let taken = pieces.take(length).await?;
            if !put(asker, shelf, slice, taken).await {
                server.counters.slices_not_kept.bump();
                return Err(Trouble::NotKept);
            }
            server.counters.slices_kept.bump();
            drop(buffer);
            shelf.weigh(server);
        }
        ticket.brought(slice);
    }
    Ok(())
}

/// Leave to have one slice in memory.
struct Buffer {
    _permit: OwnedSemaphorePermit,
    _room: Reservation<Page>,
}

impl Buffer {
    async fn of(asker: &Asker, shelf: &Shelf, length: usize) -> Option<Self> {
        let permit = shelf.slices.buffers.clone().acquire_owned();
        let permit = timeout(BUFFER_PATIENCE, permit).await.ok()?.ok()?;
        let room = asker.journey.server.store.reserve(length).ok()?;
        Some(Self { _permit: permit, _room: room })
    }
}

/// Writes a slice; whether it can be read.
async fn put(asker: &Asker, shelf: &Shelf, slice: u64, bytes: Vec<u8>) -> bool {
    let (disk, object) = (&shelf.disk, &asker.object);
    let key = object.key(slice);
    let (sequence, secret) = (disk.next_sequence(), disk.secret());
    let (done, is_done) = mpsc::channel();
    let is_taken = disk.put(Put {
        sequence,
        hash: pipeline::hash(&key),
        key: key.into(),
        // It is good for as long as its page is.
        floor: u64::MAX,
        fingerprint: 0,
        // Those that wait have their own bound.
        bytes: 0,
        is_bulk: true,
        done: Some(done),
        write: Box::new(move |out| write_blocks(out, secret, sequence, &bytes)),
    });
    // Nothing is ever said there: it ends.
    let written = tokio::task::spawn_blocking(move || is_done.recv().is_err());
    is_taken && timeout(WRITE_PATIENCE, written).await.is_ok() && object.has(disk, slice)
}

/// A body in pieces of wanted lengths.
pub(crate) struct Pieces {
    pub(crate) body: Body,
    pub(crate) rest: Bytes,
}

impl Pieces {
    /// What is at hand next, at most so many bytes; an error at the body's end.
    pub(crate) async fn next(&mut self, bytes_max: usize) -> Result<Bytes, BodyError> {
        while self.rest.is_empty() {
            let early = || BodyError::Origin("it is shorter than announced".into());
            let frame = self.body.frame().await.ok_or_else(early)??;
            if let Ok(data) = frame.into_data() {
                self.rest = data;
            }
        }
        Ok(self.rest.split_to(self.rest.len().min(bytes_max)))
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, Trouble> {
        let mut taken = Vec::with_capacity(length);
        while taken.len() < length {
            taken.extend_from_slice(&self.next(length - taken.len()).await?);
        }
        Ok(taken)
    }

    pub(crate) async fn skip(&mut self, length: usize) -> Result<(), Trouble> {
        let mut left = length;
        while left > 0 {
            left -= self.next(left).await?.remaining();
        }
        Ok(())
    }
}

impl From<BodyError> for Trouble {
    fn from(error: BodyError) -> Self {
        Self::Origin(OriginError::Reset(error.to_string()))
    }
}
