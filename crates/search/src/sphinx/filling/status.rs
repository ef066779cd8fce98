//! How each index stands, for people.

use crate::sphinx::conf::IndexKind;

/// One index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// Its name.
    pub name: String,
    /// How it is filled.
    pub kind: IndexKind,
    /// What it is at.
    pub state: State,
    /// Documents that can be found.
    pub documents: u64,
    /// What its files take.
    pub disk_bytes: u64,
    /// When it was made, in seconds since 1970; 0 before.
    pub made: u64,
    /// How long that took.
    pub took_milliseconds: u64,
    /// In how many seconds it is made anew.
    pub next_seconds: u64,
    /// Rows without an id when it was made.
    pub skipped: u64,
    /// What didn't matter enough to end the last making.
    pub warning: Option<String>,
}

/// What an index is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is nothing of it yet.
    Waiting,
    /// It is found as it was made.
    Whole,
    /// It is made; what was made before is found meanwhile.
    Making,
    /// It couldn't be made, and is tried again; what was made before is found.
    Trouble(String),
}

impl IndexStatus {
    pub(super) fn of(name: &str, kind: IndexKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            state: State::Waiting,
            documents: 0,
            disk_bytes: 0,
            made: 0,
            took_milliseconds: 0,
            next_seconds: 0,
            skipped: 0,
            warning: None,
        }
    }
}
