//! A site's search in a real browser: results come as one types, the address follows, and nothing
//! keeps anybody from using it.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use crate::browser::{self, Browser, Outcome};
use crate::look::Looker;
use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder, until};

/// Twelve pages about fruit, so that there are two pages of results.
fn site() -> Origin {
    Origin::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/");
        let html = format!(
            "<!doctype html><html lang=en><title>Page {path}</title>\
             <p>About fruit and the number {path} of it"
        );
        let length = html.len();
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=600\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{html}"
        );
    })
}

#[test]
fn results_come_as_one_types_and_everybody_can_use_them() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let (origin, folder) = (site(), open_folder());
    let file = folder.path().join("wick.toml");
    let lines = "search = true\nsearch_crawl = false\n";
    fs::write(&file, format!("[[site]]\norigin = {:?}\n{lines}", origin.url())).expect("ours");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string()]);
    for number in 0..12 {
        ask(address, &format!("GET /{number}"));
    }
    until("all are found", || ask(address, "GET /search.json?q=fruit").contains("\"total\":12"));
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = search(&browser, &address.to_string());
    browser.end().expect("Chromium ends");
    wick.stop();
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn search(browser: &Arc<Browser>, address: &str) -> Outcome<()> {
    let looker = Looker::new(browser, address)?;
    looker.open_at(&format!("http://{address}/search"), "#wick-query")?;
    looker.tab.ask("document.querySelector('#wick-query').focus(); 'ready'")?;
    looker.tab.ask(
        "const field = document.querySelector('#wick-query'); field.value = 'fruit';
         field.dispatchEvent(new Event('input', {bubbles: true})); 'typed'",
    )?;
    looker.tab.wait_for(".wick-hits li mark")?;
    looker.tab.wait_for_text("12 pages found")?;
    looker.tab.wait_until("location.search === '?q=fruit'", "the address follows")?;
    looker.tab.wait_for("#wick-suggestions")?;
    for scheme in ["light", "dark"] {
        looker.scheme(scheme)?;
        looker.find_no_barrier(&format!("the search, {scheme}"))?;
    }
    looker.fits_a_phone("search")?;
    looker.complains_of_nothing()?;
    looker.tab.click(".wick-pages a[rel=next]")?;
    looker.tab.wait_for("[aria-current=page]")?;
    looker.tab.wait_for_text("Page 2")?;
    looker.complains_of_nothing()
}
