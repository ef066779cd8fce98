//! A report for programs: JSON, JUnit, SARIF, and annotations of GitHub's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};

use super::{Held, Report};
use crate::finding::{Finding, Severity};
use crate::rules::{RULES, rule, title};

/// GitHub shows so many annotations of a step.
const ANNOTATIONS_MAX: usize = 50;

/// The report as JSON, whose shape `docs/audit.md` tells.
#[must_use]
pub fn json(report: &Report) -> String {
    let sites: Vec<Value> = report
        .sites
        .iter()
        .map(|site| {
            let mut value = json!(site);
            value["groups"] = json!(site.groups());
            value
        })
        .collect();
    let whole = json!({
        "form": report.form,
        "totals": report.totals,
        "budgets": report.budgets,
        "sites": sites,
    });
    format!("{whole:#}\n")
}

/// A test suite for each site, a test case for each rule.
#[must_use]
pub fn junit(report: &Report) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for site in &report.sites {
        let mut by_rule: BTreeMap<&str, Vec<&Finding>> =
            RULES.iter().map(|rule| (rule.id, Vec::new())).collect();
        for one in &site.findings {
            by_rule.entry(&one.finding.rule).or_default().push(&one.finding);
        }
        let failures = by_rule.values().filter(|found| fails(found)).count();
        let errors = usize::from(site.error.is_some());
        let name = escaped(&site.site);
        // A string takes whatever is written to it.
        let _ = writeln!(
            out,
            "<testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\">",
            by_rule.len() + errors
        );
        if let Some(error) = &site.error {
            let error = escaped(error);
            let _ = writeln!(
                out,
                "<testcase classname=\"{name}\" name=\"audit\"><error message=\"{error}\"/></testcase>"
            );
        }
        for (id, found) in &by_rule {
            case(&mut out, &name, id, found);
        }
        out.push_str("</testsuite>\n");
    }
    budgets(&mut out, &report.budgets);
    out.push_str("</testsuites>\n");
    out
}

/// A test for each budget.
fn budgets(out: &mut String, all: &[Held]) {
    if all.is_empty() {
        return;
    }
    let failures = all.iter().filter(|held| !held.is_kept).count();
    // A string takes whatever is written to it.
    let _ = writeln!(
        out,
        "<testsuite name=\"budgets\" tests=\"{}\" failures=\"{failures}\" errors=\"0\">",
        all.len()
    );
    for held in all {
        let _ = write!(out, "<testcase classname=\"budgets\" name=\"{}\">", escaped(&held.name));
        if !held.is_kept {
            let _ = write!(out, "<failure message=\"{}\"/>", escaped(&over(held)));
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n");
}

/// What is too much, and where.
fn over(held: &Held) -> String {
    let place = held.url.as_ref().map_or_else(String::new, |url| format!(" ({url})"));
    format!("{} of at most {} {}{place}", held.found, held.most, held.name)
}

/// What is merely noticed fails no test.
fn fails(found: &[&Finding]) -> bool {
    found.iter().any(|finding| finding.severity != Severity::Notice)
}

fn case(out: &mut String, site: &str, id: &str, found: &[&Finding]) {
    let id = escaped(id);
    let _ = write!(out, "<testcase classname=\"{site}\" name=\"{id}\">");
    if fails(found) {
        let title = escaped(&title(&id));
        let _ = write!(out, "<failure message=\"{}: {title}\">", found.len());
        for finding in found {
            let line = format!("{}:{} {}\n", finding.url, finding.place.line, finding.message);
            out.push_str(&escaped(&line));
        }
        out.push_str("</failure>");
    }
    out.push_str("</testcase>\n");
}

/// SARIF 2.1.0.
#[must_use]
pub fn sarif(report: &Report) -> String {
    let own = RULES.iter().map(|rule| rule.id);
    let ids: BTreeSet<&str> =
        own.chain(report.findings().map(|one| one.finding.rule.as_str())).collect();
    let described = |id: &str| {
        let rule = rule(id)?;
        Some(json!({
            "id": id,
            "shortDescription": { "text": title(id) },
            "fullDescription": { "text": rule.why },
            "help": { "text": format!("{} ({})", rule.mend, rule.source) },
            "defaultConfiguration": { "level": level(rule.severity) },
        }))
    };
    let rules: Vec<Value> = ids.into_iter().filter_map(described).collect();
    let results: Vec<Value> = report
        .findings()
        .map(|one| {
            let finding = &one.finding;
            let mut place = json!({ "artifactLocation": { "uri": finding.url } });
            if finding.place.line > 0 {
                place["region"] = json!({ "startLine": finding.place.line });
            }
            json!({
                "ruleId": finding.rule,
                "level": level(finding.severity),
                "message": { "text": finding.message },
                "locations": [{ "physicalLocation": place }],
                "partialFingerprints": { "wick/v1": format!("{:016x}", finding.mark()) },
                "baselineState": if one.is_new { "new" } else { "unchanged" },
            })
        })
        .collect();
    let whole = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "wick audit",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{whole:#}\n")
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Notice => "note",
    }
}

/// Workflow commands, the worst first; one for each group, as GitHub shows few.
#[must_use]
pub fn github(report: &Report) -> String {
    let mut out = String::new();
    let groups: Vec<_> = report.sites.iter().flat_map(super::SiteReport::groups).collect();
    for group in groups.iter().take(ANNOTATIONS_MAX) {
        let what = rule(group.rule).map_or("", |rule| rule.mend);
        let message = format!(
            "{} on {} ({} findings): {}: {} {what}",
            title(group.rule),
            group.route,
            group.count,
            group.example.url,
            group.example.message
        );
        let severity = group.severity.as_str();
        let _ = writeln!(out, "::{severity} title={}::{}", command(group.rule), command(&message));
    }
    for site in &report.sites {
        if let Some(error) = &site.error {
            let message = format!("{} could not be audited: {error}", site.site);
            let _ = writeln!(out, "::error title=audit::{}", command(&message));
        }
    }
    for held in report.budgets.iter().filter(|held| !held.is_kept) {
        let _ = writeln!(out, "::error title=budget::{}", command(&over(held)));
    }
    out
}

/// As workflow commands spell what would end them.
fn command(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As XML writes it; what XML can't write at all is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            _ if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {}
            _ => out.push(letter),
        }
    }
    out
}
