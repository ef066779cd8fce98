//! One tag: where it ends, what it is called, and its attributes.
//!
//! Follows the tokenizer of the HTML standard (§13.2.5.32 and on) with one exception: a
//! `<` outside quotes ends the tag, so that markup with a forgotten `>` does not swallow
//! its neighbour. A quote that is never closed is an ordinary character.

/// An attribute as it stands in its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a [u8],
    /// Without quotes, entities as they are; empty if there is none.
    pub(crate) value: &'a [u8],
    /// Where the value begins, counted from the tag's `<`.
    pub(crate) value_at: usize,
}

impl Attribute<'_> {
    /// Whether this is the attribute of that name, in any case.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The name behind `<` or `</`; empty for comments and declarations.
pub(crate) fn name(tag: &[u8]) -> &[u8] {
    let rest = tag.strip_prefix(b"<").unwrap_or(tag);
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    let length = rest
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'<'))
        .unwrap_or(rest.len());
    &rest[..length]
}

/// The length of the tag that the text begins with, its `>` included if it has one.
pub(crate) fn length(text: &[u8]) -> usize {
    let mut attributes = attributes(text);
    while attributes.next().is_some() {}
    attributes.at + usize::from(text.get(attributes.at) == Some(&b'>'))
}

/// The attributes of the tag that the text begins with.
pub(crate) fn attributes(text: &[u8]) -> Attributes<'_> {
    let before_name = 1 + usize::from(text.get(1) == Some(&b'/'));
    Attributes { text, at: (before_name + name(text).len()).min(text.len()) }
}

/// See [`attributes`].
pub(crate) struct Attributes<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        self.skip(|byte| byte.is_ascii_whitespace() || byte == b'/');
        if matches!(self.text.get(self.at), None | Some(b'>' | b'<')) {
            return None;
        }
        let start = self.at;
        // A `=` in front of any name is part of that name, by the standard.
        self.at += 1;
        self.skip(|b| !b.is_ascii_whitespace() && !matches!(b, b'/' | b'>' | b'<' | b'='));
        let name = &self.text[start..self.at];
        let after_name = self.at;
        self.skip(|byte| byte.is_ascii_whitespace());
        if self.text.get(self.at) != Some(&b'=') {
            self.at = after_name;
            return Some(Attribute { name, value: &[], value_at: after_name });
        }
        self.at += 1;
        self.skip(|byte| byte.is_ascii_whitespace());
        let (value, value_at) = self.value();
        Some(Attribute { name, value, value_at })
    }
}

impl<'a> Attributes<'a> {
    fn value(&mut self) -> (&'a [u8], usize) {
        let start = self.at;
        if let Some(&quote @ (b'"' | b'\'')) = self.text.get(start)
            // A search that fails reads to the end, and then there is no such quote left to
            // search for: one failure a kind, so that the whole stays linear.
            && let Some(length) = memchr::memchr(quote, &self.text[start + 1..])
        {
            self.at = start + 1 + length + 1;
            return (&self.text[start + 1..start + 1 + length], start + 1);
        }
        self.skip(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'>' | b'<'));
        (&self.text[start..self.at], start)
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| !is_skipped(byte)).unwrap_or(rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tag's length, then `name=value` for each attribute.
    fn check(text: &str, expected_length: usize, expected: &[(&str, &str)]) {
        assert_eq!(length(text.as_bytes()), expected_length, "{text}");
        let found: Vec<_> = attributes(text.as_bytes())
            .map(|attribute| (attribute.name, attribute.value))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        assert_eq!(found, expected, "{text}");
        for attribute in attributes(text.as_bytes()) {
            let end = attribute.value_at + attribute.value.len();
            assert_eq!(&text.as_bytes()[attribute.value_at..end], attribute.value);
        }
    }

    #[test]
    fn attributes_are_read_however_they_are_quoted() {
        check("<a href=\"x\">y", 12, &[("href", "x")]);
        check(
            "<input name=a value='b c' checked/>",
            35,
            &[("name", "a"), ("value", "b c"), ("checked", "")],
        );
        check("<p\nid = x >", 11, &[("id", "x")]);
        check("</a>", 4, &[]);
    }

    #[test]
    fn a_bracket_in_quotes_does_not_end_the_tag() {
        check("<a title=\"a > b\" rel=c>d", 23, &[("title", "a > b"), ("rel", "c")]);
    }

    #[test]
    fn broken_tags_end_somewhere() {
        check("<a href=\"x", 10, &[("href", "\"x")]);
        check("<a b<c>", 4, &[("b", "")]);
        check("<a", 2, &[]);
        check("<", 1, &[]);
        check("<a ==x>", 7, &[("=", "x")]);
        check("<a \"x\"y>", 8, &[("\"x\"y", "")]);
    }
}
