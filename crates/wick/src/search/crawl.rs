//! The crawl: pages that nobody visits, by the site's sitemaps and by links.
//!
//! It asks by the road that visitors take, as a stranger, one page at a time with a rest after
//! each, and obeys `robots.txt` and `Retry-After`. It begins when Wick does and goes over the
//! whole site but for what a sitemap says has not changed since; then it waits for links that
//! nobody has followed yet, and goes its next round when that is due: `robots.txt`, sitemaps and the
//! first page are read again, and what they name that is new, or has changed since. Links are
//! followed of pages that are not everybody's too, as a stranger is given them: of a site that
//! nobody has visited yet, little is known to be everybody's. What somebody wrote to just now comes
//! first, and at once.
//! Bounds: [`PAGES_MAX`] pages and [`MAPS_MAX`] sitemaps a round, [`FAILURES_MAX`] failures one
//! after the other.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::crawl::robots::Robots;
use ::crawl::sitemap::Sitemap;
use ::crawl::{does_something, targets_within};
use ::search::Document;
use ::search::Value;
use base::amount::show_count;
use server::{Given, Unread};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::answering::Wanted;
use super::hastened::{HASTENED_MAX, Hastened};
use super::taking::{Doubt, READ_PATIENCE, Taken, links_of, page_text};
use super::{Links, Place, SiteSearch, keep_latest, unpoisoned};

/// By what name `robots.txt` may speak of it.
pub(super) const NAME: &str = "wick";
/// How long it is waited for a visitor who knows the site's name, where the settings don't.
const VISITOR_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Pages of one round.
const PAGES_MAX: usize = 20_000;
const MAPS_MAX: usize = 50;
/// Addresses that wait.
const QUEUE_MAX: usize = 50_000;
/// Addresses that are known to have waited; of more the round behind knows nothing.
const KNOWN_MAX: usize = 4 * QUEUE_MAX;
/// Addresses of one path that differ only in what their queries give to the same names: of one
/// name, which is most often a page's, and of several, which most often are orders and filters.
const VARIANTS_MAX: usize = 5_000;
const ORDERS_MAX: usize = 100;
const FAILURES_MAX: u32 = 8;
/// The least rest between two requests; a page that took longer is followed by a rest as long.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(300);

/// Crawls, if the owner wants it, for as long as there is a search.
pub(super) async fn crawl(search: Weak<SiteSearch>, mut links: mpsc::Receiver<Links>) {
    let Some(base) = begin(&search).await else { return };
    let told = search.upgrade().map(|owned| (owned.anew.subscribe(), owned.hastened.clone()));
    let Some((mut anew, hastened)) = told else { return };
    let mut crawl = Crawl { base, hastened, ..Crawl::default() };
    loop {
        let Some(owned) = search.upgrade() else { return };
        if !owned.plan().crawls {
            owned.tell_crawl("is off");
            return;
        }
        let due = Instant::now() + owned.plan().crawls_every;
        if anew.has_changed().unwrap_or(true) {
            // Of what was read nothing is there any more.
            anew.mark_unchanged();
            let Crawl { base, hastened, .. } = crawl;
            crawl = Crawl { base, hastened, ..Crawl::default() };
        }
        owned.tell_crawl("reads robots.txt and sitemaps");
        crawl.begin_round(&owned).await;
        drop(owned);
        if crawl.go_round(&search, &mut links, &mut anew, due).await.is_none() {
            return;
        }
    }
}

/// Waits until pages can be read, and tells by which scheme and host.
pub(super) async fn begin(search: &Weak<SiteSearch>) -> Option<(&'static str, String)> {
    let began = Instant::now();
    loop {
        let owned = search.upgrade()?;
        if owned.index().is_some()
            && let Some(server) = owned.server()
        {
            let base = unpoisoned(&owned.base).clone();
            if base.is_some() {
                return base;
            }
            let own = owned.hosts.iter().find(|host| !host.contains('*'));
            if began.elapsed() > VISITOR_PATIENCE {
                let scheme = if server.tls().is_some() { "https" } else { "http" };
                return Some((scheme, own.map_or("localhost", String::as_str).to_owned()));
            }
        }
        drop(owned);
        sleep(LOOK_EVERY).await;
    }
}

#[derive(Default)]
struct Crawl {
    base: (&'static str, String),
    hastened: Arc<Hastened>,
    robots: Robots,
    queue: VecDeque<(String, Option<i64>)>,
    /// Addresses with a query that a sitemap doesn't name: more often than others they show
    /// what is shown elsewhere.
    variations: VecDeque<(String, Option<i64>)>,
    /// Addresses that waited once, and what sitemaps said of when they changed.
    known: HashSet<u64>,
    variants: std::collections::HashMap<u64, usize>,
    /// What comes first as soon as a link to it is found; the latest at the end.
    awaited: VecDeque<String>,
    /// Whether the first that waits is to be asked for at once.
    is_hastened: bool,
    asked: usize,
    failures: u32,
}

impl Crawl {
    fn url(&self, target: &str) -> String {
        format!("{}://{}{target}", self.base.0, self.base.1)
    }

    fn push(&mut self, target: String, changed: Option<i64>) {
        let is_room = self.waiting() < QUEUE_MAX && self.known.len() < KNOWN_MAX;
        if !is_room || !is_worth_it(&target) || !self.robots.allows(&target) {
            return;
        }
        let is_new = self.known.insert(Document::id_of(&target));
        let has_changed = changed.is_some_and(|changed| {
            changed > 0 && self.known.insert(Document::id_of(&format!("{changed} {target}")))
        });
        if !is_new && !has_changed {
            return;
        }
        // What a site names itself isn't one of endless orders of the same list.
        let is_variation = changed.is_none() && target.contains('?');
        if is_variation {
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            let names: Vec<&str> =
                query.split('&').filter_map(|pair| pair.split('=').next()).collect();
            let max = if names.len() > 1 { ORDERS_MAX } else { VARIANTS_MAX };
            let kind = Document::id_of(&format!("{path}?{}", names.join("&")));
            let count = self.variants.entry(kind).or_default();
            *count += 1;
            if *count > max {
                return;
            }
        }
        if let Some(at) = self.awaited.iter().position(|awaited| *awaited == target) {
            self.awaited.remove(at);
            return self.put_first((target, changed));
        }
        let queue = if is_variation { &mut self.variations } else { &mut self.queue };
        queue.push_back((target, changed));
    }

    fn put_first(&mut self, waiting: (String, Option<i64>)) {
        self.queue.push_front(waiting);
        self.is_hastened = true;
    }

    /// Somebody wrote to it just now. It is asked for first if a link to it was found, or is.
    fn hasten(&mut self, target: String) {
        let waiting = [&mut self.queue, &mut self.variations].into_iter().find_map(|queue| {
            let at = queue.iter().position(|(waiting, _)| *waiting == target)?;
            queue.remove(at)
        });
        if let Some(waiting) = waiting {
            return self.put_first(waiting);
        }
        if is_worth_it(&target) && !self.known.contains(&Document::id_of(&target)) {
            keep_latest(&mut self.awaited, target, HASTENED_MAX);
        }
    }

    fn hasten_all(&mut self) {
        let all = self.hastened.take(&self.base.1);
        all.into_iter().for_each(|target| self.hasten(target));
    }

    /// Reads what the site says of itself.
    async fn begin_round(&mut self, search: &Arc<SiteSearch>) {
        self.asked = 0;
        if self.known.len() > KNOWN_MAX / 2 {
            self.known.clear();
            self.variants.clear();
        }
        self.read_robots(search).await;
        self.read_maps(search).await;
        self.known.remove(&Document::id_of("/"));
        self.push("/".to_owned(), None);
    }

    /// Asks for what waits, and for what comes, until the next round is due; none at the end.
    async fn go_round(
        &mut self,
        search: &Weak<SiteSearch>,
        links: &mut mpsc::Receiver<Links>,
        anew: &mut watch::Receiver<u64>,
        due: Instant,
    ) -> Option<()> {
        loop {
            while let Ok(linked) = links.try_recv() {
                self.push_all(linked);
            }
            let owned = search.upgrade()?;
            self.hasten_all();
            if anew.has_changed().unwrap_or(true) {
                return Some(());
            }
            let pages = show_count(self.asked as u64, "page", "pages");
            let is_full = self.asked >= PAGES_MAX;
            let Some((target, changed)) = (!is_full).then(|| self.next()).flatten() else {
                owned.made_anew.note_crawled();
                owned.tell_crawl(&match is_full {
                    true => format!("rests: it asks for {PAGES_MAX} pages a round at most"),
                    false => format!("is done: asked for {pages}"),
                });
                drop(owned);
                tokio::select! {
                    linked = links.recv() => self.push_all(linked?),
                    () = self.hastened.told() => {}
                    told = anew.changed() => {
                        // Whoever begins the next round is to see it, too.
                        told.ok()?;
                        anew.mark_changed();
                        return Some(());
                    }
                    () = sleep_until(due) => return Some(()),
                }
                continue;
            };
            let waiting = self.waiting();
            owned.tell_crawl(&format!("asked for {pages}, {waiting} wait"));
            let mut rest = self.visit(&owned, target, changed).await;
            if self.failures >= FAILURES_MAX {
                owned.tell_crawl(&format!("rests, as the origin fails: asked for {pages}"));
                rest = rest.max(BACK_OFF_MAX);
            }
            drop(owned);
            self.rest_for(rest, links).await?;
        }
    }

    /// Leaves the origin alone, unless somebody waits for what they wrote and it doesn't fail; none
    /// at the end.
    async fn rest_for(&mut self, rest: Duration, links: &mut mpsc::Receiver<Links>) -> Option<()> {
        let until = Instant::now() + rest;
        while self.failures > 0 || !self.is_hastened {
            tokio::select! {
                () = sleep_until(until) => break,
                linked = links.recv() => self.push_all(linked?),
                () = self.hastened.told() => self.hasten_all(),
            }
        }
        Some(())
    }

    fn waiting(&self) -> usize {
        self.queue.len() + self.variations.len()
    }

    fn next(&mut self) -> Option<(String, Option<i64>)> {
        self.is_hastened = false;
        self.queue.pop_front().or_else(|| self.variations.pop_front())
    }

    fn push_all(&mut self, links: Links) {
        if links.host == self.base.1 {
            links.targets.into_iter().for_each(|target| self.push(target, None));
        }
    }

    /// Where a page leads to.
    async fn follow(&mut self, place: Place, given: Given) {
        let links = tokio::task::spawn_blocking(move || {
            page_text(&given).map(|text| links_of(&place, &text)).unwrap_or_default()
        });
        links.await.into_iter().flatten().for_each(|link| self.push(link, None));
    }

    async fn read_robots(&mut self, search: &Arc<SiteSearch>) {
        self.robots = Robots::default();
        let Some(server) = search.server() else { return };
        let (scheme, host) = (self.base.0, self.base.1.clone());
        let read = server.read_plain(scheme, &host, "/robots.txt", READ_PATIENCE).await;
        match read {
            Ok(text) => self.robots = Robots::of(&String::from_utf8_lossy(&text), NAME),
            // Where nobody can be asked, nothing is allowed (RFC 9309 §2.3.1.4).
            Err(Unread::Failed { .. }) => {
                self.robots = Robots::of("user-agent: *\ndisallow: /\n", NAME);
            }
            Err(_) => {}
        }
    }

    async fn read_maps(&mut self, search: &Arc<SiteSearch>) {
        let Some(server) = search.server() else { return };
        let (scheme, host) = (self.base.0, self.base.1.clone());
        let mut maps = self.robots.sitemaps.clone();
        if maps.is_empty() {
            maps.push("/sitemap.xml".to_owned());
        }
        let mut read = 0;
        while let Some(map) = maps.pop().filter(|_| read < MAPS_MAX) {
            read += 1;
            let Some(target) = self.within(&map) else { continue };
            let Ok(bytes) = server.read_plain(scheme, &host, &target, READ_PATIENCE).await else {
                continue;
            };
            // It may be megabytes of XML.
            let found = tokio::task::spawn_blocking(move || Sitemap::of(&bytes)).await;
            let Ok(found) = found else { continue };
            maps.extend(found.maps.into_iter().take(MAPS_MAX));
            for (page, changed) in found.pages {
                if let Some(target) = self.within(&page) {
                    self.push(target, Some(changed.unwrap_or(0)));
                }
            }
            sleep(self.rest(REST)).await;
        }
    }

    /// The target of an address that the site itself names: it may say it with a name of its own
    /// that we were not asked by.
    fn within(&self, address: &str) -> Option<String> {
        let path = address
            .split_once("://")
            .map_or(address, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
        targets_within([path].into_iter(), &self.url("/")).pop()
    }

    /// Asks for a page, unless it is known; how long to rest then.
    async fn visit(
        &mut self,
        search: &Arc<SiteSearch>,
        target: String,
        changed: Option<i64>,
    ) -> Duration {
        let path = target.split('?').next().unwrap_or("");
        if Wanted::of(path, &search.plan().path).is_some() {
            return Duration::ZERO;
        }
        let place = Place { scheme: self.base.0, host: self.base.1.clone(), target };
        if self.is_current(search, &place, changed).await {
            return Duration::ZERO;
        }
        self.asked += 1;
        search.counters.pages_crawled.bump();
        let Some(server) = search.server() else { return REST };
        let (began, since) = (Instant::now(), search.standings.number());
        let read =
            server.read_public(place.scheme, &place.host, &place.target, READ_PATIENCE).await;
        match read {
            Ok(page) => {
                self.failures = 0;
                let given = Given::of(&page.fields, page.body.clone());
                if let Some(Taken::Out(Some(other))) = search.take(place.clone(), page, since).await
                {
                    self.push(other, None);
                }
                self.follow(place, given).await;
                self.rest(began.elapsed())
            }
            Err(Unread::NotPublic(given) | Unread::Changing(given)) => {
                self.failures = 0;
                search.put(&search.doubts, Doubt { place: place.clone(), tries: 1 });
                if let Some(given) = given {
                    self.follow(place, given).await;
                }
                self.rest(began.elapsed())
            }
            Err(Unread::Failed { retry_after }) => {
                self.failures += 1;
                search.put(&search.doubts, Doubt { place, tries: 1 });
                let back_off = REST * 2u32.saturating_pow(self.failures + 2);
                retry_after.unwrap_or(back_off).max(back_off).min(BACK_OFF_MAX)
            }
            Err(gone) => {
                self.failures = 0;
                search.take_out(&place.host, &place.target);
                if let Unread::Status(300..=399, Some(to)) = gone {
                    let base = self.url(&place.target);
                    for target in targets_within([to.as_str()].into_iter(), &base) {
                        self.push(target, None);
                    }
                }
                self.rest(began.elapsed())
            }
        }
    }

    /// Whether the index has it as it is, as far as a sitemap tells.
    async fn is_current(
        &self,
        search: &Arc<SiteSearch>,
        place: &Place,
        changed: Option<i64>,
    ) -> bool {
        let Some(changed) = changed.filter(|&changed| changed > 0) else { return false };
        let Some(index) = search.index() else { return false };
        let id = Document::id_of(&search.url_of(&place.host, &place.target));
        let found = tokio::task::spawn_blocking(move || index.get(id).ok().flatten());
        let found = found.await.ok().flatten();
        const SEEN: usize = 4;
        found.is_some_and(|document| {
            matches!(document.attributes.get(SEEN), Some(Value::Int(seen)) if *seen > changed)
        })
    }

    fn rest(&self, took: Duration) -> Duration {
        took.clamp(REST, REST_MAX).max(self.robots.delay.unwrap_or_default())
    }
}

impl SiteSearch {
    fn tell_crawl(&self, what: &str) {
        what.clone_into(&mut unpoisoned(&self.crawl));
    }
}

/// Whether an address may be a page of its own: none of a download, of a session, or of something
/// that is done.
fn is_worth_it(target: &str) -> bool {
    const ENDS: [&str; 22] = [
        ".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico", ".css", ".js", ".json", ".xml",
        ".rss", ".atom", ".pdf", ".zip", ".gz", ".mp3", ".mp4", ".webm", ".woff2", ".torrent",
        ".txt",
    ];
    let path = target.split('?').next().unwrap_or("").to_ascii_lowercase();
    target.len() <= 1024 && !ENDS.iter().any(|end| path.ends_with(end)) && !does_something(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_asked_for_and_what_does_something_is_not() {
        for (target, expected) in [
            ("/", true),
            ("/viewtopic.php?t=12", true),
            ("/wiki/한글?page=2", true),
            ("/picture.JPG", false),
            ("/ucp.php?mode=login", false),
            ("/logout", false),
            ("/index.php?sid=0123", false),
            ("/w/index.php?title=A&action=edit", false),
        ] {
            assert_eq!(is_worth_it(target), expected, "{target}");
        }
        assert!(!is_worth_it(&format!("/{}", "a".repeat(2000))));
    }

    #[test]
    fn an_address_waits_once_and_orders_of_a_list_are_bounded() {
        let mut crawl = Crawl { base: ("http", "a.test".to_owned()), ..Crawl::default() };
        for _ in 0..3 {
            crawl.push("/a".to_owned(), None);
        }
        for number in 0..1000 {
            crawl.push(format!("/list?order={number}&up=1"), None);
            crawl.push(format!("/topic?t={number}"), None);
        }
        assert_eq!(crawl.waiting(), 1 + ORDERS_MAX + 1000);
        assert_eq!(crawl.next().map(|(target, _)| target).as_deref(), Some("/a"));
        assert_eq!(crawl.waiting(), ORDERS_MAX + 1000);
        crawl.robots = Robots::of("user-agent: *\ndisallow: /b", NAME);
        crawl.push("/b/c".to_owned(), Some(5));
        assert_eq!(crawl.waiting(), ORDERS_MAX + 1000);
        crawl.robots = Robots::default();
        for (changed, waits) in [(Some(5), 1), (Some(5), 0), (None, 0), (Some(0), 0), (Some(6), 1)]
        {
            let before = crawl.waiting();
            crawl.push("/dated".to_owned(), changed);
            assert_eq!(crawl.waiting() - before, waits, "{changed:?}");
        }
        assert_eq!(crawl.within("https://other.test/x?y=1").as_deref(), Some("/x?y=1"));
        assert_eq!(crawl.within("/map.xml").as_deref(), Some("/map.xml"));
    }

    #[test]
    fn what_somebody_wrote_to_is_asked_for_first_once_a_page_leads_there() {
        let mut crawl = Crawl { base: ("http", "a.test".to_owned()), ..Crawl::default() };
        let next = |crawl: &mut Crawl| crawl.next().map(|(target, _)| target).unwrap_or_default();
        for target in ["/a", "/b", "/list?page=2"] {
            crawl.push(target.to_owned(), None);
        }
        for target in ["/b", "/new", "/list?page=2", "/logout"] {
            crawl.hasten(target.to_owned());
        }
        assert!(crawl.is_hastened);
        assert_eq!([next(&mut crawl), next(&mut crawl)], ["/list?page=2", "/b"]);
        // Nothing leads there yet.
        assert!(!crawl.is_hastened && crawl.waiting() == 1);
        crawl.push("/c".to_owned(), None);
        assert!(!crawl.is_hastened);
        crawl.push("/new".to_owned(), None);
        assert!(crawl.is_hastened);
        assert_eq!([next(&mut crawl), next(&mut crawl)], ["/new", "/a"]);
        // What was asked for already is whoever's who looks into doubts.
        crawl.hasten("/a".to_owned());
        assert!(!crawl.is_hastened && crawl.awaited.is_empty());
    }
}
