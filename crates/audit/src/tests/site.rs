//! The tests of the whole site, when all of it was fetched: links, fragments, titles, languages,
//! and what pages load.
//!
//! In: the book. Out: findings, in order. Nothing is fetched here.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::book::{Book, Known, State};
use crate::finding::Finding;
use crate::outside::{BY_AUTHORS, is_everywhere};
use crate::page::{Facts, LinkKind};
use crate::report::Heaviest;
use crate::tests::finding;

/// A page that loads more than this is heavy.
const PAGE_BYTES_MAX: u64 = 3 << 20;
/// Steps that are followed of a chain.
const STEPS_MAX: usize = 20;

/// All that is known of a site.
struct Site {
    all: HashMap<i64, Known>,
    by_url: HashMap<String, i64>,
    facts: HashMap<i64, Facts>,
    findings: Vec<Finding>,
    heaviest: Option<Heaviest>,
}

/// What the tests of a site come to.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    pub findings: Vec<Finding>,
    pub heaviest: Option<Heaviest>,
}

/// Where an address leads in the end.
enum End {
    At(i64, usize),
    Loop,
}

/// All that the tests of a site say.
///
/// # Errors
/// The book can't be read.
pub(crate) fn examine(book: &Book) -> rusqlite::Result<Examined> {
    let all = book.addresses()?;
    let by_url = all.values().map(|known| (known.url.clone(), known.id)).collect();
    let facts = all.values().map(|known| (known.id, known.facts())).collect();
    let mut site = Site { all, by_url, facts, findings: Vec::new(), heaviest: None };
    site.links(book)?;
    site.addresses();
    site.titles();
    site.languages();
    site.findings.sort();
    site.findings.dedup();
    Ok(Examined { findings: site.findings, heaviest: site.heaviest })
}

/// Whether a status says that there is nothing for anybody.
///
/// One that asks for a password, for less haste, or for another request says nothing of that.
fn is_broken(status: u16) -> bool {
    !matches!(status, 401 | 403 | 405 | 407 | 408 | 425 | 429 | 451 | 999)
        && (400..=599).contains(&status)
}

impl Site {
    fn note(&mut self, rule: &str, url: &str, line: u64, message: String) {
        self.findings.extend(finding(rule, url, line, message));
    }

    fn url(&self, id: i64) -> String {
        self.all.get(&id).map_or_else(String::new, |known| known.url.clone())
    }

    fn end(&self, from: i64) -> End {
        let (mut at, mut seen) = (from, HashSet::from([from]));
        while let Some(next) = self.next(at) {
            if !seen.insert(next) || seen.len() > STEPS_MAX {
                return End::Loop;
            }
            at = next;
        }
        End::At(at, seen.len() - 1)
    }

    fn next(&self, at: i64) -> Option<i64> {
        let location = self.all.get(&at).map(|known| &known.location)?;
        self.by_url.get(location).copied()
    }

    fn links(&mut self, book: &Book) -> rusqlite::Result<()> {
        let pages = self.facts.iter().filter(|(_, facts)| facts.is_html);
        let mut weights: BTreeMap<i64, u64> =
            pages.map(|(id, facts)| (*id, facts.sent_bytes)).collect();
        let mut found = Vec::new();
        book.links(|page, target, fragment, kind, line| {
            let (Some(from), Some(to)) = (self.all.get(&page), self.all.get(&target)) else {
                return;
            };
            if kind == LinkKind::Part.as_str() {
                *weights.entry(page).or_default() +=
                    self.facts.get(&target).map_or(0, |facts| facts.sent_bytes);
            }
            if let Some((rule, message)) = self.judge(to, fragment) {
                found.push((rule, from.url.clone(), line, message));
            }
        })?;
        for (rule, url, line, message) in found {
            self.note(rule, &url, line, message);
        }
        let heaviest = weights.iter().max_by_key(|(page, bytes)| (**bytes, -**page));
        self.heaviest =
            heaviest.map(|(page, bytes)| Heaviest { url: self.url(*page), bytes: *bytes });
        for (page, bytes) in weights.into_iter().filter(|(_, bytes)| *bytes > PAGE_BYTES_MAX) {
            let message = format!("more than {} MiB with all that it loads", bytes >> 20);
            self.note("weight-page", &self.url(page), 0, message);
        }
        Ok(())
    }

    /// What is wrong with a link.
    fn judge(&self, to: &Known, fragment: &str) -> Option<(&'static str, String)> {
        if to.state == State::Outside {
            return outside(to).or_else(|| self.place_outside(to, fragment));
        }
        let End::At(end, steps) = self.end(to.id) else {
            return Some(("redirect-loop", format!("{} is sent on in a circle", to.url)));
        };
        let last = self.all.get(&end)?;
        let by_way = if steps > 0 { format!(", sent on to {}", last.url) } else { String::new() };
        if last.state == State::Outside {
            return outside(last);
        }
        if last.state == State::Failed {
            return Some(("link-failed", format!("{}{by_way}: {}", to.url, last.why)));
        }
        if is_broken(last.status) {
            return Some(("link-broken", format!("{}{by_way} answers {}", to.url, last.status)));
        }
        let facts = self.facts.get(&end)?;
        let is_there =
            || is_everywhere(fragment) || facts.anchors.iter().any(|anchor| anchor == fragment);
        if facts.is_html && !fragment.is_empty() && !is_there() {
            return Some(("link-fragment", format!("{} has no {fragment:?}", last.url)));
        }
        let is_moved = matches!(to.status, 301 | 308);
        (is_moved && steps > 0)
            .then(|| ("link-redirected", format!("{} is now {}", to.url, to.location)))
    }

    /// What is wrong with the place on another site that a link leads to, as far as the page that
    /// was fetched has been read.
    fn place_outside(&self, to: &Known, fragment: &str) -> Option<(&'static str, String)> {
        let facts = self.facts.get(&to.id).filter(|facts| facts.is_html)?;
        let is_there = |anchor: &String| {
            anchor == fragment || anchor.strip_prefix(BY_AUTHORS) == Some(fragment)
        };
        let is_missing =
            !fragment.is_empty() && !is_everywhere(fragment) && !facts.anchors.iter().any(is_there);
        is_missing.then(|| ("link-external-fragment", format!("{} has no {fragment:?}", to.url)))
    }

    fn addresses(&mut self) {
        let mut found = Vec::new();
        for known in self.all.values() {
            if known.source == "map" && (is_broken(known.status) || known.state == State::Failed) {
                let what = match known.state {
                    State::Failed => known.why.clone(),
                    _ => format!("a sitemap names it, and it answers {}", known.status),
                };
                found.push(("map-broken", known.url.clone(), what));
            }
            match self.end(known.id) {
                End::At(end, steps) if steps > 1 => {
                    let what = format!("sent on {steps} times, at last to {}", self.url(end));
                    found.push(("redirect-chain", known.url.clone(), what));
                }
                End::Loop if !known.location.is_empty() => {
                    let what = format!("sent on to {}", known.location);
                    found.push(("redirect-loop", known.url.clone(), what));
                }
                _ => {}
            }
            let facts = &self.facts[&known.id];
            if let Some(canonical) = &facts.canonical
                && let Some(what) = self.canonical(canonical)
            {
                found.push(("canonical-wrong", known.url.clone(), what));
            }
        }
        for (rule, url, what) in found {
            self.note(rule, &url, 0, what);
        }
    }

    fn canonical(&self, canonical: &str) -> Option<String> {
        let known = self.all.get(self.by_url.get(canonical)?)?;
        let facts = self.facts.get(&known.id)?;
        if known.state == State::Done && known.status != 200 {
            return Some(format!("{canonical} answers {}", known.status));
        }
        match &facts.canonical {
            Some(other) if other != canonical => {
                Some(format!("{canonical} names {other} as canonical"))
            }
            _ => None,
        }
    }

    /// Pages that a search engine would list, by their titles.
    fn titles(&mut self) {
        let mut titles: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for known in self.all.values().filter(|known| known.status == 200) {
            let facts = &self.facts[&known.id];
            let is_own = facts.canonical.as_ref().is_none_or(|canonical| *canonical == known.url);
            if let Some(title) = facts.title.as_ref().filter(|_| is_own && !facts.is_noindex) {
                titles.entry(title.clone()).or_default().push(known.url.clone());
            }
        }
        for (title, mut urls) in titles {
            urls.sort();
            for url in urls.iter().skip(1) {
                self.note("title-duplicate", url, 0, format!("{title:?}, as {}", urls[0]));
            }
        }
    }

    fn languages(&mut self) {
        let mut found = Vec::new();
        for known in self.all.values() {
            for (language, to) in &self.facts[&known.id].languages {
                let other = self.by_url.get(to).filter(|id| self.all[*id].state == State::Done);
                let Some(other) = other.and_then(|id| self.facts.get(id)) else { continue };
                let is_mutual = other.languages.iter().any(|(_, back)| *back == known.url);
                if other.is_html && *to != known.url && !is_mutual {
                    found.push((known.url.clone(), format!("{to} ({language}) doesn't name it")));
                }
            }
        }
        for (url, what) in found {
            self.note("hreflang-mutual", &url, 0, what);
        }
    }
}

/// What is wrong with a link to another site, if it was asked for.
fn outside(to: &Known) -> Option<(&'static str, String)> {
    if to.tries == 0 {
        return None;
    }
    match to.status {
        0 => Some(("link-external", format!("{}: {}", to.url, to.why))),
        // Of others' servers this one often says merely that robots aren't welcome.
        status if is_broken(status) && status != 503 => {
            Some(("link-external", format!("{} answers {status}", to.url)))
        }
        _ => None,
    }
}
