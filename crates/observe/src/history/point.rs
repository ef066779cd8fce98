//! One stretch of time: what happened in it, and how it is written down.
//!
//! A point has one size, so that its place in a file follows from its time. Written counts
//! of times are rounded to the third of a doubling, memory to 64 KiB; all others are exact as
//! far as their fields reach.
//! Invariant: bytes that are not just as they were written are no point.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::histogram::Histogram;

/// Bytes of a written point.
pub const POINT_BYTES: usize = CHECKED_BYTES + 4;
const CHECKED_BYTES: usize = NUMBERS_BYTES + TIMES_BYTES;
/// Bytes of the numbers before the times, in this order: time, requests, hits, errors, memory,
/// marks, seconds covered, bytes, microseconds at the origins.
const NUMBERS: [usize; 9] = [4, 4, 4, 3, 3, 2, 1, 6, 6];
const NUMBERS_BYTES: usize = 33;
/// Both counts of times, four of them in three bytes.
const TIMES_BYTES: usize = 2 * COARSE / 4 * 3;
/// Memory is written in units of 64 KiB.
const MEMORY_BITS: u32 = 16;
/// Buckets of times, each twice as wide as the one before; the first ends at 16 µs.
pub(super) const COARSE: usize = 24;
const FIRST_BITS: u32 = 4;

/// Something that happened, for the line above a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Mark {
    /// Wick began to serve.
    Start = 1,
    /// The settings were read again.
    Reload = 1 << 1,
    /// Pages were purged.
    Purge = 1 << 2,
    /// Something changed behind Wick's back, and pages were swept.
    Sweep = 1 << 3,
    /// Somebody was alarmed.
    Alert = 1 << 4,
    /// The clock was set back.
    Clock = 1 << 5,
    /// What was learned was overruled, or that was taken back.
    Overrule = 1 << 6,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Reload,
        Self::Purge,
        Self::Sweep,
        Self::Alert,
        Self::Clock,
        Self::Overrule,
    ];
}

/// What happened in a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// When it begins, in seconds since 1970.
    pub time: u64,
    /// For how many seconds of it something was noted.
    pub covered: u64,
    /// Answers.
    pub requests: u64,
    /// Those that came from memory.
    pub hits: u64,
    /// Those with a status of 500 or more.
    pub errors: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// How long places at the origins were held, in microseconds.
    pub origin_us: u64,
    /// The most that the process held in memory, in bytes.
    pub memory_bytes: u64,
    /// The [`Mark`]s of what happened, added up.
    pub marks: u16,
    /// How long the answers took that are HTML.
    pub html: Times,
    /// How long all others took.
    pub other: Times,
}

/// Counts of times, coarser than a [`Histogram`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times([u64; COARSE]);

impl Times {
    /// The same times as somebody else counted them.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let mut times = Self::default();
        for (begin, _, count) in histogram.buckets() {
            let doublings =
                begin.checked_ilog2().map_or(0, |bits| (bits + 1).saturating_sub(FIRST_BITS));
            times.0[(doublings as usize).min(COARSE - 1)] += count;
        }
        times
    }

    fn merge(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(&other.0) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The time that this share of all did not exceed, in microseconds, as if those of one
    /// bucket were spread evenly over it; none where nothing was counted.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let rank = self.count() as f64 * share.clamp(0.0, 1.0);
        let mut passed = 0.0;
        for (at, count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let next = passed + *count as f64;
            if next >= rank {
                let begin = if at == 0 { 0.0 } else { (8_u64 << at) as f64 };
                let end = (16_u64 << at) as f64;
                return Some((begin + (end - begin) * (rank - passed) / *count as f64) as u64);
            }
            passed = next;
        }
        None
    }
}

impl Point {
    /// How long all answers took.
    #[must_use]
    pub fn times(&self) -> Times {
        let mut all = self.html.clone();
        all.merge(&self.other);
        all
    }

    /// Notes that something happened.
    pub fn mark(&mut self, mark: Mark) {
        self.marks |= mark as u16;
    }

    /// Whether that happened.
    #[must_use]
    pub fn has(&self, mark: Mark) -> bool {
        self.marks & mark as u16 != 0
    }

    /// Adds what happened in another stretch; this one's beginning stays.
    pub fn merge(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.covered, other.covered),
            (&mut self.requests, other.requests),
            (&mut self.hits, other.hits),
            (&mut self.errors, other.errors),
            (&mut self.bytes, other.bytes),
            (&mut self.origin_us, other.origin_us),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.marks |= other.marks;
        self.html.merge(&other.html);
        self.other.merge(&other.other);
    }

    /// The point as it is written into this place of a file.
    pub(super) fn write(&self, place: u64) -> [u8; POINT_BYTES] {
        let mut bytes = Vec::with_capacity(POINT_BYTES);
        let marks = u64::from(self.marks);
        let numbers = [
            self.time,
            self.requests,
            self.hits,
            self.errors,
            self.memory_bytes >> MEMORY_BITS,
            marks,
            self.covered,
            self.bytes,
            self.origin_us,
        ];
        for (number, length) in numbers.into_iter().zip(NUMBERS) {
            put(&mut bytes, number, length);
        }
        for times in [&self.html, &self.other] {
            for four in times.0.chunks_exact(4) {
                let codes = four.iter().fold(0, |codes, count| codes << 6 | rounded(*count));
                put(&mut bytes, codes, 3);
            }
        }
        bytes.extend(sum_of(&bytes, place));
        let mut written = [0; POINT_BYTES];
        written.copy_from_slice(&bytes);
        written
    }

    /// Reads a point that was written into this place; none if it isn't whole, or another's.
    pub(super) fn read(bytes: &[u8], place: u64) -> Option<Self> {
        let (checked, sum) = bytes.split_at_checked(CHECKED_BYTES)?;
        if sum != sum_of(checked, place) {
            return None;
        }
        let mut rest = checked;
        let mut next = |length: usize| -> u64 {
            let (bytes, after) = rest.split_at(length.min(rest.len()));
            rest = after;
            bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let [time, requests, hits, errors, memory, marks, covered, bytes, origin_us] =
            NUMBERS.map(&mut next);
        let [html, other] = [(); 2].map(|()| {
            let mut times = Times::default();
            for four in times.0.chunks_exact_mut(4) {
                let codes = next(3);
                four.iter_mut().zip([18, 12, 6, 0]).for_each(|(count, bits)| {
                    *count = unrounded(codes >> bits & 63);
                });
            }
            times
        });
        let (marks, memory_bytes) = (marks as u16, memory << MEMORY_BITS);
        Some(Self {
            time,
            covered,
            requests,
            hits,
            errors,
            bytes,
            origin_us,
            memory_bytes,
            marks,
            html,
            other,
        })
    }
}

/// A number in so many bytes, or the largest that they hold.
fn put(bytes: &mut Vec<u8>, number: u64, length: usize) {
    let number = number.min(u64::MAX >> (64 - 8 * length as u32));
    bytes.extend_from_slice(&number.to_le_bytes()[..length]);
}

/// By which a point is known to be as it was written, and into this place.
fn sum_of(bytes: &[u8], place: u64) -> [u8; 4] {
    (xxh3_64_with_seed(bytes, place) as u32).to_le_bytes()
}

/// What a count in six bits says: up to eight exactly, then three to a doubling.
const COUNTS: [u64; 64] = {
    let mut counts = [0; 64];
    let mut code = 0;
    while code < counts.len() {
        counts[code] = match code {
            0..8 => code as u64,
            _ => [100, 126, 159][(code - 8) % 3] * (8 << ((code - 8) / 3)) / 100,
        };
        code += 1;
    }
    counts
};

/// The code of the count that is nearest.
fn rounded(count: u64) -> u64 {
    let above = COUNTS.partition_point(|known| *known < count);
    let code = match (above.checked_sub(1), COUNTS.get(above)) {
        (Some(below), Some(next)) if count - COUNTS[below] < next - count => below,
        (Some(below), None) => below,
        _ => above,
    };
    code as u64
}

fn unrounded(code: u64) -> u64 {
    COUNTS.get(code as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Point {
        let mut times = Histogram::default();
        for time in [3, 3, 100, 5000, 70_000_000] {
            times.add(time);
        }
        let mut others = Histogram::default();
        others.add_many(20, 12);
        let mut point = Point {
            time: 1_789_000_000,
            covered: 10,
            requests: 5,
            hits: 2,
            errors: 1,
            bytes: 1 << 40,
            origin_us: 1 << 41,
            memory_bytes: 64 << 20,
            marks: 0,
            html: Times::of(&times),
            other: Times::of(&others),
        };
        point.mark(Mark::Reload);
        point
    }

    #[test]
    fn a_point_is_read_as_it_was_written_and_only_in_its_place() {
        let written = point().write(7);
        assert_eq!(Point::read(&written, 7), Some(point()));
        assert_eq!(Point::read(&written, 8), None);
        assert!(point().has(Mark::Reload) && !point().has(Mark::Purge));
    }

    #[test]
    fn a_point_with_any_bit_flipped_or_cut_anywhere_is_none() {
        let written = point().write(7);
        for bit in 0..POINT_BYTES * 8 {
            let mut flipped = written;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Point::read(&flipped, 7), None, "bit {bit}");
        }
        for length in 0..POINT_BYTES {
            assert_eq!(Point::read(&written[..length], 7), None);
        }
        assert_eq!(Point::read(&[0; POINT_BYTES], 0), None, "a hole in the file");
    }

    #[test]
    fn counts_are_rounded_by_less_than_an_eighth_and_only_once() {
        for count in [0, 1, 7, 8, 9, 11, 15, 16, 17, 100, 999, 123_456, 2_600_000] {
            let read = unrounded(rounded(count));
            assert!(read.abs_diff(count) <= count / 8, "{count} {read}");
            assert_eq!(unrounded(rounded(read)), read);
        }
        assert_eq!(rounded(u64::MAX), 63);
        assert!(COUNTS.windows(2).all(|pair| pair[0] < pair[1]), "{COUNTS:?}");
    }

    #[test]
    fn what_a_field_does_not_reach_is_the_most_that_it_holds() {
        let most = Point { errors: 1 << 40, bytes: u64::MAX, covered: 300, ..point() };
        let read = Point::read(&most.write(7), 7).expect("it is whole");
        assert_eq!((read.errors, read.bytes), ((1 << 24) - 1, (1 << 48) - 1));
        assert_eq!((read.covered, read.hits), (255, 2), "the fields beside them are as they were");
    }

    #[test]
    fn percentiles_of_merged_points_are_those_of_all_answers() {
        let (mut fast, mut slow) = (Histogram::default(), Histogram::default());
        fast.add_many(20, 900);
        slow.add_many(40_000, 100);
        let mut sum = Point { html: Times::of(&fast), ..Point::default() };
        sum.merge(&Point { other: Times::of(&slow), ..Point::default() });
        let at = |share| sum.times().percentile(share).expect("some");
        assert!((16..32).contains(&at(0.5)) && (16..=32).contains(&at(0.9)), "{}", at(0.9));
        assert!((32_768..65_536).contains(&at(0.95)) && at(0.99) > at(0.95));
        assert!(sum.html.percentile(0.99).is_some_and(|time| time < 32));
        assert!(sum.other.percentile(0.01).is_some_and(|time| time >= 32_768));
        assert_eq!(Times::default().percentile(0.5), None);
    }
}
