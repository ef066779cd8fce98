//! Overruling: what an operator decides at run time over what was learned.
//!
//! A ruling says what a setting of the same name would say, holds at once and until it is taken
//! back, and gives way to the settings where both speak.
//! Invariant: it can make more private, and what it makes less so is bounded as by settings: a
//! cookie that the app was seen to set stays the app's, and every page that is shared was made
//! for personas and compared. So no visitor's bytes come to another by any ruling.
//! Start at [`Server::overrule`].

mod fellows;
mod rulings;

use changes::Pattern;
use policy::purge::Mode;
use policy::strangers::{Standing, pairs, shape};
use serde::{Deserialize, Serialize};
use wire::RequestHead;

pub(crate) use fellows::CarefulRuling;
use rulings::{BY_BYTES_MAX, SUBJECT_BYTES_MAX};
pub use rulings::{Rule, Ruling, Rulings, RulingsKeeper};

use crate::Server;
use crate::explain::Line;
use crate::following::Following;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::rules::fits;

/// What somebody wants overruled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverruleOrder {
    /// The site's name; empty: the only one.
    pub site: String,
    /// What is to be done; none: to tell what was ruled.
    pub act: Option<Act>,
    /// About what.
    pub subject: String,
    /// Who wants it, in words.
    pub by: String,
}

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Rule so.
    Rule(Rule),
    /// Take such a ruling back.
    TakeBack(Rule),
    /// Forget why a class is not shared at the moment, so that the next visit tries it.
    Forget,
}

impl Server {
    /// Carries an order out, and tells what was done. It writes to the disk.
    ///
    /// # Errors
    /// What is wrong with the order, and what to do, in one sentence; then nothing has changed.
    pub fn overrule(&self, order: &OverruleOrder) -> Result<Vec<Line>, String> {
        if self.is_leaving() {
            return Err("another Wick takes this one's place just now: ask again".to_owned());
        }
        let sites = self.sites();
        let site = match order.site.as_str() {
            "" => sites.only().ok_or("there are several sites: name one")?,
            name => {
                let mut all = sites.all();
                all.find(|site| site.name == name).ok_or_else(|| {
                    let names: Vec<_> = sites.each().iter().map(|site| site.name.clone()).collect();
                    format!("no site is called {name}; there are: {}", names.join(", "))
                })?
            }
        };
        let subject = order.subject.trim();
        let Some(act) = order.act else { return Ok(tell(self, site)) };
        let is_text = |text: &str, bytes_max| {
            text.len() <= bytes_max && !text.contains(|letter: char| letter.is_control())
        };
        if subject.is_empty() || !is_text(subject, SUBJECT_BYTES_MAX) {
            return Err(format!(
                "say what it is about, in at most {SUBJECT_BYTES_MAX} bytes without control characters"
            ));
        }
        if !is_text(&order.by, BY_BYTES_MAX) {
            return Err(format!("say who wants it in at most {BY_BYTES_MAX} bytes"));
        }
        let done = match act {
            Act::Rule(rule) => self.rule(site, rule, subject, &order.by),
            Act::TakeBack(rule) => self.take_back(site, rule, subject),
            Act::Forget => self.forget(site, subject),
        }?;
        self.counters.overruled.bump();
        Ok(vec![done])
    }

    fn rule(&self, site: &Site, rule: Rule, subject: &str, by: &str) -> Result<Line, String> {
        if let Some(why) = refusal(site, rule, subject)? {
            return Err(format!("{} = [\"{subject}\"] can't be ruled: {why}", rule.setting()));
        }
        let ruling = Ruling {
            site: site.name.clone(),
            rule,
            subject: subject.to_owned(),
            by: by.to_owned(),
            unix_ms: self.clock.now().unix_ms,
        };
        self.rulings.add(ruling.clone(), &self.counters.rulings_refused)?;
        follow(self, site, rule, false);
        let place = self.tell_ruled(site, &ruling);
        let text = format!("{} = [\"{subject}\"], from now on{place}", rule.setting());
        Ok(Line { topic: "ruled", text })
    }

    fn take_back(&self, site: &Site, rule: Rule, subject: &str) -> Result<Line, String> {
        self.rulings.take_back(&site.name, rule, subject)?;
        follow(self, site, rule, true);
        let place = self.tell_taken_back(site, rule, subject);
        let text = format!("{} = [\"{subject}\"] holds no more{place}", rule.setting());
        Ok(Line { topic: "taken back", text })
    }

    fn forget(&self, site: &Site, class: &str) -> Result<Line, String> {
        match strangers(site)?.classes.forget_refusal(class) {
            true => {
                self.tell_forgotten(site, class);
                let text = format!("{class}: the next stranger's visit tries it");
                Ok(Line { topic: "forgotten", text })
            }
            false => Err(format!(
                "no refusal of a class {class} is remembered; classes are written as they are told"
            )),
        }
    }

    /// Lets all rulings about cookies hold for sites that have just come.
    pub(crate) fn follow_rulings(&self) {
        for site in self.sites().each() {
            follow_cookies(self, site);
        }
    }
}

fn follow_cookies(server: &Server, site: &Site) {
    if let Some(strangers) = &site.strangers {
        strangers.names.rule(|| server.rulings.cookies(&site.name));
    }
}

/// Lets a ruling, or its end, have its effect.
fn follow(server: &Server, site: &Site, rule: Rule, is_taken_back: bool) {
    match rule {
        Rule::AppCookies | Rule::ForeignCookies => follow_cookies(server, site),
        // What is shared already would be for as long as it is fresh.
        Rule::NeverShare if !is_taken_back => site.generations.purge_all(Mode::Hard),
        Rule::NeverShare => {}
        // What was ignored so far may have changed pages.
        Rule::ChangesHeeded | Rule::ChangesIgnored => {
            if is_taken_back != (rule == Rule::ChangesHeeded) {
                site.generations.note_change();
            }
        }
    }
}

fn strangers(site: &Site) -> Result<&Strangers, &'static str> {
    site.strangers
        .as_deref()
        .ok_or("this site shares nothing with strangers, so nothing is learned")
}

fn following(site: &Site) -> Result<&Following, &'static str> {
    site.following.as_deref().ok_or("the changes of this site are not followed")
}

/// Why such a ruling would say nothing, or may not be, if so.
fn refusal(site: &Site, rule: Rule, subject: &str) -> Result<Option<String>, String> {
    match rule {
        Rule::AppCookies | Rule::ForeignCookies => {
            let is_name = subject.bytes().all(wire::fields::is_token);
            if !is_name {
                return Err(format!("{subject} is no cookie's name"));
            }
            strangers(site)?;
        }
        Rule::NeverShare => {
            strangers(site)?;
        }
        Rule::ChangesIgnored | Rule::ChangesHeeded => {
            following(site)?;
            subject.parse::<Pattern>().map_err(|error| error.to_string())?;
        }
    }
    Ok(beaten(site, rule, subject))
}

/// Who says otherwise and has the last word, if somebody does.
fn beaten(site: &Site, rule: Rule, subject: &str) -> Option<String> {
    let settings = |setting: &str| Some(format!("wick.toml has it in {setting}, which counts"));
    match rule {
        Rule::AppCookies | Rule::ForeignCookies => {
            let names = &site.strangers.as_deref()?.names;
            if rule == Rule::ForeignCookies && names.is_set(subject.as_bytes()) {
                return Some(
                    "the app itself sets this cookie, so it may tell who somebody is".to_owned(),
                );
            }
            match names.told(subject.as_bytes())? {
                Standing::App => settings("app_cookies"),
                _ => settings("foreign_cookies"),
            }
        }
        Rule::NeverShare => None,
        Rule::ChangesIgnored | Rule::ChangesHeeded => {
            let pattern: Pattern = subject.parse().ok()?;
            let rules = site.following.as_deref()?.rules();
            if rules.heeded.contains(&pattern) {
                return settings("changes_heeded");
            }
            rules.ignored.contains(&pattern).then(|| settings("changes_ignored")).flatten()
        }
    }
}

/// A ruling as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldRuling {
    /// The ruling.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// Why it doesn't hold, if it doesn't.
    pub beaten: Option<String>,
}

/// All rulings about a site, oldest first.
pub(crate) fn told(rulings: &Rulings, site: &Site) -> Vec<ToldRuling> {
    let told = |ruling: Ruling| {
        let beaten = beaten(site, ruling.rule, &ruling.subject);
        ToldRuling { ruling, beaten }
    };
    rulings.of_site(&site.name).into_iter().map(told).collect()
}

/// What was ruled about the cookies that a request bears and the class of its address.
pub(crate) fn of_request(server: &Server, site: &Site, head: &RequestHead) -> Vec<Line> {
    let class = shape(&head.target);
    let is_meant = |ruling: &Ruling| match ruling.rule {
        Rule::AppCookies | Rule::ForeignCookies => {
            pairs(&head.fields).any(|(name, _)| name == ruling.subject.as_bytes())
        }
        Rule::NeverShare => ruling.subject == class || fits(&ruling.subject, &head.target),
        Rule::ChangesIgnored | Rule::ChangesHeeded => false,
    };
    let all = told(&server.rulings, site).into_iter();
    all.filter(|told| is_meant(&told.ruling)).map(|told| line(server, told)).collect()
}

fn tell(server: &Server, site: &Site) -> Vec<Line> {
    let all = told(&server.rulings, site).into_iter();
    let mut lines: Vec<Line> = all.map(|told| line(server, told)).collect();
    if lines.is_empty() {
        lines.push(Line { topic: "ruled", text: "nothing".to_owned() });
    }
    lines
}

fn line(server: &Server, told: ToldRuling) -> Line {
    let Ruling { rule, subject, by, unix_ms, .. } = told.ruling;
    let seconds = server.clock.now().unix_ms.saturating_sub(unix_ms) / 1000;
    let holds = told.beaten.map_or_else(String::new, |why| format!("; it doesn't hold: {why}"));
    let text = format!("{} = [\"{subject}\"], by {by}, {seconds} s ago{holds}", rule.setting());
    Line { topic: "ruled", text }
}

#[cfg(test)]
mod tests;
