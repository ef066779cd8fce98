//! Signatures: what makes two changes the same for the learning of noise.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Change, Column, KeyClass, Operation};

/// A kind of change: where, what, which columns, which kind of row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// Which rows.
    pub rows: Rows,
    /// What was done to them.
    pub operation: Operation,
    /// Which columns an update changed.
    pub columns: BTreeSet<Column>,
}

/// A kind of rows: those of one table whose keys are of one class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rows {
    /// The database.
    pub database: Box<str>,
    /// The table.
    pub table: Box<str>,
    /// The class of their keys.
    pub key: KeyClass,
}

impl Rows {
    /// Whether they are of a database and told apart, as rows are that are somebody's own.
    pub(crate) fn are_somebodys(&self) -> bool {
        !self.database.is_empty() && self.key.tells_apart()
    }
}

impl From<&Change> for Signature {
    fn from(change: &Change) -> Self {
        Self {
            rows: Rows {
                database: change.database.clone(),
                table: change.table.clone(),
                key: change.key.clone(),
            },
            operation: change.operation,
            columns: change.columns.clone(),
        }
    }
}

impl Signature {
    /// Whether all that was changed tells when.
    pub(crate) fn tells_only_when(&self) -> bool {
        let is_moment = |column: &Column| matches!(column, Column::Moment(_));
        !self.columns.is_empty() && self.columns.iter().all(is_moment)
    }

    /// Whether it says enough that two changes with it are alike: an unread change, a
    /// changed definition and a row of unknown kind may be anything.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        let is_rows = !matches!(self.operation, Operation::Other | Operation::Schema);
        is_rows && self.rows.key != KeyClass::Unknown
    }
}
