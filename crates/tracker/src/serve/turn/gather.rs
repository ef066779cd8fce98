//! Short rests in which requests by connections come together.
//!
//! A client that brings a connection for one announce costs its accepting, its answer and its
//! closing, and besides a turn of the thread if it has one for itself: waking up, looking for a
//! second client, a write to the local log. Where many come, a moment's rest lets several share
//! those; where it doesn't, it isn't taken.

use std::time::Duration;

/// How long one rest is: less than a client notices.
pub(super) const MOMENT: Duration = Duration::from_micros(250);
/// A turn with so many requests needs no rest before the next one.
const MANY: usize = 16;
/// A rest that brought fewer was for nothing.
const WORTH: usize = 4;
/// Turns without a rest after one that was for nothing.
const SHY_TURNS: u16 = 256;

/// What the last turns had.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Requests of this turn.
    requests: usize,
    has_rested: bool,
    /// Turns until a rest is tried again.
    shy: u16,
}

impl Gathering {
    /// Takes note of a request.
    pub(super) fn note(&mut self) {
        self.requests += 1;
    }

    /// Ends a turn: whether a rest is worth it before the next one.
    pub(super) fn may_rest(&mut self) -> bool {
        let requests = std::mem::take(&mut self.requests);
        if std::mem::take(&mut self.has_rested) && requests < WORTH {
            self.shy = SHY_TURNS;
        }
        if requests == 0 || requests >= MANY {
            return false;
        }
        if self.shy > 0 {
            self.shy -= 1;
            return false;
        }
        self.has_rested = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of these turns is followed by a rest.
    fn rests(gathering: &mut Gathering, turns: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let rest = |requests| {
            (0..requests).for_each(|_| gathering.note());
            gathering.may_rest()
        };
        turns.into_iter().map(rest).collect()
    }

    #[test]
    fn a_rest_is_taken_as_long_as_requests_gather_in_it() {
        let mut gathering = Gathering::default();
        let turns = [1, 4, 8, MANY, 1, 5, 0];
        assert_eq!(
            rests(&mut gathering, turns),
            [true, true, true, false, true, true, false],
            "{turns:?}"
        );
    }

    #[test]
    fn who_asks_alone_waits_once_in_many_turns() {
        let mut gathering = Gathering::default();
        let all = rests(&mut gathering, [1; 1 + 2 * (SHY_TURNS as usize + 1)]);
        let rested: Vec<usize> = (0..all.len()).filter(|&at| all[at]).collect();
        assert_eq!(rested, [0, SHY_TURNS as usize + 1, 2 * (SHY_TURNS as usize + 1)]);
    }
}
