//! A person with Chromium, who logs in where a program did before: scripts run here, and
//! the browser has its own mind about which page it keeps.

use std::sync::Arc;

use crate::browser::{self, Browser, Outcome, Tab};
use crate::strangers::LogIn;
use crate::visitor::BROWSER;

/// What a person does with the form: the elements, by selectors.
pub(crate) struct Hands {
    /// Fields and what is written there.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    pub(crate) button: &'static str,
    /// What only members see, on every page.
    pub(crate) proof: &'static str,
    /// Whether the app forbids browsers to keep pages, so that going back must show a page
    /// anew; of other apps' pages a browser keeps what the stranger saw, with Wick or without.
    pub(crate) is_never_kept: bool,
}

/// Logs in with Chromium at `base`, having read a page as a stranger, which is then shown as
/// members see it.
pub(crate) fn log_in(name: &str, base: &str, log_in: &LogIn, hands: &Hands) {
    if !browser::is_installed() {
        eprintln!("\n*** chromium is missing: NO BROWSER LOGS IN TO {name} ***\n");
        return;
    }
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let tab = browser.tab(BROWSER).expect("a window");
    let done = walk(&tab, base, log_in, hands);
    let place = tab.url();
    assert!(done.is_ok(), "{name} in Chromium, at {place:?}: {done:?}\n{:?}", tab.text());
    drop(tab);
    browser.end().expect("Chromium ends");
}

fn walk(tab: &Tab, base: &str, log_in: &LogIn, hands: &Hands) -> Outcome<()> {
    tab.open(&format!("{base}{}", log_in.known_on))?;
    tab.open(&format!("{base}{}", log_in.page))?;
    for (selector, text) in hands.fields {
        tab.fill(selector, text)?;
    }
    tab.click(hands.button)?;
    tab.wait_for(hands.proof)?;
    if hands.is_never_kept {
        // The form, then the page that was read before it.
        tab.back()?;
        tab.back()?;
        tab.wait_for(hands.proof)?;
    }
    tab.open(&format!("{base}{}", log_in.known_on))?;
    tab.wait_for(hands.proof)
}
