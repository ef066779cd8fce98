//! Welcome: what becomes of an answer to a stranger that the law doesn't let be stored.
//!
//! A page goes to the stranger who asked, without the session that came with it, and is
//! verified behind their back; whoever asks next waits for that, or finds it shared. What
//! is no page goes on as it came, but for a session that means nothing. In the background
//! a session begins only together with the page that is open ([`super::bind`]).
//! Invariant: a visitor who is given a page without its session can always get one: a copy
//! of that page is kept for binding.

use std::sync::Arc;

use align::Document;
use base::task;
use http::Method;
use origin::{Answer, OriginError};
use policy::strangers::{
    Visitor, bears_drawn, is_known_foreign, may_set_preference, set_cookies, without_sessions,
};
use policy::{NoStore, Verdict};
use store::Lead;
use wire::{Name, ResponseHead, body};

use crate::companion;
use crate::esi;
use crate::fetch::{Fetch, Landing};
use crate::gather::{Gathered, gather};
use crate::journey::Journey;
use crate::page::Page;
use crate::pipeline;
use crate::reply::{Reply, Told};
use crate::serve_stored::{self, Shown};

use super::Strangers;
use super::bind;
use super::brief::Brief;
use super::copies::Copy;
use super::fill::{First, Order, fill, untried, with_counterparts};
use super::holders::SESSION_BYTES_MIN;
use super::persona::{PAGE_BYTES_MAX, Persona, Sample, document_of, goes_on, is_redirect};
use super::refusal::Refusal;
use super::tracking;
use super::verify::{apart, may_be_page};

/// What comes of an answer here.
pub(crate) enum Welcome {
    /// It is dealt with.
    Done(Reply),
    /// It isn't for strangers; the visitor gets it as it is.
    NotHere(Box<(Journey, Lead<Landing>, Answer)>),
}

/// Takes an answer that can't be stored, if its visitor is a stranger.
pub(crate) async fn welcome(
    mut journey: Journey,
    lead: Lead<Landing>,
    answer: Answer,
    fetch: &Fetch,
    reason: NoStore,
) -> Welcome {
    let not_here = |journey, lead, answer| Welcome::NotHere(Box::new((journey, lead, answer)));
    let Some(strangers) = journey.site.strangers.clone() else {
        return not_here(journey, lead, answer);
    };
    if !may_be_for_strangers(&journey, &answer) {
        return not_here(journey, lead, answer);
    }
    if !is_about_privacy(reason) {
        if reason.is_of_the_response() {
            let refusal = Refusal::Law(reason);
            let page = page_hash(&journey);
            let ticks_ms = journey.now().ticks_ms;
            strangers.classes.note_refused(&journey.head.target, page, refusal, ticks_ms);
        }
        return not_here(journey, lead, answer);
    }
    if !may_be_page(answer.head.status, &answer.head.fields) {
        return other_than_pages(journey, lead, answer, &strangers).await;
    }
    let order = order(&journey, fetch.hash);
    // An error that is sent as a page is nobody's own: it is told, and no session with it.
    let untried = untried(&order);
    let is_error = untried.as_deref().is_some_and(|why| matches!(why, Refusal::Error));
    if untried.is_some() && !is_error {
        return not_here(journey, lead, answer);
    }
    let unix_seconds = journey.now().unix_seconds();
    let sample = match whole(answer, unix_seconds).await {
        Ok(sample) => sample,
        Err(Whole::Other(same)) => return not_here(journey, lead, *same),
        Err(Whole::Broken(error)) => {
            lead.land(Landing::Failed { status: error.status(), error: error.clone() });
            return Welcome::Done(Reply::failed(&error, &journey.key));
        }
    };
    // A link out of a mail may let in whoever has it, or counts who came by it: once.
    if is_redirect(sample.status) && bears_drawn(&journey.head.target) {
        land(lead, None);
        return Welcome::Done(deliver(&mut journey, fetch, &sample, false));
    }
    let begins_session = set_cookies(&sample.fields).any(|cookie| !cookie.is_removal(unix_seconds));
    if begins_session && order.brief.is_background() {
        return in_background(journey, lead, &order, fetch, sample).await;
    }
    if is_error || tracking::bare(&order.brief.target).is_some() {
        land(lead, None);
        return Welcome::Done(for_one(&mut journey, &strangers, &order, fetch, &sample));
    }
    if begins_session && links_bear_session(&sample) {
        return clean(journey, lead, &order, fetch, sample).await;
    }
    let withheld = begins_session
        && may_withhold(&strangers, &order, &sample)
        && needs_no_cookie(&strangers, &order, &sample).await;
    Welcome::Done(give(journey, lead, (&strangers, order), fetch, &sample, withheld))
}

/// The page goes to who asked, and is verified behind their back.
fn give(
    mut journey: Journey,
    lead: Lead<Landing>,
    (strangers, order): (&Arc<Strangers>, Order),
    fetch: &Fetch,
    sample: &Sample,
    withheld: bool,
) -> Reply {
    let strangers = strangers.clone();
    let reply = deliver(&mut journey, fetch, sample, withheld);
    if journey.head.method == Method::GET && sample.status == 200 {
        companion::note_wanted(&journey, &sample.fields);
    }
    let copy = withheld.then(|| keep(&strangers, &order, sample)).flatten();
    let asker = sample.document.clone().filter(|_| !is_redirect(sample.status));
    let panics = journey.server.counters.panics.clone();
    let first = asker.clone().map(|document| First { document, began: fetch.began });
    task::spawn_counted(&panics, async move {
        let outcome = fill(&order, first).await;
        if let (Some(copy), Some(asker), Ok(page)) = (copy, asker, &outcome) {
            recognise(&order, &strangers, &copy, asker, page).await;
        }
        land(lead, outcome.ok());
    });
    reply
}

/// Whether an answer is worth a look: it has an end, and goes to a stranger.
fn may_be_for_strangers(journey: &Journey, answer: &Answer) -> bool {
    journey.reader.visitor == Visitor::Stranger
        && journey.reader.errand.is_some()
        && answer.file.is_none()
        && !goes_on(&answer.head.fields)
}

/// Why an answer is no sample.
enum Whole {
    /// It is too large, or coded; here it is.
    Other(Box<Answer>),
    Broken(OriginError),
}

/// Takes an answer whole.
async fn whole(answer: Answer, unix_seconds: u64) -> Result<Sample, Whole> {
    let Answer { head, body, length, .. } = answer;
    let again =
        |head, body, length| Err(Whole::Other(Box::new(Answer { head, body, length, file: None })));
    if length.is_some_and(|bytes| bytes > PAGE_BYTES_MAX as u64) {
        return again(head, body, length);
    }
    let bytes = match gather(body, PAGE_BYTES_MAX).await {
        Ok(Gathered::Whole(bytes)) => bytes,
        Ok(Gathered::Larger(body)) => return again(head, body, length),
        Err(error) => return Err(Whole::Broken(OriginError::Reset(error.to_string()))),
    };
    match Sample::of(head.status, head.fields.clone(), bytes.clone(), unix_seconds) {
        Ok(sample) => Ok(sample),
        Err(_) => {
            let length = Some(bytes.len() as u64);
            again(head, body::full(bytes), length)
        }
    }
}

/// What a fill for this journey's page is.
pub(crate) fn order(journey: &Journey, hash: u64) -> Order {
    Order { brief: Brief::of(journey), key: journey.key.clone(), hash, reader: journey.reader }
}

/// Whether the law forbids to store it because it may be for one person, or says nothing.
fn is_about_privacy(reason: NoStore) -> bool {
    matches!(
        reason,
        NoStore::NoStore
            | NoStore::Private
            | NoStore::SetCookie
            | NoStore::NoFreshness
            | NoStore::Expired
            | NoStore::Status
            // The account under a picture's name is a holder's: personas see what strangers do.
            | NoStore::TypeMismatch
    )
}

fn land(lead: Lead<Landing>, page: Option<Arc<Page>>) {
    lead.land(match page {
        Some(page) => Landing::Page { page, verdict: Verdict::Collapsed },
        None => Landing::Uncacheable,
    });
}

/// Whether the session that came with a page can be kept back before the page is verified:
/// it is one of a kind that is shared, or nothing says that its address sets a preference. Who is
/// sent elsewhere may be remembered with why, or where they wanted to go.
fn may_withhold(strangers: &Strangers, order: &Order, sample: &Sample) -> bool {
    let target = &order.brief.target;
    if strangers.classes.is_shared(target) {
        return true;
    }
    if may_set_preference(target) || is_redirect(sample.status) {
        return false;
    }
    let has_query = target.contains('?');
    if !has_query {
        strangers.names.note_usual(&sample.fields);
    }
    let is_usual = || {
        // Names that strangers get on pages that are shared.
        set_cookies(&sample.fields).all(|cookie| strangers.names.is_usual(cookie.name))
    };
    !has_query || is_usual()
}

/// Whether links of the page bear the session that came with it, as they do until its cookie has come
/// back: who follows one is in that session, and may never be given its cookie again.
fn links_bear_session(sample: &Sample) -> bool {
    set_cookies(&sample.fields).filter(|cookie| cookie.value.len() >= SESSION_BYTES_MIN).any(
        |cookie| {
            let is_named = |at: usize| {
                let before = sample.body[..at].strip_suffix(b"=").unwrap_or_default();
                let name = before.len().checked_sub(cookie.name.len()).map(|from| &before[from..]);
                name.is_some_and(|name| name.eq_ignore_ascii_case(cookie.name))
            };
            memchr::memmem::find_iter(&sample.body, cookie.value).any(is_named)
        },
    )
}

/// Whether no script of the page would miss a cookie that it can read.
async fn needs_no_cookie(strangers: &Strangers, order: &Order, sample: &Sample) -> bool {
    let mut persona = Persona::new(strangers.persona_address());
    let answers = [&sample.fields];
    strangers.scripts.check(&order.brief, &mut persona, &answers, sample).await.is_ok()
}

/// A page that isn't stored and is nobody's own. Of one whose address bears marks of
/// advertising it is learned, behind the visitor's back, whether it shows them.
fn for_one(
    journey: &mut Journey,
    strangers: &Arc<Strangers>,
    order: &Order,
    fetch: &Fetch,
    sample: &Sample,
) -> Reply {
    keep(strangers, order, sample);
    let target = &order.brief.target;
    if tracking::bare(target).is_some() && strangers.classes.ignores_tracking(target).is_none() {
        let (strangers, brief) = (strangers.clone(), order.brief.clone());
        let panics = journey.server.counters.panics.clone();
        task::spawn_counted(&panics, async move { tracking::learn(&brief, &strangers).await });
    }
    deliver(journey, fetch, sample, true)
}

/// The answer for the one who asked.
fn deliver(journey: &mut Journey, fetch: &Fetch, sample: &Sample, withheld: bool) -> Reply {
    let length = Some(sample.body.len() as u64);
    let mut head = ResponseHead { status: sample.status, fields: sample.fields.clone() };
    if withheld {
        let mut fields = without_sessions(&head.fields);
        esi::keep_wish(&journey.site, &head, &mut fields);
        head.fields = fields;
    } else if let Some(strangers) = &journey.site.strangers {
        bind::note_given(journey, strangers, &head);
    }
    let answer = Answer { head, body: body::full(sample.body.clone()), length, file: None };
    let stored = Some(Err(NoStore::Unverified));
    let told = Told::fetched(Verdict::Miss(fetch.why), sample.status, stored);
    Reply::passed(answer, journey, &told)
}

/// Keeps the copy of one who was given a page without its session.
fn keep(strangers: &Strangers, order: &Order, sample: &Sample) -> Option<Arc<Copy>> {
    let document = sample.document.as_ref()?;
    let tells_time = document.tells_time(sample.unix_seconds);
    Some(strangers.copies.keep(order.brief.copy(sample, Vec::new(), tells_time, false)))
}

/// Learns the values by which that copy is recognised, here and by other nodes.
async fn recognise(
    order: &Order,
    strangers: &Strangers,
    copy: &Copy,
    asker: Arc<Document>,
    page: &Page,
) {
    let Some(shared) = page.as_stored().and_then(document_of) else { return };
    let kept = page.sharing.as_ref().and_then(|sharing| strangers.copies.with_id(sharing.copy?));
    let known = apart(move || {
        let comparison = align::compare(&asker, &shared).ok()?;
        let found = comparison.strong_values().map(<[u8]>::to_vec).collect();
        let others = kept.iter().flat_map(|copy| &copy.known).map(|value| &value[..]);
        Some(with_counterparts(found, others, (&shared, &asker)))
    });
    if let Some(known) = known.await {
        let Brief { server, site, .. } = &order.brief;
        server.lay_down_copy(site, copy, &known);
        strangers.copies.recognise(copy.id, known);
    }
}

/// A page fetched by a script, with a session: shared if it can be; else the session begins
/// with the page that is open.
async fn in_background(
    mut journey: Journey,
    lead: Lead<Landing>,
    order: &Order,
    fetch: &Fetch,
    sample: Sample,
) -> Welcome {
    match fill(order, None).await {
        Ok(page) => Welcome::Done(shared(&journey, lead, fetch, sample.status, page)),
        Err(_) => {
            land(lead, None);
            match bind::read(journey).await {
                Ok(reply) => Welcome::Done(reply),
                Err(back) => {
                    journey = *back;
                    Welcome::Done(deliver(&mut journey, fetch, &sample, false))
                }
            }
        }
    }
}

/// A page whose links bear the session that came with it: its visitor waits for the one that is
/// shared, as who followed such a link would be in a session without its cookie.
async fn clean(
    mut journey: Journey,
    lead: Lead<Landing>,
    order: &Order,
    fetch: &Fetch,
    sample: Sample,
) -> Welcome {
    let first = sample.document.clone().map(|document| First { document, began: fetch.began });
    match fill(order, first).await {
        Ok(page) => Welcome::Done(shared(&journey, lead, fetch, sample.status, page)),
        Err(_) => {
            land(lead, None);
            Welcome::Done(deliver(&mut journey, fetch, &sample, false))
        }
    }
}

/// The reply that a page makes which was just made for all, in place of what came for one.
fn shared(
    journey: &Journey,
    lead: Lead<Landing>,
    fetch: &Fetch,
    status: u16,
    page: Arc<Page>,
) -> Reply {
    land(lead, Some(page.clone()));
    let shown = Shown {
        verdict: Verdict::Miss(fetch.why),
        ttl_ms: None,
        origin_status: Some(status),
        is_new: true,
    };
    serve_stored::reply(page, &journey.asked(), shown)
}

/// Pictures, style sheets, downloads: a session that comes with what is the same for
/// everybody means nothing, and would only make a member of the stranger.
async fn other_than_pages(
    journey: Journey,
    lead: Lead<Landing>,
    mut answer: Answer,
    strangers: &Arc<Strangers>,
) -> Welcome {
    let unix_seconds = journey.now().unix_seconds();
    let begins_session = matches!(answer.head.status, 200 | 404 | 410)
        && set_cookies(&answer.head.fields)
            .any(|cookie| !cookie.is_removal(unix_seconds) && !is_known_foreign(cookie.name));
    let target = &journey.head.target;
    if !begins_session || super::verify::refused_unseen(strangers, target).is_some() {
        return Welcome::NotHere(Box::new((journey, lead, answer)));
    }
    let needs_none = match strangers.classes.needs_no_session(target) {
        Some(known) => known,
        None => {
            let probed = is_same_for_all(&Brief::of(&journey), strangers).await;
            if let Some(needs_none) = probed {
                strangers.classes.note_session_need(target, needs_none);
            }
            probed.unwrap_or(false)
        }
    };
    if needs_none {
        answer.head.fields.remove(Name::SetCookie);
        return Welcome::NotHere(Box::new((journey, lead, answer)));
    }
    if !Brief::of(&journey).is_background() {
        return Welcome::NotHere(Box::new((journey, lead, answer)));
    }
    match bind::read(journey).await {
        Ok(reply) => {
            land(lead, None);
            Welcome::Done(reply)
        }
        Err(journey) => Welcome::NotHere(Box::new((*journey, lead, answer))),
    }
}

/// An answer that goes to one stranger: without a session that means nothing. One that is
/// asked for with HEAD can't be worth a session.
pub(crate) fn keep_session_back(journey: &Journey, strangers: &Strangers, answer: &mut Answer) {
    if journey.reader.visitor != Visitor::Stranger || !answer.head.fields.has(Name::SetCookie) {
        return;
    }
    let head = &answer.head;
    let is_no_page =
        matches!(head.status, 200 | 404 | 410) && !may_be_page(head.status, &head.fields);
    let needs_none = || strangers.classes.needs_no_session(&journey.head.target) == Some(true);
    match journey.head.method {
        Method::HEAD => answer.head.fields.remove(Name::SetCookie),
        Method::GET if is_no_page && needs_none() => answer.head.fields.remove(Name::SetCookie),
        _ => {}
    }
}

/// Whether two personas are answered with the same bytes, none of them a persona's own;
/// none if that can't be told.
async fn is_same_for_all(brief: &Brief, strangers: &Strangers) -> Option<bool> {
    let mut one = Persona::new(strangers.persona_address());
    let mut other = Persona::new(strangers.persona_address());
    let (first, second) = (one.fetch(brief).await.ok()?, other.fetch(brief).await.ok()?);
    let is_same = first.status == second.status && first.body == second.body;
    Some(is_same && !one.is_shown_in(&first.body))
}

/// The hash under which evidence about a page is kept.
pub(crate) fn page_hash(journey: &Journey) -> u64 {
    pipeline::hash(&super::brief::page_name(&journey.head.host, &journey.head.target))
}
