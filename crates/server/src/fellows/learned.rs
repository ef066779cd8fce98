//! What nodes learn from each other: which cookies are the app's.
//!
//! Only what makes a node more careful is told: bearers of such a cookie are no strangers. That a
//! cookie means nothing, that a page may be shared, or that a change is noise each node finds out
//! for itself, by what it sees. What is learned is told once, by who learned it; who begins asks,
//! with all that it knows, and is told what else others do.
//! Invariant: nothing that is heard makes anything shareable that was not.

use serde::{Deserialize, Serialize};

use super::news::Told;
use crate::Server;
use crate::notes::Note;
use crate::site::Site;
use crate::strangers::app_cookie;

/// Names that are told at once; a site has no more of them.
const NAMES_MAX: usize = 512;
/// The longest that is told.
const NAME_BYTES_MAX: usize = 256;

/// Cookies that an app was seen to set.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct LearnedTold {
    app_cookies: Vec<String>,
    /// Whether who tells begins, and wants to hear what else is known.
    #[serde(default)]
    asks: bool,
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
            if site.strangers.is_some() {
                self.tell_app_cookies(site, app_cookies(site), true);
            }
        }
    }

    fn tell_app_cookies(&self, site: &Site, mut app_cookies: Vec<String>, asks: bool) {
        app_cookies.retain(|name| name.len() <= NAME_BYTES_MAX);
        app_cookies.truncate(NAMES_MAX);
        self.tell_fellows(site, || vec![Told::Learned(LearnedTold { app_cookies, asks })]);
    }

    pub(super) fn hear_learned(&self, site: &Site, told: &LearnedTold) {
        let Some(strangers) = &site.strangers else { return };
        for name in told.app_cookies.iter().take(NAMES_MAX) {
            strangers.hear_app_cookie(name);
        }
        if told.asks {
            let mut more = app_cookies(site);
            more.retain(|name| !told.app_cookies.contains(name));
            if !more.is_empty() {
                self.tell_app_cookies(site, more, false);
            }
        }
    }
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
