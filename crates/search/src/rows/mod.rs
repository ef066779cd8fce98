//! Rows that a site names itself: what is to be found that no page shows as well, from its
//! database by SQL or from a file of JSON lines.
//!
//! In: a [`RowSource`]. Out: [`Row`]s, one by one as they come.
//! Invariants: 1. memory is one row's. 2. a row says itself that it is public, or says nothing of
//! it and is only an address to be read as a stranger. 3. what isn't understood ends the reading:
//! nothing is guessed to be public.
//! Start at [`RowSource::read`].

mod columns;
mod lines;
mod row;

use std::path::PathBuf;

pub use crate::database::{Place, Stop, Trouble};
pub use row::Row;

/// Where rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowSource {
    /// A database.
    Sql {
        /// Where it is.
        place: Place,
        /// All rows; those of one range where it has `$start` and `$end`.
        query: String,
        /// The least and the largest id.
        range: Option<String>,
        /// How many ids a range has; no less than 1.
        step: u64,
        /// The rows that have changed since `$since`, in seconds since 1970.
        delta: Option<String>,
        /// Whether texts are HTML.
        is_html: bool,
    },
    /// A file with a row on each line, as JSON.
    Lines {
        /// The file.
        path: PathBuf,
        /// Whether texts are HTML.
        is_html: bool,
    },
}

/// Which rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All.
    All,
    /// Those that have changed since this moment, in seconds since 1970, where the source can tell
    /// them.
    Since(i64),
}

impl RowSource {
    /// Whether it can tell what has changed from what hasn't.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        matches!(self, Self::Sql { delta: Some(_), .. })
    }

    /// Gives `take` each row. Waits.
    ///
    /// # Errors
    /// Why it isn't read, or not to its end.
    pub fn read(
        &self,
        wanted: Rows,
        stop: &Stop,
        take: &mut dyn FnMut(Row) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let is_html = match self {
            Self::Sql { is_html, .. } | Self::Lines { is_html, .. } => *is_html,
        };
        let mut take = |mut row: Row| {
            if is_html {
                row.text = crate::site::plain_text(&row.text);
            }
            take(row)
        };
        match (self, wanted) {
            (Self::Sql { place, delta: Some(delta), .. }, Rows::Since(since)) => {
                columns::changed(place, delta, since, stop, &mut take)
            }
            (Self::Sql { place, query, range, step, .. }, _) => {
                columns::all(place, (query, range.as_deref(), *step), stop, &mut take)
            }
            (Self::Lines { path, .. }, _) => lines::all(path, stop, &mut take),
        }
    }
}
