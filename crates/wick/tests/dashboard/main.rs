//! The admin page, the findings of stored pages on it, a site's search, and the report of a large
//! audit, in a real browser; the first over a Wick that has something to show.
//!
//! Three hundred requests are made first, and counted by what their `Cache-Status` says; then
//! every view is opened, used, and held against that count. Nothing may be complained about by
//! the browser, nothing asked of another server, and axe-core finds nothing, in light and dark.
//! Where Chromium is missing nothing is checked, loudly; `scripts/setup test` brings both.
//! `WRITE_SCREENSHOTS=1` also writes the pictures of `docs/dashboard`.

#[path = "../strangers/browser.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod browser;
#[path = "../command_line/origin.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod origin;
#[allow(dead_code, reason = "other tests ask more of it")]
#[path = "../command_line/wick.rs"]
mod wick;

mod audit;
mod cluster;
mod load;
mod look;
#[path = "../cluster/nats.rs"]
#[allow(dead_code, reason = "the tests of nodes ask more of it")]
mod nats;
mod report;
mod search;

use std::sync::Arc;

use browser::{Browser, Outcome};
use load::{Given, Site, TOKEN};
use look::Looker;
use wick::{ask, until};

/// Every view, and something that it shows once it has its numbers.
const VIEWS: [(&str, &str); 12] = [
    ("now", "[data-verdict=hit]"),
    ("history", ".charts figure svg path"),
    ("routes", "tbody tr"),
    ("misses", "[data-finding]"),
    ("recent", "tbody tr"),
    ("url", "form button"),
    ("learned", "section table"),
    ("search", "code"),
    ("audit", "code"),
    ("sites", "section dl"),
    ("machine", "details"),
    ("cluster", "code"),
];

#[test]
fn every_view_shows_what_visitors_were_given() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let site = Site::serve();
    let outcome = visit(&browser, site);
    browser.end().expect("Chromium ends");
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn visit(browser: &Arc<Browser>, site: Site) -> Outcome<()> {
    let mut given = site.visit();
    let looker = Looker::new(browser, &site.admin.to_string())?;
    looker.open()?;
    counted(&looker, &given)?;
    for (view, mark) in VIEWS {
        looker.view(view, mark)?;
        looker.looks_well(view)?;
    }
    routes(&looker, &given)?;
    misses(&looker)?;
    recent(&looker)?;
    explained(&looker, &site)?;
    overruled(&looker, &site, &mut given)?;
    tried_out(&looker, &site, &mut given)?;
    counted(&looker, &given)?;
    zoomed(&looker, &given)?;
    looker.complains_of_nothing()?;
    looker.view("now", "[data-verdict=hit]")?;
    site.stop();
    looker.tab.wait_for("#state[data-kind=stopped]")?;
    looker.tab.wait_for_text("Stopped: nothing is heard of Wick")
}

/// What the first view shows is what visitors counted, to one.
fn counted(looker: &Looker, given: &Given) -> Outcome<()> {
    looker.view("now", "[data-verdict=hit]")?;
    looker.tab.wait_for_text(&format!("{} since the start", given.answers))?;
    looker.is(
        "[data-tile=hits] small",
        &format!("{} of {} since the start", given.hits, given.answers),
    )?;
    let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
    let bytes = format!("{} of {} since the start", kib(given.hit_bytes), kib(given.bytes));
    looker.is("[data-tile=bytes] small", &bytes)?;
    for (verdict, number) in &given.verdicts {
        looker.is(&format!("[data-verdict='{verdict}']"), &number.to_string())?;
    }
    Ok(())
}

fn routes(looker: &Looker, given: &Given) -> Outcome<()> {
    looker.view("routes", "tbody tr")?;
    looker.tab.wait_for_text(&format!("{} requests since the start", given.answers))?;
    looker.tab.fill("#filter", "/page/")?;
    looker.tab.wait_until(
        "document.querySelectorAll('tbody tr').length === 1",
        "the one route that is left",
    )?;
    looker.is("tbody td:nth-child(3)", &given.pages.to_string())?;
    looker.tab.fill("#filter", "")?;
    looker.tab.click("[data-sort=Requests]")?;
    looker.is("th[aria-sort=descending] button", "Requests ▼")?;
    looker.tab.click("[data-sort=Requests]")?;
    looker.is("th[aria-sort=ascending] button", "Requests ▲")
}

fn misses(looker: &Looker) -> Outcome<()> {
    looker.view("misses", "[data-finding]")?;
    let told = looker.tab.text()?;
    let has_all = ["In wick.toml", "To undo it", "ignore_no_store = [\"/board/*\"]"]
        .map(|text| told.contains(text));
    if has_all == [true; 3] { Ok(()) } else { Err(format!("{has_all:?} of a finding in {told}")) }
}

fn recent(looker: &Looker) -> Outcome<()> {
    looker.view("recent", "tbody tr")?;
    looker.tab.fill("#status", "5xx")?;
    looker.tab.click("form button")?;
    looker.tab.wait_for_text(&format!("{} answers, the newest first", load::FAILURES))
}

fn explained(looker: &Looker, site: &Site) -> Outcome<()> {
    looker.view("url", "form button")?;
    looker.tab.fill("#url", &format!("http://{}/page/1", site.address))?;
    looker.tab.click("form button")?;
    looker.tab.wait_for(".chain .verdict")?;
    looker.is(".chain .verdict dd", "hit: served from memory")
}

/// Who bears a cookie that nobody knows passes, until an operator says that it identifies nobody.
fn overruled(looker: &Looker, site: &Site, given: &mut Given) -> Outcome<()> {
    const ASKED: u64 = 5;
    const BEARER: &str = "GET /lobby\nCookie: width=800";
    until("strangers share it", || site.ask(given, "GET /lobby", 1) == 1);
    let mut hits = |expected: u64, when: &str| match site.ask(given, BEARER, ASKED) {
        hits if hits == expected => Ok(()),
        hits => Err(format!("{hits} of {ASKED} were hits {when}")),
    };
    let unknown = "not known: its bearers pass until it is";
    hits(0, "before")?;
    looker.view("learned", "[data-cookie=width]")?;
    looker.is("[data-cookie=width]", unknown)?;
    looker.tab.click("button[aria-label='Identifies nobody: width']")?;
    looker.is("[data-cookie=width]", "nothing to the app: ignored")?;
    looker.tab.wait_for_text("by anna at 127.0.0.1")?;
    hits(ASKED, "while it was ruled so")?;
    looker.looks_well("learned")?;
    looker.tab.click("button[aria-label='Take back: foreign_cookies width']")?;
    looker.is("[data-cookie=width]", unknown)?;
    hits(0, "after that was taken back")?;
    looker.tab.click("button[aria-label='Is a session: width']")?;
    looker.is("[data-cookie=width]", "the app's own: its bearers pass")?;
    looker.tab.click("button[aria-label='Take back: app_cookies width']")?;
    looker.is("[data-cookie=width]", unknown)?;
    until("all four acts are counted", || {
        let metrics = ask(site.admin, &format!("GET /metrics\nAuthorization: Bearer {TOKEN}"));
        metrics.contains("\nwick_overruled_total 4\n")
    });
    Ok(())
}

/// What a stranger is answered now, beside what is stored; it counts as no visit.
fn tried_out(looker: &Looker, site: &Site, given: &mut Given) -> Outcome<()> {
    let try_out = |path: &str| {
        looker.view("url", "#try")?;
        looker.tab.fill("#url", &format!("http://{}{path}", site.address))?;
        looker.tab.click("#try")
    };
    let verdict = ".tried .verdict dd";
    try_out("/page/1")?;
    looker.is(verdict, "hit")?;
    looker.tab.wait_for_text("the same as this answer")?;
    until("strangers with this browser share it", || {
        looker.tab.ask(&tried_by_script(site)).is_ok_and(|verdict| verdict == "hit")
    });
    // After a write nobody is given what was made before it.
    site.ask(given, "POST /account/1", 1);
    try_out("/ticker")?;
    looker.is(verdict, "miss(swept)")?;
    looker.tab.wait_for_text("; it differs from byte ")?;
    let both = "[...document.querySelectorAll('.beside pre')].map(one => one.textContent)";
    looker.tab.wait_until(
        &format!("new Set({both}).size === 2 && {both}.every(text => text.includes('<script>'))"),
        "two texts that differ, with their markup",
    )?;
    looker.tab.wait_until("window.ran === undefined", "nothing of the page was run")?;
    looker.looks_well("url")?;
    try_out("/lobby?a b")?;
    looker.tab.wait_for_text("This can't be shown: ")
}

/// The verdict of the same as the page's own script asks for it.
fn tried_by_script(site: &Site) -> String {
    format!(
        "fetch('/api/try', {{method: 'POST', headers: {{'content-type': 'application/json'}},
           body: JSON.stringify({{url: 'http://{}/ticker', user_agent: navigator.userAgent,
             languages: navigator.languages.join(', ')}})}})
         .then(answer => answer.json()).then(tried => tried.verdict)",
        site.address
    )
}

/// By buttons, keys and by drawing.
fn zoomed(looker: &Looker, given: &Given) -> Outcome<()> {
    looker.view("history", ".charts figure svg path")?;
    looker.is("[data-mark=start]", "start: 1")?;
    looker.tab.wait_for("[data-mark=overrule]")?;
    looker.tab.click(".bar button")?;
    looker.is_at("#history?seconds=1800")?;
    looker.tab.ask("document.querySelector('.charts').focus(), 'done'")?;
    looker.key("-")?;
    looker.is_at("#history?seconds=3600")?;
    // What is drawn for this stretch: a chart of the one before goes away under the hand.
    looker.tab.wait_for_text("1 h until now: ")?;
    looker.draw(".charts figure svg", 0.5, 0.75)?;
    looker.tab.wait_until(
        "/seconds=\\d+&to=\\d+$/.test(location.hash) && !location.hash.includes('=3600')",
        "the stretch that was drawn",
    )?;
    looker.tab.ask("document.querySelector('.charts').focus(), 'done'")?;
    looker.key("End")?;
    looker.tab.wait_until("!location.hash.includes('to=')", "the present")?;
    looker.tab.fill("#length", "31536000")?;
    looker.is_at("#history?seconds=31536000")?;
    looker.tab.wait_for_text(&format!("365 d until now: {} requests", given.answers))
}
