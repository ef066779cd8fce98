//! Media: images and their alternatives, sources, tracks, frames.
//!
//! Law: HTML §4.8.

use super::attributes::bad_value;
use super::metadata::missing_one_of;
use super::{Look, within};
use crate::findings::Findings;
use crate::read::name::Name;
use crate::values::srcset_has_width;

/// Judges an element, if it is of these.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    match element.name {
        Name::Img => image(look, findings),
        Name::Source => source(look, findings),
        Name::Track if !element.has("src") => missing_one_of(look, &["src"], findings),
        Name::Object if !element.has("data") => missing_one_of(look, &["data"], findings),
        Name::Area => area(look, findings),
        Name::Map => map(look, findings),
        _ => {}
    }
}

fn image(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    if !element.has("src") && !element.has("srcset") {
        missing_one_of(look, &["src", "srcset"], findings);
    }
    let is_named = element.value("title").is_some_and(|title| !title.is_empty())
        || element.has("generator-unable-to-provide-required-alt");
    if !element.has("alt") && !is_named && !has_caption(look) {
        findings.error(
            look.at,
            "alt-missing",
            "An “img” element must have an “alt” attribute, except under certain conditions.",
        );
    }
    let is_linked = look.within & within::LINKED != 0;
    if let Some(attribute) = element.attribute("ismap")
        && !is_linked
    {
        findings.error(attribute.at as usize, "ismap-without-link", "The “img” element with the “ismap” attribute set must have an “a” ancestor with the “href” attribute.");
    }
    if let Some(attribute) = element.attribute("srcset")
        && srcset_has_width(&attribute.value)
        && !element.has("sizes")
        && !element.is_word("loading", "lazy")
    {
        findings.error(attribute.at as usize, "sizes-missing", "When the “srcset” attribute has any image candidate string with a width descriptor, the “sizes” attribute must also be specified.");
    }
    if element.value("alt") == Some("") && element.has("role") {
        let role = element.value("role").unwrap_or("");
        if !matches!(role, "presentation" | "none") {
            findings.error(look.at, "role-without-name", "An “img” element with a “role” attribute must not have an “alt” attribute whose value is the empty string.");
        }
    }
}

/// In a figure, a caption may stand for the alternative.
fn has_caption(look: &Look<'_, '_>) -> bool {
    look.tree.ancestors(look.id).find(|(_, element)| element.is(Name::Figure)).is_some_and(
        |(id, _)| look.tree.child_elements(id).any(|(_, element)| element.is(Name::Figcaption)),
    )
}

fn source(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    if look.parent == Name::Picture {
        if !element.has("srcset") {
            missing_one_of(look, &["srcset"], findings);
        }
        if let Some(attribute) = element.attribute("src") {
            let message = "Attribute “src” not allowed on element “source” at this point.";
            findings.error(attribute.at as usize, "attribute-not-allowed", message);
        }
        if let Some(attribute) = element.attribute("media")
            && matches!(attribute.value.trim(), "" | "all")
        {
            bad_value(look, attribute, "Must not be empty or “all”.", findings);
        }
        return;
    }
    if !element.has("src") {
        missing_one_of(look, &["src"], findings);
    }
    for name in ["srcset", "sizes", "width", "height"] {
        if let Some(attribute) = element.attribute(name) {
            let message =
                format!("Attribute “{name}” not allowed on element “source” at this point.");
            findings.error(attribute.at as usize, "attribute-not-allowed", message);
        }
    }
}

fn area(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    if element.has("href") {
        if !element.has("alt") {
            missing_one_of(look, &["alt"], findings);
        }
        return;
    }
    let of_links = ["alt", "target", "download", "ping", "rel", "hreflang", "type"];
    if of_links.iter().any(|name| element.has(name)) {
        missing_one_of(look, &["href"], findings);
    }
}

fn map(look: &Look<'_, '_>, findings: &mut Findings) {
    let Some(name) = look.element.value("name") else {
        missing_one_of(look, &["name"], findings);
        return;
    };
    if look.element.value("id").is_some_and(|id| id != name) {
        findings.error(look.at, "map-id", "The “id” attribute on a “map” element must have the same value as the “name” attribute.");
    }
}
