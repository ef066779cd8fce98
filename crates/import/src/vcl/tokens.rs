//! Words, strings and signs of VCL.

use crate::ImportError;
use crate::cursor::{Cursor, Mark};
use crate::library::Source;

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a number, or one with a unit.
    Word(String),
    Text(String),
    Sign(&'static str),
    End,
}

impl Token {
    /// What it says.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Word(text) | Self::Text(text) => text,
            Self::Sign(sign) => sign,
            Self::End => "",
        }
    }

    pub(super) fn is(&self, text: &str) -> bool {
        !matches!(self, Self::Text(_)) && self.text() == text
    }
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "!~", "<=", ">=", "+=", "-=", "*=", "/=", "{", "}", "(", ")", ";", ",",
    "=", "~", "!", "<", ">", "+", "-", "*", "/", "%",
];

/// Reads pieces, one after the other.
pub(super) struct Tokens<'a>(Cursor<'a>);

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self(Cursor::new(source))
    }

    /// An error at a place.
    pub(super) fn error(&self, mark: Mark, what: impl Into<String>) -> ImportError {
        self.0.error(mark, what)
    }

    /// Where the next piece begins.
    pub(super) fn next_mark(&mut self) -> Result<Mark, ImportError> {
        loop {
            let rest = self.0.rest();
            let space = rest.len() - rest.trim_start().len();
            if space > 0 {
                self.0.pass(space);
            } else if rest.starts_with('#') || rest.starts_with("//") {
                self.0.skip_line();
            } else if rest.starts_with("/*") {
                self.until("*/", 2, "this comment is never closed: add */")?;
            } else {
                return Ok(self.0.mark());
            }
        }
    }

    /// Passes over a beginning and all up to an end; gives what is between.
    fn until(&mut self, end: &str, skip: usize, wrong: &str) -> Result<&'a str, ImportError> {
        let inner = self.0.rest().get(skip..).unwrap_or_default();
        let Some(length) = inner.find(end) else { return Err(self.error(self.0.mark(), wrong)) };
        self.0.pass(skip + length + end.len());
        Ok(&inner[..length])
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Token, ImportError> {
        self.next_mark()?;
        let rest = self.0.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        const OPEN: &str = "this string is never closed";
        let text = |text: &str| Ok(Token::Text(text.to_owned()));
        if rest.starts_with("{\"\"\"") {
            return text(self.until("\"\"\"}", 4, OPEN)?);
        }
        if rest.starts_with("{\"") {
            return text(self.until("\"}", 2, OPEN)?);
        }
        if rest.starts_with("C{") {
            self.until("}C", 2, "this C code is never closed: add }C")?;
            return Ok(Token::Word("C{}C".into()));
        }
        if first == '"' {
            let mark = self.0.mark();
            let inner = self.until("\"", 1, "this \" is never closed: add another one")?;
            if inner.contains('\n') {
                return Err(self.error(mark, "this \" is not closed on its line: add another one"));
            }
            return text(inner);
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
        if is_word(first) {
            let end = rest
                .char_indices()
                .find(|&(at, c)| !(is_word(c) || c == '-' && is_followed(rest, at)))
                .map_or(rest.len(), |(at, _)| at);
            self.0.pass(end);
            return Ok(Token::Word(rest[..end].to_owned()));
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.0.pass(sign.len());
                Ok(Token::Sign(sign))
            }
            None => Err(self.error(
                self.0.mark(),
                format!("\"{}\" has no meaning here", first.escape_default()),
            )),
        }
    }
}

/// Whether a hyphen belongs to a name.
fn is_followed(rest: &str, at: usize) -> bool {
    rest[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
}
