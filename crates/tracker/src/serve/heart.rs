//! The store as the service sees it.

use std::io;
use std::net::IpAddr;

use base::Now;
use wire::tracker::{Announce, Counts, InfoHash, Passkey, PeerId, Peers, Told};

use super::Heart;
use crate::refusal::Refusal;
use crate::rights::UserId;
use crate::rules::Mode;
use crate::site_log::{LogOf, LogRow};
use crate::tracker::Tracker;

impl Heart for Tracker {
    fn announce(
        &self,
        announce: &Announce,
        from: IpAddr,
        now: Now,
        peers: &mut Peers,
    ) -> Result<Told, Refusal> {
        Tracker::announce(self, announce, from, now, peers)
    }

    fn foresee(&self, announces: &[Announce]) {
        Tracker::foresee(self, announces);
    }

    fn announce_web(&self, announce: &Announce, from: IpAddr, now: Now) -> Result<Told, Refusal> {
        Tracker::announce_web(self, announce, from, now)
    }

    fn lose(&self, passkey: Option<&Passkey>, hash: &InfoHash, peer_id: &PeerId, now: Now) {
        Tracker::lose(self, passkey, hash, peer_id, now);
    }

    fn scrape(&self, hash: &InfoHash) -> Option<Counts> {
        Tracker::scrape(self, hash)
    }

    fn may_scrape(&self, passkey: Option<&Passkey>, hash: &InfoHash) -> bool {
        let rules = self.rules();
        let known = |passkey| self.users.by_passkey(passkey, hash, rules.xbt_key.as_ref());
        rules.mode == Mode::Open || passkey.and_then(known).is_some()
    }

    fn note_scrape(&self, passkey: Option<&Passkey>, hash: &InfoHash, from: IpAddr, now: Now) {
        let row = || {
            let rules = self.rules();
            let known = |passkey| self.users.by_passkey(passkey, hash, rules.xbt_key.as_ref());
            let user = passkey.and_then(known).unwrap_or(UserId(0));
            let at = u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX);
            LogRow::of_scrape(user, *hash, from, at)
        };
        self.site_log.note(LogOf::Scrapes, row);
    }

    fn flush(&self) -> io::Result<()> {
        self.flush_journal()
    }
}
