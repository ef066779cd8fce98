//! Keys: by which columns the rows of a table are told apart.
//!
//! In: the indexes of a table as `information_schema` shows them. Out: the columns of
//! the smallest unique index with text in it, of several such the primary key, else the one text
//! column that has an index of its own.
//! Invariant: an empty answer is never kept. The table may be being made, or the
//! rights to see it may be on their way.

use std::collections::BTreeMap;

/// What is known about one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableKeys {
    /// How many columns it had when it was asked about; 0 when nothing is known.
    columns: usize,
    key: Option<Vec<KeyColumn>>,
    /// Whether the key is an index in which several rows may have one value: a name that an
    /// author gave, and no name that a programmer chose.
    is_name: bool,
    /// The places of the columns that stand in any index, from 0.
    indexed: Vec<usize>,
}

/// The most columns of a table whose values are told.
const INDEXED_MAX: usize = 12;

/// What the primary key is called, whatever the database calls it.
pub(crate) const PRIMARY: &str = "PRIMARY";

/// One column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    /// Its place in the table, from 0.
    pub(crate) ordinal: usize,
    /// Its name, in small letters.
    pub(crate) name: Box<str>,
}

/// By what the rows of a table are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'a> {
    /// Nobody knows.
    Unknown,
    /// By nothing that has text in it.
    Plain,
    /// By the values of these columns.
    Columns(&'a [KeyColumn]),
}

/// One line of the answer about a table: a column, and its place in one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexLine {
    pub(crate) column: String,
    /// From 1, as the database counts.
    pub(crate) ordinal: u32,
    pub(crate) data_type: String,
    /// None for a column without an index.
    pub(crate) index: Option<String>,
    pub(crate) is_unique: bool,
    pub(crate) place: u32,
}

impl TableKeys {
    #[cfg(test)]
    pub(crate) fn known(columns: usize, key: Option<Vec<KeyColumn>>) -> Self {
        Self { columns, key, is_name: false, indexed: Vec::new() }
    }

    #[cfg(test)]
    pub(crate) fn with_indexed(self, indexed: &[usize]) -> Self {
        Self { indexed: indexed.to_vec(), ..self }
    }

    /// What the lines about a table say; nothing for no lines.
    pub(crate) fn from_lines(lines: &[IndexLine]) -> Option<Self> {
        let columns = lines.iter().map(|line| line.ordinal).max()?;
        let mut indexes: BTreeMap<&str, Vec<&IndexLine>> = BTreeMap::new();
        for line in lines {
            if let Some(index) = &line.index {
                indexes.entry(index).or_default().push(line);
            }
        }
        for lines in indexes.values_mut() {
            lines.sort_by_key(|line| line.place);
        }
        let with_text = || indexes.values().filter(|lines| lines.iter().any(|line| line.is_text()));
        let is_primary = |lines: &[&IndexLine]| lines[0].index.as_deref() == Some(PRIMARY);
        let unique = with_text()
            .filter(|lines| lines[0].is_unique)
            .min_by_key(|lines| (lines.len(), !is_primary(lines)));
        let mut single = with_text().filter(|lines| !lines[0].is_unique && lines.len() == 1);
        let only =
            single.next().filter(|first| single.all(|other| other[0].column == first[0].column));
        let is_name = unique.is_none() && only.is_some();
        let key = unique.or(only).map(|lines| {
            let column = |line: &&IndexLine| KeyColumn {
                ordinal: line.ordinal.saturating_sub(1) as usize,
                name: line.column.to_lowercase().into(),
            };
            lines.iter().map(column).collect()
        });
        let mut indexed: Vec<usize> = lines
            .iter()
            .filter(|line| line.index.is_some())
            .map(|line| line.ordinal.saturating_sub(1) as usize)
            .collect();
        indexed.sort_unstable();
        indexed.dedup();
        indexed.truncate(INDEXED_MAX);
        Some(Self { columns: columns as usize, key, is_name, indexed })
    }

    /// Whether anything is known.
    pub(crate) fn is_known(&self) -> bool {
        self.columns > 0
    }

    /// The key of a table that has `columns` now; another number means another table.
    pub(crate) fn of(&self, columns: usize) -> Key<'_> {
        if columns == self.columns { self.key() } else { Key::Unknown }
    }

    /// Whether rows with different keys are of one kind all the same.
    pub(crate) fn is_name(&self) -> bool {
        self.is_name
    }

    /// The columns that may point at rows, of a table that has `columns` now.
    pub(crate) fn indexed(&self, columns: usize) -> &[usize] {
        if columns == self.columns { &self.indexed } else { &[] }
    }

    /// The key, where nothing says whether the table is still what it was.
    pub(crate) fn key(&self) -> Key<'_> {
        match &self.key {
            _ if !self.is_known() => Key::Unknown,
            None => Key::Plain,
            Some(columns) => Key::Columns(columns),
        }
    }
}

impl IndexLine {
    /// Bytes are mostly text as well: an app that wants to compare exactly has its names there.
    fn is_text(&self) -> bool {
        let data_type = self.data_type.to_ascii_lowercase();
        matches!(data_type.as_str(), "char" | "varchar" | "binary" | "varbinary")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines such as `1 option_name varchar !option_name 1`; `!` before a unique index.
    fn check(lines: &[&str], expected: Option<&[&str]>) {
        let lines: Vec<IndexLine> = lines.iter().map(|line| read(line)).collect();
        let keys = TableKeys::from_lines(&lines).expect("some lines");
        let is_unique = lines.iter().any(|line| line.is_text() && line.is_unique);
        assert_eq!(keys.is_name(), expected.is_some() && !is_unique, "{lines:?}");
        let found = match keys.key() {
            Key::Columns(columns) => Some(columns.iter().map(|column| &*column.name).collect()),
            Key::Plain => None,
            Key::Unknown => panic!("unknown"),
        };
        assert_eq!(found, expected.map(<[&str]>::to_vec), "{lines:?}");
    }

    fn read(line: &str) -> IndexLine {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let ordinal = word().parse().expect("a place");
        let (column, data_type, index) = (word().to_owned(), word().to_owned(), word());
        IndexLine {
            ordinal,
            column,
            data_type,
            index: (!index.is_empty()).then(|| index.trim_start_matches('!').to_owned()),
            is_unique: index.starts_with('!'),
            place: word().parse().unwrap_or(0),
        }
    }

    #[test]
    fn the_smallest_unique_index_with_text_is_the_key() {
        check(
            &[
                "1 option_id bigint !PRIMARY 1",
                "2 option_name varchar !option_name 1",
                "3 v longtext",
            ],
            Some(&["option_name"]),
        );
        check(
            &[
                "1 id_member int !PRIMARY 1",
                "3 variable varchar !PRIMARY 3",
                "2 id_theme int !PRIMARY 2",
            ],
            Some(&["id_member", "id_theme", "variable"]),
        );
        check(&["1 a char !both 1", "2 b char !both 2", "2 b char !one 1"], Some(&["b"]));
        check(&["1 id char !PRIMARY 1", "2 email varchar !EMAIL 1"], Some(&["id"]));
        check(&["1 keyname varbinary !PRIMARY 1", "2 value mediumblob"], Some(&["keyname"]));
    }

    #[test]
    fn else_the_one_text_column_with_an_index_of_its_own() {
        check(&["1 id int !PRIMARY 1", "2 Ip varchar ip 1"], Some(&["ip"]));
        check(&["1 id int !PRIMARY 1", "2 a varchar a 1", "3 b varchar b 1"], None);
        check(&["1 id int !PRIMARY 1", "2 body text"], None);
    }

    #[test]
    fn a_table_with_another_number_of_columns_is_another() {
        let keys = TableKeys::known(2, None);
        assert_eq!((keys.of(2), keys.of(3)), (Key::Plain, Key::Unknown));
        assert_eq!(TableKeys::from_lines(&[]), None);
        assert_eq!(TableKeys::default().key(), Key::Unknown);
    }
}
