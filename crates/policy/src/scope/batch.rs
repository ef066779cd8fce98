//! Batches: all that changed in one moment.
//!
//! One act of an app changes several tables, one after the other. What is proved is proved
//! for the whole of it, since which of the changes shows in a page can't be told.

use std::collections::{BTreeMap, BTreeSet};

/// The most kinds of change in one batch; with more it is of unknown kind.
const LINES_MAX: usize = 12;
/// The longest name of a kind.
const KIND_BYTES_MAX: usize = 2048;
/// The most values that are known of one column.
const VALUES_MAX: usize = 16;

/// What changed in one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    lines: BTreeSet<String>,
    /// By the line and the column's name; none: not known of every row.
    columns: BTreeMap<String, Option<BTreeSet<u64>>>,
    is_unknown: bool,
}

impl Batch {
    /// A change of this kind was made to rows that hold these values.
    pub fn note<'a>(
        &mut self,
        line: &str,
        columns: impl IntoIterator<Item = (String, Option<&'a BTreeSet<u64>>)>,
    ) {
        let is_new = self.lines.insert(line.to_owned());
        let own = format!("{line}: ");
        let mut noted = BTreeSet::new();
        for (column, values) in columns {
            let name = format!("{own}{column}");
            noted.insert(name.clone());
            let known = self.columns.entry(name).or_insert_with(|| is_new.then(BTreeSet::new));
            let (Some(all), Some(values)) = (known.as_mut(), values) else {
                *known = None;
                continue;
            };
            all.extend(values);
            if all.len() > VALUES_MAX {
                *known = None;
            }
        }
        if !is_new {
            let of_line = self.columns.iter_mut().filter(|(name, _)| name.starts_with(&own));
            of_line.filter(|(name, _)| !noted.contains(*name)).for_each(|(_, all)| *all = None);
        }
    }

    /// Something changed of which too little is known.
    pub fn note_unknown(&mut self) {
        *self = Self { is_unknown: true, ..Self::default() };
    }

    /// The name of its kind: what is the same whenever an app does the same.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        let kind = self.lines.iter().map(String::as_str).collect::<Vec<_>>().join(" + ");
        let is_known = !self.is_unknown
            && (1..=LINES_MAX).contains(&self.lines.len())
            && kind.len() <= KIND_BYTES_MAX;
        is_known.then_some(kind)
    }

    /// Whether a column holds this value in some changed row; none where that isn't known.
    pub(super) fn holds(&self, column: &str, value: u64) -> Option<bool> {
        self.values(column).map(|values| values.contains(&value))
    }

    pub(super) fn values(&self, column: &str) -> Option<&BTreeSet<u64>> {
        self.columns.get(column)?.as_ref()
    }

    /// The columns in which some changed row holds this value.
    pub(super) fn holding(&self, value: u64) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter();
        let holds = move |values: &Option<BTreeSet<u64>>| {
            values.as_ref().is_some_and(|values| values.contains(&value))
        };
        columns.filter(move |(_, values)| holds(values)).map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[u64]) -> BTreeSet<u64> {
        values.iter().copied().collect()
    }

    #[test]
    fn values_of_all_rows_are_joined_and_unknown_ones_stay_unknown() {
        let mut batch = Batch::default();
        batch.note("insert posts", [("topic".into(), Some(&set(&[5])))]);
        batch.note("update topics", [("id".into(), Some(&set(&[5]))), ("forum".into(), None)]);
        assert_eq!(batch.kind().as_deref(), Some("insert posts + update topics"));
        batch.note("insert posts", [("topic".into(), Some(&set(&[6])))]);
        assert_eq!(batch.holds("insert posts: topic", 6), Some(true));
        assert_eq!(batch.holds("insert posts: topic", 7), Some(false));
        assert_eq!(batch.holds("update topics: forum", 7), None);
        assert_eq!(batch.holding(5).count(), 2);
        batch.note("update topics", []);
        assert_eq!(batch.holds("update topics: id", 5), None, "of other rows it isn't known");
        batch.note_unknown();
        batch.note("insert posts", []);
        assert_eq!(batch.kind(), None);
    }

    #[test]
    fn too_much_at_once_is_of_no_kind() {
        let mut batch = Batch::default();
        assert_eq!(batch.kind(), None, "nothing changed");
        (0..LINES_MAX).for_each(|number| batch.note(&format!("insert t{number}"), []));
        assert!(batch.kind().is_some());
        batch.note("insert x", []);
        assert_eq!(batch.kind(), None);
        let mut batch = Batch::default();
        let many: BTreeSet<u64> = (0..=VALUES_MAX as u64).collect();
        batch.note("insert posts", [("topic".into(), Some(&many))]);
        assert_eq!(batch.holds("insert posts: topic", 1), None);
    }
}
