//! People with a browser: they log in from a page that was shared, and do as guests do.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use crate::browser::{Browser, Outcome, Tab};
use crate::client::{Client, is_from_memory};
use crate::crawl;
use crate::page;
use crate::specimen::{PASSWORD, Site, Step, USER};
use crate::walk::take_time;

/// How often somebody goes back to the front page at most.
const STEPS_BACK_MAX: usize = 4;

/// A person's way over a site.
pub(crate) struct Person {
    tab: Tab,
    agent: String,
    origin: String,
    /// Pages that should have come from memory and did not.
    unshared: RefCell<Vec<String>>,
}

impl Person {
    /// Somebody new; each number is another browser.
    pub(crate) fn new(browser: &Arc<Browser>, origin: &str, number: u8) -> Outcome<Self> {
        let agent = crawl::agent(number);
        Ok(Self {
            tab: browser.tab(&agent)?,
            agent,
            origin: origin.to_owned(),
            unshared: RefCell::default(),
        })
    }

    /// The same cookies in a program's hands.
    pub(crate) fn client(&self, port: u16) -> Outcome<Client> {
        let jar = self.tab.cookies(&self.origin)?;
        Ok(Client { jar, ..Client::new(port, Ipv4Addr::LOCALHOST, &self.agent) })
    }

    fn open(&self, target: &str) -> Outcome<()> {
        self.tab.open(&format!("{}{target}", self.origin))
    }

    /// Notes whether the page that is open came from memory, if strangers share it at all.
    fn expect_shared(&self, site: &Site, target: &String, what: &str) {
        let verdict = self.tab.head_field("cache-status");
        if site.specimen.crawl.contains(target) && !is_from_memory(&verdict) {
            let fault = format!("{what} was not begun on a page from memory: {verdict}");
            self.unshared.borrow_mut().push(fault);
        }
    }

    /// What should have come from memory and did not.
    pub(crate) fn unshared(self) -> Vec<String> {
        self.unshared.take()
    }

    /// Adds a picture to what went wrong.
    fn pictured(&self, what: &str, outcome: Outcome<()>) -> Outcome<()> {
        outcome.map_err(|error| {
            let target = Path::new(env!("CARGO_BIN_EXE_wick")).ancestors().nth(2);
            let name = format!("strangers-{}.png", what.replace(' ', "-"));
            let path = target.unwrap_or(Path::new(".")).join(name);
            match self.tab.screenshot(path) {
                Ok(path) => format!("{what}: {error}\n(picture: {})", path.display()),
                Err(_) => format!("{what}: {error}"),
            }
        })
    }

    /// Logs in by the form; the front page then greets `ann`.
    fn log_in(&self, site: &Site, is_shared: bool) -> Outcome<()> {
        let login = &site.specimen.login;
        self.open(&site.specimen.front)?;
        self.open(&login.page)?;
        if is_shared {
            self.expect_shared(site, &login.page, "the log-in");
        }
        self.tab.fill(&login.user_field, USER)?;
        self.tab.fill(&login.password_field, PASSWORD)?;
        take_time(login.wait_seconds);
        self.tab.click(&login.submit)?;
        self.tab.wait_for_text(&login.proof)
    }

    /// Goes back to the front page that was read before the log-in; whether it greets `ann`.
    fn sees_member_at_back(&self, site: &Site) -> Outcome<bool> {
        let front = format!("{}{}", self.origin, site.specimen.front);
        for _ in 0..STEPS_BACK_MAX {
            if self.tab.back().is_err() {
                break;
            }
        }
        let url = self.tab.url()?;
        if url != front {
            return Err(format!("Back leads to {url}, wanted {front}"));
        }
        Ok(self.tab.text()?.contains(&site.specimen.login.proof))
    }

    /// Does all steps; `mark` tells this guest's words from others'.
    fn do_as_guest(&self, site: &Site, mark: &str) -> Outcome<()> {
        let marked = |text: &str| text.replace("{mark}", mark);
        for (number, step) in site.specimen.guest.steps.iter().enumerate() {
            let done = match step {
                Step::Fill(selector, text) => self.tab.fill(selector, &marked(text)),
                Step::Click(selector) => self.tab.click(selector),
                Step::Visit(target) => self.open(target),
                Step::Expect(text) => self.tab.wait_for_text(&marked(text)),
                Step::Lacks(text) => self.lacks(&marked(text)),
                Step::Captcha(selector) => {
                    let answer = site.captcha_answer(&self.tab.cookies(&self.origin)?);
                    answer.and_then(|answer| self.tab.fill(selector, &answer))
                }
                Step::WaitSeconds(seconds) => {
                    take_time(*seconds);
                    Ok(())
                }
            };
            done.map_err(|error| format!("step {} ({step:?}): {error}", number + 1))?;
        }
        Ok(())
    }

    fn lacks(&self, text: &str) -> Outcome<()> {
        let shown = self.tab.text()?;
        match shown.contains(text) {
            true => Err(format!("the page still shows {text:?}:\n{shown}")),
            false => Ok(()),
        }
    }
}

/// A log-in behind Wick, and that Back shows the member's page wherever it does without.
pub(crate) fn log_in(site: &Site, browser: &Arc<Browser>) -> Outcome<Person> {
    let specimen = &site.specimen;
    let direct = Person::new(browser, &site.plain.origin(), 20)?;
    let name = &specimen.name;
    direct.pictured(&format!("{name} log-in without Wick"), direct.log_in(site, false))?;
    let shows_member = direct.sees_member_at_back(site)?;
    for target in [&specimen.front, &specimen.login.page] {
        crawl::warm(site, target)?;
    }
    let person = Person::new(browser, &site.wick.origin(), 21)?;
    person.pictured(&format!("{name} log-in"), person.log_in(site, true))?;
    if shows_member && !person.sees_member_at_back(site)? {
        return Err(
            "Back after the log-in shows the guest's page, and the member's without Wick".into()
        );
    }
    Ok(person)
}

/// What a guest does, begun on a page from memory.
pub(crate) fn be_guest(site: &Site, browser: &Arc<Browser>) -> Outcome<Vec<String>> {
    let (name, guest) = (&site.specimen.name, &site.specimen.guest);
    let direct = Person::new(browser, &site.plain.origin(), 22)?;
    direct.open(&guest.page)?;
    direct.pictured(&format!("{name} guest without Wick"), direct.do_as_guest(site, "Dinah"))?;
    crawl::warm(site, &guest.page)?;
    let person = Person::new(browser, &site.wick.origin(), 23)?;
    person.open(&guest.page)?;
    person.expect_shared(site, &guest.page, "what the guest does");
    person.pictured(&format!("{name} guest"), person.do_as_guest(site, "Edith"))?;
    Ok(person.unshared())
}

/// The same by somebody who comes first: the last write made what was shared old.
pub(crate) fn be_first_guest(site: &Site, browser: &Arc<Browser>) -> Outcome<()> {
    let (name, guest) = (&site.specimen.name, &site.specimen.guest);
    let person = Person::new(browser, &site.wick.origin(), 24)?;
    person.open(&guest.page)?;
    let what = format!("{name} first guest");
    person.pictured(&what, person.do_as_guest(site, "Mabel"))
}

/// Whether a member reads what the origin shows, and no stranger reads the member's.
pub(crate) fn member_reads(site: &Site, person: &Person) -> Outcome<Vec<String>> {
    let mut faults = Vec::new();
    let mut member = person.client(site.wick.port)?;
    let specimen = &site.specimen;
    for target in specimen.crawl.iter().chain(&specimen.never_shared) {
        let answer = member.read(target)?;
        let origin = member.at(site.plain.port).read(target)?;
        // A picture with a captcha is another each time.
        if origin.is_html() {
            let found = crawl::unlike(target, &answer, &origin);
            faults.extend(found.map(|found| format!("as a member: {found}")));
        }
        let stranger = crawl::stranger(site.wick.port, 11).read(target)?;
        if page::text(&stranger.body).join(" ").contains(&specimen.login.proof) {
            let verdict = stranger.field("cache-status");
            faults.push(format!("{target}: a stranger reads the member's page ({verdict})"));
        }
    }
    let greeted = member.read(&specimen.front)?;
    if !page::text(&greeted.body).join(" ").contains(&specimen.login.proof) {
        faults.push("the member is not logged in any more".into());
    }
    Ok(faults)
}
