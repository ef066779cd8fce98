//! What the origin expects and answers: the lines that begin with `origin`.

use base::amount::parse_duration;

use super::ParseError;
use super::lex::{Kind, is_method};
use super::tokens::Tokens;
use crate::scene::{Deed, Ending, Exchange, Message, Position, Stage, Want};
use crate::words;

/// Reads a statement whose subject is the origin.
pub(super) fn read(at: Position, mut tokens: Tokens) -> Result<Deed, ParseError> {
    let word_at = tokens.at();
    let is_for_each = tokens.take_word("each");
    let word_at = if is_for_each { tokens.at() } else { word_at };
    let method = tokens.word("a method, \"each\", \"down\" or \"up\"")?;
    match method.as_str() {
        "down" if !is_for_each => return Ok(Deed::OriginDown),
        "up" if !is_for_each => return Ok(Deed::OriginUp),
        _ if is_method(&method) => {}
        _ if is_for_each => {
            return Err(ParseError::unknown(word_at, "a method", &method, ["GET"]));
        }
        _ => {
            return Err(ParseError::unknown(
                word_at,
                "a method",
                &method,
                ["down", "up", "each", "GET"],
            ));
        }
    }
    let target = tokens.word("the request's target")?;
    let (wants, stages) = (Vec::new(), Vec::new());
    let mut exchange = Exchange { at, is_for_each, method, target, wants, body: None, stages };
    read_wants(&mut exchange, &mut tokens)?;
    while tokens.take_arrow() {
        read_stage(&mut exchange, &mut tokens)?;
    }
    if exchange.stages.is_empty() {
        return Err(ParseError::new(tokens.at(), "the origin's answer is missing: \"-> 200 …\""));
    }
    Ok(Deed::Script(exchange))
}

fn read_wants(exchange: &mut Exchange, tokens: &mut Tokens) -> Result<(), ParseError> {
    while !matches!(tokens.peek(), None | Some(Kind::Arrow)) {
        let at = tokens.at();
        match tokens.next() {
            Some(Kind::Field(name, value)) => exchange.wants.push(Want::Field(name, value)),
            Some(Kind::Absent(name)) => exchange.wants.push(Want::Absent(name)),
            Some(Kind::Text(text)) => exchange.body.get_or_insert_default().extend(text),
            Some(Kind::Word(word)) => match word.as_str() {
                "bytes" => exchange.body.get_or_insert_default().extend(tokens.filler()?),
                "empty" => exchange.body = Some(Vec::new()),
                "trailer" => {
                    let (name, value) = tokens.trailer()?;
                    exchange.wants.push(Want::Trailer(name, value));
                }
                _ => {
                    let known = ["bytes", "empty", "trailer", "->"];
                    let what = "what an origin's request may bear";
                    return Err(ParseError::unknown(at, what, &word, known));
                }
            },
            _ => return Err(ParseError::new(at, "an origin has no \"->>\"")),
        }
    }
    Ok(())
}

fn read_stage(exchange: &mut Exchange, tokens: &mut Tokens) -> Result<(), ParseError> {
    let at = tokens.at();
    let has_head = exchange.stages.iter().any(|stage| matches!(stage, Stage::Head(200.., ..)));
    let stage = match tokens.next() {
        Some(Kind::Text(text)) if has_head => Stage::More(text),
        Some(Kind::Text(_)) => {
            return Err(ParseError::new(at, "a body can't stand before its head"));
        }
        Some(Kind::Word(word)) => match word.as_str() {
            "gate" => Stage::Gate(tokens.word("the gate's name")?),
            "wait" => {
                let time_at = tokens.at();
                let time = parse_duration(&tokens.word("a duration")?);
                Stage::Wait(time.map_err(|e| ParseError::new(time_at, e.to_string()))?)
            }
            "change" => Stage::Change(tokens.word("the table that changes")?),
            "raw" => Stage::Raw(read_raw(tokens)?),
            "close" => Stage::Close,
            "reset" => Stage::Reset,
            "stall" => Stage::Stall,
            "endless" => Stage::Endless,
            "bytes" if has_head => Stage::More(tokens.filler()?),
            _ => match word.parse::<u16>() {
                Ok(status @ 100..=999) if !has_head => return read_head(exchange, status, tokens),
                Ok(_) if has_head => {
                    return Err(ParseError::new(at, "this answer has its head already"));
                }
                _ => {
                    let known = words::STAGES.iter().copied();
                    return Err(ParseError::unknown(at, "a stage of an answer", &word, known));
                }
            },
        },
        _ => return Err(ParseError::new(at, "an answer begins with a status or a stage's word")),
    };
    exchange.stages.push(stage);
    match tokens.peek() {
        None | Some(Kind::Arrow) => Ok(()),
        Some(kind) => {
            let message = format!("{} can't follow here; \"->\" begins a stage", kind.show());
            Err(ParseError::new(tokens.at(), message))
        }
    }
}

fn read_raw(tokens: &mut Tokens) -> Result<Vec<u8>, ParseError> {
    let (at, mut bytes) = (tokens.at(), Vec::new());
    loop {
        if tokens.take_word("bytes") {
            bytes.extend(tokens.filler()?);
        } else if let Some(Kind::Text(text)) = tokens.peek() {
            bytes.extend_from_slice(text);
            tokens.next();
        } else if bytes.is_empty() {
            return Err(ParseError::new(at, "\"raw\" wants a quoted text or \"bytes N\""));
        } else {
            return Ok(bytes);
        }
    }
}

/// A status with its directives, fields and body.
fn read_head(exchange: &mut Exchange, status: u16, tokens: &mut Tokens) -> Result<(), ParseError> {
    let mut answer = Message::default();
    let mut directives: Vec<String> = Vec::new();
    let mut ending = Ending::Length;
    while !matches!(tokens.peek(), None | Some(Kind::Arrow)) {
        let at = tokens.at();
        match tokens.next() {
            Some(Kind::Field(name, value)) => answer.fields.push((name, value)),
            Some(Kind::Absent(name)) => answer.without.push(name),
            Some(Kind::Text(text)) => answer.body.get_or_insert_default().extend(text),
            Some(Kind::Word(word)) => match word.as_str() {
                "bytes" => answer.body.get_or_insert_default().extend(tokens.filler()?),
                "chunked" => ending = Ending::Chunks,
                "unframed" => ending = Ending::Close,
                "HTTP/1.0" => answer.http10 = true,
                "html" => answer.fields.push(content_type("text/html; charset=utf-8")),
                "json" => answer.fields.push(content_type("application/json")),
                "trailer" => answer.trailers.push(tokens.trailer()?),
                _ => directives.push(read_directive(at, &word)?),
            },
            _ => return Err(ParseError::new(at, "an origin has no \"->>\"")),
        }
    }
    if !directives.is_empty() {
        answer.fields.insert(0, ("Cache-Control".to_owned(), directives.join(", ")));
    }
    exchange.stages.push(Stage::Head(status, answer, ending));
    Ok(())
}

fn content_type(value: &str) -> (String, String) {
    ("Content-Type".to_owned(), value.to_owned())
}

/// A Cache-Control directive that stands alone among an answer's words.
fn read_directive(at: Position, word: &str) -> Result<String, ParseError> {
    let bare = word.trim_end_matches(',');
    let name = bare.split_once('=').map_or(bare, |(name, _)| name);
    if words::DIRECTIVES.contains(&name) {
        return Ok(bare.to_owned());
    }
    let known = words::HEAD.iter().chain(words::DIRECTIVES).copied();
    Err(ParseError::unknown(at, "a word of an answer", name, known))
}
