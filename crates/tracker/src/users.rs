//! Users: who has which passkey, and what they may.
//!
//! A passkey itself is not kept. It is hashed with a key of this process, and so much of the
//! hash is compared that who guesses learns nothing by how long it takes.
//! Two tables, each in shards: doors, by passkey; users, by number. No lock of one is taken
//! while one of the other is held.

use std::hash::{BuildHasher, RandomState};

use parking_lot::Mutex;
use sha1::{Digest as _, Sha1};
use sha2::{Digest as _, Sha256};
use wire::tracker::{InfoHash, Passkey};

use crate::index::Index;
use crate::ledger::Entry;
use crate::ledger::accounting::weigh;
use crate::rights::{User, UserId, Worth};
use crate::rules::XbtKey;
use crate::session::Kind;

const SHARDS: usize = 32;
/// What is kept of a passkey.
pub(crate) type PasskeyDigest = [u8; 16];

/// One user, as kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserRow {
    pub(crate) id: u32,
    pub(crate) digest: PasskeyDigest,
    pub(crate) passkey_version: u32,
    pub(crate) wait_seconds: u32,
    /// Torrents that they take just now.
    pub(crate) taking: u32,
    pub(crate) peers_max: u16,
    pub(crate) torrents_max: u16,
    pub(crate) worth_uploaded: u16,
    pub(crate) worth_downloaded: u16,
    /// Hundredths of bytes that are not credited yet.
    pub(crate) rest_uploaded: u8,
    pub(crate) rest_downloaded: u8,
    pub(crate) may_leech: bool,
    /// In which loading it was seen last.
    pub(crate) generation: u8,
    /// See [`crate::signals`].
    pub(crate) steps: crate::signals::Steps,
}

impl UserRow {
    pub(crate) fn worth(&self) -> Worth {
        Worth { uploaded: self.worth_uploaded, downloaded: self.worth_downloaded }
    }

    /// What an entry's bytes are worth is credited, and what makes no whole byte stays.
    pub(crate) fn weigh(&mut self, entry: &mut Entry) {
        let worth = entry.worth;
        entry.uploaded = weigh(entry.told_uploaded, worth.uploaded, &mut self.rest_uploaded);
        entry.downloaded =
            weigh(entry.told_downloaded, worth.downloaded, &mut self.rest_downloaded);
        entry.rests = [self.rest_uploaded, self.rest_downloaded];
    }

    /// Takes note of an entry: how many torrents they take now, and by which steps they sent.
    pub(crate) fn note(
        &mut self,
        entry: &Entry,
        is_new: bool,
        was_taking: bool,
        others_taking: usize,
    ) {
        if is_new {
            self.steps.note(entry.told_uploaded);
        }
        let is_taking = !entry.has_stopped && entry.session.kind() == Kind::Taking;
        if others_taking == 0 {
            self.taking =
                (self.taking + u32::from(is_taking)).saturating_sub(u32::from(was_taking));
        }
    }
}

#[derive(Debug, Default)]
struct UserShard {
    rows: Vec<UserRow>,
    index: Index,
}

#[derive(Debug, Default)]
struct DoorShard {
    rows: Vec<(PasskeyDigest, u32)>,
    index: Index,
}

/// All users.
#[derive(Debug)]
pub(crate) struct Users {
    shards: Vec<Mutex<UserShard>>,
    doors: Vec<Mutex<DoorShard>>,
    /// Of the digests.
    key: [u8; 16],
}

impl Default for Users {
    fn default() -> Self {
        let mut key = [0; 16];
        for half in key.chunks_exact_mut(8) {
            half.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        }
        Self::with_key(key)
    }
}

impl Users {
    pub(crate) fn with_key(key: [u8; 16]) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            doors: (0..SHARDS).map(|_| Mutex::default()).collect(),
            key,
        }
    }

    pub(crate) fn key(&self) -> [u8; 16] {
        self.key
    }

    /// Who has a passkey: by its digest, or computed as XBT does.
    pub(crate) fn by_passkey(
        &self,
        passkey: &Passkey,
        info_hash: &InfoHash,
        xbt_key: Option<&XbtKey>,
    ) -> Option<UserId> {
        let computed = xbt_key.and_then(|key| self.by_computed(passkey.expose(), info_hash, key));
        computed.or_else(|| self.by_digest(&self.digest(passkey)))
    }

    /// Has brought near what says where a user's door is.
    pub(crate) fn fetch_door_slot(&self, digest: &PasskeyDigest) {
        self.door(digest).lock().index.fetch(door_hash(digest));
    }

    /// The same of the door, once that has come.
    pub(crate) fn fetch_door(&self, digest: &PasskeyDigest) {
        let door = self.door(digest).lock();
        door.index.fetch_row(door_hash(digest), &door.rows);
    }

    /// Has brought near what says where a user is.
    pub(crate) fn fetch_slot(&self, id: UserId) {
        self.shards[id.0 as usize % SHARDS].lock().index.fetch(user_hash(id.0));
    }

    /// The same of the user, once that has come.
    pub(crate) fn fetch_row(&self, id: UserId) {
        let shard = self.shards[id.0 as usize % SHARDS].lock();
        shard.index.fetch_row(user_hash(id.0), &shard.rows);
    }

    fn door(&self, digest: &PasskeyDigest) -> &Mutex<DoorShard> {
        &self.doors[usize::from(digest[4]) % SHARDS]
    }

    pub(crate) fn by_digest(&self, digest: &PasskeyDigest) -> Option<UserId> {
        let door = self.door(digest).lock();
        let found = door
            .index
            .find(door_hash(digest), |place| is_same(&door.rows[place as usize].0, digest))?;
        Some(UserId(door.rows[found as usize].1))
    }

    fn by_computed(&self, passkey: &[u8], info_hash: &InfoHash, key: &XbtKey) -> Option<UserId> {
        let bytes = unhex(passkey)?;
        let id = UserId(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let version = self.with(id, |user| user.passkey_version)?;
        let mut hash = Sha1::new();
        hash.update(format!("{} {version} {} ", key.private_key, id.0));
        hash.update(info_hash.0);
        is_same(&hash.finalize()[..12], &bytes[4..]).then_some(id)
    }

    pub(crate) fn digest(&self, passkey: &Passkey) -> PasskeyDigest {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(passkey.expose());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.finalize()[..16]);
        digest
    }

    /// Looks at a user, or changes what is kept of them.
    pub(crate) fn with<R>(&self, id: UserId, act: impl FnOnce(&mut UserRow) -> R) -> Option<R> {
        let mut shard = self.shards[id.0 as usize % SHARDS].lock();
        let place = shard.place(id.0)?;
        Some(act(&mut shard.rows[place]))
    }

    /// Makes room for so many users where there are none yet.
    pub(crate) fn reserve(&self, count: usize) {
        // Neither numbers nor digests fall quite evenly.
        let each = count / SHARDS + count / SHARDS / 32;
        for shard in &self.shards {
            let UserShard { rows, index } = &mut *shard.lock();
            rows.reserve_exact(each);
            index.reserve(each);
        }
        for door in &self.doors {
            let DoorShard { rows, index } = &mut *door.lock();
            rows.reserve_exact(each);
            index.reserve(each);
        }
    }

    /// Users who take one torrent more, or one less, in this order. Those of one shard are looked
    /// up under one lock, so that the waits for memory overlap: a lock would part them.
    pub(crate) fn change_taking(&self, changes: &mut Vec<(UserId, bool)>) {
        let of = |id: UserId| id.0 as usize % SHARDS;
        changes.sort_by_key(|(id, _)| of(*id));
        for changes in changes.chunk_by(|one, next| of(one.0) == of(next.0)) {
            let mut shard = self.shards[of(changes[0].0)].lock();
            for (id, is_more) in changes {
                let Some(place) = shard.place(id.0) else { continue };
                let taking = &mut shard.rows[place].taking;
                *taking =
                    if *is_more { taking.saturating_add(1) } else { taking.saturating_sub(1) };
            }
        }
        changes.clear();
    }

    /// Adds a user, or changes one; counts of theirs stay.
    pub(crate) fn put(&self, user: &User, generation: u8) {
        let digest = user.passkey.as_ref().map_or([0; 16], |passkey| self.digest(passkey));
        self.put_row(UserRow {
            id: user.id.0,
            digest,
            passkey_version: user.passkey_version,
            wait_seconds: user.wait_seconds,
            taking: 0,
            peers_max: user.peers_max,
            torrents_max: user.torrents_max,
            worth_uploaded: user.worth.uploaded,
            worth_downloaded: user.worth.downloaded,
            rest_uploaded: 0,
            rest_downloaded: 0,
            may_leech: user.may_leech,
            generation,
            steps: crate::signals::Steps::default(),
        });
    }

    /// Makes room for what is owed to a user of whom the site has not told yet.
    pub(crate) fn expect(&self, id: UserId) {
        if self.with(id, |_| ()).is_none() {
            self.put_row(UserRow {
                id: id.0,
                digest: [0; 16],
                passkey_version: 0,
                wait_seconds: 0,
                taking: 0,
                peers_max: 0,
                torrents_max: 0,
                worth_uploaded: 100,
                worth_downloaded: 100,
                rest_uploaded: 0,
                rest_downloaded: 0,
                may_leech: false,
                generation: 0,
                steps: crate::signals::Steps::default(),
            });
        }
    }

    pub(crate) fn put_row(&self, mut row: UserRow) {
        let mut shard = self.shards[row.id as usize % SHARDS].lock();
        let mut old_digest = None;
        if let Some(place) = shard.place(row.id) {
            let old = &mut shard.rows[place];
            (row.taking, row.steps) = (old.taking, old.steps);
            (row.rest_uploaded, row.rest_downloaded) = (old.rest_uploaded, old.rest_downloaded);
            old_digest = Some(old.digest);
            *old = row;
        } else {
            let UserShard { rows, index } = &mut *shard;
            reserve(rows);
            rows.push(row);
            index.insert(user_hash(row.id), rows.len() as u32 - 1, |place| {
                user_hash(rows[place as usize].id)
            });
        }
        drop(shard);
        if old_digest != Some(row.digest) {
            if let Some(old) = old_digest {
                self.close_door(&old, row.id);
            }
            self.open_door(row.digest, row.id);
        }
    }

    fn open_door(&self, digest: PasskeyDigest, id: u32) {
        if digest == [0; 16] {
            return;
        }
        let mut door = self.door(&digest).lock();
        let DoorShard { rows, index } = &mut *door;
        reserve(rows);
        rows.push((digest, id));
        index.insert(door_hash(&digest), rows.len() as u32 - 1, |place| {
            door_hash(&rows[place as usize].0)
        });
    }

    fn close_door(&self, digest: &PasskeyDigest, id: u32) {
        let mut door = self.door(digest).lock();
        let DoorShard { rows, index } = &mut *door;
        let hash_of = |place: u32| door_hash(&rows[place as usize].0);
        let is = |place: u32| rows[place as usize] == (*digest, id);
        let Some(place) = index.find(door_hash(digest), is) else { return };
        index.remove(door_hash(digest), place, hash_of);
        let last = rows.len() as u32 - 1;
        if last != place {
            index.moved(hash_of(last), last, place);
        }
        rows.swap_remove(place as usize);
    }

    /// Forgets a user; sessions of theirs end when they are next heard of, or time out.
    pub(crate) fn remove(&self, id: UserId) {
        let mut shard = self.shards[id.0 as usize % SHARDS].lock();
        let Some(place) = shard.place(id.0) else { return };
        let digest = shard.rows[place].digest;
        shard.remove(place);
        drop(shard);
        self.close_door(&digest, id.0);
    }

    /// Forgets all that were not put since a loading began.
    pub(crate) fn sweep(&self, generation: u8) {
        for shard in &self.shards {
            let gone: Vec<u32> = shard
                .lock()
                .rows
                .iter()
                .filter(|row| row.generation != generation)
                .map(|row| row.id)
                .collect();
            gone.into_iter().for_each(|id| self.remove(UserId(id)));
        }
    }

    /// Gives back room that loading took.
    pub(crate) fn settle(&self) {
        for shard in &self.shards {
            settle(&mut shard.lock().rows);
        }
        for door in &self.doors {
            settle(&mut door.lock().rows);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().rows.len()).sum()
    }

    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// All rows of a shard.
    pub(crate) fn with_shard(&self, shard: usize, act: impl FnOnce(&[UserRow])) {
        act(&self.shards[shard].lock().rows);
    }
}

impl UserShard {
    fn place(&self, id: u32) -> Option<usize> {
        let found = self.index.find(user_hash(id), |place| self.rows[place as usize].id == id)?;
        Some(found as usize)
    }

    fn remove(&mut self, place: usize) {
        let Self { rows, index } = self;
        let hash_of = |place: u32| user_hash(rows[place as usize].id);
        index.remove(hash_of(place as u32), place as u32, hash_of);
        let last = rows.len() as u32 - 1;
        if last != place as u32 {
            index.moved(hash_of(last), last, place as u32);
        }
        rows.swap_remove(place);
    }
}

/// Room for one more, by an eighth: half a million rows that double waste as much again.
pub(crate) fn reserve<T>(rows: &mut Vec<T>) {
    if rows.len() == rows.capacity() {
        rows.reserve_exact(rows.len() / 8 + 4);
    }
}

/// Leaves room for a few more.
pub(crate) fn settle<T>(rows: &mut Vec<T>) {
    rows.shrink_to(rows.len() + rows.len() / 64);
}

fn user_hash(id: u32) -> u32 {
    (u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

fn door_hash(digest: &PasskeyDigest) -> u32 {
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Compares all bytes, wherever the first difference is.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

fn unhex(text: &[u8]) -> Option<[u8; 16]> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let mut bytes = [0; 16];
    if text.len() != 32 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn user(id: u32, passkey: &str) -> User {
        User {
            id: UserId(id),
            passkey: Passkey::new(passkey.as_bytes()),
            passkey_version: 3,
            may_leech: true,
            wait_seconds: 0,
            peers_max: 0,
            torrents_max: 0,
            worth: Worth::default(),
        }
    }

    fn find(users: &Users, passkey: &str, key: Option<&XbtKey>) -> Option<u32> {
        let passkey = Passkey::new(passkey.as_bytes()).unwrap();
        users.by_passkey(&passkey, &InfoHash([b'x'; 20]), key).map(|id| id.0)
    }

    #[test]
    fn passkeys_open_until_they_are_changed_or_their_users_are_gone() {
        let users = Users::default();
        for id in 0..3000 {
            users.put(&user(id, &format!("key{id}")), 0);
        }
        assert_eq!(find(&users, "key7", None), Some(7));
        users.put(&user(7, "other7"), 0);
        assert_eq!((find(&users, "key7", None), find(&users, "other7", None)), (None, Some(7)));
        users.remove(UserId(7));
        assert_eq!(find(&users, "other7", None), None);
        (0..100).for_each(|id| users.put(&user(id, &format!("key{id}")), 1));
        users.sweep(1);
        assert_eq!((users.len(), find(&users, "key200", None)), (100, None));
        assert_eq!(find(&users, "key99", None), Some(99));
    }

    #[test]
    fn computed_passkeys_open_for_their_user_and_torrent_alone() {
        let users = Users::default();
        users.put(&user(42, "column"), 0);
        let key = XbtKey { private_key: "secret".into() };
        let sum = |text: &str| {
            let mut hash = Sha1::new();
            hash.update(text);
            hash.finalize()[..12].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let torrent = "x".repeat(20);
        let right = format!("0000002a{}", sum(&format!("secret 3 42 {torrent}")));
        let old = format!("0000002a{}", sum(&format!("secret 2 42 {torrent}")));
        let elsewhere = format!("0000002a{}", sum(&format!("secret 3 42 {}", "y".repeat(20))));
        assert_eq!(find(&users, &right, Some(&key)), Some(42));
        assert_eq!(find(&users, &right, None), None);
        assert_eq!(find(&users, &old, Some(&key)), None);
        assert_eq!(find(&users, &elsewhere, Some(&key)), None);
        assert_eq!(find(&users, "column", Some(&key)), Some(42), "the column is the fallback");
    }
}
