//! An answer that is kept while it passes, and compared with another once it is whole.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::task;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use origin::Answer;
use store::Key;
use wire::{Body, BodyError};

use super::verdict::{self, Pair};
use super::{Copy, PAGE_BYTES_MAX, Room, Wanted, Whose};
use crate::Server;
use crate::journey::Journey;
use crate::page::Page;
use crate::site::Site;
use crate::strangers::verify::apart;

/// Room for one copy, if there is any.
pub(super) fn room(journey: &Journey) -> Option<Room> {
    let _place = journey.site.alike.places.clone().try_acquire_owned().ok()?;
    let bytes = journey.server.store.reserve(0).ok()?;
    Some(Room { bytes, _place })
}

/// The same answer, of which a copy is kept as it passes.
pub(super) fn keep(
    journey: &Journey,
    hash: u64,
    answer: Answer,
    whose: Whose,
    wanted: Wanted,
    room: Room,
) -> Answer {
    let errand = Errand {
        server: journey.server.clone(),
        site: journey.site.clone(),
        hash,
        key: journey.key.clone(),
        whose,
        wanted,
    };
    let taking = Taking { taken: Vec::new(), length: answer.length, room, errand };
    let body = Kept { body: answer.body, taking: Some(Box::new(taking)) };
    Answer { body: body.boxed_unsync(), ..answer }
}

/// What a copy is for.
struct Errand {
    server: Arc<Server>,
    site: Arc<Site>,
    hash: u64,
    key: Vec<u8>,
    whose: Whose,
    wanted: Wanted,
}

struct Taking {
    taken: Vec<u8>,
    length: Option<u64>,
    room: Room,
    errand: Errand,
}

/// A body of which a copy is taken; it is as fast as the other is read, and asks nothing of it.
struct Kept {
    body: Body,
    /// None once it is known that nothing comes of it, or all of it was taken.
    taking: Option<Box<Taking>>,
}

impl http_body::Body for Kept {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let own = self.get_mut();
        let polled = Pin::new(&mut own.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let data = frame.data_ref();
                if own.taking.as_mut().is_some_and(|it| !data.is_none_or(|data| it.take(data))) {
                    own.taking = None;
                }
                // Who knows the length reads no further than that.
                let is_whole = |it: &Taking| it.length == Some(it.taken.len() as u64);
                if own.body.is_end_stream() || own.taking.as_deref().is_some_and(is_whole) {
                    own.taking.take().into_iter().for_each(|it| it.end());
                }
            }
            Poll::Ready(None) => own.taking.take().into_iter().for_each(|it| it.end()),
            Poll::Ready(Some(Err(_))) => own.taking = None,
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Taking {
    /// Whether it still fits.
    fn take(&mut self, data: &[u8]) -> bool {
        let fits = self.taken.len() + data.len() <= PAGE_BYTES_MAX
            && self.room.bytes.grow(data.len()).is_ok();
        if fits {
            self.taken.extend_from_slice(data);
        }
        fits
    }

    /// All of it came.
    fn end(self) {
        let Self { taken, room, errand, .. } = self;
        let Errand { server, site, hash, key, whose, wanted } = errand;
        let now = server.clock.now();
        if site.generations.content() != whose.content {
            return;
        }
        let first = match wanted {
            Wanted::First => {
                let body = taken.into();
                site.alike.wait(Copy { whose, since_ms: now.ticks_ms, body, _room: room });
                return;
            }
            Wanted::Second(first) => first,
        };
        let stranger = server.store.find(&Key { hash, text: &key }, Page::is_for_strangers);
        let stranger = stranger.and_then(|page| Some(page.as_stored()?.body.clone()));
        let panics = server.counters.panics.clone();
        task::spawn_counted(&panics, async move {
            let pair = Pair { first: first.body.clone(), second: taken.into(), stranger };
            let found = apart(move || verdict::of(&pair)).await;
            server.counters.alike_compared.bump();
            site.alike.note(whose.class, found, now.ticks_ms);
            drop((first, room));
        });
    }
}
