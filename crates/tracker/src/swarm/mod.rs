//! A swarm: the sessions at one torrent, those that give and those that take apart.
//!
//! A small one is one block of records, givers first, and is searched from end to end. A large
//! one has both kinds in chunks and an index over them: of users on a private tracker, so that
//! all sessions of one user are found together, and of peer ids on an open one.
//!
//! Invariant: a place means the same until the next `insert` or `remove`.

pub(crate) mod choice;
mod large;
mod rows;

use crate::foresight::{fetch, fetch_all};
use crate::session::{HOT_BYTES, Kind, Packing, RECORD_BYTES, Record, Session, USER, Wanted};
use large::Large;
pub(crate) use large::user_hash;
use rows::{grow, record, shrink};

/// Sessions up to which a swarm is searched from end to end.
const SMALL_MAX: usize = 128;
/// Below which a large one is small again.
const SMALL_AGAIN: usize = 64;

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) at: u32,
}

/// By what sessions are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// By user and peer id.
    User,
    /// By peer id.
    PeerId,
}

/// The sessions at one torrent.
#[derive(Debug)]
pub(crate) enum Swarm {
    Small { rows: Vec<u8>, giving: u32 },
    Large(Box<Large>),
}

impl Default for Swarm {
    fn default() -> Self {
        Self::Small { rows: Vec::new(), giving: 0 }
    }
}

impl Swarm {
    pub(crate) fn len(&self, kind: Kind) -> usize {
        match (self, kind) {
            (Self::Small { giving, .. }, Kind::Giving) => *giving as usize,
            (Self::Small { rows, giving }, Kind::Taking) => {
                rows.len() / RECORD_BYTES - *giving as usize
            }
            (Self::Large(large), kind) => large.len(kind),
        }
    }

    pub(crate) fn len_all(&self) -> usize {
        self.len(Kind::Giving) + self.len(Kind::Taking)
    }

    /// Copies what an answer needs of the sessions of a kind at some places: their users, addresses
    /// and flags.
    pub(crate) fn hot_of(&self, kind: Kind, places: &[u32], found: &mut [[u8; HOT_BYTES]]) {
        match self {
            Self::Small { rows, giving } => {
                let first = if kind == Kind::Giving { 0 } else { *giving as usize };
                let rows = &rows[first * RECORD_BYTES..];
                for (row, at) in found.iter_mut().zip(places) {
                    let start = *at as usize * RECORD_BYTES;
                    row.copy_from_slice(&rows[start..start + HOT_BYTES]);
                }
            }
            Self::Large(large) => large.hot_of(kind, places, found),
        }
    }

    /// Has brought near what says where the sessions of a hash are, a user's or a client's; of a small
    /// swarm that is all of them.
    pub(crate) fn fetch_slot(&self, hash: u32) {
        match self {
            Self::Small { rows, .. } => fetch_all(rows),
            Self::Large(large) => large.fetch_slot(hash),
        }
    }

    /// Has these sessions brought near, once what says where they are has come.
    pub(crate) fn fetch_sessions(&self, hash: u32) {
        if let Self::Large(large) = self {
            large.fetch_sessions(hash);
        }
    }

    /// Has what an answer needs of a session brought near.
    pub(crate) fn fetch(&self, kind: Kind, at: u32) {
        match self {
            Self::Small { rows, giving } => {
                fetch(rows, small_at(Place { kind, at }, *giving) * RECORD_BYTES);
            }
            Self::Large(large) => large.fetch(kind, at),
        }
    }

    /// The session at a place, as it is packed.
    pub(crate) fn record(&self, place: Place) -> Record {
        match self {
            Self::Small { rows, giving } => {
                let start = small_at(place, *giving) * RECORD_BYTES;
                record(&rows[start..start + RECORD_BYTES])
            }
            Self::Large(large) => large.record(place),
        }
    }

    /// Calls for every session.
    pub(crate) fn each(&self, mut found: impl FnMut(Record)) {
        for kind in [Kind::Giving, Kind::Taking] {
            (0..self.len(kind)).for_each(|at| found(self.record(Place { kind, at: at as u32 })));
        }
    }

    /// Calls for every session of a user.
    pub(crate) fn each_of_user(&self, user: u32, mut found: impl FnMut(Place)) {
        match self {
            Self::Small { rows, giving } => {
                for (at, row) in rows.chunks_exact(RECORD_BYTES).enumerate() {
                    if row[USER] == user.to_le_bytes() {
                        found(small_place(at, *giving));
                    }
                }
            }
            Self::Large(large) => large.each_of_user(user, found),
        }
    }

    /// Calls for every session of a client's name, until told that it is the one.
    pub(crate) fn find_client(
        &self,
        wanted: &Wanted,
        hash: u32,
        packing: &Packing,
        mut is_it: impl FnMut(&[u8]) -> bool,
    ) -> Option<Place> {
        match self {
            Self::Small { rows, giving } => rows
                .chunks_exact(RECORD_BYTES)
                .position(|row| packing.is(row, wanted) && is_it(row))
                .map(|at| small_place(at, *giving)),
            Self::Large(large) => large.find_client(wanted, hash, packing, is_it),
        }
    }

    /// Makes room for so many sessions, if there are none yet.
    pub(crate) fn reserve(&mut self, count: usize, identity: Identity) {
        if let Self::Small { rows, .. } = self
            && rows.is_empty()
        {
            if count > SMALL_MAX {
                *self = Self::Large(Box::new(Large::with_room(identity, count)));
            } else {
                rows.reserve_exact(count * RECORD_BYTES);
            }
        }
    }

    /// Adds a session; which must not be there.
    pub(crate) fn insert(&mut self, session: &Session, packing: &mut Packing, identity: Identity) {
        let packed = packing.pack(session);
        self.insert_packed(&packed, packing, identity);
    }

    fn insert_packed(&mut self, packed: &Record, packing: &Packing, identity: Identity) {
        if self.len_all() >= SMALL_MAX
            && let Self::Small { rows, .. } = self
        {
            let mut large = Large::new(identity);
            for row in rows.chunks_exact(RECORD_BYTES) {
                large.insert(&record(row), packing);
            }
            *self = Self::Large(Box::new(large));
        }
        match self {
            Self::Large(large) => large.insert(packed, packing),
            Self::Small { rows, giving } => {
                grow(rows, RECORD_BYTES);
                rows.extend_from_slice(&packed.0);
                if packed.kind() == Kind::Giving {
                    let last = rows.len() / RECORD_BYTES - 1;
                    swap(rows, *giving as usize, last);
                    *giving += 1;
                }
            }
        }
    }

    /// Changes a session; its kind may change, its name and user don't.
    pub(crate) fn update(
        &mut self,
        place: Place,
        session: &Session,
        packing: &mut Packing,
        identity: Identity,
    ) {
        let mut packed = self.record(place);
        packing.repack(&mut packed, session);
        if packed.kind() == place.kind {
            match self {
                Self::Small { rows, giving } => {
                    let start = small_at(place, *giving) * RECORD_BYTES;
                    rows[start..start + RECORD_BYTES].copy_from_slice(&packed.0);
                }
                Self::Large(large) => large.set(place, &packed),
            }
        } else {
            self.take_out(place, packing);
            self.insert_packed(&packed, packing, identity);
        }
    }

    /// Removes a session and what it held beside.
    pub(crate) fn remove(&mut self, place: Place, packing: &mut Packing) {
        let gone = self.record(place);
        self.take_out(place, packing);
        packing.release(&gone);
    }

    /// The last of a kind takes its place.
    fn take_out(&mut self, place: Place, packing: &Packing) {
        match self {
            Self::Small { rows, giving } => {
                let mut at = small_at(place, *giving);
                if place.kind == Kind::Giving {
                    *giving -= 1;
                    swap(rows, at, *giving as usize);
                    at = *giving as usize;
                }
                let last = rows.len() / RECORD_BYTES - 1;
                swap(rows, at, last);
                rows.truncate(last * RECORD_BYTES);
                shrink(rows, RECORD_BYTES);
            }
            Self::Large(large) => {
                large.remove(place, packing);
                if large.len(Kind::Giving) + large.len(Kind::Taking) < SMALL_AGAIN {
                    *self = large.to_small();
                }
            }
        }
    }
}

fn small_at(place: Place, giving: u32) -> usize {
    match place.kind {
        Kind::Giving => place.at as usize,
        Kind::Taking => (giving + place.at) as usize,
    }
}

fn small_place(at: usize, giving: u32) -> Place {
    let at = at as u32;
    if at < giving {
        Place { kind: Kind::Giving, at }
    } else {
        Place { kind: Kind::Taking, at: at - giving }
    }
}

fn swap(rows: &mut [u8], one: usize, other: usize) {
    let (low, high) = (one.min(other) * RECORD_BYTES, one.max(other) * RECORD_BYTES);
    if low != high {
        let (before, after) = rows.split_at_mut(high);
        before[low..low + RECORD_BYTES].swap_with_slice(&mut after[..RECORD_BYTES]);
    }
}
