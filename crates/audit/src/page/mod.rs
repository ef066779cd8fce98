//! A page as it was fetched, and what all tests want to know of it, taken out once.
//!
//! In: an [`Answer`] and its address. Out: a [`Page`] that tests look at, its [`Facts`], which
//! are kept for the tests of the whole site, and its [`Link`]s.

pub(crate) mod links;
pub(crate) mod tree;

use serde::{Deserialize, Serialize};
use url::Url;
use wire::Name;

use crate::fetch::Answer;
use crate::page::tree::{Element, Tree};

pub(crate) use links::{Link, LinkKind};

/// Ids and names that fragments may lead to, of one page.
const ANCHORS_MAX: usize = 20_000;
/// What is kept of a text.
const TEXT_BYTES_MAX: usize = 500;

/// A page.
pub(crate) struct Page<'a> {
    /// Its address.
    pub url: &'a Url,
    /// As it came.
    pub answer: &'a Answer,
    /// Its tree, if it is HTML that was answered with 200.
    pub(crate) tree: Option<Tree>,
}

/// What is kept of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Whether it is HTML.
    pub is_html: bool,
    /// Its title.
    pub title: Option<String>,
    /// What it calls its canonical address, resolved.
    pub canonical: Option<String>,
    /// Its versions in other languages: language and address.
    pub languages: Vec<(String, String)>,
    /// What fragments may lead to.
    pub anchors: Vec<String>,
    /// Whether it wants not to be found.
    pub is_noindex: bool,
    /// The cache's verdict: `store`, or the token of the reason why not.
    pub verdict: String,
    /// Bytes of the body as it was sent.
    pub sent_bytes: u64,
    /// Whether a cache on the way had it.
    #[serde(default)]
    pub is_from_cache: bool,
}

impl<'a> Page<'a> {
    /// Reads a page.
    #[must_use]
    pub(crate) fn of(url: &'a Url, answer: &'a Answer) -> Self {
        let is_page = answer.status == 200 && is_html(answer);
        let text = || conformance::page_text(&answer.body, charset(answer));
        let tree = is_page.then(|| Tree::of(&text()));
        Self { url, answer, tree }
    }

    /// What relative addresses on it begin from.
    pub(crate) fn base(&self) -> Url {
        let written = self.tree.as_ref().and_then(|tree| tree.first("base"));
        let written = written.and_then(|base| base.attribute("href"));
        written.and_then(|href| self.url.join(href.trim()).ok()).unwrap_or_else(|| self.url.clone())
    }

    /// Its facts; the verdict is the cacheability test's.
    #[must_use]
    pub(crate) fn facts(&self, verdict: String) -> Facts {
        let sent_bytes = self.answer.sent_bytes;
        let is_from_cache = self.answer.is_from_cache();
        let bare = Facts { verdict, sent_bytes, is_from_cache, ..Facts::default() };
        let Some(tree) = &self.tree else { return bare };
        let base = self.base();
        let resolved = |href: &str| base.join(href.trim()).ok().map(|url| plain(&url));
        let mut facts = Facts { is_html: true, ..bare };
        facts.title = title(tree);
        for link in tree.elements().filter(|element| element.name() == "link") {
            let relation = link.attribute("rel").unwrap_or("").to_ascii_lowercase();
            let Some(to) = link.said("href").and_then(resolved) else { continue };
            let is = |word: &str| relation.split_whitespace().any(|one| one == word);
            if is("canonical") {
                facts.canonical.get_or_insert(to);
            } else if let Some(language) = link.said("hreflang").filter(|_| is("alternate")) {
                facts.languages.push((language.to_owned(), to));
            }
        }
        let anchors = tree.elements().flat_map(anchors_of).take(ANCHORS_MAX);
        facts.anchors = anchors.map(str::to_owned).collect();
        facts.is_noindex = self.answer.says_noindex() || says_noindex(tree);
        facts
    }
}

/// The title, as far as there is one on the page itself and not in a picture on it.
pub(crate) fn title(tree: &Tree) -> Option<String> {
    let is_own = |element: &Element<'_>| {
        element.name() == "title" && !element.around().any(|one| one.name() == "svg")
    };
    let mut text = tree.elements().find(is_own)?.text();
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    Some(text).filter(|text| !text.is_empty())
}

fn anchors_of<'a>(element: Element<'a>) -> impl Iterator<Item = &'a str> {
    let name = element.said("name").filter(|_| element.name() == "a");
    element.said("id").into_iter().chain(name)
}

fn says_noindex(tree: &Tree) -> bool {
    tree.elements().any(|element| {
        element.name() == "meta"
            && element.attribute("name").is_some_and(|name| name.eq_ignore_ascii_case("robots"))
            && element
                .attribute("content")
                .is_some_and(|said| said.to_ascii_lowercase().contains("noindex"))
    })
}

/// Whether an answer says that it is a page.
#[must_use]
pub(crate) fn is_html(answer: &Answer) -> bool {
    matches!(kind(answer).as_str(), "text/html" | "application/xhtml+xml")
}

/// What an answer says that it is, in lower case, without parameters.
#[must_use]
pub(crate) fn kind(answer: &Answer) -> String {
    let said = answer.fields.text(Name::ContentType).unwrap_or("");
    said.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// The charset that an answer's head names.
#[must_use]
pub(crate) fn charset(answer: &Answer) -> Option<&str> {
    let said = answer.fields.text(Name::ContentType)?;
    let at = said.to_ascii_lowercase().find("charset=")? + "charset=".len();
    let name = said[at..].split(';').next()?.trim_matches(['"', '\'', ' ']);
    Some(name).filter(|name| !name.is_empty())
}

/// An address without its fragment, as it is known by.
#[must_use]
pub(crate) fn plain(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod cases {
    use super::*;

    #[test]
    fn a_page_is_read_in_the_encoding_that_it_declares() {
        let url = Url::parse("http://a.test/").unwrap();
        let russian = b"<title>\xcf\xf0\xe8\xe2\xe5\xf2</title><a id=\xff>";
        let declared = [&b"<meta charset=windows-1251>"[..], russian].concat();
        for (kind, body) in [
            ("text/html; charset=windows-1251", &russian[..]),
            ("text/html; Charset=\"cp1251\"; x=y", russian),
            ("text/html", &declared),
        ] {
            let mut answer = Answer::page(200, &format!("content-type: {kind}"), "");
            answer.body = body.to_vec();
            let facts = Page::of(&url, &answer).facts(String::new());
            assert_eq!(facts.title.as_deref(), Some("Привет"), "{kind}");
            assert_eq!(facts.anchors, ["я"], "{kind}");
        }
    }
}
