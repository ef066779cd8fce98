//! A report as one page of HTML that needs nothing else.
//!
//! The findings are data in the page, and a script shows the groups, and of a group only what
//! fits: so a hundred thousand findings open at once.
//! Invariant: nothing of a site gets into the page but as JSON in which no `<` is left, and the
//! script puts it there as text and never as markup.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Report, route};
use crate::rules::{rule, title};

const PAGE: &str = include_str!("page.html");

/// The report as a page.
#[must_use]
pub fn html(report: &Report) -> String {
    let broken: BTreeSet<&str> = report.findings().map(|one| one.finding.rule.as_str()).collect();
    let told = |id: &str| {
        let rule = rule(id)?;
        Some((id.to_owned(), json!([title(id), rule.why, rule.mend, rule.source])))
    };
    let rules: serde_json::Map<String, Value> = broken.into_iter().filter_map(told).collect();
    let sites: Vec<Value> = report
        .sites
        .iter()
        .map(|site| {
            let findings: Vec<Value> = site
                .findings
                .iter()
                .map(|one| {
                    let finding = &one.finding;
                    json!([
                        finding.severity,
                        finding.rule,
                        route(&finding.url),
                        finding.url,
                        finding.place.line,
                        finding.message,
                        u8::from(one.is_new)
                    ])
                })
                .collect();
            let fixed: Vec<Value> = site
                .fixed
                .iter()
                .map(|finding| json!([finding.rule, finding.url, finding.message]))
                .collect();
            json!({
                "site": site.site, "error": site.error, "whole": site.is_whole,
                "first": site.is_first, "baseline": site.baseline, "answered": site.answered, "pages": site.pages,
                "failed": site.failed, "waiting": site.waiting, "outside": site.outside,
                "tried": site.outside_tried,
                "skipped": site.skipped, "cacheability": site.cacheability,
                "notes": site.notes, "findings": findings, "fixed": fixed,
            })
        })
        .collect();
    let data = json!({
        "totals": report.totals, "budgets": report.budgets, "rules": rules, "sites": sites,
    });
    // Within JSON a `<` stands in strings only, where it may as well be spelled so.
    PAGE.replacen("DATA", &data.to_string().replace('<', "\\u003c"), 1)
}
