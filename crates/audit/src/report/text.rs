//! A report for people, as a terminal shows it: what is worst first, each rule once.
//!
//! Under a rule stands one example for each kind of what breaks it most: kinds are what is said
//! or the routes of the pages, whichever are fewer. Rules of HTML's specification are told as
//! one, since browsers mend what breaks them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use url::Url;

use super::{Cacheable, Grouped, Held, Report, SiteReport, route};
use crate::fetch::target;
use crate::finding::{Finding, Severity};
use crate::rules::{HTML, rule, title};
use crate::tests::caching::may_keep;

/// Examples of one rule.
const EXAMPLES_MAX: usize = 3;
/// Rules of HTML's specification that are told.
const OF_HTML_MAX: usize = 5;
const FIXED_MAX: usize = 10;
/// Kinds of pages that caches may not keep.
const KEPT_MAX: usize = 10;
/// A message that is longer is told as far as this.
const MESSAGE_BYTES_MAX: usize = 160;

/// The report as text.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // A string takes whatever is written to it.
    let _ = report.sites.iter().try_for_each(|site| one(site, &mut out));
    let totals = report.totals;
    let unseen = report.sites.iter().filter(|site| site.error.is_some()).count();
    if unseen > 0 {
        let _ = writeln!(out, "{} could not be audited.", counted(unseen, "site"));
    }
    if unseen == report.sites.len() {
        return out;
    }
    let _ = write!(
        out,
        "{}, {}, {}",
        counted(totals.errors, "error"),
        counted(totals.warnings, "warning"),
        counted(totals.notices, "notice")
    );
    if report.sites.iter().any(|site| site.error.is_none() && !site.is_first) {
        let _ = write!(out, "; {} new, {} fixed", totals.new, totals.fixed);
    }
    out.push_str(".\n");
    for held in &report.budgets {
        let what = if held.is_kept { "within" } else { "OVER" };
        let place = held.url.as_ref().map_or_else(String::new, |url| format!(" ({url})"));
        let Held { name, most, found, .. } = held;
        let _ = writeln!(out, "Budget: {found} of at most {most} {name}, {what}{place}.");
    }
    out
}

/// What changed since the last whole run, a line each; nothing where nothing did.
#[must_use]
pub fn news(report: &Report) -> String {
    let mut out = String::new();
    for site in &report.sites {
        if let Some(error) = &site.error {
            let _ = writeln!(out, "{}: could not be audited: {error}", site.site);
        }
        let new = site.findings.iter().filter(|one| one.is_new).map(|one| ("new", &one.finding));
        let fixed = site.fixed.iter().map(|finding| ("fixed", finding));
        for (what, finding) in new.chain(fixed) {
            let (severity, rule) = (finding.severity.as_str(), &finding.rule);
            let line = match finding.place.line {
                0 => String::new(),
                line => format!(" line {line}"),
            };
            let message = &finding.message;
            let _ = writeln!(out, "{what} {severity} [{rule}] {}{line}  {message}", finding.url);
        }
    }
    out
}

/// A number with its noun.
fn counted(count: usize, noun: &str) -> String {
    let more = match (count, noun.strip_suffix("ss")) {
        (1, _) => "",
        (_, Some(_)) => "es",
        _ => "s",
    };
    format!("{count} {noun}{more}")
}

fn one(site: &SiteReport, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", site.site)?;
    if let Some(error) = &site.error {
        return writeln!(out, "  could not be audited: {error}\n");
    }
    let others = site.answered.saturating_sub(site.pages);
    write!(out, "  {}, {}", counted(site.pages, "page"), counted(others, "other address"))?;
    if site.failed > 0 {
        write!(out, ", {} without an answer", site.failed)?;
    }
    write!(out, "; {} to other sites", counted(site.outside, "link"))?;
    match (site.outside, site.outside_tried) {
        (0, _) => writeln!(out)?,
        (_, 0) => writeln!(out, ", not tried (--external tries them)")?,
        (_, tried) => writeln!(out, ", {tried} of them tried")?,
    }
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
    let own = Url::parse(&site.site).ok();
    for entry in entries(site) {
        entry.write(site, own.as_ref(), out)?;
    }
    if !site.fixed.is_empty() {
        let past = site.baseline.as_deref().unwrap_or("the last run");
        writeln!(out, "\n  Fixed since {past}: {}", site.fixed.len())?;
        for finding in site.fixed.iter().take(FIXED_MAX) {
            let place = short(&finding.url, own.as_ref());
            writeln!(out, "    [{}] {place}  {}", finding.rule, finding.message)?;
        }
    }
    kept(site, out)?;
    writeln!(out)
}

/// What caches may keep.
fn kept(site: &SiteReport, out: &mut String) -> std::fmt::Result {
    let may = |one: &&Cacheable| may_keep(&one.verdict);
    let kept: usize = site.cacheability.iter().filter(may).map(|one| one.pages).sum();
    // Of what a server keeps itself it isn't asked.
    if site.from_cache > 0 {
        let from = counted(site.from_cache, "page");
        writeln!(out, "\n  {from} came from a cache on the way, and cost the origin nothing.")?;
    }
    if !site.cacheability.is_empty() {
        writeln!(out, "\n  Caches may keep {kept} of {}.", counted(site.pages, "page"))?;
    }
    let mut not: Vec<_> = site.cacheability.iter().filter(|one| !may(one)).collect();
    // What costs most first.
    not.sort_by_key(|one| std::cmp::Reverse((one.price_ms(), one.pages)));
    for Cacheable { route, verdict, pages, median_ms } in not.iter().take(KEPT_MAX) {
        write!(out, "    not {pages} of {route}: {verdict}")?;
        match median_ms {
            Some(ms) if *pages > 1 => writeln!(out, ", {ms} ms each")?,
            Some(ms) => writeln!(out, ", {ms} ms")?,
            None => writeln!(out)?,
        }
    }
    if not.len() > KEPT_MAX {
        writeln!(out, "    and {} more kinds of pages", not.len() - KEPT_MAX)?;
    }
    Ok(())
}

/// What one rule found.
struct Entry<'a> {
    severity: Severity,
    rule: &'a str,
    found: Vec<&'a Finding>,
    new: usize,
    pages: HashSet<&'a str>,
}

/// What was found by rules, the worst first, and of equals what is on most pages.
fn entries(site: &SiteReport) -> Vec<Entry<'_>> {
    let mut entries: HashMap<(Severity, &str), Entry<'_>> = HashMap::new();
    for Grouped { finding, is_new } in &site.findings {
        let rule = if finding.rule.starts_with(HTML) { HTML } else { finding.rule.as_str() };
        let severity = finding.severity;
        let (found, pages) = (Vec::new(), HashSet::new());
        let none = Entry { severity, rule, found, new: 0, pages };
        let entry = entries.entry((severity, rule)).or_insert(none);
        entry.found.push(finding);
        entry.new += usize::from(*is_new);
        entry.pages.insert(&finding.url);
    }
    let mut entries: Vec<_> = entries.into_values().collect();
    entries.sort_by_key(|entry| {
        let pages = std::cmp::Reverse(entry.pages.len());
        (entry.severity, entry.rule == HTML, pages, entry.rule)
    });
    entries
}

/// Findings of one kind: how many, what they have in common if that isn't what they say, and
/// the first.
struct Kind<'a> {
    count: usize,
    name: String,
    first: &'a Finding,
}

fn kinds<'a>(found: &[&'a Finding], name: impl Fn(&Finding) -> String) -> Vec<Kind<'a>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    for first in found {
        let name = name(first);
        let at = *places.entry(name.clone()).or_insert(kinds.len());
        match kinds.get_mut(at) {
            Some(known) => known.count += 1,
            None => kinds.push(Kind { count: 1, name, first }),
        }
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    kinds
}

impl Entry<'_> {
    fn kinds(&self) -> Vec<Kind<'_>> {
        if self.rule == HTML {
            return kinds(&self.found, |one| one.rule.clone());
        }
        let mut said = kinds(&self.found, |one| one.message.clone());
        let routes = kinds(&self.found, |one| route(&one.url));
        // Of links, what they lead to is to be mended.
        if routes.len() < said.len() && !self.rule.starts_with("link-") {
            return routes;
        }
        said.iter_mut().for_each(|kind| kind.name.clear());
        said
    }

    fn write(&self, site: &SiteReport, own: Option<&Url>, out: &mut String) -> std::fmt::Result {
        let is_html = self.rule == HTML;
        let id = if is_html { "html-…" } else { self.rule };
        let severity = self.severity.as_str();
        write!(out, "\n  {severity:<7}  {} [{id}]: ", title(self.rule))?;
        match self.pages.len() == site.pages && site.pages > 1 {
            true => write!(out, "every page")?,
            // What pages load may break these, too.
            false
                if ["cache-", "weight-", "map-", "redirect-"]
                    .iter()
                    .any(|rules| self.rule.starts_with(rules)) =>
            {
                write!(out, "{}", counted(self.pages.len(), "address"))?;
            }
            false => write!(out, "{}", counted(self.pages.len(), "page"))?,
        }
        if self.found.len() > self.pages.len() {
            write!(out, ", {} times", self.found.len())?;
        }
        match self.new {
            0 => {}
            new if new == self.found.len() => write!(out, ", new")?,
            new => write!(out, ", {new} new")?,
        }
        writeln!(out)?;
        if let Some(rule) = rule(self.rule) {
            writeln!(out, "    {} {}", rule.why, rule.mend)?;
        }
        let kinds = self.kinds();
        let most = if is_html { OF_HTML_MAX } else { EXAMPLES_MAX };
        for kind in kinds.iter().take(most) {
            let place = short(&kind.first.url, own);
            write!(out, "      {place}")?;
            if kind.first.place.line > 0 {
                write!(out, " line {}", kind.first.place.line)?;
            }
            let message = &kind.first.message;
            let shown = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
            let more = if shown.len() < message.len() { "…" } else { "" };
            write!(out, "  {shown}{more}")?;
            match (kind.count, kind.name.as_str()) {
                (1, _) => writeln!(out)?,
                // Of what all pages have, one is enough.
                (_, _) if kinds.len() == 1 && !is_html => writeln!(out)?,
                (count, "") => writeln!(out, "  ({count} times)")?,
                (count, name) => writeln!(out, "  ({count} x {name})")?,
            }
        }
        let left = kinds.len().saturating_sub(most);
        if left > 0 {
            writeln!(
                out,
                "      and {left} more like these; --html FILE or --format json has all"
            )?;
        }
        Ok(())
    }
}

/// An address as a report shows it: on the site itself without its host.
fn short(url: &str, own: Option<&Url>) -> String {
    match Url::parse(url) {
        Ok(parsed) if own.is_some_and(|own| own.origin() == parsed.origin()) => target(&parsed),
        _ => url.to_owned(),
    }
}
