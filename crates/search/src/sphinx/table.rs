//! What a question was answered: columns of Sphinx's types, and rows.
//!
//! Both protocols write it, each in its own form.

/// A column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32 bits, without a sign.
    Uint,
    /// The same, as seconds.
    Timestamp,
    /// The same, as 0 or 1.
    Bool,
    /// 64 bits, with a sign.
    Bigint,
    /// 32 bits.
    Float,
    /// Any text.
    Text,
    /// Several of 32 bits.
    Multi,
    /// Several of 64 bits.
    MultiBigint,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A document's number.
    Id(u64),
    /// Of [`Kind::Uint`] to [`Kind::Bigint`].
    Int(i64),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of the multiple kinds, in order.
    Multi(Vec<i64>),
}

impl Cell {
    /// As SphinxQL writes it.
    #[must_use]
    pub fn written(&self) -> String {
        match self {
            Self::Id(id) => id.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => format!("{number:.6}"),
            Self::Text(text) => text.clone(),
            Self::Multi(numbers) => {
                numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }
        }
    }
}

/// A match.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The document's.
    pub id: u64,
    /// How well it matches.
    pub weight: u32,
    /// By the table's columns.
    pub cells: Vec<Cell>,
}

/// Columns and rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Their names and types.
    pub columns: Vec<(String, Kind)>,
    /// Each with as many cells.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table of texts, as SHOW gives it.
    #[must_use]
    pub fn of_texts(names: &[&str], rows: Vec<Vec<String>>) -> Self {
        let row = |texts: Vec<String>| Row {
            id: 0,
            weight: 1,
            cells: texts.into_iter().map(Cell::Text).collect(),
        };
        Self {
            columns: names.iter().map(|name| ((*name).to_owned(), Kind::Text)).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

/// What else there is to say of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// What was wrong.
    pub error: Option<String>,
    /// What wasn't obeyed.
    pub warning: Option<String>,
    /// Matches at hand, at most `max_matches`.
    pub total: u64,
    /// All matches.
    pub total_found: u64,
    /// What it took.
    pub microseconds: u64,
    /// Each word of the query, with the documents that it is in and how often it is.
    pub words: Vec<(String, u64, u64)>,
}
