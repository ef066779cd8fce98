//! How answers look: a page that works without scripts, JSON, feeds, and what browsers and feed
//! readers find it by.
//!
//! In: [`Shown`]. Out: text. Invariant: whatever a page or a visitor wrote is escaped where it
//! stands.

mod feed;
mod narrowing;
mod page;
mod sitemap;

pub use feed::{Feed, atom, feed_address, http_date, opensearch, rss};
pub use page::{Template, TemplateError, html};
pub use sitemap::{Listed, PART_MAX, sitemap, sitemap_index};

use serde_json::json;

use super::narrow::topic_name;
use super::{Facets, Narrow};
use crate::Fragment;

/// The style sheet of the page.
pub const STYLE: &str = include_str!("search.css");
/// Its script: results and suggestions as one types.
pub const SCRIPT: &str = include_str!("search.js");

/// An answer, as it is to be shown.
#[derive(Debug, Default)]
pub struct Shown {
    /// What was asked.
    pub query: String,
    /// The path of the search.
    pub path: String,
    /// Scheme and host, as in `https://example.org`.
    pub origin: String,
    /// The hits.
    pub hits: Vec<ShownHit>,
    /// The number of the page, from 1.
    pub number: usize,
    /// About how many there are in all.
    pub total: usize,
    /// Whether there is a page after this one.
    pub has_next: bool,
    /// What of the site was looked at.
    pub narrow: Narrow,
    /// By what the pages that fit can be told apart.
    pub facets: Facets,
    /// What was done without, where nothing was found otherwise.
    pub relaxed: Option<String>,
    /// A query that finds more.
    pub did_you_mean: Option<String>,
    /// That the index is being made anew, if it is.
    pub anew: Option<Anew>,
    /// The hub that tells readers of feeds what has changed.
    pub hub: Option<String>,
}

/// That not all is found yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anew {
    /// How much of the index is made, where that is known.
    pub percent: Option<u64>,
}

/// One hit.
#[derive(Debug, Default, Clone)]
pub struct ShownHit {
    /// Path and query of the page.
    pub target: String,
    /// Its title.
    pub title: String,
    /// The language that it says it is in; empty: none.
    pub language: String,
    /// The first part of its path; empty: it has one only.
    pub section: String,
    /// When it was changed, in seconds since 1970.
    pub changed: i64,
    /// Of which topic it is one of several pages, if it is.
    pub topic: Option<i64>,
    /// Pieces of its text.
    pub fragments: Vec<Fragment>,
}

impl ShownHit {
    /// Its title, or where it has none its address.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.title.is_empty() { &self.target } else { &self.title }
    }

    /// The pieces of its text as HTML, what was found marked.
    #[must_use]
    pub fn excerpt(&self) -> String {
        let mut out = String::new();
        for fragment in &self.fragments {
            if fragment.is_cut_before || !out.is_empty() {
                out.push_str("… ");
            }
            let mut from = 0;
            for &(start, end) in &fragment.marks {
                let (Some(before), Some(found)) =
                    (fragment.text.get(from..start), fragment.text.get(start..end))
                else {
                    break;
                };
                out.push_str(&format!("{}<mark>{}</mark>", escaped(before), escaped(found)));
                from = end;
            }
            out.push_str(&escaped(fragment.text.get(from..).unwrap_or("")));
        }
        if self.fragments.last().is_some_and(|last| last.is_cut_after) {
            out.push_str(" …");
        }
        out
    }
}

/// The answer as JSON.
#[must_use]
pub fn json(shown: &Shown) -> String {
    let hits: Vec<_> = shown
        .hits
        .iter()
        .map(|hit| {
            json!({
                "url": format!("{}{}", shown.origin, hit.target),
                "title": hit.name(),
                "language": hit.language,
                "section": hit.section,
                "topic": hit.topic.map(topic_name),
                "changed": hit.changed,
                "excerpt": hit.excerpt(),
            })
        })
        .collect();
    json!({
        "query": shown.query,
        "page": shown.number,
        "total": shown.total,
        "has_next": shown.has_next,
        "relaxed": shown.relaxed,
        "did_you_mean": shown.did_you_mean,
        "narrowed": narrowed(&shown.narrow),
        "facets": facets(&shown.facets),
        "rebuilding": shown.anew.map(|anew| json!({ "percent": anew.percent })),
        "hits": hits,
    })
    .to_string()
}

fn narrowed(narrow: &Narrow) -> serde_json::Value {
    narrow
        .pairs()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), serde_json::Value::from(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn facets(facets: &Facets) -> serde_json::Value {
    let one = |(value, count): (&str, u64)| json!({ "value": value, "count": count });
    let ages = facets.ages().into_iter().map(|(age, count)| one((age.name(), count)));
    json!({
        "lang": facets.languages().into_iter().map(one).collect::<Vec<_>>(),
        "section": facets.sections().into_iter().map(one).collect::<Vec<_>>(),
        "age": ages.collect::<Vec<_>>(),
    })
}

/// Suggestions as browsers' search fields take them: the query, titles, and nothing, addresses.
#[must_use]
pub fn suggestions(shown: &Shown) -> String {
    let titles: Vec<_> = shown.hits.iter().map(ShownHit::name).collect();
    let addresses: Vec<_> =
        shown.hits.iter().map(|hit| format!("{}{}", shown.origin, hit.target)).collect();
    json!([shown.query, titles, [], addresses]).to_string()
}

/// A text as it may stand in HTML and XML, in attributes as well.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No XML may hold them.
            '\u{0}'..='\u{8}'
            | '\u{b}'
            | '\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{fffe}'
            | '\u{ffff}' => {}
            letter => out.push(letter),
        }
    }
    out
}

/// A query as a part of an address.
#[must_use]
pub fn encoded(query: &str) -> String {
    url::form_urlencoded::byte_serialize(query.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{SHAPE_LANGUAGE, SHAPE_SECTION};
    use super::*;
    use crate::Value;

    fn hit() -> ShownHit {
        let text = "a <b> word and more".to_owned();
        ShownHit {
            target: "/x?a=1&b=\"2\"".into(),
            title: "<script>alert(1)</script>".into(),
            language: "\"><s>".into(),
            section: "<s>".into(),
            topic: Some(-1),
            fragments: vec![Fragment {
                text,
                marks: vec![(6, 10)],
                is_cut_before: true,
                is_cut_after: true,
            }],
            ..ShownHit::default()
        }
    }

    fn shown() -> Shown {
        let mut facets = Facets::default();
        for name in ["<s>\"2\"", "<img>"] {
            let mut attributes = vec![Value::Int(0); 10];
            attributes[SHAPE_LANGUAGE] = Value::Text(name.to_owned());
            attributes[SHAPE_SECTION] = Value::Text(name.to_owned());
            facets.count(&attributes, 0);
        }
        Shown {
            query: "\"><img src=x>".into(),
            path: "/search".into(),
            origin: "http://a.test".into(),
            hits: vec![hit()],
            number: 1,
            total: 1,
            did_you_mean: Some("<i>".into()),
            relaxed: Some("<u>".into()),
            narrow: Narrow { section: Some("\"><i>".into()), ..Narrow::default() },
            facets,
            ..Shown::default()
        }
    }

    #[test]
    fn nothing_that_anybody_wrote_becomes_markup() {
        assert_eq!(hit().excerpt(), "… a &lt;b&gt; <mark>word</mark> and more …");
        let feed = Feed::of(&shown(), 0);
        for text in [html(&Template::own(), &shown()), rss(&shown(), &feed), atom(&shown(), &feed)]
        {
            for wrong in ["<script>alert", "<img", "<i>", "<u>", "<s>", "\"2\""] {
                assert!(!text.contains(wrong), "{wrong} in {text}");
            }
        }
    }

    #[test]
    fn what_can_be_chosen_is_linked_and_what_is_chosen_stays() {
        let mut shown = shown();
        shown.query = "a b".into();
        shown.narrow = Narrow { is_newest: true, ..Narrow::default() };
        let text = html(&Template::own(), &shown);
        for expected in [
            "<strong>Newest first</strong>",
            "<a href=\"/search?q=a+b\">Best first</a>",
            "href=\"/search?q=a+b&amp;section=%3Cimg%3E&amp;sort=newest\">&lt;img&gt;</a> (1)",
            "href=\"/search?q=a+b&amp;topic=ffffffffffffffff&amp;sort=newest\">All pages of this",
            "<input type=\"hidden\" name=\"sort\" value=\"newest\">",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        shown.hits.clear();
        shown.total = 0;
        assert!(!html(&Template::own(), &shown).contains("wick-narrow"), "nothing to choose");
        shown.narrow.section = Some("wiki".into());
        let text = html(&Template::own(), &shown);
        assert!(text.contains("among these pages"), "{text}");
        assert!(text.contains("<a href=\"/search?q=a+b&amp;sort=newest\">Look at all"), "{text}");
    }

    #[test]
    fn json_is_json_and_suggestions_are_as_browsers_take_them() {
        let told: serde_json::Value = serde_json::from_str(&json(&shown())).unwrap();
        assert_eq!(told["hits"][0]["url"], "http://a.test/x?a=1&b=\"2\"");
        assert_eq!(told["query"], "\"><img src=x>");
        assert_eq!(told["hits"][0]["topic"], "ffffffffffffffff");
        assert_eq!(told["narrowed"]["section"], "\"><i>");
        assert_eq!(told["rebuilding"], serde_json::Value::Null);
        assert_eq!(
            told["facets"]["section"][0],
            serde_json::json!({ "value": "<img>", "count": 1 })
        );
        let told: serde_json::Value = serde_json::from_str(&suggestions(&shown())).unwrap();
        assert_eq!(told[1][0], "<script>alert(1)</script>");
        assert_eq!(told[0], "\"><img src=x>");
    }

    #[test]
    fn an_index_that_is_made_anew_says_so_wherever_it_answers() {
        for (percent, words) in [
            (Some(40), "doesn’t find all pages yet: 40 % of it is done."),
            (None, "doesn’t find all pages yet."),
        ] {
            let shown = Shown { anew: Some(Anew { percent }), ..shown() };
            let text = html(&Template::own(), &shown);
            assert!(text.contains(words), "{text}");
            let told: serde_json::Value = serde_json::from_str(&json(&shown)).unwrap();
            assert_eq!(told["rebuilding"], serde_json::json!({ "percent": percent }));
        }
        assert!(!html(&Template::own(), &shown()).contains("yet"));
    }

    #[test]
    fn a_template_is_filled_once_and_needs_its_results() {
        let template = Template::of("<p>{{query}}</p>{{results}}{{other}}").unwrap();
        let tricky = Shown { query: "{{results}}".into(), ..Shown::default() };
        let text = html(&template, &tricky);
        assert!(text.starts_with("<p>{{results}}</p>"), "{text}");
        assert!(text.ends_with("{{other}}"), "{text}");
        assert!(Template::of("<p>nothing</p>").is_err());
    }
}
