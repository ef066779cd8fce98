//! Credits that no batch was made of yet, one for each user and torrent.
//!
//! Their number, and that of the sessions beside the last of each, is bounded by the rules: past
//! it a batch is made at once, and waits on disk.

use std::net::SocketAddr;

use wire::tracker::{InfoHash, PeerId};

use crate::credit::{Batch, Credit, LastSession, Point};
use crate::index::Index;
use crate::ledger::Rule;
use crate::ledger::entry::Entry;
use crate::rights::{TorrentId, UserId, Worth};
use crate::session::Session;
use crate::users::reserve;

/// Credits whose room is kept though fewer came.
const ROOM_KEPT: usize = 16;
/// Sessions of one credit beside the last. Of who has more at one torrent within one batch, those
/// that announced longest ago are told with the next.
const OTHERS_MAX: usize = 32;

/// The credits of one shard.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    credits: Vec<Credit>,
    /// Sessions beside the last of each.
    others: usize,
    places: Index,
    /// The announces behind them, in a ledger of several trackers.
    points: Vec<Point>,
}

impl Pending {
    /// Credits, sessions beside the last of each, and points.
    pub(crate) fn len(&self) -> usize {
        self.credits.len() + self.others + self.points.len()
    }

    /// Adds what happened.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let (user, torrent) = (entry.session.user, entry.torrent.0);
        if let Some(credit) = self.find(user, torrent) {
            let before = credit.others.len();
            add(credit, entry);
            let after = credit.others.len();
            self.others = self.others + after - before;
            return;
        }
        let mut credit = first(entry);
        add(&mut credit, entry);
        self.restore(credit);
    }

    /// Keeps an announce as what several trackers' ledger is made of.
    pub(crate) fn note_point(&mut self, entry: &Entry) {
        self.restore_point(Point {
            has_started: entry.has_started,
            has_stopped: entry.has_stopped,
            has_token: entry.has_token,
            ..Point::of(&entry.session, entry.torrent, entry.worth)
        });
    }

    /// Keeps where a session stands that was announced before there were several, with a credit
    /// that says nothing: what others wrote of it meanwhile may add to it.
    pub(crate) fn note_standing(&mut self, torrent: u32, session: &Session) {
        let (user, torrent) = (UserId(session.user), TorrentId(torrent));
        let standing = LastSession { is_active: true, ..silent(session) };
        match self.find(user.0, torrent.0) {
            Some(credit) if credit.others.len() < OTHERS_MAX => {
                credit.others.push(standing);
                self.others += 1;
            }
            Some(_) => {}
            None => self.restore(Credit {
                announced: session.announced,
                ..Credit::empty(user, torrent, standing)
            }),
        }
        self.restore_point(Point::of(session, torrent, Worth::default()));
    }

    /// A session of a user at a torrent is gone without a word; others of theirs may go on.
    pub(crate) fn note_end(&mut self, torrent: TorrentId, session: &Session, others_go_on: bool) {
        if let Some(credit) = self.find(session.user, torrent.0) {
            credit.is_active = others_go_on;
            if let Some(known) = of_client(credit, &session.peer_id) {
                known.is_active = false;
            } else if credit.others.len() < OTHERS_MAX {
                credit.others.insert(0, silent(session));
                self.others += 1;
            }
            return;
        }
        let entry = Entry {
            torrent,
            info_hash: InfoHash([0; 20]),
            session: session.clone(),
            has_started: false,
            has_stopped: false,
            is_active: others_go_on,
            left: 0,
            own_left: 0,
            told_uploaded: 0,
            told_downloaded: 0,
            uploaded: 0,
            downloaded: 0,
            worth: Worth::default(),
            has_token: false,
            elapsed_seconds: 0,
            seeded_seconds: 0,
            has_completed: false,
            rests: [0; 2],
            rule: Rule::Counted,
        };
        let (left, announced, last) = (None, session.announced, silent(session));
        self.restore(Credit { left, announced, last, ..first(&entry) });
    }

    /// Whether others can connect to a session was found out.
    pub(crate) fn note_reach(&mut self, torrent: TorrentId, session: &Session) {
        if let Some(credit) = self.find(session.user, torrent.0)
            && let Some(known) = of_client(credit, &session.peer_id)
        {
            known.is_connectable = session.is_connectable;
        }
    }

    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    pub(crate) fn restore_point(&mut self, point: Point) {
        reserve(&mut self.points);
        self.points.push(point);
    }

    pub(crate) fn all(&self) -> &[Credit] {
        &self.credits
    }

    /// Puts in what is not there, as what was kept over a restart.
    pub(crate) fn restore(&mut self, credit: Credit) {
        let hash = hash(credit.user.0, credit.torrent.0);
        reserve(&mut self.credits);
        self.others += credit.others.len();
        self.credits.push(credit);
        let Self { credits, places, .. } = self;
        places.insert(hash, credits.len() as u32 - 1, |at| {
            let credit = &credits[at as usize];
            self::hash(credit.user.0, credit.torrent.0)
        });
    }

    /// Puts a session beside the last of its credit, as what was kept over a restart.
    pub(crate) fn restore_other(&mut self, user: UserId, torrent: TorrentId, other: LastSession) {
        if let Some(credit) = self.find(user.0, torrent.0) {
            credit.others.push(other);
            self.others += 1;
        }
    }

    /// Moves all of them behind those of a batch; how many there were, as [`Pending::len`] counts. Room for
    /// as many stays, since as many will come before the next batch.
    pub(crate) fn drain(&mut self, batch: &mut Batch) -> usize {
        let into = &mut batch.credits;
        let count = self.credits.len();
        let all = count + std::mem::take(&mut self.others) + self.points.len();
        batch.points.append(&mut self.points);
        self.places.clear();
        if self.credits.capacity() > 2 * count + ROOM_KEPT {
            into.append(&mut std::mem::take(&mut self.credits));
            self.places = Index::default();
        } else {
            into.append(&mut self.credits);
        }
        all
    }

    /// Has brought near what says where a credit is.
    pub(crate) fn fetch_slot(&self, user: u32, torrent: u32) {
        self.places.fetch(hash(user, torrent));
    }

    /// The same of the credit, once that has come.
    pub(crate) fn fetch_credit(&self, user: u32, torrent: u32) {
        self.places.fetch_row(hash(user, torrent), &self.credits);
    }

    fn find(&mut self, user: u32, torrent: u32) -> Option<&mut Credit> {
        let Self { credits, places, .. } = self;
        let at = places.find(hash(user, torrent), |at| {
            let credit = &credits[at as usize];
            (credit.user.0, credit.torrent.0) == (user, torrent)
        })?;
        credits.get_mut(at as usize)
    }
}

/// The numbers are the site's: nobody chooses them so that they collide.
fn hash(user: u32, torrent: u32) -> u32 {
    let both = u64::from(user) << 32 | u64::from(torrent);
    let mixed = (both ^ both >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ (mixed >> 20) as u32
}

fn first(entry: &Entry) -> Credit {
    Credit {
        left: Some(entry.left),
        is_active: entry.is_active,
        ..Credit::empty(UserId(entry.session.user), entry.torrent, told(entry))
    }
}

/// The session of a client, where it is known.
fn of_client<'a>(credit: &'a mut Credit, peer_id: &PeerId) -> Option<&'a mut LastSession> {
    let Credit { last, others, .. } = credit;
    std::iter::once(last).chain(others).find(|known| known.peer_id == *peer_id)
}

fn add(credit: &mut Credit, entry: &Entry) {
    credit.uploaded = credit.uploaded.saturating_add(entry.uploaded);
    credit.downloaded = credit.downloaded.saturating_add(entry.downloaded);
    credit.told_uploaded = credit.told_uploaded.saturating_add(entry.told_uploaded);
    credit.told_downloaded = credit.told_downloaded.saturating_add(entry.told_downloaded);
    if entry.has_token {
        credit.token_downloaded = credit.token_downloaded.saturating_add(entry.told_downloaded);
        credit.has_ended_token |= entry.has_completed;
    }
    credit.completed += u32::from(entry.has_completed);
    credit.seeded_seconds = credit.seeded_seconds.saturating_add(entry.seeded_seconds);
    credit.announces += 1;
    credit.left = Some(entry.left);
    credit.is_active = entry.is_active;
    credit.announced = entry.session.announced;
    tell(credit, entry);
}

/// The session of an entry becomes the last; one that was it until now stands beside it.
fn tell(credit: &mut Credit, entry: &Entry) {
    let Credit { last, others, .. } = credit;
    let mut session = told(entry);
    if last.peer_id != session.peer_id {
        let place = others.iter().position(|other| other.peer_id == session.peer_id);
        let known = place.map(|place| others.remove(place));
        let before = std::mem::replace(last, known.unwrap_or_else(|| session.clone()));
        if others.len() == OTHERS_MAX {
            let oldest = others.remove(0);
            add_shares(last, &oldest);
        }
        others.push(before);
    }
    session.credited_uploaded = entry.uploaded;
    session.credited_downloaded = entry.downloaded;
    session.announces = 1;
    add_shares(&mut session, last);
    *last = session;
}

fn add_shares(session: &mut LastSession, more: &LastSession) {
    session.credited_uploaded = session.credited_uploaded.saturating_add(more.credited_uploaded);
    session.credited_downloaded =
        session.credited_downloaded.saturating_add(more.credited_downloaded);
    session.announces += more.announces;
}

/// A session that fell silent.
fn silent(session: &Session) -> LastSession {
    LastSession {
        peer_id: session.peer_id,
        v4: session.v4.map(SocketAddr::V4),
        v6: session.v6.map(SocketAddr::V6),
        uploaded: session.uploaded,
        downloaded: session.downloaded,
        upload_rate: 0,
        download_rate: 0,
        has_stopped: false,
        is_active: false,
        is_connectable: session.is_connectable,
        left: None,
        announced: session.announced,
        credited_uploaded: 0,
        credited_downloaded: 0,
        announces: 0,
    }
}

/// The session of an entry, with no share of the credit yet.
fn told(entry: &Entry) -> LastSession {
    let session = &entry.session;
    let rate = |bytes: u64| match entry.elapsed_seconds {
        0 => 0,
        seconds => u32::try_from(bytes / u64::from(seconds)).unwrap_or(u32::MAX),
    };
    LastSession {
        upload_rate: rate(entry.told_uploaded),
        download_rate: rate(entry.told_downloaded),
        has_stopped: entry.has_stopped,
        is_active: !entry.has_stopped,
        left: Some(entry.own_left),
        ..silent(session)
    }
}
