//! Audits that end in the middle, and several at once.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::server::{Served, Site, audited, clean, page, plan, reply};
use audit::{Live, Report};
use url::Url;

/// The most requests that are under way at once.
const UNDER_WAY_MAX: usize = 8;
const PAGES: usize = 30;

/// A site with something to be found on its pages, between them, and by probes.
pub(crate) fn site(holds_after: Option<usize>) -> Site {
    let mut site = clean();
    let links: String = (0..PAGES).map(|at| format!("<a href=/p/{at}>{at}</a>")).collect();
    site.pages.insert("/".to_owned(), page("Home", &format!("{links}<a href=/feed.xml>f</a>")));
    for at in 0..PAGES {
        let more = format!("<input name=a><a href=/gone/{at}>x</a><a href=/p/{}#y>y</a>", at / 2);
        site.pages.insert(format!("/p/{at}"), page(&format!("Page {}", at % 9), &more));
    }
    site.pages.insert("/two".to_owned(), reply(200, "content-type: text/html", "<p>x"));
    site.holds_after = holds_after;
    site
}

/// What an audit came to, without what tells that it was interrupted.
pub(crate) fn told(report: &Report) -> serde_json::Value {
    let mut site = serde_json::to_value(&report.sites[0]).expect("it is JSON");
    site["notes"] = serde_json::Value::Null;
    // How long each took is another time each time.
    for kept in site["cacheability"].as_array_mut().expect("it is told") {
        kept["median_ms"] = serde_json::Value::Null;
    }
    site
}

/// Goes on with what was interrupted, and holds it against an audit that nothing interrupted.
/// What it asked for.
fn goes_on(served: &Served, state: &Path) -> Vec<String> {
    let before = served.asked().len();
    let report = audited(&plan(served, state), &Live::default());
    let asked = served.asked().split_off(before);
    let fresh = tempfile::tempdir().expect("a folder");
    let before = served.asked().len();
    let whole = audited(&plan(served, fresh.path()), &Live::default());
    let all = served.asked().len() - before;
    assert!(whole.sites[0].is_whole && whole.totals.errors >= 2 * PAGES);
    assert_eq!(told(&report), told(&whole));
    assert!(asked.len() < all, "{} of {all} were asked for", asked.len());
    asked
}

/// The name of the environment's variable that makes a process the one that is killed.
const VICTIM: &str = "AUDIT_VICTIM";

#[test]
fn what_a_killed_audit_has_written_is_not_asked_for_again_and_the_report_is_the_same() {
    if let Some(told) = std::env::var_os(VICTIM) {
        let told = told.into_string().expect("it is text");
        let (url, state) = told.split_once(' ').expect("both are told");
        let served = Served::elsewhere(url);
        audited(&plan(&served, Path::new(state)), &Live::default());
        unreachable!("nobody answers all of it");
    }
    // Among the pages, among what they lead to, and among the probes.
    for holds_after in [12, 40, 80] {
        let served = Served::begin(site(Some(holds_after)));
        let state = tempfile::tempdir().expect("a folder");
        let own = std::env::current_exe().expect("it runs");
        let name = "interrupted::what_a_killed_audit_has_written_is_not_asked_for_again_and_the_report_is_the_same";
        let mut victim = Command::new(own)
            .args(["--exact", name])
            .env(VICTIM, format!("{} {}", served.url(), state.path().display()))
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs again");
        served.wait_for(holds_after + 1, || {
            assert_eq!(victim.try_wait().expect("it is ours"), None, "it ended by itself");
        });
        victim.kill().expect("it is killed");
        victim.wait().expect("it is gone");
        let seen = served.asked();
        served.release();
        let again = goes_on(&served, state.path());
        assert!(again.iter().any(|one| one == "/robots.txt"), "it is read anew");
        // The few pages that are probed are asked for again on purpose.
        let twice = again.iter().filter(|one| one.starts_with("/p/") && seen.contains(one));
        let twice = twice.collect::<BTreeSet<_>>().len();
        assert!(twice <= UNDER_WAY_MAX, "{twice} of {seen:?}, {again:?}");
    }
}

#[test]
fn who_stops_an_audit_is_given_what_there_is_and_the_next_run_goes_on() {
    for holds_after in [0, 12, 80] {
        let served = Served::begin(site(Some(holds_after)));
        let state = tempfile::tempdir().expect("a folder");
        let live = Arc::new(Live::default());
        let report = std::thread::scope(|scope| {
            let (stop, server) = (Arc::clone(&live), &served);
            scope.spawn(move || {
                server.wait_for(holds_after + 1, || {});
                stop.stop();
            });
            audited(&plan(&served, state.path()), &live)
        });
        let site = &report.sites[0];
        assert_eq!((site.error.as_deref(), site.is_whole), (None, false));
        let has_pages = site.findings.iter().any(|one| one.finding.rule == "label-missing");
        assert_eq!(has_pages, holds_after > 0, "{site:#?}");
        let text = audit::report::text(&report);
        assert!(text.contains("the next run goes on"), "{text}");
        served.release();
        if holds_after > 0 {
            goes_on(&served, state.path());
        }
    }
}

#[test]
fn a_site_that_keeps_us_waiting_keeps_no_other_from_its_end() {
    let slow = Served::begin(site(Some(9)));
    let others: Vec<Served> = (0..5).map(|_| Served::begin(site(None))).collect();
    let state = tempfile::tempdir().expect("a folder");
    let mut plan = plan(&slow, state.path());
    plan.probes = 0;
    plan.sites.extend(others.iter().map(|one| Url::parse(&one.url()).expect("an address")));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each page of each of them, before the slow one gives another.
            others.iter().for_each(|one| one.wait_for(2 * PAGES, || {}));
            slow.release();
        });
        audited(&plan, &Live::default())
    });
    let first = &report.sites[0];
    for site in &report.sites {
        assert!(site.is_whole && site.error.is_none(), "{site:#?}");
        assert_eq!((site.pages, site.findings.len()), (first.pages, first.findings.len()));
    }
}
