//! What a site has to read: links followed breadth first, those that do something left out.

use std::collections::{BTreeSet, VecDeque};

use crate::forms::unescaped;
use crate::visitor::{Page, Visitor, resolve};

/// Words of addresses that do something, show each visitor something else.
const VERBS: &[&str] = &[
    "edit",
    "action=",
    "do=",
    "login",
    "logout",
    "register",
    "delete",
    "rev=",
    "oldid=",
    "diff=",
    "returnto=",
    "printable=",
    "feed",
    "rss",
    "atom",
    "wp-json",
    "xmlrpc",
    "replytocom",
    "random",
    "special:my",
];
/// Endings of what is no page.
const FILES: &[&str] =
    &[".html", ".css", ".js", ".xml", ".png", ".svg", ".ico", ".jpg", ".woff2", ".php5"];

/// Paths of HTML pages, the start first, `max` at most.
pub(crate) fn crawl(visitor: &Visitor, base: &str, start: &[&str], max: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<String> = start.iter().map(|&path| path.to_owned()).collect();
    let mut queue: VecDeque<String> = start.iter().map(|&path| path.to_owned()).collect();
    while let Some(path) = queue.pop_front()
        && found.len() < max
    {
        let page = visitor.get(&path);
        if page.status != 200 || !page.field("content-type").starts_with("text/html") {
            continue;
        }
        for link in links(&page, base) {
            if seen.insert(link.clone()) {
                queue.push_back(link);
            }
        }
        // Where a redirect led is a page of its own; the address that led there is not.
        if page.url == format!("{base}{path}") {
            found.push(path);
        }
    }
    found
}

/// The paths that a page leads to by links that only read.
fn links(page: &Page, base: &str) -> Vec<String> {
    let text = page.text();
    let anchors = text.split("<a ").skip(1).filter_map(|rest| rest.split('>').next());
    let links = anchors.filter_map(|tag| {
        let rest = tag.split_once("href=\"").or_else(|| tag.split_once("href='"))?.1;
        rest.split(['"', '\'']).next()
    });
    let urls = links.map(|link| resolve(&page.url, &unescaped(link)));
    let paths = urls.filter_map(|url| {
        let path = url.split('#').next()?.strip_prefix(base)?.to_owned();
        if path.is_empty() { Some("/".to_owned()) } else { Some(path) }
    });
    paths.filter(|path| path.starts_with('/') && is_for_reading(path)).collect()
}

fn is_for_reading(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let file = lower.split('?').next().unwrap_or_default();
    let does_something = VERBS.iter().any(|verb| lower.contains(verb));
    !does_something && !FILES.iter().any(|ending| file.ends_with(ending))
}

/// Whether two pages say the same. The order may differ: a database gives rows of equal rank
/// in any.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split(' ').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    one == other || sorted(one) == sorted(other)
}

/// The words of a page as a reader sees them, numbers masked: they count and tell the time.
pub(crate) fn words(page: &Page) -> String {
    let mut text = page.text();
    for (start, end) in [("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>")] {
        text = without(&text, start, end);
    }
    let text = without(&text, "<", ">");
    let mut words = String::new();
    for word in text.split_whitespace() {
        for part in word.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
            if rest.len() < part.len() {
                words.push('0');
            }
            words += rest;
        }
        words.push(' ');
    }
    words
}

fn without(text: &str, start: &str, end: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(start) {
        kept += before;
        kept.push(' ');
        rest = behind.split_once(end).map_or("", |(_, rest)| rest);
    }
    kept + rest
}
