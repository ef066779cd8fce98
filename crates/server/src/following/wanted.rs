//! Wanted pages: those that strangers ask for most, made anew after a sweep before anybody
//! has to wait for one.
//!
//! Bounds: [`PAGES_MAX`]; the origin is kept busy for at most a part of the time
//! ([`REST`]), and each page is made once a sweep.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use policy::strangers::shape;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::Following;
use crate::Server;
use crate::page::Page;
use crate::pipeline::{self, Found, Task};
use crate::site::Site;
use crate::strangers::fill::Order;

/// The most pages that are remembered.
const PAGES_MAX: usize = 256;
/// After each page a rest of so many times what it took.
const REST: u32 = 1;

/// The pages that strangers share, with how much they are asked for.
#[derive(Default)]
pub(crate) struct Wanted {
    pages: Mutex<HashMap<u64, Entry>>,
    is_swept: Notify,
    is_settled: Notify,
}

struct Entry {
    order: Order,
    class: String,
    page: Weak<Page>,
    /// What was asked for copies before this one; half of it is forgotten with each.
    want: u32,
    /// How often it was made.
    made: u32,
}

impl Entry {
    fn want(&self) -> u32 {
        let now = self.page.upgrade().map_or(0, |page| page.asked());
        self.want.saturating_add(now)
    }
}

impl Wanted {
    /// A page was made for strangers.
    pub(crate) fn note(&self, order: &Order, page: &Arc<Page>) {
        if order.brief.is_background() {
            return;
        }
        let mut pages = self.pages.lock();
        let known = pages.get(&order.hash);
        let (want, made) = known.map_or((0, 0), |entry| (entry.want() / 2, entry.made));
        if pages.len() >= PAGES_MAX && !pages.contains_key(&order.hash) {
            let least = pages.iter().min_by_key(|(_, entry)| entry.want()).map(|(hash, _)| *hash);
            least.and_then(|hash| pages.remove(&hash));
        }
        let (order_too, page, made) = (order.clone(), Arc::downgrade(page), made.saturating_add(1));
        let class = shape(&order.brief.target);
        let entry = Entry { order: order_too, class, page, want, made };
        pages.insert(order.hash, entry);
    }

    /// All is settled after a sweep.
    pub(super) fn swept(&self) {
        self.is_swept.notify_one();
        self.is_settled.notify_one();
    }

    /// Waits until a sweep has settled.
    pub(super) async fn settled(&self) {
        self.is_settled.notified().await;
    }

    /// The orders of the pages that were asked for at all, most wanted first.
    pub(super) fn by_want(&self) -> Vec<(u32, Order)> {
        let pages = self.pages.lock();
        let mut orders: Vec<_> =
            pages.values().map(|entry| (entry.want(), entry.order.clone())).collect();
        drop(pages);
        orders.retain(|(want, _)| *want > 0);
        orders.sort_by_key(|(want, _)| std::cmp::Reverse(*want));
        orders
    }

    /// The pages that are asked for most, as they are now, before all others what is `read`.
    pub(super) fn top(&self, count: usize, read: Option<&str>) -> Vec<(Order, Arc<Page>)> {
        let pages = self.pages.lock();
        let mut all: Vec<_> = pages
            .values()
            .filter_map(|entry| Some((entry.want(), entry, entry.page.upgrade()?)))
            .collect();
        let is_read = |entry: &Entry| read == Some(entry.order.brief.target.as_str());
        all.sort_by_key(|(want, entry, _)| std::cmp::Reverse((is_read(entry), *want)));
        all.into_iter().take(count).map(|(_, entry, page)| (entry.order.clone(), page)).collect()
    }

    /// Whether strangers share a page with this address.
    pub(super) fn has(&self, target: &str) -> bool {
        self.pages.lock().values().any(|entry| entry.order.brief.target == target)
    }

    /// The order of a page with this address, or of the most wanted of its class: of one that
    /// more than one visitor came for, as fetching it may change something.
    pub(super) fn like(&self, target: &str) -> Option<Order> {
        let class = shape(target);
        let pages = self.pages.lock();
        let is_like = |entry: &&Entry| (entry.made > 1 || entry.want() > 0) && entry.class == class;
        let same = pages.values().filter(is_like).find(|one| one.order.brief.target == target);
        let most = || pages.values().filter(is_like).max_by_key(|entry| entry.want());
        same.or_else(most).map(|entry| entry.order.clone())
    }
}

/// Makes wanted pages anew after each sweep, for ever.
pub(super) async fn restore(server: Arc<Server>, site: Arc<Site>, following: Arc<Following>) {
    loop {
        following.wanted.is_swept.notified().await;
        let content = site.generations.content();
        for (_, order) in following.wanted.by_want() {
            if site.generations.content() != content {
                // Swept again; that will be told too.
                break;
            }
            if !following.may_ask_unasked(&site, &order.brief.target) {
                continue;
            }
            let began = Instant::now();
            if make_anew(&server, &site, &order).await {
                following.counts.restored.bump();
                sleep((began.elapsed() * REST).min(Duration::from_secs(5))).await;
            }
        }
    }
}

/// Asks as a visitor without a connection would, so that visitors join the flight; false if
/// there was nothing to do.
async fn make_anew(server: &Arc<Server>, site: &Arc<Site>, order: &Order) -> bool {
    let head = order.brief.head();
    let journey =
        crate::journey::Journey::unattended(server, site, &head, &order.key, order.brief.peers);
    let key = store::Key { hash: order.hash, text: &order.key };
    let now = server.clock.now();
    match pipeline::look(server, site, &site.rules(), &head, now, &key, &journey.reader) {
        Found::Ask(task @ Task::Remake(_)) => {
            drop(pipeline::travel(journey, order.hash, task).await);
            true
        }
        _ => false,
    }
}
