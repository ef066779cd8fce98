//! One tag, taken apart.
//!
//! In: `<esi:include src="/a?b=1&amp;c=2" />`, whole. Out: its name in small letters, and its
//! attributes with their entities resolved.

use std::borrow::Cow;

/// More attributes are not looked at.
const ATTRIBUTES_MAX: usize = 16;

/// A tag of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) is_closing: bool,
    /// Whether it ends in `/>`.
    pub(super) is_empty: bool,
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// Reads `<esi:…>` or `</esi:…>`.
    pub(super) fn read(tag: &[u8]) -> Self {
        let text = String::from_utf8_lossy(tag);
        let is_closing = text.starts_with("</");
        let body = text.split_once(':').map_or("", |(_, body)| body);
        let body = body.strip_suffix('>').unwrap_or(body);
        let name_end = body.find(|c: char| c.is_ascii_whitespace() || c == '/');
        let (name, rest) = body.split_at(name_end.unwrap_or(body.len()));
        let mut tag = Self {
            name: name.to_ascii_lowercase(),
            is_closing,
            is_empty: body.ends_with('/'),
            attributes: Vec::new(),
        };
        tag.read_attributes(rest);
        tag
    }

    fn read_attributes(&mut self, mut rest: &str) {
        let is_between = |c: char| c.is_ascii_whitespace() || c == '/';
        while self.attributes.len() < ATTRIBUTES_MAX {
            rest = rest.trim_start_matches(is_between);
            if rest.is_empty() {
                return;
            }
            let end = rest.find(|c: char| c == '=' || is_between(c)).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let Some(value) = behind.trim_start().strip_prefix('=') else {
                self.attributes.push((name.to_ascii_lowercase(), String::new()));
                rest = behind;
                continue;
            };
            let value = value.trim_start();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
            let (value, behind) = match quote {
                Some(quote) => {
                    value[1..].split_once(quote).unwrap_or((value.get(1..).unwrap_or(""), ""))
                }
                None => {
                    let end = value.find(|c: char| c.is_ascii_whitespace());
                    value.split_at(end.unwrap_or(value.len()))
                }
            };
            let value = match quote {
                // In `src=/a/>` the slash belongs to the tag.
                None if behind.is_empty() => value.strip_suffix('/').unwrap_or(value),
                _ => value,
            };
            self.attributes.push((name.to_ascii_lowercase(), resolved(value).into_owned()));
            rest = behind;
        }
    }

    /// An attribute's value; of several with one name the first.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// The text with its entities resolved; what is none stays as it is.
fn resolved(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.get(1..).and_then(|behind| {
            // The longest is `&#x10FFFF;`.
            let end = behind.bytes().take(10).position(|byte| byte == b';')?;
            Some((character(behind.get(..end)?)?, end + 2))
        });
        let (character, bytes) = entity.unwrap_or(('&', 1));
        out.push(character);
        rest = &rest[bytes..];
    }
    out.push_str(rest);
    out.into()
}

fn character(entity: &str) -> Option<char> {
    Some(match entity {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_apart() {
        for (tag, expected) in [
            ("<esi:include src=\"/a\"/>", "include empty src=/a"),
            ("<ESI:Include SRC='/a' Alt = \"/b\" />", "include empty src=/a alt=/b"),
            ("<esi:include\n\tsrc=/a/>", "include empty src=/a"),
            ("<esi:include src=/a/b onerror=continue>", "include src=/a/b onerror=continue"),
            ("<esi:include src='/a?b=\"1\"&amp;c=2'/>", "include empty src=/a?b=\"1\"&c=2"),
            (
                "<esi:include src=\"/a&#38;b&#x26;c&lt;&unknown;&\"/>",
                "include empty src=/a&b&c<&unknown;&",
            ),
            ("<esi:include src=\"/a>b\"/>", "include empty src=/a>b"),
            ("<esi:include src/>", "include empty src="),
            ("<esi:include src=\"\"/>", "include empty src="),
            ("</esi:remove>", "/remove"),
            ("</esi:remove >", "/remove"),
            ("<esi:>", ""),
            ("<esi:include src=\"é\u{fffd}&#xd800;\"/>", "include empty src=é\u{fffd}&#xd800;"),
            ("<esi:x ='a'/>", "x empty =a"),
        ] {
            let Tag { name, is_closing, is_empty, attributes } = Tag::read(tag.as_bytes());
            let mut told = if is_closing { "/" } else { "" }.to_owned() + &name;
            told += if is_empty { " empty" } else { "" };
            for (name, value) in &attributes {
                told += &format!(" {name}={value}");
            }
            assert_eq!(told, expected, "{tag}");
        }
    }
}
