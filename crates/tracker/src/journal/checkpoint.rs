//! A checkpoint: all of memory, written while announces go on.
//!
//! A shard's credits and torrents are copied at one moment, under its lock, with the number of
//! its last entry. Its sessions follow in steps, each under the lock again: sessions that change
//! meanwhile are in the journal, which began before. A swarm is copied from its end: who is
//! put into a gap comes from what was copied already.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use wire::tracker::InfoHash;

use super::codec::{TORRENT_BYTES, TorrentHead, USER_BYTES, put_session, put_torrent, put_user};
use super::files;
use super::frame::{BODY_BYTES_MAX, Kind, put};
use super::log::create;
use super::spool::{put_credits, put_points};
use crate::session::Kind as PeerKind;
use crate::shard::Shard;
use crate::swarm::Place;
use crate::tracker::Tracker;
use crate::users::Users;

/// Sessions copied under one lock.
const STEP: usize = 2048;
/// Of a session, with both addresses.
const SESSION_BYTES_MAX: usize = 65;
const SESSIONS_IN_FRAME: usize = (BODY_BYTES_MAX - 20) / SESSION_BYTES_MAX;

/// Writes one, whose journal has begun already.
pub(crate) fn write(tracker: &Tracker, folder: &Path, generation: u64) -> io::Result<()> {
    let part = files::part(folder);
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    fs::create_dir(&part)?;
    for at in 0..tracker.shards.len() {
        write_shard(tracker, at, &files::shard(&part, at))?;
    }
    write_users(&tracker.users, &files::users(&part))?;
    // What users are owed is newer than the shards above: the announces between are in the journal
    // before this counts. Who counts one and appends it holds the shard's lock over both.
    tracker.shards.iter().for_each(|shard| drop(shard.lock()));
    tracker.sync_journal()?;
    tracker.settle()?;
    fs::rename(&part, files::checkpoint(folder, generation))?;
    fs::File::open(folder)?.sync_all()?;
    // The journal before is kept for who asks why; the checkpoint alone needs none of them.
    for old in files::numbers(folder, "journal-")? {
        if old + 1 < generation {
            fs::remove_file(files::journal(folder, old))?;
        }
    }
    for old in files::numbers(folder, "checkpoint-")? {
        if old < generation {
            fs::remove_dir_all(files::checkpoint(folder, old))?;
        }
    }
    Ok(())
}

fn write_shard(tracker: &Tracker, at: usize, path: &Path) -> io::Result<()> {
    let mut file = create(path)?;
    let mut out = Vec::new();
    let hashes = copy_heads(&tracker.shards[at].lock(), &mut out);
    for hash in hashes {
        let mut cursor = Some((PeerKind::Taking, usize::MAX));
        while cursor.is_some() {
            copy_sessions(&tracker.shards[at].lock(), &hash, &mut cursor, &mut out);
            if out.len() > 256 * 1024 {
                file.write_all(&out)?;
                out.clear();
            }
        }
    }
    put(&mut out, Kind::End, |_| {});
    file.write_all(&out)?;
    file.sync_data()
}

fn copy_heads(shard: &Shard, out: &mut Vec<u8>) -> Vec<InfoHash> {
    put(out, Kind::Shard, |out| out.extend_from_slice(&shard.sequence.to_le_bytes()));
    put_credits(out, shard.pending.all());
    put_points(out, shard.pending.points());
    for rows in shard.torrents.rows.chunks(BODY_BYTES_MAX / TORRENT_BYTES) {
        put(out, Kind::Torrents, |out| {
            for row in rows {
                let head = TorrentHead {
                    info_hash: row.info_hash,
                    id: row.id,
                    completed: row.completed,
                    completed_pending: row.completed_pending,
                    announced: row.announced,
                    made: row.made,
                    worth: row.worth(),
                    is_dirty: row.is_dirty,
                    balance: row.balance,
                    sessions: row.swarm.len_all() as u32,
                };
                put_torrent(out, &head);
            }
        });
    }
    shard.torrents.rows.iter().map(|row| row.info_hash).collect()
}

/// Copies a step of a swarm from the cursor on, which is none at its end.
fn copy_sessions(
    shard: &Shard,
    hash: &InfoHash,
    cursor: &mut Option<(PeerKind, usize)>,
    out: &mut Vec<u8>,
) {
    let Some(torrent) = shard.torrents.find(hash) else {
        *cursor = None;
        return;
    };
    let swarm = &shard.torrents.rows[torrent].swarm;
    let mut budget = STEP;
    while let Some((kind, behind)) = *cursor
        && budget > 0
    {
        let behind = behind.min(swarm.len(kind));
        let count = behind.min(SESSIONS_IN_FRAME).min(budget);
        if count == 0 {
            let next = (kind == PeerKind::Taking).then_some((PeerKind::Giving, usize::MAX));
            *cursor = next;
            continue;
        }
        put(out, Kind::Sessions, |out| {
            out.extend_from_slice(&hash.0);
            for at in behind - count..behind {
                let record = swarm.record(Place { kind, at: at as u32 });
                put_session(out, &shard.packing.unpack(&record));
            }
        });
        budget -= count;
        *cursor = Some((kind, behind - count));
    }
}

fn write_users(users: &Users, path: &Path) -> io::Result<()> {
    let mut file = create(path)?;
    let mut out = Vec::new();
    put(&mut out, Kind::Key, |out| out.extend_from_slice(&users.key()));
    for shard in 0..users.shards() {
        users.with_shard(shard, |rows| {
            for rows in rows.chunks(BODY_BYTES_MAX / USER_BYTES) {
                put(&mut out, Kind::Users, |out| rows.iter().for_each(|row| put_user(out, row)));
            }
        });
        file.write_all(&out)?;
        out.clear();
    }
    put(&mut out, Kind::End, |_| {});
    file.write_all(&out)?;
    file.sync_data()
}
