//! Lines of words of a Caddyfile.
//!
//! Law: Caddy's `caddyconfig/caddyfile/lexer.go`: quotes and backticks begin a word, `#`
//! begins a comment where a word could begin, a backslash joins lines, `<<NAME` begins
//! a text that ends with its name.

use crate::ImportError;
use crate::cursor::{Cursor, Mark};
use crate::library::Source;

/// A word, where it stands, and whether it was quoted: a quoted brace opens nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) is_quoted: bool,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Word {
    pub(super) fn is_open(&self) -> bool {
        self.text == "{" && !self.is_quoted
    }

    pub(super) fn is_close(&self) -> bool {
        self.text == "}" && !self.is_quoted
    }
}

/// Words of one line; lines that a backslash joins are one.
pub(super) fn lines(source: &Source) -> Result<Vec<Vec<Word>>, ImportError> {
    let mut reader = Reader(Cursor::new(source));
    let mut lines = Vec::new();
    let mut words = Vec::new();
    loop {
        match reader.0.peek() {
            None | Some('\n') => {
                if !words.is_empty() {
                    lines.push(std::mem::take(&mut words));
                }
                if reader.0.take().is_none() {
                    return Ok(lines);
                }
            }
            Some('#') => reader.0.skip_line(),
            Some('\\') if reader.0.rest()[1..].starts_with(['\n', '\r']) => {
                reader.0.take();
                while reader.0.peek() == Some('\r') {
                    reader.0.take();
                }
                reader.0.take();
            }
            Some(letter) if letter.is_whitespace() => drop(reader.0.take()),
            Some(_) => words.push(reader.word()?),
        }
    }
}

struct Reader<'a>(Cursor<'a>);

impl Reader<'_> {
    fn word(&mut self) -> Result<Word, ImportError> {
        let mark @ Mark { line, column } = self.0.mark();
        let word = |text, is_quoted| Word { text, is_quoted, line, column };
        match self.0.peek() {
            Some(quote @ ('"' | '`')) => {
                let unended =
                    self.0.error(mark, format!("this {quote} is never closed: add another one"));
                self.quoted(quote).map(|text| word(text, true)).ok_or(unended)
            }
            Some('<') if self.0.rest().starts_with("<<") && is_marker(&self.0.rest()[2..]) => {
                let marker = self.0.rest()[2..].lines().next().unwrap_or_default().trim();
                let unended =
                    self.0.error(mark, format!("this text never ends: add a line with {marker}"));
                self.heredoc().map(|text| word(text, true)).ok_or(unended)
            }
            _ => Ok(word(self.plain(), false)),
        }
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        self.0.take();
        let mut text = String::new();
        loop {
            match self.0.take()? {
                letter if letter == quote => return Some(text),
                '\\' if quote == '"' && self.0.peek() == Some('"') => text.extend(self.0.take()),
                letter => text.push(letter),
            }
        }
    }

    fn plain(&mut self) -> String {
        let mut text = String::new();
        while let Some(letter) = self.0.peek().filter(|letter| !letter.is_whitespace()) {
            text.push(letter);
            self.0.take();
        }
        text
    }

    /// `<<NAME`, lines, and a line that begins with the name.
    fn heredoc(&mut self) -> Option<String> {
        let first = self.0.rest()[2..].lines().next().unwrap_or_default();
        let marker = first.trim().to_owned();
        self.0.skip_line();
        let mut text = String::new();
        loop {
            self.0.take()?;
            let line = self.0.rest().lines().next()?;
            let indent = line.len() - line.trim_start().len();
            if line.trim_start().starts_with(&marker) {
                for _ in 0..line[..indent + marker.len()].chars().count() {
                    self.0.take();
                }
                return Some(text);
            }
            text.push_str(line);
            text.push('\n');
            self.0.skip_line();
        }
    }
}

/// Whether a name of letters is all that follows on the line.
fn is_marker(rest: &str) -> bool {
    let name = rest.lines().next().unwrap_or_default().trim_end();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let source = Source { name: "C".into(), text: text.into() };
        let show = |line: &Vec<Word>| {
            let words = line.iter().map(|word| format!("<{}>", word.text));
            format!("{}:{}", line[0].line, words.collect::<String>())
        };
        match lines(&source) {
            Ok(lines) => lines.iter().map(show).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn words_are_cut_as_caddy_cuts_them() {
        for (text, expected) in [
            ("a b\nc", "1:<a><b> 2:<c>"),
            ("a # b\n#c\nd#e", "1:<a> 3:<d#e>"),
            ("a \"b \\\"c\" `d \"e`", "1:<a><b \"c><d \"e>"),
            ("a \\\n b", "1:<a><b>"),
            ("a {\r\n}\r\n", "1:<a><{> 2:<}>"),
            ("a <<END\n x\n y\n END b", "1:<a>< x\n y\n><b>"),
            ("a << b", "1:<a><<<><b>"),
            ("{$A:b} \\", "1:<{$A:b}><\\>"),
            ("a \"b", "C:1:3: this \" is never closed: add another one"),
            ("\na <<END\nb", "C:2:3: this text never ends: add a line with END"),
            ("a <<END", "C:1:3: this text never ends: add a line with END"),
            ("", ""),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
