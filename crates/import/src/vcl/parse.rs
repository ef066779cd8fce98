//! Statements and blocks of VCL, with included files in place.
//!
//! A statement is a row of pieces up to a semicolon, or up to a block and with it:
//! `set x = y;`, `if (a) { … }`, `backend b { … }`, `.probe = { … }`.

use std::sync::Arc;

use super::tokens::{Token, Tokens};
use crate::ImportError;
use crate::cursor::Mark;
use crate::found::{Imported, Place};
use crate::library::{Shelf, Source};

/// Blocks within blocks.
const DEPTH_MAX: usize = 32;
/// Pieces of all files together.
const TOKENS_MAX: usize = 1_000_000;

/// A row of pieces, and its block.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) tokens: Vec<Token>,
    pub(super) block: Option<Vec<Self>>,
    pub(super) place: Place,
}

impl Statement {
    /// What a piece says; empty if there is none.
    pub(super) fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", Token::text)
    }

    /// The line as it stood, more or less.
    pub(super) fn quoted(&self) -> String {
        show(&self.tokens)
    }
}

fn show(tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut last = "(";
    for token in tokens.iter().take(24) {
        let is_tight = [";", ",", ")"].contains(&token.text())
            || ["(", "!"].contains(&last)
            || token.is("(") && !["if", "elsif", "elseif", "return"].contains(&last);
        if !text.is_empty() && !is_tight {
            text.push(' ');
        }
        match token {
            Token::Text(inner) => {
                text.push('"');
                text.extend(inner.chars().take(100));
                text.push('"');
            }
            other => text.push_str(other.text()),
        }
        last = token.text();
    }
    text
}

/// The statements of a file and of those that it includes.
pub(super) fn parse(
    source: &Source,
    shelf: &mut Shelf<'_>,
    imported: &mut Imported,
) -> Result<Vec<Statement>, ImportError> {
    let mut count = 0;
    parse_file(source, shelf, imported, (0, &mut count))
}

fn parse_file(
    source: &Source,
    shelf: &mut Shelf<'_>,
    imported: &mut Imported,
    (depth, count): (usize, &mut usize),
) -> Result<Vec<Statement>, ImportError> {
    let file: Arc<str> = source.name.as_str().into();
    Parser { tokens: Tokens::new(source), file, shelf, imported, count }.block(depth, None)
}

struct Parser<'a, 'b> {
    tokens: Tokens<'a>,
    file: Arc<str>,
    shelf: &'a mut Shelf<'b>,
    imported: &'a mut Imported,
    count: &'a mut usize,
}

impl Parser<'_, '_> {
    /// Statements up to the end of the block that began at `opened`, or of the file.
    fn block(&mut self, depth: usize, opened: Option<Mark>) -> Result<Vec<Statement>, ImportError> {
        let mut statements = Vec::new();
        loop {
            let begin = self.tokens.next_mark()?;
            if depth > DEPTH_MAX {
                let what = format!("blocks are more than {DEPTH_MAX} deep: take some out");
                return Err(self.tokens.error(begin, what));
            }
            let place = Place { file: self.file.clone(), line: begin.line };
            let mut tokens = Vec::new();
            let statement = loop {
                let here = self.tokens.next_mark()?;
                *self.count += 1;
                if *self.count > TOKENS_MAX {
                    return Err(self.tokens.error(here, "this is too long to be a VCL"));
                }
                match self.tokens.next()? {
                    Token::Sign(";") => break Statement { tokens, block: None, place },
                    Token::Sign("{") => {
                        let block = Some(self.block(depth + 1, Some(here))?);
                        break Statement { tokens, block, place };
                    }
                    Token::Sign("}") if tokens.is_empty() && opened.is_some() => {
                        return Ok(statements);
                    }
                    Token::End if tokens.is_empty() && opened.is_none() => return Ok(statements),
                    Token::End if tokens.is_empty() => {
                        let what = "this block is never closed: add a }";
                        return Err(self.tokens.error(opened.unwrap_or(here), what));
                    }
                    Token::Sign("}") if tokens.is_empty() => {
                        let what = "this } closes nothing: take it out, or add a {";
                        return Err(self.tokens.error(here, what));
                    }
                    Token::Sign("}") | Token::End => {
                        let what = "this statement doesn't end: add a semicolon";
                        return Err(self.tokens.error(begin, what));
                    }
                    token => tokens.push(token),
                }
            };
            if statement.word(0) == "include" && statement.block.is_none() {
                statements.extend(self.include(&statement, depth)?);
            } else if !statement.tokens.is_empty() {
                statements.push(statement);
            }
        }
    }

    fn include(
        &mut self,
        statement: &Statement,
        depth: usize,
    ) -> Result<Vec<Statement>, ImportError> {
        // Varnish has no patterns here but for `+glob`.
        let is_glob = statement.word(1) == "+" && statement.word(2) == "glob";
        let name = statement.word(if is_glob { 3 } else { 1 });
        let (place, quoted, count) = (&statement.place, statement.quoted(), &mut *self.count);
        self.shelf.include(name, (place, &quoted), self.imported, |source, shelf, imported| {
            parse_file(source, shelf, imported, (depth, count))
        })
    }
}
