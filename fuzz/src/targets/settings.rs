//! Settings of apps: a value is one that stands in the text, or there is none.

use changes::readers::{dotenv, php};

/// A name that no settings have.
const LAST: &str = "$wick_is_last";

pub(crate) fn run_php(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let values = php(text);
    // Without a backslash every value stands there letter by letter.
    if !text.contains('\\') {
        for (name, value) in &values {
            assert!(text.contains(value.as_str()), "{name} is {value:?}");
        }
    }
    if text.contains(LAST) {
        return;
    }
    // What isn't a literal is no value, whatever was read before: unless the text ends
    // within a string or a comment, which swallows what is put behind it.
    let own = |name: &&String| name.starts_with('$') && !name.contains('.');
    let undone: String =
        values.keys().filter(own).map(|name| format!("\n;{name} = f();")).collect();
    let left = php(&format!("{text}{undone}\n;{LAST} = 'yes';"));
    if left.contains_key(LAST) {
        let name = values.keys().filter(own).find(|name| left.contains_key(*name));
        assert_eq!(name, None, "it is left");
    }
}

pub(crate) fn run_dotenv(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let values = dotenv(text);
    if !text.contains('\\') {
        for (name, value) in &values {
            assert!(text.contains(value.as_str()), "{name} is {value:?}");
        }
    }
    // Each line speaks for itself, and a later one counts more.
    let mut lines = std::collections::BTreeMap::new();
    for line in text.lines() {
        lines.extend(dotenv(line));
    }
    assert_eq!(values, lines);
    let more = dotenv(&format!("{text}\nWICK=\"yes\""));
    assert_eq!(more.get("WICK").map(String::as_str), Some("yes"));
}
