//! Pages judged in a real browser, where the owner asks for it: axe-core over what Chromium makes
//! of them, scripts, styles and all.
//!
//! The browser itself reaches nobody: whatever a page wants is fetched here, by the same rules
//! and at the same pace as all that an audit asks for, and handed over. A few pages are looked
//! at, one of each shape first, since one template makes the same mistakes.
//! Invariants: 1. at most one browser runs at once, however many sites are audited. 2. what goes
//! wrong with a page, or with the browser, is told of that page (`browser-failed`), and the
//! audit goes on. 3. no process and no profile is left behind.
//! Start at [`run`]; a page is `page.rs`, the program `process.rs`, what pages load `embeds.rs`.

mod asked;
mod axe;
mod embeds;
mod folder;
mod page;
mod process;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;
use url::Url;

pub use asked::{BrowserError, BrowserPlan};
pub(crate) use page::wanted_rest;

use crate::book::{Known, State};
use crate::finding::Finding;
use crate::plan::AuditError;
use crate::rules::AXE;
use crate::tests::finding;
use crate::visit::Visit;
use axe::Told;
use embeds::Embeds;
use process::{Chromium, Trouble};

/// Shapes of which a page is looked at, where nobody says how many.
const SHAPES_MAX: usize = 40;
/// A browser that fails so often in a row isn't started again.
const FAILURES_MAX: usize = 3;
/// How many pages were looked at, in the book.
const LOOKED: &str = "looked";
const FAILED: &str = "browser-failed";

/// Whether a rule is one of this module's.
pub(crate) fn is_of_browser(rule: &str) -> bool {
    rule.starts_with(AXE) || rule == FAILED
}

/// Sees that there is a browser which axe-core runs in, before anything is asked for.
pub(crate) async fn check(plan: &BrowserPlan) -> Result<(), BrowserError> {
    let told = |trouble| {
        let why = match trouble {
            Trouble::Browser(why) | Trouble::Page(why) => why,
            Trouble::Stopped => "it was stopped".to_owned(),
        };
        BrowserError::Broken(plan.program.clone(), why)
    };
    let mut chromium = Chromium::start(plan).await.map_err(told)?;
    let version = version(&mut chromium, plan).await;
    chromium.end().await;
    version.map_err(told)
}

async fn version(chromium: &mut Chromium, plan: &BrowserPlan) -> Result<(), Trouble> {
    let blank = json!({ "url": "about:blank" });
    let target = chromium.call(None, "Target.createTarget", blank).await?;
    let attach = json!({ "targetId": target["targetId"], "flatten": true });
    let attached = chromium.call(None, "Target.attachToTarget", attach).await?;
    let expression = format!("{}\n;String(axe.version)", plan.axe);
    let run = json!({ "expression": expression, "returnByValue": true });
    let ran = chromium.call(attached["sessionId"].as_str(), "Runtime.evaluate", run).await?;
    match ran["result"]["value"].as_str() {
        Some(_) if ran["exceptionDetails"].is_null() => Ok(()),
        _ => Err(Trouble::Page("what --axe names doesn't run as axe-core".to_owned())),
    }
}

/// Looks at some pages of a site.
pub(crate) async fn run(visit: &mut Visit<'_>) -> Result<(), AuditError> {
    let Some(plan) = visit.plan.browser.clone() else { return Ok(()) };
    let chosen = chosen(visit, plan.pages)?;
    let done = looked(visit)?;
    let live = visit.live;
    let _turn = tokio::select! {
        turn = live.browser() => turn,
        () = live.stopped() => return Ok(()),
    };
    let mut looking = Looking { plan, chromium: None, embeds: Embeds::default(), failures: 0 };
    let mut version = None;
    for (at, known) in chosen.iter().enumerate().skip(done) {
        if visit.is_over() || looking.failures >= FAILURES_MAX {
            break;
        }
        match looking.at(visit, known).await {
            Ok(told) => {
                let own: HashSet<String> = visit.book.rules_of(known.id)?;
                for finding in told.findings(&known.url, |rule| own.contains(rule)) {
                    visit.book.note(known.id, &finding)?;
                }
                version = Some(told.version);
            }
            Err(Trouble::Stopped) => break,
            Err(Trouble::Page(why) | Trouble::Browser(why)) => {
                if let Some(failed) = finding(FAILED, &known.url, 0, why) {
                    visit.book.note(known.id, &failed)?;
                }
            }
        }
        visit.book.keep(LOOKED, &(at + 1).to_string())?;
    }
    if let Some(chromium) = looking.chromium {
        chromium.end().await;
    }
    let left = chosen.len().saturating_sub(looked(visit)?);
    if left > 0 && !visit.is_over() {
        visit.notes.push(format!(
            "The browser failed {FAILURES_MAX} times in a row: {left} pages were not looked at."
        ));
    } else if let Some(version) = version {
        let pages = chosen.len();
        visit.notes.push(format!("axe-core {version} looked at pages in the browser: {pages}."));
    }
    Ok(())
}

/// A browser, as long as it lives.
struct Looking {
    plan: BrowserPlan,
    chromium: Option<Chromium>,
    embeds: Embeds,
    failures: usize,
}

impl Looking {
    async fn at(&mut self, visit: &mut Visit<'_>, known: &Known) -> Result<Told, Trouble> {
        let url = Url::parse(&known.url).map_err(|error| Trouble::Page(error.to_string()))?;
        let told = self.told(visit, &url).await;
        match &told {
            Err(Trouble::Browser(_)) => {
                self.failures += 1;
                if let Some(chromium) = self.chromium.take() {
                    chromium.end().await;
                }
            }
            Err(Trouble::Stopped) => {}
            _ => self.failures = 0,
        }
        told
    }

    async fn told(&mut self, visit: &mut Visit<'_>, url: &Url) -> Result<Told, Trouble> {
        if self.chromium.is_none() {
            let live = visit.live;
            let started = tokio::select! {
                started = Chromium::start(&self.plan) => started?,
                () = live.stopped() => return Err(Trouble::Stopped),
            };
            self.chromium = Some(started);
        }
        let Some(chromium) = &mut self.chromium else { return Err(Trouble::Stopped) };
        page::examined(chromium, visit, &mut self.embeds, &self.plan.axe, url).await
    }
}

/// How many of the chosen pages were looked at.
fn looked(visit: &Visit<'_>) -> Result<usize, AuditError> {
    let looked = visit.book.kept(LOOKED)?.unwrap_or_default();
    Ok(looked.parse().unwrap_or(0))
}

/// The pages that were judged in the browser in this run.
pub(crate) fn judged(
    visit: &Visit<'_>,
    findings: &[Finding],
) -> Result<HashSet<String>, AuditError> {
    let Some(plan) = &visit.plan.browser else { return Ok(HashSet::new()) };
    let failed = findings.iter().filter(|one| one.rule == FAILED).map(|one| one.url.as_str());
    let failed: HashSet<&str> = failed.collect();
    let chosen = chosen(visit, plan.pages)?.into_iter().take(looked(visit)?);
    Ok(chosen.map(|known| known.url).filter(|url| !failed.contains(url.as_str())).collect())
}

/// What is looked at: of each shape one page, then of each another. Which pages those are says
/// the site alone, and not the order in which they came, so that runs can be compared.
fn chosen(visit: &Visit<'_>, pages: Option<usize>) -> Result<Vec<Known>, AuditError> {
    let mut all: Vec<Known> = visit.book.addresses()?.into_values().collect();
    all.retain(|page| page.state == State::Done && page.status == 200 && page.facts().is_html);
    all.sort_by(|one, other| (one.depth, &one.url).cmp(&(other.depth, &other.url)));
    Ok(in_turns(all, |page| crate::report::route(&page.url), pages))
}

/// The first of each kind, in their order, then the second of each, as many as are wanted: where
/// nobody says how many, the first of each.
fn in_turns<T>(all: Vec<T>, kind: impl Fn(&T) -> String, wanted: Option<usize>) -> Vec<T> {
    let mut kinds: HashMap<String, usize> = HashMap::new();
    let mut turns: BTreeMap<usize, Vec<T>> = BTreeMap::new();
    for one in all {
        let turn = kinds.entry(kind(&one)).or_default();
        turns.entry(*turn).or_default().push(one);
        *turn += 1;
    }
    let (turns_max, most) = wanted.map_or((1, SHAPES_MAX), |wanted| (usize::MAX, wanted));
    turns.into_values().take(turns_max).flatten().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_each_kind_comes_before_a_second_of_any() {
        let all = ["a1", "a2", "b1", "a3", "c1", "b2"];
        for (wanted, expected) in [
            (None, "a1 b1 c1"),
            (Some(2), "a1 b1"),
            (Some(4), "a1 b1 c1 a2"),
            (Some(9), "a1 b1 c1 a2 b2 a3"),
            (Some(0), ""),
        ] {
            let chosen = in_turns(all.to_vec(), |one| one[..1].to_owned(), wanted);
            assert_eq!(chosen.join(" "), expected, "{wanted:?}");
        }
    }
}
