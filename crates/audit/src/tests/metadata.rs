//! What a page says of itself, as far as one page shows it.

use super::Notes;
use super::code::kind_of;
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
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&script.text()) {
            let message = format!("the data is no JSON: {}", kind_of(&error));
            notes.note("json-ld", script.line(), message);
        }
    }
}
