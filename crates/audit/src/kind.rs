//! Kinds of tests, to which a run can be confined.

use serde::{Deserialize, Serialize};

/// What a test looks at, and with it each rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Where links, sitemaps and redirects lead.
    Links,
    /// Header fields, cookies, and what is sent in the clear.
    Http,
    /// HTML as its specification wants it.
    Html,
    /// Style sheets, scripts and data.
    Code,
    /// Who can use the page.
    Accessibility,
    /// What search engines and browsers are told of the page.
    Metadata,
    /// How much it is.
    Weight,
    /// Whether caches may keep it, and what it depends on.
    Caching,
    /// What a browser shows; asked for by itself.
    Browser,
}

impl Kind {
    /// Those that can be chosen.
    pub const CHOICES: [Self; 8] = [
        Self::Links,
        Self::Http,
        Self::Html,
        Self::Code,
        Self::Accessibility,
        Self::Metadata,
        Self::Weight,
        Self::Caching,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::Http => "http",
            Self::Html => "html",
            Self::Code => "code",
            Self::Accessibility => "accessibility",
            Self::Metadata => "metadata",
            Self::Weight => "weight",
            Self::Caching => "caching",
            Self::Browser => "browser",
        }
    }

    /// That of this name, if it can be chosen.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::CHOICES.into_iter().find(|kind| kind.as_str() == name)
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Which kinds of tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests(u16);

impl Tests {
    /// Every kind.
    pub const ALL: Self = Self(u16::MAX);

    /// These, and what a browser finds if one is asked for.
    #[must_use]
    pub fn only(kinds: &[Kind]) -> Self {
        Self(kinds.iter().fold(Kind::Browser.bit(), |all, kind| all | kind.bit()))
    }

    /// Whether tests of this kind are run.
    #[must_use]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Their names; nothing where all are run.
    pub(crate) fn names(self) -> Option<String> {
        let names = Kind::CHOICES.into_iter().filter(|kind| self.has(*kind)).map(Kind::as_str);
        (self != Self::ALL).then(|| names.collect::<Vec<_>>().join(", "))
    }

    /// What tells it from others, in the book's words; nothing for all.
    pub(crate) fn mark(self) -> String {
        self.names().map_or_else(String::new, |names| format!(" only {names}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_is_had_and_the_browser_is_never_left_out() {
        let some = Tests::only(&[Kind::Links, Kind::Caching]);
        let had: Vec<_> = Kind::CHOICES.into_iter().filter(|kind| some.has(*kind)).collect();
        assert_eq!(had, [Kind::Links, Kind::Caching]);
        assert!(some.has(Kind::Browser));
        assert!(Kind::CHOICES.into_iter().all(|kind| Tests::ALL.has(kind)));
        assert_ne!(some.mark(), Tests::only(&[Kind::Links]).mark());
    }
}
