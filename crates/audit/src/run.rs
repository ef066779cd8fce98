//! An audit from its beginning to its report: all sites at once, each at its own pace.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::future::join_all;
use url::Url;

use crate::book::State;
use crate::browser;
use crate::fetch::Client;
use crate::finding::Finding;
use crate::live::Live;
use crate::plan::{AuditError, Plan};
use crate::report::{Cacheable, Grouped, Report, SiteReport};
use crate::rules::rule;
use crate::tests;
use crate::visit::Visit;

/// Audits, and tells what was found. A site that can't be audited says so in its part; the other
/// sites are audited all the same.
///
/// # Errors
/// TLS can't be set up, or there is no browser where one is wanted.
pub async fn run(plan: &Plan, live: &Live) -> Result<Report, AuditError> {
    let client = Client::new()?;
    if let Some(browser) = &plan.browser {
        browser::check(browser).await?;
    }
    let visits = plan.sites.iter().map(|seed| one(plan, live, client.clone(), seed));
    let sites = join_all(visits).await;
    Ok(Report::of(sites))
}

async fn one(plan: &Plan, live: &Live, client: Client, seed: &Url) -> SiteReport {
    match audit(plan, live, client, seed).await {
        Ok(report) => report,
        Err(error) => SiteReport {
            site: seed.to_string(),
            error: Some(error.to_string()),
            ..SiteReport::default()
        },
    }
}

async fn audit(
    plan: &Plan,
    live: &Live,
    client: Client,
    seed: &Url,
) -> Result<SiteReport, AuditError> {
    let mut visit = Visit::begin(plan, live, client, seed).await?;
    let baseline = plan.baseline.as_ref().map(|baseline| baseline.of(seed)).transpose()?;
    let is_whole = visit.go().await?;
    let mut findings = visit.book.findings()?;
    let mut heaviest = None;
    // Half of a site says little about what leads where.
    if is_whole {
        let examined = tests::site::examine(&visit.book)?;
        findings.extend(examined.findings);
        heaviest = examined.heaviest;
    }
    findings.retain(|finding| is_of(plan, finding));
    findings.sort();
    findings.dedup();
    let last = visit.book.past()?;
    let mut report = SiteReport { site: seed.to_string(), is_whole, ..SiteReport::default() };
    report.heaviest = heaviest;
    // What is written down for the next run is what this one found, whatever it is shown beside.
    let left = left_for_the_next(&visit, &findings, &last)?;
    let past = baseline.unwrap_or(&last);
    report.baseline = plan.baseline.as_ref().map(|baseline| baseline.path().display().to_string());
    report.is_first = baseline.is_none() && !visit.book.kept_past()?;
    compare(&visit, &mut report, findings, past)?;
    count(&visit, &mut report)?;
    if is_whole && report.pages == 0 {
        return Err(empty(&visit, seed)?);
    }
    report.notes = std::mem::take(&mut visit.notes);
    if let Some(names) = plan.tests.names() {
        report.notes.push(format!("Of the tests only these were run: {names}."));
    }
    if is_whole {
        let mut all: Vec<Finding> = report.findings.iter().map(|one| one.finding.clone()).collect();
        all.extend(left);
        visit.book.end(&all)?;
    }
    Ok(report)
}

/// What the last run found, and this one didn't look for.
fn left_for_the_next(
    visit: &Visit<'_>,
    findings: &[Finding],
    last: &HashMap<u64, Finding>,
) -> Result<Vec<Finding>, AuditError> {
    let unseen = unseen(visit, findings, last)?;
    Ok(unseen.iter().filter_map(|mark| last.get(mark).cloned()).collect())
}

/// What is new, and what is gone.
fn compare(
    visit: &Visit<'_>,
    report: &mut SiteReport,
    findings: Vec<Finding>,
    past: &HashMap<u64, Finding>,
) -> Result<(), AuditError> {
    if report.is_whole {
        let marks: HashSet<u64> = findings.iter().map(Finding::mark).collect();
        let unseen = unseen(visit, &findings, past)?;
        let gone = past.iter().filter(|(mark, _)| !marks.contains(mark) && !unseen.contains(mark));
        report.fixed = gone.map(|(_, finding)| finding.clone()).collect();
        report.fixed.sort();
    }
    let is_first = report.is_first;
    let is_new = |finding: &Finding| !is_first && !past.contains_key(&finding.mark());
    let grouped = |finding| Grouped { is_new: is_new(&finding), finding };
    report.findings = findings.into_iter().map(grouped).collect();
    Ok(())
}

/// Whether a finding is of a kind that was asked for.
fn is_of(plan: &Plan, finding: &Finding) -> bool {
    rule(&finding.rule).is_none_or(|rule| plan.tests.has(rule.kind))
}

/// What an earlier run found by tests that this one didn't run, or in the browser on pages that
/// it didn't look at: it is neither there nor gone.
fn unseen(
    visit: &Visit<'_>,
    findings: &[Finding],
    past: &HashMap<u64, Finding>,
) -> Result<HashSet<u64>, AuditError> {
    let mut unseen: HashSet<u64> =
        past.iter().filter(|(_, one)| !is_of(visit.plan, one)).map(|(mark, _)| *mark).collect();
    let of_browser = || past.iter().filter(|(_, one)| browser::is_of_browser(&one.rule));
    if of_browser().next().is_none() {
        return Ok(unseen);
    }
    let judged = browser::judged(visit, findings)?;
    let there: HashSet<String> = visit.book.addresses()?.into_values().map(|it| it.url).collect();
    let unjudged =
        of_browser().filter(|(_, one)| there.contains(&one.url) && !judged.contains(&one.url));
    unseen.extend(unjudged.map(|(mark, _)| *mark));
    Ok(unseen)
}

/// Why there is no page: what the first address came to.
fn empty(visit: &Visit<'_>, seed: &Url) -> Result<AuditError, AuditError> {
    let first = visit.book.addresses()?.into_values().min_by_key(|known| known.id);
    let what = match first {
        Some(known) if known.state == State::Failed => known.why,
        Some(known) if known.location.is_empty() => format!("answers {}", known.status),
        Some(known) => format!("sends on to {}", known.location),
        None => "was not asked".to_owned(),
    };
    Ok(AuditError::Empty(seed.to_string(), what))
}

/// Addresses, and the cache's verdicts by route.
fn count(visit: &Visit<'_>, report: &mut SiteReport) -> Result<(), AuditError> {
    let mut verdicts: BTreeMap<(String, String), Vec<Option<u64>>> = BTreeMap::new();
    for known in visit.book.addresses()?.into_values() {
        match known.state {
            State::Done => report.answered += 1,
            State::Failed => report.failed += 1,
            State::Skipped => *report.skipped.entry(known.why.clone()).or_default() += 1,
            State::Waiting => report.waiting += 1,
            State::Outside => {
                report.outside += 1;
                report.outside_tried += usize::from(known.tries > 0);
            }
        }
        let facts = known.facts();
        if known.state == State::Done && facts.is_html {
            report.pages += 1;
            report.from_cache += usize::from(facts.is_from_cache);
            let took = (!facts.is_from_cache).then_some(known.took_ms);
            let route = crate::report::route(&known.url);
            verdicts.entry((route, facts.verdict)).or_default().push(took);
        }
    }
    let cacheable = |((route, verdict), took): ((String, String), Vec<Option<u64>>)| {
        let pages = took.len();
        let is_kept = tests::caching::may_keep(&verdict);
        let median_ms = median(took.into_iter().flatten().filter(|_| !is_kept).collect());
        Cacheable { route, verdict, pages, median_ms }
    };
    report.cacheability = verdicts.into_iter().map(cacheable).collect();
    Ok(())
}

/// The middle one; of two in the middle the lesser.
fn median(mut all: Vec<u64>) -> Option<u64> {
    all.sort_unstable();
    all.get(all.len().checked_sub(1)? / 2).copied()
}
