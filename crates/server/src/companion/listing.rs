//! Listing what is kept for everybody, for who wants to go through all of it.
//!
//! In: scheme and host as visitors write them. Out: targets of HTML that was made for nobody in
//! particular, in the order of their keys' hashes, a part at a time.
//! Bounds: [`TARGETS_MAX`] targets and [`BYTES_MAX`] bytes of them at once; each part takes a look
//! at everything in memory. What lies on the disk alone isn't told.
//! Start at [`Server::public_targets`].

use std::collections::BTreeMap;

use super::{parts, reading};
use crate::Server;

const TARGETS_MAX: usize = 5_000;
const BYTES_MAX: usize = 512 << 10;

/// Some of what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Paths with their queries.
    pub targets: Vec<String>,
    /// From where the next part goes on; none where this is the last.
    pub next: Option<u64>,
}

/// The targets with the least hashes, as many as there is room for.
#[derive(Default)]
struct Least {
    all: BTreeMap<u64, String>,
    bytes: usize,
    is_cut: bool,
}

impl Least {
    fn add(&mut self, hash: u64, target: &str) {
        let is_late = self.all.last_key_value().is_some_and(|(last, _)| hash > *last);
        if self.all.contains_key(&hash) || (self.is_cut && is_late) {
            return;
        }
        self.all.insert(hash, target.to_owned());
        self.bytes += target.len();
        while self.all.len() > TARGETS_MAX || self.bytes > BYTES_MAX && self.all.len() > 1 {
            let Some((_, last)) = self.all.pop_last() else { return };
            self.bytes -= last.len();
            self.is_cut = true;
        }
    }
}

impl Server {
    /// Targets under a scheme and host, from behind `after` on, that `is_wanted`.
    #[must_use]
    pub fn public_targets(
        &self,
        scheme: &str,
        host: &str,
        after: Option<u64>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Listed {
        let mut least = Least::default();
        self.store.for_each(|hash, key, page| {
            let is_behind = after.is_none_or(|after| hash > after);
            let Some((own_scheme, own_host, target)) = parts(key).filter(|_| is_behind) else {
                return;
            };
            let is_there = own_scheme == scheme && own_host.eq_ignore_ascii_case(host);
            if is_there && reading::is_public(page) && is_wanted(target) {
                least.add(hash, target);
            }
        });
        let next = least.all.last_key_value().map(|(last, _)| *last).filter(|_| least.is_cut);
        Listed { targets: least.all.into_values().collect(), next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_together_are_all_of_it_and_each_once() {
        let all: Vec<(u64, String)> = (0..12_345_u64)
            .map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15), at.to_string()))
            .collect();
        let (mut told, mut after, mut rounds) = (Vec::new(), None, 0);
        loop {
            let mut least = Least::default();
            let behind = all.iter().filter(|(hash, _)| after.is_none_or(|after| *hash > after));
            behind.for_each(|(hash, target)| least.add(*hash, target));
            assert!(least.all.len() <= TARGETS_MAX);
            after = least.all.last_key_value().map(|(last, _)| *last);
            told.extend(least.all.into_values());
            rounds += 1;
            if !least.is_cut {
                break;
            }
        }
        told.sort();
        let mut expected: Vec<String> = all.into_iter().map(|(_, target)| target).collect();
        expected.sort();
        assert_eq!((told, rounds), (expected, 3));
    }

    #[test]
    fn long_addresses_take_no_more_room() {
        let mut least = Least::default();
        (0..2_000).rev().for_each(|hash| least.add(hash, &"a".repeat(2_048)));
        assert_eq!((least.all.len(), least.is_cut), (BYTES_MAX / 2_048, true));
        assert_eq!(least.all.first_key_value().map(|(first, _)| *first), Some(0));
    }
}
