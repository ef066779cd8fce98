//! What a site's search answers, each kind by the end of its path.
//!
//! ```text
//! /search?q=…&page=2       the page            /search.rss?q=…   /search.atom?q=…
//! /search.json?q=…         the same as JSON    /search.xml       how browsers may ask
//! /search.suggest.json?q=… titles              /search.css       /search.js
//! ```

use std::sync::Arc;

use ::search::site::show::{self, Feed, Shown};
use bytes::Bytes;
use form_urlencoded::parse;
use server::{CompanionAnswer, CompanionAsked};
use wire::{Fields, Name};

use super::SiteSearch;
use super::finding::{Asker, LIMIT, Wish};

/// Longer queries are cut.
const QUERY_CHARACTERS_MAX: usize = 500;
const PAGES_MAX: usize = 100;
/// Pages in a feed.
const FEED_LIMIT: usize = 20;
const SUGGESTIONS: usize = 8;

/// By what nothing is loaded but what Wick's own page needs.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Page,
    Json,
    Suggestions,
    Rss,
    Atom,
    Description,
    Style,
    Script,
}

impl Wanted {
    /// What a path means where the search is under `base`.
    pub(super) fn of(path: &str, base: &str) -> Option<Self> {
        Some(match path.strip_prefix(base)? {
            "" => Self::Page,
            ".json" => Self::Json,
            ".suggest.json" => Self::Suggestions,
            ".rss" => Self::Rss,
            ".atom" => Self::Atom,
            ".xml" => Self::Description,
            ".css" => Self::Style,
            ".js" => Self::Script,
            _ => return None,
        })
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Page => "text/html; charset=utf-8",
            Self::Json => "application/json",
            Self::Suggestions => "application/x-suggestions+json",
            Self::Rss => "application/rss+xml; charset=utf-8",
            Self::Atom => "application/atom+xml; charset=utf-8",
            Self::Description => "application/opensearchdescription+xml; charset=utf-8",
            Self::Style => "text/css; charset=utf-8",
            Self::Script => "text/javascript; charset=utf-8",
        }
    }
}

impl SiteSearch {
    /// The answer to a request for one of these.
    pub(super) async fn answered(self: Arc<Self>, asked: CompanionAsked) -> CompanionAnswer {
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let plan = self.plan();
        let Some(wanted) = Wanted::of(path, &plan.path) else {
            return plain(404, "There is nothing here.");
        };
        let origin = format!("{}://{}", asked.scheme, asked.host);
        match wanted {
            Wanted::Style => return asset(wanted, show::STYLE),
            Wanted::Script => return asset(wanted, show::SCRIPT),
            Wanted::Description => {
                return asset(wanted, &show::opensearch(&origin, &plan.path));
            }
            _ => {}
        }
        let Some(index) = self.index() else { return busy("The search is being opened.") };
        let Ok(_place) = self.searches.try_acquire() else {
            self.counters.searches_refused.bump();
            return busy("Many are searching at the moment.");
        };
        self.counters.searches.bump();
        let wish = wish(wanted, query);
        let asker = Asker { server: asked.server, scheme: asked.scheme, host: asked.host };
        let is_blank = wish.query.is_empty() && !matches!(wanted, Wanted::Rss | Wanted::Atom);
        let found = match is_blank {
            true => Ok(Shown { path: plan.path.clone(), origin, number: 1, ..Shown::default() }),
            false => self.find(&index, &asker, &wish).await,
        };
        let shown = match found {
            Ok(shown) => Shown { query: wish.query, ..shown },
            Err(why) => {
                base::complaint::complain(format_args!("{}: a search failed: {why}", self.name));
                return busy("The search has a fault.");
            }
        };
        let feed = || Feed::of(&shown, self.began);
        let text = match wanted {
            Wanted::Json => show::json(&shown),
            Wanted::Suggestions => show::suggestions(&shown),
            Wanted::Rss => show::rss(&shown, &feed()),
            Wanted::Atom => show::atom(&shown, &feed()),
            _ => show::html(&plan.template, &shown),
        };
        let mut answer = tagged(wanted, text);
        if wanted == Wanted::Page && plan.template.is_own() {
            answer.fields.push("Content-Security-Policy", POLICY);
        }
        answer
    }
}

fn wish(wanted: Wanted, query: &str) -> Wish {
    let value = |name: &str| {
        parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let text = value("q").unwrap_or_default();
    let text: String = text.trim().chars().take(QUERY_CHARACTERS_MAX).collect();
    let page = value("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let is_feed = matches!(wanted, Wanted::Rss | Wanted::Atom);
    let is_suggestion = wanted == Wanted::Suggestions;
    Wish {
        query: text,
        page: if is_feed || is_suggestion { 1 } else { page.clamp(1, PAGES_MAX) },
        limit: match wanted {
            _ if is_feed => FEED_LIMIT,
            Wanted::Suggestions => SUGGESTIONS,
            _ => LIMIT,
        },
        is_newest: is_feed,
        // Suggestions come with each letter: no page is asked for because of them.
        may_ask: !is_suggestion,
        is_prefix: is_suggestion,
        proposes: matches!(wanted, Wanted::Page | Wanted::Json),
    }
}

/// What says of itself by which tag it is known.
fn tagged(wanted: Wanted, text: String) -> CompanionAnswer {
    let mut fields = Fields::new();
    fields.put(Name::ContentType, wanted.media_type());
    fields.put(Name::CacheControl, "no-cache");
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    fields.put(Name::Etag, format!("\"{hash:016x}\""));
    fields.push("X-Robots-Tag", "noindex");
    fields.push("X-Content-Type-Options", "nosniff");
    CompanionAnswer { status: 200, fields, body: Bytes::from(text) }
}

fn asset(wanted: Wanted, text: &str) -> CompanionAnswer {
    let mut answer = tagged(wanted, text.to_owned());
    answer.fields.set(Name::CacheControl, "max-age=3600");
    answer
}

fn busy(why: &str) -> CompanionAnswer {
    let mut answer = plain(503, &format!("{why} Please try again in a few seconds."));
    answer.fields.put(Name::RetryAfter, "2");
    answer
}

fn plain(status: u16, text: &str) -> CompanionAnswer {
    let mut fields = Fields::new();
    fields.put(Name::ContentType, "text/plain; charset=utf-8");
    fields.put(Name::CacheControl, "no-store");
    CompanionAnswer { status, fields, body: Bytes::from(format!("{text}\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_one_thing_and_what_is_beside_it_is_the_apps() {
        for (path, expected) in [
            ("/search", Some(Wanted::Page)),
            ("/search.json", Some(Wanted::Json)),
            ("/search.suggest.json", Some(Wanted::Suggestions)),
            ("/search.atom", Some(Wanted::Atom)),
            ("/search/", None),
            ("/searching", None),
            ("/search.php", None),
            ("/", None),
        ] {
            assert_eq!(Wanted::of(path, "/search"), expected, "{path}");
        }
    }

    #[test]
    fn a_query_is_read_from_the_address_whatever_it_holds() {
        let read = wish(Wanted::Page, "q=%EB%82%98%EB%AC%B4+a%26b&page=3&q=other");
        assert_eq!((read.query.as_str(), read.page), ("나무 a&b", 3));
        for (query, page) in [("q=a&page=0", 1), ("q=a&page=-1", 1), ("q=a&page=99999999", 100)] {
            assert_eq!(wish(Wanted::Page, query).page, page, "{query}");
        }
        assert_eq!(wish(Wanted::Page, "%ff=&q=%ff").query, "\u{fffd}");
        let long = format!("q={}", "é".repeat(2000));
        assert_eq!(wish(Wanted::Page, &long).query.chars().count(), QUERY_CHARACTERS_MAX);
        assert_eq!(wish(Wanted::Rss, "q=a&page=7").page, 1);
    }
}
