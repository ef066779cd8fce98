//! A shard: the torrents whose names end alike, behind one lock.
//!
//! [`Shard::announce`] is the way of an announce: whose it is, may they, what it adds, what
//! stands then, whom it is told of. It ends in an [`Entry`], and [`Shard::write`] makes of an
//! entry what is in memory: the same after a restart as when it happened.

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use wire::tracker::{Announce, Counts, Event, InfoHash, Peers};

use crate::address::Addresses;
use crate::dice::Dice;
use crate::free::Free;
use crate::ledger::Entry;
use crate::ledger::accounting::{Before, Told, better, delta};
use crate::ledger::pending::Pending;
use crate::port_checks::Check;
use crate::refusal::Refusal;
use crate::rights::{TorrentId, UserId, Worth};
use crate::rules::{Mode, Rules};
use crate::session::{COUNTER_MAX, Kind, Packing, Session, USER, user};
use crate::swarm::choice::{Asker, Chooser};
use crate::swarm::{Identity, Place, user_hash};
use crate::torrents::Torrents;
use crate::users::{UserRow, Users};

/// One announce, with what was found out about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) announce: &'a Announce,
    pub(crate) addresses: Addresses,
    /// Whose it is, on a private tracker.
    pub(crate) user: Option<UserRow>,
    pub(crate) free: Option<&'a Free>,
    pub(crate) rules: &'a Rules,
    /// Unix seconds.
    pub(crate) at: u32,
    /// For how long a session is kept that says nothing.
    pub(crate) timeout_seconds: u32,
    /// Whether there is room for one more session.
    pub(crate) has_room: bool,
}

/// Torrents, their sessions, and what those add up to.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) torrents: Torrents,
    pub(crate) packing: Packing,
    pub(crate) pending: Pending,
    chooser: Chooser,
    /// Counts entries, so that each is credited once.
    pub(crate) sequence: u64,
    /// Up to which entry the checkpoint goes that this began with.
    pub(crate) checkpointed: u64,
    /// Sessions here.
    pub(crate) sessions: usize,
    pub(crate) hand: crate::expiry::Hand,
    /// By what sessions are told apart; the mode of a tracker never changes.
    pub(crate) identity: Identity,
    /// Whether the ledger is one of several trackers.
    pub(crate) keeps_points: bool,
}

/// What an announce comes to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// What happened; none if nothing did.
    pub(crate) entry: Option<Entry>,
    /// Why its client is sent away all the same.
    pub(crate) refusal: Option<Refusal>,
}

/// The asker's own sessions at the torrent.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// The one that announces.
    this: Option<Place>,
    all: usize,
    /// Others that take, and that have all.
    others_taking: usize,
    others_complete: usize,
}

impl Shard {
    pub(crate) fn new(salt: u64, identity: Identity, keeps_points: bool) -> Self {
        Self {
            torrents: Torrents::default(),
            packing: Packing::default(),
            pending: Pending::default(),
            chooser: Chooser::new(Dice::new(salt)),
            sequence: 0,
            checkpointed: 0,
            sessions: 0,
            hand: crate::expiry::Hand::default(),
            identity,
            keeps_points,
        }
    }

    /// The way of an announce.
    pub(crate) fn announce(
        &mut self,
        ask: &Ask<'_>,
        users: &Users,
        peers: &mut Peers,
    ) -> Result<Outcome, Refusal> {
        self.packing.set_clock(ask.at);
        let has_stopped = ask.announce.event == Event::Stopped;
        let Some(torrent) = self.torrent(ask)? else { return Ok(Outcome::nothing()) };
        if !has_stopped {
            self.begin_choice(torrent, ask);
        }
        let own = self.own(torrent, ask);
        // Where others may have known of it, the end says what was done last.
        if own.this.is_none() && has_stopped && !self.keeps_points {
            let counts = self.torrents.rows[torrent].counts();
            return Ok(Outcome { counts, ..Outcome::nothing() });
        }
        let before = own.this.map(|place| self.session(torrent, place));
        let session = told_session(ask, before.as_ref());
        let refusal = self.may_not(ask, torrent, &own, before.as_ref(), &session);
        if let Some(refusal) = refusal
            && (before.is_none() || !matches!(refusal, Refusal::MayNotLeech))
        {
            return Err(refusal);
        }
        let has_stopped = has_stopped || refusal.is_some();
        let mut entry = self.entry(ask, torrent, &own, before.as_ref(), session, has_stopped);
        let was_taking = own.this.is_some_and(|place| place.kind == Kind::Taking);
        if ask.user.is_some() {
            users.with(UserId(entry.session.user), |user| {
                user.weigh(&mut entry);
                user.note(&entry, true, was_taking, own.others_taking);
            });
        }
        self.sequence += 1;
        if !has_stopped {
            let asker = match ask.rules.mode {
                Mode::Private => Asker::User(entry.session.user),
                Mode::Open => Asker::At(entry.session.v4_bytes(), entry.session.v6_bytes()),
            };
            let swarm = &self.torrents.rows[torrent].swarm;
            self.chooser.tell(swarm, &self.packing, asker, own.this, peers);
        }
        self.write(torrent, own.this, &entry, true, true);
        let counts = self.torrents.rows[torrent].counts();
        Ok(Outcome { counts, entry: Some(entry), refusal })
    }

    /// Draws whom the announce is told of, and has them brought near while it is looked at.
    fn begin_choice(&mut self, torrent: usize, ask: &Ask<'_>) {
        let wanted = ask.announce.peers_wanted.unwrap_or(ask.rules.peers_default);
        let wanted = wanted.min(ask.rules.peers_max) as usize;
        let is_giving = ask.announce.left == 0 || ask.announce.event == Event::Paused;
        let kind = if is_giving { Kind::Giving } else { Kind::Taking };
        self.chooser.begin(&self.torrents.rows[torrent].swarm, kind, wanted);
    }

    /// Has brought near what says where the sessions and the credit of an announce are.
    pub(crate) fn fetch_slots(&self, announce: &Announce, user: UserId) {
        let Some(torrent) = self.torrents.find(&announce.info_hash) else { return };
        let row = &self.torrents.rows[torrent];
        row.swarm.fetch_slot(self.session_hash(announce, user));
        self.pending.fetch_slot(user.0, row.id);
    }

    /// The same of these themselves, once that has come.
    pub(crate) fn fetch_sessions(&self, announce: &Announce, user: UserId) {
        let Some(torrent) = self.torrents.find(&announce.info_hash) else { return };
        let row = &self.torrents.rows[torrent];
        row.swarm.fetch_sessions(self.session_hash(announce, user));
        self.pending.fetch_credit(user.0, row.id);
    }

    /// By what a large swarm finds the sessions of an announce.
    fn session_hash(&self, announce: &Announce, user: UserId) -> u32 {
        match self.identity {
            Identity::User => user_hash(user.0),
            Identity::PeerId => self.packing.hash(&announce.peer_id),
        }
    }

    /// The place of the torrent; none if there is none and it doesn't matter.
    fn torrent(&mut self, ask: &Ask<'_>) -> Result<Option<usize>, Refusal> {
        let info_hash = &ask.announce.info_hash;
        if let Some(place) = self.torrents.find(info_hash) {
            return Ok(Some(place));
        }
        match ask.rules.mode {
            _ if ask.announce.event == Event::Stopped => Ok(None),
            Mode::Open if ask.has_room => Ok(Some(self.torrents.find_or_make(info_hash))),
            Mode::Open => Err(Refusal::Full),
            Mode::Private if self.torrents.was_deleted(info_hash) => Err(Refusal::DeletedTorrent),
            Mode::Private => Err(Refusal::UnknownTorrent),
        }
    }

    fn own(&self, torrent: usize, ask: &Ask<'_>) -> Own {
        let swarm = &self.torrents.rows[torrent].swarm;
        let peer_id = &ask.announce.peer_id;
        let wanted = self.packing.wanted(peer_id);
        let mut own = Own::default();
        let Some(user) = &ask.user else {
            let hash = self.packing.hash(peer_id);
            let key = key_hash(ask.announce.key).to_le_bytes();
            own.this = swarm.find_client(&wanted, hash, &self.packing, |row| {
                let (v4, v6) = self.packing.addresses(row);
                (key != [0; 4] && row[USER] == key) || is_where(ask.addresses, v4, v6)
            });
            own.all = usize::from(own.this.is_some());
            return own;
        };
        swarm.each_of_user(user.id, |place| {
            own.all += 1;
            let record = swarm.record(place);
            if own.this.is_none() && self.packing.is(&record.0, &wanted) {
                own.this = Some(place);
            } else {
                let is_taking = place.kind == Kind::Taking;
                own.others_taking += usize::from(is_taking);
                own.others_complete += usize::from(!is_taking && !record.is_partial());
            }
        });
        own
    }

    fn session(&self, torrent: usize, place: Place) -> Session {
        self.packing.unpack(&self.torrents.rows[torrent].swarm.record(place))
    }

    /// Why not.
    fn may_not(
        &self,
        ask: &Ask<'_>,
        torrent: usize,
        own: &Own,
        before: Option<&Session>,
        session: &Session,
    ) -> Option<Refusal> {
        let is_stopping = ask.announce.event == Event::Stopped;
        let is_taking = session.kind() == Kind::Taking;
        if is_stopping {
            return None;
        }
        if let Some(user) = &ask.user
            && is_taking
            && !user.may_leech
        {
            return Some(Refusal::MayNotLeech);
        }
        if let Some(before) = before {
            return too_soon(ask, before);
        }
        if !ask.has_room {
            return Some(Refusal::Full);
        }
        let user = ask.user.as_ref()?;
        let limit = ask.rules.peers_of_user_max;
        let max = if user.peers_max == 0 { limit } else { user.peers_max.min(limit) };
        if own.all >= usize::from(max) {
            return Some(Refusal::TooManyPeers { max });
        }
        let made = self.torrents.rows[torrent].made;
        let waited = ask.at.saturating_sub(made);
        if is_taking && made != 0 && waited < user.wait_seconds {
            let minutes = (user.wait_seconds - waited).div_ceil(60);
            return Some(Refusal::Wait { minutes });
        }
        let max = user.torrents_max;
        if is_taking && max != 0 && own.others_taking == 0 && user.taking >= u32::from(max) {
            return Some(Refusal::TooManyTorrents { max });
        }
        None
    }

    /// What happened, at what bytes are worth; not weighed yet.
    fn entry(
        &self,
        ask: &Ask<'_>,
        torrent: usize,
        own: &Own,
        before: Option<&Session>,
        session: Session,
        has_stopped: bool,
    ) -> Entry {
        let row = &self.torrents.rows[torrent];
        let known = before.map(|before| Before {
            uploaded: before.uploaded,
            downloaded: before.downloaded,
            announced: before.announced,
            was_complete: before.is_complete,
        });
        let told = Told {
            uploaded: session.uploaded,
            downloaded: session.downloaded,
            at: ask.at,
            is_complete: session.is_complete,
            has_started: ask.announce.event == Event::Started,
        };
        let delta = delta(known, told, ask.timeout_seconds);
        let mut worth = ask.user.map_or(Worth::default(), |user| better(user.worth(), row.worth()));
        let mut has_token = false;
        if let Some((free, user)) = ask.free.zip(ask.user) {
            let (user, torrent) = (UserId(user.id), TorrentId(row.id));
            // Where neither side counts, no token is needed, and none is used.
            has_token = worth != Worth::NOTHING && free.has_token(user, torrent);
            if free.holds(user, torrent) {
                worth.downloaded = 0;
            }
        }
        Entry {
            torrent: TorrentId(row.id),
            info_hash: row.info_hash,
            has_started: told.has_started,
            has_stopped,
            is_active: !has_stopped || own.all > usize::from(own.this.is_some()),
            left: if own.others_complete > 0 { 0 } else { ask.announce.left },
            own_left: ask.announce.left,
            told_uploaded: delta.uploaded,
            told_downloaded: delta.downloaded,
            uploaded: delta.uploaded,
            downloaded: delta.downloaded,
            worth,
            has_token,
            elapsed_seconds: before.map_or(0, |before| ask.at.saturating_sub(before.announced)),
            seeded_seconds: delta.seeded_seconds,
            has_completed: delta.has_completed,
            rests: [0; 2],
            rule: delta.rule,
            session,
        }
    }

    /// Makes of an entry what is in memory, but for its user. `this` is where its session is, if
    /// it is there; `is_new` whether its sums are not counted yet, `is_owed` whether no batch
    /// has them.
    pub(crate) fn write(
        &mut self,
        torrent: usize,
        this: Option<Place>,
        entry: &Entry,
        is_new: bool,
        is_owed: bool,
    ) {
        self.put_session(torrent, this, &entry.session, entry.has_stopped);
        let row = &mut self.torrents.rows[torrent];
        row.announced = row.announced.max(entry.session.announced);
        row.is_dirty = true;
        if is_new {
            row.balance.note(entry.told_uploaded, entry.told_downloaded);
            row.completed += u32::from(entry.has_completed);
            row.completed_pending += u32::from(entry.has_completed && is_owed);
        }
        if self.identity == Identity::User && is_new && is_owed {
            self.pending.add(entry);
            if self.keeps_points {
                self.pending.note_point(entry);
            }
        }
    }

    /// Puts a session where it belongs, or takes it out.
    pub(crate) fn put_session(
        &mut self,
        torrent: usize,
        this: Option<Place>,
        session: &Session,
        has_stopped: bool,
    ) {
        let row = &mut self.torrents.rows[torrent];
        let was_partial = this.is_some_and(|place| row.swarm.record(place).is_partial());
        match (this, has_stopped) {
            (Some(place), true) => {
                row.swarm.remove(place, &mut self.packing);
                self.sessions -= 1;
            }
            (Some(place), false) => {
                row.swarm.update(place, session, &mut self.packing, self.identity);
            }
            (None, false) => {
                row.swarm.insert(session, &mut self.packing, self.identity);
                self.sessions += 1;
            }
            (None, true) => {}
        }
        let is_partial = !has_stopped && session.is_partial;
        row.partial = row.partial + u32::from(is_partial) - u32::from(was_partial);
    }

    /// Whether torrents are made by whoever comes.
    pub(crate) fn makes_torrents(&self) -> bool {
        self.identity == Identity::PeerId
    }

    /// Where a session that is read again is, and how many others of its user take.
    pub(crate) fn find_session(&self, torrent: usize, session: &Session) -> (Option<Place>, usize) {
        let swarm = &self.torrents.rows[torrent].swarm;
        let wanted = self.packing.wanted(&session.peer_id);
        if self.identity == Identity::PeerId {
            let hash = self.packing.hash(&session.peer_id);
            let is_it = |row: &[u8]| {
                let (v4, v6) = self.packing.addresses(row);
                row[USER] == session.user.to_le_bytes()
                    && is_where((session.v4, session.v6), v4, v6)
            };
            return (swarm.find_client(&wanted, hash, &self.packing, is_it), 0);
        }
        let (mut this, mut others_taking) = (None, 0);
        swarm.each_of_user(session.user, |place| {
            if this.is_none() && self.packing.is(&swarm.record(place).0, &wanted) {
                this = Some(place);
            } else {
                others_taking += usize::from(place.kind == Kind::Taking);
            }
        });
        (this, others_taking)
    }

    /// Takes note of whether others can connect to a session, if it is there still.
    pub(crate) fn note_reach(&mut self, check: &Check, is_connectable: bool) {
        let Some(torrent) = self.torrents.find(&check.info_hash) else { return };
        let wanted = self.packing.wanted(&check.peer_id);
        let swarm = &self.torrents.rows[torrent].swarm;
        let mut this = None;
        match self.identity {
            Identity::PeerId => {
                let hash = self.packing.hash(&check.peer_id);
                let is_it = |row: &[u8]| user(row) == check.user;
                this = swarm.find_client(&wanted, hash, &self.packing, is_it);
            }
            Identity::User => swarm.each_of_user(check.user, |place| {
                if self.packing.is(&swarm.record(place).0, &wanted) {
                    this = Some(place);
                }
            }),
        }
        let Some(place) = this else { return };
        let mut session = self.session(torrent, place);
        let is_there_still = match check.address {
            SocketAddr::V4(v4) => session.v4 == Some(v4),
            SocketAddr::V6(v6) => session.v6 == Some(v6),
        };
        if is_there_still {
            session.is_connectable = Some(is_connectable);
            self.put_session(torrent, this, &session, false);
            self.pending.note_reach(TorrentId(self.torrents.rows[torrent].id), &session);
        }
    }

    pub(crate) fn counts(&self, info_hash: &InfoHash) -> Option<Counts> {
        self.torrents.find(info_hash).map(|place| self.torrents.rows[place].counts())
    }
}

impl Outcome {
    fn nothing() -> Self {
        Self { counts: Counts::default(), entry: None, refusal: None }
    }
}

fn too_soon(ask: &Ask<'_>, before: &Session) -> Option<Refusal> {
    if ask.announce.event != Event::Update || ask.rules.gap_seconds == 0 {
        return None;
    }
    // Another socket of the same client announces a moment later, from another address.
    let (v4, v6) = ask.addresses;
    let is_elsewhere =
        v4.is_some_and(|v4| before.v4 != Some(v4)) || v6.is_some_and(|v6| before.v6 != Some(v6));
    let due = before.announced.saturating_add(ask.rules.gap_seconds);
    (!is_elsewhere && ask.at < due && ask.at >= before.announced)
        .then(|| Refusal::TooOften { seconds: due - ask.at })
}

/// The session as it is told now; addresses of the other family stay.
fn told_session(ask: &Ask<'_>, before: Option<&Session>) -> Session {
    let announce = ask.announce;
    let (v4, v6) = ask.addresses;
    let is_complete = announce.left == 0;
    Session {
        peer_id: announce.peer_id,
        user: ask.user.map_or_else(
            || before.map_or(key_hash(announce.key), |before| before.user),
            |user| user.id,
        ),
        v4: kept(v4, before.and_then(|before| before.v4), SocketAddrV4::port),
        v6: kept(v6, before.and_then(|before| before.v6), SocketAddrV6::port),
        uploaded: announce.uploaded.min(COUNTER_MAX),
        downloaded: announce.downloaded.min(COUNTER_MAX),
        announced: ask.at,
        is_complete,
        is_partial: !is_complete && announce.event == Event::Paused,
        is_connectable: before
            .filter(|before| is_at(before, ask.addresses))
            .and_then(|before| before.is_connectable),
    }
}

/// Where a session is, by where it says it is now and by where it was. A place where it can't be
/// reached doesn't take that of one where it can: the same client may come by several ways.
fn kept<A>(now: Option<A>, before: Option<A>, port: impl Fn(&A) -> u16) -> Option<A> {
    match (now, before) {
        (Some(now), Some(before)) if port(&now) == 0 && port(&before) != 0 => Some(before),
        (now, before) => now.or(before),
    }
}

/// Whether a session is where it was: what was found out of another place doesn't count.
fn is_at(before: &Session, (v4, v6): Addresses) -> bool {
    v4.is_none_or(|v4| before.v4 == Some(v4)) && v6.is_none_or(|v6| before.v6 == Some(v6))
}

/// What is kept of a client's `key`; 0 if it has none.
fn key_hash(key: Option<u64>) -> u32 {
    key.map_or(0, |key| ((key ^ (key >> 32)) as u32).max(1))
}

/// Whether an open tracker takes it for the same client: nothing that it shows contradicts.
fn is_where(addresses: Addresses, v4: Option<[u8; 6]>, v6: Option<[u8; 18]>) -> bool {
    let is_v4 = addresses.0.zip(v4).is_none_or(|(now, then)| now.ip().octets() == then[..4]);
    let is_v6 = addresses.1.zip(v6).is_none_or(|(now, then)| now.ip().octets() == then[..16]);
    is_v4 && is_v6
}
