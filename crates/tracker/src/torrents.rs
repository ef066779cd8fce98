//! Torrents of one shard: what the site says of them, and their swarms.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use wire::tracker::{Counts, InfoHash};

use crate::credit::Standing;
use crate::index::Index;
use crate::rights::{Torrent, TorrentId, Worth};
use crate::session::Kind;
use crate::signals::Balance;
use crate::swarm::Swarm;
use crate::users::reserve;

/// Deleted torrents that are remembered, so that their clients are told.
const GONE_MAX: usize = 256;

/// One torrent, as kept.
#[derive(Debug)]
pub(crate) struct TorrentRow {
    pub(crate) info_hash: InfoHash,
    pub(crate) id: u32,
    pub(crate) completed: u32,
    /// Of those, how many are in no batch yet.
    pub(crate) completed_pending: u32,
    pub(crate) announced: u32,
    pub(crate) made: u32,
    /// Partial seeds among those that give.
    pub(crate) partial: u32,
    pub(crate) worth_uploaded: u16,
    pub(crate) worth_downloaded: u16,
    pub(crate) balance: Balance,
    /// In which loading it was seen last.
    pub(crate) generation: u8,
    /// Whether it changed since the last batch.
    pub(crate) is_dirty: bool,
    pub(crate) swarm: Swarm,
}

impl TorrentRow {
    fn new(info_hash: InfoHash) -> Self {
        Self {
            info_hash,
            id: 0,
            completed: 0,
            completed_pending: 0,
            announced: 0,
            made: 0,
            partial: 0,
            worth_uploaded: 100,
            worth_downloaded: 100,
            balance: Balance::default(),
            generation: 0,
            is_dirty: false,
            swarm: Swarm::default(),
        }
    }

    pub(crate) fn worth(&self) -> Worth {
        Worth { uploaded: self.worth_uploaded, downloaded: self.worth_downloaded }
    }

    pub(crate) fn counts(&self) -> Counts {
        let giving = self.swarm.len(Kind::Giving) as u32;
        Counts {
            complete: giving.saturating_sub(self.partial),
            incomplete: self.swarm.len(Kind::Taking) as u32 + self.partial,
            downloaded: self.completed,
            partial: self.partial,
        }
    }

    fn standing(&self) -> Standing {
        let counts = self.counts();
        Standing {
            torrent: TorrentId(self.id),
            seeders: counts.complete,
            leechers: counts.incomplete,
            completed: self.completed_pending,
            completed_total: self.completed,
            announced: self.announced,
        }
    }
}

/// The torrents of one shard.
#[derive(Debug, Default)]
pub(crate) struct Torrents {
    pub(crate) rows: Vec<TorrentRow>,
    index: Index,
    hasher: RandomState,
    gone: VecDeque<InfoHash>,
}

impl Torrents {
    pub(crate) fn find(&self, info_hash: &InfoHash) -> Option<usize> {
        let is = |place: u32| self.rows[place as usize].info_hash == *info_hash;
        self.index.find(self.hash(info_hash), is).map(|place| place as usize)
    }

    /// Has brought near what says where a torrent is.
    pub(crate) fn fetch_slot(&self, info_hash: &InfoHash) {
        self.index.fetch(self.hash(info_hash));
    }

    /// The same of the torrent, once that has come.
    pub(crate) fn fetch_row(&self, info_hash: &InfoHash) {
        self.index.fetch_row(self.hash(info_hash), &self.rows);
    }

    /// The torrent's place; it is made if it isn't there.
    pub(crate) fn find_or_make(&mut self, info_hash: &InfoHash) -> usize {
        if let Some(place) = self.find(info_hash) {
            return place;
        }
        reserve(&mut self.rows);
        self.rows.push(TorrentRow::new(*info_hash));
        let place = self.rows.len() - 1;
        let Self { rows, index, hasher, .. } = self;
        let hash_of = |place: u32| hasher.hash_one(rows[place as usize].info_hash) as u32;
        index.insert(hash_of(place as u32), place as u32, hash_of);
        place
    }

    /// Takes over what the site says; what was counted here stays.
    pub(crate) fn put(&mut self, torrent: &Torrent, generation: u8) {
        let place = self.find_or_make(&torrent.info_hash);
        self.gone.retain(|gone| *gone != torrent.info_hash);
        let row = &mut self.rows[place];
        row.id = torrent.id.0;
        // What was counted here may not have reached the site yet.
        row.completed = row.completed.max(torrent.completed);
        row.made = torrent.made;
        row.worth_uploaded = torrent.worth.uploaded;
        row.worth_downloaded = torrent.worth.downloaded;
        row.generation = generation;
    }

    /// Takes a torrent out; the last takes its place.
    pub(crate) fn remove(&mut self, place: usize, is_deleted: bool) -> TorrentRow {
        let Self { rows, index, hasher, .. } = self;
        let hash_of = |place: u32| hasher.hash_one(rows[place as usize].info_hash) as u32;
        index.remove(hash_of(place as u32), place as u32, hash_of);
        let last = rows.len() as u32 - 1;
        if last != place as u32 {
            index.moved(hash_of(last), last, place as u32);
        }
        let row = rows.swap_remove(place);
        if is_deleted {
            self.gone.truncate(GONE_MAX - 1);
            self.gone.push_front(row.info_hash);
        }
        row
    }

    pub(crate) fn was_deleted(&self, info_hash: &InfoHash) -> bool {
        self.gone.contains(info_hash)
    }

    pub(crate) fn by_id(&self, id: TorrentId) -> Option<usize> {
        self.rows.iter().position(|row| row.id == id.0)
    }

    /// What changed since the last batch.
    pub(crate) fn take_standings(&mut self, standings: &mut Vec<Standing>) {
        for row in self.rows.iter_mut().filter(|row| row.is_dirty) {
            standings.push(row.standing());
            row.is_dirty = false;
            row.completed_pending = 0;
        }
    }

    fn hash(&self, info_hash: &InfoHash) -> u32 {
        self.hasher.hash_one(info_hash) as u32
    }
}
