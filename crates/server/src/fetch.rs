//! Asking the origin: for one visitor, or for everybody.
//!
//! A leader's answer is judged once. What may be shared is taken over by
//! [`carry`]; what may not be shared goes to the visitor who caused it alone, and
//! everybody else is released at once.
//! Invariants: 1. a fetch during which the site was written to, or its page purged, is
//! delivered and not stored. 2. a flight ends on every path, at the latest when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use base::{Now, task};
use bytes::Bytes;
use origin::{Answer, OriginError};
use policy::strangers::Visitor;
use policy::{Admission, MissReason, NoStore, PassReason, StaleReason, Terms, VaryKey, Verdict};
use store::{Key, Lead};
use wire::{BodyError, Fields, Name, ResponseHead};

use crate::Server;
use crate::alike;
use crate::carry::{self, Admitted, Shared, insert, shared_reply};
use crate::companion;
use crate::disk;
use crate::esi;
use crate::files;
use crate::gather;
use crate::journey::{Journey, Peers};
use crate::page::{Page, Stored};
use crate::pipeline;
use crate::purge;
use crate::purge::generations::{Moment, Standing};
use crate::purge::marks::Marks;
use crate::reply::{Reply, Told};
use crate::serve_stored::{self, Shown};
use crate::site::Site;
use crate::slices::begin as slices;
use crate::strangers::classes::PASSING_MS;
use crate::strangers::fill::{remake, untried};
use crate::strangers::welcome::{self, Welcome, welcome};
use crate::strangers::{bind, evidence};

/// How long the head of a page that may be stored is held for the first byte of its body…
const PATIENCE: Duration = Duration::from_secs(1);
/// …and where a stored page stands in if none comes. The origin's own limit is shorter, as a
/// rule.
const STAND_IN_PATIENCE: Duration = Duration::from_secs(60);

/// What the leader of a flight found, for those who wait.
#[derive(Clone)]
pub(crate) enum Landing {
    /// A whole page that lies in the store, or was served stale because the origin failed.
    Page { page: Arc<Page>, verdict: Verdict },
    /// An answer on its way; everybody may read along.
    Shared(Arc<Shared>),
    /// Nobody else's business.
    Uncacheable,
    /// No answer.
    Failed { status: u16, error: OriginError },
}

/// The key of a flight: the page's, and the variant as far as it is known.
pub(crate) struct FlightKey {
    hash: u64,
    text: Vec<u8>,
}

impl FlightKey {
    pub(crate) fn key(&self) -> Key<'_> {
        Key { hash: self.hash, text: &self.text }
    }

    /// The same for something that flies apart.
    pub(crate) fn of(mut self, what: &[u8]) -> Self {
        self.text.extend_from_slice(what);
        Self { hash: pipeline::hash(&self.text), text: self.text }
    }
}

/// What is appended to a key for what was learned from visitors who show who they are.
pub(crate) const CREDENTIALS: &[u8] = b" credentials";

/// Whoever may end with the same answer flies together. Apart fly: requests that select
/// different variants, once it is known what tells them apart; those who show who they
/// are and those who don't; those who came before a write or a purge and after it; and, where
/// such may have been missed, those who came longer after one another than is good.
pub(crate) fn flight_key(journey: &Journey, hash: u64, selection: Option<&VaryKey>) -> FlightKey {
    let mut text = Vec::with_capacity(journey.key.len() + 64);
    text.extend_from_slice(&journey.key);
    text.extend_from_slice(&journey.site.generations.fence().to_le_bytes());
    text.push(u8::from(journey.bears_credentials()));
    if let Some(stretch) = journey.server.stretch_out_of_touch(journey.now().ticks_ms) {
        text.extend_from_slice(&stretch.to_le_bytes());
    }
    let newest = journey.server.store.newest(&Key { hash, text: &journey.key });
    let known = newest.as_ref().and_then(|page| page.vary());
    if let Some(vary) = selection.or(known) {
        vary.write_selection(&journey.head.fields, &mut text);
    }
    if newest.as_ref().is_some_and(|page| page.is_for_strangers()) {
        text.extend_from_slice(&journey.reader.taste.to_le_bytes());
        text.extend_from_slice(&journey.reader.errand.unwrap_or_default().to_le_bytes());
    }
    FlightKey { hash: pipeline::hash(&text), text }
}

/// Asks the origin for this visitor alone.
pub(crate) async fn pass(mut journey: Journey, hash: u64, reason: PassReason) -> Reply {
    journey.server.counters.fetches.bump();
    let mut call = journey.call();
    if journey.reader.visitor == Visitor::Unproven && journey.may_be_compared() {
        call.head.fields.remove(Name::AcceptEncoding);
    }
    let request_ticks_ms = journey.now().ticks_ms;
    let mut answer = match journey.site.ask(&journey.server, call).await {
        Ok(answer) => answer,
        Err(error) => return Reply::failed(&error, &journey.key),
    };
    note_changes(&journey, &answer.head);
    match answer.head.status {
        401 | 403 | 404 | 410 | 451 => companion::note_unstored(&journey, &answer.head, false),
        200 => companion::note_seen(&journey, &answer.head.fields),
        _ => {}
    }
    if journey.head.method != http::Method::HEAD {
        answer = match begun(answer, Duration::ZERO).await {
            Ok(answer) => answer,
            Err(error) => return Reply::failed(&error, &journey.key),
        };
    }
    if let Err(error) = esi::look_through(&journey.site, &journey.server, &mut answer).await {
        return Reply::failed(&OriginError::Reset(error.to_string()), &journey.key);
    }
    if let Some(strangers) = &journey.site.strangers {
        strangers.note_cookies(&answer.head.fields);
        bind::note_passed(&journey, strangers, &answer.head).await;
        welcome::keep_session_back(&journey, strangers, &mut answer);
        bind::note_given(&journey, strangers, &answer.head);
        answer = Box::pin(evidence::look_at(&journey, hash, answer)).await;
    }
    answer = alike::look_at(&journey, hash, answer);
    if reason == PassReason::Remembered {
        let admission = journey.admit(&answer.head, request_ticks_ms);
        if matches!(admission, Admission::Store(_)) && answer.file.is_none() {
            // It has become shareable: the next request shall try.
            with_marker_key(&journey, hash, |key| {
                journey.server.store.remove_if(key, |page| page.as_stored().is_none())
            });
        }
    }
    let told = Told::fetched(Verdict::Pass(reason), answer.head.status, None);
    Reply::passed(answer, &journey, &told)
}

/// Calls `use_key` with the key under which it is remembered that nobody shall wait here.
fn with_marker_key<R>(journey: &Journey, hash: u64, use_key: impl FnOnce(&Key<'_>) -> R) -> R {
    if !journey.bears_credentials() {
        return use_key(&Key { hash, text: &journey.key });
    }
    let text = [&journey.key, CREDENTIALS].concat();
    use_key(&Key { hash: pipeline::hash(&text), text: &text })
}

/// What an answer changes here: what was written isn't there any more, nor what it purges.
pub(crate) fn note_changes(journey: &Journey, answer: &ResponseHead) {
    sweep_written(journey, answer);
    esi::note_changes(journey, answer);
    purge::heed(&journey.server, &journey.site, &journey.head, answer);
}

/// An unsafe request that succeeded makes what it wrote to unusable (RFC 9111 §4.4).
fn sweep_written(journey: &Journey, answer: &ResponseHead) {
    let targets = policy::invalidated(&journey.head, answer, journey.peers.scheme);
    if targets.is_empty() {
        return;
    }
    let Journey { server, site, head, .. } = journey;
    // First of all, as for a purge.
    server.tell_written(site, head, &targets);
    sweep_targets(server, site, head.method.as_str(), &head.target, &head.host, &targets);
}

/// Makes old what a write was to, here or through another node.
pub(crate) fn sweep_targets(
    server: &Server,
    site: &Site,
    method: &str,
    written: &str,
    host: &str,
    targets: &[String],
) {
    // First the count, then the removal: a fetch that began before either sees the count moved
    // when it wants to store, or stored in time to be removed.
    match &site.following {
        Some(following) => following.scope.write(&site.generations, method, written),
        None => drop(site.generations.note_write()),
    }
    let mut text = Vec::new();
    let ignored = &site.rules().key_ignores_query;
    for target in targets {
        for scheme in policy::SCHEMES {
            text.clear();
            policy::write_key_without(&mut text, scheme, host, target, ignored);
            server.remove_untold(&Key { hash: pipeline::hash(&text), text: &text }, |_| true);
        }
        // Whoever stands beside reads it at once, and isn't to find what it was. To them it is
        // one page by either scheme.
        companion::note_written(site, &text);
    }
}

/// Asks the origin for everybody who waits and everybody to come.
pub(crate) async fn lead(
    mut journey: Journey,
    hash: u64,
    lead: Lead<Landing>,
    stale: Option<Arc<Page>>,
    why: MissReason,
) -> Reply {
    journey.server.counters.fetches.bump();
    let began = journey.site.generations.moment();
    let sites = journey.server.sites().number();
    // What was purged since it was found can't be revived by its validators.
    let key = Key { hash, text: &journey.key };
    let ticks_ms = journey.now().ticks_ms;
    let stale = stale.filter(|page| {
        journey.site.generations.standing(&page.marks, &key, ticks_ms) != Standing::Gone
    });
    let mut call = journey.call();
    let stored = stale.as_deref().and_then(Page::as_stored);
    policy::strip_conditionals(&mut call.head.fields);
    policy::strip_range(&mut call.head.fields);
    if journey.may_be_compared() {
        call.head.fields.remove(Name::AcceptEncoding);
    }
    if let Some(stored) = stored {
        policy::add_validators(&mut call.head.fields, &stored.fields());
    }
    let request_ticks_ms = journey.now().ticks_ms;
    let answer = match journey.site.ask(&journey.server, call).await {
        Ok(answer) => answer,
        Err(error) => return fail(&journey, lead, stale, &error),
    };
    esi::note_changes(&journey, &answer.head);
    note_told(&journey, &answer.head).await;
    if matches!(answer.head.status, 500 | 502 | 503 | 504)
        && let Some(page) = stale.as_ref().filter(|page| may_serve_on_error(&journey, page))
    {
        return serve_on_error(&journey, lead, page.clone(), answer.head.status);
    }
    let fetch = Fetch { hash, request_ticks_ms, began, sites, why };
    match (stored, answer.head.status) {
        (Some(stored), 304) if !is_confirmed(&journey, stored, &answer.head, &fetch) => {
            journey.server.remove_if(&Key { hash, text: &journey.key }, |_| true);
            lead.land(Landing::Uncacheable);
            pass(journey, hash, PassReason::Uncacheable).await
        }
        (Some(stored), 304) => {
            freshen(&journey, lead, stored, stale.as_deref(), &answer.head, &fetch)
        }
        _ => take_in(journey, lead, answer, &fetch, stale).await,
    }
}

/// What is replied where the origin gave no answer: what was stored, if it may stand in.
fn fail(
    journey: &Journey,
    lead: Lead<Landing>,
    stale: Option<Arc<Page>>,
    error: &OriginError,
) -> Reply {
    // What must be validated, and can't be, is 504 (RFC 9111 §5.2.2.2).
    let stored = stale.as_deref().and_then(Page::as_stored);
    let must = stored.is_some_and(|stored| stored.terms.must_revalidate);
    if let Some(page) = stale.filter(|page| may_serve_on_error(journey, page)) {
        return serve_on_error(journey, lead, page, error.status());
    }
    if error.is_of_the_visitor() {
        // Those who wait go again: one of them leads by its own right.
        drop(lead);
        return Reply::failed(error, &journey.key);
    }
    let status = if must { 504 } else { error.status() };
    lead.land(Landing::Failed { status, error: error.clone() });
    Reply::failed_with(status, error, &journey.key)
}

/// An answer whose body has begun, or will later than anybody waits for. One that breaks off
/// before its first byte is no answer, whatever its head said.
async fn begun(mut answer: Answer, patience: Duration) -> Result<Answer, OriginError> {
    if answer.file.is_some() || matches!(answer.head.status, 204 | 304) {
        return Ok(answer);
    }
    let body = std::mem::replace(&mut answer.body, wire::body::full(Bytes::new()));
    answer.body =
        gather::begun(body, answer.length, patience).await.map_err(|error| match error {
            BodyError::Origin(why) => OriginError::Reset(format!("after its head, {why}")),
            BodyError::OriginIdle { seconds } => OriginError::FirstByteTimeout { seconds },
            BodyError::Ours(why) => OriginError::Ours(why),
            error => OriginError::Client(error),
        })?;
    Ok(answer)
}

/// Takes in what an answer tells beside its page.
async fn note_told(journey: &Journey, head: &ResponseHead) {
    purge::heed(&journey.server, &journey.site, &journey.head, head);
    if let Some(strangers) = &journey.site.strangers {
        strangers.note_cookies(&head.fields);
        bind::note_passed(journey, strangers, head).await;
    }
}

/// Whether a 304 leaves a large page as it is: it confirms the very bytes that lie there, and
/// these may still be kept. Of what lies in memory the origin's word is enough.
fn is_confirmed(journey: &Journey, stored: &Stored, head: &ResponseHead, fetch: &Fetch) -> bool {
    if stored.object.is_none() {
        return true;
    }
    let fields = stored.fields();
    let merged =
        ResponseHead { status: stored.status, fields: policy::refreshed(&fields, &head.fields) };
    let (now, rules) = (journey.now(), journey.site.rules());
    policy::slices::is_confirmed(&fields, &head.fields)
        && matches!(
            policy::admit(&journey.head, &merged, fetch.request_ticks_ms, now, &rules),
            Admission::Store(_)
        )
}

/// What is known of a fetch from before it began.
pub(crate) struct Fetch {
    pub(crate) hash: u64,
    pub(crate) request_ticks_ms: u64,
    pub(crate) began: Moment,
    /// How often the sites had been replaced by then.
    pub(crate) sites: u64,
    pub(crate) why: MissReason,
}

fn may_serve_on_error(journey: &Journey, page: &Page) -> bool {
    is_there_still(journey, page)
        && page.as_stored().is_some_and(|stored| {
            let ticks_ms = journey.now().ticks_ms;
            policy::may_serve_on_error(
                &stored.terms,
                &journey.head.fields,
                ticks_ms,
                &journey.site.rules(),
            )
        })
}

/// Whether a page that was found is still in the store: what a write or a purge has taken away
/// meanwhile stands in for nobody. Who asked after that may have joined the flight of somebody
/// who looked before.
fn is_there_still(journey: &Journey, page: &Page) -> bool {
    let key = Key { hash: pipeline::hash(&journey.key), text: &journey.key };
    let ticks_ms = journey.now().ticks_ms;
    journey.server.store.has(&key, |stored| std::ptr::eq(stored, page))
        && journey.site.generations.standing(&page.marks, &key, ticks_ms) != Standing::Gone
}

fn serve_on_error(journey: &Journey, lead: Lead<Landing>, page: Arc<Page>, status: u16) -> Reply {
    let verdict = Verdict::Stale(StaleReason::Error);
    lead.land(Landing::Page { page: page.clone(), verdict });
    stored_reply(journey, page, verdict, Some(status))
}

/// The reply that a stored page makes.
pub(crate) fn stored_reply(
    journey: &Journey,
    page: Arc<Page>,
    verdict: Verdict,
    origin_status: Option<u16>,
) -> Reply {
    let asked = journey.asked();
    let ticks_ms = asked.now.ticks_ms;
    let ttl_ms = page.as_stored().map_or(0, |stored| policy::ttl_ms(&stored.terms, ticks_ms));
    // By its terms it may have hours left, but something changed since.
    let is_stale = matches!(verdict, Verdict::Stale(_));
    let ttl_ms = if is_stale { ttl_ms.min(0) } else { ttl_ms };
    let shown = Shown { verdict, ttl_ms: Some(ttl_ms), origin_status, is_new: false };
    serve_stored::reply(page, &asked, shown)
}

/// The origin says that what we have is still good.
fn freshen(
    journey: &Journey,
    lead: Lead<Landing>,
    stored: &Stored,
    older: Option<&Page>,
    not_modified: &ResponseHead,
    fetch: &Fetch,
) -> Reply {
    let fields = policy::refreshed(&stored.fields(), &not_modified.fields);
    let head = ResponseHead { status: stored.status, fields };
    let now = journey.now();
    let rules = &**journey.site.rules();
    let key = Key { hash: fetch.hash, text: &journey.key };
    let body = stored.body.clone();
    let terms = match policy::admit(&journey.head, &head, fetch.request_ticks_ms, now, rules) {
        Admission::Store(terms) => terms,
        Admission::NoStore(reason) => {
            // Still good, but from now on for this visitor alone.
            journey.server.remove_if(&key, |_| true);
            lead.land(Landing::Uncacheable);
            let told = Told::fetched(Verdict::Revalidated, 304, Some(Err(reason)));
            let length = Some(body.len() as u64);
            let answer = Answer { head, body: wire::body::full(body), length, file: None };
            return Reply::passed(answer, journey, &told);
        }
    };
    // By which cookies it differs isn't said in what was stored.
    let by_cookies = older.and_then(Page::vary).filter(|vary| vary.has_cookies());
    let vary = by_cookies.cloned().or_else(|| journey.vary_key(&head.fields));
    let host = &journey.head.host;
    let marks = match older {
        Some(older) => Marks::renewed(fetch.began, host, &not_modified.fields, &older.marks),
        None => Marks::of(fetch.began, host, &not_modified.fields),
    };
    let marks = named(&journey.server, marks, &not_modified.fields);
    let mut head = clean(&journey.site, &head, now);
    if stored.template.is_some() {
        // That it is still good says nothing against its holes.
        esi::mark(&mut head.fields);
    }
    let page = match &stored.object {
        Some(object) => Page::sliced(head, &journey.key, object.clone(), terms, vary, marks),
        None => Page::stored(head, &journey.key, body, terms, vary, marks, rules.codings)
            .with_made_of(stored),
    };
    // That it is still good says the same of whoever it is confirmed to.
    let is_of_bearer = journey.bears_credentials() && older.is_some_and(|older| older.is_of_bearer);
    let took_ms = now.ticks_ms.saturating_sub(fetch.request_ticks_ms);
    let page = Arc::new(page.that_took(took_ms).asked_by(is_of_bearer));
    let is_stored = insert(&journey.server, &journey.site, &key, page.clone(), fetch.began);
    if is_stored && stored.object.is_some() {
        disk::keep(&journey.server, &journey.site, &key, &page, now);
    }
    let verdict = Verdict::Revalidated;
    lead.land(match terms.answers_waiters() {
        true => Landing::Page { page: page.clone(), verdict },
        false => Landing::Uncacheable,
    });
    stored_reply(journey, page, verdict, Some(304))
}

/// Judges a whole answer and sends it on its way.
async fn take_in(
    journey: Journey,
    lead: Lead<Landing>,
    mut answer: Answer,
    fetch: &Fetch,
    stale: Option<Arc<Page>>,
) -> Reply {
    let now = journey.now();
    let admission = match &answer.file {
        Some(_) => Admission::NoStore(NoStore::File),
        None => journey.admit(&answer.head, fetch.request_ticks_ms),
    };
    let bytes_max = object_bytes_max(&journey.server);
    let mut too_large = answer.length.is_some_and(|bytes| bytes > bytes_max);
    let may_store = matches!(admission, Admission::Store(_)) && !too_large;
    match esi::take_in(&journey.site, &journey.server, &mut answer, may_store).await {
        Ok(is_whole) => too_large |= !is_whole,
        Err(error) => return fail(&journey, lead, stale, &error),
    }
    let is_cut = |terms: &Terms| slices::is_cut(&journey, &answer.head, answer.length, terms);
    let mut terms = match admission.into_terms() {
        Ok(terms) if too_large && !is_cut(&terms) => Err(NoStore::TooLarge),
        terms => terms,
    };
    // As soon as the head goes out nothing can stand in any more. What is for one visitor may
    // be a stream of events, whose head is waited for.
    let may_stand_in = stale.as_ref().is_some_and(|page| may_serve_on_error(&journey, page));
    let patience = match terms {
        _ if may_stand_in => STAND_IN_PATIENCE,
        Ok(_) => PATIENCE,
        Err(_) => Duration::ZERO,
    };
    let mut answer = match begun(answer, patience).await {
        Ok(answer) => answer,
        Err(error) => return fail(&journey, lead, stale, &error),
    };
    // What would have to be validated each time is of no use to strangers either.
    let is_of_little_use = terms.is_ok_and(|terms| !terms.answers_waiters());
    let (journey, lead) = match terms {
        Ok(_) if !is_of_little_use => (journey, lead),
        _ => {
            let reason = terms.err().unwrap_or(NoStore::NoFreshness);
            match Box::pin(welcome(journey, lead, answer, fetch, reason)).await {
                Welcome::Done(reply) => return reply,
                Welcome::NotHere(back) => {
                    let (journey, lead, same) = *back;
                    answer = same;
                    if reason == NoStore::SetCookie && !too_large {
                        // The session that came with it means nothing, and was taken off.
                        terms = journey.admit(&answer.head, fetch.request_ticks_ms).into_terms();
                    }
                    (journey, lead)
                }
            }
        }
    };
    match terms {
        Ok(terms) => {
            let head = clean(&journey.site, &answer.head, now);
            let vary = journey.vary_key(&answer.head.fields);
            let marks = marks_of(&journey, fetch.began, &answer.head.fields);
            let admitted = Admitted { head, vary, terms, marks };
            if too_large {
                return slices::take_over(journey, lead, admitted, answer, fetch);
            }
            carry::take_over(journey, lead, admitted, answer, fetch)
        }
        Err(reason) => let_go(journey, lead, answer, fetch, reason, stale.is_some()).await,
    }
}

/// An answer that goes to the visitor who caused it alone.
async fn let_go(
    journey: Journey,
    lead: Lead<Landing>,
    answer: Answer,
    fetch: &Fetch,
    reason: NoStore,
    has_stale: bool,
) -> Reply {
    let now = journey.now();
    companion::note_unstored(&journey, &answer.head, reason == NoStore::File);
    if let Some(strangers) = &journey.site.strangers {
        bind::note_given(&journey, strangers, &answer.head);
    }
    // An origin in trouble says nothing about the page that it could not confirm.
    let is_passing_trouble = has_stale && answer.head.status >= 500;
    // What can't be shared in the background says nothing about the page of that address.
    let is_background = journey.reader.is_stranger() && journey.reader.errand != Some(0);
    let is_odd =
        || journey.site.strangers.as_ref().is_some_and(|all| all.shares_with_browsers(&journey));
    if reason.is_of_the_response() && !is_passing_trouble && !is_background && !is_odd() {
        let mut pass_ms = u64::from(journey.site.rules().pass_memory_seconds) * 1000;
        // What keeps it from strangers may be over long before that.
        let order = || welcome::order(&journey, fetch.hash);
        let is_stranger = journey.reader.is_stranger();
        if is_stranger && untried(&order()).is_some_and(|refusal| refusal.is_passing()) {
            pass_ms = pass_ms.min(PASSING_MS);
        }
        let until = now.ticks_ms + pass_ms;
        let vary = journey.vary_key(&answer.head.fields);
        let marks = Marks::of(fetch.began, &journey.head.host, &Fields::new());
        let marker = Arc::new(Page::pass_until(until, vary, marks));
        with_marker_key(&journey, fetch.hash, |key| journey.server.store.insert(key, marker));
    }
    lead.land(Landing::Uncacheable);
    let verdict = Verdict::Miss(fetch.why);
    if let Some(file) = answer.file.clone() {
        let head = answer.head.clone();
        let kept = files::keep(&journey, &head, &file, fetch);
        if let Some(reply) = Box::pin(kept).await {
            return reply;
        }
    }
    let answer = Box::pin(evidence::look_at(&journey, fetch.hash, answer)).await;
    let answer = alike::look_at(&journey, fetch.hash, answer);
    let told = Told::fetched(verdict, answer.head.status, Some(Err(reason)));
    Reply::passed(answer, &journey, &told)
}

/// The marks of an answer whose fetch began then.
fn marks_of(journey: &Journey, began: Moment, fields: &Fields) -> Marks {
    named(&journey.server, Marks::of(began, &journey.head.host, fields), fields)
}

/// Marks that say what their tags are called, where other nodes may want to know.
pub(crate) fn named(server: &Server, marks: Marks, fields: &Fields) -> Marks {
    if server.hands_on() { marks.named(fields) } else { marks }
}

/// How long `Sun, 06 Nov 1994 08:49:37 GMT` is.
const DATE_BYTES: usize = 29;

/// The head as it is stored; one without a date gets that of its arrival (RFC 9110 §6.6.1).
pub(crate) fn clean(site: &Site, head: &ResponseHead, now: Now) -> ResponseHead {
    let mut fields = policy::clean_for_store(head);
    esi::keep_wish(site, head, &mut fields);
    put_date(&mut fields, now);
    ResponseHead { status: head.status, fields }
}

/// Dates what came without a date.
pub(crate) fn put_date(fields: &mut Fields, now: Now) {
    if !fields.has(Name::Date) {
        let mut date = Vec::with_capacity(DATE_BYTES);
        policy::date::write(&mut date, now.unix_seconds());
        fields.put(Name::Date, date);
    }
}

/// The largest body that the store would take.
pub(crate) fn object_bytes_max(server: &Server) -> u64 {
    (server.store.limit() / 8) as u64
}

/// What a landing is for one who waited for it.
pub(crate) enum Boarding {
    /// The answer.
    Aboard(Box<Reply>),
    /// Another variant's; this is what tells them apart.
    OtherVariant(Option<VaryKey>),
    /// Not for this visitor, who asks the origin himself.
    Alone(PassReason),
}

/// Takes a landing if it answers this request and this visitor may have it.
pub(crate) fn board(journey: &Journey, landing: Landing) -> Boarding {
    match landing {
        Landing::Page { page, verdict } => {
            let Some(stored) = page.as_stored() else {
                return Boarding::Alone(PassReason::Uncacheable);
            };
            if !page.answers(&journey.head.fields, &journey.reader) {
                return Boarding::OtherVariant(page.vary().cloned());
            }
            if page.is_for_strangers() {
                return Boarding::Aboard(Box::new(stored_reply(journey, page, verdict, None)));
            }
            if let Some(reason) = policy::withheld(&stored.terms, &journey.head.fields) {
                return Boarding::Alone(reason);
            }
            if matches!(verdict, Verdict::Stale(_)) && !may_serve_on_error(journey, &page) {
                return Boarding::Alone(PassReason::Uncacheable);
            }
            Boarding::Aboard(Box::new(stored_reply(journey, page, verdict, None)))
        }
        Landing::Shared(shared) => {
            let Admitted { vary, terms, .. } = &shared.admitted;
            if vary.as_ref().is_some_and(|vary| !vary.matches(&journey.head.fields)) {
                return Boarding::OtherVariant(vary.clone());
            }
            if let Some(reason) = policy::withheld(terms, &journey.head.fields) {
                return Boarding::Alone(reason);
            }
            match shared_reply(journey, &shared, Verdict::Collapsed) {
                Some(reply) => Boarding::Aboard(Box::new(reply)),
                None => Boarding::Alone(PassReason::Uncacheable),
            }
        }
        Landing::Uncacheable => Boarding::Alone(PassReason::Uncacheable),
        Landing::Failed { status, error } => {
            Boarding::Aboard(Box::new(Reply::failed_with(status, &error, &journey.key)))
        }
    }
}

/// Fetches a newer page in the background, once, whoever asks meanwhile.
pub(crate) fn refresh_behind(
    server: &Arc<Server>,
    site: &Arc<Site>,
    head: &wire::RequestHead,
    key: &[u8],
    hash: u64,
    page: &Arc<Page>,
    peers: Peers,
) {
    let Some(claim) = Claim::of(page) else { return };
    let mut head = head.clone();
    head.method = http::Method::GET;
    head.fields.remove(Name::Range);
    head.fields.remove(Name::IfRange);
    let journey = Journey::unattended(server, site, &head, key, peers);
    let page = page.clone();
    task::spawn_counted(&server.counters.panics, async move {
        if page.is_for_strangers() {
            drop(remake(&welcome::order(&journey, hash), &page).await);
            drop(claim);
            return;
        }
        let flight = flight_key(&journey, hash, None);
        if let store::Role::Leader(leader) = journey.server.flights.join(&flight.key()) {
            drop(lead(journey, hash, leader, Some(page), MissReason::Expired).await);
        }
        drop(claim);
    });
}

/// Begins a session for who was given a page that tells the time, while they read it.
pub(crate) fn begin_early_behind(
    server: &Arc<Server>,
    site: &Arc<Site>,
    head: &wire::RequestHead,
    key: &[u8],
    peers: Peers,
) {
    let journey = Journey::unattended(server, site, head, key, peers);
    task::spawn_counted(&server.counters.panics, bind::begin_early(journey));
}

/// The one claim to refresh a page; it is given back also when the task that has it panics.
pub(crate) struct Claim(Arc<Page>);

impl Claim {
    /// The claim, if nobody else has it.
    pub(crate) fn of(page: &Arc<Page>) -> Option<Self> {
        page.as_stored()?.claim_refresh().then(|| Self(page.clone()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.marks.refreshed();
        if let Some(stored) = self.0.as_stored() {
            stored.refreshed();
        }
    }
}

#[cfg(test)]
#[path = "behind_tests.rs"]
mod behind_tests;
