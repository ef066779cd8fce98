//! Fellows: the other nodes of a cluster, as the road sees them.
//!
//! What makes pages old here is told to them: purges, and writes that came through this node.
//! What they tell makes pages old here. Nobody is asked: a node is *in touch* as long as it
//! has heard all that was told a lag limit ago, which is one number to compare the clock with.
//! Invariants: 1. out of touch nothing is served as fresh that was made longer than a lag limit
//! ago. 2. a write's answer, and a purge's, leaves when what it made old is told, or nobody in
//! touch relies on this node any more. 3. what can't be understood makes all of a site old.
//! Start at [`Server::hear`].

mod news;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use policy::purge::Purge;
use wire::RequestHead;

use self::news::{News, Told};
use crate::Server;
use crate::fetch;
use crate::page::Page;
use crate::site::Site;

/// What carries news to the other nodes.
pub trait Fellows: Send + Sync {
    /// Tells all of them, some time soon and in this order.
    fn tell(&self, news: String);
    /// Is over when all that was told before is where nobody in touch can miss it, or nobody
    /// relies on this node any more.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// A server's place among others.
#[derive(Clone)]
pub struct Fellowship {
    /// The way to them.
    pub fellows: Arc<dyn Fellows>,
    /// Until which tick of the server's clock this node is in touch.
    pub heard_until: Arc<AtomicU64>,
    /// For how long it may go on without hearing anything.
    pub lag: Duration,
}

impl Fellowship {
    fn is_in_touch(&self, ticks_ms: u64) -> bool {
        ticks_ms < self.heard_until.load(Ordering::Relaxed)
    }
}

impl Server {
    /// Whether a page may be served as fresh as far as other nodes are concerned.
    pub(crate) fn may_trust(&self, page: &Page, ticks_ms: u64) -> bool {
        let Some(fellowship) = &self.fellowship else { return true };
        fellowship.is_in_touch(ticks_ms) || is_young(page, ticks_ms, fellowship.lag)
    }

    /// The same of what bears no date.
    pub(crate) fn is_in_touch(&self, ticks_ms: u64) -> bool {
        self.fellowship.as_ref().is_none_or(|fellowship| fellowship.is_in_touch(ticks_ms))
    }

    /// Out of touch, in which stretch of time: each is as long as the lag limit, so who comes in
    /// the same one may be given what was asked for in it.
    pub(crate) fn stretch_out_of_touch(&self, ticks_ms: u64) -> Option<u64> {
        let fellowship = self.fellowship.as_ref()?;
        let lag_ms = u64::try_from(fellowship.lag.as_millis()).unwrap_or(u64::MAX).max(1);
        (!fellowship.is_in_touch(ticks_ms)).then_some(ticks_ms / lag_ms)
    }

    /// Tells the other nodes what was purged here; `host` is none for all of the site's.
    pub(crate) fn tell_purged(&self, site: &Site, purges: &[(Option<&str>, &Purge)]) {
        let Some(fellowship) = self.fellowship.as_ref().filter(|_| !site.is_elsewhere) else {
            return;
        };
        for (host, purge) in purges {
            fellowship.fellows.tell(news::purged(&site.name, *host, purge));
        }
    }

    /// Tells them of a write that came through here.
    pub(crate) fn tell_written(&self, site: &Site, head: &RequestHead, targets: &[String]) {
        if let Some(fellowship) = self.fellowship.as_ref().filter(|_| !site.is_elsewhere) {
            fellowship.fellows.tell(news::written(&site.name, head, targets));
        }
    }

    /// Waits until an answer may leave that says that something was made old.
    pub(crate) async fn settled_with_fellows(&self) {
        if let Some(fellowship) = &self.fellowship {
            fellowship.fellows.settled().await;
        }
    }

    /// Another node tells this.
    pub fn hear(&self, text: &str) {
        let Some(News { site, told }) = News::read(text) else { return self.hear_unknown() };
        let sites = self.sites();
        // A site that this node doesn't serve concerns nobody here.
        let Some(site) = sites.each().into_iter().find(|one| one.name == site).cloned() else {
            return;
        };
        match told {
            Told::Purged { host, purge } => {
                self.counters.purges.bump();
                match purge.read() {
                    Some(purge) => drop(self.carry_out(&site, host.as_deref(), &purge)),
                    None => site.generations.purge_all(policy::purge::Mode::Hard),
                }
            }
            Told::Written(write) => {
                let (host, targets) = (&write.host, &write.targets);
                fetch::sweep_targets(self, &site, &write.method, &write.target, host, targets);
            }
        }
    }

    /// Something may have been missed: nothing that is older is fresh.
    pub fn hear_unknown(&self) {
        self.sites().each().into_iter().for_each(|site| {
            site.generations.note_change();
        });
    }
}

/// Whether it was asked for less than a lag limit ago.
fn is_young(page: &Page, ticks_ms: u64, lag: Duration) -> bool {
    u128::from(ticks_ms.saturating_sub(page.asked_ticks_ms())) < lag.as_millis()
}
