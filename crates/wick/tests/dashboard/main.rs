//! The admin page in a real browser, over a Wick that has something to show.
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

mod load;
mod look;

use std::sync::Arc;

use browser::{Browser, Outcome};
use load::Site;
use look::Looker;

/// Every view, and something that it shows once it has its numbers.
const VIEWS: [(&str, &str); 8] = [
    ("now", "[data-verdict=hit]"),
    ("history", ".charts figure svg path"),
    ("routes", "tbody tr"),
    ("misses", "[data-finding]"),
    ("recent", "tbody tr"),
    ("url", "form button"),
    ("learned", "section table"),
    ("sites", "section dl"),
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
    let given = site.visit();
    let looker = Looker::new(browser, &site.admin.to_string())?;
    looker.open()?;
    let shown = format!("{} since the start", given.answers);
    looker.tab.wait_for_text(&shown)?;
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
    for (view, mark) in VIEWS {
        looker.view(view, mark)?;
        for scheme in ["light", "dark"] {
            looker.scheme(scheme)?;
            looker.find_no_barrier(&format!("{view}, {scheme}"))?;
        }
        looker.fits_a_phone(view)?;
        looker.picture(view)?;
    }
    routes(&looker, &given)?;
    misses(&looker)?;
    recent(&looker)?;
    explained(&looker, &site)?;
    zoomed(&looker)?;
    looker.complains_of_nothing()?;
    looker.view("now", "[data-verdict=hit]")?;
    site.stop();
    looker.tab.wait_for("#state[data-kind=stopped]")?;
    looker.tab.wait_for_text("Stopped: nothing is heard of Wick")
}

fn routes(looker: &Looker, given: &load::Given) -> Outcome<()> {
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

/// By buttons, keys and by drawing.
fn zoomed(looker: &Looker) -> Outcome<()> {
    looker.view("history", ".charts figure svg path")?;
    looker.tab.click(".bar button")?;
    looker.is_at("#history?seconds=1800")?;
    looker.tab.ask("document.querySelector('.charts').focus(), 'done'")?;
    looker.key("-")?;
    looker.is_at("#history?seconds=3600")?;
    looker.tab.wait_for(".charts figure svg path")?;
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
    looker.tab.wait_for_text("365 d until now: 300 requests")
}
