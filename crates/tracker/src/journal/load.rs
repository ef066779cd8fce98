//! What a start finds in the state folder.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::codec::{
    Bytes, TorrentHead, USER_BYTES, take_credit, take_other, take_point, take_session,
    take_torrent, take_user,
};
use super::files;
use super::frame::{Frames, Kind};
use super::log;
use super::spool::Sealed;
use crate::ledger::Entry;
use crate::rights::{TorrentId, UserId};
use crate::session::{Kind as PeerKind, Session};
use crate::shard::Shard;
use crate::tracker::{SHARDS, Tracker, shard_of};
use crate::users::Users;

/// Of a session in a checkpoint, with no address.
const SESSION_BYTES_MIN: usize = 41;

/// Changes of users that are made together: some hundred in each of their shards.
const CHANGES: usize = 8192;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Sessions.
    pub sessions: usize,
    /// Torrents.
    pub torrents: usize,
    /// Users.
    pub users: usize,
    /// Entries of the journal since the checkpoint.
    pub entries: u64,
    /// Bytes that were no good records, and were left out.
    pub damaged_bytes: u64,
}

/// The users of the newest checkpoint, under the key that their passkeys were hashed with.
pub(crate) fn users(folder: &Path, loaded: &mut Loaded) -> io::Result<Users> {
    let Some(newest) = files::numbers(folder, "checkpoint-")?.pop() else {
        return Ok(Users::default());
    };
    let Some(file) = open(&files::users(&files::checkpoint(folder, newest)))? else {
        return Ok(Users::default());
    };
    let count = usize::try_from(file.metadata()?.len()).unwrap_or(0) / USER_BYTES;
    let mut frames = Frames::new(file);
    let mut users = None;
    while let Some((kind, body)) = frames.next()? {
        let mut bytes = Bytes(body);
        match kind {
            Kind::Key => {
                users = bytes.array().map(Users::with_key);
                users.iter().for_each(|users| users.reserve(count));
            }
            Kind::Users => {
                // Without the key no passkey would be known again.
                let Some(users) = &users else { continue };
                std::iter::from_fn(|| take_user(&mut bytes)).for_each(|row| users.put_row(row));
            }
            _ => {}
        }
    }
    loaded.damaged_bytes += frames.damaged_bytes;
    Ok(users.unwrap_or_default())
}

/// Fills a tracker from the newest checkpoint and the journals since. Says the number that the
/// next journal has.
pub(crate) fn fill(
    tracker: &Tracker,
    folder: &Path,
    sealed: &Sealed,
    loaded: &mut Loaded,
) -> io::Result<u64> {
    let newest = files::numbers(folder, "checkpoint-")?.pop();
    if let Some(newest) = newest {
        loaded.damaged_bytes += fill_shards(tracker, &files::checkpoint(folder, newest), sealed)?;
    }
    let journals = files::numbers(folder, "journal-")?;
    for generation in journals.iter().filter(|journal| **journal >= newest.unwrap_or(0)) {
        replay(tracker, &files::journal(folder, *generation), sealed, loaded)?;
    }
    let _ = fs::remove_dir_all(files::part(folder));
    for (at, shard) in tracker.shards.iter().enumerate() {
        let mut shard = shard.lock();
        shard.sequence = shard.sequence.max(sealed[at]);
        loaded.torrents += shard.torrents.rows.len();
        loaded.sessions += shard.sessions;
        tracker.sessions.fetch_add(shard.sessions, Relaxed);
        tracker.pending.fetch_add(shard.pending.len(), Relaxed);
        let mut numbers = tracker.numbers.lock();
        for row in shard.torrents.rows.iter().filter(|row| row.id != 0) {
            numbers.insert(TorrentId(row.id), at);
        }
    }
    loaded.users = tracker.users.len();
    Ok(journals.last().copied().max(newest).unwrap_or(0) + 1)
}

/// All shards, by as many threads as there are cores.
fn fill_shards(tracker: &Tracker, checkpoint: &Path, sealed: &Sealed) -> io::Result<u64> {
    let next = AtomicUsize::new(0);
    let damaged = AtomicU64::new(0);
    let work = || -> io::Result<()> {
        loop {
            let at = next.fetch_add(1, Relaxed);
            if at >= SHARDS {
                return Ok(());
            }
            // One that is missing was never there, or is damage of all its bytes.
            let Some(file) = open(&files::shard(checkpoint, at))? else {
                damaged.fetch_add(1, Relaxed);
                continue;
            };
            let bad = fill_shard(tracker, at, file, sealed[at])?;
            damaged.fetch_add(bad, Relaxed);
        }
    };
    let threads = threads();
    thread::scope(|scope| {
        let hands: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for hand in hands {
            hand.join().unwrap_or_else(|_| Err(io::Error::other("loading a shard failed")))?;
        }
        Ok(damaged.load(Relaxed))
    })
}

fn fill_shard(tracker: &Tracker, at: usize, file: File, sealed: u64) -> io::Result<u64> {
    let mut shard = tracker.shards[at].lock();
    // Whatever a head says, no more sessions follow than there are bytes.
    let room_max = usize::try_from(file.metadata()?.len()).unwrap_or(0) / SESSION_BYTES_MIN;
    let mut frames = Frames::new(file);
    let mut is_whole = false;
    let mut taking = Vec::with_capacity(CHANGES);
    while let Some((kind, body)) = frames.next()? {
        let mut bytes = Bytes(body);
        match kind {
            Kind::Shard => {
                shard.sequence = bytes.u64().unwrap_or(0);
                shard.checkpointed = shard.sequence;
            }
            Kind::Credits if shard.sequence > sealed => {
                std::iter::from_fn(|| take_credit(&mut bytes))
                    .for_each(|credit| shard.pending.restore(credit));
            }
            Kind::Others if shard.sequence > sealed => {
                while let Some((user, torrent, other)) = take_other(&mut bytes) {
                    shard.pending.restore_other(user, torrent, other);
                }
            }
            Kind::Points if shard.sequence > sealed => {
                std::iter::from_fn(|| take_point(&mut bytes))
                    .for_each(|point| shard.pending.restore_point(point));
            }
            Kind::Torrents => {
                let is_owed = shard.sequence > sealed;
                std::iter::from_fn(|| take_torrent(&mut bytes))
                    .for_each(|head| put_head(&mut shard, &head, is_owed, room_max));
            }
            Kind::Sessions => {
                let Some(hash) = bytes.hash() else { continue };
                let torrent = shard.torrents.find_or_make(&hash);
                while let Some(session) = take_session(&mut bytes) {
                    put_session(&mut shard, torrent, &session, &mut taking);
                }
                if taking.len() >= CHANGES {
                    tracker.users.change_taking(&mut taking);
                }
            }
            Kind::End => is_whole = true,
            _ => {}
        }
    }
    tracker.users.change_taking(&mut taking);
    Ok(frames.damaged_bytes + u64::from(!is_whole))
}

fn put_head(shard: &mut Shard, head: &TorrentHead, is_owed: bool, room_max: usize) {
    let torrent = shard.torrents.find_or_make(&head.info_hash);
    let row = &mut shard.torrents.rows[torrent];
    row.id = head.id;
    row.completed = head.completed;
    row.completed_pending = if is_owed { head.completed_pending } else { 0 };
    row.announced = head.announced;
    row.made = head.made;
    row.worth_uploaded = head.worth.uploaded;
    row.worth_downloaded = head.worth.downloaded;
    row.is_dirty = head.is_dirty;
    row.balance = head.balance;
    row.swarm.reserve((head.sessions as usize).min(room_max), shard.identity);
}

/// A session of a checkpoint, which may be there twice if it changed while that was written.
/// Whether its user takes one torrent more by it is told in `taking`.
fn put_session(
    shard: &mut Shard,
    torrent: usize,
    session: &Session,
    taking: &mut Vec<(UserId, bool)>,
) {
    let (this, others_taking) = shard.find_session(torrent, session);
    let was_taking = this.is_some_and(|place| place.kind == PeerKind::Taking);
    shard.put_session(torrent, this, session, false);
    let is_taking = session.kind() == PeerKind::Taking;
    if others_taking == 0 && is_taking != was_taking {
        taking.push((UserId(session.user), is_taking));
    }
}

/// Replays a journal: each shard's entries in their order, by as many threads as there are
/// cores. Each thread reads all of it, which costs less than to hand entries over.
fn replay(tracker: &Tracker, path: &Path, sealed: &Sealed, loaded: &mut Loaded) -> io::Result<()> {
    // What a checkpoint has of a shard goes up to the number that it had then.
    let known: Vec<u64> = tracker.shards.iter().map(|shard| shard.lock().checkpointed).collect();
    let threads = threads();
    let work = |own: usize| -> io::Result<(u64, u64)> {
        let Some(file) = open(path)? else { return Ok((0, 0)) };
        let mut frames = Frames::new(file);
        let mut entries = 0;
        while let Some((kind, body)) = frames.next()? {
            let entry = (kind == Kind::Entry).then(|| log::read(body)).flatten();
            let Some((at, sequence, entry)) = entry else { continue };
            let at = usize::from(at);
            if at != shard_of(&entry.info_hash) {
                continue;
            }
            entries += 1;
            let user = UserId(entry.session.user);
            // What a user is still owed is what their last entry says, in whichever shard.
            if user.0 as usize % threads == own {
                tracker.users.expect(user);
                tracker.users.with(user, |user| {
                    [user.rest_uploaded, user.rest_downloaded] = entry.rests;
                });
            }
            if at % threads == own {
                tracker.users.expect(user);
                let mut shard = tracker.shards[at].lock();
                let is_new = sequence > known[at];
                replay_entry(&mut shard, &entry, is_new, sequence > sealed[at], &tracker.users);
                shard.sequence = shard.sequence.max(sequence);
            }
        }
        Ok((entries, frames.damaged_bytes))
    };
    let work = &work;
    let (entries, damaged_bytes) = thread::scope(|scope| {
        let hands: Vec<_> = (0..threads).map(|own| scope.spawn(move || work(own))).collect();
        let mut seen = (0, 0);
        for hand in hands {
            seen = hand.join().unwrap_or_else(|_| Err(io::Error::other("replaying failed")))?;
        }
        io::Result::Ok(seen)
    })?;
    loaded.entries += entries;
    loaded.damaged_bytes += damaged_bytes;
    Ok(())
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(8)
}

fn replay_entry(shard: &mut Shard, entry: &Entry, is_new: bool, is_owed: bool, users: &Users) {
    let torrent = shard.torrents.find_or_make(&entry.info_hash);
    let row = &mut shard.torrents.rows[torrent];
    if row.id == 0 {
        row.id = entry.torrent.0;
    }
    let (this, others_taking) = shard.find_session(torrent, &entry.session);
    let was_taking = this.is_some_and(|place| place.kind == PeerKind::Taking);
    users.with(UserId(entry.session.user), |user| {
        user.note(entry, is_new, was_taking, others_taking);
    });
    shard.write(torrent, this, entry, is_new, is_owed);
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}
