//! A statement being read, token by token; and the pieces that several readers share.

use super::lex::{Kind, Token};
use super::{ParseError, is_word};
use crate::filler;
use crate::scene::Position;

/// No body in a scene is larger; a scene is not a load test.
const BODY_BYTES_MAX: usize = 64 << 20;

/// The tokens of a statement that are still to be read.
#[derive(Debug)]
pub(super) struct Tokens {
    tokens: std::vec::IntoIter<Token>,
    last: Position,
}

impl Tokens {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        let last = tokens.last().map(|token| token.at).unwrap_or_default();
        Self { tokens: tokens.into_iter(), last }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.as_slice().is_empty()
    }

    /// Where the next token stands, or the last one if none is left.
    pub(super) fn at(&self) -> Position {
        self.tokens.as_slice().first().map_or(self.last, |token| token.at)
    }

    pub(super) fn peek(&self) -> Option<&Kind> {
        self.tokens.as_slice().first().map(|token| &token.kind)
    }

    pub(super) fn next(&mut self) -> Option<Kind> {
        self.tokens.next().map(|token| token.kind)
    }

    /// Takes the next token if it is this word.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_there = is_word(self.peek(), word);
        if is_there {
            self.next();
        }
        is_there
    }

    /// Takes the next token if it is an arrow.
    pub(super) fn take_arrow(&mut self) -> bool {
        let is_there = self.peek() == Some(&Kind::Arrow);
        if is_there {
            self.next();
        }
        is_there
    }

    /// The next token, which must be a word.
    pub(super) fn word(&mut self, what: &str) -> Result<String, ParseError> {
        let at = self.at();
        match self.next() {
            Some(Kind::Word(word)) => Ok(word),
            Some(other) => {
                Err(ParseError::new(at, format!("{} stands where {what} should", other.show())))
            }
            None => Err(ParseError::new(at, format!("{what} is missing"))),
        }
    }

    /// What stands behind `bytes`: a length, or a window `first-last`.
    pub(super) fn filler(&mut self) -> Result<Vec<u8>, ParseError> {
        let at = self.at();
        let text = self.word("a number of bytes")?;
        let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n <= BODY_BYTES_MAX);
        let window = match text.split_once('-') {
            None => number(&text).map(|end| (0, end)),
            Some((first, last)) => number(first).zip(number(last)).map(|(f, l)| (f, l + 1)),
        };
        let (first, end) = window.filter(|(first, end)| first <= end).ok_or_else(|| {
            ParseError::new(at, format!("\"{text}\" is neither a number of bytes nor FIRST-LAST"))
        })?;
        Ok(filler::window(first, end))
    }

    /// What stands behind `trailer`: a field.
    pub(super) fn trailer(&mut self) -> Result<(String, String), ParseError> {
        let at = self.at();
        match self.next() {
            Some(Kind::Field(name, value)) => Ok((name, value)),
            _ => Err(ParseError::new(at, "\"trailer\" wants a field behind it")),
        }
    }
}
