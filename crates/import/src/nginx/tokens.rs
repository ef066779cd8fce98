//! Words, braces and semicolons.
//!
//! Law: nginx's `ngx_conf_read_token`: a quote only quotes where a word begins, `#`
//! begins a comment there, `${` belongs to a word, a backslash keeps the next letter.

use crate::ImportError;
use crate::cursor::{Cursor, Mark};
use crate::library::Source;

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Semicolon,
    Open,
    Close,
    End,
}

/// Reads pieces, one after the other.
pub(super) struct Tokens<'a>(Cursor<'a>);

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self(Cursor::new(source))
    }

    /// The place that is read now.
    pub(super) fn mark(&self) -> Mark {
        self.0.mark()
    }

    /// An error at a place.
    pub(super) fn error(&self, mark: Mark, what: impl Into<String>) -> ImportError {
        self.0.error(mark, what)
    }

    fn skip_space(&mut self) {
        while let Some(letter) = self.0.peek() {
            if letter == '#' {
                self.0.skip_line();
            } else if letter.is_whitespace() {
                self.0.take();
            } else {
                break;
            }
        }
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Token, ImportError> {
        self.skip_space();
        let Some(first) = self.0.peek() else { return Ok(Token::End) };
        match first {
            ';' | '{' | '}' => {
                self.0.take();
                Ok(match first {
                    ';' => Token::Semicolon,
                    '{' => Token::Open,
                    _ => Token::Close,
                })
            }
            '"' | '\'' => self.quoted(first),
            _ => Ok(Token::Word(self.plain())),
        }
    }

    /// Where the next piece begins.
    pub(super) fn next_mark(&mut self) -> Mark {
        self.skip_space();
        self.mark()
    }

    fn quoted(&mut self, quote: char) -> Result<Token, ImportError> {
        let begin = self.mark();
        let unended = |tokens: &Self| {
            tokens.error(begin, format!("this {quote} is never closed: add another one"))
        };
        self.0.take();
        let mut word = String::new();
        loop {
            match self.0.take().ok_or_else(|| unended(self))? {
                '\\' => {
                    let letter = self.0.take().ok_or_else(|| unended(self))?;
                    escaped(&mut word, letter);
                }
                letter if letter == quote => return Ok(Token::Word(word)),
                letter => word.push(letter),
            }
        }
    }

    fn plain(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.0.peek() {
            let is_variable = letter == '{' && word.ends_with('$');
            if letter.is_whitespace() || letter == ';' || letter == '{' && !is_variable {
                break;
            }
            self.0.take();
            match (letter, self.0.peek()) {
                ('\\', Some(next)) => {
                    self.0.take();
                    escaped(&mut word, next);
                }
                _ => word.push(letter),
            }
        }
        word
    }

    /// Passes over a block of another language, whose opening brace was read.
    pub(super) fn skip_foreign(&mut self) -> Result<(), ImportError> {
        let begin = self.mark();
        let unended = |tokens: &Self| tokens.error(begin, "this block is never closed: add a }");
        let mut depth = 1usize;
        while depth > 0 {
            match self.0.take().ok_or_else(|| unended(self))? {
                '{' => depth += 1,
                '}' => depth -= 1,
                '-' if self.0.rest().starts_with('-') => self.0.skip_line(),
                quote @ ('"' | '\'') => self.skip_string(quote),
                _ => {}
            }
        }
        Ok(())
    }

    /// A string of one line.
    fn skip_string(&mut self, quote: char) {
        while let Some(letter) = self.0.take() {
            match letter {
                '\\' => drop(self.0.take()),
                '\n' => return,
                letter if letter == quote => return,
                _ => {}
            }
        }
    }
}

fn escaped(word: &mut String, letter: char) {
    match letter {
        '"' | '\'' | '\\' => word.push(letter),
        't' => word.push('\t'),
        'r' => word.push('\r'),
        'n' => word.push('\n'),
        other => word.extend(['\\', other]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, ImportError> {
        let source = Source { name: "n.conf".into(), text: text.into() };
        let mut tokens = Tokens::new(&source);
        let mut told = Vec::new();
        loop {
            told.push(match tokens.next()? {
                Token::Word(word) => format!("<{word}>"),
                Token::Semicolon => ";".into(),
                Token::Open => "{".into(),
                Token::Close => "}".into(),
                Token::End => return Ok(told.concat()),
            });
        }
    }

    #[test]
    fn words_are_cut_as_nginx_cuts_them() {
        for (text, expected) in [
            ("a b;c{d;}", "<a><b>;<c>{<d>;}"),
            ("# no\na # b\n;", "<a>;"),
            ("a 'b ; \"c' \"d\\\"\";", "<a><b ; \"c><d\">;"),
            ("a ${b}c;", "<a><${b}c>;"),
            ("~ \\.php$;", "<~><\\.php$>;"),
            ("a#b;", "<a#b>;"),
            ("a\\ b;", "<a\\ b>;"),
            ("\u{feff}a;", "<a>;"),
            ("", ""),
            ("\\", "<\\>"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn an_open_quote_is_told_where_it_begins() {
        let error = read("a;\n  b 'c;\n").expect_err("it isn't closed");
        assert_eq!(error.to_string(), "n.conf:2:5: this ' is never closed: add another one");
    }
}
