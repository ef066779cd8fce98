//! Tokens of SQL, as MariaDB and MySQL write statements into their logs.
//!
//! Invariant: what isn't understood for certain (a comment that is executed, a quote
//! that never ends) gives no tokens at all, and so a statement that can't be read.

use std::borrow::Cow;

/// Statements of more tokens are not read; an import's insert has that many.
const TOKENS_MAX: usize = 50_000;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword, or a name without quotes.
    Word(&'a str),
    /// A name in backticks.
    Name(Cow<'a, str>),
    /// A string.
    Text(Cow<'a, str>),
    /// A number.
    Number(&'a str),
    /// Any other character.
    Sign(char),
}

impl Token<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// All tokens of `text`, without comments.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if tokens.len() >= TOKENS_MAX {
            return None;
        }
        let after = match first {
            '\'' | '"' | '`' => {
                let (token, after) = quoted(rest, first)?;
                tokens.push(token);
                after
            }
            '#' => line_end(rest),
            '-' if is_line_comment(rest) => line_end(rest),
            '/' if rest.starts_with("/*") => comment_end(rest)?,
            _ if is_word(first) => {
                let (word, after) =
                    rest.split_at(rest.find(|next| !is_word(next)).unwrap_or(rest.len()));
                let is_number = first.is_ascii_digit();
                tokens.push(if is_number { Token::Number(word) } else { Token::Word(word) });
                after
            }
            _ => {
                tokens.push(Token::Sign(first));
                &rest[first.len_utf8()..]
            }
        };
        rest = after.trim_start();
    }
    Some(tokens)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || !letter.is_ascii()
}

/// `--` begins a comment only before a space or the end.
fn is_line_comment(rest: &str) -> bool {
    rest.strip_prefix("--").is_some_and(|rest| {
        rest.chars().next().is_none_or(|next| next.is_whitespace() || next.is_control())
    })
}

fn line_end(rest: &str) -> &str {
    rest.find('\n').map_or("", |end| &rest[end..])
}

/// What follows a comment; none for one whose words a server may execute.
fn comment_end(rest: &str) -> Option<&str> {
    let inner = &rest[2..];
    if inner.starts_with('!') || inner.starts_with("M!") {
        return None;
    }
    inner.find("*/").map(|end| &inner[end + 2..])
}

/// A string or a name, and what follows it.
fn quoted(rest: &str, quote: char) -> Option<(Token<'_>, &str)> {
    let body = &rest[1..];
    let mut value = String::new();
    let mut plain_from = 0;
    let mut letters = body.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            if letters.peek().is_none_or(|(_, next)| *next != quote) {
                let last = &body[plain_from..at];
                let value = if value.is_empty() { last.into() } else { Cow::Owned(value + last) };
                let token = if quote == '`' { Token::Name(value) } else { Token::Text(value) };
                return Some((token, &body[at + 1..]));
            }
            value.push_str(&body[plain_from..=at]);
            letters.next();
            plain_from = at + 2;
        } else if letter == '\\' && quote != '`' {
            value.push_str(&body[plain_from..at]);
            let (next_at, next) = letters.next()?;
            value.push(unescaped(next));
            plain_from = next_at + next.len_utf8();
        }
    }
    None
}

fn unescaped(letter: char) -> char {
    match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'b' => '\u{8}',
        'Z' => '\u{1a}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&[Token<'_>]>) {
        assert_eq!(tokens(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn strings_names_and_comments_are_told_apart() {
        use Token::{Name, Number, Sign, Text, Word};
        check("a_1 2x = 'b'", Some(&[Word("a_1"), Number("2x"), Sign('='), Text("b".into())]));
        check("'it''s' 'a\\'b\\n'", Some(&[Text("it's".into()), Text("a'b\n".into())]));
        check("`we``ird`.\"x\"", Some(&[Name("we`ird".into()), Sign('.'), Text("x".into())]));
        check(
            "a /* b ' */ c -- d ' \n e # '\nf",
            Some(&[Word("a"), Word("c"), Word("e"), Word("f")]),
        );
        check("1--1", Some(&[Number("1"), Sign('-'), Sign('-'), Number("1")]));
        check("größe", Some(&[Word("größe")]));
        check("''", Some(&[Text("".into())]));
        check("'\\\\'", Some(&[Text("\\".into())]));
    }

    #[test]
    fn what_is_not_certain_gives_nothing() {
        for text in ["'open", "`open", "'open\\", "/* open", "a /*!40000 b */", "a /*M! b */"] {
            check(text, None);
        }
    }
}
