//! The tracker's journal: whatever lies in one, entries that are read can be written again, and
//! what stands before damage is read. And what other trackers tell of their peers.

use tracker::journal::{entries, written};
use tracker::{Rules, Tracker};

/// A session, its torrent and whether it went are no shorter.
const TOLD_BYTES_MIN: usize = 62;

/// The bytes as a journal, and behind one that is sound.
pub(crate) fn run(input: &[u8]) {
    let (found, damaged) = entries(input);
    assert!(damaged <= input.len() as u64);
    let mut again = written(&found);
    assert_eq!(entries(&again), (found.clone(), 0));
    again.extend_from_slice(input);
    let (both, _) = entries(&again);
    assert_eq!(both[..found.len()], found);
}

/// The bytes as what another tracker tells: no more sessions come of it than there are bytes for,
/// and what is heard twice is there once.
pub(crate) fn run_told(input: &[u8]) {
    let tracker = Tracker::new(Rules::default());
    tracker.hear_told(input);
    let once = tracker.status().sessions;
    assert!(once <= input.len() / TOLD_BYTES_MIN, "{once} sessions");
    tracker.hear_told(input);
    assert!(tracker.status().sessions <= input.len() / TOLD_BYTES_MIN);
    assert!(tracker.take_told().is_empty(), "what is heard isn't told again");
}
