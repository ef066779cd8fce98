//! Links to other sites, asked for once each, if the owner wants that.
//!
//! Invariants: 1. nothing but HEAD, and GET where HEAD isn't understood or a fragment is looked
//! for, is sent; never to an address that may do something. 2. a page of the web can't make us
//! ask the machines of this network: unless the audited site is on this machine, only public
//! addresses are asked. 3. a host is asked by one request at a time, whichever sites of the run
//! link to it, with a rest between, and not again before the moment that it names; of hosts each
//! site has at most [`HOSTS_MAX`] asked at once.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Method;
use tokio::time::Instant;
use url::Url;

use crate::book::{Known, State};
use crate::fetch::{Answer, Client, FetchError, Host};
use crate::live::Live;
use crate::page::{Facts, Page};
use crate::plan::AuditError;
use crate::scope::{origin, unfit};
use crate::visit::Visit;

/// Between two requests to one host.
const REST: Duration = Duration::from_secs(1);
const HOSTS_MAX: usize = 8;
/// Who wants more rest than this isn't asked again in this run.
const REST_MAX: Duration = Duration::from_secs(60);
/// The place that every page has.
const TOP: &str = "top";
/// What sites for code put before the names that authors gave, and take away by a script.
pub(crate) const BY_AUTHORS: &str = "user-content-";

/// A host, and what of it is to be asked for.
struct Queue {
    origin: String,
    host: Option<Host>,
    waiting: VecDeque<Wanted>,
}

/// An address that is to be asked for.
struct Wanted {
    id: i64,
    url: Url,
    /// Places on it that links lead to.
    fragments: BTreeSet<String>,
}

/// What came of one of a host's addresses.
struct Told {
    id: i64,
    what: What,
    queue: Queue,
}

enum What {
    /// It was answered, or isn't there.
    Known { status: u16, why: String, facts: Option<Facts> },
    /// It may not be asked for.
    Nothing,
    /// The host wants more rest than there is time for.
    Rest,
}

/// Asks for links to other sites that nobody has asked for yet.
pub(crate) async fn ask(visit: &mut Visit<'_>) -> Result<(), AuditError> {
    if visit.plan.external == 0 {
        return Ok(());
    }
    let mut queues = queues(visit)?;
    visit.live.find(queues.iter().map(|queue| queue.waiting.len()).sum());
    let (client, live, is_here) = (visit.client.clone(), visit.live, visit.is_here);
    let mut flying = FuturesUnordered::new();
    loop {
        while flying.len() < HOSTS_MAX
            && let Some(queue) = queues.pop_front()
        {
            flying.push(next(queue, &client, live, is_here));
        }
        let told = tokio::select! {
            told = flying.next() => told,
            // What is under way is asked for again by the next run.
            () = live.stopped() => return Ok(()),
        };
        let Some(told) = told else { return Ok(()) };
        let Some(Told { id, what, queue }) = told else { continue };
        match what {
            What::Known { status, why, facts } => {
                visit.book.outside(id, status, &why, facts.as_ref())?;
                visit.live.done(1);
            }
            What::Nothing => {}
            What::Rest => {
                let left = queue.waiting.len();
                let name = queue.host.as_ref().map_or("", Host::authority);
                let told = format!("{name} wants rest: {left} links to it were not asked for.");
                visit.notes.push(told);
                continue;
            }
        }
        flying.push(next(queue, &client, live, is_here));
    }
}

/// What is to be asked for, by host, in the order in which it was found.
fn queues(visit: &mut Visit<'_>) -> Result<VecDeque<Queue>, AuditError> {
    let mut known: Vec<Known> = visit.book.addresses()?.into_values().collect();
    known.retain(|one| one.state == State::Outside && one.why.is_empty());
    known.sort_by_key(|one| one.id);
    let left = known.len().saturating_sub(visit.plan.external);
    if left > 0 {
        visit
            .notes
            .push(format!("{left} links to other sites were not asked for: --external-max."));
    }
    known.truncate(visit.plan.external);
    let mut fragments = visit.book.fragments()?;
    let mut queues: VecDeque<Queue> = VecDeque::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in known.into_iter().filter(|one| one.tries == 0) {
        let Ok(url) = Url::parse(&one.url) else { continue };
        if unfit(&url).is_some() {
            continue;
        }
        let origin = origin(&url);
        let at = *places.entry(origin.clone()).or_insert(queues.len());
        if at == queues.len() {
            queues.push_back(Queue { origin, host: None, waiting: VecDeque::new() });
        }
        let mut fragments = fragments.remove(&one.id).unwrap_or_default();
        fragments.retain(|fragment| !is_everywhere(fragment));
        queues[at].waiting.push_back(Wanted { id: one.id, url, fragments });
    }
    Ok(queues)
}

/// Asks for the next address of a host; none where there is no more.
async fn next(mut queue: Queue, client: &Client, live: &Live, is_here: bool) -> Option<Told> {
    let wanted = queue.waiting.pop_front()?;
    let id = wanted.id;
    if queue.host.is_none() {
        match client.host(&wanted.url).await {
            Ok(host) => queue.host = Some(host),
            Err(error) => {
                let what = What::Known { status: 0, why: error.to_string(), facts: None };
                return Some(Told { id, what, queue });
            }
        }
    }
    let host = queue.host.as_ref()?;
    if !is_here && !is_public(host) {
        return Some(Told { id, what: What::Nothing, queue });
    }
    let mut free_from = live.gates().elsewhere(&queue.origin).await;
    let rest = free_from.saturating_duration_since(Instant::now());
    if rest > REST_MAX {
        queue.waiting.push_front(wanted);
        return Some(Told { id, what: What::Rest, queue });
    }
    tokio::time::sleep(rest).await;
    // Another site of the same run is asked at its own pace, too.
    let turn = match live.gates().known(&queue.origin) {
        Some(gate) => gate.place().await,
        None => None,
    };
    let place = live.place().await;
    let answer = one_answer(host, &wanted).await;
    drop((place, turn));
    let asked_for = match &answer {
        Ok(answer) if matches!(answer.status, 429 | 503) => answer.retry_after(SystemTime::now()),
        _ => None,
    };
    let rest = if host.is_here() { Duration::ZERO } else { REST };
    *free_from = Instant::now() + rest.max(asked_for.unwrap_or_default());
    drop(free_from);
    let what = match answer {
        Ok(answer) => {
            let (status, why) = (answer.status, String::new());
            What::Known { status, why, facts: places(wanted, answer).await }
        }
        Err(error) => What::Known { status: 0, why: error.to_string(), facts: None },
    };
    Some(Told { id, what, queue })
}

async fn one_answer(host: &Host, wanted: &Wanted) -> Result<Answer, FetchError> {
    let url = &wanted.url;
    if !wanted.fragments.is_empty() {
        // A place on it can't be seen by HEAD.
        return host.ask(Method::GET, url, &[]).await;
    }
    match host.ask(Method::HEAD, url, &[]).await {
        // Many servers answer HEAD as nobody else would be answered.
        Ok(answer) if answer.status >= 400 && answer.status != 429 => {
            host.ask(Method::GET, url, &[]).await
        }
        Ok(answer) => Ok(answer),
        Err(FetchError::Broken(_)) => host.ask(Method::GET, url, &[]).await,
        Err(error) => Err(error),
    }
}

/// Of the places that links lead to, those that the page has; none where that can't be told.
async fn places(wanted: Wanted, answer: Answer) -> Option<Facts> {
    if wanted.fragments.is_empty() || answer.status != 200 || answer.is_cut {
        return None;
    }
    let read = tokio::task::spawn_blocking(move || {
        let mut facts = Page::of(&wanted.url, &answer).facts(String::new());
        let is_wanted = |anchor: &String| {
            let own = anchor.strip_prefix(BY_AUTHORS).unwrap_or(anchor);
            wanted.fragments.contains(anchor) || wanted.fragments.contains(own)
        };
        facts.anchors.retain(is_wanted);
        let is_html = facts.is_html;
        is_html.then(|| Facts { is_html, anchors: facts.anchors, ..Facts::default() })
    });
    // A page that can't be read says nothing of its places.
    read.await.ok().flatten()
}

/// Whether a fragment means something on each page, or to the browser alone.
pub(crate) fn is_everywhere(fragment: &str) -> bool {
    fragment.eq_ignore_ascii_case(TOP) || fragment.starts_with(['!', '/', ':'])
}

/// Whether a host is one of the web, and none of a network of its own.
pub(crate) fn is_public(host: &Host) -> bool {
    host.addresses.iter().all(|address| match address.ip().to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified())
                && !(is_shared || ip.is_broadcast() || ip.is_multicast() || a == 0)
        }
        IpAddr::V6(ip) => {
            let first = ip.segments()[0];
            let is_local = (first & 0xfe00) == 0xfc00 || (first & 0xffc0) == 0xfe80;
            !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || is_local)
        }
    })
}
