//! Values: what changed rows hold in their keys and in columns that point at other rows.
//!
//! They are told as hashes, of a seed that each process draws, so that nothing of a row
//! reaches a log; two are only ever compared. What a database or an app may take for
//! something else (`05` for `5`, `É` for `e`) has no hash.
//! Bounds: [`VALUES_MAX`] values of a column; with more it is as if none were known.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use crate::Column;

/// Values of one column that are told of one kind of change.
const VALUES_MAX: usize = 16;
/// The longest text that is taken for a name of a row.
const TEXT_BYTES_MAX: usize = 64;
/// The digits of every whole number of 64 bits but the very largest.
const DIGITS_MAX: usize = 19;

/// The values of several columns, for all rows of one kind of change.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Values {
    /// None: there are too many, or one that has no hash.
    columns: BTreeMap<Column, Option<BTreeSet<u64>>>,
    is_named: bool,
}

impl Values {
    /// The hashes of all that the rows hold in this column; none where that isn't known.
    #[must_use]
    pub fn of(&self, column: &Column) -> Option<&BTreeSet<u64>> {
        self.columns.get(column)?.as_ref()
    }

    /// Every column that something is known of.
    pub fn iter(&self) -> impl Iterator<Item = (&Column, Option<&BTreeSet<u64>>)> {
        self.columns.iter().map(|(column, values)| (column, values.as_ref()))
    }

    /// Whether the rows' keys are names that an author gave, so that other names are of no
    /// other kind.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// None yet, of rows whose keys are such names or not.
    #[must_use]
    pub fn named(is_named: bool) -> Self {
        Self { is_named, ..Self::default() }
    }

    /// A row holds this in that column. Large letters count as small ones, as databases
    /// don't tell them apart.
    pub fn note(&mut self, column: Column, value: &str) {
        let hash = value_hash(&value.to_ascii_lowercase());
        let known = self.columns.entry(column).or_insert_with(|| Some(BTreeSet::new()));
        let Some(values) = known else { return };
        match hash {
            Some(hash) => drop(values.insert(hash)),
            None => return *known = None,
        }
        if values.len() > VALUES_MAX {
            *known = None;
        }
    }

    /// A row holds something in that column that can't be told.
    pub fn note_unknown(&mut self, column: Column) {
        self.columns.insert(column, None);
    }

    /// The same change was made to more rows. What isn't known of some is known of none.
    pub(crate) fn join(&mut self, others: Self) {
        for (column, values) in &mut self.columns {
            let Some(own) = values else { continue };
            match others.of(column) {
                Some(more) if own.len() + more.len() <= VALUES_MAX => own.extend(more),
                _ => *values = None,
            }
        }
        for (column, _) in others.columns {
            self.columns.entry(column).or_insert(None);
        }
    }
}

/// The hash of a value, in a row or in an address: of a whole number as it is written, or of
/// a short name in small letters, digits, `-` and `_` that begins with a letter. None of
/// anything else, since it may stand for one of these.
#[must_use]
pub fn value_hash(text: &str) -> Option<u64> {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let (first, bytes) = (*text.as_bytes().first()?, text.as_bytes());
    let is_number = (bytes.len() <= DIGITS_MAX && bytes.iter().all(u8::is_ascii_digit))
        && (first != b'0' || bytes.len() == 1);
    let of_name = |byte: &u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
    };
    let is_name =
        first.is_ascii_lowercase() && bytes.len() <= TEXT_BYTES_MAX && bytes.iter().all(of_name);
    // 0 stands for no value.
    (is_number || is_name).then(|| SEED.hash_one(text) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_written_in_one_way_has_a_hash() {
        for (text, has_hash) in [
            ("5", true),
            ("0", true),
            ("1234567890123456789", true),
            ("12345678901234567890", false),
            ("05", false),
            ("5abc", false),
            ("-5", false),
            (" 5", false),
            ("5.0", false),
            ("", false),
            ("a-title_2", true),
            ("A-title", false),
            ("2-title", false),
            ("\u{e9}t\u{e9}", false),
            ("with space", false),
        ] {
            assert_eq!(value_hash(text).is_some(), has_hash, "{text}");
        }
        assert_eq!(value_hash("17"), value_hash("17"));
        assert_ne!(value_hash("17"), value_hash("18"));
    }

    #[test]
    fn what_is_not_known_of_one_row_is_known_of_none() {
        let column = |name| Column::named(name);
        let mut one = Values::default();
        one.note(column("id"), "1");
        one.note(column("slug"), "About");
        let mut two = Values::default();
        two.note(column("id"), "2");
        two.note(column("slug"), "caf\u{e9}");
        two.note(column("topic"), "7");
        assert!(one.of(&column("slug")).is_some());
        one.join(two);
        assert_eq!(one.of(&column("id")).map(BTreeSet::len), Some(2));
        assert_eq!((one.of(&column("slug")), one.of(&column("topic"))), (None, None));
    }

    #[test]
    fn too_many_are_as_good_as_none() {
        let mut values = Values::default();
        for number in 0..VALUES_MAX {
            values.note(Column::Ordinal(0), &number.to_string());
        }
        assert!(values.of(&Column::Ordinal(0)).is_some());
        values.note(Column::Ordinal(0), "x");
        assert_eq!(values.of(&Column::Ordinal(0)), None);
        values.note(Column::Ordinal(0), "y");
        assert_eq!(values.of(&Column::Ordinal(0)), None);
    }
}
