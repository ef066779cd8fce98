//! One part of a page: a request of its own on the same road.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use transform::esi::{Include, Keeping};
use wire::h1::Length;
use wire::{Body, Fields, Name, RequestHead, Version};

use super::private::{Owner, PART_BYTES_MAX};
use super::{Context, Within, elsewhere};
use crate::access::Begun;
use crate::gather::{Gathered, gather};
use crate::journey::{Journey, Peers};
use crate::pipeline::{self, Errand, Turn};
use crate::reply::{Head, Payload, Reply};
use crate::site::Site;
use store::Key;

/// A longer address is nobody's.
const TARGET_BYTES_MAX: usize = 8 << 10;

/// A part that was got.
pub(super) struct Got {
    pub(super) content: Content,
    /// Whether it is the same for everybody, as its origin declares.
    pub(super) is_shared: bool,
}

pub(super) enum Content {
    Here(Bytes),
    Coming(Body),
}

/// Why there is none: the status that its answer had.
pub(super) struct Missing(pub(super) u16);

/// What is asked for, and where in the answer.
pub(super) struct Order {
    /// Whose part it is: the page's own site as a rule.
    site: Arc<Site>,
    peers: Peers,
    head: RequestHead,
    key: Vec<u8>,
    within: Arc<Within>,
    keeping: Keeping,
}

/// What came of it without waiting.
pub(super) enum AtOnce {
    Here(Got),
    Missing(Missing),
    Onward(Box<(Errand, Order)>),
}

/// The part at an address, as far as it can be had without waiting.
pub(super) fn at_once(context: &Context, source: &str, keeping: Keeping) -> AtOnce {
    let Some(mut order) = order(context, source, keeping) else {
        return AtOnce::Missing(Missing(400));
    };
    let (server, site, peers) = (&context.server, order.site.clone(), order.peers);
    let now = server.clock.now();
    let line = server.has_log().then(|| Begun::of_part(&order.head, peers.peer.ip(), now));
    server.counters.esi_parts.bump();
    let turn = pipeline::set_off(
        server,
        &site,
        &mut order.head,
        false,
        now,
        &mut order.key,
        peers,
        Some(&order.within),
    );
    let errand = match turn {
        Turn::Arrived(reply) => {
            server.note_part(line, &reply, now);
            server.counters.esi_parts_at_hand.bump();
            return match got(reply) {
                Ok(got) => AtOnce::Here(got),
                Err(missing) => AtOnce::Missing(missing),
            };
        }
        Turn::Onward(errand) => errand,
    };
    let kept = Owner::of(&site, &order.head, peers).and_then(|owner| {
        let key = Key { hash: errand.hash, text: &order.key };
        server.private_parts.find(&site, &owner, &order.head.target, &key, now.ticks_ms)
    });
    match kept {
        Some(body) => {
            server.counters.esi_parts_private.bump();
            AtOnce::Here(Got { content: Content::Here(body), is_shared: false })
        }
        None => AtOnce::Onward(Box::new((errand, order))),
    }
}

/// A part that must be waited for; where it can't be had, its alternative.
pub(super) async fn get(
    context: &Arc<Context>,
    include: &Include,
    first: Box<(Errand, Order)>,
) -> Result<Got, Missing> {
    let missing = match fetch(context, *first).await {
        Ok(got) => return Ok(got),
        Err(missing) => missing,
    };
    match alternative(context, include) {
        None => Err(missing),
        Some(AtOnce::Here(got)) => Ok(got),
        Some(AtOnce::Missing(missing)) => Err(missing),
        Some(AtOnce::Onward(onward)) => fetch(context, *onward).await,
    }
}

/// What is asked for instead of a part that can't be had.
pub(super) fn alternative(context: &Context, include: &Include) -> Option<AtOnce> {
    include.alternative.as_ref().map(|source| at_once(context, source, include.keeping))
}

async fn fetch(context: &Arc<Context>, (errand, order): (Errand, Order)) -> Result<Got, Missing> {
    let Order { site, peers, head, key, within, keeping } = order;
    let (server, site) = (&context.server, &site);
    let now = server.clock.now();
    let line = server.has_log().then(|| Begun::of_part(&head, peers.peer.ip(), now));
    let owner = Owner::of(site, &head, peers);
    let (target, hash, text) = (head.target.clone(), errand.hash, key.clone());
    let journey =
        Journey::new(server.clone(), &errand, head, key, Length::None, None, peers, None, None);
    let journey = journey.within(within.clone());
    let reply = Box::pin(pipeline::travel(journey, errand.hash, errand.task)).await;
    server.note_part(line, &reply, server.clock.now());
    let got = got(reply)?;
    let leave = within.leave.lock().take();
    let (Some(owner), Some(leave)) = (owner, leave) else { return Ok(got) };
    let by_page = keeping.seconds.filter(|_| keeping.is_private);
    let seconds = by_page.or(leave.seconds).filter(|&seconds| seconds > 0 && !keeping.is_forbidden);
    let (Some(seconds), false) = (seconds, got.is_shared) else { return Ok(got) };
    let body = match got.content {
        Content::Here(bytes) => bytes,
        Content::Coming(body) => match gather(body, PART_BYTES_MAX).await {
            Ok(Gathered::Whole(bytes)) => bytes,
            Ok(Gathered::Larger(body)) => {
                return Ok(Got { content: Content::Coming(body), is_shared: false });
            }
            Err(_) => return Err(Missing(502)),
        },
    };
    let (key, ticks_ms) = (Key { hash, text: &text }, server.clock.now().ticks_ms);
    let private = &server.private_parts;
    let store = &server.store;
    if !private.keep(store, site, &owner, &target, &key, &body, leave, seconds, ticks_ms) {
        server.counters.esi_parts_not_kept.bump();
    }
    Ok(Got { content: Content::Here(body), is_shared: false })
}

/// The request for a part: the visitor's own, for another address; or nobody's, on another host
/// that the owner names.
fn order(context: &Context, source: &str, keeping: Keeping) -> Option<Order> {
    let (host, page) = (&context.head.host, &context.head.target);
    let resolved = ["http", "https"]
        .into_iter()
        .find_map(|scheme| policy::resolve_here(scheme, host, page, source));
    let own = |target| elsewhere::Place {
        site: context.site.clone(),
        host: host.clone(),
        target,
        peers: context.peers,
    };
    let others = || context.site.elsewhere.iter().find_map(|it| it.place(context.peers, source));
    let place = resolved.map(own).or_else(others).filter(|elsewhere::Place { target, .. }| {
        target.len() <= TARGET_BYTES_MAX && target.bytes().all(|byte| byte.is_ascii_graphic())
    });
    let Some(elsewhere::Place { site, host, target, peers }) = place else {
        context.server.counters.esi_parts_elsewhere.bump();
        return None;
    };
    let Some(within) = context.within.next(&context.site) else {
        context.server.counters.esi_parts_left_out.bump();
        return None;
    };
    let head = RequestHead {
        method: Method::GET,
        target,
        host,
        version: Version::Http11,
        fields: match site.is_elsewhere {
            true => elsewhere::fields(),
            false => {
                let own = || fields_of_part(&context.head.fields);
                context.part_fields.get_or_init(own).clone()
            }
        },
    };
    Some(Order { site, peers, head, key: Vec::new(), within: Arc::new(within), keeping })
}

/// What of the visitor's request is said of its parts as well: not what is about the whole
/// answer, its bytes or its connection.
fn fields_of_part(page: &Fields) -> Fields {
    let only_if_cached = policy::is_only_if_cached(page);
    page.filtered(|known, name, _| {
        let is_about_the_whole = match known {
            Some(name) => matches!(
                name,
                Name::Range
                    | Name::IfRange
                    | Name::IfMatch
                    | Name::IfNoneMatch
                    | Name::IfModifiedSince
                    | Name::IfUnmodifiedSince
                    | Name::AcceptEncoding
                    | Name::Connection
                    | Name::KeepAlive
                    | Name::Te
                    | Name::Trailer
                    | Name::TransferEncoding
                    | Name::ContentLength
                    | Name::ContentEncoding
                    | Name::ContentType
                    | Name::Expect
                    | Name::Upgrade
            ),
            None => false,
        };
        let is_only = only_if_cached && known == Some(Name::CacheControl);
        let is_fetch =
            name.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"sec-fetch-"));
        !is_about_the_whole && !is_only && !is_fetch
    })
}

/// What an answer is as a part.
fn got(reply: Reply) -> Result<Got, Missing> {
    let status = reply.status();
    if !(200..300).contains(&status) || status == 206 {
        return Err(Missing(status));
    }
    let is_shared = match &reply.head {
        Head::Stored { page, .. } => {
            !page.is_for_strangers() && page.as_stored().is_some_and(|it| it.terms.explicit)
        }
        Head::Ready(head) if head.fields.has(Name::ContentEncoding) => return Err(Missing(502)),
        Head::Ready(_) => false,
    };
    let content = match reply.payload {
        Payload::None => Content::Here(Bytes::new()),
        Payload::Whole(bytes) => Content::Here(bytes),
        Payload::Parts(parts) => Content::Here(parts.concat().into()),
        Payload::Stream { body, .. } => Content::Coming(body),
        Payload::File(stretch) => Content::Coming(stretch.into_body()),
        // What is kept in slices is too large to be a part.
        Payload::Tunnel(_) | Payload::Sliced(_) => return Err(Missing(502)),
    };
    Ok(Got { content, is_shared })
}
