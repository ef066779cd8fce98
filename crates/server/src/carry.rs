//! From an admitted answer to a stored page.
//!
//! A body that is here already becomes a page at once, and its visitor and all who
//! wait are served from that. Any other is read by all of them from its first byte,
//! while a task of its own carries it into the store, also when the visitor who
//! caused it goes away.
//! Invariant: a flight ends on every path, when the page is stored or can't be.
//! Start at [`take_over`].

use std::sync::Arc;

use base::task;
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use origin::{Answer, OriginError};
use policy::{Terms, VaryKey, Verdict};
use store::{Filling, Inserted, Key, Lead, Reader, Source};
use wire::{Body, BodyError, ResponseHead};

use crate::Server;
use crate::companion;
use crate::fetch::{Fetch, Landing, object_bytes_max};
use crate::journey::Journey;
use crate::page::Page;
use crate::purge::generations::{Moment, Standing};
use crate::purge::marks::Marks;
use crate::reply::{Reply, Told};
use crate::serve_stored::{self, Shown};
use crate::site::Site;

/// A body larger than the memory that readers may lag behind by is not kept whole.
const WINDOW_BYTES: usize = 1 << 20;

/// An answer that may be stored: its cleaned head, and what was decided about it.
pub(crate) struct Admitted {
    pub(crate) head: ResponseHead,
    pub(crate) vary: Option<VaryKey>,
    pub(crate) terms: Terms,
    /// What purges will find it by.
    pub(crate) marks: Marks,
}

/// An answer that many read while it comes.
pub(crate) struct Shared {
    pub(crate) admitted: Admitted,
    source: Source<BodyError>,
    length: Option<u64>,
}

/// What a body gave without waiting: nothing yet, or its end, or a piece.
type AtHand = Option<Option<Result<Frame<Bytes>, BodyError>>>;

/// Stores an admitted answer, now or as it comes, and replies to the visitor who caused it.
pub(crate) fn take_over(
    journey: Journey,
    lead: Lead<Landing>,
    admitted: Admitted,
    answer: Answer,
    fetch: &Fetch,
) -> Reply {
    let Answer { mut body, length, .. } = answer;
    let at_hand = body.frame().now_or_never();
    match whole(at_hand, &body, length) {
        Ok(bytes) => settle(&journey, lead, admitted, bytes, fetch),
        Err(at_hand) => share(journey, lead, admitted, body, at_hand, length, fetch),
    }
}

/// The whole body, if it is at hand in one piece; else what was at hand.
fn whole(at_hand: AtHand, rest: &Body, length: Option<u64>) -> Result<Bytes, AtHand> {
    let is_announced = |bytes: usize| length.is_none_or(|length| length == bytes as u64);
    match at_hand {
        Some(None) if is_announced(0) => Ok(Bytes::new()),
        Some(Some(Ok(frame))) if http_body::Body::is_end_stream(rest) => match frame.into_data() {
            Ok(data) if is_announced(data.len()) => Ok(of_own_size(data)),
            Ok(data) => Err(Some(Some(Ok(Frame::data(data))))),
            Err(trailers) => Err(Some(Some(Ok(trailers)))),
        },
        at_hand => Err(at_hand),
    }
}

/// The same bytes in memory of their own: what is stored must not hold more than it weighs.
fn of_own_size(bytes: Bytes) -> Bytes {
    match bytes.try_into_mut() {
        Ok(own) if own.capacity() == own.len() => own.freeze(),
        Ok(larger) => Bytes::copy_from_slice(&larger),
        Err(others_too) => Bytes::copy_from_slice(&others_too),
    }
}

/// Stores a page that is whole; its visitor and all who waited are served from it.
fn settle(
    journey: &Journey,
    lead: Lead<Landing>,
    admitted: Admitted,
    body: Bytes,
    fetch: &Fetch,
) -> Reply {
    let Admitted { head, vary, terms, marks } = admitted;
    let (origin_status, codings) = (Some(head.status), journey.site.rules().codings);
    let page = Page::stored(head, &journey.key, body, terms, vary, marks, codings);
    let took_ms = journey.now().ticks_ms.saturating_sub(fetch.request_ticks_ms);
    let page = Arc::new(page.that_took(took_ms).asked_by(journey.bears_credentials()));
    let key = Key { hash: fetch.hash, text: &journey.key };
    insert(&journey.server, &journey.site, &key, page.clone(), fetch.began);
    // What must be validated for each visitor is nothing for those who waited.
    lead.land(match terms.answers_waiters() {
        true => Landing::Page { page: page.clone(), verdict: Verdict::Collapsed },
        false => Landing::Uncacheable,
    });
    let verdict = Verdict::Miss(fetch.why);
    let shown = Shown { verdict, ttl_ms: None, origin_status, is_new: true };
    serve_stored::reply(page, &journey.asked(), shown)
}

/// Has everybody read a body as it comes, while a task carries it into the store.
fn share(
    journey: Journey,
    lead: Lead<Landing>,
    admitted: Admitted,
    body: Body,
    at_hand: AtHand,
    length: Option<u64>,
    fetch: &Fetch,
) -> Reply {
    let (filling, source) = Filling::new(WINDOW_BYTES);
    let shared = Arc::new(Shared { admitted, source, length });
    let reply = shared_reply(&journey, &shared, Verdict::Miss(fetch.why));
    lead.announce(match shared.admitted.terms.answers_waiters() {
        true => Landing::Shared(shared.clone()),
        false => Landing::Uncacheable,
    });
    let carrier = Carrier {
        server: journey.server.clone(),
        site: journey.site.clone(),
        key: journey.key.clone(),
        hash: fetch.hash,
        began: fetch.began,
        request_ticks_ms: fetch.request_ticks_ms,
        is_of_bearer: journey.bears_credentials(),
    };
    let carry = carrier.carry(lead, shared, filling, body, at_hand);
    task::spawn_counted(&journey.server.counters.panics, carry);
    // The head is ours to write, so nothing can have failed yet.
    reply.unwrap_or_else(|| Reply::failed(&OriginError::Reset("nothing came".into()), &journey.key))
}

/// The reply of one who reads along; `None` when the beginning is gone already.
pub(crate) fn shared_reply(journey: &Journey, shared: &Shared, verdict: Verdict) -> Option<Reply> {
    let body = read_along(shared.source.reader()?);
    let Admitted { head, terms, .. } = &shared.admitted;
    let age_seconds = policy::age_seconds(terms, journey.now().ticks_ms);
    let told = Told::fetched(verdict, head.status, Some(Ok(())));
    let length = shared.length;
    Some(Reply::shared(head, age_seconds, body, length, journey, &told))
}

fn read_along(reader: Reader<BodyError>) -> Body {
    let pieces = stream::unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Some((piece.map(http_body::Frame::data).map_err(broken), reader))
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn broken(error: store::Broken<BodyError>) -> BodyError {
    match error {
        store::Broken::Failed(error) => error,
        store::Broken::Abandoned => BodyError::Ours("the fetch was given up".into()),
    }
}

/// Carries a body into the store while everybody reads it.
struct Carrier {
    server: Arc<Server>,
    site: Arc<Site>,
    key: Vec<u8>,
    hash: u64,
    began: Moment,
    request_ticks_ms: u64,
    is_of_bearer: bool,
}

impl Carrier {
    async fn carry(
        self,
        lead: Lead<Landing>,
        shared: Arc<Shared>,
        mut filling: Filling<BodyError>,
        mut body: Body,
        mut at_hand: AtHand,
    ) {
        let limit = object_bytes_max(&self.server);
        let mut reservation = self.server.store.reserve(0).ok();
        let mut taken = 0u64;
        loop {
            let frame = match at_hand.take() {
                Some(frame) => frame,
                None => body.frame().await,
            };
            let Some(frame) = frame else { break };
            let data = match frame {
                Ok(frame) => match frame.into_data() {
                    Ok(data) => data,
                    Err(_trailers) => continue,
                },
                Err(error) => {
                    filling.fail(error);
                    return;
                }
            };
            taken += data.len() as u64;
            let kept = taken <= limit
                && reservation.as_mut().is_some_and(|held| held.grow(data.len()).is_ok());
            if !kept && reservation.take().is_some() {
                filling.give_up_keeping();
            }
            if filling.push(data).await.is_err() {
                return;
            }
        }
        if shared.length.is_some_and(|length| length != taken) {
            filling.fail(BodyError::Origin("it is not as long as announced".into()));
            return;
        }
        let whole = filling.finish();
        drop(reservation);
        if let Some(whole) = whole {
            self.store(&shared, whole);
        }
        drop(lead);
    }

    fn store(&self, shared: &Shared, body: Bytes) {
        let Admitted { head, vary, terms, marks } = &shared.admitted;
        let (vary, marks) = (vary.clone(), marks.copied());
        let took_ms = self.server.clock.now().ticks_ms.saturating_sub(self.request_ticks_ms);
        let (head, codings) = (head.clone(), self.site.rules().codings);
        let page = Page::stored(head, &self.key, body, *terms, vary, marks, codings);
        let page = page.that_took(took_ms).asked_by(self.is_of_bearer);
        let key = Key { hash: self.hash, text: &self.key };
        insert(&self.server, &self.site, &key, Arc::new(page), self.began);
    }
}

/// Stores a page unless the site was written to since its fetch began, or something was
/// purged that it bears the mark of.
/// Whether it is stored now.
pub(crate) fn insert(
    server: &Server,
    site: &Site,
    key: &Key<'_>,
    page: Arc<Page>,
    began: Moment,
) -> bool {
    let ticks_ms = server.clock.now().ticks_ms;
    // A write moves the count before it removes: it is seen here, or it finds this page.
    let inserted = server.store.insert_if(key, page.clone(), || {
        !server.is_leaving()
            && site.generations.may_store(began)
            && site.generations.standing(&page.marks, key, ticks_ms) != Standing::Gone
    });
    let is_stored = matches!(inserted, Inserted::Stored { .. });
    if is_stored {
        server.supersede(key, &page);
        companion::note_stored(site, key, &page);
    }
    is_stored
}
