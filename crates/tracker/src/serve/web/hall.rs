//! The hall: who is connected by WebSocket, and at which torrents.
//!
//! One lock over all, held for a look-up or the draw of a few: what goes through it are some
//! messages a minute of each client, in the middle of JSON and keys of WebRTC.
//! Bounds: places, by who enters; [`LOST_MAX`] of those whose connection is lost, and
//! [`DUE_MAX`] of them at a time.
//! Invariants: 1. a client's name at a torrent is one place, of the connection that showed it
//! last. 2. on a private tracker no passkey takes the place of another.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use wire::tracker::{InfoHash, Passkey, PeerId};

use super::mail::{Letter, Mailbox};
use crate::dice::Dice;

/// Of a swarm so many are looked at for whom offers are.
const DRAWN: usize = 64;
/// Clients without a connection that are kept track of.
const LOST_MAX: usize = 50_000;
/// Of those that are due so many are taken out at a time.
const DUE_MAX: usize = 1000;

/// All who are connected.
pub(crate) struct Hall {
    table: Mutex<Table>,
    /// Connections.
    pub(super) open: AtomicUsize,
    serials: AtomicU64,
    hasher: RandomState,
}

struct Table {
    swarms: HashMap<InfoHash, Swarm>,
    /// Places of all swarms.
    places: usize,
    lost: VecDeque<Lost>,
    dice: Dice,
}

/// Who is at one torrent.
#[derive(Default)]
struct Swarm {
    places: Vec<Place>,
    by_name: HashMap<PeerId, usize>,
}

/// A client at a torrent.
pub(super) struct Place {
    pub(super) peer_id: PeerId,
    pub(super) owner: u64,
    pub(super) is_complete: bool,
    pub(super) seat: Seat,
}

/// Where a client's connection is.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    mailbox: Arc<Mailbox>,
    connection: usize,
    pub(super) serial: u64,
}

/// A client whose connection is lost.
pub(super) struct Lost {
    pub(super) due_ms: u64,
    pub(super) info_hash: InfoHash,
    pub(super) peer_id: PeerId,
    pub(super) passkey: Option<Passkey>,
}

/// What became of who came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    /// It has a place.
    Well,
    /// There are too many.
    Full,
    /// Somebody else has this name.
    Taken,
}

impl Seat {
    /// The place of a connection of this number, which has no serial yet.
    pub(crate) fn new(mailbox: Arc<Mailbox>, connection: usize) -> Self {
        Self { mailbox, connection, serial: 0 }
    }

    /// Writes to who is there; false if there is no room.
    pub(super) fn send(&self, text: Vec<u8>) -> bool {
        let Self { connection, serial, .. } = *self;
        self.mailbox.post(Letter { connection, serial, text })
    }
}

impl Default for Hall {
    fn default() -> Self {
        let table =
            Table { swarms: HashMap::new(), places: 0, lost: VecDeque::new(), dice: Dice::new(0) };
        Self {
            table: Mutex::new(table),
            open: AtomicUsize::new(0),
            serials: AtomicU64::new(1),
            hasher: RandomState::new(),
        }
    }
}

impl Hall {
    /// By which a connection is told from others that had its number.
    pub(super) fn next_serial(&self) -> u64 {
        self.serials.fetch_add(1, Ordering::Relaxed)
    }

    /// By what connections with one passkey are known to be of one user; never 0.
    pub(super) fn owner(&self, passkey: &Passkey) -> u64 {
        self.hasher.hash_one(passkey.expose()) | 1
    }

    /// Gives a client its place at a torrent; `max` is how many there may be of all.
    pub(super) fn enter(&self, hash: &InfoHash, place: Place, max: usize) -> Entered {
        let Table { swarms, places, .. } = &mut *self.table.lock();
        let known = swarms.get_mut(hash).and_then(|swarm| {
            let at = *swarm.by_name.get(&place.peer_id)?;
            swarm.places.get_mut(at)
        });
        match known {
            Some(before) if before.owner != place.owner => return Entered::Taken,
            Some(before) => *before = place,
            None if *places >= max => return Entered::Full,
            None => {
                *places += 1;
                let swarm = swarms.entry(*hash).or_default();
                swarm.by_name.insert(place.peer_id, swarm.places.len());
                swarm.places.push(place);
            }
        }
        Entered::Well
    }

    /// Takes a client out, if it has its place by this connection.
    pub(super) fn leave(&self, hash: &InfoHash, peer_id: &PeerId, serial: u64) -> bool {
        let Table { swarms, places, .. } = &mut *self.table.lock();
        let Entry::Occupied(mut entry) = swarms.entry(*hash) else { return false };
        let swarm = entry.get_mut();
        let Some(&at) = swarm.by_name.get(peer_id) else { return false };
        if swarm.places[at].seat.serial != serial {
            return false;
        }
        swarm.by_name.remove(peer_id);
        swarm.places.swap_remove(at);
        if let Some(moved) = swarm.places.get(at) {
            swarm.by_name.insert(moved.peer_id, at);
        }
        *places -= 1;
        if swarm.places.is_empty() {
            entry.remove();
        }
        true
    }

    /// Where a client is.
    pub(super) fn find(&self, hash: &InfoHash, peer_id: &PeerId) -> Option<Seat> {
        let table = self.table.lock();
        let swarm = table.swarms.get(hash)?;
        swarm.places.get(*swarm.by_name.get(peer_id)?).map(|place| place.seat.clone())
    }

    /// For whom a client's offers are: as many as are wanted, each as likely, but not itself, no
    /// other of its owner's, and of those who have all nobody if it has all too.
    pub(super) fn choose(&self, hash: &InfoHash, asker: &Place, wanted: usize) -> Vec<Seat> {
        let Table { swarms, dice, .. } = &mut *self.table.lock();
        let Some(swarm) = swarms.get(hash) else { return Vec::new() };
        let is_fit = |place: &&Place| {
            let is_own =
                place.peer_id == asker.peer_id || (asker.owner != 0 && place.owner == asker.owner);
            let is_useless = asker.is_complete && place.is_complete;
            !is_own && !is_useless
        };
        let drawn = drawn(dice, swarm.places.len());
        let places = drawn.into_iter().filter_map(|at| swarm.places.get(at));
        places.filter(is_fit).take(wanted).map(|place| place.seat.clone()).collect()
    }

    /// Remembers a client whose connection is lost; false if there are too many.
    pub(super) fn lose(&self, lost: Lost) -> bool {
        let mut table = self.table.lock();
        let has_room = table.lost.len() < LOST_MAX;
        if has_room {
            table.lost.push_back(lost);
        }
        has_room
    }

    /// Those that did not come back in time.
    pub(super) fn due(&self, now_ms: u64) -> Vec<Lost> {
        let Table { swarms, lost, .. } = &mut *self.table.lock();
        let count = lost.iter().take(DUE_MAX).take_while(|it| it.due_ms <= now_ms).count();
        let is_back = |it: &Lost| {
            swarms.get(&it.info_hash).is_some_and(|swarm| swarm.by_name.contains_key(&it.peer_id))
        };
        lost.drain(..count).filter(|it| !is_back(it)).collect()
    }
}

/// Some numbers below a count, each as likely, in the order in which they are drawn.
fn drawn(dice: &mut Dice, count: usize) -> Vec<usize> {
    let below = |dice: &mut Dice, limit: usize| {
        dice.below(u32::try_from(limit).unwrap_or(u32::MAX)) as usize
    };
    if count <= DRAWN {
        let mut all: Vec<usize> = (0..count).collect();
        for at in 0..count {
            let other = at + below(dice, count - at);
            all.swap(at, other);
        }
        return all;
    }
    let mut some = Vec::with_capacity(DRAWN);
    while some.len() < DRAWN {
        let number = below(dice, count);
        if !some.contains(&number) {
            some.push(number);
        }
    }
    some
}

#[cfg(test)]
#[path = "hall_tests.rs"]
mod tests;
