//! Entity tags: read from lists, compared weakly or strongly.
//!
//! Law: RFC 9110 §8.8.3. A backslash in a tag is an ordinary character, so tags can't be
//! read as quoted strings. Tags without quotes, as some apps send them, are
//! taken up to the next comma: they match what is spelled the same.

use wire::fields::trim;

use crate::representation::CODED_MARK;

/// One entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag<'a> {
    is_weak: bool,
    /// With its quotes.
    opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads the one tag that a field holds.
    pub(crate) fn of(value: &'a [u8]) -> Option<Self> {
        let mut tags = list(value);
        let tag = tags.next()?;
        tags.next().is_none().then_some(tag)
    }

    /// Weak comparison: for `If-None-Match`. The tag of a response that was coded here is as
    /// good as that of the same one uncoded.
    pub(crate) fn matches(self, other: Self) -> bool {
        let (left, right) = (self.opaque, other.opaque);
        left == right || is_marked(left, right) || is_marked(right, left)
    }

    /// Strong comparison: for `If-Range`.
    pub(crate) fn is_surely(self, other: Self) -> bool {
        !self.is_weak && !other.is_weak && self.opaque == other.opaque
    }
}

/// Whether a tag is another one with the mark of a coded response.
fn is_marked(tag: &[u8], other: &[u8]) -> bool {
    let rest = other.strip_suffix(b"\"").and_then(|start| tag.strip_prefix(start));
    rest.and_then(|rest| rest.strip_prefix(CODED_MARK)) == Some(b"\"")
}

/// The tags of one line of a list.
pub(crate) fn list(line: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        while let [b' ' | b'\t' | b',', after @ ..] = rest {
            rest = after;
        }
        let (is_weak, text) = match rest.strip_prefix(b"W/") {
            Some(text) => (true, text),
            None => (false, rest),
        };
        let closed = text.strip_prefix(b"\"").and_then(|t| t.iter().position(|&b| b == b'"'));
        let length = match closed {
            Some(close) => close + 2,
            None => text.iter().position(|&b| b == b',').unwrap_or(text.len()),
        };
        let (opaque, after) = text.split_at(length);
        rest = after;
        let opaque = trim(opaque);
        (!opaque.is_empty()).then_some(EntityTag { is_weak, opaque })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_tag_by_tag() {
        for (line, tags) in [
            ("\"a\"", vec!["\"a\""]),
            ("\"a\", W/\"b\",\"c\"", vec!["\"a\"", "W/\"b\"", "\"c\""]),
            ("\"a,b\" , \"c\"", vec!["\"a,b\"", "\"c\""]),
            ("\"a\\\", \"b\"", vec!["\"a\\\"", "\"b\""]),
            ("\"\"", vec!["\"\""]),
            (" , ,\"a\",,", vec!["\"a\""]),
            ("abc, def", vec!["abc", "def"]),
            ("\"open, \"b\"", vec!["\"open, \"", "b\""]),
            ("", vec![]),
        ] {
            let read: Vec<_> = list(line.as_bytes())
                .map(|tag| {
                    let opaque = String::from_utf8_lossy(tag.opaque);
                    format!("{}{opaque}", if tag.is_weak { "W/" } else { "" })
                })
                .collect();
            assert_eq!(read, tags, "{line:?}");
        }
    }

    #[test]
    fn weak_tags_match_and_are_never_sure() {
        for (left, right, matches, surely) in [
            ("\"a\"", "\"a\"", true, true),
            ("\"a\"", "W/\"a\"", true, false),
            ("W/\"a\"", "W/\"a\"", true, false),
            ("\"a\"", "\"b\"", false, false),
            ("\"a\"", "\"A\"", false, false),
            ("a", "\"a\"", false, false),
            ("W/\"a-wick\"", "\"a\"", true, false),
            ("W/\"a-wick\"", "\"b\"", false, false),
            ("W/\"-wick\"", "\"\"", true, false),
            ("a-wick", "a", false, false),
        ] {
            let tag = |text: &'static str| EntityTag::of(text.as_bytes()).expect("one tag");
            assert_eq!(tag(left).matches(tag(right)), matches, "{left} {right}");
            assert_eq!(tag(left).is_surely(tag(right)), surely, "{left} {right}");
        }
        assert_eq!(EntityTag::of(b"\"a\", \"b\""), None);
        assert_eq!(EntityTag::of(b""), None);
    }
}
