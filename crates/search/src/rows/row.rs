//! One row, and the document that it is.

use crate::site::{Known, document_of};
use crate::{Document, Value};

/// What a row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Where it is shown: a path with its query, or a whole URL.
    pub address: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text; may be empty.
    pub text: String,
    /// The code of its language; empty: it is guessed.
    pub language: String,
    /// When it was changed, in seconds since 1970.
    pub changed: Option<i64>,
    /// Whether everybody may read it; none: its address tells.
    pub public: Option<bool>,
}

impl Row {
    /// What documents of rows have in the attribute `kind`.
    pub const KIND: &str = "row";

    /// As a document of a site. `url` is what it is known by.
    #[must_use]
    pub fn document(&self, url: &str, host: &str, seen: i64) -> Document {
        let known = Known {
            url,
            host,
            language: &self.language,
            kind: Self::KIND,
            changed: self.changed.unwrap_or(seen),
            seen,
            topic: None,
        };
        document_of([&self.title, "", &self.text], &known)
    }

    /// Whether a document is of a row.
    #[must_use]
    pub fn is_row(attributes: &[Value]) -> bool {
        const KIND_AT: usize = 2;
        matches!(attributes.get(KIND_AT), Some(Value::Text(kind)) if kind == Self::KIND)
    }
}

/// Whether a text says that something is so: a number that isn't 0, or what databases write.
pub(super) fn is_so(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    match text.parse::<f64>() {
        Ok(number) => number != 0.0 && number.is_finite(),
        Err(_) => ["t", "true", "y", "yes", "on"].contains(&text.as_str()),
    }
}

/// Seconds since 1970, of such a number or of a date.
pub(super) fn moment(text: &str) -> Option<i64> {
    let text = text.trim();
    let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
    whole.parse().ok().or_else(|| crawl::date::unix(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_that_it_is_so_is() {
        for (text, expected) in [
            ("1", true),
            ("t", true),
            ("TRUE", true),
            ("2.5", true),
            ("0", false),
            ("0.0", false),
            ("", false),
            ("f", false),
            ("no", false),
            ("NaN", false),
            ("hidden", false),
        ] {
            assert_eq!(is_so(text), expected, "{text}");
        }
    }

    #[test]
    fn moments_are_numbers_or_dates() {
        for (text, expected) in [
            ("1700000000", Some(1_700_000_000)),
            ("1700000000.25", Some(1_700_000_000)),
            ("2023-11-14 22:13:20", Some(1_700_000_000)),
            ("2023-11-14T22:13:20.5Z", Some(1_700_000_000)),
            ("yesterday", None),
        ] {
            assert_eq!(moment(text), expected, "{text}");
        }
    }
}
