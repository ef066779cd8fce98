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
/// Turns without a rest after many that were for nothing, at most.
const SHY_TURNS_MAX: u16 = 256;

/// What the last turns had.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Requests of this turn.
    requests: usize,
    has_rested: bool,
    /// Turns until a rest is tried again, and how many there are after the next one that is for
    /// nothing: twice as many each time.
    shy: u16,
    next_shy: u16,
}

impl Gathering {
    /// Takes note of a request.
    pub(super) fn note(&mut self) {
        self.requests += 1;
    }

    /// Ends a turn: whether a rest is worth it before the next one.
    pub(super) fn may_rest(&mut self) -> bool {
        let requests = std::mem::take(&mut self.requests);
        if std::mem::take(&mut self.has_rested) {
            let was_for_nothing = requests < WORTH;
            self.shy = if was_for_nothing { self.next_shy } else { 0 };
            self.next_shy = match was_for_nothing {
                true => (2 * self.next_shy).clamp(1, SHY_TURNS_MAX),
                false => 0,
            };
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
    fn who_asks_alone_waits_ever_less_often() {
        let mut gathering = Gathering::default();
        let all = rests(&mut gathering, [1; 2000]);
        let rested: Vec<usize> = (0..all.len()).filter(|&at| all[at]).collect();
        let turns: Vec<usize> = rested.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(turns, [1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 257, 257, 257, 257, 257]);
        // What comes together is found again, and the first time that it doesn't costs nothing.
        assert_eq!(rests(&mut gathering, [WORTH; 300])[298..], [true, true]);
        assert_eq!(rests(&mut gathering, [1, 1, 1]), [true, false, true]);
    }
}
