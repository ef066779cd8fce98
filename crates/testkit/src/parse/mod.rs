//! Reads a scene file whole, before anything of it runs.
//!
//! In: the file's text and name. Out: a [`Scene`], or the first thing that is
//! wrong with its line, its column and the nearest word that exists.
//! The language is described in `scenes/README.md`. Start at [`scene`].

mod answer;
mod client;
mod gates;
mod lex;
mod tokens;

use base::amount::parse_duration;

use crate::scene::{Deed, Position, Scene, Setting, Step};
use crate::words;
use lex::Kind;
use tokens::Tokens;

/// What is wrong with a scene file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", at.line, at.column)]
pub struct ParseError {
    /// Where it is.
    pub at: Position,
    /// What it is, in a sentence's words.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// A word that doesn't exist here, with the nearest one that does.
    fn unknown<'a>(
        at: Position,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let hint = words::nearest(word, known);
        let hint = hint.map_or(String::new(), |near| format!("; the nearest is \"{near}\""));
        Self::new(at, format!("\"{word}\" is not {what}{hint}"))
    }
}

/// Reads a scene. `name` is the file's name without folder and ending; `None` if there is no file.
///
/// # Errors
/// The first thing in the file that is not in the language.
pub fn scene(text: &str, name: Option<&str>) -> Result<Scene, ParseError> {
    let lines: Vec<(u32, &str)> = (1u32..).zip(text.lines()).collect();
    let title = read_title(lines.first().map_or("", |(_, line)| line), name)?;
    let mut scene = Scene {
        title,
        law: String::new(),
        only_virtual: None,
        settings: Vec::new(),
        steps: Vec::new(),
    };
    let mut body = Vec::new();
    for &(number, line) in lines.iter().skip(1) {
        if let Some(law) = line.strip_prefix("law:") {
            law.trim().clone_into(&mut scene.law);
        } else if let Some(reason) = line.strip_prefix("virtual:") {
            scene.only_virtual = Some(reason.trim().to_owned());
        } else {
            body.push((number, line));
        }
    }
    if scene.law.is_empty() {
        let at = Position { line: 2, column: 1 };
        return Err(ParseError::new(at, "no \"law:\" line names the clause"));
    }
    for statement in lex::statements(&body)? {
        read_statement(&mut scene, Tokens::new(statement.tokens))?;
    }
    gates::check(&scene)?;
    if scene.has_restarts() {
        if scene.has_changes() {
            let restart = scene.steps.iter().find(|step| step.deed == Deed::Restart);
            let at = restart.map_or_else(Position::default, |step| step.at);
            return Err(ParseError::new(at, "nothing restarts where changes are told"));
        }
        scene.only_virtual.get_or_insert_with(|| "a running server isn't ours to stop".into());
    }
    if scene.has_changes() {
        scene.only_virtual.get_or_insert_with(|| "a running server hears its own database".into());
    }
    Ok(scene)
}

/// The name that a scene with this title must have: its words, joined by hyphens.
#[must_use]
pub fn file_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars().filter(|&c| c != '\'') {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_matches('-').to_owned()
}

fn read_title(line: &str, name: Option<&str>) -> Result<String, ParseError> {
    let at = Position { line: 1, column: 1 };
    let sentence = line.strip_prefix("# ").and_then(|rest| rest.trim_end().strip_suffix('.'));
    let title = sentence
        .filter(|title| !title.is_empty())
        .ok_or_else(|| ParseError::new(at, "the first line is not \"# A sentence.\""))?;
    let wanted = file_name(title);
    match name {
        Some(name) if name != wanted => {
            let message = format!("by its sentence this file's name is {wanted}.scene");
            Err(ParseError::new(at, message))
        }
        _ => Ok(title.to_owned()),
    }
}

fn read_statement(scene: &mut Scene, mut tokens: Tokens) -> Result<(), ParseError> {
    let at = tokens.at();
    let subject = tokens.word("a subject")?;
    let deed = match subject.as_str() {
        "site" => {
            if !scene.steps.is_empty() {
                return Err(ParseError::new(at, "settings stand before everything that happens"));
            }
            return read_settings(scene, tokens);
        }
        "origin" => answer::read(at, tokens)?,
        "change" => Deed::Change(read_last(&mut tokens, "the table that changes")?),
        "changes" => {
            let word_at = tokens.at();
            match read_last(&mut tokens, "\"lost\" or \"heard\"")?.as_str() {
                "lost" => Deed::ChangesLost,
                "heard" => Deed::ChangesHeard,
                word => {
                    let known = ["lost", "heard"];
                    return Err(ParseError::unknown(
                        word_at,
                        "what becomes of changes",
                        word,
                        known,
                    ));
                }
            }
        }
        "wait" | "open" | "settle" | "restart" => return read_simple(scene, at, subject, tokens),
        _ => client::read(at, subject, tokens)?,
    };
    scene.steps.push(Step { at, deed });
    Ok(())
}

/// A word with nothing behind it.
fn read_last(tokens: &mut Tokens, what: &str) -> Result<String, ParseError> {
    let word = tokens.word(what)?;
    match tokens.peek() {
        None => Ok(word),
        Some(kind) => {
            let message = format!("{} has no meaning here", kind.show());
            Err(ParseError::new(tokens.at(), message))
        }
    }
}

/// `site name = value, name = value`.
fn read_settings(scene: &mut Scene, mut tokens: Tokens) -> Result<(), ParseError> {
    while !tokens.is_empty() {
        let at = tokens.at();
        let name = tokens.word("a setting")?;
        if !words::SETTINGS.contains(&name.as_str()) {
            let known = words::SETTINGS.iter().copied();
            return Err(ParseError::unknown(at, "a setting", &name, known));
        }
        let (sign_at, sign) = (tokens.at(), tokens.word("\"=\"")?);
        if sign != "=" {
            return Err(ParseError::new(sign_at, "a setting is \"name = value\""));
        }
        let value = tokens.word("a value")?.trim_end_matches(',').to_owned();
        scene.settings.push(Setting { at, name, value });
    }
    Ok(())
}

/// `wait 11s`, `open GATE`, `settle`, `restart`; several on a line, with `;` between them.
fn read_simple(
    scene: &mut Scene,
    mut at: Position,
    mut word: String,
    mut tokens: Tokens,
) -> Result<(), ParseError> {
    loop {
        let bare = word.trim_end_matches(';').to_owned();
        let mut ended = bare != word;
        let mut operand = |tokens: &mut Tokens, what: &str| {
            let operand = tokens.word(what)?;
            ended |= operand.ends_with(';');
            Ok::<_, ParseError>(operand.trim_end_matches(';').to_owned())
        };
        let deed = match bare.as_str() {
            "wait" => {
                let operand_at = tokens.at();
                let text = operand(&mut tokens, "a duration")?;
                let time = parse_duration(&text);
                Deed::Wait(time.map_err(|error| ParseError::new(operand_at, error.to_string()))?)
            }
            "open" => Deed::Open(operand(&mut tokens, "a gate's name")?),
            "settle" => Deed::Settle,
            "restart" => Deed::Restart,
            _ => {
                let known = ["wait", "open", "settle", "restart"];
                return Err(ParseError::unknown(at, "what may follow \";\"", &bare, known));
            }
        };
        scene.steps.push(Step { at, deed });
        match (ended, tokens.is_empty()) {
            (_, true) => return Ok(()),
            (false, false) => {
                return Err(ParseError::new(tokens.at(), "\";\" separates two steps of a line"));
            }
            (true, false) => {}
        }
        at = tokens.at();
        word = tokens.word("a step")?;
    }
}

/// Whether a token is this word.
fn is_word(kind: Option<&Kind>, wanted: &str) -> bool {
    matches!(kind, Some(Kind::Word(word)) if word == wanted)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
