//! Module notes: every Rust file opens by saying what it is for.

/// A finding when the file does not begin with a note of at least one sentence.
pub(crate) fn check(path: &str, text: &str) -> Option<String> {
    let first = text.lines().next().unwrap_or_default();
    let has_note = first.strip_prefix("//!").is_some_and(|note| !note.trim().is_empty());
    (!has_note).then(|| format!("{path}:1: opens without a module note (`//! …`)"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_file_without_a_note_is_told() {
        assert_eq!(check("a.rs", "//! What it is for.\n\nfn main() {}\n"), None);
        for text in ["", "fn main() {}\n", "// A remark.\n", "//!\n//! Late.\n", "\n//! Late.\n"] {
            let expected = "a.rs:1: opens without a module note (`//! …`)";
            assert_eq!(check("a.rs", text).as_deref(), Some(expected), "{text:?}");
        }
    }
}
