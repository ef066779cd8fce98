//! What a site's search answers, each kind by the end of its path.
//!
//! ```text
//! /search?q=…&page=2&…     the page            /search.rss?q=…   /search.atom?q=…
//! /search.json?q=…         the same as JSON    /search.xml       how browsers may ask
//! /search.suggest.json?q=… titles              /search.css       /search.js
//! ```

use std::sync::Arc;

use ::search::FeedKind;
use ::search::site::Narrow;
use ::search::site::show::{self, Anew, Shown};
use bytes::Bytes;
use form_urlencoded::parse;
use server::{CompanionAnswer, CompanionAsked};
use wire::{Fields, Name};

use super::finding::{Asker, LIMIT, Wish};
use super::{SiteSearch, feeds, sitemap};

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

    /// Of which kind it is, if it is a feed.
    fn feed(self) -> Option<FeedKind> {
        match self {
            Self::Rss => Some(FeedKind::Rss),
            Self::Atom => Some(FeedKind::Atom),
            _ => None,
        }
    }

    pub(super) fn media_type(self) -> &'static str {
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
        if path == sitemap::PATH && self.has_sitemap() {
            return self.sitemap(asked).await;
        }
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
        let wish = wish(wanted, query);
        if let Some(kind) = wanted.feed() {
            let topic = feeds::topic(&origin, &plan.path, &wish);
            let about = (wanted.media_type(), plan.websub.as_ref());
            let fields = index.own().and_then(|own| feeds::known(own, &topic, kind, about));
            if let Some(fields) = fields.filter(|fields| asked.knows(fields)) {
                self.counters.feeds_unchanged.bump();
                return CompanionAnswer { status: 304, fields, body: Bytes::new() };
            }
        }
        let Ok(_place) = self.searches.try_acquire() else {
            self.counters.searches_refused.bump();
            return busy("Many are searching at the moment.");
        };
        self.counters.searches.bump();
        let asker = Asker { server: asked.server, scheme: asked.scheme, host: asked.host };
        if let Some(kind) = wanted.feed() {
            return self.fed(&index, &asker, &wish, kind).await;
        }
        let found = match wish.query.is_empty() {
            true => Ok(Shown { path: plan.path.clone(), origin, number: 1, ..Shown::default() }),
            false => self.find(&index, &asker, &wish).await.map(|found| found.shown),
        };
        let shown = match found {
            Ok(shown) => {
                self.note_query(&wish, &shown);
                let anew = self.made_anew.now().map(|making| Anew { percent: making.percent() });
                Shown { query: wish.query, anew, ..shown }
            }
            Err(why) => return self.failed(&why),
        };
        let text = match wanted {
            Wanted::Json => show::json(&shown),
            Wanted::Suggestions => show::suggestions(&shown),
            _ => show::html(&plan.template, &shown),
        };
        let mut answer = tagged(wanted, text);
        if wanted == Wanted::Page && plan.template.is_own() {
            answer.fields.push("Content-Security-Policy", POLICY);
        }
        answer
    }

    /// Counts what was looked for, and whether all of it was found.
    fn note_query(&self, wish: &Wish, shown: &Shown) {
        if wish.is_meant && !wish.query.is_empty() && !wish.narrow.leaves_out() {
            let is_missed = shown.hits.is_empty() || shown.relaxed.is_some();
            self.queries.note(&wish.query, is_missed);
            if is_missed {
                self.counters.searches_missed.bump();
            }
        }
    }

    /// What is told where a search couldn't be answered.
    pub(super) fn failed(&self, why: &str) -> CompanionAnswer {
        // Whoever looks after an engine has complained of it once.
        if self.index().is_some_and(|index| index.trouble().is_some()) {
            return busy("The search can't be asked.");
        }
        base::complaint::complain(format_args!("{}: a search failed: {why}", self.name));
        busy("The search has a fault.")
    }
}

fn wish(wanted: Wanted, query: &str) -> Wish {
    let pairs: Vec<_> = parse(query.as_bytes()).collect();
    let value =
        |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref());
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
        narrow: match wanted {
            Wanted::Page | Wanted::Json => {
                Narrow::read(pairs.iter().map(|(name, value)| (&**name, &**value)))
            }
            _ => Narrow { is_newest: is_feed, ..Narrow::default() },
        },
        is_feed,
        // Suggestions come with each letter: no page is asked for because of them.
        may_ask: !is_suggestion,
        is_prefix: is_suggestion,
        is_meant: matches!(wanted, Wanted::Page | Wanted::Json)
            && page == 1
            && value("typing").is_none(),
        proposes: matches!(wanted, Wanted::Page | Wanted::Json),
    }
}

/// What says of itself by which tag it is known.
fn tagged(wanted: Wanted, text: String) -> CompanionAnswer {
    tagged_as(wanted.media_type(), text)
}

/// The same, of any type.
pub(super) fn tagged_as(media_type: &str, text: String) -> CompanionAnswer {
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    let fields = tagged_fields(media_type, hash);
    CompanionAnswer { status: 200, fields, body: Bytes::from(text) }
}

/// The fields of an answer whose text has this hash.
pub(super) fn tagged_fields(media_type: &str, hash: u64) -> Fields {
    let mut fields = Fields::new();
    fields.put(Name::ContentType, media_type);
    fields.put(Name::CacheControl, "no-cache");
    fields.put(Name::Etag, format!("\"{hash:016x}\""));
    fields.push("X-Robots-Tag", "noindex");
    fields.push("X-Content-Type-Options", "nosniff");
    fields
}

fn asset(wanted: Wanted, text: &str) -> CompanionAnswer {
    let mut answer = tagged(wanted, text.to_owned());
    answer.fields.set(Name::CacheControl, "max-age=3600");
    answer
}

pub(super) fn busy(why: &str) -> CompanionAnswer {
    let mut answer = plain(503, &format!("{why} Please try again in a few seconds."));
    answer.fields.put(Name::RetryAfter, "2");
    answer
}

pub(super) fn plain(status: u16, text: &str) -> CompanionAnswer {
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
