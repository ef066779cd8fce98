//! What nodes learn from each other: which cookies are the app's, what was refused, what their
//! owner ruled, which sessions were bound late, and which pages a search has found
//! ([`super::found`]).
//!
//! Only what makes a node more careful is told: bearers of such a cookie are no strangers, such a
//! page is nobody else's ([`super::refusals`]), such a ruling shares less. That a cookie means
//! nothing, that a page may be shared, or that a change is noise each node finds out for itself,
//! by what it sees. What is learned is told once, by who learned it; who begins, or may have
//! missed something, asks, with the cookies and rulings that it knows, and is told what else
//! others know.
//! Invariant: nothing that is heard makes anything shareable that was not.

use serde::{Deserialize, Serialize};

use super::news::Told;
use super::refusals::RefusedTold;
use crate::Server;
use crate::notes::Note;
use crate::overrule::CarefulRuling;
use crate::site::Site;
use crate::strangers::app_cookie;

/// Names that are told at once; a site has no more of them.
const NAMES_MAX: usize = 512;
/// Sessions that are told at once.
const SESSIONS_MAX: usize = 16;
/// The longest that is told.
const NAME_BYTES_MAX: usize = 256;

/// What is told of one site. Who knows less than this version leaves out what it doesn't know,
/// and is as careful as it was.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct LearnedTold {
    /// Cookies that the app was seen to set.
    #[serde(default)]
    app_cookies: Vec<String>,
    /// What strangers must not share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<RefusedTold>,
    /// What the owner ruled on one of the nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rulings: Vec<CarefulRuling>,
    /// What of that was taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    taken_back: Vec<CarefulRuling>,
    /// Classes whose refusal the owner wants forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forgotten: Vec<String>,
    /// Whether who tells begins, and wants to hear what else is known.
    #[serde(default)]
    asks: bool,
    /// Sessions that were bound late, sealed. Who doesn't know this field goes without, as one that
    /// was begun later does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<String>,
    /// Addresses of pages that a search has found. Who doesn't know this field finds them by
    /// itself, or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
}

impl LearnedTold {
    pub(super) fn found(found: Vec<String>) -> Self {
        Self { found, ..Self::default() }
    }

    pub(super) fn of_session(sealed: String) -> Self {
        Self { sessions: vec![sealed], ..Self::default() }
    }
}

impl LearnedTold {
    pub(super) fn refused(refused: Vec<RefusedTold>) -> Self {
        Self { refused, ..Self::default() }
    }
}

impl Server {
    /// Tells the other nodes what was learned here, where it is for all; whoever keeps notes calls
    /// it for each that was written.
    pub fn tell_learned(&self, note: &Note) {
        let Some(name) = app_cookie(note) else { return };
        let sites = self.sites();
        if let Some(site) = sites.each().into_iter().find(|site| site.name == note.site) {
            self.tell_app_cookies(site, vec![name], false);
        }
    }

    /// Tells the other nodes all that is known here, and asks for what else is known there.
    pub fn ask_learned(&self) {
        for site in self.sites().each() {
            if site.strangers.is_none() && site.following.is_none() {
                continue;
            }
            let (app_cookies, rulings) = (app_cookies(site), self.rulings.careful(&site.name));
            self.tell_learned_of(site, LearnedTold { app_cookies, rulings, asks: true, ..none() });
        }
    }

    fn tell_app_cookies(&self, site: &Site, app_cookies: Vec<String>, asks: bool) {
        self.tell_learned_of(site, LearnedTold { app_cookies, asks, ..none() });
    }

    pub(super) fn tell_learned_of(&self, site: &Site, mut told: LearnedTold) {
        told.app_cookies.retain(|name| name.len() <= NAME_BYTES_MAX);
        told.app_cookies.truncate(NAMES_MAX);
        self.tell_fellows(site, || vec![Told::Learned(told)]);
    }

    /// Tells the other nodes what their owner ruled here, and what was taken back.
    pub(crate) fn tell_rulings(
        &self,
        site: &Site,
        rulings: Vec<CarefulRuling>,
        taken_back: Vec<CarefulRuling>,
    ) {
        self.tell_learned_of(site, LearnedTold { rulings, taken_back, ..none() });
    }

    /// Tells them that a class is to be tried again.
    pub(crate) fn tell_forgotten(&self, site: &Site, class: &str) {
        self.tell_learned_of(site, LearnedTold { forgotten: vec![class.to_owned()], ..none() });
    }

    pub(super) fn hear_learned(&self, site: &Site, told: &LearnedTold) {
        told.taken_back.iter().for_each(|ruling| self.hear_taken_back(site, ruling));
        told.forgotten.iter().for_each(|class| self.hear_forgotten(site, class));
        if !told.asks {
            told.rulings.iter().for_each(|ruling| self.hear_ruling(site, ruling));
        }
        for sealed in told.sessions.iter().take(SESSIONS_MAX) {
            self.hear_session(site, sealed);
        }
        self.hear_found(site, &told.found);
        if let Some(strangers) = &site.strangers {
            for name in told.app_cookies.iter().take(NAMES_MAX) {
                strangers.hear_app_cookie(name);
            }
            for refused in &told.refused {
                self.hear_refused(site, strangers, refused);
            }
        }
        if told.asks {
            self.tell_who_asks(site, told);
        }
    }

    fn tell_who_asks(&self, site: &Site, asks: &LearnedTold) {
        let mut more = LearnedTold {
            app_cookies: app_cookies(site),
            rulings: self.rulings.careful(&site.name),
            ..none()
        };
        more.app_cookies.retain(|name| !asks.app_cookies.contains(name));
        more.rulings.retain(|ruling| !asks.rulings.iter().any(|known| known.is_as(ruling)));
        if !more.app_cookies.is_empty() || !more.rulings.is_empty() {
            self.tell_learned_of(site, more);
        }
        if let Some(strangers) = &site.strangers {
            strangers.recent.ask();
        }
    }
}

fn none() -> LearnedTold {
    LearnedTold::default()
}

/// The cookies that the app was seen to set. Others' names can't be told as text, and are found
/// out by each node.
fn app_cookies(site: &Site) -> Vec<String> {
    let known = site.strangers.iter().flat_map(|strangers| strangers.names.all());
    known
        .filter(|one| one.is_set)
        .filter_map(|one| String::from_utf8(one.name.into()).ok())
        .collect()
}
