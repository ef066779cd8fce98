//! `search` and what goes with it, in a site's settings.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use ::search::site::show::Template;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::settings::SiteSettings;

/// Where a site's search is if nobody says otherwise.
const PATH: &str = "/search";
/// What the index's writer fills before it writes.
const MEMORY_BYTES: usize = 15_000_000;
const TEMPLATE_BYTES_MAX: u64 = 1 << 20;

/// How a site is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPlan {
    /// The path of the page; all else is under it with an end of its own.
    pub(crate) path: String,
    pub(crate) template: Template,
    /// Whether pages are asked for that nobody visits.
    pub(crate) crawls: bool,
    pub(crate) memory_bytes: usize,
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
    #[error("search_memory is less than 15M: write that or more, or leave it out")]
    TooLittle,
}

/// The plan that follows; none: no search.
pub(crate) fn rules(site: &SiteSettings) -> Result<Option<SearchPlan>, SearchError> {
    if !site.search.unwrap_or(false) {
        let beside = [
            ("search_path", site.search_path.is_some()),
            ("search_template", site.search_template.is_some()),
            ("search_crawl", site.search_crawl.is_some()),
            ("search_memory", site.search_memory.is_some()),
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
    let memory_bytes = site.search_memory.map_or(MEMORY_BYTES, |bytes| bytes.0 as usize);
    if memory_bytes < MEMORY_BYTES {
        return Err(SearchError::TooLittle);
    }
    Ok(Some(SearchPlan {
        path: site.search_path.clone().map_or_else(|| PATH.to_owned(), |SearchPath(path)| path),
        template,
        crawls: site.search_crawl.unwrap_or(true),
        memory_bytes,
    }))
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
    fn what_is_wrong_says_what_to_write() {
        for (lines, expected) in [
            ("search_path = \"/x\"", "there is a search_path, and no search: add search = true"),
            ("search = true\nsearch_path = \"x\"", "is no path for the search"),
            ("search = true\nsearch_path = \"/x/\"", "without a / at its end"),
            ("search = true\nsearch_path = \"/x?y\"", "is no path for the search"),
            ("search = true\ncache = false", "take one of them out"),
            ("search = true\nsearch_memory = \"1M\"", "less than 15M"),
            ("search = true\nsearch_template = \"/nowhere\"", "can't use the search_template /now"),
            ("serch = true", "did you mean \"search\"?"),
        ] {
            let told = read(lines).expect_err("it is wrong");
            assert!(told.contains(expected), "{lines}: {told}");
        }
    }
}
