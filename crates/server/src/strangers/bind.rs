//! Late binding: a stranger's session begins with what the stranger first writes.
//!
//! The page that the request comes from is fetched again as this visitor, with its address
//! and browser; the copy that the visitor read and the new one are aligned; the request is
//! translated from the one to the other and sent with the new cookies; the answer brings
//! them to the visitor.
//! Invariants: 1. nothing is translated unless the browser proves that the request comes
//! from the site itself. 2. a minted session goes to one visitor. 3. what can't be aligned
//! goes on as it came.
//! Bounds: [`COPIES_MAX`] copies a request, [`align::BODY_BYTES_MAX`] of its body.

use std::sync::Arc;

use align::{Binding, Document, Request};
use bytes::Bytes;
use http::Method;
use policy::strangers::{
    Errand, Jar, Origin, bears_drawn, errand, is_known_foreign, origin_of, own_referer, pairs,
    set_cookies,
};
use policy::{PassReason, Verdict};
use wire::{Fields, Name, RequestHead, ResponseHead, Version};

use crate::fetch;
use crate::journey::Journey;
use crate::pipeline;
use crate::reply::{Reply, Told};

use super::Strangers;
use super::age::{AGE_MS, Aged};
use super::brief::page_name;
use super::copies::{Copy, tokens_of};
use super::holders::{Bound, SESSION_BYTES_MIN};
use super::minting::{Browser, Entry};
use super::password;
use super::persona;
use super::verify::apart;

/// Copies that one request may be bound with.
const COPIES_MAX: usize = 4;

/// A page that lacks so much more of a copy's values than the one before is another page.
const MISSED_MAX: usize = 3;

/// A session on its way to its visitor.
#[derive(Default)]
struct Session {
    jar: Jar,
    /// `Set-Cookie` lines that the visitor must get, the last of each name.
    sets: Vec<Vec<u8>>,
    binding: Binding,
    born_ticks_ms: u64,
    /// Pages as they look in this session, so that several copies of one page cost one fetch.
    pages: Vec<(Vec<u8>, Arc<Document>)>,
}

/// A stranger's unsafe request.
pub(crate) async fn write(mut journey: Journey, hash: u64, reason: PassReason) -> Reply {
    let Some(strangers) = journey.site.strangers.clone() else {
        return fetch::pass(journey, hash, reason).await;
    };
    if !is_same_origin(&journey.head) {
        return fetch::pass(journey, hash, reason).await;
    }
    let body = match journey.gather(align::BODY_BYTES_MAX).await {
        Ok(Some(body)) => body,
        Ok(None) => return fetch::pass(journey, hash, reason).await,
        Err(error) => return Reply::failed(&error, &journey.key),
    };
    let mut carried = carried(&strangers, &journey.head, &body);
    if carried.is_empty() {
        carried = journey.server.laid_down(&journey.site, &journey.head, &body).await;
    }
    let is_background = errand(&journey.head.fields) == Errand::Background;
    // A script may send the name of a thing that stands in the page, and need no session for it.
    if carried.is_empty() && (!is_background || page_of(&journey.head).is_none()) {
        carried = held(&strangers, &journey.head, &body).await;
    }
    let carries_values = !carried.is_empty();
    let copies = with_page(&strangers, &journey.head, carried);
    if copies.is_empty() {
        journey.put_back(body);
        return fetch::pass(journey, hash, reason).await;
    }
    let is_settled =
        |copy: &Arc<Copy>| strangers.copies.unsettled(&copy.host, &copy.target).is_empty();
    if !carries_values && is_background && copies.iter().all(is_settled) {
        return try_without(journey, &strangers, copies, body, reason).await;
    }
    begin(journey, &strangers, copies, body).await
}

/// A script's write that carries nothing of the page may need no session (a list that
/// unfolds, a counter): it goes on as it came. If the app begins a session for it, the page
/// is bound with that session when something is next written from it.
async fn try_without(
    mut journey: Journey,
    strangers: &Strangers,
    copies: Vec<Arc<Copy>>,
    body: Bytes,
    reason: PassReason,
) -> Reply {
    let call = journey.call_with(body);
    journey.server.counters.fetches.bump();
    let answer = match journey.site.ask(&journey.server, call).await {
        Ok(answer) => answer,
        Err(error) => return Reply::failed(&error, &journey.key),
    };
    fetch::note_changes(&journey, &answer.head);
    strangers.note_cookies(&answer.head.fields);
    let mut jar = Jar::default();
    jar.absorb(&answer.head.fields, journey.now().unix_seconds());
    if !jar.is_empty() {
        let open = copies.iter().map(|copy| page_name(&copy.host, &copy.target)).collect();
        let bound = strangers.holders.bind_later(&jar, copies, open, journey.now());
        journey.server.tell_begun(&journey.site, &journey.head.host, &bound);
    }
    let told = Told::fetched(Verdict::Pass(reason), answer.head.status, None);
    Reply::passed(answer, &journey, &told)
}

/// A stranger's GET that carries values of a copy, or begins a session in the background:
/// bound like a write. None if there is nothing to bind it with; the journey comes back.
pub(crate) async fn read(journey: Journey) -> Result<Reply, Box<Journey>> {
    let Some(strangers) = journey.site.strangers.clone() else { return Err(Box::new(journey)) };
    if journey.head.method != Method::GET || !is_same_origin(&journey.head) {
        return Err(Box::new(journey));
    }
    let copies = origins(&strangers, &journey.head, b"");
    if copies.is_empty() {
        return Err(Box::new(journey));
    }
    Ok(begin(journey, &strangers, copies, Bytes::new()).await)
}

/// Whether a target carries values that only a copy's reader can have.
pub(crate) fn carries(strangers: &Strangers, head: &RequestHead) -> bool {
    let nothing = Fields::new();
    let request = Request { target: head.target.as_bytes(), fields: &nothing, body: b"" };
    strangers.copies.carried(&request).is_ok_and(|copies| !copies.is_empty())
}

/// Whether this GET of a page that isn't here carries values of a copy, though it be another
/// node's.
pub(crate) async fn comes_from_copy(strangers: &Strangers, journey: &Journey) -> bool {
    let Journey { server, site, head, .. } = journey;
    let may_be = || head.method == Method::GET && is_same_origin(head);
    carries(strangers, head) || may_be() && !server.laid_down(site, head, b"").await.is_empty()
}

/// Whether something in a target looks like a token.
fn has_token(head: &RequestHead) -> bool {
    let nothing = Fields::new();
    let request = Request { target: head.target.as_bytes(), fields: &nothing, body: b"" };
    tokens_of(&request).is_ok_and(|tokens| !tokens.is_empty())
}

/// The copies that a request comes from: those whose values it carries, and its page.
fn origins(strangers: &Strangers, head: &RequestHead, body: &[u8]) -> Vec<Arc<Copy>> {
    with_page(strangers, head, carried(strangers, head, body))
}

/// The target of the page of this site that a request comes from, if it says so.
fn page_of(head: &RequestHead) -> Option<&str> {
    own_referer(&head.fields, &head.host)
}

/// The carried copies and those of the page that the request comes from.
fn with_page(
    strangers: &Strangers,
    head: &RequestHead,
    mut copies: Vec<Arc<Copy>>,
) -> Vec<Arc<Copy>> {
    let Some(from) = page_of(head) else { return copies };
    if copies.iter().any(|copy| copy.target == from) {
        return copies;
    }
    // First what nobody could recognise yet: it may be just what this visitor was given.
    let mut of_page = strangers.copies.unsettled(&head.host, from);
    if let Some(newest) = strangers.copies.of_page(&head.host, from)
        && !of_page.iter().any(|copy| copy.id == newest.id)
    {
        of_page.push(newest);
    }
    of_page.append(&mut copies);
    of_page
}

/// The copies whose values a request carries.
fn carried(strangers: &Strangers, head: &RequestHead, body: &[u8]) -> Vec<Arc<Copy>> {
    let nothing = Fields::new();
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    // Apps send tokens in fields of every request; only those of a write mean anything.
    let fields = if is_safe { &nothing } else { &head.fields };
    let request = Request { target: head.target.as_bytes(), fields, body };
    let mut copies = strangers.copies.carried(&request).unwrap_or_default();
    copies.retain(|copy| copy.host == head.host);
    copies.truncate(COPIES_MAX - 1);
    copies
}

/// The copies in which a token of a write stands by which nobody could recognise them: a visitor
/// may be quicker than the comparison of what they were given, or it came to nothing. Those of the
/// page that the browser names; if it may name none, those that weren't compared yet.
async fn held(strangers: &Strangers, head: &RequestHead, body: &[u8]) -> Vec<Arc<Copy>> {
    let mut copies: Vec<_> = match page_of(head) {
        Some(page) => strangers.copies.versions(&head.host, page).into_iter().rev().collect(),
        None => strangers.copies.all_unsettled(&head.host),
    };
    if copies.is_empty() {
        return copies;
    }
    let request = Request { target: head.target.as_bytes(), fields: &head.fields, body };
    let tokens = tokens_of(&request).unwrap_or_default();
    if tokens.is_empty() {
        return Vec::new();
    }
    apart(move || {
        copies.retain(|copy| copy.holds_any(&tokens));
        copies.truncate(COPIES_MAX - 1);
        copies
    })
    .await
}

/// Whether the browser proves that a page of this site sends the request. Wick may stand
/// behind something that speaks TLS for it, so either scheme is the site's own.
fn is_same_origin(head: &RequestHead) -> bool {
    let proves = |scheme: &&str| origin_of(&head.fields, scheme, &head.host) == Origin::Same;
    policy::SCHEMES.iter().any(proves)
}

async fn begin(
    mut journey: Journey,
    strangers: &Strangers,
    copies: Vec<Arc<Copy>>,
    body: Bytes,
) -> Reply {
    let browser = browser(&journey);
    let target = pipeline::hash(journey.head.target.as_bytes());
    let ticks_ms = journey.now().ticks_ms;
    let _turn = match strangers.minting.enter(browser, target, ticks_ms).await {
        Entry::Begin(turn) => turn,
        Entry::TooMany => {
            journey.put_back(body);
            let hash = pipeline::hash(&journey.key);
            return fetch::pass(journey, hash, PassReason::Bound).await;
        }
        Entry::ComeAgain => return Reply::come_again(&journey.head.target, &journey.key),
    };
    let mut session = Session { born_ticks_ms: journey.now().ticks_ms, ..Session::default() };
    for copy in &copies {
        let page = page_name(&copy.host, &copy.target);
        match strangers.aged.take(browser, &page, ticks_ms).filter(|_| session.jar.is_empty()) {
            Some(aged) => session.take_up(strangers, copy, aged).await,
            None => session.align(&journey, strangers, copy).await,
        }
    }
    let is_members = password::is_sent(&body, &copies);
    let age_ms = journey.now().ticks_ms.saturating_sub(session.born_ticks_ms);
    if copies.iter().any(|copy| copy.tells_time) && age_ms < AGE_MS {
        tokio::time::sleep(std::time::Duration::from_millis(AGE_MS - age_ms)).await;
    }
    let reply = session.send(&mut journey, strangers, body).await;
    let open = copies.iter().map(|copy| page_name(&copy.host, &copy.target)).collect();
    let Session { jar, binding, .. } = session;
    let bound = strangers.holders.bind(&jar, binding, copies, open, journey.now());
    if is_members {
        bound.note_members();
    }
    match reply {
        Ok((reply, answer)) => {
            strangers.holders.follow(&bound, &answer.fields, journey.now());
            if let Some(page) = shown_instead(&journey, &answer) {
                bound.close(&page);
            }
            journey.server.tell_begun(&journey.site, &journey.head.host, &bound);
            strangers.counts.bound.bump();
            reply
        }
        Err(reply) => reply,
    }
}

/// The browser that sent a request.
fn browser(journey: &Journey) -> Browser {
    let head = &journey.head;
    let agent = head.fields.first(Name::UserAgent).unwrap_or_default();
    let agent = pipeline::hash(agent) ^ pipeline::hash(head.host.as_bytes()).rotate_left(1);
    Browser { address: journey.peers.peer.ip(), agent }
}

impl Session {
    /// Fetches the copy's page in this session, and learns which value is which.
    async fn align(&mut self, journey: &Journey, strangers: &Strangers, copy: &Arc<Copy>) {
        let page = page_name(&copy.host, &copy.target);
        let known = self.pages.iter().find(|(name, _)| *name == page && !copy.is_part);
        if let Some((_, document)) = known {
            let document = document.clone();
            if let Some(binding) = bound(copy, document).await {
                let _ = self.binding.join(binding);
            }
            return;
        }
        let was_new = self.jar.is_empty();
        let Some(mut binding) = self.align_once(journey, strangers, copy).await else { return };
        // What came without a cookie may bear the session id in its links. What only the first page
        // of a session has is known of that one, all else of the newer, unless that is another page.
        if was_new
            && !self.jar.is_empty()
            && let Some(again) = self.align_once(journey, strangers, copy).await
        {
            let missed = |binding: &Binding| binding.missing().count();
            if missed(&again) < missed(&binding) + MISSED_MAX {
                // Too many values for one: those of the first page stand.
                let _ = binding.join(again);
            }
        }
        strangers.counts.unaligned.add(binding.missing().count() as u64);
        // Too many values for one request: those of the first copies stand.
        let _ = self.binding.join(binding);
    }

    async fn align_once(
        &mut self,
        journey: &Journey,
        strangers: &Strangers,
        copy: &Arc<Copy>,
    ) -> Option<Binding> {
        let head = as_visitor(&journey.head, copy, &self.jar);
        let fetched =
            persona::fetch(&journey.server, &journey.site, journey.peers, head, journey.peers.peer);
        let page = fetched.await.ok()?;
        self.absorb(&page.fields, page.unix_seconds);
        let document = page.document?;
        let name = page_name(&copy.host, &copy.target);
        self.pages.retain(|(known, _)| *known != name);
        self.pages.push((name, document.clone()));
        let binding = bound(copy, document).await;
        if binding.is_none() {
            strangers.counts.unaligned.bump();
        }
        binding
    }

    /// Takes a session that was begun when the page was served.
    async fn take_up(&mut self, strangers: &Strangers, copy: &Arc<Copy>, aged: Aged) {
        self.jar = aged.jar;
        self.sets = aged.sets;
        self.born_ticks_ms = aged.ticks_ms;
        let document = Arc::new(aged.document);
        self.pages.push((page_name(&copy.host, &copy.target), document.clone()));
        match bound(copy, document).await {
            Some(binding) => drop(self.binding.join(binding)),
            None => strangers.counts.unaligned.bump(),
        }
    }

    fn absorb(&mut self, answer: &Fields, unix_seconds: u64) {
        self.jar.absorb(answer, unix_seconds);
        keep_last(&mut self.sets, answer);
    }

    /// Sends the request in the session's own words; the head of the answer comes back as well.
    async fn send(
        &self,
        journey: &mut Journey,
        strangers: &Strangers,
        body: Bytes,
    ) -> Result<(Reply, ResponseHead), Reply> {
        let (head, body) = translated(&journey.head, &self.binding, body);
        journey.head.target = head.target;
        journey.head.fields = head.fields;
        put_cookies(&mut journey.head.fields, &self.jar);
        let call = journey.call_with(body);
        journey.server.counters.fetches.bump();
        let sent = journey.site.ask(&journey.server, call).await;
        let mut answer = sent.map_err(|error| Reply::failed(&error, &journey.key))?;
        fetch::note_changes(journey, &answer.head);
        strangers.note_cookies(&answer.head.fields);
        let own = answer.head.clone();
        for line in &self.sets {
            let is_renewed = set_cookies(&own.fields).any(|cookie| {
                policy::strangers::SetCookie::parse(line)
                    .is_some_and(|kept| kept.name == cookie.name)
            });
            if !is_renewed {
                answer.head.fields.put(Name::SetCookie, line);
            }
        }
        if !self.sets.is_empty() && !answer.head.fields.has_member(Name::CacheControl, "no-store") {
            // Whatever the app says of such an answer, this one bears somebody's session.
            answer.head.fields.set(Name::CacheControl, "private, no-cache");
        }
        let told = Told::fetched(Verdict::Pass(PassReason::Bound), answer.head.status, None);
        Ok((Reply::passed(answer, journey, &told), own))
    }
}

/// Which of a copy's values is which in the page as it looks in another session.
async fn bound(copy: &Arc<Copy>, document: Arc<Document>) -> Option<Binding> {
    let copy = copy.clone();
    apart(move || {
        let old = copy.document()?;
        Binding::new(&old, &document, copy.known.iter().map(|value| &value[..])).ok()
    })
    .await
}

/// A request in the values of another copy; as it came if it is too long for that.
fn translated(head: &RequestHead, binding: &Binding, body: Bytes) -> (RequestHead, Bytes) {
    let request = Request { target: head.target.as_bytes(), fields: &head.fields, body: &body };
    let Ok(translated) = binding.translate(&request) else { return (head.clone(), body) };
    let target = match std::str::from_utf8(&translated.target) {
        Ok(target) => target.to_owned(),
        Err(_) => head.target.clone(),
    };
    let fields = translated.fields.into_owned();
    let new = match translated.body {
        std::borrow::Cow::Borrowed(_) => None,
        std::borrow::Cow::Owned(new) => Some(Bytes::from(new)),
    };
    (RequestHead { target, fields, ..head.clone() }, new.unwrap_or(body))
}

/// A GET of the copy's page as this visitor.
fn as_visitor(visitor: &RequestHead, copy: &Copy, jar: &Jar) -> RequestHead {
    let mut fields = copy.request.clone();
    for name in [Name::UserAgent, Name::AcceptLanguage, Name::Cookie] {
        if let Some(value) = visitor.fields.first(name) {
            fields.set(name, value);
        }
    }
    put_cookies(&mut fields, jar);
    RequestHead {
        method: Method::GET,
        target: copy.target.clone(),
        host: copy.host.clone(),
        version: Version::Http11,
        fields,
    }
}

/// Adds a session's cookies to those of the visitor.
fn put_cookies(fields: &mut Fields, jar: &Jar) {
    if jar.is_empty() {
        return;
    }
    policy::strangers::remove_cookies(fields, |name| jar.contains_name(name));
    let mut text = Vec::new();
    for line in fields.all(Name::Cookie) {
        text.extend_from_slice(line);
        text.extend_from_slice(b"; ");
    }
    jar.write(&mut text);
    fields.set(Name::Cookie, text);
}

/// Keeps the `Set-Cookie` lines of an answer, the last of each name.
fn keep_last(sets: &mut Vec<Vec<u8>>, answer: &Fields) {
    for line in answer.all(Name::SetCookie) {
        let Some(new) = policy::strangers::SetCookie::parse(line) else { continue };
        sets.retain(|old| {
            policy::strangers::SetCookie::parse(old).is_none_or(|old| old.name != new.name)
        });
        sets.push(line.to_vec());
    }
}

/// Notes it if a visitor with a session loads a page, which is nobody else's from then on; whether
/// this is so.
pub(crate) async fn note_loaded(journey: &Journey, strangers: &Strangers) -> bool {
    let Journey { server, site, head, .. } = journey;
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    if !is_safe || errand(&head.fields) != Errand::Navigation {
        return false;
    }
    let (page, ticks_ms) = (page_name(&head.host, &head.target), journey.now().ticks_ms);
    let mut bound = strangers.holders.find(&head.fields, ticks_ms);
    if bound.is_none() && server.note_loaded_unknown(site, strangers, head, &page) {
        // It may have come to be known meanwhile, by who couldn't know of this yet.
        bound = strangers.holders.find(&head.fields, ticks_ms);
    }
    if let Some(bound) = bound.filter(|bound| bound.close(&page)) {
        server.close_everywhere(site, &bound, page).await;
    }
    true
}

/// A holder's request from a page that was still a stranger's when it was loaded: in the
/// words of the holder's own session. The journey comes back if that doesn't apply.
pub(crate) async fn of_holder(mut journey: Journey) -> Result<Reply, Box<Journey>> {
    let becomes_member = match becomes_member(&mut journey).await {
        Ok(bound) => bound,
        Err(reply) => return Ok(reply),
    };
    let result = in_own_words(journey).await;
    if let Some(bound) = becomes_member {
        bound.note_members();
    }
    result
}

/// The session in which a password may be sent, if it is one that Wick began.
async fn becomes_member(journey: &mut Journey) -> Result<Option<Arc<Bound>>, Reply> {
    let Some(strangers) = journey.site.strangers.clone() else { return Ok(None) };
    if matches!(journey.head.method, Method::GET | Method::HEAD) {
        return Ok(None);
    }
    let found = strangers.holders.find(&journey.head.fields, journey.now().ticks_ms);
    let Some(bound) = found else { return Ok(None) };
    match journey.gather(align::BODY_BYTES_MAX).await {
        Ok(Some(body)) => {
            let head = &journey.head;
            let page = page_of(head).map(|target| page_name(&head.host, target));
            let may_log_in = match page.filter(|page| bound.may_have_beside(page)) {
                Some(_) => password::is_sent(&body, &origins(&strangers, head, &body)),
                None => password::may_be_sent(&strangers, head, &body),
            };
            journey.put_back(body);
            Ok(may_log_in.then_some(bound))
        }
        // Nobody's password is that long.
        Ok(None) => Ok(None),
        Err(error) => Err(Reply::failed(&error, &journey.key)),
    }
}

async fn in_own_words(mut journey: Journey) -> Result<Reply, Box<Journey>> {
    let Some(strangers) = journey.site.strangers.clone() else { return Err(Box::new(journey)) };
    if note_loaded(&journey, &strangers).await || !is_same_origin(&journey.head) {
        return Err(Box::new(journey));
    }
    let Journey { server, site, head, .. } = &journey;
    let (server, site) = (server.clone(), site.clone());
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    // A write is known by its token where no page is named.
    let from = page_of(head).map(|target| page_name(&head.host, target));
    if from.is_none() && is_safe {
        return Err(Box::new(journey));
    }
    let ticks_ms = journey.now().ticks_ms;
    let known = strangers.holders.find(&head.fields, ticks_ms);
    let has_open = |bound: &Bound| from.as_ref().is_some_and(|from| bound.has_open(from));
    let is_beside =
        |bound: &Bound| !server.has_fellows() && (from.is_none() || bound.is_strangers());
    let may_be_open = match &known {
        Some(bound) if has_open(bound) => !bound.is_heard() || server.is_in_touch(ticks_ms),
        Some(bound) => is_beside(bound) && (!is_safe || has_token(head)),
        None if from.is_none() => false,
        None => {
            !is_safe
                && server.is_in_touch(ticks_ms)
                && server.may_be_of_another_node(&site, &strangers, head)
        }
    };
    if !may_be_open {
        return Err(Box::new(journey));
    }
    let body = match journey.gather(align::BODY_BYTES_MAX).await {
        Ok(Some(body)) => body,
        Ok(None) => return Err(Box::new(journey)),
        Err(error) => return Ok(Reply::failed(&error, &journey.key)),
    };
    let bound = match known {
        Some(bound) => Some(bound),
        None => server.session_begun_elsewhere(&site, &strangers, &journey.head, &body).await,
    };
    let is_open = |bound: &Bound| has_open(bound) || is_beside(bound);
    let bound = bound.filter(|bound| is_open(bound));
    let copies = match &bound {
        Some(bound) => open_copies(&journey, &strangers, bound, from.as_deref(), &body).await,
        None => Vec::new(),
    };
    match bound.filter(|bound| !copies.is_empty() && is_open(bound)) {
        Some(bound) => Ok(in_session(journey, &strangers, &bound, copies, body).await),
        None => {
            journey.put_back(body);
            Err(Box::new(journey))
        }
    }
}

/// The copies that a holder's request comes from and that are still open in the session, or whose
/// values it brings from the very page, or from one in another tab if it names no page.
async fn open_copies(
    journey: &Journey,
    strangers: &Strangers,
    bound: &Arc<Bound>,
    from: Option<&[u8]>,
    body: &[u8],
) -> Vec<Arc<Copy>> {
    let Journey { server, site, head, .. } = journey;
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    if !is_safe || has_token(head) {
        server.fetch_bound(site, strangers, &head.host, bound).await;
    }
    let mut brought = carried(strangers, head, if is_safe { b"" } else { body });
    if brought.is_empty() && !is_safe {
        brought = held(strangers, head, body).await;
    }
    let is_brought = |copy: &Arc<Copy>| brought.iter().any(|known| known.id == copy.id);
    // Reading is none of the binding's business unless it carries a value.
    let mut copies = match is_safe {
        true => brought.clone(),
        false => with_page(strangers, head, brought.clone()),
    };
    if !copies.is_empty() && !server.knows_closed(site, strangers, bound).await {
        return Vec::new();
    }
    copies.retain(|copy| {
        let page = page_name(&copy.host, &copy.target);
        match from {
            Some(from) => {
                bound.has_open(&page)
                    || page == from && is_brought(copy) && bound.may_be_of(copy, from)
            }
            // A member may be on a page where somebody has placed a form that names none.
            None => is_brought(copy) && !bound.is_given() && bound.may_have_beside(&page),
        }
    });
    copies
}

/// Sends a holder's request in the words of the session that these copies are bound with.
async fn in_session(
    mut journey: Journey,
    strangers: &Strangers,
    bound: &Arc<Bound>,
    copies: Vec<Arc<Copy>>,
    body: Bytes,
) -> Reply {
    let mut session = Session::default();
    let binding = match bound.binding(&copies) {
        Ok(binding) => binding,
        Err(copies) => {
            for copy in &copies {
                session.align(&journey, strangers, copy).await;
            }
            bound.renew(session.binding.clone())
        }
    };
    session.binding = (*binding).clone();
    match session.send(&mut journey, strangers, body).await {
        Ok((reply, answer)) => {
            note_answer(&journey, strangers, bound, &answer).await;
            reply
        }
        Err(reply) => reply,
    }
}

/// Notes what an answer that went as it came says of the session of who asked, if Wick began it.
/// Who comes from a log-in elsewhere and is sent on has become somebody else, and isn't followed.
pub(crate) async fn note_passed(journey: &Journey, strangers: &Strangers, answer: &ResponseHead) {
    let Journey { head, .. } = journey;
    let is_own = match head.method {
        Method::GET | Method::HEAD => {
            answer.fields.has(Name::SetCookie) && !persona::is_redirect(answer.status)
        }
        _ => is_same_origin(head),
    };
    if !is_own {
        return;
    }
    if let Some(bound) = strangers.holders.find(&head.fields, journey.now().ticks_ms) {
        note_answer(journey, strangers, &bound, answer).await;
    }
}

/// Notes that an answer went to a stranger as it came, with a session: other tabs have pages that
/// were given without one, and what is written there is in this session's words from here on. Who
/// comes by what looks like a link out of a mail may be a member, and so may who has a cookie that
/// could be a session's already.
pub(crate) fn note_given(journey: &Journey, strangers: &Strangers, answer: &ResponseHead) {
    let head = &journey.head;
    let may_be_session =
        |(name, value): (&[u8], &[u8])| value.len() >= SESSION_BYTES_MIN && !is_known_foreign(name);
    let is_page = answer.status == 200 && persona::kind(&answer.fields) == Some(align::Kind::Html);
    let is_given = head.method == Method::GET
        && (is_page || persona::is_redirect(answer.status))
        && answer.fields.has(Name::SetCookie)
        && errand(&head.fields) == Errand::Navigation
        && !pairs(&head.fields).any(may_be_session);
    if !is_given || bears_drawn(&head.target) {
        return;
    }
    let mut jar = Jar::default();
    jar.absorb(&answer.fields, journey.now().unix_seconds());
    if jar.iter().any(|(_, value)| value.len() >= SESSION_BYTES_MIN) {
        let bound = strangers.holders.give(&jar, journey.now());
        bound.close(&page_name(&head.host, &head.target));
    }
}

/// Its cookies may have other values, and a page of its own may stand where the stranger's did.
async fn note_answer(
    journey: &Journey,
    strangers: &Strangers,
    bound: &Arc<Bound>,
    answer: &ResponseHead,
) {
    let Journey { server, site, head, .. } = journey;
    if strangers.holders.follow(bound, &answer.fields, journey.now()) {
        server.tell_followed(site, &head.host, bound);
    }
    if let Some(page) = shown_instead(journey, answer).filter(|page| bound.close(page)) {
        server.close_everywhere(site, bound, page).await;
    }
}

/// The page that a write was answered with instead of being led to one (a form that was filled in
/// wrongly is shown again): it bears the session's own values, as if it had been loaded. From the
/// page of an error one goes back to the form.
fn shown_instead(journey: &Journey, answer: &ResponseHead) -> Option<Vec<u8>> {
    let Journey { head, .. } = journey;
    let is_write = !matches!(head.method, Method::GET | Method::HEAD);
    let is_shown = is_write
        && errand(&head.fields) == Errand::Navigation
        && matches!(answer.status, 200..300 | 422)
        && persona::kind(&answer.fields) == Some(align::Kind::Html);
    is_shown.then(|| page_name(&head.host, &head.target))
}

/// Begins a session for a page that tells the time, while the visitor reads it.
pub(crate) async fn begin_early(journey: Journey) {
    let Some(strangers) = journey.site.strangers.clone() else { return };
    let (host, target) = (&journey.head.host, &journey.head.target);
    let Some(copy) = strangers.copies.of_page(host, target).filter(|copy| copy.tells_time) else {
        return;
    };
    let page = page_name(host, target);
    let (browser, ticks_ms) = (browser(&journey), journey.now().ticks_ms);
    if !strangers.aged.claim(browser, &page, ticks_ms) {
        return;
    }
    let mut session = Session::default();
    let mut document = None;
    for _ in 0..2 {
        let head = as_visitor(&journey.head, &copy, &session.jar);
        let fetched =
            persona::fetch(&journey.server, &journey.site, journey.peers, head, journey.peers.peer);
        let Ok(sample) = fetched.await else { return };
        session.absorb(&sample.fields, sample.unix_seconds);
        document = sample.document;
    }
    if let Some(document) = document {
        let Session { jar, sets, .. } = session;
        let document = Arc::unwrap_or_clone(document);
        strangers.aged.put(browser, &page, Aged { jar, sets, document, ticks_ms });
    }
}
