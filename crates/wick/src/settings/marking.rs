//! What settings say about new items that browsers mark.

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// A CSS selector, whose outer form at least is right: browsers know more of them every year.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector(pub String);

/// A name for the attribute `class`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassName(pub String);

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match fault_of_selector(&text) {
            None => Ok(Self(text)),
            Some(fault) => Err(de::Error::custom(format_args!(
                "\"{text}\" is not a CSS selector, {fault}: write one as in \"li.comment\""
            ))),
        }
    }
}

fn fault_of_selector(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("it is empty");
    }
    let mut open = Vec::new();
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (_, '\\') => drop(characters.next()),
            (Some(ends), _) if ends == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(') => open.push(')'),
            (None, '[') => open.push(']'),
            (None, ')' | ']') if open.pop() != Some(character) => {
                return Some("a bracket is closed that wasn't opened");
            }
            (None, '{' | '}' | ';') => return Some("it holds a declaration"),
            _ => {}
        }
    }
    match (quote, open.is_empty()) {
        (Some(_), _) => Some("a quote isn't closed"),
        (None, false) => Some("a bracket isn't closed"),
        (None, true) => None,
    }
}

impl<'de> Deserialize<'de> for ClassName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match !text.is_empty() && !text.contains(char::is_whitespace) {
            true => Ok(Self(text)),
            false => Err(de::Error::custom(format_args!(
                "\"{text}\" is not a class: write one name as in \"unread\""
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_held_against_their_outer_form() {
        for (text, expected) in [
            ("li.comment", None),
            ("article:has(> time) , [data-x=']{']", None),
            ("a\\[b", None),
            (" ", Some("it is empty")),
            ("li[", Some("a bracket isn't closed")),
            ("li:not(.a]", Some("a bracket is closed that wasn't opened")),
            ("li]", Some("a bracket is closed that wasn't opened")),
            ("[title=\"a]", Some("a quote isn't closed")),
            ("li { color: red }", Some("it holds a declaration")),
        ] {
            assert_eq!(fault_of_selector(text), expected, "{text}");
        }
    }
}
