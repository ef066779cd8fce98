//! Rulings: what was decided over what was learned, while Wick ran and not in its settings.
//!
//! They are the owner's word, and so no notes: whoever keeps them writes all of them before one
//! is answered, and what can't be kept isn't ruled.
//! Bounds: [`RULINGS_MAX`] for all sites together, [`SUBJECT_BYTES_MAX`] each.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base::Counter;
use changes::{Pattern, Signature};
use parking_lot::Mutex;
use policy::strangers::{Standing, shape};
use serde::{Deserialize, Serialize};

use crate::strangers::names::CookieName;
use crate::strangers::rules::fits;

/// Rulings of all sites together.
pub(crate) const RULINGS_MAX: usize = 512;
/// Bytes of what a ruling is about, and of who ruled.
pub(crate) const SUBJECT_BYTES_MAX: usize = 512;
pub(crate) const BY_BYTES_MAX: usize = 120;

/// What a ruling says; each has the name of the setting that says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A cookie is the app's: its bearers pass.
    AppCookies,
    /// A cookie identifies nobody: no server reads it.
    ForeignCookies,
    /// A class of addresses is never shared among strangers.
    NeverShare,
    /// A kind of change changes no page.
    ChangesIgnored,
    /// A kind of change does, and sweeps.
    ChangesHeeded,
}

impl Rule {
    /// The name of the setting that says the same.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::AppCookies => "app_cookies",
            Self::ForeignCookies => "foreign_cookies",
            Self::NeverShare => "never_share",
            Self::ChangesIgnored => "changes_ignored",
            Self::ChangesHeeded => "changes_heeded",
        }
    }

    /// What can't be said of the same thing at the same time.
    pub(crate) fn opposite(self) -> Option<Self> {
        match self {
            Self::AppCookies => Some(Self::ForeignCookies),
            Self::ForeignCookies => Some(Self::AppCookies),
            Self::NeverShare => None,
            Self::ChangesIgnored => Some(Self::ChangesHeeded),
            Self::ChangesHeeded => Some(Self::ChangesIgnored),
        }
    }
}

/// One ruling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    /// The site that it is about: its [`crate::SiteConfig::name`].
    pub site: String,
    /// What is ruled.
    pub rule: Rule,
    /// About what: a cookie's name, a class as it is told, or a kind of change as settings write
    /// it.
    pub subject: String,
    /// Who ruled, in words.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
}

impl Ruling {
    /// Whether both say something of one thing, so that only one of them can be there.
    fn is_of(&self, site: &str, rule: Rule, subject: &str) -> bool {
        (self.rule == rule || self.rule.opposite() == Some(rule))
            && self.site == site
            && self.subject == subject
    }
}

/// Keeps all rulings over a restart, or says in one sentence why it can't.
pub type RulingsKeeper = Box<dyn Fn(&[Ruling]) -> Result<(), String> + Send + Sync>;

/// All rulings that there are.
#[derive(Default)]
pub struct Rulings {
    all: ArcSwap<Vec<Held>>,
    keeper: Option<RulingsKeeper>,
    /// One at a time rules; nobody on the road waits for that.
    turn: Mutex<()>,
}

/// A ruling with its pattern, if it is one about changes.
#[derive(Clone, Debug)]
struct Held {
    ruling: Ruling,
    pattern: Option<Pattern>,
}

impl From<Ruling> for Held {
    fn from(ruling: Ruling) -> Self {
        let is_pattern = matches!(ruling.rule, Rule::ChangesIgnored | Rule::ChangesHeeded);
        let pattern = is_pattern.then(|| ruling.subject.parse().ok()).flatten();
        Self { ruling, pattern }
    }
}

impl Rulings {
    /// Those that were kept; more than there may be are left out.
    #[must_use]
    pub fn new(kept: Vec<Ruling>, keeper: Option<RulingsKeeper>) -> Arc<Self> {
        let all: Vec<Held> = kept.into_iter().take(RULINGS_MAX).map(Held::from).collect();
        Arc::new(Self { all: ArcSwap::from_pointee(all), keeper, ..Self::default() })
    }

    /// Those about a site, oldest first.
    pub(crate) fn of_site(&self, site: &str) -> Vec<Ruling> {
        let all = self.all.load();
        all.iter().map(|held| &held.ruling).filter(|one| one.site == site).cloned().collect()
    }

    /// What was ruled about a site's cookies.
    pub(crate) fn cookies(&self, site: &str) -> HashMap<CookieName, Standing> {
        let standing = |ruling: Ruling| match ruling.rule {
            Rule::AppCookies => Some((ruling.subject.into_bytes().into(), Standing::App)),
            Rule::ForeignCookies => Some((ruling.subject.into_bytes().into(), Standing::Foreign)),
            _ => None,
        };
        self.of_site(site).into_iter().filter_map(standing).collect()
    }

    /// Whether pages of this target's class are never to be shared.
    pub(crate) fn forbids(&self, site: &str, target: &str) -> bool {
        let all = self.all.load();
        let mut never = all
            .iter()
            .map(|held| &held.ruling)
            .filter(|one| one.rule == Rule::NeverShare && one.site == site)
            .peekable();
        if never.peek().is_none() {
            return false;
        }
        let class = shape(target);
        never.any(|one| one.subject == class || fits(&one.subject, target))
    }

    /// Whether it was ruled that this kind of change is noise, or that it is not.
    pub(crate) fn is_noise(&self, site: &str, signature: &Signature) -> Option<bool> {
        let all = self.all.load();
        let is_any = |rule: Rule| {
            all.iter().any(|held| {
                held.ruling.rule == rule
                    && held.ruling.site == site
                    && held.pattern.as_ref().is_some_and(|pattern| pattern.fits(signature))
            })
        };
        if is_any(Rule::ChangesHeeded) {
            return Some(false);
        }
        is_any(Rule::ChangesIgnored).then_some(true)
    }

    /// Rules; the opposite of the same thing is gone then. Counts in `refused` what finds no room.
    pub(crate) fn add(&self, ruling: Ruling, refused: &Counter) -> Result<(), String> {
        self.replace(|all| {
            let Ruling { site, rule, subject, .. } = &ruling;
            all.retain(|held| !held.ruling.is_of(site, *rule, subject));
            if all.len() >= RULINGS_MAX {
                refused.bump();
                return Err(format!(
                    "{RULINGS_MAX} rulings are all that are kept: take some back, or write them \
                     into wick.toml"
                ));
            }
            all.push(ruling.clone().into());
            Ok(())
        })
    }

    /// Takes a ruling back.
    pub(crate) fn take_back(&self, site: &str, rule: Rule, subject: &str) -> Result<(), String> {
        self.replace(|all| {
            let before = all.len();
            all.retain(|held| held.ruling.rule != rule || !held.ruling.is_of(site, rule, subject));
            match all.len() == before {
                true => Err(format!("nothing was ruled with {} about {subject}", rule.setting())),
                false => Ok(()),
            }
        })
    }

    fn replace(
        &self,
        change: impl FnOnce(&mut Vec<Held>) -> Result<(), String>,
    ) -> Result<(), String> {
        let _turn = self.turn.lock();
        let mut all = Vec::clone(&self.all.load());
        change(&mut all)?;
        if let Some(keep) = &self.keeper {
            let rulings: Vec<Ruling> = all.iter().map(|held| held.ruling.clone()).collect();
            keep(&rulings)?;
        }
        self.all.store(Arc::new(all));
        Ok(())
    }
}

impl std::fmt::Debug for Rulings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all.load().iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(rule: Rule, subject: &str) -> Ruling {
        Ruling { site: "forum".into(), rule, subject: subject.into(), by: "me".into(), unix_ms: 1 }
    }

    #[test]
    fn of_two_that_contradict_each_other_the_later_one_is_there() {
        let rulings = Rulings::new(Vec::new(), None);
        for rule in [Rule::AppCookies, Rule::ForeignCookies, Rule::NeverShare] {
            rulings.add(ruling(rule, "x"), &Counter::default()).expect("room");
        }
        let rules: Vec<Rule> = rulings.of_site("forum").iter().map(|one| one.rule).collect();
        assert_eq!(rules, [Rule::ForeignCookies, Rule::NeverShare]);
        assert_eq!(rulings.of_site("another"), []);
        assert!(rulings.take_back("forum", Rule::AppCookies, "x").is_err());
        rulings.take_back("forum", Rule::ForeignCookies, "x").expect("it was there");
        assert!(rulings.cookies("forum").is_empty());
    }

    #[test]
    fn what_cannot_be_kept_is_not_ruled() {
        let full = Rulings::new(Vec::new(), Some(Box::new(|_| Err("the disk is full".into()))));
        assert_eq!(
            full.add(ruling(Rule::AppCookies, "x"), &Counter::default()),
            Err("the disk is full".into())
        );
        assert_eq!(full.of_site("forum"), []);
        let many = (0..RULINGS_MAX + 3).map(|at| ruling(Rule::AppCookies, &at.to_string()));
        let rulings = Rulings::new(many.collect(), None);
        assert_eq!(rulings.of_site("forum").len(), RULINGS_MAX);
        let refused = Counter::default();
        assert!(rulings.add(ruling(Rule::AppCookies, "one more"), &refused).is_err());
        assert!(rulings.add(ruling(Rule::ForeignCookies, "7"), &refused).is_ok(), "its place");
        assert_eq!(refused.read(), 1);
    }

    #[test]
    fn a_class_is_meant_as_it_is_told_and_a_pattern_as_settings_write_it() {
        let rulings = Rulings::new(
            vec![
                ruling(Rule::NeverShare, &shape("/thread/5?page=2")),
                ruling(Rule::NeverShare, "/private/*"),
            ],
            None,
        );
        for (site, target, expected) in [
            ("forum", "/thread/77?page=3", true),
            ("forum", "/private/a", true),
            ("forum", "/about", false),
            ("another", "/private/a", false),
        ] {
            assert_eq!(rulings.forbids(site, target), expected, "{site} {target}");
        }
    }
}
