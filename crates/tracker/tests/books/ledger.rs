//! The ledger: what dice say that users did, and what of it must stand where.
//!
//! It stands in for whoever has the swarms: what was taken stays until it is written, and
//! after a restart the database's number says whether it was.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base::Now;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tracker::books::Keeper;
use tracker::credit::{LastSession, Standing};
use tracker::{Batch, Credit, Torrent, TorrentId, User, UserId};
use wire::tracker::PeerId;

/// Users and torrents are few, so that rows are met again and again.
pub(crate) const USERS: u32 = 12;
pub(crate) const TORRENTS: u32 = 9;

/// Bytes sent and taken, as they are worth; then as told; then times completed;
/// then bytes taken with tokens.
pub(crate) type Sums = [u64; 6];

pub(crate) struct Ledger(Mutex<Inner>);

struct Inner {
    dice: StdRng,
    /// The last number that is known to be written.
    last: u64,
    under_way: Option<Batch>,
    /// Everything that was taken, written or not.
    owed: BTreeMap<(u32, u32), Sums>,
    /// Whether there is something to take.
    has_news: bool,
}

impl Ledger {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Inner {
            dice: StdRng::seed_from_u64(seed),
            last: 0,
            under_way: None,
            owed: BTreeMap::new(),
            has_news: false,
        }))
    }

    /// Users do something; it is taken with the next batch.
    pub(crate) fn announce(&self) {
        self.0.lock().expect("no panic").has_news = true;
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.0.lock().expect("no panic").under_way.is_some()
    }

    /// What must stand there in the end, by user and torrent.
    pub(crate) fn owed(&self) -> BTreeMap<(u32, u32), Sums> {
        self.0.lock().expect("no panic").owed.clone()
    }

    /// The same by user.
    pub(crate) fn owed_to_users(&self) -> BTreeMap<u32, Sums> {
        let mut users = BTreeMap::<u32, Sums>::new();
        for ((user, _), sums) in self.owed() {
            let held = users.entry(user).or_default();
            held.iter_mut().zip(sums).for_each(|(held, more)| *held += more);
        }
        users
    }
}

impl Inner {
    fn roll(&mut self, now: u32) -> Batch {
        let mut credits = BTreeMap::new();
        for _ in 0..self.dice.random_range(1..20) {
            let user = self.dice.random_range(1..=USERS);
            let torrent = self.dice.random_range(1..=TORRENTS);
            let credit = self.credit(user, torrent, now);
            credits.insert((user, torrent), credit);
        }
        // Some only fell silent, of whom the site may have no row.
        for _ in 0..self.dice.random_range(0..3) {
            let user = self.dice.random_range(1..=USERS);
            let torrent = self.dice.random_range(1..=TORRENTS);
            let silent = self.silent(user, torrent, now);
            credits.entry((user, torrent)).or_insert(silent);
        }
        for ((user, torrent), credit) in credits.iter().filter(|(_, credit)| credit.left.is_some())
        {
            let owed = self.owed.entry((*user, *torrent)).or_default();
            let more = [
                credit.uploaded,
                credit.downloaded,
                credit.told_uploaded,
                credit.told_downloaded,
                credit.completed.into(),
                credit.token_downloaded,
            ];
            owed.iter_mut().zip(more).for_each(|(held, more)| *held += more);
        }
        let torrents = (1..=TORRENTS).filter(|_| self.dice.random_bool(0.5)).collect::<Vec<_>>();
        let standing = |torrent: u32| Standing {
            torrent: TorrentId(torrent),
            seeders: self.dice.random_range(0..50),
            leechers: self.dice.random_range(0..50),
            completed: 1,
            completed_total: 7,
            announced: now,
        };
        Batch {
            number: self.last + 1,
            credits: credits.into_values().collect(),
            torrents: torrents.into_iter().map(standing).collect(),
            points: Vec::new(),
        }
    }

    fn silent(&mut self, user: u32, torrent: u32, now: u32) -> Credit {
        Credit {
            uploaded: 0,
            downloaded: 0,
            told_uploaded: 0,
            told_downloaded: 0,
            token_downloaded: 0,
            has_ended_token: false,
            completed: 0,
            seeded_seconds: 0,
            announces: 0,
            left: None,
            is_active: false,
            last: LastSession {
                left: None,
                is_active: false,
                credited_uploaded: 0,
                credited_downloaded: 0,
                ..self.session(now, [0; 2])
            },
            others: Vec::new(),
            ..self.credit(user, torrent, now)
        }
    }

    fn credit(&mut self, user: u32, torrent: u32, now: u32) -> Credit {
        let (uploaded, downloaded) = (bytes(&mut self.dice), bytes(&mut self.dice));
        // Of a user's clients each earned a part.
        let (mut others, mut rest) = (Vec::new(), [uploaded, downloaded]);
        for _ in 0..self.dice.random_range(0..3) {
            let part = rest.map(|bytes| self.dice.random_range(0..=bytes));
            rest = [rest[0] - part[0], rest[1] - part[1]];
            others.push(self.session(now, part));
        }
        let last = self.session(now, rest);
        let dice = &mut self.dice;
        Credit {
            user: UserId(user),
            torrent: TorrentId(torrent),
            uploaded,
            downloaded,
            told_uploaded: bytes(dice),
            told_downloaded: bytes(dice),
            token_downloaded: bytes(dice),
            has_ended_token: false,
            completed: u32::from(dice.random_bool(0.2)),
            seeded_seconds: dice.random_range(0..1800),
            announces: 1,
            left: Some(if dice.random_bool(0.5) { 0 } else { bytes(dice) }),
            is_active: true,
            announced: now,
            last,
            others,
        }
    }

    fn session(&mut self, now: u32, credited: [u64; 2]) -> LastSession {
        let dice = &mut self.dice;
        let mut peer_id = *b"-TR4050-\x00\xff'\\abcdefgh";
        peer_id[19] = b'a' + dice.random_range(0..3);
        let v4: SocketAddr = ([10, 0, 0, dice.random_range(1..5)], 6881).into();
        let v6: SocketAddr = ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 6881).into();
        let has_v4 = dice.random_bool(0.8);
        let has_stopped = dice.random_bool(0.2);
        LastSession {
            is_connectable: None,
            peer_id: PeerId(peer_id),
            v4: has_v4.then_some(v4),
            v6: (!has_v4 || dice.random_bool(0.3)).then_some(v6),
            uploaded: bytes(dice),
            downloaded: bytes(dice),
            upload_rate: dice.random_range(0..u32::MAX),
            download_rate: dice.random_range(0..1 << 20),
            has_stopped,
            is_active: !has_stopped,
            left: Some(bytes(dice)),
            announced: now,
            credited_uploaded: credited[0],
            credited_downloaded: credited[1],
            announces: 1,
        }
    }
}

/// Now and then more than 32 bits; rates that no middling column holds.
fn bytes(dice: &mut StdRng) -> u64 {
    match dice.random_range(0..4) {
        0 => 0,
        1 => dice.random_range(1..1 << 14),
        _ => dice.random_range(1..1_u64 << 40),
    }
}

impl Keeper for Ledger {
    fn resume(&self, last_number: u64) {
        let mut inner = self.0.lock().expect("no panic");
        let is_written = |batch: &Batch| batch.number <= last_number;
        if inner.under_way.as_ref().is_some_and(is_written) {
            inner.under_way = None;
        }
        assert!(inner.last <= last_number, "the database forgot a batch");
        inner.last = last_number;
    }

    fn take_batch(&self, now: Now) -> Option<Arc<Batch>> {
        let mut inner = self.0.lock().expect("no panic");
        if inner.under_way.is_none() && inner.has_news {
            inner.has_news = false;
            inner.under_way = Some(inner.roll(u32::try_from(now.unix_seconds()).expect("a time")));
        }
        inner.under_way.clone().map(Arc::new)
    }

    fn written(&self, number: u64) {
        let mut inner = self.0.lock().expect("no panic");
        let taken = inner.under_way.take().expect("a batch was taken");
        assert_eq!(taken.number, number);
        inner.last = number;
    }

    fn begin_loading(&self) {}

    fn finish_loading(&self) {}

    fn put_torrent(&self, _: &Torrent) {}

    fn remove_torrent(&self, _: TorrentId) {}

    fn put_user(&self, _: &User) {}

    fn remove_user(&self, _: UserId) {}

    fn set_passkey_key(&self, _: &str) {}
}
