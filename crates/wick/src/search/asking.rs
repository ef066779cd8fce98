//! `wick search …`: what would be found, and how each site's search stands.
//!
//! It is for the owner, and asks no page: hits that aren't vouched for are told as such.

use std::sync::Arc;

use ::search::site::show::ShownHit;
use ::search::{Index, Search, Snippets, read_query};
use base::Count;
use base::amount::{show_bytes, show_count};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;

use super::finding::text_of;
use super::moving::Making;
use super::{Kept, QueriesTold, SiteSearch, unpoisoned};
use crate::arguments::SearchAsked;
use crate::control::ControlError;
use crate::observing::told::{self, Told};
use crate::{observing, plan};

/// Hits that are told.
const HITS: usize = 10;

/// What may be asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SearchQuestion {
    Status {},
    Queries {},
    Find { query: String, site: String },
}

/// Asks the running Wick and shows what it says.
pub(crate) fn ask(arguments: &SearchAsked) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let question = match arguments.query.as_slice() {
        [only] if only == "status" => SearchQuestion::Status {},
        [only] if only == "queries" => SearchQuestion::Queries {},
        words => SearchQuestion::Find {
            query: words.join(" "),
            site: arguments.site.clone().unwrap_or_default(),
        },
    };
    let question = observing::asking::Question::Search(question);
    told::show(&state, &question, arguments.json)
}

/// Answers a question about these searches.
pub(crate) fn tell(
    searches: &[Arc<SiteSearch>],
    question: &SearchQuestion,
) -> Result<Told, String> {
    if searches.is_empty() {
        return Err("no site is searched: write search = true for one in wick.toml".to_owned());
    }
    match question {
        SearchQuestion::Status {} => Ok(status(searches)),
        SearchQuestion::Queries {} => Ok(queries(searches)),
        SearchQuestion::Find { query, site } => {
            let mut fitting =
                searches.iter().filter(|one| site.is_empty() || one.name.contains(site.as_str()));
            let one =
                fitting.next().ok_or_else(|| format!("no site's name has \"{site}\" in it"))?;
            if fitting.next().is_some() {
                let names: Vec<_> = searches.iter().map(|one| one.name.as_str()).collect();
                return Err(format!("name one of them by --site: {}", names.join(", ")));
            }
            find(one, query)
        }
    }
}

fn line(topic: &str, text: impl ToString) -> (String, String) {
    (topic.to_owned(), text.to_string())
}

/// A search at one moment: numbers only.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SearchNow {
    pub(crate) site: String,
    path: String,
    /// Pages in the index; none before it is open.
    pub(crate) pages: Option<u64>,
    pub(crate) disk_bytes: Option<u64>,
    /// The engine that keeps them, if it isn't an index of our own.
    engine: Option<String>,
    /// Why that can't be asked.
    trouble: Option<String>,
    /// Pages that are vouched for.
    vouched: u64,
    vouched_bytes: u64,
    /// Queries of feeds that are kept.
    feeds: u64,
    feeds_bytes: u64,
    /// What the crawl does.
    crawl: String,
    /// How far it is, if the index is being made anew.
    rebuilding: Option<String>,
    /// How each source of rows stands, by its name.
    sources: Vec<(String, String)>,
    #[serde(serialize_with = "by_name")]
    pub(crate) counters: Vec<Count>,
}

fn by_name<S: Serializer>(counts: &[Count], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|count| (count.name, count.number)))
}

impl SiteSearch {
    /// What is looked for here; for the owner alone.
    pub(crate) fn queries(&self) -> QueriesTold {
        self.queries.told()
    }

    /// How it is.
    pub(crate) fn now(&self) -> SearchNow {
        let (vouched, vouched_bytes) = self.standings.count();
        let index = self.index();
        let own = index.as_ref().and_then(Kept::own);
        let feeds = own.map(Index::stored_counts).unwrap_or_default();
        let trouble = index.as_ref().and_then(Kept::trouble).map(|why| why.to_string());
        let plan = self.plan();
        SearchNow {
            site: self.name.clone(),
            path: plan.path.clone(),
            pages: index.as_ref().map(Kept::documents),
            disk_bytes: own.map(|own| own.counts().disk_bytes),
            engine: plan.engine.as_ref().map(ToString::to_string),
            trouble: trouble.or_else(|| unpoisoned(&self.shut).clone()),
            vouched: vouched as u64,
            vouched_bytes: vouched_bytes as u64,
            feeds: feeds.queries as u64,
            feeds_bytes: feeds.bytes as u64,
            crawl: unpoisoned(&self.crawl).clone(),
            rebuilding: self.made_anew.now().map(Making::told),
            sources: self.rows.told(),
            counters: self.counters.each().collect(),
        }
    }
}

fn status(searches: &[Arc<SiteSearch>]) -> Told {
    let each: Vec<SearchNow> = searches.iter().map(|search| search.now()).collect();
    let mut lines = Vec::new();
    for now in &each {
        lines.push(line("site", &now.site));
        lines.push(line("path", &now.path));
        lines.extend(now.engine.iter().map(|engine| line("engine", engine)));
        // The lines that mend an index are for wick check.
        let trouble = now.trouble.iter().filter_map(|why| why.lines().next());
        lines.extend(trouble.map(|why| line("trouble", why)));
        lines.push(match (now.pages, now.disk_bytes) {
            (Some(pages), Some(bytes)) => {
                line("pages", format!("{pages}, in {}", show_bytes(bytes)))
            }
            (Some(pages), None) => line("pages", pages),
            (None, _) => line("pages", "the index isn't open yet"),
        });
        let bytes = show_bytes(now.vouched_bytes);
        lines.push(line(
            "vouched",
            format!("{}, in {bytes}", show_count(now.vouched, "page", "pages")),
        ));
        if now.engine.is_none() {
            let bytes = show_bytes(now.feeds_bytes);
            let feeds = show_count(now.feeds, "query is", "queries are");
            lines.push(line("feeds", format!("{feeds} kept, in {bytes}")));
        }
        lines.push(line("crawl", &now.crawl));
        lines.extend(now.rebuilding.iter().map(|how| line("rebuilding", how)));
        let sources = now.sources.iter().map(|(name, state)| format!("{name}: {state}"));
        lines.extend(sources.map(|source| line("source", source)));
        lines.extend(now.counters.iter().map(|count| line(count.name, count.number)));
    }
    Told { lines, told: json!(each) }
}

fn queries(searches: &[Arc<SiteSearch>]) -> Told {
    let (mut lines, mut told) = (Vec::new(), Vec::new());
    for search in searches {
        let queries = search.queries();
        lines.push(line("site", &search.name));
        let asked = |count| show_count(count, "time", "times");
        for one in &queries.top {
            lines.push(line(&asked(one.asked), &one.query));
        }
        for one in &queries.missed {
            lines.push(line(&format!("missed {}", asked(one.missed)), &one.query));
        }
        told.push(json!({ "site": search.name, "top": queries.top, "missed": queries.missed }));
    }
    Told { lines, told: told.into() }
}

fn find(search: &SiteSearch, query: &str) -> Result<Told, String> {
    let index = search.index().ok_or("the index isn't open yet; ask again")?;
    let asked = Search {
        query: read_query(query, index.shape()),
        synonyms: search.plan().synonyms.clone(),
        limit: HITS,
        has_fields: true,
        snippets: Some(Snippets { fields: vec![2], ..Snippets::default() }),
        relax: true,
        ..Search::default()
    };
    let found = index.search(&asked)?;
    let (mut lines, mut told) = (Vec::new(), Vec::new());
    for hit in &found.hits {
        let url = text_of(&hit.attributes, 0);
        let title = hit.fields.first().cloned().unwrap_or_default();
        let fragments: Vec<_> = hit.snippets.iter().flat_map(|one| one.fragments.clone()).collect();
        let text: Vec<_> = fragments.iter().map(|piece| piece.text.as_str()).collect();
        lines.push(line(url, &title));
        lines.push(line("", text.join(" … ")));
        let excerpt = ShownHit { fragments, ..ShownHit::default() }.excerpt();
        told.push(json!({ "url": url, "title": title, "excerpt": excerpt }));
    }
    if let Some(without) = &found.relaxed {
        lines.push(line("relaxed", without));
    }
    if let Some(meant) = &found.did_you_mean {
        lines.push(line("or", meant));
    }
    lines.push(line("found", found.total_found));
    let told = json!({
        "query": query,
        "total": found.total_found,
        "relaxed": found.relaxed,
        "did_you_mean": found.did_you_mean,
        "hits": told,
    });
    Ok(Told { lines, told })
}
