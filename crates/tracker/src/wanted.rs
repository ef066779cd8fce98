//! What clients came with and nobody here knows: passkeys and torrents, for whoever can ask the
//! site at once.
//!
//! A passkey that was changed, or a torrent that took an old number, may else be found only when
//! all of a large table has been looked at.
//! Invariants: 1. no more than [`MAX`] of either wait; more are left out, for their clients come
//! again. 2. who answers announces never waits here.

use parking_lot::Mutex;
use wire::tracker::{InfoHash, Passkey};

/// Of either kind.
const MAX: usize = 64;

/// What is to be asked for.
#[derive(Debug, Default)]
pub struct Missed(Mutex<Wanted>);

/// What was missed since it was last taken.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Nobody has them.
    pub passkeys: Vec<Passkey>,
    /// Nobody registered them.
    pub torrents: Vec<InfoHash>,
}

impl Missed {
    /// Somebody came with this one.
    pub fn passkey(&self, passkey: &Passkey) {
        let Some(mut wanted) = self.0.try_lock() else { return };
        let is_same = |other: &Passkey| other.expose() == passkey.expose();
        if wanted.passkeys.len() < MAX && !wanted.passkeys.iter().any(is_same) {
            wanted.passkeys.push(passkey.clone());
        }
    }

    /// Somebody came for this one.
    pub fn torrent(&self, hash: &InfoHash) {
        let Some(mut wanted) = self.0.try_lock() else { return };
        if wanted.torrents.len() < MAX && !wanted.torrents.contains(hash) {
            wanted.torrents.push(*hash);
        }
    }

    /// What was missed since.
    #[must_use]
    pub fn take(&self) -> Wanted {
        std::mem::take(&mut *self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_wanted_once_and_not_too_many_are() {
        let missed = Missed::default();
        for number in 0..1_000 {
            let passkey = Passkey::new(format!("key{}", number % 7).as_bytes()).expect("one");
            missed.passkey(&passkey);
            let mut hash = [0; 20];
            hash[..2].copy_from_slice(&u16::to_be_bytes(number));
            missed.torrent(&InfoHash(hash));
        }
        let wanted = missed.take();
        assert_eq!((wanted.passkeys.len(), wanted.torrents.len()), (7, MAX));
        assert!(missed.take().torrents.is_empty());
    }
}
