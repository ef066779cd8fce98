//! Views: what readers are served from memory is counted, and the app told of it now and then.
//!
//! ```text
//! a hit → the page's own count ─ the first since the last batch: the page joins the list
//!     every so often → the list is taken, its counts with it → one call to the app a batch
//! ```
//!
//! A hit is counted where somebody goes to a page (GET, no robot, no script) that is HTML and
//! has status 200. It costs one addition on the page; only the first of a batch takes the lock.
//! Invariants: 1. a view is told at most once: what the app may have taken is not told again.
//! 2. what it surely didn't take is told with the next batch. 3. with no rules nothing counts.
//! Bounds: [`PAGES_MAX`] pages a batch, with addresses of [`TARGET_BYTES_MAX`]; views of others
//! are added up in one number.
//! Start at [`note`]; what is sent, in [`replay`]. Why it is so: `docs/decisions/views.md`.

mod replay;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use policy::strangers::{Errand, errand, taste};

use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::reply::{Head, Reply};
use crate::serve_stored::Asked;

/// Pages of one batch.
const PAGES_MAX: usize = 10_000;
/// A page with a longer address is counted among the others.
const TARGET_BYTES_MAX: usize = 512;

/// How a site's app is told of views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewsRules {
    /// What is asked for.
    pub to: ViewsTo,
    /// The time between two batches.
    pub every: Duration,
    /// What shows that Wick asks.
    pub secret: Option<ViewsSecret>,
}

/// What the app is asked for when there were views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewsTo {
    /// This path, by a POST of JSON that says how many views each page had.
    Call(String),
    /// Each page that was viewed, once, as one more stranger.
    Page,
}

/// What shows the app that it is Wick who tells of views. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ViewsSecret(pub String);

impl fmt::Debug for ViewsSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ViewsSecret(…)")
    }
}

/// The views of one page since the last batch.
pub(crate) type ViewCount = Arc<AtomicU64>;

/// The views of one site's pages.
#[derive(Default)]
pub(crate) struct Views {
    is_on: AtomicBool,
    rules: ArcSwapOption<ViewsRules>,
    list: Mutex<List>,
    /// Set while a batch is on its way.
    is_sending: AtomicBool,
}

#[derive(Default)]
struct List {
    /// Pages with views, each once as a rule.
    pages: Vec<(Place, ViewCount)>,
    /// What was counted otherwise, or wasn't taken when it was told.
    owed: HashMap<Place, u64>,
    others: u64,
    /// From whom something is known of how visitors come.
    peers: Option<Peers>,
    due_ms: u64,
    is_failing: bool,
}

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    scheme: &'static str,
    host: String,
    target: String,
}

/// What is told at once: pages of one host, the most viewed first.
#[derive(Debug, PartialEq, Eq)]
struct Batch {
    scheme: &'static str,
    host: String,
    pages: Vec<(String, u64)>,
    others: u64,
}

/// Counts a page that is served from memory.
pub(crate) fn note(asked: &Asked<'_>, page: &Page) {
    if asked.site.views.is_on() {
        asked.site.views.count(asked, page);
    }
}

/// Counts an answer that was got by somebody else's request; it is the same afterwards.
pub(crate) fn noted(journey: &Journey, reply: Reply) -> Reply {
    if journey.site.views.is_on() {
        note_shared(journey, &reply);
    }
    reply
}

fn note_shared(journey: &Journey, reply: &Reply) {
    let (asked, views) = (journey.asked(), &journey.site.views);
    match &reply.head {
        Head::Stored { page, .. } => views.count(&asked, page),
        Head::Ready(head) if head.status == 200 && reply.is_html() && is_view(&asked) => {
            let mut list = views.list.lock();
            list.peers = Some(asked.peers);
            list.owe(place(&asked), 1);
        }
        Head::Ready(_) => {}
    }
}

/// Whether a reader goes to a page.
fn is_view(asked: &Asked<'_>) -> bool {
    asked.within.is_none()
        && asked.head.method == http::Method::GET
        && errand(&asked.head.fields) == Errand::Navigation
        && !taste(&asked.head.fields).is_bot()
}

fn place(asked: &Asked<'_>) -> Place {
    let (host, target) = (asked.head.host.clone(), asked.head.target.clone());
    Place { scheme: asked.peers.scheme, host, target }
}

impl Views {
    /// Other rules from now on; what was counted stays, unless nobody wants to know.
    pub(crate) fn follow(&self, rules: Option<ViewsRules>) {
        self.is_on.store(rules.is_some(), Ordering::Relaxed);
        if rules.is_none() {
            *self.list.lock() = List::default();
        }
        self.rules.store(rules.map(Arc::new));
    }

    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn count(&self, asked: &Asked<'_>, page: &Page) {
        let is_page = page.as_stored().is_some_and(|it| it.status == 200 && it.is_html);
        if is_page && is_view(asked) {
            let count = page.views();
            if count.fetch_add(1, Ordering::Relaxed) == 0 {
                self.begin(asked, count);
            }
        }
    }

    /// The first view of a page since the last batch.
    #[cold]
    fn begin(&self, asked: &Asked<'_>, count: &ViewCount) {
        let mut list = self.list.lock();
        list.peers = Some(asked.peers);
        match list.pages.len() < PAGES_MAX && asked.head.target.len() <= TARGET_BYTES_MAX {
            true => list.pages.push((place(asked), count.clone())),
            false => {
                list.others += count.swap(0, Ordering::Relaxed);
                asked.server.counters.views_of_others.bump();
            }
        }
    }

    /// All views since the last batch, if one is due: those of each host in pieces of so many
    /// pages.
    fn take(&self, ticks_ms: u64, every_ms: u64, pages_max: usize) -> Vec<Batch> {
        let mut list = self.list.lock();
        if ticks_ms < list.due_ms || list.is_empty() {
            return Vec::new();
        }
        list.due_ms = ticks_ms.saturating_add(every_ms);
        let List { pages, owed, others, .. } = &mut *list;
        let (mut counts, mut others) = (std::mem::take(owed), std::mem::take(others));
        for (place, count) in std::mem::take(pages) {
            *counts.entry(place).or_default() += count.swap(0, Ordering::Relaxed);
        }
        drop(list);
        let mut sorted: Vec<(Place, u64)> = counts.into_iter().filter(|(_, n)| *n > 0).collect();
        sorted.sort_unstable_by(|(a, n), (b, m)| {
            (a.scheme, &a.host, m, &a.target).cmp(&(b.scheme, &b.host, n, &b.target))
        });
        let mut batches: Vec<Batch> = Vec::new();
        for (place, count) in sorted {
            let is_of = |batch: &&mut Batch| {
                (batch.scheme, &batch.host) == (place.scheme, &place.host)
                    && batch.pages.len() < pages_max
            };
            let Place { scheme, host, target } = place.clone();
            match batches.last_mut().filter(is_of) {
                Some(batch) => batch.pages.push((target, count)),
                None => {
                    let others = std::mem::take(&mut others);
                    batches.push(Batch { scheme, host, pages: vec![(target, count)], others });
                }
            }
        }
        if others > 0 {
            // There is nobody to be told of these alone.
            self.list.lock().others += others;
        }
        batches
    }

    /// What the app didn't take is told later.
    fn give_back(&self, batch: Batch) {
        let mut list = self.list.lock();
        list.others += batch.others;
        for (target, count) in batch.pages {
            list.owe(Place { scheme: batch.scheme, host: batch.host.clone(), target }, count);
        }
    }
}

impl List {
    fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.owed.is_empty()
    }

    fn owe(&mut self, place: Place, count: u64) {
        let is_known = self.owed.contains_key(&place);
        match is_known || self.owed.len() < PAGES_MAX && place.target.len() <= TARGET_BYTES_MAX {
            true => *self.owed.entry(place).or_default() += count,
            false => self.others += count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, target: &str) -> Place {
        Place { scheme: "http", host: host.into(), target: target.into() }
    }

    fn views() -> Views {
        let to = ViewsTo::Call("/views".into());
        let views = Views::default();
        views.follow(Some(ViewsRules { to, every: Duration::from_secs(60), secret: None }));
        views
    }

    /// Each batch as `host: target count, … +others`.
    fn taken(views: &Views, ticks_ms: u64) -> Vec<String> {
        let line = |batch: &Batch| {
            let pages: Vec<_> =
                batch.pages.iter().map(|(target, count)| format!("{target} {count}")).collect();
            format!("{}: {} +{}", batch.host, pages.join(", "), batch.others)
        };
        views.take(ticks_ms, 60_000, 2).iter().map(line).collect()
    }

    fn see(views: &Views, host: &str, target: &str, count: u64) {
        views.list.lock().owe(place(host, target), count);
    }

    #[test]
    fn views_are_told_by_host_the_most_viewed_pages_first_and_once() {
        let views = views();
        for (host, target, count) in
            [("b.test", "/1", 1), ("a.test", "/1", 1), ("a.test", "/2", 5), ("a.test", "/3", 2)]
        {
            see(&views, host, target, count);
        }
        views.list.lock().others = 4;
        assert_eq!(
            taken(&views, 0),
            ["a.test: /2 5, /3 2 +4", "a.test: /1 1 +0", "b.test: /1 1 +0"]
        );
        assert!(taken(&views, 60_000).is_empty());
    }

    #[test]
    fn a_batch_comes_when_it_is_due() {
        let views = views();
        see(&views, "a.test", "/", 1);
        assert_eq!(taken(&views, 1_000).len(), 1);
        see(&views, "a.test", "/", 1);
        assert!(taken(&views, 60_999).is_empty());
        assert_eq!(taken(&views, 61_000), ["a.test: / 1 +0"]);
    }

    #[test]
    fn what_was_not_taken_is_told_with_what_came_since() {
        let views = views();
        see(&views, "a.test", "/1", 3);
        let batch = views.take(0, 60_000, 9).pop().expect("a batch");
        see(&views, "a.test", "/1", 2);
        views.give_back(batch);
        assert_eq!(taken(&views, 60_000), ["a.test: /1 5 +0"]);
    }

    #[test]
    fn a_count_that_a_newer_page_took_over_is_added_up() {
        let views = views();
        let counts: [ViewCount; 2] = Default::default();
        for (count, seen) in counts.iter().zip([7, 1]) {
            count.store(seen, Ordering::Relaxed);
            views.list.lock().pages.push((place("a.test", "/1"), count.clone()));
        }
        assert_eq!(taken(&views, 0), ["a.test: /1 8 +0"]);
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn more_pages_than_are_told_apart_are_counted_together() {
        let views = views();
        (0..PAGES_MAX + 3).for_each(|n| see(&views, "a.test", &format!("/{n}"), 1));
        see(&views, "a.test", &format!("/{}", "x".repeat(TARGET_BYTES_MAX)), 1);
        see(&views, "a.test", "/0", 1);
        let list = views.list.lock();
        assert_eq!((list.owed.len(), list.others), (PAGES_MAX, 4));
        assert_eq!(list.owed[&place("a.test", "/0")], 2);
    }

    #[test]
    fn without_rules_nothing_is_kept() {
        let views = views();
        see(&views, "a.test", "/", 1);
        views.follow(None);
        assert!(!views.is_on() && taken(&views, 0).is_empty());
    }

    #[test]
    fn the_secret_is_never_shown() {
        let rules = ViewsRules {
            to: ViewsTo::Page,
            every: Duration::ZERO,
            secret: Some(ViewsSecret("hush".into())),
        };
        assert!(!format!("{rules:?}").contains("hush"));
    }
}
