//! What was found: settings with the lines that they come from, and what was left.
//!
//! Invariants: 1. names of settings are those of `wick.toml`. 2. of two values for one
//! setting the first counts, unless the setting is a limit: then the most generous does.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How much of a line is quoted, in characters.
const QUOTED_MAX: usize = 72;
/// Things that are left and told one by one; a file with more is no file of settings.
const LEFT_MAX: usize = 2_000;
/// Texts of one list.
const TEXTS_MAX: usize = 10_000;
/// Lines that are remembered for one setting.
const PLACES_MAX: usize = 100;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A size.
    Bytes(u64),
    /// A time.
    Time(Duration),
}

/// One setting and where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As in `wick.toml`.
    pub name: &'static str,
    /// What it is set to.
    pub value: Value,
    /// The lines that say so.
    pub places: Vec<Place>,
    /// What the owner should know about it.
    pub note: Option<&'static str>,
}

/// Settings under one heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// In the order in which they were found.
    pub settings: Vec<Setting>,
    /// Where what they describe begins.
    pub place: Option<Place>,
    /// Whether this is the site for whatever no other site answers.
    pub is_default: bool,
}

impl Section {
    /// The setting of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The texts of a setting; none if it isn't there.
    #[must_use]
    pub fn texts(&self, name: &str) -> &[String] {
        match self.find(name).map(|setting| &setting.value) {
            Some(Value::List(texts)) => texts,
            Some(Value::Text(text)) => std::slice::from_ref(text),
            _ => &[],
        }
    }

    /// Sets it, unless it is set already: says whether it now has this value.
    pub(crate) fn set(&mut self, name: &'static str, value: Value, place: &Place) -> bool {
        match self.settings.iter_mut().find(|setting| setting.name == name) {
            Some(there) => {
                let is_new = there.places.len() < PLACES_MAX && !there.places.contains(place);
                if there.value == value && is_new {
                    there.places.push(place.clone());
                }
                there.value == value
            }
            None => {
                let places = vec![place.clone()];
                self.settings.push(Setting { name, value, places, note: None });
                true
            }
        }
    }

    /// Sets it in place of what it was.
    pub(crate) fn replace(&mut self, name: &'static str, value: Value, place: &Place) {
        self.remove(name);
        self.set(name, value, place);
    }

    /// Sets a limit, or raises it: one that several say is as generous as the largest of them.
    pub(crate) fn raise(&mut self, name: &'static str, value: Value, place: &Place) {
        let is_larger = |there: &Value| match (there, &value) {
            (Value::Number(there), Value::Number(new)) => new > there,
            (Value::Bytes(there), Value::Bytes(new)) => new > there,
            (Value::Time(there), Value::Time(new)) => new > there,
            _ => false,
        };
        match self.settings.iter_mut().find(|setting| setting.name == name) {
            Some(there) => {
                if is_larger(&there.value) {
                    there.value = value;
                }
                if there.places.len() < PLACES_MAX {
                    there.places.push(place.clone());
                }
                there.note = Some("the largest of them: it holds for all sites");
            }
            None => {
                self.set(name, value, place);
            }
        }
    }

    /// Puts a text on a list.
    pub(crate) fn add(&mut self, name: &'static str, text: &str, place: &Place) {
        match self.settings.iter_mut().find(|setting| setting.name == name) {
            Some(Setting { value: Value::List(texts), places, note, .. }) => {
                if texts.len() >= TEXTS_MAX {
                    *note = Some("only the first 10,000 of them");
                } else if !texts.iter().any(|there| there == text) {
                    texts.push(text.to_owned());
                }
                if places.len() < PLACES_MAX && !places.contains(place) {
                    places.push(place.clone());
                }
            }
            _ => {
                self.set(name, Value::List(vec![text.to_owned()]), place);
            }
        }
    }

    /// Says something beside a setting that is there.
    pub(crate) fn note(&mut self, name: &str, note: &'static str) {
        if let Some(setting) = self.settings.iter_mut().find(|setting| setting.name == name) {
            setting.note = Some(note);
        }
    }

    /// Takes a setting out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.settings.retain(|setting| setting.name != name);
    }

    /// Takes over what another section says and this one doesn't; lists are put together.
    pub(crate) fn join(&mut self, other: Self) {
        for setting in other.settings {
            match (&setting.value, setting.places.first()) {
                (Value::List(texts), Some(place)) => {
                    texts.iter().for_each(|text| self.add(setting.name, text, place));
                }
                _ if self.find(setting.name).is_none() => self.settings.push(setting),
                _ => {}
            }
        }
    }
}

/// Why something was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It keeps visitors out, and Wick would let them in.
    Protection,
    /// Wick has nothing like it.
    Cannot,
    /// It isn't understood.
    Unknown,
    /// Wick does it by itself, or it has no meaning here.
    NotNeeded,
}

/// What is said of compression.
pub(crate) const COMPRESSED: (Why, &str) =
    (Why::NotNeeded, "Wick compresses by itself what gains by it");
/// What is said of connections that go on in another protocol.
pub(crate) const TUNNELLED: (Why, &str) =
    (Why::NotNeeded, "WebSockets reach an HTTP origin by themselves");

/// What is said of fields that another server adds to answers.
pub(crate) const FIELDS: &str = "let the app send these fields: Wick adds none but those of \
                                 security_headers, hsts and request_id";
/// What is said of bounds on how often somebody may ask.
pub(crate) const RATES: &str = "rate, rate_burst and concurrency do the like, under [limits] or for \
                                a site: as in rate = \"20/s\"";

/// Something that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where it stands.
    pub place: Place,
    /// The line, or its beginning.
    pub quoted: String,
    /// Why.
    pub why: Why,
    /// What Wick does, or what to do instead.
    pub advice: Cow<'static, str>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The top of the file.
    pub top: Section,
    /// `[limits]`.
    pub limits: Section,
    /// Each `[[site]]`.
    pub sites: Vec<Section>,
    /// What was left, in order.
    pub left: Vec<Left>,
    /// The files that were given.
    pub from: Vec<String>,
}

impl Imported {
    /// Leaves something.
    pub(crate) fn leave(
        &mut self,
        place: &Place,
        quoted: &str,
        why: Why,
        advice: impl Into<Cow<'static, str>>,
    ) {
        if self.left.len() >= LEFT_MAX {
            return;
        }
        let (quoted, advice) = (shorten(quoted), advice.into());
        let left = Left { place: place.clone(), quoted, why, advice };
        // One thing that is included many times is told once.
        if !self.left.contains(&left) {
            self.left.push(left);
        }
    }

    /// Whether anything was left that somebody has to see to.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        self.left.iter().any(|left| left.why != Why::NotNeeded)
    }
}

/// The beginning of a text, on one line and without what a terminal would obey.
fn shorten(text: &str) -> String {
    let mut short = String::new();
    for (at, word) in text.split_whitespace().enumerate() {
        if at > 0 {
            short.push(' ');
        }
        short.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        if short.chars().nth(QUOTED_MAX).is_some() {
            let cut: String = short.chars().take(QUOTED_MAX - 2).collect();
            return format!("{} …", cut.trim_end());
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_line_is_short_and_plain() {
        assert_eq!(shorten("  a\n\t b\u{1b}[2J "), "a b\u{fffd}[2J");
        assert_eq!(shorten(&"ä".repeat(500)).chars().count(), QUOTED_MAX);
        assert_eq!(shorten(""), "");
    }

    #[test]
    fn the_first_value_counts_and_the_largest_limit() {
        let place = |line| Place { file: "f".into(), line };
        let mut section = Section::default();
        assert!(section.set("php", Value::Text("a".into()), &place(1)));
        assert!(!section.set("php", Value::Text("b".into()), &place(2)));
        for (line, bytes) in [(3, 5), (4, 9), (5, 7)] {
            section.raise("body", Value::Bytes(bytes), &place(line));
        }
        assert_eq!(section.find("body").map(|body| body.value.clone()), Some(Value::Bytes(9)));
        section.add("hosts", "a", &place(6));
        section.add("hosts", "a", &place(7));
        assert_eq!(section.texts("hosts"), ["a"]);
        assert_eq!(section.texts("php"), ["a"]);
    }
}
