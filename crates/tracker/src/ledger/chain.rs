//! The announces of one session as several trackers write them, and what one more of them adds.
//!
//! What a session is owed is what its counters climbed for certain, by all announces that are known:
//! [`climbs`](super::climbs). An announce adds what that grows by with it. So it may be written
//! late, because its tracker was cut off or dead, and in any order with others.
//!
//! Pure. Invariants: 1. the sum over all that [`insert`] said is what all that was inserted climbed,
//! in whichever order they came, and never more than the client did; but a pause may count as seeding
//! where the end before it comes late. 2. each counter is for itself, and nothing is ever taken back.
//! 3. where clocks don't tell which of two announces was first, nothing is credited that depends on
//! it, until others tell.

pub(crate) use super::climbs::{CLOCKS_SECONDS, GAP_SECONDS};
use super::climbs::{Sums, walk};

/// In a second, so that there is room between two.
pub(crate) const PLACES: u64 = 1 << 20;
/// Between two of one second.
const STEP: u64 = 1 << 10;
/// Seeding may go on unseen for so long: the longest interval and what it is waited beyond.
const SEEDING_GAP_SECONDS: u64 = 2 * 3600;

/// An announce in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Unix seconds, in [`PLACES`]; no two of a session have the same.
    pub(crate) place: u64,
    /// Whose.
    pub(crate) node: u64,
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) is_complete: bool,
    pub(crate) has_started: bool,
    pub(crate) has_stopped: bool,
}

/// What is added, as told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) seeded_seconds: u64,
    pub(crate) completed: u64,
}

impl Row {
    /// By its tracker's clock.
    pub(super) fn seconds(&self) -> u64 {
        self.place / PLACES
    }
}

/// Puts an announce into its place among those of its session; says which, and what that adds. None if
/// it is from `floor` or before, of which only what stands for it is kept: what was there isn't known
/// any more, and nothing is added. None as well, and it isn't kept, where a client says so much within
/// seconds to several trackers that none of it stands for the rest.
pub(crate) fn insert(rows: &mut Vec<Row>, row: Row, floor: u64) -> Option<(Row, Link)> {
    if row.place <= floor {
        return None;
    }
    let row = placed(rows, &row);
    // What stands for all before it is enough to know of that.
    let from = needed(rows, row.place.saturating_sub(PLACES));
    let at = rows.partition_point(|known| known.place < row.place);
    let before = walk(&rows[from..]);
    let seeded_seconds = seeded(rows, at, &row);
    rows.insert(at, row);
    let after = walk(&rows[from..]);
    if after.is_crowded && !before.is_crowded {
        rows.remove(at);
        return None;
    }
    let [uploaded, downloaded, completed] = grown(&before.sums, &after.sums);
    Some((row, Link { uploaded, downloaded, seeded_seconds, completed }))
}

/// From which on rows are needed, where all that is still to come lies behind `floor`.
pub(crate) fn needed(rows: &[Row], floor: u64) -> usize {
    let is_clear = |at: &&usize| rows[**at].seconds() + CLOCKS_SECONDS <= floor / PLACES;
    walk(rows).stands.iter().rev().find(is_clear).copied().unwrap_or(0)
}

/// The row in a place that no other has, behind what its own tracker was told before it.
fn placed(rows: &[Row], row: &Row) -> Row {
    let own = rows.iter().rfind(|known| known.node == row.node);
    let mut place = own.map_or(row.place, |own| row.place.max(own.place + STEP));
    while rows.iter().any(|known| known.place == place) {
        place += STEP;
    }
    Row { place, ..*row }
}

fn grown(before: &Sums, after: &Sums) -> [u64; 3] {
    let grown = |at: usize| after[at].saturating_sub(before[at]);
    [0, 1, 2].map(|at| u64::try_from(grown(at)).unwrap_or(u64::MAX))
}

/// By how much a row at a place adds to the seconds seeded: what was between its neighbours becomes
/// what is between them and it.
fn seeded(rows: &[Row], at: usize, row: &Row) -> u64 {
    let (before, after) = (at.checked_sub(1).map(|at| rows[at]), rows.get(at).copied());
    let between = |one: Option<Row>, other: Option<Row>| {
        one.zip(other).map_or(0, |(one, other)| seconds_between(&one, &other))
    };
    let more = between(before, Some(*row)) + between(Some(*row), after);
    more.saturating_sub(between(before, after))
}

fn seconds_between(before: &Row, after: &Row) -> u64 {
    let seconds = after.seconds() - before.seconds();
    let has_seeded = before.is_complete && after.is_complete && !before.has_stopped;
    if has_seeded && seconds <= SEEDING_GAP_SECONDS { seconds } else { 0 }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod stories;

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn row(seconds: u64, node: u64, uploaded: u64) -> Row {
        Row {
            place: seconds * PLACES,
            node,
            uploaded,
            downloaded: 0,
            is_complete: false,
            has_started: false,
            has_stopped: false,
        }
    }

    fn started(seconds: u64, node: u64) -> Row {
        Row { has_started: true, ..row(seconds, node, 0) }
    }

    fn stopped(seconds: u64, node: u64, uploaded: u64) -> Row {
        Row { has_stopped: true, ..row(seconds, node, uploaded) }
    }

    /// What each of these adds in this order.
    fn check(name: &str, written: &[Row], expected: &[Option<u64>]) {
        let mut rows = Vec::new();
        let added: Vec<_> = written
            .iter()
            .map(|row| insert(&mut rows, *row, 5 * PLACES).map(|(_, link)| link.uploaded))
            .collect();
        assert_eq!(added, expected, "{name}");
        assert!(rows.is_sorted_by(|one, other| one.place < other.place), "{name}");
    }

    #[test]
    fn what_a_late_announce_adds() {
        let (a, b) = (1, 2);
        let some = |added: &[u64]| -> Vec<_> { added.iter().copied().map(Some).collect() };
        check("in turn", &[row(10, a, 5), row(20, b, 9)], &some(&[0, 4]));
        let late = [row(10, a, 5), row(30, b, 9), row(20, a, 7)];
        check("between is credited already", &late, &some(&[0, 4, 0]));
        let restarted = [row(10, a, 5), row(900, b, 6), row(20, a, 9), started(30, a)];
        check("a run that nobody knew of", &restarted, &some(&[0, 1, 3, 6]));
        check(
            "a stop and a start",
            &[row(10, a, 5), started(21, b), stopped(20, a, 9)],
            &some(&[0, 0, 4]),
        );
        let within = [row(10, a, 5), stopped(20, a, 9), started(20, b), row(900, b, 2)];
        check("an end and a start within a second", &within, &some(&[0, 4, 0, 2]));
        let within = [row(10, a, 5), started(20, b), stopped(20, a, 9), row(900, b, 2)];
        check("the same, told the other way round", &within, &some(&[0, 0, 4, 2]));
        let clocks = [row(10, a, 5), row(30, a, 9), row(29, b, 12), row(600, b, 13)];
        check("a clock that is behind", &clocks, &some(&[0, 4, 3, 1]));
        let clocks = [row(10, a, 5), row(30, a, 9), row(31, b, 7), row(600, b, 13)];
        check("a clock that is ahead", &clocks, &some(&[0, 4, 0, 4]));
        let one_second =
            [row(20, b, 100), row(20, 3, 400), row(25, b, 600), started(19, a), row(20, a, 250)];
        let one_second = [&one_second[..], &[row(20, a, 500)]].concat();
        check("three trackers in one second", &one_second, &some(&[0, 0, 500, 100, 0, 0]));
        let next = [row(10, b, 0), row(20, b, 600), stopped(21, a, 601)];
        check("an end as the next second begins", &next, &some(&[0, 600, 1]));
        let next = [row(20, b, 0), row(20, b, 600), row(21, a, 601), row(900, b, 602)];
        check("the last is in doubt, until the next", &next, &some(&[0, 600, 0, 2]));
        check("the same twice", &[row(10, a, 5), row(10, b, 5), row(10, a, 6)], &some(&[0, 0, 1]));
        check("too late", &[row(10, a, 5), row(5, b, 3)], &[Some(0), None]);
    }

    /// A client's own story: what it did in all, and what it announced, also several times within a
    /// second if that `is_close`.
    fn story(dice: &mut StdRng, is_close: bool) -> (u64, Vec<Row>) {
        let (mut seconds, mut counter, mut total) = (1_000, 0, 0);
        let mut said = vec![started(seconds, 0)];
        for _ in 0..dice.random_range(1..30) {
            let more = dice.random_range(0..1_000);
            (counter, total) = (counter + more, total + more);
            // Clocks tell a start from what comes after it.
            let least = match said.last().is_some_and(|row| row.has_started || row.has_stopped) {
                true => 10,
                false => u64::from(!is_close),
            };
            // Often at once, as by both families of addresses.
            let most = if dice.random_bool(0.3) { 12 } else { 3_000 };
            seconds += dice.random_range(least..most);
            let node = dice.random_range(0..3);
            if dice.random_bool(0.2) {
                // And an end from what comes within the second before it.
                seconds += if is_close { 10 } else { 0 };
                said.push(stopped(seconds, node, counter));
                (counter, seconds) = (0, seconds + dice.random_range(10..400));
                said.push(started(seconds, dice.random_range(0..3)));
            } else {
                said.push(row(seconds, node, counter));
            }
        }
        (total, said)
    }

    #[test]
    fn each_byte_counts_once_in_whichever_order_it_is_written() {
        for (seed, is_close) in (0..2_000).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut dice = StdRng::seed_from_u64(seed);
            let (total, said) = story(&mut dice, is_close);
            // Each node's in its order, the nodes among each other in any, with clocks that differ.
            let clocks: Vec<u64> = (0..3).map(|_| dice.random_range(0..5)).collect();
            let mut order: Vec<u64> = said.iter().map(|row| row.node).collect();
            order.shuffle(&mut dice);
            let mut by_node: Vec<_> = (0..3)
                .map(|node| said.iter().filter(move |row| row.node == node).copied())
                .collect();
            let mut rows = Vec::new();
            let mut sum = 0;
            for node in order {
                let mut row = by_node[node as usize].next().expect("as many as there are");
                row.place += clocks[node as usize] * PLACES;
                sum += insert(&mut rows, row, 0).expect("nothing is too late").1.uploaded;
            }
            assert_eq!(sum, total, "seed {seed}: {said:?}");
        }
    }

    #[test]
    fn whatever_comes_each_has_a_place_behind_what_its_own_tracker_was_told_before() {
        for seed in 0..2_000 {
            let mut dice = StdRng::seed_from_u64(seed);
            let mut rows = Vec::new();
            let mut seconds = [1_000; 3];
            for uploaded in 0..dice.random_range(1..20) {
                let node = dice.random_range(0..3);
                // Many within a second, and as one begins.
                seconds[node] += u64::from(dice.random_bool(0.6));
                let edge = dice.random_range(0..4);
                let row = Row {
                    has_started: edge == 0,
                    has_stopped: edge == 1,
                    ..row(seconds[node], node as u64, uploaded * dice.random_range(0..9))
                };
                let (put, _) = insert(&mut rows, row, 5 * PLACES).expect("nothing is too late");
                let last = rows.iter().rfind(|known| known.node == put.node);
                assert_eq!(last, Some(&put), "seed {seed}");
                let is_sorted = rows.is_sorted_by(|one, other| one.place < other.place);
                assert!(is_sorted, "seed {seed}: {rows:?}");
            }
        }
    }
}
