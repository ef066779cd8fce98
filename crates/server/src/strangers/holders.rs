//! Holders: visitors whose session Wick began, and the pages that they still have open.
//!
//! A page that was served to a stranger stays open after the session began, and goes on
//! sending that copy's values. They are translated for the session that was bound with the
//! copy, for requests that come from that page, until the page is loaded again; nobody
//! else's are. Other nodes are told of the session, with marks of what it was bound with, so that
//! its visitor may write to any of them; that a page is loaded again closes it on all. What may
//! not have been heard of it is looked for before it is relied on ([`crate::fellows`]).
//! Pages in other tabs are as good as open: those that its visitor hasn't loaded since, or has,
//! but in one of two tabs, to a request that brings a value of the copy, until a password is sent,
//! and where there is no other node that could know better.
//! Invariants: 1. of what a session has open nothing is added after it began, whatever is heard.
//! 2. a value that two sessions have names neither.
//! Bounds: [`HOLDERS_MAX`] sessions, [`HOLDER_MS`] each.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use align::Binding;
use base::Now;
use parking_lot::Mutex;
use policy::strangers::{Jar, pairs, set_cookies};
use serde::{Deserialize, Serialize};
use wire::Fields;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::brief::page_name;
use super::copies::Copy;

/// Copies that one session is bound with; of one page several may be open.
const COPIES_MAX: usize = 8;
const HOLDERS_MAX: usize = 4096;
pub(super) const HOLDER_MS: u64 = 3_600_000;
/// Shorter cookie values may be guessed, and name no session.
pub(super) const SESSION_BYTES_MIN: usize = 16;
/// Values that one session had, copies and open pages of it, that other nodes are told.
const TOLD_MAX: usize = 16;

/// Pages that a session's visitor loaded since it began; with more none counts as not loaded.
const LOADED_MAX: usize = 256;

/// Values of a request that may name a session.
const NAMING_MAX: usize = 8;

/// A session that Wick began, with what it was bound with.
pub(crate) struct Bound {
    /// What all nodes call it.
    pub(crate) id: Mark,
    began_unix_seconds: u64,
    until_ticks_ms: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    binding: Arc<Binding>,
    copies: Vec<Arc<Copy>>,
    /// Pages, as [`super::brief::page_name`] has them.
    open: Vec<Vec<u8>>,
    /// Hashes of the pages that were loaded since, here.
    loaded: Vec<u64>,
    /// Whether its visitor sent a password since: the session may be a member's.
    is_members: bool,
    /// The app gave the session another value since, or more copies came: its tokens may be
    /// others too.
    is_stale: bool,
    /// What its cookies are known by.
    marks: Vec<Mark>,
    /// The same of values that another session had too.
    nobodys: Vec<Mark>,
    /// Copies of other nodes that weren't needed here yet.
    elsewhere: Vec<Mark>,
    /// Whether another node began it.
    is_heard: bool,
    /// Whether the app gave it with what it answered to a reading, and nobody knows as whose.
    is_given: bool,
    /// Of how many doubts it was looked up since what other nodes closed of it; none: never.
    sure: Option<u64>,
}

/// A hash that all nodes make alike.
pub(crate) type Mark = [u8; 16];

/// What other nodes are told of a session.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct SessionTold {
    /// What all nodes call it.
    pub(crate) id: Mark,
    /// When it began, by the clock of the node that began it.
    began: u64,
    /// What its cookies are known by.
    pub(crate) marks: Vec<Mark>,
    /// The same of what names nobody.
    #[serde(default)]
    nobodys: Vec<Mark>,
    /// The copies that it was bound with.
    copies: Vec<Mark>,
    /// The pages that are open.
    pub(crate) open: Vec<Vec<u8>>,
}

/// All of them, by the values of their cookies.
#[derive(Default)]
pub(crate) struct Holders {
    inner: Mutex<Inner>,
    /// How often something may have been missed that other nodes told, and when last.
    doubts: AtomicU64,
    doubted_ticks_ms: AtomicU64,
}

#[derive(Default)]
struct Inner {
    /// None: two sessions had it.
    by_value: HashMap<Mark, Option<Arc<Bound>>>,
    order: VecDeque<Mark>,
}

impl Holders {
    /// Notes whose session was bound with what.
    pub(crate) fn bind(
        &self,
        jar: &Jar,
        binding: Binding,
        copies: Vec<Arc<Copy>>,
        open: Vec<Vec<u8>>,
        now: Now,
    ) -> Arc<Bound> {
        let state = State { binding: Arc::new(binding), copies, open, ..State::default() };
        self.enter(jar, state, now)
    }

    /// Notes that a session began while these pages were open; they are bound with it when
    /// something is written from them.
    pub(crate) fn bind_later(
        &self,
        jar: &Jar,
        copies: Vec<Arc<Copy>>,
        open: Vec<Vec<u8>>,
        now: Now,
    ) -> Arc<Bound> {
        self.enter(jar, State { copies, open, is_stale: true, ..State::default() }, now)
    }

    /// Notes a session that the app gave to a stranger by itself: what it is bound with is found
    /// out when something is written from a page that was shared.
    pub(crate) fn give(&self, jar: &Jar, now: Now) -> Arc<Bound> {
        self.enter(jar, State { is_given: true, is_stale: true, ..State::default() }, now)
    }

    fn enter(&self, jar: &Jar, mut state: State, now: Now) -> Arc<Bound> {
        state.sure = Some(self.doubts());
        let bound = Arc::new(Bound {
            id: drawn(),
            began_unix_seconds: now.unix_seconds(),
            until_ticks_ms: now.ticks_ms + HOLDER_MS,
            state: Mutex::new(state),
        });
        let mut inner = self.inner.lock();
        for (name, value) in jar.iter().filter(|(_, value)| value.len() >= SESSION_BYTES_MIN) {
            inner.insert(mark(name, value), &bound, now.ticks_ms);
        }
        bound
    }

    /// Another node tells of a session: it began there, or less of it is open. None if it is
    /// over.
    pub(crate) fn hear(&self, told: SessionTold, now: Now) -> Option<Arc<Bound>> {
        let SessionTold { id, began, mut marks, nobodys, mut copies, mut open } = told;
        let age_ms = now.unix_seconds().saturating_sub(began).saturating_mul(1000);
        let left_ms = HOLDER_MS.checked_sub(age_ms).filter(|left_ms| *left_ms > 0)?;
        marks.truncate(TOLD_MAX);
        copies.truncate(TOLD_MAX);
        open.truncate(TOLD_MAX);
        let mut inner = self.inner.lock();
        let named = marks.iter().filter_map(|mark| inner.by_value.get(mark)?.as_ref());
        let known = named.into_iter().find(|bound| bound.id == id).cloned();
        let bound = match known {
            Some(bound) => {
                let mut state = bound.state.lock();
                state.take_up(&open, &copies);
                state.is_stale |= marks.iter().any(|mark| !state.marks.contains(mark));
                drop(state);
                bound
            }
            None => {
                let (is_stale, is_heard) = (true, true);
                let elsewhere = copies;
                let state = State { open, elsewhere, is_stale, is_heard, ..State::default() };
                Arc::new(Bound {
                    id,
                    began_unix_seconds: began,
                    until_ticks_ms: now.ticks_ms + left_ms,
                    state: Mutex::new(state),
                })
            }
        };
        for mark in marks {
            inner.insert(mark, &bound, now.ticks_ms);
        }
        for mark in nobodys.into_iter().take(TOLD_MAX) {
            inner.note_nobodys(mark);
        }
        Some(bound)
    }

    /// Something may have been missed that other nodes told: what they closed, or began.
    pub(crate) fn doubt(&self, ticks_ms: u64) {
        self.doubted_ticks_ms.fetch_max(ticks_ms, Ordering::SeqCst);
        self.doubts.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it may have been.
    pub(crate) fn doubts(&self) -> u64 {
        self.doubts.load(Ordering::SeqCst)
    }

    /// Whether there may be a session that wasn't told here: who has heard all for as long as
    /// one lasts knows all.
    pub(crate) fn may_lack(&self, ticks_ms: u64) -> bool {
        ticks_ms < self.doubted_ticks_ms.load(Ordering::SeqCst) + HOLDER_MS
    }

    /// Whether what is open of a session here is no more than on other nodes.
    pub(crate) fn is_sure(&self, bound: &Bound) -> bool {
        bound.state.lock().sure == Some(self.doubts())
    }

    /// The session that these cookies name, if Wick began it.
    pub(crate) fn find(&self, fields: &Fields, ticks_ms: u64) -> Option<Arc<Bound>> {
        let inner = self.inner.lock();
        if inner.by_value.is_empty() {
            return None;
        }
        pairs(fields)
            .filter(|(_, value)| value.len() >= SESSION_BYTES_MIN)
            .find_map(|(name, value)| inner.by_value.get(&mark(name, value))?.as_ref())
            .filter(|bound| ticks_ms < bound.until_ticks_ms)
            .cloned()
    }

    /// Follows a session whose cookies an answer changes, as at a log-in; whether it does.
    pub(crate) fn follow(&self, bound: &Arc<Bound>, answer: &Fields, now: Now) -> bool {
        let mut inner = self.inner.lock();
        let mut is_changed = false;
        for cookie in set_cookies(answer) {
            let is_known = inner.by_value.contains_key(&mark(cookie.name, cookie.value));
            if !is_known && !cookie.is_removal(now.unix_seconds()) {
                bound.state.lock().is_stale = true;
                if cookie.value.len() >= SESSION_BYTES_MIN {
                    inner.insert(mark(cookie.name, cookie.value), bound, now.ticks_ms);
                    is_changed = true;
                }
            }
        }
        is_changed
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.lock().by_value.len()
    }
}

impl Inner {
    fn insert(&mut self, mark: Mark, bound: &Arc<Bound>, ticks_ms: u64) {
        let known = self.by_value.get(&mark);
        let is_anothers = known.is_some_and(|known| match known {
            Some(other) => other.id != bound.id && ticks_ms < other.until_ticks_ms,
            None => true,
        });
        if is_anothers {
            self.note_nobodys(mark);
        }
        let mut state = bound.state.lock();
        let marks = if is_anothers { &mut state.nobodys } else { &mut state.marks };
        let mut surplus = Vec::new();
        if !marks.contains(&mark) {
            marks.push(mark);
            surplus.extend(marks.drain(..marks.len().saturating_sub(TOLD_MAX)));
        }
        drop(state);
        // Or one whose value changes with every answer would drive out all others.
        if !is_anothers && !surplus.is_empty() {
            self.order.retain(|mark| !surplus.contains(mark));
            surplus.iter().for_each(|mark| drop(self.by_value.remove(mark)));
        }
        if !is_anothers {
            self.put(mark, Some(bound.clone()));
        }
    }

    /// More than one session has this value.
    fn note_nobodys(&mut self, mark: Mark) {
        if let Some(Some(bound)) = self.by_value.get(&mark) {
            bound.state.lock().marks.retain(|known| *known != mark);
        }
        self.put(mark, None);
    }

    fn put(&mut self, mark: Mark, named: Option<Arc<Bound>>) {
        if self.by_value.insert(mark, named).is_none() {
            self.order.push_back(mark);
        }
        while self.order.len() > HOLDERS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.by_value.remove(&oldest);
            }
        }
    }
}

impl State {
    /// What another node knows of it: what is closed there is closed, and what it was bound with
    /// may be needed.
    fn take_up(&mut self, open: &[Vec<u8>], copies: &[Mark]) {
        self.open.retain(|page| open.contains(page));
        for copy in copies {
            let is_here = |known: &Arc<Copy>| known.mark() == *copy;
            if !self.elsewhere.contains(copy) && !self.copies.iter().any(is_here) {
                self.elsewhere.push(*copy);
            }
        }
        let surplus = self.elsewhere.len().saturating_sub(TOLD_MAX);
        self.elsewhere.drain(..surplus);
    }

    fn has_copy(&self, copy: &Copy) -> bool {
        self.copies.iter().any(|known| known.id == copy.id)
    }

    fn has_loaded(&self, page: &[u8]) -> bool {
        self.loaded.contains(&xxh3_64(page))
    }

    fn is_strangers(&self) -> bool {
        !self.is_members && !self.is_heard
    }

    fn may_have_beside(&self, page: &[u8]) -> bool {
        self.is_strangers() && self.loaded.len() < LOADED_MAX && !self.has_loaded(page)
    }
}

impl Bound {
    /// What other nodes have to know of it.
    pub(crate) fn told(&self) -> SessionTold {
        let state = self.state.lock();
        let copies = state.copies.iter().map(|copy| copy.mark()).chain(state.elsewhere.clone());
        SessionTold {
            id: self.id,
            began: self.began_unix_seconds,
            marks: state.marks.clone(),
            nobodys: state.nobodys.clone(),
            copies: copies.collect(),
            open: state.open.clone(),
        }
    }

    /// Whether another node began it: who hears nothing doesn't know what is still open.
    pub(crate) fn is_heard(&self) -> bool {
        self.state.lock().is_heard
    }

    /// The copies of other nodes that it was bound with and that aren't here.
    pub(crate) fn elsewhere(&self) -> Vec<Mark> {
        self.state.lock().elsewhere.clone()
    }

    /// Some of them are here now.
    pub(crate) fn note_here(&self, copies: Vec<Arc<Copy>>) {
        let mut state = self.state.lock();
        for copy in copies {
            state.elsewhere.retain(|mark| *mark != copy.mark());
            state.copies.push(copy);
            state.is_stale = true;
        }
    }

    /// It was looked up what other nodes closed of it, after so many doubts.
    pub(crate) fn note_sure(&self, doubts: u64) {
        self.state.lock().sure = Some(doubts);
    }

    /// The pages that are still open.
    pub(crate) fn open(&self) -> Vec<Vec<u8>> {
        self.state.lock().open.clone()
    }

    /// What it is known by to other nodes, and what names nobody though it had it.
    pub(crate) fn marks(&self) -> (Vec<Mark>, Vec<Mark>) {
        let state = self.state.lock();
        (state.marks.clone(), state.nobodys.clone())
    }

    /// Whether the page is still open as a stranger was given it.
    pub(crate) fn has_open(&self, page: &[u8]) -> bool {
        self.state.lock().open.iter().any(|open| open == page)
    }

    /// The page is loaded again, with the session's own values; whether it was open.
    pub(crate) fn close(&self, page: &[u8]) -> bool {
        let mut state = self.state.lock();
        if state.loaded.len() < LOADED_MAX && !state.has_loaded(page) {
            state.loaded.push(xxh3_64(page));
        }
        let count = state.open.len();
        state.open.retain(|open| open != page);
        state.open.len() < count
    }

    /// Whether its visitor, who is no member, has the page in another tab, as a stranger was given
    /// it, if at all: it wasn't loaded since.
    pub(crate) fn may_have_beside(&self, page: &[u8]) -> bool {
        self.state.lock().may_have_beside(page)
    }

    /// Whether it began with a reading: then it may be a member's whom something else let in.
    pub(crate) fn is_given(&self) -> bool {
        self.state.lock().is_given
    }

    /// Whether its visitor is no member, as far as this node can know.
    pub(crate) fn is_strangers(&self) -> bool {
        self.state.lock().is_strangers()
    }

    /// Whether a value of this copy may come from its page: it wasn't loaded since, or stands in two
    /// tabs, one of which was. Of that one the session has learned before what its values are; what
    /// was sent once may not be sent twice in other values.
    pub(crate) fn may_be_of(&self, copy: &Copy, page: &[u8]) -> bool {
        let state = self.state.lock();
        state.may_have_beside(page) || state.is_strangers() && state.has_copy(copy)
    }

    /// Its visitor may be a member from here on.
    pub(crate) fn note_members(&self) {
        self.state.lock().is_members = true;
    }

    /// The binding, if it covers these copies and is still right, or their pages were loaded since;
    /// else the copies to bind anew with.
    pub(crate) fn binding(&self, carried: &[Arc<Copy>]) -> Result<Arc<Binding>, Vec<Arc<Copy>>> {
        let mut state = self.state.lock();
        let is_loaded = |copy: &Arc<Copy>| state.has_loaded(&page_name(&copy.host, &copy.target));
        let is_right = !state.is_stale || carried.iter().all(is_loaded);
        if is_right && carried.iter().all(|copy| state.has_copy(copy)) {
            return Ok(state.binding.clone());
        }
        let new: Vec<_> = carried.iter().filter(|copy| !state.has_copy(copy)).cloned().collect();
        state.copies.extend(new);
        let surplus = state.copies.len().saturating_sub(COPIES_MAX);
        state.copies.drain(..surplus);
        Err(state.copies.clone())
    }

    pub(crate) fn renew(&self, binding: Binding) -> Arc<Binding> {
        let mut state = self.state.lock();
        state.binding = Arc::new(binding);
        state.is_stale = false;
        state.binding.clone()
    }
}

/// What no other session is called.
fn drawn() -> Mark {
    let draw = || u128::from(RandomState::new().hash_one("sessions"));
    (draw() << 64 | draw()).to_le_bytes()
}

/// What a request's cookies may be known by.
pub(crate) fn naming(fields: &Fields, is_apps: impl Fn(&[u8]) -> bool) -> Vec<Mark> {
    pairs(fields)
        .filter(|(name, value)| value.len() >= SESSION_BYTES_MIN && is_apps(name))
        .map(|(name, value)| mark(name, value))
        .take(NAMING_MAX)
        .collect()
}

/// What a cookie is known by, on all nodes.
fn mark(name: &[u8], value: &[u8]) -> Mark {
    xxh3_128(&[name, b"=", value].concat()).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKIE: &[u8] = b"sid=0123456789abcdef";

    fn at(ticks_ms: u64) -> Now {
        Now { ticks_ms, ticks_us: ticks_ms * 1000, unix_ms: 1_800_000_000_000 + ticks_ms }
    }

    fn fields(line: &[u8]) -> Fields {
        Fields::parse(&[b"cookie: ", line].concat()).expect("valid")
    }

    fn begun(holders: &Holders, open: &[&str]) -> Arc<Bound> {
        let mut jar = Jar::default();
        jar.absorb(&Fields::parse(b"set-cookie: sid=0123456789abcdef; path=/").expect("valid"), 0);
        let open = open.iter().map(|page| page.as_bytes().to_vec()).collect();
        holders.bind(&jar, Binding::default(), Vec::new(), open, at(0))
    }

    fn as_told(bound: &Bound) -> SessionTold {
        let text = serde_json::to_vec(&bound.told()).expect("it can be written");
        serde_json::from_slice(&text).expect("it can be read")
    }

    #[test]
    fn another_node_knows_the_session_and_what_is_open() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one", "a|/two"]);
        there.hear(as_told(&own), at(0));
        let heard = there.find(&fields(COOKIE), 1).expect("it was told");
        assert!(heard.is_heard() && heard.has_open(b"a|/one") && heard.has_open(b"a|/two"));
        assert!(there.find(&fields(b"sid=0123456789abcdeX"), 1).is_none());
        assert!(there.find(&fields(COOKIE), HOLDER_MS).is_none(), "for an hour");
        assert!(heard.close(b"a|/one") && !heard.close(b"a|/one"));
        here.hear(as_told(&heard), at(1));
        assert!(!own.has_open(b"a|/one") && own.has_open(b"a|/two") && !own.is_heard());
    }

    #[test]
    fn what_is_told_again_opens_nothing() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one"]);
        let mut first = as_told(&own);
        first.open.push(b"a|/two".to_vec());
        there.hear(as_told(&own), at(0));
        own.close(b"a|/one");
        there.hear(as_told(&own), at(1));
        there.hear(first.clone(), at(2));
        let heard = there.find(&fields(COOKIE), 3).expect("it was told");
        assert!(!heard.has_open(b"a|/one") && !heard.has_open(b"a|/two"));
        // Who never heard of it takes it for no longer than it lasts.
        assert!(Holders::default().hear(first.clone(), at(HOLDER_MS - 1000)).is_some());
        assert!(Holders::default().hear(first, at(HOLDER_MS)).is_none());
    }

    #[test]
    fn a_value_that_the_app_gives_later_is_known_elsewhere_too() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one"]);
        there.hear(as_told(&own), at(0));
        let answer = b"set-cookie: sid=fedcba9876543210; path=/";
        let answer = Fields::parse(answer).expect("valid");
        assert!(here.follow(&own, &answer, at(0)) && !here.follow(&own, &answer, at(0)));
        there.hear(as_told(&own), at(1));
        let values = [COOKIE, b"sid=fedcba9876543210"];
        let [old, new] = values.map(|line| there.find(&fields(line), 2).expect("it was told"));
        assert!(Arc::ptr_eq(&old, &new));
    }

    #[test]
    fn a_value_that_two_sessions_have_names_neither() {
        let begin = |holders: &Holders, session: &str| {
            let set = format!(
                "set-cookie: sid={session}; path=/\nset-cookie: test=WP%20Cookie%20check; path=/"
            );
            let mut jar = Jar::default();
            jar.absorb(&Fields::parse(set.as_bytes()).expect("valid"), 0);
            holders.bind(&jar, Binding::default(), Vec::new(), vec![b"a|/".to_vec()], at(0))
        };
        let (here, there) = (Holders::default(), Holders::default());
        for (at_ms, session) in [(0, "0123456789abcdef"), (1, "fedcba9876543210")] {
            let own = begin(&here, session);
            there.hear(as_told(&own), at(at_ms));
            for holders in [&here, &there] {
                let both = format!("sid={session}; test=WP%20Cookie%20check");
                let found = holders.find(&fields(both.as_bytes()), 2).expect("by its own value");
                assert_eq!(found.id, own.id);
            }
        }
        for holders in [&here, &there] {
            assert!(holders.find(&fields(b"test=WP%20Cookie%20check"), 2).is_none());
            let first = holders.find(&fields(COOKIE), 2).expect("it is there");
            assert_eq!(first.told().marks.len(), 1, "it isn't told by that value any more");
        }
    }

    #[test]
    fn a_session_whose_value_changes_with_every_answer_drives_out_no_other() {
        let holders = Holders::default();
        let other = begun(&holders, &["a|/one"]);
        let mut jar = Jar::default();
        jar.absorb(&Fields::parse(b"set-cookie: own=0123456789abcdef").expect("valid"), 0);
        let own = holders.bind(&jar, Binding::default(), Vec::new(), Vec::new(), at(0));
        for number in 0..2 * HOLDERS_MAX {
            let answer = format!("set-cookie: own=another-{number:016}");
            let answer = Fields::parse(answer.as_bytes()).expect("valid");
            assert!(holders.follow(&own, &answer, at(0)));
        }
        let last = format!("own=another-{:016}", 2 * HOLDERS_MAX - 1);
        assert!(holders.find(&fields(last.as_bytes()), 1).is_some_and(|found| found.id == own.id));
        assert!(holders.find(&fields(COOKIE), 1).is_some_and(|found| found.id == other.id));
        assert!(
            holders.count() <= TOLD_MAX + 1 && holders.inner.lock().order.len() <= TOLD_MAX + 1
        );
        assert!(holders.find(&fields(b"own=another-0000000000000003"), 1).is_none(), "long gone");
    }

    #[test]
    fn after_a_doubt_nothing_is_sure_until_it_was_looked_up() {
        let holders = Holders::default();
        let own = begun(&holders, &["a|/one"]);
        assert!(holders.is_sure(&own));
        let looks_from = holders.doubts();
        holders.doubt(5);
        own.note_sure(looks_from);
        assert!(!holders.is_sure(&own), "it was looked up before");
        own.note_sure(holders.doubts());
        assert!(holders.is_sure(&own));
        assert!(holders.may_lack(HOLDER_MS + 4) && !holders.may_lack(HOLDER_MS + 5));
        let there = Holders::default();
        let heard = there.hear(as_told(&own), at(0)).expect("it isn't over");
        assert!(!there.is_sure(&heard));
    }

    #[test]
    fn more_than_a_session_has_is_not_taken_up() {
        let there = Holders::default();
        let marks = vec![mark(b"sid", b"0123456789abcdef")];
        let copies = (0..200u8).map(|at| [at; 16]).collect();
        let open = (0..200u8).map(|at| vec![at]).collect();
        let began = at(0).unix_seconds();
        there.hear(
            SessionTold { id: [1; 16], began, marks, nobodys: Vec::new(), copies, open },
            at(0),
        );
        let heard = there.find(&fields(COOKIE), 1).expect("it was told");
        assert_eq!((heard.elsewhere().len(), heard.told().open.len()), (TOLD_MAX, TOLD_MAX));
    }

    #[test]
    fn pages_beside_are_those_that_were_not_loaded_until_a_password_is_sent() {
        let holders = Holders::default();
        let mut jar = Jar::default();
        let answer = Fields::parse(b"set-cookie: sid=0123456789abcdef").expect("valid");
        jar.absorb(&answer, 0);
        let begin = || holders.bind(&jar, Binding::default(), Vec::new(), Vec::new(), at(5));
        let bound = begin();
        assert!(bound.may_have_beside(b"/one") && bound.may_have_beside(b"/two"));
        bound.close(b"/one");
        assert!(!bound.may_have_beside(b"/one") && bound.may_have_beside(b"/two"));
        bound.note_members();
        assert!(!bound.may_have_beside(b"/two"));
        let bound = begin();
        for number in 0..LOADED_MAX {
            assert!(bound.may_have_beside(b"/two"), "{number}");
            bound.close(number.to_string().as_bytes());
        }
        assert!(!bound.may_have_beside(b"/two"), "too many to be told");
    }
}
