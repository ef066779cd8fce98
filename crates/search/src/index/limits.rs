//! What an index may take, and what it has.

use std::time::Duration;

/// What an index may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long after it was put a document is found at the latest.
    pub commit_after: Duration,
    /// How much memory the writer may fill before it writes; no less than 15 MB, of which 12 are
    /// a table and what tantivy counts and doesn't touch.
    pub writer_bytes: usize,
    /// How much memory the queries of feeds may take that are kept.
    pub stored_bytes: usize,
    /// Whether files of another format are laid aside for a [`crate::Former`], and not removed.
    pub keeps_former: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            commit_after: Duration::from_millis(800),
            writer_bytes: 18_000_000,
            stored_bytes: 8 << 20,
            keeps_former: false,
        }
    }
}

/// What an index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Documents that can be found.
    pub documents: u64,
    /// Parts that its files are in.
    pub segments: usize,
    /// What its files take.
    pub disk_bytes: u64,
    /// Fields that were too long and were cut.
    pub cut_fields: u64,
}
