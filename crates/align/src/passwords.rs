//! Passwords: what a page's fields for them are called.

use crate::tag;

/// The names of a page's fields for passwords; empty for one that has none.
#[must_use]
pub fn password_fields(text: &[u8]) -> Vec<&[u8]> {
    let tags = memchr::memchr_iter(b'<', text).map(|at| &text[at..]);
    let inputs = tags.filter(|tag| tag::name(tag).eq_ignore_ascii_case(b"input"));
    let is_password =
        |input: &&[u8]| value(input, "type").is_some_and(|it| it.eq_ignore_ascii_case(b"password"));
    inputs.filter(is_password).map(|input| value(input, "name").unwrap_or_default()).collect()
}

fn value<'a>(tag: &'a [u8], name: &str) -> Option<&'a [u8]> {
    tag::attributes(tag).find(|attribute| attribute.is(name)).map(|attribute| attribute.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_for_passwords_are_found_however_they_are_written() {
        for (text, expected) in [
            ("<input type=password name=word>", vec!["word"]),
            ("<INPUT\n name='f12ab' TYPE='password'>", vec!["f12ab"]),
            ("<input name=\"user[secret]\" type=\"password\"/>", vec!["user[secret]"]),
            ("<input title='a > b' name = a type = 'Password'>", vec!["a"]),
            ("<input type=password>", vec![""]),
            ("<input type=text name=a><input type=hidden name=b>", vec![]),
        ] {
            let found: Vec<_> = password_fields(text.as_bytes());
            let found: Vec<_> = found.into_iter().map(String::from_utf8_lossy).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
