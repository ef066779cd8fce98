//! Shape: whether what is opened in a sheet is closed, and how deep it is nested.
//!
//! Browsers close at the end of a sheet what is open there, so a brace that is missing in its
//! middle shows nowhere but there: all rules behind it belong to another one.

use cssparser::{ParseError, Parser, ParserInput, Token};

use crate::findings::Findings;

/// Deeper than any sheet that somebody wrote; the walk takes stack for each level.
pub(crate) const DEPTH_MAX: usize = 32;

/// Tells what isn't closed; whether the sheet may be walked.
pub(crate) fn check(css: &str, findings: &mut Findings) -> bool {
    let mut input = ParserInput::new(css);
    let mut parser = Parser::new(&mut input);
    let mut shape = Shape { findings, css, too_deep: None, is_open: false };
    shape.block(&mut parser, 0);
    let Some(at) = shape.too_deep else { return true };
    let message = format!("What is nested deeper than {DEPTH_MAX} levels isn't read.");
    findings.error(at, "css-syntax", message);
    false
}

struct Shape<'a, 'f> {
    findings: &'f mut Findings,
    css: &'a str,
    too_deep: Option<usize>,
    /// Whether something was open at the end; the innermost is told.
    is_open: bool,
}

impl<'i> Shape<'i, '_> {
    /// Reads the rest of a block; where the last one that was closed within it ended.
    fn block(&mut self, parser: &mut Parser<'i, '_>, depth: usize) -> usize {
        let mut last = 0;
        loop {
            let at = parser.position().byte_index();
            let Ok(token) = parser.next_including_whitespace_and_comments() else { return last };
            let (open, close) = match token {
                Token::CurlyBracketBlock => ("{", "}"),
                Token::ParenthesisBlock | Token::Function(_) => ("(", ")"),
                Token::SquareBracketBlock => ("[", "]"),
                Token::Comment(text) => {
                    // `/*` and `*/` beside the text, or the sheet ended within.
                    if self.css.len() < at + text.len() + 4 {
                        self.open(at, "The comment that begins here is never closed.".to_owned());
                    }
                    continue;
                }
                _ => continue,
            };
            if depth >= DEPTH_MAX {
                self.too_deep.get_or_insert(at);
                continue;
            }
            let mut inner = 0;
            let read = parser.parse_nested_block(|parser| {
                inner = self.block(parser, depth + 1);
                Ok::<(), ParseError<'_, ()>>(())
            });
            let end = parser.position().byte_index();
            let is_closed = end > inner && self.css[..end].ends_with(close);
            if read.is_ok() && is_closed && !self.is_open {
                last = end;
            } else {
                let what = format!(
                    "The “{open}” that is opened here is never closed: all that follows belongs to it."
                );
                self.open(at, what);
            }
        }
    }

    fn open(&mut self, at: usize, message: String) {
        if !std::mem::replace(&mut self.is_open, true) {
            self.findings.error(at, "css-syntax", message);
        }
    }
}
