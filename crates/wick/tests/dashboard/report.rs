//! The report of an audit with a hundred thousand findings, in a real browser: it opens, a group
//! opens, what is searched for is found, and nothing keeps anybody from reading it.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use ::audit::report::{Budget, Cacheable, Grouped, Report, SiteReport, html};
use ::audit::{Finding, Place, Severity};

use crate::browser::{self, Browser, Outcome};
use crate::look::{Looker, pictures};
use crate::wick::open_folder;

const FINDINGS: usize = 100_000;
/// What is searched for, and stands in one finding alone.
const LONE: &str = "lamp 77777 ";

/// A large board's: few rules on many pages, and many words.
fn report() -> Report {
    const RULES: [(&str, Severity); 7] = [
        ("image-alt", Severity::Error),
        ("link-broken", Severity::Error),
        ("image-size", Severity::Warning),
        ("html-duplicate-attribute", Severity::Warning),
        ("title-duplicate", Severity::Warning),
        ("description-missing", Severity::Notice),
        ("cache-wasted", Severity::Notice),
    ];
    let finding = |at: usize| {
        let (rule, severity) = RULES[at % RULES.len()];
        let finding = Finding {
            severity,
            rule: rule.to_owned(),
            url: format!("http://board.example/thread/{}", at / 5),
            place: Place { line: at as u64 % 900 + 1, column: 1 },
            message: format!("the picture of lamp {at} <b>&amp; its wick</b> has no text"),
        };
        Grouped { finding, is_new: at.is_multiple_of(1_000) }
    };
    let mut findings: Vec<Grouped> = (0..FINDINGS).map(finding).collect();
    findings.sort_by(|one, other| one.finding.cmp(&other.finding));
    let fixed = findings[..20].iter().map(|one| one.finding.clone()).collect();
    let cacheability = vec![Cacheable {
        route: "/thread/{id}".to_owned(),
        verdict: "private".to_owned(),
        pages: FINDINGS / 5,
        median_ms: Some(84),
    }];
    let site = SiteReport {
        site: "http://board.example/".to_owned(),
        is_whole: true,
        pages: FINDINGS / 5,
        answered: FINDINGS / 5,
        cacheability,
        findings,
        fixed,
        ..SiteReport::default()
    };
    let budgets = ["errors=100000", "image-alt=10"];
    Report::of(vec![site]).within(&budgets.map(|text| Budget::read(text).expect("it is right")))
}

#[test]
fn a_report_of_a_hundred_thousand_findings_opens_and_is_searched() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let folder = open_folder();
    let file = folder.path().join("report.html");
    let text = html(&report());
    fs::write(&file, &text).expect("the folder takes files");
    let url = format!("file://{}", file.display());
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = look(&browser, &url);
    browser.end().expect("Chromium ends");
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn look(browser: &Arc<Browser>, url: &str) -> Outcome<()> {
    let looker = Looker::new(browser, "127.0.0.1:1")?;
    let began = Instant::now();
    looker.open_at(url, "#sites details")?;
    eprintln!("{FINDINGS} findings opened in {} ms", began.elapsed().as_millis());
    looker.is("#totals li", "28,572 errors")?;
    looker.is("#budgets li.error", "14,286 of at most 10 image-alt, over")?;
    looker.tab.wait_until(
        "document.querySelectorAll('#sites > section > details').length === 9",
        "seven rules, what was fixed, and what caches may do",
    )?;
    let rule = "#sites > section > details";
    looker.tab.click(&format!("{rule} > summary"))?;
    looker.tab.wait_for(&format!("{rule}[open] details"))?;
    if std::env::var_os("WRITE_SCREENSHOTS").is_some() {
        looker.scheme("light")?;
        looker.tab.screenshot(pictures().join("report.png"))?;
    }
    looker.tab.click(&format!("{rule}[open] details > summary"))?;
    looker.tab.wait_until(
        "document.querySelector('#sites details details[open] li').textContent.includes('/thread/')",
        "the pages of a kind",
    )?;
    looker.tab.wait_until(
        "document.querySelectorAll('#sites li').length <= 200",
        "what fits, and not all of it",
    )?;
    looker.tab.wait_until(
        "!document.querySelector('#sites b')",
        "what a site says is text, and no markup",
    )?;
    let began = Instant::now();
    looker.tab.fill("#words", LONE)?;
    looker.tab.wait_until(
        "document.querySelectorAll('#sites > section > details').length === 3
         && document.querySelector('#sites > section > details .count').textContent === '1'",
        "the one finding that has these words",
    )?;
    eprintln!("searched in {} ms", began.elapsed().as_millis());
    looker.tab.click(&format!("{rule} > summary"))?;
    looker.tab.wait_for(&format!("{rule}[open] details"))?;
    looker.tab.click(&format!("{rule}[open] details > summary"))?;
    looker.tab.wait_for("#sites details details[open] li")?;
    looker.looks_well("report")?;
    looker.tab.fill("#words", "")?;
    looker.tab.click("#new")?;
    looker.tab.wait_until(
        "[...document.querySelectorAll('#sites > section > details .count')].slice(0, 7)
           .reduce((sum, one) => sum + Number(one.textContent), 0) === 100",
        "what is new",
    )?;
    looker.complains_of_nothing()
}
