//! Classes of addresses: what was learned about pages that have an address of one shape.
//!
//! A refusal is remembered for its page, longer each time, and for its class where it says
//! something about all of the class or where several pages of it were refused and none
//! shared. Tastes (kinds of browser, languages) that were given the same pages of a class
//! are given each other's.
//! Bounds: [`CLASSES_MAX`], [`PAGES_MAX`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use align::Document;
use parking_lot::Mutex;
use policy::strangers::{Taste, shape};

use super::refusal::Refusal;
use super::tracking;
use crate::pipeline;

const CLASSES_MAX: usize = 4096;
const PAGES_MAX: usize = 16_384;
/// The first refusal of a page holds for two minutes, each further one twice as long.
const REFUSED_MS: u64 = 120_000;
const REFUSED_MS_MAX: u64 = 3_600_000;
/// A failing origin says nothing about the page.
pub(crate) const PASSING_MS: u64 = 5_000;
/// A class one of whose shared pages turned out personal.
const QUARANTINE_MS: u64 = 3_600_000;
/// Two pages of a class must be unlike what their first askers were given within so long.
const UNLIKE_WITHIN_MS: u64 = 600_000;
/// A class whose pages would be fresh for longer is like any other.
const FRESH_MS_MAX: u64 = 3_600_000;
/// Pages that were refused, and none shared, until the class is.
const REFUSED_PAGES: usize = 4;
/// Pages that two tastes must have had in common.
const SAME_PAGES: usize = 2;

/// What is known about classes and their pages.
#[derive(Default)]
pub(crate) struct Classes {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    classes: HashMap<String, Class>,
    pages: HashMap<u64, Refused>,
    /// Pages whose newest copy looked like another page.
    doubtful: HashSet<u64>,
}

#[derive(Default)]
struct Class {
    shared: u64,
    refused: Option<Refused>,
    refused_pages: HashSet<u64>,
    /// The page whose first asker was last given something else than the personas, and when.
    unlike: Option<(u64, u64)>,
    /// By two tastes, the smaller first: pages that were the same, or none if one differed.
    tastes: HashMap<(u64, u64), Option<HashSet<u64>>>,
    ignores_tracking: Option<bool>,
    error: ErrorPage,
    /// Whether what is no page is the same for everybody, so that its session means nothing.
    needs_no_session: Option<bool>,
    /// How long its pages are fresh at most: they change without a change that is told of.
    fresh_ms: Option<u64>,
    /// A table that fetching one of its pages was seen to change.
    wrote: Option<String>,
}

/// What a class of addresses answers with for things that don't exist.
#[derive(Clone, Default)]
pub(crate) enum ErrorPage {
    /// Nobody looked yet.
    #[default]
    Unknown,
    /// A status that says so, or the same page as for any other thing.
    None,
    /// This page, sent as if it were any other.
    Page(Arc<Document>),
}

#[derive(Clone)]
struct Refused {
    /// For a page: its class in a number, and 0 for a class.
    class: u64,
    until_ticks_ms: u64,
    times: u32,
    refusal: Arc<Refusal>,
    /// Whether another node told it: then what is found here doesn't end it.
    is_heard: bool,
}

/// A refusal, and how long it holds from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lasting {
    pub(crate) refusal: Arc<Refusal>,
    pub(crate) for_ms: u64,
    /// How often it was refused in a row.
    pub(crate) times: u32,
}

/// What became of a refusal: for how long the page, and its class by name, is not shared.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) page: Option<Lasting>,
    pub(crate) class: Option<(String, Lasting)>,
}

impl Classes {
    /// Why this page is not shared at the moment, if it isn't.
    pub(crate) fn refusal(&self, target: &str, page: u64, ticks_ms: u64) -> Option<Arc<Refusal>> {
        let inner = self.inner.lock();
        let class = inner.classes.get(&shape(target)).and_then(|class| class.refused.as_ref());
        let holds = |refused: &&Refused| ticks_ms < refused.until_ticks_ms;
        class
            .filter(holds)
            .or_else(|| inner.pages.get(&page).filter(holds))
            .map(|refused| refused.refusal.clone())
    }

    /// Whether pages of this class are shared.
    pub(crate) fn is_shared(&self, target: &str) -> bool {
        self.inner.lock().classes.get(&shape(target)).is_some_and(|class| class.shared > 0)
    }

    /// The classes that most was found out about, with how many pages were shared, why none
    /// is at the moment, and what fetching one was seen to change.
    pub(crate) fn summary(
        &self,
        count: usize,
        ticks_ms: u64,
    ) -> Vec<(String, u64, Option<String>, Option<String>)> {
        let inner = self.inner.lock();
        let each = inner.classes.iter().map(|(name, class)| {
            let refused = class.refused.as_ref().filter(|one| ticks_ms < one.until_ticks_ms);
            let refusal = refused.map(|refused| refused.refusal.to_string());
            (name.clone(), class.shared, refusal, class.wrote.clone())
        });
        let mut all: Vec<_> = each.collect();
        drop(inner);
        all.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
        all.truncate(count);
        all
    }

    /// A page was found shareable. It isn't where another node has refused it meanwhile.
    pub(crate) fn note_shared(
        &self,
        target: &str,
        page: u64,
        ticks_ms: u64,
    ) -> Result<(), Arc<Refusal>> {
        let mut inner = self.inner.lock();
        if let Some(refusal) = inner.heard(&shape(target), page, ticks_ms) {
            return Err(refusal);
        }
        inner.pages.remove(&page);
        let class = inner.class(target);
        class.shared += 1;
        class.refused_pages.clear();
        class.refused = None;
        Ok(())
    }

    /// What another node refused of this, if that holds at the moment.
    pub(crate) fn heard(&self, target: &str, page: u64, ticks_ms: u64) -> Option<Arc<Refusal>> {
        self.inner.lock().heard(&shape(target), page, ticks_ms)
    }

    /// Another node refused a page.
    pub(crate) fn hear_of_page(&self, target: &str, page: u64, told: Lasting, ticks_ms: u64) {
        let class = pipeline::hash(shape(target).as_bytes());
        let mut inner = self.inner.lock();
        let own = inner.pages.get(&page).cloned();
        let refused = Refused { class, ..Refused::heard(told, own, ticks_ms) };
        inner.keep_refused(page, refused, ticks_ms);
    }

    /// Another node refused a class; whether no other had, as far as it holds.
    pub(crate) fn hear_of_class(&self, name: &str, told: Lasting, ticks_ms: u64) -> bool {
        let mut inner = self.inner.lock();
        let class = inner.class_named(name);
        let was_heard = class.refused.as_ref().is_some_and(|own| own.is_heard_at(ticks_ms));
        let refusal = Refusal::Class(Box::new((*told.refusal).clone()), name.to_owned());
        let told = Lasting { refusal: Arc::new(refusal), ..told };
        class.refused = Some(Refused::heard(told, class.refused.take(), ticks_ms));
        class.shared = 0;
        !was_heard
    }

    /// The refusal of a page that holds at the moment.
    pub(crate) fn lasting_of_page(&self, page: u64, ticks_ms: u64) -> Option<Lasting> {
        self.inner.lock().pages.get(&page)?.lasting(ticks_ms)
    }

    /// The refusal of a class that holds at the moment.
    pub(crate) fn lasting_of_class(&self, name: &str, ticks_ms: u64) -> Option<Lasting> {
        self.inner.lock().classes.get(name)?.refused.as_ref()?.lasting(ticks_ms)
    }

    /// A page was refused; what is not shared because of it.
    pub(crate) fn note_refused(
        &self,
        target: &str,
        page: u64,
        refusal: Refusal,
        ticks_ms: u64,
    ) -> Noted {
        let mut inner = self.inner.lock();
        let (times, is_heard) = inner
            .pages
            .get(&page)
            .map_or((0, false), |refused| (refused.times, refused.is_heard_at(ticks_ms)));
        let (name, refusal) = (shape(target), Arc::new(refusal));
        let class = pipeline::hash(name.as_bytes());
        let refused = Refused { class, is_heard, ..Refused::after(times, refusal, ticks_ms) };
        let refusal = refused.refusal.clone();
        let mut noted = Noted { page: refused.lasting(ticks_ms), class: None };
        inner.keep_refused(page, refused, ticks_ms);
        if refusal.is_passing() {
            return noted;
        }
        let class = inner.class(target);
        class.refused_pages.insert(page);
        let all_refused = class.shared == 0 && class.refused_pages.len() >= REFUSED_PAGES;
        if all_refused || refusal.is_of_class() || class.is_unlike(&refusal, page, ticks_ms) {
            let times = class.refused.as_ref().map_or(0, |refused| refused.times);
            let of_class = Arc::new(Refusal::Class(Box::new((*refusal).clone()), name.clone()));
            let refused = Refused::after(times, of_class, ticks_ms);
            noted.class = refused.lasting(ticks_ms).map(|lasting| (name, lasting));
            class.refused = Some(refused);
            class.refused_pages.clear();
        }
        noted
    }

    /// A robot or a program was the first to ask for a page, and was given something else than
    /// its like among the personas: that says nothing of what browsers are given.
    pub(crate) fn note_odd(&self, target: &str, page: u64, taste: &Taste, ticks_ms: u64) {
        let mut inner = self.inner.lock();
        let page = odd(page, taste);
        let times = inner.pages.get(&page).map_or(0, |refused| refused.times);
        let class = pipeline::hash(shape(target).as_bytes());
        let refused = Refused::after(times, Arc::new(Refusal::Asker), ticks_ms);
        inner.keep_refused(page, Refused { class, ..refused }, ticks_ms);
    }

    /// Why this page is not shared at the moment with somebody of this taste, if it isn't.
    pub(crate) fn refusal_for(
        &self,
        taste: &Taste,
        target: &str,
        page: u64,
        ticks_ms: u64,
    ) -> Option<Arc<Refusal>> {
        let of_all = self.refusal(target, page, ticks_ms);
        of_all.or_else(|| self.odd_refusal(page, taste, ticks_ms))
    }

    /// What keeps a page from robots alone, or from programs.
    pub(crate) fn odd_refusal(
        &self,
        page: u64,
        taste: &Taste,
        ticks_ms: u64,
    ) -> Option<Arc<Refusal>> {
        if taste.is_browser() {
            return None;
        }
        let inner = self.inner.lock();
        let refused = inner.pages.get(&odd(page, taste))?;
        (ticks_ms < refused.until_ticks_ms).then(|| refused.refusal.clone())
    }

    /// How long pages of this class are fresh at most, if they change by themselves.
    pub(crate) fn fresh_ms(&self, target: &str) -> Option<u64> {
        self.inner.lock().classes.get(&shape(target)).and_then(|class| class.fresh_ms)
    }

    /// Pages of this class change by themselves.
    pub(crate) fn shorten(&self, target: &str, fresh_ms: u64) {
        let mut inner = self.inner.lock();
        let class = inner.class(target);
        class.fresh_ms = Some(class.fresh_ms.map_or(fresh_ms, |known| known.min(fresh_ms)));
    }

    /// A page of this class was found unchanged.
    pub(crate) fn lengthen(&self, target: &str) {
        let mut inner = self.inner.lock();
        let class = inner.class(target);
        class.fresh_ms = class.fresh_ms.map(|known| known * 2).filter(|&more| more < FRESH_MS_MAX);
    }

    /// Fetching a page of this class changed a row of `table`, and nobody knows yet whether
    /// that is what every reading does.
    pub(crate) fn note_wrote(&self, target: &str, table: &str) {
        self.inner.lock().class(target).wrote.get_or_insert_with(|| table.to_owned());
    }

    /// The table that fetching a page of this class was seen to change.
    pub(crate) fn wrote(&self, target: &str) -> Option<String> {
        self.inner.lock().classes.get(&shape(target)).and_then(|class| class.wrote.clone())
    }

    /// A shared page turned out personal: the class, which is named, is not shared for a while.
    pub(crate) fn quarantine(
        &self,
        target: &str,
        refusal: &Refusal,
        ticks_ms: u64,
    ) -> Option<(String, Lasting)> {
        let name = shape(target);
        let mut inner = self.inner.lock();
        let class = inner.class(target);
        class.shared = 0;
        let refused = Refused {
            class: 0,
            until_ticks_ms: ticks_ms + QUARANTINE_MS,
            times: 1,
            refusal: Arc::new(Refusal::Class(Box::new(refusal.clone()), name.clone())),
            is_heard: false,
        };
        let lasting = refused.lasting(ticks_ms);
        class.refused = Some(refused);
        lasting.map(|lasting| (name, lasting))
    }

    /// Forgets why a class and its pages are not shared, so that the next visit tries them;
    /// whether there was anything to forget.
    pub(crate) fn forget_refusal(&self, name: &str) -> bool {
        let mut inner = self.inner.lock();
        let (class, before) = (pipeline::hash(name.as_bytes()), inner.pages.len());
        inner.pages.retain(|_, refused| refused.class != class);
        let had_pages = inner.pages.len() < before;
        let Some(class) = inner.classes.get_mut(name) else { return had_pages };
        class.refused_pages.clear();
        class.unlike = None;
        class.refused.take().is_some() || had_pages
    }

    /// Other tastes to which this class's pages look the same.
    pub(crate) fn same_tastes(&self, target: &str, taste: u64) -> Vec<u64> {
        let inner = self.inner.lock();
        let Some(class) = inner.classes.get(&shape(target)) else { return Vec::new() };
        let is_same = |pages: &Option<HashSet<u64>>| {
            pages.as_ref().is_some_and(|pages| pages.len() >= SAME_PAGES)
        };
        class
            .tastes
            .iter()
            .filter(|(pair, pages)| is_same(pages) && (pair.0 == taste || pair.1 == taste))
            .map(|(pair, _)| if pair.0 == taste { pair.1 } else { pair.0 })
            .collect()
    }

    /// Notes whether a page looked the same to two tastes. One page counts once.
    pub(crate) fn note_tastes(&self, target: &str, page: u64, tastes: (u64, u64), is_same: bool) {
        /// Browsers, bots and languages that are told apart within one class.
        const PAIRS_MAX: usize = 256;
        let mut inner = self.inner.lock();
        let class = inner.class(target);
        if class.tastes.len() >= PAIRS_MAX {
            class.tastes.clear();
        }
        let (one, other) = tastes;
        let pages = class
            .tastes
            .entry((one.min(other), one.max(other)))
            .or_insert_with(|| Some(HashSet::new()));
        match (is_same, pages) {
            (true, Some(pages)) if pages.len() < SAME_PAGES => drop(pages.insert(page)),
            (true, _) => {}
            (false, pages) => *pages = None,
        }
    }

    /// Whether a page that looks like another one is to be doubted: once, not twice in a row.
    pub(crate) fn doubts(&self, page: u64, looks_other: bool) -> bool {
        let mut inner = self.inner.lock();
        if inner.doubtful.len() >= PAGES_MAX {
            inner.doubtful.clear();
        }
        let is_second = inner.doubtful.remove(&page);
        looks_other && !is_second && inner.doubtful.insert(page)
    }

    /// What is answered with for things of this class that don't exist.
    pub(crate) fn error_page(&self, target: &str) -> ErrorPage {
        let inner = self.inner.lock();
        inner.classes.get(&shape(target)).map_or(ErrorPage::Unknown, |class| class.error.clone())
    }

    pub(crate) fn note_error_page(&self, target: &str, error: ErrorPage) {
        self.inner.lock().class(target).error = error;
    }

    /// Whether pages of this class are the same with marks of advertising in the address.
    /// The class is that of the address without them: every campaign would begin another.
    pub(crate) fn ignores_tracking(&self, target: &str) -> Option<bool> {
        let bare = tracking::bare(target)?;
        self.inner.lock().classes.get(&shape(&bare)).and_then(|class| class.ignores_tracking)
    }

    pub(crate) fn note_tracking(&self, target: &str, is_ignored: bool) {
        let Some(bare) = tracking::bare(target) else { return };
        let mut inner = self.inner.lock();
        let class = inner.class(&bare);
        // One page that shows its marks speaks for all.
        class.ignores_tracking = Some(is_ignored && class.ignores_tracking != Some(false));
    }

    /// Whether what this class answers with, and is no page, needs no session.
    pub(crate) fn needs_no_session(&self, target: &str) -> Option<bool> {
        self.inner.lock().classes.get(&shape(target)).and_then(|class| class.needs_no_session)
    }

    pub(crate) fn note_session_need(&self, target: &str, needs_none: bool) {
        let mut inner = self.inner.lock();
        let class = inner.class(target);
        class.needs_no_session = Some(needs_none && class.needs_no_session != Some(false));
    }
}

impl Inner {
    fn class(&mut self, target: &str) -> &mut Class {
        self.class_named(&shape(target))
    }

    fn class_named(&mut self, name: &str) -> &mut Class {
        if self.classes.len() >= CLASSES_MAX && !self.classes.contains_key(name) {
            self.make_room();
        }
        self.classes.entry(name.to_owned()).or_default()
    }

    fn keep_refused(&mut self, page: u64, refused: Refused, ticks_ms: u64) {
        if self.pages.len() >= PAGES_MAX {
            self.pages.retain(|_, refused| ticks_ms < refused.until_ticks_ms);
        }
        if self.pages.len() < PAGES_MAX {
            self.pages.insert(page, refused);
        }
    }

    fn heard(&self, class: &str, page: u64, ticks_ms: u64) -> Option<Arc<Refusal>> {
        let class = self.classes.get(class).and_then(|class| class.refused.as_ref());
        let mut both = class.into_iter().chain(self.pages.get(&page));
        let heard = both.find(|refused| refused.is_heard_at(ticks_ms));
        heard.map(|refused| refused.refusal.clone())
    }

    /// Whoever makes up addresses makes up classes: those of which nothing was shared go
    /// first, and what is refused stays as long as it can.
    fn make_room(&mut self) {
        self.classes.retain(|_, class| class.shared > 0 || class.refused.is_some());
        if self.classes.len() > CLASSES_MAX / 2 {
            self.classes.retain(|_, class| class.shared > 1);
        }
        if self.classes.len() > CLASSES_MAX / 2 {
            self.classes.clear();
        }
    }
}

impl Class {
    /// Whether askers of the class, and not of one page alone, are given something else than
    /// personas. A page may have changed just then; where none of the class was shared yet, or
    /// two pages are unlike within a while, it is the class.
    fn is_unlike(&mut self, refusal: &Refusal, page: u64, ticks_ms: u64) -> bool {
        if *refusal != Refusal::Asker {
            return false;
        }
        let last = self.unlike.replace((page, ticks_ms));
        let is_second =
            last.is_some_and(|(other, at)| other != page && ticks_ms < at + UNLIKE_WITHIN_MS);
        self.shared == 0 || is_second
    }
}

/// Where what is found out about a page for robots alone, or for programs, is kept.
fn odd(page: u64, taste: &Taste) -> u64 {
    if taste.is_bot() { !page } else { !page.rotate_left(32) }
}

impl Refused {
    fn after(times: u32, refusal: Arc<Refusal>, ticks_ms: u64) -> Self {
        let wait_ms = match refusal.is_passing() {
            true => PASSING_MS,
            false => (REFUSED_MS << times.min(8)).min(REFUSED_MS_MAX),
        };
        let until_ticks_ms = ticks_ms + wait_ms;
        Self { class: 0, until_ticks_ms, times: times + 1, refusal, is_heard: false }
    }

    /// One that another node told; the own one, if there is one, may hold for longer.
    fn heard(told: Lasting, own: Option<Self>, ticks_ms: u64) -> Self {
        let (until, times) = own.map_or((0, 0), |own| (own.until_ticks_ms, own.times));
        let for_ms = told.for_ms.min(QUARANTINE_MS.max(REFUSED_MS_MAX));
        Self {
            class: 0,
            until_ticks_ms: until.max(ticks_ms + for_ms),
            times: times.max(told.times),
            refusal: told.refusal,
            is_heard: true,
        }
    }

    fn is_heard_at(&self, ticks_ms: u64) -> bool {
        self.is_heard && ticks_ms < self.until_ticks_ms
    }

    fn lasting(&self, ticks_ms: u64) -> Option<Lasting> {
        let for_ms = self.until_ticks_ms.checked_sub(ticks_ms).filter(|left| *left > 0)?;
        Some(Lasting { refusal: self.refusal.clone(), for_ms, times: self.times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tastes_share_a_class_once_two_of_its_pages_were_the_same_to_both() {
        let classes = Classes::default();
        classes.note_tastes("/post/1", 1, (8, 9), true);
        classes.note_tastes("/post/1", 1, (9, 8), true);
        assert!(classes.same_tastes("/post/3", 8).is_empty(), "it was one page twice");
        classes.note_tastes("/post/2", 2, (8, 9), true);
        assert_eq!(classes.same_tastes("/post/3", 8), [9]);
        classes.note_tastes("/post/4", 4, (8, 9), false);
        classes.note_tastes("/post/5", 5, (8, 9), true);
        assert!(classes.same_tastes("/post/3", 9).is_empty());
    }

    #[test]
    fn what_marks_of_advertising_say_is_no_part_of_a_class() {
        let classes = Classes::default();
        classes.note_tracking("/post/1?utm_source=mail", true);
        assert_eq!(classes.ignores_tracking("/post/2?utm_source=paper&gclid=x"), Some(true));
        classes.note_tracking("/post/3?fbclid=x", false);
        classes.note_tracking("/post/1?utm_source=mail", true);
        assert_eq!(classes.ignores_tracking("/post/2?utm_source=paper"), Some(false));
        assert_eq!(classes.ignores_tracking("/other?utm_source=mail"), None);
    }

    #[test]
    fn one_asker_who_was_given_another_page_speaks_for_a_class_of_which_none_was_shared() {
        let is_refused = |shared: u64, unlike: &[(u64, u64)]| {
            let classes = Classes::default();
            for page in 0..shared {
                classes.note_shared("/topic/1", page, 0).expect("nobody refuses it");
            }
            for &(page, at) in unlike {
                classes.note_refused("/topic/2", page, Refusal::Asker, at);
            }
            assert!(classes.refusal("/topic/2", unlike[0].0, unlike[0].1).is_some(), "the page");
            classes.refusal("/topic/3", 99, unlike[unlike.len() - 1].1).is_some()
        };
        assert!(is_refused(0, &[(7, 0)]));
        assert!(!is_refused(1, &[(7, 0)]));
        assert!(!is_refused(1, &[(7, 0), (7, 1)]));
        assert!(is_refused(1, &[(7, 0), (8, 1)]));
        assert!(!is_refused(1, &[(7, 0), (8, UNLIKE_WITHIN_MS)]));
    }

    #[test]
    fn what_a_robot_is_given_says_nothing_of_browsers() {
        let classes = Classes::default();
        let taste = |agent: &str| {
            let mut fields = wire::Fields::new();
            fields.put(wire::Name::UserAgent, agent);
            policy::strangers::taste(&fields)
        };
        let (robot, program, browser) = (taste("Googlebot"), taste("curl"), taste("Mozilla/5.0"));
        let is_refused = |page, taste, at| classes.odd_refusal(page, taste, at).is_some();
        for page in 1..=2 * REFUSED_PAGES as u64 {
            classes.note_odd("/topic/1", page, &robot, 0);
            assert!(is_refused(page, &robot, 1) && !is_refused(page, &program, 1));
            assert!(!is_refused(page, &browser, 1));
            assert!(classes.refusal("/topic/1", page, 1).is_none(), "{page}");
        }
        assert!(!is_refused(1, &robot, REFUSED_MS), "it is tried again");
        classes.note_odd("/topic/1", 1, &robot, REFUSED_MS);
        assert!(is_refused(1, &robot, 3 * REFUSED_MS - 1), "less often");
        assert!(!is_refused(99, &robot, 1));
    }

    #[test]
    fn what_another_node_refused_is_refused_here_and_not_proved_otherwise_before_it_ends() {
        let told = |for_ms| Lasting {
            refusal: Arc::new(Refusal::Fellow("a name".into())),
            for_ms,
            times: 3,
        };
        let classes = Classes::default();
        classes.note_shared("/topic/1", 1, 0).expect("nobody refuses it");
        classes.hear_of_page("/topic/1", 1, told(1000), 0);
        assert!(classes.refusal("/topic/1", 1, 999).is_some());
        assert!(classes.refusal("/topic/2", 2, 999).is_none());
        assert!(classes.note_shared("/topic/1", 1, 999).is_err());
        classes.note_shared("/topic/2", 2, 999).expect("another page");
        assert!(classes.refusal("/topic/1", 1, 999).is_some(), "still");
        classes.note_shared("/topic/1", 1, 1000).expect("it has ended");

        let name = shape("/topic/1");
        assert!(classes.hear_of_class(&name, told(u64::MAX), 2000));
        assert!(!classes.hear_of_class(&name, told(5), 2000), "it holds already");
        assert!(!classes.is_shared("/topic/9"));
        let lasting = classes.lasting_of_class(&name, 2000).expect("it holds");
        assert_eq!((lasting.for_ms, lasting.times), (REFUSED_MS_MAX, 3));
        assert_eq!(lasting.refusal.in_words(), "a name");
        assert!(classes.note_shared("/topic/9", 9, 2001).is_err());
        assert!(classes.forget_refusal(&name));
        classes.note_shared("/topic/9", 9, 2001).expect("the owner wants it tried");
    }

    #[test]
    fn refused_in_a_row_on_two_nodes_it_holds_for_longer_each_time() {
        let (one, other) = (Classes::default(), Classes::default());
        let noted = one.note_refused("/topic/1", 1, Refusal::Type, 0).page.expect("remembered");
        assert_eq!((noted.for_ms, noted.times), (REFUSED_MS, 1));
        other.hear_of_page("/topic/1", 1, noted, 0);
        let again = other.note_refused("/topic/1", 1, Refusal::Type, REFUSED_MS);
        let again = again.page.expect("remembered");
        assert_eq!((again.for_ms, again.times), (2 * REFUSED_MS, 2));
    }

    #[test]
    fn a_class_whose_pages_change_by_themselves_is_fresh_for_less_until_they_stand_still() {
        let classes = Classes::default();
        assert_eq!(classes.fresh_ms("/a?id=1"), None);
        classes.shorten("/a?id=1", 600_000);
        classes.shorten("/a?id=2", 10_000);
        classes.shorten("/a?id=2", 600_000);
        assert_eq!(classes.fresh_ms("/a?id=3"), Some(10_000));
        classes.lengthen("/a?id=3");
        assert_eq!(classes.fresh_ms("/a?id=3"), Some(20_000));
        (0..20).for_each(|_| classes.lengthen("/a?id=3"));
        assert_eq!(classes.fresh_ms("/a?id=3"), None);
    }
}
