//! Minting: sessions begin one at a time for each browser.
//!
//! Two requests that a page sends at once must not begin two sessions. The second waits
//! until the first is through, and is then answered with 307 to itself: the browser comes
//! again with the cookies that it got meanwhile. A browser that comes again without any
//! keeps no cookies, and gets a session of its own.
//! Bounds: [`TOLD_MAX`], [`SESSIONS_MAX`] for an address; as many wait as there are requests.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Browsers that were sent back lately.
const TOLD_MAX: usize = 4096;
/// One that was sent back is not sent back again for so long, in milliseconds.
const TOLD_MS: u64 = 10_000;

/// Sessions that may begin for one address in [`WINDOW_MS`]; a school or an office has one.
const SESSIONS_MAX: u32 = 120;
const WINDOW_MS: u64 = 60_000;
/// Addresses that are counted.
const ADDRESSES_MAX: usize = 16_384;

/// A browser, as far as it can be told without a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Browser {
    pub(crate) address: IpAddr,
    /// A hash of its user agent and of the host that it visits.
    pub(crate) agent: u64,
}

/// Who is getting a session.
#[derive(Default)]
pub(crate) struct Minting {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    busy: HashMap<Browser, watch::Receiver<()>>,
    told: HashMap<(Browser, u64), u64>,
    /// By address: since when, and how many.
    begun: HashMap<IpAddr, (u64, u32)>,
}

/// The right to begin a session; it ends when dropped.
pub(crate) struct Turn<'a> {
    minting: &'a Minting,
    browser: Browser,
    _open: watch::Sender<()>,
}

/// What one who wants a session is to do.
pub(crate) enum Entry<'a> {
    Begin(Turn<'a>),
    /// Another request of the same browser got one just now.
    ComeAgain,
    /// Too many began for this address lately: the request goes on as it came.
    TooMany,
}

impl Minting {
    /// Waits until no other request of this browser is getting a session.
    pub(crate) async fn enter(&self, browser: Browser, target: u64, ticks_ms: u64) -> Entry<'_> {
        let mut waited = false;
        loop {
            let mut other = {
                let mut inner = self.inner.lock();
                if waited && inner.tell(browser, target, ticks_ms) {
                    return Entry::ComeAgain;
                }
                match inner.busy.get(&browser).cloned() {
                    Some(other) => other,
                    None if !inner.count(browser.address, ticks_ms) => return Entry::TooMany,
                    None => {
                        let (open, watched) = watch::channel(());
                        inner.busy.insert(browser, watched);
                        return Entry::Begin(Turn { minting: self, browser, _open: open });
                    }
                }
            };
            // It ends with an error when the other is through.
            while other.changed().await.is_ok() {}
            waited = true;
        }
    }
}

impl Inner {
    /// Counts a session that is to begin; false if there were too many.
    fn count(&mut self, address: IpAddr, ticks_ms: u64) -> bool {
        if self.begun.len() >= ADDRESSES_MAX {
            self.begun.retain(|_, (since, _)| ticks_ms < *since + WINDOW_MS);
        }
        if self.begun.len() >= ADDRESSES_MAX && !self.begun.contains_key(&address) {
            return false;
        }
        let (since, count) = self.begun.entry(address).or_insert((ticks_ms, 0));
        if ticks_ms >= *since + WINDOW_MS {
            (*since, *count) = (ticks_ms, 0);
        }
        *count += 1;
        *count <= SESSIONS_MAX
    }

    /// Notes that this browser is sent back, unless it was just now.
    fn tell(&mut self, browser: Browser, target: u64, ticks_ms: u64) -> bool {
        self.told.retain(|_, told| ticks_ms < *told + TOLD_MS);
        if self.told.len() >= TOLD_MAX || self.told.contains_key(&(browser, target)) {
            return false;
        }
        self.told.insert((browser, target), ticks_ms);
        true
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.minting.inner.lock().busy.remove(&self.browser);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn browser(agent: u64) -> Browser {
        Browser { address: IpAddr::V4(Ipv4Addr::LOCALHOST), agent }
    }

    #[tokio::test]
    async fn the_second_comes_again_once() {
        let minting = Minting::default();
        let Entry::Begin(turn) = minting.enter(browser(1), 7, 0).await else {
            panic!("nobody else is there");
        };
        assert!(matches!(minting.enter(browser(2), 7, 0).await, Entry::Begin(_)));
        let (second, ()) = tokio::join!(minting.enter(browser(1), 7, 0), async {
            tokio::task::yield_now().await;
            drop(turn);
        });
        assert!(matches!(second, Entry::ComeAgain));
        let Entry::Begin(turn) = minting.enter(browser(1), 7, 1).await else {
            panic!("the first is through");
        };
        let (third, ()) = tokio::join!(minting.enter(browser(1), 7, 2), async {
            tokio::task::yield_now().await;
            drop(turn);
        });
        assert!(matches!(third, Entry::Begin(_)), "it keeps no cookies");
    }

    #[tokio::test]
    async fn one_address_begins_so_many_sessions_in_a_minute() {
        let minting = Minting::default();
        for agent in 0..u64::from(SESSIONS_MAX) {
            assert!(matches!(minting.enter(browser(agent), 7, 0).await, Entry::Begin(_)));
        }
        assert!(matches!(minting.enter(browser(0), 7, 1).await, Entry::TooMany));
        assert!(matches!(minting.enter(browser(0), 7, WINDOW_MS).await, Entry::Begin(_)));
    }
}
