//! The owner's side: a fellow asks for a page of this node.
//!
//! The request takes the road of a stranger's, and never goes on to another node. It is no
//! visit: it isn't counted, logged or observed as an answer. What is handed on is looked up once
//! more at the end, so it is what this node would serve as fresh at that moment.
//! Bounds: [`TRIES`] looks, [`PATIENCE`]; those of the listener and of the origin.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use policy::{MissReason, NoStore, Plan, Verdict};
use store::Key;
use tokio::time::{Instant, sleep, timeout};

use super::parcel::{self, Without};
use super::{FellowRequest, Shield};
use crate::Server;
use crate::companion;
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline::{self, Found, Task};
use crate::site::Site;
use crate::strangers::bind;
use crate::try_out;

/// How long this node may take to obey what the other has heard already.
const CATCH_UP: Duration = Duration::from_millis(250);
/// How often it is looked whether a change is visible to all.
const SETTLING_POLL: Duration = Duration::from_millis(10);
/// For a page to be made.
const PATIENCE: Duration = Duration::from_secs(60);
/// Looks for one page: between them it is fetched, and found out whether it is everybody's.
const TRIES: usize = 3;

impl Server {
    /// What a fellow is told that asks for this. It must be called on a runtime that lasts as
    /// long as the server does.
    pub async fn show_fellow(self: &Arc<Self>, request: FellowRequest) -> Bytes {
        let shown = match self.page_for_fellow(request).await {
            Ok(parcel) => {
                self.counters.fellows_given.bump();
                parcel
            }
            Err(why) => parcel::without(why),
        };
        shown.into()
    }

    /// A request came that isn't a fellow's.
    pub fn note_no_fellow(&self) {
        self.counters.fellows_refused.bump();
    }

    /// What of this server asks fellows, and is asked by them.
    #[must_use]
    pub fn shield(&self) -> Option<&Arc<Shield>> {
        self.fellowship.as_ref()?.shield.as_ref()
    }

    async fn page_for_fellow(self: &Arc<Self>, request: FellowRequest) -> Result<Vec<u8>, Without> {
        let FellowRequest { mut head, scheme, peer, place, goes_by } = request;
        let fellowship = self.fellowship.as_ref().ok_or(Without::Later)?;
        let obeyed = timeout(CATCH_UP, fellowship.fellows.obeyed(place)).await;
        if obeyed.is_err() || self.is_leaving() || !self.is_in_touch(self.clock.now().ticks_ms) {
            return Err(Without::Later);
        }
        let site = self.sites().find(&head.host).cloned().ok_or(Without::Unshared)?;
        let is_for_store = super::ask::is_fit(&site)
            && policy::plan(&head, false) == Plan::Lookup
            && companion::of_request(&site, &head).is_none();
        if !is_for_store || crate::journey::bears_credentials(&head.fields) {
            return Err(Without::Unshared);
        }
        hears_the_same(&site, goes_by).await?;
        let port = if scheme == "https" { 443 } else { 80 };
        let local = SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), port);
        let peers = Peers { is_here: false, ..Peers::new((peer, 0).into(), local, scheme) };
        let mut has_asked = false;
        for _ in 0..TRIES {
            let reader = pipeline::read_visitor(&site, &mut head);
            let (rules, now) = (site.rules().clone(), self.clock.now());
            let mut text = Vec::new();
            let ignored = &rules.key_ignores_query;
            policy::write_key_without(&mut text, scheme, &head.host, &head.target, ignored);
            let key = Key { hash: pipeline::hash(&text), text: &text };
            let found = pipeline::look(self, &site, &rules, &head, now, &key, &reader);
            let task = match self.task(found, key.hash) {
                Ok(page) => {
                    page.note_asked(now.ticks_ms);
                    let parcel = parcel::write(&site, &page, now.ticks_ms, !has_asked, goes_by);
                    return parcel.ok_or(Without::Unshared);
                }
                Err(task) => task.ok_or(Without::Unshared)?,
            };
            // What comes from a page of a stranger's concerns the node that has that page.
            if site.strangers.as_ref().is_some_and(|strangers| bind::carries(strangers, &head)) {
                return Err(Without::Unshared);
            }
            let journey = Journey::unattended(self, &site, &head, &text, peers).for_fellow();
            has_asked |= self.fetched(&site, journey, key.hash, task).await?;
        }
        Err(Without::Later)
    }

    /// A fresh page, or what has to be done for one; none: it isn't everybody's.
    fn task(&self, found: Found, hash: u64) -> Result<Arc<Page>, Option<Task>> {
        Err(match found {
            Found::Fresh { page, .. } => return Ok(page),
            Found::StaleButServable { page, .. } if page.is_for_strangers() => {
                Some(Task::Remake(page))
            }
            Found::StaleButServable { page, .. } => {
                Some(Task::Validate { page, why: MissReason::Expired })
            }
            Found::Ask(Task::Fill(why)) if self.is_on_disk(hash) => Some(Task::Recall(why)),
            Found::Ask(task @ (Task::Fill(_) | Task::Validate { .. } | Task::Remake(_))) => {
                Some(task)
            }
            Found::Ask(_) | Found::MustNotAsk => None,
        })
    }

    /// Has a page fetched; whether the origin was asked on this account.
    async fn fetched(
        &self,
        site: &Site,
        journey: Journey,
        hash: u64,
        task: Task,
    ) -> Result<bool, Without> {
        let reply = Box::pin(pipeline::travel(journey, hash, task)).await;
        let (verdict, unstored, status) = (reply.verdict, reply.unstored, reply.status());
        // It is stored once it was read to its end.
        drop(try_out::read(reply.payload, Instant::now() + PATIENCE).await);
        match (verdict, unstored) {
            _ if status >= 500 => Err(Without::Later),
            (Verdict::Pass(_) | Verdict::Synthetic(_) | Verdict::Refused(_), _) => {
                Err(Without::Unshared)
            }
            // The next look waits for what comes of it.
            (_, Some(NoStore::Unverified)) if site.strangers.is_some() => Ok(true),
            (_, Some(_)) => Err(Without::Unshared),
            (verdict, None) => Ok(matches!(verdict, Verdict::Miss(_) | Verdict::Revalidated)),
        }
    }
}

/// Waits until this node has obeyed what it had heard of a site's database, and what it stores is
/// made of what all can read.
///
/// # Errors
/// It doesn't hear what the other does.
async fn hears_the_same(site: &Site, goes_by: Option<u64>) -> Result<(), Without> {
    let Some(following) = &site.following else {
        return goes_by.map_or(Ok(()), |_| Err(Without::Unshared));
    };
    goes_by.ok_or(Without::Unshared)?;
    let settled = async {
        let has_obeyed = following.has_obeyed().await;
        while has_obeyed && site.generations.is_settling() {
            sleep(SETTLING_POLL).await;
        }
        has_obeyed
    };
    let has_obeyed = timeout(CATCH_UP, settled).await.unwrap_or(false);
    (has_obeyed && following.goes_by() == goes_by).then_some(()).ok_or(Without::Later)
}
