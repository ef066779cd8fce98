//! Whether a file may hold rows that nobody looked at: it tells when somebody changed it.
//!
//! In: a number that every other connection's commit changes, and where slices are. Out: whether
//! any row must be read.
//! Invariant: all that stands in the file when the number changes is looked at after that. Slices
//! that are on their way saw what is behind them before, so they come to an end twice.

/// What a file told, and what is still to be looked at.
#[derive(Default)]
pub(crate) struct FileChanges {
    told: Option<i64>,
    /// How often slices of each table must come to its end.
    ends: [u8; 2],
}

impl FileChanges {
    /// Takes note of the number; which tables have slices that are on their way. True if any row
    /// must be looked at, and always where nothing is told.
    pub(crate) fn note(&mut self, told: Option<i64>, are_on_their_way: [bool; 2]) -> bool {
        if told.is_none() {
            return true;
        }
        if std::mem::replace(&mut self.told, told) != told {
            self.ends = are_on_their_way.map(|is_on_its_way| 1 + u8::from(is_on_its_way));
        }
        self.ends != [0; 2]
    }

    /// Slices of a table came to its end.
    pub(crate) fn end(&mut self, table: usize) {
        self.ends[table] = self.ends[table].saturating_sub(1);
    }

    /// Numbers of another connection follow, of which none says anything of those before.
    pub(crate) fn forget(&mut self) {
        self.told = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_looked_at_once_after_a_change_and_then_nothing() {
        let mut changes = FileChanges::default();
        assert!(changes.note(Some(7), [false, false]), "nothing was looked at");
        changes.end(0);
        assert!(changes.note(Some(7), [false, true]), "one table was not");
        changes.end(1);
        assert!(!changes.note(Some(7), [false, false]));
        changes.end(1);
        assert!(changes.note(Some(8), [false, false]), "an end before it tells nothing");
    }

    #[test]
    fn slices_on_their_way_begin_again() {
        let mut changes = FileChanges::default();
        assert!(changes.note(Some(7), [true, false]));
        changes.end(0);
        changes.end(1);
        assert!(changes.note(Some(7), [false, false]));
        changes.end(0);
        assert!(!changes.note(Some(7), [false, false]));
    }

    #[test]
    fn of_another_connection_or_a_server_nothing_is_known() {
        let mut changes = FileChanges::default();
        assert!(changes.note(Some(7), [false, false]));
        changes.end(0);
        changes.end(1);
        changes.forget();
        assert!(changes.note(Some(7), [false, false]));
        changes.end(0);
        changes.end(1);
        assert!(changes.note(None, [false, false]));
    }
}
