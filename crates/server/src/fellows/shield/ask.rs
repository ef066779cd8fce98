//! This node's side: the owner of a missing page is asked before the origin is.
//!
//! The order matters: what the site counts is read first, then from where on its database is
//! heard, then how far this node is in touch, then how far it has heard. So what is stored of the answer falls to everything that this node
//! didn't know when it said how far that is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use origin::{Call, OriginError};
use policy::Verdict;
use store::{Key, Lead};
use tokio::time::timeout;
use wire::{Name, RequestHead, ResponseHead, Version};

use super::parcel::{self, PARCEL_BYTES_MAX, Parcel, Without};
use super::{FIELD, GOES_BY, Shield};
use crate::carry::insert;
use crate::fellows::{Fellowship, Place};
use crate::fetch::{self, Landing};
use crate::gather::{Gathered, gather};
use crate::journey::Journey;
use crate::page::Page;
use crate::purge::generations::Moment;
use crate::purge::marks::Marks;
use crate::reply::Reply;
use crate::serve_stored::{self, Shown};
use crate::site::Site;
use crate::strangers::fill::untried;
use crate::strangers::guests::Sharing;
use crate::strangers::welcome;
use crate::views;

/// Longer than any page takes that its owner says it is at work on.
const PATIENCE: Duration = Duration::from_secs(75);

/// What was known before a fellow was asked.
pub(super) struct Before {
    began: Moment,
    ticks_ms: u64,
    /// All that was acknowledged before this moment had been heard.
    heard_since_ms: u64,
    pub(super) place: Place,
    /// From where on this node hears of what is behind the site; none: it follows nothing.
    pub(super) goes_by: Option<u64>,
}

/// Whether a site's pages may come from a fellow: only where each node hears of all that makes
/// them old by the stream, [what it goes by](goes_by) too.
pub(super) fn is_fit(site: &Site) -> bool {
    site.caches && !site.is_elsewhere
}

/// From where on this node hears of what is behind a site, if it follows anything. None: not by
/// the stream, and what each node hears for itself, one may hear later.
pub(super) fn goes_by(site: &Site) -> Option<Option<u64>> {
    match &site.following {
        Some(following) => following.goes_by().map(Some),
        None => Some(None),
    }
}

/// The reply that a fellow's page makes; else everything as it was, for the origin to be asked.
pub(crate) async fn ask(
    journey: Journey,
    hash: u64,
    lead: Lead<Landing>,
) -> Result<Reply, Box<(Journey, Lead<Landing>)>> {
    let server = journey.server.clone();
    let found = match &server.fellowship {
        Some(fellowship) => fetched(&journey, fellowship).await,
        None => None,
    };
    let Some((before, parcel)) = found else { return Err(Box::new((journey, lead))) };
    let was_kept = parcel.was_kept;
    let Some(page) = accepted(&journey, hash, &before, parcel) else {
        server.counters.fellows_without.bump();
        return Err(Box::new((journey, lead)));
    };
    server.counters.fellows_gave.bump();
    let page = Arc::new(page);
    let key = Key { hash, text: &journey.key };
    insert(&server, &journey.site, &key, page.clone(), before.began);
    if let Some(strangers) = journey.site.strangers.as_ref().filter(|_| page.is_for_strangers()) {
        let order = welcome::order(&journey, hash);
        if let Some(following) = &journey.site.following {
            following.wanted.note(&order, &page);
        }
        order.drop_if_heard(strangers);
    }
    lead.land(Landing::Page { page: page.clone(), verdict: Verdict::Collapsed });
    let asked = journey.asked();
    if was_kept {
        views::note(&asked, &page);
    }
    let ticks_ms = asked.now.ticks_ms;
    let ttl_ms = page.as_stored().map(|stored| policy::ttl_ms(&stored.terms, ticks_ms));
    let shown = Shown { verdict: Verdict::Fellow, ttl_ms, origin_status: None, is_new: true };
    Ok(serve_stored::reply(page, &asked, shown))
}

/// Whether a request may be answered by a fellow: nobody in particular asks, for a page.
fn may_ask(journey: &Journey, shield: &Shield, ticks_ms: u64) -> bool {
    let is_strangers = journey.site.strangers.is_none()
        || (journey.reader.is_stranger() && journey.reader.errand.is_some());
    !journey.is_for_fellow
        && journey.within.is_none()
        && journey.method() == http::Method::GET
        && !journey.bears_credentials()
        && is_strangers
        && is_fit(&journey.site)
        && !journey.server.is_leaving()
        && journey.server.is_in_touch(ticks_ms)
        && !shield.is_unshared(&journey.head, ticks_ms)
}

/// What the owner of the page hands on.
async fn fetched(journey: &Journey, fellowship: &Fellowship) -> Option<(Before, Parcel)> {
    let (shield, server) = (fellowship.shield.as_ref()?, &journey.server);
    let ticks_ms = journey.now().ticks_ms;
    may_ask(journey, shield, ticks_ms).then_some(())?;
    let began = journey.site.generations.moment();
    let goes_by = goes_by(&journey.site)?;
    let lag_ms = u64::try_from(fellowship.lag.as_millis()).unwrap_or(u64::MAX);
    let heard_until = fellowship.heard_until.load(Ordering::SeqCst);
    let heard_since_ms = heard_until.saturating_sub(lag_ms).min(ticks_ms);
    let roll = fellowship.fellows.roll();
    let before = Before { began, ticks_ms, heard_since_ms, place: roll.heard?, goes_by };
    let (address, origin) = shield.way(&roll, &journey.key, ticks_ms)?;
    let counters = &server.counters;
    counters.fellows_asked.bump();
    let call = call(journey, shield, &before);
    let exchange = async {
        let answer = origin.send(call).await?;
        if answer.head.status != 200 {
            return Err(OriginError::Malformed(format!("status {}", answer.head.status)));
        }
        match gather(answer.body, PARCEL_BYTES_MAX).await {
            Ok(Gathered::Whole(whole)) => Ok(whole),
            Ok(Gathered::Larger(_)) => Err(OriginError::Malformed("it is too large".into())),
            Err(error) => Err(OriginError::Reset(error.to_string())),
        }
    };
    let whole = match timeout(PATIENCE, exchange).await {
        Ok(Ok(whole)) => whole,
        // That says nothing about the fellow.
        Ok(Err(
            OriginError::QueueFull { .. }
            | OriginError::QueueTimeout { .. }
            | OriginError::Unsendable(_),
        )) => return None,
        Ok(Err(_)) | Err(_) => {
            counters.fellows_silent.bump();
            shield.rest(address, journey.now().ticks_ms);
            return None;
        }
    };
    match parcel::read(&whole, before.ticks_ms) {
        Some(Ok(parcel)) => Some((before, parcel)),
        Some(Err(why)) => {
            counters.fellows_without.bump();
            if why == Without::Unshared {
                shield.note_unshared(&journey.head, journey.now().ticks_ms);
            }
            None
        }
        None => {
            counters.fellows_silent.bump();
            shield.rest(address, journey.now().ticks_ms);
            None
        }
    }
}

/// The request as the fellow shall see it: the visitor's, but for what concerns only its own
/// copy of the page.
fn call(journey: &Journey, shield: &Shield, before: &Before) -> Call {
    let (peers, head) = (journey.peers, &journey.head);
    let mut fields = policy::to_origin(head, peers.peer.ip(), peers.scheme);
    policy::strip_conditionals(&mut fields);
    policy::strip_range(&mut fields);
    let is_own =
        |name: &[u8]| [FIELD, GOES_BY].iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()));
    fields.retain(|_, name, _| !is_own(name));
    shield.fields(before, peers.scheme, peers.peer.ip().to_canonical(), &mut fields);
    let head = RequestHead {
        method: http::Method::GET,
        target: head.target.clone(),
        host: head.host.clone(),
        version: Version::Http11,
        fields,
    };
    Call {
        head,
        body: None,
        body_length: Some(0),
        peer: peers.peer,
        local: peers.local,
        scheme: peers.scheme,
        is_counted: false,
        early: None,
        phases: None,
    }
}

/// The page of a parcel, if it is for this request and still fresh.
fn accepted(journey: &Journey, hash: u64, before: &Before, parcel: Parcel) -> Option<Page> {
    // One that knows nothing of what is followed here doesn't say so.
    (parcel.goes_by == before.goes_by).then_some(())?;
    let Parcel { status, fields, body, vary, terms, tags, is_of_bearer, for_strangers, .. } =
        parcel;
    let now = journey.now();
    (policy::ttl_ms(&terms, now.ticks_ms) > 0).then_some(())?;
    vary.as_ref().is_none_or(|vary| vary.matches(&journey.head.fields)).then_some(())?;
    let sharing = match for_strangers {
        Some(kept) => {
            let strangers = journey.site.strangers.as_ref()?;
            journey.reader.is_stranger().then_some(())?;
            untried(&welcome::order(journey, hash)).is_none().then_some(())?;
            let sharing = journey.reader.sharing(&[], before.began.content, kept.tells_time);
            let copy = kept.copy.map(|copy| strangers.copies.keep_again(copy));
            Some(Sharing { copy, ..sharing })
        }
        None => None,
    };
    let mut fields = fields;
    fields.remove(Name::ContentLength);
    fetch::put_date(&mut fields, now);
    let head = ResponseHead { status, fields };
    let marks = Marks::of_names(before.began, &journey.head.host, &tags);
    let codings = journey.site.rules().codings;
    let page = Page::stored(head, &journey.key, body, terms, vary, marks, codings);
    let page = match sharing {
        Some(sharing) => page.shared(sharing, None),
        None => page,
    };
    let took_ms = now.ticks_ms.saturating_sub(before.ticks_ms);
    Some(page.that_took(took_ms).asked_by(is_of_bearer).known_since(before.heard_since_ms))
}
