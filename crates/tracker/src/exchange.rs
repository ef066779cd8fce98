//! Peers that other trackers of the same swarms were told of, so that a client sees all others
//! whichever of the trackers each comes to.
//!
//! In and out: bytes, for whoever carries them ([`Tracker::take_told`], [`Tracker::hear_told`]);
//! each has the torrent, the session as it announced, and whether it went. What is heard adds
//! nothing to anybody's credit: that is the ledger's, in the database.
//! Bounds: [`MESSAGES_MAX`] messages of [`MESSAGE_BYTES`] wait to be taken; what is more is counted, and told with the next
//! announce of its session. Where nobody takes them, none is kept.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::journal::codec::{Bytes, put_session, take_session};
use crate::ledger::Entry;
use crate::rights::UserId;
use crate::session::{Kind, Session};
use crate::shard::Shard;
use crate::tracker::{Tracker, add_difference};
use crate::users::Users;
use wire::tracker::InfoHash;

/// In one message, about: some 2,000 announces.
const MESSAGE_BYTES: usize = 128 << 10;
/// Messages that wait.
const MESSAGES_MAX: usize = 32;

/// What is to be told.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    messages: Mutex<Vec<Vec<u8>>>,
    /// Whether anybody takes them: without a secret nobody does.
    is_taken: AtomicBool,
}

impl Exchange {
    /// False: there is no room for it.
    fn put(&self, entry: &Entry) -> bool {
        let mut messages = self.messages.lock();
        if messages.last().is_none_or(|last| last.len() >= MESSAGE_BYTES) {
            if messages.len() == MESSAGES_MAX {
                return false;
            }
            messages.push(Vec::new());
        }
        let Some(bytes) = messages.last_mut() else { return false };
        bytes.extend_from_slice(&entry.info_hash.0);
        bytes.push(u8::from(entry.has_stopped));
        put_session(bytes, &entry.session);
        true
    }
}

impl Tracker {
    /// What was announced here since this was asked last, for the others. Nothing is kept for them
    /// before it is asked for the first time.
    #[must_use]
    pub fn take_told(&self) -> Vec<Vec<u8>> {
        self.exchange.is_taken.store(true, Relaxed);
        std::mem::take(&mut *self.exchange.messages.lock())
    }

    pub(crate) fn tell(&self, entry: &Entry) {
        if self.exchange.is_taken.load(Relaxed) && !self.exchange.put(entry) {
            self.counters.untold.bump();
        }
    }

    /// Another tracker was told this. What can't be read ends it.
    pub fn hear_told(&self, bytes: &[u8]) {
        let mut bytes = Bytes(bytes);
        while let Some((hash, has_stopped, session)) = take(&mut bytes) {
            self.counters.heard.bump();
            let has_room = self.sessions.load(Relaxed) < self.rules().sessions_max as usize;
            let mut shard = self.shard(&hash).lock();
            let (sessions, pending) = (shard.sessions, shard.pending.len());
            shard.hear(&hash, &session, has_stopped, has_room, &self.users);
            add_difference(&self.sessions, sessions, shard.sessions);
            add_difference(&self.pending, pending, shard.pending.len());
        }
    }
}

fn take(bytes: &mut Bytes<'_>) -> Option<(InfoHash, bool, Session)> {
    Some((bytes.hash()?, bytes.u8()? != 0, take_session(bytes)?))
}

impl Shard {
    /// A session announced elsewhere. What is known here and newer stays.
    fn hear(
        &mut self,
        hash: &InfoHash,
        session: &Session,
        has_stopped: bool,
        has_room: bool,
        users: &Users,
    ) {
        let is_known = self.torrents.find(hash).is_some();
        if !is_known && (has_stopped || !has_room || !self.makes_torrents()) {
            return;
        }
        let torrent = self.torrents.find_or_make(hash);
        let (this, others_taking) = self.find_session(torrent, session);
        let row = &self.torrents.rows[torrent];
        let known = this.map(|place| self.packing.unpack(&row.swarm.record(place)));
        let is_old = known.is_some_and(|known| known.announced > session.announced);
        if is_old || this.is_none() && !has_room {
            return;
        }
        let was_taking = this.is_some_and(|place| place.kind == Kind::Taking);
        let is_taking = !has_stopped && session.kind() == Kind::Taking;
        if others_taking == 0 && was_taking != is_taking {
            users.change_taking(&mut vec![(UserId(session.user), is_taking)]);
        }
        self.put_session(torrent, this, session, has_stopped);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use base::Now;
    use wire::tracker::{Announce, Event, PeerId, Peers};

    use super::*;
    use crate::Rules;

    fn tracker() -> Tracker {
        let node = Some("one".to_owned());
        let rules = Rules { allows_private_addresses: true, node, ..Rules::default() };
        let tracker = Tracker::new(rules);
        assert!(tracker.take_told().is_empty());
        tracker
    }

    fn tell(tracker: &Tracker, client: u8, event: Event, at: u64) -> usize {
        let announce = Announce {
            info_hash: InfoHash([7; 20]),
            peer_id: PeerId([client; 20]),
            key: None,
            passkey: None,
            port: 6881,
            uploaded: 0,
            downloaded: 0,
            left: 1,
            event,
            peers_wanted: Some(50),
            told_v4: None,
            told_v6: None,
        };
        let mut peers = Peers::default();
        let from = IpAddr::V4(Ipv4Addr::new(10, 0, 0, client));
        let now = Now { ticks_ms: at * 1000, ticks_us: at * 1_000_000, unix_ms: at * 1000 };
        tracker.announce(&announce, from, now, &mut peers).expect("nobody is refused");
        peers.v4.len() / 6
    }

    #[test]
    fn clients_see_those_who_came_to_another_tracker() {
        let (one, other) = (tracker(), tracker());
        assert_eq!(tell(&one, 1, Event::Started, 1_000), 0);
        other.hear_told(&one.take_told().concat());
        assert_eq!(tell(&other, 2, Event::Started, 1_001), 1);
        one.hear_told(&other.take_told().concat());
        assert_eq!(tell(&one, 3, Event::Started, 1_002), 2);
        // One goes to the other tracker, and ends there; what is heard late doesn't bring it back.
        let late = one.take_told().concat();
        tell(&other, 1, Event::Stopped, 1_003);
        one.hear_told(&other.take_told().concat());
        other.hear_told(&late);
        assert_eq!(
            (tell(&one, 3, Event::Update, 1_100), tell(&other, 2, Event::Update, 1_100)),
            (1, 1)
        );
        assert_eq!(
            one.take_told().concat().len(),
            other.take_told().concat().len(),
            "only what came here is told"
        );
    }

    #[test]
    fn nothing_is_kept_where_nobody_takes_it() {
        let node = Some("one".to_owned());
        let one = Tracker::new(Rules { allows_private_addresses: true, node, ..Rules::default() });
        tell(&one, 1, Event::Started, 1_000);
        assert!(one.take_told().is_empty());
        tell(&one, 2, Event::Started, 1_001);
        assert_eq!(one.take_told().len(), 1, "somebody takes it now");
    }

    #[test]
    fn what_is_cut_anywhere_is_no_harm() {
        let (one, other) = (tracker(), tracker());
        tell(&one, 1, Event::Started, 1_000);
        let told = one.take_told().concat();
        (0..told.len()).for_each(|end| other.hear_told(&told[..end]));
        assert_eq!(tell(&other, 2, Event::Started, 1_001), 0);
        other.hear_told(&told);
        assert_eq!(tell(&other, 2, Event::Update, 1_100), 1);
    }
}
