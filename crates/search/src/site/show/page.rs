//! The page of results, filled into a template.
//!
//! A template is HTML with names in double braces, each of which is replaced once:
//! `{{query}}`, `{{title}}`, `{{path}}`, `{{head}}`, `{{form}}`, `{{results}}`. What is put there
//! is never looked through again.

use super::narrowing::narrowing;
use super::{Shown, ShownHit, encoded, escaped};
use crate::site::Narrow;

/// The largest template.
const TEMPLATE_BYTES_MAX: usize = 1 << 20;

/// How one may ask.
const HELP: &str = "<details class=\"wick-help\"><summary>How to ask</summary><ul>\
<li><code>two words</code> finds pages with both, <code>one OR other</code> with either, \
<code>word -other</code> without the other</li>\
<li><code>\"two words\"</code> side by side, <code>\"two words\"~5</code> near each other</li>\
<li><code>begin*</code>, <code>*end</code>, <code>w?rd</code> leave something open, \
<code>wrod~</code> allows for a wrong letter, <code>=word</code> for no other form</li>\
<li><code>title:word</code>, <code>headings:word</code>, <code>text:word</code>, \
<code>address:word</code> look there only</li></ul></details>";

const OWN: &str = include_str!("search.html");

/// A page with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    is_own: bool,
}

/// Why a file is no template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Nothing would be seen.
    #[error("it has no {{{{results}}}}: write that where the results are to stand")]
    NoResults,
    /// It is too large.
    #[error("it is larger than 1M; take pictures out of it")]
    TooLarge,
}

impl Template {
    /// Wick's own.
    #[must_use]
    pub fn own() -> Self {
        Self { text: OWN.to_owned(), is_own: true }
    }

    /// The owner's.
    ///
    /// # Errors
    /// Nothing would be seen, or it is too large.
    pub fn of(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEMPLATE_BYTES_MAX {
            return Err(TemplateError::TooLarge);
        }
        match text.contains("{{results}}") {
            true => Ok(Self { text: text.to_owned(), is_own: false }),
            false => Err(TemplateError::NoResults),
        }
    }

    /// Whether it is Wick's own, of which all is known that it loads.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.is_own
    }
}

/// The page.
#[must_use]
pub fn html(template: &Template, shown: &Shown) -> String {
    let mut out = String::with_capacity(template.text.len() + 1024 * (shown.hits.len() + 2));
    let mut rest = template.text.as_str();
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let part = after
            .split_once("}}")
            .and_then(|(name, behind)| Some((part(name.trim(), shown)?, behind)));
        match part {
            Some((text, behind)) => {
                out.push_str(&text);
                rest = behind;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn part(name: &str, shown: &Shown) -> Option<String> {
    Some(match name {
        "query" => escaped(&shown.query),
        "path" => escaped(&shown.path),
        "title" if shown.query.is_empty() => "Search".to_owned(),
        "title" => format!("{} – Search", escaped(&shown.query)),
        "head" => head(shown),
        "form" => form(shown),
        "results" => results(shown),
        _ => return None,
    })
}

/// What belongs into the head of the page.
fn head(shown: &Shown) -> String {
    let path = escaped(&shown.path);
    let mut out = format!(
        "<meta name=\"robots\" content=\"noindex\">\n\
         <link rel=\"stylesheet\" href=\"{path}.css\">\n\
         <link rel=\"search\" type=\"application/opensearchdescription+xml\" href=\"{path}.xml\" \
         title=\"Search\">\n"
    );
    if !shown.query.is_empty() {
        let query = escaped(&encoded(&shown.query));
        for (end, kind) in [("rss", "rss"), ("atom", "atom")] {
            out.push_str(&format!(
                "<link rel=\"alternate\" type=\"application/{kind}+xml\" \
                 href=\"{path}.{end}?q={query}\" title=\"{}\">\n",
                escaped(&shown.query)
            ));
        }
    }
    out.push_str(&format!("<script src=\"{path}.js\" defer></script>"));
    out
}

fn form(shown: &Shown) -> String {
    let path = escaped(&shown.path);
    // Another query isn't about the same topic.
    let narrow = Narrow { topic: None, ..shown.narrow.clone() };
    let narrow: String = (narrow.pairs().iter())
        .map(|(name, value)| {
            format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", escaped(value))
        })
        .collect();
    format!(
        "<form class=\"wick-search\" role=\"search\" action=\"{path}\" method=\"get\">\
         <label for=\"wick-query\">Search this site</label>\
         <div class=\"wick-field\"><input id=\"wick-query\" name=\"q\" type=\"search\" \
         value=\"{}\" maxlength=\"500\" autocomplete=\"off\" list=\"wick-suggestions\" \
         data-suggest=\"{path}.suggest.json\">\
         <button type=\"submit\">Search</button></div>\
         <datalist id=\"wick-suggestions\"></datalist>{narrow}{HELP}</form>",
        escaped(&shown.query)
    )
}

/// The address of other results, as it may stand in HTML.
pub(super) fn address(shown: &Shown, query: &str, narrow: &Narrow, number: usize) -> String {
    let page = if number > 1 { format!("&page={number}") } else { String::new() };
    escaped(&format!("{}?q={}{}{page}", shown.path, encoded(query), narrow.behind()))
}

fn results(shown: &Shown) -> String {
    let mut out = String::from("<div id=\"wick-results\">");
    if !shown.query.is_empty() {
        out.push_str(&format!("<p class=\"wick-summary\" role=\"status\">{}</p>", summary(shown)));
    }
    if let Some(anew) = shown.anew {
        let done = anew.percent.map(|percent| format!(": {percent} % of it is done"));
        out.push_str(&format!(
            "<p class=\"wick-anew\">The search is being made anew, and doesn’t find all pages yet{}.</p>",
            done.unwrap_or_default()
        ));
    }
    if let Some(meant) = &shown.did_you_mean {
        out.push_str(&format!(
            "<p class=\"wick-meant\">Did you mean <a href=\"{}\">{}</a>?</p>",
            address(shown, meant, &shown.narrow, 1),
            escaped(meant)
        ));
    }
    if shown.hits.is_empty() && !shown.query.is_empty() && shown.narrow.leaves_out() {
        let all = Narrow { is_newest: shown.narrow.is_newest, ..Narrow::default() };
        let to = address(shown, &shown.query, &all, 1);
        out.push_str(&format!("<p><a href=\"{to}\">Look at all pages</a></p>"));
    }
    out.push_str(&narrowing(shown));
    if !shown.hits.is_empty() {
        let start = (shown.number.max(1) - 1) * super::super::PAGE_HITS + 1;
        out.push_str(&format!("<ol class=\"wick-hits\" start=\"{start}\">"));
        shown.hits.iter().for_each(|hit| out.push_str(&item(shown, hit)));
        out.push_str("</ol>");
    }
    out.push_str(&pager(shown));
    if !shown.query.is_empty() {
        let (path, query) = (escaped(&shown.path), escaped(&encoded(&shown.query)));
        out.push_str(&format!(
            "<p class=\"wick-feeds\">New pages that fit, as a feed: \
             <a href=\"{path}.rss?q={query}\">RSS</a>, <a href=\"{path}.atom?q={query}\">Atom</a></p>"
        ));
    }
    out.push_str("</div>");
    out
}

fn summary(shown: &Shown) -> String {
    let query = escaped(&shown.query);
    let pages = match shown.total {
        0 if shown.narrow.leaves_out() => {
            return format!("Nothing was found for “{query}” among these pages.");
        }
        0 => return format!("Nothing was found for “{query}”."),
        1 => "One page".to_owned(),
        many => format!("{many} pages"),
    };
    match &shown.relaxed {
        Some(without) => {
            format!("Nothing fits all of “{query}”. {pages} found with less: {}.", escaped(without))
        }
        None => format!("{pages} found for “{query}”."),
    }
}

fn item(shown: &Shown, hit: &ShownHit) -> String {
    let language = match hit.language.is_empty() {
        true => String::new(),
        false => format!(" lang=\"{}\"", escaped(&hit.language)),
    };
    let date = date(hit.changed);
    let date = match date.is_empty() {
        true => String::new(),
        false => format!(" <time datetime=\"{date}\">{date}</time>"),
    };
    let topic = match hit.topic.filter(|_| shown.narrow.topic.is_none()) {
        Some(topic) => {
            let narrow = Narrow { topic: Some(topic), ..shown.narrow.clone() };
            let to = address(shown, &shown.query, &narrow, 1);
            format!(
                "<p class=\"wick-topic\"><a href=\"{to}\">All pages of this topic that fit</a></p>"
            )
        }
        None => String::new(),
    };
    format!(
        "<li{language}><a href=\"{}\">{}</a><p class=\"wick-address\"><span>{}</span>{date}</p>\
         <p class=\"wick-excerpt\">{}</p>{topic}</li>",
        escaped(&hit.target),
        escaped(hit.name()),
        escaped(&hit.target),
        hit.excerpt()
    )
}

/// The day, in UTC.
fn date(unix: i64) -> String {
    match time::OffsetDateTime::from_unix_timestamp(unix) {
        Ok(at) if unix > 0 => {
            format!("{:04}-{:02}-{:02}", at.year(), u8::from(at.month()), at.day())
        }
        _ => String::new(),
    }
}

fn pager(shown: &Shown) -> String {
    if shown.number <= 1 && !shown.has_next {
        return String::new();
    }
    let link = |number: usize, rel: &str, text: &str| {
        let to = address(shown, &shown.query, &shown.narrow, number);
        format!("<a rel=\"{rel}\" href=\"{to}\">{text}</a>")
    };
    let mut out = String::from("<nav class=\"wick-pages\" aria-label=\"Pages of results\">");
    if shown.number > 1 {
        out.push_str(&link(shown.number - 1, "prev", "Previous page"));
    }
    out.push_str(&format!("<span aria-current=\"page\">Page {}</span>", shown.number));
    if shown.has_next {
        out.push_str(&link(shown.number + 1, "next", "Next page"));
    }
    out.push_str("</nav>");
    out
}
