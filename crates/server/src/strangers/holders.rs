//! Holders: visitors whose session Wick began, and the pages that they still have open.
//!
//! A page that was served to a stranger stays open after the session began, and goes on
//! sending that copy's values. They are translated for the session that was bound with the
//! copy, for requests that come from that page, until the page is loaded again; nobody
//! else's are.
//! Bounds: [`HOLDERS_MAX`] sessions, [`HOLDER_MS`] each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use align::Binding;
use parking_lot::Mutex;
use policy::strangers::{Jar, pairs, set_cookies};
use wire::Fields;

use crate::pipeline;

use super::copies::Copy;

/// Copies that one session is bound with; of one page several may be open.
const COPIES_MAX: usize = 8;
const HOLDERS_MAX: usize = 4096;
const HOLDER_MS: u64 = 3_600_000;
/// Shorter cookie values may be guessed, and name no session.
const SESSION_BYTES_MIN: usize = 16;

/// A session that Wick began, with what it was bound with.
pub(crate) struct Bound {
    until_ticks_ms: u64,
    state: Mutex<State>,
}

struct State {
    binding: Arc<Binding>,
    copies: Vec<Arc<Copy>>,
    /// Pages, as [`super::brief::page_name`] has them.
    open: Vec<Vec<u8>>,
    /// The app gave the session another value since: its tokens may be others too.
    is_stale: bool,
}

/// All of them, by the values of their cookies.
#[derive(Default)]
pub(crate) struct Holders {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_value: HashMap<u64, Arc<Bound>>,
    order: VecDeque<u64>,
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
        let state = State { binding: Arc::new(binding), copies, open, is_stale: false };
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
    ) {
        self.enter(jar, State { binding: Arc::default(), copies, open, is_stale: true }, ticks_ms);
    }

    fn enter(&self, jar: &Jar, state: State, ticks_ms: u64) -> Arc<Bound> {
        let bound =
            Arc::new(Bound { until_ticks_ms: ticks_ms + HOLDER_MS, state: Mutex::new(state) });
        let mut inner = self.inner.lock();
        for (name, value) in jar.iter() {
            inner.insert(name, value, &bound);
        }
        bound
    }

    /// The session that these cookies name, if Wick began it.
    pub(crate) fn find(&self, fields: &Fields, ticks_ms: u64) -> Option<Arc<Bound>> {
        let inner = self.inner.lock();
        if inner.by_value.is_empty() {
            return None;
        }
        pairs(fields)
            .filter(|(_, value)| value.len() >= SESSION_BYTES_MIN)
            .find_map(|(name, value)| inner.by_value.get(&hash(name, value)))
            .filter(|bound| ticks_ms < bound.until_ticks_ms)
            .cloned()
    }

    /// Follows a session whose cookies an answer changes, as at a log-in.
    pub(crate) fn follow(&self, bound: &Arc<Bound>, answer: &Fields, unix_seconds: u64) {
        let mut inner = self.inner.lock();
        for cookie in set_cookies(answer) {
            let is_known = inner.by_value.contains_key(&hash(cookie.name, cookie.value));
            if !is_known && !cookie.is_removal(unix_seconds) {
                bound.state.lock().is_stale = true;
                inner.insert(cookie.name, cookie.value, bound);
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.lock().by_value.len()
    }
}

impl Inner {
    fn insert(&mut self, name: &[u8], value: &[u8], bound: &Arc<Bound>) {
        if value.len() < SESSION_BYTES_MIN {
            return;
        }
        let hash = hash(name, value);
        if self.by_value.insert(hash, bound.clone()).is_none() {
            self.order.push_back(hash);
        }
        while self.order.len() > HOLDERS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.by_value.remove(&oldest);
            }
        }
    }
}

impl Bound {
    /// Whether the page is still open as a stranger was given it.
    pub(crate) fn has_open(&self, page: &[u8]) -> bool {
        self.state.lock().open.iter().any(|open| open == page)
    }

    /// The page is loaded again, with the session's own values.
    pub(crate) fn close(&self, page: &[u8]) {
        self.state.lock().open.retain(|open| open != page);
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

fn hash(name: &[u8], value: &[u8]) -> u64 {
    pipeline::hash(&[name, b"=", value].concat())
}
