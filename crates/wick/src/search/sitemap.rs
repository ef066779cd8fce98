//! `/sitemap.xml` of what the search has, where the site has none itself.
//!
//! Whether it has one is asked of its origin, now and then: it is the site's as soon as the origin
//! has one, or `robots.txt` names another.
//! Invariant: only addresses are told that strangers were given since this process began, and of
//! which nothing was told since that makes them doubtful; or that a source says are public.
//! Bounds: [`show::PART_MAX`] addresses an answer.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::crawl::robots::Robots;
use ::search::rows::Row;
use ::search::site::SHAPE_HOST;
use ::search::site::show::{self, Listed};
use ::search::{Filter, FilterKind, Hit, Index, Search, Sort, SortKey};
use futures_util::StreamExt;
use futures_util::stream;
use server::{CompanionAnswer, CompanionAsked, Server, Unread};
use tokio::time::{Instant, sleep, timeout};

use super::answering::{busy, plain, tagged_as};
use super::finding::{URL, number_of, text_of};
use super::taking::{READ_PATIENCE, sum_of};
use super::{SiteSearch, crawl};

/// Where sitemaps are looked for.
pub(super) const PATH: &str = "/sitemap.xml";
/// How often it is asked whether the site has one.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// The same, as long as the origin doesn't answer.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// What something was written to since is read again before it is named, for so long, and so many
/// pages; of what is left the next takes its share, after a rest so many times as long.
const RENEW_FOR: Duration = Duration::from_secs(1);
const RENEWED_MAX: usize = 256;
const RENEWED_AT_ONCE: usize = 2;
const REST: u32 = 9;
/// Behind so many pages nothing is told.
const PAGES_MAX: usize = 500_000;
const CHANGED: usize = 3;
const SEEN: usize = 4;

/// Finds out whether the site has a sitemap, for as long as there is a search.
pub(super) async fn look(search: Weak<SiteSearch>) {
    let Some((scheme, host)) = crawl::begin(&search).await else { return };
    loop {
        let Some(owned) = search.upgrade() else { return };
        let mut rest = LOOK_EVERY;
        if owned.plan().has_sitemap {
            match has_own(&owned, scheme, &host).await {
                Some(has) => owned.lacks_sitemap.store(!has, Ordering::Relaxed),
                None => rest = LOOK_AGAIN,
            }
        }
        drop(owned);
        sleep(rest).await;
    }
}

/// Whether the site has a sitemap of its own; none: nobody can tell.
async fn has_own(search: &SiteSearch, scheme: &'static str, host: &str) -> Option<bool> {
    let server = search.server()?;
    match server.read_plain(scheme, host, "/robots.txt", READ_PATIENCE).await {
        Ok(text) => {
            let robots = Robots::of(&String::from_utf8_lossy(&text), crawl::NAME);
            if !robots.sitemaps.is_empty() {
                return Some(true);
            }
        }
        Err(Unread::Failed { .. }) => return None,
        Err(_) => {}
    }
    match server.read_plain(scheme, host, PATH, READ_PATIENCE).await {
        Err(Unread::Status(404 | 410, _)) => Some(false),
        Err(Unread::Failed { .. }) => None,
        _ => Some(true),
    }
}

impl SiteSearch {
    /// Whether `/sitemap.xml` is ours to answer.
    pub(super) fn has_sitemap(&self) -> bool {
        self.lacks_sitemap.load(Ordering::Relaxed) && self.plan().has_sitemap
    }

    /// The sitemap, or the part that is asked for.
    pub(super) async fn sitemap(self: Arc<Self>, asked: CompanionAsked) -> CompanionAnswer {
        let Some(index) = self.own_index() else { return busy("The search is being opened.") };
        let Ok(_place) = self.searches.try_acquire() else {
            self.counters.searches_refused.bump();
            return busy("Many are searching at the moment.");
        };
        self.renew_for_map().await;
        let origin = format!("{}://{}", asked.scheme, asked.host);
        let query = asked.target.split_once('?').map_or("", |(_, query)| query);
        let part = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "part");
        let part = part.map(|(_, value)| value.parse().unwrap_or(0));
        let search = self.clone();
        let host = self.host_of(&asked.host);
        let made = tokio::task::spawn_blocking(move || search.list(&index, &host, part)).await;
        let (pages, parts) = match made {
            Ok(Ok(made)) => made,
            Ok(Err(why)) => return self.failed(&why),
            Err(error) => return self.failed(&error.to_string()),
        };
        let text = match part {
            None if parts > 1 => show::sitemap_index(&format!("{origin}{PATH}"), parts),
            Some(part) if part == 0 || part > parts => {
                return plain(404, "There is no such part of the sitemap.");
            }
            _ => show::sitemap(&origin, &pages),
        };
        tagged_as("application/xml; charset=utf-8", text)
    }

    /// Reads again what something was written to since, so far as there is time: what isn't public
    /// any more isn't named then. Who comes meanwhile waits for that.
    async fn renew_for_map(self: &Arc<Self>) {
        let Some(server) = self.server() else { return };
        let Ok(mut rests_until) = timeout(RENEW_FOR, self.map_rests_until.lock()).await else {
            return;
        };
        let began = Instant::now();
        if rests_until.is_some_and(|until| began < until) {
            return;
        }
        let (first, others) = self.standings.fallen(&server, RENEWED_MAX, None);
        let fallen: Vec<u64> = first.into_iter().chain(others).take(RENEWED_MAX).collect();
        let is_all = fallen.len() < RENEWED_MAX;
        let reads = stream::iter(fallen).map(|id| self.renew(id, false));
        let read =
            timeout(RENEW_FOR, reads.buffer_unordered(RENEWED_AT_ONCE).for_each(|_| async {}));
        let is_done = read.await.is_ok() && is_all;
        *rests_until = (!is_done).then(|| Instant::now() + began.elapsed() * REST);
    }

    /// The pages of a part, the first where none is named; and how many parts there are.
    fn list(
        &self,
        index: &Index,
        host: &str,
        part: Option<usize>,
    ) -> Result<(Vec<Listed>, usize), String> {
        let mut filters = Vec::new();
        if !self.hosts.is_empty() {
            let kind = FilterKind::TextIn(vec![host.to_owned()]);
            filters.push(Filter { attribute: Some(SHAPE_HOST), kind, is_excluded: false });
        }
        let number = part.unwrap_or(1).clamp(1, PAGES_MAX / show::PART_MAX);
        let search = Search {
            filters,
            sort: vec![Sort { key: SortKey::Id, is_descending: false }],
            offset: (number - 1) * show::PART_MAX,
            limit: show::PART_MAX,
            max_matches: PAGES_MAX,
            ..Search::default()
        };
        let found = index.search(&search).map_err(|error| error.to_string())?;
        let parts = found.total_found.min(PAGES_MAX).div_ceil(show::PART_MAX).max(1);
        let server = self.server();
        let known = found.hits.iter().filter(|hit| self.is_listed(server.as_deref(), hit));
        Ok((known.map(|hit| self.listed(hit)).collect(), parts))
    }

    fn is_listed(&self, server: Option<&Server>, hit: &Hit) -> bool {
        match Row::is_row(&hit.attributes) {
            true => self.rows.is_sure(hit.id, sum_of(&hit.attributes)),
            false => server.is_some_and(|server| self.standings.is_believed(server, hit.id)),
        }
    }

    fn listed(&self, hit: &Hit) -> Listed {
        let changed = number_of(&hit.attributes, CHANGED);
        // Of what says nothing it is when it was seen first.
        let is_known = changed > 0 && changed != number_of(&hit.attributes, SEEN);
        Listed {
            target: self.target_of(text_of(&hit.attributes, URL)).to_owned(),
            changed: is_known.then_some(changed),
        }
    }
}
