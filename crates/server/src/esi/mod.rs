//! Pages with holes: one page for everybody, whose parts are got for each request (ESI).
//!
//! ```text
//! a page that asks for it ─ compiled once, when it is stored
//!     request → plan → parts: at hand? ─ all of them ─→ one answer with its length
//!                                      └ else: got side by side, sent in their order
//! ```
//!
//! A part is a request of its own on the same road: judged, shared by flights, stored, purged by
//! its tags; one that its answer keeps for one visitor lies in [`private`]. `transform::esi`
//! reads pages, `policy::surrogate` knows who asks for it.
//! Why it is so: `docs/decisions/esi.md`.
//! Invariants: 1. what was made for one visitor is found by that visitor alone ([`private`]).
//! 2. an answer says that others may keep it only if nothing in it could be anybody's own.
//! 3. a part is asked for on the page's own host, with the visitor's own rights, or as nobody
//! on a host that the owner names ([`elsewhere`]).
//! 4. parts are bounded in number and depth by their visitor's one answer.
//! Start at [`stored`] (a page from the store) and [`passing`] (any other).

mod assembly;
pub(crate) mod elsewhere;
mod head;
mod part;
pub(crate) mod private;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::stream;
use http::Method;
use http_body_util::{BodyExt, StreamBody};
use origin::{Answer, OriginError};
use parking_lot::Mutex;
use policy::lscache;
use policy::surrogate::{CAPABILITY, CAPABILITY_FIELD, Esi, wants_esi};
use tokio::sync::Semaphore;
use transform::esi::{Compiler, Template};
use wire::{Body, BodyError, Fields, Name, RequestHead, ResponseHead};

use self::assembly::Assembly;
use self::private::{Leave, Near};
use crate::coding::passing;
use crate::fetch::object_bytes_max;
use crate::gather::{Gathered, gather};
use crate::journey::{Journey, Peers};
use crate::page::Stored;
use crate::purge::generations::Moment;
use crate::reply::{Head, Payload, Reply};
use crate::serve_stored::{Asked, Shown};
use crate::site::Site;
use crate::{Server, render};

/// A larger page goes out as it is.
pub(crate) const PAGE_BYTES_MAX: usize = 4 << 20;

/// Parts of one answer, those within parts included; what is more is left out.
const PARTS_MAX: u32 = 128;

/// Parts within parts.
const DEPTH_MAX: u8 = 4;

/// Parts of one answer that are asked for at once.
const AT_ONCE: usize = 8;

/// By this a stored page is known that is to be put together here.
const MARK: &str = "content=\"ESI/1.0\";wick";

/// Where in an answer a part stands, and what it is to tell whoever asked for it.
pub(crate) struct Within {
    depth: u8,
    /// What is left of the answer's parts.
    left: Arc<AtomicU32>,
    places: Arc<Semaphore>,
    /// When it was asked for.
    began: Moment,
    /// Whether its answer may be kept for its visitor: told by the answer, before what is for
    /// caches alone is taken from it.
    leave: Mutex<Option<Leave>>,
}

impl Within {
    fn first() -> Self {
        Self {
            depth: 0,
            left: Arc::new(AtomicU32::new(PARTS_MAX)),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            began: Moment::default(),
            leave: Mutex::default(),
        }
    }

    /// The place of a part in what stands here; none if there are too many, or it is too deep.
    fn next(&self, site: &Site) -> Option<Self> {
        let take = |left: u32| left.checked_sub(1);
        let has_room = self.depth < DEPTH_MAX
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        has_room.then(|| Self {
            depth: self.depth + 1,
            left: self.left.clone(),
            places: self.places.clone(),
            began: site.generations.moment(),
            leave: Mutex::default(),
        })
    }
}

/// All that is needed to get parts: who asks for the page they stand in.
struct Context {
    server: Arc<Server>,
    site: Arc<Site>,
    head: RequestHead,
    peers: Peers,
    within: Arc<Within>,
    /// What of the request is said of each part as well.
    part_fields: OnceLock<Fields>,
    /// Whether a comment may stand in the page.
    is_markup: bool,
}

impl Context {
    fn of(asked: &Asked<'_>, fields: &Fields) -> Arc<Self> {
        let kind = fields.text(Name::ContentType).unwrap_or_default();
        Arc::new(Self {
            server: asked.server.clone(),
            site: asked.site.clone(),
            head: asked.head.clone(),
            peers: asked.peers,
            within: asked.within.cloned().unwrap_or_else(|| Arc::new(Within::first())),
            part_fields: OnceLock::new(),
            is_markup: kind.contains("html") || kind.contains("xml"),
        })
    }
}

/// Tells an origin that its pages may have holes, and LiteSpeed's plugins that there is a cache.
/// What comes compressed has none.
pub(crate) fn announce(site: &Site, fields: &mut Fields) {
    let rules = site.rules();
    let has_esi = rules.esi != Esi::Off && !rules.codings.is_empty();
    if has_esi {
        fields.push(CAPABILITY_FIELD, CAPABILITY);
    }
    if rules.lscache && site.caches {
        fields.push(lscache::ANNOUNCEMENT_FIELD, lscache::announcement(has_esi));
    }
}

/// Whether an answer is to be put together: it asks for it, or was found to have holes.
pub(crate) fn is_wanted(site: &Site, answer: &ResponseHead) -> bool {
    site.rules().esi != Esi::Off && wants_esi(Esi::Asked, answer.status, &answer.fields)
}

/// Looks an answer through that doesn't ask for it, where the owner wants that, and marks one
/// that has holes.
pub(crate) async fn look_through(
    site: &Site,
    server: &Server,
    answer: &mut Answer,
) -> Result<(), BodyError> {
    let esi = site.rules().esi;
    let is_new = esi == Esi::Always
        && answer.file.is_none()
        && !is_wanted(site, &answer.head)
        && wants_esi(esi, answer.head.status, &answer.head.fields);
    if !is_new || !take_whole(server, answer).await? {
        return Ok(());
    }
    // It is here, and read again from its start.
    let body = std::mem::replace(&mut answer.body, wire::body::empty());
    if let Gathered::Whole(bytes) = gather(body, PAGE_BYTES_MAX).await? {
        if !Compiler::compile(&bytes).is_plain(bytes.len()) {
            mark(&mut answer.head.fields);
        }
        answer.body = wire::body::full(bytes);
    }
    Ok(())
}

/// What a page that lies in the store is compiled to; none: it goes out as it is. `fields` say
/// afterwards which of both.
pub(crate) fn compiled(status: u16, fields: &mut Fields, body: &Bytes) -> Option<Arc<Template>> {
    if !fields.has(Name::SurrogateControl)
        || !fields.all(Name::SurrogateControl).any(|line| line == MARK.as_bytes())
    {
        return None;
    }
    let wanted = wants_esi(Esi::Asked, status, fields) && body.len() <= PAGE_BYTES_MAX;
    let template = wanted.then(|| Compiler::compile(body));
    match template.filter(|template| !template.is_plain(body.len())) {
        Some(template) => Some(Arc::new(template)),
        None => {
            fields.remove(Name::SurrogateControl);
            None
        }
    }
}

/// A page from the store, put together for this request.
pub(crate) fn stored(
    stored: &Stored,
    is_for_strangers: bool,
    template: &Template,
    asked: &Asked<'_>,
    shown: Shown,
) -> Reply {
    let mut fields = stored.fields();
    asked.server.counters.esi_pages.bump();
    let context = Context::of(asked, &fields);
    let is_head = asked.head.method == Method::HEAD;
    let mut assembly = Assembly::of(context, &stored.body, template, is_head);
    let parts = assembly.parts;
    // What strangers share is theirs by our leave, not by the origin's.
    let is_personal = is_for_strangers || template.reads_request() || assembly.may_be_personal();
    head::dress(&mut fields, is_personal, template.has_includes());
    let age_seconds = policy::age_seconds(&stored.terms, asked.now.ticks_ms);
    fields.put(Name::Age, age_seconds.to_string());
    let wanted = passing::wanted(asked.site, asked.head, stored.status, &mut fields);
    let payload = match assembly.whole() {
        _ if is_head => Payload::None,
        Some(whole) if wanted.is_empty() => {
            fields.put(Name::ContentLength, whole.len().to_string());
            Payload::Whole(whole)
        }
        Some(whole) => Payload::Stream { body: wire::body::full(whole), length: None },
        None => Payload::Stream { body: assembly.into_body(), length: None },
    };
    let payload = passing::encode(asked.server, asked.head, wanted, &mut fields, payload);
    let told = shown.told();
    told.write_parts(&mut fields, asked.key, parts);
    let head = Head::Ready(ResponseHead { status: stored.status, fields });
    let payload = if render::bears_length(stored.status) { payload } else { Payload::None };
    Reply { verdict: shown.verdict, unstored: None, head, payload }
}

/// The fields and the payload of an answer that isn't stored, with its parts.
pub(crate) fn passed(
    journey: &Journey,
    status: u16,
    fields: &mut Fields,
    payload: Payload,
) -> Payload {
    let asked = journey.asked();
    journey.server.counters.esi_pages.bump();
    let context = Context::of(&asked, fields);
    head::dress(fields, true, true);
    let wanted = passing::wanted(&journey.site, &journey.head, status, fields);
    let payload = match payload {
        Payload::Stream { body, .. } if journey.head.method != Method::HEAD => {
            Payload::Stream { body: Assembly::of_coming(context, body).into_body(), length: None }
        }
        other => other,
    };
    passing::encode(&journey.server, &journey.head, wanted, fields, payload)
}

/// Finds out whether an answer has holes, and takes one whole that is to be stored: it can't be
/// put together before. False: it is too large for that.
pub(crate) async fn take_in(
    site: &Site,
    server: &Server,
    answer: &mut Answer,
    may_store: bool,
) -> Result<bool, OriginError> {
    let broken = |error: BodyError| OriginError::Reset(error.to_string());
    look_through(site, server, answer).await.map_err(broken)?;
    match may_store && is_wanted(site, &answer.head) {
        true => take_whole(server, answer).await.map_err(broken),
        false => Ok(true),
    }
}

/// Takes the whole body; false: it is too large, and still to be read from its start.
async fn take_whole(server: &Server, answer: &mut Answer) -> Result<bool, BodyError> {
    let most = usize::try_from(object_bytes_max(server)).unwrap_or(usize::MAX);
    let body = std::mem::replace(&mut answer.body, wire::body::empty());
    match gather(weighed(server, body), PAGE_BYTES_MAX.min(most)).await? {
        Gathered::Whole(bytes) => {
            if answer.length.is_some_and(|length| length != bytes.len() as u64) {
                return Err(BodyError::Origin("it is not as long as announced".into()));
            }
            answer.length = Some(bytes.len() as u64);
            answer.body = wire::body::full(bytes);
            Ok(true)
        }
        Gathered::Larger(body) => {
            answer.body = body;
            Ok(false)
        }
    }
}

/// A body that is weighed while it is taken whole.
fn weighed(server: &Server, body: Body) -> Body {
    let room = server.store.reserve(0).ok();
    let frames = stream::unfold((body, room), |(mut body, mut room)| async move {
        let frame = body.frame().await?;
        let bytes = frame.as_ref().ok().and_then(|frame| frame.data_ref()).map_or(0, Bytes::len);
        let has_room = room.as_mut().is_some_and(|room| room.grow(bytes).is_ok());
        match has_room {
            true => Some((frame, (body, room))),
            false => {
                let error = BodyError::Ours("there is no memory to put a page together".into());
                Some((Err(error), (wire::body::empty(), room)))
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// What an answer to a part says of keeping it, told to who asked for the part.
pub(crate) fn tell_leave(journey: &Journey, answer: &ResponseHead) {
    if let Some(within) = &journey.within
        && !is_wanted(&journey.site, answer)
    {
        *within.leave.lock() = Leave::of(answer, &journey.head.host, within.began);
    }
}

/// What an answer that came for one visitor changes of what is kept for that one: a write that
/// succeeded, or a word of the app's.
pub(crate) fn note_changes(journey: &Journey, answer: &ResponseHead) {
    let is_write = !journey.head.method.is_safe();
    if is_write || policy::surrogate::purges_private(&answer.fields) {
        let near = Near::of(&journey.site, journey.peers);
        journey.server.private_parts.forget(&near);
    }
}

/// What is said to surrogates has been heard, if it was for us.
pub(crate) fn keep_for_others(site: &Site, fields: &mut Fields) {
    if site.rules().esi != Esi::Off {
        fields.remove(Name::SurrogateControl);
    }
}

/// What is stored of a page's wish to be put together, in one spelling.
pub(crate) fn keep_wish(site: &Site, head: &ResponseHead, fields: &mut Fields) {
    let esi = site.rules().esi;
    if esi == Esi::Off {
        return;
    }
    if !wants_esi(esi, head.status, &head.fields) {
        fields.remove(Name::SurrogateControl);
    } else {
        mark(fields);
    }
}

/// Takes that word back.
pub(crate) fn unmark(fields: &mut Fields) {
    if fields.all(Name::SurrogateControl).any(|line| line == MARK.as_bytes()) {
        fields.remove(Name::SurrogateControl);
    }
}

/// Says in a stored page's fields that it has holes: what they say themselves may be for others,
/// LiteSpeed's word isn't kept, and the owner's is in no answer.
pub(crate) fn mark(fields: &mut Fields) {
    if !fields.all(Name::SurrogateControl).any(|line| line == MARK.as_bytes()) {
        fields.put(Name::SurrogateControl, MARK);
    }
}
