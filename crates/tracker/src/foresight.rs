//! What announces will look at is brought near before they are answered.
//!
//! An announce looks at a dozen places that lie all over memory, most of which say where the next
//! one is; waiting for one after the other is most of what it costs where there are millions of
//! sessions. Of announces that came together each is taken a step at a time: a place is asked for,
//! and while it comes the others ask for theirs.
//! Invariant: nothing that is said here changes an answer, nor waits for a shard that another
//! thread is at work in.

use std::sync::atomic::Ordering::Relaxed;

use prefetch_index::prefetch_index;
use wire::tracker::Announce;

use crate::rights::UserId;
use crate::shard::Shard;
use crate::tracker::Tracker;
use crate::users::PasskeyDigest;

/// Announces that are taken together. Of more the first places would be gone again from the
/// nearest cache when they are looked at.
const TOGETHER: usize = 32;
/// Below so many sessions all of them are near anyway.
const SESSIONS_MIN: usize = 20_000;
/// Bytes that come at once.
const LINE_BYTES: usize = 64;
/// Lines of one block that are asked for; behind them the processor sees what is going on.
const LINES_MAX: usize = 16;

impl Tracker {
    /// Brings near what announces will look at that are answered next. To be called where several
    /// came together; what each is answered is the same without.
    pub fn foresee(&self, announces: &[Announce]) {
        if self.sessions.load(Relaxed) < SESSIONS_MIN {
            return;
        }
        for together in announces.chunks(TOGETHER).filter(|some| some.len() > 1) {
            self.foresee_some(together);
        }
    }

    fn foresee_some(&self, announces: &[Announce]) {
        let mut digests = [PasskeyDigest::default(); TOGETHER];
        let mut users = [UserId(0); TOGETHER];
        for (announce, digest) in announces.iter().zip(&mut digests) {
            if let Some(passkey) = &announce.passkey {
                *digest = self.users.digest(passkey);
                self.users.fetch_door_slot(digest);
            }
            self.at(announce, |shard| shard.torrents.fetch_slot(&announce.info_hash));
        }
        for (announce, digest) in announces.iter().zip(&digests) {
            if announce.passkey.is_some() {
                self.users.fetch_door(digest);
            }
            self.at(announce, |shard| shard.torrents.fetch_row(&announce.info_hash));
        }
        for ((announce, digest), user) in announces.iter().zip(&digests).zip(&mut users) {
            if announce.passkey.is_some() {
                *user = self.users.by_digest(digest).unwrap_or(*user);
                self.users.fetch_slot(*user);
            }
            self.at(announce, |shard| shard.fetch_slots(announce, *user));
        }
        for (announce, user) in announces.iter().zip(users) {
            if announce.passkey.is_some() {
                self.users.fetch_row(user);
            }
            self.at(announce, |shard| shard.fetch_sessions(announce, user));
        }
    }

    /// In the shard of an announce, if nobody is at work there.
    fn at(&self, announce: &Announce, look: impl FnOnce(&Shard)) {
        if let Some(shard) = self.shard(&announce.info_hash).try_lock() {
            look(&shard);
        }
    }
}

/// Has a row brought near; nobody waits for it, and there need be none.
pub(crate) fn fetch<T>(rows: &[T], at: usize) {
    prefetch_index(rows, at);
}

/// The same of a row of which the last byte lies in another line than the first.
pub(crate) fn fetch_whole<T>(rows: &[T], at: usize) {
    fetch(rows, at);
    fetch(rows, at + 1);
}

/// The same of so many bytes, fewer than a line has.
pub(crate) fn fetch_bytes(block: &[u8], at: usize, bytes: usize) {
    fetch(block, at);
    let is_cut = (block.as_ptr().addr() + at) % LINE_BYTES + bytes > LINE_BYTES;
    if is_cut {
        fetch(block, at + bytes);
    }
}

/// The same of the first lines of a block.
pub(crate) fn fetch_all(block: &[u8]) {
    for line in 0..block.len().div_ceil(LINE_BYTES).min(LINES_MAX) {
        fetch(block, line * LINE_BYTES);
    }
}
