//! What stands beside a site's origin, such as its search: it answers some addresses of the site
//! itself, and is told of pages that everybody may see.
//!
//! In: what was stored, and what became doubtful. Out: answers, and [`PublicPage`]s with a
//! [`Vouch`] each, by which it can be told at any moment whether a page is still what it was.
//! Invariants: 1. whoever is told never holds up an answer: it is told in a call that must not
//! wait. 2. a page is public only if it was made for nobody in particular, says that it is HTML
//! with status 200, and is what somebody is given who bears nothing. 3. a vouch stands only while Wick
//! itself would serve that page to a stranger without asking.
//! Start at [`Companion`]; pages are read in [`reading`].

mod listing;
mod reading;
mod vouch;

use std::pin::Pin;
use std::sync::{Arc, Weak};

use base::Now;
use bytes::Bytes;
use http::Method;
use origin::Answer;
use policy::{Conditional, OwnReason, Verdict};
use store::Key;
use wire::{Fields, Name, RequestHead, ResponseHead};

use crate::Server;
use crate::journey::Journey;
use crate::page::Page;
use crate::reply::{Reply, Told};
use crate::site::Site;

pub use listing::Listed;
pub use reading::{Given, PublicPage, Unread};
pub use vouch::Vouch;

/// What stands beside a site's origin.
pub trait Companion: Send + Sync {
    /// Whether it answers this path itself. It must not wait.
    fn answers(&self, path: &str) -> bool;

    /// The answer to a GET.
    fn answer(self: Arc<Self>, asked: CompanionAsked) -> CompanionFuture;

    /// Something was learned about an address. It must not wait.
    fn notice(&self, notice: Notice<'_>);

    /// What was changed behind our back can be read by all from now on. It must not wait.
    fn settled(&self) {}
}

/// An answer to come.
pub type CompanionFuture = Pin<Box<dyn Future<Output = CompanionAnswer> + Send>>;

/// A companion as a site has it.
pub(crate) type Beside = Arc<dyn Companion>;

/// What a companion is asked.
pub struct CompanionAsked {
    /// The server, for pages to be read by.
    pub server: Arc<Server>,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The host as asked for, in lower case.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// What they have already: `If-None-Match`, `If-Modified-Since`.
    conditions: Fields,
}

impl CompanionAsked {
    /// Whether who asks has what bears these fields (RFC 9110 §13): a 304 will do.
    #[must_use]
    pub fn knows(&self, fields: &Fields) -> bool {
        policy::evaluate(&self.conditions, 200, fields) == Conditional::NotModified
    }
}

/// What a companion answers; conditions, codings and HEAD are seen to by who sends it.
#[derive(Debug)]
pub struct CompanionAnswer {
    /// The status.
    pub status: u16,
    /// The fields, without `Content-Length`.
    pub fields: Fields,
    /// The body.
    pub body: Bytes,
}

/// What was learned about an address.
pub struct Notice<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The host, in lower case, with a port if it was asked for with one.
    pub host: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// What it is.
    pub what: Noticed,
}

/// What became of a page.
#[derive(Clone)]
pub enum Noticed {
    /// It was stored just now, and may be public.
    Stored(PageHandle),
    /// A file that may be HTML was sent.
    File,
    /// What was known of it may not be so any more.
    Doubted,
    /// Somebody wrote to it just now, by whichever scheme: what was known of it may not be so any
    /// more.
    Written,
    /// A companion of the same kind on another node has it, of which nothing else is known.
    Found,
    /// Somebody was given it as a page of their own, such as its author after a writing.
    Seen,
    /// A stranger asked for a page, and whether it is everybody's is being found out. Nothing is
    /// told if it isn't.
    Wanted,
}

/// A stored page that isn't held by who has this.
#[derive(Clone)]
pub struct PageHandle {
    pub(super) page: Weak<Page>,
    pub(super) key: Box<[u8]>,
    pub(super) hash: u64,
}

/// By which a page is told from another of the same address, without being held.
#[derive(Clone)]
pub struct PageMark(Weak<Page>);

impl PageMark {
    /// Whether both are of one page.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }

    /// Whether it is gone from memory.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// About how often it was asked for; 0 once it is gone from memory.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.0.upgrade().map_or(0, |page| page.asked())
    }
}

impl PageHandle {
    /// What the page is told by.
    #[must_use]
    pub fn mark(&self) -> PageMark {
        PageMark(self.page.clone())
    }
}

/// The companion that answers this request, if one does.
pub(crate) fn of_request(site: &Site, head: &RequestHead) -> Option<Beside> {
    let companion = site.companion()?;
    let is_reading = matches!(head.method, Method::GET | Method::HEAD);
    (is_reading && companion.answers(head.path())).then_some(companion)
}

/// The way of a request that a companion answers.
pub(crate) async fn answered(journey: Journey, companion: Beside) -> Reply {
    let asked = CompanionAsked {
        server: journey.server.clone(),
        scheme: journey.peers.scheme,
        host: journey.head.host.to_ascii_lowercase(),
        target: journey.head.target.clone(),
        conditions: conditions(&journey.head.fields),
    };
    let CompanionAnswer { status, fields, body } = companion.answer(asked).await;
    let length = Some(body.len() as u64);
    let body = wire::body::full(body);
    let answer = Answer { head: ResponseHead { status, fields }, body, length, file: None };
    let verdict = Verdict::Synthetic(OwnReason::Search);
    let told = Told { verdict, ttl_seconds: None, origin_status: None, stored: None };
    Reply::passed(answer, &journey, &told)
}

fn conditions(request: &Fields) -> Fields {
    let mut conditions = Fields::new();
    for name in [Name::IfNoneMatch, Name::IfModifiedSince] {
        request.all(name).for_each(|line| conditions.push(name.as_str(), line));
    }
    conditions
}

/// Scheme, host and target of a key.
fn parts(key: &[u8]) -> Option<(&str, &str, &str)> {
    let mut parts = std::str::from_utf8(key).ok()?.splitn(3, '|');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

fn tell(companion: &Beside, key: &[u8], what: Noticed) {
    if let Some((scheme, host, target)) = parts(key) {
        companion.notice(Notice { scheme, host, target, what });
    }
}

/// A page was stored.
pub(crate) fn note_stored(site: &Site, key: &Key<'_>, page: &Arc<Page>) {
    let Some(companion) = site.companion() else { return };
    if reading::is_of_others(page) {
        // It lies beside what strangers are given, and says nothing about that.
        return;
    }
    let what = match reading::is_public(page) {
        true => Noticed::Stored(PageHandle {
            page: Arc::downgrade(page),
            key: key.text.into(),
            hash: key.hash,
        }),
        false => Noticed::Doubted,
    };
    tell(&companion, key.text, what);
}

/// What was known of the page under this key may not be so any more.
pub(crate) fn note_doubt(site: &Site, key: &[u8]) {
    if let Some(companion) = site.companion() {
        tell(&companion, key, Noticed::Doubted);
    }
}

/// Somebody wrote to the page under this key; of its keys by either scheme one is told.
pub(crate) fn note_written(site: &Site, key: &[u8]) {
    if let Some(companion) = site.companion() {
        tell(&companion, key, Noticed::Written);
    }
}

/// What was changed is visible to all.
pub(crate) fn note_settled(site: &Site) {
    if let Some(companion) = site.companion() {
        companion.settled();
    }
}

/// A page was given to somebody alone, who may have changed it just now.
pub(crate) fn note_seen(journey: &Journey, fields: &Fields) {
    let Some(companion) = journey.site.companion() else { return };
    let is_html = fields.first(Name::ContentType).is_some_and(crate::render::is_html_type);
    if *journey.method() == Method::GET && is_html {
        tell(&companion, &journey.key, Noticed::Seen);
    }
}

/// A stranger was given a page of which it isn't known yet whether it is everybody's.
pub(crate) fn note_wanted(journey: &Journey, fields: &Fields) {
    let Some(companion) = journey.site.companion() else { return };
    if fields.first(Name::ContentType).is_some_and(crate::render::is_html_type) {
        tell(&companion, &journey.key, Noticed::Wanted);
    }
}

/// An answer of the origin's that is not stored: a file, or what says that the page isn't what it
/// was. What a member is given says nothing about strangers, but that somebody looks at it.
pub(crate) fn note_unstored(journey: &Journey, head: &ResponseHead, is_file: bool) {
    let Some(companion) = journey.site.companion() else { return };
    let is_reading = matches!(*journey.method(), Method::GET | Method::HEAD);
    let is_html = head.fields.first(Name::ContentType).is_some_and(crate::render::is_html_type);
    let is_gone = matches!(head.status, 401 | 403 | 404 | 410 | 451);
    let what = match is_file && head.status == 200 && is_html {
        true => Noticed::File,
        false if is_reading && (is_gone || !journey.bears_credentials()) => Noticed::Doubted,
        false if head.status == 200 => return note_seen(journey, &head.fields),
        false => return,
    };
    tell(&companion, &journey.key, what);
}

impl Server {
    /// The page of a handle, if it is still there and public, with what is known of it now.
    #[must_use]
    pub fn public_page(&self, handle: &PageHandle) -> Option<PublicPage> {
        let page = handle.page.upgrade()?;
        let (_, host, _) = parts(&handle.key)?;
        let site = self.sites().find(host)?.clone();
        let read = reading::of_page(&site, &page, &handle.key, handle.hash)?;
        let vouch = read.vouch.as_ref()?;
        vouch.is_untouched(self.clock.now()).then_some(read)
    }

    /// What was known of the page under this key may not be so any more.
    pub(crate) fn doubt(&self, key: &Key<'_>) {
        let Some((_, host, _)) = parts(key.text) else { return };
        if let Some(site) = self.sites().find(host) {
            note_doubt(site, key.text);
        }
    }

    /// Whether a site was changed behind our back, and not all can read that yet.
    #[must_use]
    pub fn is_settling(&self, host: &str) -> bool {
        self.sites().find(host).is_some_and(|site| site.generations.is_settling())
    }

    /// Whether something was purged, written or changed that may show on the page of a vouch: not
    /// whether its time is over.
    #[must_use]
    pub fn is_touched(&self, vouch: &Vouch) -> bool {
        !vouch.is_untouched(self.clock.now())
    }

    /// Whether that is nothing but what changes whenever pages are read.
    #[must_use]
    pub fn is_touched_by_reading(&self, vouch: &Vouch) -> bool {
        vouch.is_touched_by_reading(self.clock.now())
    }

    /// Whether a vouch still stands.
    #[must_use]
    pub fn is_vouched(&self, vouch: &Vouch) -> bool {
        let now: Now = self.clock.now();
        !self.is_leaving() && self.is_in_touch(now.ticks_ms) && vouch.stands(now)
    }
}
