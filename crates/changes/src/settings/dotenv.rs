//! A small reader of `.env` files: `NAME=value`, with or without quotes.

use std::collections::BTreeMap;

/// The values that a file states.
pub(crate) fn values(text: &str) -> BTreeMap<String, String> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    if line.starts_with('#') {
        return None;
    }
    let (name, value) = line.split_once('=')?;
    let value = value.trim();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let value = match quote {
        Some(quote) => quoted(&value[1..], quote)?,
        None => value.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    };
    // What is filled in from elsewhere is not known here.
    let is_literal = quote == Some('\'') || !value.contains("${");
    is_literal.then(|| (name.trim().to_owned(), value))
}

fn quoted(body: &str, quote: char) -> Option<String> {
    let mut value = String::new();
    let mut letters = body.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quote == '"' => value.push(letters.next()?),
            _ if letter == quote => return Some(value),
            _ => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::line as read;

    #[test]
    fn lines_are_read() {
        for (line, expected) in [
            ("DB_HOST=127.0.0.1", Some(("DB_HOST", "127.0.0.1"))),
            ("export A = b # why", Some(("A", "b"))),
            ("A=\"b # \\\"c\" # d", Some(("A", "b # \"c"))),
            ("A='b\\c'", Some(("A", "b\\c"))),
            ("A=", Some(("A", ""))),
            ("A=p#ss", Some(("A", "p#ss"))),
            ("A=${B}", None),
            ("# A=b", None),
            ("A=\"open", None),
            ("nothing", None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
