//! Expiry: a hand that goes round all sessions and takes out those that fell silent.
//!
//! A timer wheel would cost four bytes a session at least. The hand costs nothing: it passes
//! records as they lie in memory, some thousands at a tick, so that it is round once in a
//! [`ROUND_SECONDS`]; of eight million that is about a thousandth of a core. It goes backwards:
//! whoever is put into a gap comes from behind it.

use crate::rights::{TorrentId, UserId};
use crate::session::Kind;
use crate::shard::Shard;
use crate::swarm::{Identity, Place};
use crate::users::Users;

/// In how many seconds the hand is round; a session is late by as much at most.
pub(crate) const ROUND_SECONDS: u64 = 120;
/// Records and torrents that it passes while it holds a lock.
pub(crate) const STEP: usize = 2048;

/// Where the hand is: the place behind the next to look at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hand {
    torrent: usize,
    /// None if the torrent was not begun.
    within: Option<(Kind, usize)>,
}

impl Shard {
    /// How much there is to pass in a round.
    pub(crate) fn round(&self) -> usize {
        self.sessions + self.torrents.rows.len()
    }

    /// Moves the hand on by a step, and says how many sessions it took out.
    pub(crate) fn expire(&mut self, at: u32, silent_since: u32, users: &Users) -> usize {
        self.packing.set_clock(at);
        let (mut passed, mut expired) = (0, 0);
        let budget = STEP.min(self.round());
        while passed < budget {
            passed += 1;
            if self.hand.within.is_none() {
                if self.hand.torrent == 0 {
                    self.hand.torrent = self.torrents.rows.len();
                }
                let Some(torrent) = self.hand.torrent.checked_sub(1) else { break };
                self.hand.torrent = torrent.min(self.torrents.rows.len().saturating_sub(1));
                self.hand.within = Some((Kind::Taking, usize::MAX));
            }
            let torrent = self.hand.torrent;
            if torrent >= self.torrents.rows.len() {
                self.hand.within = None;
                continue;
            }
            let (more_passed, more_expired) =
                self.expire_within(torrent, silent_since, budget - passed, users);
            passed += more_passed;
            expired += more_expired;
            let is_left = self.identity == Identity::PeerId
                && self.torrents.rows[torrent].id == 0
                && self.hand.within.is_none()
                && self.torrents.rows[torrent].swarm.len_all() == 0
                && !self.torrents.rows[torrent].is_dirty;
            if is_left {
                self.torrents.remove(torrent, false);
            }
        }
        expired
    }

    fn expire_within(
        &mut self,
        torrent: usize,
        silent_since: u32,
        budget: usize,
        users: &Users,
    ) -> (usize, usize) {
        let (mut passed, mut expired) = (0, 0);
        while let Some((kind, behind)) = self.hand.within {
            let behind = behind.min(self.torrents.rows[torrent].swarm.len(kind));
            let Some(at) = behind.checked_sub(1) else {
                let next = (kind == Kind::Taking).then_some((Kind::Giving, usize::MAX));
                self.hand.within = next;
                continue;
            };
            if passed >= budget {
                break;
            }
            passed += 1;
            let place = Place { kind, at: at as u32 };
            let record = self.torrents.rows[torrent].swarm.record(place);
            if self.packing.announced(&record) < silent_since {
                self.end(torrent, place, users);
                expired += 1;
            }
            self.hand.within = Some((kind, at));
        }
        (passed, expired)
    }

    /// Takes all sessions of a torrent out, from the last on.
    pub(crate) fn end_all(&mut self, torrent: usize, users: &Users) {
        for kind in [Kind::Taking, Kind::Giving] {
            while let Some(at) = self.torrents.rows[torrent].swarm.len(kind).checked_sub(1) {
                self.end(torrent, Place { kind, at: at as u32 }, users);
            }
        }
    }

    /// Takes a session out that said nothing of it.
    pub(crate) fn end(&mut self, torrent: usize, place: Place, users: &Users) {
        let row = &mut self.torrents.rows[torrent];
        let record = row.swarm.record(place);
        let session = self.packing.unpack(&record);
        row.swarm.remove(place, &mut self.packing);
        row.partial -= u32::from(record.is_partial());
        row.is_dirty = true;
        self.sessions -= 1;
        if self.identity == Identity::PeerId {
            return;
        }
        let (mut others, mut others_taking) = (0, 0);
        row.swarm.each_of_user(session.user, |other| {
            others += 1;
            others_taking += usize::from(other.kind == Kind::Taking);
        });
        if place.kind == Kind::Taking && others_taking == 0 {
            users.with(UserId(session.user), |user| user.taking = user.taking.saturating_sub(1));
        }
        self.pending.note_end(TorrentId(row.id), &session, others > 0);
    }
}
