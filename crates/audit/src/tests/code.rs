//! Style sheets and scripts, in files and on pages: what browsers drop of them.
//!
//! Places in a file are its own. What stands on a page has the line that it has there; its
//! column is known on other lines than its first.

use std::collections::HashSet;

use conformance::{Script, ScriptFault, Scripts, Severity as Weight, Style, check_style};

use super::Notes;
use crate::finding::{Place, Severity};
use crate::page::tree::Element;
use crate::page::{charset, kind};

/// Types of a `script` element that are JavaScript, beside none (HTML §4.12.1).
const SCRIPTS: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

pub(crate) fn run(notes: &mut Notes<'_>) {
    let answer = notes.page().answer;
    // What is cut ends in the middle of something.
    if answer.status != 200 || answer.is_cut {
        return;
    }
    let kind = kind(answer);
    let text = || conformance::file_text(&answer.body, charset(answer));
    match kind.as_str() {
        "text/css" => styles(notes, &text(), Style::Sheet, None),
        // In XHTML other characters end a script, and entities stand in it.
        "text/html" => page(notes),
        kind if SCRIPTS.contains(&kind) => {
            if let Some(fault) = Scripts::new().check(&text(), Script::File) {
                script(notes, &fault, None, "");
            }
        }
        _ => {}
    }
}

fn page(notes: &mut Notes<'_>) {
    let Some(tree) = &notes.page().tree else { return };
    let scripts = Scripts::new();
    // A page that is made by a program says many things again and again.
    let mut known = HashSet::new();
    for element in tree.elements() {
        match element.name() {
            "style" if is_css(element) => {
                styles(notes, &element.raw_text(), Style::Sheet, Some(element.line()));
            }
            "script" if element.attribute("src").is_none() => inline(notes, &scripts, element),
            _ => {}
        }
        for (name, value) in element.attributes() {
            if name == "style" && known.insert((name, value)) {
                styles(notes, value, Style::Attribute, Some(element.line()));
            } else if is_handler(name) && known.insert((name, value)) {
                let what = format!("{name}: ");
                if let Some(fault) = scripts.check(value, Script::Handler) {
                    script(notes, &fault, Some(element.line()), &what);
                }
            }
        }
    }
}

fn inline(notes: &mut Notes<'_>, scripts: &Scripts, element: Element<'_>) {
    let said = element.attribute("type").unwrap_or("").trim().to_ascii_lowercase();
    let own = match said.as_str() {
        "module" => Script::Module,
        "importmap" | "speculationrules" | "application/json" => {
            data(notes, element, &said);
            return;
        }
        kind if kind.is_empty() || SCRIPTS.contains(&kind) => Script::Classic,
        _ => return,
    };
    if let Some(fault) = scripts.check(&element.raw_text(), own) {
        script(notes, &fault, Some(element.line()), "");
    }
}

fn data(notes: &mut Notes<'_>, element: Element<'_>, kind: &str) {
    let text = element.raw_text();
    if text.trim().is_empty() {
        return;
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        let line = on_page(error.line() as u64, Some(element.line()));
        notes.note("script-data", line, format!("the {kind} is no JSON: {}", kind_of(&error)));
    }
}

/// What is wrong with data, without its place.
pub(crate) fn kind_of(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "it breaks off",
        _ => "there is a mistake in it",
    }
}

fn styles(notes: &mut Notes<'_>, css: &str, style: Style, from: Option<u64>) {
    for found in check_style(css, style) {
        let severity = match found.severity {
            Weight::Error => Severity::Warning,
            Weight::Warning | Weight::Info => Severity::Notice,
        };
        let place = place(found.line, found.column, from);
        notes.add(found.rule.to_owned(), severity, place, found.message);
    }
}

fn script(notes: &mut Notes<'_>, fault: &ScriptFault, from: Option<u64>, what: &str) {
    let place = place(fault.line, fault.column, from);
    let message = format!("{what}{}", fault.message);
    notes.add("js-syntax".to_owned(), Severity::Error, place, message);
}

/// A place in what stands on a page, or in a file.
fn place(line: u32, column: u32, from: Option<u64>) -> Place {
    let is_beside = from.is_some() && line == 1;
    let column = if is_beside { 0 } else { u64::from(column) };
    Place { line: on_page(line.into(), from), column }
}

fn on_page(line: u64, from: Option<u64>) -> u64 {
    from.map_or(line, |from| from + line.saturating_sub(1))
}

fn is_css(style: Element<'_>) -> bool {
    style.said("type").is_none_or(|kind| kind.eq_ignore_ascii_case("text/css"))
}

/// Whether an attribute holds a script: `on` and the name of an event.
fn is_handler(name: &str) -> bool {
    name.strip_prefix("on")
        .is_some_and(|event| event.len() > 2 && event.bytes().all(|byte| byte.is_ascii_lowercase()))
}
