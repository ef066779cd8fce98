//! Scope: which addresses are a site's own, which are asked for, and why others are not.
//!
//! Pure. Invariant: nothing is asked for that does something, bears a session or a secret, or
//! that `robots.txt` forbids.

use std::collections::{HashMap, HashSet};

use crawl::robots::Robots;
use crawl::{bears_secret, does_something};
use policy::strangers::{forbidden_verb, names_session};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use crate::book::State;
use crate::fetch::target;
use crate::page::{Link, LinkKind, plain};

/// By what name `robots.txt` may speak of us.
pub(crate) const NAME: &str = "wick";
/// Parts that are asked for, for each page that is.
const PARTS_PER_PAGE: usize = 4;
/// Addresses of one path that differ only in the values of their queries: calendars and filters
/// have no end.
const VARIANTS_MAX: usize = 1_000;

/// What may be asked for of a site.
pub(crate) struct Scope {
    seed: Url,
    also: Vec<String>,
    pages_max: usize,
    depth_max: u32,
    /// `robots.txt` of each origin that was asked.
    pub(crate) robots: HashMap<String, Robots>,
    known: HashSet<u64>,
    variants: HashMap<u64, usize>,
    pages: usize,
    parts: usize,
}

impl Scope {
    pub(crate) fn new(seed: Url, also: Vec<String>, pages_max: usize, depth_max: u32) -> Self {
        Self {
            seed,
            also,
            pages_max,
            depth_max,
            robots: HashMap::new(),
            known: HashSet::new(),
            variants: HashMap::new(),
            pages: 0,
            parts: 0,
        }
    }

    /// What an interrupted run had taken up already.
    pub(crate) fn recall(&mut self, url: &str, kind: LinkKind, state: State) {
        let is_asked = matches!(state, State::Waiting | State::Done | State::Failed);
        if self.known.insert(xxh3_64(url.as_bytes())) && is_asked {
            *self.count(kind) += 1;
        }
    }

    fn count(&mut self, kind: LinkKind) -> &mut usize {
        match kind {
            LinkKind::Page => &mut self.pages,
            LinkKind::Part => &mut self.parts,
        }
    }

    /// Whether an address is on the site.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        let is_usual = |url: &Url| url.port().is_none();
        let is_seed = self.seed.host_str() == Some(host)
            && (self.seed.port_or_known_default() == Some(port)
                || is_usual(&self.seed) && is_usual(url));
        is_seed
            || self.also.iter().any(|also| {
                let with_port = format!("{host}:{port}");
                also.eq_ignore_ascii_case(&with_port)
                    || is_usual(url) && also.eq_ignore_ascii_case(host)
            })
    }

    /// What becomes of an address; one that is new and own takes a place.
    pub(crate) fn judge(&mut self, link: &Link, depth: u32) -> (State, &'static str) {
        if !self.is_own(&link.to) {
            return (State::Outside, unfit(&link.to).unwrap_or(""));
        }
        let is_new = self.known.insert(xxh3_64(plain(&link.to).as_bytes()));
        if !is_new {
            // The book knows it, and what became of it.
            return (State::Skipped, "");
        }
        if let Some(why) = unfit(&link.to) {
            return (State::Skipped, why);
        }
        if !self.allows(&link.to) {
            return (State::Skipped, "robots.txt");
        }
        if depth > self.depth_max {
            return (State::Skipped, "--depth");
        }
        if link.kind == LinkKind::Page && self.is_one_of_too_many(&link.to) {
            return (State::Skipped, "too many that differ only in their query");
        }
        let most = match link.kind {
            LinkKind::Page => self.pages_max,
            LinkKind::Part => self.pages_max.saturating_mul(PARTS_PER_PAGE),
        };
        let count = self.count(link.kind);
        if *count >= most {
            return (State::Skipped, "--pages");
        }
        *count += 1;
        (State::Waiting, "")
    }

    fn is_one_of_too_many(&mut self, url: &Url) -> bool {
        if url.query().is_none() {
            return false;
        }
        let names: Vec<_> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        let kind = xxh3_64(format!("{}?{}", url.path(), names.join("&")).as_bytes());
        let count = self.variants.entry(kind).or_default();
        *count += 1;
        *count > VARIANTS_MAX
    }

    /// Whether `robots.txt` allows it, as far as it was read.
    pub(crate) fn allows(&self, url: &Url) -> bool {
        let robots = self.robots.get(&origin(url));
        robots.is_none_or(|robots| robots.allows(&target(url)))
    }
}

/// Scheme, host and port of an address.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Why an address isn't asked for by anybody but a visitor.
pub(crate) fn unfit(url: &Url) -> Option<&'static str> {
    let target = target(url);
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it bears a password");
    }
    if forbidden_verb(&target).is_some() || does_something(&target) {
        return Some("it may do something");
    }
    if names_session(&target, |_| false) {
        return Some("it bears a session");
    }
    // What is built once is named by the sum of its bytes; that is no secret.
    let is_part = target.split('?').next().is_some_and(|path| {
        [".css", ".js", ".mjs", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".woff2"]
            .iter()
            .any(|end| path.ends_with(end))
    });
    (!is_part && bears_secret(&target)).then_some("it may bear a secret")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        let seed = Url::parse("http://a.test/").unwrap();
        let mut scope = Scope::new(seed, vec!["b.test:81".to_owned()], 2, 3);
        let robots = Robots::of("user-agent: *\ndisallow: /no\n", NAME);
        scope.robots.insert("http://a.test".to_owned(), robots);
        scope
    }

    fn judge(scope: &mut Scope, url: &str, depth: u32) -> String {
        let to = Url::parse(url).unwrap();
        let link = Link { to, fragment: None, kind: LinkKind::Page, line: 1 };
        let (state, why) = scope.judge(&link, depth);
        format!("{state:?} {why}").trim().to_owned()
    }

    #[test]
    fn what_does_something_or_is_nobodys_business_is_never_asked_for() {
        for (url, expected) in [
            ("http://a.test/x", "Waiting"),
            ("https://a.test/x", "Waiting"),
            ("http://b.test:81/x", "Waiting"),
            ("http://b.test/x", "Outside"),
            ("http://a.test:82/x", "Outside"),
            ("http://a.test/no/x", "Skipped robots.txt"),
            ("http://a.test/logout", "Skipped it may do something"),
            ("http://a.test/post/5/delete", "Skipped it may do something"),
            ("http://a.test/x?action=edit", "Skipped it may do something"),
            (
                "http://a.test/order/d41d8cd98f00b204e9800998ecf8427e",
                "Skipped it may bear a secret",
            ),
            ("http://a.test/app.d41d8cd98f00b204e9800998ecf8427e.css", "Waiting"),
            ("http://u:p@a.test/", "Skipped it bears a password"),
        ] {
            assert_eq!(judge(&mut scope(), url, 1), expected, "{url}");
        }
    }

    #[test]
    fn pages_and_depth_are_bounded_and_an_address_is_taken_once() {
        let mut scope = scope();
        assert_eq!(judge(&mut scope, "http://a.test/1", 4), "Skipped --depth");
        assert_eq!(judge(&mut scope, "http://a.test/2", 1), "Waiting");
        assert_eq!(judge(&mut scope, "http://a.test/2", 1), "Skipped");
        assert_eq!(judge(&mut scope, "http://a.test/3", 1), "Waiting");
        assert_eq!(judge(&mut scope, "http://a.test/4", 1), "Skipped --pages");
    }
}
