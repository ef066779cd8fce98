//! Patterns: kinds of change as an owner writes them, to overrule what was learned.
//!
//! `posts` is a table, `options[cache_*]` the rows of one whose keys begin so,
//! `posts(views, seen)` updates of nothing but these columns. A `*` ends a beginning.

use std::str::FromStr;

use serde::Deserialize;

use crate::{KeyClass, Operation, Signature};

/// Some kinds of change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    table: String,
    key: Option<String>,
    columns: Vec<String>,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a table, as in \"posts\", \"options[cache_*]\" or \"posts(views)\"")]
pub struct PatternError;

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let (rest, columns) = match text.strip_suffix(')') {
            Some(open) => {
                let (rest, columns) = open.rsplit_once('(').ok_or(PatternError)?;
                let columns: Vec<String> =
                    columns.split(',').map(|name| name.trim().to_lowercase()).collect();
                if columns.iter().any(String::is_empty) {
                    return Err(PatternError);
                }
                (rest.trim_end(), columns)
            }
            None => (text, Vec::new()),
        };
        let (table, key) = match rest.strip_suffix(']') {
            Some(open) => {
                let (table, key) = open.split_once('[').ok_or(PatternError)?;
                (table, Some(key.to_owned()))
            }
            None => (rest, None),
        };
        let table = table.trim();
        if table.is_empty() || table.contains(['[', ']', '(', ')', ' ']) {
            return Err(PatternError);
        }
        Ok(Self { table: table.to_owned(), key, columns })
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl Pattern {
    /// Whether this kind of change is meant. One of which too little is known never is.
    #[must_use]
    pub fn fits(&self, signature: &Signature) -> bool {
        if signature.rows.table.is_empty() || signature.operation == Operation::Schema {
            return false;
        }
        let fits_key = match (&self.key, &signature.rows.key) {
            (None, _) => true,
            (Some(wanted), KeyClass::Of(class)) => fits(wanted, class),
            (Some(_), _) => false,
        };
        let fits_columns = self.columns.is_empty()
            || (signature.operation == Operation::Update
                && !signature.columns.is_empty()
                && signature.columns.iter().all(|column| {
                    column.name().is_some_and(|name| self.columns.iter().any(|own| **own == *name))
                }));
        fits(&self.table, &signature.rows.table) && fits_key && fits_columns
    }
}

fn fits(wanted: &str, text: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Rows};

    fn update(table: &str, key: KeyClass, columns: &[&str]) -> Signature {
        Signature {
            rows: Rows { database: "site".into(), table: table.into(), key },
            operation: Operation::Update,
            columns: columns.iter().map(|name| Column::named(name)).collect(),
        }
    }

    #[test]
    fn a_pattern_fits_what_it_names() {
        let key = |text: &str| KeyClass::Of(text.into());
        for (pattern, signature, expected) in [
            ("posts", update("posts", KeyClass::Plain, &["views"]), true),
            ("posts", update("posts_old", KeyClass::Plain, &["views"]), false),
            ("posts*", update("posts_old", KeyClass::Unknown, &[]), true),
            ("posts(views)", update("posts", KeyClass::Plain, &["views"]), true),
            ("posts (Views, seen)", update("posts", KeyClass::Plain, &["views", "seen"]), true),
            ("posts(views)", update("posts", KeyClass::Plain, &["views", "title"]), false),
            ("posts(views)", update("posts", KeyClass::Plain, &[]), false),
            ("options[cache_*]", update("options", key("cache_#"), &["value"]), true),
            ("options[cache_*]", update("options", key("name"), &["value"]), false),
            ("options[cache_*]", update("options", KeyClass::Unknown, &["value"]), false),
            ("*", update("", KeyClass::Unknown, &[]), false),
        ] {
            let read: Pattern = pattern.parse().expect("a pattern");
            assert_eq!(read.fits(&signature), expected, "{pattern} {signature:?}");
        }
    }

    #[test]
    fn what_names_no_table_is_no_pattern() {
        for text in ["", "[x]", "a b", "a[b", "a(", "a()", "a(b,)", "a]"] {
            assert_eq!(text.parse::<Pattern>(), Err(PatternError), "{text}");
        }
    }
}
