//! Holders: visitors whose session Wick began, and the pages that they still have open.
//!
//! A page that was served to a stranger stays open after the session began, and goes on
//! sending that copy's values. They are translated for the session that was bound with the
//! copy, for requests that come from that page, until the page is loaded again; nobody
//! else's are. Other nodes are told of the session, with marks of what it was bound with, so that
//! its visitor may write to any of them; that a page is loaded again closes it on all.
//! Invariant: of what a session has open nothing is added after it began, whatever is heard.
//! Bounds: [`HOLDERS_MAX`] sessions, [`HOLDER_MS`] each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use align::Binding;
use parking_lot::Mutex;
use policy::strangers::{Jar, pairs, set_cookies};
use serde::{Deserialize, Serialize};
use wire::Fields;
use xxhash_rust::xxh3::xxh3_128;

use super::copies::Copy;

/// Copies that one session is bound with; of one page several may be open.
const COPIES_MAX: usize = 8;
const HOLDERS_MAX: usize = 4096;
const HOLDER_MS: u64 = 3_600_000;
/// Shorter cookie values may be guessed, and name no session.
const SESSION_BYTES_MIN: usize = 16;
/// Values that one session had, copies and open pages of it, that other nodes are told.
const TOLD_MAX: usize = 16;

/// A session that Wick began, with what it was bound with.
pub(crate) struct Bound {
    until_ticks_ms: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    binding: Arc<Binding>,
    copies: Vec<Arc<Copy>>,
    /// Pages, as [`super::brief::page_name`] has them.
    open: Vec<Vec<u8>>,
    /// The app gave the session another value since, or more copies came: its tokens may be
    /// others too.
    is_stale: bool,
    /// What its cookies are known by.
    marks: Vec<Mark>,
    /// Copies of other nodes that weren't needed here yet.
    elsewhere: Vec<Mark>,
    /// Whether another node began it.
    is_heard: bool,
}

/// A hash that all nodes make alike.
pub(crate) type Mark = [u8; 16];

/// What other nodes are told of a session.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SessionTold {
    /// What its cookies are known by.
    marks: Vec<Mark>,
    /// The copies that it was bound with.
    copies: Vec<Mark>,
    /// The pages that are open.
    open: Vec<Vec<u8>>,
}

/// All of them, by the values of their cookies.
#[derive(Default)]
pub(crate) struct Holders {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_value: HashMap<Mark, Arc<Bound>>,
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
        ticks_ms: u64,
    ) -> Arc<Bound> {
        let state = State { binding: Arc::new(binding), copies, open, ..State::default() };
        self.enter(jar, state, ticks_ms)
    }

    /// Notes that a session began while these pages were open; they are bound with it when
    /// something is written from them.
    pub(crate) fn bind_later(
        &self,
        jar: &Jar,
        copies: Vec<Arc<Copy>>,
        open: Vec<Vec<u8>>,
        ticks_ms: u64,
    ) -> Arc<Bound> {
        self.enter(jar, State { copies, open, is_stale: true, ..State::default() }, ticks_ms)
    }

    fn enter(&self, jar: &Jar, state: State, ticks_ms: u64) -> Arc<Bound> {
        let bound = Arc::new(Bound::new(state, ticks_ms));
        let mut inner = self.inner.lock();
        for (name, value) in jar.iter() {
            inner.insert(mark(name, value), &bound);
        }
        bound
    }

    /// Another node tells of a session: it began there, or less of it is open.
    pub(crate) fn hear(&self, told: SessionTold, ticks_ms: u64) {
        let SessionTold { mut marks, mut copies, mut open } = told;
        marks.truncate(TOLD_MAX);
        copies.truncate(TOLD_MAX);
        open.truncate(TOLD_MAX);
        let mut inner = self.inner.lock();
        let known = marks.iter().find_map(|mark| inner.by_value.get(mark)).cloned();
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
                Arc::new(Bound::new(state, ticks_ms))
            }
        };
        for mark in marks {
            inner.insert(mark, &bound);
        }
    }

    /// The session that these cookies name, if Wick began it.
    pub(crate) fn find(&self, fields: &Fields, ticks_ms: u64) -> Option<Arc<Bound>> {
        let inner = self.inner.lock();
        if inner.by_value.is_empty() {
            return None;
        }
        pairs(fields)
            .filter(|(_, value)| value.len() >= SESSION_BYTES_MIN)
            .find_map(|(name, value)| inner.by_value.get(&mark(name, value)))
            .filter(|bound| ticks_ms < bound.until_ticks_ms)
            .cloned()
    }

    /// Follows a session whose cookies an answer changes, as at a log-in; whether it does.
    pub(crate) fn follow(&self, bound: &Arc<Bound>, answer: &Fields, unix_seconds: u64) -> bool {
        let mut inner = self.inner.lock();
        let mut is_changed = false;
        for cookie in set_cookies(answer) {
            let is_known = inner.by_value.contains_key(&mark(cookie.name, cookie.value));
            if !is_known && !cookie.is_removal(unix_seconds) {
                bound.state.lock().is_stale = true;
                if cookie.value.len() >= SESSION_BYTES_MIN {
                    inner.insert(mark(cookie.name, cookie.value), bound);
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
    fn insert(&mut self, mark: Mark, bound: &Arc<Bound>) {
        let mut state = bound.state.lock();
        if !state.marks.contains(&mark) {
            state.marks.push(mark);
            let surplus = state.marks.len().saturating_sub(TOLD_MAX);
            state.marks.drain(..surplus);
        }
        drop(state);
        if self.by_value.insert(mark, bound.clone()).is_none() {
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
}

impl Bound {
    fn new(state: State, ticks_ms: u64) -> Self {
        Self { until_ticks_ms: ticks_ms + HOLDER_MS, state: Mutex::new(state) }
    }

    /// What other nodes have to know of it.
    pub(crate) fn told(&self) -> SessionTold {
        let state = self.state.lock();
        let copies = state.copies.iter().map(|copy| copy.mark()).chain(state.elsewhere.clone());
        SessionTold {
            marks: state.marks.clone(),
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

    /// Whether the page is still open as a stranger was given it.
    pub(crate) fn has_open(&self, page: &[u8]) -> bool {
        self.state.lock().open.iter().any(|open| open == page)
    }

    /// The page is loaded again, with the session's own values; whether it was open.
    pub(crate) fn close(&self, page: &[u8]) -> bool {
        let mut state = self.state.lock();
        let count = state.open.len();
        state.open.retain(|open| open != page);
        state.open.len() < count
    }

    /// The binding, if it covers these copies and is still right; else the copies to bind
    /// anew with.
    pub(crate) fn binding(&self, carried: &[Arc<Copy>]) -> Result<Arc<Binding>, Vec<Arc<Copy>>> {
        let mut state = self.state.lock();
        let is_known = |copy: &Arc<Copy>| state.copies.iter().any(|known| known.id == copy.id);
        if !state.is_stale && carried.iter().all(is_known) {
            return Ok(state.binding.clone());
        }
        let new: Vec<_> = carried.iter().filter(|copy| !is_known(copy)).cloned().collect();
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

/// What a cookie is known by, on all nodes.
fn mark(name: &[u8], value: &[u8]) -> Mark {
    xxh3_128(&[name, b"=", value].concat()).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKIE: &[u8] = b"sid=0123456789abcdef";

    fn fields(line: &[u8]) -> Fields {
        Fields::parse(&[b"cookie: ", line].concat()).expect("valid")
    }

    fn begun(holders: &Holders, open: &[&str]) -> Arc<Bound> {
        let mut jar = Jar::default();
        jar.absorb(&Fields::parse(b"set-cookie: sid=0123456789abcdef; path=/").expect("valid"), 0);
        let open = open.iter().map(|page| page.as_bytes().to_vec()).collect();
        holders.bind(&jar, Binding::default(), Vec::new(), open, 0)
    }

    fn as_told(bound: &Bound) -> SessionTold {
        let text = serde_json::to_vec(&bound.told()).expect("it can be written");
        serde_json::from_slice(&text).expect("it can be read")
    }

    #[test]
    fn another_node_knows_the_session_and_what_is_open() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one", "a|/two"]);
        there.hear(as_told(&own), 0);
        let heard = there.find(&fields(COOKIE), 1).expect("it was told");
        assert!(heard.is_heard() && heard.has_open(b"a|/one") && heard.has_open(b"a|/two"));
        assert!(there.find(&fields(b"sid=0123456789abcdeX"), 1).is_none());
        assert!(there.find(&fields(COOKIE), HOLDER_MS).is_none(), "for an hour");
        assert!(heard.close(b"a|/one") && !heard.close(b"a|/one"));
        here.hear(as_told(&heard), 1);
        assert!(!own.has_open(b"a|/one") && own.has_open(b"a|/two") && !own.is_heard());
    }

    #[test]
    fn what_is_told_again_opens_nothing() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one"]);
        let first = || as_told(&begun(&Holders::default(), &["a|/one", "a|/two"]));
        there.hear(first(), 0);
        own.close(b"a|/one");
        there.hear(as_told(&own), 1);
        there.hear(first(), 2);
        let heard = there.find(&fields(COOKIE), 3).expect("it was told");
        assert!(!heard.has_open(b"a|/one") && !heard.has_open(b"a|/two"));
    }

    #[test]
    fn a_value_that_the_app_gives_later_is_known_elsewhere_too() {
        let (here, there) = (Holders::default(), Holders::default());
        let own = begun(&here, &["a|/one"]);
        there.hear(as_told(&own), 0);
        let answer = b"set-cookie: sid=fedcba9876543210; path=/";
        let answer = Fields::parse(answer).expect("valid");
        assert!(here.follow(&own, &answer, 0) && !here.follow(&own, &answer, 0));
        there.hear(as_told(&own), 1);
        let values = [COOKIE, b"sid=fedcba9876543210"];
        let [old, new] = values.map(|line| there.find(&fields(line), 2).expect("it was told"));
        assert!(Arc::ptr_eq(&old, &new));
    }

    #[test]
    fn more_than_a_session_has_is_not_taken_up() {
        let there = Holders::default();
        let marks = vec![mark(b"sid", b"0123456789abcdef")];
        let copies = (0..200u8).map(|at| [at; 16]).collect();
        let open = (0..200u8).map(|at| vec![at]).collect();
        there.hear(SessionTold { marks, copies, open }, 0);
        let heard = there.find(&fields(COOKIE), 1).expect("it was told");
        assert_eq!((heard.elsewhere().len(), heard.told().open.len()), (TOLD_MAX, TOLD_MAX));
    }
}
