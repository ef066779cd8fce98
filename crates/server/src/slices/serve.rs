//! Serving: a large page as a request wants it, block by block from the disk.
//!
//! The reply is made like that of any stored page; what it is to send is [`Wanted`], and
//! [`deliver`] makes a body of that once the first byte is at hand. A slice that is missing is
//! fetched while the visitor waits, and the next ones meanwhile. If the disk can't keep what
//! comes, the rest goes from the origin to the visitor, held against the page all the same.
//! Invariants: 1. at most one block is held for a visitor. 2. a head says 200 or 206 only when
//! the first byte behind it is there.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use futures_util::stream;
use http::Method;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use policy::representation::mark_as_asked;
use policy::slices::{Brought, SLICE_BYTES};
use policy::{Conditional, MissReason, PassReason, Selection, Verdict};
use store::disk::{BLOCK_BYTES, Blocks};
use wire::{Body, BodyError, Name, ResponseHead};

use super::fill::{self, Asker, Pieces};
use super::{Joined, Object, Reading, Trouble};
use crate::coding::passing;
use crate::fetch;
use crate::journey::Journey;
use crate::page::{Page, Stored};
use crate::parts;
use crate::pipeline::{self, Task};
use crate::reply::{Head, Payload, Reply, Told};
use crate::serve_stored::{Asked, Shown};

/// How often a slice is looked for, and fetched, before it is done without the disk.
const TRIES_MAX: usize = 3;
/// Damaged slices that one answer has fetched again.
const DAMAGED_MAX: usize = 16;

/// What a reply is to send of a page.
pub(crate) struct Wanted {
    page: Arc<Page>,
    reading: Reading,
    pieces: VecDeque<Piece>,
}

/// A stretch of a reply's body.
enum Piece {
    /// What stands between the parts of a multipart answer.
    Text(Bytes),
    /// Bytes of the page.
    Bytes(Range<u64>),
}

impl Wanted {
    pub(crate) fn length(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len() as u64,
            Piece::Bytes(bytes) => bytes.end - bytes.start,
        });
        lengths.sum()
    }
}

/// The reply that a large page makes.
pub(crate) fn reply(
    page: &Arc<Page>,
    stored: &Stored,
    object: &Arc<Object>,
    asked: &Asked<'_>,
    shown: Shown,
) -> Reply {
    let Asked { server, head: request, key, now, .. } = *asked;
    let mut fields = stored.fields();
    let mut pieces = VecDeque::new();
    let status = match policy::evaluate(&request.fields, stored.status, &fields) {
        Conditional::NotModified => {
            fields = policy::not_modified_fields(&fields);
            mark_as_asked(&request.fields, &mut fields);
            304
        }
        Conditional::Full if request.method == Method::HEAD => stored.status,
        Conditional::Full => match policy::range::select(&request.fields, &fields, object.length) {
            Selection::Full => {
                pieces.push_back(Piece::Bytes(0..object.length));
                stored.status
            }
            Selection::Unsatisfiable => {
                parts::unsatisfiable(&mut fields, object.length);
                416
            }
            Selection::Partial(range) => {
                parts::one_part(&mut fields, &range, object.length);
                pieces.push_back(Piece::Bytes(*range.start()..range.end() + 1));
                206
            }
            Selection::Several(ranges) => {
                for (text, range) in parts::several(&mut fields, &ranges, object.length) {
                    pieces.push_back(Piece::Text(text));
                    pieces.extend(range.map(|it| Piece::Bytes(*it.start()..it.end() + 1)));
                }
                206
            }
        },
    };
    let is_here = |piece: &Piece| match (piece, server.slices_shelf()) {
        (Piece::Text(_), _) => true,
        (Piece::Bytes(bytes), Some(shelf)) => object.is_here(&shelf.disk, bytes),
        (Piece::Bytes(_), None) => false,
    };
    let verdict = match shown.verdict {
        // Nobody is told that it comes from here alone.
        Verdict::Hit | Verdict::Stale(_) if !pieces.iter().all(is_here) => {
            Verdict::Miss(MissReason::Partial)
        }
        verdict => verdict,
    };
    fields.put(Name::Age, policy::age_seconds(&stored.terms, now.ticks_ms).to_string());
    let told = Told { verdict, ..shown.told() };
    told.write(&mut fields, key);
    let payload = match pieces.is_empty() {
        true => Payload::None,
        false => {
            let (page, reading) = (page.clone(), Reading::of(object));
            Payload::Sliced(Box::new(Wanted { page, reading, pieces }))
        }
    };
    Reply { verdict, unstored: None, head: Head::Ready(ResponseHead { status, fields }), payload }
}

/// Gives a reply its body. `journey` is the request once more, which may have to go again.
pub(crate) async fn deliver(journey: Journey, hash: u64, reply: Reply) -> Reply {
    let is_again = |reply: &Reply| matches!(reply.payload, Payload::Sliced(_));
    let again = || {
        let Journey { server, site, head, key, peers, .. } = &journey;
        Journey::unattended(server, site, head, key, *peers)
    };
    let trouble = match begin(again(), hash, reply).await {
        Ok(reply) => return reply,
        Err(trouble) => trouble,
    };
    let reply = match trouble {
        Trouble::Changed => {
            let task = match policy::wants_part(&journey.head.fields) {
                true => Task::Pass(PassReason::Range),
                false => Task::Fill(MissReason::UriMiss),
            };
            Box::pin(pipeline::go(again(), hash, task)).await
        }
        Trouble::Origin(error) => return Reply::failed(&error, &journey.key),
        Trouble::Refused | Trouble::NotKept => {
            return fetch::pass(again(), hash, PassReason::Uncacheable).await;
        }
    };
    if !is_again(&reply) {
        return reply;
    }
    match begin(again(), hash, reply).await {
        Ok(reply) => reply,
        // It changes faster than it can be put together.
        Err(_) => fetch::pass(again(), hash, PassReason::Uncacheable).await,
    }
}

/// Waits for the first bytes of a reply's body.
async fn begin(journey: Journey, hash: u64, reply: Reply) -> Result<Reply, Trouble> {
    let Reply { verdict, unstored, head, payload } = reply;
    let (Payload::Sliced(wanted), Head::Ready(mut head)) = (payload, head) else {
        return Err(Trouble::NotKept);
    };
    let length = wanted.length();
    let Wanted { page, reading, pieces } = *wanted;
    let object = reading.0.clone();
    let has_asked = AtomicBool::new(false);
    let asker = Arc::new(Asker { journey, hash, page, object, has_asked });
    let mut delivery = Delivery {
        asker: asker.clone(),
        _reading: reading,
        pieces,
        open: None,
        direct: None,
        damaged: 0,
    };
    let first = delivery.next().await?;
    let pieces = stream::unfold((first, delivery), |(ready, mut delivery)| async move {
        let bytes = match ready {
            Some(bytes) => Ok(bytes),
            None => delivery.next().await.transpose()?.map_err(broken),
        };
        Some((bytes.map(Frame::data), (None, delivery)))
    });
    let body: Body = StreamBody::new(pieces).boxed_unsync();
    let mut payload = Payload::Stream { body, length: Some(length) };
    if head.status == 200 {
        let wanted = passing::wanted(
            &asker.journey.site,
            &asker.journey.head,
            head.status,
            &mut head.fields,
        );
        payload = passing::encode(
            &asker.journey.server,
            &asker.journey.head,
            wanted,
            &mut head.fields,
            payload,
        );
    }
    Ok(Reply { verdict, unstored, head: Head::Ready(head), payload })
}

fn broken(trouble: Trouble) -> BodyError {
    BodyError::Origin(match trouble {
        Trouble::Changed => "it changed while it was sent".into(),
        Trouble::Origin(error) => error.to_string(),
        Trouble::Refused => "a part of it was refused".into(),
        Trouble::NotKept => "a part of it could not be kept".into(),
    })
}

/// A body on its way to a visitor.
struct Delivery {
    asker: Arc<Asker>,
    _reading: Reading,
    pieces: VecDeque<Piece>,
    /// The slice that is being read, and its number.
    open: Option<(u64, Arc<Blocks>)>,
    /// The rest of the first piece as the origin sends it, where the disk can't keep it.
    direct: Option<Pieces>,
    damaged: usize,
}

impl Delivery {
    async fn next(&mut self) -> Result<Option<Bytes>, Trouble> {
        loop {
            let bytes = match self.pieces.pop_front() {
                None => return Ok(None),
                Some(Piece::Text(text)) => return Ok(Some(text)),
                Some(Piece::Bytes(bytes)) => bytes,
            };
            if bytes.is_empty() {
                self.direct = None;
                continue;
            }
            let taken = match &mut self.direct {
                Some(direct) => {
                    let most = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
                    Some(direct.next(most.min(BLOCK_BYTES)).await?)
                }
                None => self.read(&bytes).await?,
            };
            let taken_bytes = taken.as_ref().map_or(0, |taken| taken.len() as u64);
            self.pieces.push_front(Piece::Bytes(bytes.start + taken_bytes..bytes.end));
            if taken.is_some() {
                return Ok(taken);
            }
        }
    }

    /// What lies at the beginning of these bytes, up to the end of its block; none if that must
    /// be tried again.
    async fn read(&mut self, bytes: &Range<u64>) -> Result<Option<Bytes>, Trouble> {
        let slice = bytes.start / SLICE_BYTES;
        let blocks = match &self.open {
            Some((open, blocks)) if *open == slice => blocks.clone(),
            _ => match self.asker.obtain(slice, bytes.end.div_ceil(SLICE_BYTES)).await {
                Ok(blocks) => {
                    self.open = Some((slice, blocks.clone()));
                    blocks
                }
                Err(Trouble::NotKept) => {
                    self.direct = Some(self.asker.go_without_disk(bytes).await?);
                    return Ok(None);
                }
                Err(trouble) => return Err(trouble),
            },
        };
        // A slice is far shorter than what an address counts.
        let within = (bytes.start % SLICE_BYTES) as usize;
        let (number, from) = (within / BLOCK_BYTES, within % BLOCK_BYTES);
        let asker = self.asker.clone();
        let read = move || {
            let shelf = asker.journey.server.slices_shelf()?;
            shelf.disk.read_block(&blocks, number)
        };
        let Some(block) = self.asker.on_disk(read).await else {
            self.open = None;
            self.damaged += 1;
            return if self.damaged > DAMAGED_MAX { Err(Trouble::NotKept) } else { Ok(None) };
        };
        let mut block = Bytes::from(block);
        if block.len() <= from {
            return Err(Trouble::NotKept);
        }
        let rest = block.split_off(from);
        let most = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        Ok(Some(rest.slice(..rest.len().min(most))))
    }
}

impl Asker {
    /// A slice that can be read, fetched if need be; the visitor wants all up to `end`.
    async fn obtain(self: &Arc<Self>, slice: u64, end: u64) -> Result<Arc<Blocks>, Trouble> {
        let object = &self.object;
        for attempt in 0..TRIES_MAX {
            let mut is_own = false;
            let Some(shelf) = self.journey.server.slices_shelf() else { break };
            let mut progress = match object.join(&shelf.disk, slice, end) {
                Joined::Here => match self.open_slice(slice).await {
                    Some(blocks) => {
                        self.read_ahead(shelf, slice + 1, end);
                        return Ok(blocks);
                    }
                    None => continue,
                },
                Joined::Wait(progress) => progress,
                Joined::Fetch(ticket, slices) => {
                    is_own = true;
                    let progress = ticket.sender.subscribe();
                    self.fetch(ticket, slices);
                    progress
                }
            };
            let told = progress
                .wait_for(|progress| progress.next > slice || progress.outcome.is_some())
                .await
                .map(|progress| progress.clone());
            let Ok(told) = told else { continue };
            match told.outcome {
                _ if told.next > slice => {}
                // What broke off for somebody is asked for once more, from where it did.
                Some(Err(Trouble::Origin(_))) if !is_own && attempt == 0 => {}
                Some(Err(trouble)) => return Err(trouble),
                _ => {}
            }
        }
        Err(Trouble::NotKept)
    }

    /// Sees to it that what follows comes while this is being read.
    fn read_ahead(self: &Arc<Self>, shelf: &crate::disk::Shelf, slice: u64, end: u64) {
        if slice < end
            && let Joined::Fetch(ticket, slices) = self.object.join(&shelf.disk, slice, end)
        {
            self.fetch(ticket, slices);
        }
    }

    fn fetch(self: &Arc<Self>, ticket: super::Ticket, slices: Range<u64>) {
        let panics = &self.journey.server.counters.panics;
        base::task::spawn_counted(panics, fill::by_range(self.clone(), ticket, slices));
    }

    async fn open_slice(self: &Arc<Self>, slice: u64) -> Option<Arc<Blocks>> {
        let asker = self.clone();
        let open = move || {
            let key = asker.object.key(slice);
            let shelf = asker.journey.server.slices_shelf()?;
            shelf.disk.open_blocks(pipeline::hash(&key), &key).map(Arc::new)
        };
        self.on_disk(open).await
    }

    /// Does something that waits for the disk, when it is its turn.
    async fn on_disk<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> Option<R> + Send + 'static,
    ) -> Option<R> {
        let shelf = self.journey.server.slices_shelf()?;
        let _turn = shelf.turn().await;
        // What panics has read nothing.
        tokio::task::spawn_blocking(work).await.ok().flatten()
    }

    /// These bytes as the origin sends them.
    async fn go_without_disk(&self, bytes: &Range<u64>) -> Result<Pieces, Trouble> {
        let (answer, brought) = self.ask(&(bytes.start..=bytes.end - 1)).await?;
        let mut pieces = Pieces { body: answer.body, rest: Bytes::new() };
        if brought == Brought::Whole {
            let mut left = bytes.start;
            while left > 0 {
                let step = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES);
                pieces.skip(step).await?;
                left -= step as u64;
            }
        }
        Ok(pieces)
    }
}
