//! A place in a statement's tokens, and what may come next.

use std::ops::Range;

use super::Unreadable;
use super::statement::Literal;
use super::token::{Token, tokens};

/// So much of a statement is shown in an error.
const NEAR_LETTERS_MAX: usize = 120;

pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, tokens: tokens(text), at: 0 }
    }

    pub(super) fn peek(&self) -> &Token {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, count: usize) -> &Token {
        self.tokens.get(self.at + count).map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |(_, place)| place.start)
    }

    /// Where the next token begins, for [`Self::since`].
    pub(super) fn mark(&self) -> usize {
        self.place()
    }

    /// What was written from there on, up to the last token that was taken.
    pub(super) fn since(&self, mark: usize) -> String {
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        let end = last.map_or(mark, |(_, place)| place.end);
        self.text.get(mark..end).unwrap_or_default().to_owned()
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Takes a word, if it is the next.
    pub(super) fn has(&mut self, word: &str) -> bool {
        let is_there = self.peek().is(word);
        self.at += usize::from(is_there);
        is_there
    }

    /// Takes two words, if they are next.
    pub(super) fn has_both(&mut self, first: &str, second: &str) -> bool {
        let are_there = self.peek().is(first) && self.ahead(1).is(second);
        self.at += if are_there { 2 } else { 0 };
        are_there
    }

    pub(super) fn sign(&mut self, sign: &str) -> bool {
        let is_there = *self.peek() == Token::Sign(sign_of(sign));
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Unreadable> {
        if self.has(word) { Ok(()) } else { Err(self.unexpected(Some(word))) }
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<(), Unreadable> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected(Some(&format!("'{sign}'")))) }
    }

    /// A name; `db.name` is a name, too.
    pub(super) fn name(&mut self) -> Result<String, Unreadable> {
        loop {
            let (Token::Word(name) | Token::Name(name)) = self.peek().clone() else {
                return Err(self.unexpected(Some("IDENT")));
            };
            self.at += 1;
            if !self.sign(".") {
                return Ok(name);
            }
        }
    }

    /// Puts the last token back.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    pub(super) fn text(&mut self) -> Result<String, Unreadable> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.unexpected(Some("QUOTED_STRING")));
        };
        self.at += 1;
        Ok(text)
    }

    /// A count, also in quotes.
    pub(super) fn count(&mut self) -> Result<usize, Unreadable> {
        let count = match self.peek() {
            Token::Int(number) => usize::try_from(*number).ok(),
            Token::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        let Some(count) = count else { return Err(self.unexpected(Some("CONST_INT"))) };
        self.at += 1;
        Ok(count)
    }

    /// A number or a text, with a sign before a number.
    pub(super) fn literal(&mut self) -> Result<Literal, Unreadable> {
        let is_negative = self.sign("-");
        let literal = match self.peek() {
            Token::Int(number) if is_negative => Literal::Int(number.wrapping_neg()),
            Token::Float(number) if is_negative => Literal::Float(-number),
            Token::Int(number) => Literal::Int(*number),
            Token::Float(number) => Literal::Float(*number),
            Token::Text(text) if !is_negative => Literal::Text(text.clone()),
            token if !is_negative && token.is("true") => Literal::Int(1),
            token if !is_negative && token.is("false") => Literal::Int(0),
            // An attribute always has a value.
            token if !is_negative && token.is("null") => Literal::Text(String::new()),
            _ => return Err(self.unexpected(None)),
        };
        self.at += 1;
        Ok(literal)
    }

    /// What `read` reads, several times with commas between.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, Unreadable> {
        let mut found = vec![read(self)?];
        while self.sign(",") {
            found.push(read(self)?);
        }
        Ok(found)
    }

    /// The end of a statement.
    pub(super) fn end(&mut self) -> Result<(), Unreadable> {
        if self.sign(";") || *self.peek() == Token::End {
            return Ok(());
        }
        Err(self.unexpected(Some("$end")))
    }

    pub(super) fn unexpected(&self, expected: Option<&str>) -> Unreadable {
        let expecting = expected.map(|what| format!(", expecting {what}")).unwrap_or_default();
        self.wrong(&format!("syntax error, unexpected {}{expecting}", self.peek().title()))
    }

    /// Something else is wrong here.
    pub(super) fn wrong(&self, what: &str) -> Unreadable {
        let rest = self.text.get(self.place()..).unwrap_or_default();
        let near: String = rest.chars().take(NEAR_LETTERS_MAX).collect();
        Unreadable(format!("sphinxql: {what} near '{near}'"))
    }

    /// Something that is known and not to be had here.
    pub(super) fn refuse(&self, what: &str) -> Unreadable {
        self.wrong(&format!("{what} is not supported by Wick"))
    }
}

/// The sign as a token has it.
fn sign_of(sign: &str) -> &'static str {
    super::token::SIGNS.iter().find(|own| **own == sign).copied().unwrap_or_default()
}
