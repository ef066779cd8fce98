//! Links to other sites, asked for once each, if the owner wants that.
//!
//! Invariants: 1. nothing but HEAD, and GET where HEAD isn't understood, is sent; never to an
//! address that may do something. 2. a page of the web can't make us ask the machines of this
//! network: unless the audited site is on this machine, only public addresses are asked.
//! 3. a host is asked by one request at a time, with a rest between.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use http::Method;
use url::Url;

use crate::book::State;
use crate::fetch::{Answer, FetchError, Host};
use crate::plan::AuditError;
use crate::scope::{origin, unfit};
use crate::visit::Visit;

/// Between two requests to one host.
const REST: Duration = Duration::from_secs(1);

/// Asks for links to other sites that nobody has asked for yet.
pub(crate) async fn ask(visit: &mut Visit<'_>) -> Result<(), AuditError> {
    if visit.plan.external == 0 {
        return Ok(());
    }
    let mut known: Vec<_> = visit.book.addresses()?.into_values().collect();
    known.retain(|one| one.state == State::Outside && one.why.is_empty());
    known.sort_by_key(|one| one.id);
    let left = known.len().saturating_sub(visit.plan.external);
    if left > 0 {
        visit
            .notes
            .push(format!("{left} links to other sites were not asked for: --external-max."));
    }
    known.truncate(visit.plan.external);
    let mut hosts: HashMap<String, (Result<Host, FetchError>, Instant)> = HashMap::new();
    known.retain(|one| one.tries == 0);
    visit.live.find(known.len());
    for one in known {
        let Ok(url) = Url::parse(&one.url) else { continue };
        if visit.is_over() {
            return Ok(());
        }
        if unfit(&url).is_some() {
            continue;
        }
        let name = origin(&url);
        if !hosts.contains_key(&name) {
            let host = visit.client.host(&url).await;
            hosts.insert(name.clone(), (host, Instant::now()));
        }
        let Some((host, next)) = hosts.get_mut(&name) else { continue };
        let (status, why) = match host {
            Err(error) => (0, error.to_string()),
            Ok(host) if !visit.is_here && !is_public(host) => continue,
            Ok(host) => {
                let is_here = host.is_here();
                let rest = next.saturating_duration_since(Instant::now());
                let asking = async {
                    tokio::time::sleep(rest).await;
                    let _place = visit.live.place().await;
                    one_answer(host, &url).await
                };
                let asked = visit.unless_stopped(asking).await;
                if visit.is_over() {
                    return Ok(());
                }
                *next = Instant::now() + if is_here { Duration::ZERO } else { REST };
                match asked {
                    Ok(answer) => (answer.status, String::new()),
                    Err(error) => (0, error.to_string()),
                }
            }
        };
        visit.book.outside(one.id, status, &why)?;
        visit.live.done(1);
    }
    Ok(())
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

fn is_public(host: &Host) -> bool {
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
