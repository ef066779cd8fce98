//! `search` and what goes with it, in a site's settings.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use ::search::rows::{Place, RowSource};
use ::search::site::show::Template;
use ::search::{EngineAddress, Synonyms};
use changes::Source;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::{Hub, RowPlan};
use crate::settings::{RowDatabase, SearchSourceSettings, Seconds, SiteSettings};

/// Where a site's search is if nobody says otherwise.
const PATH: &str = "/search";
/// What the index's writer fills before it writes.
const MEMORY_BYTES: usize = 15_000_000;
/// What the queries of feeds may take: eight thousand of them and more.
const FEEDS_BYTES: usize = 8 << 20;
/// How often sitemaps are read again.
const CRAWL_EVERY: Duration = Duration::from_secs(3600);
/// How often sources of rows are asked, and how often for all rows.
const EVERY: Duration = Duration::from_secs(60);
const ALL_EVERY: Duration = Duration::from_secs(3600);
const EVERY_MIN: Duration = Duration::from_millis(100);
/// Ids of a range.
const STEP: u64 = 1000;
/// Each word of a query is looked for among all of them.
const SYNONYMS_MAX: usize = 1000;
const TEMPLATE_BYTES_MAX: u64 = 1 << 20;

/// How a site is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPlan {
    /// The path of the page; all else is under it with an end of its own.
    pub(crate) path: String,
    pub(crate) template: Template,
    /// Whether pages are asked for that nobody visits.
    pub(crate) crawls: bool,
    /// Whether there is a sitemap where the site has none.
    pub(crate) has_sitemap: bool,
    /// How often the crawl goes its round.
    pub(crate) crawls_every: Duration,
    pub(crate) memory_bytes: usize,
    /// What the queries of feeds may take.
    pub(crate) feeds_bytes: usize,
    /// Words that mean the same.
    pub(crate) synonyms: Synonyms,
    /// The hub that is told of feeds that have changed.
    pub(crate) websub: Option<Hub>,
    /// Rows that are found beside pages.
    pub(crate) rows: Vec<RowPlan>,
    /// The engine that keeps the text; none: the index in the state folder.
    pub(crate) engine: Option<EngineAddress>,
}

/// A search engine that is named instead of an index of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EngineSetting(pub EngineAddress);

impl<'de> Deserialize<'de> for EngineSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The error never repeats the text, which may bear a password.
        String::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A path that the search may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPath(pub String);

impl<'de> Deserialize<'de> for SearchPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~".contains(&byte);
        let is_path = text.starts_with('/') && text.len() > 1 && !text.ends_with('/');
        match is_path && !text.contains("//") && text.bytes().all(is_plain) {
            true => Ok(Self(text)),
            false => Err(de::Error::custom(format!(
                "\"{text}\" is no path for the search: write one of letters, digits, - and _, \
                 such as \"/find\", without a / at its end"
            ))),
        }
    }
}

/// What was written about the search that can't be so.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SearchError {
    #[error("there is a {0}, and no search: add search = true")]
    Alone(&'static str),
    #[error(
        "search = true is for pages that are stored, and cache = false stores none: take one of them out"
    )]
    NoCache,
    #[error("can't use the search_template {0}: {1}")]
    Template(PathBuf, String),
    #[error("search_source number {0}: {1}")]
    Source(usize, &'static str),
    #[error("search_memory is less than 15M: write that or more, or leave it out")]
    TooLittle,
    #[error(
        "search_synonyms has a list of one word, or an empty word: write lists of two words or more, \
         such as [[\"tv\", \"television\"]]"
    )]
    Synonyms,
    #[error(
        "there are a search_engine and a {0}, which is for the index in the state folder: take one \
         of them out"
    )]
    Elsewhere(&'static str),
    #[error("search_synonyms has more than {SYNONYMS_MAX} words: take some out")]
    ManySynonyms,
}

/// The plan that follows; none: no search.
pub(crate) fn rules(site: &SiteSettings) -> Result<Option<SearchPlan>, SearchError> {
    if !site.search.unwrap_or(false) {
        let beside = [
            ("search_path", site.search_path.is_some()),
            ("search_template", site.search_template.is_some()),
            ("search_crawl", site.search_crawl.is_some()),
            ("websub", site.websub.is_some()),
            ("search_sitemap", site.search_sitemap.is_some()),
            ("search_synonyms", site.search_synonyms.is_some()),
            ("search_memory", site.search_memory.is_some()),
            ("search_crawl_every", site.search_crawl_every.is_some()),
            ("search_feeds_memory", site.search_feeds_memory.is_some()),
            ("search_source", !site.search_source.is_empty()),
            ("search_engine", site.search_engine.is_some()),
        ];
        let alone = beside.iter().find(|(_, is_set)| *is_set && site.search.is_none());
        return alone.map_or(Ok(None), |(name, _)| Err(SearchError::Alone(name)));
    }
    if site.cache == Some(false) {
        return Err(SearchError::NoCache);
    }
    let template = match &site.search_template {
        Some(path) => template(path)?,
        None => Template::own(),
    };
    let engine = site.search_engine.clone().map(|EngineSetting(address)| address);
    if engine.is_some() {
        own_only(site)?;
    }
    let memory_bytes = site.search_memory.map_or(MEMORY_BYTES, |bytes| bytes.0 as usize);
    if memory_bytes < MEMORY_BYTES {
        return Err(SearchError::TooLittle);
    }
    Ok(Some(SearchPlan {
        path: site.search_path.clone().map_or_else(|| PATH.to_owned(), |SearchPath(path)| path),
        template,
        crawls: site.search_crawl.unwrap_or(true),
        has_sitemap: site.search_sitemap.unwrap_or(engine.is_none()),
        crawls_every: seconds(site.search_crawl_every, CRAWL_EVERY),
        memory_bytes,
        feeds_bytes: site.search_feeds_memory.map_or(FEEDS_BYTES, |bytes| bytes.0 as usize),
        synonyms: synonyms(site.search_synonyms.as_deref().unwrap_or_default())?,
        websub: site.websub.clone(),
        rows: row_plans(&site.search_source)?,
        engine,
    }))
}

/// Nothing is said that only an index of our own can do.
fn own_only(site: &SiteSettings) -> Result<(), SearchError> {
    let beside = [
        ("search_source", !site.search_source.is_empty()),
        ("search_sitemap = true", site.search_sitemap == Some(true)),
        ("websub", site.websub.is_some()),
        ("search_memory", site.search_memory.is_some()),
        ("search_feeds_memory", site.search_feeds_memory.is_some()),
    ];
    let first = beside.iter().find(|(_, is_set)| *is_set);
    first.map_or(Ok(()), |(name, _)| Err(SearchError::Elsewhere(name)))
}

fn synonyms(lists: &[Vec<String>]) -> Result<Synonyms, SearchError> {
    let is_list = |list: &Vec<String>| {
        list.len() > 1 && list.iter().all(|word| word.chars().any(char::is_alphanumeric))
    };
    if !lists.iter().all(is_list) {
        return Err(SearchError::Synonyms);
    }
    match lists.iter().map(Vec::len).sum::<usize>() > SYNONYMS_MAX {
        true => Err(SearchError::ManySynonyms),
        false => Ok(lists.to_vec().into()),
    }
}

fn row_plans(sources: &[SearchSourceSettings]) -> Result<Vec<RowPlan>, SearchError> {
    let each = sources.iter().enumerate();
    each.map(|(at, source)| {
        row_plan(at + 1, source).map_err(|why| SearchError::Source(at + 1, why))
    })
    .collect()
}

fn row_plan(number: usize, written: &SearchSourceSettings) -> Result<RowPlan, &'static str> {
    let SearchSourceSettings { database, query, range, step, delta, file, html, every, all_every } =
        written.clone();
    let is_html = html.unwrap_or(false);
    let (place, source) = match (database, file) {
        (Some(_), Some(_)) => return Err("it has a database and a file: make two of it"),
        (None, None) => return Err("it names no rows: add database and query, or file"),
        (None, Some(path)) => {
            if query.is_some() || range.is_some() || step.is_some() || delta.is_some() {
                return Err("query, range, step and delta are for a database, and it has a file");
            }
            (path.display().to_string(), RowSource::Lines { path, is_html })
        }
        (Some(RowDatabase(database)), None) => {
            let place = match database {
                Source::MySql(address) => Place::MySql(address),
                Source::PostgreSql(address) => Place::Postgres(address),
                Source::Sqlite(path) => Place::Sqlite(path),
                Source::Files(_) | Source::Other(_) => return Err("its database can't be asked"),
            };
            let name = match &place {
                Place::MySql(address) | Place::Postgres(address) => {
                    format!("{}/{}", address.door, address.database)
                }
                Place::Sqlite(path) => path.display().to_string(),
            };
            let query =
                query.ok_or("it has a database and no query: add the one that brings all rows")?;
            let is_ranged = query.contains("$start") && query.contains("$end");
            if range.is_some() != is_ranged {
                return Err("$start and $end in query go with a range: write both, or neither");
            }
            if delta.as_ref().is_some_and(|delta| !delta.contains("$since")) {
                return Err("delta doesn't say since when: write $since into it, as in \
                            WHERE changed >= $since");
            }
            let step = step.unwrap_or(STEP);
            if step == 0 {
                return Err("step is 0: write 1 or more, or leave it out");
            }
            (name, RowSource::Sql { place, query, range, step, delta, is_html })
        }
    };
    Ok(RowPlan {
        name: format!("{number} ({place})"),
        source,
        every: seconds(every, EVERY),
        all_every: seconds(all_every, ALL_EVERY),
    })
}

fn seconds(written: Option<Seconds>, otherwise: Duration) -> Duration {
    written.map_or(otherwise, |Seconds(it)| it).max(EVERY_MIN)
}

fn template(path: &PathBuf) -> Result<Template, SearchError> {
    let wrong = |why: String| SearchError::Template(path.clone(), why);
    let file = fs::File::open(path);
    let file =
        file.map_err(|error| wrong(format!("{error}; name a file that this user may read")))?;
    let mut text = String::new();
    let read = file.take(TEMPLATE_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(format!("{error}; name a file of HTML in UTF-8")))?;
    Template::of(&text).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::parse;

    fn read(lines: &str) -> Result<Option<SearchPlan>, String> {
        let text = format!("[[site]]\norigin = \"http://a\"\n{lines}");
        let settings = parse(&text, Path::new("wick.toml")).map_err(|error| error.to_string())?;
        rules(&settings.site[0]).map_err(|error| error.to_string())
    }

    #[test]
    fn one_line_is_enough() {
        assert_eq!(read("").expect("right"), None);
        assert_eq!(read("search = false\nsearch_path = \"/x\"").expect("right"), None);
        let plan = read("search = true").expect("right").expect("a plan");
        assert_eq!((plan.path.as_str(), plan.crawls), ("/search", true));
        assert!(plan.memory_bytes <= 16 << 20 && plan.template.is_own());
        let plan = read("search = true\nsearch_path = \"/my/find\"\nsearch_crawl = false");
        let plan = plan.expect("right").expect("a plan");
        assert_eq!((plan.path.as_str(), plan.crawls), ("/my/find", false));
    }

    #[test]
    fn an_engine_takes_the_place_of_the_index_and_of_what_only_that_can() {
        let engine = "search = true\nsearch_engine = \"sphinxql://w:hush@search/site\"\n";
        let plan = read(engine).expect("right").expect("a plan");
        assert!(!plan.has_sitemap && !format!("{plan:?}").contains("hush"));
        let address = plan.engine.map(|engine| engine.to_string());
        assert_eq!(address.as_deref(), Some("sphinxql://search:9306/site"));
        for line in [
            "search_sitemap = true",
            "websub = \"https://hub.test\"",
            "search_memory = \"32M\"",
            "search_feeds_memory = \"1M\"",
            "[[site.search_source]]\nfile = \"/a\"",
        ] {
            let told = read(&format!("{engine}{line}")).expect_err("it is wrong");
            assert!(told.contains("take one of them out") && !told.contains("hush"), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_to_write() {
        for (lines, expected) in [
            ("search_engine = \"sphinxql://a/b\"", "there is a search_engine, and no search"),
            (
                "search = true\nsearch_engine = \"http://a:hush@b/c\"",
                "write \"sphinxql://HOST:9306/INDEX\"",
            ),
            ("search_path = \"/x\"", "there is a search_path, and no search: add search = true"),
            ("search = true\nsearch_path = \"x\"", "is no path for the search"),
            ("search = true\nsearch_path = \"/x/\"", "without a / at its end"),
            ("search = true\nsearch_path = \"/x?y\"", "is no path for the search"),
            ("search = true\ncache = false", "take one of them out"),
            ("search_synonyms = []", "there is a search_synonyms, and no search"),
            ("search = true\nsearch_synonyms = [[\"tv\"]]", "a list of one word"),
            ("search = true\nsearch_synonyms = [[\"tv\", \"?\"]]", "or an empty word"),
            ("search = true\nsearch_memory = \"1M\"", "less than 15M"),
            ("search_crawl_every = \"5m\"", "there is a search_crawl_every, and no search"),
            ("search_feeds_memory = \"1M\"", "there is a search_feeds_memory, and no search"),
            ("websub = \"https://hub.test\"", "there is a websub, and no search"),
            ("search = true\nwebsub = \"hub.test\"", "this is no hub's address: write one such as"),
            ("search = true\nsearch_template = \"/nowhere\"", "can't use the search_template /now"),
            ("[[site.search_source]]\nfile = \"/a\"", "there is a search_source, and no search"),
            ("search = true\n[[site.search_source]]", "search_source number 1: it names no rows"),
            (
                "search = true\n[[site.search_source]]\ndatabase = \"sqlite:/a\"",
                "no query: add the one that brings all rows",
            ),
            (
                "search = true\n[[site.search_source]]\ndatabase = \"mysql://a:hush@b:x/c\"",
                "wick.toml:5:12: the port in a database's address",
            ),
            (
                "search = true\n[[site.search_source]]\ndatabase = \"files:/a\"",
                "wick.toml:5:12: that is no database",
            ),
            (
                "search = true\n[[site.search_source]]\ndatabse = \"sqlite:/a\"",
                "did you mean \"database\"?",
            ),
            (
                "search = true\n[[site.search_source]]\ndatabase = \"sqlite:/a\"\nquery = \"a $start $end\"",
                "go with a range: write both",
            ),
            (
                "search = true\n[[site.search_source]]\ndatabase = \"sqlite:/a\"\nquery = \"a\"\ndelta = \"b\"",
                "write $since into it",
            ),
            (
                "search = true\n[[site.search_source]]\nfile = \"/a\"\nquery = \"a\"",
                "are for a database, and it has a file",
            ),
            ("serch = true", "did you mean \"search\"?"),
        ] {
            let told = read(lines).expect_err("it is wrong");
            assert!(told.contains(expected) && !told.contains("hush"), "{lines}: {told}");
        }
    }
}
