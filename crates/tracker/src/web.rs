//! Clients that nobody can connect to: they run in browsers, and meet through the tracker.
//!
//! They are users' sessions like others, with their slots and each byte accounted for. Their
//! address is kept with port 0, so that no answer tells of them; a client that comes by an
//! ordinary way too is one session, and can be reached.

use std::net::IpAddr;

use base::Now;
use wire::tracker::{Announce, InfoHash, Passkey, PeerId, Peers, Told};

use crate::address::Reach;
use crate::refusal::Refusal;
use crate::rights::UserId;
use crate::rules::Mode;
use crate::shard::Shard;
use crate::tracker::{Tracker, add_difference};
use crate::users::Users;

impl Tracker {
    /// Answers an announce of such a client; it is told of nobody.
    ///
    /// # Errors
    ///
    /// Why it is to be sent away.
    pub fn announce_web(
        &self,
        announce: &Announce,
        from: IpAddr,
        now: Now,
    ) -> Result<Told, Refusal> {
        self.announce_by(Reach::Relay, announce, from, now, &mut Peers::default())
    }

    /// Such a client is gone without a word: its session ends as one that fell silent, and what it
    /// earned stays. One that can be reached in another way is left alone.
    pub fn lose(&self, passkey: Option<&Passkey>, hash: &InfoHash, peer_id: &PeerId, now: Now) {
        let rules = self.rules();
        let user = match (rules.mode, passkey) {
            (Mode::Open, _) => None,
            (Mode::Private, passkey) => {
                let known = |it| self.users.by_passkey(it, hash, rules.xbt_key.as_ref());
                let Some(user) = passkey.and_then(known) else { return };
                Some(user)
            }
        };
        let hash = self.second_names.first(hash).unwrap_or(*hash);
        let mut shard = self.shard(&hash).lock();
        shard.packing.set_clock(u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX));
        let (sessions, pending) = (shard.sessions, shard.pending.len());
        shard.lose(&hash, user, peer_id, &self.users);
        add_difference(&self.sessions, sessions, shard.sessions);
        add_difference(&self.pending, pending, shard.pending.len());
    }
}

impl Shard {
    fn lose(&mut self, hash: &InfoHash, user: Option<UserId>, peer_id: &PeerId, users: &Users) {
        let Some(torrent) = self.torrents.find(hash) else { return };
        let packing = &self.packing;
        let wanted = packing.wanted(peer_id);
        let swarm = &self.torrents.rows[torrent].swarm;
        let is_out_of_reach = |row: &[u8]| packing.addresses(row) == (None, None);
        let mut this = None;
        match user {
            None => {
                let hash = packing.hash(peer_id);
                this = swarm.find_client(&wanted, hash, packing, is_out_of_reach);
            }
            Some(UserId(user)) => swarm.each_of_user(user, |place| {
                let record = swarm.record(place);
                if packing.is(&record.0, &wanted) && is_out_of_reach(&record.0) {
                    this = Some(place);
                }
            }),
        }
        if let Some(place) = this {
            self.end(torrent, place, users);
        }
    }
}
