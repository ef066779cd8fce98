//! What a test says of a page, and how bad that is.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Where in a page, counted from 1; 0 where there is no such place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is broken, or somebody can't use it.
    Error,
    /// Something is worse than it needs to be.
    Warning,
    /// Something could be better.
    Notice,
}

impl Severity {
    /// All of them, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Notice];

    /// As reports write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }

    /// As it was written.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }
}

/// One thing that one test found at one address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule's id, as in the table of [`crate::rules`].
    pub rule: String,
    /// The page.
    pub url: String,
    /// Where in it.
    #[serde(flatten)]
    pub place: Place,
    /// What was found, in one sentence.
    pub message: String,
}

impl Finding {
    /// By what it is known again in the next run: its rule, page and words, and not its line,
    /// which moves with everything above it.
    #[must_use]
    pub fn mark(&self) -> u64 {
        xxh3_64(format!("{}\0{}\0{}", self.rule, self.url, self.message).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_known_again_when_only_its_line_has_moved() {
        let one = Finding {
            severity: Severity::Error,
            rule: "link-broken".to_owned(),
            url: "http://a/".to_owned(),
            place: Place { line: 3, column: 1 },
            message: "it is".to_owned(),
        };
        let moved = Finding { place: Place { line: 9, column: 2 }, ..one.clone() };
        assert_eq!(one.mark(), moved.mark());
        assert_ne!(one.mark(), Finding { message: "it was".to_owned(), ..one }.mark());
        for severity in Severity::ALL {
            assert_eq!(Severity::read(severity.as_str()), Some(severity));
        }
    }
}
