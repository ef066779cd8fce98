//! Second names of torrents: a hybrid's v2 hash, cut to twenty bytes (BEP 52).
//!
//! Clients announce either name, and both mean one swarm. A site without hybrids pays for one
//! look at a flag; nobody waits for a lock that all announces take.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use wire::tracker::InfoHash;

use crate::tracker::{SHARDS, shard_of};

/// First names by the second.
#[derive(Debug)]
pub(crate) struct SecondNames {
    are_any: AtomicBool,
    shards: Vec<Mutex<HashMap<InfoHash, InfoHash>>>,
}

impl Default for SecondNames {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { are_any: AtomicBool::new(false), shards }
    }
}

impl SecondNames {
    /// The first name, if this is a second.
    pub(crate) fn first(&self, hash: &InfoHash) -> Option<InfoHash> {
        if !self.are_any.load(Relaxed) {
            return None;
        }
        self.shards[shard_of(hash)].lock().get(hash).copied()
    }

    /// From now on a torrent has this second name, or none. What was somebody's second name is
    /// nobody's once it is a torrent's first.
    pub(crate) fn put(&self, first: InfoHash, second: Option<InfoHash>) {
        if let Some(second) = second.filter(|second| *second != first) {
            self.shards[shard_of(&second)].lock().insert(second, first);
            self.are_any.store(true, Relaxed);
        } else if !self.are_any.load(Relaxed) {
            return;
        }
        self.shards[shard_of(&first)].lock().remove(&first);
    }

    /// Torrents of these first names are gone.
    pub(crate) fn forget(&self, gone: &HashSet<InfoHash>) {
        if gone.is_empty() || !self.are_any.load(Relaxed) {
            return;
        }
        for shard in &self.shards {
            shard.lock().retain(|_, first| !gone.contains(first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_name_leads_to_the_first_until_either_is_gone() {
        let name = |byte| InfoHash([byte; 20]);
        let names = SecondNames::default();
        let first = |second| names.first(&name(second));
        names.put(name(1), None);
        names.put(name(2), Some(name(2)));
        assert!(!names.are_any.load(Relaxed));
        names.put(name(1), Some(name(101)));
        names.put(name(2), Some(name(102)));
        assert_eq!((first(101), first(102), first(1)), (Some(name(1)), Some(name(2)), None));
        names.put(name(102), None);
        assert_eq!(first(102), None, "it is a first name now");
        names.forget(&HashSet::from([name(1)]));
        assert_eq!(first(101), None);
    }
}
