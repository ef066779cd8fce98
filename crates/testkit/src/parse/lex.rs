//! Cuts a scene's lines into statements, and statements into tokens.
//!
//! An indented line goes on with the statement above it, unless it begins with a
//! method or `each`: then it is a new statement of the same subject. A field that begins a
//! continuation line has the whole rest of that line as its value; within a line
//! a value is one word, going on behind a comma or semicolon.

use super::ParseError;
use crate::scene::Position;

/// One statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) tokens: Vec<Token>,
}

/// One token and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: Position,
    pub(super) kind: Kind,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A word that is nothing else.
    Word(String),
    /// A quoted text, its escapes resolved.
    Text(Vec<u8>),
    /// `Name: value`.
    Field(String, String),
    /// `!Name`.
    Absent(String),
    /// `->`.
    Arrow,
    /// `->>`.
    Flight,
}

impl Kind {
    /// The token as a message shows it.
    pub(super) fn show(&self) -> String {
        match self {
            Self::Word(word) => format!("\"{word}\""),
            Self::Text(_) => "a quoted text".into(),
            Self::Field(name, _) => format!("the field {name}"),
            Self::Absent(name) => format!("\"!{name}\""),
            Self::Arrow => "\"->\"".into(),
            Self::Flight => "\"->>\"".into(),
        }
    }
}

/// Cuts the lines from `first` on (counted from one) into statements.
pub(super) fn statements(lines: &[(u32, &str)]) -> Result<Vec<Statement>, ParseError> {
    let mut statements: Vec<Statement> = Vec::new();
    for &(number, line) in lines {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        let tokens = LineReader { text: line, at: 0, number }.tokens()?;
        let Some(first) = tokens.first() else { continue };
        let begins_method =
            matches!(&first.kind, Kind::Word(word) if word == "each" || is_method(word));
        match statements.last_mut() {
            Some(above) if indented && begins_method => {
                let subject = Token { at: first.at, kind: above.tokens[0].kind.clone() };
                let tokens = std::iter::once(subject).chain(tokens).collect();
                statements.push(Statement { tokens });
            }
            Some(above) if indented => above.tokens.extend(tokens),
            None if indented => {
                return Err(ParseError::new(
                    first.at,
                    "an indented line has nothing to go on with",
                ));
            }
            _ => statements.push(Statement { tokens }),
        }
    }
    Ok(statements)
}

/// Methods are in capitals; that is how they are known.
pub(super) fn is_method(word: &str) -> bool {
    word.len() >= 3 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-')
}

struct LineReader<'a> {
    text: &'a str,
    at: usize,
    number: u32,
}

impl<'a> LineReader<'a> {
    fn tokens(mut self) -> Result<Vec<Token>, ParseError> {
        let mut tokens = Vec::new();
        while self.skip_space() {
            let at = self.position();
            let kind = if self.rest().starts_with('"') {
                let raw = self.run()?;
                Kind::Text(unescape(raw, at)?)
            } else {
                let word = self.run()?;
                self.word(word, tokens.is_empty())?
            };
            tokens.push(Token { at, kind });
        }
        Ok(tokens)
    }

    fn word(&mut self, word: &str, begins_line: bool) -> Result<Kind, ParseError> {
        if let Some(name) = word.strip_suffix(':').filter(|name| is_name(name)) {
            let value = if begins_line && self.text.starts_with([' ', '\t']) {
                self.rest_of_line()
            } else {
                self.value()?
            };
            return Ok(Kind::Field(name.to_owned(), value));
        }
        if let Some(name) = word.strip_prefix('!').filter(|name| is_name(name)) {
            return Ok(Kind::Absent(name.to_owned()));
        }
        Ok(match word {
            "->" => Kind::Arrow,
            "->>" => Kind::Flight,
            _ => Kind::Word(word.to_owned()),
        })
    }

    fn rest_of_line(&mut self) -> String {
        let value = self.rest().trim().to_owned();
        self.at = self.text.len();
        value
    }

    /// One word, or several where commas or semicolons join them; none before an arrow.
    fn value(&mut self) -> Result<String, ParseError> {
        let mut value = String::new();
        while self.skip_space() {
            if self.rest().starts_with("->") {
                break;
            }
            let piece = self.run()?;
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(piece);
            if !value.ends_with([',', ';']) {
                break;
            }
        }
        Ok(value)
    }

    /// A run without white space, that in quotes excepted.
    fn run(&mut self) -> Result<&'a str, ParseError> {
        let (text, start) = (self.text, self.at);
        let (mut quoted, mut escaped) = (false, false);
        let mut end = text.len();
        for (offset, byte) in text.as_bytes()[start..].iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b' ' | b'\t' if !quoted => {
                    end = start + offset;
                    break;
                }
                _ => {}
            }
        }
        if quoted {
            return Err(ParseError::new(self.position(), "the quotes are not closed on this line"));
        }
        self.at = end;
        Ok(&text[start..end])
    }

    fn skip_space(&mut self) -> bool {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.at < self.text.len()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn position(&self) -> Position {
        Position { line: self.number, column: self.at as u32 + 1 }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(wire::fields::is_token)
}

/// Resolves `\r \n \t \0 \\ \" \xHH` in a quoted text.
fn unescape(raw: &str, at: Position) -> Result<Vec<u8>, ParseError> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|_| raw.len() >= 2)
        .ok_or_else(|| ParseError::new(at, "something is glued to a quoted text"))?;
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return Err(ParseError::new(at, "something is glued to a quoted text")),
            b'\\' => {}
            _ => {
                out.push(byte);
                continue;
            }
        }
        let escaped = match bytes.next() {
            Some(b'r') => Some(b'\r'),
            Some(b'n') => Some(b'\n'),
            Some(b't') => Some(b'\t'),
            Some(b'0') => Some(0),
            Some(byte @ (b'\\' | b'"')) => Some(byte),
            Some(b'x') => hex_pair(bytes.next(), bytes.next()),
            _ => None,
        };
        let wrong = r#"an escape is none of \r \n \t \0 \\ \" \xHH"#;
        out.push(escaped.ok_or_else(|| ParseError::new(at, wrong))?);
    }
    Ok(out)
}

fn hex_pair(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
