//! Who looks at the page: opens views, uses them, and notes what is wrong with them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::browser::{Browser, Outcome, Tab};

/// Views of which the README shows a picture.
const PICTURES: [&str; 5] = ["now", "history", "misses", "url", "learned"];
const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) Chromium";
/// Notes what a person would find in the console.
const NOTING: &str = "
    window.faults = [];
    const note = (kind, what) => window.faults.push(`${kind}: ${what}`);
    addEventListener('error', event => note('error', event.message ?? event.target.outerHTML), true);
    addEventListener('unhandledrejection', event => note('rejection', event.reason));
    addEventListener('securitypolicyviolation',
      event => note('policy', `${event.violatedDirective} ${event.blockedURI}`));
    for (const kind of ['error', 'warn']) {
      const say = console[kind];
      console[kind] = (...words) => { note(`console.${kind}`, words.join(' ')); say(...words); };
    }";

pub(crate) struct Looker {
    pub(crate) tab: Tab,
    url: String,
    /// axe-core, if it is here.
    axe: Option<String>,
}

impl Looker {
    pub(crate) fn new(browser: &Arc<Browser>, admin: &str) -> Outcome<Self> {
        let tab = browser.tab(AGENT)?;
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": NOTING}))?;
        // As a browser does once a person has typed them: anna, and the token.
        let shown = "Basic YW5uYTphLXRva2VuLW9mLW1hbnktbGV0dGVycw==";
        tab.call("Network.enable", json!({}))?;
        let fields = json!({"headers": {"Authorization": shown}});
        tab.call("Network.setExtraHTTPHeaders", fields)?;
        let path = root().join("target/tools/axe.min.js");
        let axe = std::fs::read_to_string(&path).ok();
        if axe.is_none() {
            eprintln!("SKIPPED: {} is missing (scripts/setup test fetches it)", path.display());
        }
        let looker = Self { tab, url: format!("http://{admin}/"), axe };
        looker.size(1200, 800)?;
        Ok(looker)
    }

    /// Types the page's address.
    pub(crate) fn open(&self) -> Outcome<()> {
        self.open_at(&self.url, "#state[data-kind=live]")
    }

    /// Types another address, and waits for `mark`.
    pub(crate) fn open_at(&self, url: &str, mark: &str) -> Outcome<()> {
        self.tab.open(url)?;
        if let Some(axe) = &self.axe {
            self.tab.ask(&format!("{axe};'ready'"))?;
        }
        self.tab.wait_for(mark)
    }

    /// Goes to a view by its link, and waits for `mark`.
    pub(crate) fn view(&self, view: &str, mark: &str) -> Outcome<()> {
        self.tab.click(&format!("nav a[href='#{view}']"))?;
        self.tab.wait_for(&format!("[data-view={view}] {mark}"))?;
        self.tab.wait_for(&format!("nav a[href='#{view}'][aria-current=page]"))
    }

    /// Waits until an element has this text.
    pub(crate) fn is(&self, selector: &str, text: &str) -> Outcome<()> {
        let condition = format!(
            "document.querySelector({}).textContent.trim() === {}",
            json!(selector),
            json!(text)
        );
        self.tab.wait_until(&condition, &format!("{selector}: {text:?}"))
    }

    /// Waits until the address ends so.
    pub(crate) fn is_at(&self, hash: &str) -> Outcome<()> {
        // An address changes without an event: what is said of it changes with it.
        let condition = format!("location.hash === {}", json!(hash));
        self.tab.wait_until(&condition, hash)
    }

    /// Nothing keeps anybody from using what is shown, in light, in dark and on a phone; then a
    /// picture of it.
    pub(crate) fn looks_well(&self, view: &str) -> Outcome<()> {
        for scheme in ["light", "dark"] {
            self.scheme(scheme)?;
            self.find_no_barrier(&format!("{view}, {scheme}"))?;
        }
        self.fits_a_phone(view)?;
        self.picture(view)
    }

    pub(crate) fn scheme(&self, scheme: &str) -> Outcome<()> {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.tab.call("Emulation.setEmulatedMedia", json!({"features": features})).map(|_| ())
    }

    fn size(&self, width: u32, height: u32) -> Outcome<()> {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tab.call("Emulation.setDeviceMetricsOverride", metrics).map(|_| ())
    }

    /// What keeps people from using it, as far as axe-core can tell.
    pub(crate) fn find_no_barrier(&self, what: &str) -> Outcome<()> {
        if self.axe.is_none() {
            return Ok(());
        }
        let found = self.tab.ask(
            "axe.run(document, {resultTypes: ['violations']}).then(found =>
               found.violations.map(one => one.id + ': '
                 + one.nodes.map(node => node.html + ' ' + node.failureSummary).join(' | ')).join('\\n'))",
        )?;
        if found.is_empty() { Ok(()) } else { Err(format!("{what}: axe-core found\n{found}")) }
    }

    /// Nothing is wider than a small phone, but for what can be moved by itself.
    pub(crate) fn fits_a_phone(&self, view: &str) -> Outcome<()> {
        self.size(360, 740)?;
        let beyond = self.tab.ask("String(document.documentElement.scrollWidth - innerWidth)")?;
        if std::env::var_os("WRITE_SCREENSHOTS").is_some() && view == "now" {
            self.scheme("light")?;
            self.tab.screenshot(pictures().join("phone.png"))?;
        }
        self.size(1200, 800)?;
        // A bar to scroll by takes some of the width.
        match beyond.parse::<i64>().is_ok_and(|beyond| beyond <= 0) {
            true => Ok(()),
            false => Err(format!("{view} is {beyond} pixels too wide for a phone")),
        }
    }

    /// A picture of the view for the README, if those are wanted.
    pub(crate) fn picture(&self, view: &str) -> Outcome<()> {
        let is_wanted = std::env::var_os("WRITE_SCREENSHOTS").is_some();
        if !is_wanted || !PICTURES.contains(&view) {
            return Ok(());
        }
        self.scheme(if view == "history" { "dark" } else { "light" })?;
        if view == "history" {
            self.tab.fill("#length", "120")?;
        }
        // The next look, drawn for this size.
        self.tab.wait_for(&format!("[data-view={view}]"))?;
        self.tab.ask("new Promise(done => setTimeout(() => done('drawn'), 2500))")?;
        self.tab.screenshot(pictures().join(format!("{view}.png"))).map(|_| ())
    }

    pub(crate) fn key(&self, key: &str) -> Outcome<()> {
        for kind in ["keyDown", "keyUp"] {
            self.tab.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}))?;
        }
        Ok(())
    }

    /// Draws over an element from one part of its width to another, as with a mouse.
    pub(crate) fn draw(&self, selector: &str, from: f64, to: f64) -> Outcome<()> {
        let script = format!(
            "{{ const all = document.querySelector({});
               all.scrollIntoView();
               const {{x, y, width, height}} = all.getBoundingClientRect();
               JSON.stringify([x, y + height / 2, width]); }}",
            json!(selector)
        );
        let place: Value =
            serde_json::from_str(&self.tab.ask(&script)?).map_err(|error| error.to_string())?;
        let number = |at: usize| place[at].as_f64().unwrap_or_default();
        let at = |part: f64| number(0) + number(2) * part;
        let steps =
            [("mousePressed", from), ("mouseMoved", (from + to) / 2.0), ("mouseReleased", to)];
        for (kind, part) in steps {
            let buttons = u8::from(kind != "mouseReleased");
            let event = json!({"type": kind, "x": at(part), "y": number(1),
                "button": "left", "buttons": buttons, "clickCount": 1});
            self.tab.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// The console is empty, and nothing was asked of another server.
    pub(crate) fn complains_of_nothing(&self) -> Outcome<()> {
        let faults = self.tab.ask("window.faults.join('\\n')")?;
        let elsewhere = self.tab.ask(
            "performance.getEntriesByType('resource').map(entry => entry.name)
               .filter(name => new URL(name).origin !== location.origin).join('\\n')",
        )?;
        match faults.is_empty() && elsewhere.is_empty() {
            true => Ok(()),
            false => Err(format!("complaints:\n{faults}\nelsewhere:\n{elsewhere}")),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn pictures() -> PathBuf {
    root().join("docs/dashboard")
}
