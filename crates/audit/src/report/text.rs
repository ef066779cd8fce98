//! A report for people, as a terminal shows it.

use std::fmt::Write;

use super::{Report, SiteReport};
use crate::rules::{rule, title};

/// Groups that are told of each site.
const GROUPS_MAX: usize = 40;
const FIXED_MAX: usize = 10;

/// The report as text.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // A string takes whatever is written to it.
    let _ = report.sites.iter().try_for_each(|site| one(site, &mut out));
    let totals = report.totals;
    let _ = writeln!(
        out,
        "{} errors, {} warnings, {} notices; {} new, {} fixed.",
        totals.errors, totals.warnings, totals.notices, totals.new, totals.fixed
    );
    out
}

fn one(site: &SiteReport, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", site.site)?;
    if let Some(error) = &site.error {
        return writeln!(out, "  could not be audited: {error}\n");
    }
    writeln!(
        out,
        "  {} addresses answered, {} of them pages; {} failed, {} on other sites",
        site.answered, site.pages, site.failed, site.outside
    )?;
    for (why, count) in &site.skipped {
        writeln!(out, "  {count} not asked for: {why}")?;
    }
    if !site.is_whole {
        writeln!(
            out,
            "  Not all of it: {} addresses wait, and links were not judged; the next run goes on.",
            site.waiting
        )?;
    }
    for note in &site.notes {
        writeln!(out, "  {note}")?;
    }
    groups(site, out)?;
    if !site.fixed.is_empty() {
        writeln!(out, "\n  Fixed since the last run: {}", site.fixed.len())?;
        for finding in site.fixed.iter().take(FIXED_MAX) {
            writeln!(out, "    {} {}: {}", finding.rule, finding.url, finding.message)?;
        }
    }
    let may = |verdict: &str| verdict == "store";
    let kept: usize = site.cacheability.iter().filter(|one| may(&one.1)).map(|one| one.2).sum();
    if site.pages > 0 {
        writeln!(out, "\n  A cache may keep {kept} of {} pages.", site.pages)?;
    }
    for (route, verdict, pages) in site.cacheability.iter().filter(|one| !may(&one.1)).take(10) {
        writeln!(out, "    {pages} of {route}: {verdict}")?;
    }
    writeln!(out)
}

fn groups(site: &SiteReport, out: &mut String) -> std::fmt::Result {
    let groups = site.groups();
    let mut last = None;
    for group in groups.iter().take(GROUPS_MAX) {
        if last != Some(group.rule) {
            let severity = group.severity.as_str();
            writeln!(out, "\n  {severity}  {}  [{}]", title(group.rule), group.rule)?;
            if let Some(rule) = rule(group.rule) {
                writeln!(out, "    {} {}", rule.why, rule.mend)?;
            }
            last = Some(group.rule);
        }
        let new = if group.new > 0 { format!(" ({} new)", group.new) } else { String::new() };
        let example = group.example;
        let line = match example.place.line {
            0 => String::new(),
            line => format!(" line {line}"),
        };
        writeln!(out, "    {} x {}{new}", group.count, group.route)?;
        writeln!(out, "        {}{line}: {}", example.url, example.message)?;
    }
    if groups.len() > GROUPS_MAX {
        let more = groups.len() - GROUPS_MAX;
        writeln!(out, "\n  and {more} more groups: --html FILE or --format json has them all")?;
    }
    Ok(())
}
