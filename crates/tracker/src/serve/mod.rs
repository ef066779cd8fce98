//! The tracker at work: what comes over sockets is answered from the store.
//!
//! [`Service`] answers one question, whichever way it came: by the tracker's own sockets
//! ([`Serving`]) or through a site's. Threads share it, and nothing else; clients over WebSocket
//! meet in its hall (`web/`).
//! Invariants: 1. an answer leaves after the local log has what it says ([`Heart::flush`], once a
//! turn). 2. no passkey is in anything that is counted, told or written. 3. over UDP nothing larger
//! than a request answers it before its source is proved.

mod counters;
mod heart;
mod http;
mod ids;
mod mount;
mod serving;
mod sockets;
mod turn;
mod udp;
mod web;

#[cfg(test)]
mod tests;

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use base::Clock;
use base::network::Network;
use wire::tracker::answer::{self, Form, Retry};
use wire::tracker::query::{self, Asked, HttpAnnounce, QueryError, Scrape};
use wire::tracker::{Announce, Counts, InfoHash, Passkey, PeerId, Peers, Told};

pub use counters::ServeCounters;
pub use ids::ConnectionIds;
pub use mount::Mount;
pub use serving::Serving;
pub use sockets::{Sockets, UDP_BUFFER_BYTES, probe, udp_room};

use self::web::hall::Hall;
use crate::books::Pushes;
use crate::refusal::Refusal;

/// When clients that scraped too often are asked to come again.
const SCRAPE_RETRY_MINUTES: u32 = 5;
/// Bits of a count of scrapes; what is past them isn't counted.
const SCRAPES_BITS: u32 = 24;
const SCRAPES_MAX: u64 = (1 << SCRAPES_BITS) - 1;

/// What answers announces: the store, or a test's idea of one.
pub trait Heart: Send + Sync {
    /// Counts an announce in and finds peers.
    ///
    /// # Errors
    /// The rules refuse it.
    fn announce(
        &self,
        announce: &Announce,
        from: IpAddr,
        now: base::clock::Now,
        peers: &mut Peers,
    ) -> Result<Told, Refusal>;

    /// Brings near what announces will look at that came together and are counted in next.
    fn foresee(&self, _announces: &[Announce]) {}

    /// Counts an announce in of a client that nobody can connect to, and that meets others through
    /// the service alone.
    ///
    /// # Errors
    /// The rules refuse it.
    fn announce_web(
        &self,
        announce: &Announce,
        from: IpAddr,
        now: base::clock::Now,
    ) -> Result<Told, Refusal>;

    /// Such a client is gone without a word.
    fn lose(
        &self,
        passkey: Option<&Passkey>,
        hash: &InfoHash,
        peer_id: &PeerId,
        now: base::clock::Now,
    );

    /// How a torrent stands; none if nobody knows it.
    fn scrape(&self, hash: &InfoHash) -> Option<Counts>;

    /// Whether somebody with this passkey may see how this torrent stands.
    fn may_scrape(&self, passkey: Option<&Passkey>, hash: &InfoHash) -> bool;

    /// Somebody was told how torrents stand, of which this was the first.
    fn note_scrape(
        &self,
        _passkey: Option<&Passkey>,
        _hash: &InfoHash,
        _from: IpAddr,
        _now: base::clock::Now,
    ) {
    }

    /// Has all that was counted so far in the local log.
    ///
    /// # Errors
    /// It can't be written.
    fn flush(&self) -> io::Result<()>;
}

/// Who may know how torrents stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScrapeRule {
    /// Whoever may announce.
    #[default]
    On,
    /// Nobody.
    Off,
}

/// How it is served; may change at any time.
#[derive(Clone, Debug)]
pub struct ServeRules {
    /// Who may know how torrents stand.
    pub scrape: ScrapeRule,
    /// Seconds that clients are asked to leave between two scrapes.
    pub scrape_interval: Option<u32>,
    /// Torrents of one scrape; more are an error.
    pub scrape_torrents_max: usize,
    /// Scrapes in one second, of all clients together; more are refused. 0 is no bound.
    pub scrapes_per_second_max: u32,
    /// Whose `X-Forwarded-For` is believed on the tracker's own sockets.
    pub proxies: Vec<Network>,
    /// Whether clients are told the address that they come from (BEP 24).
    pub tells_address: bool,
    /// Connections at one time on the tracker's own sockets, of all threads together.
    pub connections_max: usize,
    /// Whether clients may announce over WebSocket, and meet through us.
    pub webtorrent: bool,
    /// How long a connection may rest, and a request take to come.
    pub idle: Duration,
}

impl Default for ServeRules {
    fn default() -> Self {
        Self {
            scrape: ScrapeRule::On,
            scrape_interval: None,
            scrape_torrents_max: query::SCRAPE_HASHES_MAX,
            scrapes_per_second_max: 0,
            proxies: Vec::new(),
            tells_address: true,
            connections_max: 20_000,
            webtorrent: false,
            idle: Duration::from_secs(30),
        }
    }
}

/// A tracker that answers.
pub struct Service {
    heart: Arc<dyn Heart>,
    rules: ArcSwap<ServeRules>,
    counters: ServeCounters,
    ids: ConnectionIds,
    clock: Clock,
    /// What a site pushes, once that is known.
    pushes: OnceLock<Pushes>,
    /// Who is here by WebSocket.
    hall: Hall,
    /// A second, and above it how many scrapes were asked for in it.
    scraped: AtomicU64,
}

/// What one thread keeps for answers, so that none allocates.
#[derive(Debug, Default)]
pub struct Desk {
    peers: Peers,
    torrents: Vec<(InfoHash, Counts)>,
    text: Vec<u8>,
}

/// What an answer over HTTP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It was appended: bencoded, or the word that answers a push.
    Bencoded,
    /// Nobody asks a tracker this.
    NotFound,
}

impl Service {
    /// A service before what answers; `ids` are given out over UDP.
    #[must_use]
    pub fn new(heart: Arc<dyn Heart>, rules: ServeRules, ids: ConnectionIds, clock: Clock) -> Self {
        let rules = ArcSwap::from_pointee(rules);
        let (counters, pushes) = (ServeCounters::default(), OnceLock::new());
        let (scraped, hall) = (AtomicU64::new(0), Hall::default());
        Self { heart, rules, counters, ids, clock, pushes, hall, scraped }
    }

    /// Takes a site's pushes from now on, on the tracker's own sockets.
    pub fn take_pushes(&self, pushes: Pushes) {
        // There is one site.
        let _ = self.pushes.set(pushes);
    }

    /// Serves by other rules from now on.
    pub fn set_rules(&self, rules: ServeRules) {
        self.rules.store(Arc::new(rules));
    }

    /// What it counted.
    #[must_use]
    pub fn counters(&self) -> &ServeCounters {
        &self.counters
    }

    pub(crate) fn rules(&self) -> Guard<Arc<ServeRules>> {
        self.rules.load()
    }

    /// Answers a request's target and has the answer flushed, so that it may leave at once: for
    /// what came through a site.
    pub fn answer_alone(&self, target: &[u8], from: IpAddr, out: &mut Vec<u8>) -> Answered {
        let now = self.clock.now();
        let answered = self.answer(target, from, now, &mut Desk::default(), out);
        self.flush();
        answered
    }

    /// Appends the answer to a request's target.
    pub(crate) fn answer(
        &self,
        target: &[u8],
        from: IpAddr,
        now: base::clock::Now,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Answered {
        match query::read(target) {
            Ok(Asked::Announce(asked)) => self.announce(&asked, from, now, desk, out),
            Ok(Asked::Scrape(asked)) => self.scrape(&asked, from, now, desk, out),
            Ok(Asked::Other) => return self.pushed(target, out),
            Err(wrong) => {
                self.counters.malformed.bump();
                answer::put_failure(out, &wrong.to_string(), retry_of(wrong));
            }
        }
        Answered::Bencoded
    }

    /// What is neither an announce nor a scrape may be a push.
    fn pushed(&self, target: &[u8], out: &mut Vec<u8>) -> Answered {
        let taken = self
            .pushes
            .get()
            .zip(std::str::from_utf8(target).ok())
            .and_then(|(pushes, target)| pushes.take(target).ok());
        match taken {
            Some(word) => {
                self.counters.pushes.bump();
                out.extend_from_slice(word.as_bytes());
                Answered::Bencoded
            }
            None => {
                self.counters.others.bump();
                Answered::NotFound
            }
        }
    }

    fn announce(
        &self,
        asked: &HttpAnnounce,
        from: IpAddr,
        now: base::clock::Now,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) {
        desk.clear(!asked.compact && !asked.no_peer_id, None);
        let from = from.to_canonical();
        match self.heart.announce(&asked.announce, from, now, &mut desk.peers) {
            Ok(told) => {
                self.counters.http_announces.bump();
                let external = self.rules().tells_address.then_some(from);
                let form = Form { is_compact: asked.compact, external, warning: None };
                answer::put_announce(out, &told, &desk.peers, &form);
            }
            Err(refusal) => {
                self.counters.refused.bump();
                answer::put_failure(out, &refusal.to_string(), refusal.retry());
            }
        }
    }

    fn scrape(
        &self,
        asked: &Scrape,
        from: IpAddr,
        now: base::clock::Now,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) {
        match self.scraped(asked.passkey.as_ref(), &asked.hashes, from, now) {
            Ok(rules) => {
                self.find_torrents(&asked.hashes, desk);
                answer::put_scrape(out, &mut desk.torrents, rules.scrape_interval);
            }
            Err((why, retry)) => answer::put_failure(out, why, retry),
        }
    }

    /// The rules by which somebody may know how these torrents stand; else why not.
    fn scraped(
        &self,
        passkey: Option<&Passkey>,
        hashes: &[InfoHash],
        from: IpAddr,
        now: base::clock::Now,
    ) -> Result<Guard<Arc<ServeRules>>, (&'static str, Retry)> {
        let rules = self.rules();
        let why_not = match hashes.first() {
            None => Some(("name the torrents to scrape by info_hash", Retry::Never)),
            Some(first) => self.why_no_scrape(&rules, passkey, first),
        };
        let is_long = hashes.len() > rules.scrape_torrents_max;
        let too_many = is_long.then_some(("too many torrents in one scrape", Retry::Never));
        match why_not.or(too_many) {
            None => {
                self.counters.scrapes.bump();
                if let Some(first) = hashes.first() {
                    self.heart.note_scrape(passkey, first, from.to_canonical(), now);
                }
                Ok(rules)
            }
            Some(why) => {
                self.counters.refused.bump();
                Err(why)
            }
        }
    }

    /// Looks up how torrents stand; those that nobody knows are left out.
    fn find_torrents(&self, hashes: &[InfoHash], desk: &mut Desk) {
        desk.torrents.clear();
        let known = hashes.iter().filter_map(|hash| Some((*hash, self.heart.scrape(hash)?)));
        desk.torrents.extend(known);
    }

    fn why_no_scrape(
        &self,
        rules: &ServeRules,
        passkey: Option<&Passkey>,
        hash: &InfoHash,
    ) -> Option<(&'static str, Retry)> {
        match rules.scrape {
            ScrapeRule::Off => Some(("this tracker is not scraped", Retry::Never)),
            ScrapeRule::On if self.is_scraped_too_much(rules.scrapes_per_second_max) => {
                Some(("too many scrapes; try again later", Retry::Minutes(SCRAPE_RETRY_MINUTES)))
            }
            ScrapeRule::On if self.heart.may_scrape(passkey, hash) => None,
            ScrapeRule::On => Some(("a good passkey is needed to scrape", Retry::Never)),
        }
    }

    /// Counts a scrape in; whether there were enough in this second.
    fn is_scraped_too_much(&self, max: u32) -> bool {
        if max == 0 {
            return false;
        }
        let second = self.clock.now().ticks_ms / 1000;
        let count = |held: u64| {
            let (of, count) = (held >> SCRAPES_BITS, held & SCRAPES_MAX);
            let count = if of == second { (count + 1).min(SCRAPES_MAX) } else { 1 };
            Some(second << SCRAPES_BITS | count)
        };
        // What is put in is never refused, so there is no other end.
        let held = self.scraped.fetch_update(Relaxed, Relaxed, count).unwrap_or_default();
        held >> SCRAPES_BITS == second && held & SCRAPES_MAX >= u64::from(max)
    }

    /// The same if there is something to answer.
    pub(crate) fn flush_if(&self, has_answers: bool) {
        if has_answers {
            self.flush();
        }
    }

    /// Has the local log before answers leave. Without it the tracker still tracks.
    pub(crate) fn flush(&self) {
        if self.heart.flush().is_err() {
            self.counters.journal_failures.bump();
        }
    }
}

impl Desk {
    /// Makes room for the next answer, which names peers or not, and over UDP has only those of
    /// one family.
    fn clear(&mut self, with_ids: bool, only_v6: Option<bool>) {
        let Peers { v4, v6, ids, .. } = &mut self.peers;
        v4.clear();
        v6.clear();
        ids.clear();
        self.peers.with_ids = with_ids;
        self.peers.without_v4 = only_v6 == Some(true);
        self.peers.without_v6 = only_v6 == Some(false);
    }
}

/// A client that sends what can't be read will send it again.
fn retry_of(wrong: QueryError) -> Retry {
    match wrong {
        QueryError::Passkey => Retry::Never,
        _ => Retry::Unsaid,
    }
}
