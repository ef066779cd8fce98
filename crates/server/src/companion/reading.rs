//! Reading a page as any stranger would be given it, for a site's companion.
//!
//! The request takes the road of all requests, so that what is read is what is stored for
//! everybody, and is stored if it wasn't. It is no visit: it isn't counted, logged or observed.
//! Bounds: [`TRIES`] requests a page, and the time that whoever asks gives.
//! Start at [`Server::read_public`].

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use policy::strangers::{Taste, user_agent};
use policy::{MissReason, NoStore, PassReason, StaleReason, Verdict};
use tokio::time::{Instant, sleep, timeout_at};
use wire::{Fields, Name, RequestHead, ResponseHead, Version};

use super::PageMark;
use super::vouch::Vouch;
use crate::Server;
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline::{self, Task, Turn};
use crate::reply::{Head, Reply};
use crate::site::Site;
use crate::try_out;

/// Requests for one page: the first answer may come before anybody has found out whether it is
/// everybody's, and the next waits for that.
const TRIES: usize = 3;
/// What was changed is waited for so long until everybody can read it, and looked after so often:
/// a page that is read before is read in vain.
const SETTLING_MAX: Duration = Duration::from_secs(5);
/// So long what a reading itself may have changed is waited for.
const OWN_MAX: Duration = Duration::from_secs(1);
const SETTLING_LOOK: Duration = Duration::from_millis(5);
/// What browsers say they take as they open a page.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A page that everybody is given.
pub struct PublicPage {
    /// Its fields.
    pub fields: Fields,
    /// All of it, in no coding.
    pub body: Bytes,
    /// That it is what it was; none for a file, which is read each time.
    pub vouch: Option<Vouch>,
    /// By which it is told from others of its address; none for a file.
    pub mark: Option<PageMark>,
}

/// What a stranger was given who asked for a page that isn't everybody's, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The body, in no coding.
    pub body: Bytes,
    /// Its `Content-Type`.
    pub content_type: String,
    /// Its fields `X-Robots-Tag`, one by one.
    pub robots: Vec<String>,
}

impl Given {
    /// What an answer with these fields gave.
    #[must_use]
    pub fn of(fields: &Fields, body: Bytes) -> Self {
        let robots = fields.all_named("x-robots-tag");
        let robots = robots.map(|value| String::from_utf8_lossy(value).into_owned());
        let content_type = fields.text(Name::ContentType).unwrap_or_default().to_owned();
        Self { body, content_type, robots: robots.collect() }
    }
}

/// Why a page was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is none: this is the status, and where it leads if it is a redirect.
    Status(u16, Option<String>),
    /// It isn't everybody's, as far as is known now, or no page. What a stranger was given who
    /// asked for it, if that is HTML.
    NotPublic(Option<Given>),
    /// Something was written to the site, or changed, while it was read. What it was then.
    Changing(Option<Given>),
    /// The origin failed, or nothing whole came in time. That says nothing about the page.
    Failed {
        /// For how long the origin wants to be left alone, if it said so.
        retry_after: Option<Duration>,
    },
}

/// Whether a page was made for nobody in particular: of what varies by what visitors bear, the
/// variant for who bears nothing.
pub(super) fn is_public(page: &Page) -> bool {
    let Some(stored) = page.as_stored() else { return false };
    let is_plain = stored.object.is_none() && stored.template.is_none();
    let is_of_navigation = page.sharing.as_ref().is_none_or(|sharing| sharing.errand == 0);
    stored.status == 200
        && stored.is_html
        && is_plain
        && is_of_navigation
        && !is_of_others(page)
        && !page.is_of_bearer
}

/// Whether a page is the variant for those who bear something.
pub(super) fn is_of_others(page: &Page) -> bool {
    page.vary().is_some_and(|vary| !vary.matches(&STRANGER))
}

/// What is read of a stored page.
pub(super) fn of_page(
    site: &Arc<Site>,
    page: &Arc<Page>,
    key: &[u8],
    hash: u64,
) -> Option<PublicPage> {
    let stored = page.as_stored().filter(|_| is_public(page))?;
    let fields = stored.fields();
    // Nobody here reads what the origin itself has coded.
    if fields.has(Name::ContentEncoding) {
        return None;
    }
    let vouch = Some(Vouch::of(site, page, key, hash)?);
    let mark = Some(PageMark(Arc::downgrade(page)));
    Some(PublicPage { fields, body: stored.body.clone(), vouch, mark })
}

impl Server {
    /// Reads an address as a stranger is given it. It must be called on a runtime that lasts as
    /// long as the server does.
    ///
    /// # Errors
    /// Why there is no page for everybody.
    pub async fn read_public(
        self: &Arc<Self>,
        scheme: &'static str,
        host: &str,
        target: &str,
        patience: Duration,
    ) -> Result<PublicPage, Unread> {
        let wanted = Wanted { scheme, host, target, is_plain: false };
        let (site, read) = self.read_as_stranger(&wanted, patience, TRIES).await?;
        match read {
            Read::Page { page, key, hash, verdict } => {
                let found = of_page(&site, &page, &key, hash);
                let found = found.ok_or_else(|| Unread::NotPublic(html_of(&page)))?;
                let is_served = matches!(
                    verdict,
                    Verdict::Stale(StaleReason::WhileRevalidate)
                        | Verdict::Hit
                        | Verdict::Miss(_)
                        | Verdict::Revalidated
                        | Verdict::Collapsed
                );
                match &found.vouch {
                    Some(vouch) if is_served && self.is_as_read(&site, vouch).await => Ok(found),
                    _ => Err(Unread::Changing(html_of(&page))),
                }
            }
            Read::Plain { head, body, is_file: true } if head.status == 200 => {
                let is_html =
                    head.fields.first(Name::ContentType).is_some_and(crate::render::is_html_type);
                let found = PublicPage { fields: head.fields, body, vouch: None, mark: None };
                is_html.then_some(found).ok_or(Unread::NotPublic(None))
            }
            Read::Plain { head, body, .. } => Err(unread(&head, body)),
        }
    }

    /// Whether nothing was changed while a page was read but what its reading changes itself.
    async fn is_as_read(&self, site: &Site, vouch: &Vouch) -> bool {
        if vouch.is_untouched(self.clock.now()) {
            return true;
        }
        // What was changed is known once it is settled.
        settled(site, Instant::now() + OWN_MAX).await;
        vouch.is_touched_by_reading(self.clock.now())
    }

    /// Reads a file such as `/robots.txt` as a stranger is given it: the body of an answer with
    /// status 200, whatever it is. Where the companion itself answers, it is what the origin says.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn read_plain(
        self: &Arc<Self>,
        scheme: &'static str,
        host: &str,
        target: &str,
        patience: Duration,
    ) -> Result<Bytes, Unread> {
        let wanted = Wanted { scheme, host, target, is_plain: true };
        let (_, read) = self.read_as_stranger(&wanted, patience, 1).await?;
        match read {
            Read::Page { page, .. } => match page.as_stored() {
                Some(stored) if stored.status == 200 => Ok(stored.body.clone()),
                Some(stored) => Err(Unread::Status(stored.status, None)),
                None => Err(Unread::NotPublic(None)),
            },
            Read::Plain { head, body, .. } if head.status == 200 => Ok(body),
            Read::Plain { head, body, .. } => Err(unread(&head, body)),
        }
    }

    async fn read_as_stranger(
        self: &Arc<Self>,
        wanted: &Wanted<'_>,
        patience: Duration,
        tries: usize,
    ) -> Result<(Arc<Site>, Read), Unread> {
        let Some(site) = self.sites().find(wanted.host).cloned() else {
            return Err(Unread::NotPublic(None));
        };
        let until = Instant::now() + patience;
        if !wanted.is_plain {
            settled(&site, until.min(Instant::now() + SETTLING_MAX)).await;
        }
        let mut last = None;
        for _ in 0..tries {
            let read = timeout_at(until, self.go(&site, wanted, until)).await;
            let Ok(Some(read)) = read else { return Err(Unread::Failed { retry_after: None }) };
            // What was answered to one alone may be found to be everybody's meanwhile; the next
            // waits for that.
            let is_open = matches!(
                &read,
                Read::Plain { head, is_file: false, .. } if head.status == 200
            );
            last = Some(read);
            if !is_open {
                break;
            }
        }
        last.map(|read| (site, read)).ok_or(Unread::NotPublic(None))
    }

    /// One request, to its end. None: it broke off.
    async fn go(
        self: &Arc<Self>,
        site: &Arc<Site>,
        wanted: &Wanted<'_>,
        until: Instant,
    ) -> Option<Read> {
        let mut head = stranger(wanted.host, wanted.target);
        let peers = try_out::peers(self, &head, wanted.scheme);
        let mut key = Vec::new();
        let now = self.clock.now();
        let turn = pipeline::set_off(self, site, &mut head, false, now, &mut key, peers, None);
        let (reply, key, hash) = match turn {
            Turn::Arrived(reply) => {
                let hash = pipeline::hash(&key);
                (reply, key, hash)
            }
            Turn::Onward(mut errand) => {
                if matches!(errand.task, Task::Companion(_)) {
                    if !wanted.is_plain {
                        return None;
                    }
                    errand.task = Task::Pass(PassReason::Uncacheable);
                }
                let journey = Journey::unattended(self, site, &head, &key, peers);
                (pipeline::travel(journey, errand.hash, errand.task).await, key, errand.hash)
            }
        };
        let reply = match of_bearer(&reply) {
            Some(page) => {
                // A stranger is given it as well, but was not the one whom it was made for.
                let why = MissReason::Swept;
                self.ask_again(site, &head, &key, peers, hash, Task::Validate { page, why }).await
            }
            None => reply,
        };
        let verdict = reply.verdict;
        if let Head::Stored { page, .. } = &reply.head
            && page.file.is_none()
        {
            return Some(Read::Page { page: page.clone(), key, hash, verdict });
        }
        let is_stored = matches!(reply.head, Head::Stored { .. });
        let is_file = is_stored || reply.unstored == Some(NoStore::File);
        let head = ResponseHead { status: reply.status(), fields: try_out::fields_of(&reply) };
        let (body, is_whole) = try_out::read(reply.payload, until).await;
        is_whole.then_some(Read::Plain { head, body, is_file })
    }

    async fn ask_again(
        self: &Arc<Self>,
        site: &Arc<Site>,
        head: &RequestHead,
        key: &[u8],
        peers: Peers,
        hash: u64,
        task: Task,
    ) -> Reply {
        let journey = Journey::unattended(self, site, head, key, peers);
        pipeline::travel(journey, hash, task).await
    }
}

/// Waits until what was changed is visible to all; until then at most.
async fn settled(site: &Site, until: Instant) {
    while site.generations.is_settling() && Instant::now() < until {
        sleep(SETTLING_LOOK).await;
    }
}

/// What is asked for.
struct Wanted<'a> {
    scheme: &'static str,
    host: &'a str,
    target: &'a str,
    /// Whatever it is, and as the origin says it also where the companion answers.
    is_plain: bool,
}

/// What came of a request.
enum Read {
    /// It is stored.
    Page { page: Arc<Page>, key: Vec<u8>, hash: u64, verdict: Verdict },
    /// It isn't.
    Plain { head: ResponseHead, body: Bytes, is_file: bool },
}

/// The page of a reply that was made for somebody who bore something.
fn of_bearer(reply: &Reply) -> Option<Arc<Page>> {
    match &reply.head {
        Head::Stored { page, .. } if page.is_of_bearer => Some(page.clone()),
        _ => None,
    }
}

/// The HTML of a page that isn't everybody's and wasn't made for somebody who bore something.
fn html_of(page: &Page) -> Option<Given> {
    let stored = page.as_stored()?;
    let is_html = stored.status == 200 && stored.is_html && stored.template.is_none();
    (is_html && !page.is_of_bearer && !is_of_others(page))
        .then(|| Given::of(&stored.fields(), stored.body.clone()))
}

fn unread(head: &ResponseHead, body: Bytes) -> Unread {
    let retry_after = head.fields.text(Name::RetryAfter).and_then(|text| text.trim().parse().ok());
    let retry_after = retry_after.map(Duration::from_secs);
    match head.status {
        200 => {
            let is_html =
                head.fields.first(Name::ContentType).is_some_and(crate::render::is_html_type);
            Unread::NotPublic(is_html.then(|| Given::of(&head.fields, body)))
        }
        429 | 500.. => Unread::Failed { retry_after },
        status => Unread::Status(status, head.fields.text(Name::Location).map(str::to_owned)),
    }
}

/// What a stranger sends who bears nothing.
static STRANGER: LazyLock<Fields> = LazyLock::new(|| stranger("", "/").fields);

/// The request of a stranger whose browser is the commonest.
fn stranger(host: &str, target: &str) -> RequestHead {
    let mut fields = Fields::new();
    fields.put(Name::UserAgent, user_agent(&Taste::default()));
    fields.put(Name::Accept, ACCEPT);
    RequestHead {
        method: http::Method::GET,
        target: target.to_owned(),
        host: host.to_owned(),
        version: Version::Http11,
        fields,
    }
}
