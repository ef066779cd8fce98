//! What is wrong with stored pages, in a real browser: by rule and route, with the pages, and what
//! of it is new; and nothing keeps anybody from reading it.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use crate::browser::{self, Browser, Outcome};
use crate::load::TOKEN;
use crate::look::Looker;
use crate::origin::Origin;
use crate::wick::{Wick, ask, body, open_folder, until};

/// Topics with a picture that nobody described, and a page with a field without a label.
fn site() -> Origin {
    Origin::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/");
        let more = match path {
            path if path.starts_with("/topic/") => "<img src=/a.png width=1 height=1>",
            "/ask" => "<form><input name=question></form>",
            _ => "",
        };
        let html = format!(
            "<!doctype html><html lang=en><title>Page {path}</title><main><h1>{path}</h1>{more}"
        );
        let length = html.len();
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
             Cache-Control: max-age=600\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
             {html}"
        );
    })
}

#[test]
fn what_is_wrong_with_stored_pages_is_told_by_rule_and_route() {
    if !browser::is_installed() {
        eprintln!("SKIPPED: Chromium is not installed (scripts/setup test installs it)");
        return;
    }
    let (origin, folder) = (site(), open_folder());
    let admin = loopback::address();
    let file = folder.path().join("wick.toml");
    let settings = format!(
        "admin = \"{admin}\"\nadmin_token = \"{TOKEN}\"\n[[site]]\norigin = {:?}\naudit = true\n",
        origin.url()
    );
    fs::write(&file, settings).expect("the folder takes files");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string()]);
    for path in ["/topic/1", "/topic/2", "/topic/3", "/topic/4", "/ask", "/well"] {
        ask(address, &format!("GET {path}"));
    }
    let known = || {
        let told = ask(admin, &format!("GET /api/audit\nAuthorization: Bearer {TOKEN}"));
        let told: serde_json::Value = serde_json::from_str(body(&told)).unwrap_or_default();
        told["sites"][0]["now"]["pages"] == 6
    };
    until("all are judged", known);
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let outcome = look(&browser, &admin.to_string(), &address.to_string());
    browser.end().expect("Chromium ends");
    wick.stop();
    if let Err(fault) = outcome {
        panic!("{fault}");
    }
}

fn look(browser: &Arc<Browser>, admin: &str, address: &str) -> Outcome<()> {
    let looker = Looker::new(browser, admin)?;
    looker.open()?;
    looker.view("audit", "table")?;
    let row = |rule: &str| {
        format!(
            "[...document.querySelectorAll('tbody tr')].find(row =>
               [...row.querySelectorAll('code')].some(one => one.textContent === '{rule}'))"
        )
    };
    let cells = |rule: &str| {
        format!("[...{}.cells].slice(1, 6).map(one => one.innerText.trim()).join(' ')", row(rule))
    };
    for (rule, expected) in
        [("image-alt", "error /topic/* 4 4 4"), ("label-missing", "error /ask 1 1 1")]
    {
        let found = looker.tab.ask(&cells(rule))?;
        if found != expected {
            return Err(format!("{rule}: {found:?} instead of {expected:?}"));
        }
    }
    let links = format!(
        "[...{}.querySelectorAll('a')].map(one => one.href + ' ' + one.rel).join('\\n')",
        row("image-alt")
    );
    let links = looker.tab.ask(&links)?;
    let expected =
        [1, 2, 3].map(|topic| format!("http://{address}/topic/{topic} noreferrer")).join("\n");
    if links != expected {
        return Err(format!("{links}\ninstead of\n{expected}"));
    }
    looker.tab.click("tbody summary")?;
    looker.tab.wait_for_text("Describe it in alt")?;
    looker.looks_well("audit")?;
    looker.tab.fill("#since", "3600")?;
    looker.is_at("#audit?since_seconds=3600")?;
    looker.tab.wait_for_text("0 within 1 h")?;
    looker.complains_of_nothing()
}
