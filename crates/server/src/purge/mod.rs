//! Purging: what `policy::purge` has read, carried out.
//!
//! ```text
//! request → may its sender? → read → carry out → a line of JSON
//! ```
//!
//! Tags, hosts, beginnings and patterns cost one entry each, whatever is stored: see
//! [`generations`]. An address is taken out of the store at once as well, with all variants.
//! Start at [`receive`] (a request for the cache) and [`heed`] (an app's answer that purges).

pub(crate) mod book;
pub(crate) mod generations;
pub(crate) mod marks;
pub(crate) mod order;
pub(crate) mod purgers;

use std::sync::Arc;

use policy::RefuseReason;
use policy::purge::{Asks, BODY_BYTES_MAX, Mode, Purge, Scope, What, asks, read};
use serde_json::json;
use store::Key;
use wire::{RequestHead, ResponseHead};

use self::generations::Ban;
use self::marks::{host_mark, tag_mark};
use crate::Server;
use crate::fetch::CREDENTIALS;
use crate::journey::{Journey, Peers};
use crate::pipeline::{self, Errand, Task, Turn};
use crate::reply::Reply;
use crate::site::Site;

/// A purge that can't be carried out here; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misdirected {
    /// No site has the host.
    #[error("no site answers for the host \"{0}\": send the site's own name as Host")]
    Unknown(String),
    /// Another site has it.
    #[error("the host \"{0}\" is another site's: send that purge with its own name as Host")]
    Another(String),
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Pages that were found at once, each variant counted.
    pub(crate) variants: usize,
}

/// Takes a request that is for the cache; none if it is for the app.
pub(crate) fn receive(
    server: &Arc<Server>,
    head: &RequestHead,
    has_body: bool,
    peers: Peers,
) -> Option<Turn> {
    let asked = asks(head);
    if asked == Asks::Nothing {
        return None;
    }
    let sites = server.sites();
    let Some(site) = sites.find(&head.host).or_else(|| sites.only()) else {
        let wrong = Misdirected::Unknown(head.host.clone());
        return Some(Turn::Arrived(refused(RefuseReason::HostUnknown, &wrong.to_string())));
    };
    if !site.purgers().lets_in(peers.is_here, &head.fields) {
        if asked == Asks::PurgeIfAllowed {
            return None;
        }
        let ticks_ms = server.clock.now().ticks_ms;
        server.counters.purges_refused.bump();
        if let (Some(complain), Some(text)) =
            (&server.complaints, site.purgers().complaint(&site.name, peers.peer, ticks_ms))
        {
            complain(&text);
        }
        return Some(Turn::Arrived(Reply::refused(RefuseReason::PurgeForbidden)));
    }
    // Other nodes are waited for on the way that may wait.
    if (has_body && head.method == http::Method::POST) || server.fellowship.is_some() {
        let reader = crate::strangers::guests::Reader::of(site, &head.fields, &head.host);
        return Some(Turn::Onward(Errand {
            site: site.clone(),
            hash: 0,
            task: Task::Purge,
            reader,
        }));
    }
    Some(Turn::Arrived(answer(server, site, head, b"")))
}

/// A purge whose body says what.
pub(crate) async fn with_body(mut journey: Journey) -> Reply {
    match journey.gather(BODY_BYTES_MAX).await {
        Ok(Some(body)) => answer(&journey.server, &journey.site, &journey.head, &body),
        Ok(None) => {
            let why = format!("the body has more than {BODY_BYTES_MAX} bytes: send several");
            refused(RefuseReason::PurgeUnreadable, &why)
        }
        Err(error) => Reply::failed(&error, &journey.key),
    }
}

fn answer(server: &Server, site: &Arc<Site>, head: &RequestHead, body: &[u8]) -> Reply {
    let purges = match read(head, body) {
        Ok(purges) => purges,
        Err(error) => return refused(RefuseReason::PurgeUnreadable, &error.to_string()),
    };
    match server.carry_out_all(site, &head.host, &purges) {
        Ok(done) => Reply::told(&told(&purges, done, head)),
        Err(wrong) => refused(RefuseReason::HostUnknown, &wrong.to_string()),
    }
}

/// `{"purged":"url","variants":2}`, with what clients of the one service or the other look for.
fn told(purges: &[Purge], done: Done, head: &RequestHead) -> String {
    let mut told = serde_json::Map::new();
    let word = purges.first().map_or("nothing", Purge::word);
    told.insert("purged".into(), json!(word));
    if purges.iter().any(|purge| matches!(purge.what, What::Url(_))) {
        told.insert("variants".into(), json!(done.variants));
    }
    if purges.iter().all(|purge| purge.mode == Mode::Soft) {
        told.insert("soft".into(), json!(true));
    }
    if head.method == http::Method::POST {
        told.insert("status".into(), json!("ok"));
        told.insert("success".into(), json!(true));
    }
    serde_json::Value::Object(told).to_string()
}

fn refused(reason: RefuseReason, why: &str) -> Reply {
    Reply::told_refused(reason, &json!({ "error": why }).to_string())
}

/// An app's own answer may purge; `request` is the one that it was given to.
pub(crate) fn heed(
    server: &Server,
    site: &Arc<Site>,
    request: &RequestHead,
    answer: &ResponseHead,
) {
    let purges = policy::purge::heed(request, answer);
    if !purges.is_empty() && !site.is_elsewhere {
        // It names no host but its own.
        let _ = server.carry_out_all(site, &request.host, &purges);
    }
}

impl Server {
    /// Carries purges out on one site; `host` is the one that the request named.
    pub(crate) fn carry_out_all(
        &self,
        site: &Arc<Site>,
        host: &str,
        purges: &[Purge],
    ) -> Result<Done, Misdirected> {
        // All of it or nothing: what is misdirected is most probably all wrong.
        let hosts = purges.iter().map(|purge| self.host_of(site, host, purge));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let told: Vec<_> = hosts.iter().copied().zip(purges).collect();
        // First of all: who asks here after it is carried out knows that others may not know yet.
        self.tell_purged(site, &told);
        let mut done = Done::default();
        for (host, purge) in told {
            self.counters.purges.bump();
            done.variants += self.carry_out(site, host, purge);
        }
        Ok(done)
    }

    /// The host that a purge is for; none for the whole site.
    fn host_of<'a>(
        &self,
        site: &Arc<Site>,
        asked: &'a str,
        purge: &'a Purge,
    ) -> Result<Option<&'a str>, Misdirected> {
        let host = match &purge.scope {
            Scope::Site => return Ok(None),
            Scope::Request => asked,
            Scope::Host(host) => host,
        };
        match self.sites().find(host) {
            Some(found) if Arc::ptr_eq(found, site) => Ok(Some(host)),
            Some(_) => Err(Misdirected::Another(host.to_owned())),
            None => Err(Misdirected::Unknown(host.to_owned())),
        }
    }

    pub(crate) fn carry_out(&self, site: &Site, host: Option<&str>, purge: &Purge) -> usize {
        let (generations, mode) = (&site.generations, purge.mode);
        match (&purge.what, host) {
            (What::Url(target), Some(host)) => return self.purge_url(site, host, target, mode),
            (What::Url(target), None) => {
                generations.purge_banned(None, Ban::Exactly(target.clone()), mode);
            }
            (What::Tags(tags), _) => {
                generations.purge_marked(tags.iter().map(|tag| tag_mark(tag.as_bytes())), mode);
            }
            (What::Everything, None) => generations.purge_all(mode),
            (What::Everything, Some(host)) => {
                generations.purge_marked([host_mark(host)].into_iter(), mode);
            }
            (What::Prefix(start), Some(host)) if start == "/" => {
                generations.purge_marked([host_mark(host)].into_iter(), mode);
            }
            (What::Prefix(start), host) => {
                generations.purge_banned(host, Ban::Beginning(start.clone()), mode);
            }
            (What::Pattern(pattern), host) => {
                generations.purge_banned(host, Ban::Pattern(pattern.clone()), mode);
            }
        }
        0
    }

    /// One address with all variants: for those who fetch it at this moment as a generation,
    /// and what is stored goes, or is stale, at once.
    fn purge_url(&self, site: &Site, host: &str, target: &str, mode: Mode) -> usize {
        let schemes = policy::SCHEMES;
        schemes.iter().map(|scheme| self.purge_key(site, scheme, host, target, mode)).sum()
    }

    fn purge_key(&self, site: &Site, scheme: &str, host: &str, target: &str, mode: Mode) -> usize {
        let mut text = Vec::new();
        policy::write_key_without(&mut text, scheme, host, target, &site.rules().key_ignores_query);
        let hash = pipeline::hash(&text);
        site.generations.purge_marked([hash].into_iter(), mode);
        let key = Key { hash, text: &text };
        if mode == Mode::Soft {
            return self.store.variants(&key);
        }
        let variants = self.remove_if(&key, |page| page.as_stored().is_some());
        // What is remembered about the address goes too: the page may be another one now.
        self.store.remove(&key);
        text.extend_from_slice(CREDENTIALS);
        self.store.remove(&Key { hash: pipeline::hash(&text), text: &text });
        variants
    }
}

#[cfg(test)]
mod many_tests;
#[cfg(test)]
mod threads_tests;
