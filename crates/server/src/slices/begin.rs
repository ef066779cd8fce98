//! Beginning: an answer that is too large for memory becomes a page in slices.
//!
//! Of a whole answer the head becomes the page at once, and the body is written to the disk as
//! fast as both go, while its visitor and all others read it from there. Where a part is asked
//! for of what is not stored, the origin is asked for the slices around it, by one for all who
//! come meanwhile; what turns out not to be kept so is remembered, and each is passed on.
//! Start at [`take_over`] and [`probe`].

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use origin::Answer;
use policy::slices::{RUN_SLICES, SLICE_BYTES, bytes_of, may_be_cut, part, slices_of, whole_head};
use policy::{Admission, MissReason, NoStore, PassReason, Terms, Verdict};
use store::{Key, Lead, Role};
use wire::{Body, Fields, Name, ResponseHead};

use super::Object;
use super::fill::{self, Asker};
use crate::carry::{self, Admitted};
use crate::disk;
use crate::fetch::{self, Boarding, Fetch, Landing};
use crate::journey::Journey;
use crate::page::{Kind, Page};
use crate::pipeline;
use crate::purge::marks::Marks;
use crate::reply::{Payload, Reply, Told};
use crate::serve_stored::{self, Shown};

/// What is appended to a key for what is known of its parts.
const PARTS: &[u8] = b" parts";

/// Whether an answer that may be stored on these terms, and is too large, is kept in slices.
pub(crate) fn is_cut(
    journey: &Journey,
    head: &ResponseHead,
    length: Option<u64>,
    terms: &Terms,
) -> bool {
    length.is_some_and(|length| journey.server.cuts(length)) && may_be_cut(head, terms)
}

/// Makes a page of a whole answer's head, and has its body carried to the disk. The body comes
/// back where the page may not be stored any more.
pub(crate) fn take_over(
    journey: Journey,
    lead: Lead<Landing>,
    admitted: Admitted,
    answer: Answer,
    fetch: &Fetch,
) -> Reply {
    let length = answer.length.unwrap_or(0);
    let Some((page, object)) = begin(&journey, admitted, length, fetch) else {
        lead.land(Landing::Uncacheable);
        let verdict = Verdict::Miss(fetch.why);
        let told = Told::fetched(verdict, answer.head.status, Some(Err(NoStore::Swept)));
        return Reply::passed(answer, &journey, &told);
    };
    // Who wants a part of what is sent in parts is not made to pull all of it.
    let is_enough = policy::wants_part(&journey.head.fields)
        && answer.head.fields.has_member(Name::AcceptRanges, "bytes");
    let body = (!is_enough).then_some((answer.body, 0..length));
    let status = answer.head.status;
    reply(&journey, lead, page, object, body, fetch, status)
}

/// Stores the page of a large answer; none if that may not be.
fn begin(
    journey: &Journey,
    admitted: Admitted,
    length: u64,
    fetch: &Fetch,
) -> Option<(Arc<Page>, Arc<Object>)> {
    let Journey { server, site, .. } = journey;
    let shelf = server.slices_shelf()?;
    let object = shelf.slices.object(shelf.disk.next_sequence(), length);
    let Admitted { head, vary, terms, marks } = admitted;
    let page = Page::sliced(head, &journey.key, object.clone(), terms, vary, marks);
    let page = Arc::new(page);
    let key = Key { hash: fetch.hash, text: &journey.key };
    if !carry::insert(server, site, &key, page.clone(), fetch.began) {
        return None;
    }
    // Without it what is written of its body is of no use to the next run.
    disk::keep(server, site, &key, &page, journey.now());
    Some((page, object))
}

/// The reply to who caused a page in slices, and word to those who wait for it.
fn reply(
    journey: &Journey,
    lead: Lead<Landing>,
    page: Arc<Page>,
    object: Arc<Object>,
    body: Option<(Body, Range<u64>)>,
    fetch: &Fetch,
    origin_status: u16,
) -> Reply {
    let verdict = Verdict::Miss(fetch.why);
    let shown = Shown { verdict, ttl_ms: None, origin_status: Some(origin_status), is_new: true };
    let reply = serve_stored::reply(page.clone(), &journey.asked(), shown);
    // What nobody reads is not fetched: there may be nobody, as where it is made anew behind
    // everybody's back.
    if let (Payload::Sliced(_), Some((body, bytes))) = (&reply.payload, body) {
        let Journey { server, site, head, key, peers, .. } = journey;
        let ticket = object.claim(slices_of(&bytes));
        let journey = Journey::unattended(server, site, head, key, *peers);
        let (hash, page) = (fetch.hash, page.clone());
        let has_asked = AtomicBool::new(true);
        let asker = Arc::new(Asker { journey, hash, page, object, has_asked });
        let carry = fill::by_body(asker, ticket, body, bytes);
        base::task::spawn_counted(&server.counters.panics, carry);
    }
    lead.land(Landing::Page { page, verdict: Verdict::Collapsed });
    reply
}

/// Answers a request for a part of what is not stored.
pub(crate) async fn probe(journey: Journey, hash: u64) -> Reply {
    let wanted = policy::range::foremost(&journey.head.fields);
    let is_worth_it = journey.server.slices_shelf().is_some() && !is_known_uncut(&journey);
    let Some(wanted) = wanted.filter(|_| is_worth_it) else {
        return fetch::pass(journey, hash, PassReason::Range).await;
    };
    let flight = fetch::flight_key(&journey, hash, None).of(PARTS);
    let landing = match journey.server.flights.join(&flight.key()) {
        Role::Leader(lead) => return lead_probe(journey, hash, lead, wanted).await,
        Role::Waiter(wait) => wait.outcome().await,
    };
    match landing.map(|landing| fetch::board(&journey, landing)) {
        Some(Boarding::Aboard(reply)) => *reply,
        _ => fetch::pass(journey, hash, PassReason::Range).await,
    }
}

/// Asks for the slices around what is wanted, to see what they are slices of.
async fn lead_probe(
    mut journey: Journey,
    hash: u64,
    lead: Lead<Landing>,
    wanted: RangeInclusive<u64>,
) -> Reply {
    let first = wanted.start() / SLICE_BYTES;
    let last = (wanted.end() / SLICE_BYTES).min(first.saturating_add(RUN_SLICES - 1));
    let bytes = bytes_of(&(first..last.saturating_add(1)), u64::MAX);
    let asked = bytes.start..=bytes.end - 1;
    let began = journey.site.generations.moment();
    let sites = journey.server.sites().number();
    let request_ticks_ms = journey.now().ticks_ms;
    let mut call = journey.call();
    policy::strip_conditionals(&mut call.head.fields);
    policy::slices::ask_for(&mut call.head.fields, &asked, None);
    journey.server.counters.fetches.bump();
    let answer = match journey.site.ask(&journey.server, call).await {
        Ok(answer) => answer,
        Err(error) => {
            let status = error.status();
            lead.land(Landing::Failed { status, error: error.clone() });
            return Reply::failed(&error, &journey.key);
        }
    };
    fetch::note_changes(&journey, &answer.head);
    if answer.file.is_some() {
        // It is here already, and its parts are cut from it.
        lead.land(Landing::Uncacheable);
        let verdict = Verdict::Pass(PassReason::Range);
        return Reply::passed(answer, &journey, &Told::fetched(verdict, 200, None));
    }
    let found = match answer.head.status {
        200 => answer.length.map(|length| (answer.head.clone(), 0..length, length)),
        206 => part(&answer.head.fields)
            .filter(|(range, _)| range.start() == asked.start() && range.end() <= asked.end())
            .map(|(range, length)| {
                (whole_head(&answer.head, length), bytes.start..range.end() + 1, length)
            }),
        _ => None,
    };
    let why = MissReason::UriMiss;
    let fetch = Fetch { hash, request_ticks_ms, began, sites, why };
    if let Some((head, bytes, length)) = found
        && let Some(admitted) = admit(&journey, &head, length, &fetch)
        && let Some((page, object)) = begin(&journey, admitted, length, &fetch)
    {
        let body = Some((answer.body, bytes));
        return reply(&journey, lead, page, object, body, &fetch, answer.head.status);
    }
    if answer.head.status < 500 {
        note_uncut(&journey);
    }
    lead.land(Landing::Uncacheable);
    drop(answer);
    // As it was asked for, that is: what came is more, or not what the visitor would be given.
    fetch::pass(journey, hash, PassReason::Range).await
}

fn admit(journey: &Journey, head: &ResponseHead, length: u64, fetch: &Fetch) -> Option<Admitted> {
    let now = journey.now();
    let Admission::Store(terms) = journey.admit(head, fetch.request_ticks_ms) else { return None };
    is_cut(journey, head, Some(length), &terms).then(|| {
        let marks = Marks::of(fetch.began, &journey.head.host, &head.fields);
        let vary = journey.vary_key(&head.fields);
        let head = fetch::clean(&journey.site, head, now);
        Admitted { head, vary, terms, marks }
    })
}

/// Remembers that parts of this are not kept, so that nobody asks in vain.
fn note_uncut(journey: &Journey) {
    let seconds = u64::from(journey.site.rules().pass_memory_seconds);
    let until = journey.now().ticks_ms + seconds * 1000;
    let moment = journey.site.generations.moment();
    let marks = Marks::of(moment, &journey.head.host, &Fields::new());
    let text = [&journey.key, PARTS].concat();
    let key = Key { hash: pipeline::hash(&text), text: &text };
    journey.server.store.insert(&key, Arc::new(Page::pass_until(until, None, marks)));
}

fn is_known_uncut(journey: &Journey) -> bool {
    let text = [&journey.key, PARTS].concat();
    let key = Key { hash: pipeline::hash(&text), text: &text };
    let Journey { server, site, head, reader, .. } = journey;
    let now = journey.now();
    let marker = pipeline::find(server, site, head, now, &key, reader);
    marker.is_some_and(
        |(page, _)| matches!(page.kind, Kind::PassUntil { ticks_ms } if now.ticks_ms < ticks_ms),
    )
}
