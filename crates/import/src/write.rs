//! `wick.toml`, with the line that each setting comes from above it.

use std::fmt::Write as _;

use crate::amount;
use crate::found::{Imported, Place, Section, Value, Why};

/// How wide a list may be before it stands on lines of its own.
const WIDTH_MAX: usize = 90;
/// Places that are named above one setting.
const PLACES_MAX: usize = 4;

/// The text of the settings.
#[must_use]
pub fn write(imported: &Imported) -> String {
    let mut text = String::new();
    let from = comment(&imported.from.join(", "));
    let _ = writeln!(text, "# Made by \"wick import\" from {from}.");
    text.push_str("# Read it, then try it out: wick check wick.toml\n");
    if imported.left.iter().any(|left| left.why == Why::Protection) {
        text.push_str("#\n# Protection that is not taken over; see to it before this is served:\n");
        for left in imported.left.iter().filter(|left| left.why == Why::Protection) {
            let _ = writeln!(text, "#   {}: {}", place(&left.place), comment(&left.quoted));
        }
    }
    if !imported.top.settings.is_empty() {
        text.push('\n');
        section(&mut text, &imported.top);
    }
    if !imported.limits.settings.is_empty() {
        text.push_str("\n[limits]\n");
        section(&mut text, &imported.limits);
    }
    for site in &imported.sites {
        text.push('\n');
        if let Some(at) = &site.place {
            let _ = writeln!(text, "# {}", place(at));
        }
        text.push_str("[[site]]\n");
        section(&mut text, site);
    }
    text
}

fn section(text: &mut String, section: &Section) {
    // What is under a heading of its own needs no place again.
    let mut last: Vec<&Place> = section.place.iter().collect();
    let mut last_note = None;
    for setting in &section.settings {
        let places: Vec<_> = setting.places.iter().collect();
        let mut line: Vec<String> = Vec::new();
        if places != last {
            let more = places.len().saturating_sub(PLACES_MAX);
            line.extend(places.iter().take(PLACES_MAX).map(|at| place(at)));
            if more > 0 {
                line.push(format!("and {more} more"));
            }
        }
        let told = line.join(", ");
        let note = setting.note.filter(|_| !told.is_empty() || setting.note != last_note);
        last_note = setting.note;
        match (told.is_empty(), note) {
            (true, None) => {}
            (true, Some(note)) => line_of(text, &format!("# {note}")),
            (false, None) => line_of(text, &format!("# {told}")),
            (false, Some(note)) => line_of(text, &format!("# {told}: {note}")),
        }
        last = places;
        let _ = writeln!(text, "{} = {}", setting.name, value(&setting.value));
    }
}

fn line_of(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Bytes(bytes) => quoted(&amount::show_bytes(*bytes)),
        Value::Time(time) => quoted(&amount::show_duration(*time)),
        Value::List(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
            let line = format!("[{}]", texts.join(", "));
            if line.chars().count() <= WIDTH_MAX {
                return line;
            }
            let mut lines = String::from("[\n");
            texts.iter().for_each(|text| line_of(&mut lines, &format!("    {text},")));
            lines.push(']');
            lines
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn place(place: &Place) -> String {
    comment(&place.to_string())
}

/// A comment ends with its line, and may hold no control characters.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn values_are_written_as_toml_has_them() {
        for (given, expected) in [
            (Value::Text("a\"\\\n".into()), "\"a\\\"\\\\\\u000A\""),
            (Value::List(vec!["a".into(), "b".into()]), "[\"a\", \"b\"]"),
            (Value::Bytes(8 << 20), "\"8M\""),
            (Value::Time(Duration::from_secs(90)), "\"90s\""),
            (Value::Flag(false), "false"),
            (Value::Number(4), "4"),
        ] {
            assert_eq!(value(&given), expected);
        }
        let long = Value::List(vec!["/a-rather-long-address*".into(); 5]);
        assert!(value(&long).starts_with("[\n    \"/a-rather"));
    }

    #[test]
    fn a_name_with_a_line_break_ends_no_comment() {
        let from = vec!["a\n[limits]".to_owned()];
        let text = write(&Imported { from, ..Imported::default() });
        assert!(text.starts_with("# Made by \"wick import\" from a [limits].\n"), "{text}");
    }
}
