//! Audits with a real browser: what only that sees, what goes wrong with it, and what is left of
//! it. Where Chromium or axe-core is missing nothing is checked, loudly; `scripts/setup test`
//! brings both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::server::{Reply, Served, Site, audited, plan, reply};
use audit::{BrowserPlan, Live, Plan, Report};

const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/axe.min.js");
const CONTRAST: &str = "axe-color-contrast";

fn browser() -> Option<BrowserPlan> {
    let found = BrowserPlan::find(None, Some(Path::new(AXE)), None, false);
    found.map_err(|error| eprintln!("SKIPPED: {error} (scripts/setup test)")).ok()
}

fn with(served: &Served, state: &Path, browser: &BrowserPlan) -> Plan {
    Plan { browser: Some(browser.clone()), probes: 0, ..plan(served, state) }
}

/// A page whose policy lets its own scripts and styles do what they want.
fn page(title: &str, content: &str) -> Reply {
    let mut page = crate::server::page(title, content);
    for (name, value) in &mut page.fields {
        if name == "content-security-policy" {
            *value = "frame-ancestors 'self'".to_owned();
        }
    }
    page
}

/// A page with what nobody can read, by a style sheet of its own, and by a script.
fn faint() -> Site {
    let mut site = Site::default();
    let css =
        reply(200, "content-type: text/css\ncache-control: max-age=60", ".faint { color: #bbb }");
    site.pages.insert("/faint.css".to_owned(), css);
    let link = "<a href=\"/faint\">Faint</a>";
    site.pages.insert("/".to_owned(), page("Home", link));
    site.pages.insert("/framed".to_owned(), page("Framed", "<p>text"));
    let made = "<p class=\"faint\">Hard to read</p>\n<p id=\"made\"></p>\n\
        <iframe src=\"/framed\" title=\"A frame\"></iframe>\n<script>\n\
        document.getElementById('made').innerHTML = '<b style=\"color:#ccc\">Made faint</b>';\n\
        fetch('/sent', {method: 'POST', body: 'x'}).catch(() => 0);\n\
        fetch('/logout').catch(() => 0);\n\
        fetch('/asked').then(it => it.text()).then(text => {\n\
          document.querySelector('h1').insertAdjacentHTML('afterend', text); });\n\
        addEventListener('load', () => { location.href = '/elsewhere'; });\n\
        navigator.sendBeacon('/counted');\n</script>";
    let html = page("Faint", made);
    let body = String::from_utf8(html.body.clone()).expect("text");
    let body = body.replace("</head>", "<link rel=\"stylesheet\" href=\"/faint.css\">\n</head>");
    site.pages.insert("/faint".to_owned(), Reply { body: body.into(), ..html });
    let late = "<p style=\"color: #ddd\">Came later</p>";
    site.pages.insert("/asked".to_owned(), reply(200, "content-type: text/plain", late));
    site
}

/// What axe said, as path and the beginning of the message.
fn told(report: &Report) -> Vec<String> {
    let site = &report.sites[0];
    assert_eq!((site.error.as_deref(), site.is_whole), (None, true), "{:?}", site.notes);
    let of_axe = site.findings.iter().filter(|one| one.finding.rule == CONTRAST);
    of_axe
        .map(|one| {
            let path = one.finding.url.splitn(4, '/').nth(3).expect("a path");
            let html = one.finding.message.split(" at ").next().expect("an element");
            format!("/{path} {html}")
        })
        .collect()
}

/// Processes of this one that hold a browser, and their profiles.
fn browsers() -> BTreeSet<(i32, PathBuf)> {
    let own = std::process::id().to_string();
    let each = std::fs::read_dir("/proc").expect("Linux").flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let profile = line.split('\0').nth(4).filter(|it| it.contains("wick-audit-"))?;
        (parent.trim() == own).then(|| (id, profile.into()))
    });
    each.collect()
}

/// Only one at a time, so that each knows its own.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn what_only_a_browser_sees_is_found_by_it_and_nothing_else_is_asked_for_or_left() {
    let Some(browser) = browser() else { return };
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (served, state) = (Served::begin(faint()), tempfile::tempdir().expect("a folder"));
    let without = Plan { probes: 0, ..plan(&served, state.path()) };
    assert_eq!(told(&audited(&without, &Live::default())), [""; 0]);
    let before = served.asked().len();
    let report = audited(&with(&served, state.path(), &browser), &Live::default());
    let expected = [
        "/faint <b style=\"color:#ccc\">Made faint</b>",
        "/faint <p class=\"faint\">Hard to read</p>",
        "/faint <p style=\"color: #ddd\">Came later</p>",
    ];
    assert_eq!(told(&report), expected);
    let one = report.sites[0].findings.iter().find(|one| one.finding.rule == CONTRAST);
    let one = &one.expect("it was told").finding;
    for part in ["insufficient color contrast of 1.", "(https://dequeuniversity.com/rules/axe/"] {
        assert!(one.message.contains(part), "{}", one.message);
    }
    assert_eq!(one.severity, audit::Severity::Error);
    let note = report.sites[0].notes.iter().find(|note| note.starts_with("axe-core 4."));
    assert!(note.is_some(), "{:?}", report.sites[0].notes);
    let asked = served.asked().split_off(before);
    for target in ["/sent", "/logout", "/elsewhere", "/counted"] {
        assert!(!asked.iter().any(|one| one == target), "{target}: {asked:?}");
    }
    let times = |target: &str| asked.iter().filter(|one| *one == target).count();
    assert_eq!((times("/faint"), times("/faint.css"), times("/framed")), (2, 2, 2), "{asked:?}");
    assert_eq!(browsers(), BTreeSet::new());
    // What no browser looked for isn't gone.
    let again = audited(&without, &Live::default());
    assert_eq!((again.totals.fixed, again.totals.new), (0, 0));
    let last = audited(&with(&served, state.path(), &browser), &Live::default());
    assert_eq!((last.totals.fixed, last.totals.new), (0, 0), "{:?}", last.sites[0].findings);
}

#[test]
fn a_browser_that_dies_is_told_of_its_page_and_the_others_are_looked_at() {
    let Some(browser) = browser() else { return };
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut site = faint();
    let body = "<a href=\"/deadly\">Deadly</a> <a href=\"/faint\">Faint</a>";
    site.pages.insert("/".to_owned(), page("Home", body));
    let image = "<img src=\"/deadly.png\" alt=\"A sword\" width=\"8\" height=\"8\">";
    site.pages.insert("/deadly".to_owned(), page("Deadly", image));
    let profiles = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&profiles);
    let die = move |_: &crate::server::Asked, times: usize| {
        // The first time the audit itself asks.
        for (id, profile) in browsers().into_iter().filter(|_| times > 1) {
            let group = format!("-{id}");
            let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
            assert!(killed.expect("it is installed").success());
            seen.lock().expect("no panic").insert(profile);
        }
        reply(200, "content-type: image/png\ncache-control: max-age=60", "png")
    };
    site.makers.insert("/deadly.png".to_owned(), Box::new(die));
    let (served, state) = (Served::begin(site), tempfile::tempdir().expect("a folder"));
    let report = audited(&with(&served, state.path(), &browser), &Live::default());
    assert_eq!(told(&report).len(), 3, "{:?}", report.sites[0].findings);
    let failed = report.sites[0].findings.iter().filter(|one| one.finding.rule == "browser-failed");
    let failed: Vec<_> = failed.map(|one| one.finding.url.replace(&served.url(), "/")).collect();
    assert_eq!(failed, ["/deadly"]);
    let profiles = profiles.lock().expect("no panic");
    assert_eq!(profiles.len(), 1);
    assert!(profiles.iter().all(|profile| !profile.exists()), "{profiles:?}");
    assert_eq!(browsers(), BTreeSet::new());
}

#[test]
fn an_audit_that_was_stopped_leaves_no_browser_and_does_not_look_at_a_page_again() {
    let Some(browser) = browser() else { return };
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut site = Site::default();
    let home = "<a href=\"/a\">A</a> <a href=\"/b\">B</a><p style=\"color: #ccc\">Faint</p>";
    for (path, body) in [("/", home), ("/a", home), ("/b", home)] {
        site.pages.insert(path.to_owned(), page(path, body));
    }
    // robots.txt, sitemap, three pages; then two of them in the browser.
    let answers = 2 + 3 + 2;
    site.holds_after = Some(answers);
    let (served, state) = (Served::begin(site), tempfile::tempdir().expect("a folder"));
    let plan = with(&served, state.path(), &browser);
    let (live, profiles) = (Live::default(), Mutex::new(BTreeSet::new()));
    let stopped = std::thread::scope(|scope| {
        let audit = scope.spawn(|| audited(&plan, &live));
        served.wait_for(answers + 1, || assert!(!audit.is_finished(), "{:?}", served.asked()));
        *profiles.lock().expect("no panic") = browsers();
        live.stop();
        audit.join().expect("it ends")
    });
    assert!(!stopped.sites[0].is_whole, "{:?}", served.asked());
    let profiles = profiles.into_inner().expect("no panic");
    assert_eq!(profiles.len(), 1);
    assert!(profiles.iter().all(|(_, profile)| !profile.exists()), "{profiles:?}");
    assert_eq!(browsers(), BTreeSet::new());
    served.release();
    let before = served.asked().len();
    let report = audited(&plan, &Live::default());
    assert_eq!(told(&report).len(), 3);
    assert_eq!(served.asked().split_off(before), ["/robots.txt", "/b"]);
}
