//! Links to other sites, asked for once each, if the owner wants that.
//!
//! Invariants: 1. nothing but HEAD, and GET where HEAD isn't understood, is sent; never to an
//! address that may do something. 2. a page of the web can't make us ask the machines of this
//! network: unless the audited site is on this machine, only public addresses are asked.
//! 3. a host is asked by one request at a time, with a rest between, and not again before the
//! moment that it names; of hosts at most [`HOSTS_MAX`] are asked at once.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::Method;
use url::Url;

use crate::book::{Known, State};
use crate::fetch::{Answer, Client, FetchError, Host};
use crate::live::Live;
use crate::plan::AuditError;
use crate::scope::{origin, unfit};
use crate::visit::Visit;

/// Between two requests to one host.
const REST: Duration = Duration::from_secs(1);
const HOSTS_MAX: usize = 8;
/// Who wants more rest than this isn't asked again in this run.
const REST_MAX: Duration = Duration::from_secs(60);

/// A host, and what of it is to be asked for.
struct Queue {
    host: Option<Host>,
    waiting: VecDeque<(i64, Url)>,
    rest: Duration,
}

/// What came of an address; none where it may not be asked for.
struct Told {
    id: i64,
    what: Option<(u16, String)>,
    queue: Queue,
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
        if let Some((status, why)) = what {
            visit.book.outside(id, status, &why)?;
            visit.live.done(1);
        }
        if queue.rest > REST_MAX {
            let left = queue.waiting.len();
            let name = queue.host.as_ref().map_or("", Host::authority);
            visit.notes.push(format!("{name} wants rest: {left} links to it were not asked for."));
            continue;
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
    let mut queues: VecDeque<Queue> = VecDeque::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in known.into_iter().filter(|one| one.tries == 0) {
        let Ok(url) = Url::parse(&one.url) else { continue };
        if unfit(&url).is_some() {
            continue;
        }
        let at = *places.entry(origin(&url)).or_insert(queues.len());
        if at == queues.len() {
            let waiting = VecDeque::new();
            queues.push_back(Queue { host: None, waiting, rest: Duration::ZERO });
        }
        queues[at].waiting.push_back((one.id, url));
    }
    Ok(queues)
}

/// Asks for the next address of a host; none where there is no more.
async fn next(mut queue: Queue, client: &Client, live: &Live, is_here: bool) -> Option<Told> {
    let (id, url) = queue.waiting.pop_front()?;
    if queue.host.is_none() {
        match client.host(&url).await {
            Ok(host) => queue.host = Some(host),
            Err(error) => return Some(Told { id, what: Some((0, error.to_string())), queue }),
        }
    }
    let host = queue.host.as_ref()?;
    if !is_here && !is_public(host) {
        return Some(Told { id, what: None, queue });
    }
    tokio::time::sleep(queue.rest).await;
    let place = live.place().await;
    let answer = one_answer(host, &url).await;
    drop(place);
    let wanted = match &answer {
        Ok(answer) if matches!(answer.status, 429 | 503) => answer.retry_after(SystemTime::now()),
        _ => None,
    };
    let rest = if host.is_here() { Duration::ZERO } else { REST };
    queue.rest = rest.max(wanted.unwrap_or_default());
    let what = match answer {
        Ok(answer) => (answer.status, String::new()),
        Err(error) => (0, error.to_string()),
    };
    Some(Told { id, what: Some(what), queue })
}

async fn one_answer(host: &Host, url: &Url) -> Result<Answer, FetchError> {
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
