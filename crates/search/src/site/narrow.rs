//! Narrowing: which of the pages that fit are looked at, in which order, and by what else they
//! could be told apart.
//!
//! In: parameters of an address. Out: conditions and an order for a [`crate::Search`], and the
//! numbers of pages by language, section and age.
//! Invariant: whatever is written means something; what isn't understood narrows nothing.

use std::collections::BTreeMap;

use url::form_urlencoded::byte_serialize;

use super::address::language_of;
use super::page::{SHAPE_CHANGED, SHAPE_LANGUAGE, SHAPE_SECTION, SHAPE_TOPIC};
use crate::text::Language;
use crate::{Filter, FilterKind, Sort, SortKey, Value};

/// Values of a kind that are told at most, the most frequent.
const VALUES_MAX: usize = 12;
const SECTION_CHARACTERS_MAX: usize = 60;
const DAY_SECONDS: i64 = 86_400;

/// What of a site is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrow {
    /// Pages in this language, by its code.
    pub language: Option<String>,
    /// Pages of this section.
    pub section: Option<String>,
    /// Pages that changed in this time.
    pub age: Option<Age>,
    /// Pages of this topic, each of them.
    pub topic: Option<i64>,
    /// The newest first, instead of what fits best.
    pub is_newest: bool,
}

/// How long ago something changed at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// A day.
    Day,
    /// Seven days.
    Week,
    /// Thirty days.
    Month,
    /// 365 days.
    Year,
}

impl Age {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::Year];

    /// As addresses write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    fn seconds(self) -> i64 {
        DAY_SECONDS
            * match self {
                Self::Day => 1,
                Self::Week => 7,
                Self::Month => 30,
                Self::Year => 365,
            }
    }
}

impl Narrow {
    /// What an address wants.
    #[must_use]
    pub fn read<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut narrow = Self::default();
        for (name, value) in pairs {
            match name {
                "lang" => narrow.language = Some(language_of(value)).filter(|it| !it.is_empty()),
                "section" => {
                    let name: String = value.chars().take(SECTION_CHARACTERS_MAX).collect();
                    narrow.section = Some(name).filter(|it| !it.is_empty());
                }
                "age" => narrow.age = Age::ALL.into_iter().find(|age| age.name() == value),
                "topic" => {
                    narrow.topic = u64::from_str_radix(value, 16).ok().map(u64::cast_signed);
                }
                "sort" => narrow.is_newest = value == "newest",
                _ => {}
            }
        }
        narrow
    }

    /// The same as parameters of an address, by their names.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        [
            ("lang", self.language.clone()),
            ("section", self.section.clone()),
            ("age", self.age.map(|age| age.name().to_owned())),
            ("topic", self.topic.map(topic_name)),
            ("sort", self.is_newest.then(|| "newest".to_owned())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// The same, to be put behind a query in an address.
    pub(super) fn behind(&self) -> String {
        let encoded = |value: &str| byte_serialize(value.as_bytes()).collect::<String>();
        let pairs = self.pairs();
        pairs.iter().map(|(name, value)| format!("&{name}={}", encoded(value))).collect()
    }

    /// Whether pages are left out.
    #[must_use]
    pub fn leaves_out(&self) -> bool {
        *self != Self { is_newest: self.is_newest, ..Self::default() }
    }

    /// The conditions; `now` in seconds since 1970.
    #[must_use]
    pub fn filters(&self, now: i64) -> Vec<Filter> {
        let text = |at, value: &Option<String>| {
            value.clone().map(|value| (at, FilterKind::TextIn(vec![value])))
        };
        let since = |age: Age| (SHAPE_CHANGED, FilterKind::Range(now - age.seconds(), i64::MAX));
        [
            text(SHAPE_LANGUAGE, &self.language),
            text(SHAPE_SECTION, &self.section),
            self.age.map(since),
            self.topic.map(|topic| (SHAPE_TOPIC, FilterKind::In(vec![topic]))),
        ]
        .into_iter()
        .flatten()
        .map(|(at, kind)| Filter { attribute: Some(at), kind, is_excluded: false })
        .collect()
    }

    /// The order; empty: by relevance.
    #[must_use]
    pub fn order(&self) -> Vec<Sort> {
        let newest = Sort { key: SortKey::Attribute(SHAPE_CHANGED), is_descending: true };
        if self.is_newest { vec![newest] } else { Vec::new() }
    }
}

/// A topic as addresses name it.
pub(super) fn topic_name(topic: i64) -> String {
    format!("{:016x}", topic.cast_unsigned())
}

/// What a language is called, in itself where that is known.
pub(super) fn language_name(code: &str) -> &str {
    match code {
        "ko" => "한국어",
        "ja" => "日本語",
        "zh" => "中文",
        "zh-Hant" => "繁體中文",
        "uk" => "Українська",
        "pl" => "Polski",
        "cs" => "Čeština",
        "vi" => "Tiếng Việt",
        "th" => "ไทย",
        "he" => "עברית",
        "fa" => "فارسی",
        other => Language::named(other).map_or(other, |language| language.name()),
    }
}

/// How many pages there are of each language, section and age.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    pages: u64,
    languages: BTreeMap<String, u64>,
    sections: BTreeMap<String, u64>,
    ages: BTreeMap<Age, u64>,
}

impl Facets {
    /// The attributes of a page that are counted by.
    pub const ATTRIBUTES: [usize; 3] = [SHAPE_LANGUAGE, SHAPE_SECTION, SHAPE_CHANGED];

    /// Counts a page; `now` in seconds since 1970.
    pub fn count(&mut self, attributes: &[Value], now: i64) {
        self.pages += 1;
        for (at, counts) in
            [(SHAPE_LANGUAGE, &mut self.languages), (SHAPE_SECTION, &mut self.sections)]
        {
            if let Some(Value::Text(value)) = attributes.get(at).filter(|it| !is_empty(it)) {
                *counts.entry(value.clone()).or_default() += 1;
            }
        }
        if let Some(Value::Int(changed)) = attributes.get(SHAPE_CHANGED) {
            for age in Age::ALL {
                *self.ages.entry(age).or_default() += u64::from(*changed >= now - age.seconds());
            }
        }
    }

    /// How many pages were counted.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The languages, the most frequent first.
    #[must_use]
    pub fn languages(&self) -> Vec<(&str, u64)> {
        most(&self.languages)
    }

    /// The sections, the most frequent first.
    #[must_use]
    pub fn sections(&self) -> Vec<(&str, u64)> {
        most(&self.sections)
    }

    /// The ages, the shortest first: each has those of the ones before in it.
    #[must_use]
    pub fn ages(&self) -> Vec<(Age, u64)> {
        self.ages.iter().filter(|(_, count)| **count > 0).map(|(age, n)| (*age, *n)).collect()
    }
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.is_empty())
}

fn most(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut all: Vec<_> = counts.iter().map(|(value, count)| (value.as_str(), *count)).collect();
    // What is as frequent stays in the order of the alphabet.
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(VALUES_MAX);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Narrow {
        Narrow::read(query.split('&').filter_map(|pair| pair.split_once('=')))
    }

    #[test]
    fn what_is_written_comes_back_and_what_is_not_understood_narrows_nothing() {
        for (written, expected) in [
            ("lang=en-GB&sort=newest", "&lang=en&sort=newest"),
            ("section=a b&age=week", "&section=a+b&age=week"),
            ("topic=ff", "&topic=00000000000000ff"),
            ("topic=ffffffffffffffff", "&topic=ffffffffffffffff"),
            ("lang=\"><script>&age=century&sort=worst&topic=x&other=1", ""),
            ("section=&lang=", ""),
        ] {
            let narrow = read(written);
            assert_eq!(narrow.behind(), expected, "{written}");
            assert_eq!(narrow.filters(0).is_empty(), !narrow.leaves_out(), "{written}");
        }
        let long = format!("section={}", "é".repeat(500));
        assert_eq!(read(&long).section.map(|it| it.chars().count()), Some(SECTION_CHARACTERS_MAX));
    }

    #[test]
    fn pages_are_counted_by_what_they_are() {
        let now = 400 * DAY_SECONDS;
        let mut facets = Facets::default();
        for (language, section, days) in
            [("en", "forum", 0), ("ko", "", 3), ("en", "wiki", 20), ("", "forum", 390)]
        {
            let mut attributes = vec![Value::Int(0); 10];
            attributes[SHAPE_LANGUAGE] = Value::Text(language.to_owned());
            attributes[SHAPE_SECTION] = Value::Text(section.to_owned());
            attributes[SHAPE_CHANGED] = Value::Int(now - days * DAY_SECONDS);
            facets.count(&attributes, now);
        }
        assert_eq!(facets.pages(), 4);
        assert_eq!(facets.languages(), [("en", 2), ("ko", 1)]);
        assert_eq!(facets.sections(), [("forum", 2), ("wiki", 1)]);
        let ages = [(Age::Day, 1), (Age::Week, 2), (Age::Month, 3), (Age::Year, 3)];
        assert_eq!(facets.ages(), ages);
        assert_eq!(language_name("de"), "Deutsch");
        assert_eq!(language_name("xx"), "xx");
    }
}
