//! What a page says of itself, as far as one page shows it.

use std::collections::BTreeSet;

use super::code::kind_of;
use super::{Notes, language, structured};
use crate::page::title;

pub(crate) fn run(notes: &mut Notes<'_>) {
    let Some(tree) = &notes.page().tree else { return };
    if title(tree).is_none() {
        notes.note("title-missing", 1, "there is no title, or it is empty");
    }
    let root = tree.first("html");
    if root.is_none_or(|root| root.said("lang").is_none()) {
        notes.note("lang-missing", 1, "the html element has no lang");
    }
    let is_description = |name: &str| name.eq_ignore_ascii_case("description");
    let mut metas = tree.elements().filter(|element| element.name() == "meta");
    let is_described = metas.any(|meta| {
        meta.attribute("name").is_some_and(is_description) && meta.said("content").is_some()
    });
    if !is_described {
        notes.note("description-missing", 1, "there is no meta description, or it is empty");
    }
    for script in tree.elements().filter(|element| element.name() == "script") {
        let kind = script.attribute("type").unwrap_or("").trim().to_ascii_lowercase();
        if kind.split(';').next() != Some("application/ld+json") {
            continue;
        }
        // White space within JSON's strings is no concern of ours.
        match serde_json::from_str::<serde_json::Value>(&script.text()) {
            Ok(data) => {
                for lack in structured::lacks(&data) {
                    notes.note("json-ld-field", script.line(), lack);
                }
            }
            Err(error) => {
                let message = format!("the data is no JSON: {}", kind_of(&error));
                notes.note("json-ld", script.line(), message);
            }
        }
    }
    languages(notes);
}

/// The versions in other languages that a page names.
fn languages(notes: &mut Notes<'_>) {
    let Some(tree) = &notes.page().tree else { return };
    let mut named = BTreeSet::new();
    let mut has_default = false;
    for link in tree.elements().filter(|element| element.name() == "link") {
        let relation = link.attribute("rel").unwrap_or("").to_ascii_lowercase();
        let is_version = relation.split_whitespace().any(|one| one == "alternate");
        // A feed in another language is no version of the page.
        let is_page = link.said("type").is_none_or(|kind| kind.contains("html"));
        let Some(written) = link.said("hreflang").filter(|_| is_version && is_page) else {
            continue;
        };
        if written.eq_ignore_ascii_case("x-default") {
            has_default = true;
        } else if let Some(why) = language::fault(written) {
            notes.note("hreflang-code", link.line(), format!("hreflang={written}: {why}"));
        } else {
            named.insert(written.to_ascii_lowercase());
        }
    }
    if named.len() > 1 && !has_default {
        let count = named.len();
        notes.note("hreflang-default", 0, format!("{count} languages are named, and no x-default"));
    }
}
