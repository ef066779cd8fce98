//! The tracker's journal: whatever lies in one, entries that are read can be written again, and
//! what stands before damage is read.

use tracker::journal::{entries, written};

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
