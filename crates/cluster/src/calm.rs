//! Calm: between which moments no other node asked what is behind a source for anything. Pure.
//!
//! What a database tells is attributed to who asked the site at that moment, and others ask it
//! too. Each node says with each word how many requests it has begun, and whether all of them
//! have long ended. Two such words with the same number, both quiet, have nothing between them.
//! The first one held when it came; the later one was said by a node that had heard this node's
//! own word up to a place, so it held after this node had said that. So all moments are of this
//! node's clock, as in [`crate::hearing`], and nobody asks what time it is.
//! Invariant: until [`Calm::until_ms`] everything is heard that the stream had when this node spoke,
//! so a node that began before that moment is known.
//! Bound: [`KEYS_MAX`] sources of each node; of others it is taken that they are never quiet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hearing::Run;

/// Sources of one node that are remembered.
const KEYS_MAX: usize = 64;

/// What a node asks of what is behind a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests that ever began.
    pub begun: u64,
    /// Whether none is under way, and what the last ones did has long come.
    pub is_quiet: bool,
}

/// The same, said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Asks {
    /// The source, by the name that all nodes have for it.
    pub key: String,
    /// Requests that ever began.
    pub begun: u64,
    /// Whether none is under way.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_quiet: bool,
    /// Whether it wants the others to be quiet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hushes: bool,
}

/// When the others asked for nothing, by this node's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calm {
    /// From this tick on…
    pub since_ms: u64,
    /// …until this one.
    pub until_ms: u64,
    /// Whether all others were quiet when they last spoke.
    pub is_now: bool,
    /// Who wants the others to be quiet.
    pub hushed_by: Vec<String>,
}

/// What was heard of all others.
#[derive(Debug, Default)]
pub(crate) struct Calms {
    runs: BTreeMap<Run, Heard>,
    /// When a node was last there no more.
    left_ms: u64,
}

/// What was heard of one.
#[derive(Debug, Default)]
struct Heard {
    /// Whether its version says what it asks for.
    says: bool,
    /// Up to where it had heard when it last spoke; zero: not known.
    place: u64,
    /// Since when it has the sources that it has.
    since_ms: u64,
    asks: BTreeMap<String, Quiet>,
}

#[derive(Debug, PartialEq)]
struct Quiet {
    begun: u64,
    is_quiet: bool,
    hushes: bool,
    /// When it was first heard that it is so.
    since_ms: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(is: &bool) -> bool {
    !is
}

impl Calms {
    /// A run speaks, having heard up to `place`.
    pub(crate) fn take(&mut self, run: &Run, asks: Option<Vec<Asks>>, place: u64, ticks_ms: u64) {
        let other = self.runs.entry(run.clone()).or_default();
        let has_said = other.says;
        (other.says, other.place) = (asks.is_some(), place);
        let mut asks = asks.unwrap_or_default();
        // Of whom more is said than is remembered nothing is believed.
        other.says &= asks.len() <= KEYS_MAX;
        asks.truncate(KEYS_MAX);
        let is_same = asks.len() == other.asks.len()
            && asks.iter().all(|one| other.asks.contains_key(&one.key));
        if !has_said || !is_same {
            other.since_ms = ticks_ms;
        }
        other.asks.retain(|key, _| asks.iter().any(|one| one.key == *key));
        for Asks { key, begun, is_quiet, hushes } in asks {
            let known = other.asks.get(&key);
            let same = known.filter(|known| known.begun == begun && known.is_quiet && is_quiet);
            let since_ms = same.map_or(ticks_ms, |known| known.since_ms);
            other.asks.insert(key, Quiet { begun, is_quiet, hushes, since_ms });
        }
    }

    /// Only these are there.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&Run) -> bool, ticks_ms: u64) {
        let before = self.runs.len();
        self.runs.retain(|run, _| is_there(run));
        if self.runs.len() < before {
            self.left_ms = ticks_ms;
        }
    }

    /// Places of the stream mean nothing any more.
    pub(crate) fn begin_anew(&mut self) {
        self.runs.values_mut().for_each(|other| other.place = 0);
    }

    /// When all of `others` asked what is behind this source for nothing. `ticks_of` says at which
    /// moment the stream was at a place at the earliest, and this node spoke last at `spoke_ms`.
    pub(crate) fn calm<'a>(
        &self,
        key: &str,
        others: impl Iterator<Item = &'a Run>,
        ticks_of: impl Fn(u64) -> u64,
        spoke_ms: u64,
    ) -> Calm {
        let mut calm = Calm {
            since_ms: self.left_ms,
            until_ms: spoke_ms,
            is_now: true,
            hushed_by: Vec::new(),
        };
        for run in others {
            // Known by name alone, or of a version that doesn't say.
            let Some(other) = self.runs.get(run).filter(|other| other.says) else {
                calm.is_now = false;
                calm.until_ms = 0;
                continue;
            };
            let quiet = other.asks.get(key);
            let (since_ms, is_quiet) =
                quiet.map_or((other.since_ms, true), |quiet| (quiet.since_ms, quiet.is_quiet));
            calm.since_ms = calm.since_ms.max(since_ms);
            calm.until_ms = calm.until_ms.min(ticks_of(other.place));
            calm.is_now &= is_quiet;
            if !is_quiet {
                calm.until_ms = 0;
            }
            if quiet.is_some_and(|quiet| quiet.hushes) {
                calm.hushed_by.push(run.0.clone());
            }
        }
        calm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another node says these, one after the other: how far it had heard, how many requests it
    /// had begun, and whether it was quiet. A place is as many ticks old as it says.
    fn calm(said: &[(u64, u64, u64, bool)]) -> Calm {
        let (mut calms, run) = (Calms::default(), ("b".to_owned(), 7));
        for &(ticks_ms, place, begun, is_quiet) in said {
            let asks = Asks { key: "db".into(), begun, is_quiet, hushes: false };
            calms.take(&run, Some(vec![asks]), place, ticks_ms);
        }
        calms.calm("db", [&run].into_iter(), |place| place, 1000)
    }

    fn check(said: &[(u64, u64, u64, bool)], expected: (u64, u64, bool)) {
        let Calm { since_ms, until_ms, is_now, .. } = calm(said);
        assert_eq!((since_ms, until_ms, is_now), expected, "{said:?}");
    }

    #[test]
    fn between_two_quiet_words_with_one_number_nobody_asked() {
        check(&[(100, 90, 3, true)], (100, 90, true));
        check(&[(100, 90, 3, true), (200, 190, 3, true), (300, 290, 3, true)], (100, 290, true));
        check(&[(100, 90, 3, true), (200, 190, 4, true)], (200, 190, true));
        check(&[(100, 90, 3, true), (200, 190, 4, false)], (200, 0, false));
        check(&[(100, 90, 4, false), (200, 190, 4, true)], (200, 190, true));
        // It began to ask and ended between two words: the number tells.
        check(&[(100, 90, 3, true), (200, 190, 9, true), (300, 290, 9, true)], (200, 290, true));
    }

    #[test]
    fn who_comes_goes_or_does_not_say_is_no_calm() {
        let (mut calms, run) = (Calms::default(), ("b".to_owned(), 7));
        let alone = |calms: &Calms| calms.calm("db", std::iter::empty(), |place| place, 1000);
        assert_eq!(alone(&calms), Calm { until_ms: 1000, is_now: true, ..Calm::default() });
        let of = |calms: &Calms| calms.calm("db", [&run].into_iter(), |place| place, 1000);
        assert_eq!((of(&calms).until_ms, of(&calms).is_now), (0, false), "it is known by name");
        calms.take(&run, None, 90, 100);
        assert_eq!((of(&calms).until_ms, of(&calms).is_now), (0, false), "it doesn't say");
        calms.take(&run, Some(Vec::new()), 190, 200);
        assert_eq!((of(&calms).since_ms, of(&calms).until_ms), (200, 190), "it hasn't the source");
        let hushes = Asks { key: "db".into(), begun: 1, is_quiet: true, hushes: true };
        calms.take(&run, Some(vec![hushes]), 290, 300);
        let Calm { since_ms, hushed_by, .. } = of(&calms);
        assert_eq!((since_ms, hushed_by), (300, vec!["b".to_owned()]), "it has it since");
        calms.keep(|_| false, 400);
        assert_eq!((alone(&calms).since_ms, alone(&calms).until_ms), (400, 1000));
        calms.take(&run, Some(Vec::new()), 490, 500);
        calms.begin_anew();
        assert_eq!(of(&calms).until_ms, 0);
    }
}
