//! The road of a request, on one page.
//!
//! ```text
//! request → plan → find → judge → serve                             (depart: never waits)
//!                             ↘ recall from the disk, look again
//!                             ↘ join a flight | pass | ask a fellow | fetch → admit → store → serve
//!                                                                                   (travel)
//! ```
//!
//! Branches live here; the stations ([`policy`], the store, [`fetch`], [`serve_stored`])
//! do one thing each and do not choose. Every way off the road bears a [`Verdict`].

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::{Now, Phase};
use policy::strangers::Visitor;
use policy::{Judgement, MissReason, PassReason, Plan, Rules, Terms, Verdict};
use store::{Key, Lead, Role, Wait};
use tokio::time::{Instant, sleep_until};
use wire::{Name, RequestHead};

use crate::Server;
use crate::companion::{self, Beside};
use crate::disk;
use crate::esi::Within;
use crate::fellows;
use crate::fetch::{self, Boarding, Landing};
use crate::files;
use crate::journey::{Journey, Peers, bears_credentials};
use crate::page::{Kind, Page};
use crate::purge;
use crate::purge::generations::Standing;
use crate::reply::{Payload, Reply};
use crate::serve_stored::{self, Asked, Shown};
use crate::site::Site;
use crate::slices;
use crate::strangers::bind;
use crate::strangers::guests::Reader;
use crate::strangers::remake;
use crate::strangers::tracking;
use crate::tls::doorway;
use crate::tunnel;
use crate::views;

/// How often a request joins another flight after the one it waited for came to nothing for it.
const FLIGHTS_MAX: usize = 4;

/// After so long what a database told is settled: a little later than the listener does it.
/// What takes longer (counters that still move, code in files) is not waited for.
const SETTLED: Duration = changes::FENCE.saturating_add(Duration::from_millis(2));

/// Where a request stands after the part of the road that never waits.
pub(crate) enum Turn {
    /// Answered.
    Arrived(Reply),
    /// The origin must be asked.
    Onward(Errand),
}

/// What to ask the origin for, and what is in hand already.
pub(crate) struct Errand {
    pub(crate) site: Arc<Site>,
    pub(crate) hash: u64,
    pub(crate) task: Task,
    pub(crate) reader: Reader,
}

/// Why the origin is asked.
pub(crate) enum Task {
    /// For this visitor alone.
    Pass(PassReason),
    /// For everybody: nothing usable is stored.
    Fill(MissReason),
    /// For everybody: what is stored must be asked about.
    Validate { page: Arc<Page>, why: MissReason },
    /// For strangers: what they share was made before something changed.
    Remake(Arc<Page>),
    /// Perhaps not at all: something lies on the disk. What follows if it is of no use.
    Recall(MissReason),
    /// Not at all: what is wanted lies on the disk, or most of it.
    Deliver { page: Arc<Page>, shown: Shown },
    /// Not at all: it is a purge, and its body says of what.
    Purge,
    /// Not at all: what stands beside it answers.
    Companion(Beside),
}

/// The part of the road that never waits and, on a hit, allocates nothing.
pub(crate) fn depart(
    server: &Arc<Server>,
    head: &mut RequestHead,
    has_body: bool,
    now: Now,
    key_text: &mut Vec<u8>,
    peers: Peers,
) -> Turn {
    let before_sites = purge::receive(server, head, has_body, peers);
    if let Some(turn) = before_sites.or_else(|| doorway::answer(server, head, peers)) {
        return turn;
    }
    let sites = server.sites();
    let Some(site) = sites.find(&head.host) else {
        return Turn::Arrived(Reply::refused(policy::RefuseReason::HostUnknown));
    };
    if !peers.is_here
        && let Err(error) = site.defence.admit(peers.peer.ip(), now.ticks_ms)
    {
        return Turn::Arrived(Reply::failed(&error, &[]));
    }
    set_off(server, site, head, has_body, now, key_text, peers, None)
}

/// The same from where it is known whose request it is: a visitor's, or one for a part of
/// what a visitor has asked for.
#[allow(clippy::too_many_arguments, reason = "it is the one place where all of it meets")]
pub(crate) fn set_off(
    server: &Arc<Server>,
    site: &Arc<Site>,
    head: &mut RequestHead,
    has_body: bool,
    now: Now,
    key_text: &mut Vec<u8>,
    peers: Peers,
    within: Option<&Arc<Within>>,
) -> Turn {
    let reader = read_visitor(site, head);
    key_text.clear();
    let rules = site.rules();
    let ignored = &rules.key_ignores_query;
    policy::write_key_without(key_text, peers.scheme, &head.host, &head.target, ignored);
    let hash = hash(key_text);
    let onward = |task| Turn::Onward(Errand { site: site.clone(), hash, task, reader });
    if let Some(companion) = companion::of_request(site, head).filter(|_| within.is_none()) {
        return onward(Task::Companion(companion));
    }
    match planned(site, head, has_body) {
        Plan::Lookup => {}
        Plan::Pass(reason) => return onward(Task::Pass(reason)),
        Plan::Refuse(reason) => return Turn::Arrived(Reply::refused(reason)),
    }
    let key = Key { hash, text: key_text };
    let found = look(server, site, &rules, head, now, &key, &reader);
    if matches!(found, Found::Ask(Task::Fill(_)) | Found::MustNotAsk)
        && let Some(reply) = files::reply(server, site, &rules, head, now, key_text, peers, within)
    {
        return Turn::Arrived(reply);
    }
    let found = match found {
        Found::Ask(Task::Fill(why)) if server.is_on_disk(hash) => return onward(Task::Recall(why)),
        found => found,
    };
    let codings = rules.codings;
    let asked = Asked { server, site, codings, head, key: key_text, now, peers, within };
    match answer(found, &asked, &rules, hash, &reader) {
        Ok(reply) => Turn::Arrived(reply),
        Err(task) => onward(task),
    }
}

/// The reply that was found, or what the origin has to be asked for.
fn answer(
    found: Found,
    asked: &Asked<'_>,
    rules: &Rules,
    hash: u64,
    reader: &Reader,
) -> Result<Reply, Task> {
    let Asked { server, site, head, key: key_text, now, peers, .. } = *asked;
    match found {
        Found::Fresh { page, ttl_ms } => {
            page.note_asked(now.ticks_ms);
            views::note(asked, &page);
            disk::note_hit(server, site, &Key { hash, text: key_text }, &page, now);
            let may_ask = !policy::is_only_if_cached(&head.fields);
            if may_ask && rules.refresh_early && page.is_due(ttl_ms) {
                fetch::refresh_behind(server, site, head, key_text, hash, &page, peers);
            }
            if may_ask && page.sharing.as_ref().is_some_and(|sharing| sharing.tells_time) {
                fetch::begin_early_behind(server, site, head, key_text, peers);
            }
            let shown = Shown::found(Verdict::Hit, ttl_ms);
            at_hand(page, asked, shown)
        }
        Found::StaleButServable { page, ttl_ms, reason } => {
            views::note(asked, &page);
            // Who wants nothing that would have to be asked for is no reason to ask, either.
            if !policy::is_only_if_cached(&head.fields) {
                fetch::refresh_behind(server, site, head, key_text, hash, &page, peers);
            }
            let shown = Shown::found(Verdict::Stale(reason), ttl_ms);
            at_hand(page, asked, shown)
        }
        Found::MustNotAsk => Ok(Reply::only_if_cached(key_text)),
        Found::Ask(Task::Fill(_))
            if is_known_private(server, site, head, now, key_text, reader) =>
        {
            Err(Task::Pass(PassReason::Remembered))
        }
        // A part is never stored, and the whole may be huge: the origin is asked for just it.
        Found::Ask(Task::Fill(_)) if policy::wants_part(&head.fields) => {
            Err(Task::Pass(PassReason::Range))
        }
        Found::Ask(Task::Fill(_)) if head.method == http::Method::HEAD => {
            Err(Task::Pass(PassReason::Head))
        }
        Found::Ask(task) => Err(task),
    }
}

/// The reply that a page makes, or the errand to read from the disk what it sends.
fn at_hand(page: Arc<Page>, asked: &Asked<'_>, shown: Shown) -> Result<Reply, Task> {
    if page.as_stored().is_none_or(|stored| stored.object.is_none()) {
        return Ok(serve_stored::reply(page, asked, shown));
    }
    let reply = serve_stored::reply(page.clone(), asked, shown);
    match reply.payload {
        Payload::Sliced(_)
            if reply.verdict == Verdict::Miss(MissReason::Partial)
                && policy::is_only_if_cached(&asked.head.fields) =>
        {
            Ok(Reply::only_if_cached(asked.key))
        }
        Payload::Sliced(_) => Err(Task::Deliver { page, shown }),
        _ => Ok(reply),
    }
}

/// The plan for a request, as far as its site can follow it.
fn planned(site: &Site, head: &RequestHead, has_body: bool) -> Plan {
    match policy::plan(head, has_body) {
        Plan::Lookup if !site.caches => Plan::Pass(PassReason::Off),
        Plan::Pass(PassReason::Upgrade) if !site.origin.switches() => {
            Plan::Refuse(policy::RefuseReason::Upgrade)
        }
        plan => plan,
    }
}

/// Whether it is remembered that this URL's answers to those who show who they are can't
/// be shared. That says nothing about strangers, so it lies under a key of its own.
pub(crate) fn is_known_private(
    server: &Server,
    site: &Site,
    head: &RequestHead,
    now: Now,
    key_text: &[u8],
    reader: &Reader,
) -> bool {
    if !bears_credentials(&head.fields) {
        return false;
    }
    let text = [key_text, fetch::CREDENTIALS].concat();
    let key = Key { hash: hash(&text), text: &text };
    let marker = find(server, site, head, now, &key, reader);
    marker.is_some_and(
        |(page, _)| matches!(page.kind, Kind::PassUntil { ticks_ms } if now.ticks_ms < ticks_ms),
    )
}

/// The hash that keys are stored under. Its seed is drawn by each process, or by the first
/// that wrote to its disk, so that nobody can prepare URLs that all fall into one place.
pub(crate) fn hash(text: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(text, hash_seed(None))
}

/// The seed of all hashes of this process: the one that is known from before if nothing was
/// hashed yet.
pub fn hash_seed(known: Option<u64>) -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| known.unwrap_or_else(|| RandomState::new().hash_one("keys")))
}

/// What the store has for a request.
pub(crate) enum Found {
    Fresh {
        page: Arc<Page>,
        ttl_ms: i64,
    },
    StaleButServable {
        page: Arc<Page>,
        ttl_ms: i64,
        reason: policy::StaleReason,
    },
    /// The client wants nothing that is not here.
    MustNotAsk,
    Ask(Task),
}

/// The page that a request selects, and how it stands after what was purged. One that isn't
/// there any more leaves the store here, so that the next look finds what lies behind it.
pub(crate) fn find(
    server: &Server,
    site: &Site,
    head: &RequestHead,
    now: Now,
    key: &Key<'_>,
    reader: &Reader,
) -> Option<(Arc<Page>, Standing)> {
    for _ in 0..=store::VARIANTS_MAX {
        let page = server.store.find(key, |page| page.answers(&head.fields, reader))?;
        match site.generations.standing(&page.marks, key, now.ticks_ms) {
            Standing::Gone => {
                server.store.remove_if(key, |stored| std::ptr::eq(stored, &*page));
            }
            standing => return Some((page, standing)),
        }
    }
    None
}

/// Looks a request up and judges what is found.
pub(crate) fn look(
    server: &Server,
    site: &Site,
    rules: &Rules,
    head: &RequestHead,
    now: Now,
    key: &Key<'_>,
    reader: &Reader,
) -> Found {
    let Some((page, standing)) = find(server, site, head, now, key, reader) else {
        if policy::is_only_if_cached(&head.fields) {
            return Found::MustNotAsk;
        }
        let others = server.store.variants(key) > 0;
        let reason = if others { MissReason::VaryMiss } else { MissReason::UriMiss };
        return Found::Ask(Task::Fill(reason));
    };
    let stored = match &page.kind {
        Kind::Stored(stored) => stored,
        Kind::PassUntil { .. } if policy::is_only_if_cached(&head.fields) => {
            return Found::MustNotAsk;
        }
        Kind::PassUntil { ticks_ms } if now.ticks_ms < *ticks_ms => {
            return Found::Ask(Task::Pass(PassReason::Remembered));
        }
        Kind::PassUntil { .. } => return Found::Ask(Task::Fill(MissReason::UriMiss)),
    };
    let is_for_strangers = page.is_for_strangers();
    let judge = |terms: &Terms| match is_for_strangers {
        true => policy::judge_shared(terms, now.ticks_ms),
        false => policy::judge(terms, &head.fields, now.ticks_ms, rules),
    };
    let judgement = match standing {
        Standing::Softened { since_ticks_ms } => {
            policy::judge_softened(&stored.terms, since_ticks_ms, page.marks.has_leave(), judge)
        }
        _ => judge(&stored.terms),
    };
    let is_doubtful = server.is_leaving() || !server.may_trust(&page, now.ticks_ms);
    let is_swept = standing == Standing::Swept || is_doubtful;
    if is_for_strangers {
        let is_current = !is_doubtful && page.is_current(site, key.hash, reader.content);
        return match judge_shared(page.clone(), judgement, is_current) {
            Found::Ask(_) if policy::is_only_if_cached(&head.fields) => Found::MustNotAsk,
            found => found,
        };
    }
    match judgement {
        Judgement::Fresh { .. } | Judgement::StaleButServable { .. }
            if is_swept && policy::is_only_if_cached(&head.fields) =>
        {
            Found::MustNotAsk
        }
        Judgement::Fresh { .. } | Judgement::StaleButServable { .. } if is_swept => {
            Found::Ask(Task::Validate { page, why: MissReason::Swept })
        }
        Judgement::Fresh { ttl_ms } => Found::Fresh { page, ttl_ms },
        Judgement::StaleButServable { ttl_ms, reason } => {
            Found::StaleButServable { page, ttl_ms, reason }
        }
        Judgement::Validate { why, .. } => Found::Ask(Task::Validate { page, why }),
        Judgement::OnlyIfCached => Found::MustNotAsk,
        Judgement::Pass(reason) => Found::Ask(Task::Pass(reason)),
    }
}

/// A page for strangers is Wick's own: what a client wishes of caches doesn't concern it, but that
/// nobody be asked.
fn judge_shared(page: Arc<Page>, judgement: Judgement, is_current: bool) -> Found {
    match judgement {
        _ if !is_current => Found::Ask(Task::Remake(page)),
        Judgement::Fresh { ttl_ms } => Found::Fresh { page, ttl_ms },
        Judgement::StaleButServable { ttl_ms, reason } => {
            Found::StaleButServable { page, ttl_ms, reason }
        }
        _ => Found::Ask(Task::Fill(MissReason::Expired)),
    }
}

/// Who asks. What strangers bear of cookies means nothing to the app, and marks of
/// advertising in the address nothing where that was found: both stay here.
pub(crate) fn read_visitor(site: &Site, head: &mut RequestHead) -> Reader {
    let reader = Reader::of(site, &head.fields, &head.host);
    if let Some(strangers) = site.strangers.as_ref().filter(|_| reader.is_stranger())
        && matches!(head.method, http::Method::GET | http::Method::HEAD)
    {
        head.fields.remove(Name::Cookie);
        if let Some(bare) = tracking::bare(&head.target)
            && strangers.classes.ignores_tracking(&head.target) == Some(true)
        {
            head.target = bare;
        }
    }
    reader
}

/// The part of the road that waits: for somebody else's fetch, or for the origin.
pub(crate) async fn travel(journey: Journey, hash: u64, task: Task) -> Reply {
    let site = journey.site.clone();
    // The request once more, for what has to be fetched while its answer is sent.
    let again = journey.server.slices_shelf().map(|_| {
        let Journey { server, site, head, key, peers, .. } = &journey;
        Journey::unattended(server, site, head, key, *peers)
    });
    let makes_old = !journey.method().is_safe() || matches!(task, Task::Purge);
    let server = journey.server.clone();
    let reply = go(journey, hash, task).await;
    if makes_old {
        server.settled_with_fellows().await;
    }
    let is_sliced = matches!(reply.payload, Payload::Sliced(_));
    let reply = match again.filter(|_| is_sliced) {
        Some(again) => Box::pin(slices::serve::deliver(again, hash, reply)).await,
        None => reply,
    };
    site.defence.dress(reply)
}

/// The same, its answer not yet ready to be sent: it may be one to be read from the disk.
pub(crate) async fn go(journey: Journey, hash: u64, mut task: Task) -> Reply {
    match task {
        Task::Pass(PassReason::Upgrade) => return Box::pin(tunnel::open(journey)).await,
        Task::Recall(why) => match Box::pin(recalled(&journey, hash, why)).await {
            Ok(reply) => return reply,
            Err(next) => task = next,
        },
        _ => {}
    }
    let journey = match with_session(journey, hash, &task).await {
        Ok(reply) => return reply,
        Err(journey) => *journey,
    };
    let mut selection = None;
    let mut may_hear_what_was = journey.site.generations.is_settling();
    for _ in 0..FLIGHTS_MAX {
        let (stale, why) = match task {
            Task::Pass(reason) => return pass(journey, hash, reason).await,
            Task::Deliver { page, shown } => return delivered(&journey, page, shown),
            Task::Purge => return Box::pin(purge::with_body(journey)).await,
            Task::Companion(companion) => return companion::answered(journey, companion).await,
            Task::Fill(why) | Task::Recall(why) => (None, why),
            Task::Validate { page, why } => (Some(page), why),
            Task::Remake(page) => (Some(page), MissReason::Swept),
        };
        let flight = fetch::flight_key(&journey, hash, selection.as_ref());
        let wait = match journey.server.flights.join(&flight.key()) {
            Role::Leader(lead) => return led(journey, hash, lead, stale, why).await,
            Role::Waiter(wait) => wait,
        };
        let came = Instant::now();
        let landing = match landed(&journey, wait, stale.as_ref(), came).await {
            Ok(landing) => landing,
            Err(stand_in) => return stand_in,
        };
        match landing {
            Some(Landing::Page { .. } | Landing::Shared(_)) if may_hear_what_was => {
                // It may have been read before this request came, and before a change that
                // was told could be read. What flies after the next sweep is read after both.
                may_hear_what_was = false;
                sleep_until(came + SETTLED).await;
                task = stale.map_or(Task::Fill(why), |page| Task::Validate { page, why });
            }
            Some(Landing::Uncacheable) => {
                return fetch::pass(journey, hash, PassReason::Uncacheable).await;
            }
            Some(landing) => match fetch::board(&journey, landing) {
                Boarding::Aboard(reply) => return views::noted(&journey, *reply),
                Boarding::Alone(reason) => return fetch::pass(journey, hash, reason).await,
                // It was another variant; now it is known what tells them apart.
                Boarding::OtherVariant(vary) => {
                    selection = vary;
                    task = Task::Fill(MissReason::VaryMiss);
                }
            },
            // The leader was lost on its way; somebody has to go again.
            None => task = stale.map_or(Task::Fill(why), |page| Task::Validate { page, why }),
        }
    }
    fetch::pass(journey, hash, PassReason::Uncacheable).await
}

/// What comes of a flight that this request leads: for everybody who waits for it too.
async fn led(
    journey: Journey,
    hash: u64,
    lead: Lead<Landing>,
    stale: Option<Arc<Page>>,
    why: MissReason,
) -> Reply {
    // Somebody may have landed between our look-up and our joining.
    if let Some(reply) = look_again(&journey, hash) {
        return reply;
    }
    let (journey, lead) = match journey.server.fellowship {
        None => (journey, lead),
        Some(_) => match Box::pin(fellows::ask(journey, hash, lead)).await {
            Ok(reply) => return reply,
            Err(back) => *back,
        },
    };
    match stale {
        Some(page) if page.is_for_strangers() => {
            Box::pin(remake::lead(journey, hash, lead, page)).await
        }
        stale => fetch::lead(journey, hash, lead, stale, why).await,
    }
}

/// Asks the origin for this visitor alone, unless a part may be kept for others as well.
async fn pass(journey: Journey, hash: u64, reason: PassReason) -> Reply {
    match reason {
        PassReason::Range => Box::pin(slices::begin::probe(journey, hash)).await,
        reason => fetch::pass(journey, hash, reason).await,
    }
}

fn delivered(journey: &Journey, page: Arc<Page>, shown: Shown) -> Reply {
    serve_stored::reply(page, &journey.asked(), shown)
}

/// What came of the flight that is waited for; or what is shown instead, where strangers have
/// waited for long enough.
async fn landed(
    journey: &Journey,
    wait: Wait<Landing>,
    stale: Option<&Arc<Page>>,
    came: Instant,
) -> Result<Option<Landing>, Reply> {
    let landing = match stale.filter(|page| page.is_for_strangers()) {
        Some(page) => Box::pin(remake::wait_for(journey, wait, page.clone())).await?,
        None => wait.outcome().await,
    };
    if let Some(phases) = &journey.phases {
        phases.add_since(Phase::Flight, came);
    }
    Ok(landing)
}

/// What comes of a request once what lies on the disk for it is in memory.
async fn recalled(journey: &Journey, hash: u64, why: MissReason) -> Result<Reply, Task> {
    disk::recall(journey, hash).await;
    let (key, now) = (Key { hash, text: &journey.key }, journey.now());
    let Journey { server, site, head, reader, .. } = journey;
    let rules = site.rules();
    let found = match look(server, site, &rules, head, now, &key, reader) {
        Found::Ask(Task::Fill(_)) => Found::Ask(Task::Fill(why)),
        found => found,
    };
    answer(found, &journey.asked(), &rules, hash, reader)
}

/// What has to do with sessions that Wick begins: a stranger's write, and requests from
/// pages that were a stranger's when they were loaded. The journey comes back if none of
/// that applies.
async fn with_session(journey: Journey, hash: u64, task: &Task) -> Result<Reply, Box<Journey>> {
    let Some(strangers) = journey.site.strangers.clone() else { return Err(Box::new(journey)) };
    match (journey.reader.visitor, task) {
        (_, Task::Purge | Task::Companion(_) | Task::Deliver { .. }) => Err(Box::new(journey)),
        (Visitor::Holder, _) => Box::pin(bind::of_holder(journey)).await,
        (Visitor::Unproven, _) => {
            bind::note_loaded(&journey, &strangers).await;
            Err(Box::new(journey))
        }
        (Visitor::Stranger, Task::Pass(PassReason::Method)) if is_unsafe(&journey.head.method) => {
            Ok(Box::pin(bind::write(journey, hash, PassReason::Method)).await)
        }
        (Visitor::Stranger, Task::Fill(_)) if bind::comes_from_copy(&strangers, &journey).await => {
            match Box::pin(bind::read(journey)).await {
                Ok(reply) => Ok(reply),
                // Made for who has those values, so nobody else's.
                Err(journey) => Ok(Box::pin(fetch::pass(*journey, hash, PassReason::Bound)).await),
            }
        }
        _ => Err(Box::new(journey)),
    }
}

/// Whether a method may change something (RFC 9110 §9.2.1).
fn is_unsafe(method: &http::Method) -> bool {
    !matches!(*method, http::Method::OPTIONS | http::Method::TRACE)
}

/// A second look for one who was about to lead, in case the page has come meanwhile.
fn look_again(journey: &Journey, hash: u64) -> Option<Reply> {
    let key = Key { hash, text: &journey.key };
    let Journey { server, site, head, reader, .. } = journey;
    match look(server, site, &site.rules(), head, journey.now(), &key, reader) {
        Found::Fresh { page, ttl_ms } => {
            let shown = Shown::found(Verdict::Collapsed, ttl_ms);
            Some(serve_stored::reply(page, &journey.asked(), shown))
        }
        _ => None,
    }
}
