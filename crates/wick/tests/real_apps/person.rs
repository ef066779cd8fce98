//! A person with Chromium, who logs in where a program did before: scripts run here, and
//! the browser has its own mind about which page it keeps.

use std::sync::Arc;

use crate::browser::{self, Browser, Outcome, Tab};
use crate::strangers::LogIn;
use crate::visitor::BROWSER;

/// Not the one that filled the pages.
const GUESTS_BROWSER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/130.0.0.0 Safari/537.36";

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

/// What a guest does who was never here before, with a form of the page they come to.
pub(crate) struct GuestHands {
    pub(crate) page: &'static str,
    /// Fields and what is written there; the form is that of the first.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    /// What is read then.
    pub(crate) proof: &'static str,
}

/// Does it with Chromium at `base`.
pub(crate) fn visit(name: &str, base: &str, hands: &GuestHands) {
    if !browser::is_installed() {
        eprintln!("\n*** chromium is missing: NO GUEST OF {name} HAS A BROWSER ***\n");
        return;
    }
    let browser = Arc::new(Browser::start().expect("Chromium starts"));
    let tab = browser.tab(GUESTS_BROWSER).expect("a window");
    let done = write(&tab, base, hands);
    assert!(done.is_ok(), "{name}, a guest in Chromium: {done:?}\n{:?}", tab.text());
    drop(tab);
    browser.end().expect("Chromium ends");
}

fn write(tab: &Tab, base: &str, hands: &GuestHands) -> Outcome<()> {
    tab.open(&format!("{base}{}", hands.page))?;
    for (selector, text) in hands.fields {
        tab.fill(selector, text)?;
    }
    let field = hands.fields[0].0;
    tab.ask(&format!("document.querySelector(\"{field}\").form.requestSubmit()"))?;
    tab.wait_for_text(hands.proof)
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
    // Not `click`, which waits for all that the page behind it shows, pictures of other sites
    // among it.
    tab.ask(&format!("document.querySelector(\"{}\").click()", hands.button))?;
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
