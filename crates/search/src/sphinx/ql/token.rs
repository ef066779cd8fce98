//! Tokens of SphinxQL.
//!
//! Invariants: 1. each token knows where it stood, since an error shows the statement from
//! there. 2. a string that never ends is no token: the statement is refused.

use std::ops::Range;

/// A statement of more tokens isn't read: no client inserts that much at once.
const TOKENS_MAX: usize = 500_000;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A keyword, or a name without quotes.
    Word(String),
    /// A name in backticks.
    Name(String),
    /// A string.
    Text(String),
    /// A whole number; those from 2⁶³ on are below zero.
    Int(i64),
    /// Another number.
    Float(f64),
    /// `@name`.
    At(String),
    /// `@@name`.
    System(String),
    /// A sign of one letter or two.
    Sign(&'static str),
    /// Nothing that could follow.
    Odd(char),
    /// The end.
    End,
}

pub(super) const SIGNS: &[&str] = &[
    "<>", "!=", "<=", ">=", "(", ")", ",", ";", "=", "<", ">", "*", "+", "-", "/", "%", ".", "{",
    "}", "[", "]", ":", "&", "|",
];

/// What an error calls words that aren't names.
const KEYWORDS: &[&str] = &[
    "AND",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CALL",
    "COMMIT",
    "COUNT",
    "CREATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "FACET",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INSERT",
    "INTO",
    "LIMIT",
    "MATCH",
    "META",
    "NOT",
    "OPTION",
    "OR",
    "ORDER",
    "REPLACE",
    "ROLLBACK",
    "RTINDEX",
    "SELECT",
    "SET",
    "SHOW",
    "STATUS",
    "TABLE",
    "TABLES",
    "TRUNCATE",
    "UPDATE",
    "VALUES",
    "VARIABLES",
    "WARNINGS",
    "WEIGHT",
    "WHERE",
    "WITHIN",
];

impl Token {
    /// What an error calls it.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Word(word) => {
                let upper = word.to_ascii_uppercase();
                if KEYWORDS.contains(&upper.as_str()) { upper } else { "IDENT".to_owned() }
            }
            Self::Name(_) | Self::At(_) => "IDENT".to_owned(),
            Self::Text(_) => "QUOTED_STRING".to_owned(),
            Self::Int(_) => "CONST_INT".to_owned(),
            Self::Float(_) => "CONST_FLOAT".to_owned(),
            Self::System(_) => "SYSVAR".to_owned(),
            Self::Sign(sign) => format!("'{sign}'"),
            Self::Odd(letter) => format!("'{letter}'"),
            Self::End => "$end".to_owned(),
        }
    }

    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }
}

/// All tokens, each with where it stands; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Vec<(Token, Range<usize>)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip(text, at);
        let (token, end) = match text.get(at..).unwrap_or_default() {
            "" => (Token::End, at),
            _ if tokens.len() >= TOKENS_MAX => (Token::Odd('…'), text.len()),
            rest => read(rest, at),
        };
        let is_last = matches!(token, Token::End | Token::Odd(_));
        tokens.push((token, at..end));
        if is_last {
            return tokens;
        }
        at = end;
    }
}

/// Over spaces and comments.
fn skip(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let spaces = rest.len() - rest.trim_start().len();
        let after = &rest[spaces..];
        let comment = if after.starts_with("/*") {
            after.find("*/").map_or(after.len(), |end| end + 2)
        } else if after.starts_with('#') || after.starts_with("-- ") {
            after.find('\n').unwrap_or(after.len())
        } else {
            0
        };
        at += spaces + comment;
        if comment == 0 {
            return at;
        }
    }
}

/// One token and where it ends; `rest` begins at `at` of the text and isn't empty.
fn read(rest: &str, at: usize) -> (Token, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    let name = |from: usize| {
        let end = rest[from..].find(|next| !is_word(next)).map_or(rest.len(), |end| from + end);
        (rest[from..end].to_owned(), at + end)
    };
    match first {
        '\'' | '"' | '`' => quoted(rest, first, at),
        '@' if rest.starts_with("@@") => {
            let end = rest[2..]
                .find(|next: char| !is_word(next) && next != '.')
                .map_or(rest.len(), |end| end + 2);
            (Token::System(rest[2..end].to_owned()), at + end)
        }
        '@' => {
            let (word, end) = name(1);
            (Token::At(word), end)
        }
        '0'..='9' => number(rest, at),
        '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => number(rest, at),
        _ if is_word(first) => {
            let (word, end) = name(0);
            (Token::Word(word), end)
        }
        _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => (Token::Sign(sign), at + sign.len()),
            None => (Token::Odd(first), at + first.len_utf8()),
        },
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn number(rest: &str, at: usize) -> (Token, usize) {
    let bytes = rest.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let run = |mut end: usize| {
        while digit(end) {
            end += 1;
        }
        end
    };
    let mut end = run(0);
    let mut is_whole = true;
    if bytes.get(end) == Some(&b'.') && (digit(end + 1) || end > 0) {
        (end, is_whole) = (run(end + 1), false);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            (end, is_whole) = (run(end + 1 + sign), false);
        }
    }
    let digits = &rest[..end];
    let token = match digits.parse::<u64>() {
        Ok(number) if is_whole => Token::Int(number.cast_signed()),
        _ => digits.parse().map_or(Token::Odd('.'), Token::Float),
    };
    (token, at + end)
}

fn quoted(rest: &str, quote: char, at: usize) -> (Token, usize) {
    let mut value = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((from, letter)) = letters.next() {
        if letter == quote {
            let token = if quote == '`' { Token::Name(value) } else { Token::Text(value) };
            return (token, at + from + 1);
        }
        if letter != '\\' || quote == '`' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some((_, 'n')) => value.push('\n'),
            Some((_, 'r')) => value.push('\r'),
            Some((_, 't')) => value.push('\t'),
            Some((_, '0')) => value.push(' '),
            Some((_, 'Z')) => value.push('\u{1a}'),
            Some((_, other)) => value.push(other),
            None => break,
        }
    }
    (Token::Odd(quote), at + rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Token]) {
        let found: Vec<_> = tokens(text).into_iter().map(|(token, _)| token).collect();
        assert_eq!(found, [expected, &[Token::End]].concat(), "{text}");
    }

    #[test]
    fn each_kind_is_told_apart() {
        use Token::{At, Float, Int, Name, Sign, System, Text, Word};
        check("a_1 `b c`", &[Word("a_1".into()), Name("b c".into())]);
        check(r"'it\'s \\@x'", &[Text(r"it's \@x".into())]);
        check("1 1.5 .5 1e3", &[Int(1), Float(1.5), Float(0.5), Float(1000.0)]);
        check("18446744073709551615", &[Int(-1)]);
        check("@weight @@a.b", &[At("weight".into()), System("a.b".into())]);
        check("a<>1", &[Word("a".into()), Sign("<>"), Int(1)]);
        check("/* x */ a -- b\n # c\n 2", &[Word("a".into()), Int(2)]);
        check("", &[]);
    }

    #[test]
    fn what_never_ends_ends_the_tokens() {
        for text in ["'open", "`open", "'open\\"] {
            let found = tokens(text);
            assert!(matches!(&found[..], [(Token::Odd(_), place)] if place.start == 0), "{text}");
        }
    }
}
