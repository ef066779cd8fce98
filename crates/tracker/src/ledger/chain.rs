//! The announces of one session as several trackers write them, and what one more of them adds.
//!
//! What a session is owed is a sum over neighbours: by how much its counters grew from each
//! announce to the next. So an announce that is written late, because its tracker was cut off or
//! dead, changes one link into two and no other; it may be written in any order with others.
//!
//! Pure. Invariants: 1. the sum over all that [`insert`] said is that over the links of all that
//! was inserted, in whichever order they came; but a pause may count as seeding where the end before
//! it comes late. 2. each counter is for itself, and a link counts a
//! rise or nothing; so nothing is ever taken back. 3. what two trackers were told within seconds,
//! with no start and no end between, lies in the order of the client's counters: clocks don't tell
//! that well. 4. where clocks don't tell a start or an end from what another tracker was told, in one
//! second, that place is taken which adds less to what is there. A byte may be lost there; it counts
//! twice only where more than one such place is taken before all is known.

/// In a second, so that there is room between two.
pub(crate) const PLACES: u64 = 1 << 20;
/// Between two of one second.
const STEP: u64 = 1 << 10;
/// What came so long after the announce before it is a session of its own.
pub(crate) const GAP_SECONDS: u64 = 86_400;
/// Seeding may go on unseen for so long: the longest interval and what it is waited beyond.
const SEEDING_GAP_SECONDS: u64 = 2 * 3600;
/// Clocks of two trackers may differ by so much.
const CLOCKS_SECONDS: u64 = 5;

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
    /// Whether a run may end or begin here.
    fn is_edge(&self) -> bool {
        self.has_started || self.has_stopped
    }

    fn is_below(&self, other: &Self) -> bool {
        let own = (self.uploaded, self.downloaded);
        let others = (other.uploaded, other.downloaded);
        own != others && own.0 <= others.0 && own.1 <= others.1
    }

    /// Whether clocks alone don't tell which of two was first.
    fn is_near(&self, other: &Self) -> bool {
        self.node != other.node
            && self.place.abs_diff(other.place) <= CLOCKS_SECONDS * PLACES
            && !self.is_edge()
            && !other.is_edge()
    }

    /// Whether neither clocks nor counters tell which of two was first.
    fn is_unclear(&self, other: &Self) -> bool {
        self.node != other.node
            && self.place.abs_diff(other.place) < PLACES
            && (self.is_edge() || other.is_edge())
    }
}

/// Puts an announce into its place among those of its session; says which, and what that adds. None if
/// it is from `floor` or before, of which only the last is kept: what was there isn't known any
/// more, and nothing is added.
pub(crate) fn insert(rows: &mut Vec<Row>, row: Row, floor: u64) -> Option<(Row, Link)> {
    if row.place <= floor {
        return None;
    }
    let at = place_of(rows, &row, floor);
    let row = placed(rows, at, &row, floor)?;
    let added = added(rows, at, &row);
    rows.insert(at, row);
    Some((row, added))
}

/// The row between its neighbours there. None if there is no room: that is more than is ever
/// announced within a second.
fn placed(rows: &[Row], at: usize, row: &Row, floor: u64) -> Option<Row> {
    let (before, after) = around(rows, at);
    let low = before.map_or(floor, |before| before.place);
    let high = after.map_or(u64::MAX, |after| after.place);
    let step = STEP.min(high.saturating_sub(low) / 2);
    (step > 0).then(|| Row { place: row.place.clamp(low + step, high - step), ..*row })
}

/// What comes before a place, and what is there.
fn around(rows: &[Row], at: usize) -> (Option<Row>, Option<Row>) {
    (at.checked_sub(1).map(|at| rows[at]), rows.get(at).copied())
}

/// What a row adds at a place: one link becomes two.
fn added(rows: &[Row], at: usize, row: &Row) -> Link {
    let (before, after) = around(rows, at);
    let of = |one: Option<Row>, other: Option<Row>| {
        one.zip(other).map(|(one, other)| link(&one, &other)).unwrap_or_default()
    };
    let (new, more, old) = (of(before, Some(*row)), of(Some(*row), after), of(before, after));
    let sum = |of: fn(&Link) -> u64| (of(&new) + of(&more)).saturating_sub(of(&old));
    Link {
        uploaded: sum(|link| link.uploaded),
        downloaded: sum(|link| link.downloaded),
        seeded_seconds: sum(|link| link.seeded_seconds),
        completed: sum(|link| link.completed),
    }
}

/// From which on rows are needed, where all that is still to come lies behind `floor`.
pub(crate) fn needed(rows: &[Row], floor: u64) -> usize {
    rows.partition_point(|row| row.place <= floor).saturating_sub(1)
}

/// Where it belongs by its time, or near that by its counters. Never before what its own tracker was
/// told before it, which is written in that order; nor before what is at `floor` or before: what was
/// there isn't all known.
fn place_of(rows: &[Row], row: &Row, floor: u64) -> usize {
    let own = rows.iter().rposition(|known| known.node == row.node).map_or(0, |last| last + 1);
    let by_time = rows.partition_point(|known| known.place <= row.place).max(own);
    let is_late = |known: &&Row| known.place > floor && known.is_near(row) && row.is_below(known);
    let is_early = |known: &&Row| known.is_near(row) && known.is_below(row);
    let is_unclear = |known: &&Row| known.place > floor && known.is_unclear(row);
    let first = by_time - rows[..by_time].iter().rev().take_while(is_unclear).count();
    let last = by_time + rows[by_time..].iter().take_while(is_unclear).count();
    if first < last {
        let bytes = |at: usize| {
            let link = placed(rows, at, row, floor).map(|row| added(rows, at, &row));
            link.map_or(u64::MAX, |link| link.uploaded.saturating_add(link.downloaded))
        };
        return (first..=last).rev().min_by_key(|&at| bytes(at)).unwrap_or(by_time);
    }
    match rows[..by_time].iter().rev().take_while(is_late).count() {
        0 => by_time + rows[by_time..].iter().take_while(is_early).count(),
        late => by_time - late,
    }
}

fn link(before: &Row, after: &Row) -> Link {
    let seconds = after.place / PLACES - before.place / PLACES;
    if seconds > GAP_SECONDS {
        return Link::default();
    }
    let goes_on = !before.has_stopped;
    let has_seeded = before.is_complete && after.is_complete && seconds <= SEEDING_GAP_SECONDS;
    Link {
        uploaded: after.uploaded.saturating_sub(before.uploaded),
        downloaded: after.downloaded.saturating_sub(before.downloaded),
        seeded_seconds: if goes_on && has_seeded { seconds } else { 0 },
        completed: u64::from(!before.is_complete && after.is_complete),
    }
}

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
        check("three trackers in one second", &one_second, &some(&[0, 300, 200, 100, 0, 0]));
        let next = [row(20, b, 0), row(20, b, 600), stopped(21, a, 601)];
        check("an end as the next second begins", &next, &some(&[0, 600, 1]));
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
            let least = match said.last().is_some_and(Row::is_edge) {
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
