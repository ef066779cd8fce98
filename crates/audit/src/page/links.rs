//! Where a page leads to, and what it loads.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::{Page, plain};
use crate::page::tree::Element;

/// Links of one page that are followed.
const LINKS_MAX: usize = 5_000;
const ADDRESS_BYTES_MAX: usize = 2_048;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum LinkKind {
    /// A person follows it.
    Page,
    /// The browser loads it with the page.
    Part,
}

impl LinkKind {
    /// As the book keeps it.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Part => "part",
        }
    }
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Where it leads to, without its fragment.
    #[serde(serialize_with = "write_address", deserialize_with = "read_address")]
    pub to: Url,
    /// Its fragment, decoded.
    pub fragment: Option<String>,
    /// What it is for.
    pub kind: LinkKind,
    /// The line on which it stands.
    pub line: u64,
}

fn write_address<S: Serializer>(url: &Url, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(url.as_str())
}

fn read_address<'de, D: Deserializer<'de>>(text: D) -> Result<Url, D::Error> {
    let text = String::deserialize(text)?;
    Url::parse(&text).map_err(serde::de::Error::custom)
}

impl Page<'_> {
    /// Its links, each place once. Forms are never followed.
    #[must_use]
    pub(crate) fn links(&self) -> Vec<Link> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let base = self.base();
        let mut known = std::collections::HashSet::new();
        let mut links = Vec::new();
        for element in tree.elements() {
            for (written, kind) in written(element) {
                let Some(link) = link(&base, written, kind, element.line()) else { continue };
                let place = (link.to.as_str().to_owned(), link.fragment.clone(), kind);
                if links.len() < LINKS_MAX && known.insert(place) {
                    links.push(link);
                }
            }
        }
        links
    }
}

fn link(base: &Url, written: &str, kind: LinkKind, line: u64) -> Option<Link> {
    let to = base.join(written.trim()).ok()?;
    let is_web = matches!(to.scheme(), "http" | "https") && to.host().is_some();
    if !is_web || to.as_str().len() > ADDRESS_BYTES_MAX {
        return None;
    }
    let fragment = to.fragment().filter(|fragment| !fragment.is_empty()).map(decoded);
    Url::parse(&plain(&to)).ok().map(|to| Link { to, fragment, kind, line })
}

fn decoded(fragment: &str) -> String {
    // A fragment is decoded as a query is, but that a plus is one.
    let kept = fragment.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let pair = url::form_urlencoded::parse(kept.as_bytes()).next();
    pair.map_or_else(String::new, |(name, _)| name.into_owned())
}

/// The addresses that an element names.
fn written<'a>(element: Element<'a>) -> Vec<(&'a str, LinkKind)> {
    let of = |name: &str, kind| element.said(name).map(|address| (address, kind));
    let mut found = Vec::new();
    match element.name() {
        "a" | "area" => found.extend(of("href", LinkKind::Page)),
        "iframe" | "frame" => found.extend(of("src", LinkKind::Page)),
        "img" | "source" => {
            found.extend(of("src", LinkKind::Part));
            let set = element.attribute("srcset").unwrap_or("");
            found.extend(srcset(set).map(|address| (address, LinkKind::Part)));
        }
        "script" | "audio" | "video" | "embed" | "track" => {
            found.extend(of("src", LinkKind::Part));
            found.extend(of("poster", LinkKind::Part));
        }
        "link" => {
            let relation = element.attribute("rel").unwrap_or("").to_ascii_lowercase();
            let is = |words: &[&str]| relation.split_whitespace().any(|one| words.contains(&one));
            if is(&["stylesheet", "icon", "manifest", "preload", "modulepreload"]) {
                found.extend(of("href", LinkKind::Part));
            } else if is(&["next", "prev", "alternate", "canonical"]) && is_to_be_read(element) {
                found.extend(of("href", LinkKind::Page));
            }
        }
        _ => {}
    }
    found
}

/// Whether a link leads to a page or a feed, and not to data for programs.
fn is_to_be_read(link: Element<'_>) -> bool {
    const KINDS: [&str; 4] =
        ["text/html", "application/xhtml+xml", "application/rss+xml", "application/atom+xml"];
    let kind = link.said("type").unwrap_or(KINDS[0]).to_ascii_lowercase();
    kind.split(';').next().is_some_and(|kind| KINDS.contains(&kind.trim()))
}

/// The addresses of a `srcset`.
fn srcset(set: &str) -> impl Iterator<Item = &str> {
    // A comma separates where white space follows: one within an address doesn't.
    set.split(", ").flat_map(|part| part.split(",\n")).filter_map(|part| {
        part.split_whitespace().next().map(|address| address.trim_end_matches(','))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Answer;

    #[test]
    fn all_that_a_page_leads_to_is_found_once() {
        let html = "<base href=/d/><a href='x#a%20b'>1</a><a href=x>2</a><a href='x#'>3</a>\n\
            <img src=/i.png srcset='/s.png 1x, /t.png 2x'><a href='mailto:a@b'>m</a>\
            <form action=/post></form><link rel=stylesheet href=//c.test/s.css>\
            <link rel=alternate type=application/json href=/json>\
            <link rel=alternate type=application/atom+xml href=/atom><iframe src=f>";
        let url = Url::parse("http://a.test/p").unwrap();
        let answer = Answer::page(200, "content-type: text/html", html);
        let page = Page::of(&url, &answer);
        let told: Vec<String> = page
            .links()
            .iter()
            .map(|link| {
                let fragment = link.fragment.as_deref().unwrap_or("");
                format!("{} {} {fragment} {}", link.to, link.kind.as_str(), link.line)
            })
            .collect();
        let expected = [
            "http://a.test/d/x page a b 1",
            "http://a.test/d/x page  1",
            "http://a.test/i.png part  2",
            "http://a.test/s.png part  2",
            "http://a.test/t.png part  2",
            "http://c.test/s.css part  2",
            "http://a.test/atom page  2",
            "http://a.test/d/f page  2",
        ];
        assert_eq!(told, expected);
    }
}
