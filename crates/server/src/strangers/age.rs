//! Aged sessions: begun in the background when a page was served that tells the time.
//!
//! Some apps want a form to have been open for a while before it is sent. When such a page
//! is served to a stranger a session is begun, for that browser's address and name, and
//! handed out once if it writes.
//! Bounds: [`SESSIONS_MAX`] sessions, one for a browser and page in [`AGAIN_MS`].

use std::collections::HashMap;

use align::Document;
use parking_lot::Mutex;
use policy::strangers::Jar;

use super::minting::Browser;

const SESSIONS_MAX: usize = 256;
/// A session this old may be dead at the origin.
const GOOD_MS: u64 = 1_500_000;
const AGAIN_MS: u64 = 60_000;
/// So old a session should be before its form is sent.
pub(crate) const AGE_MS: u64 = 3_000;

/// A session that nobody has yet.
pub(crate) struct Aged {
    pub(crate) jar: Jar,
    /// `Set-Cookie` lines.
    pub(crate) sets: Vec<Vec<u8>>,
    pub(crate) document: Document,
    pub(crate) ticks_ms: u64,
}

/// Sessions in waiting.
#[derive(Default)]
pub(crate) struct AgedSessions {
    inner: Mutex<HashMap<(Browser, Vec<u8>), Place>>,
}

enum Place {
    /// Somebody is beginning one, since then.
    Beginning(u64),
    Ready(Box<Aged>),
}

impl Place {
    fn since(&self) -> u64 {
        match self {
            Self::Beginning(ticks_ms) => *ticks_ms,
            Self::Ready(aged) => aged.ticks_ms,
        }
    }
}

impl AgedSessions {
    /// Whether one is to be begun now; who gets `true` begins it.
    pub(crate) fn claim(&self, browser: Browser, page: &[u8], ticks_ms: u64) -> bool {
        let mut inner = self.inner.lock();
        let key = (browser, page.to_vec());
        if inner.get(&key).is_some_and(|place| ticks_ms < place.since() + AGAIN_MS) {
            return false;
        }
        if inner.len() >= SESSIONS_MAX {
            inner.retain(|_, place| ticks_ms < place.since() + AGAIN_MS);
        }
        if inner.len() >= SESSIONS_MAX {
            return false;
        }
        inner.insert(key, Place::Beginning(ticks_ms));
        true
    }

    pub(crate) fn put(&self, browser: Browser, page: &[u8], aged: Aged) {
        self.inner.lock().insert((browser, page.to_vec()), Place::Ready(Box::new(aged)));
    }

    /// The session for this browser and page, if there is one; nobody else gets it.
    pub(crate) fn take(&self, browser: Browser, page: &[u8], ticks_ms: u64) -> Option<Aged> {
        let mut inner = self.inner.lock();
        let key = (browser, page.to_vec());
        let is_good = |place: &Place| matches!(place, Place::Ready(aged) if ticks_ms < aged.ticks_ms + GOOD_MS);
        if !inner.get(&key).is_some_and(is_good) {
            return None;
        }
        match inner.remove(&key) {
            Some(Place::Ready(aged)) => Some(*aged),
            _ => None,
        }
    }
}
