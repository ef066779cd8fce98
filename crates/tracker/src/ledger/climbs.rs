//! How far a session's counters climbed at least, by announces of which it isn't known of all which
//! was first.
//!
//! At each height a counter is below or has reached it. As often as announces that surely follow
//! each other go from below to reached, it was climbed there: in whichever order all were made,
//! those were made so too. What was climbed at all heights together is what clients did for
//! certain, whoever told it whom, and more announces never make it less.
//!
//! Pure. Invariants: 1. by any order that clocks allow, counters rise by no less than [`walk`] says.
//! 2. an announce that stands for all before it can be put in their place, and nothing that is said
//! then or later changes.

use super::chain::Row;

/// Clocks of two trackers may differ by so much.
pub(crate) const CLOCKS_SECONDS: u64 = 5;
/// What came so long after the announce before it is a session of its own.
pub(crate) const GAP_SECONDS: u64 = 86_400;
/// There are no more announces than these without one that stands for all before it. Clients seldom
/// have more than three; to reckon with many takes time, and all trackers wait.
pub(super) const CLOSE_MAX: usize = 32;

/// Bytes sent and taken, and completions.
pub(super) type Sums = [u128; 3];

/// What was climbed, and which announces stand for all before them, or begin anew after a day.
#[derive(Debug, Default)]
pub(super) struct Climbs {
    pub(super) sums: Sums,
    pub(super) stands: Vec<usize>,
    /// Whether somewhere there are more than [`CLOSE_MAX`] between two of these, or since the last.
    pub(super) is_crowded: bool,
}

/// Whether one was made before the other for certain. One tracker writes in the order in which it is
/// told.
fn is_before(one: &Row, other: &Row) -> bool {
    match one.node == other.node {
        true => one.place < other.place,
        false => one.seconds() + CLOCKS_SECONDS < other.seconds(),
    }
}

/// Goes through announces in the order of their places.
pub(super) fn walk(rows: &[Row]) -> Climbs {
    let mut climbs = Climbs::default();
    let mut from = 0;
    for last in 0..rows.len() {
        if last > from && rows[last].seconds() > rows[last - 1].seconds() + GAP_SECONDS {
            climbs.is_crowded |= last - from > CLOSE_MAX;
            climbs.add(&climbed(&rows[from..last]).0);
            from = last;
        } else {
            if !is_cut(&rows[from..], last - from) {
                continue;
            }
            let (sums, stands) = climbed(&rows[from..=last]);
            if !stands {
                continue;
            }
            climbs.is_crowded |= last - from > CLOSE_MAX;
            climbs.add(&sums);
            from = last;
        }
        climbs.stands.push(from);
    }
    climbs.is_crowded |= rows.len() - from > CLOSE_MAX;
    climbs.add(&climbed(rows.get(from..).unwrap_or_default()).0);
    climbs
}

impl Climbs {
    fn add(&mut self, more: &Sums) {
        self.sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
}

/// Whether all up to this one were made before all behind it.
fn is_cut(rows: &[Row], last: usize) -> bool {
    let (before, after) = rows.split_at(last + 1);
    let last = rows[last];
    // Whoever is behind these two is behind all of theirs and of others'.
    let other = before.iter().rfind(|known| known.node != last.node);
    let mut near = after.iter().take_while(|row| row.seconds() <= last.seconds() + CLOCKS_SECONDS);
    near.all(|row| is_before(&last, row) && other.is_none_or(|other| is_before(other, row)))
}

/// What each counter climbed, and whether the last announce stands for all.
fn climbed(rows: &[Row]) -> (Sums, bool) {
    let Some((last, others)) = rows.split_last() else { return ([0; 3], true) };
    if others.len() > CLOSE_MAX {
        // Only another version's are so many. What was climbed there isn't known.
        return ([0; 3], others.iter().all(|known| is_before(known, last)));
    }
    let counters: [fn(&Row) -> u64; 3] =
        [|row| row.uploaded, |row| row.downloaded, |row| u64::from(row.is_complete)];
    let each = counters.map(|counter| climbed_by(rows, counter));
    (each.map(|(sum, _)| sum), each.iter().all(|(_, stands)| *stands))
}

fn climbed_by(rows: &[Row], counter: fn(&Row) -> u64) -> (u128, bool) {
    let mut heights: Vec<u64> = rows.iter().map(counter).collect();
    let last = heights.last().copied().unwrap_or(0);
    heights.sort_unstable();
    heights.dedup();
    let (mut sum, mut stands) = (0, true);
    for pair in heights.windows(2) {
        let (times, ends_below) = climbed_at(rows, |row| counter(row) >= pair[1]);
        sum += u128::from(pair[1] - pair[0]) * u128::from(times);
        stands &= ends_below == (last < pair[1]);
    }
    (sum, stands)
}

/// How often a height was climbed, and whether the next announce that has reached it climbs it once
/// more.
fn climbed_at(rows: &[Row], has_reached: impl Fn(&Row) -> bool) -> (u64, bool) {
    // Of those of which each is the last, and whether it has reached it.
    let mut ends: Vec<(u64, bool)> = Vec::with_capacity(rows.len());
    for row in rows {
        let reached = has_reached(row);
        let before = rows.iter().zip(&ends).filter(|(known, _)| is_before(known, row));
        let times = before.map(|(_, (times, before))| times + u64::from(reached && !before)).max();
        ends.push((times.unwrap_or(0), reached));
    }
    let most = ends.iter().map(|(times, _)| *times).max().unwrap_or(0);
    (most, ends.contains(&(most, false)))
}
