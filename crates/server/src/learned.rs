//! What was learned about each site, for the owner who may want to overrule it.
//!
//! It is told as it is, with what was ruled over it ([`crate::overrule`]).
//! Bounds: [`CLASSES_SHOWN`] classes of each site, and as many kinds of change as
//! `wick explain` shows.

use std::sync::Arc;

use policy::strangers::Standing;
use serde::Serialize;

use crate::Server;
use crate::overrule::{self, Rule, Rulings, ToldRuling};
use crate::site::Site;
use crate::strangers::names::KnownCookie;

/// Classes of addresses that are told of each site, those that most is shared of first.
const CLASSES_SHOWN: usize = 200;

/// What was learned about a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// The site's name.
    pub name: String,
    /// What its origin consists of, and how that is.
    pub origin: Vec<String>,
    /// Cookies that were seen or named by the owner.
    pub cookies: Vec<LearnedCookie>,
    /// Classes of addresses.
    pub classes: Vec<LearnedClass>,
    /// What tells of changes, and whether it is heard.
    pub sources: Vec<String>,
    /// The kinds of change that swept last.
    pub swept_by: Vec<String>,
    /// Kinds of change that were proved to change no page.
    pub noise: Vec<String>,
    /// Kinds of change that may be such, which isn't proved.
    pub suspects: Vec<String>,
    /// What was decided over all that, at run time.
    pub rulings: Vec<ToldRuling>,
}

/// A cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LearnedCookie {
    /// Its name.
    pub name: String,
    /// What it is taken for.
    pub meaning: Meaning,
    /// The setting that names it; none: none does.
    pub setting: Option<&'static str>,
    /// Whether the app was seen to set it: then it stays the app's.
    pub is_set: bool,
}

/// What a cookie is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// It is the app's own: its bearers pass.
    App,
    /// It means nothing to the app.
    Foreign,
    /// Nobody knows: its bearers pass until that is found out.
    Unknown,
}

impl From<Standing> for Meaning {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::App => Self::App,
            Standing::Foreign => Self::Foreign,
            Standing::Unknown => Self::Unknown,
        }
    }
}

impl LearnedCookie {
    fn of(known: KnownCookie) -> Self {
        let setting = known.told.map(|told| match told {
            Standing::App => Rule::AppCookies.setting(),
            _ => Rule::ForeignCookies.setting(),
        });
        Self {
            name: String::from_utf8_lossy(&known.name).into_owned(),
            meaning: known.standing.into(),
            setting,
            is_set: known.is_set,
        }
    }
}

/// A class of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LearnedClass {
    /// What its addresses have in common.
    pub class: String,
    /// How often one of its pages was found to be shareable.
    pub shared: u64,
    /// Why none is shared at the moment, if so.
    pub refusal: Option<String>,
    /// A table that fetching one of its pages was seen to change.
    pub writes: Option<String>,
}

impl Server {
    /// What was learned about every site, by name.
    #[must_use]
    pub fn learned(&self) -> Vec<Learned> {
        let ticks_ms = self.clock.now().ticks_ms;
        let sites = self.sites();
        let learned = |site: &Arc<Site>| learned(site, &self.rulings, ticks_ms);
        sites.each().into_iter().map(learned).collect()
    }
}

fn learned(site: &Site, rulings: &Rulings, ticks_ms: u64) -> Learned {
    let mut told = Learned {
        name: site.name.clone(),
        origin: site.origin.standing().into_iter().collect(),
        rulings: overrule::told(rulings, site),
        ..Learned::default()
    };
    if let Some(strangers) = &site.strangers {
        told.cookies = strangers.names.all().into_iter().map(LearnedCookie::of).collect();
        let classes = strangers.classes.summary(CLASSES_SHOWN, ticks_ms).into_iter();
        told.classes = classes
            .map(|(class, shared, refusal, writes)| LearnedClass { class, shared, refusal, writes })
            .collect();
    }
    if let Some(following) = &site.following {
        [told.sources, told.swept_by] = following.heard(ticks_ms);
        [told.noise, told.suspects] = following.kinds();
    }
    told
}

#[cfg(test)]
mod tests {
    use base::Clock;
    use origin::{FilesOrigin, Origin};

    use super::*;
    use crate::{ServerConfig, SiteConfig, StrangerRules};

    #[test]
    fn cookies_and_classes_are_told_of_each_site() {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        site.name = "forum".into();
        site.strangers = Some(StrangerRules::default());
        let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
        let server = Server::new(config, Clock::manual(0));
        let sites = server.sites();
        let strangers = sites.each()[0].strangers.clone().expect("they are shared with");
        drop(sites);
        strangers.names.set(b"sid", Standing::App);
        strangers.names.set(b"_ga_x", Standing::Foreign);
        strangers.classes.note_shared("/thread/5", 1, 0).expect("nobody refuses it");
        let told = server.learned();
        let cookies: Vec<_> =
            told[0].cookies.iter().map(|one| (one.name.as_str(), one.meaning)).collect();
        assert_eq!(cookies, [("_ga_x", Meaning::Foreign), ("sid", Meaning::App)]);
        let expected = LearnedClass {
            class: policy::strangers::shape("/thread/5"),
            shared: 1,
            refusal: None,
            writes: None,
        };
        assert_eq!(told[0].classes, [expected]);
        assert_eq!((told.len(), told[0].name.as_str()), (1, "forum"));
        assert!(told[0].noise.is_empty() && told[0].sources.is_empty());
    }
}
