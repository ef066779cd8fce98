//! A small reader of PHP literals: what a settings file says, without running it.
//!
//! In: the text of a file. Out: names and the values that stand beside them:
//! `define('X', 'y')`, `putenv('X=y')` and `const X = 'y'` as `X`; `$x = 'y'` as `$x`; `$x['y']['z'] = …`
//! and `$x = ['y' => ['z' => …]]` as `$x.y.z`.
//! Invariants: 1. Nothing is run. 2. A value that is made of anything but one literal
//! is no value, and takes one that stood there before away.

use std::collections::BTreeMap;

/// What comes after so many is not read: settings have some thousands. Arrays that never
/// end are read as often as they begin, so the time grows with the square of it.
const TOKENS_MAX: usize = 50_000;
/// Arrays within arrays are read so deep.
const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `$name`.
    Variable(String),
    Word(String),
    /// A string without anything to be filled in, or a number.
    Value(String),
    /// `=>`.
    Arrow,
    Sign(char),
}

type Values = BTreeMap<String, String>;

/// The values that a file states.
pub(crate) fn values(text: &str) -> Values {
    let tokens = tokens(text);
    let mut values = Values::new();
    for start in 0..tokens.len() {
        // Where a statement begins isn't known: what looks like one within another is one.
        statement(&tokens[start..], &mut values);
    }
    values
}

/// Takes what one statement says, if it is an assignment or a definition.
fn statement(tokens: &[Token], values: &mut Values) {
    match tokens {
        [Token::Word(word), Token::Sign('('), Token::Value(name), Token::Sign(','), rest @ ..]
            // Any text may name a constant; a variable it is not.
            if word.eq_ignore_ascii_case("define") && !name.starts_with('$') =>
        {
            put(name, rest, &[')', ','], values);
        }
        [Token::Word(word), Token::Sign('('), Token::Value(text), next, ..]
            if word.eq_ignore_ascii_case("putenv") && !text.starts_with('$') =>
        {
            if let Some((name, value)) = text.split_once('=') {
                put(name, &[Token::Value(value.to_owned()), next.clone()], &[')'], values);
            }
        }
        [Token::Word(word), Token::Word(name), Token::Sign('='), rest @ ..]
            if word.eq_ignore_ascii_case("const") =>
        {
            put(name, rest, &[';', ','], values);
        }
        [Token::Variable(name), rest @ ..] => {
            let mut path = format!("${name}");
            let mut rest = rest;
            while let [Token::Sign('['), Token::Value(key), Token::Sign(']'), after @ ..] = rest {
                path = format!("{path}.{key}");
                rest = after;
            }
            // `==` is a question, not an assignment.
            if let [Token::Sign('='), after @ ..] = rest
                && after.first() != Some(&Token::Sign('='))
            {
                put(&path, after, &[';'], values);
            }
        }
        _ => {}
    }
}

/// Keeps the value that `tokens` begin with, up to one of `ends`.
fn put(path: &str, tokens: &[Token], ends: &[char], values: &mut Values) {
    take_away(path, values);
    let is_end = |token: Option<&Token>| match token {
        Some(Token::Sign(sign)) => ends.contains(sign),
        Some(_) => false,
        None => true,
    };
    match tokens {
        [Token::Value(value), rest @ ..] if is_end(rest.first()) => {
            values.insert(path.to_owned(), value.clone());
        }
        _ => {
            array(path, tokens, values, 0);
        }
    }
}

/// Forgets a value, or an array with all that is in it.
fn take_away(path: &str, values: &mut Values) {
    values.remove(path);
    let below = format!("{path}.");
    let known: Vec<String> = values
        .range(below.clone()..)
        .map(|(name, _)| name)
        .take_while(|name| name.starts_with(&below))
        .cloned()
        .collect();
    for name in known {
        values.remove(&name);
    }
}

/// Keeps what an array says; gives what follows it.
fn array<'a>(
    path: &str,
    tokens: &'a [Token],
    values: &mut Values,
    depth: usize,
) -> Option<&'a [Token]> {
    let (mut rest, end) = match tokens {
        [Token::Sign('['), rest @ ..] => (rest, ']'),
        [Token::Word(word), Token::Sign('('), rest @ ..] if word.eq_ignore_ascii_case("array") => {
            (rest, ')')
        }
        _ => return None,
    };
    if depth >= DEPTH_MAX {
        return None;
    }
    loop {
        match rest {
            [Token::Sign(sign), after @ ..] if *sign == end => return Some(after),
            [Token::Sign(','), after @ ..] => rest = after,
            [Token::Value(key), Token::Arrow, after @ ..] => {
                let path = format!("{path}.{key}");
                rest = element(&path, after, end, values, depth)?;
            }
            [_, ..] => rest = after_element(rest, end)?,
            [] => return None,
        }
    }
}

/// Keeps one value of an array; gives what follows it.
fn element<'a>(
    path: &str,
    tokens: &'a [Token],
    end: char,
    values: &mut Values,
    depth: usize,
) -> Option<&'a [Token]> {
    match tokens {
        [Token::Value(value), rest @ ..] if matches!(rest, [Token::Sign(sign), ..] if *sign == ',' || *sign == end) =>
        {
            values.insert(path.to_owned(), value.clone());
            Some(rest)
        }
        _ => match array(path, tokens, values, depth + 1) {
            Some(rest) => Some(rest),
            None => after_element(tokens, end),
        },
    }
}

/// What follows a value that isn't understood.
fn after_element(tokens: &[Token], end: char) -> Option<&[Token]> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign(sign) if depth == 0 && (*sign == ',' || *sign == end) => {
                return Some(&tokens[at..]);
            }
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next()
        && tokens.len() < TOKENS_MAX
    {
        rest = if first == '#' && !rest.starts_with("#[") || rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or("", |end| &rest[end + 2..])
        } else if first == '\'' || first == '"' {
            let Some((token, after)) = string(rest, first) else { break };
            tokens.push(token);
            after
        } else if let Some(after) = rest.strip_prefix("=>") {
            tokens.push(Token::Arrow);
            after
        } else if is_word(first) || first == '$' && rest[1..].starts_with(is_word) {
            let body = rest.trim_start_matches('$');
            let (word, after) =
                body.split_at(body.find(|next| !is_word(next)).unwrap_or(body.len()));
            tokens.push(match first {
                '$' => Token::Variable(word.to_owned()),
                '0'..='9' => Token::Value(word.to_owned()),
                _ => Token::Word(word.to_owned()),
            });
            after
        } else {
            tokens.push(Token::Sign(first));
            &rest[first.len_utf8()..]
        };
        rest = rest.trim_start();
    }
    tokens
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || !letter.is_ascii()
}

/// A string, and what follows it. One with something to be filled in is only a sign.
fn string(rest: &str, quote: char) -> Option<(Token, &str)> {
    let body = &rest[1..];
    let mut value = String::new();
    let mut is_plain = true;
    let mut letters = body.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            let token = if is_plain { Token::Value(value) } else { Token::Sign('"') };
            return Some((token, &body[at + 1..]));
        }
        if letter != '\\' {
            is_plain &= quote == '\'' || letter != '$' && letter != '{';
            value.push(letter);
            continue;
        }
        let (_, escaped) = letters.next()?;
        match (quote, escaped) {
            (_, '\\') => value.push('\\'),
            ('\'', '\'') | ('"', '"' | '$') => value.push(escaped),
            ('"', 'n') => value.push('\n'),
            ('"', 't') => value.push('\t'),
            ('"', 'r') => value.push('\r'),
            // Numbers of letters in a setting are not worth reading.
            ('"', 'x' | 'u' | '0'..='7' | 'e' | 'f' | 'v') => is_plain = false,
            _ => value.extend(['\\', escaped]),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let values = values(text);
        let found: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn literals_beside_names_are_read() {
        check("<?php define( 'DB_NAME', 'site' );", &[("DB_NAME", "site")]);
        check("DEFINE(\"A\", \"b\", true);", &[("A", "b")]);
        check("const A = 'b';", &[("A", "b")]);
        check("putenv('A=b=c'); putenv('D=' . $e); putenv('F'); putenv('$g=h');", &[("A", "b=c")]);
        check("$dbport = 3306; $x = ''", &[("$dbport", "3306"), ("$x", "")]);
        check("class J { public $host = 'h'; }", &[("$host", "h")]);
        check("$c['d']['e'] = 'f';", &[("$c.d.e", "f")]);
        check(
            "$d['x'] = array('a' => 'b', 'c' => array('e' => 1,), f(1, 2), 'g' => h('i'),);",
            &[("$d.x.a", "b"), ("$d.x.c.e", "1")],
        );
        check("$d = ['a' => ['b' => 'c']];", &[("$d.a.b", "c")]);
        check(r#"$p = 'it\'s \n'; $q = "a\"\$b";"#, &[("$p", r"it's \n"), ("$q", "a\"$b")]);
    }

    #[test]
    fn what_is_no_literal_is_no_value_and_takes_one_away() {
        check("$a = 'x' . $b;", &[]);
        check("define('A', getenv('A'));", &[]);
        check("$a = \"x$b\";", &[]);
        check("$a = 'x'; $a = f();", &[]);
        check("$a['b'] = 'x'; $a = [];", &[]);
        check("if ($a == 'x') {}", &[]);
        check("define('$a', 'x');", &[]);
    }

    #[test]
    fn comments_and_broken_files_say_nothing() {
        check("// $a = 'x';\n# $b = 'y'\n/* $c = 'z'; */", &[]);
        check("$a = 'open", &[]);
        check("$a = [['b' => ", &[]);
        check(&format!("$a = {}", "[".repeat(5000)), &[]);
        check("$ = 'x'; é", &[]);
    }
}
