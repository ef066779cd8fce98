//! Finding: the index is asked, and what it finds is shown only if it is sure.
//!
//! A hit whose page isn't vouched for is asked for as a stranger, within [`PATIENCE`] for all of
//! them; what can't be had, or isn't there any more, is left out, and the index asked again
//! without it, so that neither numbers nor what is proposed tell of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::search::rows::Row;
use ::search::site::show::{Shown, ShownHit};
use ::search::site::{
    Facets, Narrow, PAGE_HITS, SHAPE_CHANGED, SHAPE_HITS, SHAPE_HOST, SHAPE_LANGUAGE,
    SHAPE_SECTION, SHAPE_SUM, SHAPE_TOPIC,
};
use ::search::{
    Document, Filter, FilterKind, Found, Fragment, Freshness, Group, GroupBy, Hit, Popularity,
    Query, Ranking, Search, Snippets, Value, read_query,
};
use futures_util::StreamExt;
use futures_util::stream::{self};
use server::Server;
use tokio::time::Instant;

use super::taking::{Taken, sum_of};
use super::{Kept, Place, READS_MAX, SiteSearch, unix};

/// How long pages may take that must be asked for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the index is asked again without what was left out.
const ROUNDS: usize = 4;
/// How long the index may look.
const LOOK: Duration = Duration::from_millis(500);
/// Behind so many hits nothing is shown.
const MATCHES_MAX: usize = 1000;
/// What is new is up to a fifth better, half of that after this time.
const FRESH: (f32, i64) = (0.2, 90 * 86_400);
/// What is asked for is better by so much for each power of ten, a fifth at most.
const POPULAR: f32 = 0.05;
/// Where a row names no kind of its own, as [`Row::is_row`] looks for it.
const KIND: usize = 2;
/// The title and the text, as [`::search::Shape::pages`] has them.
const TITLE: usize = 0;
const TEXT: usize = 2;
pub(super) const URL: usize = 0;

/// What is wanted.
#[derive(Clone)]
pub(super) struct Wish {
    pub(super) query: String,
    /// From 1.
    pub(super) page: usize,
    pub(super) limit: usize,
    /// What of the site is looked at, and in which order.
    pub(super) narrow: Narrow,
    /// Each page is shown by itself, and nothing but what was asked for.
    pub(super) is_feed: bool,
    /// Whether pages are asked for that aren't vouched for.
    pub(super) may_ask: bool,
    /// The query's last word may be the beginning of one.
    pub(super) is_prefix: bool,
    /// Somebody looks for it, and is not in the middle of writing it.
    pub(super) is_meant: bool,
    /// Whether another query may be proposed, and fewer pages.
    pub(super) proposes: bool,
}

/// What was found.
pub(super) struct Finding {
    pub(super) shown: Shown,
    /// The documents that are shown, if they are all that the index has.
    pub(super) all: Option<Vec<u64>>,
}

/// Who asks, and by which name they know the site.
pub(super) struct Asker {
    pub(super) server: Arc<Server>,
    pub(super) scheme: &'static str,
    pub(super) host: String,
}

impl SiteSearch {
    /// What is found, and may be shown.
    pub(super) async fn find(
        self: &Arc<Self>,
        index: &Kept,
        asker: &Asker,
        wish: &Wish,
    ) -> Result<Finding, String> {
        let until = Instant::now() + PATIENCE;
        let query = query_of(wish, index);
        let (mut left_out, mut sure) = (Vec::new(), HashMap::new());
        let mut round = 0;
        let (found, hits) = loop {
            round += 1;
            let search = self.search_of(&query, wish, asker, &left_out);
            let found = blocking(index, search).await?;
            let judged = self.judge(index, asker, &query, &found.hits, &mut sure, (wish, until));
            let (hits, others) = judged.await;
            if others.is_empty() || round >= ROUNDS {
                break (found, (hits, others.len()));
            }
            self.counters.hits_left_out.add(others.len() as u64);
            left_out.extend(others);
        };
        let (hits, missing) = hits;
        let is_whole = missing == 0 && left_out.is_empty() && !found.is_partial;
        let all = is_whole.then(|| found.hits.iter().map(|hit| hit.id).collect());
        let mut shown = self.shown(asker, wish, found, hits, missing);
        if wish.proposes && !shown.hits.is_empty() {
            let search = self.search_of(&query, wish, asker, &left_out);
            shown.facets = self.facets(index, asker, search, &sure).await?;
        }
        if let Some(meant) = shown.did_you_mean.take().filter(|_| wish.proposes) {
            let query = meant.clone();
            let only = Wish { query, page: 1, limit: 3, proposes: false, ..wish.clone() };
            // Words of pages that are gone stay in the index for a while.
            let is_there = Box::pin(self.find(index, asker, &only)).await?;
            let is_there = !is_there.shown.hits.is_empty() && is_there.shown.relaxed.is_none();
            shown.did_you_mean = is_there.then_some(meant);
        }
        Ok(Finding { shown, all })
    }

    fn search_of(&self, query: &Query, wish: &Wish, asker: &Asker, left_out: &[u64]) -> Search {
        let now = unix();
        let mut filters = wish.narrow.filters(now);
        if !self.hosts.is_empty() {
            let host = self.host_of(&asker.host);
            let kind = FilterKind::TextIn(vec![host]);
            filters.push(Filter { attribute: Some(SHAPE_HOST), kind, is_excluded: false });
        }
        if !left_out.is_empty() {
            let ids = left_out.iter().map(|id| id.cast_signed()).collect();
            let kind = FilterKind::In(ids);
            filters.push(Filter { attribute: None, kind, is_excluded: true });
        }
        let (weight, half_life_seconds) = FRESH;
        let fresh = Freshness { attribute: SHAPE_CHANGED, now, half_life_seconds, weight };
        // Addresses that show the same are one hit, and so are the pages of a topic.
        let each = wish.is_feed || wish.narrow.topic.is_some();
        let by = GroupBy::Attribute(if each { SHAPE_SUM } else { SHAPE_TOPIC });
        Search {
            query: query.clone(),
            synonyms: self.plan().synonyms.clone(),
            filters,
            sort: wish.narrow.order(),
            group: Some(Group { by, within: wish.narrow.order() }),
            ranking: Ranking {
                freshness: Some(fresh),
                popularity: Some(Popularity { attribute: SHAPE_HITS, weight: POPULAR }),
                ..Ranking::default()
            },
            offset: (wish.page - 1) * wish.limit,
            limit: wish.limit,
            max_matches: MATCHES_MAX,
            snippets: Some(Snippets { fields: vec![TEXT], ..Snippets::default() }),
            has_fields: true,
            relax: wish.may_ask && !wish.is_feed,
            deadline: Some(std::time::Instant::now() + LOOK),
            ..Search::default()
        }
    }

    /// By what the pages that fit can be told apart, of those that may be shown: numbers of others
    /// would tell of them.
    async fn facets(
        &self,
        index: &Kept,
        asker: &Asker,
        search: Search,
        sure: &HashMap<u64, Option<ShownHit>>,
    ) -> Result<Facets, String> {
        // An engine would have to send a thousand pages for that.
        if index.own().is_none() {
            return Ok(Facets::default());
        }
        let attributes = [&Facets::ATTRIBUTES[..], &[SHAPE_SUM, KIND]].concat();
        let search = Search {
            offset: 0,
            limit: MATCHES_MAX,
            snippets: None,
            has_fields: false,
            attributes: Some(attributes),
            ..search
        };
        let found = blocking(index, search).await?;
        let (mut facets, now) = (Facets::default(), unix());
        for hit in &found.hits {
            let is_shown = match sure.get(&hit.id) {
                Some(known) => known.is_some(),
                None => self.is_sure(asker, hit),
            };
            if is_shown {
                facets.count(&hit.attributes, now);
            }
        }
        Ok(facets)
    }

    /// Whether a hit may be shown without anybody's being asked.
    fn is_sure(&self, asker: &Asker, hit: &Hit) -> bool {
        let sum = sum_of(&hit.attributes);
        match Row::is_row(&hit.attributes) {
            true => self.rows.is_sure(hit.id, sum),
            false => self.standings.is_sure(&asker.server, hit.id, sum, &asker.host),
        }
    }

    /// Tells the hits that may be shown from those that may not, by their ids.
    async fn judge(
        self: &Arc<Self>,
        index: &Kept,
        asker: &Asker,
        query: &Query,
        hits: &[Hit],
        sure: &mut HashMap<u64, Option<ShownHit>>,
        (wish, until): (&Wish, Instant),
    ) -> (Vec<ShownHit>, Vec<u64>) {
        let mut open = Vec::new();
        for hit in hits {
            if !sure.contains_key(&hit.id) {
                open.push(self.confirm(index, asker, query, hit, (wish, until)));
            }
        }
        let asked: Vec<(u64, Option<ShownHit>)> =
            stream::iter(open).buffered(READS_MAX).collect().await;
        sure.extend(asked);
        let (mut shown, mut left_out) = (Vec::new(), Vec::new());
        for hit in hits {
            match sure.get(&hit.id).cloned().flatten() {
                Some(one) => shown.push(one),
                None => left_out.push(hit.id),
            }
        }
        (shown, left_out)
    }

    /// The id of a hit, and how it may be shown; none if it may not.
    async fn confirm(
        self: &Arc<Self>,
        index: &Kept,
        asker: &Asker,
        query: &Query,
        hit: &Hit,
        bounds: (&Wish, Instant),
    ) -> (u64, Option<ShownHit>) {
        (hit.id, self.confirmed(index, asker, query, hit, bounds).await)
    }

    async fn confirmed(
        self: &Arc<Self>,
        index: &Kept,
        asker: &Asker,
        query: &Query,
        hit: &Hit,
        (wish, until): (&Wish, Instant),
    ) -> Option<ShownHit> {
        let url = text_of(&hit.attributes, URL);
        let sum = sum_of(&hit.attributes);
        if self.is_sure(asker, hit) {
            return Some(self.show(hit));
        }
        if Row::is_row(&hit.attributes) {
            return None;
        }
        let left = until.saturating_duration_since(Instant::now());
        if !wish.may_ask || left.is_zero() {
            return None;
        }
        let place = Place {
            scheme: asker.scheme,
            host: asker.host.clone(),
            target: self.target_of(url).to_owned(),
        };
        let _place = tokio::time::timeout(left, self.reads.acquire()).await.ok()?.ok()?;
        self.counters.confirmations.bump();
        match self.read(&place, until.saturating_duration_since(Instant::now())).await {
            Ok(Taken::In(document)) if sum_of(&document.attributes) == sum => Some(self.show(hit)),
            Ok(Taken::In(document)) => {
                let (index, query) = (index.clone(), query.clone());
                let search = self.clone();
                let made = tokio::task::spawn_blocking(move || {
                    search.show_anew(&index, &query, &document)
                });
                made.await.ok().flatten()
            }
            Ok(Taken::Out(_)) | Err(_) => None,
        }
    }

    fn show(&self, hit: &Hit) -> ShownHit {
        let snippets = hit.snippets.iter().filter(|snippet| snippet.field == TEXT);
        let title = hit.fields.get(TITLE).cloned().unwrap_or_default();
        let fragments = snippets.flat_map(|snippet| snippet.fragments.clone()).collect();
        self.shown_hit(&hit.attributes, title, fragments)
    }

    fn shown_hit(&self, attributes: &[Value], title: String, fragments: Vec<Fragment>) -> ShownHit {
        let topic = number_of(attributes, SHAPE_TOPIC);
        ShownHit {
            target: self.target_of(text_of(attributes, URL)).to_owned(),
            title,
            language: text_of(attributes, SHAPE_LANGUAGE).to_owned(),
            section: text_of(attributes, SHAPE_SECTION).to_owned(),
            changed: number_of(attributes, SHAPE_CHANGED),
            topic: (topic != sum_of(attributes)).then_some(topic),
            fragments,
        }
    }

    /// A page that has changed since it was put into the index, if it still fits: by what it says
    /// now.
    fn show_anew(&self, index: &Kept, query: &Query, document: &Document) -> Option<ShownHit> {
        let field = |at: usize| document.fields.get(at).map_or("", String::as_str);
        let wish = Snippets::default();
        let widened = query.clone().widened(&self.plan().synonyms);
        let fragments = index.excerpt(field(TEXT), TEXT, &widened, &wish);
        let title = index.excerpt(field(TITLE), TITLE, &widened, &wish);
        let is_marked = fragments.iter().chain(&title).any(|piece| !piece.marks.is_empty());
        let is_shown = is_marked || *query == Query::All;
        is_shown.then(|| self.shown_hit(&document.attributes, field(TITLE).to_owned(), fragments))
    }

    fn shown(
        &self,
        asker: &Asker,
        wish: &Wish,
        found: Found,
        hits: Vec<ShownHit>,
        missing: usize,
    ) -> Shown {
        let end = wish.page * wish.limit;
        let has_next = found.total > end;
        let before = (wish.page - 1) * wish.limit;
        let total = match has_next {
            true => found.total_found.saturating_sub(missing),
            false => {
                if hits.is_empty() {
                    0
                } else {
                    before + hits.len()
                }
            }
        };
        let (relaxed, did_you_mean) = match hits.is_empty() {
            // What was left out must not be guessed at.
            true => (None, found.did_you_mean),
            false => (found.relaxed, found.did_you_mean),
        };
        Shown {
            query: wish.query.clone(),
            path: self.plan().path.clone(),
            origin: format!("{}://{}", asker.scheme, asker.host),
            hits,
            number: wish.page,
            total,
            has_next,
            relaxed,
            did_you_mean,
            narrow: wish.narrow.clone(),
            facets: Facets::default(),
            anew: None,
            hub: None,
        }
    }
}

/// Hits of one page of results.
pub(super) const LIMIT: usize = PAGE_HITS;

pub(super) fn query_of(wish: &Wish, index: &Kept) -> Query {
    let query = wish.query.trim();
    match wish.is_prefix && query.ends_with(char::is_alphanumeric) {
        true => read_query(&format!("{query}*"), index.shape()),
        false => read_query(query, index.shape()),
    }
}

async fn blocking(index: &Kept, search: Search) -> Result<Found, String> {
    let index = index.clone();
    let found = tokio::task::spawn_blocking(move || index.search(&search));
    found.await.unwrap_or_else(|error| Err(error.to_string()))
}

pub(super) fn text_of(attributes: &[Value], at: usize) -> &str {
    match attributes.get(at) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

pub(super) fn number_of(attributes: &[Value], at: usize) -> i64 {
    match attributes.get(at) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}
