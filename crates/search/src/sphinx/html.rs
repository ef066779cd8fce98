//! Text out of HTML, as `html_strip` wants it.
//!
//! Invariant: one pass; what never ends is text to the end, or nothing of it.

/// What separates words when its tag goes; others stand within words.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "td",
    "th",
    "tr",
    "ul",
];

/// `text` without tags, comments, scripts and styles, its commonest entities as letters.
#[must_use]
pub(super) fn stripped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = if rest.starts_with('<') { tag(rest, &mut out) } else { entity(rest, &mut out) };
    }
    out.push_str(rest);
    out
}

/// Over a tag, and over all of what isn't text.
fn tag<'a>(rest: &'a str, out: &mut String) -> &'a str {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.find("-->").map_or("", |end| &comment[end + 3..]);
    }
    let body = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    if !body.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '!' | '?')) {
        out.push('<');
        return &rest[1..];
    }
    let name_end = body.find(|next: char| !next.is_ascii_alphanumeric()).unwrap_or(body.len());
    let name = body[..name_end].to_ascii_lowercase();
    let Some(end) = rest.find('>') else { return "" };
    let after = &rest[end + 1..];
    if BLOCKS.contains(&name.as_str()) {
        out.push(' ');
    }
    if matches!(name.as_str(), "script" | "style") && !rest.starts_with("</") {
        out.push(' ');
        // Its end is looked for byte by byte, so that letters of any case are.
        let closing = format!("</{name}");
        let found = after
            .as_bytes()
            .windows(closing.len())
            .position(|window| window.eq_ignore_ascii_case(closing.as_bytes()));
        return found.map_or("", |found| &after[found..]);
    }
    after
}

fn entity<'a>(rest: &'a str, out: &mut String) -> &'a str {
    const LENGTH_MAX: usize = 10;
    let end = rest.bytes().take(LENGTH_MAX).position(|byte| byte == b';');
    let letter = end.and_then(|end| match &rest[1..end] {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        name => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(number)
        }
    });
    match (letter, end) {
        (Some(letter), Some(end)) => {
            out.push(letter);
            &rest[end + 1..]
        }
        _ => {
            out.push('&');
            &rest[1..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_left() {
        for (text, expected) in [
            ("a<b>b</b>c <p>d</p>e", "abc  d e"),
            ("x <!-- <p> --> y", "x  y"),
            ("<script>if (a < b) {}</SCRIPT>z", "  z"),
            ("a &amp; b &#65;&#x42; &what; &", "a & b AB &what; &"),
            ("1 < 2 <unclosed", "1 < 2 "),
            ("<style>", " "),
        ] {
            assert_eq!(stripped(text).trim_start(), expected.trim_start(), "{text}");
        }
    }
}
