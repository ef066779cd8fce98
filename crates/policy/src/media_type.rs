//! Media types, as `Content-Type` names them (RFC 9110 §8.3.1).

/// The media type without its parameters, as it was written.
#[must_use]
pub fn essence(content_type: &[u8]) -> &[u8] {
    let end = content_type.iter().position(|&byte| byte == b';').unwrap_or(content_type.len());
    content_type[..end].trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_spaces_are_no_part_of_it() {
        for (written, expected) in [
            ("text/html", "text/html"),
            (" Text/HTML ; charset=utf-8", "Text/HTML"),
            ("text/html;a=b;c", "text/html"),
            (";charset=utf-8", ""),
            ("", ""),
        ] {
            assert_eq!(essence(written.as_bytes()), expected.as_bytes(), "{written}");
        }
    }
}
