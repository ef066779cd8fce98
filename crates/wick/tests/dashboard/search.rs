//! A site's search in a real browser: results come as one types, the address follows, and nothing
//! keeps anybody from using it.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use serde_json::json;

use crate::browser::{self, Browser, Outcome, Tab};
use crate::load::TOKEN;
use crate::look::Looker;
use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder, until};

/// Twelve pages about fruit, so that there are two pages of results.
fn site() -> Origin {
    Origin::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/");
        let html = format!(
            "<!doctype html><html lang={}><title>Page {path}</title>\
             <p>About fruit and the number {path} of it",
            if path.starts_with("/garden/") { "de" } else { "en" }
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
    let admin = loopback::address();
    let text = fs::read_to_string(&file).expect("ours");
    let opened = format!("admin = \"{admin}\"\nadmin_token = \"{TOKEN}\"\n");
    fs::write(&file, opened + &text).expect("ours");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string()]);
    for number in 0..12 {
        let section = ["market", "garden"][number % 2];
        ask(address, &format!("GET /{section}/{number}"));
    }
    until("all are found", || ask(address, "GET /search.json?q=fruit").contains("\"total\":12"));
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = search(&browser, &address.to_string())
        .and_then(|()| without_scripts(&browser, &address.to_string()))
        .and_then(|()| missed(&browser, &admin.to_string(), &address.to_string()));
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
    narrowed(&looker, address)?;
    looker.complains_of_nothing()
}

/// By links; and what was chosen stays while one types.
fn narrowed(looker: &Looker, address: &str) -> Outcome<()> {
    looker.tab.click(".wick-narrow a[href*='section=garden']")?;
    looker.tab.wait_for_text("6 pages found")?;
    looker.tab.click(".wick-narrow a[href*='sort=newest']")?;
    looker.tab.wait_for("input[name=sort][value=newest]")?;
    looker.tab.ask(
        "const other = document.querySelector('#wick-query'); other.value = 'number';
         other.dispatchEvent(new Event('input', {bubbles: true})); 'typed'",
    )?;
    looker.tab.wait_for_text("6 pages found for “number”")?;
    looker.tab.wait_until(
        "location.search === '?q=number&section=garden&sort=newest'",
        "what was chosen stays",
    )?;
    let again = format!("http://{address}/search?q=number&section=garden&sort=newest");
    looker.open_at(&again, ".wick-hits li mark")?;
    looker.tab.click(".wick-help summary")?;
    looker.open_at(&again, ".wick-hits li mark")?;
    for scheme in ["light", "dark"] {
        looker.scheme(scheme)?;
        looker.find_no_barrier(&format!("the narrowed search, {scheme}"))?;
    }
    looker.fits_a_phone("narrowed search")
}

/// By the form and by links, where no script may run.
fn without_scripts(browser: &Arc<Browser>, address: &str) -> Outcome<()> {
    let tab = browser.tab("Mozilla/5.0 (X11; Linux x86_64)")?;
    tab.call("Emulation.setScriptExecutionDisabled", json!({"value": true}))?;
    let plain = Plain(tab);
    plain.0.call("Page.navigate", json!({"url": format!("http://{address}/search")}))?;
    plain.shows("document.querySelector('form #wick-query') !== null")?;
    plain.does("const field = document.querySelector('#wick-query'); field.value = 'fruit'; field.form.submit()")?;
    plain.shows("document.body.innerText.includes('12 pages found')")?;
    plain.shows("location.search.startsWith('?q=fruit')")?;
    plain.shows("document.querySelectorAll('.wick-hits li mark').length >= 10")?;
    plain.does("document.querySelector('.wick-pages a[rel=next]').click()")?;
    plain.shows("document.body.innerText.includes('Page 2')")?;
    plain.does("document.querySelector(\".wick-narrow a[href*='section=garden']\").click()")?;
    plain.shows("document.body.innerText.includes('6 pages found')")
}

/// A window without scripts: nothing on its page can tell when something is there.
struct Plain(Tab);

impl Plain {
    fn does(&self, deed: &str) -> Outcome<()> {
        let script = format!("(() => {{ {deed}; }})()");
        self.0.call("Runtime.evaluate", json!({"expression": script})).map(|_| ())
    }

    fn shows(&self, condition: &str) -> Outcome<()> {
        let script =
            format!("(() => {{ try {{ return {condition}; }} catch {{ return false; }} }})()");
        until(condition, || {
            // While one page goes and another comes there is none to be asked.
            let asked = json!({"expression": script, "returnByValue": true});
            let answer = self.0.call("Runtime.evaluate", asked).unwrap_or_default();
            answer["result"]["value"].as_bool() == Some(true)
        });
        Ok(())
    }
}

/// What nothing fitted is told to the owner.
fn missed(browser: &Arc<Browser>, admin: &str, address: &str) -> Outcome<()> {
    let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
    for query in ["unheardof", "unheardof", "%3Cimg+src=x%3E", "fruit"] {
        ask(address, &format!("GET /search?q={query}"));
    }
    ask(address, "GET /search?q=unh&typing=1");
    let looker = Looker::new(browser, admin)?;
    looker.open()?;
    looker.view("search", "section table")?;
    looker.is("section table:last-of-type caption", "Asked most")?;
    looker.tab.wait_for_text("Nothing fitted all of it")?;
    looker.tab.wait_for_text("<img src=x>")?;
    looker.tab.wait_until(
        "[...[...document.querySelectorAll('table')].at(-1).querySelectorAll('tbody tr')]
           .some(row => row.innerText.replace(/\\s+/g, ' ').trim() === 'unheardof 2 2')",
        "how often something was missed",
    )?;
    looker.tab.wait_until(
        "![...document.querySelectorAll('tbody th')].some(one => one.innerText === 'unh')",
        "what was in the middle of being written isn't counted",
    )?;
    looker.looks_well("search")?;
    looker.complains_of_nothing()
}
