//! What a client does, and what it expects: the lines that begin with its name.

use super::lex::{Kind, is_method};
use super::tokens::Tokens;
use super::{ParseError, is_word};
use crate::scene::{Act, Deed, Expected, Message, Position, Want};
use crate::words;

/// A crowd is at most this many.
const CROWD_MAX: usize = 10_000;

/// Reads a statement whose subject is a client.
pub(super) fn read(at: Position, who: String, mut tokens: Tokens) -> Result<Deed, ParseError> {
    if !who.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        let known = words::BEGINNINGS.iter().copied();
        return Err(ParseError::unknown(at, "a client's name nor a step", &who, known));
    }
    let count = if who == "crowd" { read_count(&mut tokens)? } else { 1 };
    let act_at = tokens.at();
    let word = tokens.word("what the client does").map_err(|error| misread(&who, error))?;
    let act = match word.as_str() {
        "<-" => Act::Receive,
        "send" => Act::Send(read_bytes(&mut tokens)?),
        "close" => Act::Close,
        "shut" => Act::Shut,
        method if is_method(method) => read_request(count, method, &mut tokens)?,
        _ => {
            let known = words::ACTS.iter().copied();
            let error = ParseError::unknown(act_at, "what a client does", &word, known);
            return Err(misread(&who, error));
        }
    };
    let expected = match (&act, tokens.peek()) {
        (Act::Receive, _) => read_answers(&mut tokens)?,
        (_, None) if !matches!(act, Act::Request { .. }) => Vec::new(),
        (Act::Request { .. }, Some(Kind::Flight)) => {
            tokens.next();
            Vec::new()
        }
        (Act::Close | Act::Shut, Some(kind)) => {
            let message = format!("{} can't follow \"{word}\"", kind.show());
            return Err(ParseError::new(tokens.at(), message));
        }
        (_, Some(Kind::Arrow)) => {
            tokens.next();
            read_answers(&mut tokens)?
        }
        _ => {
            let message = "a request wants \"->\" and what is expected, or \"->>\"";
            return Err(ParseError::new(tokens.at(), message));
        }
    };
    match tokens.peek() {
        None => Ok(Deed::Act { who, act, expected }),
        Some(kind) => {
            let message = format!("{} has no meaning here", kind.show());
            Err(ParseError::new(tokens.at(), message))
        }
    }
}

/// Where a step's word is misspelt, it is read as a client's name; says so.
fn misread(who: &str, mut error: ParseError) -> ParseError {
    if let Some(near) = words::nearest(who, words::BEGINNINGS.iter().copied()) {
        error.message.push_str(&format!(" (or did \"{who}\" mean \"{near}\"?)"));
    }
    error
}

/// The number of a crowd; left out where the crowd has come together before.
fn read_count(tokens: &mut Tokens) -> Result<usize, ParseError> {
    if is_word(tokens.peek(), "<-") || is_word(tokens.peek(), "close") {
        return Ok(1);
    }
    let at = tokens.at();
    let text = tokens.word("the crowd's number")?;
    let count = text.parse().ok().filter(|count| (1..=CROWD_MAX).contains(count));
    count.ok_or_else(|| {
        ParseError::new(at, format!("\"{text}\" is not a number from 1 to {CROWD_MAX}"))
    })
}

/// The pieces behind `send`.
fn read_bytes(tokens: &mut Tokens) -> Result<Vec<u8>, ParseError> {
    let mut bytes = Vec::new();
    let at = tokens.at();
    loop {
        if tokens.take_word("bytes") {
            bytes.extend(tokens.filler()?);
        } else if let Some(Kind::Text(text)) = tokens.peek() {
            bytes.extend_from_slice(text);
            tokens.next();
        } else if bytes.is_empty() {
            return Err(ParseError::new(at, "\"send\" wants a quoted text or \"bytes N\""));
        } else {
            return Ok(bytes);
        }
    }
}

fn read_request(count: usize, method: &str, tokens: &mut Tokens) -> Result<Act, ParseError> {
    let target = tokens.word("the request's target")?;
    let mut request = Message::default();
    loop {
        let at = tokens.at();
        match tokens.peek() {
            None | Some(Kind::Arrow | Kind::Flight) => break,
            _ => {}
        }
        match tokens.next() {
            Some(Kind::Field(name, value)) => request.fields.push((name, value)),
            Some(Kind::Absent(name)) => request.without.push(name),
            Some(Kind::Text(text)) => request.body.get_or_insert_default().extend(text),
            Some(Kind::Word(word)) => match word.as_str() {
                "HTTP/1.0" => request.http10 = true,
                "chunked" => request.chunked = true,
                "bytes" => request.body.get_or_insert_default().extend(tokens.filler()?),
                "trailer" => request.trailers.push(tokens.trailer()?),
                _ => {
                    let known = words::REQUEST.iter().copied();
                    return Err(ParseError::unknown(at, "a word of a request", &word, known));
                }
            },
            _ => break,
        }
    }
    Ok(Act::Request { count, request, method: method.to_owned(), target })
}

fn read_answers(tokens: &mut Tokens) -> Result<Vec<Expected>, ParseError> {
    let mut answers = vec![read_expected(tokens)?];
    while tokens.take_arrow() {
        answers.push(read_expected(tokens)?);
    }
    Ok(answers)
}

fn read_expected(tokens: &mut Tokens) -> Result<Expected, ParseError> {
    let mut expected = Expected { at: tokens.at(), ..Expected::default() };
    loop {
        let at = tokens.at();
        match tokens.peek() {
            None | Some(Kind::Arrow) => break,
            _ => {}
        }
        match tokens.next() {
            Some(Kind::Field(name, value)) => expected.wants.push(Want::Field(name, value)),
            Some(Kind::Absent(name)) => expected.wants.push(Want::Absent(name)),
            Some(Kind::Text(text)) => expected.body.get_or_insert_default().extend(text),
            Some(Kind::Word(word)) => expected_word(&mut expected, at, &word, tokens)?,
            _ => return Err(ParseError::new(at, "\"->>\" stands at the end of a request")),
        }
    }
    let says_something = expected.status.is_some()
        || expected.goes_on
        || expected.closed
        || expected.kept
        || expected.cut;
    if says_something {
        Ok(expected)
    } else {
        Err(ParseError::new(expected.at, "an expectation wants a status, \"...\" or \"closed\""))
    }
}

fn expected_word(
    expected: &mut Expected,
    at: Position,
    word: &str,
    tokens: &mut Tokens,
) -> Result<(), ParseError> {
    match word {
        "bytes" => expected.body.get_or_insert_default().extend(tokens.filler()?),
        "empty" => expected.body = Some(Vec::new()),
        "cut" => expected.cut = true,
        "closed" => expected.closed = true,
        "kept" => expected.kept = true,
        "trailer" => {
            let (name, value) = tokens.trailer()?;
            expected.wants.push(Want::Trailer(name, value));
        }
        "..." if expected.status.is_none() && expected.body.is_none() => expected.goes_on = true,
        "..." => expected.unfinished = true,
        _ if expected.status.is_none() && word.len() == 3 && word.parse::<u16>().is_ok() => {
            expected.status = word.parse().ok();
        }
        _ => expected.verdict = Some(read_verdict(at, word)?),
    }
    Ok(())
}

/// `word` or `word(reason)`, both from the enum that Cache-Status is made of.
fn read_verdict(at: Position, text: &str) -> Result<(String, Option<String>), ParseError> {
    let (word, reason) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((word, reason)) => (word, Some(reason)),
        None => (text, None),
    };
    let verdicts = words::verdicts();
    if !verdicts.contains(&word) {
        let known = words::EXPECTED.iter().copied().chain(verdicts);
        return Err(ParseError::unknown(at, "a word of an expectation", word, known));
    }
    if let Some(reason) = reason {
        let reasons = words::reasons(word);
        if !reasons.contains(&reason) {
            let what = format!("a reason of \"{word}\"");
            return Err(ParseError::unknown(at, &what, reason, reasons));
        }
    }
    Ok((word.to_owned(), reason.map(str::to_owned)))
}
