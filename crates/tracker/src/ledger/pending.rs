//! Credits that no batch was made of yet, one for each user and torrent.
//!
//! Their number is bounded by the rules: past it a batch is made at once, and waits on disk.

use std::net::SocketAddr;

use wire::tracker::InfoHash;

use crate::credit::{Credit, LastSession};
use crate::index::Index;
use crate::ledger::Rule;
use crate::ledger::entry::Entry;
use crate::rights::{TorrentId, UserId, Worth};
use crate::session::Session;
use crate::users::reserve;

/// Credits whose room is kept though fewer came.
const ROOM_KEPT: usize = 16;

/// The credits of one shard.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    credits: Vec<Credit>,
    places: Index,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.credits.len()
    }

    /// Adds what happened.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let (user, torrent) = (entry.session.user, entry.torrent.0);
        if let Some(credit) = self.find(user, torrent) {
            add(credit, entry);
            return;
        }
        let mut credit = first(entry);
        add(&mut credit, entry);
        self.restore(credit);
    }

    /// The user's last session at a torrent is gone without a word.
    pub(crate) fn note_end(&mut self, torrent: TorrentId, session: &Session) {
        if let Some(credit) = self.find(session.user, torrent.0) {
            credit.is_active = false;
            return;
        }
        let entry = Entry {
            torrent,
            info_hash: InfoHash([0; 20]),
            session: session.clone(),
            has_stopped: false,
            is_active: false,
            left: 0,
            told_uploaded: 0,
            told_downloaded: 0,
            uploaded: 0,
            downloaded: 0,
            worth: Worth::default(),
            elapsed_seconds: 0,
            seeded_seconds: 0,
            has_completed: false,
            rests: [0; 2],
            rule: Rule::Counted,
        };
        self.restore(Credit { left: None, announced: session.announced, ..first(&entry) });
    }

    /// Whether others can connect to a session was found out.
    pub(crate) fn note_reach(&mut self, torrent: TorrentId, session: &Session) {
        if let Some(credit) = self.find(session.user, torrent.0)
            && credit.last.peer_id == session.peer_id
        {
            credit.last.is_connectable = session.is_connectable;
        }
    }

    pub(crate) fn all(&self) -> &[Credit] {
        &self.credits
    }

    /// Puts in what is not there, as what was kept over a restart.
    pub(crate) fn restore(&mut self, credit: Credit) {
        let hash = hash(credit.user.0, credit.torrent.0);
        reserve(&mut self.credits);
        self.credits.push(credit);
        let Self { credits, places } = self;
        places.insert(hash, credits.len() as u32 - 1, |at| {
            let credit = &credits[at as usize];
            self::hash(credit.user.0, credit.torrent.0)
        });
    }

    /// Moves all of them behind others; how many there were. Room for as many stays, since as many
    /// will come before the next batch.
    pub(crate) fn drain(&mut self, into: &mut Vec<Credit>) -> usize {
        let count = self.credits.len();
        self.places.clear();
        if self.credits.capacity() > 2 * count + ROOM_KEPT {
            into.append(&mut std::mem::take(&mut self.credits));
            self.places = Index::default();
        } else {
            into.append(&mut self.credits);
        }
        count
    }

    fn find(&mut self, user: u32, torrent: u32) -> Option<&mut Credit> {
        let Self { credits, places } = self;
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
        user: UserId(entry.session.user),
        torrent: entry.torrent,
        uploaded: 0,
        downloaded: 0,
        told_uploaded: 0,
        told_downloaded: 0,
        completed: 0,
        seeded_seconds: 0,
        announces: 0,
        left: Some(entry.left),
        is_active: entry.is_active,
        announced: 0,
        last: last(entry),
    }
}

fn add(credit: &mut Credit, entry: &Entry) {
    credit.uploaded = credit.uploaded.saturating_add(entry.uploaded);
    credit.downloaded = credit.downloaded.saturating_add(entry.downloaded);
    credit.told_uploaded = credit.told_uploaded.saturating_add(entry.told_uploaded);
    credit.told_downloaded = credit.told_downloaded.saturating_add(entry.told_downloaded);
    credit.completed += u32::from(entry.has_completed);
    credit.seeded_seconds = credit.seeded_seconds.saturating_add(entry.seeded_seconds);
    credit.announces += 1;
    credit.left = Some(entry.left);
    credit.is_active = entry.is_active;
    credit.announced = entry.session.announced;
    credit.last = last(entry);
}

fn last(entry: &Entry) -> LastSession {
    let session = &entry.session;
    let rate = |bytes: u64| match entry.elapsed_seconds {
        0 => 0,
        seconds => u32::try_from(bytes / u64::from(seconds)).unwrap_or(u32::MAX),
    };
    LastSession {
        peer_id: session.peer_id,
        v4: session.v4.map(SocketAddr::V4),
        v6: session.v6.map(SocketAddr::V6),
        uploaded: session.uploaded,
        downloaded: session.downloaded,
        upload_rate: rate(entry.told_uploaded),
        download_rate: rate(entry.told_downloaded),
        has_stopped: entry.has_stopped,
        is_connectable: session.is_connectable,
    }
}
