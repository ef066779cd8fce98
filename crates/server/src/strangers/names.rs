//! Names: which cookies are the app's.
//!
//! Every name that the origin ever sets is the app's. A name that nobody set yet is
//! unknown, and who bears it is treated as a member, until enough pages were the same with
//! it and without: then it is foreign, as are the names that everybody knows.
//! The owner may rule otherwise, in the settings or while it runs ([`crate::overrule`]).
//! Invariant: what the app was seen to set is the app's, whatever anybody says.
//! Bound: [`NAMES_MAX`] names; past that every unknown name counts as the app's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use policy::strangers::{Standing, Visitor, is_known_foreign, pairs, set_cookies, visitor};
use wire::{Fields, Name};

use crate::pipeline;

const NAMES_MAX: usize = 512;
/// Pages that must have been the same for bearers of an unknown cookie, the values that it
/// had on them, and the visitors: what one visitor shows says little.
const PAGES: usize = 4;
const VALUES: usize = 3;
const VISITORS: usize = 3;
/// Names that may be taken for foreign by evidence; the app's own have room of their own.
const FOREIGN_MAX: usize = 128;

pub(crate) type CookieName = Box<[u8]>;

/// Names of unknown meaning that are told of, for somebody to rule about.
const UNKNOWN_MAX: usize = 64;

/// Learned names.
pub(crate) struct Names {
    /// What follows from all sources, for the road to look at.
    known: RwLock<Arc<HashMap<CookieName, Standing>>>,
    sources: Mutex<Sources>,
    /// What the settings say.
    told: HashMap<CookieName, Standing>,
    /// Names that were borne to the origin and that nobody knows, with how often.
    unknown: Mutex<BTreeMap<CookieName, u64>>,
    /// Names that strangers get wherever they come.
    usual: Mutex<HashSet<CookieName>>,
    evidence: Mutex<HashMap<CookieName, Evidence>>,
}

/// Where the standing of a name comes from, besides the settings.
#[derive(Default)]
struct Sources {
    learned: HashMap<CookieName, Standing>,
    ruled: HashMap<CookieName, Standing>,
}

/// What is known of one cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownCookie {
    pub(crate) name: CookieName,
    pub(crate) standing: Standing,
    /// What the settings say of it.
    pub(crate) told: Option<Standing>,
    /// Whether the app was seen to set it.
    pub(crate) is_set: bool,
}

/// What speaks for an unknown cookie's meaning nothing: hashes of pages, values and visitors.
#[derive(Default)]
struct Evidence {
    pages: HashSet<u64>,
    values: HashSet<u64>,
    visitors: HashSet<u64>,
}

impl Evidence {
    fn is_enough(&self) -> bool {
        self.pages.len() >= PAGES && self.values.len() >= VALUES && self.visitors.len() >= VISITORS
    }
}

impl Names {
    /// Names that the owner told.
    pub(crate) fn new(own: &[String], foreign: &[String]) -> Self {
        let own = own.iter().map(|name| (name.as_bytes().into(), Standing::App));
        let foreign = foreign.iter().map(|name| (name.as_bytes().into(), Standing::Foreign));
        let told: HashMap<CookieName, Standing> = foreign.chain(own).collect();
        Self {
            known: RwLock::new(Arc::new(told.clone())),
            sources: Mutex::default(),
            told,
            unknown: Mutex::default(),
            usual: Mutex::default(),
            evidence: Mutex::default(),
        }
    }

    /// Who sends these fields.
    pub(crate) fn visitor(&self, fields: &Fields) -> Visitor {
        if !fields.has(Name::Cookie) && !fields.has(Name::Authorization) {
            return Visitor::Stranger;
        }
        let known = self.known.read().clone();
        visitor(fields, |name| standing(&known, name))
    }

    /// What is known about one name.
    pub(crate) fn standing(&self, name: &[u8]) -> Standing {
        standing(&self.known.read(), name)
    }

    /// Learns from an answer; returns the names that are new.
    pub(crate) fn learn(&self, answer: &Fields) -> Vec<CookieName> {
        if !answer.has(Name::SetCookie) {
            return Vec::new();
        }
        let is_new = |name: &[u8]| !self.is_set(name);
        let new: Vec<CookieName> = set_cookies(answer)
            .map(|cookie| cookie.name)
            .filter(|n| is_new(n))
            .map(Into::into)
            .collect();
        for name in &new {
            self.set(name, Standing::App);
        }
        new
    }

    /// Whether strangers get this cookie wherever they come.
    pub(crate) fn is_usual(&self, name: &[u8]) -> bool {
        self.usual.lock().contains(name)
    }

    /// Notes the cookies that came with a page whose address says nothing but where it is.
    pub(crate) fn note_usual(&self, answer: &Fields) {
        let mut usual = self.usual.lock();
        for cookie in set_cookies(answer) {
            if usual.len() < NAMES_MAX {
                usual.insert(cookie.name.into());
            }
        }
    }

    /// Notes that a page was the same for this visitor, who bears these cookies, as for a
    /// stranger; returns the names that are foreign from now on.
    pub(crate) fn was_the_same(
        &self,
        request: &Fields,
        page_hash: u64,
        visitor: u64,
    ) -> Vec<CookieName> {
        let mut proven: Vec<CookieName> = Vec::new();
        if self.known.read().values().filter(|s| **s == Standing::Foreign).count() >= FOREIGN_MAX {
            return proven;
        }
        for (name, value) in pairs(request) {
            if self.standing(name) != Standing::Unknown {
                continue;
            }
            let mut evidence = self.evidence.lock();
            if evidence.len() >= NAMES_MAX && !evidence.contains_key(name) {
                evidence.clear();
            }
            let found = evidence.entry(name.into()).or_default();
            // What is enough is little, so these stay small.
            found.pages.insert(page_hash);
            found.values.insert(pipeline::hash(value));
            found.visitors.insert(visitor);
            if found.is_enough() || found.pages.len() > NAMES_MAX {
                let is_enough = found.is_enough();
                evidence.remove(name);
                if !is_enough {
                    continue;
                }
                proven.push(name.into());
            }
        }
        for name in &proven {
            self.set(name, Standing::Foreign);
        }
        proven
    }

    /// Notes that a page differed for the bearer of these cookies: the evidence so far is void.
    pub(crate) fn was_different(&self, request: &Fields) {
        let mut evidence = self.evidence.lock();
        for (name, _) in pairs(request) {
            evidence.remove(name);
        }
    }

    /// Puts a name where it belongs; what is the app's stays the app's.
    pub(crate) fn set(&self, name: &[u8], standing: Standing) {
        let mut sources = self.sources.lock();
        let is_known = self.known.read().contains_key(name);
        let has_room = is_known || sources.learned.len() < NAMES_MAX;
        if !has_room || sources.learned.get(name) == Some(&Standing::App) {
            return;
        }
        sources.learned.insert(name.into(), standing);
        self.unknown.lock().remove(name);
        if let Some(standing) = self.concluded(&sources, name) {
            Arc::make_mut(&mut self.known.write()).insert(name.into(), standing);
        }
    }

    /// Takes what was ruled while it runs, in the place of what was ruled before. It is read here,
    /// so that of two who rule at once the last one has read what both did.
    pub(crate) fn rule(&self, ruled: impl FnOnce() -> HashMap<CookieName, Standing>) {
        let mut sources = self.sources.lock();
        sources.ruled = ruled();
        let names = sources.ruled.keys().chain(sources.learned.keys()).chain(self.told.keys());
        let concluded = names.filter_map(|name| {
            let standing = self.concluded(&sources, name)?;
            Some((name.clone(), standing))
        });
        *self.known.write() = Arc::new(concluded.collect());
    }

    /// What follows from all that is said of a name. What the app was seen to set is its own,
    /// whoever says otherwise; then the settings count, then what was ruled, then what was
    /// learned.
    fn concluded(&self, sources: &Sources, name: &[u8]) -> Option<Standing> {
        let learned = sources.learned.get(name);
        if learned == Some(&Standing::App) {
            return Some(Standing::App);
        }
        let said = self.told.get(name).or_else(|| sources.ruled.get(name));
        said.or(learned).copied()
    }

    /// What the settings say of a name.
    pub(crate) fn told(&self, name: &[u8]) -> Option<Standing> {
        self.told.get(name).copied()
    }

    /// Whether the app was seen to set it.
    pub(crate) fn is_set(&self, name: &[u8]) -> bool {
        self.sources.lock().learned.get(name) == Some(&Standing::App)
    }

    /// Notes that these cookies went to the origin: those that nobody knows may be ruled about.
    pub(crate) fn note_unknown(&self, request: &Fields) {
        let mut unknown = self.unknown.lock();
        for (name, _) in pairs(request) {
            let has_room = unknown.len() < UNKNOWN_MAX || unknown.contains_key(name);
            if has_room && self.standing(name) == Standing::Unknown {
                *unknown.entry(name.into()).or_default() += 1;
            }
        }
    }

    /// All that is known of cookies, by name, and those that were met and aren't.
    pub(crate) fn all(&self) -> Vec<KnownCookie> {
        let known = self.known.read().clone();
        let met: Vec<CookieName> = self.unknown.lock().keys().cloned().collect();
        let met = met.into_iter().filter(|name| !known.contains_key(name));
        let sources = self.sources.lock();
        let cookie = |(name, standing): (CookieName, Standing)| KnownCookie {
            standing,
            told: self.told.get(&name).copied(),
            is_set: sources.learned.get(&name) == Some(&Standing::App),
            name,
        };
        let known_ones = known.iter().map(|(name, standing)| (name.clone(), *standing));
        let mut all: Vec<KnownCookie> =
            known_ones.chain(met.map(|name| (name, Standing::Unknown))).map(cookie).collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The app's cookies, by name.
    pub(crate) fn app_names(&self) -> Vec<CookieName> {
        let known = self.known.read();
        let mut names: Vec<CookieName> = known
            .iter()
            .filter(|(_, s)| **s == Standing::App)
            .map(|(name, _)| name.clone())
            .collect();
        names.sort_unstable();
        names
    }
}

fn standing(known: &HashMap<CookieName, Standing>, name: &[u8]) -> Standing {
    match known.get(name) {
        Some(&standing) => standing,
        None if is_known_foreign(name) => Standing::Foreign,
        None if known.len() >= NAMES_MAX => Standing::App,
        None => Standing::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).expect("valid fields")
    }

    #[test]
    fn a_name_that_the_app_sets_makes_a_holder() {
        let names = Names::new(&[], &[]);
        let bearer = fields("cookie: sid=1; _ga=2");
        assert_eq!(names.visitor(&bearer), Visitor::Unproven);
        assert_eq!(names.visitor(&fields("cookie: _ga=2")), Visitor::Stranger);
        assert_eq!(names.learn(&fields("set-cookie: sid=x; path=/")).len(), 1);
        assert!(names.learn(&fields("set-cookie: sid=y")).is_empty());
        assert_eq!(names.visitor(&bearer), Visitor::Holder);
        names.learn(&fields("set-cookie: _ga=x"));
        assert_eq!(names.visitor(&fields("cookie: _ga=2")), Visitor::Holder);
    }

    #[test]
    fn an_unknown_name_becomes_foreign_by_pages_that_are_the_same() {
        let names = Names::new(&[], &[]);
        let bearer = |value: u64| fields(&format!("cookie: width={value}"));
        let same =
            |page, value, visitor| !names.was_the_same(&bearer(value), page, visitor).is_empty();
        for page in 0..9 {
            assert!(!same(page, 800, 1), "one visitor with one value says little");
        }
        assert!(!same(0, 801, 1) && !same(0, 802, 1));
        assert!(!same(0, 800, 2));
        names.was_different(&bearer(800));
        assert!(!same(0, 802, 3), "the count began anew");
        assert!(!same(1, 801, 2) && !same(2, 800, 1));
        assert!(same(3, 800, 1));
        assert_eq!(names.visitor(&bearer(5)), Visitor::Stranger);
        let bearer = bearer(5);
        names.learn(&fields("set-cookie: width=1"));
        assert_eq!(names.visitor(&bearer), Visitor::Holder);
    }
}
