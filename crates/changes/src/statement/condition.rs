//! Conditions: which values a WHERE leaves to a column.

use super::rows::{column, find, in_brackets, split};
use super::tokens::Token;

/// A value that stands in a statement as it is.
pub(super) type Literal = Box<str>;

/// Words that make a condition mean more than the sum of what it joins by AND.
const UNCERTAIN: &[&str] = &["OR", "XOR", "NOT", "BETWEEN", "CASE", "IS", "DIV", "ESCAPE"];

/// Brackets within brackets are read so deep.
const DEPTH_MAX: usize = 8;

/// What holds for sure: columns, and the values that each of them may have.
pub(super) fn read(tokens: &[Token<'_>]) -> Option<Vec<(String, Vec<Literal>)>> {
    held(tokens, 0)
}

fn held(tokens: &[Token<'_>], depth: usize) -> Option<Vec<(String, Vec<Literal>)>> {
    let is_uncertain = tokens.iter().any(|token| {
        matches!(token, Token::Sign('|' | '!' | '&' | '^')) || token.is_any(UNCERTAIN)
    });
    if is_uncertain || depth > DEPTH_MAX {
        return None;
    }
    let mut held = Vec::new();
    let mut rest = tokens;
    loop {
        let end = find(rest, &["AND"]).unwrap_or(rest.len());
        let part = &rest[..end];
        match in_brackets(part) {
            Some((inner, [])) => held.extend(self::held(inner, depth + 1)?),
            _ => held.extend(one(part)),
        }
        if end == rest.len() {
            return Some(held);
        }
        rest = &rest[end + 1..];
    }
}

/// `column = value` or `column IN (value, …)`.
fn one(tokens: &[Token<'_>]) -> Option<(String, Vec<Literal>)> {
    let (name, rest) = column(tokens)?;
    let (sign, rest) = rest.split_first()?;
    let values = if *sign == Token::Sign('=') {
        vec![literal(rest)?]
    } else {
        let (inner, _) =
            in_brackets(rest).filter(|(_, after)| sign.is("IN") && after.is_empty())?;
        split(inner).map(literal).collect::<Option<_>>()?
    };
    Some((name, values))
}

/// The value that `tokens` are.
pub(super) fn literal(tokens: &[Token<'_>]) -> Option<Literal> {
    match tokens {
        [Token::Text(text)] => Some(text.as_ref().into()),
        [Token::Number(number)] => Some((*number).into()),
        // A string with the name of its letters' coding: `_utf8mb4'x'`.
        [Token::Word(coding), Token::Text(text)] if coding.starts_with('_') => {
            Some(text.as_ref().into())
        }
        _ => None,
    }
}
