//! Probing: what does reading a page write?
//!
//! A burst asks for one page several times, as a visitor who was never here and as one who
//! comes back, in turn, while nobody else asks the origin for anything. The learner draws
//! its conclusions. Bursts are made when a kind of change swept though nobody wrote, for
//! pages that were read then. Where other nodes ask the same origin for pages, a burst counts
//! once they have said that they asked for nothing meanwhile ([`super::together`]).
//! Bounds: [`BURSTS_MAX`] at a time, one series in [`AGAIN_AFTER`]; readers are kept waiting
//! for no longer than the gate allows, and only where it is never quiet by itself.

use std::sync::Arc;
use std::time::Duration;

use changes::noise;
use policy::strangers::shape;
use tokio::time::{Instant, sleep, timeout};

use super::Following;
use super::together::{Hush, Hushed};
use super::traffic::TAIL_MS;
use crate::Server;
use crate::site::Site;
use crate::strangers::fill::{Order, untried};
use crate::strangers::persona::Persona;

/// So long what a probe wrote may be on its way where a log tells it…
const TOLD_WITHIN: Duration = Duration::from_millis(10);
/// …and so long it is waited for where somebody has to look.
const SEEN_WITHIN: Duration = Duration::from_millis(300);
/// How often it is looked whether there is something to find out.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Bursts in a row.
const BURSTS_MAX: usize = 3;
/// Visitors of a burst; each asks twice.
const VISITORS: usize = 3;
/// After a series, whatever came of it.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// So long a quiet moment is waited for before readers are kept waiting…
const PATIENCE: Duration = Duration::from_secs(3);
/// …and so long those who are at the origin already are waited for then.
const CLEAR_MAX: Duration = Duration::from_millis(1_500);
/// Where others have to become quiet, too, and to say so.
const CLEAR_TOGETHER_MAX: Duration = Duration::from_millis(2_500);
/// So long it is waited for what they say of a burst.
const SAID_MAX: Duration = Duration::from_secs(2);
/// Two nodes that probe at the same time don't a second time.
const JITTER_MS: u64 = 2_000;
/// After readers were kept waiting, they aren't again for so long.
const PEACE: Duration = Duration::from_secs(15);

/// Finds out what reading writes, whenever something looks like it, for ever.
pub(super) async fn learn(server: Arc<Server>, site: Arc<Site>, following: Arc<Following>) {
    let mut wanted_since: Option<Instant> = None;
    let mut peace_until = Instant::now();
    let mut hushed = Hushed::default();
    loop {
        sleep(LOOK_EVERY).await;
        let calm = following.take_calm();
        if hushed.heed(&following, calm.is_some_and(|calm| calm.is_hushed)) {
            continue;
        }
        let orders = match following.is_heard() {
            true => to_probe(&site, &following),
            false => Vec::new(),
        };
        if orders.is_empty() {
            wanted_since = None;
            continue;
        }
        let now = Instant::now();
        let since = *wanted_since.get_or_insert(now);
        let probing = Probing { server: &server, site: &site, following: &following };
        if probing.is_quiet() {
            probing.series(&orders).await;
        } else if now > since + PATIENCE && now > peace_until {
            peace_until = now + PEACE;
            probing.behind_the_gate(&orders).await;
        } else {
            continue;
        }
        wanted_since = None;
        let jitter_ms = calm.and(site.strangers.as_ref()).map(|it| it.throw() % JITTER_MS);
        sleep(AGAIN_AFTER + Duration::from_millis(jitter_ms.unwrap_or(0))).await;
    }
}

/// The pages to be asked for: shared ones that were read when something was written, and
/// wanted ones that may not be fetched unasked before it is known what that writes.
fn to_probe(site: &Site, following: &Following) -> Vec<Order> {
    let mut targets = following.suspects.lock().to_probe();
    let wanted = following.wanted.by_want().into_iter().take(BURSTS_MAX);
    let marked = wanted.map(|(_, order)| order.brief.target);
    targets.extend(marked.filter(|target| !following.may_ask_unasked(site, target)));
    let mut orders: Vec<Order> = Vec::new();
    for target in targets {
        let Some(order) = following.wanted.like(&target) else { continue };
        if orders.len() < BURSTS_MAX
            && untried(&order).is_none()
            && !orders.iter().any(|known| known.hash == order.hash)
        {
            orders.push(order);
        }
    }
    orders
}

struct Probing<'a> {
    server: &'a Arc<Server>,
    site: &'a Arc<Site>,
    following: &'a Arc<Following>,
}

impl Probing<'_> {
    fn ticks_ms(&self) -> u64 {
        self.server.clock.now().ticks_ms
    }

    fn is_quiet(&self) -> bool {
        self.following.traffic.lock().is_quiet(self.ticks_ms())
            && self.following.together.calm().is_none_or(|calm| calm.is_now)
    }

    /// Whether another node probes, before which this one stands back.
    fn yields(&self) -> bool {
        self.following.together.calm().is_some_and(|calm| calm.yields)
    }

    /// Lets nobody read meanwhile.
    async fn behind_the_gate(&self, orders: &[Order]) {
        let shut = self.following.gate.shut();
        let hush = self.following.together.hush();
        let is_alone = self.following.together.calm().is_none();
        let until = Instant::now() + if is_alone { CLEAR_MAX } else { CLEAR_TOGETHER_MAX };
        while !self.is_quiet() {
            let is_over = Instant::now() > until || !self.following.gate.is_shut();
            if is_over || self.yields() {
                return;
            }
            hush.again();
            sleep(if is_alone { LOOK_EVERY / 4 } else { LOOK_EVERY }).await;
        }
        self.bursts(orders).await;
        self.conclude(&hush).await;
        drop(shut);
    }

    /// In a quiet moment; who comes meanwhile waits for the end of a burst.
    async fn series(&self, orders: &[Order]) {
        let shut = self.following.gate.shut();
        let hush = self.following.together.hush();
        self.bursts(orders).await;
        drop(shut);
        // What they caused may still come, if nobody else does.
        sleep(Duration::from_millis(TAIL_MS + 50)).await;
        self.conclude(&hush).await;
    }

    /// One burst after the other, until somebody asks for something.
    async fn bursts(&self, orders: &[Order]) {
        // What those wrote who were here before is none of the first one's.
        self.until_told().await;
        let before = self.following.traffic.lock().begun();
        for order in orders {
            self.burst(order).await;
            if self.following.traffic.lock().begun() != before {
                break;
            }
        }
    }

    async fn conclude(&self, hush: &Hush) {
        self.following.learner.lock().end_burst();
        let until = Instant::now() + SAID_MAX;
        while self.following.learner.lock().waits_for_calm() && Instant::now() < until {
            hush.again();
            sleep(LOOK_EVERY / 2).await;
            self.following.take_calm();
        }
        let learner = self.following.learner.lock();
        self.following.suspects.lock().settle(&learner);
        drop(learner);
        self.following.note_learned();
    }

    async fn burst(&self, order: &Order) {
        let Some(strangers) = &self.site.strangers else { return };
        let class = shape(&order.brief.target);
        for _ in 0..VISITORS {
            let mut persona = Persona::for_probing(strangers.persona_address());
            for role in [noise::Persona::Fresh, noise::Persona::Returning] {
                let url = &order.brief.target;
                self.following.learner.lock().probe_began(url, &class, role, self.ticks_ms());
                self.following.counts.probes.bump();
                let fetched = persona.fetch(&order.brief).await;
                self.until_told().await;
                self.following.learner.lock().probe_ended(self.ticks_ms());
                if fetched.is_err() {
                    return;
                }
            }
        }
    }

    /// Until what was written before is told.
    async fn until_told(&self) {
        sleep(TOLD_WITHIN).await;
        let places = self.following.status.lock().look();
        let _ = timeout(SEEN_WITHIN, self.following.own.reached(&places)).await;
    }
}
