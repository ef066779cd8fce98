//! Attributes: whether an element may have them, and whether their values are valid.
//!
//! Law: HTML §3.2.6 (global attributes), each element's own, and §16.2 (obsolete ones);
//! HTML+RDFa 1.1 for those of RDFa, which every element may have.

use super::elements::spec;
use super::{Look, obsolete};
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::token::Attribute;
use crate::values::{self, Kind, Kind::*};

/// Attributes that every element may have, in order.
#[rustfmt::skip]
const GLOBAL: &[(&str, Kind)] = &[
    ("about", Any), ("accesskey", Any), ("autocapitalize", Words(&["off", "none", "on", "sentences", "words", "characters"])),
    ("autocorrect", Words(&["", "on", "off"])), ("autofocus", Flag), ("class", Any),
    ("content", Any), ("contenteditable", Words(&["", "true", "plaintext-only", "false"])),
    ("contextmenu", Any), ("datatype", Any), ("dir", Words(&["ltr", "rtl", "auto"])), ("draggable", Words(&["true", "false"])),
    ("dropzone", Any),
    ("enterkeyhint", Words(&["enter", "done", "go", "next", "previous", "search", "send"])),
    ("headingoffset", Natural), ("headingreset", Flag),
    ("hidden", Words(&["", "hidden", "until-found"])), ("id", Id), ("inert", Flag), ("inlist", Any),
    ("inputmode", Words(&["none", "text", "tel", "url", "email", "numeric", "decimal", "search"])),
    ("is", NotEmpty), ("itemid", Url), ("itemprop", Tokens), ("itemref", Tokens), ("itemscope", Flag),
    ("itemtype", Tokens), ("lang", Language), ("nonce", Any),
    ("popover", Words(&["", "auto", "manual", "hint"])), ("prefix", Any), ("property", Any), ("rel", Tokens),
    ("resource", Any), ("rev", Tokens),
    ("role", Any), ("slot", Any), ("spellcheck", Words(&["", "true", "false"])), ("style", Any),
    ("tabindex", Integer), ("title", Any), ("translate", Words(&["", "yes", "no"])), ("typeof", Any),
    ("vocab", Any), ("writingsuggestions", Words(&["", "true", "false"])),
];

/// Events that every element may listen to, without their `on`, in order.
#[rustfmt::skip]
const EVENTS: &[&str] = &[
    "auxclick", "beforeinput", "beforematch", "beforetoggle", "blur", "cancel", "canplay",
    "canplaythrough", "change", "click", "close", "command", "contextlost", "contextmenu",
    "contextrestored", "copy", "cuechange", "cut", "dblclick", "drag", "dragend", "dragenter",
    "dragleave", "dragover", "dragstart", "drop", "durationchange", "emptied", "ended", "error",
    "focus", "formdata", "gotpointercapture", "input", "invalid", "keydown", "keypress", "keyup",
    "load", "loadeddata", "loadedmetadata", "loadstart", "lostpointercapture", "mousedown",
    "mouseenter", "mouseleave", "mousemove", "mouseout", "mouseover", "mouseup", "paste", "pause",
    "play", "playing", "pointercancel", "pointerdown", "pointerenter", "pointerleave",
    "pointermove", "pointerout", "pointerover", "pointerrawupdate", "pointerup", "progress",
    "ratechange", "reset", "resize", "scroll", "scrollend", "securitypolicyviolation", "seeked",
    "seeking", "select", "show", "slotchange", "stalled", "submit", "suspend", "timeupdate",
    "toggle", "touchcancel", "touchend", "touchmove", "touchstart", "transitioncancel",
    "transitionend", "transitionrun", "transitionstart", "volumechange", "waiting", "wheel",
];

const TEXT_FIELDS: &[&str] = &["", "text", "search", "url", "tel", "email", "password"];
const DATES: &[&str] = &["date", "month", "week", "time", "datetime-local", "number", "range"];

/// The types of `input` that an attribute is for; all of them where it isn't here.
fn input_types(attribute: &str) -> Option<Vec<&'static str>> {
    let types: &[&[&str]] = match attribute {
        "checked" => &[&["checkbox", "radio"]],
        "maxlength" | "minlength" | "size" => &[TEXT_FIELDS],
        "placeholder" => &[TEXT_FIELDS, &["number"]],
        "pattern" => &[TEXT_FIELDS],
        "dirname" => &[TEXT_FIELDS, &["hidden", "submit", "reset", "button"]],
        "readonly" => {
            &[TEXT_FIELDS, &["date", "month", "week", "time", "datetime-local", "number"]]
        }
        "required" => &[
            TEXT_FIELDS,
            &[
                "date",
                "month",
                "week",
                "time",
                "datetime-local",
                "number",
                "checkbox",
                "radio",
                "file",
            ],
        ],
        "min" | "max" | "step" => &[DATES],
        "list" => &[&["", "text", "search", "url", "tel", "email", "color"], DATES],
        "multiple" => &[&["email", "file"]],
        "accept" | "capture" => &[&["file"]],
        "src" | "alt" | "width" | "height" => &[&["image"]],
        "formaction" | "formenctype" | "formmethod" | "formnovalidate" | "formtarget" => {
            &[&["submit", "image"]]
        }
        "popovertarget" | "popovertargetaction" => &[&["button", "submit", "reset", "image"]],
        "alpha" | "colorspace" => &[&["color"]],
        _ => return None,
    };
    Some(types.concat())
}

/// Judges every attribute of an element.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) {
    for attribute in &look.element.attributes {
        one(look, attribute, findings);
    }
    if look.element.name == Name::Input {
        input(look, findings);
    }
    let xml_lang = look.element.attribute("xml:lang");
    if let Some(attribute) = xml_lang
        && !look
            .element
            .value("lang")
            .is_some_and(|lang| lang.eq_ignore_ascii_case(&attribute.value))
    {
        findings.error(
            attribute.at as usize,
            "xml-lang-without-lang",
            "When the attribute “xml:lang” in no namespace is specified, the element must also have the attribute “lang” present with the same value.",
        );
    }
}

fn one(look: &Look<'_, '_>, attribute: &Attribute<'_>, findings: &mut Findings) {
    let name = &*attribute.name;
    let is_data = name.strip_prefix("data-").is_some_and(|rest| !rest.is_empty());
    if is_data || name.starts_with("aria-") || name == "xml:lang" {
        return;
    }
    let own = spec(look.element.name).map_or(&[][..], |spec| spec.attributes);
    let kind = own
        .iter()
        .find(|entry| entry.0 == name)
        .map(|entry| entry.1)
        .or_else(|| Some(GLOBAL[GLOBAL.binary_search_by_key(&name, |entry| entry.0).ok()?].1));
    if let Some(kind) = kind {
        if let Err(what) = values::judge(kind, name, &attribute.value) {
            bad_value(look, attribute, &what, findings);
        }
        // `rev` is RDFa's, and on links of old pages obsolete.
        if !matches!(name, "name" | "rev") {
            return;
        }
    }
    if obsolete::is_obsolete(name, look.element.name) {
        let message =
            format!("The “{name}” attribute on the “{}” element is obsolete.", look.element.label);
        findings.warning(attribute.at as usize, "obsolete-attribute", message);
        return;
    }
    if kind.is_some() {
        return;
    }
    let is_event =
        name.strip_prefix("on").is_some_and(|event| EVENTS.binary_search(&event).is_ok());
    if is_event || look.element.name == Name::Embed || name.starts_with("its-") {
        return;
    }
    if name == "xmlns" {
        if attribute.value != "http://www.w3.org/1999/xhtml" {
            let message = format!(
                "Bad value “{}” for the attribute “xmlns” (only “http://www.w3.org/1999/xhtml” permitted here).",
                shown(&attribute.value)
            );
            findings.error(attribute.at as usize, "bad-xmlns", message);
        }
        return;
    }
    let message = format!(
        "Attribute “{}” not allowed on element “{}” at this point.",
        shown(name),
        look.element.label
    );
    findings.error(attribute.at as usize, "attribute-not-allowed", message);
}

/// Tells that a value isn't valid.
pub(super) fn bad_value(
    look: &Look<'_, '_>,
    attribute: &Attribute<'_>,
    what: &str,
    findings: &mut Findings,
) {
    let message = format!(
        "Bad value “{}” for attribute “{}” on element “{}”: {what}",
        shown(&attribute.value),
        attribute.name,
        look.element.label
    );
    findings.error(attribute.at as usize, "bad-value", message);
}

/// A value as a message shows it: not longer than a line.
pub(super) fn shown(value: &str) -> String {
    match value.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn input(look: &Look<'_, '_>, findings: &mut Findings) {
    let kind = look.element.value("type").unwrap_or("").to_ascii_lowercase();
    for attribute in &look.element.attributes {
        let Some(types) = input_types(&attribute.name) else { continue };
        if !types.contains(&kind.as_str()) {
            let message = format!(
                "Attribute “{}” is only allowed when the input type is {}.",
                attribute.name,
                types
                    .iter()
                    .filter(|kind| !kind.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            findings.error(attribute.at as usize, "attribute-not-allowed", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, GLOBAL};

    #[test]
    fn tables_are_in_order() {
        assert!(GLOBAL.is_sorted_by_key(|entry| entry.0));
        assert!(EVENTS.is_sorted());
    }
}
