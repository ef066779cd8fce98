//! Requirements: attributes that an element needs, or may not have together.
//!
//! Law: HTML §4, the prose of each element.

use super::Look;
use super::metadata::missing_one_of;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::{Element, Kind};

/// Attributes of links that mean nothing without `href`.
const OF_LINKS: &[&str] = &[
    "name",
    "target",
    "download",
    "ping",
    "rel",
    "hreflang",
    "type",
    "referrerpolicy",
    "charset",
    "coords",
    "shape",
    "rev",
    "methods",
    "urn",
];

/// Judges what an element needs.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    match element.name {
        Name::A if !element.has("href") && OF_LINKS.iter().any(|name| element.has(name)) => {
            missing_one_of(look, &["href"], findings);
        }
        Name::Bdo => direction(look, findings),
        Name::Data if !element.has("value") => missing_one_of(look, &["value"], findings),
        Name::Meter => {
            if !element.has("value") {
                missing_one_of(look, &["value"], findings);
            }
            ordered(look, &["min", "low", "high", "max"], findings);
            ordered(look, &["min", "value", "max"], findings);
            ordered(look, &["min", "optimum", "max"], findings);
        }
        Name::Progress => ordered(look, &["value", "max"], findings),
        Name::Optgroup => {
            let has_legend =
                look.tree.child_elements(look.id).any(|(_, child)| child.is(Name::Legend));
            if !element.has("label") && !has_legend {
                missing_one_of(look, &["label"], findings);
            }
        }
        Name::Option if !element.has("label") => {
            let mut nodes = look.tree.descendants(look.id);
            if !nodes.any(|id| matches!(look.tree.node(id).kind, Kind::Text(_))) {
                findings.error(
                    look.at,
                    "empty-option",
                    "Element “option” without attribute “label” must not be empty.",
                );
            }
        }
        Name::Select => select(look, findings),
        Name::Input => input(look, findings),
        Name::Label => label(look, findings),
        Name::Textarea if element.is_word("wrap", "hard") && !element.has("cols") => {
            missing_one_of(look, &["cols"], findings);
        }
        Name::Time if !element.has("datetime") => {
            let text = look.tree.own_text(look.id);
            let has_elements = look.tree.child_elements(look.id).next().is_some();
            if has_elements {
                findings.error(
                    look.at,
                    "element-not-allowed",
                    "A “time” element without “datetime” must hold only text.",
                );
            } else if let Err(what) =
                crate::values::judge(crate::values::Kind::TimeDatetime, "", &text)
            {
                let message = format!(
                    "The text content of element “time” was not in the required format: {what}"
                );
                findings.error(look.at, "bad-text", message);
            }
        }
        _ => {}
    }
    microdata(look, findings);
}

fn direction(look: &Look<'_, '_>, findings: &mut Findings) {
    if !look.element.has("dir") {
        missing_one_of(look, &["dir"], findings);
    } else if look.element.is_word("dir", "auto") {
        findings.error(
            look.at,
            "bdo-auto",
            "The value of “dir” attribute for the “bdo” element must not be “auto”.",
        );
    }
}

fn number(element: &Element<'_>, name: &str) -> Option<f64> {
    element.value(name)?.trim().parse().ok()
}

/// Numbers of which none may be below the one before.
fn ordered(look: &Look<'_, '_>, names: &[&str], findings: &mut Findings) {
    let known = names.iter().filter_map(|&name| {
        let absent = match name {
            "min" => Some(0.0),
            "max" => Some(1.0),
            _ => None,
        };
        Some((name, number(look.element, name).or(absent)?))
    });
    let known: Vec<_> = known.collect();
    for pair in known.windows(2) {
        if pair[0].1 > pair[1].1 {
            let message = format!(
                "The value of the “{}” attribute must be less than or equal to the value of the “{}” attribute.",
                pair[0].0, pair[1].0
            );
            findings.error(look.at, "numbers-out-of-order", message);
        }
    }
}

fn select(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    let is_multiple = element.has("multiple");
    let options: Vec<_> = look
        .tree
        .descendants(look.id)
        .filter_map(|id| {
            Some((id, look.tree.element(id).filter(|element| element.is(Name::Option))?))
        })
        .collect();
    let selected = options.iter().filter(|(_, option)| option.has("selected")).count();
    if selected > 1 && !is_multiple {
        findings.error(look.at, "selected-twice", "The “select” element cannot have more than one selected “option” descendant unless the “multiple” attribute is specified.");
    }
    let is_list = element
        .value("size")
        .and_then(|size| size.trim().parse::<u32>().ok())
        .is_some_and(|size| size > 1);
    if !element.has("required") || is_multiple || is_list {
        return;
    }
    let Some((id, first)) = options.first() else {
        findings.error(look.at, "select-without-option", "A “select” element with a “required” attribute, and without a “multiple” attribute, must have a descendant “option” element.");
        return;
    };
    let is_placeholder = first.value("value").map_or(!look.tree.has_text(*id), str::is_empty);
    if !is_placeholder {
        let at = look.tree.node(*id).at as usize;
        findings.error(at, "select-placeholder", "The first “option” element of a “select” element with a “required” attribute must have either an empty “value” attribute, or no text content.");
    }
}

fn input(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    if element.is_word("type", "image") {
        if element.value("alt").is_none_or(str::is_empty) {
            missing_one_of(look, &["alt"], findings);
        }
        if !element.has("src") {
            missing_one_of(look, &["src"], findings);
        }
    }
    if element.is_word("type", "button") && element.value("value").is_none_or(str::is_empty) {
        findings.error(look.at, "button-without-value", "Element “input” with attribute “type” whose value is “button” must have non-empty attribute “value”.");
    }
    if element.value("name") == Some("isindex") {
        findings.error(
            look.at,
            "name-isindex",
            "The value “isindex” for the “name” attribute of the “input” element is not allowed.",
        );
    }
    if element.is_word("type", "hidden") {
        if element.attributes.iter().any(|attribute| attribute.name.starts_with("aria-")) {
            findings.error(look.at, "aria-on-hidden", "An “input” element with a “type” attribute whose value is “hidden” must not have any “aria-*” attributes.");
        }
        if element.is_word("autocomplete", "on") || element.is_word("autocomplete", "off") {
            findings.error(look.at, "autocomplete-on-hidden", "An “input” element with a “type” attribute whose value is “hidden” must not have an “autocomplete” attribute whose value is “on” or “off”.");
        }
    }
}

/// At most one control in a label, and no `role` or name on one that labels.
fn label(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    let mut controls = 0;
    for id in look.tree.descendants(look.id) {
        let Some(inner) = look.tree.element(id) else { continue };
        let is_control = match inner.name {
            Name::Input => !inner.is_word("type", "hidden"),
            Name::Button
            | Name::Meter
            | Name::Output
            | Name::Progress
            | Name::Select
            | Name::Textarea => true,
            _ => false,
        };
        if !is_control {
            continue;
        }
        controls += 1;
        if controls == 2 {
            let at = look.tree.node(id).at as usize;
            findings.error(at, "label-with-two-controls", "The “label” element may contain at most one “button”, “input”, “meter”, “output”, “progress”, “select”, or “textarea” descendant.");
        }
        let differs = element.value("for").is_some_and(|wanted| inner.value("id") != Some(wanted));
        if controls == 1 && differs {
            let at = look.tree.node(id).at as usize;
            findings.error(at, "label-for-another", "Any “input” descendant of a “label” element with a “for” attribute must have an ID value that matches that “for” attribute.");
        }
    }
    if controls == 0 && !element.has("for") {
        return;
    }
    for attribute in &element.attributes {
        if attribute.name == "role" || attribute.name.starts_with("aria-") {
            let message = format!(
                "The “{}” attribute must not be used on any “label” element that is associated with a labelable element.",
                attribute.name
            );
            findings.error(attribute.at as usize, "aria-on-label", message);
        }
    }
}

fn microdata(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    for (name, needed) in
        [("itemtype", "itemscope"), ("itemref", "itemscope"), ("itemid", "itemtype")]
    {
        if element.has(name) && !element.has(needed) {
            let message = format!(
                "The “{name}” attribute must not be specified on elements that do not have an “{needed}” attribute specified."
            );
            findings.error(look.at, "microdata", message);
        }
    }
}
