//! New items that a browser marks, on pages that are the same for everybody: by a selector
//! alone, on apps that know nothing of it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::browser::{self, Browser, Outcome, Tab};
use crate::visitor::{BROWSER, Visitor};
use crate::wick::Wick;

/// What is marked where.
pub(crate) struct Items {
    pub(crate) page: &'static str,
    /// Another page, to come back from.
    pub(crate) elsewhere: &'static str,
    /// Selectors of the items and, within them, of their dates.
    pub(crate) items: &'static str,
    pub(crate) date: &'static str,
}

/// Serves `site` and looks at the page with Chromium.
pub(crate) fn are_marked(name: &str, site: &Path, items: &Items) {
    if !browser::is_installed() {
        eprintln!("\n*** chromium is missing: NO BROWSER MARKS NEW ITEMS OF {name} ***\n");
        return;
    }
    let settings = format!(
        "[[site]]\nmark_new = {:?}\nmark_new_date = {:?}\nmark_new_class = \"unread\"\n",
        items.items, items.date
    );
    let wick = Wick::serve_with(&site.display().to_string(), &settings);
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let tab = browser.tab(BROWSER).expect("a window");
    let done = visit(&tab, &wick.base, items);
    assert!(done.is_ok(), "{name} in Chromium: {done:?}");
    // Whoever it is, the page is the same one; whose tastes are new may see it made once.
    drop(Visitor::new(&wick.base).get(items.page));
    let another = Visitor::new(&wick.base);
    let page = another.get(items.page).expect("the page", "data-mark=\"unread\"");
    assert!(page.is_from_memory(), "{name}: {}", page.head());
    drop(tab);
    browser.end().expect("Chromium ends");
    wick.stop();
}

const MARKED: &str = "String(document.querySelectorAll('.unread').length)";

fn visit(tab: &Tab, base: &str, items: &Items) -> Outcome<()> {
    let page = format!("{base}{}", items.page);
    tab.open(&page)?;
    is("who is here for the first time", &tab.ask(MARKED)?, "0")?;
    // The visit before ended at the date of the item in the middle, a while ago.
    let middle = format!(
        "(dates => dates[dates.length >> 1])(Array.from(document.querySelectorAll({:?}), \
         item => Date.parse(item.querySelector({:?}).dateTime)).sort((a, b) => a - b))",
        items.items, items.date
    );
    let seen = tab.ask(&format!("String({middle})"))?;
    let newer = format!(
        "String(Array.from(document.querySelectorAll({:?})).filter(item => \
         Date.parse(item.querySelector({:?}).dateTime) > {seen}).length)",
        items.items, items.date
    );
    let expected = tab.ask(&newer)?;
    let some = expected.parse::<u32>().is_ok_and(|count| count > 0);
    some.then_some(()).ok_or_else(|| format!("{expected} items are newer than {seen}"))?;
    tab.ask(&format!("localStorage['wick-visit'] = JSON.stringify({{last: 1, seen: {seen}}})"))?;
    tab.open(&page)?;
    is("who comes back", &tab.ask(MARKED)?, &expected)?;
    let look = "getComputedStyle(document.querySelector('.unread')).boxShadow";
    is("the look", &tab.ask(look)?, "rgb(217, 119, 6) 3px 0px 0px 0px inset")?;
    // The visit goes on: what was new on the first of its pages is new on the next.
    tab.open(&format!("{base}{}", items.elsewhere))?;
    tab.back()?;
    is("who goes back", &tab.ask(MARKED)?, &expected)?;
    // All of it can be read where no script runs.
    let texts = format!(
        "document.readyState + Array.from(document.querySelectorAll({:?}), item => \
         item.className + item.innerText).join()",
        items.items
    );
    let expected = tab.ask(&texts)?.replace(" unread", "");
    tab.call("Emulation.setScriptExecutionDisabled", json!({"value": true}))?;
    tab.call("Page.navigate", json!({"url": page}))?;
    let mut found = String::new();
    // Nothing in the page can tell when it is there.
    for _ in 0..200 {
        let answer = tab.call("Runtime.evaluate", json!({"expression": texts}))?;
        found = answer["result"]["value"].as_str().unwrap_or_default().to_owned();
        if found == expected {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    is("the page without scripts", &found, &expected)
}

fn is(what: &str, found: &str, expected: &str) -> Outcome<()> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found} where {expected} is expected")),
    }
}

#[test]
fn a_stranger_who_comes_back_sees_which_posts_are_new() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let board = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specimens/board");
    let mut copy = Command::new("cp");
    copy.args(["-r", board]).arg(folder.path().join("board"));
    assert!(copy.status().expect("cp runs").success(), "the board is copied");
    // It serves as somebody else than root.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    let items = Items { page: "/thread/1", elsewhere: "/", items: "article.post", date: "time" };
    are_marked("the board", &folder.path().join("board"), &items);
}
