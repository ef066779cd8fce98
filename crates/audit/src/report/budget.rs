//! Budgets: how much of something a report may have, for whoever lets a build fail by it.
//!
//! In: `NAME=N`. Out: what there is of it ([`held`]), and whether that is too much.
//! Invariant: a name that counts nothing is refused with the nearest that does.

use serde::Serialize;

use super::{Report, SiteReport};
use crate::finding::Severity;
use crate::rules::{AXE, HTML, RULES};

/// What is counted beside rules.
const COUNTED: [&str; 5] = ["errors", "warnings", "notices", "new", PAGE_BYTES];
/// The bytes that the heaviest page is sent with, all that it loads from the site included.
const PAGE_BYTES: &str = "page-bytes";

/// The most that there may be of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    name: String,
    most: u64,
}

/// A budget, and what there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// What is counted.
    pub name: String,
    /// The most that there may be.
    pub most: u64,
    /// What there is.
    pub found: u64,
    /// Whether that isn't too much.
    pub is_kept: bool,
    /// Where there is most of it, if it is something of one page.
    pub url: Option<String>,
}

impl Budget {
    /// Reads `NAME=N`.
    ///
    /// # Errors
    /// Nothing is called so, or the number is none; the message says what to write.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || "write a name and a number, as in errors=0".to_owned();
        let (name, most) = text.split_once('=').ok_or_else(wrong)?;
        let (name, most) = (name.trim(), most.trim().parse().map_err(|_| wrong())?);
        let of_others = [HTML, AXE].into_iter().any(|head| {
            name.strip_prefix(head).is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_lowercase() || it == b'-')
            })
        });
        let known = || COUNTED.into_iter().chain(RULES.iter().map(|rule| rule.id));
        if of_others || known().any(|one| one == name) {
            return Ok(Self { name: name.to_owned(), most });
        }
        let nearest = known().min_by_key(|one| distance(name, one)).unwrap_or_default();
        Err(format!(
            "nothing is called {name:?}; the nearest is {nearest:?} (there are {}, and each rule)",
            COUNTED.join(", ")
        ))
    }
}

/// How many letters have to be changed, added or left out (Levenshtein's distance).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (place, own) in other.bytes().enumerate() {
            let changed = before + usize::from(letter != own);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

/// What there is of each, in all sites together; of page bytes, on the heaviest page of any.
#[must_use]
pub fn held(report: &Report, budgets: &[Budget]) -> Vec<Held> {
    let of = |budget: &Budget| {
        let (found, url) = found(report, &budget.name);
        let Budget { name, most } = budget.clone();
        Held { name, most, found, is_kept: found <= most, url }
    };
    budgets.iter().map(of).collect()
}

fn found(report: &Report, name: &str) -> (u64, Option<String>) {
    let totals = report.totals;
    let count = match name {
        "errors" => totals.errors,
        "warnings" => totals.warnings,
        "notices" => totals.notices,
        // What is merely noticed fails nothing unless it is asked for by its name.
        "new" => {
            let is_counted =
                |one: &&super::Grouped| one.is_new && one.finding.severity != Severity::Notice;
            report.findings().filter(is_counted).count()
        }
        PAGE_BYTES => {
            let pages = report.sites.iter().filter_map(|site: &SiteReport| site.heaviest.as_ref());
            let heaviest = pages.max_by_key(|page| page.bytes);
            let bytes = heaviest.map_or(0, |page| page.bytes);
            return (bytes, heaviest.map(|page| page.url.clone()));
        }
        rule => report.findings().filter(|one| one.finding.rule == rule).count(),
    };
    (count as u64, None)
}

#[cfg(test)]
mod tests {
    use super::super::{Grouped, Heaviest};
    use super::*;
    use crate::finding::{Finding, Place};

    #[test]
    fn a_name_that_counts_nothing_is_told_with_the_nearest_that_does() {
        for text in ["errors=0", "page-bytes = 3000000", "image-alt=12", "html-x=1", "axe-y=0"] {
            assert!(Budget::read(text).is_ok(), "{text}");
        }
        for (text, expected) in [
            ("error=0", "\"errors\""),
            ("image-alts=0", "\"image-alt\""),
            ("pagebytes=1", "\"page-bytes\""),
            ("html-=1", "the nearest is"),
            ("errors", "as in errors=0"),
            ("errors=", "as in errors=0"),
            ("errors=-1", "as in errors=0"),
        ] {
            let error = Budget::read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }

    #[test]
    fn budgets_count_what_the_report_tells() {
        let finding = |severity, rule: &str, is_new| {
            let (url, message) = Default::default();
            let (rule, place) = (rule.to_owned(), Place::default());
            Grouped { finding: Finding { severity, rule, url, place, message }, is_new }
        };
        let site = |bytes: u64| SiteReport {
            findings: vec![
                finding(Severity::Error, "image-alt", true),
                finding(Severity::Warning, "image-size", false),
                finding(Severity::Notice, "html-x", true),
            ],
            heaviest: Some(Heaviest { url: format!("http://a/{bytes}"), bytes }),
            ..SiteReport::default()
        };
        let report = Report::of(vec![site(7), site(9), SiteReport::default()]);
        for (text, found, is_kept) in [
            ("errors=2", 2, true),
            ("warnings=1", 2, false),
            ("notices=0", 2, false),
            ("new=1", 2, false),
            ("image-alt=2", 2, true),
            ("image-size=0", 2, false),
            ("html-x=2", 2, true),
            ("axe-none=0", 0, true),
            ("page-bytes=8", 9, false),
        ] {
            let budget = Budget::read(text).unwrap();
            let [held] = &held(&report, &[budget])[..] else { panic!("one is told") };
            assert_eq!((held.found, held.is_kept), (found, is_kept), "{text}");
            let url = (held.name == PAGE_BYTES).then(|| "http://a/9".to_owned());
            assert_eq!(held.url, url);
        }
    }
}
