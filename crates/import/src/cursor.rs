//! A place in a text that moves on, letter by letter, and what is said of it.

use crate::ImportError;
use crate::library::Source;

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
}

/// What of a text is still to be read.
pub(crate) struct Cursor<'a> {
    source: &'a Source,
    rest: &'a str,
    mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(source: &'a Source) -> Self {
        let rest = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
        Self { source, rest, mark: Mark { line: 1, column: 1 } }
    }

    /// The place that is read now.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// An error at a place.
    pub(crate) fn error(&self, mark: Mark, what: impl Into<String>) -> ImportError {
        let Mark { line, column } = mark;
        ImportError { file: self.source.name.clone(), line, column, what: what.into() }
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The next letter.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Reads the next letter.
    pub(crate) fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.rest = &self.rest[letter.len_utf8()..];
        match letter {
            '\n' => self.mark = Mark { line: self.mark.line + 1, column: 1 },
            _ => self.mark.column += 1,
        }
        Some(letter)
    }

    /// Reads up to the end of the line, without it.
    pub(crate) fn skip_line(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.take();
        }
    }

    /// Reads so many bytes, up to the end of a letter; gives them.
    pub(crate) fn pass(&mut self, bytes: usize) -> &'a str {
        let rest = self.rest;
        let end = rest.len().saturating_sub(bytes);
        while self.rest.len() > end {
            self.take();
        }
        &rest[..rest.len() - self.rest.len()]
    }
}
