//! What may not stand within what, however deep.
//!
//! Law: the "there must be no … descendants" of HTML §4's content models.

use super::Look;
use crate::findings::Findings;
use crate::read::name::Name;

const A: u32 = 1;
const BUTTON: u32 = 1 << 1;
const LABEL: u32 = 1 << 2;
const HEADER: u32 = 1 << 3;
const FOOTER: u32 = 1 << 4;
const DFN: u32 = 1 << 5;
const METER: u32 = 1 << 6;
const PROGRESS: u32 = 1 << 7;
const NOSCRIPT: u32 = 1 << 8;
const ADDRESS: u32 = 1 << 9;
const CAPTION: u32 = 1 << 10;
const TH: u32 = 1 << 11;
const DT: u32 = 1 << 12;
const FORM: u32 = 1 << 13;
const MEDIA: u32 = 1 << 14;
/// An element that `main` may not stand in.
const NOT_FOR_MAIN: u32 = 1 << 19;
/// An item of microdata.
pub(super) const ITEM: u32 = 1 << 20;
/// A `map`, which areas need.
pub(super) const MAP: u32 = 1 << 16;
/// A link with `href`.
pub(super) const LINKED: u32 = 1 << 17;
/// Something hidden from those that count headings and mains.
pub(super) const HIDDEN: u32 = 1 << 18;

const LABELS: &[(u32, &str)] = &[
    (A, "a"),
    (BUTTON, "button"),
    (LABEL, "label"),
    (HEADER, "header"),
    (FOOTER, "footer"),
    (DFN, "dfn"),
    (METER, "meter"),
    (PROGRESS, "progress"),
    (NOSCRIPT, "noscript"),
    (ADDRESS, "address"),
    (CAPTION, "caption"),
    (TH, "th"),
    (DT, "dt"),
    (FORM, "form"),
    (MEDIA, "audio or video"),
    (NOT_FOR_MAIN, "surrounding"),
];

/// Elements that a visitor acts on (§3.2.5.2.7).
pub(super) fn is_interactive(look: &Look<'_, '_>) -> bool {
    let element = look.element;
    match element.name {
        Name::A => element.has("href"),
        Name::Audio | Name::Video => element.has("controls"),
        Name::Button
        | Name::Details
        | Name::Embed
        | Name::Iframe
        | Name::Label
        | Name::Select
        | Name::Textarea => true,
        Name::Img | Name::Object => element.has("usemap"),
        Name::Input => !element.is_word("type", "hidden"),
        _ => false,
    }
}

/// What an element's ancestors may not be.
fn forbidden(look: &Look<'_, '_>) -> u32 {
    let mut walls = match look.element.name {
        Name::A => A,
        Name::Form => FORM,
        Name::Progress => PROGRESS,
        Name::Meter => METER,
        Name::Dfn => DFN,
        Name::Noscript => NOSCRIPT,
        Name::Label => LABEL,
        Name::Address => ADDRESS,
        Name::Header => ADDRESS | HEADER | FOOTER | TH | DT,
        Name::Footer => ADDRESS | HEADER | FOOTER | TH | DT,
        Name::Table => CAPTION,
        Name::Article | Name::Aside | Name::Nav | Name::Section | Name::Hgroup => ADDRESS | TH | DT,
        Name::Main => NOT_FOR_MAIN,
        Name::Audio | Name::Video => MEDIA,
        name if name.is_heading() => ADDRESS | TH | DT,
        _ => 0,
    };
    let has_focus = look.element.has("tabindex");
    if is_interactive(look) || has_focus {
        walls |= A | BUTTON;
    }
    walls
}

/// What an element is to those within it.
fn own(look: &Look<'_, '_>) -> u32 {
    let element = look.element;
    let mut bits = match element.name {
        Name::A => A,
        Name::Button => BUTTON,
        Name::Label => LABEL,
        Name::Header => HEADER,
        Name::Footer => FOOTER,
        Name::Dfn => DFN,
        Name::Meter => METER,
        Name::Progress => PROGRESS,
        Name::Noscript => NOSCRIPT,
        Name::Address => ADDRESS,
        Name::Caption => CAPTION,
        Name::Th => TH,
        Name::Dt => DT,
        Name::Form => FORM,
        Name::Audio | Name::Video => MEDIA,
        Name::Map => MAP,
        Name::Template => HIDDEN,
        _ => 0,
    };
    if element.name == Name::A && element.has("href") {
        bits |= LINKED;
    }
    let may_hold_main = matches!(element.name, Name::Html | Name::Body | Name::Div | Name::Form)
        || element.label.contains('-');
    if !may_hold_main {
        bits |= NOT_FOR_MAIN;
    }
    if element.has("itemscope") {
        bits |= ITEM;
    }
    if element.has("hidden") {
        bits |= HIDDEN;
    }
    bits
}

/// Tells what an element stands within and may not; what it is to those within it.
pub(super) fn judge(look: &Look<'_, '_>, findings: &mut Findings) -> u32 {
    let bits = own(look);
    let mut hit = look.within & forbidden(look);
    // A header within a section of a header is that section's.
    if matches!(look.element.name, Name::Header | Name::Footer)
        && hit & !(HEADER | FOOTER) == 0
        && hit != 0
    {
        hit = if is_of_inner_section(look) { 0 } else { hit };
    }
    if hit != 0 && !look.element.is_implied {
        let outer = LABELS.iter().find(|(bit, _)| hit & bit != 0).map_or("", |(_, label)| label);
        let message = format!(
            "The element “{}” must not appear as a descendant of the “{outer}” element.",
            look.element.label
        );
        findings.error(look.at, "forbidden-descendant", message);
    }
    if look.element.name == Name::Area && look.within & MAP == 0 {
        findings.error(
            look.at,
            "area-without-map",
            "The “area” element must have a “map” ancestor.",
        );
    }
    bits
}

fn is_of_inner_section(look: &Look<'_, '_>) -> bool {
    for (_, element) in look.tree.ancestors(look.id) {
        match element.name {
            Name::Article | Name::Section | Name::Nav | Name::Aside => return true,
            Name::Header | Name::Footer => return false,
            _ => {}
        }
    }
    false
}
