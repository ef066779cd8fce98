//! Rulings over several nodes.
//!
//! What makes sites more careful holds on all nodes at once, as if it had been ruled on each, and
//! who begins is told. What makes them less so holds where it was ruled, and the answer says so:
//! no node ignores a change, or takes a cookie for nothing, because another says it should.
//! That such a ruling is taken back, or that a refusal is forgotten, is told to all too: then
//! each node goes by what it sees itself. A node that is away at that moment keeps to the ruling.
//! Who asks what others know isn't obeyed in what it knows itself, so that a ruling doesn't come
//! back with a node that was away.

use serde::{Deserialize, Serialize};

use super::rulings::{BY_BYTES_MAX, SUBJECT_BYTES_MAX};
use super::{Rule, Ruling, Rulings, follow, refusal};
use crate::Server;
use crate::site::Site;

/// A ruling that makes its site more careful, as other nodes are told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct CarefulRuling {
    rule: Rule,
    subject: String,
    by: String,
    unix_ms: u64,
}

impl Rule {
    /// Whether it can only make pages more private, or fresher.
    pub(super) fn is_careful(self) -> bool {
        match self {
            Self::AppCookies | Self::NeverShare | Self::ChangesHeeded => true,
            Self::ForeignCookies | Self::ChangesIgnored => false,
        }
    }
}

impl CarefulRuling {
    fn of(ruling: &Ruling) -> Option<Self> {
        let Ruling { rule, subject, by, unix_ms, .. } = ruling;
        let (subject, by) = (subject.clone(), by.clone());
        rule.is_careful().then_some(Self { rule: *rule, subject, by, unix_ms: *unix_ms })
    }

    /// Whether both rule the same, whoever said so.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.rule == other.rule && self.subject == other.subject
    }

    fn is_text(&self) -> bool {
        let is_text = |text: &str, bytes_max| {
            text.len() <= bytes_max && !text.contains(|letter: char| letter.is_control())
        };
        is_text(&self.subject, SUBJECT_BYTES_MAX) && is_text(&self.by, BY_BYTES_MAX)
    }
}

impl Rulings {
    /// Those about a site that are for all nodes.
    pub(crate) fn careful(&self, site: &str) -> Vec<CarefulRuling> {
        self.of_site(site).iter().filter_map(CarefulRuling::of).collect()
    }
}

impl Server {
    /// Tells the other nodes what was ruled here; what the owner is told of that.
    pub(super) fn tell_ruled(&self, site: &Site, ruling: &Ruling) -> &'static str {
        if self.fellowship.is_none() {
            return "";
        }
        if let Some(careful) = CarefulRuling::of(ruling) {
            self.tell_rulings(site, vec![careful], Vec::new());
            return ", on all nodes";
        }
        // What it stands against holds no longer anywhere.
        if let Some(opposite) = ruling.rule.opposite() {
            let back = CarefulRuling::of(&Ruling { rule: opposite, ..ruling.clone() });
            self.tell_rulings(site, Vec::new(), back.into_iter().collect());
        }
        ", on this node alone: rule it on the others too, or write it into their wick.toml"
    }

    /// Tells them that a ruling was taken back here; what the owner is told of that.
    pub(super) fn tell_taken_back(&self, site: &Site, rule: Rule, subject: &str) -> &'static str {
        if self.fellowship.is_none() {
            return "";
        }
        if !rule.is_careful() {
            return " on this node";
        }
        let (subject, by) = (subject.to_owned(), String::new());
        let back = CarefulRuling { rule, subject, by, unix_ms: 0 };
        self.tell_rulings(site, Vec::new(), vec![back]);
        " on any node"
    }

    /// Another node's owner ruled so.
    pub(crate) fn hear_ruling(&self, site: &Site, told: &CarefulRuling) {
        let CarefulRuling { rule, subject, by, unix_ms } = told;
        let is_known = self.rulings.careful(&site.name).iter().any(|known| known.is_as(told));
        // Where settings say something else they count here, as for what is ruled here.
        let holds = rule.is_careful()
            && told.is_text()
            && !is_known
            && matches!(refusal(site, *rule, subject), Ok(None));
        if !holds {
            return;
        }
        let (name, subject, by) = (site.name.clone(), subject.clone(), by.clone());
        let ruling = Ruling { site: name, rule: *rule, subject, by, unix_ms: *unix_ms };
        match self.rulings.add(ruling, &self.counters.rulings_refused) {
            Ok(()) => {
                self.counters.overruled.bump();
                follow(self, site, *rule, false);
            }
            Err(why) => self.complain_of_ruling(site, told, &why),
        }
    }

    /// Another node's owner took it back.
    pub(crate) fn hear_taken_back(&self, site: &Site, told: &CarefulRuling) {
        let is_known = self.rulings.careful(&site.name).iter().any(|known| known.is_as(told));
        if !told.rule.is_careful() || !is_known {
            return;
        }
        match self.rulings.take_back(&site.name, told.rule, &told.subject) {
            Ok(()) => {
                self.counters.overruled.bump();
                follow(self, site, told.rule, true);
            }
            Err(why) => self.complain_of_ruling(site, told, &why),
        }
    }

    /// Another node's owner wants a class tried again.
    pub(crate) fn hear_forgotten(&self, site: &Site, class: &str) {
        if let Some(strangers) = &site.strangers {
            strangers.classes.forget_refusal(class);
        }
    }

    fn complain_of_ruling(&self, site: &Site, told: &CarefulRuling, why: &str) {
        if let Some(complain) = &self.complaints {
            complain(&format!(
                "{} of {} was ruled on another node and can't be kept here: {why}",
                told.rule.setting(),
                site.name
            ));
        }
    }
}
