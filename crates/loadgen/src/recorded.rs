//! What was asked once, and when: kept in few bytes, so that a log's length is no matter.
//!
//! A request is made from its text each time it is asked. A log of a million lines takes 8 MB
//! for its moments, and as much as its different addresses are long, but at most
//! [`TEXT_BYTES_MAX`].

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::request::{Request, RequestError, Wanted};
use crate::target::Target;

/// More requests of a log aren't played.
pub const REQUESTS_MAX: usize = 1_000_000;
/// Nor are addresses that are longer together.
pub const TEXT_BYTES_MAX: usize = 6 << 20;
/// A moment's lower bits are which request it is; above them are microseconds.
const NUMBER_BITS: u32 = 20;
/// No moment is later: half a year.
pub const TIME_MAX: Duration = Duration::from_secs(183 * 86_400);

const _: () = assert!(REQUESTS_MAX <= 1 << NUMBER_BITS);
const _: () = assert!(TIME_MAX.as_micros() < 1 << (u64::BITS - NUMBER_BITS));

/// Different requests: GET or HEAD, each with its path.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// A letter for the method and the path, of one after the other.
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Recorded {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn text(&self, number: u32) -> &str {
        let number = number as usize;
        let begin = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let begin = begin.map_or(0, |end| *end as usize);
        let end = self.ends.get(number).map_or(begin, |end| *end as usize);
        &self.text[begin..end]
    }

    /// One of them.
    #[must_use]
    pub fn wanted(&self, number: u32) -> Wanted {
        let text = self.text(number);
        let is_head = text.starts_with('H');
        let method = if is_head { "HEAD" } else { "GET" }.to_owned();
        Wanted { method, ..Wanted::get(text.get(1..).unwrap_or("/")) }
    }

    /// One of them, as bytes.
    ///
    /// # Errors
    /// It may not be sent.
    pub fn request(
        &self,
        number: u32,
        target: &Target,
        keeps: bool,
    ) -> Result<Request, RequestError> {
        Request::new(self.wanted(number), target, keeps)
    }
}

/// Makes [`Recorded`]: each request that is told more than once is kept once.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    recorded: Recorded,
    /// Numbers by the hash of their text, each at its place or the next free one behind it. A
    /// map would keep hashes or texts beside them, and be larger than the texts are.
    places: Vec<u32>,
    hashes: RandomState,
}

/// A place without a number.
const FREE: u32 = u32::MAX;

impl Recorder {
    /// The number of a request; none where there is no room for it.
    pub(crate) fn number(&mut self, is_head: bool, path: &str) -> Option<u32> {
        if self.recorded.len() * 4 >= self.places.len() * 3 {
            self.grow();
        }
        let letter = if is_head { 'H' } else { 'G' };
        let mut place = self.place_of(is_head, path);
        // A quarter of the places is free, so this ends.
        while self.places[place] != FREE {
            let number = self.places[place];
            if self.recorded.text(number).strip_prefix(letter).is_some_and(|own| own == path) {
                return Some(number);
            }
            place = (place + 1) % self.places.len();
        }
        let Recorded { text, ends } = &mut self.recorded;
        if text.len() + 1 + path.len() > TEXT_BYTES_MAX {
            return None;
        }
        text.push(letter);
        text.push_str(path);
        let number = u32::try_from(ends.len()).ok()?;
        ends.push(u32::try_from(text.len()).ok()?);
        self.places[place] = number;
        Some(number)
    }

    fn place_of(&self, is_head: bool, path: &str) -> usize {
        let hash = self.hashes.hash_one((is_head, path));
        hash as usize % self.places.len()
    }

    /// Makes twice as many places.
    fn grow(&mut self) {
        let count = (self.places.len() * 2).max(1 << 10);
        self.places.clear();
        self.places.shrink_to_fit();
        self.places.resize(count, FREE);
        for number in (0..self.recorded.len()).filter_map(|number| u32::try_from(number).ok()) {
            let text = self.recorded.text(number);
            let mut place = self.place_of(text.starts_with('H'), text.get(1..).unwrap_or(""));
            while self.places[place] != FREE {
                place = (place + 1) % count;
            }
            self.places[place] = number;
        }
    }

    pub(crate) fn finish(self) -> Recorded {
        let mut recorded = self.recorded;
        recorded.text.shrink_to_fit();
        recorded.ends.shrink_to_fit();
        recorded
    }
}

/// Moments since the beginning, in their order, each of one of several requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments(Vec<u64>);

impl Moments {
    /// One more, which is not before the last; to the microsecond. One that is later than
    /// [`TIME_MAX`] is then.
    pub fn push(&mut self, after: Duration, number: u32) {
        self.0.push(pack(after, number));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one at this place, and which request it is of.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<(Duration, u32)> {
        self.0.get(place).map(|packed| unpack(*packed))
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<(Duration, u32)> {
        self.0.last().map(|packed| unpack(*packed))
    }

    /// The most within a second, counted from the beginning.
    #[must_use]
    pub fn busiest(&self) -> usize {
        let second = |packed: &u64| unpack(*packed).0.as_secs();
        let seconds = self.0.chunk_by(|one, other| second(one) == second(other));
        seconds.map(<[_]>::len).max().unwrap_or(0)
    }
}

fn pack(after: Duration, number: u32) -> u64 {
    let micros = after.min(TIME_MAX).as_micros() as u64;
    (micros << NUMBER_BITS) | u64::from(number)
}

fn unpack(packed: u64) -> (Duration, u32) {
    let number = packed & ((1 << NUMBER_BITS) - 1);
    (Duration::from_micros(packed >> NUMBER_BITS), number as u32)
}

/// Seconds of a log, each with a request, in the order of its lines.
#[derive(Debug)]
pub(crate) struct Seconds(Vec<u64>);

impl Seconds {
    /// With room for all that may come: what isn't used is never touched, and takes no memory,
    /// while to make room as they come would take half as much again.
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(REQUESTS_MAX))
    }

    /// A request in this second since 1970; one before that, or after 2106, is of that time.
    pub(crate) fn push(&mut self, second: i64, number: u32) {
        let second = u64::from(u32::try_from(second.max(0)).unwrap_or(u32::MAX));
        self.0.push((second << u32::BITS) | u64::from(number));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Moments since the first, `speed` times as fast; those of a second are spread over it.
    pub(crate) fn spread(self, speed: f64) -> Moments {
        let Self(mut lines) = self;
        let second_of = |line: u64| line >> u32::BITS;
        // Servers write a line when a request is over; those that took longer come later.
        lines.sort_by_key(|line| second_of(*line));
        let first = lines.first().map_or(0, |line| second_of(*line));
        let same = |one: &u64, other: &u64| second_of(*one) == second_of(*other);
        for lines in lines.chunk_by_mut(same) {
            let count = lines.len() as f64;
            for (place, line) in lines.iter_mut().enumerate() {
                let seconds = (second_of(*line) - first) as f64 + place as f64 / count;
                let after = Duration::try_from_secs_f64(seconds / speed).unwrap_or(TIME_MAX);
                *line = pack(after, *line as u32);
            }
        }
        Moments(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_once_and_made_again() {
        let mut recorder = Recorder::default();
        let mut number = |is_head, path| recorder.number(is_head, path);
        let told = [(false, "/a"), (true, "/a"), (false, "/"), (false, "/a"), (true, "/a")];
        let numbers = told.map(|(is_head, path)| number(is_head, path));
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(0), Some(1)]);
        let recorded = recorder.finish();
        let made: Vec<_> = (0..3).map(|number| recorded.wanted(number)).collect();
        let made: Vec<_> = made.iter().map(|one| (&one.method[..], &one.path[..])).collect();
        assert_eq!(made, [("GET", "/a"), ("HEAD", "/a"), ("GET", "/")]);
    }

    #[test]
    fn many_are_each_kept_once() {
        let mut recorder = Recorder::default();
        for _ in 0..2 {
            for one in 0..20_000u32 {
                let path = format!("/{}", one / 2);
                assert_eq!(recorder.number(one % 2 == 1, &path), Some(one), "{path}");
            }
        }
        assert_eq!(recorder.finish().len(), 20_000);
    }

    #[test]
    fn there_is_room_for_so_many_bytes_of_addresses() {
        let mut recorder = Recorder::default();
        let long = "/".repeat(1 << 20);
        let kept = (0..10).filter_map(|one| recorder.number(false, &format!("{long}{one}")));
        assert_eq!(kept.count(), 5);
        assert_eq!(recorder.number(false, &format!("{long}4")), Some(4), "it is there already");
        assert_eq!(recorder.number(false, "/short"), Some(5));
    }

    #[test]
    fn moments_are_exact_to_the_microsecond() {
        let mut moments = Moments::default();
        let last = (REQUESTS_MAX - 1) as u32;
        let all = [(0, 0), (1, 7), (999_999, last), (1_000_000, 3), (1_500_000, 3)];
        all.iter().for_each(|(us, number)| moments.push(Duration::from_micros(*us), *number));
        moments.push(TIME_MAX * 2, last);
        for (place, (us, number)) in all.into_iter().enumerate() {
            assert_eq!(moments.at(place), Some((Duration::from_micros(us), number)));
        }
        assert_eq!(moments.last(), Some((TIME_MAX, last)));
        assert_eq!((moments.len(), moments.busiest(), moments.at(6)), (6, 3, None));
    }
}
