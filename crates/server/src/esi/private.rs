//! Parts that are kept for one visitor: a cart, a name, a list of one's own.
//!
//! Who the visitor is, is all that an app could know them by, compared byte for byte: the site,
//! the scheme, the host, the address they come from, every cookie and credential, the browser
//! and its languages. Somebody who differs in any of it is somebody else; and who shows neither
//! credentials nor a cookie that could name a session is nobody, for whom nothing is kept.
//! Two generations stand in for an order of use: what is found in the old one moves to the
//! young, and when that is full the old one goes.
//! Invariants: 1. a part is found under the whole of its owner only, and no hash stands in for
//! it. 2. nothing is kept that was fetched before its owner's last write, or a purge of it.
//! 3. all of them are weighed by the store's limit, and take at most [`SHARE`] of it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use policy::strangers::is_known_foreign;
use policy::surrogate::private_seconds;
use store::{Key, Reservation, Store, allocated_bytes};
use wire::{Name, RequestHead, ResponseHead};

use crate::journey::Peers;
use crate::page::Page;
use crate::pipeline;
use crate::purge::generations::{Moment, Standing};
use crate::purge::marks::Marks;
use crate::site::Site;

/// A larger part isn't kept.
pub(crate) const PART_BYTES_MAX: usize = 64 << 10;

/// Parts that are kept of the visitors at one address.
const PARTS_OF_ONE_MAX: usize = 256;

/// Addresses of whose visitors something is kept, in each of the generations of one shard.
const ADDRESSES_MAX: usize = 4096;

/// All of them take the store's limit divided by this, at most.
const SHARE: usize = 16;

const SHARDS: usize = 16;

/// A cookie with a shorter value names no session: it says what many others' says.
const SESSION_BYTES_MIN: usize = 16;

/// The longest that a part is kept, whatever its answer says.
const SECONDS_MAX: u32 = 3600;

/// All that a visitor can be known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    near: Near,
    all: Vec<u8>,
}

/// A site, and the address that somebody comes from: what a write makes stale is what is kept
/// of all who come from there, for the same browser may show other cookies to other paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Near(Box<[u8]>);

impl Near {
    pub(crate) fn of(site: &Site, peers: Peers) -> Self {
        let mut text = site.name.as_bytes().to_vec();
        // An address has no such byte.
        text.push(0);
        text.extend_from_slice(peers.peer.ip().to_canonical().to_string().as_bytes());
        Self(text.into())
    }

    fn shard(&self) -> usize {
        pipeline::hash(&self.0) as usize % SHARDS
    }
}

impl Owner {
    /// Who sends a request; none if nothing in it could name a session.
    pub(crate) fn of(site: &Site, head: &RequestHead, peers: Peers) -> Option<Self> {
        let fields = &head.fields;
        let names_session = fields.has(Name::Authorization)
            || policy::strangers::pairs(fields)
                .any(|(name, value)| value.len() >= SESSION_BYTES_MIN && !is_known_foreign(name));
        if !names_session {
            return None;
        }
        let mut text = Vec::with_capacity(256);
        let mut push = |part: &[u8]| {
            // With its length before it no two lists of parts are one text.
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part);
        };
        push(peers.scheme.as_bytes());
        push(head.host.as_bytes());
        for name in [Name::Authorization, Name::Cookie, Name::UserAgent, Name::AcceptLanguage] {
            push(&(fields.all(name).count() as u64).to_le_bytes());
            fields.all(name).for_each(&mut push);
        }
        Some(Self { near: Near::of(site, peers), all: text })
    }

    /// What a part of theirs lies under, beside [`Near`].
    fn part(&self, target: &str) -> Vec<u8> {
        [&self.all, target.as_bytes()].concat()
    }
}

/// Leave to keep an answer for its visitor.
#[derive(Debug)]
pub(crate) struct Leave {
    pub(crate) seconds: Option<u32>,
    marks: Marks,
    pub(crate) began: Moment,
}

impl Leave {
    /// What an answer to a part says; none if it must not be kept at all, whatever the page
    /// says of it.
    pub(crate) fn of(answer: &ResponseHead, host: &str, began: Moment) -> Option<Self> {
        let fields = &answer.fields;
        let selects = |name: &[u8]| {
            // By these a visitor is known, or they are not sent with parts.
            ![
                &b"cookie"[..],
                b"accept-encoding",
                b"authorization",
                b"user-agent",
                b"accept-language",
            ]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
        };
        let may = answer.status == 200
            && !fields.has(Name::SetCookie)
            && !fields.has(Name::ContentEncoding)
            && !fields.members(Name::Vary).any(selects);
        may.then(|| Self {
            seconds: private_seconds(fields),
            marks: Marks::of(began, host, fields),
            began,
        })
    }
}

/// A part that is kept.
struct Kept {
    body: Bytes,
    marks: Marks,
    until_ticks_ms: u64,
    room: Reservation<Page>,
}

/// Parts by all that their owner is known by, and their address.
type Parts = HashMap<Vec<u8>, Arc<Kept>>;

#[derive(Default)]
struct Shard {
    young: HashMap<Near, Parts>,
    old: HashMap<Near, Parts>,
    young_bytes: usize,
}

/// What is kept for one visitor each.
#[derive(Default)]
pub(crate) struct PrivateParts {
    shards: [Mutex<Shard>; SHARDS],
}

impl PrivateParts {
    /// A part of this visitor's, if it is still good.
    pub(crate) fn find(
        &self,
        site: &Site,
        owner: &Owner,
        target: &str,
        key: &Key<'_>,
        ticks_ms: u64,
    ) -> Option<Bytes> {
        let (near, part) = (&owner.near, owner.part(target));
        let found = {
            let mut shard = self.shards[near.shard()].lock();
            shard.rejuvenate(near);
            shard.young.get(near)?.get(&part)?.clone()
        };
        let is_good = ticks_ms < found.until_ticks_ms
            && site.generations.standing(&found.marks, key, ticks_ms) == Standing::Good;
        if is_good {
            return Some(found.body.clone());
        }
        let mut shard = self.shards[near.shard()].lock();
        if let Some(parts) = shard.young.get_mut(near)
            && parts.get(&part).is_some_and(|same| Arc::ptr_eq(same, &found))
        {
            parts.remove(&part);
        }
        None
    }

    /// Keeps a part for its visitor, unless something was written since it was asked for.
    /// False: there is no room for it.
    #[allow(clippy::too_many_arguments, reason = "all of it makes one entry")]
    pub(crate) fn keep(
        &self,
        store: &Store<Page>,
        site: &Site,
        owner: &Owner,
        target: &str,
        key: &Key<'_>,
        body: &Bytes,
        leave: Leave,
        seconds: u32,
        ticks_ms: u64,
    ) -> bool {
        let (near, part) = (&owner.near, owner.part(target));
        let weight = allocated_bytes(body.len())
            + allocated_bytes(near.0.len())
            + allocated_bytes(part.len())
            + allocated_bytes(size_of::<Kept>())
            + leave.marks.weight();
        let share = store.limit() / SHARE / SHARDS / 2;
        let room = (body.len() <= PART_BYTES_MAX && weight <= share)
            .then(|| store.reserve(weight).ok())
            .flatten();
        let Some(room) = room else { return false };
        let kept = Arc::new(Kept {
            // Of its own size: it must not hold more than it weighs.
            body: Bytes::copy_from_slice(body),
            marks: leave.marks,
            until_ticks_ms: ticks_ms + u64::from(seconds.min(SECONDS_MAX)) * 1000,
            room,
        });
        let mut shard = self.shards[near.shard()].lock();
        // Under the lock: a write counts first and forgets then, so that it is seen here, or
        // finds this part.
        if !site.generations.may_store(leave.began)
            || site.generations.standing(&kept.marks, key, ticks_ms) == Standing::Gone
        {
            return true;
        }
        shard.rejuvenate(near);
        let is_full = shard.young_bytes + weight > share || shard.young.len() >= ADDRESSES_MAX;
        let gone = is_full.then(|| shard.grow_old());
        shard.rejuvenate(near);
        let parts = shard.young.entry(near.clone()).or_default();
        if parts.len() >= PARTS_OF_ONE_MAX && !parts.contains_key(&part) {
            parts.clear();
        }
        parts.insert(part, kept);
        shard.young_bytes += weight;
        drop(shard);
        // Much may hang on it: not under the lock.
        drop(gone);
        true
    }

    /// Forgets all that is kept of visitors who come from there.
    pub(crate) fn forget(&self, near: &Near) {
        let mut shard = self.shards[near.shard()].lock();
        let gone = (shard.young.remove(near), shard.old.remove(near));
        drop(shard);
        drop(gone);
    }
}

impl Shard {
    /// Moves what is kept near an address from the old generation to the young one.
    fn rejuvenate(&mut self, near: &Near) {
        if let Some((near, parts)) = self.old.remove_entry(near) {
            self.young_bytes += parts.values().map(|kept| kept.room.bytes()).sum::<usize>();
            self.young.entry(near).or_default().extend(parts);
        }
    }

    /// Makes the young generation the old one, and gives that back.
    fn grow_old(&mut self) -> HashMap<Near, Parts> {
        self.young_bytes = 0;
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

#[cfg(test)]
#[path = "private_tests.rs"]
mod tests;
