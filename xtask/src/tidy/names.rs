//! File names: each says what is inside.

/// Names under which anything could lie.
const EMPTY_WORDS: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "manager", "misc", "stuff"];

/// A finding when the file, or a folder on the way to it, bears an empty name.
pub(crate) fn check(path: &str) -> Option<String> {
    let parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let empty = parts
        .flat_map(|part| part.split(['_', '-']))
        .find(|word| EMPTY_WORDS.contains(&word.to_ascii_lowercase().as_str()))?;
    Some(format!("{path}:1: `{empty}` says nothing about what is inside"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_name_that_says_nothing_is_told() {
        for path in [
            "crates/wire/src/utils.rs",
            "crates/wire/src/common/mod.rs",
            "crates/wire/src/string_helpers.rs",
            "specimens/board/Manager.php",
            "bench/misc.py",
        ] {
            assert!(check(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_word_that_only_contains_one_is_fine() {
        for path in ["crates/policy/src/commonplace.rs", "crates/store/src/utility_bill.rs"] {
            assert_eq!(check(path), None, "{path}");
        }
    }
}
