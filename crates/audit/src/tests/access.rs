//! Accessibility and images, as far as no browser is needed to tell.

use std::collections::{HashMap, HashSet};

use super::Notes;
use crate::page::tree::{Element, Tree};

pub(crate) fn run(notes: &mut Notes<'_>) {
    let Some(tree) = &notes.page().tree else { return };
    let ids = ids(tree);
    for (id, (count, line)) in &ids {
        if *count > 1 {
            notes.note("id-duplicate", *line, format!("the id {id:?} stands {count} times"));
        }
    }
    let labelled: HashSet<&str> = tree
        .elements()
        .filter(|element| element.name() == "label")
        .filter_map(|label| label.said("for"))
        .collect();
    for element in tree.elements().filter(|element| !is_hidden(*element)) {
        element_alone(notes, element, &labelled);
    }
    headings(notes, tree);
    let is_main = |element: &Element<'_>| {
        element.name() == "main" || element.attribute("role") == Some("main")
    };
    if !tree.elements().any(|element| is_main(&element)) {
        notes.note("landmark-main", 1, "there is no main element");
    }
}

fn ids(tree: &Tree) -> HashMap<&str, (usize, u64)> {
    let mut ids = HashMap::new();
    for element in tree.elements() {
        if let Some(id) = element.said("id") {
            let (count, line) = ids.entry(id).or_insert((0, 0));
            *count += 1;
            *line = element.line();
        }
    }
    ids
}

/// Whether nobody is shown or told of it.
fn is_hidden(element: Element<'_>) -> bool {
    let own = |one: Element<'_>| {
        one.attribute("hidden").is_some()
            || one.attribute("aria-hidden") == Some("true")
            || one.name() == "noscript"
    };
    own(element) || element.around().any(own)
}

fn element_alone(notes: &mut Notes<'_>, element: Element<'_>, labelled: &HashSet<&str>) {
    let line = element.line();
    match element.name() {
        "img" => image(notes, element),
        "a" if element.said("href").is_some() && !has_name(element) => {
            let to = element.said("href").unwrap_or("");
            notes.note("link-text", line, format!("the link to {to} has no text"));
        }
        "button" if !has_name(element) => {
            notes.note("button-text", line, "a button has no text");
        }
        "iframe" if !is_named(element) => {
            let source = element.said("src").unwrap_or("what a script puts there");
            notes.note("frame-title", line, format!("the frame of {source} has no title"));
        }
        "input" | "select" | "textarea" => field(notes, element, labelled),
        "meta" if element.attribute("name") == Some("viewport") => viewport(notes, element),
        _ => {}
    }
}

fn image(notes: &mut Notes<'_>, image: Element<'_>) {
    let source = image.said("src").unwrap_or("an image");
    let is_decoration = matches!(image.attribute("role"), Some("presentation" | "none"));
    if image.attribute("alt").is_none() && !is_named(image) && !is_decoration {
        notes.note("image-alt", image.line(), format!("{} has no alt", short(source)));
    }
    let style = image.attribute("style").unwrap_or("").to_ascii_lowercase();
    let is_sized = |name: &&str| image.said(name).is_some() || style.contains(*name);
    let has_size = ["width", "height"].iter().all(is_sized) || style.contains("aspect-ratio");
    if !has_size {
        let message = format!("{} has no width and height", short(source));
        notes.note("image-size", image.line(), message);
    }
}

/// An address that a message can show: pictures may be written into theirs.
fn short(address: &str) -> &str {
    &address[..address.floor_char_boundary(200)]
}

/// Whether attributes name it.
fn is_named(element: Element<'_>) -> bool {
    ["aria-label", "aria-labelledby", "title"].iter().any(|name| element.said(name).is_some())
}

/// Whether there is anything to be read aloud.
fn has_name(element: Element<'_>) -> bool {
    let speaks = |one: Element<'_>| match one.name() {
        "img" | "area" => one.said("alt").is_some() || is_named(one),
        "svg" => is_named(one) || one.elements().any(|part| part.name() == "title"),
        _ => one.said("aria-label").is_some() || one.said("aria-labelledby").is_some(),
    };
    is_named(element) || !element.text().is_empty() || element.elements().any(speaks)
}

fn field(notes: &mut Notes<'_>, field: Element<'_>, labelled: &HashSet<&str>) {
    let kind = field.attribute("type").unwrap_or("text").trim().to_ascii_lowercase();
    let is_input = field.name() == "input";
    if is_input && matches!(kind.as_str(), "hidden" | "submit" | "reset" | "button") {
        return;
    }
    let is_told = match kind.as_str() {
        "image" if is_input => field.said("alt").is_some(),
        _ => {
            field.said("id").is_some_and(|id| labelled.contains(id))
                || field.around().any(|one| one.name() == "label")
        }
    };
    if !is_told && !is_named(field) {
        let name = field.said("name").unwrap_or("without a name");
        let message = format!("the {} {name} has no label", field.name());
        notes.note("label-missing", field.line(), message);
    }
}

fn viewport(notes: &mut Notes<'_>, meta: Element<'_>) {
    let said = meta.attribute("content").unwrap_or("").to_ascii_lowercase().replace(' ', "");
    let forbids = said.split([',', ';']).any(|part| match part.split_once('=') {
        Some(("user-scalable", value)) => matches!(value, "no" | "0"),
        Some(("maximum-scale", value)) => value.parse::<f32>().is_ok_and(|most| most < 2.0),
        _ => false,
    });
    if forbids {
        notes.note("viewport-zoom", meta.line(), format!("the viewport says {said}"));
    }
}

fn headings(notes: &mut Notes<'_>, tree: &Tree) {
    let level = |name: &str| match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    };
    let mut last = None;
    let mut has_first = false;
    for element in tree.elements().filter(|element| !is_hidden(*element)) {
        let Some(level) = level(element.name()) else { continue };
        has_first |= level == 1;
        if last.is_some_and(|last| level > last + 1) {
            let message =
                format!("h{level} {:?} follows h{}", short(&element.text()), last.unwrap_or(0));
            notes.note("heading-order", element.line(), message);
        }
        last = Some(level);
    }
    if !has_first {
        notes.note("heading-first", 1, "there is no h1");
    }
}
