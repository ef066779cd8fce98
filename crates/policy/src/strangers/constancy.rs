//! Constancy: whether a caching header of this site means anything.
//!
//! In: what the answers for distinct URLs wish, as [`Wish`]es. Out: whether a wish is to be
//! obeyed. PHP's session module puts the same `no-store` on every page of a site: a header
//! that is the same everywhere says nothing about any page. One that is stricter than what
//! most of the site says was written for its page, and is obeyed.
//! Law: ours; what is obeyed is RFC 9111 §5.2.2, §5.3, §5.4.
//! Invariants: 1. nothing is known of a site of which fewer than five URLs were seen.
//! 2. at most 4,096 URLs are remembered.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use wire::{Fields, Name};

use crate::date;
use crate::directives::ResponseDirectives;

/// URLs that are remembered; the first so many of a site stand for the rest.
const URLS_MAX: usize = 4096;
/// Before so many distinct URLs were seen, what looks constant may be chance.
const URLS_MIN: u32 = 5;

/// What an answer asks of caches, from the least to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// To be stored, or nothing at all.
    Nothing,
    /// To be validated before each use.
    Revalidate,
    /// To be kept from others.
    Private,
    /// Not to be stored.
    NoStore,
}

const WISHES: [Wish; 4] = [Wish::Nothing, Wish::Revalidate, Wish::Private, Wish::NoStore];

impl Wish {
    /// Reads an answer's wish: from `Cache-Control`, and only where there is none from
    /// `Pragma` and `Expires`.
    #[must_use]
    pub fn of(fields: &Fields) -> Self {
        if !fields.has(Name::CacheControl) {
            let is_stale = fields.has_member(Name::Pragma, "no-cache") || expires_at_once(fields);
            return if is_stale { Self::Revalidate } else { Self::Nothing };
        }
        let all = ResponseDirectives::of(fields);
        if all.no_store || all.malformed {
            Self::NoStore
        } else if all.private {
            Self::Private
        } else if all.no_cache || all.s_maxage.or(all.max_age) == Some(0) {
            Self::Revalidate
        } else {
            Self::Nothing
        }
    }
}

/// Whether `Expires` is no later than `Date`. An app's answer may have no `Date` yet; then
/// only what can't be read, or lies before this was written, is surely past.
fn expires_at_once(fields: &Fields) -> bool {
    /// 2025-01-01.
    const SURELY_PAST: i64 = 1_735_689_600;
    let date = fields.first(Name::Date).and_then(date::parse).unwrap_or(SURELY_PAST);
    fields
        .first(Name::Expires)
        .is_some_and(|expires| date::parse(expires).is_none_or(|expires| expires <= date))
}

/// What the URLs of one site wish.
#[derive(Default, Clone, Debug)]
pub struct Constancy {
    wishes: HashMap<u64, Wish>,
    counts: [u32; 4],
    /// Counted in an earlier run, by URLs that nobody remembers.
    restored: [u32; 4],
}

impl Constancy {
    /// Takes up what the answer for a URL wishes; of one URL the last wish counts.
    ///
    /// A URL beyond the 4,096th is not counted. One that is new takes the place of one
    /// counted in an earlier run, as it is likely to be the same.
    pub fn note(&mut self, url_hash: u64, wish: Wish) {
        let is_full = self.wishes.len() >= URLS_MAX;
        match self.wishes.entry(url_hash) {
            Entry::Occupied(mut held) => {
                let before = held.insert(wish);
                self.counts[before as usize] -= 1;
            }
            Entry::Vacant(_) if is_full => return,
            Entry::Vacant(place) => {
                place.insert(wish);
                self.release_restored(wish);
            }
        }
        self.counts[wish as usize] += 1;
    }

    /// Forgets one restored URL: of the same wish, or else of the most common.
    fn release_restored(&mut self, wish: Wish) {
        let mut place = wish as usize;
        if self.restored[place] == 0 {
            for other in 0..WISHES.len() {
                if self.restored[other] > self.restored[place] {
                    place = other;
                }
            }
        }
        self.restored[place] = self.restored[place].saturating_sub(1);
    }

    /// Whether an answer with this wish says more than the site says everywhere.
    ///
    /// What more than half of the URLs wish is the site's way. Where no wish has so many,
    /// it is the strictest that a fifth of them has: a site with several ways keeps them.
    #[must_use]
    pub fn is_obeyed(&self, wish: Wish) -> bool {
        let counts = self.summary();
        let total: u32 = counts.iter().sum();
        if total < URLS_MIN {
            return false;
        }
        let has = |share: fn(u32, u32) -> bool| {
            WISHES.into_iter().rev().find(|wish| share(counts[*wish as usize], total))
        };
        let usual = has(|count, total| count * 2 > total)
            .or_else(|| has(|count, total| count * 5 >= total))
            .unwrap_or(Wish::NoStore);
        wish > usual
    }

    /// How many URLs have each wish, for [`Constancy::restore`] in a later run.
    #[must_use]
    pub fn summary(&self) -> [u32; 4] {
        std::array::from_fn(|at| self.counts[at] + self.restored[at])
    }

    /// What an earlier run counted. Each count is cut to the most that one run can count.
    #[must_use]
    pub fn restore(counts: [u32; 4]) -> Self {
        Self { restored: counts.map(|count| count.min(URLS_MAX as u32)), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answers_wish_is_its_strictest_word() {
        use Wish::{NoStore, Nothing, Private, Revalidate};
        for (answer, wish) in [
            ("", Nothing),
            ("cache-control: max-age=60", Nothing),
            ("cache-control: public", Nothing),
            ("cache-control:", Nothing),
            ("cache-control: must-revalidate", Nothing),
            ("cache-control: no-cache", Revalidate),
            ("cache-control: max-age=0", Revalidate),
            ("cache-control: s-maxage=0, max-age=60", Revalidate),
            ("cache-control: s-maxage=60, max-age=0", Nothing),
            ("cache-control: post-check=0, pre-check=0", Nothing),
            ("cache-control: private", Private),
            ("cache-control: private, max-age=0, no-cache", Private),
            ("cache-control: private=\"x-a\"", Nothing),
            ("cache-control: no-store", NoStore),
            ("cache-control: private\ncache-control: no-store", NoStore),
            ("cache-control: x=\"", NoStore),
            ("cache-control: max-age=60\npragma: no-cache\nexpires: 0", Nothing),
            ("pragma: no-cache", Revalidate),
            ("pragma: x", Nothing),
            ("expires: 0", Revalidate),
            ("expires: Thu, 19 Nov 1981 08:52:00 GMT", Revalidate),
            ("expires: Thu, 19 Nov 2081 08:52:00 GMT", Nothing),
            (
                "date: Thu, 19 Nov 2081 08:52:00 GMT\nexpires: Thu, 19 Nov 2081 08:52:00 GMT",
                Revalidate,
            ),
            (
                "date: Thu, 19 Nov 2081 08:52:00 GMT\nexpires: Thu, 19 Nov 2081 08:52:01 GMT",
                Nothing,
            ),
            (
                "date: Thu, 19 Nov 1981 08:52:00 GMT\nexpires: Thu, 19 Nov 1981 08:53:00 GMT",
                Nothing,
            ),
        ] {
            assert_eq!(
                Wish::of(&Fields::parse(answer.as_bytes()).expect("valid")),
                wish,
                "{answer:?}"
            );
        }
    }

    /// So many URLs with each wish, and which wishes are then obeyed.
    fn check(counts: [u32; 4], obeyed: [bool; 4]) {
        let mut seen = Constancy::default();
        let mut url_hash = 0;
        for (wish, count) in WISHES.into_iter().zip(counts) {
            for _ in 0..count {
                seen.note(url_hash, wish);
                url_hash += 1;
            }
        }
        assert_eq!(seen.summary(), counts);
        assert_eq!(WISHES.map(|wish| seen.is_obeyed(wish)), obeyed, "{counts:?}");
        let again = Constancy::restore(counts);
        assert_eq!(WISHES.map(|wish| again.is_obeyed(wish)), obeyed, "{counts:?} restored");
    }

    #[test]
    fn what_is_stricter_than_the_sites_way_is_obeyed() {
        let none = [false; 4];
        check([0, 0, 0, 0], none);
        check([4, 0, 0, 0], none);
        check([0, 0, 0, 4], none);
        check([0, 0, 0, 5], none);
        check([5, 0, 0, 0], [false, true, true, true]);
        check([4, 0, 0, 1], [false, true, true, true]);
        check([0, 9, 1, 1], [false, false, true, true]);
        check([0, 0, 10, 1], [false, false, false, true]);
        check([10, 0, 0, 90], none);
        // Just a half is no majority: then the strictest of at least a fifth.
        check([5, 0, 0, 5], none);
        check([6, 0, 0, 5], [false, true, true, true]);
        check([5, 3, 2, 0], [false, false, false, true]);
        check([50, 31, 19, 0], [false, false, true, true]);
        check([4, 4, 1, 1], [false, false, true, true]);
        check([25, 25, 25, 25], none);
    }

    #[test]
    fn a_url_counts_once_with_its_last_wish() {
        let mut seen = Constancy::default();
        for _ in 0..10 {
            seen.note(1, Wish::NoStore);
        }
        assert_eq!(seen.summary(), [0, 0, 0, 1]);
        seen.note(1, Wish::Private);
        assert_eq!(seen.summary(), [0, 0, 1, 0]);
        assert!(!seen.is_obeyed(Wish::NoStore));
    }

    #[test]
    fn no_more_urls_are_remembered_than_there_is_room_for() {
        let mut seen = Constancy::default();
        for url_hash in 0..5_000 {
            seen.note(url_hash, Wish::Nothing);
        }
        assert_eq!(seen.summary(), [4_096, 0, 0, 0]);
        seen.note(0, Wish::NoStore);
        seen.note(4_999, Wish::NoStore);
        assert_eq!(seen.summary(), [4_095, 0, 0, 1]);
    }

    #[test]
    fn new_urls_take_the_places_of_restored_ones() {
        let mut seen = Constancy::restore([0, 1, 0, 6]);
        for (url_hash, wish, summary) in [
            (1, Wish::NoStore, [0, 1, 0, 6]),
            (2, Wish::Nothing, [1, 1, 0, 5]),
            (3, Wish::Revalidate, [1, 1, 0, 5]),
            (4, Wish::Revalidate, [1, 2, 0, 4]),
            (4, Wish::Revalidate, [1, 2, 0, 4]),
            (5, Wish::Nothing, [2, 2, 0, 3]),
            (6, Wish::Nothing, [3, 2, 0, 2]),
            (7, Wish::Nothing, [4, 2, 0, 1]),
            (8, Wish::Nothing, [5, 2, 0, 1]),
        ] {
            seen.note(url_hash, wish);
            assert_eq!(seen.summary(), summary, "{url_hash}");
        }
        assert_eq!(Constancy::restore([u32::MAX; 4]).summary(), [4_096; 4]);
    }
}
