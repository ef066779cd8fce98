//! Escaping: text that stays text whatever is in it.
//!
//! In: bytes as they were typed, or as a forum stores them, with HTML's characters escaped
//! already, and newlines are breaks. Out: bytes that mean the same text in an element's content and in an attribute.
//! Invariants: 1. no byte becomes more than six. 2. of entities only those are read that
//! stand for one character; all others are text. 3. controls but tab and newline are left out.

/// The longest entity that is read, without its ampersand.
const ENTITY_BYTES_MAX: usize = 9;

/// What a byte means to HTML.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Text,
    Special(&'static [u8]),
    Ampersand,
    Dropped,
}

/// The bytes that are written as they are.
const IS_TEXT: [bool; 256] = {
    let mut is_text = [false; 256];
    let mut byte = 0;
    while byte < is_text.len() {
        is_text[byte] = matches!(meaning(byte as u8), Meaning::Text);
        byte += 1;
    }
    is_text
};

pub(crate) const fn meaning(byte: u8) -> Meaning {
    match byte {
        b'<' => Meaning::Special(b"&lt;"),
        b'>' => Meaning::Special(b"&gt;"),
        b'"' => Meaning::Special(b"&quot;"),
        b'\'' => Meaning::Special(b"&#39;"),
        b'&' => Meaning::Ampersand,
        b'\t' | b'\n' => Meaning::Text,
        0..=0x1f | 0x7f => Meaning::Dropped,
        _ => Meaning::Text,
    }
}

/// Escapes text as it was typed.
pub(crate) fn escape_typed(text: &[u8], out: &mut Vec<u8>) {
    escape(text, false, out);
}

/// Escapes text; where it is escaped already its entities stay what they are.
pub(crate) fn escape(text: &[u8], is_escaped: bool, out: &mut Vec<u8>) {
    let mut from = 0;
    while let Some(length) = text[from..].iter().position(|b| !IS_TEXT[usize::from(*b)]) {
        let at = from + length;
        out.extend_from_slice(&text[from..at]);
        from = at + escape_at(text, at, is_escaped, out);
    }
    out.extend_from_slice(&text[from..]);
}

/// Writes what stands at `at`, which is not mere text, and tells how many bytes it took.
pub(crate) fn escape_at(text: &[u8], at: usize, is_escaped: bool, out: &mut Vec<u8>) -> usize {
    if is_escaped && let Some(length) = stored_break(&text[at..]) {
        out.push(b'\n');
        return length;
    }
    match meaning(text[at]) {
        Meaning::Text => out.push(text[at]),
        Meaning::Special(entity) => out.extend_from_slice(entity),
        // A return that stands alone was a newline once; one before a newline is nothing.
        Meaning::Dropped if text[at] == b'\r' && text.get(at + 1) != Some(&b'\n') => {
            out.push(b'\n');
        }
        Meaning::Dropped => {}
        Meaning::Ampersand => {
            if is_escaped && let Some((character, length)) = entity(&text[at..]) {
                write_character(character, out);
                return length;
            }
            out.extend_from_slice(b"&amp;");
        }
    }
    1
}

/// The length of a break at the beginning, as SMF stores a newline.
pub(crate) fn stored_break(text: &[u8]) -> Option<usize> {
    let breaks = [&b"<br />"[..], b"<br>"];
    breaks.iter().find(|written| text.starts_with(written)).map(|written| written.len())
}

/// Reads a value that is escaped into what it means.
pub(crate) fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut from = 0;
    while let Some(length) = memchr::memchr(b'&', &text[from..]) {
        let at = from + length;
        out.extend_from_slice(&text[from..at]);
        from = match entity(&text[at..]) {
            Some((character, length)) => {
                let mut bytes = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
                at + length
            }
            None => {
                out.push(b'&');
                at + 1
            }
        };
    }
    out.extend_from_slice(&text[from..]);
}

fn write_character(character: char, out: &mut Vec<u8>) {
    let mut bytes = [0; 4];
    let bytes = character.encode_utf8(&mut bytes).as_bytes();
    match meaning(bytes[0]) {
        Meaning::Special(entity) => out.extend_from_slice(entity),
        Meaning::Ampersand => out.extend_from_slice(b"&amp;"),
        Meaning::Text => out.extend_from_slice(bytes),
        Meaning::Dropped => {}
    }
}

/// The character that an entity at the beginning stands for, and the entity's length.
fn entity(text: &[u8]) -> Option<(char, usize)> {
    let body = text.get(1..)?;
    let end = body.iter().take(ENTITY_BYTES_MAX).position(|b| *b == b';')?;
    let character = match &body[..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        b"nbsp" => '\u{a0}',
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16)?,
        [b'#', digits @ ..] => number(digits, 10)?,
        _ => return None,
    };
    Some((character, end + 2))
}

fn number(digits: &[u8], radix: u32) -> Option<char> {
    // `from_str_radix` would take a sign.
    if !digits.first()?.is_ascii_hexdigit() {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    let character = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)?;
    // What HTML reads as something else, or not at all.
    let is_odd = matches!(character, '\u{80}'..='\u{9f}') || character as u32 & 0xfffe == 0xfffe;
    (!is_odd && !matches!(character, '\u{fdd0}'..='\u{fdef}')).then_some(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, typed: &str, escaped: &str) {
        for (is_escaped, expected) in [(false, typed), (true, escaped)] {
            let mut out = Vec::new();
            escape(text.as_bytes(), is_escaped, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text} {is_escaped}");
        }
    }

    #[test]
    fn text_stays_text() {
        check("a < b", "a &lt; b", "a &lt; b");
        check("\"it's\"", "&quot;it&#39;s&quot;", "&quot;it&#39;s&quot;");
        check("a &amp; b", "a &amp;amp; b", "a &amp; b");
        check("&#60;script&#x3e;", "&amp;#60;script&amp;#x3e;", "&lt;script&gt;");
        check("&lt", "&amp;lt", "&amp;lt");
        check("&copy;", "&amp;copy;", "&amp;copy;");
        check("&#+60;", "&amp;#+60;", "&amp;#+60;");
        check("a\0b\x1bc\x7f", "abc", "abc");
        check("&#0;&#128;&#xd800;", "&amp;#0;&amp;#128;&amp;#xd800;", "&amp;#128;&amp;#xd800;");
        check("a\r\nb\rc", "a\nb\nc", "a\nb\nc");
        check("a<br />b", "a&lt;br /&gt;b", "a\nb");
    }

    #[test]
    fn a_value_means_what_its_entities_say() {
        let mut out = Vec::new();
        unescape(b"http&#58;//a/?b&amp;c&x;&#106;", &mut out);
        assert_eq!(out, b"http://a/?b&c&x;j");
    }
}
