//! What an audit found: totals, groups, and what is new or mended since the last one.

mod budget;
mod formats;
mod html;
mod text;

use std::collections::BTreeMap;

use policy::strangers::shape;
use serde::Serialize;
use url::Url;

use crate::fetch::target;
use crate::finding::{Finding, Severity};

pub use budget::{Budget, Held, held};
pub use formats::{github, json, junit, sarif};
pub use html::html;
pub use text::{news, text};

/// What the JSON counts up when its shape changes.
pub const FORM: u32 = 1;

/// A finding, and whether the last whole run had it.
#[derive(Clone, Debug, Serialize)]
pub struct Grouped {
    /// It.
    #[serde(flatten)]
    pub finding: Finding,
    /// Whether it is new; nothing is in the first run of a site.
    pub is_new: bool,
}

/// What was found of one site.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SiteReport {
    /// Where it begins.
    pub site: String,
    /// Why it couldn't be audited.
    pub error: Option<String>,
    /// Whether all of it was visited; a run that was stopped goes on the next time.
    pub is_whole: bool,
    /// Whether there is no earlier run to compare with.
    pub is_first: bool,
    /// The report that it is compared with instead of the last run.
    pub baseline: Option<String>,
    /// Addresses that were answered.
    pub answered: usize,
    /// Pages of HTML among them.
    pub pages: usize,
    /// Addresses that gave no answer.
    pub failed: usize,
    /// Addresses that still wait.
    pub waiting: usize,
    /// Addresses of other sites.
    pub outside: usize,
    /// Those of them that were asked for.
    pub outside_tried: usize,
    /// Addresses that weren't asked for, by the reason.
    pub skipped: BTreeMap<String, usize>,
    /// Pages that came from a cache on the way.
    pub from_cache: usize,
    /// Pages by route and verdict.
    pub cacheability: Vec<Cacheable>,
    /// The page that is sent with most bytes.
    pub heaviest: Option<Heaviest>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What was found, the worst first.
    pub findings: Vec<Grouped>,
    /// What the last whole run found, and this one doesn't.
    pub fixed: Vec<Finding>,
}

/// What caches may do with the pages of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cacheable {
    /// The route.
    pub route: String,
    /// `store`, or the reason why a cache may not keep them.
    pub verdict: String,
    /// How many pages.
    pub pages: usize,
    /// What each costs whoever waits for it, in milliseconds: the median of those that no cache
    /// answered, where they may not be kept.
    pub median_ms: Option<u64>,
}

impl Cacheable {
    /// What all of them cost together.
    #[must_use]
    pub fn price_ms(&self) -> u64 {
        self.median_ms.unwrap_or(0).saturating_mul(self.pages as u64)
    }
}

/// A page, and the bytes that it is sent with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heaviest {
    /// Its address.
    pub url: String,
    /// All that it loads from the site included.
    pub bytes: u64,
}

/// Findings of one rule on pages of one route.
#[derive(Clone, Debug, Serialize)]
pub struct Group<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// The rule.
    pub rule: &'a str,
    /// The route: a page's address without what tells it from others of its kind.
    pub route: String,
    /// Findings.
    pub count: usize,
    /// New ones among them.
    pub new: usize,
    /// The first.
    pub example: &'a Finding,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notices.
    pub notices: usize,
    /// New ones.
    pub new: usize,
    /// Those that are gone.
    pub fixed: usize,
}

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its shape: [`FORM`].
    pub form: u32,
    /// All sites together.
    pub totals: Totals,
    /// Each site.
    pub sites: Vec<SiteReport>,
    /// What there may be of it, and is.
    pub budgets: Vec<Held>,
}

impl Report {
    /// The same report, held against budgets.
    #[must_use]
    pub fn within(self, budgets: &[Budget]) -> Self {
        Self { budgets: held(&self, budgets), ..self }
    }

    /// Whether there is no more of anything than there may be.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.budgets.iter().all(|held| held.is_kept)
    }

    /// Adds up.
    #[must_use]
    pub fn of(sites: Vec<SiteReport>) -> Self {
        let mut totals = Totals::default();
        for site in &sites {
            totals.fixed += site.fixed.len();
            for one in &site.findings {
                totals.new += usize::from(one.is_new);
                match one.finding.severity {
                    Severity::Error => totals.errors += 1,
                    Severity::Warning => totals.warnings += 1,
                    Severity::Notice => totals.notices += 1,
                }
            }
        }
        Self { form: FORM, totals, sites, budgets: Vec::new() }
    }

    /// All findings.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Grouped> {
        self.sites.iter().flat_map(|site| &site.findings)
    }
}

impl SiteReport {
    /// Its findings by rule and route, the worst and most frequent first.
    #[must_use]
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: BTreeMap<(Severity, &str, String), Group<'_>> = BTreeMap::new();
        for Grouped { finding, is_new } in &self.findings {
            let route = route(&finding.url);
            let key = (finding.severity, finding.rule.as_str(), route.clone());
            let group = groups.entry(key).or_insert(Group {
                severity: finding.severity,
                rule: &finding.rule,
                route,
                count: 0,
                new: 0,
                example: finding,
            });
            group.count += 1;
            group.new += usize::from(*is_new);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|group| (group.severity, std::cmp::Reverse(group.count)));
        groups
    }
}

/// The route of an address.
#[must_use]
pub fn route(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| shape(&target(&url)))
}
