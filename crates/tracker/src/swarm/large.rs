//! A swarm with an index.

use super::rows::Rows;
use super::{Identity, Place, Swarm};
use crate::index::Index;
use crate::session::{HOT_BYTES, Kind, Packing, RECORD_BYTES, Record, USER, Wanted, user};

/// Both kinds, and where each session is.
#[derive(Debug)]
pub(crate) struct Large {
    giving: Rows,
    taking: Rows,
    index: Index,
    identity: Identity,
}

impl Large {
    pub(super) fn new(identity: Identity) -> Self {
        Self { giving: Rows::default(), taking: Rows::default(), index: Index::default(), identity }
    }

    /// One that will have so many sessions.
    pub(super) fn with_room(identity: Identity, count: usize) -> Self {
        let mut large = Self::new(identity);
        large.index.reserve(count);
        large
    }

    pub(super) fn len(&self, kind: Kind) -> usize {
        self.rows(kind).len()
    }

    pub(super) fn hot_of(&self, kind: Kind, places: &[u32], found: &mut [[u8; HOT_BYTES]]) {
        let rows = self.rows(kind);
        for (row, at) in found.iter_mut().zip(places) {
            row.copy_from_slice(rows.hot(*at as usize));
        }
    }

    pub(super) fn fetch_slot(&self, hash: u32) {
        self.index.fetch(hash);
    }

    pub(super) fn fetch_sessions(&self, hash: u32) {
        // All are looked at, and who has the same few bits of a hash is taken for one of them.
        self.index.find(hash, |number| {
            let place = place_of(number);
            self.rows(place.kind).fetch_whole(place.at as usize);
            false
        });
    }

    pub(super) fn fetch(&self, kind: Kind, at: u32) {
        self.rows(kind).fetch(at as usize);
    }

    fn hot(&self, place: Place) -> &[u8] {
        self.rows(place.kind).hot(place.at as usize)
    }

    pub(super) fn record(&self, place: Place) -> Record {
        self.rows(place.kind).record(place.at as usize)
    }

    pub(super) fn set(&mut self, place: Place, packed: &Record) {
        self.rows_mut(place.kind).set(place.at as usize, packed);
    }

    pub(super) fn each_of_user(&self, user: u32, mut found: impl FnMut(Place)) {
        let name = user.to_le_bytes();
        self.index.find(user_hash(user), |number| {
            let place = place_of(number);
            if self.hot(place)[USER] == name {
                found(place);
            }
            false
        });
    }

    pub(super) fn find_client(
        &self,
        wanted: &Wanted,
        hash: u32,
        packing: &Packing,
        mut is_it: impl FnMut(&[u8]) -> bool,
    ) -> Option<Place> {
        self.index
            .find(hash, |number| {
                let record = self.record(place_of(number));
                packing.is(&record.0, wanted) && is_it(&record.0)
            })
            .map(place_of)
    }

    pub(super) fn insert(&mut self, packed: &Record, packing: &Packing) {
        let kind = packed.kind();
        self.rows_mut(kind).push(packed);
        let place = Place { kind, at: self.len(kind) as u32 - 1 };
        let hash = hash_of(packed, self.identity, packing);
        let Self { giving, taking, index, identity } = self;
        index.insert(hash, number_of(place), |number| {
            hash_at(giving, taking, *identity, packing, number)
        });
    }

    pub(super) fn remove(&mut self, place: Place, packing: &Packing) {
        let last = Place { kind: place.kind, at: self.len(place.kind) as u32 - 1 };
        let gone_hash = hash_of(&self.record(place), self.identity, packing);
        let last_hash = hash_of(&self.record(last), self.identity, packing);
        let Self { giving, taking, index, identity } = self;
        index.remove(gone_hash, number_of(place), |number| {
            hash_at(giving, taking, *identity, packing, number)
        });
        if last != place {
            index.moved(last_hash, number_of(last), number_of(place));
        }
        self.rows_mut(place.kind).swap_remove(place.at as usize);
    }

    pub(super) fn to_small(&self) -> Swarm {
        let giving = self.giving.len();
        let mut rows = Vec::with_capacity((giving + self.taking.len() + 1) * RECORD_BYTES);
        for at in 0..giving {
            rows.extend_from_slice(&self.giving.record(at).0);
        }
        for at in 0..self.taking.len() {
            rows.extend_from_slice(&self.taking.record(at).0);
        }
        Swarm::Small { rows, giving: giving as u32 }
    }

    fn rows(&self, kind: Kind) -> &Rows {
        match kind {
            Kind::Giving => &self.giving,
            Kind::Taking => &self.taking,
        }
    }

    fn rows_mut(&mut self, kind: Kind) -> &mut Rows {
        match kind {
            Kind::Giving => &mut self.giving,
            Kind::Taking => &mut self.taking,
        }
    }
}

fn hash_at(
    giving: &Rows,
    taking: &Rows,
    identity: Identity,
    packing: &Packing,
    number: u32,
) -> u32 {
    let place = place_of(number);
    let rows = if place.kind == Kind::Giving { giving } else { taking };
    match identity {
        Identity::User => user_hash(user(rows.hot(place.at as usize))),
        Identity::PeerId => hash_of(&rows.record(place.at as usize), identity, packing),
    }
}

fn hash_of(record: &Record, identity: Identity, packing: &Packing) -> u32 {
    match identity {
        Identity::User => user_hash(record.user()),
        Identity::PeerId => packing.hash(&packing.peer_id(record)),
    }
}

/// Users' numbers are the site's: nobody chooses them so that they collide.
pub(crate) fn user_hash(user: u32) -> u32 {
    let mixed = u64::from(user).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ (mixed >> 20) as u32
}

fn number_of(place: Place) -> u32 {
    place.at << 1 | u32::from(place.kind == Kind::Taking)
}

fn place_of(number: u32) -> Place {
    let kind = if number & 1 == 0 { Kind::Giving } else { Kind::Taking };
    Place { kind, at: number >> 1 }
}
