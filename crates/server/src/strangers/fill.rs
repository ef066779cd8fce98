//! Filling: a page for strangers is made, stored, and made anew when it is stale.
//!
//! Invariants: 1. what was written to the site while a page was made is not in it, and the
//! page is not stored. 2. a page that turns out personal is withdrawn at once, with its
//! class.

use std::sync::Arc;

use align::{Binding, Document};
use base::task;
use policy::{Terms, VaryKey};
use store::Key;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use wire::{Fields, Name, ResponseHead};

use crate::carry;
use crate::companion;
use crate::esi;
use crate::fetch;
use crate::following::scope::route_of;
use crate::page::{Page, Stored};
use crate::pipeline;
use crate::purge::generations::Moment;
use crate::purge::marks::Marks;

use super::Strangers;
use super::brief::Brief;
use super::classes::Noted;
use super::copies::Copy;
use super::data;
use super::guests::{Reader, Sharing};
use super::persona::{self, Persona, Sample, document_of, is_redirect};
use super::proving::prove;
use super::refusal::Refusal;
use super::verify::{self, Verified, apart, verify};

/// Pages of a site that are made at one time; visitors need the origin too.
const FILLS_MAX: usize = 4;

/// Pages that wait to be made; a crawler must not keep visitors waiting behind it.
const WAITING_MAX: usize = 32;

/// Places for those who fill.
pub(crate) struct Places {
    filling: Semaphore,
    /// Those who fill and those who wait.
    all: Arc<Semaphore>,
}

/// A place: whoever has one may fill.
struct Place<'a> {
    _filling: SemaphorePermit<'a>,
    _one: OwnedSemaphorePermit,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            filling: Semaphore::new(FILLS_MAX),
            all: Arc::new(Semaphore::new(FILLS_MAX + WAITING_MAX)),
        }
    }
}

impl Places {
    /// Waits for a place; none if too many wait already.
    async fn enter(&self) -> Option<Place<'_>> {
        let one = self.all.clone().try_acquire_owned().ok()?;
        let filling = self.filling.acquire().await.ok()?;
        Some(Place { _filling: filling, _one: one })
    }
}

/// What is filled: the page, its key, and the kind of reader that it is for.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) brief: Brief,
    pub(crate) key: Vec<u8>,
    pub(crate) hash: u64,
    pub(crate) reader: Reader,
}

impl Order {
    fn page_hash(&self) -> u64 {
        pipeline::hash(&self.brief.page())
    }

    /// Whether nothing of the site was written or changed since then.
    fn is_untouched_since(&self, began: Moment) -> bool {
        self.brief.site.generations.content() == began.content
    }

    fn ticks_ms(&self) -> u64 {
        self.brief.server.clock.now().ticks_ms
    }

    fn tell_refused(&self, noted: Noted) {
        let Brief { server, site, host, target, .. } = &self.brief;
        server.tell_refused(site, host, target, noted);
    }

    /// Takes what was just stored out again where another node refused it meanwhile: who hears of
    /// that later than this looks finds the page.
    pub(crate) fn drop_if_heard(&self, strangers: &Strangers) {
        let heard = strangers.classes.heard(&self.brief.target, self.page_hash(), self.ticks_ms());
        if heard.is_some() {
            let key = Key { hash: self.hash, text: &self.key };
            self.brief.server.remove_if(&key, Page::is_for_strangers);
        }
    }
}

/// Who asked for a page first: what they were given, and when it was asked for.
#[derive(Clone)]
pub(crate) struct First {
    pub(crate) document: Arc<Document>,
    pub(crate) began: Moment,
}

/// Makes the page for everybody like this reader, or learns why that can't be.
pub(crate) async fn fill(order: &Order, asker: Option<First>) -> Result<Arc<Page>, Arc<Refusal>> {
    let Some(strangers) = order.brief.strangers() else {
        return Err(Arc::new(Refusal::Forbidden));
    };
    let Some(_place) = strangers.places.enter().await else {
        return Err(Arc::new(Refusal::Busy));
    };
    let (began, asked_ticks_ms) = (order.brief.site.generations.moment(), order.ticks_ms());
    let since = asker.as_ref().map_or(began, |first| first.began);
    match verify(&order.brief, asker.map(|first| first.document)).await {
        Ok(verified) => {
            strangers.note_shared(&order.brief.target, order.page_hash(), order.ticks_ms())?;
            strangers.counts.shared.bump();
            Ok(store(strangers, order, verified, began, asked_ticks_ms))
        }
        Err(refusal) => {
            strangers.counts.refused.bump();
            // An edit between two copies says nothing about the page.
            if refusal.is_of_no_edit() || order.is_untouched_since(since) {
                let (target, page) = (&order.brief.target, order.page_hash());
                let (classes, ticks_ms) = (&strangers.classes, order.ticks_ms());
                let taste = &order.brief.taste;
                if refusal == Refusal::Asker && !taste.is_browser() {
                    classes.note_odd(target, page, taste, ticks_ms);
                } else {
                    let noted = classes.note_refused(target, page, refusal.clone(), ticks_ms);
                    order.tell_refused(noted);
                }
            }
            companion::note_doubt(&order.brief.site, &order.key);
            Err(Arc::new(refusal))
        }
    }
}

/// What came of making a page anew.
pub(crate) enum Made {
    Page(Arc<Page>),
    /// The origin fails.
    Failed,
    /// It is not to be shared, or there is no room to find out.
    NotShared,
}

/// Makes a page anew: by one persona, or now and then by two, as if it were new.
pub(crate) async fn remake(order: &Order, old: &Arc<Page>) -> Made {
    let Some(strangers) = order.brief.strangers() else { return Made::NotShared };
    let Some(_place) = strangers.places.enter().await else { return Made::NotShared };
    let (mut began, asked_ticks_ms) = (order.brief.site.generations.moment(), order.ticks_ms());
    let sample_of = u64::from(strangers.rules.sample.max(1));
    let alone = match strangers.throw() % sample_of {
        0 => Ok(None),
        _ => visit_alone(&order.brief, old).await,
    };
    let mut verified = match alone {
        Ok(Some(verified)) => Ok(verified),
        Ok(None) => verify(&order.brief, None).await,
        Err(refusal) => Err(refusal),
    };
    if verified.as_ref().is_err_and(Refusal::may_be_of_an_edit) {
        // Nobody need have told of it. What is somebody's own differs again.
        began = order.brief.site.generations.moment();
        verified = verify(&order.brief, None).await;
    }
    match verified {
        Ok(verified) if is_doubtful(strangers, order, &verified, old).await => Made::NotShared,
        Ok(verified) => {
            prove(order, old, Some(&verified.sample), began);
            Made::Page(store(strangers, order, verified, began, asked_ticks_ms))
        }
        Err(Refusal::Origin(_) | Refusal::Status(500..)) => Made::Failed,
        Err(_) if !order.is_untouched_since(began) => Made::NotShared,
        Err(refusal) => {
            if !refusal.is_passing() {
                prove(order, old, None, began);
            }
            withdraw(strangers, order, &refusal);
            Made::NotShared
        }
    }
}

/// Whether a new copy has so little in common with the one before that it may be a passing
/// error sent as a page. It is believed when the next one looks like that too.
async fn is_doubtful(
    strangers: &Strangers,
    order: &Order,
    verified: &Verified,
    old: &Page,
) -> bool {
    let old = old.as_stored().and_then(document_of);
    let (Some(old), Some(new)) = (old, verified.sample.document.clone()) else { return false };
    let is_another = apart(move || {
        align::compare(&new, &old)
            .map_or(true, |found| found.left > (new.chunk_count() + old.chunk_count()) / 2)
    });
    strangers.classes.doubts(order.page_hash(), is_another.await)
}

/// A page that was shared may not be any more.
fn withdraw(strangers: &Strangers, order: &Order, refusal: &Refusal) {
    let ticks_ms = order.ticks_ms();
    let target = &order.brief.target;
    if refusal.is_passing() {
        return;
    }
    let key = Key { hash: order.hash, text: &order.key };
    order.brief.server.remove_if(&key, Page::is_for_strangers);
    let classes = &strangers.classes;
    let mut noted = classes.note_refused(target, order.page_hash(), refusal.clone(), ticks_ms);
    if refusal.may_be_of_an_edit() {
        strangers.counts.alarms.bump();
        order.brief.server.counters.pages_withdrawn.bump();
        noted.class = classes.quarantine(target, refusal, ticks_ms);
    }
    order.tell_refused(noted);
}

/// One persona's copy, if the page that it takes the place of vouches for it: the same kind
/// of answer, and nothing of the persona's own but in values that differ from the old copy.
async fn visit_alone(brief: &Brief, old: &Page) -> Result<Option<Verified>, Refusal> {
    let (Some(strangers), Some(stored)) = (brief.strangers(), old.as_stored()) else {
        return Ok(None);
    };
    let mut persona = Persona::new(strangers.persona_address());
    let mut page = persona.fetch(brief).await?;
    if !persona.jar.is_empty() && !is_redirect(page.status) {
        page = persona.fetch(brief).await?;
    }
    if page.status >= 500 {
        return Err(Refusal::Status(page.status));
    }
    if page.status != stored.status || is_redirect(page.status) {
        return Ok(None);
    }
    let copy = old.sharing.as_ref().and_then(|sharing| strangers.copies.with_id(sharing.copy?));
    Ok(vouch(&persona, page, stored, copy).await)
}

/// The copy that this persona was given, if the old one vouches for it. By something this one has
/// to be recognised if that was: what stands around a token may be written otherwise.
async fn vouch(
    persona: &Persona,
    page: Sample,
    stored: &Stored,
    copy: Option<Arc<Copy>>,
) -> Option<Verified> {
    let document = page.document.clone()?;
    let old = document_of(stored)?;
    let own = persona.own_values();
    let is_data = persona::kind(&page.fields) != Some(align::Kind::Html);
    let compared = document.clone();
    let judged = apart(move || {
        let comparison = align::compare(&compared, &old).ok()?;
        let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        let is_much = comparison.left > comparison.chunks / 2;
        let is_exposed = align::exposes(&compared, &comparison, &own).is_some()
            || (is_data && data::is_for_all(&compared, &[], &old).is_err());
        if is_much || is_exposed {
            return None;
        }
        let found = comparison.strong_values().map(<[u8]>::to_vec).collect();
        let before = copy.iter().flat_map(|copy| &copy.known).map(|value| &value[..]);
        let wanted = before.clone().count();
        let known = with_counterparts(found, before, (&old, &compared));
        if known.is_empty() && wanted > 0 {
            return None;
        }
        let has_tokens = comparison.spans.iter().any(|span| span.class.is_translated());
        Some((has_tokens || !known.is_empty(), known))
    })
    .await?;
    let (has_tokens, known) = judged;
    Some(Verified {
        known,
        has_tokens,
        has_session: !persona.jar.is_empty(),
        tells_time: document.tells_time(page.unix_seconds),
        sample: page,
    })
}

/// The values by which a copy is recognised: those that were found by comparing it with another, and
/// what those of the other are in it.
pub(super) fn with_counterparts<'a>(
    mut found: Vec<Vec<u8>>,
    others: impl Iterator<Item = &'a [u8]> + Clone,
    (other, copy): (&Document, &Document),
) -> Vec<Vec<u8>> {
    if found.len() < others.clone().count()
        && let Ok(binding) = Binding::new(other, copy, others)
    {
        found.extend(binding.counterparts().map(<[u8]>::to_vec));
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// Stores the copy for strangers, and keeps it for those who will write from it.
fn store(
    strangers: &Strangers,
    order: &Order,
    verified: Verified,
    began: Moment,
    asked_ticks_ms: u64,
) -> Arc<Page> {
    let Order { brief, key, hash, reader } = order;
    let (now, sample) = (brief.server.clock.now(), &verified.sample);
    let is_written_from = verified.has_tokens || verified.has_session;
    let copy = is_written_from.then(|| {
        let copy = brief.copy(sample, verified.known, verified.tells_time, true);
        let copy = strangers.copies.keep(copy);
        brief.server.lay_down_copy(&brief.site, &copy, &[]);
        copy.id
    });
    let etag = format!("W/\"wk-{:016x}\"", pipeline::hash(&sample.body));
    let answer = ResponseHead { status: sample.status, fields: sample.fields.clone() };
    let mut fields = policy::strangers::head_for_strangers(&answer, etag.as_bytes());
    esi::keep_wish(&brief.site, &answer, &mut fields);
    fetch::put_date(&mut fields, now);
    let vary = VaryKey::of(&other_vary(&sample.fields), &brief.head().fields);
    let head = ResponseHead { status: sample.status, fields };
    let terms = Terms {
        lifetime_ms: fresh_ms(strangers, brief),
        stale_while_revalidate_seconds: u32::try_from(strangers.rules.stale_ms / 1000).ok(),
        must_revalidate: false,
        no_cache: false,
        ..Terms::expired(now.ticks_ms)
    };
    let others = strangers.classes.same_tastes(&brief.target, reader.taste);
    let sharing = reader.sharing(&others, began.content, verified.tells_time);
    let sharing = Sharing { copy, ..sharing };
    let marks = Marks::of(began, &brief.host, &sample.fields);
    let marks = fetch::named(&brief.server, marks, &sample.fields);
    let has_scope = brief.site.following.as_ref().is_some_and(|following| following.scope.is_on());
    // What a script asks for in the background is told apart by more than its address.
    let route = (has_scope && reader.errand == Some(0))
        .then(|| route_of(&brief.host, &brief.target).map(|(_, route)| route))
        .flatten();
    let body = sample.body.clone();
    let codings = brief.site.rules().codings;
    let page = Page::stored(head, key, body, terms, vary, marks, codings).shared(sharing, route);
    let page = Arc::new(page.that_took(now.ticks_ms.saturating_sub(asked_ticks_ms)));
    let key = Key { hash: *hash, text: key };
    compare_tastes(order, &key, &page);
    if let Some(following) = &brief.site.following {
        following.wanted.note(order, &page);
    }
    carry::insert(&brief.server, &brief.site, &key, page.clone(), began);
    order.drop_if_heard(strangers);
    page
}

/// How long a page is fresh that is stored now.
fn fresh_ms(strangers: &Strangers, brief: &Brief) -> u64 {
    let followed = brief.site.following.as_ref().and_then(|following| following.fresh_ms());
    let Some(followed) = followed else { return strangers.rules.fresh_ms };
    strangers.classes.fresh_ms(&brief.target).map_or(followed, |own| own.min(followed))
}

/// Learns whether another kind of browser, or another language, is given the same page.
fn compare_tastes(order: &Order, key: &Key<'_>, page: &Arc<Page>) {
    let Some(own) = &page.sharing else { return };
    let is_other = |other: &Page| {
        other.sharing.as_ref().is_some_and(|sharing| {
            sharing.errand == own.errand
                && sharing.content == own.content
                && !sharing.tastes.iter().any(|taste| own.tastes.contains(taste))
        })
    };
    let Some(other) = order.brief.server.store.find(key, is_other) else { return };
    let (Some(one), Some(two)) = (page.as_stored(), other.as_stored()) else { return };
    let (one_page, two_page) = (document_of(one), document_of(two));
    let is_alike = one.status == two.status;
    let is_equal = one.body == two.body;
    let Some(tastes) = other.sharing.as_ref().map(|sharing| sharing.tastes.clone()) else { return };
    let (site, target) = (order.brief.site.clone(), order.brief.target.clone());
    let (own, page) = (order.reader.taste, order.page_hash());
    task::spawn_counted(&order.brief.server.counters.panics, async move {
        let is_same = is_alike
            && match (one_page, two_page) {
                (Some(one), Some(two)) => {
                    apart(move || align::may_share(&one, &[], &two, &[]).is_ok()).await
                }
                _ => is_equal,
            };
        let Some(strangers) = &site.strangers else { return };
        for &taste in &tastes {
            strangers.classes.note_tastes(&target, page, (own, taste), is_same);
        }
    });
}

/// What a page varies by beside what is told apart for strangers anyway.
fn other_vary(fields: &Fields) -> Fields {
    const TOLD_APART: [&[u8]; 4] =
        [b"cookie", b"accept-encoding", b"user-agent", b"accept-language"];
    let mut kept = Fields::new();
    for member in fields.members(Name::Vary) {
        if !TOLD_APART.iter().any(|known| member.eq_ignore_ascii_case(known)) {
            kept.put(Name::Vary, member);
        }
    }
    kept
}

/// Whether an address is tried at all, and if not, why.
pub(crate) fn untried(order: &Order) -> Option<Arc<Refusal>> {
    let strangers = order.brief.strangers()?;
    let target = &order.brief.target;
    if let Some(refusal) = verify::refused_unseen(strangers, target) {
        return Some(Arc::new(refusal));
    }
    let (taste, page) = (&order.brief.taste, order.page_hash());
    strangers.classes.refusal_for(taste, target, page, order.ticks_ms())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn so_many_fill_so_many_wait_and_the_rest_go_away() {
        let places = Places::default();
        let mut filling = Vec::new();
        for _ in 0..FILLS_MAX {
            filling.push(places.enter().now_or_never().flatten().expect("there is room"));
        }
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(places.enter())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none(), "it waits");
        }
        assert!(matches!(places.enter().now_or_never(), Some(None)));
        drop(filling.pop());
        assert!(waiting.remove(0).now_or_never().flatten().is_some());
    }
}
