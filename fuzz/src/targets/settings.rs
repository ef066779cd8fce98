//! Settings of apps: a value is one that stands in the text, or there is none.

use changes::readers::{dotenv, php};

pub(crate) fn run_php(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let values = php(text);
    // Without a backslash every value stands there letter by letter.
    if !text.contains('\\') {
        for (name, value) in &values {
            assert!(text.contains(value.as_str()), "{name} is {value:?}");
        }
    }
    // What isn't a literal is no value, whatever was read before.
    let undone: String = values
        .keys()
        .filter_map(|name| name.strip_prefix('$'))
        .filter(|name| !name.contains('.') && !name.is_empty())
        .map(|name| format!("\n;${name} = f();"))
        .collect();
    let left = php(&format!("{text}{undone}"));
    let is_whole = php(&format!("{text}\n;$wick_is_last = 'yes';")).contains_key("$wick_is_last");
    for name in values.keys().filter(|name| name.starts_with('$') && !name.contains('.')) {
        assert!(!is_whole || !left.contains_key(name), "{name} is left");
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
